"""Server-sent events for one client, until it disconnects or the hub stops."""

import asyncio
from collections.abc import AsyncGenerator, MutableMapping
from contextlib import aclosing, suppress
from typing import Any

from telex.errors import TelexError
from telex.model.message import Event, Message
from telex.protocol import encoded, plain
from telex.protocol.verbs import EventRecord
from telex.surfaces.http.asgi import COMMON_HEADERS, Receive, Send, gone

RETRY = b"retry: 1000\n\n"
HEARTBEAT = b": still here\n\n"
HEADERS = [
    (b"content-type", b"text/event-stream; charset=utf-8"),
    (b"x-accel-buffering", b"no"),
    *COMMON_HEADERS,
]


# What many readers take for the end of a line, though it is none here: these are escaped, as JSON allows.
_LINE_ENDS = {b"\xc2\x85": b"\\u0085", b"\xe2\x80\xa8": b"\\u2028", b"\xe2\x80\xa9": b"\\u2029"}


def frame(event: Event, message: Message | None) -> bytes:
    text = on_one_line(encoded(plain(EventRecord(event, message))))
    return b"id: %d\nevent: happening\ndata: %b\n\n" % (event.seq, text)


def on_one_line(text: bytes) -> bytes:
    """The same JSON, which no reader takes for two lines."""
    for end, escaped in _LINE_ENDS.items():
        if end in text:
            text = text.replace(end, escaped)
    return text


def in_whole_lines(send: Send) -> Send:
    """For a stream of events whose JSON others have written. Nothing else is touched."""
    is_stream = False

    async def sent(event: MutableMapping[str, Any]) -> None:
        nonlocal is_stream
        if event["type"] == "http.response.start":
            kinds = [value for name, value in event["headers"] if name.lower() == b"content-type"]
            is_stream = any(kind.startswith(b"text/event-stream") for kind in kinds)
        elif is_stream:
            event = {**event, "body": on_one_line(event.get("body", b""))}
        await send(event)

    return sent


async def stream(source: AsyncGenerator[bytes, None], over: asyncio.Event, receive: Receive, send: Send) -> None:
    """Tell it to one client until it goes away, or the hub does. Where that is, the client knows: it has the ids."""
    await send({"type": "http.response.start", "status": 200, "headers": HEADERS})
    await send({"type": "http.response.body", "body": RETRY, "more_body": True})
    telling = asyncio.ensure_future(_tell(source, send))
    left, ends = asyncio.ensure_future(gone(receive)), asyncio.ensure_future(over.wait())
    try:
        await asyncio.wait((telling, left, ends), return_when=asyncio.FIRST_COMPLETED)
        has_left = left.done()
    finally:
        for task in (telling, left, ends):
            task.cancel()
        [ended, *_] = await asyncio.gather(telling, left, ends, return_exceptions=True)
    if not has_left:
        await send({"type": "http.response.body", "body": b"", "more_body": False})
    if isinstance(ended, Exception):
        raise ended


async def _tell(source: AsyncGenerator[bytes, None], send: Send) -> None:
    with suppress(TelexError):  # the store is away: whoever watches comes again and resumes
        async with aclosing(source) as texts:
            async for text in texts:
                await send({"type": "http.response.body", "body": text, "more_body": True})
