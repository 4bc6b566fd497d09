"""Live stream of events to many viewers: one task reads the log for all, and each event is serialised once.

A viewer names the last event it has (`Last-Event-ID`), gets the events since then, and joins the others without a gap
and without duplicates. A viewer that does not keep up is disconnected; it reconnects and resumes.
"""

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing, asynccontextmanager, suppress
from typing import NamedTuple

from telex.errors import TelexError
from telex.ports.bus import Bus
from telex.ports.store import EVERYTHING, Query
from telex.surfaces.http.event_history import newest_number
from telex.surfaces.http.stream_backlog import EventBacklog
from telex.surfaces.http.stream_frames import HEARTBEAT, frame

GATHER_SECONDS = 0.05  # what happens within so long is sent together: a person does not see the difference
HEARTBEAT_SECONDS = 15.0  # a comment, so that nobody in between takes the silence for the end
AGAIN_SECONDS = 1.0  # until the record is asked for again, after the store was away
BEHIND_BYTES_MAX = 8 * 1_048_576  # that a viewer may be behind, before it is let go
CHOSEN_MAX = 16  # events that wait for a viewer who only wants some of them: the record keeps the others


class Chunk(NamedTuple):
    """Events that are sent together."""

    first: int  # the number of the first
    last: int
    text: bytes


class Listener:
    """What one viewer has still to be told."""

    def __init__(self, behind_bytes_max: int) -> None:
        self._chunks: deque[Chunk] = deque()
        self._behind, self._behind_max = 0, behind_bytes_max
        self._news = asyncio.Event()
        self._let_go = False

    def give(self, chunk: Chunk) -> bool:
        """False: it has not taken enough of what came before, and is let go. What it has not taken is forgotten."""
        if self._chunks and self._behind + len(chunk.text) > self._behind_max:
            self._chunks.clear()
            self._let_go = True
        else:
            self._chunks.append(chunk)
            self._behind += len(chunk.text)
        self._news.set()
        return not self._let_go

    async def next(self, seconds: float) -> Chunk | None:
        """None: it was let go.

        Raises:
            TimeoutError: nothing came for so long.
        """
        if not self._chunks and not self._let_go:
            self._news.clear()
            async with asyncio.timeout(seconds):  # wait_for forgets who leaves just as news comes
                await self._news.wait()
        if self._let_go:
            return None
        chunk = self._chunks.popleft()
        self._behind -= len(chunk.text)
        return chunk


class Broadcast:
    """Everything that happens, to everybody who listens."""

    def __init__(self, bus: Bus) -> None:
        self._bus = bus
        self._missed = EventBacklog(bus)
        self._listeners: set[Listener] = set()
        self._task: asyncio.Task[None] | None = None
        self._gathered: list[bytes] = []
        self._seen = 0  # the last event that was read
        self._flushing: asyncio.TimerHandle | None = None
        self._is_told = asyncio.Lock()  # that somebody listens again
        self._wanted = asyncio.Event()  # somebody listens; while nobody does, nobody reads
        self.position = 0  # the last event that was told
        self.over = asyncio.Event()  # nothing more is told
        self.heartbeat_seconds, self.behind_bytes_max = HEARTBEAT_SECONDS, BEHIND_BYTES_MAX

    @property
    def rests(self) -> bool:
        """Is nothing read, since nobody listens?"""
        return not self._wanted.is_set()

    @property
    def viewers(self) -> int:
        return len(self._listeners)

    async def begin(self) -> None:
        self._task = asyncio.create_task(self._tell())

    async def end(self) -> None:
        """Let everybody go."""
        self.over.set()
        if self._task is not None:
            self._task.cancel()
            with suppress(asyncio.CancelledError):
                await self._task

    # --- telling -----------------------------------------------------------------------------------------------------

    async def _tell(self) -> None:
        try:
            while True:
                await self._wanted.wait()
                try:
                    await self._follow()
                except TelexError:  # the store is away: the events are there when it is back
                    await asyncio.sleep(AGAIN_SECONDS)
        finally:
            self.over.set()  # ours or the hub's: nobody waits for ever for what will not come

    async def _follow(self) -> None:
        """Until nobody listens any more."""
        loop = asyncio.get_running_loop()
        async with aclosing(self._bus.events(Query(after=self._seen), follow=True)) as events:
            async for event, message in events:
                if not self._listeners:
                    self._wanted.clear()  # whoever comes next begins where the record is by then
                    return
                self._gathered.append(frame(event, message))
                self._seen = event.seq
                if self._flushing is None:
                    self._flushing = loop.call_later(GATHER_SECONDS, self._flush)

    def _flush(self) -> None:
        """Tell what was read so far to whoever is here."""
        if self._flushing is not None:
            self._flushing.cancel()
            self._flushing = None
        chunk = Chunk(self.position + 1, self._seen, b"".join(self._gathered))
        self._gathered.clear()
        self.position = self._seen
        if chunk.text:
            self._listeners = {listener for listener in self._listeners if listener.give(chunk)}

    async def _wake(self) -> None:
        """Read from the latest event on, unless that is done already."""
        async with self._is_told:
            if self.rests:
                self.position = self._seen = await newest_number(self._bus)
                self._wanted.set()

    # --- listening ---------------------------------------------------------------------------------------------------

    @asynccontextmanager
    async def listening(self, query: Query, after: int | None) -> AsyncIterator[AsyncGenerator[bytes, None]]:
        """What happened after that event, or happens from now on, which is this very moment; a heartbeat now and then.
        It ends when the listener is too far behind."""
        if query._replace(after=0, newest_first=False) != EVERYTHING:
            latest = await newest_number(self._bus)
            yield self._chosen(
                query._replace(after=latest if after is None else min(after, latest), newest_first=False)
            )
            return
        await self._wake()
        self._flush()  # so that whatever is read from here on is written out for this listener too
        listener = Listener(self.behind_bytes_max)
        self._listeners.add(listener)
        try:
            here = self.position
            yield self._told(listener, here, await self._beginning(after))
        finally:
            self._listeners.discard(listener)

    async def _beginning(self, after: int | None) -> int:
        """After which event a viewer is to begin. A number that is yet to come is from another record than this."""
        if after is None:
            return self.position
        return after if after <= self.position else min(after, await newest_number(self._bus))

    async def _told(self, listener: Listener, here: int, told: int) -> AsyncGenerator[bytes, None]:
        """`told` is what it has heard already; from `here` on the others hear it with it."""
        if told < here:
            async for text in self._missed.between(told, here):
                yield text
            told = here
        while True:
            try:
                chunk = await listener.next(self.heartbeat_seconds)
            except TimeoutError:
                yield HEARTBEAT
                continue
            if chunk is None:
                return
            if chunk.first > told:
                yield chunk.text
            elif chunk.last > told:  # it has heard some of these elsewhere, quicker than we were
                async for text in self._missed.between(told, chunk.last):
                    yield text
            told = max(told, chunk.last)

    async def _chosen(self, query: Query) -> AsyncGenerator[bytes, None]:
        """For a viewer that only wants some of it."""
        queue: asyncio.Queue[bytes | None] = asyncio.Queue(CHOSEN_MAX)
        task = asyncio.create_task(_pump(self._bus, query, queue))
        try:
            while True:
                try:
                    async with asyncio.timeout(self.heartbeat_seconds):
                        text = await queue.get()
                except TimeoutError:
                    text = HEARTBEAT
                if text is None:
                    await task  # raises what went wrong, if that was our own mistake
                    return
                yield text
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)


async def _pump(bus: Bus, query: Query, queue: "asyncio.Queue[bytes | None]") -> None:
    try:
        with suppress(TelexError):  # the store is away: whoever watches comes again and resumes
            async with aclosing(bus.events(query, follow=True)) as events:
                async for happening in events:
                    await queue.put(frame(*happening))
    except Exception:
        await queue.put(None)
        raise
    await queue.put(None)
