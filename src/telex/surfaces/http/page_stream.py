"""Updates of the page as server-sent events: computed once, encoded once, and sent to all pages a few times a second.

A page names the last update that it has (`Last-Event-ID`) and gets everything that changed since then as one update. A
page that does not keep up is disconnected and resumes, so it never holds up the hub. While no page is open, nothing is
computed.
"""

import asyncio
import logging
import time
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Hashable
from contextlib import aclosing, asynccontextmanager
from typing import Any

from telex.errors import TelexError
from telex.model.finding import Finding
from telex.model.message import Event
from telex.model.named_tuple import NamedTuple
from telex.ports.bus import Bus
from telex.ports.store import Query
from telex.protocol import encoded, plain
from telex.protocol.arguments import CODE as ARGUMENTS_WRONG
from telex.surfaces.http import asgi
from telex.surfaces.http.asgi import HttpResponse, Receive, Scope, Send
from telex.surfaces.http.page_stats import RecentEvents
from telex.surfaces.http.replica import replica_of
from telex.surfaces.http.stream import HEARTBEAT, HEARTBEAT_SECONDS, Chunk, Listener, newest, on_one_line, stream
from telex.surfaces.page.agents import roles_by_name
from telex.surfaces.page.changes import Update

INTERVAL_SECONDS = 0.34  # between two updates of rows; with those of the count they are at most four a second
NEEDS_SECONDS = 1.0  # between two counts of what needs a person
NEEDS_SHARE_MAX = 0.05  # of the hub's time for these counts
PRESENCE_SECONDS = 5.0  # an agent that falls silent causes no event
REFUSALS_SECONDS = 3_600.0  # refused messages that are counted
RETRY_SECONDS = 1.0  # after the store was unavailable
WAIT_SECONDS = 30.0  # for the next event, then the log is asked again
BEHIND_BYTES_MAX = 2 * 1_048_576  # of updates that a page has not read; then it is disconnected
BEHIND_SECONDS_MAX = 5.0  # that a page of another hub waits for this hub's copy of a shared store
DIGITS_MAX = 18
OTHER_RECORD = b"event: other-record\ndata: {}\n\n"
LOG = logging.getLogger("telex.http")


class OpenNeeds(NamedTuple):
    """Number of items that need a person. The version changes with the items, also when their number stays."""

    number: int | None = None  # None: not known yet
    version: Hashable = None


class Position(NamedTuple):
    """The last event of an update. The time tells apart the logs of two stores."""

    seq: int
    at: float


CountNeeds = Callable[[], Awaitable[OpenNeeds]]
Greet = Callable[[Scope], Awaitable[dict[str, Any]]]  # first update of a page, which also names the caller


class PageStream:
    """The endpoint `/page/stream`, as an ASGI application."""

    def __init__(self, bus: Bus, events: RecentEvents, needs: CountNeeds, greet: Greet) -> None:
        self._bus, self._events, self._needs, self._greet = bus, events, needs, greet
        self._listeners: set[Listener] = set()
        self._task: asyncio.Task[None] | None = None
        self._sent_seq = 0
        self._open = OpenNeeds()
        self._is_replica = replica_of(bus) is not None
        self.heartbeat_seconds, self.behind_bytes_max = HEARTBEAT_SECONDS, BEHIND_BYTES_MAX

    @property
    def pages(self) -> int:
        return len(self._listeners)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if not asgi.is_event_stream(scope):  # by this header the hub counts its streams
            say = "Send Accept: text/event-stream."
            await asgi.reply(send, asgi.findings_response([Finding(ARGUMENTS_WRONG, "Accept", say)]))
            return
        last_id = asgi.header(scope, b"last-event-id").strip().decode("latin-1")
        position = _position(last_id)
        if last_id and position is None:
            say = "Give the id of the last update, or none."
            await asgi.reply(send, asgi.findings_response([Finding(ARGUMENTS_WRONG, "Last-Event-ID", say)]))
            return
        try:
            refusal = await self._behind(position)
        except TelexError as error:
            refusal = asgi.error_response(error)
        if refusal is not None:
            await asgi.reply(send, refusal)
            return
        async with self._listening() as listener:
            await stream(self._frames(scope, listener, position), asyncio.Event(), receive, send)

    # --- one page ----------------------------------------------------------------------------------------------------

    async def _behind(self, position: Position | None) -> HttpResponse | None:
        """A page of another hub may have more than this hub's copy; it waits a little for it."""
        if position is None or not self._is_replica or await self._event(position.seq) is not None:
            return None
        query = Query(after=position.seq - 1)
        async with aclosing(self._bus.events(query, follow=True, wait=BEHIND_SECONDS_MAX)) as events:
            if await anext(events, None) is not None:
                return None
        return asgi.problem(503, "not-ready", "Try again, or ask another hub: this hub's copy is behind.")

    async def _event(self, seq: int) -> Event | None:
        """The first event with this number or a higher one."""
        async with aclosing(self._bus.events(Query(after=seq - 1))) as events:
            async for event, _ in events:
                return event
        return None

    @asynccontextmanager
    async def _listening(self) -> AsyncIterator[Listener]:
        listener = Listener(self.behind_bytes_max)
        try:
            yield listener
        finally:
            self._listeners.discard(listener)
            if not self._listeners and self._task is not None:
                self._task.cancel()
                self._task = None

    async def _frames(self, scope: Scope, listener: Listener, position: Position | None) -> AsyncGenerator[bytes, None]:
        if position is not None and not await self._is_same_record(position):
            yield OTHER_RECORD
            return
        if self._open.number is None:
            self._open = await self._needs()
        greeting = await self._greet(scope)
        await self._events.caught_up()
        yield self._join(listener, position, greeting)
        while True:
            try:
                chunk = await listener.next(self.heartbeat_seconds)
            except TimeoutError:
                yield HEARTBEAT
                continue
            if chunk is None:
                return
            yield chunk.text

    async def _is_same_record(self, position: Position) -> bool:
        if position.seq == 0:
            return True
        last = await newest(self._bus)
        if last is None or last.seq < position.seq:
            return False
        event = await self._event(position.seq)
        return event is None or event.seq != position.seq or event.at == position.at  # it may have been pruned

    def _join(self, listener: Listener, position: Position | None, greeting: dict[str, Any]) -> bytes:
        """The first update of a page. What comes after it goes to the listener."""
        history = self._events.history
        if not self._listeners:
            self._sent_seq = history.position
        self._listeners.add(listener)
        if self._task is None:
            self._task = asyncio.create_task(self._run())
        update = Update() if position is None else self._events.changes.after(position.seq, history)
        return self._frame(update, self._open.number, greeting)

    # --- all pages ---------------------------------------------------------------------------------------------------

    async def _run(self) -> None:
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._repeated(self._follow_log))
            tasks.create_task(self._repeated(self._follow_needs))
            tasks.create_task(self._repeated(self._follow_presence))

    async def _repeated(self, work: Callable[[], Awaitable[None]]) -> None:
        while True:
            try:
                await work()
            except TelexError:  # the store is unavailable: requests report it
                await asyncio.sleep(RETRY_SECONDS)
            except Exception:
                LOG.exception("updates of the page failed")
                await asyncio.sleep(RETRY_SECONDS)

    async def _follow_log(self) -> None:
        async with aclosing(self._bus.events(Query(after=self._sent_seq), follow=True, wait=WAIT_SECONDS)) as events:
            await anext(events, None)
        history = (await self._events.caught_up()).history
        if history.position > self._sent_seq:
            is_roster = self._events.changes.after(self._sent_seq, history).is_roster
            roles = roles_by_name(await self._bus.roster()) if is_roster else None
            update = self._events.changes.after(self._sent_seq, history)  # with what came meanwhile
            self._sent_seq = history.position
            self._give(self._frame(update, None, roles=roles))
            await asyncio.sleep(INTERVAL_SECONDS)

    async def _follow_needs(self) -> None:
        begun = time.monotonic()
        found = await self._needs()
        if found != self._open:
            self._open = found
            self._give(self._frame(Update(), found.number))
        took = time.monotonic() - begun
        await asyncio.sleep(max(NEEDS_SECONDS, took / NEEDS_SHARE_MAX))

    async def _follow_presence(self) -> None:
        before = await self._presence()
        while True:
            await asyncio.sleep(PRESENCE_SECONDS)
            now = await self._presence()
            changed = {name for name in before.keys() | now.keys() if before.get(name) != now.get(name)}
            before = now
            if changed:
                self._give(self._frame(Update(agents=tuple(sorted(changed)), is_roster=True), None))

    async def _presence(self) -> dict[str, str]:
        return {presence.member.name: presence.state for presence in await self._bus.roster()}

    def _frame(
        self,
        update: Update,
        needs: int | None,
        greeting: dict[str, Any] | None = None,
        *,
        roles: dict[str, str] | None = None,
    ) -> bytes:
        now, seq = time.time(), self._events.history.position
        refusals = len(self._events.refusals.within(now - REFUSALS_SECONDS))
        facts: dict[str, Any] = {"seq": seq, "now": now, **update.facts(now), "needs": needs, "refusals": refusals}
        if greeting is not None:
            facts["summary"] = greeting
        if roles is not None:
            facts["roles"] = roles
        text = on_one_line(encoded(plain(facts)))
        return b"id: %d:%b\nevent: update\ndata: %b\n\n" % (seq, repr(self._events.at).encode(), text)

    def _give(self, frame: bytes) -> None:
        chunk = Chunk(self._sent_seq, self._sent_seq, frame)
        self._listeners = {listener for listener in self._listeners if listener.give(chunk)}


def _position(text: str) -> Position | None:
    """`812:1794891000.25`; None if it is not the id of an update."""
    seq, _, at = text.partition(":")
    if not (seq.isascii() and seq.isdigit() and len(seq) <= DIGITS_MAX):
        return None
    try:
        return Position(int(seq), float(at or "nan"))
    except ValueError:
        return None
