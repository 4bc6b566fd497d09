"""Event loop of the MCP server on stdin and stdout: calls, renewal of leases, and wakes of the session.

A call opens the bus: an unavailable store or hub is reported to the agent, and the next call retries.
"""

import asyncio
import os
import signal
import threading
from collections.abc import Callable, Coroutine
from contextlib import AsyncExitStack, suppress
from typing import Any

from telex.config import MEMORY, Settings, load
from telex.connection import connect, hub_at, store_path
from telex.errors import NotAMember, StoreUnavailable, TelexError
from telex.ports.bus import Bus
from telex.surfaces.cli.connection import is_there as store_exists
from telex.surfaces.cli.usage import enable_gc
from telex.surfaces.clients.sessions import Session, is_provisional
from telex.surfaces.clients.wakes import Waker, on_loop
from telex.surfaces.mcp.identity import Identity
from telex.surfaces.mcp.stdio import StdioConnection
from telex.surfaces.mcp.stdio_protocol import Call, Cancellation, RequestError
from telex.surfaces.mcp.tool_calls import CallContext, LeaseRenewal, ProjectFiles, call_tool, read_resource

ATTEND_SECONDS = 5.0  # between two looks for a store or a session
ATTEND = "attend"
UNKNOWN_PROJECT = (
    "telex mcp was started in the folder of a plugin and does not know the project: start it in the project, or give"
    " --store PATH."
)

DELETED_FOLDER = "the folder in which telex mcp was started was deleted: start the client in another one."


def run(connection: StdioConnection, lines: list[bytes], *, structured: bool) -> None:
    """Serve until stdin ends; `lines` were read already."""
    enable_gc()
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # a thread blocks on stdin
    asyncio.run(_serve(connection, lines, structured=structured))


async def _serve(connection: StdioConnection, lines: list[bytes], *, structured: bool) -> None:
    async with AsyncExitStack() as stack:
        await StdioLoop(connection, LazyBus(connection.where, stack), structured=structured).serve(lines)


class StdioLoop:
    """Tasks of one connection."""

    def __init__(self, connection: StdioConnection, lazy: "LazyBus", *, structured: bool) -> None:
        self._connection, self._agent, self._lazy = connection, connection.agent, lazy
        self._structured = structured
        self._renewal = LeaseRenewal()
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._end = asyncio.Event()
        self._identity_lock = asyncio.Lock()
        self._attended: Session | None = None
        self._attended_bus: Bus | None = None

    async def serve(self, lines: list[bytes]) -> None:
        loop = asyncio.get_running_loop()
        with suppress(NotImplementedError):  # Windows
            loop.add_signal_handler(signal.SIGTERM, self._end.set)
        threading.Thread(target=self._read, args=(lines, loop.call_soon_threadsafe), daemon=True).start()
        self._start(ATTEND, self._attend())
        await self._end.wait()
        self._renewal.stop()
        tasks = list(self._tasks.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _read(self, lines: list[bytes] | None, call: Callable[..., object]) -> None:
        """Read in a thread: an event loop cannot poll every kind of stdin."""
        while lines is not None:
            for line in lines:
                call(self._receive, line)
            lines = self._connection.wire.read()
        call(self._end.set)

    def _receive(self, line: bytes) -> None:
        action = self._connection.protocol.receive(line)
        if isinstance(action, Call):
            self._start(f"call {action.id}", self._call(action))
        elif isinstance(action, Cancellation):
            if task := self._tasks.get(f"call {action.id}"):
                task.cancel()
        else:
            self._answer(lambda: self._connection.answer(action))

    def _answer(self, write: Callable[[], None]) -> None:
        try:
            write()
        except OSError:  # the client reads no more
            self._end.set()

    def _start(self, name: str, work: Coroutine[Any, Any, None]) -> None:
        task = self._tasks[name] = asyncio.get_running_loop().create_task(work)
        task.add_done_callback(lambda done: self._tasks.pop(name) if self._tasks.get(name) is done else None)

    # --- calls --------------------------------------------------------------------------------------------------------

    async def _call(self, call: Call) -> None:
        meta = call.params.get("_meta") or {}

        async def context_of(makes_store: bool) -> CallContext:
            return await self._context(meta, makes_store=makes_store)

        try:
            if call.method == "tools/call":
                name, given = call.params["name"], call.params.get("arguments") or {}
                result = await call_tool(name, given, context_of, structured=self._structured)
            else:
                result = await read_resource(call.params["uri"], context_of)
            line = call.answer(result)
        except RequestError as error:
            line = call.error(error)
        self._answer(lambda: self._connection.wire.write(line))

    async def _context(self, meta: dict[str, Any], *, makes_store: bool) -> CallContext:
        if not self._connection.is_project_known:
            raise StoreUnavailable(UNKNOWN_PROJECT)
        try:
            folder = os.getcwd()
        except OSError as error:
            raise StoreUnavailable(DELETED_FOLDER) from error
        bus, settings = await self._lazy.bus(makes_store=makes_store)
        identity = await self._identity(meta)
        session, attended = self._agent.session, self._attended
        is_other = attended is None or session is None or (session.id, session.agent) != (attended.id, attended.agent)
        if session is not None and (is_other or self._attended_bus not in (None, bus)):
            self._tasks[ATTEND].cancel()
            self._start(ATTEND, self._attend())

        def who() -> Identity:
            if isinstance(identity, NotAMember):
                raise identity
            return identity

        context = CallContext(bus, settings, who, ProjectFiles(folder), self._renewal)
        return context._replace(notice=self._agent.notice(), sessions=self._agent.folder)

    async def _identity(self, meta: dict[str, Any]) -> Identity | NotAMember:
        async with self._identity_lock:
            try:
                return await asyncio.to_thread(self._agent.identity, meta)  # it may open the store
            except NotAMember as error:
                return error

    # --- session ------------------------------------------------------------------------------------------------------

    async def _attend(self) -> None:
        """Join the team, so that others can send to this agent before its first call, and wake its session for new
        messages; as soon as there is a store, and again when the session has ended or has another name."""
        while True:
            with suppress(TelexError, OSError):  # calls report it
                identity, session = await self._identity({}), self._agent.session
                if session is not None and isinstance(identity, Identity) and self._connection.is_project_known:
                    self._attended = session
                    await self._join(session, identity)
            await asyncio.sleep(ATTEND_SECONDS)

    async def _join(self, session: Session, identity: Identity) -> None:
        bus, _ = await self._lazy.bus(makes_store=False)
        self._attended_bus = bus
        if not any(presence.member.name == session.agent for presence in await bus.roster()):
            await bus.join(session.agent, role=identity.role, by=session.agent)
        if session.client != "codex" or not is_provisional(session):  # Codex is woken by the id of its session
            await Waker(bus, self._agent.folder, session, runtime=on_loop()).run()


class LazyBus:
    """Bus that is opened by the first call. A read-only call without a store uses an empty one in memory."""

    def __init__(self, where: str | None, stack: AsyncExitStack) -> None:
        self._where, self._stack = where, stack
        self._lock = asyncio.Lock()
        self._open: dict[bool, tuple[Bus, Settings]] = {}  # False: the empty one
        self._file: tuple[str, tuple[int, int] | None] | None = None  # of the open store, and which file it was

    async def bus(self, *, makes_store: bool) -> tuple[Bus, Settings]:
        async with self._lock:
            if self._file is not None and _file_id(self._file[0]) != self._file[1]:
                self._open, self._file = {}, None  # it was moved or deleted, and perhaps replaced
            if True in self._open:
                return self._open[True]
            settings = load(os.getcwd())
            is_there = makes_store or store_exists(hub_at(self._where, settings) or store_path(self._where, settings))
            if is_there not in self._open:
                where = self._where if is_there else MEMORY
                bus = await self._stack.enter_async_context(connect(where, settings=settings))
                self._open[is_there] = bus, settings
                if is_there and hub_at(self._where, settings) is None:
                    path = os.path.abspath(store_path(self._where, settings))
                    self._file = path, _file_id(path)
            return self._open[is_there]


def _file_id(path: str) -> tuple[int, int] | None:
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_dev, status.st_ino
