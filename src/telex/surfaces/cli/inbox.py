"""`telex inbox`: messages in an inbox, in the order of delivery; a person's starts with pending decisions."""

import sys
import time
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from telex.dialects.schema import PRIORITIES
from telex.errors import NotAMember, NotFound
from telex.model.message import Delivery, Message, Rendering
from telex.model.roster import HUMAN
from telex.model.text import nearest
from telex.surfaces.cli.bus_connection import opened_if_there, said, settings_here, store_missing
from telex.surfaces.cli.bus_options import agent_option, lines_option, max_option, role_option, store_option
from telex.surfaces.cli.check_output import json_line
from telex.surfaces.cli.exit_codes import DONE, NOT_FOUND, CommandError
from telex.surfaces.cli.message_text import marked, rendering_facts, text_of, whence
from telex.surfaces.cli.output import Screen, headed, shell_word, shown, typed
from telex.surfaces.cli.reply_hints import awaited
from telex.surfaces.cli.table import table_lines
from telex.surfaces.cli.time_text import ago, clock_time, stamp
from telex.validation.authorization import normalised

if TYPE_CHECKING:
    from telex.client import SyncBus


class InboxRow(NamedTuple):
    """What lies in an inbox, and who has answered it, though it may not have been taken out."""

    delivery: Delivery
    message: Message
    answered_by: str | None
    rendering: Rendering | None = None  # as its reader will have it, where not as it was sent


@click.command("inbox")
@agent_option
@role_option
@max_option(100)
@click.option("--full", is_flag=True, help="Print the messages too, and mark them as read.")
@store_option
@lines_option
def command(agent: str, role: str | None, limit: int, full: bool, store: str | None, as_json: bool) -> int:
    """List the messages in your inbox. It leases nothing and joins nobody: `telex receive` does.

    A person's inbox (--as human) starts with pending decisions, each with the command that answers it.
    """
    settings = settings_here()
    with opened_if_there(store, settings) as bus:
        if bus is None:
            sys.stderr.write(f"nothing waits for {shown(agent)}: {store_missing(store)}\n")
            return DONE
        waiting = _waiting(bus, agent, role, limit + 1)
        is_person = normalised(agent) == HUMAN
        items = pending_for_human(bus, settings.limits.request_seconds) if is_person else []
        beyond, waiting = len(waiting) > limit, waiting[:limit]
        lying = [
            InboxRow(delivery, message, awaited(bus, message).answered_by, _rendering(bus, message, agent))
            for delivery, message in waiting
        ]
        if full:
            for _, message in waiting:
                bus.read(message.id, agent=agent)
        meant = _meant(bus, agent) if not waiting else ""
    if as_json:
        for item in items:
            sys.stdout.write(json_line(item_facts(item)) + "\n")
        for inbox_row in lying:
            sys.stdout.write(json_line(_facts(inbox_row, full)) + "\n")
        return DONE
    screen, now = Screen(sys.stdout), time.time()
    if items:
        screen.line("\n".join(item_lines(items, now, screen)))
    if not waiting:
        if items:
            return DONE
        sys.stderr.write(f"nothing waits for {shown(agent)}{meant}\n")
        return DONE
    screen.line("\n".join(_full(lying, now, screen) if full else _table(lying, now, screen)))
    if beyond:
        sys.stderr.write(f"more follow: --max {limit * 10}\n")
    return DONE


def _waiting(bus: "SyncBus", agent: str, role: str | None, limit: int) -> list[tuple[Delivery, Message]]:
    try:
        return bus.inbox(agent, role=role, limit=limit)
    except NotAMember as error:  # exit code 2 is for refused messages: nothing is sent here
        raise CommandError(said(error), NOT_FOUND) from error


def _rendering(bus: "SyncBus", message: Message, agent: str) -> Rendering | None:
    try:
        return bus.rendering(message, agent=agent)
    except NotFound:  # it has not joined yet, and reads any dialect
        return None


def _meant(bus: "SyncBus", agent: str) -> str:
    """A suggestion for a name that is not on the roster."""
    names, name = [presence.member.name for presence in bus.roster()], normalised(agent)
    close = nearest(name, names) if name not in names else None
    return f"; did you mean {shown(close)}?" if close else ""


def _table(lying: list[InboxRow], now: float, screen: Screen) -> list[str]:
    headings = ("id", "priority", "type", "from", "age", "tries", "state")
    return table_lines(headings, [_row(inbox_row, now) for inbox_row in lying], screen)


def _row(lying: InboxRow, now: float) -> tuple[str | int, ...]:
    delivery, message, answered_by, rendering = lying
    read = rendering or message
    answered = f", answered by {shown(answered_by)}" if answered_by is not None else ""
    return (
        shell_word(message.id),
        PRIORITIES[delivery.rank],
        shown(read.type or read.dialect or "text"),
        shown(message.sender),
        ago(message.at, now),
        delivery.attempts,
        state_of(delivery, now) + answered,
    )


def state_of(delivery: Delivery, now: float) -> str:
    """`leased by qa until 09:30:00`, `stored, due at 09:30:02`: the state, and what it waits for."""
    if delivery.state == "leased":
        return f"leased by {shown(delivery.holder or '?')} until {clock_time(delivery.due_at, now)}"
    if delivery.state == "stored" and delivery.due_at > now:
        return f"stored, due at {clock_time(delivery.due_at, now)}"
    return delivery.state


def _full(lying: list[InboxRow], now: float, screen: Screen) -> list[str]:
    lines: list[str] = []
    for inbox_row in lying:
        id_, priority, type_, sender, age, _, state = map(str, _row(inbox_row, now))
        translated = whence(inbox_row.message, inbox_row.rendering)
        head = headed(id_, f"{priority}  {type_} from {sender}{translated}, {age} ago, {state}", screen)
        text = text_of(inbox_row.rendering or inbox_row.message)
        lines += [*([""] if lines else []), *head, marked(text, screen.width)]
    return lines


def _facts(lying: InboxRow, full: bool) -> dict[str, Any]:
    delivery, message, answered_by, rendering = lying
    facts = {
        "id": message.id,
        "priority": PRIORITIES[delivery.rank],
        "dialect": message.dialect,
        "type": message.type,
        "from": message.sender,
        "at": stamp(message.at),
        "inbox": delivery.inbox,
        "state": delivery.state,
        "due_at": stamp(delivery.due_at),
        "attempts": delivery.attempts,
        "holder": delivery.holder,
        "correlation": message.correlation,
        "answered_by": answered_by,
    }
    facts |= rendering_facts(message, rendering)
    return facts | {"message": text_of(rendering or message)} if full else facts


# --- pending decisions of a person ------------------------------------------------------------------------------------


class PendingItem(NamedTuple):
    kind: str  # escalation or approval
    id: str
    by: str
    at: float
    about: str
    command: tuple[str, ...]  # that answers it

    @property
    def line(self) -> str:
        return " ".join(self.command)


def pending_for_human(bus: "SyncBus", request_seconds: float) -> list[PendingItem]:
    """Escalations that have reached a human, approval requests to a human, and those that are overdue."""
    items, now = [], time.time()
    for case in bus.escalations():
        if HUMAN in case.now.inboxes:
            command = ("telex answer", shell_word(case.id), "TEXT")
            items.append(PendingItem("escalation", case.id, case.by, case.at, case.reason, command=command))
    for approval in bus.work_state("approval").values():
        request = approval.request
        late = now >= (request.deadline or request.at + request_seconds)
        if approval.answer is None and (late or HUMAN in request.inboxes):
            command = ("telex approve", shell_word(request.id), "--reason TEXT")
            items.append(PendingItem("approval", request.id, request.by, request.at, request.subject, command=command))
    return sorted(items, key=lambda item: (item.kind != "escalation", item.at))


def item_lines(items: list[PendingItem], now: float, screen: Screen) -> list[str]:
    lines: list[str] = []
    for item in items:
        words = f"{item.kind} from {shown(item.by)}, {ago(item.at, now)} ago: {shown(item.about)}"
        command = typed(" ", list(item.command), screen.width)
        lines += [*headed(shell_word(item.id), words, screen), *(screen.paint(line, "dim") for line in command), ""]
    return lines


def item_facts(item: PendingItem) -> dict[str, Any]:
    return {
        "matter": item.kind,
        "id": item.id,
        "from": item.by,
        "at": stamp(item.at),
        "about": item.about,
        "answer_with": item.line,
    }
