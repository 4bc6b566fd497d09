"""Problem documents (RFC 9457): the responses to failed requests, each with a code of ours.

One table maps failures to status codes. `detail` is a sentence for the caller; findings of a message or of arguments
are included, as at every other interface.
"""

import asyncio
import re
from collections.abc import Awaitable, Callable, MutableMapping, Sequence
from http import HTTPStatus
from typing import Any, NamedTuple, TypeVar

from telex.errors import (
    InvalidValue,
    LeaseLost,
    NotAMember,
    NotFound,
    OutcomeUnknown,
    RequestFailed,
    RequestTimedOut,
    StoreError,
    TelexError,
)
from telex.model.finding import Finding
from telex.ports.bus import Receipt
from telex.protocol import encoded, plain
from telex.protocol.arguments import CODE as ARGUMENTS_WRONG

JSON, PROBLEM = b"application/json", b"application/problem+json"
STATUSES: dict[type[TelexError], int] = {
    InvalidValue: 400,
    NotAMember: 403,
    NotFound: 404,
    LeaseLost: 409,
    RequestTimedOut: 424,  # the hub is well and the question is stored: it is the other agent who has not answered
    RequestFailed: 424,
    StoreError: 503,
}
REFUSED, RETRY_SECONDS = 422, b"1"
_FOLDERS = re.compile(r"(?<![\w.:/])(?:/|[A-Za-z]:\\)\S*[/\\]")  # where the store lies is nobody's business out there
ABOUT = "tag:telex,2026:problem/"  # an address that nobody needs to fetch: `telex explain CODE` tells


class HttpResponse(NamedTuple):
    """What is sent back."""

    status: int
    body: bytes
    kind: bytes = JSON
    headers: tuple[tuple[bytes, bytes], ...] = ()


def problem(status: int, code: str, detail: str, **more: Any) -> HttpResponse:
    tree = {"type": ABOUT + code, "title": HTTPStatus(status).phrase, "status": status, "detail": detail, "code": code}
    headers = ((b"retry-after", RETRY_SECONDS),) if status in (429, 503) else ()
    return HttpResponse(status, encoded(tree | more), PROBLEM, headers)


def error_response(error: TelexError) -> HttpResponse:
    """What the world has refused."""
    status = next((status for kind, status in STATUSES.items() if isinstance(error, kind)), 500)
    named = {"id": error.id} if isinstance(error, OutcomeUnknown | RequestTimedOut | RequestFailed) else {}
    return problem(status, error.code, said_outside(error), **named)


def said_outside(error: TelexError) -> str:
    """What went wrong, for somebody who may be anywhere."""
    return _FOLDERS.sub("", error.say) if isinstance(error, StoreError) else error.say


def receipt_response(receipt: Receipt) -> HttpResponse:
    """A message that was refused: what is wrong with it and how it would pass. What a problem calls its type is taken,
    so the message's is `message_type`."""
    first = next((finding for finding in receipt.findings if finding.severity == "refusal"), None)
    code, detail = (first.code, first.say) if first is not None else ("refused", "The message was refused.")
    tree = plain(receipt)
    return problem(REFUSED, code, detail, message_type=tree.pop("type"), **tree)


def findings_response(findings: Sequence[Finding]) -> HttpResponse:
    """What is wrong with the arguments."""
    first = findings[0]
    detail = f"{first.path}: {first.say}"
    return problem(400, ARGUMENTS_WRONG, detail, findings=[plain(finding) for finding in findings])


def finding_response(finding: Finding, status: int = REFUSED) -> HttpResponse:
    return problem(status, finding.code, finding.say, findings=[plain(finding)])


Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]
T = TypeVar("T")

COMMON_HEADERS = ((b"cache-control", b"no-store"), (b"x-content-type-options", b"nosniff"))


class ClientDisconnected(Exception):
    """The client is not there any more: nobody reads an answer."""


def header(scope: Scope, name: bytes) -> bytes:
    for key, value in scope["headers"]:  # a loop is half as dear as a search, and this is done for every request
        if key == name:
            return bytes(value)
    return b""


async def body_of(scope: Scope, receive: Receive, most: int) -> bytes | HttpResponse:
    """The whole body; an answer where it is too large.

    Raises:
        Gone: the client went away in the middle of it.
    """
    stated = header(scope, b"content-length")
    if stated.isdigit() and (len(stated) > 18 or int(stated) > most):
        return _too_large(most)
    event = await receive()
    if event["type"] == "http.disconnect":
        raise ClientDisconnected
    body: bytes = event.get("body", b"")
    if not event.get("more_body"):
        return body if len(body) <= most else _too_large(most)
    parts, size = [body], len(body)
    while event.get("more_body"):
        if size > most:
            return _too_large(most)
        event = await receive()
        if event["type"] == "http.disconnect":
            raise ClientDisconnected
        parts.append(event.get("body", b""))
        size += len(parts[-1])
    return b"".join(parts) if size <= most else _too_large(most)


def _too_large(most: int) -> HttpResponse:
    return problem(413, "too-large", f"Send at most {most:,} bytes: put larger content into a file and send its path.")


async def reply(send: Send, answer: HttpResponse) -> None:
    status, body, kind, more = answer
    headers = [(b"content-type", kind), (b"content-length", b"%d" % len(body)), *COMMON_HEADERS, *more]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


class ResponseSender:
    """What has been sent of an answer so far."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self.began = self.done = False

    async def __call__(self, event: MutableMapping[str, Any]) -> None:
        self.began = True
        self.done = event["type"] == "http.response.body" and not event.get("more_body")
        await self._send(event)

    async def finish(self, otherwise: HttpResponse) -> None:
        """End what has begun, so that it is whole; begin and end what has not."""
        if not self.began:
            await reply(self._send, otherwise)
        elif not self.done:
            await self._send({"type": "http.response.body", "body": b"", "more_body": False})


async def while_there(
    receive: Receive, doing: Awaitable[T], give_back: Callable[[T], Awaitable[None]] | None = None
) -> T:
    """Do it for as long as the client is there: what is given to somebody who has gone would be lost for a while. What
    was done in the very moment in which the client went is given back.

    Raises:
        Gone: the client went away first; what was begun is given up.
    """
    task = asyncio.ensure_future(doing)
    leaving = asyncio.ensure_future(gone(receive))
    is_there = False
    try:
        await asyncio.wait((task, leaving), return_when=asyncio.FIRST_COMPLETED)
        is_there = not leaving.done()
    finally:
        leaving.cancel()
        if not is_there:
            task.cancel()
        [done, _] = await asyncio.gather(task, leaving, return_exceptions=True)
        if not is_there and give_back is not None and not isinstance(done, BaseException):
            await give_back(done)
    if not is_there:
        raise ClientDisconnected
    return task.result()


async def gone(receive: Receive) -> None:
    """Return when the client has gone away."""
    while (await receive())["type"] != "http.disconnect":
        pass


Header = tuple[bytes, bytes]
CLOSE: Header = (b"connection", b"close")  # what is left of the request is not read


def _answer(status: int, code: str, say: str, *headers: Header) -> HttpResponse:
    answer = problem(status, code, say)
    return answer._replace(headers=(*answer.headers, *headers))


_SHOW = b"www-authenticate", b'Bearer realm="telex"'
_SHOW_ANOTHER = b"www-authenticate", b'Bearer realm="telex", error="invalid_token"'

# --- who may not come in ----------------------------------------------------------------------------------------------

HOST_NOT_ALLOWED = _answer(
    403, "host-not-allowed",
    "Use a host name of the hub: the Host header of this request is not allowed. The operator of the hub adds one with"
    " telex serve --host-name NAME.",
)  # fmt: skip
ORIGIN_NOT_ALLOWED = _answer(
    403, "origin-not-allowed",
    "Use the hub's own page, or a program: requests from pages of other sites are refused.",
)  # fmt: skip
TOKEN_NEEDED = _answer(
    401, "token-needed",
    "Send a token: in TELEX_TOKEN, or as Authorization: Bearer TOKEN. The operator of the hub creates one"
    " with telex token create.",
    _SHOW,
)  # fmt: skip
TOKEN_NOT_VALID = _answer(
    401, "token-not-valid",
    "Use another token: this one is not valid. The operator of the hub lists the valid ones with telex token list.",
    _SHOW_ANOTHER,
)  # fmt: skip
TOKENS_UNREADABLE = _answer(
    503, "tokens-unreadable",
    "Notify the operator of the hub: its token file cannot be read; telex token list shows why.",
)  # fmt: skip

# --- what is too much -------------------------------------------------------------------------------------------------

BODY_TOO_LARGE = _answer(
    413, "too-large", "Send less at once: fewer messages, or a file path instead of its content.", CLOSE
)  # fmt: skip
TOO_SLOW = _answer(408, "too-slow", "Send the request without pauses, and try again.", CLOSE)
HEAD_TOO_LARGE = _answer(431, "head-too-large", "Send a shorter URL and fewer headers.", CLOSE)
NOT_HTTP = _answer(400, "not-http", "Send a valid HTTP/1.1 request.", CLOSE)
TOO_MANY_REQUESTS = _answer(
    429, "too-many-requests", "Wait until one of your requests has ended, and try again: too many are open.", CLOSE
)  # fmt: skip
TOO_MANY_CONNECTIONS = _answer(
    429, "too-many-connections", "Use one connection for many requests, or close some, and try again.", CLOSE
)  # fmt: skip
HUB_CLOSING = _answer(503, "hub-closing", "Try again in a moment: the hub is stopping or restarting.", CLOSE)

EVERY = (
    HOST_NOT_ALLOWED, ORIGIN_NOT_ALLOWED, TOKEN_NEEDED, TOKEN_NOT_VALID, TOKENS_UNREADABLE, BODY_TOO_LARGE, TOO_SLOW,
    HEAD_TOO_LARGE, NOT_HTTP, TOO_MANY_REQUESTS, TOO_MANY_CONNECTIONS, HUB_CLOSING,
)  # fmt: skip


def raw(answer: HttpResponse) -> bytes:
    """The answer as it goes over the wire, for whoever is turned away before there is a request to answer."""
    status, body, kind, headers = answer
    lines = [
        b"HTTP/1.1 %d %s" % (status, HTTPStatus(status).phrase.encode()),
        b"content-type: " + kind,
        b"content-length: %d" % len(body),
        *(name + b": " + value for name, value in headers),
    ]
    return b"\r\n".join([*lines, b"", body])
