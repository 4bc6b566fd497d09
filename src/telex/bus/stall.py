"""Who waits for whom at the moment? Gathered from the book, the requests that wait, and the inboxes; nothing is read
that is over."""

from collections.abc import Iterator
from typing import Any

from telex.bus.context import BusContext
from telex.bus.escalate import FAR_AWAY, escalations, is_escalation
from telex.bus.failure_notices import MAY_ANSWER
from telex.bus.queries import presence
from telex.delivery.routing import role_at
from telex.delivery.system_messages import format_timestamp
from telex.dialects.rule_evaluation import set_path
from telex.dialects.schema import ANY
from telex.dialects.write import write
from telex.model.escalation import Escalation
from telex.model.message import Message
from telex.model.roster import ALL_OF_ROLE, EVERYONE, HUMAN, ONE_OF_ROLE, TELEX, Roster
from telex.model.stall import Remedy, Stall, Wait, Why
from telex.ports.bus import Presence
from telex.validation.authorization import normalised
from telex.work.stall import IdleConversation, PendingApproval, quoted, single, stalls
from telex.work.view import parse_tree

ASKS_MAX = 10_000
REMEDIES_MAX = 20  # of one plan: each is its whole contract once more
UNREAD_MAX = 100  # of one inbox; who wrote first is in there
HERE = "here"


async def stall(context: BusContext) -> Stall:
    roster, here = await context.roster(), await presence(context)
    book = {kind: await context.topics_of_kind(kind) for kind in ("approval", "plan", "blocker", "shutdown")}
    approvals = list(_approvals(context, roster, here, book["approval"]))
    silent = await _silent(context, here)
    waits = [pending_approval.wait for pending_approval in approvals]
    waits += _handed_up(await escalations(context, answered=False), roster)
    waits += await _unanswered(context, roster, {pending_approval.wait.about for pending_approval in approvals})
    waits += _blocked(book["blocker"], roster)
    waits += await _dependent(context, book["plan"], roster)
    waits += _stopping(book["shutdown"], here)
    questions = {wait.id for wait in waits}  # of one that lies unread it has been told that it waits
    waits += [wait for idle_conversation in silent for wait in idle_conversation.waits if wait.id not in questions]
    return stalls(dict.fromkeys(waits), approvals, silent, context.clock.now())


# --- the book --------------------------------------------------------------------------------------------------------


def _approvals(
    context: BusContext, roster: Roster, here: list[Presence], topics: dict[str, Any]
) -> Iterator[PendingApproval]:
    for approval in topics.values():
        request = approval.request
        if approval.answer is not None:
            continue
        roles = _who_may_answer(context, request.dialect, request.type) or _roles_of(request.inboxes, roster)
        givers = [
            presence.member.name
            for presence in here
            if presence.state == HERE and presence.member.name != request.by and presence.member.role in (*roles, HUMAN)
        ]
        whom = single(request.inboxes[0] if request.inboxes else request.to, roster)
        wait = Wait(
            request.by, whom, why="approval", about=request.id, since=request.at, words=request.subject, id=request.id
        )
        yield PendingApproval(wait, tuple(givers), roles)


def _who_may_answer(context: BusContext, dialect: str, type_: str) -> tuple[str, ...]:
    """The roles that may send the answer; none in particular where the dialect leaves that open."""
    spoken = context.dialects.get(dialect)
    message_type = spoken.types.get(type_) if spoken is not None else None
    reply = spoken.types.get(message_type.reply or "") if spoken is not None and message_type is not None else None
    return tuple(map(normalised, reply.senders)) if reply is not None and reply.senders != ANY else ()


def _roles_of(inboxes: tuple[str, ...], roster: Roster) -> tuple[str, ...]:
    found = [role_at(inbox, roster) for inbox in inboxes]
    return tuple(dict.fromkeys(role for role in found if role is not None))


def _handed_up(matters: list[Escalation], roster: Roster) -> Iterator[Wait]:
    for matter in matters:
        whom = single(matter.now.inboxes[0], roster)
        yield Wait(
            matter.by, whom, why="escalation", about=matter.id, since=matter.at, words=matter.reason, id=matter.now.id
        )


def _blocked(topics: dict[str, Any], roster: Roster) -> Iterator[Wait]:
    for blocker in (topic for topic in topics.values() if topic is not None):
        words = blocker.needs or blocker.what
        for inbox in blocker.inboxes:
            yield Wait(
                blocker.by,
                single(inbox, roster),
                why="blocker",
                about=blocker.id,
                since=blocker.at,
                words=words,
                id=blocker.id,
            )


async def _dependent(context: BusContext, topics: dict[str, Any], roster: Roster) -> list[Wait]:
    """Plans wait for plans, and those for whoever has them. An agent does not wait for its own plan: it may have
    another that it can do meanwhile, so a circle through it would be none."""
    plans, waits = {plan.id: plan for plan in topics.values()}, []
    for plan in plans.values():
        if plan.words is None or not plan.is_open:
            continue
        for number, needed in enumerate(dict.fromkeys(plan.words.depends_on)):
            before = plans.get(needed)
            if before is None or not before.is_complete:
                last = plan.revisions[-1]
                remedy = await _without(context, plan, needed) if number < REMEDIES_MAX else _without_it(plan, needed)
                words = f"{needed} before {plan.id}"
                waits.append(
                    Wait(
                        _node(plan.id),
                        _node(needed),
                        why="dependency",
                        about=needed,
                        since=last.at,
                        words=words,
                        id=last.id,
                        remedy=remedy,
                    )
                )
                waits += _with_its_holders(before, roster) if before is not None else ()
    return waits


def _with_its_holders(plan: Any, roster: Roster) -> Iterator[Wait]:
    for address in plan.to:
        if address != EVERYONE and plan.is_open:
            whom = single(address.replace(ALL_OF_ROLE, ONE_OF_ROLE, 1), roster)
            last = plan.revisions[-1]
            yield Wait(
                _node(plan.id),
                whom,
                why="dependency",
                about=plan.id,
                since=last.at,
                words=f"{plan.id} to be done",
                id=last.id,
            )


def _node(plan: str) -> str:
    return f"plan:{plan}"


async def _without(context: BusContext, plan: Any, needed: str) -> Remedy | None:
    """The contract once more, for those it was sent to, without waiting for that other plan."""
    last = plan.revisions[-1]
    message, dialect = await context.store.message(last.seq), context.dialects.get(last.dialect)
    type_ = dialect.types.get(message.type or "") if message is not None and dialect is not None else None
    if message is None or dialect is None or type_ is None or type_.deed is None:
        return None
    tree = parse_tree(message.raw, dialect, type_)
    others = [one for one in plan.words.depends_on if one != needed]
    set_path(tree, dialect.locate(type_, type_.deed.field_map["depends_on"]), others)
    if dialect.wire.id is not None:
        tree[dialect.wire.id] = context.clock.new_id()
    if dialect.wire.timestamp is not None:
        tree[dialect.wire.timestamp] = format_timestamp(context.clock.now())
    command = f"telex send --as {quoted(message.sender)} --to {quoted(message.to)} -"
    return Remedy(command, write(dialect, tree))


def _without_it(plan: Any, needed: str) -> Remedy:
    """The same as a word to whoever can send it."""
    words = f"Send the contract of {plan.id} once more, without waiting for {needed}.\n"
    return Remedy(f"telex send --as {HUMAN} --to {quoted(plan.revisions[-1].by)} -", words)


def _stopping(topics: dict[str, Any], here: list[Presence]) -> Iterator[Wait]:
    """The last call of a team that has not ended: who was asked, is still in the team, and has not answered."""
    present = {presence.member.name for presence in here if presence.state not in ("left", "shut down")}
    for state in topics.values():
        for call in state.calls[-1:]:
            for name in call.asked:
                if name in present and name not in call.answers and name not in (call.by, HUMAN):
                    yield Wait(
                        call.by, name, why="shutdown", about=call.id, since=call.at, words=call.reason, id=call.id
                    )


# --- requests and inboxes --------------------------------------------------------------------------------------------


async def _unanswered(context: BusContext, roster: Roster, known: set[str]) -> list[Wait]:
    waits: list[Wait] = []
    for _, message, deliveries in await context.store.overdue(FAR_AWAY, ASKS_MAX):
        if is_escalation(context, message) or message.id in known or message.sender == TELEX:
            continue
        asked = dict.fromkeys(single(delivery.inbox, roster) for delivery in deliveries if delivery.state in MAY_ANSWER)
        waits += [_wait(message, whom, "answer") for whom in asked]
    return waits


async def _silent(context: BusContext, here: list[Presence]) -> list[IdleConversation]:
    """Agents that came, did nothing for long, and have something in hand or waiting for them. A person may be away."""
    return [
        await _silence(context, presence)
        for presence in here
        if presence.state == "silent" and presence.member.name not in (HUMAN, TELEX)
    ]


async def _silence(context: BusContext, presence: Presence) -> IdleConversation:
    """What came only now may still be read in a moment."""
    name, since = presence.member.name, context.clock.now() - context.limits.silent_seconds
    held = tuple(message.id for message in await context.read(lambda reads: reads.held(name)))
    waiting = await context.store.waiting([name], UNREAD_MAX)
    unread = [message for delivery, message in waiting if delivery.state == "stored" and message.at <= since]
    first: dict[str, Message] = {}  # by sender: what it has waited for longest
    for message in sorted(unread, key=lambda message: message.seq):
        if message.sender != TELEX:
            first.setdefault(message.sender, message)
    waits = tuple(_wait(message, name, "unread") for message in first.values())
    return IdleConversation(name, presence.member.seen_at, held, len(unread), waits)


def _wait(message: Message, whom: str, why: Why) -> Wait:
    words = f"{message.type or 'a message'} {message.id}"
    return Wait(message.sender, whom, why=why, about=message.id, since=message.at, words=words, id=message.id)
