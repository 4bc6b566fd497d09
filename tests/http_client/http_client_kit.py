"""What do tests of the client of a hub share? A wire with faults, and a hub in a process of its own."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import httpx2

from telex.client import SyncBus
from telex.clock import SteadyClock
from telex.http_client.bus import RemoteBus
from telex.http_client.transport import BlockingTransport, HttpQuery, HttpReply, RetryTransport
from telex.model.limits import LIMITS, Limits
from telex.validation.check import STRICT
from tests.surfaces.surfaces_kit import SECONDS_MAX

TELEX = str(Path(sys.executable).parent / "telex")
NOTE = "The build is red."
REPORTED = ("not-ready", "store-unavailable", "hub-closing", "outcome-unknown", "store-damaged")  # codes of 503


class Faulty:
    """A wire on which some answers are lost after the hub has done what was asked, or before it was asked at all."""

    def __init__(self, url: str, faults: list[str | None]) -> None:
        self._wire, self.faults, self.asked = BlockingTransport(url, {}), faults, list[HttpQuery]()

    async def ask(self, question: HttpQuery) -> HttpReply:
        self.asked.append(question)
        fault = self.faults.pop(0) if self.faults else None
        if fault == "not there":
            raise httpx2.ConnectError("refused")
        if fault == "busy":
            return HttpReply(429, b'{"code": "too-many", "detail": "Try again."}')
        if fault == "gateway":
            return HttpReply(502, b"")
        if fault in REPORTED:
            return HttpReply(503, b'{"code": "%s", "detail": "Try again."}' % fault.encode())
        reply = await self._wire.ask(question)
        if fault == "lost":
            raise httpx2.ReadError("gone")
        return reply

    def stream(self, *args: Any) -> Any:
        return self._wire.stream(*args)

    async def close(self) -> None:
        await self._wire.close()


IMPATIENT = LIMITS._replace(hub_connect_seconds=0.0, hub_retry_seconds=0.0)


def over(*wires: Faulty, limits: Limits = LIMITS) -> SyncBus:
    clock = SteadyClock(sleep=lambda seconds: None)
    return SyncBus(RemoteBus.over(RetryTransport(wires, clock, "http://hub", limits), clock, STRICT))


def simulated_time() -> tuple[list[float], SteadyClock]:
    """A clock that only sleeping moves."""
    moment = [0.0]
    sleep = lambda seconds: moment.append(moment.pop() + seconds)  # noqa: E731
    return moment, SteadyClock(lambda: moment[0], lambda: moment[0], sleep)


class Process:
    """A hub that can be killed, and started again on the same port and store."""

    def __init__(self, folder: Path) -> None:
        self._folder, self.port = folder, 0
        self.begin()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def begin(self) -> None:
        words = [TELEX, "serve", "--port", str(self.port), "--store", "hub.db"]
        self._process = subprocess.Popen(words, cwd=self._folder, stderr=subprocess.PIPE, text=True)
        assert self._process.stderr is not None
        line = self._process.stderr.readline()
        assert "http://" in line, line
        self.port = int(line.split("http://127.0.0.1:")[1].split("/")[0])

    def kill(self) -> None:
        self._process.kill()
        self._process.wait(SECONDS_MAX)
        assert self._process.stderr is not None
        self._process.stderr.close()
