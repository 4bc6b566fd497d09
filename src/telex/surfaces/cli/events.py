"""`telex events`: print the event log, and follow it."""

import sys
from typing import Any

import click

from telex.model.message import KINDS, Event, Message, detail_of
from telex.model.text import nearest
from telex.surfaces.cli import completion
from telex.surfaces.cli.bus_connection import opened_to_look, stay_for_long
from telex.surfaces.cli.bus_options import filters, lines_option, query_from, store_option
from telex.surfaces.cli.check_output import json_line
from telex.surfaces.cli.event_text import event_text
from telex.surfaces.cli.exit_codes import DONE, CommandError
from telex.surfaces.cli.output import Screen, shown, wrapped
from telex.surfaces.cli.time_text import day_time, stamp

_KINDS_WIDTH = 13  # longer ones are rare
_INDENT = 23 + 2 + _KINDS_WIDTH + 2
_BELOW = 11  # where words begin that have no room beside the time and the kind


def _known(ctx: click.Context, param: click.Parameter, value: tuple[str, ...]) -> tuple[str, ...]:
    for kind in value:
        if kind not in KINDS:
            meant = nearest(kind, KINDS)
            perhaps = f"did you mean {meant}?" if meant else f"there are {', '.join(KINDS)}"
            raise CommandError(f"no kind of event {shown(kind)}; {perhaps}")
    return value


@click.command("events")
@click.option("--follow", "-f", is_flag=True, help="Follow new events until interrupted.")
@click.option(
    "--kind", "kinds", metavar="KIND", multiple=True, callback=_known, shell_complete=completion.kinds,
    help="Only this kind; may be given again.",
)  # fmt: skip
@filters
@store_option
@lines_option
def command(follow: bool, store: str | None, as_json: bool, **given: Any) -> int:
    """Print the events that match all given options, in order."""
    query = query_from(**given)
    screen = Screen(sys.stdout)
    stay_for_long()
    with opened_to_look(store) as bus:
        for event, message in bus.events(query, follow=follow):
            screen.line(json_line(facts(event, message)) if as_json else "\n".join(_lines(event, message, screen)))
            if follow:
                sys.stdout.flush()
    return DONE


def _lines(event: Event, message: Message | None, screen: Screen) -> list[str]:
    kind, words = event_text(event, message)
    about = f"{shown(message.id)} {shown(message.type or message.dialect or 'text')}: " if message else ""
    head = f"{day_time(event.at)}  {screen.paint(f'{kind:<{_KINDS_WIDTH}}', 'bold')}"
    first, *others = wrapped(about + words, screen.width, _INDENT)
    if screen.width is not None and max(map(len, (first, *others))) > screen.width - _INDENT:  # an id, often
        return [head.rstrip(), *(" " * _BELOW + line for line in wrapped(about + words, screen.width, _BELOW))]
    return [f"{head}  {first}", *(" " * _INDENT + other for other in others)]


def facts(event: Event, message: Message | None) -> dict[str, Any]:
    return {
        "seq": event.seq,
        "at": stamp(event.at),
        "kind": event.kind,
        "agent": event.agent,
        "inbox": event.inbox,
        "delivery": event.delivery,
        "id": message.id if message else None,
        "dialect": message.dialect if message else None,
        "type": message.type if message else None,
        "from": message.sender if message else None,
        "correlation": message.correlation if message else None,
        "detail": detail_of(event) or None,
    }
