"""Recent events for the page: read once and then incrementally, however many pages are open."""

import asyncio
from collections.abc import AsyncIterator

from telex.model.message import BRINGING
from telex.ports.bus import Bus
from telex.ports.store import Query
from telex.surfaces.http.event_history import Happening, happenings, newest
from telex.surfaces.http.page_rates import Rates
from telex.surfaces.http.page_refusals import RefusalStats

EVENTS_BACK = 50_000  # of everything that happened before the hub began, so many are read: a few seconds' work
REFUSED_BACK = 1_000_000  # the refused among so many are found by the store itself
REFUSED = "refused"
AT_ONCE = 500  # events, which is a few milliseconds' work; then others have their turn


class RecentEvents:
    """Two folds over the events, and how far they have come."""

    def __init__(self, bus: Bus) -> None:
        self._bus, self._lock = bus, asyncio.Lock()
        self.rates, self.refusals = Rates(), RefusalStats()
        self.messages = 0  # heard of, of those before the hub began only the latest
        self.after: int | None = None  # the last event that was heard; None: nobody has looked yet

    async def caught_up(self) -> "RecentEvents":
        """With everything that has happened until now. Whoever asks meanwhile waits, and finds it done."""
        async with self._lock:
            if self.after is None:
                self.after = await self._begin()
            async with happenings(self._bus, Query(after=self.after)) as events:
                async for event, message in _in_turns(events):
                    self.rates.hear(event, message)
                    self.messages += event.kind in BRINGING
                    if event.kind == REFUSED and message is not None:
                        self.refusals.hear(event, message)
                    self.after = event.seq
        return self

    async def _begin(self) -> int:
        last = await newest(self._bus)
        if last is None:
            return 0
        begins = max(0, last.seq - EVENTS_BACK)
        earlier = Query(after=max(0, last.seq - REFUSED_BACK), kinds=(REFUSED,))
        async with happenings(self._bus, earlier) as events:
            async for event, message in _in_turns(events):
                if event.seq > begins:
                    break
                if message is not None:
                    self.refusals.hear(event, message)
        return begins


async def _in_turns(events: AsyncIterator[Happening]) -> AsyncIterator[Happening]:
    """The same events. A long record is read for one page, and meanwhile the whole team wants something too."""
    heard = 0
    async for event in events:
        yield event
        heard += 1
        if heard % AT_ONCE == 0:
            await asyncio.sleep(0)
