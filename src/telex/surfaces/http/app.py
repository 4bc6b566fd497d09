"""ASGI application of the hub: verbs, live events, page, metrics, MCP endpoint and background tasks."""

import asyncio
import logging
import os
import time
from collections.abc import AsyncIterator, Awaitable, Callable, MutableMapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, aclosing, asynccontextmanager, suppress
from functools import partial
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
from telex.ports.environment import TRACEPARENT, carrying
from telex.ports.replica import Replica
from telex.ports.store import TEXT_CHARACTERS_MAX, Query
from telex.protocol import encoded, plain
from telex.protocol.arguments import CODE as ARGUMENTS_WRONG
from telex.protocol.verbs import VERBS, Verb
from telex.surfaces.alerts.items import AlertItems
from telex.surfaces.alerts.runner import AlertLog, AlertOptions, AlertRunner
from telex.surfaces.http import asgi, page
from telex.surfaces.http.answer import answer_routes
from telex.surfaces.http.asgi import App, ClientDisconnected, HttpResponse, Receive, ResponseSender, Scope, Send
from telex.surfaces.http.cloudevents import cloudevents_middleware
from telex.surfaces.http.metrics import CONTENT_TYPE, Metrics
from telex.surfaces.http.openapi import document
from telex.surfaces.http.page_needs_views import NeedsViews
from telex.surfaces.http.page_stats import RecentEvents
from telex.surfaces.http.replica import not_ready, public_health, replica_of
from telex.surfaces.http.stream import Broadcast, in_whole_lines, stream
from telex.surfaces.http.tokens import caller_of, masked
from telex.surfaces.http.verbs import ExtraRoutes, VerbHandler, VerbRoutes, verb_arguments
from telex.surfaces.http.viewer import RequestedRoute, guarded_routes, serve_viewer

SWEEP_SECONDS = 1.0  # between two sweeps of expired leases and timeouts
TELEMETRY = "TELEX_TELEMETRY"  # environment variable: any value turns OpenTelemetry spans on
MCP_METHODS = ["GET", "POST", "DELETE"]
NO_MCP = "This hub does not serve MCP: pip install 'telex[mcp]' on its machine and restart it."
LOG = logging.getLogger("telex.http")
INTERNAL_ERROR = asgi.problem(
    500,
    "internal-error",
    "Ask the operator of the hub to look into its log: this is a bug in Telex, and the log has the traceback.",
)

POSITION, POSITION_DIGITS_MAX = b"telex-position", 18
LOG_NAME = b"telex-log"  # header: which log the position is of
BEHIND_SECONDS_MAX = 5.0  # that a request waits for this hub's copy of a shared store
BEHIND = asgi.problem(
    503,
    "not-ready",
    "Try again, or ask another hub: the copy of this hub does not have yet what the request builds on.",
)

Lifespan = Callable[[], AbstractAsyncContextManager[None]]


def build_app(
    bus: Bus,
    settings: Settings,
    middleware: Callable[[App], App],
    more: Sequence[BaseRoute] = (),
    alerts: AlertOptions | None = None,
) -> App:
    """The complete hub behind an authentication middleware, with additional routes."""
    if os.environ.get(TELEMETRY):
        from telex.telemetry import traced  # an extra

        bus = traced(bus)
    replica = replica_of(bus)
    metrics = Metrics(document()["paths"])

    async def show_metrics(_: Request) -> HttpResponse:
        return HttpResponse(200, await metrics.text(bus, time.time()), CONTENT_TYPE.encode())

    events = RecentEvents(bus)
    needs = NeedsViews(bus, settings, events)
    routes: list[BaseRoute] = [*more, *page.routes(bus, settings, needs), asgi.route("/metrics", show_metrics)]
    lifespans: list[Lifespan] = [lambda: _background(metrics.follow(bus)), lambda: _background(_sweep(bus))]
    lifespans += [lambda: _background(_fill(events)), needs.lifespan]
    alert_log = AlertLog(bus.store) if hasattr(bus, "store") else None
    if alert_log is not None:
        routes += answer_routes(bus, alert_log, needs.needs)
    if alert_log is not None and alerts is not None:
        items = AlertItems(needs.needs)
        metrics.alerts = AlertRunner(alert_log, alerts.settings, items, hub=alerts.hub, team=settings.team_name)
        lifespans.append(metrics.alerts.running)
    if find_spec("mcp") is not None:  # an extra
        mcp = McpMount(bus, settings)
        routes.append(Route("/mcp", mcp, methods=MCP_METHODS))
        lifespans.append(lambda: _background(mcp.run()))
    else:
        routes.append(Route("/mcp", _no_mcp, methods=MCP_METHODS))
    hub = Hub(bus, settings, routes, lifespans, metrics.alerts)
    app = trace_middleware(hub) if replica is None else replica_middleware(trace_middleware(hub), replica)
    behind_auth = cloudevents_middleware(app, settings.limits)
    return metrics.middleware(error_middleware(middleware(behind_auth)))  # refused requests are counted too


class Hub:
    """Verbs and routes as one ASGI application, without authentication."""

    def __init__(
        self,
        bus: Bus,
        settings: Settings,
        routes: Sequence[BaseRoute] = (),
        lifespans: Sequence[Lifespan] = (),
        alerts: AlertRunner | None = None,
    ) -> None:
        self.bus, self.broadcast, self._lifespans, self._alerts = bus, Broadcast(bus), lifespans, alerts
        self._routes, self._verbs = VerbRoutes(), VerbHandler(bus, settings.limits)
        extra = ExtraRoutes(bus, settings)
        own_routes = [
            asgi.route("/send/batch", extra.send_many, "POST"),
            asgi.route("/check", extra.check, "POST"),
            asgi.route("/trace/{correlation:path}/picture", extra.picture),  # the id may contain a slash
            Route("/openapi.json", _constant(encoded(document()))),
            Route("/healthz", _constant(b'{"alive":true}')),
            asgi.route("/readyz", self._readiness),
        ]
        handlers: dict[Any, Any] = {
            HTTPException: _on_http_error,
            TelexError: _on_telex_error,
            ClientDisconnected: _on_disconnect,
            Exception: _on_bug,
        }
        self.starlette = Starlette(
            routes=guarded_routes([*own_routes, *routes]), lifespan=self._lifespan, exception_handlers=handlers
        )
        self.starlette.router.redirect_slashes = False
        self._is_ready, self._is_replica = False, replica_of(bus) is not None

    @asynccontextmanager
    async def _lifespan(self, _: Starlette) -> AsyncIterator[None]:
        async with AsyncExitStack() as stack:
            for lifespan in self._lifespans:
                await stack.enter_async_context(lifespan())
            await self.broadcast.begin()
            self._is_ready = True
            try:
                yield
            finally:
                self._is_ready = False
                await self.broadcast.end()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        target = self._routes.find(scope) if scope["type"] == "http" else None
        if target is None:
            await self.starlette(scope, receive, send)
        elif isinstance(target, HttpResponse):
            await asgi.reply(send, target)
        elif caller_of(scope).viewer:
            verb, in_path = target
            route = RequestedRoute(verb.path, in_path)
            await serve_viewer(route, partial(self._call_verb, target), scope, receive, send)
        else:
            await self._call_verb(target, scope, receive, send)

    async def _call_verb(self, target: tuple[Verb, dict[str, str]], scope: Scope, receive: Receive, send: Send) -> None:
        if target[0].name == "events" and asgi.is_event_stream(scope):
            await self._stream_events(scope, receive, send)
            return
        response = await self._verbs.answer(*target, scope, receive)
        if response is not None:
            await asgi.reply(send, response)

    async def _stream_events(self, scope: Scope, receive: Receive, send: Send) -> None:
        query = _stream_query(scope)
        if isinstance(query, HttpResponse):
            await asgi.reply(send, query)
            return
        async with AsyncExitStack() as stack:
            try:
                is_behind = self._is_replica and not await self._has_event(query[1])
                frames = await stack.enter_async_context(self.broadcast.listening(*query))
            except TelexError as error:
                await asgi.reply(send, asgi.error_response(error))
                return
            if is_behind:
                await asgi.reply(send, BEHIND)
            else:
                await stream(frames, self.broadcast.over, receive, send)

    async def _has_event(self, seq: int | None) -> bool:
        """Wait until this copy has an event that the viewer got from another hub."""
        if not seq:
            return True
        async with aclosing(self.bus.events(Query(after=seq - 1), follow=True, wait=BEHIND_SECONDS_MAX)) as events:
            return await anext(events, None) is not None

    async def _readiness(self, _: Request) -> HttpResponse:
        """Ready means that the store answers and, with a replica, that the copy follows the log."""
        if not self._is_ready or self.broadcast.over.is_set():
            return asgi.problem(503, "not-ready", "Try again in a moment: the hub is starting or stopping.")
        replica = replica_of(self.bus)
        status = None if replica is None else replica.status()
        refusal = None if status is None else not_ready(status, time.time())
        if refusal is not None:
            return refusal
        await self.bus.dead_letters(limit=1)
        facts: dict[str, Any] = {} if status is None else {"replica": plain(public_health(status))}
        if self._alerts is not None:  # a failing target does not make the hub unready
            targets = await self._alerts.status()
            facts["alerts"] = {one.name: "failing" if one.error else "ok" for one in targets}
        return HttpResponse(200, encoded({"ready": True, **facts}))


def _stream_query(scope: Scope) -> tuple[Query, int | None] | HttpResponse:
    """The query of a stream, and the event after which it begins."""
    values = verb_arguments(VERBS["events"], {}, scope, b"")
    if isinstance(values, HttpResponse):
        return values
    last_id = asgi.header(scope, b"last-event-id").strip()
    if last_id and not (last_id.isdigit() and len(last_id) <= 18):
        say = "Give the id of the last received event."
        return asgi.findings_response([Finding(ARGUMENTS_WRONG, "Last-Event-ID", say)])
    if len(values.get("text") or "") > TEXT_CHARACTERS_MAX:
        say = f"Give at most {TEXT_CHARACTERS_MAX:,} characters."
        return asgi.findings_response([Finding(ARGUMENTS_WRONG, "$.text", say)])
    query = Query(**{name: value for name, value in values.items() if name in Query._fields})
    return query, int(last_id) if last_id else values.get("after")


def _constant(body: bytes) -> Callable[[Request], Awaitable[Response]]:
    response = asgi.starlette_response(HttpResponse(200, body))

    async def answer(_: Request) -> Response:
        return response

    return answer


async def _on_http_error(_: Request, error: HTTPException) -> Response:
    if error.status_code == 405:
        return asgi.starlette_response(asgi.method_not_allowed((error.headers or {}).get("Allow", "")))
    return asgi.starlette_response(asgi.problem(404, "not-found", "Not found: /openapi.json lists the paths."))


async def _on_telex_error(_: Request, error: TelexError) -> Response:
    return asgi.starlette_response(asgi.error_response(error))


async def _on_disconnect(_: Request, error: ClientDisconnected) -> Response:
    return Response(status_code=499)


async def _on_bug(_: Request, error: Exception) -> Response:
    return asgi.starlette_response(INTERNAL_ERROR)  # starlette raises the error again, and `error_middleware` logs it


# --- middlewares ------------------------------------------------------------------------------------------------------


@asgi.http_middleware
async def error_middleware(app: App, scope: Scope, receive: Receive, send: Send) -> None:
    """Log an internal error. The response has no details, because a traceback may quote messages of other agents."""
    sender = ResponseSender(send)
    try:
        await app(scope, receive, sender)
    except Exception:
        if sender.status and not sender.done:
            raise  # the server closes the connection, so that a client sees that the response is incomplete
        LOG.exception("%s %r failed", scope["method"], masked(scope["path"])[:200])
        await sender.finish(INTERNAL_ERROR)


@asgi.http_middleware
async def trace_middleware(app: App, scope: Scope, receive: Receive, send: Send) -> None:
    """Store the `traceparent` of a request with the messages that it sends."""
    value = asgi.header(scope, TRACEPARENT.encode())
    if not value:
        await app(scope, receive, send)
        return
    with carrying(value.decode("latin-1")):
        await app(scope, receive, send)


def replica_middleware(app: App, replica: Replica) -> App:
    """Delay a request until this copy has every entry that the client has seen, and put the position of the copy into
    the response: a client that changes its hub reads its own writes."""

    async def handle(app: App, scope: Scope, receive: Receive, send: Send) -> None:
        name = replica.incarnation.encode()
        wanted = _position(asgi.header(scope, POSITION)) if asgi.header(scope, LOG_NAME) in (b"", name) else 0
        if wanted > replica.position and not await replica.reach(wanted, BEHIND_SECONDS_MAX):
            await asgi.reply(send, BEHIND)
            return

        async def send_with_position(event: MutableMapping[str, Any]) -> None:
            if event["type"] == "http.response.start":
                own = ((POSITION, b"%d" % replica.position), (LOG_NAME, name))
                event = {**event, "headers": [*event["headers"], *own]}
            await send(event)

        await app(scope, receive, send_with_position)

    return asgi.http_middleware(handle)(app)


def _position(text: bytes) -> int:
    """0: absent, or no number."""
    return int(text) if text.isdigit() and len(text) <= POSITION_DIGITS_MAX else 0


# --- MCP and background tasks -----------------------------------------------------------------------------------------


class McpMount:
    """The MCP endpoint, loaded in the background: the SDK takes a second to import."""

    def __init__(self, bus: Bus, settings: Settings) -> None:
        self._bus, self._settings = bus, settings
        self._app: asyncio.Future[App] | None = None

    async def run(self) -> None:
        self._app = asyncio.get_running_loop().create_future()
        try:
            endpoint = (await asyncio.to_thread(_import_mcp))(self._bus, settings=self._settings)
            async with endpoint.lifespan():
                self._app.set_result(endpoint.app)
                await asyncio.Event().wait()
        except Exception as error:
            self._app.set_exception(error)  # every request raises it

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        assert self._app is not None, "background tasks start before the first request"
        app = await asyncio.shield(self._app)
        await app(scope, receive, in_whole_lines(send))


def _import_mcp() -> Any:
    from telex.surfaces.mcp.http import mcp_app

    return mcp_app


async def _no_mcp(_: Request) -> Response:
    return asgi.starlette_response(asgi.problem(404, "not-found", NO_MCP))


async def _sweep(bus: Bus) -> None:
    while True:
        with suppress(TelexError):  # requests report an unavailable store
            await bus.sweep()
        await asyncio.sleep(SWEEP_SECONDS)


async def _fill(events: RecentEvents) -> None:
    """Fold the log for the page; where the store is unavailable, requests report it."""
    with suppress(TelexError):
        await events.fill()


@asynccontextmanager
async def _background(work: Awaitable[None]) -> AsyncIterator[None]:
    task = asyncio.ensure_future(work)
    try:
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
