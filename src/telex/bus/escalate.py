"""Escalation chain: order of the levels, who may answer, and the message that the bus sends to the next level.

An escalation waits at one level at a time. When its deadline passes, the bus sends it to the next level that has a
member, with one line added that names the level that did not answer; a human has no deadline. Every level that has
received it may still answer, and one answer closes the escalation.
"""

import copy
import json
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from telex.bus.context import BusContext, Topics
from telex.delivery.routing import Route, inboxes_of
from telex.delivery.system_messages import format_timestamp
from telex.delivery.validator_cache import TypeTraits
from telex.dialects.rule_evaluation import get_path, set_path
from telex.dialects.schema import PRIORITIES, Dialect, MessageType, Tree
from telex.dialects.write import write
from telex.model.limits import Limits
from telex.model.message import Delivery, Event, Message, NewMessage, WorkChange
from telex.model.roster import HUMAN, ONE_OF_ROLE, TELEX, Member, Roster
from telex.model.text import digest_of
from telex.model.work import NO_DEADLINE, Escalation, EscalationLevel, waits_for_ever
from telex.ports.store import PendingRequest, Reads, Transaction
from telex.validation.authorization import normalised
from telex.work import reducer
from telex.work.escalations import FOLDS, KIND, above, topic_of
from telex.work.view import WorkMessage, fields_of, parse_tree, work_message_from_log

ESCALATE = "escalate"


def deadline_of(level: str, inboxes: Sequence[str], now: float, limits: Limits) -> float:
    with_a_person = normalised(level) == HUMAN or HUMAN in inboxes
    return NO_DEADLINE if with_a_person else now + limits.escalation_seconds


# --- levels ----------------------------------------------------------------------------------------------------------


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


# --- answers ---------------------------------------------------------------------------------------------------------


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


def goes_back(escalation: Escalation, inboxes: Sequence[str]) -> bool:
    """Whether a message is addressed to the author; any address counts where the bus is the author."""
    return escalation.by == TELEX or not {escalation.by, ONE_OF_ROLE + escalation.role}.isdisjoint(inboxes)


def with_events(escalation: Escalation, events: Iterable[Event]) -> Escalation:
    """The escalation with its answer, if the events of its messages contain one."""
    ours = {rung.seq for rung in escalation.rungs}
    answers = [event for event in events if event.kind == "answered" and event.message in ours]
    if not answers:
        return escalation
    first = min(answers, key=lambda event: event.seq)
    return escalation._replace(answered_by=first.agent, answered_at=first.at)


# --- message to the next level ---------------------------------------------------------------------------------------


class LastStep(NamedTuple):
    """The message of an escalation that was not answered in time, parsed."""

    dialect: Dialect
    type: MessageType
    tree: Tree


def climbing(
    escalation: Escalation, last: LastStep, step: EscalationStep, now: float, new_id: str, *, limits: Limits
) -> tuple[Tree, NewMessage]:
    """Message of the bus that takes the escalation to the next level."""
    dialect, type_, _ = last
    role = normalised(step.level)
    address = HUMAN if role == HUMAN else ONE_OF_ROLE + role
    correlation = escalation.correlation or escalation.id
    tree = _tree_for(last, step, escalation.now)
    by_name = dialect.addresses == "names"
    wire = dialect.wire
    places = {
        wire.id: new_id,
        wire.timestamp: format_timestamp(now),
        wire.sender: TELEX if by_name else step.below,
        wire.recipient: step.recipient if by_name else role,
        wire.reply_to: escalation.id,
    }
    if wire.correlation in dialect.envelope:
        places[wire.correlation] = correlation
    tree |= {name: value for name, value in places.items() if name is not None}
    raw = write(dialect, tree).encode()
    new_message = NewMessage(
        id=new_id,
        at=now,
        sender=TELEX,
        role=TELEX,
        to=address,
        dialect=dialect.name,
        type=type_.name,
        rank=PRIORITIES.index(type_.priority),
        correlation=correlation,
        reply_to=escalation.id,
        digest=digest_of(raw),
        raw=raw,
        inboxes=(address,),
        detail=json.dumps({"inboxes": [address]}),
        answer_by=deadline_of(step.level, (address,), now, limits),
    )
    return tree, new_message


def _tree_for(last: LastStep, step: EscalationStep, unanswered: EscalationLevel) -> Tree:
    """Content of the last message, for the next level, with a line that names the level that did not answer."""
    dialect, type_, tree = last._replace(tree=copy.deepcopy(last.tree))
    assert type_.deed is not None
    names, role = type_.deed.field_map, normalised(unanswered.level)
    silent = f"{role} has not answered {unanswered.id} since {format_timestamp(unanswered.at)}"
    set_path(tree, dialect.locate(type_, names["level"]), step.level)
    if "evidence" in names:
        _append(tree, dialect.locate(type_, names["evidence"]), silent)
    elif "history" in names:
        failed = {"history_agent": role, "history_attempts": 1, "history_error": silent}
        line = {names[name].rpartition(".")[2]: value for name, value in failed.items() if name in names}
        _append(tree, dialect.locate(type_, names["history"]), line)
    return tree


def _append(tree: Tree, path: tuple[str, ...], line: Any) -> None:
    before = get_path(path)(tree)
    set_path(tree, path, [*(before if isinstance(before, list) else ()), line])


Asked = list[tuple[PendingRequest, Message]]
Asks = Sequence[tuple[PendingRequest, Message, Sequence[Delivery]]]
OPEN_MAX = 10_000  # matters looked at in one go
FAR_AWAY = NO_DEADLINE * 2


def is_escalation(context: BusContext, message: Message) -> bool:
    return context.action_of(message) == ESCALATE


def escalation_of(context: BusContext, reads: Reads, message: Message) -> Escalation | None:
    """The escalation that this message is a step of. None: a lenient team let it pass outside the work rules."""
    for id_ in (message.id, message.reply_to):
        matter: Escalation | None = context.team.topic(topic_of(id_)) if id_ is not None else None
        if matter is not None and any(rung.seq == message.seq for rung in matter.rungs):
            return matter
    found = context.type_of(message)
    accepted = next((event for event in reads.story(message.seq) if event.kind == "accepted"), None)
    if found is None or accepted is None:
        return None
    work_message = work_message_from_log(message, accepted, found[0])
    return FOLDS[KIND](None, work_message) if work_message is not None else None


# --- timeouts --------------------------------------------------------------------------------------------------------


async def escalate_further(context: BusContext, request: PendingRequest, message: Message) -> bool:
    """Take an unanswered escalation one step up. False: the message is none, and its timeout is handled otherwise."""
    if not is_escalation(context, message):
        return False
    return await context.store.transaction(lambda tx: _escalate(context, tx, request, message))


def _escalate(context: BusContext, tx: Transaction, request: PendingRequest, message: Message) -> bool:
    context.team.begin(tx)
    found, matter = context.type_of(message), escalation_of(context, tx, message)
    if found is None or matter is None:
        return False
    now = context.team.now
    if not _is_open(tx, matter):
        tx.remind(request, now, None, (), json.dumps({"reason": f"{matter.id} was answered"}))
        return True
    level = next((rung.level for rung in matter.rungs if rung.seq == message.seq), matter.now.level)
    up = climb_from(*found, level, context.team.roster)
    if up is None:
        tx.remind(request, now, NO_DEADLINE, (), json.dumps({"reason": "there is nobody above"}))
        return True
    step = _next_step(context, matter, message, *found, up=up)
    detail = json.dumps({"climbed_to": step.to, "by": step.id}, ensure_ascii=False)
    tx.remind(request, now, NO_DEADLINE, (), detail, reports=(step,))
    return True


def _next_step(
    context: BusContext,
    matter: Escalation,
    message: Message,
    dialect: Dialect,
    type_: MessageType,
    *,
    up: EscalationStep,
) -> NewMessage:
    now, new_id = context.team.now, context.clock.new_id()
    last = LastStep(dialect, type_, parse_tree(message.raw, dialect, type_))
    tree, new_message = climbing(matter, last, up, now, new_id, limits=context.limits)
    work_message = WorkMessage(
        seq=0,
        id=new_id,
        at=now,
        sender=TELEX,
        role=TELEX,
        to=new_message.to,
        inboxes=new_message.inboxes,
        dialect=dialect,
        type=type_,
        fields=fields_of(tree, dialect, type_),
        correlation=new_message.correlation,
        reply_to=new_message.reply_to,
    )
    topics = reducer.topics_changed(work_message, Topics(context.team))
    return new_message._replace(work_change=WorkChange(topics))


def _is_open(reads: Reads, matter: Escalation) -> bool:
    """The first step is pending as long as the escalation is, and an answer ends both."""
    pending = reads.pending_requests(matter.id, None)
    return any(request.message == matter.rungs[0].seq for request, _ in pending)


# --- answers ---------------------------------------------------------------------------------------------------------


def escalations_answered_by(
    context: BusContext,
    reads: Reads,
    member: Member,
    traits: TypeTraits | None,
    named: Asked,
    *,
    related: Asked,
    inboxes: Route,
) -> tuple[int, ...]:
    """The requests of every escalation that a message answers: the one it names, or those of its conversation where it
    goes back to their sender. Another escalation is no answer."""
    if traits is not None and traits.action == ESCALATE:
        return ()
    answered: dict[int, None] = {}
    for found, is_named in ((named, True), (related, False)):
        for _, message in found:
            if message.seq in answered or not is_escalation(context, message):
                continue
            matter = escalation_of(context, reads, message)
            if matter is not None and _may_settle(context, member, matter, message, inboxes, is_named=is_named):
                answered |= dict.fromkeys(rung.seq for rung in matter.rungs)
    return tuple(answered)


def _may_settle(
    context: BusContext, member: Member, matter: Escalation, message: Message, inboxes: Route, *, is_named: bool
) -> bool:
    found = context.type_of(message)
    assert found is not None
    able = may_answer(member, matter, *found, context.team.roster)
    return able and (is_named or goes_back(matter, inboxes))


# --- queries ---------------------------------------------------------------------------------------------------------


async def escalations(context: BusContext, *, answered: bool, asks: Asks | None = None) -> list[Escalation]:
    """Those that wait, oldest first; those that were answered too, if asked for. `asks`: all pending requests, if they
    have been read."""
    asks = await context.store.overdue(FAR_AWAY, OPEN_MAX) if asks is None else asks
    waiting = {
        pending_request.message: pending_request
        for pending_request, message, _ in asks
        if is_escalation(context, message)
    }
    if answered:
        matters: list[Escalation] = list((await context.topics_of_kind(KIND)).values())
    else:
        firsts = {topic_of(message.id) for pending_request, message, _ in asks if pending_request.message in waiting}
        matters = list((await context.topics(sorted(firsts))).values())
    escalations = [await _as_it_is(context, matter, waiting) for matter in matters]
    return sorted(
        (escalation for escalation in escalations if answered or escalation.is_open),
        key=lambda escalation: (escalation.at, escalation.id),
    )


async def _as_it_is(context: BusContext, matter: Escalation, waiting: dict[int, PendingRequest]) -> Escalation:
    if matter.rungs[0].seq not in waiting:
        return with_events(matter, await context.store.story(matter.rungs[0].seq))
    pending_request = waiting.get(matter.now.seq)
    if pending_request is None or waits_for_ever(pending_request.due_at):
        return matter
    return matter._replace(rungs=(*matter.rungs[:-1], matter.now._replace(due_at=pending_request.due_at)))
