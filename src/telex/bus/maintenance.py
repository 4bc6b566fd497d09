"""Maintenance: expired leases, late answers, inboxes of departed members, indexes, retention.

There is no daemon: every call that uses the bus does a little of this. Every step is safe to do twice and safe to leave
half done, since each settles only what is still as it was seen. One that finds no room on the disk is left for later,
and the call goes on.
"""

from contextlib import suppress

from telex.bus.context import BusContext
from telex.bus.failure_notices import dead_letter_notices, keep_request_open
from telex.bus.inbox_withdrawal import withdraw_inboxes_of_left_members
from telex.delivery import lifecycle
from telex.delivery.request_timeouts import late
from telex.errors import StoreError, StoreFull
from telex.model.delivery import Delivery
from telex.model.message import Message, NewMessage
from telex.ports.store import PendingRequest, Settlement, expired_leases, overdue_requests

BUSY_SECONDS, IDLE_SECONDS = 0.05, 1.0  # between two sweeps of one bus
TIDYING_SHARE_MAX = 0.1  # of a process's time: nobody waits for it, and whoever sends meanwhile does
STEP = 200  # how much is done at a time, so that nobody waits long for the lock


async def run_maintenance(context: BusContext) -> int:
    done = 0
    for step in (expire_leases, expire_requests, withdraw_inboxes_of_left_members, _maintain_store):
        with suppress(StoreFull):
            done += await step(context)
    return done


async def _maintain_store(context: BusContext) -> int:
    now, limits, done = context.clock.now(), context.limits, 0
    if now < context.next_store_maintenance:
        return 0
    with suppress(StoreError):  # it only saves time and space
        done = await context.store.maintain(
            now,
            same_since=now - limits.dedup_window_seconds,
            keep_since=now - limits.retention_seconds,
            silent_since=now - limits.conversation_seconds,
            limit=STEP,
        )
    took = min(context.clock.now() - now, IDLE_SECONDS)
    context.next_store_maintenance = now + took / TIDYING_SHARE_MAX
    return done


async def run_if_due(context: BusContext) -> None:
    """Called by whoever receives: lapsed leases every time, the rest once a second, or sooner when much is left."""
    await expire_leases(context)
    now = context.clock.now()
    if now >= context.next_maintenance:
        done = await run_maintenance(context)
        context.next_maintenance = context.clock.now() + (BUSY_SECONDS if done >= STEP else IDLE_SECONDS)


async def expire_leases(context: BusContext) -> int:
    done = 0
    with suppress(StoreFull):
        while lapsed := await context.store.read(expired_leases, context.clock.now(), STEP):
            settlements = [await _lapse(context, delivery, message) for delivery, message in lapsed]
            done += sum(settled.done for settled in await context.store.settle(settlements))
            if len(lapsed) < STEP:
                break
    return done


async def _lapse(context: BusContext, delivery: Delivery, message: Message) -> Settlement:
    limits = context.limits
    reports: tuple[NewMessage, ...] = ()
    if lifecycle.is_last_attempt(delivery, limits):
        reports = await dead_letter_notices(context, delivery, lifecycle.LAPSED, message)
    settlement = lifecycle.lapsed(delivery, context.clock.now(), limits, reports=reports)
    return await keep_request_open(context, settlement, delivery)


async def expire_requests(context: BusContext) -> int:
    overdue = await context.store.read(overdue_requests, context.clock.now(), STEP)
    for pending_request, message, deliveries in overdue:
        await _remind(context, pending_request, message, deliveries)
    return len(overdue)


async def _remind(
    context: BusContext, pending_request: PendingRequest, message: Message, deliveries: list[Delivery]
) -> None:
    from telex.bus.escalate import escalate_further  # few answers are late

    if await escalate_further(context, pending_request, message):
        return
    now = context.clock.now()
    decision = late(pending_request, deliveries, now, context.limits)
    reports: tuple[NewMessage, ...] = ()
    if decision.due_at is None and deliveries:
        reports = await dead_letter_notices(context, deliveries[0], decision.reason, message)
    reminded = await context.store.transaction(
        lambda tx: tx.remind(pending_request, now, decision.due_at, decision.again, decision.detail, reports=reports)
    )
    if reminded and decision.expire:  # only now: the answer may have come in this very moment
        await context.store.settle([lifecycle.expired(delivery, now, decision.reason) for delivery in decision.expire])
