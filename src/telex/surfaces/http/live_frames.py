"""How is one client told live what happens? As server-sent events, until it goes away or the hub does."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing, suppress

from telex.errors import TelexError
from telex.model.event import Event
from telex.model.message import Message
from telex.surfaces.http.asgi import COMMON_HEADERS, Receive, Send, gone
from telex.wire import encoded, plain
from telex.wire.verbs import Happening

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
    text = encoded(plain(Happening(event, message)))
    for end, escaped in _LINE_ENDS.items():
        if end in text:
            text = text.replace(end, escaped)
    return b"id: %d\nevent: happening\ndata: %b\n\n" % (event.seq, text)


async def stream(source: AsyncIterator[bytes], over: asyncio.Event, receive: Receive, send: Send) -> None:
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


async def _tell(source: AsyncIterator[bytes], send: Send) -> None:
    with suppress(TelexError):  # the store is away: whoever watches comes again and resumes
        async with aclosing(source) as texts:  # type: ignore[type-var]
            async for text in texts:
                await send({"type": "http.response.body", "body": text, "more_body": True})
