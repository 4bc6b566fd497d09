"""Report of a replay: counts by agent and type, and each reason of refusal with its first message.

Names in a log are arbitrary, so the number of agents is limited, and only known types are counted separately.
"""

from dataclasses import dataclass, fields

from telex.model.named_tuple import NamedTuple
from telex.replay.reader import LogEntry
from telex.replay.simulate import SimulatedResult

AGENTS_MAX = 1_000
OTHERS, UNNAMED = "(others)", "(no sender)"
NO_TYPE = "(no known type)"


@dataclass(slots=True)
class ReplayCounts:
    """Numbers of messages of one agent and type."""

    passed: int = 0
    warned: int = 0
    refused: int = 0
    forgiven: int = 0  # passed, but a strict team would have refused them
    newly: int = 0  # refused here, but accepted when they were sent
    pardoned: int = 0  # refused when they were sent, but not here

    @property
    def messages(self) -> int:
        return self.passed + self.refused

    def add(self, other: "ReplayCounts") -> None:
        for field in fields(self):
            setattr(self, field.name, getattr(self, field.name) + getattr(other, field.name))


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


class WarningCount(NamedTuple):
    """Number of messages that passed with this warning."""

    code: str
    times: int
    first: str  # the id of the first, or its line


Row = tuple[str, str, str]  # agent, dialect, type


class ReplayReport:
    def __init__(self) -> None:
        self.repeated = self.own = self.kept = 0
        self._rows: dict[tuple[str, int], tuple[Row, ReplayCounts]] = {}
        self._agents: set[str] = set()
        self._reasons: dict[tuple[Row, str], RefusalReason] = {}
        self._warnings: dict[str, WarningCount] = {}

    def add(self, entry: LogEntry, result: SimulatedResult) -> None:
        self.repeated += result.verdict == "repeated"
        self.own += result.verdict == "own"
        if result.verdict not in ("passed", "refused"):
            return
        row, counts = self._row(result)
        passed = result.verdict == "passed"
        counts.passed += passed
        counts.refused += not passed
        if result.findings:
            first = result.id or f"line {entry.number}"
            refusals = {finding.code: finding for finding in reversed(result.findings) if finding.severity == "refusal"}
            if result.verdict == "passed":
                counts.forgiven += bool(refusals)
                counts.warned += self._count_warnings(result, first)
            for code, finding in refusals.items():
                new = RefusalReason(*row, code, 0, first, say=finding.say, path=finding.path)
                reason = self._reasons.get((row, code), new)
                self._reasons[row, code] = reason._replace(times=reason.times + 1)
        if entry.kept:
            self.kept += 1
            counts.pardoned += passed and entry.refused
            counts.newly += not passed and not entry.refused

    def _count_warnings(self, result: SimulatedResult, first: str) -> bool:
        """Count each code once. False: there is no warning."""
        codes = {finding.code for finding in result.findings if finding.severity == "warning"}
        for code in codes:
            count = self._warnings.get(code, WarningCount(code, 0, first))
            self._warnings[code] = count._replace(times=count.times + 1)
        return bool(codes)

    def _row(self, result: SimulatedResult) -> tuple[Row, ReplayCounts]:
        agent, dialect, type_ = result.agent or UNNAMED, result.dialect, result.type
        if agent not in self._agents and len(self._agents) >= AGENTS_MAX:
            agent = OTHERS
        key = agent, id(type_ or dialect)
        if key not in self._rows:
            self._agents.add(agent)
            is_text = dialect is not None and not dialect.types
            name = type_.name if type_ is not None else "text" if is_text else NO_TYPE
            self._rows[key] = (agent, dialect.name if dialect is not None else "–", name), ReplayCounts()
        return self._rows[key]

    @property
    def total(self) -> ReplayCounts:
        total = ReplayCounts()
        for _, counts in self._rows.values():
            total.add(counts)
        return total

    def by_agent(self) -> dict[str, ReplayCounts]:
        totals: dict[str, ReplayCounts] = {}
        for (agent, _, _), counts in self._rows.values():
            totals.setdefault(agent, ReplayCounts()).add(counts)
        return dict(sorted(totals.items()))

    def by_type(self) -> list[tuple[Row, ReplayCounts]]:
        return sorted(self._rows.values(), key=lambda item: item[0])

    def warnings(self) -> list[WarningCount]:
        """The most frequent first."""
        return sorted(self._warnings.values(), key=lambda count: (-count.times, count.code))

    def reasons(self) -> list[RefusalReason]:
        """The most frequent first."""
        return sorted(self._reasons.values(), key=lambda each: (-each.times, each.agent, each.type, each.code))
