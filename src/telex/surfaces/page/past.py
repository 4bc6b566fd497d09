"""Histories of the past: what the hub's own history does not reach back to, folded from the log when it is asked for.

One such history covers EVENTS events of the log. The last few are kept, since a person who looks at the past looks at
its neighbourhood too. A message that was open at the end of its part of the log is followed to its end.
"""

import asyncio
from collections import OrderedDict
from contextlib import aclosing

from telex.errors import NotFound
from telex.model.message import Event
from telex.ports.bus import Bus
from telex.ports.store import Query
from telex.surfaces.page.history import NO_END, History, PageMessage

EVENTS = 30_000  # of one history
STEP = 5_000  # histories end at multiples of it, so that neighbouring moments share one
KEPT_MAX = 4
OPEN_MAX = 500  # open messages that are followed
CONVERSATIONS_KEPT_MAX = 200
TURN_EVENTS = 500  # a few milliseconds of work; then other requests run


class PastHistory:
    """One part of the log, folded."""

    def __init__(self, history: History) -> None:
        self.history = history
        self._followed: dict[int, int] = {}  # message → the last of its events that was folded

    async def follow(self, bus: Bus) -> None:
        """Fold what has happened since the end of this part to the messages that were open then."""
        end = self.history.position
        still_open = [message for message in self.history.messages.values() if is_open(message)]
        for message in still_open[-OPEN_MAX:]:
            await asyncio.sleep(0)  # other requests run: a local store never waits
            for event in await _events_of(bus, message):
                if event.seq > self._followed.get(message.seq, end):
                    self.history.fold(event, None)
                    self._followed[message.seq] = event.seq
        self.history.position = end


def is_open(message: PageMessage) -> bool:
    if message.refused:
        return False
    return (message.asks is not None and message.answered == NO_END) or any(
        delivery.ended == NO_END for delivery in message.deliveries
    )


async def _events_of(bus: Bus, message: PageMessage) -> tuple[Event, ...]:
    try:
        stories = await bus.why(message.id)
    except NotFound:  # pruned meanwhile
        return ()
    return next((story.events for story in stories if story.message.seq == message.seq), ())


class PastHistories:
    def __init__(self, bus: Bus) -> None:
        self._bus, self._lock = bus, asyncio.Lock()
        self._kept: OrderedDict[int, PastHistory] = OrderedDict()  # by the number of their last event

    async def covering(self, live: History, since: float, until: float) -> History:
        """The history that reaches back farther, of those that have the moment `until`: the hub's own, or one of the
        past."""
        if since >= live.begins_at:
            return live
        seq = await self._event_after(until, live.position)
        first = next(iter(live.messages), live.position)
        return live if seq - first >= EVENTS - STEP else await self.before(seq)

    async def before(self, seq: int) -> History:
        """The history that ends at or a little after that event."""
        end = -(-seq // STEP) * STEP
        async with self._lock:
            past = self._kept.pop(end, None) or PastHistory(await self._folded(end))
            self._kept[end] = past
            while len(self._kept) > KEPT_MAX:
                self._kept.popitem(last=False)
            await past.follow(self._bus)
        return past.history

    async def _folded(self, end: int) -> History:
        history, begin = History(self._bus.policy.dialects), max(0, end - EVENTS)
        async with aclosing(self._bus.events(Query(after=begin))) as events:
            count = 0
            async for event, message in events:
                if event.seq > end:
                    break
                if count == 0 and begin > 0:
                    history.begins_at = event.at
                history.fold(event, message)
                count += 1
                if count % TURN_EVENTS == 0:
                    await asyncio.sleep(0)
        history.position = end
        return history

    async def _event_after(self, moment: float, newest: int) -> int:
        """The number of the first event after that moment, about: clocks of senders differ."""
        low, high = 0, newest
        while low < high:
            middle = (low + high) // 2
            event = await self._first(middle)
            if event is None or event.at > moment:
                high = middle
            else:
                low = event.seq
        return low + 1

    async def _first(self, after: int) -> Event | None:
        async with aclosing(self._bus.events(Query(after=after))) as events:
            async for event, _ in events:
                return event
        return None


class PastConversations:
    """Conversations that began before the hub's own history, folded from their events alone."""

    def __init__(self, bus: Bus) -> None:
        self._bus, self._lock = bus, asyncio.Lock()
        self._kept: OrderedDict[str, History] = OrderedDict()

    async def messages(self, live: History, id: str) -> list[PageMessage]:
        """All messages in their order; none if there is no such conversation."""
        if live.begins_at == 0:
            return live.conversation(id)
        async with self._lock:
            history = self._kept.pop(id, None) or await self._begun(id)
            await self._fold(history, Query(after=history.position, correlation=id))
            if history.conversations:
                self._kept[id] = history
            while len(self._kept) > CONVERSATIONS_KEPT_MAX:
                self._kept.popitem(last=False)
        return history.conversation(id)

    async def _begun(self, id: str) -> History:
        """A history with the message that began the conversation under its own id, if there is one."""
        history = History(self._bus.policy.dialects)
        try:
            stories = await self._bus.why(id)
        except NotFound:
            return history
        for story in stories:
            for event in story.events if story.message.correlation is None else ():
                history.fold(event, story.message)
        history.position = 0
        return history

    async def _fold(self, history: History, query: Query) -> None:
        async with aclosing(self._bus.events(query)) as events:
            count = 0
            async for event, message in events:
                history.fold(event, message)
                count += 1
                if count % TURN_EVENTS == 0:
                    await asyncio.sleep(0)
