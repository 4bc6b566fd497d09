"""Withdrawal of the messages of a member that has left or shut down; their senders are notified.

The process that withdraws them may be killed half-way, so maintenance does it again. Withdrawing twice is the same as
withdrawing once.
"""

from telex.bus.context import SHUTDOWN, BusContext
from telex.bus.failure_notices import dead_letter_notices, keep_request_open
from telex.delivery import lifecycle
from telex.model.delivery import Delivery
from telex.model.message import Message
from telex.model.roster import ONE_OF_ROLE, Member
from telex.ports.store import Reads, Settlement, deliveries_of, held_messages, waiting_deliveries

STEP = 200


async def withdraw_messages(context: BusContext, member: Member) -> int:
    """Withdraw what is open for a member that has left or shut down. How much."""
    inboxes = [member.name]
    if not (await context.roster()).of_role(member.role):
        inboxes.append(ONE_OF_ROLE + member.role)  # nobody is left who could take what waits for the role
    withdrawn = 0
    while open_ := await context.store.read(waiting_deliveries, inboxes, STEP):
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
        for message in held_messages(reads, member.name)
        for delivery in deliveries_of(reads, message.seq)
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
