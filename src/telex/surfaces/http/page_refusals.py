"""Statistics of the latest refusals by code, agent and type, with examples."""

from collections import Counter, deque
from collections.abc import Iterable
from typing import Any, NamedTuple

from telex.model.message import Event, Message, detail_of

KEPT_MAX = 5_000  # refusals; the log has the rest
EXAMPLES_MAX = 3
FINDINGS_MAX = 20  # of one message: a hostile one has hundreds
FIELDS = ("code", "path", "say", "expected", "found", "nearest")
OUTSIDE = ("path-outside-contract", "path-forbidden")  # codes for leaving a contract


class Refusal(NamedTuple):
    seq: int
    id: str
    at: float
    agent: str
    role: str
    dialect: str | None
    type: str | None
    findings: tuple[dict[str, str], ...]  # refusals only


class RefusalStats:
    def __init__(self) -> None:
        self._kept: deque[Refusal] = deque(maxlen=KEPT_MAX)

    def hear(self, event: Event, message: Message) -> None:
        findings = detail_of(event).get("findings")
        self._kept.append(
            Refusal(
                seq=message.seq,
                id=message.id,
                at=event.at,
                agent=message.sender,
                role=message.role,
                dialect=message.dialect,
                type=message.type,
                findings=tuple(_stopping(findings))[:FINDINGS_MAX] if isinstance(findings, list) else (),
            )
        )

    def within(self, since: float) -> list[Refusal]:
        """Refusals since then, oldest first."""
        return [refusal for refusal in self._kept if refusal.at >= since]

    def outside(self, since: float = 0.0) -> list[dict[str, Any]]:
        """Refusals for leaving a contract, newest first."""
        return [
            {
                "seq": refusal.seq,
                "id": refusal.id,
                "at": refusal.at,
                "agent": refusal.agent,
                "type": refusal.type,
                **finding,
            }
            for refusal in reversed(self.within(since))
            for finding in refusal.findings
            if finding["code"] in OUTSIDE
        ]

    def since(self, since: float) -> dict[str, Any]:
        refusals = self.within(since)
        return {
            "since": since,
            "total": len(refusals),
            "full": len(self._kept) == KEPT_MAX,  # there may have been more
            "codes": _by_code(refusals),
            "agents": _by_agent(refusals),
            "types": _by_type(refusals),
        }


def _stopping(said: Iterable[Any]) -> Iterable[dict[str, str]]:
    for one in said:
        if isinstance(one, dict) and one.get("severity", "refusal") == "refusal" and one.get("code"):
            yield {"code": "", "path": "$", "say": ""} | {name: str(one[name]) for name in FIELDS if one.get(name)}


def _by_code(refusals: list[Refusal]) -> list[dict[str, Any]]:
    """The most frequent first. A message that breaks a rule in five places breaks it once."""
    told: dict[str, list[tuple[Refusal, dict[str, str]]]] = {}
    for refusal in refusals:
        for code in dict.fromkeys(one["code"] for one in refusal.findings):
            finding = next(one for one in refusal.findings if one["code"] == code)
            told.setdefault(code, []).append((refusal, finding))
    rows = [
        {
            "code": code,
            **explained(code),
            "count": len(found),
            "last_at": found[-1][0].at,
            "agents": _counted(refusal.agent for refusal, _ in found),
            "types": _counted(refusal.type or refusal.dialect or "text" for refusal, _ in found),
            "examples": [_example(*one) for one in found[: -EXAMPLES_MAX - 1 : -1]],
        }
        for code, found in told.items()
    ]
    return sorted(rows, key=lambda row: (-row["count"], row["code"]))


def _example(refusal: Refusal, finding: dict[str, str]) -> dict[str, Any]:
    about = {"seq": refusal.seq, "id": refusal.id, "at": refusal.at, "agent": refusal.agent}
    return about | {"dialect": refusal.dialect, "type": refusal.type} | finding


def _by_agent(refusals: list[Refusal]) -> list[dict[str, Any]]:
    agents: dict[str, list[Refusal]] = {}
    for one in refusals:
        agents.setdefault(one.agent, []).append(one)
    rows = [
        {
            "agent": agent,
            "role": refusals[-1].role,
            "count": len(refusals),
            "last_at": refusals[-1].at,
            "codes": _counted(
                code for refusal in refusals for code in {finding["code"] for finding in refusal.findings}
            ),
        }
        for agent, refusals in agents.items()
    ]
    return sorted(rows, key=lambda row: (-row["count"], row["agent"]))


def _by_type(refusals: list[Refusal]) -> list[dict[str, Any]]:
    counts = Counter((refusal.dialect, refusal.type) for refusal in refusals)
    return [{"dialect": dialect, "type": type_, "count": count} for (dialect, type_), count in counts.most_common()]


def _counted(names: Iterable[str]) -> list[dict[str, Any]]:
    return [{"name": name, "count": count} for name, count in Counter(names).most_common()]


def explained(code: str) -> dict[str, str]:
    """What the code is, why it happens and how it is fixed; nothing for one of a team's own dialect."""
    from telex.generate.codes import explanations

    found = explanations().get(code)
    return {} if found is None else {"title": found.title, "why": found.why, "fix": found.fix}
