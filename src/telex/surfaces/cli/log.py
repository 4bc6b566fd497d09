"""`telex log`: what was said, by whom, how long did it take, and did it end well? Also out to a file, and back in."""

import sys
from typing import TYPE_CHECKING, Any

import click

from telex.record.log_records import KINDS, LogRecord, log_facts, records
from telex.surfaces.cli.bus_connection import opened, opened_to_look, stay_for_long
from telex.surfaces.cli.bus_options import filters, lines_option, query_from, store_option, text_option
from telex.surfaces.cli.check_output import json_line
from telex.surfaces.cli.exit_codes import DONE, CommandError
from telex.surfaces.cli.log_export import take_in, write_out
from telex.surfaces.cli.output import Screen, shown, wrapped
from telex.surfaces.cli.time_text import day_time, span
from telex.validation.authorization import normalised

if TYPE_CHECKING:
    from telex.client import SyncBus
    from telex.ports.store import Query

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
