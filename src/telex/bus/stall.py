"""Waits of a team, from open items of the work state, pending requests and the number of messages in each inbox."""

from collections.abc import Iterator
from typing import Any

from telex.bus.context import BusContext
from telex.bus.escalate import FAR_AWAY, Asks, escalations, is_escalation
from telex.bus.failure_notices import MAY_ANSWER
from telex.bus.queries import presence
from telex.delivery.routing import role_at
from telex.dialects.scalars import format_timestamp
from telex.dialects.schema import ANY, set_path
from telex.dialects.write import write
from telex.model.escalation import Escalation
from telex.model.message import Message
from telex.model.roster import ALL_OF_ROLE, EVERYONE, HUMAN, ONE_OF_ROLE, TELEX, Roster
from telex.model.stall import Remedy, Stall, Wait, Why
from telex.ports.bus import Presence
from telex.validation.authorization import normalised
from telex.work.shutdown import open_call
from telex.work.stall import IdleInbox, PendingApproval, idle_reason, quoted, single, stalls
from telex.work.view import parse_tree

ASKS_MAX = 10_000
REMEDIES_MAX = 20  # of one plan: each is its whole contract once more
HERE = "here"


async def stall(context: BusContext) -> Stall:
    here = await presence(context)
    roster = await context.roster()
    book = {kind: await context.topics_of_kind(kind) for kind in ("approval", "plan", "blocker", "shutdown")}
    approvals = list(_approvals(context, roster, here, book["approval"]))
    waits = [pending_approval.wait for pending_approval in approvals]
    asks = await context.store.overdue(FAR_AWAY, ASKS_MAX)
    waits += _handed_up(await escalations(context, answered=False, asks=asks), roster)
    waits += _unanswered(context, asks, roster, {pending_approval.wait.about for pending_approval in approvals})
    waits += _blocked(book["blocker"], roster)
    waits += await _dependent(context, book["plan"], roster)
    waits += _stopping(book["shutdown"], roster)
    idle = list(_idle(here, roster, context.clock.now(), context.limits.silent_seconds))
    return stalls(dict.fromkeys(waits), approvals, idle, context.clock.now())


# --- the book --------------------------------------------------------------------------------------------------------


def _approvals(
    context: BusContext, roster: Roster, here: list[Presence], topics: dict[str, Any]
) -> Iterator[PendingApproval]:
    present: dict[str, list[str]] = {}
    for member, state, *_ in here:
        if state == HERE:
            present.setdefault(member.role, []).append(member.name)
    for approval in topics.values():
        request = approval.request
        if approval.answer is not None:
            continue
        roles = _who_may_answer(context, request.dialect, request.type) or _roles_of(request.inboxes, roster)
        givers = [name for role in (*roles, HUMAN) for name in present.get(role, ()) if name != request.by]
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
        if plan.words is None or not plan.has_work:
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
        if address != EVERYONE and plan.has_work:
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


def _stopping(topics: dict[str, Any], roster: Roster) -> Iterator[Wait]:
    """Members that were asked to stop since they joined, and have not answered. A dissolved team has none."""
    for state in topics.values():
        for member in roster.known():
            call = open_call(state, member, roster)
            if call is not None and member.name not in (call.by, HUMAN):
                yield Wait(
                    call.by, member.name, why="shutdown", about=call.id, since=call.at, words=call.reason, id=call.id
                )


# --- requests and inboxes --------------------------------------------------------------------------------------------


def _unanswered(context: BusContext, asks: Asks, roster: Roster, known: set[str]) -> list[Wait]:
    waits: list[Wait] = []
    for _, message, deliveries in asks:
        if is_escalation(context, message) or message.id in known or message.sender == TELEX:
            continue
        asked = dict.fromkeys(single(delivery.inbox, roster) for delivery in deliveries if delivery.state in MAY_ANSWER)
        waits += [_wait(message, whom, "answer") for whom in asked]
    return waits


def _idle(here: list[Presence], roster: Roster, now: float, silent_seconds: float) -> Iterator[IdleInbox]:
    """Inboxes that no agent reads. A message that came only now may still be read in a moment."""
    for member_presence in here:
        inbox, is_old = member_presence.member.name, (member_presence.oldest_at or now) <= now - silent_seconds
        waiting = member_presence.waiting if is_old else 0
        if member_presence.state in (HERE, "left", "shut down") or not (waiting or member_presence.leased):
            continue
        reason = idle_reason(inbox, roster, now, silent_seconds)
        if reason is not None:
            yield IdleInbox(inbox, *reason, leased=member_presence.leased, waiting=waiting)


def _wait(message: Message, whom: str, why: Why) -> Wait:
    words = f"{message.type or 'a message'} {message.id}"
    return Wait(message.sender, whom, why=why, about=message.id, since=message.at, words=words, id=message.id)
