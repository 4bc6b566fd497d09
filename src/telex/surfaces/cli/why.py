"""`telex why`, `show`, `search` and `trace`: history and text of messages, and whole conversations."""

import sys
import time
from collections.abc import Callable
from importlib import import_module
from typing import Any

import click

from telex.model.message import Rendering, StoredMessage, detail_of, rendered_as
from telex.model.work import waits_for_ever
from telex.ports.bus import MessageHistory
from telex.surfaces.cli.connection import opened_to_look
from telex.surfaces.cli.events import event_text, finding_texts, reasons
from telex.surfaces.cli.files import STDIN, writing
from telex.surfaces.cli.options import BUS, command, flag, id_argument, max_option, text_option
from telex.surfaces.cli.output import Screen, headed, json_line, print_json, shell_word, shown, wrapped
from telex.surfaces.cli.render import (
    MARK,
    ago,
    clock_time,
    content_facts,
    day_time,
    head_facts,
    optional_stamp,
    rendering_facts,
    stamp,
    stamped,
    state_of,
    text_of,
    translation_note,
    type_of,
    what,
    write_body,
    write_bytes,
)
from telex.surfaces.cli.usage import DONE, CommandError
from telex.trace.text import cut
from telex.validation.authorization import normalised

# --- why --------------------------------------------------------------------------------------------------------------

_COLOURS = {"acked": "green", "dead": "red", "expired": "red", "refused": "red", "withdrawn": "yellow"}
_KINDS_WIDTH = 13
_INDENT = 23 + 2 + _KINDS_WIDTH + 2  # column of an event's text, behind its time and kind
Quote = Callable[[str], str]


@command("why", [id_argument, *BUS])
def why_command(id: str, store: str | None, as_json: bool) -> int:
    """Show the history of a message: sender, leases, acks, failures with their reasons, and the next step."""
    with opened_to_look(store) as bus:
        histories = bus.why(id)
    if as_json:
        print_json(*map(_history_facts, histories))
        return DONE
    screen, now = Screen(sys.stdout), time.time()
    screen.line("\n\n".join("\n".join(story_lines(history, now, screen)) for history in histories))
    return DONE


def story_lines(history: MessageHistory, now: float, screen: Screen, quote: Quote | None = None) -> list[str]:
    """Header, events and current state. With `quote`, texts that agents wrote get lines of their own, quoted by it."""
    message = history.message
    state = screen.paint(history.state, _COLOURS.get(history.state, "yellow"))
    thread = f", conversation {shown(message.correlation)}" if message.correlation else ""
    reply = f", in reply to {shown(message.reply_to)}" if message.reply_to else ""
    about = f"{what(message)} from {shown(message.sender)} to {shown(message.to)}{thread}{reply}"
    head = [f"{screen.paint(shell_word(message.id), 'bold')}  {state}", *wrapped(about, screen.width)]
    return [*head, "", *_event_lines(history, screen, quote), *_now_lines(history, now, screen)]


def _event_lines(history: MessageHistory, screen: Screen, quote: Quote | None) -> list[str]:
    lines, day, offered = [], "", 0
    inboxes = list(
        dict.fromkeys(delivery.inbox for delivery in history.deliveries)
    )  # a repeated request is there twice
    for event, after in zip(history.events, (*history.events[1:], None), strict=True):
        if after is not None and event.kind == after.kind == "extended":
            continue  # an MCP server renews a lease every minute: the last one is enough
        offered += event.kind == "leased"
        kind, words = event_text(event, history.message, offered, inboxes, quoted=quote is None)
        when = day_time(event.at)
        shown_time = when if when[:10] != day else " " * 11 + when[11:]
        day = when[:10]
        first, *others = wrapped(words, screen.width, _INDENT)
        kind = screen.paint(f"{kind:<{_KINDS_WIDTH}}", _COLOURS.get(event.kind, "bold"))
        lines += [f"{shown_time}  {kind}  {first}".rstrip(), *(" " * _INDENT + other for other in others)]
        lines += [quote(text) for text in (*reasons(event), *finding_texts(event))] if quote is not None else []
    return lines


def _now_lines(history: MessageHistory, now: float, screen: Screen) -> list[str]:
    """State of the open deliveries and of the expected reply."""
    unread = {inbox: f"; {shown(say)}" for inbox, say in history.unread}
    pending = [
        f"{shown(delivery.inbox)}: {state_of(delivery, now)}{unread.get(delivery.inbox, '')}"
        for delivery in history.deliveries
        if delivery.state in ("stored", "leased")
    ]
    if history.answer_by is not None:
        endless = waits_for_ever(history.answer_by)
        until = "without a deadline" if endless else f"until {clock_time(history.answer_by, now)}"
        pending.append(f"a reply is expected {until}")
    lines = ["\n     ".join(wrapped(line, screen.width, 5)) for line in pending]
    return ["", *(f"now  {line}" for line in lines)] if pending else []


def _history_facts(history: MessageHistory) -> dict[str, Any]:
    """The history as JSON, complete but for the bytes, which `telex show` prints."""
    deliveries = [
        delivery._asdict() | {"due_at": stamp(delivery.due_at), "token": f"{delivery.seq}.{delivery.fence}"}
        for delivery in history.deliveries
    ]
    events = [stamped(event) | {"detail": detail_of(event) or None} for event in history.events]
    return head_facts(history.message) | {
        "state": history.state,
        "at": stamp(history.message.at),
        "answer_by": optional_stamp(history.answer_by),
        "deliveries": deliveries,
        "unread": [inbox._asdict() for inbox in history.unread],
        "events": events,
    }


# --- show -------------------------------------------------------------------------------------------------------------
@command(
    "show",
    [
        id_argument,
        flag("--raw", "Print only the bytes, exactly as they were sent."),
        text_option("--as", "NAME", "Print the form that this agent received, or would receive.", "agent", "agents"),
        *BUS,
    ],
)
def show_command(id: str, raw: bool, agent: str | None, store: str | None, as_json: bool) -> int:
    """Print a message as it was sent. It does not count as read."""
    with opened_to_look(store) as bus:
        histories = bus.why(id)
        accepted = [history for history in histories if not history.message.refused]
        history = (accepted or histories)[-1]
        rendering = bus.rendering(history.message, agent=agent) if agent is not None else None
    message = history.message
    if as_json:
        facts = head_facts(message) | {"at": stamp(message.at), "state": history.state, "digest": message.digest.hex()}
        facts |= {"as": agent, "given": _has_received(history, agent)} if agent is not None else {}
        facts |= rendering_facts(message, rendering)
        print_json(facts | {"bytes": len((rendering or message).raw)} | content_facts(rendering or message))
    elif raw:
        write_bytes((rendering or message).raw)
    else:
        _print_head(history, len(histories), agent, rendering)
        write_body(rendering or message)
    return DONE


def _print_head(history: MessageHistory, count: int, agent: str | None, rendering: Rendering | None) -> None:
    screen, message = Screen(sys.stderr), history.message
    others = f" (the last of {count} with this id; telex why shows them all)" if count > 1 else ""
    route = f"from {shown(message.sender)} to {shown(message.to)}{translation_note(message, rendering)}"
    texts = [f"{what(rendering or message)} {route}, {day_time(message.at)} UTC"]
    if agent is None:
        translated = (event for event in history.events if event.kind == "translated")
        forms = {event.agent or "": rendered_as(detail_of(event)) for event in translated}
        texts += [f"{shown(name)} received {shown(form)} (--as {shell_word(name)})" for name, form in forms.items()]
    else:
        received = "received it" if _has_received(history, agent) else "would receive it now"
        texts.append(f"as {shown(agent)} {received}")
    lines = headed(shell_word(message.id), f"{history.state}{others}", screen)
    screen.line(*lines, *(line for text in texts for line in wrapped(text, screen.width)))
    screen.stream.flush()


def _has_received(history: MessageHistory, agent: str) -> bool:
    """Whether it was leased to this agent. A delivery that waits again may be translated anew."""
    name, waiting = normalised(agent), {delivery.seq for delivery in history.deliveries if delivery.state == "stored"}
    leases = (event for event in history.events if event.kind == "leased" and event.delivery not in waiting)
    return any(event.agent == name for event in leases)


# --- search -----------------------------------------------------------------------------------------------------------

_BEFORE, _SHOWN = 30, 74  # characters of an excerpt: before the first match, and in all


@command("search", [click.argument("words", metavar="TEXT...", nargs=-1, required=True), max_option(50), *BUS])
def search_command(words: tuple[str, ...], limit: int, store: str | None, as_json: bool) -> int:
    """Search messages that contain all these words, newest first, refused ones too."""
    text = " ".join(words)
    if not text.strip():
        raise CommandError("give the words: telex search TEXT")
    with opened_to_look(store) as bus:
        messages = bus.search(text, limit=limit)
    if as_json:
        for message in messages:
            facts = head_facts(message) | {"at": stamp(message.at), "refused": message.refused}
            print_json(facts | content_facts(message))
        return DONE
    if not messages:
        sys.stderr.write(f"no message contains {shown(text)}\n")
    screen, now = Screen(sys.stdout), time.time()
    for message in messages:
        type_ = shown(type_of(message)) + (" (refused)" if message.refused else "")
        about = f"{type_}  {shown(message.sender)} → {shown(message.to)}  {ago(message.at, now)} ago"
        excerpt = _excerpt(message, words)
        line = excerpt if screen.width is None else cut(excerpt, screen.width - len(MARK))
        screen.line(*headed(shell_word(message.id), about, screen), MARK + line)
    return DONE


def _excerpt(message: StoredMessage, words: tuple[str, ...]) -> str:
    """The first match with its surroundings."""
    text = " ".join(text_of(message).split())
    folded = text.casefold()
    places = [at for word in words if (at := folded.find(word.casefold().strip('"*'))) >= 0]
    start = max(min(places, default=0) - _BEFORE, 0)
    part = text[start : start + _SHOWN]
    return shown(f"{'…' if start else ''}{part}{'…' if start + len(part) < len(text) else ''}")


# --- trace ------------------------------------------------------------------------------------------------------------

FOR_TERMINALS = ("tree", "sequence")
FORMS = (*FOR_TERMINALS, "mermaid", "svg", "html")


@command(
    "trace",
    [
        click.argument("correlation", metavar="CORRELATION"),
        click.option("--format", "form", type=click.Choice(FORMS), help="Format; a tree if not given."),
        text_option("-o", "FILE", "Write it to a file.", "file"),
        *BUS,
    ],
)
def trace_command(correlation: str, form: str | None, file: str | None, store: str | None, as_json: bool) -> int:
    """Show a conversation: messages, leases, acks and failures."""
    if as_json and form is not None:
        raise CommandError(f"--json prints the messages: leave out --format {form}")
    with opened_to_look(store) as bus:
        histories, dialects = bus.trace(correlation), bus.policy.dialects
    if as_json:
        text = "".join(json_line(_history_facts(history)) + "\n" for history in histories)
    elif form == "html":
        from telex.surfaces.page.conversation_file import render_html

        text = render_html(histories, dialects, time.time())
    else:
        text = _drawn(histories, form or FORMS[0], None if file else Screen(sys.stdout).width)
    if file is None or file == STDIN:
        sys.stdout.write(text)
        return DONE
    with writing(file) as target:
        target.write(text.encode("utf-8", "backslashreplace"))
    sys.stderr.write(f"written to {shown(file)}\n")
    return DONE


def _drawn(histories: list[MessageHistory], form: str, width: int | None) -> str:
    options = {"width": width} if form in FOR_TERMINALS and width else {}
    module = import_module("telex.trace.svg" if form == "svg" else "telex.trace.diagrams")
    text: str = getattr(module, f"render_{form}")(histories, **options)
    return text
