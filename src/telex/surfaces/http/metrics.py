"""Metrics of the hub for Prometheus. No label holds an agent, a message or a path, so their number is bounded.

Messages are counted by following the event log, which includes the writes of other processes. Requests are counted by a
middleware. Each hub has its own registry.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from contextlib import suppress
from time import perf_counter
from typing import Any

from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from telex import __version__
from telex.errors import StoreError
from telex.model.message import Event, Message, detail_of
from telex.ports.bus import Bus
from telex.ports.store import Query
from telex.surfaces.http.event_history import newest_number

CONTENT_TYPE = CONTENT_TYPE_LATEST
MESSAGES = ("accepted", "refused", "duplicate", "imported")
DELIVERIES = ("acked", "nacked", "lease-expired", "returned", "dead", "expired", "withdrawn")
COUNTED = (*MESSAGES, *DELIVERIES)
COUNTED_EVERY_SECONDS = 1.0
VALUES_MAX = 200  # of one label; a team with more dialects or codes has the rest counted together
OTHER, NONE = "other", "none"
BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)  # seconds
SENDING, WAITING, VIEWING = ("/send",), ("/receive", "/request", "/messages/{id}/settled"), "/events"
STREAM = b"text/event-stream"

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Any]]
Send = Callable[[Any], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]


class Metrics:
    def __init__(self, routes: Iterable[str] = ()) -> None:
        """`routes` are the paths as they are documented, `/messages/{id}`: a request counts under one of them."""
        self.registry = CollectorRegistry(auto_describe=True)
        self._routes = RouteLabels((*routes, *SENDING, *WAITING, VIEWING))
        self._seen: dict[str, set[str]] = {}
        own = self.registry
        Gauge("telex_info", "Always 1; its label has the version.", ["version"], registry=own).labels(__version__).set(
            1
        )
        self._messages = Counter(
            "telex_messages",
            "Messages by outcome and dialect.",
            ["outcome", "dialect"],
            registry=own,
        )
        self._refusals = Counter("telex_refusals", "Refusals by code.", ["code"], registry=own)
        self._deliveries = Counter("telex_deliveries", "Deliveries by outcome.", ["outcome"], registry=own)
        self._depth = Gauge("telex_queue_depth", "Deliveries that wait or are leased.", ["state"], registry=own)
        self._oldest = Gauge("telex_queue_oldest_seconds", "Age of the oldest of them.", registry=own)
        self._members = Gauge("telex_members", "Members of the team by presence.", ["state"], registry=own)
        self._sends = Histogram(
            "telex_send_seconds", "Time from the arrival of a message to its response.", buckets=BUCKETS, registry=own
        )
        self._requests = Counter("telex_http_requests", "Requests answered.", ["route", "status"], registry=own)
        self._after: int | None = None  # the last event that was counted; None: nothing was yet
        self._counting = asyncio.Lock()
        self._counters: dict[tuple[str, int], Counter] = {}
        self._viewers = Gauge("telex_viewers", "Current viewers of live events.", registry=own)
        self._waiting = Gauge("telex_waiting_readers", "Readers that currently wait for a message.", registry=own)

    # --- what happened to messages -----------------------------------------------------------------------------------

    async def follow(self, bus: Bus) -> None:
        """Count what happens from now on, for ever: to be run as a task, and cancelled at the end.

        Now and then is often enough, and costs less than to hear of every message; whoever asks for the numbers has
        them brought up to date first.
        """
        while True:
            with suppress(StoreError):  # it is away: what happens meanwhile is counted when it is back
                await self._catch_up(bus)
            await asyncio.sleep(COUNTED_EVERY_SECONDS)

    async def _catch_up(self, bus: Bus) -> None:
        async with self._counting:
            if self._after is None:
                self._after = await newest_number(bus)
            async for event, message in bus.events(Query(after=self._after, kinds=COUNTED)):
                self.count(event, message)
                self._after = event.seq

    def count(self, event: Event, message: Message | None) -> None:
        if event.kind in DELIVERIES:
            self._deliveries.labels(event.kind).inc()
        if event.kind not in MESSAGES:
            return
        dialect = message.dialect if message is not None else None
        self._messages.labels(event.kind, self._bounded("dialect", dialect or NONE)).inc()
        if event.kind == "refused":
            for code in _codes(event):
                self._refusals.labels(self._bounded("code", code)).inc()

    def _bounded(self, label: str, value: str) -> str:
        """A record may hold anything, and every value of a label is kept for as long as the hub runs."""
        seen = self._seen.setdefault(label, set())
        if value not in seen:
            if len(seen) >= VALUES_MAX:
                return OTHER
            seen.add(value)
        return value

    # --- what the hub does -------------------------------------------------------------------------------------------

    def around(self, app: App) -> App:
        """The same app, counted."""

        async def counted(scope: Scope, receive: Receive, send: Send) -> None:
            if scope["type"] != "http":
                await app(scope, receive, send)
                return
            route, status, began = self._routes.named(scope["path"]), 0, perf_counter()

            async def noticed(message: Any) -> None:
                nonlocal status
                if message["type"] == "http.response.start":
                    status = message["status"]
                await send(message)

            here = self._here(route, scope)
            if here is not None:
                here.inc()
            try:
                await app(scope, receive, noticed)
            finally:
                if here is not None:
                    here.dec()
                self._answered(route, status // 100).inc()
                if route in SENDING and status < 500:
                    self._sends.observe(perf_counter() - began)

        return counted

    def _answered(self, route: str, hundreds: int) -> Counter:
        """Counts such answers. There are few, and to ask for one by its labels takes longer than to count."""
        found = self._counters.get((route, hundreds))
        if found is None:
            found = self._requests.labels(route, f"{hundreds}xx" if hundreds else NONE)
            self._counters[route, hundreds] = found
        return found

    def _here(self, route: str, scope: Scope) -> Gauge | None:
        """Whom a request keeps waiting, as long as it takes."""
        if route in WAITING:
            return self._waiting
        if route == VIEWING and any(name == b"accept" and STREAM in value for name, value in scope["headers"]):
            return self._viewers
        return None

    # --- told --------------------------------------------------------------------------------------------------------

    async def text(self, bus: Bus, now: float) -> bytes:
        """Everything, in the format that Prometheus reads; how much waits is looked up for it."""
        await self._catch_up(bus)
        roster = await bus.roster()
        self._depth.labels("waiting").set(sum(one.waiting for one in roster))
        self._depth.labels("leased").set(sum(one.leased for one in roster))
        oldest = min((one.oldest_at for one in roster if one.oldest_at is not None), default=now)
        self._oldest.set(max(0.0, now - oldest))
        self._members.clear()
        for presence in roster:
            self._members.labels(presence.state).inc()
        return generate_latest(self.registry)


class RouteLabels:
    """Which documented path is a request's? What is none of them counts as `other`, whoever knocks at whatever door."""

    def __init__(self, paths: Iterable[str]) -> None:
        self._plain = {path for path in paths if "{" not in path}
        self._shapes = [(path, path.split("/")) for path in dict.fromkeys(paths) if "{" in path]

    def named(self, path: str) -> str:
        if path in self._plain:
            return path
        parts = path.split("/")
        for name, shape in self._shapes:
            fits = len(shape) == len(parts) or (name.endswith(":path}") and len(parts) > len(shape))
            if fits and all(want.startswith("{") or want == part for want, part in zip(shape, parts, strict=False)):
                return name
        return OTHER


def _codes(event: Event) -> list[str]:
    """The codes that a message was refused for, each once. A foreign record may have anything in that place."""
    findings = detail_of(event).get("findings")
    found = [finding for finding in findings if isinstance(finding, dict)] if isinstance(findings, list) else []
    codes = (one.get("code") for one in found if one.get("severity", "refusal") == "refusal")
    return list(dict.fromkeys(code for code in codes if isinstance(code, str)))
