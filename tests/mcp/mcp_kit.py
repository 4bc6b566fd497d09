"""What the tests of the MCP door share: real clients of the SDK, on every transport, in both eras of the protocol."""

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlencode

import httpx2
import pytest
import uvicorn
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from starlette.applications import Starlette
from starlette.routing import Route

from telex.config import Settings
from telex.connection import connect
from telex.ports.bus import Bus
from telex.surfaces.http.tokens import AT_HOME, Caller
from telex.surfaces.mcp.http import make_server, mcp_app
from telex.surfaces.mcp.identity import Identity
from telex.surfaces.mcp.tool_calls import CallContext, ProjectFiles

TELEX = str(Path(sys.executable).parent / "telex")
OLD, NEW, PROBED = "legacy", "2026-07-28", "auto"
ERAS = (OLD, NEW, PROBED)
QUICK = Settings(durable=False)
CALLERS = {  # by token, as the doorkeeper would have it
    "dev's": Caller("dev", "dev", False, "t-1"),
    "a person's": Caller(None, None, True, "t-2"),
}


class Said(NamedTuple):
    """What a tool answered."""

    text: str
    tree: dict[str, Any]  # only on request
    wrong: bool


class Agent:
    """A coding agent with its tools: `await dev.send(message="…", to="lead")`."""

    def __init__(self, client: Client) -> None:
        self.client = client

    def __getattr__(self, tool: str) -> Callable[..., Awaitable[Said]]:
        async def call(**arguments: Any) -> Said:
            result = await self.client.call_tool(tool, arguments)
            [content] = result.content
            assert content.type == "text"
            return Said(content.text, result.structured_content, result.is_error)

        return call

    async def read(self, uri: str) -> str:
        [content] = (await self.client.read_resource(uri)).contents
        text = getattr(content, "text", None)
        assert isinstance(text, str)
        return text

    async def take(self, **arguments: Any) -> dict[str, Any]:
        """Wait for one message, which must come."""
        [leased] = (await self.wait(**arguments)).tree["answer"]
        assert isinstance(leased, dict)
        return leased


Meet = Callable[..., Awaitable[Agent]]  # `await meet("dev", role=None, token=None)`: an agent that has come


# --- as processes on stdin and stdout -----------------------------------------------------------------------------


@asynccontextmanager
async def on_stdio(folder: Path, era: str, *, structured: bool = True) -> AsyncIterator[Meet]:
    async with AsyncExitStack() as stack:

        async def meet(name: str, role: str | None = None) -> Agent:
            words = [
                "mcp",
                "--as",
                name,
                *(["--role", role] if role else []),
                *(["--structured"] if structured else []),
            ]
            started = StdioServerParameters(command=TELEX, args=words, cwd=folder)
            return Agent(await stack.enter_async_context(Client(started, mode=era)))

        yield meet


# --- over HTTP ----------------------------------------------------------------------------------------------------


class Served(uvicorn.Server):
    """A server that says when it listens."""

    def __init__(self, app: Any) -> None:
        super().__init__(uvicorn.Config(app, port=0, log_level="critical", ws="none", lifespan="on"))
        self.listens = asyncio.Event()

    async def startup(self, sockets: Any = None) -> None:
        await super().startup(sockets)
        self.listens.set()

    @property
    def port(self) -> int:
        port: int = self.servers[0].sockets[0].getsockname()[1]
        return port


def caller_by_header(scope: Any) -> Caller:
    """As a doorkeeper would tell it. Whoever shows no token is at home."""
    shown = dict(scope["headers"]).get(b"authorization", b"").decode().removeprefix("Bearer ")
    return CALLERS[shown] if shown else AT_HOME


@asynccontextmanager
async def served(bus: Bus, settings: Settings = QUICK) -> AsyncIterator[str]:
    """A hub with nothing but the MCP door. Its address."""
    door = mcp_app(bus, caller_by_header, settings=settings)
    app = Starlette(routes=[Route("/mcp", endpoint=door.app)], lifespan=lambda _: door.lifespan())
    server = Served(app)
    running = asyncio.create_task(server.serve())
    await server.listens.wait()
    try:
        yield f"http://127.0.0.1:{server.port}/mcp"
    finally:
        server.should_exit = True
        await running


@asynccontextmanager
async def over_http(folder: Path, era: str, *, structured: bool = True) -> AsyncIterator[Meet]:
    async with connect(folder / "hub.db", settings=QUICK) as bus, served(bus) as address, AsyncExitStack() as stack:

        async def meet(name: str | None, role: str | None = None, token: str | None = None) -> Agent:
            headers = {"Authorization": f"Bearer {token}"} if token else {}
            asking = await stack.enter_async_context(httpx2.AsyncClient(headers=headers, timeout=60))
            given = {"as": name, "role": role, "structured": "1" if structured else None}
            query = urlencode({key: value for key, value in given.items() if value})
            transport = streamable_http_client(f"{address}?{query}", http_client=asking)
            return Agent(await stack.enter_async_context(Client(transport, mode=era)))

        yield meet


# --- in this process ----------------------------------------------------------------------------------------------


@asynccontextmanager
async def at_hand(folder: Path | None, era: str = NEW, *, structured: bool = True) -> AsyncIterator[Meet]:
    """The quickest: the same server, with no transport to speak of; without a folder, on a store in memory."""
    where = "memory:" if folder is None else folder / "team.db"
    async with connect(where, settings=QUICK) as bus, AsyncExitStack() as stack:

        async def meet(name: str, role: str | None = None) -> Agent:
            async def context_of(_: bool) -> CallContext:
                return CallContext(bus, QUICK, lambda: Identity(name, role), ProjectFiles(str(folder)))

            server = make_server(lambda _: context_of, is_structured=lambda _: structured)
            return Agent(await stack.enter_async_context(Client(server, mode=era)))

        yield meet


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
async def meet(tmp_path: Path) -> AsyncIterator[Meet]:
    """Agents at hand, on a store in the test's folder."""
    async with at_hand(tmp_path) as agents:
        yield agents


def played(play: Callable[[Meet], Awaitable[None]], folder: Path | None = None, era: str = NEW) -> None:
    """Have a play played by agents at hand."""

    async def run() -> None:
        async with at_hand(folder, era) as meet:
            await play(meet)

    asyncio.run(run())


DOORS = {"stdio": on_stdio, "http": over_http, "at hand": at_hand}


def tokens_of(tree: Any) -> str:
    """A tree as it is sent."""
    return json.dumps(tree, ensure_ascii=False, separators=(",", ":"))


def bare_environment() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if not name.startswith("TELEX_")}
