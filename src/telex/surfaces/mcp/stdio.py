"""How is one agent served on stdin and stdout, as coding tools start it?

The bus is opened with the first call and not before: a store or hub that is away is then told to the agent, in words,
and the next call tries again. A server that fails to start is shown by most coding tools as a red dot and no more.
"""

import asyncio
import os
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

from mcp.server.stdio import stdio_server

from telex.config import Settings, load
from telex.connection import connect
from telex.ports.bus import Bus
from telex.surfaces.mcp.context import CallContext, Identity, ProjectFiles
from telex.surfaces.mcp.server import make_server
from telex.surfaces.mcp.tools import INSTRUCTIONS


class LazyBus:
    """The bus that is opened when somebody needs it."""

    def __init__(self, where: str | None, stack: AsyncExitStack) -> None:
        self._where, self._stack = where, stack
        self._lock = asyncio.Lock()
        self._open: tuple[Bus, Settings] | None = None

    async def bus(self) -> tuple[Bus, Settings]:
        """Raises:
        TelexError: it cannot be opened now.
        """
        async with self._lock:
            if self._open is None:
                settings = load(os.getcwd())
                bus = await self._stack.enter_async_context(connect(self._where, settings=settings))
                self._open = bus, settings
            return self._open


async def serve(identity: Identity, where: str | None) -> None:
    """Serve until stdin ends."""
    async with opened_server(lambda: identity, where, _greeting(identity)) as server, stdio_server() as streams:
        await server.run(*streams, server.create_initialization_options())


@asynccontextmanager
async def opened_server(who: Callable[[], Identity], where: str | None, greeting: str) -> AsyncIterator[Any]:
    project = ProjectFiles(os.getcwd())
    async with AsyncExitStack() as stack:
        doorstep = LazyBus(where, stack)

        async def place_of(_: Any) -> CallContext:
            bus, settings = await doorstep.bus()
            return CallContext(bus, settings, who, project)

        yield make_server(place_of, greeting)


def _greeting(identity: Identity) -> str:
    role = f", role {identity.role}" if identity.role else ""
    return f"You are {identity.agent}{role}. {INSTRUCTIONS}"
