"""What becomes of a matter that was handed up? It climbs when nobody answers, and one answer ends all of it.

Each step of it is a request that waits in the store, so it climbs whoever looks at the clock next, after a crash too.
Two who look at once climb once: the missed deadline is counted together with the next step, or not at all.
"""

import json

from telex.bus.directory import BusContext
from telex.delivery import escalation_chain
from telex.delivery.routing import Route
from telex.delivery.validator_cache import TypeTraits
from telex.dialects.schema import Dialect, MessageType
from telex.model.escalation import NO_DEADLINE, Escalation, waits_for_ever
from telex.model.message import Message, NewMessage, WorkChange
from telex.model.roster import TELEX, Member
from telex.ports.store import PendingRequest
from telex.work import reducer
from telex.work.escalations import FOLDS, KIND, topic_of
from telex.work.view import WorkMessage, parse_tree, work_message_from_log

Asked = list[tuple[PendingRequest, Message]]
OPEN_MAX = 10_000  # matters looked at in one go
FAR_AWAY = NO_DEADLINE * 2


def is_escalation(context: BusContext, message: Message) -> bool:
    found = context.type_of(message)
    return found is not None and escalation_chain.is_escalation(found[1])


async def escalation_of(context: BusContext, message: Message) -> Escalation | None:
    """What this message is a step of. None: a lenient team let it pass, and it has no part in the work."""
    for id_ in (message.id, message.reply_to):
        if id_ is None:
            continue
        matter: Escalation | None = (await context.work_cache.of([topic_of(id_)])).get(topic_of(id_))
        if matter is not None and any(rung.seq == message.seq for rung in matter.rungs):
            return matter
    found = context.type_of(message)
    brought = next((event for event in await context.store.story(message.seq) if event.kind == "accepted"), None)
    work_message = (
        work_message_from_log(message, brought, found[0]) if found is not None and brought is not None else None
    )
    return FOLDS[KIND](None, work_message) if work_message is not None else None


# --- climbing --------------------------------------------------------------------------------------------------------


async def escalate_further(context: BusContext, pending_request: PendingRequest, message: Message) -> bool:
    """Hand an unanswered matter one step up. False: this is none, and late answers are dealt with in another way."""
    found = context.type_of(message)
    matter = (
        await escalation_of(context, message)
        if found is not None and escalation_chain.is_escalation(found[1])
        else None
    )
    if found is None or matter is None:
        return False
    now, store = context.clock.now(), context.store
    if not await _is_open(context, matter):  # the answer came in the very moment of this step
        await store.remind(pending_request, now, None, (), json.dumps({"reason": f"{matter.id} was answered"}))
        return True
    level = next((rung.level for rung in matter.rungs if rung.seq == message.seq), matter.now.level)
    up = escalation_chain.climb_from(*found, level, await context.roster())
    if up is None:
        await store.remind(pending_request, now, NO_DEADLINE, (), json.dumps({"reason": "there is nobody above"}))
        return True
    new_message = await _next_step(context, matter, message, *found, up)
    detail = json.dumps({"climbed_to": new_message.to, "by": new_message.id}, ensure_ascii=False)
    await store.remind(pending_request, now, NO_DEADLINE, (), detail, (new_message,))
    return True


async def _next_step(
    context: BusContext,
    matter: Escalation,
    message: Message,
    dialect: Dialect,
    type_: MessageType,
    up: escalation_chain.EscalationStep,
) -> NewMessage:
    now, new_id, roster = context.clock.now(), context.clock.new_id(), await context.roster()
    words = parse_tree(message.raw, dialect, type_)
    tree, new_message = escalation_chain.climbing(
        matter, words, dialect, type_, up, roster, now, new_id, context.limits
    )
    work_message = WorkMessage(
        0,
        new_id,
        now,
        TELEX,
        TELEX,
        new_message.to,
        new_message.inboxes,
        dialect,
        type_,
        tree,
        new_message.correlation,
        new_message.reply_to,
    )
    about = await context.work_cache.about(work_message, fresh=True)
    book = {topic: state for topic, (last, state) in about.items() if last}
    return new_message._replace(work_change=WorkChange(reducer.topics_changed(work_message, book)))


async def _is_open(context: BusContext, matter: Escalation) -> bool:
    """The first step waits as long as the matter does, and an answer ends both."""
    asks = await context.store.pending_requests(matter.id, None)
    return any(pending_request.message == matter.rungs[0].seq for pending_request, _ in asks)


# --- answers ---------------------------------------------------------------------------------------------------------


async def escalations_answered_by(
    context: BusContext, member: Member, kind: TypeTraits | None, named: Asked, spoken_of: Asked, inboxes: Route
) -> tuple[int, ...]:
    """The requests of every matter that a message settles: the one it names, or those of its conversation, where it
    goes back to who raised them. What hands another matter up is no answer."""
    if kind is not None and kind.action == escalation_chain.ESCALATE:
        return ()
    settled: dict[int, None] = {}
    for found, is_named in ((named, True), (spoken_of, False)):
        for _, message in found:
            if message.seq in settled or not is_escalation(context, message):
                continue
            matter = await escalation_of(context, message)
            if matter is not None and await _settles(context, member, matter, message, inboxes, is_named=is_named):
                settled |= dict.fromkeys(rung.seq for rung in matter.rungs)
    return tuple(settled)


async def _settles(
    context: BusContext, member: Member, matter: Escalation, message: Message, inboxes: Route, *, is_named: bool
) -> bool:
    found = context.type_of(message)
    assert found is not None
    able = escalation_chain.may_answer(member, matter, *found, await context.roster())
    return able and (is_named or escalation_chain.goes_back(matter, inboxes))


# --- looking ---------------------------------------------------------------------------------------------------------


async def escalations(context: BusContext, *, answered: bool) -> list[Escalation]:
    """Those that wait, oldest first; those that were answered too, if asked for."""
    asks = await context.store.overdue(FAR_AWAY, OPEN_MAX)
    waiting = {
        pending_request.message: pending_request
        for pending_request, message, _ in asks
        if is_escalation(context, message)
    }
    if answered:
        matters: list[Escalation] = list((await context.work_cache.of_kind(KIND)).values())
    else:
        firsts = {topic_of(message.id) for pending_request, message, _ in asks if pending_request.message in waiting}
        matters = list((await context.work_cache.of(sorted(firsts))).values())
    escalations = [await _as_it_is(context, matter, waiting) for matter in matters]
    return sorted(
        (escalation for escalation in escalations if answered or escalation.is_open),
        key=lambda escalation: (escalation.at, escalation.id),
    )


async def _as_it_is(context: BusContext, matter: Escalation, waiting: dict[int, PendingRequest]) -> Escalation:
    if matter.rungs[0].seq not in waiting:
        return escalation_chain.with_events(matter, await context.store.story(matter.rungs[0].seq))
    pending_request = waiting.get(matter.now.seq)
    if pending_request is None or waits_for_ever(pending_request.due_at):
        return matter
    return matter._replace(rungs=(*matter.rungs[:-1], matter.now._replace(due_at=pending_request.due_at)))
