"""Waits of a team, from open items of the work state, pending requests and the number of messages in each inbox."""

from collections.abc import Iterator
from typing import Any

from telex.bus import queries
from telex.bus.context import BusContext
from telex.bus.escalate import FAR_AWAY, Overdue, escalations
from telex.bus.maintenance import MAY_ANSWER
from telex.delivery.routing import role_at
from telex.dialects.scalars import format_timestamp
from telex.dialects.schema import ANY, set_path
from telex.dialects.write import write
from telex.model.roster import ALL_OF_ROLE, EVERYONE, HUMAN, ONE_OF_ROLE, TELEX, Roster
from telex.model.work import Escalation, Remedy, Stall, Wait, Why
from telex.ports.bus import Presence
from telex.ports.store import get_message, overdue_requests
from telex.validation.authorization import normalised
from telex.work.shutdown import open_call
from telex.work.stall import IdleInbox, PendingApproval, idle_reason, quoted, single, stalls
from telex.work.view import parse_tree

ASKS_MAX = 10_000
REMEDIES_MAX = 20  # of one plan: each repeats its contract
HERE = "here"


async def stall(context: BusContext) -> Stall:
    here = await queries.presence(context)
    roster = await context.roster()
    topics = {kind: await context.topics_of_kind(kind) for kind in ("approval", "plan", "blocker", "shutdown")}
    approvals = list(_approvals(context, roster, here, topics["approval"]))
    waits = [approval.wait for approval in approvals]
    asks = await context.store.read(overdue_requests, FAR_AWAY, ASKS_MAX)
    waits += _escalated(await escalations(context, answered=False, pending=asks), roster)
    waits += _unanswered(context, asks, roster, {approval.wait.about for approval in approvals})
    waits += _blocked(topics["blocker"], roster)
    waits += await _dependent(context, topics["plan"], roster)
    waits += _stopping(topics["shutdown"], roster)
    idle = list(_idle(here, roster, context.clock.now(), context.limits.silent_seconds))
    return stalls(dict.fromkeys(waits), approvals, idle, context.clock.now())


# --- work state ------------------------------------------------------------------------------------------------------


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
        asked = dict.fromkeys(role_at(inbox, roster) for inbox in request.inboxes)
        roles = _who_may_answer(context, request.dialect, request.type) or tuple(role for role in asked if role)
        givers = [name for role in (*roles, HUMAN) for name in present.get(role, ()) if name != request.by]
        whom = single(request.inboxes[0] if request.inboxes else request.to, roster)
        wait = _wait(request.by, whom, "approval", request.id, request.at, words=request.subject)
        yield PendingApproval(wait, tuple(givers), roles)


def _who_may_answer(context: BusContext, dialect: str, type_: str) -> tuple[str, ...]:
    """The roles that may send the answer; none in particular where the dialect leaves that open."""
    spoken = context.dialects.get(dialect)
    message_type = spoken.types.get(type_) if spoken is not None else None
    reply = spoken.types.get(message_type.reply or "") if spoken is not None and message_type is not None else None
    return tuple(map(normalised, reply.senders)) if reply is not None and reply.senders != ANY else ()


def _escalated(escalations: list[Escalation], roster: Roster) -> Iterator[Wait]:
    for escalation in escalations:
        whom = single(escalation.now.inboxes[0], roster)
        wait = _wait(escalation.by, whom, "escalation", escalation.id, escalation.at, words=escalation.reason)
        yield wait._replace(id=escalation.now.id)


def _blocked(topics: dict[str, Any], roster: Roster) -> Iterator[Wait]:
    for blocker in (topic for topic in topics.values() if topic is not None):
        words = blocker.needs or blocker.what
        for inbox in blocker.inboxes:
            yield _wait(blocker.by, single(inbox, roster), "blocker", blocker.id, blocker.at, words=words)


async def _dependent(context: BusContext, topics: dict[str, Any], roster: Roster) -> list[Wait]:
    """Plans wait for plans, and those for the agents that have them. An agent does not wait for its own plan: it may
    have another one to do meanwhile, so a cycle through it would not be a deadlock."""
    plans, waits = {plan.id: plan for plan in topics.values()}, []
    for plan in plans.values():
        if plan.words is None or not plan.has_work:
            continue
        for number, needed in enumerate(dict.fromkeys(plan.words.depends_on)):
            before = plans.get(needed)
            if before is None or not before.is_complete:
                last = plan.revisions[-1]
                remedy = await _without(context, plan, needed) if number < REMEDIES_MAX else _without_it(plan, needed)
                wait = _wait(_node(plan.id), _node(needed), "dependency", needed, last.at)
                waits.append(wait._replace(words=f"{needed} before {plan.id}", id=last.id, remedy=remedy))
                waits += _with_its_holders(before, roster) if before is not None else ()
    return waits


def _with_its_holders(plan: Any, roster: Roster) -> Iterator[Wait]:
    for address in plan.to:
        if address != EVERYONE and plan.has_work:
            whom = single(address.replace(ALL_OF_ROLE, ONE_OF_ROLE, 1), roster)
            last = plan.revisions[-1]
            wait = _wait(_node(plan.id), whom, "dependency", plan.id, last.at, words=f"{plan.id} to be done")
            yield wait._replace(id=last.id)


def _node(plan: str) -> str:
    return f"plan:{plan}"


async def _without(context: BusContext, plan: Any, needed: str) -> Remedy | None:
    """The contract once more, for those it was sent to, without waiting for that other plan."""
    last = plan.revisions[-1]
    message, dialect = await context.store.read(get_message, last.seq), context.dialects.get(last.dialect)
    type_ = dialect.types.get(message.type or "") if message is not None and dialect is not None else None
    if message is None or dialect is None or type_ is None or "depends_on" not in type_.field_map:
        return None
    tree = parse_tree(message.raw, dialect, type_)
    others = [other for other in plan.words.depends_on if other != needed]
    set_path(tree, dialect.locate(type_, type_.field_map["depends_on"]), others)
    if dialect.wire.id is not None:
        tree[dialect.wire.id] = context.clock.new_id()
    if dialect.wire.timestamp is not None:
        tree[dialect.wire.timestamp] = format_timestamp(context.clock.now())
    command = f"telex send --as {quoted(message.sender)} --to {quoted(message.to)} -"
    return Remedy(command, write(dialect, tree))


def _without_it(plan: Any, needed: str) -> Remedy:
    """A request to the author of the contract, where a plan has many dependencies."""
    words = f"Send the contract of {plan.id} once more, without waiting for {needed}.\n"
    return Remedy(f"telex send --as {HUMAN} --to {quoted(plan.revisions[-1].by)} -", words)


def _stopping(topics: dict[str, Any], roster: Roster) -> Iterator[Wait]:
    """Members that were asked to stop since they joined, and have not answered. A dissolved team has none."""
    for state in topics.values():
        for member in roster.known():
            call = open_call(state, member, roster)
            if call is not None and member.name not in (call.by, HUMAN):
                yield _wait(call.by, member.name, "shutdown", call.id, call.at, words=call.reason)


# --- requests and inboxes --------------------------------------------------------------------------------------------


def _unanswered(context: BusContext, asks: Overdue, roster: Roster, known: set[str]) -> list[Wait]:
    waits: list[Wait] = []
    for _, message, deliveries in asks:
        if context.is_escalation(message) or message.id in known or message.sender == TELEX:
            continue
        asked = dict.fromkeys(single(delivery.inbox, roster) for delivery in deliveries if delivery.state in MAY_ANSWER)
        words = f"{message.type or 'a message'} {message.id}"
        waits += [_wait(message.sender, whom, "answer", message.id, message.at, words=words) for whom in asked]
    return waits


def _idle(here: list[Presence], roster: Roster, now: float, silent_seconds: float) -> Iterator[IdleInbox]:
    """Inboxes that no agent reads. A message that came only now may still be read in a moment."""
    for presence in here:
        inbox, is_old = presence.member.name, (presence.oldest_at or now) <= now - silent_seconds
        waiting = presence.waiting if is_old else 0
        if presence.state in (HERE, "left", "shut down") or not (waiting or presence.leased):
            continue
        reason = idle_reason(inbox, roster, now, silent_seconds)
        if reason is not None:
            yield IdleInbox(inbox, *reason, leased=presence.leased, waiting=waiting)


def _wait(who: str, whom: str, why: Why, about: str, since: float, *, words: str = "") -> Wait:
    """A wait that an answer to the message `about` ends."""
    return Wait(who, whom, why=why, about=about, since=since, words=words, id=about)
