"""Failure notices: messages to the sender of a dead letter, and the end of its pending request."""

from telex.bus.context import BusContext
from telex.model.delivery import Delivery
from telex.model.message import Message, NewMessage
from telex.ports.store import Settlement, deliveries_of, get_message

MAY_ANSWER = frozenset({"stored", "leased", "acked"})


async def dead_letter_notices(
    context: BusContext, delivery: Delivery, reason: str, message: Message | None = None
) -> tuple[NewMessage, ...]:
    """A word to the sender, if it is still there, to be kept together with the death itself."""
    from telex.delivery.system_messages import not_delivered

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
    """Where one of several who were asked is out of it, the others may still answer: then the deadline stays."""
    if not settlement.release:
        return settlement
    deliveries = await context.store.read(deliveries_of, delivery.message)
    others = any(one.inbox != delivery.inbox and one.state in MAY_ANSWER for one in deliveries)
    return settlement._replace(release=not others and not await _climbs(context, delivery))


async def _climbs(context: BusContext, delivery: Delivery) -> bool:
    """What was handed up waits on, whatever became of the message: it goes to whoever is above."""
    from telex.bus.escalate import is_escalation

    message = await context.store.read(get_message, delivery.message)
    return message is not None and is_escalation(context, message)
