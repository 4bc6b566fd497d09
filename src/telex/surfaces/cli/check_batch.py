"""`telex check` on many messages: prints each refusal, then the counts.

Memory does not grow with the input, since only counters are kept. After the first few hundred messages the compiled
validator is worth its compile time.
"""

import gc
import sys
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from telex.model.finding import Severity
from telex.surfaces.cli.check import CheckCommand, checked_by, sized, stderr_has_its_own_reader
from telex.surfaces.cli.check_output import ANSWERS, json_line
from telex.surfaces.cli.exit_codes import DONE, FAILED, REFUSED, CommandError
from telex.surfaces.cli.inputs import has_lines, pieces
from telex.surfaces.cli.output import Screen, shown, what, wrapped
from telex.surfaces.cli.progress import Progress
from telex.surfaces.cli.table import Row, table_lines
from telex.validation.check import CheckResult

if TYPE_CHECKING:
    from telex.validation.compiled import ValidMessage

_GRAVITY: dict[Severity, int] = {"refusal": 0, "warning": 1, "note": 2}


EXPRESS_FROM = 200  # messages; compiling the validator takes about as long as checking so many without it
SAID_MAX = 20  # messages whose findings are printed
FINDINGS_MAX = 3  # of each
INDENT = 4
RATE_FROM = 1000  # messages; with fewer the rate says more about starting than about checking
NEXT = "telex check FILE{0} shows all findings of one, telex fix FILE{0} fixes it, telex explain CODE explains a code"
STEP = 256  # messages between two looks at the clock


def check_many(files: list[str], task: CheckCommand) -> int:
    """Check every message of every file, print the findings, and return the exit code."""
    if not gc.isenabled():  # see main: imported objects are frozen; from here on there is garbage
        gc.freeze()
        gc.enable()
    return _BatchCheck(files, task).run()


class _BatchCheck:
    def __init__(self, files: list[str], task: CheckCommand) -> None:
        self.files, self.task, self.tally = files, task, CheckSummary()
        self.bytes_max = task.desk.limits.message_bytes_max
        self.errors = Screen(sys.stderr)
        self.progress = Progress(files, wanted=not task.quiet)
        self.answer = ANSWERS.get(task.format)
        self.passes: Callable[[bytes], tuple[ValidMessage, Any] | None] = _not_open_yet
        self.answers_passed: dict[tuple[str, str], str] = {}
        self.says_words = self.answer is None or stderr_has_its_own_reader()
        self.messages = self.bytes_done = self.unsaid = self.said = 0
        self.failed = False

    def run(self) -> int:
        began = time.monotonic()
        for file in self.files:
            try:
                self._file(file)
            except CommandError as error:
                self._line(f"telex: {error.say}")
                self.failed = True
        self.progress.clear()
        if self.unsaid:
            self._line(f"… and {self.unsaid:,} more; --json shows all")
        if self.answer is None and not self.task.quiet:
            self._summary(time.monotonic() - began)
        return REFUSED if self.tally.total.refused else FAILED if self.failed else DONE

    def _file(self, file: str) -> None:
        lines = has_lines(file, self.task.lines)
        for number, raw, size in pieces(file, self.bytes_max, lines=lines):
            self.messages += 1
            self.bytes_done += size
            answer = self.passes(raw)
            if answer is not None:
                self._passed(answer[0], file, number)
            else:
                checked = checked_by(self.task, raw)
                self._checked(sized(checked, size, self.bytes_max), _place(file, number))
            if self.messages == EXPRESS_FROM:
                self._open_express()
            if not self.messages % STEP:
                self.progress.step(self.messages, self.bytes_done)

    def _open_express(self) -> None:
        from telex.validation.compiled import FastValidator

        self.passes = FastValidator(self.task.desk, as_role=self.task.as_role, to_role=self.task.to_role).passes

    def _passed(self, passed: "ValidMessage", file: str, number: int) -> None:
        """Count a message without findings, as most are, at little cost."""
        key = (passed.dialect.name, passed.type.name)
        self.tally.row(key).accepted += 1
        if self.answer is None or self.task.quiet:
            return
        if key not in self.answers_passed:
            checked = CheckResult(True, "message", passed.dialect, passed.type.name, (), tree={})
            self.answers_passed[key] = self.answer(checked, "").removesuffix('""}')
        sys.stdout.write(f"{self.answers_passed[key]}{json_line(_place(file, number))}}}\n")

    def _checked(self, checked: CheckResult, place: str) -> None:
        self.tally.add(checked, shown(place))
        if self.answer is not None and not (checked.valid and self.task.quiet):
            sys.stdout.write(self.answer(checked, place) + "\n")
        worth_saying = not checked.valid or (is_warned(checked) and not self.task.quiet and self.answer is None)
        if not worth_saying or not self.says_words:
            return
        if self.said < SAID_MAX:
            self.said += 1
            self._line("\n".join(_message_lines(checked, shown(place), self.errors)))
        else:
            self.unsaid += 1

    def _line(self, text: str) -> None:
        self.progress.clear()
        self.errors.line(text)

    def _summary(self, seconds: float) -> None:
        screen, total = Screen(sys.stdout), self.tally.total
        warned = f" ({total.warned:,} with warnings)" if total.warned else ""
        counts = f"{total.accepted:,} accepted{warned}, {total.refused:,} refused"
        files = f" in {len(self.files):,} files" if len(self.files) > 1 else ""
        rate = f"; {seconds:.1f} s, {self.messages / max(seconds, 1e-9):,.0f} messages a second"
        blank = [""] if self.said else []
        last = f"{self.messages:,} messages{files}: {counts}{rate if self.messages > RATE_FROM else ''}"
        screen.line("\n".join([*blank, *self.tally.lines(screen), "", screen.paint(last, "bold")]))
        if total.refused:
            for line in wrapped(NEXT.format(self.task.repeated), self.errors.width, 0):
                self._line(self.errors.paint(line, "dim"))


def _not_open_yet(raw: bytes) -> None:
    """Before the fast lane is open, nobody passes by it."""


def _place(file: str, number: int) -> str:
    return f"{file}:{number}" if number else file


def _message_lines(checked: CheckResult, place: str, screen: Screen) -> list[str]:
    """A message among many: one line for itself, then its gravest findings, the code last."""
    word = screen.paint("warned  ", "yellow") if checked.valid else screen.paint("refused ", "red")
    gravest = [item for item in checked.findings if item.severity == "refusal"]
    gravest = gravest or [item for item in checked.findings if item.severity == "warning"]
    findings = gravest[:FINDINGS_MAX]
    widest = max((len(shown(item.path)) for item in findings), default=0)
    lines = [f"{word}  {screen.paint(place, 'bold')}  {what(checked)}"]
    for item in findings:
        first, *others = wrapped(f"{shown(item.say)} [{item.code}]", screen.width, INDENT + widest + 2)
        lines.append(f"{' ' * INDENT}{shown(item.path):<{widest}}  {first}")
        lines += [" " * (INDENT + widest + 2) + other for other in others]
    left = len(gravest) - len(findings)
    return [*lines, f"{' ' * INDENT}… {left} more"] if left else lines


# --- counts -----------------------------------------------------------------------------------------------------------


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
