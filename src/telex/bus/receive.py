"""Receive, ack, nack and extend; wait for the answer to a request."""

from collections.abc import Sequence
from functools import partial

from telex.bus.context import BusContext, count, seconds
from telex.bus.leases import is_acked, lease_lost, parse_token, settle_lease
from telex.bus.maintenance import MAY_ANSWER, dead_letter_notices, expire_leases, keep_request_open, run_if_due
from telex.bus.notify import POLLS_APART_SECONDS_MIN, Notifier
from telex.delivery import lifecycle
from telex.errors import InvalidValue, NotAMember, RequestFailed, RequestTimedOut
from telex.model.finding import Finding
from telex.model.message import AT_ONCE, Delivery, LeasedMessage, StoredMessage, detail_of
from telex.model.named_tuple import NamedTuple
from telex.model.roster import Member
from telex.model.text import digest_of, replace_surrogates
from telex.ports.store import (
    LeaseRequest,
    Settlement,
    SettleResult,
    answers_to,
    deliveries_of,
    events_of,
    find_messages,
    get_delivery,
    next_deadline,
    settle,
)
from telex.validation.authorization import normalised

LEASE_SECONDS_MIN = 0.001


async def member_or_raise(context: BusContext, agent: str, role: str | None = None) -> Member:
    return as_member(await context.member(agent, role))


def as_member(member: Member | Finding) -> Member:
    if isinstance(member, Finding):
        raise NotAMember.because(member)
    return member


async def receive(
    context: BusContext,
    notifier: Notifier,
    agent: str,
    *,
    role: str | None,
    limit: int,
    wait: float,
    lease: float | None,
) -> list[LeasedMessage]:
    member = await member_or_raise(context, agent, role)
    limit = min(count("limit", limit), context.limits.receive_max)
    lease = context.limits.lease_seconds if lease is None else seconds("lease", lease, LEASE_SECONDS_MIN)
    deadline = context.clock.now() + seconds("wait", wait)
    inboxes, subscription = await context.inboxes(member), None
    try:
        while True:
            await run_if_due(context)
            now = context.clock.now()
            request = LeaseRequest(inboxes, member.name, now, now + lease, limit)
            leases = await lease_messages(context, member, request)
            if leases or now >= deadline:
                return leases
            if subscription is None:  # most inboxes have a message: only an empty one is worth a subscription
                subscription = notifier.subscribe(takes=True)
            else:
                poll_at = await next_poll_at(context, inboxes, now) if subscription.alone else deadline
                await subscription.wait(min(deadline, poll_at))
                member = await member_or_raise(context, agent)  # a waiting member is active
                inboxes = await context.inboxes(member)
            await subscription.arm(inboxes)
    finally:
        if subscription is not None:
            subscription.close()


async def next_poll_at(context: BusContext, inboxes: Sequence[str], now: float) -> float:
    """When a reader that waits alone has to poll, although nothing was written: a lease or a deadline expires."""
    deadline = await context.store.read(next_deadline, inboxes)
    due_at = context.next_maintenance if deadline is None else min(context.next_maintenance, deadline)
    return max(due_at, now + POLLS_APART_SECONDS_MIN)


async def lease_messages(context: BusContext, member: Member, request: LeaseRequest) -> list[LeasedMessage]:
    """Lease due messages, in a dialect that the member reads. A message whose bytes are damaged becomes a dead
    letter."""
    while True:
        if member.dialects:
            from telex.bus.render import lease  # most members read any dialect

            leases = await lease(context, member, request)
        else:
            leases = await context.store.lease(request)
        context.next_lease_expiry = min(context.next_lease_expiry, request.until)
        damaged = [lease for lease in leases if digest_of(lease.message.raw) != lease.message.digest]
        if not damaged:
            return leases
        settlements = []
        for broken in damaged:
            delivery = await context.store.read(get_delivery, broken.delivery)
            assert delivery is not None, "a leased delivery is stored"
            reports = await dead_letter_notices(context, delivery, lifecycle.DAMAGED, broken.message)
            settlement = lifecycle.damaged(delivery, context.clock.now(), reports=reports)
            settlements.append(await keep_request_open(context, settlement, delivery))
        await settle(context.store, settlements)
        if intact := [lease for lease in leases if lease not in damaged]:
            return intact


# --- settle ----------------------------------------------------------------------------------------------------------


async def ack(context: BusContext, token: str, agent: str) -> bool:
    delivery, fence = parse_token(token)
    agent = normalised(agent)
    settled = await _settle(context, lifecycle.acked(delivery, fence, agent, context.clock.now()))
    await context.mark_seen(agent)
    if not settled.done and not is_acked(settled.now, fence, agent):
        raise lease_lost(settled, fence, agent)
    return settled.done


async def extend(context: BusContext, token: str, agent: str, more: float | None) -> float:
    delivery, fence = parse_token(token)
    now, agent = context.clock.now(), normalised(agent)
    until = now + (context.limits.lease_seconds if more is None else seconds("seconds", more, LEASE_SECONDS_MIN))
    [settled] = await settle(context.store, [lifecycle.extended(delivery, fence, agent, now, until)])
    context.next_lease_expiry = min(context.next_lease_expiry, until)
    await context.mark_seen(agent)
    if not settled.done:
        raise lease_lost(settled, fence, agent)
    return until


class Failure(NamedTuple):
    """Arguments of a nack besides its lease."""

    reason: str
    delay: float | None = None
    final: bool = False  # no further attempt
    counted: bool = True  # False: the message was not processed


async def nack(context: BusContext, token: str, agent: str, failure: Failure) -> Delivery:
    if failure.final and not failure.counted:
        raise InvalidValue("a nack is final, or its attempt does not count: not both.")
    seq, fence = parse_token(token)
    agent, now, limit = normalised(agent), context.clock.now(), context.limits.reason_characters_max
    reason = replace_surrogates(failure.reason) or ""
    reason = reason if len(reason) <= limit else reason[: limit - 1] + "…"
    delay = None if failure.delay is None else seconds("delay", failure.delay)
    delivery = await context.store.read(get_delivery, seq)
    if delivery is None or delivery.fence != fence:
        raise lease_lost(SettleResult(False, delivery), fence, agent)
    settlement = await _nacked(context, delivery, agent, now, failure._replace(reason=reason, delay=delay))
    settled = await _settle(context, await keep_request_open(context, settlement, delivery))
    await context.mark_seen(agent)
    if not settled.done or settled.now is None:
        raise lease_lost(settled, fence, agent)
    return settled.now


async def _nacked(context: BusContext, delivery: Delivery, agent: str, now: float, failure: Failure) -> Settlement:
    if not failure.counted:
        settlement = lifecycle.returned(delivery, now, failure.reason)
        due_at = AT_ONCE if failure.delay is None else now + failure.delay
        return settlement._replace(was="leased", agent=agent, holder=agent, due_at=due_at)
    limits = context.limits._replace(attempts_max=delivery.attempts) if failure.final else context.limits
    is_last = lifecycle.is_last_attempt(delivery, limits)
    reports = await dead_letter_notices(context, delivery, failure.reason) if is_last else ()
    return lifecycle.nacked(delivery, agent, now, failure.reason, limits, delay=failure.delay, reports=reports)


async def _settle(context: BusContext, settlement: Settlement) -> SettleResult:
    return await context.store.transaction(partial(settle_lease, context, settlement), may_use_reserve=True)


# --- request ---------------------------------------------------------------------------------------------------------


def request_seconds(context: BusContext, timeout: float | None) -> float:
    return context.limits.request_seconds if timeout is None else seconds("timeout", timeout)


async def wait_for_answer(
    context: BusContext, notifier: Notifier, id_: str, sender: str, timeout: float
) -> LeasedMessage:
    """Lease the answer to a request that was just sent.

    Raises:
        RequestTimedOut: no answer came in time.
        RequestFailed: no recipient can answer any more.
    """
    deadline, name = context.clock.now() + timeout, normalised(sender)  # another sender may have used the same id
    messages = [
        message
        for message in await context.store.read(find_messages, id_)
        if not message.refused and message.sender == name
    ]
    answer = await _answer(context, notifier, messages[-1], deadline)
    if answer is None:
        raise RequestTimedOut(
            f"no answer to {id_} within {timeout:g} s: look at telex why {id_}; a late answer comes to your inbox.", id_
        )
    return answer


async def _answer(
    context: BusContext, notifier: Notifier, question: StoredMessage, deadline: float
) -> LeasedMessage | None:
    member = await member_or_raise(context, question.sender)
    dialect_and_type = context.type_of(question)
    reply = dialect_and_type[1].reply if dialect_and_type is not None else None
    subscription = notifier.subscribe()
    try:
        while True:
            await expire_leases(context)
            inboxes = await context.inboxes(member)
            await subscription.arm(inboxes, (question.seq,))
            now = context.clock.now()
            answers = await _answers(context, question, inboxes, () if reply is None else (reply,))
            request = LeaseRequest(inboxes, member.name, now, now + context.limits.lease_seconds, only=answers)
            if answers and (leases := await lease_messages(context, member, request)):
                return leases[0]
            if now >= deadline:
                return None
            deliveries = await context.store.read(deliveries_of, question.seq)
            if not any(delivery.state in MAY_ANSWER for delivery in deliveries):
                failed = f"no reply to {question.id} will come: it is a dead letter"
                raise RequestFailed(f"{failed}. See telex why {question.id}, and ask another agent.", question.id)
            await subscription.wait(min(deadline, now + 1.0))
    finally:
        subscription.close()


async def _answers(
    context: BusContext, question: StoredMessage, inboxes: Sequence[str], types: Sequence[str]
) -> list[int]:
    """The delivery of the message that has answered it; other replies stay in the inbox."""
    store = context.store
    deliveries = await store.read(answers_to, inboxes, question, types)
    events = await store.read(events_of, question.seq) if deliveries else []
    answers = {detail_of(event).get("by") for event in events if event.kind == "answered"}
    return [delivery.seq for delivery in deliveries if delivery.message in answers][:1]
