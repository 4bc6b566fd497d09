"""Was this message kept before? Whoever repeats it, not knowing whether it was heard, is told what became of it."""

from telex.bus.correlate import SendRequest
from telex.bus.directory import BusContext
from telex.delivery.lifecycle import state_of
from telex.delivery.validator_cache import CheckedMessage
from telex.model.digest import digest_of
from telex.model.roster import Member
from telex.ports.bus import Receipt
from telex.validation.authorization import normalised


async def state_now(office: BusContext, seq: int) -> str:
    return state_of(await office.store.deliveries(seq), await office.store.story(seq), refused=False)


async def sent_before(
    office: BusContext, asked: SendRequest, member: Member, looked: CheckedMessage, address: str | None
) -> Receipt | None:
    """A message that was kept is not refused when it is repeated, though its recipient has left since."""
    id_, since = looked.facts.id or asked.id, office.clock.now() - office.limits.dedup_window_seconds
    if id_ is None:
        return None
    this = (member.name, digest_of(asked.raw), address)
    for message in reversed(await office.store.find(id_)):
        if not message.refused and message.at >= since and (message.sender, message.digest, message.to) == this:
            state, to = await state_now(office, message.seq), await office.store.deliveries(message.seq)
            inboxes = tuple(delivery.inbox for delivery in to)
            return Receipt(True, id_, state, inboxes, message.dialect, message.type, looked.findings, duplicate=True)
    return None


async def last_words(
    office: BusContext, asked: SendRequest, looked: CheckedMessage, address: str | None
) -> Receipt | None:
    """Whoever has shut down may repeat what it said before, not knowing whether it was heard."""
    return await sent_before(office, asked, Member(normalised(asked.sender), ""), looked, address)
