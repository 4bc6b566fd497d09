"""`telex why`: print the history of a message, in order, under its current state."""

import sys
import time
from collections.abc import Callable
from typing import Any

import click

from telex.model.message import detail_of
from telex.model.work import waits_for_ever
from telex.ports.bus import MessageHistory
from telex.surfaces.cli import completion
from telex.surfaces.cli.bus_connection import opened_to_look
from telex.surfaces.cli.bus_options import lines_option, store_option
from telex.surfaces.cli.check_output import json_line
from telex.surfaces.cli.event_text import event_text, happening_apart
from telex.surfaces.cli.exit_codes import DONE
from telex.surfaces.cli.inbox import state_of
from telex.surfaces.cli.message_text import head_facts, what
from telex.surfaces.cli.output import Screen, shell_word, shown, wrapped
from telex.surfaces.cli.time_text import clock_time, day_time, stamp

_COLOURS = {"acked": "green", "dead": "red", "expired": "red", "refused": "red", "withdrawn": "yellow"}
_KINDS_WIDTH = 13
_INDENT = 23 + 2 + _KINDS_WIDTH + 2  # where the words of an event begin, behind its time and kind


@click.command("why")
@click.argument("id", metavar="ID", shell_complete=completion.waiting_ids)
@store_option
@lines_option
def command(id: str, store: str | None, as_json: bool) -> int:
    """Show the history of a message: who sent it, who leased it, their reasons, and what comes next."""
    with opened_to_look(store) as bus:
        stories = bus.why(id)
    if as_json:
        for story in stories:
            sys.stdout.write(json_line(facts(story)) + "\n")
        return DONE
    screen, now = Screen(sys.stdout), time.time()
    screen.line("\n\n".join("\n".join(story_lines(story, now, screen)) for story in stories))
    return DONE


Quote = Callable[[str], str]


def story_lines(story: MessageHistory, now: float, screen: Screen, quote: Quote | None = None) -> list[str]:
    """With `quote`, whatever others have written in it stands on lines of its own, as that puts it."""
    message = story.message
    state = screen.paint(story.state, _COLOURS.get(story.state, "yellow"))
    thread = f", conversation {shown(message.correlation)}" if message.correlation else ""
    reply = f", in reply to {shown(message.reply_to)}" if message.reply_to else ""
    about = f"{what(message)} from {shown(message.sender)} to {shown(message.to)}{thread}{reply}"
    head = [f"{screen.paint(shell_word(message.id), 'bold')}  {state}", *wrapped(about, screen.width, 0)]
    return [*head, "", *_event_lines(story, screen, quote), *_now_lines(story, now, screen)]


def _event_lines(story: MessageHistory, screen: Screen, quote: Quote | None) -> list[str]:
    lines, day, offered = [], "", 0
    # asked again, it lies in one of them twice
    inboxes = list(dict.fromkeys(delivery.inbox for delivery in story.deliveries))
    for event, after in zip(story.events, (*story.events[1:], None), strict=True):
        if after is not None and event.kind == after.kind == "extended":
            continue  # an MCP server renews a lease every minute: the last of them is enough
        offered += event.kind == "leased"
        said: tuple[str, ...] = ()
        if quote is None:
            kind, words = event_text(event, story.message, offered, inboxes)
        else:
            kind, words, said = happening_apart(event, story.message, offered, inboxes)
        told = day_time(event.at)
        when = told if told[:10] != day else " " * 11 + told[11:]
        day = told[:10]
        first, *others = wrapped(words, screen.width, _INDENT)
        lines.append(
            f"{when}  {screen.paint(f'{kind:<{_KINDS_WIDTH}}', _COLOURS.get(event.kind, 'bold'))}  {first}".rstrip()
        )
        lines += [" " * _INDENT + other for other in others]
        lines += [quote(one) for one in said] if quote is not None else []
    return lines


def _now_lines(story: MessageHistory, now: float, screen: Screen) -> list[str]:
    """Where it stands, while somebody still has to do something."""
    unread = {inbox: f"; {shown(say)}" for inbox, say in story.unread}
    waits = [
        f"{shown(delivery.inbox)}: {state_of(delivery, now)}{unread.get(delivery.inbox, '')}"
        for delivery in story.deliveries
        if delivery.state in ("stored", "leased")
    ]
    if story.answer_by is not None:
        until = "without a deadline" if waits_for_ever(story.answer_by) else f"until {clock_time(story.answer_by, now)}"
        waits.append(f"a reply is expected {until}")
    told = ["\n     ".join(wrapped(line, screen.width, 5)) for line in waits]
    return ["", *(f"now  {line}" for line in told)] if waits else []


def facts(story: MessageHistory) -> dict[str, Any]:
    """For programs: the same, and nothing left out but the bytes, which `telex show` has."""
    return head_facts(story.message) | {
        "state": story.state,
        "at": stamp(story.message.at),
        "answer_by": stamp(story.answer_by) if story.answer_by is not None else None,
        "deliveries": [
            delivery._asdict() | {"due_at": stamp(delivery.due_at), "token": f"{delivery.seq}.{delivery.fence}"}
            for delivery in story.deliveries
        ],
        "unread": [inbox._asdict() for inbox in story.unread],
        "events": [
            event._asdict() | {"at": stamp(event.at), "detail": detail_of(event) or None} for event in story.events
        ],
    }
