"""Event history for the page and the streams, read with the verb of the bus."""

from collections.abc import AsyncGenerator
from contextlib import aclosing

from telex.model.message import Event, Message
from telex.ports.bus import Bus
from telex.ports.store import Query

Happening = tuple[Event, Message | None]


def happenings(bus: Bus, query: Query) -> "aclosing[AsyncGenerator[Happening, None]]":
    """`async with happenings(bus, query) as found: async for event, message in found: …`"""
    return aclosing(bus.events(query))


async def newest(bus: Bus) -> Event | None:
    async with happenings(bus, Query(newest_first=True)) as found:
        async for event, _ in found:
            return event
    return None


async def newest_number(bus: Bus) -> int:
    """Of the last event there is; 0 where there is none."""
    event = await newest(bus)
    return event.seq if event is not None else 0
