"""Limits per request: size, time for the body, concurrent requests. A request beyond them is refused before it costs
much.

Limits that only a connection can check (slow heads, clients that do not read, too many connections) are in
`connection_limits.py`.
"""

import asyncio
from collections import Counter
from collections.abc import MutableMapping
from typing import Any

from telex.model.limits import HUB_LIMITS, HubLimits
from telex.surfaces.http.asgi import App, Receive, ResponseSender, Scope, Send, reply
from telex.surfaces.http.auth_errors import BODY_TOO_LARGE, HUB_CLOSING, TOO_MANY_REQUESTS, TOO_SLOW
from telex.surfaces.http.caller import caller_of
from telex.surfaces.http.problem import HttpResponse

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
