"""What does the clock ask for? Leases that ran out, answers that are late, records that are old.

There is no daemon: whoever uses the bus does a little of this on the way. Every step is safe to do twice and safe to
leave half done, since each settles only what is still as it was seen.
"""

from telex.bus.directory import BusContext
from telex.bus.failure_notices import death_reports, wait_for_others
from telex.bus.inbox_withdrawal import sweep_left
from telex.delivery import lifecycle
from telex.delivery.request_timeouts import late
from telex.model.delivery import Delivery
from telex.model.message import Message, NewMessage
from telex.ports.store import PendingRequest, Settlement

BUSY_SECONDS, IDLE_SECONDS = 0.05, 1.0  # between two sweeps of one bus
TIDYING_SHARE_MAX = 0.1  # of a process's time: nobody waits for it, and whoever sends meanwhile does
STEP = 200  # how much is done at a time, so that nobody waits long for the lock


async def sweep(office: BusContext) -> int:
    done = await sweep_lapsed(office) + await sweep_late(office) + await sweep_left(office)
    now, limits = office.clock.now(), office.limits
    if now < office.next_tidying or not await office.store.tidy_is_due(now):
        return done
    done += await office.store.tidy(
        now,
        same_since=now - limits.dedup_window_seconds,
        keep_since=now - limits.retention_seconds,
        silent_since=now - limits.conversation_seconds,
        most=STEP,
    )
    took = min(office.clock.now() - now, IDLE_SECONDS)
    office.next_tidying = now + took / TIDYING_SHARE_MAX
    return done


async def sweep_by_the_way(office: BusContext) -> None:
    """Called by whoever receives: lapsed leases every time, the rest once a second, or sooner when much is left."""
    await sweep_lapsed(office)
    now = office.clock.now()
    if now >= office.next_sweep:
        done = await sweep(office)
        office.next_sweep = office.clock.now() + (BUSY_SECONDS if done >= STEP else IDLE_SECONDS)


async def sweep_lapsed(office: BusContext) -> int:
    done = 0
    while lapsed := await office.store.lapsed(office.clock.now(), STEP):
        settlements = [await _lapse(office, delivery, message) for delivery, message in lapsed]
        done += sum(settled.done for settled in await office.store.settle(settlements))
        if len(lapsed) < STEP:
            break
    return done


async def _lapse(office: BusContext, delivery: Delivery, message: Message) -> Settlement:
    limits = office.limits
    reports: tuple[NewMessage, ...] = ()
    if lifecycle.is_last_attempt(delivery, limits):
        reports = await death_reports(office, delivery, lifecycle.LAPSED, message)
    settlement = lifecycle.lapsed(delivery, office.clock.now(), limits, reports=reports)
    return await wait_for_others(office, settlement, delivery)


async def sweep_late(office: BusContext) -> int:
    overdue = await office.store.overdue(office.clock.now(), STEP)
    for ask, message, deliveries in overdue:
        await _remind(office, ask, message, deliveries)
    return len(overdue)


async def _remind(office: BusContext, ask: PendingRequest, message: Message, deliveries: list[Delivery]) -> None:
    from telex.bus.escalate import climb  # few answers are late

    if await climb(office, ask, message):
        return
    now = office.clock.now()
    decision = late(ask, deliveries, now, office.limits)
    reports: tuple[NewMessage, ...] = ()
    if decision.due_at is None and deliveries:
        reports = await death_reports(office, deliveries[0], decision.reason, message)
    reminded = await office.store.remind(ask, now, decision.due_at, decision.again, decision.detail, reports)
    if reminded and decision.expire:  # only now: the answer may have come in this very moment
        await office.store.settle([lifecycle.expired(one, now, decision.reason) for one in decision.expire])
