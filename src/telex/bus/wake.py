"""Wakes of agents: each step is decided inside a transaction, on the state that the log has at that moment."""

import time
from collections.abc import Mapping, Sequence

from telex.bus.context import BusContext
from telex.bus.receive import as_member
from telex.delivery import wakes
from telex.delivery.routing import inboxes_of
from telex.model.message import WAKING
from telex.model.named_tuple import NamedTuple
from telex.model.roster import Member
from telex.model.text import replace_surrogates
from telex.ports.bus import Wake
from telex.ports.store import DeliveryQuery, EventQuery, Query, Reads, Transaction
from telex.validation.authorization import normalised

UNREAD_MAX = 200  # newest unread messages that are counted

Look = tuple[wakes.WakeState, wakes.WakeStep]


class WakeRequest(NamedTuple):
    """Arguments of `Bus.wake`."""

    agent: str
    by: str | None = None
    announced: int = 0
    session: str | None = None
    way: str | None = None
    failed: str | None = None
    force: bool = False


async def wake(context: BusContext, request: WakeRequest) -> Wake:
    """Most calls change nothing: they read a snapshot and take no write lock."""
    member = as_member(await context.find_member(request.agent))
    request = _bounded(request, member, context.limits.reason_characters_max)
    state, step = await context.read(lambda reads: _look_ahead(context, reads, request, member))
    if wakes.decide(state, step, context.limits) is None:
        return _result(context, state, step)
    return await context.store.transaction(lambda tx: _advance(context, tx, request, member), may_use_reserve=True)


def _bounded(request: WakeRequest, member: Member, characters_max: int) -> WakeRequest:
    def cut(text: str | None) -> str | None:
        return replace_surrogates(text[:characters_max]) if text else None

    by = normalised(request.by) if request.by else member.name
    request = request._replace(way=cut(request.way), failed=cut(request.failed), session=cut(request.session))
    return request._replace(agent=member.name, by=by)


def _advance(context: BusContext, tx: Transaction, request: WakeRequest, member: Member) -> Wake:
    """Record events until nothing is left to decide, or the caller has claimed the wake."""
    context.team.begin(tx)
    state, step = _look(context, tx, request, member)
    while (event := wakes.decide(state, step, context.limits)) is not None:
        before, state = state, wakes.fold(state, event._replace(seq=tx.record(event)))
        if event.kind == "wake-delivered":
            news = wakes.unseen(before, step)
            return Wake(step.agent, state.stage, state.number, len(news), max(news), claimed=True)
        step = step._replace(has_looked=False)
    return _result(context, state, step)


def _look_ahead(context: BusContext, reads: Reads, request: WakeRequest, member: Member) -> Look:
    """Read outside a transaction: everything read is committed, so it may be cached."""
    context.wakes = reads.position, _states(context, reads)
    return _look(context, reads, request, member)


def _look(context: BusContext, reads: Reads, request: WakeRequest, member: Member) -> Look:
    now = context.clock.now()
    state = _states(context, reads).get(member.name, wakes.WakeState())
    mark = request.announced if request.session else max(request.announced, state.newest)
    looked_after = 0 if request.force else mark  # a forced wake is also about messages that were announced
    local = time.localtime(now)
    step = wakes.WakeStep(
        agent=member.name,
        now=now,
        hour=local.tm_hour + local.tm_min / 60 + local.tm_sec / 3600,
        unread=_unread(reads, inboxes_of(member, context.team.roster), member.name, now, looked_after=looked_after),
        has_looked=state.stage == "delivered" and _has_looked(reads, member.name, state.position),
        **{name: value for name, value in request._asdict().items() if name != "agent"},
    )
    return state, step


def _states(context: BusContext, reads: Reads) -> Mapping[str, wakes.WakeState]:
    """The wakes of all agents. The log is read on from where the last read outside a transaction ended."""
    after, known = context.wakes
    events = reads.events(EventQuery(Query(after=after, kinds=WAKING)))
    if not events:
        return known
    states = dict(known)
    for event in events:
        if event.inbox is not None:
            states[event.inbox] = wakes.fold(states.get(event.inbox, wakes.WakeState()), event)
    return states


def _unread(reads: Reads, inboxes: Sequence[str], name: str, now: float, *, looked_after: int) -> tuple[int, ...]:
    """Numbers of messages that wait for this agent, without those after number `looked_after` that it has looked at:
    the newest ones, and the oldest."""
    query = DeliveryQuery(inboxes=inboxes, states=("stored",))
    deliveries = reads.deliveries(query._replace(order="newest", limit=UNREAD_MAX))
    if len(deliveries) == UNREAD_MAX:
        deliveries += reads.deliveries(query._replace(limit=1))
    waiting = {delivery.message for delivery in deliveries if delivery.due_at <= now}
    if not waiting:
        return ()
    after = max(min(waiting), looked_after)
    looked = reads.events(EventQuery(Query(after=after, agent=name, kinds=("read",))))
    return tuple(sorted(waiting - {event.message for event in looked if event.agent == name}))


def _has_looked(reads: Reads, name: str, after: int) -> bool:
    events = reads.events(EventQuery(Query(after=after, agent=name, kinds=wakes.LOOKING)))
    return any(event.agent == name for event in events)


def _result(context: BusContext, state: wakes.WakeState, step: wakes.WakeStep) -> Wake:
    news = wakes.unseen(state, step)
    result = Wake(step.agent, state.stage, state.number, len(news), max(news, default=0))
    if state.stage != "due":
        return result
    delay = wakes.delay(state, step, context.limits)
    return result._replace(deliver_at=delay.until, reason=state.failed or delay.reason)
