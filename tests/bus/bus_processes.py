"""Several processes on one file: agents that send, answer, move tasks, join and leave at once.

    python -m tests.bus.bus_processes STORE PROCESSES BATCHES [FAULT]

It prints as JSON what each process was answered, and which topics it knows in the end. It forks, and so it is a process
of its own: a test process may have threads.
"""

import asyncio
import json
import sys
from collections.abc import Awaitable
from contextlib import suppress
from itertools import count
from multiprocessing import get_context
from multiprocessing.connection import Connection
from multiprocessing.synchronize import Barrier
from random import Random
from typing import NamedTuple, cast

import telex
from telex.bus.context import TeamState
from telex.bus.local import LocalBus
from telex.config import Settings
from telex.errors import NotFound
from telex.model.work import TASK_STATES, moves, standing
from telex.ports.bus import Receipt
from telex.ports.store import Reads
from tests.bus.random_acts import work_states
from tests.crash.work_messages import PLANS, TASKS, sending

TOGETHER_MAX = 5
WAIT_SECONDS = 60.0
MOVING = ("MOVE-1", "MOVE-2", "MOVE-3")
SETTINGS = Settings(durable=False)  # no process is killed here


class Agents:
    """The agents of one process: a lead, a developer, and guests that come and go."""

    def __init__(self, bus: LocalBus, number: int) -> None:
        self._bus, self._random = bus, Random(number)
        self._lead, self._dev = f"lead-{number}", f"dev-{number}"
        self._ids = (f"{number}-{index}" for index in count())
        self._guests = [f"dev-guest-{number}-{index}" for index in range(2)]
        self.receipts: list[tuple[str, str, bool]] = []  # sender, id, accepted

    async def act(self) -> None:
        """Several acts at once, each decided on what this process knows now."""
        acts = [await self._next() for _ in range(self._random.randint(1, TOGETHER_MAX))]
        await asyncio.gather(*acts)

    async def _next(self) -> Awaitable[None]:
        random = self._random
        kind = random.choice(
            ["contract", "report", "report", "ask", "answer", "answer", "move", "move", "note", "guest"]
        )
        if kind == "contract":
            return self._send(self._lead, "contract", random.choice(PLANS), str(random.randint(1, 3)))
        if kind == "report":
            status = random.choice(("complete", "partial"))
            return self._send(self._dev, "report", random.choice(PLANS), random.choice(TASKS), status)
        if kind == "ask":
            return self._send(self._dev, "ask", random.choice(TASKS))
        if kind == "answer":
            return await self._answer()
        if kind == "move":
            return await self._move()
        return self._guest() if kind == "guest" else self._send(random.choice(self._guests), "note")

    async def _send(self, sender: str, *words: str) -> None:
        receipt = await self._bus.send(**sending(next(self._ids), sender, words), check=False)
        self._record(sender, receipt)

    def _record(self, sender: str, receipt: Receipt) -> None:
        self.receipts.append((sender, receipt.id, receipt.accepted))

    async def _answer(self) -> Awaitable[None]:
        """One of the oldest requests, which others answer too."""
        waiting = [one.request for one in (await self._bus.work_state("approval")).values() if one.waits]
        if not waiting:
            return self._send(self._dev, "ask", TASKS[0])
        request = self._random.choice(waiting[:2])
        return self._send(self._lead, "answer", request.id, request.by, self._random.choice(("yes", "no")))

    async def _move(self) -> Awaitable[None]:
        name = self._random.choice(MOVING)
        task = (await self._bus.work_state("task")).get(f"task:{name}")
        status = standing(TASK_STATES, task.steps if task is not None else ())
        there = moves(TASK_STATES, status)
        to = self._random.choice(there) if there else TASK_STATES.first
        return self._send(self._dev, "move", name, status.state, to)

    async def _guest(self) -> None:
        guest = self._random.choice(self._guests)
        if self._random.random() < 0.5:
            await self._bus.join(guest, role="dev")
            return
        with suppress(NotFound):
            await self._bus.leave(guest)


def never_catches_up() -> None:
    """A planted fault: the cache takes what it read first for valid, whatever other processes have written since."""
    catch_up = TeamState._catch_up

    def faulty(self: TeamState, reads: Reads) -> None:
        if self._roster is None:
            catch_up(self, reads)
        self.position = reads.position

    TeamState._catch_up = faulty  # type: ignore[method-assign]


FAULTS = {"never-catches-up": never_catches_up}


class Work(NamedTuple):
    """What came of the acts of one process."""

    receipts: list[tuple[str, str, bool]]  # sender, id, accepted
    topics: dict[str, str]  # as it knows them when all have finished


async def run(store: str, number: int, batches: int, barrier: Barrier) -> Work:
    async with telex.connect(store, settings=SETTINGS) as opened:
        bus = cast(LocalBus, opened)
        agents = Agents(bus, number)
        barrier.wait(WAIT_SECONDS)
        for _ in range(batches):
            await agents.act()
        barrier.wait(WAIT_SECONDS)
        return Work(agents.receipts, await work_states(bus))


def main(store: str, processes: int, batches: int, *faults: str) -> None:
    for fault in faults:
        FAULTS[fault]()
    fork = get_context("fork")
    barrier = fork.Barrier(processes)

    def child(number: int, done: Connection) -> None:
        done.send(asyncio.run(run(store, number, batches, barrier)))

    ends = [fork.Pipe(duplex=False) for _ in range(processes)]
    started = [fork.Process(target=child, args=(number, end)) for number, (_, end) in enumerate(ends)]
    for process, (_, end) in zip(started, ends, strict=True):
        process.start()
        end.close()
    print(json.dumps([end.recv() for end, _ in ends]))
    for process in started:
        process.join()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), *sys.argv[4:])
