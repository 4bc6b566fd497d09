"""Escalations: levels, timeouts and answers.

An escalation waits at one level at a time. When its deadline passes, the bus sends it to the next level that has a
member, with one line added that names the level that did not answer; a human has no deadline. Every level that has
received it may still answer, and one answer closes the escalation.

Each step is a pending request in the store, so any process that handles timeouts takes it further, after a crash too.
The missed deadline is counted in the same transaction as the next step, so two processes take one step.
"""

import copy
import json
from collections.abc import Iterable, Sequence
from typing import Any

from telex.bus.context import BusContext, Topics
from telex.bus.correlate import new_message_of, work_message_of
from telex.delivery.routing import Route, inboxes_of
from telex.delivery.validator_cache import TypeTraits
from telex.dialects.scalars import format_timestamp
from telex.dialects.schema import Dialect, ListOf, MessageType, Text, Tree, get_path, kind_at, set_path
from telex.dialects.write import write
from telex.model.limits import Limits
from telex.model.message import Delivery, Event, NewMessage, StoredMessage, WorkChange
from telex.model.named_tuple import NamedTuple
from telex.model.roster import HUMAN, ONE_OF_ROLE, TELEX, Member, Roster
from telex.model.work import NO_DEADLINE, Escalation, EscalationLevel, waits_for_ever
from telex.ports.store import PendingRequest, Reads, RequestQuery, Transaction, events_of, overdue_requests
from telex.validation.authorization import normalised
from telex.work import reducer
from telex.work.escalations import FOLDS, KIND, above, topic_of
from telex.work.reducer import HeaderFields
from telex.work.view import parse_tree, work_message_from_log

Pending = list[tuple[PendingRequest, StoredMessage]]
Overdue = Sequence[tuple[PendingRequest, StoredMessage, Sequence[Delivery]]]
OPEN_MAX = 10_000  # escalations listed
FAR_AWAY = NO_DEADLINE * 2


def deadline_of(level: str, inboxes: Sequence[str], now: float, limits: Limits) -> float:
    is_human = normalised(level) == HUMAN or HUMAN in inboxes
    return NO_DEADLINE if is_human else now + limits.escalation_seconds


def escalation_of(context: BusContext, reads: Reads, message: StoredMessage) -> Escalation | None:
    """The escalation that this message is a step of. None: a lenient team let it pass outside the work rules."""
    for id_ in (message.id, message.reply_to):
        escalation: Escalation | None = context.team.topic(topic_of(id_)) if id_ is not None else None
        if escalation is not None and any(rung.seq == message.seq for rung in escalation.rungs):
            return escalation
    typed = context.type_of(message)
    accepted = next((event for event in events_of(reads, message.seq) if event.kind == "accepted"), None)
    if typed is None or accepted is None:
        return None
    work_message = work_message_from_log(message, accepted, typed[0])
    return FOLDS[KIND](None, work_message) if work_message is not None else None


# --- timeouts --------------------------------------------------------------------------------------------------------


async def escalate_further(context: BusContext, request: PendingRequest, message: StoredMessage) -> bool:
    """Take an unanswered escalation one step up. False: the message is none, and its timeout is handled otherwise."""
    if not context.is_escalation(message):
        return False
    return await context.store.transaction(lambda tx: _escalate(context, tx, request, message))


def _escalate(context: BusContext, tx: Transaction, request: PendingRequest, message: StoredMessage) -> bool:
    context.team.begin(tx)
    typed, escalation = context.type_of(message), escalation_of(context, tx, message)
    if typed is None or escalation is None:
        return False
    now = context.team.now
    # The first step is pending as long as the escalation is, and an answer ends both.
    pending = tx.pending_requests(RequestQuery(id=escalation.id))
    if not any(first.message == escalation.rungs[0].seq for first, _ in pending):
        tx.remind(request, now, None, (), json.dumps({"reason": f"{escalation.id} was answered"}))
        return True
    level = next((rung.level for rung in escalation.rungs if rung.seq == message.seq), escalation.now.level)
    up = climb_from(*typed, level, context.team.roster)
    if up is None:
        tx.remind(request, now, NO_DEADLINE, (), json.dumps({"reason": "there is no higher level"}))
        return True
    step = _next_step(context, escalation, message, *typed, up=up)
    detail = json.dumps({"climbed_to": step.to, "by": step.id}, ensure_ascii=False)
    tx.remind(request, now, NO_DEADLINE, (), detail, reports=(step,))
    return True


class EscalationStep(NamedTuple):
    """Step to the next level that has a member."""

    below: str  # the level directly below it in the chain, perhaps one without members
    level: str
    recipient: str  # first member of that level, or human


def climb_from(dialect: Dialect, type_: MessageType, level: str, roster: Roster) -> EscalationStep | None:
    """The next step; None: there is no level above. A human is always available."""
    below = level
    for over in above(dialect, type_, level):
        role = normalised(over)
        members = roster.of_role(role) if role != HUMAN else ()
        if role == HUMAN or members:
            return EscalationStep(below, over, members[0].name if members else HUMAN)
        below = over
    return None


def _next_step(
    context: BusContext,
    escalation: Escalation,
    message: StoredMessage,
    dialect: Dialect,
    type_: MessageType,
    *,
    up: EscalationStep,
) -> NewMessage:
    """The message of the bus that takes the escalation to the next level."""
    now, new_id, role, wire = context.team.now, context.clock.new_id(), normalised(up.level), dialect.wire
    address = HUMAN if role == HUMAN else ONE_OF_ROLE + role
    correlation = escalation.correlation or escalation.id
    tree = _with_unanswered_level(parse_tree(message.raw, dialect, type_), dialect, type_, up, escalation.now)
    by_name = dialect.addresses == "names"
    envelope = {
        wire.id: new_id,
        wire.timestamp: format_timestamp(now),
        wire.sender: TELEX if by_name else up.below,
        wire.recipient: up.recipient if by_name else role,
        wire.reply_to: escalation.id,
    }
    if wire.correlation in dialect.envelope:
        envelope[wire.correlation] = correlation
    tree |= {name: value for name, value in envelope.items() if name is not None}
    header = HeaderFields(new_id, now, TELEX, address, correlation=correlation, reply_to=escalation.id)
    work_message = work_message_of(header, TELEX, (address,), dialect, type_, tree=tree)
    return new_message_of(work_message, write(dialect, tree).encode())._replace(
        detail=json.dumps({"inboxes": [address]}),
        answer_by=deadline_of(up.level, (address,), now, context.limits),
        work_change=WorkChange(reducer.topics_changed(work_message, Topics(context.team))),
    )


def _with_unanswered_level(
    tree: Tree, dialect: Dialect, type_: MessageType, up: EscalationStep, unanswered: EscalationLevel
) -> Tree:
    """Content of the last message, for the next level, with a line that names the level that did not answer."""
    tree = copy.deepcopy(tree)
    names, role = type_.field_map, normalised(unanswered.level)
    silent = f"{role} has not answered {unanswered.id} since {format_timestamp(unanswered.at)}"
    set_path(tree, dialect.locate(type_, names["level"]), up.level)
    if "evidence" in names and _takes_texts(dialect, type_, names["evidence"]):
        _append(tree, dialect.locate(type_, names["evidence"]), silent)
    elif "history" in names:
        failed = {"history_agent": role, "history_attempts": 1, "history_error": silent}
        line = {names[name].rpartition(".")[2]: value for name, value in failed.items() if name in names}
        _append(tree, dialect.locate(type_, names["history"]), line)
    return tree


def _takes_texts(dialect: Dialect, type_: MessageType, name: str) -> bool:
    field = kind_at(dialect.fields_of(type_), dialect.locate(type_, name))
    return field is not None and isinstance(field.kind, ListOf) and isinstance(field.kind.item, Text)


def _append(tree: Tree, path: tuple[str, ...], line: Any) -> None:
    before = get_path(path)(tree)
    set_path(tree, path, [*(before if isinstance(before, list) else ()), line])


# --- answers ---------------------------------------------------------------------------------------------------------


def escalations_answered_by(
    context: BusContext,
    reads: Reads,
    member: Member,
    traits: TypeTraits | None,
    named: Pending,
    *,
    related: Pending,
    inboxes: Route,
) -> tuple[int, ...]:
    """The requests of every escalation that a message answers: the one it names, or those of its conversation where it
    goes back to their sender. Another escalation is no answer."""
    if traits is not None and traits.action == "escalate":
        return ()
    answered: dict[int, None] = {}
    for is_named, pending in ((True, named), (False, related)):
        for _, message in pending:
            if message.seq in answered or not context.is_escalation(message):
                continue
            escalation, typed = escalation_of(context, reads, message), context.type_of(message)
            if escalation is None or typed is None:
                continue
            author = {escalation.by, ONE_OF_ROLE + escalation.role}
            if not is_named and escalation.by != TELEX and author.isdisjoint(inboxes):
                continue  # any address counts where the bus is the author
            if may_answer(member, escalation, *typed, context.team.roster):
                answered |= dict.fromkeys(rung.seq for rung in escalation.rungs)
    return tuple(answered)


def may_answer(member: Member, escalation: Escalation, dialect: Dialect, type_: MessageType, roster: Roster) -> bool:
    """Every level that has received it, every level above those, and humans; never its author."""
    if member.name == escalation.by:
        return False
    if member.role == HUMAN:
        return True
    first = escalation.rungs[0].level
    roles = {normalised(first), *map(normalised, above(dialect, type_, first))}
    recipients = {inbox for rung in escalation.rungs for inbox in rung.inboxes}
    return member.role in roles or not recipients.isdisjoint(inboxes_of(member, roster))


# --- list ------------------------------------------------------------------------------------------------------------


async def escalations(context: BusContext, *, answered: bool, pending: Overdue | None = None) -> list[Escalation]:
    """Open escalations, oldest first; with `answered` all of them. `pending`: all pending requests, if known."""
    pending = await context.store.read(overdue_requests, FAR_AWAY, OPEN_MAX) if pending is None else pending
    requests = [(request, message) for request, message, _ in pending if context.is_escalation(message)]
    if answered:
        states = await context.topics_of_kind(KIND)
    else:
        states = await context.topics(sorted({topic_of(message.id) for _, message in requests}))
    due = {request.message: request.due_at for request, _ in requests}
    current = [await _current(context, escalation, due) for escalation in states.values()]
    listed = [escalation for escalation in current if answered or escalation.is_open]
    return sorted(listed, key=lambda escalation: (escalation.at, escalation.id))


async def _current(context: BusContext, escalation: Escalation, due: dict[int, float]) -> Escalation:
    """The escalation with its answer, or with its deadline."""
    if escalation.rungs[0].seq not in due:
        return with_events(escalation, await context.store.read(events_of, escalation.rungs[0].seq))
    due_at = due.get(escalation.now.seq)
    if due_at is None or waits_for_ever(due_at):
        return escalation
    return escalation._replace(rungs=(*escalation.rungs[:-1], escalation.now._replace(due_at=due_at)))


def with_events(escalation: Escalation, events: Iterable[Event]) -> Escalation:
    """The escalation with its answer, if the events of its messages contain one."""
    steps = {rung.seq for rung in escalation.rungs}
    answers = [event for event in events if event.kind == "answered" and event.message in steps]
    if not answers:
        return escalation
    first = min(answers, key=lambda event: event.seq)
    return escalation._replace(answered_by=first.agent, answered_at=first.at)
