"""`telex migrate-log`: a log of one version of a dialect, as it reads under another."""

import sys
import time
from typing import Any, BinaryIO

import click

from telex.replay.migrate import Migration
from telex.surfaces.cli.bus_connection import stay_for_long
from telex.surfaces.cli.bus_options import text_option
from telex.surfaces.cli.check_output import json_line, visible_json
from telex.surfaces.cli.exit_codes import DONE, FAILED, NOT_FOUND, CommandError
from telex.surfaces.cli.inputs import STDIN, files_in, lines_as_they_are
from telex.surfaces.cli.output import Screen, shell_word, shown
from telex.surfaces.cli.output_file import begins_a_store, writing
from telex.surfaces.cli.progress import Progress
from telex.surfaces.cli.reader_options import reader_from, readers
from telex.surfaces.cli.table import Row, table_lines

LINE_BYTES_MAX = 64 * 1_048_576
CHANGES_SHOWN_MAX = 40
STEP = 64  # messages between two looks at the clock


@click.command("migrate-log")
@click.argument("file", metavar="FILE|-")
@click.option(
    "--from", "origin", metavar="VERSION", required=True, shell_complete=readers,
    help="Version to read: name@version, such as vbw@1.0.",
)  # fmt: skip
@click.option(
    "--to", metavar="VERSION", required=True, shell_complete=readers,
    help="Version to write, such as vbw@2.0.",
)  # fmt: skip
@text_option("--output", "FILE", "Output file; stdout if not given.", into="out")
@click.option("--json", "as_json", is_flag=True, help="Print the report as JSON, on stderr too.")
def command(file: str, origin: str, to: str, out: str | None, as_json: bool) -> int:
    """Convert a log: translate each message from one version of a dialect to another.

    FILE is an export (telex log --export), log records, or has one message per line; each line keeps its form. The
    report on stderr lists what was lost, narrowed or invented, and what was copied unchanged.
    """
    stay_for_long()
    reads, wants = reader_from(origin), reader_from(to)
    for reader_dialect, given in ((reads, origin), (wants, to)):
        if not reader_dialect.dialect.types:
            raise CommandError(f"{shown(given)} has no types: name a dialect that has, such as vbw@2.0")
    path = _log_at(file)
    migration = Migration(reads.dialect, wants.dialect, time.time(), wants.spelt)
    with writing(out, source=path) as target:
        _write(migration, path, target)
    screen = Screen(sys.stderr)
    if as_json:
        screen.line(json_line(_facts(migration)))
    else:
        screen.line("\n".join(_report(migration, screen)))
    return DONE if migration.translated or not migration.messages else NOT_FOUND


def _log_at(file: str) -> str:
    files = files_in([file])
    if len(files) > 1:
        raise CommandError(f"{shown(file)} has {len(files):,} files, such as {shown(files[0])}: convert one at a time")
    return files[0]


def _write(migration: Migration, path: str, target: BinaryIO) -> None:
    is_terminal = target.isatty()
    progress = Progress([path], wanted=not is_terminal)
    bytes_done = 0
    for number, raw, size in lines_as_they_are(path, LINE_BYTES_MAX):
        bytes_done += size
        if size > LINE_BYTES_MAX:
            raise CommandError(f"{shown(path)}:{number}: longer than any line of a log may be", FAILED)
        if number == 1 and begins_a_store(raw):
            raise CommandError(_is_a_store(path))
        written = migration.line(number, raw)
        target.write(_to_look_at(written) if is_terminal else written)
        if not number % STEP:
            progress.step(migration.messages, bytes_done)
    progress.clear()


def _is_a_store(path: str) -> str:
    store = "" if path == STDIN else f" --store {shell_word(path)}"
    return f"{shown(path)} is a store, not a log: telex log --export old.jsonl{store} writes the log of it"


def _to_look_at(line: bytes) -> bytes:
    """No terminal may take it for commands; what is JSON stays JSON."""
    text = line.rstrip(b"\r\n").decode("utf-8", "backslashreplace")
    return visible_json(text).encode("utf-8", "backslashreplace") + b"\n"


# --- what is said of it -----------------------------------------------------------------------------------------------


def _report(migration: Migration, screen: Screen) -> list[str]:
    lines: list[str] = []
    became: list[Row] = [(*pair, times) for pair, times in sorted(migration.became.items())]
    if became:
        lines += [*table_lines((migration.origin.name, migration.to.name, "messages"), became, screen), ""]
    changes = migration.changes()
    if changes:
        rows: list[Row] = [
            (
                migration_change.what,
                migration_change.type,
                migration_change.times,
                shown(migration_change.path),
                shown(migration_change.reason),
            )
            for migration_change in changes[:CHANGES_SHOWN_MAX]
        ]
        lines += [*table_lines(("", "of", "times", "where", "why"), rows, screen), ""]
        if len(changes) > CHANGES_SHOWN_MAX:
            lines += [f"and {len(changes) - CHANGES_SHOWN_MAX:,} more; --json shows all", ""]
    left: list[Row] = [(shown(what), times, shown(why)) for (what, why), times in migration.left.most_common()]
    if left:
        lines += [*table_lines(("unchanged", "times", "why"), left[:CHANGES_SHOWN_MAX], screen), ""]
    count = f"{migration.translated:,} of {migration.messages:,} messages"
    return [*lines, screen.paint(f"{count} from {migration.origin.name} to {migration.to.name}", "bold")]


def _facts(migration: Migration) -> dict[str, Any]:
    return {
        "from": migration.origin.name,
        "to": migration.to.name,
        "messages": migration.messages,
        "translated": migration.translated,
        "types": [{"from": one, "to": other, "times": times} for (one, other), times in migration.became.items()],
        "changes": [migration_change._asdict() for migration_change in migration.changes()],
        "left": [{"what": what, "why": why, "times": times} for (what, why), times in migration.left.items()],
    }
