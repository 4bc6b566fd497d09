"""What would have become of a message? The answer of a replay, and the words of those who give it."""

from typing import Any, Literal, NamedTuple

from telex.delivery.validator_cache import CheckedMessage
from telex.dialects.schema import Dialect, MessageType
from telex.model.finding import Finding, Severity
from telex.model.json_path import ROOT
from telex.replay.reader import LogEntry, recorded
from telex.validation.check import CheckPolicy
from telex.work.rule_set import LazyFinding

Verdict = Literal["passed", "refused", "repeated", "own"]  # own: a message of the bus itself, which nobody judges
# What is known from the record alone: the door and the inboxes of that day are gone.
AT_THE_DOOR = frozenset({"id-differs", "id-not-allowed", "inbox-full", "recipient-missing"})
EVIDENCE: dict[str, Severity] = {"mark": "warning", "refuse": "refusal"}  # by the team's setting
REUSED, CONTRADICTED = "id-reused", "evidence-contradicted"


def in_words(one: Finding | LazyFinding) -> Finding:
    """As its sender would be told it."""
    return one.finding() if isinstance(one, LazyFinding) else one


class SimulatedResult(NamedTuple):
    """What would have become of a message."""

    verdict: Verdict
    agent: str
    dialect: Dialect | None
    type: MessageType | None
    id: str | None
    findings: "tuple[Finding | LazyFinding, ...]" = ()

    def told(self) -> "SimulatedResult":
        """The same with every remark put into words, which has to be asked for before the next message is judged."""
        return self._replace(findings=tuple([in_words(one) for one in self.findings]))


def judged(
    verdict: Verdict, line: LogEntry, checked: CheckedMessage, agent: str, findings: tuple[Finding | LazyFinding, ...]
) -> SimulatedResult:
    kind = checked.traits
    if kind is None:
        return SimulatedResult(verdict, agent, checked.dialect, None, line.id or checked.envelope.id, findings)
    return SimulatedResult(verdict, agent, kind.dialect, kind.type, line.id or checked.envelope.id, findings)


def refuses(findings: tuple[Finding | LazyFinding, ...]) -> bool:
    return any(one.severity == "refusal" for one in findings)


def stops(findings: tuple[Finding, ...], desk: CheckPolicy) -> bool:
    """What was wrong at the door stops a message in every team, what a repository speaks against in a strict one."""
    return any(finding.severity == "refusal" and (desk.strict or finding.code != CONTRADICTED) for finding in findings)


def reused(id_: str | None) -> Finding:
    say = f"Give it an id of its own: {id_} was sent before, with other words."
    return Finding(REUSED, ROOT, say, expected="an id not used before", found=id_)


def found_then(line: LogEntry, evidence: Severity | None) -> tuple[Finding, ...]:
    """What was found when it was sent and cannot be found out anew. `evidence`: what a team makes of a report that its
    repository speaks against; None: nothing."""
    listed = recorded(line).get("findings")
    carried = []
    for finding in [_finding(one) for one in listed if isinstance(one, dict)] if isinstance(listed, list) else ():
        if finding.code == CONTRADICTED and evidence is not None:
            carried.append(finding._replace(severity=evidence))
        elif line.refused and (finding.code in AT_THE_DOOR or (finding.code, finding.path) == (REUSED, ROOT)):
            carried.append(finding)
    return tuple(carried)


def _finding(facts: dict[str, Any]) -> Finding:
    known = {name: value for name, value in facts.items() if name in Finding._fields and isinstance(value, str)}
    return Finding(**{"code": "", "path": ROOT, "say": ""} | known)  # type: ignore[arg-type]
