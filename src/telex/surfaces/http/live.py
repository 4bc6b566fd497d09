"""How do many viewers follow what happens, live? One reads the record for all of them; each event is written out once.

A viewer says after which event it goes on (`Last-Event-ID`), is given what it missed, and then joins the others without
a gap and without hearing anything twice. One that does not keep up is let go: it comes again and resumes.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing, suppress
from typing import NamedTuple

from telex.errors import TelexError
from telex.model.event import Event
from telex.model.message import Message
from telex.ports.bus import Bus
from telex.ports.store import EVERYTHING, Query
from telex.surfaces.http.asgi import COMMON_HEADERS, Receive, Send
from telex.wire import encoded, plain
from telex.wire.verbs import Happening

GATHER_SECONDS = 0.05  # what happens within so long is sent together: a person does not see the difference
HEARTBEAT_SECONDS = 15.0  # a comment, so that nobody in between takes the silence for the end
CHUNKS_MAX = 400  # that a viewer may be behind; some 20 seconds of a busy team
RETRY = b"retry: 1000\n\n"
HEARTBEAT = b": still here\n\n"
HEADERS = [
    (b"content-type", b"text/event-stream; charset=utf-8"),
    (b"x-accel-buffering", b"no"),
    *COMMON_HEADERS,
]


class Chunk(NamedTuple):
    last: int  # the number of its last event
    text: bytes


def frame(event: Event, message: Message | None) -> bytes:
    return b"id: %d\nevent: happening\ndata: %b\n\n" % (event.seq, encoded(plain(Happening(event, message))))


class Broadcast:
    """Everything that happens, to everybody who listens."""

    def __init__(self, bus: Bus) -> None:
        self._bus = bus
        self._listeners: set[asyncio.Queue[Chunk | None]] = set()
        self._task: asyncio.Task[None] | None = None
        self.position = 0  # the last event that was told

    @property
    def viewers(self) -> int:
        return len(self._listeners)

    async def begin(self) -> None:
        """From the latest event on."""
        async with aclosing(self._bus.events(Query(newest_first=True))) as newest:  # type: ignore[type-var]
            async for event, _ in newest:
                self.position = event.seq
                break
        self._task = asyncio.create_task(self._tell())

    async def end(self) -> None:
        """Let everybody go."""
        if self._task is not None:
            self._task.cancel()
            with suppress(asyncio.CancelledError):
                await self._task
        for queue in list(self._listeners):
            _let_go(queue)

    async def _tell(self) -> None:
        while True:
            try:
                await self._follow()
            except TelexError:  # the store is away: the events are there when it is back
                await asyncio.sleep(1.0)

    async def _follow(self) -> None:
        gathered: list[bytes] = []
        flushing: asyncio.TimerHandle | None = None
        loop, last = asyncio.get_running_loop(), self.position

        def flush() -> None:
            nonlocal flushing
            flushing = None
            chunk = Chunk(last, b"".join(gathered))
            gathered.clear()
            self.position = chunk.last
            for queue in list(self._listeners):
                self._give(queue, chunk)

        try:
            async for event, message in self._bus.events(Query(after=self.position), follow=True):
                last = event.seq
                if self._listeners:
                    gathered.append(frame(event, message))
                if flushing is None:
                    flushing = loop.call_later(GATHER_SECONDS, flush)
        finally:
            if flushing is not None:
                flushing.cancel()
                flush()

    def _give(self, queue: "asyncio.Queue[Chunk | None]", chunk: Chunk) -> None:
        if not chunk.text:
            return
        try:
            queue.put_nowait(chunk)
        except asyncio.QueueFull:
            self._listeners.discard(queue)
            _let_go(queue)

    async def listen(self, after: int | None) -> AsyncIterator[bytes]:
        """What happened after that event, or happens from now on; a heartbeat now and then. It ends when the hub does,
        or when the listener is too far behind."""
        queue: asyncio.Queue[Chunk | None] = asyncio.Queue(CHUNKS_MAX)
        self._listeners.add(queue)
        try:
            told = here = self.position
            if after is not None and after < here:
                async for event, message in self._bus.events(Query(after=after)):
                    if event.seq > here:
                        break
                    yield frame(event, message)
            while True:
                try:
                    chunk = await asyncio.wait_for(queue.get(), HEARTBEAT_SECONDS)
                except TimeoutError:
                    yield HEARTBEAT
                    continue
                if chunk is None:
                    return
                if chunk.last > told:
                    yield chunk.text
        finally:
            self._listeners.discard(queue)


def _let_go(queue: "asyncio.Queue[Chunk | None]") -> None:
    while not queue.empty():
        queue.get_nowait()
    queue.put_nowait(None)


async def _chosen(bus: Bus, query: Query) -> AsyncIterator[bytes]:
    """For a viewer that only wants some of it."""
    queue: asyncio.Queue[bytes | None] = asyncio.Queue(CHUNKS_MAX)

    async def pump() -> None:
        with suppress(TelexError):
            async for event, message in bus.events(query, follow=True):
                await queue.put(frame(event, message))
        await queue.put(None)

    task = asyncio.create_task(pump())
    try:
        while True:
            try:
                text = await asyncio.wait_for(queue.get(), HEARTBEAT_SECONDS)
            except TimeoutError:
                text = HEARTBEAT
            if text is None:
                return
            yield text
    finally:
        task.cancel()


async def stream(broadcast: Broadcast, bus: Bus, query: Query, after: int | None, receive: Receive, send: Send) -> None:
    """Tell it to one client until it goes away, or the hub does."""
    await send({"type": "http.response.start", "status": 200, "headers": HEADERS})
    await send({"type": "http.response.body", "body": RETRY, "more_body": True})
    start = broadcast.position if after is None else after
    plainly = query._replace(after=0, newest_first=False) == EVERYTHING
    source = broadcast.listen(after) if plainly else _chosen(bus, query._replace(after=start, newest_first=False))

    async def tell() -> None:
        async with aclosing(source) as texts:  # type: ignore[type-var]
            async for text in texts:
                await send({"type": "http.response.body", "body": text, "more_body": True})
        await send({"type": "http.response.body", "body": b"", "more_body": False})

    telling = asyncio.ensure_future(tell())
    gone = asyncio.ensure_future(_gone(receive))
    try:
        await asyncio.wait((telling, gone), return_when=asyncio.FIRST_COMPLETED)
    finally:
        gone.cancel()
        telling.cancel()
        await asyncio.gather(telling, gone, return_exceptions=True)


async def _gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
