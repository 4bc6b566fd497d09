"""Does a hub bear a thousand waiting agents and a hundred viewers, and does a kill of it lose anything?

    python -m tests.load.hub_load --agents 1000 --viewers 100 --rate 200 --seconds 60 --kill-at 30

A real hub on a new store, on this machine only. Messages are sent at that rate, each under an id of its own; one whose
answer was lost is sent again under the same id. Afterwards what was accepted is held against what came. Exit 1 if
anything was lost, came twice without a reason, or was kept from a viewer.
"""

import argparse
import asyncio
import json
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path
from typing import Any, NamedTuple

from telex.dialects.builtin.vbw_typed import EXECUTION_UPDATE
from tests.load.http_connection import HOST, Line
from tests.load.hub_process import Cost, HubProcess

SENDERS = 64  # connections that are sent over, in turn
SETTLE_SECONDS = 60.0  # for what is still on its way when the last one was sent
ROOT = Path(__file__).parents[2]


class Plan(NamedTuple):
    agents: int
    viewers: int
    rate: float  # messages a second
    seconds: float
    kill_at: float | None = None  # seconds after the beginning


class Report(NamedTuple):
    """What was promised, and what came of it."""

    plan: Plan
    sent: int
    accepted: int
    delivered: int
    lost: int  # accepted, and never in anybody's hands
    again: int  # times that a message came to somebody a second time: only after a kill
    acked_twice: int
    missed: int  # events that a viewer was not told of
    repeated: int  # events that a viewer was told of twice
    resumed: int  # connections that were lost and opened again
    seconds: tuple[float, ...]  # from sending to being in the agent's hands, each
    share: float  # of a core that the hub used
    cost: Cost
    wrong: tuple[str, ...]  # answers that nobody should get

    @property
    def holds(self) -> bool:
        none = not (self.lost or self.acked_twice or self.missed or self.repeated or self.wrong)
        return none and self.accepted == self.sent and (self.again == 0 or self.plan.kill_at is not None)

    def told(self) -> str:
        ordered = sorted(self.seconds) or [0.0]
        p50, p99 = (ordered[min(len(ordered) - 1, int(len(ordered) * share))] * 1e3 for share in (0.5, 0.99))
        plan = self.plan
        lines = [
            f"{plan.agents} agents waiting, {plan.viewers} viewers, {plan.rate:g} messages/s for {plan.seconds:g} s",
            f"the hub was killed after {plan.kill_at:g} s" if plan.kill_at is not None else "nobody killed the hub",
            f"sent {self.sent}, accepted {self.accepted}, delivered {self.delivered}, lost {self.lost}",
            f"came again {self.again}, acked twice {self.acked_twice}, connections resumed {self.resumed}",
            f"send to delivered: p50 {p50:.1f} ms, p99 {p99:.1f} ms, worst {ordered[-1] * 1e3:.1f} ms",
            f"viewers: missed {self.missed}, repeated {self.repeated}",
            f"the hub: {self.share:.0%} of a core, {self.cost.memory_bytes / 1e6:.0f} MB at most",
            *(f"WRONG: {one}" for one in self.wrong),
        ]
        return "\n".join(lines)


class Crowd:
    """Clients in a process of their own."""

    def __init__(self, *words: str | int) -> None:
        command = [sys.executable, "-m", "tests.load.clients", *map(str, words)]
        pipe = subprocess.PIPE
        self._process = subprocess.Popen(command, cwd=ROOT, stdin=pipe, stdout=pipe, text=True)

    def ready(self) -> None:
        assert self._process.stdout is not None
        assert self._process.stdout.readline() == "ready\n", "the clients did not come"

    def ask(self, what: str) -> Any:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(what + "\n")
        self._process.stdin.flush()
        return json.loads(self._process.stdout.readline())

    def end(self) -> None:
        if self._process.poll() is None:
            self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                pipe.close()


class Sending:
    """Sends at a steady pace, whatever becomes of it."""

    def __init__(self, plan: Plan, port: int) -> None:
        self._plan = plan
        self._free: asyncio.Queue[tuple[int, Line]] = asyncio.Queue()
        for number in range(SENDERS):
            self._free.put_nowait((number, Line(port)))
        self.sent_at: dict[str, float] = {}
        self.accepted: set[str] = set()
        self.wrong: list[str] = []
        self.losses = 0

    async def all(self) -> None:
        """A message waits for a free connection when the hub is away, and is timed from when it was due."""
        began = time.perf_counter()
        tasks = []
        for number in range(int(self._plan.rate * self._plan.seconds)):
            due = began + number / self._plan.rate
            if (left := due - time.perf_counter()) > 0:
                await asyncio.sleep(left)
            tasks.append(asyncio.create_task(self._one(number, due)))
        await asyncio.gather(*tasks)
        while not self._free.empty():
            self._free.get_nowait()[1].close()

    async def _one(self, number: int, due: float) -> None:
        id_ = f"load-{number}"
        self.sent_at[id_] = due
        sender, line = await self._free.get()
        try:
            to = f"agent-{number * 7919 % self._plan.agents}"
            losses = line.losses
            path = f"/send?sender=dev-{sender}&role=dev&to={to}"
            answer = await line.post(path, _message(id_))
            while answer.status == 503:
                await asyncio.sleep(0.05)
                answer = await line.post(path, _message(id_))
            self.losses += line.losses - losses
            if answer.status in (200, 201):
                self.accepted.add(id_)
            else:
                self.wrong.append(f"send: {answer.status} {answer.body[:300]!r}")
        finally:
            self._free.put_nowait((sender, line))


def _message(id_: str) -> bytes:
    return json.dumps({**EXECUTION_UPDATE.example, "id": id_}).encode()


def play(plan: Plan, folder: Path) -> Report:
    hub = HubProcess(folder)
    # What was in hand when the hub was killed is offered again after this, and nothing should be otherwise.
    lease_seconds = 60 if plan.kill_at is None else 4
    crowds = [Crowd("agents", hub.port, plan.agents, lease_seconds), Crowd("viewers", hub.port, plan.viewers)]
    try:
        for crowd in crowds:
            crowd.ready()
        before, began = hub.cost(), time.perf_counter()
        sending = Sending(plan, hub.port)
        asyncio.run(_at_work(plan, hub, sending))
        share = (hub.cost().cpu_seconds - before.cpu_seconds) / (time.perf_counter() - began)
        _settle(hub, crowds, len(sending.accepted))
        agents, viewers = (crowd.ask("stop") for crowd in crowds)
        return _report(plan, sending, agents, viewers, share, hub.cost())
    finally:
        for crowd in crowds:
            crowd.end()
        hub.end()


async def _at_work(plan: Plan, hub: HubProcess, sending: Sending) -> None:
    work = asyncio.ensure_future(sending.all())
    if plan.kill_at is not None:
        await asyncio.sleep(plan.kill_at)
        hub.kill()
        await asyncio.to_thread(hub.start)
    await work


def _settle(hub: HubProcess, crowds: list[Crowd], accepted: int) -> None:
    """Until all is acked and every viewer has seen the last event, or for so long that it will not be."""
    agents, viewers = crowds
    until = time.monotonic() + SETTLE_SECONDS
    while time.monotonic() < until:
        if agents.ask("count") >= accepted and viewers.ask("count") >= _last_event(hub.port):
            return
        time.sleep(0.1)


def _last_event(port: int) -> int:
    with urllib.request.urlopen(f"http://{HOST}:{port}/events?newest_first=true&limit=1") as answer:
        [page] = json.load(answer)["answer"]
    return int(page["event"]["seq"])


def _report(
    plan: Plan, sending: Sending, agents: dict[str, Any], viewers: dict[str, Any], share: float, cost: Cost
) -> Report:
    came_at = agents["came_at"]
    delivered = sending.accepted & came_at.keys()
    return Report(
        plan,
        len(sending.sent_at),
        len(sending.accepted),
        len(delivered),
        len(sending.accepted) - len(delivered),
        agents["again"],
        agents["acked_twice"],
        viewers["missed"],
        viewers["repeated"],
        agents["losses"] + viewers["losses"] + sending.losses,
        tuple(came_at[id_] - sending.sent_at[id_] for id_ in delivered),
        share,
        cost,
        (*sending.wrong[:10], *agents["wrong"], *viewers["wrong"]),
    )


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.load.hub_load", description=__doc__.splitlines()[0])
    parser.add_argument("--agents", type=int, default=1000)
    parser.add_argument("--viewers", type=int, default=100)
    parser.add_argument("--rate", type=float, default=200.0)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--kill-at", type=float, help="kill the hub after so many seconds, and start it again")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="telex-load-") as folder:
        report = play(Plan(**vars(chosen)), Path(folder))
    print(report.told())
    return 0 if report.holds else 1


if __name__ == "__main__":
    sys.exit(main())
