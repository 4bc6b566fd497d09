"""Does kill -9 lose anything? Eight processes on one file, killed and stopped at random moments, and started again.

    python -m tests.crash.kills --kills 2000 --seed 7

Afterwards what the processes were promised is compared with what the store holds. It prints the verdict as JSON and
exits with 1 if a promise was broken.
"""

import argparse
import asyncio
import ctypes
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

from telex.ports.bus import Bus
from tests.crash.agents import LEASE_SECONDS, NAMES, Reader, Sender, run, with_bus
from tests.crash.mutations import PLANTS
from tests.crash.verdict import Verdict, judge
from tests.crash.work_verdict import BookVerdict

PAUSE_SECONDS = (0.02, 0.18)  # between one blow and the next
PR_SET_PDEATHSIG = 1  # from linux/prctl.h
STOPS = 0.15  # how many blows are a pause longer than a lease
Live = Callable[[str, str, Path, int], object]  # name, store, folder of the logbooks, seed; only a signal ends it


class Life(NamedTuple):
    name: str
    process: int
    stopped_until: float = 0.0


class Killer:
    """The parent of the eight. It has no threads and no open store, so that it may fork."""

    def __init__(self, folder: Path, random: Random, names: Sequence[str] = NAMES, live: Live = run) -> None:
        self.store, self.logs, self.random = str(folder / "telex.db"), folder, random
        self.names, self.live = names, live
        self.lives = {name: self.born(name) for name in names}
        self.kills = self.stops = 0
        self.failed: list[str] = []

    def born(self, name: str) -> Life:
        seed = self.random.randrange(2**32)
        process = os.fork()
        if process:
            return Life(name, process)
        try:
            die_with_parent()
            self.live(name, self.store, self.logs, seed)
        except BaseException:
            (self.logs / f"{name}.{os.getpid()}.failed").write_text(traceback.format_exc(), encoding="utf-8")
        finally:
            os._exit(1)

    def blow(self) -> None:
        life = self.lives[self.random.choice(self.names)]
        if not life.stopped_until and self.random.random() < STOPS:
            os.kill(life.process, signal.SIGSTOP)
            pause = LEASE_SECONDS * self.random.uniform(1.2, 2.0)
            self.lives[life.name] = life._replace(stopped_until=time.monotonic() + pause)
            self.stops += 1
        else:
            self.end(life)
            self.lives[life.name] = self.born(life.name)
            self.kills += 1

    def wake(self) -> None:
        for name, life in self.lives.items():
            if life.stopped_until and life.stopped_until <= time.monotonic():
                os.kill(life.process, signal.SIGCONT)
                self.lives[name] = life._replace(stopped_until=0.0)

    def go(self, kills: int) -> None:
        try:
            while self.kills < kills and not self.failed:
                time.sleep(self.random.uniform(*PAUSE_SECONDS))
                self.wake()
                self.blow()
        finally:
            for life in self.lives.values():
                self.end(life)

    def end(self, life: Life) -> None:
        """Kill it and see that it was the kill that ended it."""
        os.kill(life.process, signal.SIGKILL)
        _, status = os.waitpid(life.process, 0)
        if not os.WIFSIGNALED(status):
            self.failed.append(f"{life.name} ended by itself: {self.last_words(life)}")

    def last_words(self, life: Life) -> str:
        return "".join(path.read_text(encoding="utf-8") for path in self.logs.glob(f"*.{life.process}.failed"))


def die_with_parent() -> None:
    """Whatever becomes of the test, its processes do not go on sending. Only Linux can be asked for this."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


async def finish(folder: Path, seed: int) -> None:
    """What the dead left undone: send what was in doubt, and read until every inbox is empty."""
    senders = [Sender(name, folder) for name in NAMES if name.startswith("sender")]
    reader = Reader("reader-1", folder, Random(seed))

    async def last_life(bus: Bus) -> None:
        for sender in senders:
            await sender.settle_doubts(bus)
        while await reader.turn(bus, wait=LEASE_SECONDS * 4):
            pass

    await with_bus(str(folder / "telex.db"), last_life)


def torture(folder: Path, kills: int, seed: int, plant: str | None = None) -> Verdict:
    if plant is not None:
        PLANTS[plant]()
    killer = Killer(folder, Random(seed))
    killer.go(kills)
    if killer.failed:
        raise SystemExit("\n".join(killer.failed))
    asyncio.run(finish(folder, seed))
    return asyncio.run(judge(folder, killer.kills, killer.stops))


def main(doc: str, run_kills: Callable[..., Verdict | BookVerdict], plants: Sequence[str], kills: int) -> int:
    """Command line of the kills: prints the verdict as JSON, and fails if a promise was broken."""
    parser = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=kills)
    parser.add_argument("--seed", type=int, default=Random().randrange(10**6))
    parser.add_argument("--plant", choices=plants)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="telex-kills-") as folder:
        verdict = run_kills(Path(folder), options.kills, options.seed, options.plant)
    print(json.dumps({"seed": options.seed, "right": verdict.right, **verdict._asdict()}, indent=1))
    return 0 if verdict.right else 1


def tortured(module: str, kills: int, seed: int, *more: str) -> dict[str, Any]:
    """The verdict of a process that kills others: it forks, and a test process may have threads."""
    command = [sys.executable, "-m", module, "--kills", str(kills), "--seed", str(seed), *more]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ran.stdout, ran.stderr
    verdict: dict[str, Any] = json.loads(ran.stdout)
    assert verdict["right"] is (ran.returncode == 0)
    return verdict


def finds(plant: str, module: str, seed: int, kills: Sequence[int], seen: Sequence[str]) -> bool:
    """Whether a planted bug is found. How the processes meet is up to the machine, so several runs are tried."""
    for count in kills:
        verdict = tortured(module, count, seed, "--plant", plant)
        if any(verdict[name] for name in seen):
            return not verdict["right"]
    return False


if __name__ == "__main__":
    sys.exit(main(__doc__ or "", torture, tuple(PLANTS), 200))
