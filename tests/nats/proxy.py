"""TCP proxy between one hub and its servers, in a process of its own, which can lose bytes.

    python -m tests.nats.proxy LISTEN:TARGET LISTEN:TARGET …

Its commands are lines on stdin: see `COMMANDS`.
"""

import asyncio
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress

COMMANDS = {
    "hold": "pass no bytes in either direction; connections stay open, and their bytes are kept",
    "swallow": "drop everything that comes from the servers",
    "pass": "pass bytes again, those that were kept first",
    "close": "close all connections, and pass the bytes of new ones",
}
CHUNK_BYTES = 65_536


class Proxy:
    def __init__(self) -> None:
        self._is_open = asyncio.Event()
        self._is_open.set()
        self._swallows = False
        self._writers: set[asyncio.StreamWriter] = set()

    async def listen(self, port: int, target: int) -> None:
        async def connect(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await self._connect(reader, writer, target)

        await asyncio.start_server(connect, "127.0.0.1", port)

    async def _connect(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, target: int) -> None:
        self._writers.add(writer)
        try:
            await self._is_open.wait()
            server_reader, server_writer = await asyncio.open_connection("127.0.0.1", target)
            self._writers.add(server_writer)
            both = self._pump(reader, server_writer), self._pump(server_reader, writer, is_answer=True)
            await asyncio.gather(*both)
            self._writers.discard(server_writer)
        except OSError:
            writer.close()  # the server is down
        finally:
            self._writers.discard(writer)

    async def _pump(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, *, is_answer: bool = False
    ) -> None:
        with suppress(OSError):
            while chunk := await reader.read(CHUNK_BYTES):
                await self._is_open.wait()
                if not (is_answer and self._swallows):
                    writer.write(chunk)
                    await writer.drain()
        writer.close()

    def obey(self, command: str) -> None:
        self._swallows = command == "swallow"
        if command == "hold":
            self._is_open.clear()
        else:
            self._is_open.set()
        if command == "close":
            for writer in self._writers:
                writer.transport.abort()


async def run(pairs: Sequence[str]) -> None:
    proxy, loop, ended = Proxy(), asyncio.get_running_loop(), asyncio.Event()
    for pair in pairs:
        listen, target = pair.split(":")
        await proxy.listen(int(listen), int(target))

    def read() -> None:
        command = sys.stdin.readline().strip()
        if command in COMMANDS:
            proxy.obey(command)
        if not command:
            ended.set()

    loop.add_reader(sys.stdin, read)
    print("ready", flush=True)
    await ended.wait()


class ProxyProcess:
    """The proxy of one hub. It ends with its parent, whose end closes its stdin."""

    def __init__(self, ports: Sequence[int], targets: Sequence[int]) -> None:
        pairs = [f"{port}:{target}" for port, target in zip(ports, targets, strict=True)]
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.nats.proxy", *pairs],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def await_ready(self) -> None:
        assert self._process.stdout is not None
        assert self._process.stdout.readline() == "ready\n"

    def command(self, word: str) -> None:
        assert word in COMMANDS
        assert self._process.stdin is not None
        self._process.stdin.write(word + "\n")
        self._process.stdin.flush()

    def stop(self) -> None:
        self._process.kill()
        self._process.wait()
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.stdout.close()


if __name__ == "__main__":
    asyncio.run(run(sys.argv[1:]))
