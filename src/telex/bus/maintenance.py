"""Failure notices: messages to the sender of a dead letter, and the end of its pending request."""

from contextlib import suppress

from telex.bus.context import SHUTDOWN, BusContext
from telex.delivery import lifecycle
from telex.delivery.lifecycle import late
from telex.errors import StoreError, StoreFull
from telex.model.message import Delivery, Message, NewMessage
from telex.model.roster import ONE_OF_ROLE, Member
from telex.ports.store import PendingRequest, Reads, Settlement

MAY_ANSWER = frozenset({"stored", "leased", "acked"})


async def dead_letter_notices(
    context: BusContext, delivery: Delivery, reason: str, message: Message | None = None
) -> tuple[NewMessage, ...]:
    """A word to the sender, if it is still there, to be kept together with the death itself."""
    from telex.delivery.system_messages import not_delivered

    message = message or await context.store.message(delivery.message)
    assert message is not None, "a delivery without its message"
    if (await context.roster()).find(message.sender) is None:
        return ()
    dialect = context.dialects.get(message.dialect or "")
    report = not_delivered(
        message, delivery.inbox, reason, now=context.clock.now(), new_id=context.clock.new_id(), dialect=dialect
    )
    return (report,) if report is not None else ()


async def keep_request_open(context: BusContext, settlement: Settlement, delivery: Delivery) -> Settlement:
    """Where one of several who were asked is out of it, the others may still answer: then the deadline stays."""
    if not settlement.release:
        return settlement
    deliveries = await context.store.deliveries(delivery.message)
    others = any(one.inbox != delivery.inbox and one.state in MAY_ANSWER for one in deliveries)
    return settlement._replace(release=not others and not await _climbs(context, delivery))


async def _climbs(context: BusContext, delivery: Delivery) -> bool:
    """What was handed up waits on, whatever became of the message: it goes to whoever is above."""
    from telex.bus.escalate import is_escalation

    message = await context.store.message(delivery.message)
    return message is not None and is_escalation(context, message)


STEP = 200


async def withdraw_messages(context: BusContext, member: Member) -> int:
    """Withdraw what is open for a member that has left or shut down. How much."""
    inboxes = [member.name]
    if not (await context.roster()).of_role(member.role):
        inboxes.append(ONE_OF_ROLE + member.role)  # nobody is left who could take what waits for the role
    withdrawn = 0
    while open_ := await context.store.waiting(inboxes, STEP):
        settlements = [await _withdraw(context, delivery, message, member) for delivery, message in open_]
        withdrawn += sum(settled.done for settled in await context.store.settle(settlements))
    return withdrawn


async def return_messages(context: BusContext, member: Member) -> int:
    """All that a member that is out was to do: what it holds of its role's goes to the others at once."""
    now, reason = context.clock.now(), f"{member.name} has {'left' if member.stopped_at is None else 'shut down'}"
    held = await context.read(lambda reads: _held_of_role(reads, member))
    await context.store.settle([lifecycle.returned(delivery, now, reason) for delivery in held])
    return await withdraw_messages(context, member)


def _held_of_role(reads: Reads, member: Member) -> list[Delivery]:
    """The deliveries that the member holds out of an inbox that it shares."""
    return [
        delivery
        for message in reads.held(member.name)
        for delivery in reads.deliveries(message.seq)
        if (delivery.state, delivery.holder) == ("leased", member.name) and delivery.inbox != member.name
    ]


async def withdraw_inboxes_of_left_members(context: BusContext) -> int:
    done = 0
    for member in (await context.roster()).members.values():
        if member.is_here:
            continue
        if member.stopped_at is not None and context.returned_at.get(member.name) != member.stopped_at:
            done += await return_messages(context, member)  # whoever should have done it may have been killed
            context.returned_at[member.name] = member.stopped_at
        else:
            done += await withdraw_messages(context, member)
    return done


async def _withdraw(context: BusContext, delivery: Delivery, message: Message, member: Member) -> Settlement:
    name, now = member.name, context.clock.now()
    if member.stopped_at is None:
        kind, reason = "withdrawn", f"{name} has left the team"
    else:
        kind, reason = "returned-to-sender", f"{name} has shut down"
    if member.stopped_at is not None and context.action_of(message) == "stop":
        # By stopping it has done what this asks for.
        if delivery.state == "leased" and delivery.holder == name and await _has_agreed(context, name, message):
            return lifecycle.finished(delivery, now)
        settlement = lifecycle.withdrawn(delivery, delivery.inbox, now, reason)
    else:
        reports = await dead_letter_notices(context, delivery, reason, message)
        settlement = lifecycle.withdrawn(delivery, delivery.inbox, now, reason, kind=kind, reports=reports)
    return await keep_request_open(context, settlement, delivery)


async def _has_agreed(context: BusContext, name: str, request: Message) -> bool:
    """Whoever was stopped by force has not said that it is done with anything."""
    known = (await context.topics((SHUTDOWN,))).get(SHUTDOWN)
    answers = [call.answers[name] for call in known.calls if name in call.answers] if known is not None else []
    return any(answer.approved and answer.at >= request.at for answer in answers)


BUSY_SECONDS, IDLE_SECONDS = 0.05, 1.0  # between two sweeps of one bus
TIDYING_SHARE_MAX = 0.1  # of a process's time: nobody waits for it, and whoever sends meanwhile does


async def run_maintenance(context: BusContext) -> int:
    done = 0
    for step in (expire_leases, expire_requests, withdraw_inboxes_of_left_members, _maintain_store):
        with suppress(StoreFull):
            done += await step(context)
    return done


async def _maintain_store(context: BusContext) -> int:
    now, limits, done = context.clock.now(), context.limits, 0
    if now < context.next_store_maintenance or not await context.store.is_maintenance_due(now):
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
        while lapsed := await context.store.lapsed(context.clock.now(), STEP):
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
    overdue = await context.store.overdue(context.clock.now(), STEP)
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
