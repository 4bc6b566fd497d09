"""Backlog of the live stream: events that viewers missed, read and serialised once for all.

When a hub restarts, all viewers reconnect within a second and request nearly the same events. A complete page of events
does not change any more, so it is cached.
"""

import asyncio
from collections import OrderedDict
from collections.abc import AsyncIterator
from contextlib import aclosing

from telex.ports.bus import Bus
from telex.ports.store import Query
from telex.surfaces.http.stream_frames import frame

PAGE = 500  # events; as many as a bus reads at a time
KEPT_BYTES_MAX = 16 * 1_048_576
AT_ONCE_BYTES = 65_536  # of what was missed are sent at a time
RUN_BYTES_MAX = 4 * 1_048_576  # are read at a time, for each who missed them; a page that has more is not kept
Frames = list[tuple[int, bytes]]  # the number of an event, and how it is told


class EventBacklog:
    def __init__(self, bus: Bus) -> None:
        self._bus = bus
        self._pages: OrderedDict[int, Frames] = OrderedDict()  # the one asked for last is the last
        self._bytes = 0
        self._large: set[int] = set()  # pages that are too large to be kept
        self._reading = asyncio.Lock()  # whoever comes second finds the page that the first has read

    async def between(self, after: int, until: int) -> AsyncIterator[bytes]:
        """Everything after the one event, up to the other, in pieces."""
        while after < until:
            gathered, size = [], 0
            frames, upto = await self._run(after, until)
            for seq, text in frames:
                if not after < seq <= until:
                    continue
                gathered.append(text)
                size += len(text)
                if size >= AT_ONCE_BYTES:
                    yield b"".join(gathered)
                    gathered, size = [], 0
                    await asyncio.sleep(0)  # a long record is told to one, and others want something too
            if gathered:
                yield b"".join(gathered)
            after = upto

    async def _run(self, after: int, until: int) -> tuple[Frames, int]:
        """Some of what comes next, and up to which event that is all."""
        number = after // PAGE
        first, last = number * PAGE, (number + 1) * PAGE
        if last > until or number in self._large:  # it is not full yet, perhaps
            return await self._read(after, min(last, until))
        async with self._reading:
            if number in self._pages:
                self._pages.move_to_end(number)
                return self._pages[number], last
            page, upto = await self._read(first, last)
            if upto == last:
                self._keep(number, page)
                return page, last
            self._large.add(number)
        return await self._read(after, last)

    async def _read(self, after: int, until: int) -> tuple[Frames, int]:
        """What happened in between, or as much of it as may be read at a time; and up to which event that is."""
        frames: Frames = []
        size = 0
        async with aclosing(self._bus.events(Query(after=after))) as events:
            async for event, message in events:
                if event.seq > until:
                    break
                frames.append((event.seq, frame(event, message)))
                size += len(frames[-1][1])
                if event.seq == until:
                    break
                if size >= RUN_BYTES_MAX:
                    return frames, event.seq
        return frames, until

    def _keep(self, number: int, page: Frames) -> None:
        self._pages[number] = page
        self._bytes += _size(page)
        while self._bytes > KEPT_BYTES_MAX:
            _, dropped = self._pages.popitem(last=False)
            self._bytes -= _size(dropped)


def _size(page: Frames) -> int:
    return sum(len(text) for _, text in page)
