"""MCP server of one agent on stdin and stdout, as coding tools start it.

The first call opens the bus: an unavailable store or hub is reported to the agent, and the next call retries. Most
coding tools show nothing of a server that fails to start, so this one starts even without a name.
"""

import asyncio
import os
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from typing import Any

import anyio
import mcp_types as types
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp.shared.message import SessionMessage

from telex.config import MEMORY, Settings, load
from telex.connection import connect, hub_at, store_path
from telex.errors import NotAMember
from telex.model.text import digest_of
from telex.ports.bus import Bus
from telex.stores.disk import open_file
from telex.surfaces.cli.connection import is_there as store_exists
from telex.surfaces.cli.output import shown
from telex.surfaces.mcp.server import make_server
from telex.surfaces.mcp.text import IDENTITY_HINT
from telex.surfaces.mcp.tool_calls import CallContext, Identity, LeaseRenewal, ProjectFiles
from telex.surfaces.mcp.tools import INSTRUCTIONS
from telex.validation.authorization import normalised

try:
    import fcntl
except ImportError:  # pragma: no cover - not a Unix: no notice
    fcntl = None  # type: ignore[assignment]

NAMELESS = "This server has no agent name, so you can neither send nor receive."
SHARED = "Another running telex mcp is {name} too and takes from the same inbox: give one of them another TELEX_AGENT."


class LazyBus:
    """Bus that is opened by the first call. A read-only call without a store uses an empty one in memory."""

    def __init__(self, where: str | None, stack: AsyncExitStack) -> None:
        self._where, self._stack = where, stack
        self._lock = asyncio.Lock()
        self._open: dict[bool, tuple[Bus, Settings]] = {}  # False: the empty one

    async def bus(self, *, makes_store: bool) -> tuple[Bus, Settings]:
        async with self._lock:
            if True in self._open:
                return self._open[True]
            settings = load(os.getcwd())
            is_there = makes_store or store_exists(hub_at(self._where, settings) or store_path(self._where, settings))
            if is_there not in self._open:
                where = self._where if is_there else MEMORY
                bus = await self._stack.enter_async_context(connect(where, settings=settings))
                self._open[is_there] = bus, settings
            return self._open[is_there]


class NameLock:
    """File lock on an agent's name, beside the store: it shows whether another server of that name runs."""

    def __init__(self) -> None:
        self._descriptor = -1

    def take(self, store: str, name: str) -> bool:
        """False: another process has it."""
        if self._descriptor < 0 and fcntl is not None:
            path = f"{store}-agent-{digest_of(normalised(name).encode()).hex()[:16]}"
            descriptor = open_file(path, os.O_RDWR | os.O_CREAT)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                os.close(descriptor)
                return False
            self._descriptor = descriptor  # until the process ends
        return True


async def serve(identity: Identity | None, where: str | None, *, structured: bool = False) -> None:
    """Serve until stdin ends."""

    def who() -> Identity:
        if identity is None:
            raise NotAMember(NAMELESS, "sender-unknown")
        return identity

    server = opened_server(who, where, _greeting(identity), structured=structured)
    async with server as opened, stdio_server() as (read, write):
        await serve_both_eras(opened, read, write)


@asynccontextmanager
async def opened_server(
    who: Callable[[], Identity], where: str | None, greeting: str, *, structured: bool
) -> AsyncIterator[Server[Any]]:
    project, renewal, lock = ProjectFiles(os.getcwd()), LeaseRenewal(), NameLock()

    def notice(settings: Settings) -> str | None:
        path = store_path(where, settings) if hub_at(where, settings) is None else None
        with suppress(NotAMember, OSError):
            if path is not None and os.path.exists(path) and not lock.take(path, name := who().agent):
                return SHARED.format(name=shown(name))
        return None

    async with AsyncExitStack() as stack:
        lazy = LazyBus(where, stack)

        async def context_of(_: Any, makes_store: bool) -> CallContext:
            bus, settings = await lazy.bus(makes_store=makes_store)
            return CallContext(bus, settings, who, project, renewal, notice=notice(settings))

        try:
            yield make_server(context_of, greeting, is_structured=lambda _: structured)
        finally:
            renewal.stop()


def _greeting(identity: Identity | None) -> str:
    if identity is None:
        return f"{NAMELESS} {IDENTITY_HINT} {INSTRUCTIONS}"
    role = f", role {identity.role}" if identity.role else ""
    return f"You are {identity.agent}{role}. {INSTRUCTIONS}"


async def serve_both_eras(server: Server[Any], read: Any, write: Any) -> None:
    """Serve handshake and 2026-07-28 requests side by side until a tool call decides for one of them.

    The SDK lets the first request decide. That locks out a client whose `server/discover` timed out and which falls
    back to `initialize`.
    """
    options, decided, modern = server.create_initialization_options(), False, False
    async with anyio.create_task_group() as tasks, write:
        eras = []
        for _ in range(2):
            sending, receiving = anyio.create_memory_object_stream[SessionMessage | Exception]()
            tasks.start_soon(server.run, receiving, write.clone(), options)
            eras.append(sending)
        async for item in read:
            if not decided and isinstance(item, SessionMessage) and isinstance(item.message, types.JSONRPCRequest):
                modern, decided = _is_modern(item.message), item.message.method == "tools/call"
            await eras[modern].send(item)
        for sending in eras:
            sending.close()


def _is_modern(request: types.JSONRPCRequest) -> bool:
    meta = (request.params or {}).get("_meta")
    return request.method != "initialize" and isinstance(meta, dict) and types.PROTOCOL_VERSION_META_KEY in meta
