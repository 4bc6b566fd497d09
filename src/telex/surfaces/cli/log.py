"""`telex log`: messages of the log, and its export and import."""

import io
import sys
from collections.abc import Iterator
from typing import IO, TYPE_CHECKING, Any

import click

from telex.model.message import NewMessage
from telex.ports.store import Query
from telex.record import KINDS, InvalidLine, LogRecord, exported, imported, log_facts, records
from telex.surfaces.cli.bus_connection import opened, opened_to_look, stay_for_long
from telex.surfaces.cli.bus_options import filters, lines_option, query_from, store_option, text_option
from telex.surfaces.cli.check_output import json_line
from telex.surfaces.cli.exit_codes import DONE, FAILED, NOT_FOUND, CommandError
from telex.surfaces.cli.inputs import STDIN
from telex.surfaces.cli.output import Screen, shown, wrapped
from telex.surfaces.cli.output_file import writing
from telex.surfaces.cli.result_output import print_one
from telex.surfaces.cli.time_text import day_time, span
from telex.validation.authorization import normalised

if TYPE_CHECKING:
    from telex.client import SyncBus
    from telex.ports.store import Query

STEP = 500  # messages imported together; one fsync for all of them
FLAWS_SHOWN_MAX = 20


_COLOURS = {"SUCCESS": "green", "ERROR": "red"}
_AGENT_WIDTH = 10
_BESIDE = 12 + 2 + 8 + 2 + 2 + 7 + 2 + 8 + 2  # everything in front of the type but the agent
_BELOW = 12 + 2  # where a line goes on that the terminal is too narrow for


@click.command("log")
@click.option("--follow", "-f", is_flag=True, help="Follow new entries until interrupted.")
@filters
@text_option(
    "--export", "FILE", "Export every event with the bytes of its message as JSON lines; - is stdout.", into="out"
)
@text_option("--import", "FILE", "Import the messages of such a file as history; - is stdin.", into="into")
@store_option
@lines_option
def command(follow: bool, out: str | None, into: str | None, store: str | None, as_json: bool, **given: Any) -> int:
    """Print the log: one line for every message sent and for every attempt to read it."""
    if out and into:
        raise CommandError("--export or --import, not both at once")
    query = query_from(**given)
    stay_for_long()
    if into:
        with opened(store) as bus:
            return take_in(bus, into, as_json=as_json)
    with opened_to_look(store) as bus:
        if out:
            return write_out(bus, out, query)
        return _log(bus, query._replace(kinds=KINDS), follow, as_json)


# --- to look at -------------------------------------------------------------------------------------------------------


def _log(bus: "SyncBus", query: "Query", follow: bool, as_json: bool) -> int:
    screen, day = Screen(sys.stdout), ""
    for record in records(bus.events(query, follow=follow)):
        if query.agent not in (None, normalised(record.agent)):
            continue
        if as_json:
            screen.line(json_line(log_facts(record)))
        else:
            told = day_time(record.at)
            lines = [screen.paint(f"{told[:10]} UTC", "dim")] if told[:10] != day else []
            screen.line("\n".join([*lines, *_lines(record, told[11:], screen)]))
            day = told[:10]
        if follow:
            sys.stdout.flush()
    return DONE


def _lines(record: LogRecord, when: str, screen: Screen) -> list[str]:
    message = record.message
    took = span(record.processing_ms / 1000) if record.processing_ms is not None else ""
    type_ = shown(message.type or message.dialect or "text")
    why = f": {shown(record.reason)}" if record.reason else ""
    result = screen.paint(f"{record.result:<7}", _COLOURS[record.result])
    who = f"{shown(record.agent):<{_AGENT_WIDTH}}"
    head = f"{when}  {record.direction:<8}  {who}  {result}  {took:>8}"
    told = f"{type_} {shown(message.id)}{why}"
    left = None if screen.width is None else screen.width - (_BESIDE + len(who))
    if left is None or len(told) <= left:
        return [f"{head}  {told}"]
    beside = f"  {type_}" if len(type_) <= left else ""
    below = told.removeprefix(f"{type_} ") if beside else told
    return [head + beside, *(" " * _BELOW + line for line in wrapped(below, screen.width, _BELOW))]


# --- export and import ------------------------------------------------------------------------------------------------


def write_out(bus: "SyncBus", path: str, query: Query) -> int:
    """Write every event that fits, each message with its bytes, and say how many those were."""
    count = 0
    with writing(path) as target:
        for event, message in bus.events(query):
            target.write((json_line(exported(event, message)) + "\n").encode("utf-8", "backslashreplace"))
            count += 1
    sys.stderr.write(f"{count:,} {'event' if count == 1 else 'events'} written to {shown(path)}\n")
    return DONE


def take_in(bus: "SyncBus", path: str, *, as_json: bool) -> int:
    """Take in the messages of an export. The file is read through first: if any of it is wrong, none is taken."""
    with _reading(path) as file:
        _refuse_flawed(file, path)
        file.seek(0)
        count = new = 0
        for batch in _batches(file):
            new += sum(append_result.outcome == "stored" for append_result in bus.import_messages(batch))
            count += len(batch)
    words = f"{new:,} of {count:,} messages imported" + ("" if new == count else "; the others were there already")
    return print_one({"messages": count, "new": new}, words, as_json)


def _reading(path: str) -> IO[bytes]:
    try:
        return io.BytesIO(sys.stdin.buffer.read()) if path == STDIN else open(path, "rb")
    except FileNotFoundError as error:
        raise CommandError(f"no such file: {shown(path)}", NOT_FOUND) from error
    except OSError as error:
        raise CommandError(f"cannot read {shown(path)}: {error.strerror}", FAILED) from error


def _refuse_flawed(file: IO[bytes], path: str) -> None:
    flaws = [one for one in imported(file) if isinstance(one, InvalidLine)]
    if not flaws:
        return
    told = [f"{shown(path)}:{flaw.line}: {shown(flaw.say)}" for flaw in flaws[:FLAWS_SHOWN_MAX]]
    more = [f"and {len(flaws) - FLAWS_SHOWN_MAX:,} more"] if len(flaws) > FLAWS_SHOWN_MAX else []
    raise CommandError("\n".join([*told, *more, "nothing was imported"]), FAILED)


def _batches(file: IO[bytes]) -> Iterator[list[NewMessage]]:
    batch: list[NewMessage] = []
    for one in imported(file):
        if isinstance(one, NewMessage):
            batch.append(one)
        if len(batch) == STEP:
            yield batch
            batch = []
    if batch:
        yield batch
