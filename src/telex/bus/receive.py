"""How does an agent get its messages, and say what became of them?"""

from collections.abc import Sequence

from telex.bus.arguments import TURN_SECONDS_MIN, count, seconds
from telex.bus.correlate import whole
from telex.bus.directory import BusContext
from telex.bus.failure_notices import death_reports, wait_for_others
from telex.bus.maintenance import sweep_by_the_way
from telex.bus.notify import LOOKS_APART_SECONDS_MIN, Notifier
from telex.delivery import lifecycle
from telex.errors import LeaseLost, NotAMember, NotFound
from telex.model.delivery import Delivery
from telex.model.limits import Limits
from telex.model.message import Lease
from telex.model.roster import Member
from telex.ports.store import SettleResult
from telex.validation.authorization import normalised

TOKEN_CHARACTERS_MAX = 18  # more digits than any delivery will have, and fewer than a store can hold


async def member_or_raise(office: BusContext, agent: str, role: str | None = None) -> Member:
    member = await office.member(agent, role)
    if not isinstance(member, Member):
        raise NotAMember(member.say, member.code)
    return member


async def receive(
    office: BusContext, waiting: Notifier, agent: str, role: str | None, most: int, wait: float, lease: float | None
) -> list[Lease]:
    member = await member_or_raise(office, agent, role)
    most = min(count("most", most), office.limits.receive_max)
    lease = office.limits.lease_seconds if lease is None else seconds("lease", lease, TURN_SECONDS_MIN)
    deadline = office.clock.now() + seconds("wait", wait)
    await sweep_by_the_way(office)
    now, inboxes = office.clock.now(), await office.inboxes(member)
    leases = await hand_out(office, member, inboxes, now, now + lease, most)
    if leases or now >= deadline:
        return leases
    place = waiting.place(takes=True)
    try:
        while True:
            await place.look(inboxes)
            await sweep_by_the_way(office)
            now = office.clock.now()
            leases = await hand_out(office, member, inboxes, now, now + lease, most)
            if leases or now >= deadline:
                return leases
            await place.news(min(deadline, await next_look(office, inboxes, now)) if place.alone else deadline)
            member = await member_or_raise(office, agent)  # waiting is being here
            inboxes = await office.inboxes(member)
    finally:
        place.leave()


async def next_look(office: BusContext, inboxes: Sequence[str], now: float) -> float:
    """When somebody who waits alone has to look again, though nobody has written anything."""
    soonest = await office.store.soonest(inboxes)
    due = office.next_sweep if soonest is None else min(office.next_sweep, soonest)
    return max(due, now + LOOKS_APART_SECONDS_MIN)


async def hand_out(
    office: BusContext,
    member: Member,
    inboxes: tuple[str, ...],
    now: float,
    until: float,
    most: int,
    only: Sequence[int] = (),
) -> list[Lease]:
    """Lease what is due, in words that the member reads."""
    if not member.dialects:
        return await office.store.lease(inboxes, member.name, now, until, most, only)
    from telex.bus.render import lease  # most members read anything

    return await lease(office, member, inboxes, now, until, most, only)


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


async def ack(office: BusContext, token: str, agent: str) -> bool:
    delivery, fence = parse_token(token)
    agent, at = normalised(agent), office.clock.now()
    [settled] = await office.store.settle([lifecycle.acked(delivery, fence, agent, at)])
    await office.is_here(agent, at)
    if settled.done:
        return True
    now = settled.now
    if now is not None and (now.state, now.fence, now.holder) == ("acked", fence, agent):
        return False
    raise lost(settled, fence, agent)


async def extend(office: BusContext, token: str, agent: str, more: float | None) -> float:
    delivery, fence = parse_token(token)
    now = office.clock.now()
    until = now + (office.limits.lease_seconds if more is None else seconds("seconds", more, TURN_SECONDS_MIN))
    [settled] = await office.store.settle([lifecycle.extended(delivery, fence, normalised(agent), now, until)])
    await office.is_here(normalised(agent), now)
    if not settled.done:
        raise lost(settled, fence, normalised(agent))
    return until


async def nack(office: BusContext, token: str, agent: str, reason: str, delay: float | None) -> Delivery:
    seq, fence = parse_token(token)
    agent, now, reason = normalised(agent), office.clock.now(), _short(reason, office.limits)
    delay = None if delay is None else seconds("delay", delay)
    delivery = await office.store.delivery(seq)
    if delivery is None or delivery.fence != fence:
        raise lost(SettleResult(False, delivery), fence, agent)
    reports = (
        await death_reports(office, delivery, reason) if lifecycle.is_last_attempt(delivery, office.limits) else ()
    )
    settlement = lifecycle.given_back(delivery, agent, now, reason, office.limits, delay=delay, reports=reports)
    [settled] = await office.store.settle([await wait_for_others(office, settlement, delivery)])
    await office.is_here(agent, now)
    if not settled.done or settled.now is None:
        raise lost(settled, fence, agent)
    return settled.now


def _short(reason: str, limits: Limits) -> str:
    """A reason is read by people and repeated in a report: what is longer belongs in a message."""
    most = limits.reason_characters_max
    reason = whole(reason) or ""
    return reason if len(reason) <= most else reason[: most - 1] + "…"


def lost(settled: SettleResult, fence: int, agent: str) -> LeaseLost | NotFound:
    """Why a lease does not count any more, said to whoever thought it did."""
    delivery = settled.now
    if delivery is None:
        return NotFound("there is no such delivery: show the token that came with the message.")
    if delivery.fence == fence and delivery.holder == agent:
        if delivery.state == "leased":
            return LeaseLost("drop the work: the lease has run out, and the message is offered again.")
        return LeaseLost(f"drop the work: the lease is over, and the message {_became(delivery)}.")
    if delivery.fence == fence:
        return LeaseLost(f"leave it to {delivery.holder}: the lease is not {agent}'s.")
    return LeaseLost(f"drop the work: the lease has passed on, and the message {_became(delivery)}.")


def _became(delivery: Delivery) -> str:
    if delivery.state == "leased":
        return f"is with {delivery.holder} now"
    return "waits for its next turn" if delivery.state == "stored" else f"is {delivery.state}"
