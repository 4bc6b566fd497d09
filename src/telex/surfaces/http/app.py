"""The hub: one bus, opened to the network and to people.

Verbs go straight to the bus; live events, the page and the MCP door are behind the same doorkeeper.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
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
from telex.protocol import encoded
from telex.protocol.arguments import from_texts
from telex.protocol.verbs import Verb, arguments
from telex.surfaces.http import problem
from telex.surfaces.http.asgi import App, ClientDisconnected, Receive, Scope, Send, header, reply
from telex.surfaces.http.error_middleware import MISTAKE
from telex.surfaces.http.openapi import document
from telex.surfaces.http.problem import HttpResponse
from telex.surfaces.http.routes_extra import ExtraRoutes, response
from telex.surfaces.http.stream import Broadcast
from telex.surfaces.http.stream_frames import stream
from telex.surfaces.http.verbs import VerbHandler, VerbRoutes, queried

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
            await reply(send, problem.of_findings(findings))
            return
        after = int(resumed) if resumed else values.get("after")
        query = Query(**{name: value for name, value in values.items() if name in Query._fields})
        async with AsyncExitStack() as stack:
            try:
                texts = await stack.enter_async_context(self.broadcast.listening(query, after))
            except TelexError as error:
                await reply(send, problem.of_error(error))
            else:
                await stream(texts, self.broadcast.over, receive, send)

    async def _is_ready(self, request: Request) -> Response:
        """Alive is one thing; ready means that the store answers."""
        if not self._ready or self.broadcast.over.is_set():
            return response(
                problem.problem(503, "not-ready", "Try again in a moment: the hub is starting or stopping.")
            )
        try:
            await self.bus.dead_letters(limit=1)
        except TelexError as error:
            return response(problem.of_error(error))
        return Response(b'{"ready":true}', media_type="application/json")


def _constant(body: bytes) -> Callable[[Request], Awaitable[Response]]:
    async def answer(request: Request) -> Response:  # what is not async would be run in a thread
        return Response(body, media_type="application/json")

    return answer


async def _not_ours(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    if error.status_code == 405:
        allowed = (error.headers or {}).get("Allow", "")
        told = problem.problem(405, "method-not-allowed", f"Use {allowed} here.")
        return response(told._replace(headers=((b"allow", allowed.encode()),)))
    assert error.status_code == 404, "nothing of ours raises another"
    return response(problem.problem(404, "not-found", "Not found: /openapi.json lists the paths."))


async def _went_wrong(request: Request, error: Exception) -> Response:
    assert isinstance(error, TelexError)
    return response(problem.of_error(error))


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
