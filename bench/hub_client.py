"""Load generator: 64 connections, each sending its next request when it has its response.

It writes HTTP by hand, so that the server is measured and not the client.
"""

import asyncio
import time
from collections.abc import Iterator, Sequence
from typing import cast

import uvloop

from bench.measure import Turn

CONNECTIONS = 64


def requests(port: int, path: str, bodies: Sequence[bytes]) -> list[bytes]:
    head = f"POST {path} HTTP/1.1\r\nhost: 127.0.0.1:{port}\r\ncontent-type: application/json\r\ncontent-length: "
    return [f"{head}{len(body)}\r\n\r\n".encode() + body for body in bodies]


def pump(port: int, asked: Sequence[bytes]) -> Turn:
    """Ask all of it, as fast as the answers come."""
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as loop:
        return loop.run(_pump(port, asked))


async def _pump(port: int, asked: Sequence[bytes]) -> Turn:
    loop = asyncio.get_running_loop()
    work = _Work(asked, loop.create_future())
    lines = [
        (await loop.create_connection(lambda: _Connection(work), "127.0.0.1", port))[1] for _ in range(CONNECTIONS)
    ]
    start = time.perf_counter()
    for line in lines:
        line.ask()
    await work.done
    seconds = time.perf_counter() - start
    for line in lines:
        line.transport.close()
    return Turn(len(asked), seconds, work.each)


class _Work:
    """What there is to ask, and what came of it."""

    def __init__(self, asked: Sequence[bytes], done: "asyncio.Future[None]") -> None:
        self.left: Iterator[bytes] = iter(asked)
        self.wanted, self.done = len(asked), done
        self.each: list[float] = []

    def answered(self, answer: bytes, seconds: float) -> None:
        if not answer.startswith((b"HTTP/1.1 201", b"HTTP/1.1 200")):
            self.fail(AssertionError(answer[:1000]))
        self.each.append(seconds)
        if len(self.each) == self.wanted and not self.done.done():
            self.done.set_result(None)

    def fail(self, error: BaseException) -> None:
        if not self.done.done():
            self.done.set_exception(error)


class _Connection(asyncio.Protocol):
    def __init__(self, work: _Work) -> None:
        self._work = work
        self._came = b""
        self._asked_at = 0.0
        self.transport: asyncio.Transport

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)

    def ask(self) -> None:
        request = next(self._work.left, None)
        if request is not None:
            self._asked_at = time.perf_counter()
            self.transport.write(request)

    def data_received(self, data: bytes) -> None:
        self._came += data
        head, end, body = self._came.partition(b"\r\n\r\n")
        if not end:
            return
        length = int(head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0])
        if len(body) >= length:
            answer, self._came = self._came, b""
            self._work.answered(answer, time.perf_counter() - self._asked_at)
            self.ask()

    def connection_lost(self, exc: Exception | None) -> None:
        self._work.fail(exc or EOFError("the server has hung up"))
