"""What is there to say about many messages together? Counts only, so that a file may be as long as it likes."""

from typing import NamedTuple

from telex.model.finding import Severity
from telex.surfaces.cli.output import Screen
from telex.surfaces.cli.table import Row, table_lines
from telex.validation.check import CheckResult

_GRAVITY: dict[Severity, int] = {"refusal": 0, "warning": 1, "note": 2}


class TypeCounts:
    """One row of the table."""

    __slots__ = ("accepted", "refused", "warned")

    def __init__(self) -> None:
        self.accepted = self.warned = self.refused = 0


class CodeCount(NamedTuple):
    """How often a code was said, and where first."""

    times: int
    place: str


class CheckSummary:
    def __init__(self) -> None:
        self.rows: dict[tuple[str, str], TypeCounts] = {}
        self.codes: dict[tuple[Severity, str], CodeCount] = {}

    def row(self, key: tuple[str, str]) -> TypeCounts:
        return self.rows.setdefault(key, TypeCounts())

    def add(self, checked: CheckResult, place: str) -> None:
        row = self.row(_key(checked))
        row.accepted += checked.valid
        row.refused += not checked.valid
        row.warned += checked.valid and is_warned(checked)
        for finding in checked.findings:
            code = (finding.severity, finding.code)
            code_count = self.codes.get(code)
            self.codes[code] = CodeCount(code_count.times + 1, code_count.place) if code_count else CodeCount(1, place)

    @property
    def total(self) -> TypeCounts:
        total = TypeCounts()
        for row in self.rows.values():
            total.accepted += row.accepted
            total.warned += row.warned
            total.refused += row.refused
        return total

    def lines(self, screen: Screen) -> list[str]:
        """Two tables: by dialect and type, and by what was found."""
        return [*self._by_type(screen), *(["", *self._by_code(screen)] if self.codes else [])]

    def _by_type(self, screen: Screen) -> list[str]:
        rows: list[Row] = []
        above = None
        for (dialect, type_), counts in sorted(self.rows.items()):
            rows.append(("" if dialect == above else dialect, type_, counts.accepted, counts.warned, counts.refused))
            above = dialect
        total = self.total
        sums = ("total", "", total.accepted, total.warned, total.refused)
        return table_lines(("dialect", "type", "accepted", "warned", "refused"), rows, screen, total=sums)

    def _by_code(self, screen: Screen) -> list[str]:
        found = sorted(self.codes.items(), key=lambda item: (_GRAVITY[item[0][0]], -item[1].times, item[0][1]))
        rows = [(severity, code, code_count.times, code_count.place) for (severity, code), code_count in found]
        return table_lines(("severity", "code", "count", "first seen"), rows, screen)


def _key(checked: CheckResult) -> tuple[str, str]:
    """The row a message counts in. What a sender calls a type must not make us keep it, so only known ones have one."""
    if checked.dialect is None:
        return "–", {"control": "control frame", "message": "type not known"}.get(checked.outcome, "unreadable")
    if checked.type in checked.dialect.types:
        return checked.dialect.name, str(checked.type)
    return checked.dialect.name, "text" if checked.outcome == "plain" else "type not known"


def is_warned(checked: CheckResult) -> bool:
    return any(finding.severity == "warning" for finding in checked.findings)
