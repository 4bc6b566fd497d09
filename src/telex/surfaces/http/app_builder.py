"""Builder of the hub's application: verbs, page, metrics, MCP endpoint and background tasks."""

import asyncio
import os
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from importlib.util import find_spec
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from telex.config import Settings
from telex.errors import TelexError
from telex.ports.bus import Bus
from telex.surfaces.http import page, problem
from telex.surfaces.http.app import make_app
from telex.surfaces.http.asgi import App, Receive, Scope, Send
from telex.surfaces.http.cloudevents import cloudevents_middleware
from telex.surfaces.http.error_middleware import error_middleware
from telex.surfaces.http.metrics import CONTENT_TYPE, Metrics
from telex.surfaces.http.openapi import document
from telex.surfaces.http.routes_extra import response
from telex.surfaces.http.stream_frames import in_whole_lines
from telex.surfaces.http.trace_middleware import trace_middleware

SWEEP_SECONDS = 1.0  # what the clock asks for is done here even while nobody receives
TELEMETRY = "TELEX_TELEMETRY"  # anything: spans of OpenTelemetry are made
MCP_METHODS = ["GET", "POST", "DELETE"]
NO_MCP = "This hub does not serve MCP: pip install 'telex[mcp]' on its machine and restart it."


def build_app(bus: Bus, settings: Settings, doorkeeper: Callable[[App], App], more: Sequence[BaseRoute] = ()) -> App:
    """The whole hub over that bus, behind that doorkeeper; with more routes, if there are any."""
    if os.environ.get(TELEMETRY):
        from telex.telemetry import traced  # an extra of its own, which only those pay for who ask for it

        bus = traced(bus)
    metrics = Metrics(document()["paths"])
    routes: list[BaseRoute] = [*more, *page.routes(bus, settings), Route("/metrics", _told(metrics, bus))]
    lifespans: list[Callable[[], Any]] = [
        lambda: _meanwhile(metrics.follow(bus)),
        lambda: _meanwhile(_sweeping(bus)),
    ]
    if find_spec("mcp") is not None:  # an extra of its own; a hub does without
        door = McpMount(bus, settings)
        routes.append(Route("/mcp", door, methods=MCP_METHODS))
        lifespans.append(lambda: _meanwhile(door.stand_open()))
    else:
        routes.append(Route("/mcp", _no_mcp, methods=MCP_METHODS))

    def counted_behind(app: App) -> App:
        ours = cloudevents_middleware(trace_middleware(app), settings.limits)
        return metrics.around(error_middleware(doorkeeper(ours)))  # whoever is turned away counts as well

    return make_app(bus, settings, doorkeeper=counted_behind, routes=routes, lifespans=lifespans)


class McpMount:
    """The MCP door, put in while the hub is up already: the SDK takes a second to import, and nobody else waits."""

    def __init__(self, bus: Bus, settings: Settings) -> None:
        self._bus, self._settings = bus, settings
        self._app: asyncio.Future[App] | None = None

    async def stand_open(self) -> None:
        """For as long as the hub is up."""
        self._app = asyncio.get_running_loop().create_future()
        try:
            make = await asyncio.to_thread(_mcp)
            door = make(self._bus, settings=self._settings)
            async with door.lifespan():
                self._app.set_result(door.app)
                await asyncio.Event().wait()
        except Exception as error:
            self._app.set_exception(error)  # told to whoever knocks

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        assert self._app is not None, "the hub is up before anybody knocks"
        app = await asyncio.shield(self._app)
        await app(scope, receive, in_whole_lines(send))


async def _no_mcp(_: Request) -> Response:
    return response(problem.problem(404, "not-found", NO_MCP))


def _mcp() -> Any:
    from telex.surfaces.mcp.http import mcp_app

    return mcp_app


def _told(metrics: Metrics, bus: Bus) -> Callable[[Request], Awaitable[Response]]:
    async def answer(request: Request) -> Response:
        return Response(await metrics.text(bus, time.time()), media_type=CONTENT_TYPE)

    return answer


async def _sweeping(bus: Bus) -> None:
    while True:
        with suppress(TelexError):  # a store that is away for a moment is told to whoever asks for something
            await bus.sweep()
        await asyncio.sleep(SWEEP_SECONDS)


@asynccontextmanager
async def _meanwhile(doing: Any) -> AsyncIterator[None]:
    """Do it for as long as the hub is up."""
    task = asyncio.ensure_future(doing)
    try:
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
