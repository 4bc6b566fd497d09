"""Receive, ack, nack and extend: leases of one inbox."""

from collections.abc import Sequence

from telex.bus.context import TURN_SECONDS_MIN, BusContext, count, seconds
from telex.bus.decision import replace_surrogates
from telex.bus.maintenance import dead_letter_notices, keep_request_open, run_if_due
from telex.bus.notify import LOOKS_APART_SECONDS_MIN, Notifier
from telex.delivery import lifecycle
from telex.errors import LeaseLost, NotAMember, NotFound
from telex.model.finding import Finding
from telex.model.limits import Limits
from telex.model.message import OPEN, Delivery, Lease
from telex.model.roster import Member
from telex.model.text import digest_of
from telex.ports.store import LeaseRequest, Settlement, SettleResult
from telex.validation.authorization import normalised

TOKEN_CHARACTERS_MAX = 18  # more digits than any delivery will have, and fewer than a store can hold


async def member_or_raise(context: BusContext, agent: str, role: str | None = None) -> Member:
    return as_member(await context.member(agent, role))


def as_member(found: Member | Finding) -> Member:
    if isinstance(found, Finding):
        raise NotAMember(found.say, found.code)
    return found


async def receive(
    context: BusContext, waiting: Notifier, agent: str, role: str | None, limit: int, wait: float, lease: float | None
) -> list[Lease]:
    member = await member_or_raise(context, agent, role)
    limit = min(count("limit", limit), context.limits.receive_max)
    lease = context.limits.lease_seconds if lease is None else seconds("lease", lease, TURN_SECONDS_MIN)
    deadline = context.clock.now() + seconds("wait", wait)
    await run_if_due(context)
    now, inboxes = context.clock.now(), await context.inboxes(member)
    leases = await lease_messages(context, member, LeaseRequest(inboxes, member.name, now, now + lease, limit))
    if leases or now >= deadline:
        return leases
    subscription = waiting.place(takes=True)
    try:
        while True:
            await subscription.arm(inboxes)
            await run_if_due(context)
            now = context.clock.now()
            leases = await lease_messages(context, member, LeaseRequest(inboxes, member.name, now, now + lease, limit))
            if leases or now >= deadline:
                return leases
            await subscription.wait(
                min(deadline, await next_poll_at(context, inboxes, now)) if subscription.alone else deadline
            )
            member = await member_or_raise(context, agent)  # waiting is being here
            inboxes = await context.inboxes(member)
    finally:
        subscription.close()


async def next_poll_at(context: BusContext, inboxes: Sequence[str], now: float) -> float:
    """When somebody who waits alone has to look again, though nobody has written anything."""
    soonest = await context.store.next_deadline(inboxes)
    due = context.next_maintenance if soonest is None else min(context.next_maintenance, soonest)
    return max(due, now + LOOKS_APART_SECONDS_MIN)


async def lease_messages(context: BusContext, member: Member, request: LeaseRequest) -> list[Lease]:
    """Lease what is due. A message whose bytes are not those that were accepted becomes a dead letter instead."""
    while True:
        leases = await _lease(context, member, request)
        damaged = [lease for lease in leases if digest_of(lease.message.raw) != lease.message.digest]
        if not damaged:
            return leases
        await context.store.settle([await _bury(context, lease) for lease in damaged])
        if intact := [lease for lease in leases if lease not in damaged]:
            return intact


async def _bury(context: BusContext, lease: Lease) -> Settlement:
    delivery = await context.store.delivery(lease.delivery)
    assert delivery is not None, "what is leased is stored"
    reports = await dead_letter_notices(context, delivery, lifecycle.DAMAGED, lease.message)
    settlement = lifecycle.damaged(delivery, context.clock.now(), reports=reports)
    return await keep_request_open(context, settlement, delivery)


async def _lease(context: BusContext, member: Member, request: LeaseRequest) -> list[Lease]:
    """In a dialect that the member reads."""
    if not member.dialects:
        return await context.store.lease(request)
    from telex.bus.render import lease  # most members read any dialect

    return await lease(context, member, request)


def parse_token(token: str) -> tuple[int, int]:
    """Which delivery, under which lease.

    Raises:
        NotFound: that is no token.
    """
    delivery, dot, fence = token.partition(".")
    if not (
        dot and token.isascii() and delivery.isdecimal() and fence.isdecimal() and len(token) <= TOKEN_CHARACTERS_MAX
    ):
        raise NotFound(f"{token[:60]!r} is no lease: show the token that came with the message.")
    return int(delivery), int(fence)


async def ack(context: BusContext, token: str, agent: str) -> bool:
    delivery, fence = parse_token(token)
    agent, at = normalised(agent), context.clock.now()
    settled = await _settle(context, lifecycle.acked(delivery, fence, agent, at))
    await context.mark_seen(agent)
    if settled.done:
        return True
    now = settled.now
    if now is not None and (now.state, now.fence, now.holder) == ("acked", fence, agent):
        return False
    raise lease_lost(settled, fence, agent)


async def extend(context: BusContext, token: str, agent: str, more: float | None) -> float:
    delivery, fence = parse_token(token)
    now = context.clock.now()
    until = now + (context.limits.lease_seconds if more is None else seconds("seconds", more, TURN_SECONDS_MIN))
    [settled] = await context.store.settle([lifecycle.extended(delivery, fence, normalised(agent), now, until)])
    await context.mark_seen(normalised(agent))
    if not settled.done:
        raise lease_lost(settled, fence, normalised(agent))
    return until


async def nack(context: BusContext, token: str, agent: str, reason: str, delay: float | None) -> Delivery:
    seq, fence = parse_token(token)
    agent, now, reason = normalised(agent), context.clock.now(), _short(reason, context.limits)
    delay = None if delay is None else seconds("delay", delay)
    delivery = await context.store.delivery(seq)
    if delivery is None or delivery.fence != fence:
        raise lease_lost(SettleResult(False, delivery), fence, agent)
    reports = (
        await dead_letter_notices(context, delivery, reason)
        if lifecycle.is_last_attempt(delivery, context.limits)
        else ()
    )
    settlement = lifecycle.given_back(delivery, agent, now, reason, context.limits, delay=delay, reports=reports)
    settled = await _settle(context, await keep_request_open(context, settlement, delivery))
    await context.mark_seen(agent)
    if not settled.done or settled.now is None:
        raise lease_lost(settled, fence, agent)
    return settled.now


async def _settle(context: BusContext, settlement: Settlement) -> SettleResult:
    """Settle under a lease, an expired one too. Not so for an agent that is out: its work is the others' now."""
    [settled] = await context.store.settle([settlement._replace(after_expiry=False)])
    if settled.done or settled.now is None or settled.now.state != "stored":
        return settled
    member = (await context.roster()).members.get(settlement.holder or "")
    if member is None or member.is_here:
        [settled] = await context.store.settle([settlement])
    return settled


def _short(reason: str, limits: Limits) -> str:
    """A reason is read by people and repeated in a report: what is longer belongs in a message."""
    most = limits.reason_characters_max
    reason = replace_surrogates(reason) or ""
    return reason if len(reason) <= most else reason[: most - 1] + "…"


def lease_lost(settled: SettleResult, fence: int, agent: str) -> LeaseLost | NotFound:
    """Why a lease does not count any more, said to whoever thought it did."""
    delivery = settled.now
    if delivery is None:
        return NotFound("there is no such delivery: show the token that came with the message.")
    if delivery.fence == fence and delivery.holder not in (agent, None):
        return LeaseLost(f"leave it to {delivery.holder}: the lease is not {agent}'s.")
    if delivery.fence == fence and delivery.holder == agent and delivery.state in OPEN:
        return LeaseLost("the lease has expired: ack the message if the work is done, or receive it again.")
    if delivery.fence == fence:
        return LeaseLost(f"drop the work: the lease is over, and the message {_became(delivery)}.")
    return LeaseLost(f"drop the work: the lease has passed on, and the message {_became(delivery)}.")


def _became(delivery: Delivery) -> str:
    if delivery.state == "leased":
        return f"is with {delivery.holder} now"
    return "waits for its next attempt" if delivery.state == "stored" else f"is {delivery.state}"
