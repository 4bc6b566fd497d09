"""How does an agent get its messages, and say what became of them?"""

from telex.bus.office import Office
from telex.bus.reporting import death_reports, wait_for_others
from telex.bus.sweeping import sweep_by_the_way
from telex.bus.waiting import Waiting
from telex.errors import LeaseLost, NotAMember, NotFound
from telex.flow import lifecycle
from telex.model.delivery import Delivery
from telex.model.message import Leased
from telex.model.roster import Member
from telex.ports.store import Settled
from telex.rules.authorization import normalised

PAUSE_SECONDS_MIN = 0.001  # between two looks, whatever falls due


async def member_or_raise(office: Office, agent: str, role: str | None = None) -> Member:
    member = await office.member(agent, role)
    if not isinstance(member, Member):
        raise NotAMember(member.say, member.code)
    return member


async def receive(
    office: Office, waiting: Waiting, agent: str, role: str | None, most: int, wait: float, lease: float | None
) -> list[Leased]:
    member = await member_or_raise(office, agent, role)
    most = max(1, min(most, office.limits.receive_max))
    lease = office.limits.lease_seconds if lease is None else lease
    deadline = office.clock.now() + wait
    while True:
        seen, now = office.store.changes(), office.clock.now()
        inboxes = await office.inboxes(member)
        await sweep_by_the_way(office)
        leases = await office.store.lease(inboxes, member.name, now, now + lease, most)
        if leases or now >= deadline:
            return leases
        soonest = await office.store.soonest(inboxes)
        until = min(deadline, max(office.next_sweep, now + PAUSE_SECONDS_MIN))
        if soonest is not None:
            until = min(until, max(soonest, now + PAUSE_SECONDS_MIN))
        await waiting.news(seen, until)
        member = await member_or_raise(office, agent)  # waiting is being here


def parse_token(token: str) -> tuple[int, int]:
    """Which delivery, under which lease.

    Raises:
        NotFound: that is no token.
    """
    delivery, dot, fence = token.partition(".")
    if not (dot and delivery.isdecimal() and fence.isdecimal() and len(token) < 40):
        raise NotFound(f"{token[:60]!r} is no lease: show the token that came with the message.")
    return int(delivery), int(fence)


async def ack(office: Office, token: str, agent: str) -> bool:
    delivery, fence = parse_token(token)
    agent, at = normalised(agent), office.clock.now()
    [settled] = await office.store.settle([lifecycle.acked(delivery, fence, agent, at)])
    await office.is_here(agent, at)
    if settled.done:
        return True
    now = settled.now
    if now is not None and (now.state, now.fence, now.holder) == ("acked", fence, agent):
        return False
    raise lost(office, settled, fence, agent)


async def extend(office: Office, token: str, agent: str, seconds: float | None) -> float:
    delivery, fence = parse_token(token)
    now = office.clock.now()
    until = now + (office.limits.lease_seconds if seconds is None else seconds)
    [settled] = await office.store.settle([lifecycle.extended(delivery, fence, normalised(agent), now, until)])
    await office.is_here(normalised(agent), now)
    if not settled.done:
        raise lost(office, settled, fence, normalised(agent))
    return until


async def nack(office: Office, token: str, agent: str, reason: str, delay: float | None) -> Delivery:
    seq, fence = parse_token(token)
    agent, now = normalised(agent), office.clock.now()
    delivery = await office.store.delivery(seq)
    if delivery is None or delivery.fence != fence:
        raise lost(office, Settled(False, delivery), fence, agent)
    reports = (
        await death_reports(office, delivery, reason) if lifecycle.is_last_attempt(delivery, office.limits) else ()
    )
    settlement = lifecycle.given_back(delivery, agent, now, reason, office.limits, delay=delay, reports=reports)
    [settled] = await office.store.settle([await wait_for_others(office, settlement, delivery)])
    await office.is_here(agent, now)
    if not settled.done or settled.now is None:
        raise lost(office, settled, fence, agent)
    return settled.now


def lost(office: Office, settled: Settled, fence: int, agent: str) -> LeaseLost | NotFound:
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
