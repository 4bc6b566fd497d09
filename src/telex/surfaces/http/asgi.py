"""How are bytes taken from a client and given to it? The little of ASGI that the verbs need, and nothing more.

The verbs do without a framework's request and response: they are called more often than all else together.
"""

import asyncio
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any, TypeVar

from telex.surfaces.http.problem import Answer, problem

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]
T = TypeVar("T")

COMMON_HEADERS = ((b"cache-control", b"no-store"), (b"x-content-type-options", b"nosniff"))


class Gone(Exception):
    """The client is not there any more: nobody reads an answer."""


def header(scope: Scope, name: bytes) -> bytes:
    return next((value for key, value in scope["headers"] if key == name), b"")


async def body_of(scope: Scope, receive: Receive, most: int) -> bytes | Answer:
    """The whole body; an answer where it is too large.

    Raises:
        Gone: the client went away in the middle of it.
    """
    stated = header(scope, b"content-length")
    if stated.isdigit() and int(stated) > most:
        return _too_large(most)
    event = await receive()
    if event["type"] == "http.disconnect":
        raise Gone
    body: bytes = event.get("body", b"")
    if not event.get("more_body"):
        return body if len(body) <= most else _too_large(most)
    parts, size = [body], len(body)
    while event.get("more_body"):
        if size > most:
            return _too_large(most)
        event = await receive()
        if event["type"] == "http.disconnect":
            raise Gone
        parts.append(event.get("body", b""))
        size += len(parts[-1])
    return b"".join(parts) if size <= most else _too_large(most)


def _too_large(most: int) -> Answer:
    return problem(413, "too-large", f"Send at most {most:,} bytes: what is larger belongs in a file that it names.")


async def reply(send: Send, answer: Answer) -> None:
    status, body, kind, more = answer
    headers = [(b"content-type", kind), (b"content-length", b"%d" % len(body)), *COMMON_HEADERS, *more]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


async def while_there(receive: Receive, doing: Awaitable[T]) -> T:
    """Do it for as long as the client is there: what is given to somebody who has gone would be lost for a while.

    Raises:
        Gone: the client went away first; what was begun is given up.
    """
    task = asyncio.ensure_future(doing)
    listening = asyncio.ensure_future(_gone(receive))
    try:
        await asyncio.wait((task, listening), return_when=asyncio.FIRST_COMPLETED)
        if task.done():
            return task.result()
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        raise Gone
    finally:
        listening.cancel()
        if not task.done():
            task.cancel()


async def _gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
