"""Live stream of events as server-sent events: one task reads the log for all viewers, and serialises each event once.

A viewer names the last event it has (`Last-Event-ID`), gets the events since then, and joins the others without a gap
and without duplicates. A viewer that does not keep up is disconnected; it reconnects and resumes.
"""

import asyncio
from collections import OrderedDict, deque
from collections.abc import AsyncGenerator, AsyncIterator, MutableMapping
from contextlib import aclosing, asynccontextmanager, suppress
from typing import Any

from telex.errors import TelexError
from telex.model.message import Event, StoredMessage
from telex.model.named_tuple import NamedTuple
from telex.ports.bus import Bus
from telex.ports.store import EVERYTHING, Query
from telex.protocol import encoded, plain
from telex.protocol.verbs import EventRecord
from telex.surfaces.http.asgi import COMMON_HEADERS, EVENT_STREAM, Receive, Send, disconnected

BATCH_SECONDS = 0.05  # events within this time are sent together
HEARTBEAT_SECONDS = 15.0  # a comment, so that no proxy closes a silent connection
RETRY_SECONDS = 1.0  # after the store was unavailable
BEHIND_BYTES_MAX = 8 * 1_048_576  # a viewer that is further behind is disconnected
PAGE = 500  # events; as many as a bus reads at a time
CACHE_BYTES_MAX = 16 * 1_048_576  # of pages of the backlog
SEND_BYTES = 65_536  # of the backlog in one piece
READ_BYTES_MAX = 4 * 1_048_576  # of the backlog, read at a time; a larger page is not cached
RETRY = b"retry: 1000\n\n"
HEARTBEAT = b": still here\n\n"
HEADERS = [(b"content-type", b"text/event-stream; charset=utf-8"), (b"x-accel-buffering", b"no"), *COMMON_HEADERS]
# Many readers take these characters for line ends, so they are escaped as JSON allows.
_LINE_ENDS = {b"\xc2\x85": b"\\u0085", b"\xe2\x80\xa8": b"\\u2028", b"\xe2\x80\xa9": b"\\u2029"}

Frames = list[tuple[int, bytes]]  # sequence number of an event, and its frame


# --- events -----------------------------------------------------------------------------------------------------------


async def newest(bus: Bus) -> Event | None:
    async with aclosing(bus.events(Query(newest_first=True))) as events:
        async for event, _ in events:
            return event
    return None


async def newest_seq(bus: Bus) -> int:
    """Number of the last event; 0 in an empty log."""
    event = await newest(bus)
    return event.seq if event is not None else 0


def frame(event: Event, message: StoredMessage | None) -> bytes:
    text = on_one_line(encoded(plain(EventRecord(event, message))))
    return b"id: %d\nevent: happening\ndata: %b\n\n" % (event.seq, text)


def on_one_line(text: bytes) -> bytes:
    for end, escaped in _LINE_ENDS.items():
        if end in text:
            text = text.replace(end, escaped)
    return text


def in_whole_lines(send: Send) -> Send:
    """A `send` that escapes line ends in the JSON of event streams."""
    is_stream = False

    async def escaped(event: MutableMapping[str, Any]) -> None:
        nonlocal is_stream
        if event["type"] == "http.response.start":
            kinds = [value for name, value in event["headers"] if name.lower() == b"content-type"]
            is_stream = any(kind.startswith(EVENT_STREAM) for kind in kinds)
        elif is_stream:
            event = {**event, "body": on_one_line(event.get("body", b""))}
        await send(event)

    return escaped


async def stream(frames: AsyncGenerator[bytes, None], over: asyncio.Event, receive: Receive, send: Send) -> None:
    """Send frames to one client until it disconnects or the hub stops."""
    await send({"type": "http.response.start", "status": 200, "headers": HEADERS})
    await send({"type": "http.response.body", "body": RETRY, "more_body": True})
    sending = asyncio.ensure_future(_send_all(frames, send))
    leaving, ending = asyncio.ensure_future(disconnected(receive)), asyncio.ensure_future(over.wait())
    try:
        await asyncio.wait((sending, leaving, ending), return_when=asyncio.FIRST_COMPLETED)
        has_left = leaving.done()
    finally:
        for task in (sending, leaving, ending):
            task.cancel()
        [outcome, *_] = await asyncio.gather(sending, leaving, ending, return_exceptions=True)
    if not has_left:
        await send({"type": "http.response.body", "body": b"", "more_body": False})
    if isinstance(outcome, Exception):
        raise outcome


async def _send_all(frames: AsyncGenerator[bytes, None], send: Send) -> None:
    with suppress(TelexError):  # the store is unavailable: the client reconnects and resumes
        async with aclosing(frames):
            async for text in frames:
                await send({"type": "http.response.body", "body": text, "more_body": True})


# --- backlog ----------------------------------------------------------------------------------------------------------


class EventBacklog:
    """Events that viewers missed. Full pages do not change any more, so they are cached: after a restart of the hub
    all viewers reconnect and request nearly the same events."""

    def __init__(self, bus: Bus) -> None:
        self._bus = bus
        self._pages: OrderedDict[int, Frames] = OrderedDict()  # least recently used first
        self._bytes = 0
        self._large: set[int] = set()  # pages that are too large for the cache
        self._lock = asyncio.Lock()  # a page is read once, however many viewers wait for it

    async def between(self, after: int, until: int) -> AsyncIterator[bytes]:
        """Frames after one event, up to another, in pieces."""
        while after < until:
            piece = bytearray()
            frames, upto = await self._some_frames(after, until)
            for seq, text in frames:
                if not after < seq <= until:
                    continue
                piece += text
                if len(piece) >= SEND_BYTES:
                    yield bytes(piece)
                    piece.clear()
                    await asyncio.sleep(0)  # let other requests run
            if piece:
                yield bytes(piece)
            after = upto

    async def _some_frames(self, after: int, until: int) -> tuple[Frames, int]:
        """Some of the next frames, and the event up to which they are complete."""
        number = after // PAGE
        first, last = number * PAGE, (number + 1) * PAGE
        if last > until or number in self._large:  # the page may not be full yet
            return await self._read(after, min(last, until))
        async with self._lock:
            if number in self._pages:
                self._pages.move_to_end(number)
                return self._pages[number], last
            page, upto = await self._read(first, last)
            if upto == last:
                self._pages[number] = page
                self._bytes += _size(page)
                while self._bytes > CACHE_BYTES_MAX:
                    self._bytes -= _size(self._pages.popitem(last=False)[1])
                return page, last
            self._large.add(number)
        return await self._read(after, last)

    async def _read(self, after: int, until: int) -> tuple[Frames, int]:
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
                if size >= READ_BYTES_MAX:
                    return frames, event.seq
        return frames, until


def _size(page: Frames) -> int:
    return sum(len(text) for _, text in page)


# --- broadcast --------------------------------------------------------------------------------------------------------


class Chunk(NamedTuple):
    """Events that are sent together."""

    first: int  # sequence numbers
    last: int
    text: bytes


class Listener:
    """Bounded queue of one viewer."""

    def __init__(self, behind_bytes_max: int) -> None:
        self._chunks: deque[Chunk] = deque()
        self._behind, self._behind_max = 0, behind_bytes_max
        self._changed = asyncio.Event()
        self._is_closed = False

    def give(self, chunk: Chunk) -> bool:
        """Add a chunk to the queue. False: the queue was full, and is closed."""
        if self._chunks and self._behind + len(chunk.text) > self._behind_max:
            self._chunks.clear()
            self._is_closed = True
        else:
            self._chunks.append(chunk)
            self._behind += len(chunk.text)
        self._changed.set()
        return not self._is_closed

    async def next(self, seconds: float) -> Chunk | None:
        """The next chunk; None: the queue is closed. Raises TimeoutError."""
        if not self._chunks and not self._is_closed:
            self._changed.clear()
            async with asyncio.timeout(seconds):  # wait_for loses a cancellation that comes with the event
                await self._changed.wait()
        if self._is_closed:
            return None
        chunk = self._chunks.popleft()
        self._behind -= len(chunk.text)
        return chunk


class Broadcast:
    """All events to all viewers. It reads the log only while there are viewers."""

    def __init__(self, bus: Bus) -> None:
        self._bus = bus
        self._backlog = EventBacklog(bus)
        self._listeners: set[Listener] = set()
        self._task: asyncio.Task[None] | None = None
        self._batch: list[bytes] = []
        self._read_seq = 0  # last event that was read
        self._sent_seq = 0  # last event that was given to the listeners
        self._flush_timer: asyncio.TimerHandle | None = None
        self._lock = asyncio.Lock()
        self._has_viewers = asyncio.Event()
        self.over = asyncio.Event()  # no more events will come
        self.heartbeat_seconds, self.behind_bytes_max = HEARTBEAT_SECONDS, BEHIND_BYTES_MAX

    @property
    def rests(self) -> bool:
        return not self._has_viewers.is_set()

    @property
    def viewers(self) -> int:
        return len(self._listeners)

    async def begin(self) -> None:
        self._task = asyncio.create_task(self._run())

    async def end(self) -> None:
        self.over.set()
        if self._task is not None:
            self._task.cancel()
            with suppress(asyncio.CancelledError):
                await self._task

    async def _run(self) -> None:
        try:
            while True:
                await self._has_viewers.wait()
                try:
                    await self._follow()
                except TelexError:  # the store is unavailable
                    await asyncio.sleep(RETRY_SECONDS)
        finally:
            self.over.set()  # also after a bug: no viewer waits for ever

    async def _follow(self) -> None:
        """Read events until there are no more viewers."""
        loop = asyncio.get_running_loop()
        async with aclosing(self._bus.events(Query(after=self._read_seq), follow=True)) as events:
            async for event, message in events:
                if not self._listeners:
                    self._has_viewers.clear()  # the next viewer begins at the end of the log
                    return
                self._batch.append(frame(event, message))
                self._read_seq = event.seq
                if self._flush_timer is None:
                    self._flush_timer = loop.call_later(BATCH_SECONDS, self._flush)

    def _flush(self) -> None:
        if self._flush_timer is not None:
            self._flush_timer.cancel()
            self._flush_timer = None
        chunk = Chunk(self._sent_seq + 1, self._read_seq, b"".join(self._batch))
        self._batch.clear()
        self._sent_seq = self._read_seq
        if chunk.text:
            self._listeners = {listener for listener in self._listeners if listener.give(chunk)}

    @asynccontextmanager
    async def listening(self, query: Query, after: int | None) -> AsyncIterator[AsyncGenerator[bytes, None]]:
        """Frames of the events after that one, or from now on, with heartbeats; they end if the viewer is too slow."""
        if query._replace(after=0, newest_first=False) != EVERYTHING:
            last = await newest_seq(self._bus)
            begin = last if after is None else min(after, last)
            yield self._filtered_frames(query._replace(after=begin, newest_first=False))
            return
        async with self._lock:
            if self.rests:
                self._sent_seq = self._read_seq = await newest_seq(self._bus)
                self._has_viewers.set()
        self._flush()  # what is read from here on goes to this listener too
        listener = Listener(self.behind_bytes_max)
        self._listeners.add(listener)
        try:
            joined_seq = self._sent_seq
            if after is None:
                after = self._sent_seq
            elif after > self._sent_seq:  # a number beyond the log is of another log
                after = min(after, await newest_seq(self._bus))
            yield self._frames(listener, joined_seq, after)
        finally:
            self._listeners.discard(listener)

    async def _frames(self, listener: Listener, joined_seq: int, seen: int) -> AsyncGenerator[bytes, None]:
        """`seen` is the last event that the viewer has; events after `joined_seq` are in its queue."""
        if seen < joined_seq:
            async for text in self._backlog.between(seen, joined_seq):
                yield text
            seen = joined_seq
        while True:
            try:
                chunk = await listener.next(self.heartbeat_seconds)
            except TimeoutError:
                yield HEARTBEAT
                continue
            if chunk is None:
                return
            if chunk.first > seen:
                yield chunk.text
            elif chunk.last > seen:  # the viewer has some of these events already
                async for text in self._backlog.between(seen, chunk.last):
                    yield text
            seen = max(seen, chunk.last)

    async def _filtered_frames(self, query: Query) -> AsyncGenerator[bytes, None]:
        while True:
            last = await newest_seq(self._bus)  # events up to here are not searched again
            async with aclosing(self._bus.events(query, follow=True, wait=self.heartbeat_seconds)) as events:
                async for event, message in events:
                    yield frame(event, message)
                    last = max(last, event.seq)
            yield HEARTBEAT
            query = query._replace(after=max(last, query.after))
