"""Five worker processes that are killed and stopped at random: one reply for every task."""

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import NamedTuple

import pytest

import telex
from telex.model.limits import Limits
from tests.proofs import proves
from tests.worker.worker_kit import task

pytestmark = pytest.mark.slow
ROOT = Path(__file__).parents[2]
SETTINGS = '[limits]\nattempts_max = 30\nbackoff_seconds = 0\ndedup_window_seconds = 3600\n[team]\nevidence = "off"\n'
LIMITS = Limits(attempts_max=30, backoff_seconds=0.0)
NAMES = ("w1", "w2", "w3", "w4", "w5")
REPLIES = telex.Query(kinds=("accepted",))
APART_SECONDS = 0.2  # between two signals


class WorkerProcesses:
    """Five workers; one that ends is started again."""

    def __init__(self, folder: Path, plant: str) -> None:
        self._folder, self._plant = folder, plant
        self._processes = {name: self._start(name) for name in NAMES}
        self.exits: Counter[int] = Counter()

    def _start(self, name: str) -> "subprocess.Popen[bytes]":
        command = [sys.executable, "-m", "tests.crash.task_worker", name, str(self._folder / "telex.db"), self._plant]
        environment = os.environ | {"PYTHONPATH": str(ROOT), "TELEX_CONFIG": str(self._folder / "telex.toml")}
        with (self._folder / f"{name}.log").open("ab") as log:
            return subprocess.Popen(command, cwd=self._folder, env=environment, stdout=log, stderr=log)

    def signal(self, number: signal.Signals) -> None:
        """Send a signal to the worker that has run longest, and start it again as its supervisor would."""
        name = next(iter(self._processes))
        process = self._processes.pop(name)
        process.send_signal(number)
        self.exits[process.wait(15)] += 1
        self._processes[name] = self._start(name)

    def stop(self) -> None:
        for process in self._processes.values():
            process.terminate()
        for process in self._processes.values():
            self.exits[process.wait(15)] += 1


class Verdict(NamedTuple):
    replies: Counter[str]  # by the task's id
    expired: int  # leases of killed workers
    open_: int
    dead: int
    exits: Counter[int]


async def send_tasks(bus: telex.Bus, count: int) -> None:
    lead = bus.agent("lead", role="lead")
    await bus.join("w1", role="dev")
    await asyncio.gather(*(lead.send(task(f"T{number}"), to="role:dev", id=f"T{number}") for number in range(count)))


async def run(folder: Path, count: int, signals: int, plant: str = "") -> Verdict:
    """Send tasks, kill and stop workers while they are processed, and count the replies."""
    (folder / "telex.toml").write_text(SETTINGS, encoding="utf-8")
    async with telex.connect(folder / "telex.db", settings=telex.Settings(limits=LIMITS, evidence="off")) as bus:
        await send_tasks(bus, count)
        workers = await asyncio.to_thread(WorkerProcesses, folder, plant)
        try:
            await replies(bus, 20, deadline=time.monotonic() + 20)
            for number in range(signals):
                await asyncio.sleep(APART_SECONDS)
                kind = signal.SIGTERM if number % 3 == 2 else signal.SIGKILL
                await asyncio.to_thread(workers.signal, kind)
            await open_deliveries(bus, deadline=time.monotonic() + 40)
        finally:
            await asyncio.to_thread(workers.stop)
        sent = Counter([one.reply_to async for _, one in bus.events(REPLIES) if one is not None and one.reply_to])
        expired = len([event async for event, _ in bus.events(telex.Query(kinds=("lease-expired",)))])
        return Verdict(sent, expired, await open_deliveries(bus), len(await bus.dead_letters()), workers.exits)


async def replies(bus: telex.Bus, least: int, deadline: float) -> None:
    while len(await bus.inbox("lead")) < least and time.monotonic() < deadline:
        await asyncio.sleep(0.05)


async def open_deliveries(bus: telex.Bus, deadline: float = 0.0) -> int:
    """Tasks that are not acked; until the deadline, wait for them."""
    while True:
        waiting = {one.member.name: one.waiting + one.leased for one in await bus.roster()}
        left = sum(count for name, count in waiting.items() if name != "lead")
        if not left or time.monotonic() >= deadline:
            return left
        await asyncio.sleep(0.1)


@proves("worker/killed")
def test_every_task_has_one_reply_though_workers_are_killed_and_stopped(tmp_path: Path) -> None:
    verdict = asyncio.run(run(tmp_path, 1_000, signals=9))
    assert verdict.replies == Counter({f"T{number}": 1 for number in range(1_000)})
    assert (verdict.open_, verdict.dead) == (0, 0)
    assert verdict.expired > 0, "no worker was killed while it worked"
    assert verdict.exits[0] >= 3, "a worker that is stopped ends by itself"


def test_two_transactions_for_reply_and_ack_are_found(tmp_path: Path) -> None:
    verdict = asyncio.run(run(tmp_path, 150, signals=4, plant="two-transactions"))
    assert max(verdict.replies.values()) > 1
