"""Was this message kept before? Whoever repeats it, not knowing whether it was heard, is told what became of it."""

from telex.bus.correlate import SendRequest
from telex.bus.directory import BusContext
from telex.delivery.lifecycle import state_of
from telex.delivery.validator_cache import CheckedMessage
from telex.model.digest import digest_of
from telex.model.roster import Member
from telex.ports.bus import Receipt
from telex.validation.authorization import normalised


async def current_state(context: BusContext, seq: int) -> str:
    return state_of(await context.store.deliveries(seq), await context.store.story(seq), refused=False)


async def find_duplicate(
    context: BusContext, request: SendRequest, member: Member, checked: CheckedMessage, address: str | None
) -> Receipt | None:
    """A message that was kept is not refused when it is repeated, though its recipient has left since."""
    id_, since = checked.envelope.id or request.id, context.clock.now() - context.limits.dedup_window_seconds
    if id_ is None:
        return None
    this = (member.name, digest_of(request.raw), address)
    for message in reversed(await context.store.find(id_)):
        if not message.refused and message.at >= since and (message.sender, message.digest, message.to) == this:
            state, to = await current_state(context, message.seq), await context.store.deliveries(message.seq)
            inboxes = tuple(delivery.inbox for delivery in to)
            return Receipt(True, id_, state, inboxes, message.dialect, message.type, checked.findings, duplicate=True)
    return None


async def last_findings(
    context: BusContext, request: SendRequest, checked: CheckedMessage, address: str | None
) -> Receipt | None:
    """Whoever has shut down may repeat what it said before, not knowing whether it was heard."""
    return await find_duplicate(context, request, Member(normalised(request.sender), ""), checked, address)
