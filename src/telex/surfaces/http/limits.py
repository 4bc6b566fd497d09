"""Limits of the hub per request and per connection: sizes, timeouts, and how many at once.

uvicorn has no timeout for a request head, no limit for its size, and none for a client that does not read its
response. Timers start only where something is late already, so that a request in one piece costs nothing more.
"""

import asyncio
import time
from collections import Counter
from typing import Any, cast

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

from telex.model.limits import HUB_LIMITS, HubLimits
from telex.surfaces.http import asgi
from telex.surfaces.http.asgi import App, HttpResponse, Receive, ResponseSender, Scope, Send, TaskWatch
from telex.surfaces.http.auth import is_loopback
from telex.surfaces.http.tokens import caller_of

_CLOSING_RESPONSES = {"/receive": HttpResponse(200, b'{"answer":[]}')}  # no message came, which is not an error
_HEADER_LINE_BYTES = len(b": \r\n")
_URL_BYTES_MAX = 65_535  # of the parser
_READ_BYTES_MIN = 16_384  # a client that reads less in `write_seconds` is disconnected
_Task = asyncio.Task[Any]
_Key = tuple[str | None, bool]  # token, and whether it is a stream
_ALL_STREAMS: _Key = (None, True)


class RequestLimits:
    """Middleware behind the authentication: open requests, body size, and time to send a body."""

    def __init__(self, limits: HubLimits = HUB_LIMITS) -> None:
        self._limits = limits
        self._open: dict[_Task, int] = {}  # bytes of the body of each open request
        self._body_bytes = 0  # of all of them
        self._counts: Counter[_Key] = Counter()
        self._is_closing = False
        self._body_watch: TaskWatch[float] = TaskWatch(
            lambda began: time.monotonic() - began >= limits.body_seconds, limits.body_seconds / 4
        )

    def __call__(self, app: App) -> App:
        return asgi.http_middleware(self._handle)(app)

    def end(self) -> None:
        """Send a response to every waiting request and end all streams, because the hub stops."""
        self._is_closing = True
        for task in list(self._open):
            task.cancel()

    async def _handle(self, app: App, scope: Scope, receive: Receive, send: Send) -> None:
        token, is_stream = caller_of(scope).token, asgi.is_event_stream(scope)
        if self._is_closing:
            await asgi.reply(send, asgi.HUB_CLOSING)
        elif self._is_full(token, is_stream):
            await asgi.reply(send, asgi.TOO_MANY_REQUESTS)
        else:
            keys: list[_Key] = [(token, is_stream)] if token is not None else []
            keys += [_ALL_STREAMS] if is_stream else []
            await self._run(app, scope, receive, ResponseSender(send), keys)

    async def _run(self, app: App, scope: Scope, receive: Receive, sender: ResponseSender, keys: list[_Key]) -> None:
        task = asgi.current_task()
        self._open[task] = 0
        for key in keys:
            self._counts[key] += 1
        try:
            await self._with_body(app, scope, receive, sender)
        except asyncio.CancelledError:
            if not self._is_closing:
                raise
            task.uncancel()
            await sender.finish(_CLOSING_RESPONSES.get(scope["path"], asgi.HUB_CLOSING))
        finally:
            self._body_bytes -= self._open.pop(task)
            for key in keys:
                self._counts[key] -= 1
                if not self._counts[key]:
                    del self._counts[key]  # the number of tokens is not bounded

    def _is_full(self, token: str | None, is_stream: bool) -> bool:
        limits, counts = self._limits, self._counts
        if len(self._open) >= limits.requests_max or (is_stream and counts[_ALL_STREAMS] >= limits.viewers_max):
            return True
        if token is None:
            return False
        return counts[token, is_stream] >= (
            limits.viewers_per_token_max if is_stream else limits.requests_per_token_max
        )

    async def _with_body(self, app: App, scope: Scope, receive: Receive, send: Send) -> None:
        """Call the app once the body is complete, so that nothing waits for half a message."""
        if scope["method"] in ("GET", "HEAD"):
            await app(scope, receive, send)
            return
        body: bytes | HttpResponse | None = asgi.BODY_TOO_LARGE
        lengths = [value for name, value in scope["headers"] if name == b"content-length"]
        if not any(asgi.is_longer(length, self._limits.body_bytes_max) for length in lengths):
            body = await self._body_watch.run(time.monotonic(), self._read(receive), if_expired=asgi.TOO_SLOW)
        if isinstance(body, HttpResponse):
            await asgi.reply(send, body)
        elif body is not None:
            await app(scope, asgi.with_body(body, receive), send)

    async def _read(self, receive: Receive) -> bytes | HttpResponse | None:
        """The body, or the response to one that is too large. None: the client has disconnected."""
        task = asgi.current_task()
        parts: list[bytes] = []
        while True:
            event = await receive()
            if event["type"] == "http.disconnect":
                return None
            parts.append(event.get("body", b""))
            self._open[task] += len(parts[-1])
            self._body_bytes += len(parts[-1])
            if self._open[task] > self._limits.body_bytes_max:
                return asgi.BODY_TOO_LARGE
            if self._body_bytes > self._limits.bodies_bytes_max:
                return asgi.TOO_MANY_REQUESTS
            if not event.get("more_body"):
                return b"".join(parts)


class HubProtocol(HttpToolsProtocol):
    """One connection. `limited_protocol` makes a subclass with limits and a count of connections by peer."""

    limits: HubLimits = HUB_LIMITS
    peers: "Counter[str]"

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._request_timer: asyncio.TimerHandle | None = None  # until a request is complete
        self._write_timer: asyncio.TimerHandle | None = None  # until the client has read enough
        self._unparsed_bytes = 0  # since the last complete part of a request
        self._parse_error = asgi.NOT_HTTP  # response to what the parser refuses
        self._in_head = self._in_body = self._ignores_input = False
        self._peer: str | None = None
        self._cycles: list[RequestResponseCycle] = []  # unanswered requests: several with pipelining

    # --- number of connections ----------------------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._peer = self.client[0] if self.client else ""
        self.peers[self._peer] += 1
        is_over_peer_limit = self.peers[self._peer] > self.limits.connections_per_peer_max
        if len(self.connections) > self.limits.connections_max or (is_over_peer_limit and not is_loopback(self._peer)):
            self._refuse(asgi.TOO_MANY_CONNECTIONS)
        else:
            self._start_request_timer()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_timers()
        if self._peer is not None:
            self.peers[self._peer] -= 1
            if not self.peers[self._peer]:
                del self.peers[self._peer]
            self._peer = None
        for cycle in self._cycles:  # uvicorn notifies only the last of them
            cycle.disconnected = True
            cycle.message_event.set()
        self._cycles.clear()
        super().connection_lost(exc)

    # --- size and time of a request -----------------------------------------------------------------------------------

    def on_message_begin(self) -> None:
        self._in_head = True
        super().on_message_begin()

    def on_header(self, name: bytes, value: bytes) -> None:
        if self._in_head:  # otherwise it is a trailer, which is ignored (RFC 9110, 6.5.1)
            super().on_header(name, value.strip(b" \t"))  # the parser leaves trailing blanks (5.5)

    def on_headers_complete(self) -> None:
        size = len(self.url) + sum(len(name) + len(value) + _HEADER_LINE_BYTES for name, value in self.headers)
        if size > self.limits.head_bytes_max or len(self.url) > _URL_BYTES_MAX:
            self._parse_error = asgi.HEAD_TOO_LARGE
            raise ValueError("head too large")  # the parser stops, and uvicorn calls `send_400_response`
        self._in_head, self._in_body = False, True
        self._unparsed_bytes = max(self._unparsed_bytes - size, 0)  # a trailer may be in the same segment
        super().on_headers_complete()
        self._cycles = [cycle for cycle in self._cycles if not cycle.response_complete]
        if self.cycle is not None:
            self._cycles.append(self.cycle)

    def on_body(self, body: bytes) -> None:
        self._unparsed_bytes = 0
        super().on_body(body)

    def on_message_complete(self) -> None:
        self._in_body, self._unparsed_bytes = False, 0
        super().on_message_complete()

    def data_received(self, data: bytes) -> None:
        if self._ignores_input or self.transport.is_closing():
            return
        self._unparsed_bytes += len(data)
        super().data_received(data)
        if self.transport.is_closing():
            self._stop_timers()
        elif self._unparsed_bytes > self.limits.head_bytes_max and not self._ignores_input:
            self._refuse(asgi.HEAD_TOO_LARGE)  # a head, trailer or chunk extension
        elif self._is_answering():
            self._stop_request_timer()  # `RequestLimits` limits the rest
        elif self._in_head or self._in_body:  # the body of a request that was answered before it was complete
            self._start_request_timer()
        elif self._current_cycle() is not None:
            self._stop_request_timer()
            self._unset_keepalive_if_required()
            self.timeout_keep_alive_task = self.loop.call_later(
                self.timeout_keep_alive, self.timeout_keep_alive_handler
            )

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if (self._in_head or self._in_body) and not self._is_answering() and not self.transport.is_closing():
            self._unset_keepalive_if_required()  # the next request has begun, and has its own timeout
            self._start_request_timer()

    def _start_request_timer(self) -> None:
        if self._request_timer is None:
            self._request_timer = self.loop.call_later(self.limits.head_seconds, self._refuse, asgi.TOO_SLOW)

    def _stop_request_timer(self) -> None:
        if self._request_timer is not None:
            self._request_timer.cancel()
            self._request_timer = None

    # --- clients that do not read -------------------------------------------------------------------------------------

    def pause_writing(self) -> None:
        super().pause_writing()
        if self._write_timer is None:
            self._start_write_timer()

    def resume_writing(self) -> None:
        self._stop_write_timer()
        super().resume_writing()

    def _start_write_timer(self) -> None:
        unread = self.transport.get_write_buffer_size()
        self._write_timer = self.loop.call_later(self.limits.write_seconds, self._check_reader, unread)

    def _check_reader(self, unread_before: int) -> None:
        """Disconnect a client that has read almost nothing; a slow one may go on."""
        self._write_timer = None
        if self.transport.get_write_buffer_size() > unread_before - _READ_BYTES_MIN:
            self.transport.abort()
        else:
            self._start_write_timer()

    def _stop_write_timer(self) -> None:
        if self._write_timer is not None:
            self._write_timer.cancel()
            self._write_timer = None

    # --- refusals -----------------------------------------------------------------------------------------------------

    def send_400_response(self, msg: str) -> None:
        if self._is_answering() and not self._in_body:  # the request before it was valid and gets its response
            self._ignores_input = True
            self.cycle.keep_alive = False
        else:
            self._refuse(self._parse_error)

    def _refuse(self, response: HttpResponse) -> None:
        """Send the response and close; only close if another response has begun."""
        self._stop_timers()
        if self.transport.is_closing():
            return
        cycle = self._current_cycle()
        has_begun = cycle is not None and cycle.response_started if self._in_body else self._is_answering()
        if not has_begun:
            self.transport.write(asgi.raw_response(response))
        self.transport.close()

    def _current_cycle(self) -> RequestResponseCycle | None:
        return cast("RequestResponseCycle | None", self.cycle)

    def _is_answering(self) -> bool:
        cycle = self._current_cycle()
        return cycle is not None and not cycle.response_complete

    def _stop_timers(self) -> None:
        self._stop_request_timer()
        self._stop_write_timer()


def limited_protocol(limits: HubLimits) -> type[HubProtocol]:
    return type("LimitedProtocol", (HubProtocol,), {"limits": limits, "peers": Counter()})
