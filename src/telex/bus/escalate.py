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
from telex.work.view import WorkMessage, heard, tree_of

Asked = list[tuple[PendingRequest, Message]]
OPEN_MAX = 10_000  # matters looked at in one go
FAR_AWAY = NO_DEADLINE * 2


def is_escalation(office: BusContext, message: Message) -> bool:
    found = office.type_of(message)
    return found is not None and escalation_chain.is_escalation(found[1])


async def matter_of(office: BusContext, message: Message) -> Escalation | None:
    """What this message is a step of. None: a lenient team let it pass, and it has no part in the work."""
    for id_ in (message.id, message.reply_to):
        if id_ is None:
            continue
        matter: Escalation | None = (await office.books.of([topic_of(id_)])).get(topic_of(id_))
        if matter is not None and any(rung.seq == message.seq for rung in matter.rungs):
            return matter
    found = office.type_of(message)
    brought = next((one for one in await office.store.story(message.seq) if one.kind == "accepted"), None)
    said = heard(message, brought, found[0]) if found is not None and brought is not None else None
    return FOLDS[KIND](None, said) if said is not None else None


# --- climbing --------------------------------------------------------------------------------------------------------


async def climb(office: BusContext, ask: PendingRequest, message: Message) -> bool:
    """Hand an unanswered matter one step up. False: this is none, and late answers are dealt with in another way."""
    found = office.type_of(message)
    matter = (
        await matter_of(office, message) if found is not None and escalation_chain.is_escalation(found[1]) else None
    )
    if found is None or matter is None:
        return False
    now, store = office.clock.now(), office.store
    if not await _is_open(office, matter):  # the answer came in the very moment of this step
        await store.remind(ask, now, None, (), json.dumps({"reason": f"{matter.id} was answered"}))
        return True
    level = next((rung.level for rung in matter.rungs if rung.seq == message.seq), matter.now.level)
    up = escalation_chain.climb_from(*found, level, await office.roster())
    if up is None:
        await store.remind(ask, now, NO_DEADLINE, (), json.dumps({"reason": "there is nobody above"}))
        return True
    entry = await _next_step(office, matter, message, *found, up)
    detail = json.dumps({"climbed_to": entry.to, "by": entry.id}, ensure_ascii=False)
    await store.remind(ask, now, NO_DEADLINE, (), detail, (entry,))
    return True


async def _next_step(
    office: BusContext,
    matter: Escalation,
    message: Message,
    dialect: Dialect,
    type_: MessageType,
    up: escalation_chain.EscalationStep,
) -> NewMessage:
    now, new_id, roster = office.clock.now(), office.clock.new_id(), await office.roster()
    words = tree_of(message.raw, dialect, type_)
    tree, entry = escalation_chain.climbing(matter, words, dialect, type_, up, roster, now, new_id, office.limits)
    said = WorkMessage(
        0, new_id, now, TELEX, TELEX, entry.to, entry.inboxes, dialect, type_, tree, entry.correlation, entry.reply_to
    )
    about = await office.books.about(said, fresh=True)
    book = {topic: state for topic, (last, state) in about.items() if last}
    return entry._replace(part=WorkChange(reducer.belongs(said, book)))


async def _is_open(office: BusContext, matter: Escalation) -> bool:
    """The first step waits as long as the matter does, and an answer ends both."""
    asks = await office.store.asked(matter.id, None)
    return any(ask.message == matter.rungs[0].seq for ask, _ in asks)


# --- answers ---------------------------------------------------------------------------------------------------------


async def answered_by(
    office: BusContext, member: Member, kind: TypeTraits | None, named: Asked, spoken_of: Asked, inboxes: Route
) -> tuple[int, ...]:
    """The requests of every matter that a message settles: the one it names, or those of its conversation, where it
    goes back to who raised them. What hands another matter up is no answer."""
    if kind is not None and kind.deed == escalation_chain.ESCALATE:
        return ()
    settled: dict[int, None] = {}
    for found, is_named in ((named, True), (spoken_of, False)):
        for _, message in found:
            if message.seq in settled or not is_escalation(office, message):
                continue
            matter = await matter_of(office, message)
            if matter is not None and await _settles(office, member, matter, message, inboxes, is_named=is_named):
                settled |= dict.fromkeys(rung.seq for rung in matter.rungs)
    return tuple(settled)


async def _settles(
    office: BusContext, member: Member, matter: Escalation, message: Message, inboxes: Route, *, is_named: bool
) -> bool:
    found = office.type_of(message)
    assert found is not None
    able = escalation_chain.may_answer(member, matter, *found, await office.roster())
    return able and (is_named or escalation_chain.goes_back(matter, inboxes))


# --- looking ---------------------------------------------------------------------------------------------------------


async def escalations(office: BusContext, *, answered: bool) -> list[Escalation]:
    """Those that wait, oldest first; those that were answered too, if asked for."""
    asks = await office.store.overdue(FAR_AWAY, OPEN_MAX)
    waiting = {ask.message: ask for ask, message, _ in asks if is_escalation(office, message)}
    if answered:
        matters: list[Escalation] = list((await office.books.of_kind(KIND)).values())
    else:
        firsts = {topic_of(message.id) for ask, message, _ in asks if ask.message in waiting}
        matters = list((await office.books.of(sorted(firsts))).values())
    told = [await _as_it_is(office, matter, waiting) for matter in matters]
    return sorted((one for one in told if answered or one.is_open), key=lambda one: (one.at, one.id))


async def _as_it_is(office: BusContext, matter: Escalation, waiting: dict[int, PendingRequest]) -> Escalation:
    if matter.rungs[0].seq not in waiting:
        return escalation_chain.with_events(matter, await office.store.story(matter.rungs[0].seq))
    ask = waiting.get(matter.now.seq)
    if ask is None or waits_for_ever(ask.due_at):
        return matter
    return matter._replace(rungs=(*matter.rungs[:-1], matter.now._replace(due_at=ask.due_at)))
