"""Limits per request: size, time for the body, concurrent requests. A request beyond them is refused before it costs
much.

Limits that only a connection can check (slow heads, clients that do not read, too many connections) are in
`connection_limits.py`.
"""

import asyncio
from collections import Counter
from collections.abc import MutableMapping
from typing import Any, cast

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

from telex.model.hub_limits import HUB_LIMITS, HubLimits
from telex.surfaces.http.asgi import (
    BODY_TOO_LARGE,
    HEAD_TOO_LARGE,
    HUB_CLOSING,
    NOT_HTTP,
    TOO_MANY_CONNECTIONS,
    TOO_MANY_REQUESTS,
    TOO_SLOW,
    App,
    HttpResponse,
    Receive,
    ResponseSender,
    Scope,
    Send,
    raw,
    reply,
)
from telex.surfaces.http.auth import is_loopback
from telex.surfaces.http.tokens import caller_of

ENDS_WITH_NOTHING = {"/receive": HttpResponse(200, b'{"answer":[]}')}  # nothing has come, which is no failure
_WITHOUT_BODY = frozenset(("GET", "HEAD"))
_EVENT_STREAM = b"text/event-stream"
_Whose = tuple[str | None, bool]  # which token, and whether it watches
_Task = asyncio.Task[None]


class RequestLimits:
    """`limited(app)` is the app, asked no more than it can bear. It stands behind the doorkeeper."""

    def __init__(self, limits: HubLimits = HUB_LIMITS) -> None:
        self._limits = limits
        self._open: set[asyncio.Task[None]] = set()
        self._counts: Counter[_Whose] = Counter()  # of those with a token
        self._viewers = 0
        self._held: dict[_Task, int] = {}  # bytes of bodies
        self._held_in_all = 0
        self._reading = _BodyTimeouts(limits.body_seconds)
        self._ending = False

    def __call__(self, app: App) -> App:
        async def bounded(scope: Scope, receive: Receive, send: Send) -> None:
            if scope["type"] != "http":
                await app(scope, receive, send)
                return
            whose = caller_of(scope).token, _watches(scope)
            if self._ending:
                await reply(send, HUB_CLOSING)
            elif self._is_too_many(*whose):
                await reply(send, TOO_MANY_REQUESTS)
            else:
                await self._counted(app, scope, receive, send, whose)

        return bounded

    def end(self) -> None:
        """The hub closes: whoever waits is answered, and whoever watches is told that it is over."""
        self._ending = True
        for task in list(self._open):
            task.cancel()

    # --- how many ----------------------------------------------------------------------------------------------------

    def _is_too_many(self, token: str | None, watches: bool) -> bool:
        limits = self._limits
        if len(self._open) >= limits.requests_max or (watches and self._viewers >= limits.viewers_max):
            return True
        if token is None:  # this machine: what it may open in all is bound enough
            return False
        return self._counts[token, watches] >= (
            limits.viewers_per_token_max if watches else limits.requests_per_token_max
        )

    async def _counted(self, app: App, scope: Scope, receive: Receive, send: Send, whose: _Whose) -> None:
        task = asyncio.current_task()
        assert task is not None, "a server runs every request as a task"
        token, watches = whose
        self._open.add(task)
        self._viewers += watches
        if token is not None:
            self._counts[whose] += 1
        try:
            await self._ended_well(app, scope, receive, send, task)
        finally:
            self._open.discard(task)
            self._held_in_all -= self._held.pop(task, 0)
            self._viewers -= watches
            if token is not None:
                self._counts[whose] -= 1
                if not self._counts[whose]:
                    del self._counts[whose]  # tokens come and go

    async def _ended_well(self, app: App, scope: Scope, receive: Receive, send: Send, task: _Task) -> None:
        """Cancelled by us, a request is still answered: with nothing, or with a request to ask again."""
        answering = ResponseSender(send)
        try:
            await self._with_body(app, scope, receive, answering, task)
        except asyncio.CancelledError:
            if not self._ending:
                raise
            task.uncancel()
            await answering.finish(ENDS_WITH_NOTHING.get(scope["path"], HUB_CLOSING))

    # --- how much ----------------------------------------------------------------------------------------------------

    async def _with_body(self, app: App, scope: Scope, receive: Receive, send: Send, task: _Task) -> None:
        """The whole body is there before anybody looks at it, so that nothing waits for half a message."""
        if scope["method"] in _WITHOUT_BODY:
            await app(scope, receive, send)
            return
        body = await self._body(scope, receive, task)
        if isinstance(body, HttpResponse):
            await reply(send, body)
        elif body is not None:
            await app(scope, _BodyReceiver(body, receive), send)

    async def _body(self, scope: Scope, receive: Receive, task: _Task) -> bytes | HttpResponse | None:
        """None: whoever sent it has gone."""
        if any(name == b"content-length" and self._is_too_long(value) for name, value in scope["headers"]):
            return BODY_TOO_LARGE
        self._reading.begin(task)
        try:
            return await self._whole(receive, task)
        except asyncio.CancelledError:
            if not self._reading.is_late(task):
                raise
            task.uncancel()
            return TOO_SLOW
        finally:
            self._reading.end(task)

    async def _whole(self, receive: Receive, task: _Task) -> bytes | HttpResponse | None:
        most, parts, size = self._limits.body_bytes_max, list[bytes](), 0
        while True:
            event = await receive()
            if event["type"] == "http.disconnect":
                return None
            body: bytes = event.get("body", b"")
            size += len(body)
            if size > most:  # whatever Content-Length said
                return BODY_TOO_LARGE
            self._held[task] = size
            self._held_in_all += len(body)
            if self._held_in_all > self._limits.bodies_bytes_max:
                return TOO_MANY_REQUESTS
            if not event.get("more_body"):
                return b"".join((*parts, body)) if parts else body
            parts.append(body)

    def _is_too_long(self, stated: bytes) -> bool:
        return not stated.isdigit() or len(stated) > 18 or int(stated) > self._limits.body_bytes_max


class _BodyTimeouts:
    """Whose body has not come whole yet? One timer looks after them all: a timer for each would cost more than all the
    rest of the door, and most bodies are there already."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._since: dict[_Task, float] = {}
        self._late: set[_Task] = set()
        self._timer: asyncio.TimerHandle | None = None

    def begin(self, task: _Task) -> None:
        loop = task.get_loop()
        self._since[task] = loop.time()
        if self._timer is None:
            self._timer = loop.call_later(self._seconds / 4, self._look, loop)

    def end(self, task: _Task) -> None:
        del self._since[task]
        self._late.discard(task)

    def is_late(self, task: _Task) -> bool:
        return task in self._late

    def _look(self, loop: asyncio.AbstractEventLoop) -> None:
        before = loop.time() - self._seconds
        for task, since in self._since.items():
            if since <= before and task not in self._late:
                self._late.add(task)
                task.cancel()
        self._timer = loop.call_later(self._seconds / 4, self._look, loop) if self._since else None


def _watches(scope: Scope) -> bool:
    """Does it ask for live events, and so stay for as long as it likes?"""
    return scope["method"] == "GET" and any(
        name == b"accept" and _EVENT_STREAM in value.lower() for name, value in scope["headers"]
    )


class _BodyReceiver:
    """The body that was read, and afterwards whether the client is still there."""

    def __init__(self, body: bytes, receive: Receive) -> None:
        self._body: bytes | None = body
        self._receive = receive

    async def __call__(self) -> MutableMapping[str, Any]:
        if self._body is None:
            return await self._receive()
        body, self._body = self._body, None
        return {"type": "http.request", "body": body, "more_body": False}


Timer = asyncio.TimerHandle | None
LINE_BYTES = len(b": \r\n")  # around the name and value of a header
URL_BYTES_MAX = 65_535  # of the parser
READ_BYTES_MIN = 16_384  # a client that takes less than that of what waits for it does not really read


class HubProtocol(HttpToolsProtocol):
    """One connection. `limited_by` makes a class of it that has its limits and counts its own connections."""

    limits: HubLimits = HUB_LIMITS
    peers: "Counter[str]"

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._late: Timer = None  # until a request is whole
        self._stuck: Timer = None  # until enough is read
        self._unparsed_bytes = 0  # received since the last part of a request that was complete
        self._invalid = NOT_HTTP  # the response to what the parser refuses
        self._in_head = self._in_body = self._deaf = False
        self._peer: str | None = None  # counted under this address
        self._asked: list[RequestResponseCycle] = []  # what is not answered yet: several, where one sends ahead

    # --- how many ----------------------------------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._peer = self.client[0] if self.client else ""
        self.peers[self._peer] += 1
        if self._is_one_too_many(self._peer):
            self._turn_away(TOO_MANY_CONNECTIONS)
        else:
            self._hurry()

    def _is_one_too_many(self, peer: str) -> bool:
        if len(self.connections) > self.limits.connections_max:
            return True
        return self.peers[peer] > self.limits.connections_per_peer_max and not is_loopback(peer)

    def connection_lost(self, exc: Exception | None) -> None:
        self._forget_timers()
        if self._peer is not None:
            self.peers[self._peer] -= 1
            if not self.peers[self._peer]:
                del self.peers[self._peer]
            self._peer = None
        for one in self._asked:  # uvicorn tells only the last of them that nobody is there any more
            one.disconnected = True
            one.message_event.set()
        self._asked.clear()
        super().connection_lost(exc)

    # --- how slow, and how large -------------------------------------------------------------------------------------

    def on_message_begin(self) -> None:
        self._in_head = True
        super().on_message_begin()

    def on_header(self, name: bytes, value: bytes) -> None:
        if self._in_head:  # otherwise it is a trailer, which is ignored (RFC 9110, 6.5.1)
            super().on_header(name, value.strip(b" \t"))  # of trailing blanks, which the parser leaves (5.5)

    def on_headers_complete(self) -> None:
        size = len(self.url) + sum(len(name) + len(value) + LINE_BYTES for name, value in self.headers)
        if size > self.limits.head_bytes_max or len(self.url) > URL_BYTES_MAX:
            self._invalid = HEAD_TOO_LARGE
            raise ValueError("head too large")  # for the parser, which stops and has `send_400_response` called
        self._in_head, self._in_body = False, True
        self._unparsed_bytes = max(self._unparsed_bytes - size, 0)  # a trailer may have come in the same piece
        super().on_headers_complete()
        self._asked = [one for one in self._asked if not one.response_complete]
        if self.cycle is not None:
            self._asked.append(self.cycle)

    def on_body(self, body: bytes) -> None:
        self._unparsed_bytes = 0
        super().on_body(body)

    def on_message_complete(self) -> None:
        self._in_body, self._unparsed_bytes = False, 0
        super().on_message_complete()

    def data_received(self, data: bytes) -> None:
        if self._deaf or self.transport.is_closing():
            return  # turned away, or about to be; what still comes is not looked at
        self._unparsed_bytes += len(data)
        super().data_received(data)
        if self.transport.is_closing():
            self._forget_timers()
        elif self._unparsed_bytes > self.limits.head_bytes_max and not self._deaf:  # a head, trailer or chunk extension
            self._turn_away(HEAD_TOO_LARGE)
        elif self._is_answering():
            self._hurry_no_more()  # from here on the request is bounded as a request
        elif self._in_head or self._in_body:  # the body of a request that was answered before it was whole
            self._hurry()
        elif self._has_answered():
            self._hurry_no_more()
            self._unset_keepalive_if_required()
            self.timeout_keep_alive_task = self.loop.call_later(
                self.timeout_keep_alive, self.timeout_keep_alive_handler
            )

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if (self._in_head or self._in_body) and not self._is_answering() and not self.transport.is_closing():
            self._unset_keepalive_if_required()  # the next request has begun, and has its own time
            self._hurry()

    def _hurry(self) -> None:
        if self._late is None:
            self._late = self.loop.call_later(self.limits.head_seconds, self._turn_away, TOO_SLOW)

    def _hurry_no_more(self) -> None:
        if self._late is not None:
            self._late.cancel()
            self._late = None

    def pause_writing(self) -> None:
        super().pause_writing()
        if self._stuck is None:
            self._look_later()

    def resume_writing(self) -> None:
        if self._stuck is not None:
            self._stuck.cancel()
            self._stuck = None
        super().resume_writing()

    def _look_later(self) -> None:
        left = self.transport.get_write_buffer_size()
        self._stuck = self.loop.call_later(self.limits.write_seconds, self._look_whether_it_reads, left)

    def _look_whether_it_reads(self, left: int) -> None:
        """A slow reader gets its time as long as it reads. Reading a byte now and then is not reading."""
        self._stuck = None
        if self.transport.get_write_buffer_size() > left - READ_BYTES_MIN:
            self.transport.abort()
        else:
            self._look_later()

    # --- and then ----------------------------------------------------------------------------------------------------

    def send_400_response(self, msg: str) -> None:
        if self._is_answering() and not self._in_body:  # it comes behind a request that was one, and gets its answer
            self._deaf = True
            self.cycle.keep_alive = False
        else:
            self._turn_away(self._invalid)

    def _turn_away(self, answer: HttpResponse) -> None:
        """Say why, and close. Where another answer has begun or was given there is no place for it."""
        self._forget_timers()
        if self.transport.is_closing():
            return
        if self._in_body:
            begun = cast("RequestResponseCycle | None", self.cycle)
            is_said = begun is None or not begun.response_started
        else:
            is_said = not self._is_answering()
        if is_said:
            self.transport.write(raw(answer))
        self.transport.close()

    def _is_answering(self) -> bool:
        cycle = cast("RequestResponseCycle | None", self.cycle)
        return cycle is not None and not cycle.response_complete

    def _has_answered(self) -> bool:
        cycle = cast("RequestResponseCycle | None", self.cycle)
        return cycle is not None and cycle.response_complete

    def _forget_timers(self) -> None:
        self._hurry_no_more()
        if self._stuck is not None:
            self._stuck.cancel()
            self._stuck = None


def limited_by(limits: HubLimits) -> type[HubProtocol]:
    """The protocol of one hub."""
    return type("LimitedProtocol", (HubProtocol,), {"limits": limits, "peers": Counter()})
