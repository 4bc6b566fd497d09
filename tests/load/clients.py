"""Who is at the other end of a hub? Agents that wait for messages, and viewers that watch; many in one process.

    python -m tests.load.clients agents 4477 1000 60
    python -m tests.load.clients viewers 4477 100

It says `ready` when all of them are there. A line on stdin asks it something: `count` how far it has come, `stop` what
there was in all, each answered with a line of JSON.
"""

import asyncio
import json
import re
import sys
import time
from typing import Any, Protocol

from tests.load.http_connection import HOST, Line, chunk_of, head_of

WAIT_SECONDS = 20.0
_ID = re.compile(rb"^id: (\d+)$", re.MULTILINE)


class Crowd(Protocol):
    def count(self) -> int: ...

    def told(self) -> dict[str, Any]: ...


class Agents:
    """Each waits for a message, takes it, says that it is done with it, and waits for the next."""

    def __init__(self, port: int, number: int, lease_seconds: float) -> None:
        self._lease_seconds = lease_seconds
        self.came_at: dict[str, float] = {}  # by id: when it was first in somebody's hands
        self.again = 0  # how often a message came that had come before
        self.acked: dict[str, int] = {}  # by id: how often an ack was taken for the first
        self.wrong: list[str] = []
        self._lines = [Line(port) for _ in range(number)]
        self._here = 0
        self.all_here = asyncio.Event()

    async def live(self) -> None:
        await asyncio.gather(*(self._agent(f"agent-{number}", line) for number, line in enumerate(self._lines)))

    async def _agent(self, name: str, line: Line) -> None:
        first = json.dumps({"name": name, "role": "lead"}).encode()
        joined = await line.post("/join", first)
        if joined.status != 200:
            self.wrong.append(f"join: {joined.status} {joined.body[:200]!r}")
        self._here += 1
        if self._here == len(self._lines):
            self.all_here.set()
        asking = json.dumps({"agent": name, "wait": WAIT_SECONDS, "lease": self._lease_seconds}).encode()
        while True:
            answer = await line.post("/receive", asking)
            now = time.perf_counter()
            if answer.status == 503:  # it is ending, or has just begun
                continue
            if answer.status != 200:
                self.wrong.append(f"receive: {answer.status} {answer.body[:200]!r}")
                return
            for leased in answer.json()["answer"]:
                await self._take(name, line, leased, now)

    async def _take(self, name: str, line: Line, leased: dict[str, Any], now: float) -> None:
        id_ = leased["message"]["id"]
        if id_ in self.came_at:
            self.again += 1
        else:
            self.came_at[id_] = now
        losses = line.losses
        told = json.dumps({"token": leased["token"], "agent": name}).encode()
        acked = await line.post("/ack", told)
        if acked.status == 200 and (acked.json()["answer"] or line.losses != losses):
            self.acked[id_] = self.acked.get(id_, 0) + 1
        elif acked.status not in (200, 409):  # 409: the lease ran out while the hub was away
            self.wrong.append(f"ack: {acked.status} {acked.body[:200]!r}")

    def count(self) -> int:
        return len(self.acked)

    def told(self) -> dict[str, Any]:
        losses = sum(line.losses for line in self._lines)
        twice = sum(count > 1 for count in self.acked.values())
        return {
            "came_at": self.came_at, "again": self.again, "acked": len(self.acked), "acked_twice": twice,
            "losses": losses, "wrong": self.wrong[:10],
        }  # fmt: skip


class Viewers:
    """Each watches all that happens, and after a loss goes on where it was. Events are numbered without gaps."""

    def __init__(self, port: int, number: int) -> None:
        self._port, self._lines = port, [Line(port) for _ in range(number)]
        self.last = [-1] * number  # the number of the last event each has seen
        self.events = self.missed = self.repeated = 0
        self.wrong: list[str] = []
        self.all_here = asyncio.Event()

    async def live(self) -> None:
        await asyncio.gather(*(self._viewer(number, line) for number, line in enumerate(self._lines)))

    async def _viewer(self, number: int, line: Line) -> None:
        while True:
            try:
                reader, writer = await line.streams()
                after = f"last-event-id: {max(self.last[number], 0)}\r\n"
                head = f"GET /events HTTP/1.1\r\nhost: {HOST}:{self._port}\r\naccept: text/event-stream\r\n{after}\r\n"
                writer.write(head.encode())
                status, _ = await head_of(reader)
                if status != 200:
                    raise EOFError(status)
                await self._watch(number, reader)
            except (OSError, EOFError, asyncio.IncompleteReadError, ValueError):
                pass
            await line.lost()

    async def _watch(self, number: int, reader: asyncio.StreamReader) -> None:
        while chunk := await chunk_of(reader):
            for found in _ID.findall(chunk):
                seq = int(found)
                last = max(self.last[number], 0)
                self.events += 1
                if seq <= last:
                    self.repeated += 1
                else:
                    self.missed += seq - last - 1
                    self.last[number] = seq
            if self.last[number] < 0:
                self.last[number] = 0
            if min(self.last) >= 0:
                self.all_here.set()

    def count(self) -> int:
        return min(self.last)

    def told(self) -> dict[str, Any]:
        losses = sum(line.losses for line in self._lines)
        return {
            "last": self.count(), "events": self.events, "missed": self.missed, "repeated": self.repeated,
            "losses": losses, "wrong": self.wrong,
        }  # fmt: skip


async def main(kind: str, port: int, number: int, lease_seconds: float = 60.0) -> None:
    crowd = Agents(port, number, lease_seconds) if kind == "agents" else Viewers(port, number)
    living = asyncio.ensure_future(crowd.live())
    await crowd.all_here.wait()
    _say("ready")
    stdin = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(stdin), sys.stdin)
    while (line := await stdin.readline()) == b"count\n":
        _say(json.dumps(crowd.count()))
    if line:
        _say(json.dumps(crowd.told()))
    living.cancel()
    await asyncio.gather(living, return_exceptions=True)


def _say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], *map(int, sys.argv[2:])))
