"""`telex inbox` and `telex dead`: messages that wait in an inbox, pending decisions of a person, and dead letters."""

import sys
import time
from typing import TYPE_CHECKING, Any

import click

from telex.dialects.schema import PRIORITIES
from telex.errors import NotAMember, NotFound
from telex.model.message import Delivery, Rendering, StoredMessage
from telex.model.named_tuple import NamedTuple
from telex.model.roster import HUMAN
from telex.model.text import nearest
from telex.surfaces.cli.connection import opened_if_there, opened_to_look, settings_here, store_missing
from telex.surfaces.cli.options import (
    BUS,
    COMPLETERS,
    agent_option,
    command,
    flag,
    listing_group,
    max_option,
    member_role_option,
    text_option,
)
from telex.surfaces.cli.output import Screen, headed, print_json, shell_word, shown, shown_block, typed
from telex.surfaces.cli.receive import pending_reply
from telex.surfaces.cli.render import (
    Columns,
    ago,
    columns_lines,
    content_facts,
    fields,
    marked,
    print_list,
    print_one,
    rendering_facts,
    stamp,
    state_of,
    text_of,
    translation_note,
    type_of,
)
from telex.surfaces.cli.usage import DONE, NOT_FOUND, CommandError
from telex.validation.authorization import normalised

if TYPE_CHECKING:
    from telex.client import SyncBus


# --- inbox ------------------------------------------------------------------------------------------------------------
class InboxRow(NamedTuple):
    delivery: Delivery
    message: StoredMessage
    answered_by: str | None
    rendering: Rendering | None  # the message as its reader will receive it, if it is translated

    @property
    def type(self) -> str:
        return type_of(self.rendering or self.message)

    def state(self, now: float) -> str:
        answered = f", answered by {shown(self.answered_by)}" if self.answered_by is not None else ""
        return state_of(self.delivery, now) + answered


@command(
    "inbox",
    [
        agent_option,
        member_role_option,
        max_option(100),
        flag("--full", "Print the messages too, and mark them as read."),
        *BUS,
    ],
)
def inbox_command(agent: str, role: str | None, limit: int, full: bool, store: str | None, as_json: bool) -> int:
    """List the messages in your inbox. It leases nothing and adds no member: `telex receive` does.

    A person's inbox (--as human) starts with pending decisions, each with the command that answers it.
    """
    settings = settings_here()
    with opened_if_there(store, settings) as bus:
        if bus is None:
            sys.stderr.write(f"nothing waits for {shown(agent)}: {store_missing(store)}\n")
            return DONE
        rows = _rows(bus, agent, role, limit + 1)
        is_person = normalised(agent) == HUMAN
        items = pending_for_human(bus, settings.limits.request_seconds) if is_person else []
        if full:
            for row in rows[:limit]:
                bus.read(row.message.id, agent=agent)
        hint = _hint(bus, agent) if not rows else ""
    if as_json:
        print_json(*map(_item_facts, items), *(_row_facts(row, full) for row in rows[:limit]))
        return DONE
    screen, now = Screen(sys.stdout), time.time()
    if items:
        screen.line(*_item_lines(items, now, screen))
    if rows:
        screen.line(*(_full if full else _table)(rows[:limit], now, screen))
    elif not items:
        sys.stderr.write(f"nothing waits for {shown(agent)}{hint}\n")
    if len(rows) > limit:
        sys.stderr.write(f"more follow: --max {limit * 10}\n")
    return DONE


def _rows(bus: "SyncBus", agent: str, role: str | None, limit: int) -> list[InboxRow]:
    try:
        waiting = bus.inbox(agent, role=role, limit=limit)
    except NotAMember as error:
        if error.code != "sender-unknown":
            raise
        raise CommandError(f"{error.code}: {shown_block(error.say)}", NOT_FOUND) from error
    return [
        InboxRow(delivery, message, pending_reply(bus, message).answered_by, _rendering(bus, message, agent))
        for delivery, message in waiting
    ]


def _rendering(bus: "SyncBus", message: StoredMessage, agent: str) -> Rendering | None:
    try:
        return bus.rendering(message, agent=agent)
    except NotFound:  # the agent has not joined yet, and reads any dialect
        return None


def _hint(bus: "SyncBus", agent: str) -> str:
    """A suggestion for a name that is not on the roster."""
    names, name = [presence.member.name for presence in bus.roster()], normalised(agent)
    meant = nearest(name, names) if name not in names else None
    return f"; did you mean {shown(meant)}?" if meant else ""


def _table(rows: list[InboxRow], now: float, screen: Screen) -> list[str]:
    columns: Columns[InboxRow] = {
        "id": lambda row: shell_word(row.message.id),
        "priority": lambda row: PRIORITIES[row.delivery.rank],
        "type": lambda row: row.type,
        "from": lambda row: row.message.sender,
        "age": lambda row: ago(row.message.at, now),
        "tries": lambda row: row.delivery.attempts,
        "state": lambda row: row.state(now),
    }
    return columns_lines(columns, rows, screen)


def _full(rows: list[InboxRow], now: float, screen: Screen) -> list[str]:
    lines: list[str] = []
    for row in rows:
        message, note = row.message, translation_note(row.message, row.rendering)
        about = f"{shown(row.type)} from {shown(message.sender)}{note}, {ago(message.at, now)} ago, {row.state(now)}"
        head = headed(shell_word(message.id), f"{PRIORITIES[row.delivery.rank]}  {about}", screen)
        lines += [*([""] if lines else []), *head, marked(text_of(row.rendering or message), screen.width)]
    return lines


def _row_facts(row: InboxRow, full: bool) -> dict[str, Any]:
    delivery, message, answered_by, rendering = row
    facts = {"id": message.id, "priority": PRIORITIES[delivery.rank]} | fields(message, "dialect type")
    facts |= {"from": message.sender, "at": stamp(message.at), "inbox": delivery.inbox, "state": delivery.state}
    facts |= {"due_at": stamp(delivery.due_at)} | fields(delivery, "attempts holder")
    facts |= {"correlation": message.correlation, "answered_by": answered_by} | rendering_facts(message, rendering)
    return facts | content_facts(rendering or message) if full else facts


# --- pending decisions of a person ------------------------------------------------------------------------------------
class PendingItem(NamedTuple):
    kind: str  # escalation or approval
    id: str
    by: str
    at: float
    about: str
    command: tuple[str, ...]  # that answers it


def pending_for_human(bus: "SyncBus", request_seconds: float) -> list[PendingItem]:
    """Escalations that have reached a human, approval requests to a human, and those that are overdue."""
    items, now = [], time.time()
    for case in bus.escalations():
        if HUMAN in case.now.inboxes:
            answer = ("telex answer", shell_word(case.id), "TEXT")
            items.append(PendingItem("escalation", case.id, case.by, case.at, case.reason, command=answer))
    for approval in bus.work_state("approval").values():
        request = approval.request
        late = now >= (request.deadline or request.at + request_seconds)
        if approval.answer is None and (late or HUMAN in request.inboxes):
            answer = ("telex approve", shell_word(request.id), "--reason TEXT")
            items.append(PendingItem("approval", request.id, request.by, request.at, request.subject, command=answer))
    return sorted(items, key=lambda item: (item.kind != "escalation", item.at))


def _item_lines(items: list[PendingItem], now: float, screen: Screen) -> list[str]:
    lines: list[str] = []
    for item in items:
        words = f"{item.kind} from {shown(item.by)}, {ago(item.at, now)} ago: {shown(item.about)}"
        answer = typed(" ", list(item.command), screen.width)
        lines += [*headed(shell_word(item.id), words, screen), *(screen.paint(line, "dim") for line in answer), ""]
    return lines


def _item_facts(item: PendingItem) -> dict[str, Any]:
    head = {"matter": item.kind, "id": item.id, "from": item.by, "at": stamp(item.at)}
    return head | {"about": item.about, "answer_with": " ".join(item.command)}


# --- dead letters -----------------------------------------------------------------------------------------------------
DeadLetter = tuple[Delivery, StoredMessage]
dead_id_argument = click.argument("id", metavar="ID", shell_complete=COMPLETERS["dead_ids"])
who_option = text_option("--as", "NAME", "Your name in the log; human if not given.", into="agent")


@listing_group("dead", [max_option(100), *BUS], help_of_list="List them, newest first.")
def dead_command(limit: int, store: str | None, as_json: bool) -> int:
    """List dead letters: messages whose attempts are used up, and requests without a reply."""
    with opened_to_look(store) as bus:
        letters = bus.dead_letters(limit=limit)
    now = time.time()
    return print_list(
        letters,
        as_json,
        facts=_dead_facts,
        columns={
            "id": lambda letter: shell_word(letter[1].id),
            "state": lambda letter: letter[0].state,
            "type": lambda letter: type_of(letter[1]),
            "from": lambda letter: letter[1].sender,
            "inbox": lambda letter: letter[0].inbox,
            "tries": lambda letter: letter[0].attempts,
            "age": lambda letter: ago(letter[1].at, now),
        },
        empty="no dead letters",
        hint="telex why ID shows its history; telex dead retry ID retries it",
    )


def _dead_facts(letter: DeadLetter) -> dict[str, Any]:
    delivery, message = letter
    facts = {"id": message.id, "state": delivery.state} | fields(message, "dialect type")
    return facts | {"from": message.sender} | fields(delivery, "inbox attempts holder") | {"at": stamp(message.at)}


@command("retry", [dead_id_argument, who_option, *BUS], group=dead_command)
def retry(id: str, agent: str | None, store: str | None, as_json: bool) -> int:
    """Retry a dead letter with a new round of attempts."""
    with opened_to_look(store) as bus:
        count = _at_least_one(bus.retry(id, agent=agent or HUMAN), id)
    return print_one({"id": id, "retried": count}, f"back in {_inboxes(count)}: {shown(id)}", as_json)


@command(
    "drop",
    [dead_id_argument, text_option("--reason", "WORDS", "Reason, stored with the message."), who_option, *BUS],
    group=dead_command,
)
def drop(id: str, reason: str | None, agent: str | None, store: str | None, as_json: bool) -> int:
    """Drop a dead letter. Its history and bytes stay in the log until they are pruned."""
    if reason is None:
        raise CommandError("no reason: telex dead drop … --reason WORDS")
    with opened_to_look(store) as bus:
        count = _at_least_one(bus.drop(id, reason=reason, agent=agent or HUMAN), id)
    return print_one({"id": id, "dropped": count}, f"dropped from {_inboxes(count)}: {shown(id)}", as_json)


def _at_least_one(count: int, id: str) -> int:
    if not count:
        raise NotFound(f"{id} is no dead letter: telex why {id} shows its state")
    return count


def _inboxes(count: int) -> str:
    return f"{count} {'inbox' if count == 1 else 'inboxes'}"
