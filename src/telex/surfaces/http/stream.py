"""Event history for the page and the streams, read with the verb of the bus."""

import asyncio
from collections import OrderedDict, deque
from collections.abc import AsyncGenerator, AsyncIterator, MutableMapping
from contextlib import aclosing, asynccontextmanager, suppress
from typing import Any, NamedTuple

from telex.errors import TelexError
from telex.model.event import Event
from telex.model.message import Message
from telex.ports.bus import Bus
from telex.ports.store import EVERYTHING, Query
from telex.protocol import encoded, plain
from telex.protocol.verbs import EventRecord
from telex.surfaces.http.asgi import COMMON_HEADERS, Receive, Send, gone

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


RETRY = b"retry: 1000\n\n"
HEARTBEAT = b": still here\n\n"
HEADERS = [
    (b"content-type", b"text/event-stream; charset=utf-8"),
    (b"x-accel-buffering", b"no"),
    *COMMON_HEADERS,
]


# What many readers take for the end of a line, though it is none here: these are escaped, as JSON allows.
_LINE_ENDS = {b"\xc2\x85": b"\\u0085", b"\xe2\x80\xa8": b"\\u2028", b"\xe2\x80\xa9": b"\\u2029"}


def frame(event: Event, message: Message | None) -> bytes:
    text = on_one_line(encoded(plain(EventRecord(event, message))))
    return b"id: %d\nevent: happening\ndata: %b\n\n" % (event.seq, text)


def on_one_line(text: bytes) -> bytes:
    """The same JSON, which no reader takes for two lines."""
    for end, escaped in _LINE_ENDS.items():
        if end in text:
            text = text.replace(end, escaped)
    return text


def in_whole_lines(send: Send) -> Send:
    """For a stream of events whose JSON others have written. Nothing else is touched."""
    is_stream = False

    async def sent(event: MutableMapping[str, Any]) -> None:
        nonlocal is_stream
        if event["type"] == "http.response.start":
            kinds = [value for name, value in event["headers"] if name.lower() == b"content-type"]
            is_stream = any(kind.startswith(b"text/event-stream") for kind in kinds)
        elif is_stream:
            event = {**event, "body": on_one_line(event.get("body", b""))}
        await send(event)

    return sent


async def stream(source: AsyncGenerator[bytes, None], over: asyncio.Event, receive: Receive, send: Send) -> None:
    """Tell it to one client until it goes away, or the hub does. Where that is, the client knows: it has the ids."""
    await send({"type": "http.response.start", "status": 200, "headers": HEADERS})
    await send({"type": "http.response.body", "body": RETRY, "more_body": True})
    telling = asyncio.ensure_future(_tell(source, send))
    left, ends = asyncio.ensure_future(gone(receive)), asyncio.ensure_future(over.wait())
    try:
        await asyncio.wait((telling, left, ends), return_when=asyncio.FIRST_COMPLETED)
        has_left = left.done()
    finally:
        for task in (telling, left, ends):
            task.cancel()
        [ended, *_] = await asyncio.gather(telling, left, ends, return_exceptions=True)
    if not has_left:
        await send({"type": "http.response.body", "body": b"", "more_body": False})
    if isinstance(ended, Exception):
        raise ended


async def _tell(source: AsyncGenerator[bytes, None], send: Send) -> None:
    with suppress(TelexError):  # the store is away: whoever watches comes again and resumes
        async with aclosing(source) as texts:
            async for text in texts:
                await send({"type": "http.response.body", "body": text, "more_body": True})


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
