"""Middleware for internal errors: a problem document in the response, the traceback in the hub's log.

The response says nothing about the error, because a traceback names paths and may quote messages of others.
"""

import asyncio
import logging
import os
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from importlib.util import find_spec
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from telex.config import Settings
from telex.errors import TelexError
from telex.model.finding import Finding
from telex.ports.bus import Bus
from telex.ports.store import TEXT_CHARACTERS_MAX, Query
from telex.ports.trace_context import TRACEPARENT, carrying
from telex.protocol import encoded
from telex.protocol.arguments import from_texts
from telex.protocol.verbs import Verb, arguments
from telex.surfaces.http import page
from telex.surfaces.http.asgi import (
    App,
    ClientDisconnected,
    HttpResponse,
    Receive,
    ResponseSender,
    Scope,
    Send,
    error_response,
    findings_response,
    header,
    problem,
    reply,
)
from telex.surfaces.http.cloudevents import cloudevents_middleware
from telex.surfaces.http.metrics import CONTENT_TYPE, Metrics
from telex.surfaces.http.openapi import document
from telex.surfaces.http.routes_extra import ExtraRoutes, response
from telex.surfaces.http.stream import Broadcast, in_whole_lines, stream
from telex.surfaces.http.verbs import VerbHandler, VerbRoutes, queried

LOG = logging.getLogger("telex.http")
CODE = "internal-error"
MISTAKE = problem(
    500,
    CODE,
    "Ask the operator of the hub to look into its log: this is a bug in Telex, and the log has the traceback.",
)


def error_middleware(app: App) -> App:
    """The same app, whose mistakes are answered and logged. An answer that has begun is broken off, so that nobody
    takes the half of it for the whole."""

    async def door(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await app(scope, receive, send)
            return
        answering = ResponseSender(send)
        try:
            await app(scope, receive, answering)
        except Exception:
            if answering.began and not answering.done:
                raise  # the server logs it and closes the connection
            LOG.exception("%s %r failed", scope["method"], scope["path"][:200])
            await answering.finish(MISTAKE)

    return door


_NAME = TRACEPARENT.encode()


def trace_middleware(app: App) -> App:
    async def door(scope: Scope, receive: Receive, send: Send) -> None:
        said = header(scope, _NAME) if scope["type"] == "http" else b""
        if not said:
            await app(scope, receive, send)
            return
        with carrying(said.decode("latin-1")):
            await app(scope, receive, send)

    return door


EVENT_STREAM = b"text/event-stream"
Lifespan = Callable[[], Any]  # an async context manager for as long as the hub is up


class Hub:
    """The whole of it as one ASGI application, without the doorkeeper."""

    def __init__(
        self, bus: Bus, settings: Settings, routes: Sequence[BaseRoute] = (), lifespans: Sequence[Lifespan] = ()
    ) -> None:
        self.bus = bus
        self.broadcast = Broadcast(bus)
        self._routes, self._door = VerbRoutes(), VerbHandler(bus, settings.limits)
        self._lifespans = lifespans
        self._extra = ExtraRoutes(bus, settings)
        self._rest = Starlette(routes=[*self._own_routes(), *routes], lifespan=self._lifespan, exception_handlers={
            HTTPException: _not_ours,
            TelexError: _went_wrong,
            ClientDisconnected: _nobody_is_there,
            Exception: _own_mistake,
        })  # fmt: skip
        self._rest.router.redirect_slashes = False  # a path is right or it is not
        self._ready = False

    def _own_routes(self) -> list[BaseRoute]:
        return [
            Route("/send/batch", self._extra.send_many, methods=["POST"]),
            Route("/check", self._extra.check, methods=["POST"]),
            Route("/trace/{correlation:path}/picture", self._extra.picture),  # its id may have a slash in it
            Route("/openapi.json", _constant(encoded(document()))),
            Route("/healthz", _constant(b'{"alive":true}')),
            Route("/readyz", self._is_ready),
        ]

    @asynccontextmanager
    async def _lifespan(self, app: Starlette) -> AsyncIterator[None]:
        async with AsyncExitStack() as stack:
            for lifespan in self._lifespans:
                await stack.enter_async_context(lifespan())
            await self.broadcast.begin()
            self._ready = True
            try:
                yield
            finally:
                self._ready = False
                await self.broadcast.end()

    @property
    def beside_the_verbs(self) -> Sequence[BaseRoute]:
        return self._rest.routes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        found = self._routes.find(scope) if scope["type"] == "http" else None
        if found is None:
            await self._rest(scope, receive, send)
        elif isinstance(found, HttpResponse):
            await reply(send, found)
        elif found[0].name == "events" and _is_to_stream(scope):
            await self._live(found[0], scope, receive, send)
        else:
            answer = await self._door.answer(*found, scope, receive)
            if answer is not None:
                await reply(send, answer)

    async def _live(self, verb: Verb, scope: Scope, receive: Receive, send: Send) -> None:
        given = queried(scope["query_string"])
        if isinstance(given, HttpResponse):
            await reply(send, given)
            return
        values = from_texts(arguments(verb.name), given)
        findings = values if isinstance(values, list) else []
        resumed = header(scope, b"last-event-id").strip()
        if resumed and not (resumed.isdigit() and len(resumed) <= 18):
            findings = [Finding("arguments-wrong", "Last-Event-ID", "Give the id of the last received event.")]
        if not isinstance(values, list) and len(values.get("text") or "") > TEXT_CHARACTERS_MAX:
            findings = [Finding("arguments-wrong", "$.text", f"Give at most {TEXT_CHARACTERS_MAX:,} characters.")]
        if findings or isinstance(values, list):
            await reply(send, findings_response(findings))
            return
        after = int(resumed) if resumed else values.get("after")
        query = Query(**{name: value for name, value in values.items() if name in Query._fields})
        async with AsyncExitStack() as stack:
            try:
                texts = await stack.enter_async_context(self.broadcast.listening(query, after))
            except TelexError as error:
                await reply(send, error_response(error))
            else:
                await stream(texts, self.broadcast.over, receive, send)

    async def _is_ready(self, request: Request) -> Response:
        """Alive is one thing; ready means that the store answers."""
        if not self._ready or self.broadcast.over.is_set():
            return response(problem(503, "not-ready", "Try again in a moment: the hub is starting or stopping."))
        try:
            await self.bus.dead_letters(limit=1)
        except TelexError as error:
            return response(error_response(error))
        return Response(b'{"ready":true}', media_type="application/json")


def _constant(body: bytes) -> Callable[[Request], Awaitable[Response]]:
    async def answer(request: Request) -> Response:  # what is not async would be run in a thread
        return Response(body, media_type="application/json")

    return answer


async def _not_ours(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    if error.status_code == 405:
        allowed = (error.headers or {}).get("Allow", "")
        told = problem(405, "method-not-allowed", f"Use {allowed} here.")
        return response(told._replace(headers=((b"allow", allowed.encode()),)))
    assert error.status_code == 404, "nothing of ours raises another"
    return response(problem(404, "not-found", "Not found: /openapi.json lists the paths."))


async def _went_wrong(request: Request, error: Exception) -> Response:
    assert isinstance(error, TelexError)
    return response(error_response(error))


async def _nobody_is_there(request: Request, error: Exception) -> Response:
    return Response(status_code=499)  # nobody reads it


async def _own_mistake(request: Request, error: Exception) -> Response:
    return response(MISTAKE)  # it is raised again after this, and logged


def _is_to_stream(scope: Scope) -> bool:
    return scope["method"] == "GET" and EVENT_STREAM in header(scope, b"accept").lower()


def make_app(
    bus: Bus,
    settings: Settings,
    *,
    doorkeeper: Callable[[App], App],
    routes: Sequence[BaseRoute] = (),
    lifespans: Sequence[Lifespan] = (),
) -> App:
    """The hub over that bus, behind a doorkeeper, which says of every request who is asking."""
    return doorkeeper(Hub(bus, settings, routes, lifespans))


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
    return response(problem(404, "not-found", NO_MCP))


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
