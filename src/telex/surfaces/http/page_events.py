"""How does the page read the record? By the bus's own verb, let go of as soon as enough was heard."""

from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import cast

from telex.model.event import Event
from telex.model.message import Message
from telex.ports.bus import Bus
from telex.ports.store import Query

Happening = tuple[Event, Message | None]


def happenings(bus: Bus, query: Query) -> "aclosing[AsyncGenerator[Happening]]":
    """`async with happenings(bus, query) as found: async for event, message in found: …`"""
    return aclosing(cast("AsyncGenerator[Happening]", bus.events(query)))


async def newest(bus: Bus) -> Event | None:
    async with happenings(bus, Query(newest_first=True)) as found:
        async for event, _ in found:
            return event
    return None
