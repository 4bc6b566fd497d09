"""Metrics of the hub for Prometheus. No label holds an agent, a message or a path, so the number of series is bounded.

Messages are counted by reading the event log, which includes the writes of other processes. Requests are counted by a
middleware. Each hub has its own registry.
"""

import asyncio
from collections.abc import Callable, Iterable
from contextlib import suppress
from time import perf_counter

from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from telex import __version__
from telex.errors import StoreError
from telex.model.message import Event, StoredMessage
from telex.ports.bus import Bus
from telex.ports.replica import ReplicaStatus
from telex.ports.store import Query
from telex.surfaces.alerts.runner import AlertRunner, TargetStatus
from telex.surfaces.http import asgi
from telex.surfaces.http.asgi import App, Receive, ResponseSender, Scope, Send
from telex.surfaces.http.replica import lag, replica_of
from telex.surfaces.http.stream import newest_seq
from telex.surfaces.page.history import refusal_codes

CONTENT_TYPE = CONTENT_TYPE_LATEST
MESSAGES = ("accepted", "refused", "duplicate", "imported")
DELIVERIES = ("acked", "nacked", "lease-expired", "returned", "dead", "expired", "withdrawn")
POLL_SECONDS = 1.0
VALUES_MAX = 200  # of one label; further dialects and codes are counted as `other`
OTHER, NONE = "other", "none"
BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)  # seconds
SEND, WAITING, EVENTS = "/send", ("/receive", "/request", "/messages/{id}/settled"), "/events"
PAGE_UPDATES = "/page/stream"
ALERT_GAUGES: dict[str, tuple[str, Callable[[TargetStatus], float]]] = {
    "telex_alerts_delivered": ("Alerts delivered since the start of the hub.", lambda target: target.delivered),
    "telex_alerts_failed": ("Attempts that failed since the start of the hub.", lambda target: target.failed),
    "telex_alerts_given_up": ("Alerts given up since the start of the hub.", lambda target: target.given_up),
    "telex_alerts_pending": ("Alerts that are not delivered yet.", lambda target: target.pending),
    "telex_alerts_failing": ("1: the last attempt failed.", lambda target: target.error is not None),
}
REPLICA_GAUGES: dict[str, tuple[str, Callable[[ReplicaStatus], float]]] = {
    "telex_replica_position": ("Last log entry of this copy.", lambda status: status.position),
    "telex_replica_lag": ("Log entries that this copy lacks.", lambda status: lag(status, status.position)),
    "telex_replica_writer": ("1: this hub wrote the last batch.", lambda status: status.writer == status.node),
    "telex_replica_halted": ("1: this copy takes no more entries.", lambda status: status.halted is not None),
    "telex_replica_clock_offset_seconds": (
        "Difference of the servers' clock and this machine's.",
        lambda status: status.clock_offset,
    ),
    "telex_replica_log_bytes": ("Size of the log.", lambda status: status.log_bytes),
    "telex_hubs": ("Hubs of the team.", lambda status: len(status.hubs)),
}


class Metrics:
    def __init__(self, routes: Iterable[str] = ()) -> None:
        """`routes` are the documented paths, such as `/messages/{id}`."""
        self.registry = own = CollectorRegistry(auto_describe=True)
        self._routes = RouteLabels((*routes, SEND, *WAITING, EVENTS))
        self._label_values: dict[str, set[str]] = {}
        self._after: int | None = None  # the last event that was counted
        self._lock = asyncio.Lock()
        self._counters: dict[tuple[str, int], Counter] = {}
        info = Gauge("telex_info", "Always 1; its label has the version.", ["version"], registry=own)
        info.labels(__version__).set(1)
        self._messages = Counter(
            "telex_messages", "Messages by outcome and dialect.", ["outcome", "dialect"], registry=own
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
        self._viewers = Gauge("telex_viewers", "Current viewers of live events.", registry=own)
        self._waiting = Gauge("telex_waiting_readers", "Readers that currently wait for a message.", registry=own)
        self.alerts: AlertRunner | None = None
        self._alerts: dict[str, Gauge] = {}  # created with the first alerts
        self._replica: dict[str, Gauge] = {}  # created by the first status: a hub without a replica has none

    # --- events -------------------------------------------------------------------------------------------------------

    async def follow(self, bus: Bus) -> None:
        """Count events from now on. Polling costs less than a stream, and `text` counts the latest events itself."""
        while True:
            with suppress(StoreError):  # retried: counted once the store is available again
                await self._catch_up(bus)
            await asyncio.sleep(POLL_SECONDS)

    async def _catch_up(self, bus: Bus) -> None:
        async with self._lock:
            if self._after is None:
                self._after = await newest_seq(bus)
            async for event, message in bus.events(Query(after=self._after, kinds=(*MESSAGES, *DELIVERIES))):
                self.count(event, message)
                self._after = event.seq

    def count(self, event: Event, message: StoredMessage | None) -> None:
        if event.kind in DELIVERIES:
            self._deliveries.labels(event.kind).inc()
        if event.kind not in MESSAGES:
            return
        dialect = message.dialect if message is not None else None
        self._messages.labels(event.kind, self._bounded("dialect", dialect or NONE)).inc()
        if event.kind == "refused":
            for code in refusal_codes(event):
                self._refusals.labels(self._bounded("code", code)).inc()

    def _bounded(self, label: str, value: str) -> str:
        """The value, or `other` once the label has too many: the registry stores every value."""
        values = self._label_values.setdefault(label, set())
        if value not in values and len(values) >= VALUES_MAX:
            return OTHER
        values.add(value)
        return value

    # --- requests -----------------------------------------------------------------------------------------------------

    def middleware(self, app: App) -> App:
        return asgi.http_middleware(self._count_request)(app)

    async def _count_request(self, app: App, scope: Scope, receive: Receive, send: Send) -> None:
        route, sender, began = self._routes.label(scope["path"]), ResponseSender(send), perf_counter()
        gauge = self._waiting if route in WAITING else None
        if (route == EVENTS or scope["path"] == PAGE_UPDATES) and asgi.is_event_stream(scope):
            gauge = self._viewers
        if gauge is not None:
            gauge.inc()
        try:
            await app(scope, receive, sender)
        finally:
            if gauge is not None:
                gauge.dec()
            # A cache: a lookup by labels takes longer than counting.
            hundreds = sender.status // 100
            counter = self._counters.get((route, hundreds))
            if counter is None:
                counter = self._requests.labels(route, f"{hundreds}xx" if hundreds else NONE)
                self._counters[route, hundreds] = counter
            counter.inc()
            if route == SEND and sender.status < 500:
                self._sends.observe(perf_counter() - began)

    # --- output -------------------------------------------------------------------------------------------------------

    async def text(self, bus: Bus, now: float) -> bytes:
        """All metrics in the format of Prometheus."""
        await self._catch_up(bus)
        roster = await bus.roster()
        self._depth.labels("waiting").set(sum(presence.waiting for presence in roster))
        self._depth.labels("leased").set(sum(presence.leased for presence in roster))
        oldest = min((presence.oldest_at for presence in roster if presence.oldest_at is not None), default=now)
        self._oldest.set(max(0.0, now - oldest))
        self._members.clear()
        for presence in roster:
            self._members.labels(presence.state).inc()
        replica = replica_of(bus)
        if replica is not None:
            self._set_replica(replica.status())
        if self.alerts is not None:
            self._set_alerts(await self.alerts.status())
        return generate_latest(self.registry)

    def _set_alerts(self, targets: Iterable[TargetStatus]) -> None:
        for target in targets:
            for name, (text, value) in ALERT_GAUGES.items():
                if name not in self._alerts:
                    self._alerts[name] = Gauge(name, text, ["target"], registry=self.registry)
                self._alerts[name].labels(target.name).set(value(target))

    def _set_replica(self, status: ReplicaStatus) -> None:
        for name, (text, value) in REPLICA_GAUGES.items():
            if name not in self._replica:
                self._replica[name] = Gauge(name, text, registry=self.registry)
            self._replica[name].set(value(status))


class RouteLabels:
    """Documented path of a request. An unknown path is `other`."""

    def __init__(self, paths: Iterable[str]) -> None:
        paths = list(paths)
        self._exact = {path for path in paths if "{" not in path}
        self._patterns = [(path, path.split("/")) for path in dict.fromkeys(paths) if "{" in path]

    def label(self, path: str) -> str:
        if path in self._exact:
            return path
        parts = path.split("/")
        for label, pattern in self._patterns:
            fits = len(pattern) == len(parts) or (label.endswith(":path}") and len(parts) > len(pattern))
            if fits and all(want.startswith("{") or want == part for want, part in zip(pattern, parts, strict=False)):
                return label
        return OTHER
