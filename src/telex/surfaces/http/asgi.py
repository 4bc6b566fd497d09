"""ASGI helpers of the hub: bodies, responses, problem documents (RFC 9457) and cancellation of requests.

Verbs do not use starlette's request and response objects, because verbs are called more often than everything else.
"""

import asyncio
import re
from collections.abc import Awaitable, Callable, MutableMapping, Sequence
from http import HTTPStatus
from typing import Any, Generic, TypeVar

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from telex.errors import (
    InvalidValue,
    LeaseLost,
    NotAMember,
    NotFound,
    OutcomeUnknown,
    Refused,
    RequestFailed,
    RequestTimedOut,
    StoreError,
    TelexError,
)
from telex.model.finding import Finding
from telex.model.named_tuple import NamedTuple
from telex.ports.bus import Receipt
from telex.protocol import encoded, plain
from telex.protocol.arguments import CODE as ARGUMENTS_WRONG

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]
Header = tuple[bytes, bytes]
T = TypeVar("T")
R = TypeVar("R")

JSON, PROBLEM = b"application/json", b"application/problem+json"
EVENT_STREAM = b"text/event-stream"
COMMON_HEADERS = ((b"cache-control", b"no-store"), (b"x-content-type-options", b"nosniff"))
PROBLEM_TYPE = "tag:telex,2026:problem/"  # a URI that nothing fetches; `telex explain CODE` explains the code
REFUSED = 422
STATUSES: dict[type[TelexError], int] = {
    InvalidValue: 400,
    NotAMember: 403,
    NotFound: 404,
    LeaseLost: 409,
    RequestTimedOut: 424,  # the hub works and the request is stored: the other agent has not answered
    RequestFailed: 424,
    StoreError: 503,
}
_FOLDERS = re.compile(r"(?<![\w.:/])(?:/|[A-Za-z]:\\)\S*[/\\]")


class ClientDisconnected(Exception):
    """The client closed its connection before the response."""


class HttpResponse(NamedTuple):
    status: int
    body: bytes
    kind: bytes = JSON
    headers: tuple[Header, ...] = ()


# --- problem documents ------------------------------------------------------------------------------------------------


def problem(status: int, code: str, detail: str, **more: Any) -> HttpResponse:
    title = HTTPStatus(status).phrase
    tree = {"type": PROBLEM_TYPE + code, "title": title, "status": status, "detail": detail, "code": code}
    headers = ((b"retry-after", b"1"),) if status in (429, 503) else ()
    return HttpResponse(status, encoded(tree | more), PROBLEM, headers)


def error_response(error: TelexError) -> HttpResponse:
    if isinstance(error, Refused):
        return receipt_response(error.receipt)
    status = next((status for kind, status in STATUSES.items() if isinstance(error, kind)), 500)
    named = {"id": error.id} if isinstance(error, OutcomeUnknown | RequestTimedOut | RequestFailed) else {}
    return problem(status, error.code, public_text(error), **named)


def public_text(error: TelexError) -> str:
    """Text of an error without the folders of the store."""
    return _FOLDERS.sub("", error.say) if isinstance(error, StoreError) else error.say


def receipt_response(receipt: Receipt) -> HttpResponse:
    """Response to a refused message. `type` is a field of problem documents: the message's is `message_type`."""
    first = next((finding for finding in receipt.findings if finding.severity == "refusal"), None)
    code, detail = (first.code, first.say) if first is not None else ("refused", "The message was refused.")
    tree = plain(receipt)
    return problem(REFUSED, code, detail, message_type=tree.pop("type"), **tree)


def findings_response(findings: Sequence[Finding]) -> HttpResponse:
    """Response to invalid arguments."""
    return problem(
        400, ARGUMENTS_WRONG, f"{findings[0].path}: {findings[0].say}", findings=[plain(one) for one in findings]
    )


def finding_response(finding: Finding, status: int = REFUSED) -> HttpResponse:
    return problem(status, finding.code, finding.say, findings=[plain(finding)])


def method_not_allowed(methods: str) -> HttpResponse:
    refusal = problem(405, "method-not-allowed", f"Use {methods} here.")
    return refusal._replace(headers=((b"allow", methods.encode()),))


# --- refusals of the middlewares: constant responses, which repeat nothing of a request -----------------------------

REFUSALS: list[HttpResponse] = []
_CLOSE = (b"connection", b"close")  # the rest of the request is not read


def _refusal(status: int, code: str, detail: str, *headers: Header) -> HttpResponse:
    refusal = problem(status, code, detail)
    REFUSALS.append(refusal._replace(headers=(*refusal.headers, *headers)))
    return REFUSALS[-1]


HOST_NOT_ALLOWED = _refusal(
    403, "host-not-allowed",
    "Use a host name of the hub: the Host header of this request is not allowed. The operator of the hub adds one with"
    " telex serve --host-name NAME.",
)  # fmt: skip
ORIGIN_NOT_ALLOWED = _refusal(
    403, "origin-not-allowed", "Use the hub's own page, or a program: requests from pages of other sites are refused."
)
TOKEN_NEEDED = _refusal(
    401, "token-needed",
    "Send a token: in TELEX_TOKEN, or as Authorization: Bearer TOKEN. The operator of the hub creates one"
    " with telex token create.",
    (b"www-authenticate", b'Bearer realm="telex"'),
)  # fmt: skip
TOKEN_NOT_VALID = _refusal(
    401, "token-not-valid",
    "Use another token: this one is not valid. The operator of the hub lists the valid ones with telex token list.",
    (b"www-authenticate", b'Bearer realm="telex", error="invalid_token"'),
)  # fmt: skip
TOKENS_UNREADABLE = _refusal(
    503, "tokens-unreadable",
    "Notify the operator of the hub: its token file cannot be read; telex token list shows why.",
)  # fmt: skip
BODY_TOO_LARGE = _refusal(
    413, "too-large", "Send less at once: fewer messages, or a file path instead of its content.", _CLOSE
)
TOO_SLOW = _refusal(408, "too-slow", "Send the request without pauses, and try again.", _CLOSE)
HEAD_TOO_LARGE = _refusal(431, "head-too-large", "Send a shorter URL and fewer headers.", _CLOSE)
NOT_HTTP = _refusal(400, "not-http", "Send a valid HTTP/1.1 request.", _CLOSE)
TOO_MANY_REQUESTS = _refusal(
    429, "too-many-requests", "Wait until one of your requests has ended, and try again: too many are open.", _CLOSE
)
TOO_MANY_CONNECTIONS = _refusal(
    429, "too-many-connections", "Use one connection for many requests, or close some, and try again.", _CLOSE
)
HUB_CLOSING = _refusal(503, "hub-closing", "Try again in a moment: the hub is stopping or restarting.", _CLOSE)


# --- requests and responses ------------------------------------------------------------------------------------------


def http_middleware(handle: Callable[[App, Scope, Receive, Send], Awaitable[None]]) -> Callable[[App], App]:
    """Middleware that calls `handle` for HTTP requests and the app for everything else."""

    def middleware(app: App) -> App:
        def call(scope: Scope, receive: Receive, send: Send) -> Awaitable[None]:
            return handle(app, scope, receive, send) if scope["type"] == "http" else app(scope, receive, send)

        return call

    return middleware


def header(scope: Scope, name: bytes) -> bytes:
    for key, value in scope["headers"]:  # a loop takes half the time of a generator, and runs for every request
        if key == name:
            return bytes(value)
    return b""


def is_event_stream(scope: Scope) -> bool:
    return scope["method"] == "GET" and EVENT_STREAM in header(scope, b"accept").lower()


def is_longer(content_length: bytes, bytes_max: int) -> bool:
    """False also for a length that is not a number."""
    return content_length.isdigit() and (len(content_length) > 18 or int(content_length) > bytes_max)


async def read_body(scope: Scope, receive: Receive, bytes_max: int) -> bytes | HttpResponse:
    """The complete body, or the response if it is too large. Raises ClientDisconnected."""
    parts: list[bytes] = []
    size, is_complete = 0, False
    too_large = is_longer(header(scope, b"content-length"), bytes_max)
    while not too_large and not is_complete:
        event = await receive()
        if event["type"] == "http.disconnect":
            raise ClientDisconnected
        parts.append(event.get("body", b""))
        size += len(parts[-1])
        too_large, is_complete = size > bytes_max, not event.get("more_body")
    if too_large:
        detail = f"Send at most {bytes_max:,} bytes: put larger content into a file and send its path."
        return problem(413, "too-large", detail)
    return b"".join(parts)


def with_body(body: bytes, receive: Receive) -> Receive:
    """A `receive` that returns this body first."""
    events: list[MutableMapping[str, Any]] = [{"type": "http.request", "body": body, "more_body": False}]

    async def receive_body() -> MutableMapping[str, Any]:
        return events.pop() if events else await receive()

    return receive_body


async def reply(send: Send, response: HttpResponse) -> None:
    status, body, kind, more = response
    headers = [(b"content-type", kind), (b"content-length", b"%d" % len(body)), *COMMON_HEADERS, *more]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


def raw_response(response: HttpResponse) -> bytes:
    """The response as bytes, for connections that are refused before a request is parsed."""
    status, body, kind, headers = response
    lines = [
        b"HTTP/1.1 %d %s" % (status, HTTPStatus(status).phrase.encode()),
        b"content-type: " + kind,
        b"content-length: %d" % len(body),
        *(name + b": " + value for name, value in headers),
    ]
    return b"\r\n".join([*lines, b"", body])


def starlette_response(response: HttpResponse) -> Response:
    headers = {name.decode(): value.decode() for name, value in (*COMMON_HEADERS, *response.headers)}
    return Response(response.body, response.status, headers, response.kind.decode())


def route(path: str, handle: Callable[[Request], Awaitable[HttpResponse]], method: str = "GET") -> Route:
    async def endpoint(request: Request) -> Response:
        return starlette_response(await handle(request))

    return Route(path, endpoint, methods=[method])


async def collected(app: App, scope: Scope, receive: Receive) -> HttpResponse:
    """The complete response of an app. Raises ClientDisconnected."""
    parts, start = [b""], dict[str, Any]()

    async def collect(message: MutableMapping[str, Any]) -> None:
        if message["type"] == "http.response.start":
            start.update(message)
        parts.append(message.get("body", b""))

    await app(scope, receive, collect)
    if not start:
        raise ClientDisconnected
    headers = dict(start["headers"])
    more = tuple((name, headers[name]) for name in (b"retry-after", b"allow", b"www-authenticate") if name in headers)
    return HttpResponse(start["status"], b"".join(parts), headers.get(b"content-type", b""), more)


class ResponseSender:
    """A `send` that records how much of the response it has sent."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self.status = 0
        self.done = False

    async def __call__(self, event: MutableMapping[str, Any]) -> None:
        if event["type"] == "http.response.start":
            self.status = event["status"]
        else:
            self.done = not event.get("more_body")
        await self._send(event)

    async def finish(self, response: HttpResponse) -> None:
        """Complete a response that has begun; otherwise send this one."""
        if not self.status:
            await reply(self, response)
        elif not self.done:
            await self({"type": "http.response.body", "body": b"", "more_body": False})


# --- cancellation ----------------------------------------------------------------------------------------------------


def current_task() -> asyncio.Task[Any]:
    task = asyncio.current_task()
    assert task is not None, "a server runs every request as a task"
    return task


class TaskWatch(Generic[T]):
    """Cancels requests whose value expires, such as a token or a start time, with one timer for all requests."""

    def __init__(self, is_expired: Callable[[T], bool], seconds: float) -> None:
        self._is_expired, self._seconds = is_expired, seconds
        self._values: dict[asyncio.Task[Any], T] = {}
        self._cancelled: set[asyncio.Task[Any]] = set()
        self._timer: asyncio.TimerHandle | None = None

    async def run(self, value: T, work: Awaitable[R], if_expired: R) -> R:
        """Result of `work`, or `if_expired` if its value expired before the end."""
        task = current_task()
        self._values[task] = value
        if self._timer is None:
            self._start_timer()
        try:
            return await work
        except asyncio.CancelledError:
            if task not in self._cancelled:
                raise
            task.uncancel()
            return if_expired
        finally:
            del self._values[task]
            self._cancelled.discard(task)

    def check(self) -> None:
        """Cancel every task with an expired value."""
        is_expired = {value: self._is_expired(value) for value in set(self._values.values())}
        for task, value in self._values.items():
            if is_expired[value] and task not in self._cancelled:
                self._cancelled.add(task)
                task.cancel()

    def _start_timer(self) -> None:
        self._timer = asyncio.get_running_loop().call_later(self._seconds, self._on_timer)

    def _on_timer(self) -> None:
        self.check()
        self._timer = None
        if self._values:
            self._start_timer()


async def while_connected(receive: Receive, work: Awaitable[T], undo: Callable[[T], Awaitable[None]]) -> T:
    """Result of `work`, which is cancelled if the client disconnects; a result that came too late is undone.

    Raises:
        ClientDisconnected
    """
    task, leaving = asyncio.ensure_future(work), asyncio.ensure_future(disconnected(receive))
    is_connected = False
    try:
        await asyncio.wait((task, leaving), return_when=asyncio.FIRST_COMPLETED)
        is_connected = not leaving.done()
    finally:
        leaving.cancel()
        if not is_connected:
            task.cancel()
        [result, _] = await asyncio.gather(task, leaving, return_exceptions=True)
        if not is_connected and not isinstance(result, BaseException):
            await undo(result)
    if not is_connected:
        raise ClientDisconnected
    return task.result()


async def disconnected(receive: Receive) -> None:
    """Return when the client has disconnected."""
    while (await receive())["type"] != "http.disconnect":
        pass
