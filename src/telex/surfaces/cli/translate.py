"""`telex translate` and `telex migrate-log`: a message, or a whole log, in another dialect or version.

Lost, narrowed and invented fields are reported on stderr.
"""

import os
import sys
import time
from typing import Any, BinaryIO

from telex.dialects.registry import PLAIN
from telex.model.finding import Finding
from telex.replay.migrate import Migration
from telex.surfaces.cli.check import answer_of, sized, team_policy, with_dialects
from telex.surfaces.cli.files import STDIN, begins_a_store, files_in, lines_as_they_are, pieces, writing
from telex.surfaces.cli.options import (
    command,
    dialect_option,
    file_argument,
    flag,
    json_option,
    reader_from,
    role_option,
    team_dialect_option,
    text_option,
)
from telex.surfaces.cli.output import (
    Screen,
    finding_lines,
    json_line,
    print_json,
    shell_word,
    shown,
    shown_block,
    verdict,
    visible_json,
    wire_text,
    wrapped,
)
from telex.surfaces.cli.render import Progress, Row, table_lines, write_bytes
from telex.surfaces.cli.usage import DONE, FAILED, NOT_FOUND, REFUSED, CommandError
from telex.translator import TranslatedMessage, translate_checked
from telex.validation.check import CheckResult, check

READER = "Dialect of the reader: a name, name@version, or plain for markdown."
VERSION: Any = {"complete": "versions", "required": True}
CHANGES = ("lost", "narrowed", "invented")
_VALUE_CHARACTERS_MAX = 24  # of a changed value in the report
_ONE_AT_A_TIME = "Translate one message at a time; telex migrate-log converts a whole log."


# --- translate --------------------------------------------------------------------------------------------------------
@command(
    "translate",
    [
        text_option("--to", "DIALECT", READER, "reader", **VERSION),
        file_argument,
        role_option,
        dialect_option,
        team_dialect_option,
        json_option,
    ],
)
def translate_command(
    reader: str, file: str, role: str | None, dialect: str | None, team_dialect: str | None, as_json: bool
) -> int:
    """Print a message translated to another dialect.

    Lost, narrowed and invented fields are listed on stderr, each with its path and reason.
    """
    to = reader_from(reader)
    checked = _read(file, role, dialect, team_dialect)
    translated = translate_checked(checked, to.dialect, to.spellings, role)
    if not translated.valid:
        return _refuse(checked, as_json)
    if translated.why_not is not None:
        if not as_json:
            instead = f"telex translate --to {PLAIN.name} {shell_word(file)}"
            say = (
                f"{checked.type} has no counterpart: {translated.why_not} Its readers receive it as markdown: {instead}"
            )
            raise CommandError(say, NOT_FOUND)
        answer = {"dialect": to.dialect.name, "type": None, "message": None, "reason": translated.why_not}
        print_json(answer | {"markdown": translated.text})
        return NOT_FOUND
    if as_json:
        print_json(_facts(translated))
    elif checked.outcome != "message":
        _print_unchanged(checked)
    elif translated.tree is None:
        sys.stdout.write(translated.text)
    else:
        _print_translated(translated, checked)
    return DONE


def _read(file: str, role: str | None, dialect: str | None, team_dialect: str | None) -> CheckResult:
    if file != STDIN and os.path.isdir(file):
        raise CommandError(f"{shown(file)} is a folder: translate one message at a time")
    policy = with_dialects(team_policy(), dialect, team_dialect)
    bytes_max = policy.limits.message_bytes_max
    [path] = files_in([file])
    [(_, raw, size)] = pieces(path, bytes_max, lines=False)
    return sized(check(raw, policy, as_role=role), size, bytes_max)


def _print_translated(translated: TranslatedMessage, checked: CheckResult) -> None:
    assert checked.dialect is not None
    assert translated.dialect is not None
    assert translated.tree is not None
    if sys.stdout.isatty():
        text = wire_text(translated.dialect, translated.tree, translated.body)
        sys.stdout.write(text if text.endswith("\n") else text + "\n")
        sys.stdout.flush()
    else:  # exactly the message: a further line end would be translated back
        write_bytes(translated.text.encode("utf-8", "backslashreplace"))
    screen = Screen(sys.stderr)
    has_notes = any(finding.severity == "note" for finding in checked.findings)
    same = ", unchanged" if translated.tree is checked.tree and not has_notes else ""
    became = f"{checked.dialect.name} {checked.type} → {translated.dialect.name} {translated.type}{same}"
    rows = [
        (kind, change.path, _short(change.value), change.reason)
        for kind in CHANGES
        for change in getattr(translated, kind)
    ]
    table = table_lines(("", "where", "what", "why"), rows, screen) if rows else ["nothing lost, nothing invented"]
    screen.line(*wrapped(became, screen.width), *table)


def _short(value: Any) -> str:
    text = shown(value) if isinstance(value, str) else json_line(value)
    return text if len(text) <= _VALUE_CHARACTERS_MAX else text[: _VALUE_CHARACTERS_MAX - 1] + "…"


def _facts(translated: TranslatedMessage) -> dict[str, Any]:
    assert translated.dialect is not None
    text = translated.text if translated.text.endswith("\n") or translated.tree is not None else translated.text + "\n"
    answer = {"dialect": translated.dialect.name, "type": translated.type}
    changes = {kind: [change._asdict() for change in getattr(translated, kind)] for kind in CHANGES}
    return answer | {"message": translated.tree, "body": translated.body, "text": text} | changes


def _print_unchanged(checked: CheckResult) -> None:
    """Print plain text and control frames of coding tools, which are not translated."""
    text = checked.text if checked.text.endswith("\n") else checked.text + "\n"
    sys.stdout.write(shown_block(text) if sys.stdout.isatty() else text)
    sys.stdout.flush()
    what = "a control frame of a coding tool" if checked.outcome == "control" else "plain text"
    sys.stderr.write(f"{what}: every reader receives it unchanged\n")


def _refuse(checked: CheckResult, as_json: bool) -> int:
    checked = checked._replace(findings=tuple(map(_for_one, checked.findings)))
    if as_json:
        print_json(answer_of(checked))
    screen = Screen(sys.stderr)
    screen.line(verdict(checked, screen), *finding_lines(checked.findings, screen))
    return REFUSED


def _for_one(finding: Finding) -> Finding:
    return finding._replace(say=_ONE_AT_A_TIME) if finding.code == "several-messages" else finding


# --- migrate-log ------------------------------------------------------------------------------------------------------

LINE_BYTES_MAX = 64 * 1_048_576
CHANGES_SHOWN_MAX = 40
STEP = 64  # lines between two updates of the progress


@command(
    "migrate-log",
    [
        file_argument,
        text_option("--from", "VERSION", "Version to read: name@version, such as vbw@1.0.", "origin", **VERSION),
        text_option("--to", "VERSION", "Version to write, such as vbw@2.0.", **VERSION),
        text_option("--output", "FILE", "Output file; stdout if not given.", "out"),
        flag("--json", "Print the report as JSON, on stderr too.", "as_json"),
    ],
)
def migrate_log_command(file: str, origin: str, to: str, out: str | None, as_json: bool) -> int:
    """Convert a log: translate each message from one version of a dialect to another.

    FILE is an export (telex log --export), log records, or has one message per line; each line keeps its form. The
    report on stderr lists lost, narrowed and invented fields, and the lines that were copied unchanged.
    """
    source, target_version = reader_from(origin), reader_from(to)
    for reader, given in ((source, origin), (target_version, to)):
        if not reader.dialect.types:
            raise CommandError(f"{shown(given)} has no types: name a dialect that has, such as vbw@2.0")
    files = files_in([file])
    if len(files) > 1:
        raise CommandError(f"{shown(file)} has {len(files):,} files, such as {shown(files[0])}: convert one at a time")
    migration = Migration(source.dialect, target_version.dialect, time.time(), target_version.spelt)
    with writing(out, source=files[0]) as target:
        _convert(migration, files[0], target)
    screen = Screen(sys.stderr)
    screen.line(*([json_line(_migration_facts(migration))] if as_json else _migration_lines(migration, screen)))
    return DONE if migration.translated or not migration.messages else NOT_FOUND


def _convert(migration: Migration, path: str, target: BinaryIO) -> None:
    is_terminal = target.isatty()
    progress = Progress([path], wanted=not is_terminal)
    bytes_done = 0
    for number, raw, size in lines_as_they_are(path, LINE_BYTES_MAX):
        bytes_done += size
        if size > LINE_BYTES_MAX:
            raise CommandError(f"{shown(path)}:{number}: longer than any line of a log may be", FAILED)
        if number == 1 and begins_a_store(raw):
            store = "" if path == STDIN else f" --store {shell_word(path)}"
            export = f"telex log --export old.jsonl{store} writes the log of it"
            raise CommandError(f"{shown(path)} is a store, not a log: {export}")
        line = migration.line(number, raw)
        target.write(_escaped(line) if is_terminal else line)
        if not number % STEP:
            progress.step(migration.messages, bytes_done)
    progress.clear()


def _escaped(line: bytes) -> bytes:
    """The line for a terminal; JSON stays JSON."""
    text = line.rstrip(b"\r\n").decode("utf-8", "backslashreplace")
    return visible_json(text).encode("utf-8", "backslashreplace") + b"\n"


def _migration_lines(migration: Migration, screen: Screen) -> list[str]:
    lines: list[str] = []

    def add(headings: tuple[str, ...], rows: list[Row]) -> None:
        lines.extend([*table_lines(headings, rows[:CHANGES_SHOWN_MAX], screen), ""] if rows else [])

    add(
        (migration.origin.name, migration.to.name, "messages"),
        [(*pair, n) for pair, n in sorted(migration.became.items())],
    )
    changes = migration.changes()
    rows = [(change.what, change.type, change.times, change.path, change.reason) for change in changes]
    add(("", "of", "times", "where", "why"), list(rows))
    if len(changes) > CHANGES_SHOWN_MAX:
        lines += [f"and {len(changes) - CHANGES_SHOWN_MAX:,} more; --json shows all", ""]
    add(("unchanged", "times", "why"), [(what, times, why) for (what, why), times in migration.left.most_common()])
    count = f"{migration.translated:,} of {migration.messages:,} messages"
    return [*lines, screen.paint(f"{count} from {migration.origin.name} to {migration.to.name}", "bold")]


def _migration_facts(migration: Migration) -> dict[str, Any]:
    became, left = migration.became.items(), migration.left.items()
    return {
        "from": migration.origin.name,
        "to": migration.to.name,
        "messages": migration.messages,
        "translated": migration.translated,
        "types": [{"from": source, "to": target, "times": times} for (source, target), times in became],
        "changes": [change._asdict() for change in migration.changes()],
        "left": [{"what": what, "why": why, "times": times} for (what, why), times in left],
    }
