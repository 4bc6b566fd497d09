"""How does a client talk to a hub at next to no cost? HTTP/1.1 by hand, so that what is measured is the hub."""

import asyncio
import json
from typing import Any, NamedTuple

HOST = "127.0.0.1"
AGAIN_SECONDS = 0.3  # until a connection that failed is tried again
HEAD_BYTES_MAX = 65_536


class Answer(NamedTuple):
    status: int
    body: bytes

    def json(self) -> Any:
        return json.loads(self.body)


class Line:
    """One connection that is kept open, and opened again where it was lost."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None
        self.losses = 0

    async def post(self, path: str, body: bytes, content_type: str = "application/json") -> Answer:
        """Ask until there is an answer: whoever asks must be able to bear that it is done twice."""
        head = f"POST {path} HTTP/1.1\r\nhost: {HOST}:{self._port}\r\ncontent-type: {content_type}\r\n"
        request = f"{head}content-length: {len(body)}\r\n\r\n".encode() + body
        while True:
            try:
                return await self._once(request)
            except (OSError, EOFError, asyncio.IncompleteReadError):
                await self.lost()

    async def _once(self, request: bytes) -> Answer:
        reader, writer = await self.streams()
        writer.write(request)
        status, headers = await head_of(reader)
        body = await reader.readexactly(int(headers.get("content-length", 0)))
        if headers.get("connection") == "close":
            self.close()
        return Answer(status, body)

    async def streams(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        if self._streams is None:
            self._streams = await asyncio.open_connection(HOST, self._port, limit=1 << 22)
        return self._streams

    async def lost(self) -> None:
        self.losses += 1
        self.close()
        await asyncio.sleep(AGAIN_SECONDS)

    def close(self) -> None:
        if self._streams is not None:
            self._streams[1].transport.abort()
            self._streams = None


async def head_of(reader: asyncio.StreamReader) -> tuple[int, dict[str, str]]:
    head = (await reader.readuntil(b"\r\n\r\n"))[:HEAD_BYTES_MAX].decode("latin-1")
    first, *rest = head.rstrip().split("\r\n")
    pairs = (line.partition(":") for line in rest)
    return int(first.split()[1]), {name.lower(): value.strip().lower() for name, _, value in pairs}


async def chunk_of(reader: asyncio.StreamReader) -> bytes:
    """The next piece of a body that has no end yet; nothing at its end."""
    size = int((await reader.readuntil(b"\r\n")).strip(), 16)
    return (await reader.readexactly(size + 2))[:-2]
