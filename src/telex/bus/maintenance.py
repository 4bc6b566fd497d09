"""Maintenance: expired leases, late answers, inboxes of members that left, dead letters, retention.

There is no daemon: receivers and queries run what is due.
"""

from contextlib import suppress
from functools import partial

from telex.bus.context import SHUTDOWN, BusContext
from telex.delivery import lifecycle
from telex.errors import NotFound, StoreError, StoreFull
from telex.model.message import Delivery, Event, NewMessage, StoredMessage
from telex.model.roster import ONE_OF_ROLE, Member
from telex.ports.store import (
    DeliveryQuery,
    PendingRequest,
    Reads,
    Settlement,
    Transaction,
    deliveries_of,
    expired_leases,
    find_messages,
    get_message,
    overdue_requests,
    settle,
    waiting_deliveries,
)
from telex.validation.authorization import normalised

MAY_ANSWER = frozenset({"stored", "leased", "acked"})
STEP = 200  # deliveries of one transaction
BUSY_SECONDS, IDLE_SECONDS = 0.05, 1.0  # between two runs of one bus
STORE_SHARE_MAX = 0.1  # of a process's time for the maintenance of the store: sends wait for it


async def run_if_due(context: BusContext) -> None:
    """Called by every receive: expired leases as soon as one can have expired, the rest once a second, or sooner when
    much is left."""
    now = context.clock.now()
    if now >= context.next_lease_expiry:
        await expire_leases(context)
        await context.read_lease_expiry()
    if now >= context.next_maintenance:
        done = await run_maintenance(context)
        context.next_maintenance = context.clock.now() + (BUSY_SECONDS if done >= STEP else IDLE_SECONDS)


async def run_maintenance(context: BusContext) -> int:
    """Process everything that is due: expired leases, late replies, inboxes of former members, a step of the store. How
    much that was."""
    done = 0
    for step in (expire_leases, _expire_requests, _withdraw_inboxes_of_left_members, _maintain_store):
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
    context.next_store_maintenance = now + took / STORE_SHARE_MAX
    return done


# --- timeouts --------------------------------------------------------------------------------------------------------


async def expire_leases(context: BusContext) -> int:
    done, limits = 0, context.limits
    with suppress(StoreFull):
        while lapsed := await context.store.read(expired_leases, context.clock.now(), STEP):
            settlements = []
            for delivery, message in lapsed:
                is_last = lifecycle.is_last_attempt(delivery, limits)
                reports = await dead_letter_notices(context, delivery, lifecycle.LAPSED, message) if is_last else ()
                settlement = lifecycle.lapsed(delivery, context.clock.now(), limits, reports=reports)
                settlements.append(await keep_request_open(context, settlement, delivery))
            done += sum(settled.done for settled in await settle(context.store, settlements))
            if len(lapsed) < STEP:
                break
    return done


async def _expire_requests(context: BusContext) -> int:
    overdue = await context.store.read(overdue_requests, context.clock.now(), STEP)
    for request, message, deliveries in overdue:
        await _expire_request(context, request, message, deliveries)
    return len(overdue)


async def _expire_request(
    context: BusContext, request: PendingRequest, message: StoredMessage, deliveries: list[Delivery]
) -> None:
    from telex.bus.escalate import escalate_further  # few answers are late

    if await escalate_further(context, request, message):
        return
    now = context.clock.now()
    decision = lifecycle.late(request, deliveries, now, context.limits)
    reports: tuple[NewMessage, ...] = ()
    if decision.due_at is None and deliveries:
        reports = await dead_letter_notices(context, deliveries[0], decision.reason, message)
    reminded = await context.store.transaction(
        lambda tx: tx.remind(request, now, decision.due_at, decision.again, decision.detail, reports=reports)
    )
    if reminded and decision.expire:  # only now: the answer may have come in this very moment
        await settle(context.store, [lifecycle.expired(delivery, now, decision.reason) for delivery in decision.expire])


async def dead_letter_notices(
    context: BusContext, delivery: Delivery, reason: str, message: StoredMessage | None = None
) -> tuple[NewMessage, ...]:
    """A message to the sender, if it is still a member, to be stored together with the dead letter."""
    from telex.delivery.lifecycle import not_delivered

    message = message or await context.store.read(get_message, delivery.message)
    assert message is not None, "a delivery without its message"
    if (await context.roster()).find(message.sender) is None:
        return ()
    dialect = context.dialects.get(message.dialect or "")
    report = not_delivered(
        message, delivery.inbox, reason, now=context.clock.now(), new_id=context.clock.new_id(), dialect=dialect
    )
    return (report,) if report is not None else ()


async def keep_request_open(context: BusContext, settlement: Settlement, delivery: Delivery) -> Settlement:
    """The settlement, without the end of the request where another recipient may still answer it, or where it is an
    escalation, which goes to the next level."""
    if not settlement.release:
        return settlement
    deliveries = await context.store.read(deliveries_of, delivery.message)
    others = any(other.inbox != delivery.inbox and other.state in MAY_ANSWER for other in deliveries)
    message = await context.store.read(get_message, delivery.message)
    is_escalation = message is not None and context.is_escalation(message)
    return settlement._replace(release=not others and not is_escalation)


# --- members that leave ----------------------------------------------------------------------------------------------


async def leave(context: BusContext, name: str) -> int:
    """End a membership. How many messages were withdrawn."""
    name = normalised(name)
    member = await context.store.transaction(partial(_leave, context, name), may_use_reserve=True)
    if member is None:
        raise NotFound(f"{name} is not in the team: telex team lists the members.")
    with suppress(StoreError):  # the member has left, and maintenance withdraws the rest
        return await return_messages(context, member)
    return 0


def _leave(context: BusContext, name: str, tx: Transaction) -> Member | None:
    """The member that leaves, or has left before; None: there is no such member."""
    team = context.team
    team.begin(tx)
    member = team.roster.members.get(name)
    if member is None or member.joined_at is None:
        return None
    if member.left_at is None:
        member = member._replace(left_at=team.now)
        team.write_member(tx, member, Event(0, team.now, "left", name))
    return member


async def return_messages(context: BusContext, member: Member) -> int:
    """Withdraw the messages of a member that left or stopped; those it holds of its role go back to the role's inbox.
    How many were withdrawn."""
    now, reason = context.clock.now(), f"{member.name} has {'left' if member.stopped_at is None else 'shut down'}"

    def held_of_role(reads: Reads) -> list[Delivery]:
        held = reads.deliveries(DeliveryQuery(states=("leased",), holder=member.name))
        return [delivery for delivery in held if delivery.inbox != member.name]

    held = await context.store.read(held_of_role)
    await settle(context.store, [lifecycle.returned(delivery, now, reason) for delivery in held])
    return await _withdraw_messages(context, member)


async def _withdraw_messages(context: BusContext, member: Member) -> int:
    inboxes = [member.name]
    if not (await context.roster()).of_role(member.role):
        inboxes.append(ONE_OF_ROLE + member.role)  # the role has no other member
    withdrawn = 0
    while open_ := await context.store.read(waiting_deliveries, inboxes, STEP):
        settlements = [await _withdraw(context, delivery, message, member) for delivery, message in open_]
        withdrawn += sum(settled.done for settled in await settle(context.store, settlements))
    return withdrawn


async def _withdraw_inboxes_of_left_members(context: BusContext) -> int:
    done = 0
    for member in (await context.roster()).members.values():
        if member.is_here:
            continue
        if member.stopped_at is not None and context.returned_at.get(member.name) != member.stopped_at:
            done += await return_messages(context, member)  # the process that stopped it may have been killed
            context.returned_at[member.name] = member.stopped_at
        else:
            done += await _withdraw_messages(context, member)
    return done


async def _withdraw(context: BusContext, delivery: Delivery, message: StoredMessage, member: Member) -> Settlement:
    name, now = member.name, context.clock.now()
    if member.stopped_at is None:
        kind, reason = "withdrawn", f"{name} has left the team"
    else:
        kind, reason = "returned-to-sender", f"{name} has shut down"
    if member.stopped_at is not None and context.action_of(message) == "stop":
        # By stopping, the member has done what this message asks for.
        if delivery.state == "leased" and delivery.holder == name and await _has_agreed(context, name, message):
            return lifecycle.finished(delivery, now)
        settlement = lifecycle.withdrawn(delivery, delivery.inbox, now, reason)
    else:
        reports = await dead_letter_notices(context, delivery, reason, message)
        settlement = lifecycle.withdrawn(delivery, delivery.inbox, now, reason, kind=kind, reports=reports)
    return await keep_request_open(context, settlement, delivery)


async def _has_agreed(context: BusContext, name: str, request: StoredMessage) -> bool:
    """False for a member that was stopped by force."""
    state = (await context.topics((SHUTDOWN,))).get(SHUTDOWN)
    answers = [call.answers[name] for call in state.calls if name in call.answers] if state is not None else []
    return any(answer.approved and answer.at >= request.at for answer in answers)


# --- dead letters ----------------------------------------------------------------------------------------------------


async def retry(context: BusContext, id_: str, agent: str) -> int:
    """Queue the dead letters of this id again. How many."""
    dead, members = await _dead_letters(context, id_), (await context.roster()).members
    left = {name for name, member in members.items() if not member.is_here}
    present = [delivery for delivery in dead if delivery.inbox not in left]
    if not present:
        raise NotFound(f"{dead[0].inbox} has left the team: send the message to a member of the team.")
    now, agent = context.clock.now(), normalised(agent)
    settled = await settle(context.store, [lifecycle.retried(delivery, agent, now) for delivery in present])
    return sum(result.done for result in settled)


async def drop(context: BusContext, id_: str, reason: str, agent: str) -> int:
    """Withdraw the dead letters of this id. How many."""
    dead, agent, now = await _dead_letters(context, id_), normalised(agent), context.clock.now()
    dropped = [lifecycle.withdrawn(delivery, agent, now, reason, kind="dropped") for delivery in dead]
    pairs = zip(dropped, dead, strict=True)
    settlements = [await keep_request_open(context, settlement, delivery) for settlement, delivery in pairs]
    return sum(result.done for result in await settle(context.store, settlements))


async def _dead_letters(context: BusContext, id_: str) -> list[Delivery]:
    await run_maintenance(context)
    messages = await context.store.read(find_messages, id_)
    deliveries = [delivery for message in messages for delivery in await context.store.read(deliveries_of, message.seq)]
    dead = [delivery for delivery in deliveries if delivery.state in ("dead", "expired")]
    if not dead:
        raise NotFound(f"{id_[:128]} is not a dead letter: telex dead lists them.")
    return dead
