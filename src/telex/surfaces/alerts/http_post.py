"""HTTP client of alerts: one request on one connection of the event loop, without redirects, bounded in time and size.

It holds no thread and is cancelled at once, so that a receiver that hangs costs the hub nothing.
"""

import asyncio
import os
import socket
import ssl
from collections.abc import Mapping
from contextlib import suppress
from functools import cache
from urllib.parse import urlsplit

import h11

from telex.surfaces.alerts import DeliveryFailed

SECONDS_MAX = 10.0  # for connection, request and status
HEAD_BYTES_MAX = 65_536
READ_BYTES = 16_384
PORTS = {"http": 80, "https": 443}


async def post(url: str, body: bytes, headers: Mapping[str, str], method: str = "POST") -> int:
    """Status of the response.

    Raises:
        DeliveryFailed: there is no response in time.
    """
    try:
        async with asyncio.timeout(SECONDS_MAX):
            return await _exchange(url, body, headers, method)
    except TimeoutError as error:
        raise DeliveryFailed(f"no answer within {SECONDS_MAX:g} seconds") from error
    except h11.ProtocolError as error:
        raise DeliveryFailed("the answer is no HTTP, or none") from error
    except (OSError, UnicodeError) as error:
        raise DeliveryFailed(f"no connection: {_reason(error)}") from error


def _reason(error: Exception) -> str:
    """Without the address, which the text of the error may have."""
    if isinstance(error, socket.gaierror):
        return "the host is unknown"
    if isinstance(error, ssl.SSLError):
        message = getattr(error, "verify_message", "").partition(",")[0]  # after it comes the host
        return f"TLS: {message or error.reason or 'failed'}"
    number = getattr(error, "errno", None)
    return os.strerror(number).lower() if isinstance(number, int) and number > 0 else type(error).__name__


async def _exchange(url: str, body: bytes, headers: Mapping[str, str], method: str) -> int:
    parts = urlsplit(url)
    host = parts.hostname or ""
    port = parts.port or PORTS[parts.scheme]
    tls = _tls() if parts.scheme == "https" else None
    reader, writer = await asyncio.open_connection(host, port, ssl=tls, limit=HEAD_BYTES_MAX)
    try:
        connection = h11.Connection(h11.CLIENT, max_incomplete_event_size=HEAD_BYTES_MAX)
        target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        own = {"host": parts.netloc, "content-length": str(len(body)), "connection": "close", "user-agent": "telex"}
        request = h11.Request(method=method, target=target, headers=[*{**own, **headers}.items()])
        writer.write(b"".join(connection.send(event) or b"" for event in _events(request, body)))
        await writer.drain()
        while True:
            event = connection.next_event()
            if event is h11.NEED_DATA:
                connection.receive_data(await reader.read(READ_BYTES))
            elif isinstance(event, h11.Response):
                return event.status_code
    finally:
        writer.close()
        with suppress(OSError, ssl.SSLError, TimeoutError):
            async with asyncio.timeout(1.0):
                await writer.wait_closed()


def _events(request: h11.Request, body: bytes) -> list[h11.Event]:
    return [request, *([h11.Data(data=body)] if body else []), h11.EndOfMessage()]


@cache
def _tls() -> ssl.SSLContext:
    return ssl.create_default_context()
