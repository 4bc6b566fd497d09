"""Report of a replay: counts by agent and type, and each reason of refusal with its first message.

Names in a log are arbitrary, so the number of agents is limited, and only known types are counted separately.
"""

from collections.abc import Iterator
from typing import NamedTuple

from telex.model.finding import Finding
from telex.replay.reader import LogEntry
from telex.replay.simulate import SimulatedResult

AGENTS_MAX = 1_000
OTHERS, NOBODY = "(others)", "(nobody named)"
NO_TYPE = "(no known type)"


class ReplayCounts:
    """Of the messages of one agent and type."""

    __slots__ = ("forgiven", "newly", "pardoned", "passed", "refused", "warned")

    def __init__(self) -> None:
        self.passed = self.warned = self.refused = 0
        self.forgiven = 0  # passed, and a strict team would have refused them
        self.newly = 0  # refused here, and accepted when they were sent
        self.pardoned = 0  # refused when they were sent, and not here

    @property
    def messages(self) -> int:
        return self.passed + self.refused

    def add(self, other: "ReplayCounts") -> None:
        for name in ReplayCounts.__slots__:
            setattr(self, name, getattr(self, name) + getattr(other, name))


class RefusalReason(NamedTuple):
    """Why messages of one agent and type were refused, or would be by a strict team."""

    agent: str
    dialect: str
    type: str
    code: str
    times: int
    first: str  # the id of the first, or its line
    say: str
    path: str


Row = tuple[str, str, str]  # agent, dialect, type


class ReplayReport:
    def __init__(self) -> None:
        self.repeated = self.own = self.kept = 0
        self._rows: dict[tuple[str, int], tuple[Row, ReplayCounts]] = {}
        self._agents: set[str] = set()
        self._reasons: dict[tuple[Row, str], RefusalReason] = {}

    def add(self, line: LogEntry, judged: SimulatedResult) -> None:
        """A message of which the log knows more than it says itself."""
        counts = self.count(judged, line.number)
        if counts is not None and line.kept:
            self.kept += 1
            if (judged.verdict == "refused") is not line.refused:
                if line.refused:
                    counts.pardoned += 1
                else:
                    counts.newly += 1

    def count(self, judged: SimulatedResult, line: int = 0) -> ReplayCounts | None:
        """The counts of which it is one; None where it is nobody's."""
        verdict, agent, dialect, type_, id_, findings = judged
        known = self._rows.get((agent, id(type_ or dialect)))
        if verdict == "passed":
            row, counts = known or self._row(agent, judged)
            counts.passed += 1
        elif verdict == "refused":
            row, counts = known or self._row(agent, judged)
            counts.refused += 1
        else:
            self.repeated += verdict == "repeated"
            self.own += verdict == "own"
            return None
        for finding in findings:
            if finding.severity != "note":
                self._found(findings, verdict == "passed", counts, row, id_ or f"line {line}")
                break
        return counts

    def _found(self, findings: tuple[Finding, ...], passed: bool, counts: ReplayCounts, row: Row, first: str) -> None:
        severities = {finding.severity for finding in findings}
        if passed:
            counts.forgiven += "refusal" in severities
            counts.warned += "warning" in severities
        if "refusal" in severities:
            for code, one in {
                finding.code: finding for finding in reversed(findings) if finding.severity == "refusal"
            }.items():
                self._reason(row, code, one, first)

    def _named(self, agent: str) -> str:
        """The name under which an agent is counted."""
        agent = agent or NOBODY
        if agent not in self._agents and len(self._agents) >= AGENTS_MAX:
            agent = OTHERS
        self._agents.add(agent)
        return agent

    def _row(self, agent: str, judged: SimulatedResult) -> tuple[Row, ReplayCounts]:
        dialect, type_ = judged.dialect, judged.type
        key = agent, _ = self._named(agent), id(type_ or dialect)
        if key not in self._rows:
            named = (
                type_.name if type_ is not None else "text" if dialect is not None and not dialect.types else NO_TYPE
            )
            self._rows[key] = (agent, dialect.name if dialect is not None else "–", named), ReplayCounts()
        return self._rows[key]

    def _reason(self, row: Row, code: str, finding: Finding, first: str) -> None:
        refusal_reason = self._reasons.get((row, code))
        if refusal_reason is None:
            self._reasons[row, code] = RefusalReason(*row, code, 1, first, finding.say, finding.path)
        else:
            self._reasons[row, code] = refusal_reason._replace(times=refusal_reason.times + 1)

    # --- what it came to ---------------------------------------------------------------------------------------------

    @property
    def total(self) -> ReplayCounts:
        total = ReplayCounts()
        for _, counts in self._rows.values():
            total.add(counts)
        return total

    def by_agent(self) -> dict[str, ReplayCounts]:
        found: dict[str, ReplayCounts] = {}
        for (agent, _, _), counts in self._rows.values():
            found.setdefault(agent, ReplayCounts()).add(counts)
        return dict(sorted(found.items()))

    def by_type(self) -> Iterator[tuple[Row, ReplayCounts]]:
        yield from sorted(self._rows.values(), key=lambda item: item[0])

    def reasons(self) -> list[RefusalReason]:
        """The most frequent first."""
        return sorted(
            self._reasons.values(),
            key=lambda refusal_reason: (
                -refusal_reason.times,
                refusal_reason.agent,
                refusal_reason.type,
                refusal_reason.code,
            ),
        )
