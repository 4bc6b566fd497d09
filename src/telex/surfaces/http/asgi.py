"""Minimal ASGI helpers for the verbs: read a body, send a response.

The verbs use no framework's request and response, because they are called more often than everything else.
"""

import asyncio
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any, TypeVar

from telex.surfaces.http.problem import HttpResponse, problem

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
