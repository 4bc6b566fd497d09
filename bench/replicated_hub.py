"""A hub in a process of its own with its callers, for `bench.replicated`: requests as lines of JSON, answers likewise.

`prepare` makes messages, `send` sends them and measures, `write` sends them until `stop`, `empty` empties the inbox.
`batches` are the sizes of the batches of the last `send`, so that bare JetStream can publish the same sizes.
"""

import asyncio
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import AsyncExitStack, contextmanager
from pathlib import Path
from typing import Any

import telex
from bench.durable import emptied
from bench.measure import Turn
from bench.peers import SETTINGS
from bench.samples import updates
from telex.connection import open_replicated
from telex.stores.nats.address import KEY, is_replicated, parse_address
from telex.stores.nats.log import Stored
from telex.stores.nats.store import ReplicaOptions

READY = "ready"
INBOX_MAX = 1_000_000


class HubProcess:
    """The other end of a hub's standard input and output."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self._process = process

    def begin(self, verb: str, **options: Any) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps({"verb": verb, **options}) + "\n")
        self._process.stdin.flush()

    def answer(self) -> Any:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        assert line, "a hub has ended: its error is above"
        return json.loads(line)

    def do(self, verb: str, **options: Any) -> Any:
        self.begin(verb, **options)
        return self.answer()

    def turn(self) -> Turn:
        """The answer to `send` or `stop`."""
        done, seconds, each = self.answer()
        return Turn(done, seconds, each)


@contextmanager
def hub_process(where: str, folder: Path) -> Iterator[HubProcess]:
    """A hub on a SQLite file or on a replicated team; `folder` has its copy."""
    command = [sys.executable, "-m", "bench.replicated_hub", where, str(folder)]
    environment = {**os.environ, KEY: "a key of the benchmark"}
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True, env=environment) as process:
        hub = HubProcess(process)
        try:
            assert hub.answer() == READY
            yield hub
        finally:
            assert process.stdin is not None
            process.stdin.close()
            process.wait(30)


class Callers:
    """Callers of one bus. Each waits for its receipt before it sends its next message."""

    def __init__(self, bus: Any) -> None:
        self._bus, self._each, self._is_stopped = bus, list[float](), False
        self.task: asyncio.Task[Turn] | None = None

    async def run(self, raws: list[bytes], callers: int) -> Turn:
        began = time.perf_counter()
        await asyncio.gather(*(self._call(raws[number::callers]) for number in range(callers)))
        return Turn(self.sent, time.perf_counter() - began, self._each)

    async def _call(self, raws: list[bytes]) -> None:
        before = time.perf_counter()
        for raw in raws:
            receipt = await self._bus.send(raw, sender="dev", to="lead")
            assert receipt.accepted, receipt
            after = time.perf_counter()
            self._each.append(after - before)
            before = after
            if self._is_stopped:
                return

    @property
    def sent(self) -> int:
        return len(self._each)

    async def stop(self) -> Turn:
        assert self.task is not None
        assert not self.task.done(), "all prepared messages were sent too early: prepare more"
        self._is_stopped = True
        return await self.task


async def serve(where: str, folder: str) -> None:
    settings = SETTINGS._replace(limits=SETTINGS.limits._replace(inbox_max=INBOX_MAX))
    async with AsyncExitStack() as stack:
        sizes: list[int] = []
        if is_replicated(where):
            options = ReplicaOptions(3, log_bytes=-1, accepts_weaker=True)
            bus: Any = await stack.enter_async_context(open_replicated(parse_address(where), folder, settings, options))
            _note_sizes(bus.replica._log, sizes)
        else:
            bus = await stack.enter_async_context(telex.connect(where, settings=settings))
        _say(READY)
        raws: list[bytes] = []
        callers, batches = Callers(bus), list[int]()
        while line := await asyncio.to_thread(sys.stdin.readline):
            request = json.loads(line)
            match request["verb"]:
                case "prepare":
                    raws = updates(request["name"], request["messages"])
                    _say(READY)
                case "send":
                    sizes.clear()
                    callers = Callers(bus)
                    _say(await callers.run(raws, request["callers"]))
                    batches = sizes.copy()
                case "batches":
                    _say(batches)
                case "write":
                    callers = Callers(bus)
                    callers.task = asyncio.ensure_future(callers.run(raws, request["callers"]))
                    while callers.sent < request["callers"]:
                        await asyncio.sleep(0.001)
                    _say(READY)
                case "stop":
                    _say(await callers.stop())
                case "empty":
                    await emptied(bus, "lead")
                    _say(READY)


def _note_sizes(log: Any, sizes: list[int]) -> None:
    publish = log.publish

    async def noted(data: bytes, mac: str, base: int) -> Any:
        outcome = await publish(data, mac, base)
        if isinstance(outcome, Stored):
            sizes.append(len(data))
        return outcome

    log.publish = noted


def _say(answer: Any) -> None:
    print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    asyncio.run(serve(*sys.argv[1:]))
