"""Escalations: an unanswered one goes one step up the chain, and one answer ends all of its steps.

Each step is a pending request in the store, so any process that handles timeouts takes it further, after a crash too.
The missed deadline is counted in the same transaction as the next step, so two processes take one step.
"""

import json
from collections.abc import Sequence

from telex.bus.context import BusContext
from telex.bus.team_state import Topics
from telex.delivery import escalation_chain
from telex.delivery.routing import Route
from telex.delivery.validator_cache import TypeTraits
from telex.dialects.schema import Dialect, MessageType
from telex.model.delivery import Delivery
from telex.model.escalation import NO_DEADLINE, Escalation, waits_for_ever
from telex.model.message import Message, NewMessage, WorkChange
from telex.model.roster import TELEX, Member
from telex.ports.store import PendingRequest, Reads, RequestQuery, Transaction, events_of, overdue_requests
from telex.work import reducer
from telex.work.escalations import FOLDS, KIND, topic_of
from telex.work.view import WorkMessage, fields_of, parse_tree, work_message_from_log

Asked = list[tuple[PendingRequest, Message]]
Asks = Sequence[tuple[PendingRequest, Message, Sequence[Delivery]]]
OPEN_MAX = 10_000  # matters looked at in one go
FAR_AWAY = NO_DEADLINE * 2


def is_escalation(context: BusContext, message: Message) -> bool:
    found = context.type_of(message)
    return found is not None and escalation_chain.is_escalation(found[1])


def escalation_of(context: BusContext, reads: Reads, message: Message) -> Escalation | None:
    """The escalation that this message is a step of. None: a lenient team let it pass outside the work rules."""
    for id_ in (message.id, message.reply_to):
        matter: Escalation | None = context.team.topic(topic_of(id_)) if id_ is not None else None
        if matter is not None and any(rung.seq == message.seq for rung in matter.rungs):
            return matter
    found = context.type_of(message)
    accepted = next((event for event in events_of(reads, message.seq) if event.kind == "accepted"), None)
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
    up = escalation_chain.climb_from(*found, level, context.team.roster)
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
    up: escalation_chain.EscalationStep,
) -> NewMessage:
    now, new_id = context.team.now, context.clock.new_id()
    last = escalation_chain.LastStep(dialect, type_, parse_tree(message.raw, dialect, type_))
    tree, new_message = escalation_chain.climbing(matter, last, up, now, new_id, limits=context.limits)
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
    pending = reads.pending_requests(RequestQuery(id=matter.id))
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
    if traits is not None and traits.action == escalation_chain.ESCALATE:
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
    able = escalation_chain.may_answer(member, matter, *found, context.team.roster)
    return able and (is_named or escalation_chain.goes_back(matter, inboxes))


# --- queries ---------------------------------------------------------------------------------------------------------


async def escalations(context: BusContext, *, answered: bool, asks: Asks | None = None) -> list[Escalation]:
    """Those that wait, oldest first; those that were answered too, if asked for. `asks`: all pending requests, if they
    have been read."""
    asks = await context.store.read(overdue_requests, FAR_AWAY, OPEN_MAX) if asks is None else asks
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
        return escalation_chain.with_events(matter, await context.store.read(events_of, matter.rungs[0].seq))
    pending_request = waiting.get(matter.now.seq)
    if pending_request is None or waits_for_ever(pending_request.due_at):
        return matter
    return matter._replace(rungs=(*matter.rungs[:-1], matter.now._replace(due_at=pending_request.due_at)))
