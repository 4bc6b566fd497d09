"""`telex check` on many messages: prints each refusal, then the counts.

Memory does not grow with the input, since only counters are stored. After the first few hundred messages the compiled
validator is worth its compile time.
"""

import sys
import time
from collections import Counter
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from telex.model.finding import Severity
from telex.surfaces.cli.check import CheckCommand, checked_by, result_facts, sized
from telex.surfaces.cli.files import has_lines, pieces
from telex.surfaces.cli.output import Screen, print_json, shown, stderr_has_its_own_reader, what, wrapped
from telex.surfaces.cli.render import Progress, Row, table_lines
from telex.surfaces.cli.usage import DONE, FAILED, REFUSED, CommandError, enable_gc
from telex.validation.check import CheckResult

if TYPE_CHECKING:
    from telex.validation.compiled import ValidMessage

COMPILE_FROM = 200  # messages; compiling the validator takes about as long as checking so many without it
PRINTED_MAX = 20  # messages whose findings are printed
FINDINGS_MAX = 3  # of each
INDENT = 4
RATE_FROM = 1000  # messages; with fewer the rate depends on the start
NEXT = "telex check FILE{0} shows all findings of one, telex fix FILE{0} fixes it, telex explain CODE explains a code"
STEP = 256  # messages between two updates of the progress
_RANK: dict[Severity, int] = {"refusal": 0, "warning": 1, "note": 2}
_OUTCOMES = ("accepted", "warned", "refused")  # a warned message is accepted too
TypeKey = tuple[str, str]  # dialect and type


class BatchCheck:
    def __init__(self, files: list[str], task: CheckCommand) -> None:
        self.files, self.task = files, task
        self.bytes_max = task.policy.limits.message_bytes_max
        self.errors = Screen(sys.stderr)
        self.progress = Progress(files, wanted=not task.quiet)
        self.is_json = task.format != "text"
        self.prints_text = not self.is_json or stderr_has_its_own_reader()
        self.passes: Callable[[bytes], tuple[ValidMessage, Any] | None] = lambda raw: None
        self.counts: dict[TypeKey, Counter[str]] = {}
        self.codes: Counter[tuple[Severity, str]] = Counter()
        self.first_places: dict[tuple[Severity, str], str] = {}
        self.messages = self.bytes_done = self.printed = self.omitted = 0

    def run(self) -> int:
        """Check every message of every file, print the findings, and return the exit code."""
        enable_gc()
        began, failed = time.monotonic(), False
        for file in self.files:
            try:
                self._check_file(file)
            except CommandError as error:
                self._line(f"telex: {error.say}")
                failed = True
        self.progress.clear()
        if self.omitted:
            self._line(f"… and {self.omitted:,} more; --json shows all")
        if not self.is_json and not self.task.quiet:
            self._summary(time.monotonic() - began)
        return REFUSED if self._total()["refused"] else FAILED if failed else DONE

    def _check_file(self, file: str) -> None:
        for number, raw, size in pieces(file, self.bytes_max, lines=has_lines(file, self.task.lines)):
            self.messages += 1
            self.bytes_done += size
            place = f"{file}:{number}" if number else file
            passed = self.passes(raw)
            if passed is not None:
                self._passed(passed[0], place)
            else:
                self._checked(sized(checked_by(self.task, raw), size, self.bytes_max), place)
            if self.messages == COMPILE_FROM:
                from telex.validation.compiled import FastValidator

                task = self.task
                self.passes = FastValidator(task.policy, as_role=task.as_role, to_role=task.to_role).passes
            if not self.messages % STEP:
                self.progress.step(self.messages, self.bytes_done)

    def _row(self, key: TypeKey) -> Counter[str]:
        return self.counts.setdefault(key, Counter())

    def _passed(self, passed: "ValidMessage", place: str) -> None:
        """Count a message without findings."""
        self._row((passed.dialect.name, passed.type.name))["accepted"] += 1
        if self.is_json and not self.task.quiet:
            checked = CheckResult(True, "message", passed.dialect, passed.type.name, (), tree={})
            print_json(result_facts(checked, self.task.format) | {"source": place})

    def _checked(self, checked: CheckResult, place: str) -> None:
        self._count(checked, shown(place))
        if self.is_json and not (checked.valid and self.task.quiet):
            print_json(result_facts(checked, self.task.format) | {"source": place})
        is_printed = not checked.valid or (_is_warned(checked) and not self.task.quiet and not self.is_json)
        if not is_printed or not self.prints_text:
            return
        if self.printed < PRINTED_MAX:
            self.printed += 1
            self._line(*_message_lines(checked, shown(place), self.errors))
        else:
            self.omitted += 1

    def _count(self, checked: CheckResult, place: str) -> None:
        row = self._row(_key(checked))
        row["accepted" if checked.valid else "refused"] += 1
        row["warned"] += checked.valid and _is_warned(checked)
        for finding in checked.findings:
            code = (finding.severity, finding.code)
            self.codes[code] += 1
            self.first_places.setdefault(code, place)

    def _line(self, *lines: str) -> None:
        self.progress.clear()
        self.errors.line(*lines)

    def _total(self) -> Counter[str]:
        return sum(self.counts.values(), Counter())

    def _summary(self, seconds: float) -> None:
        screen, total = Screen(sys.stdout), self._total()
        warned = f" ({total['warned']:,} with warnings)" if total["warned"] else ""
        counts = f"{total['accepted']:,} accepted{warned}, {total['refused']:,} refused"
        files = f" in {len(self.files):,} files" if len(self.files) > 1 else ""
        rate = f"; {seconds:.1f} s, {self.messages / max(seconds, 1e-9):,.0f} messages a second"
        last = f"{self.messages:,} messages{files}: {counts}{rate if self.messages > RATE_FROM else ''}"
        blank = [""] if self.printed else []
        codes = ["", *self._code_table(screen)] if self.codes else []
        screen.line(*blank, *self._type_table(screen), *codes, "", screen.paint(last, "bold"))
        if total["refused"]:
            for line in wrapped(NEXT.format(self.task.repeated), self.errors.width):
                self._line(self.errors.paint(line, "dim"))

    def _type_table(self, screen: Screen) -> list[str]:
        rows: list[Row] = []
        above = None
        for (dialect, type_), counts in sorted(self.counts.items()):
            rows.append(("" if dialect == above else dialect, type_, *(counts[name] for name in _OUTCOMES)))
            above = dialect
        total = self._total()
        sums: Row = ("total", "", *(total[name] for name in _OUTCOMES))
        return table_lines(("dialect", "type", *_OUTCOMES), rows, screen, total=sums)

    def _code_table(self, screen: Screen) -> list[str]:
        codes = sorted(self.codes.items(), key=lambda item: (_RANK[item[0][0]], -item[1], item[0][1]))
        rows = [(*code, count, self.first_places[code]) for code, count in codes]
        return table_lines(("severity", "code", "count", "first seen"), rows, screen)


def _message_lines(checked: CheckResult, place: str, screen: Screen) -> list[str]:
    """A line for the message, then its most severe findings, the code last."""
    word = screen.paint("warned  ", "yellow") if checked.valid else screen.paint("refused ", "red")
    severe = [finding for finding in checked.findings if finding.severity == "refusal"]
    severe = severe or [finding for finding in checked.findings if finding.severity == "warning"]
    findings = severe[:FINDINGS_MAX]
    widest = max((len(shown(finding.path)) for finding in findings), default=0)
    lines = [f"{word}  {screen.paint(place, 'bold')}  {what(checked)}"]
    for finding in findings:
        first, *others = wrapped(f"{shown(finding.say)} [{finding.code}]", screen.width, INDENT + widest + 2)
        lines.append(f"{' ' * INDENT}{shown(finding.path):<{widest}}  {first}")
        lines += [" " * (INDENT + widest + 2) + other for other in others]
    left = len(severe) - len(findings)
    return [*lines, f"{' ' * INDENT}… {left} more"] if left else lines


def _key(checked: CheckResult) -> tuple[str, str]:
    """Row of a message in the table. Unknown types share one, so that senders cannot add rows."""
    if checked.dialect is None:
        return "–", {"control": "control frame", "message": "type not known"}.get(checked.outcome, "unreadable")
    if checked.type in checked.dialect.types:
        return checked.dialect.name, str(checked.type)
    return checked.dialect.name, "text" if checked.outcome == "plain" else "type not known"


def _is_warned(checked: CheckResult) -> bool:
    return any(finding.severity == "warning" for finding in checked.findings)
