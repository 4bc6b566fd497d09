"""Trials of the three workers: how many tasks are answered, how often, and how often their work is begun.

Three worker processes handle the tasks, four at a time each. In the first trial, one process after another is killed
with SIGKILL and replaced by a new one. In the second, a task takes longer than a lease. A trial ends when every task
has a reply and its workers have stopped, or when no reply has come for QUIET_SECONDS.

    python trial.py [telex | huey | faststream …]
"""

import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import NamedTuple

from systems import HERE, NAMES, System, opened

WORKERS = 3
KILL_EVERY_SECONDS = 0.8
START_SECONDS = 20.0
QUIET_SECONDS = 15.0


class Plan(NamedTuple):
    """One kind of trial."""

    title: str
    tasks: int
    task_seconds: float
    kills: int


KILLED = Plan("kill -9: 200 tasks of 0.3 s, 6 worker processes killed", tasks=200, task_seconds=0.3, kills=6)
SLOW = Plan("slow tasks: 6 tasks of 12 s, lease or ack_wait of 5 s", tasks=6, task_seconds=12, kills=0)


class Outcome(NamedTuple):
    """What one trial measured."""

    system: str
    tasks: int
    answered: int
    replies: int
    attempts: int
    seconds: float

    @property
    def lost(self) -> int:
        return self.tasks - self.answered

    @property
    def duplicates(self) -> int:
        return self.replies - self.answered


class Crew:
    """The worker processes of one system."""

    def __init__(self, system: System, task_seconds: float, attempts: Path) -> None:
        trial = {"TASK_SECONDS": str(task_seconds), "ATTEMPTS_FILE": str(attempts)}
        self._environment = {**os.environ, **trial, **system.environment}
        self._command = system.command
        self._processes = [self._start() for _ in range(WORKERS)]

    def kill_oldest(self) -> None:
        victim = self._processes.pop(0)
        victim.kill()
        victim.wait()
        self._processes.append(self._start())

    def stop(self) -> None:
        for process in self._processes:
            process.terminate()
        for process in self._processes:
            process.wait(START_SECONDS)

    def _start(self) -> subprocess.Popen[bytes]:
        nowhere = subprocess.DEVNULL
        return subprocess.Popen(self._command, cwd=HERE, env=self._environment, stdout=nowhere, stderr=nowhere)


def try_out(name: str, folder: Path, plan: Plan) -> Outcome:
    """Run one trial in an empty folder."""
    attempts = folder / "attempts.txt"
    attempts.touch()
    with opened(name, folder) as system:
        system.send([f"task-{number}" for number in range(plan.tasks)])
        start = time.monotonic()
        crew = Crew(system, plan.task_seconds, attempts)
        try:
            _wait_for_first(attempts)
            for _ in range(plan.kills):
                time.sleep(KILL_EVERY_SECONDS)
                crew.kill_oldest()
            replies = _wait_for_replies(system, plan.tasks)
        finally:
            crew.stop()
        seconds = time.monotonic() - start
    count = len(attempts.read_text(encoding="utf-8").splitlines())
    return Outcome(name, plan.tasks, len(replies), replies.total(), count, seconds)


def _wait_for_first(attempts: Path) -> None:
    deadline = time.monotonic() + START_SECONDS
    while not attempts.stat().st_size and time.monotonic() < deadline:
        time.sleep(0.05)


def _wait_for_replies(system: System, tasks: int) -> Counter[str]:
    replies = system.replies()
    changed = time.monotonic()
    while len(replies) < tasks and time.monotonic() < changed + QUIET_SECONDS:
        time.sleep(0.5)
        before, replies = len(replies), system.replies()
        changed = time.monotonic() if len(replies) > before else changed
    return replies


def main(names: list[str]) -> None:
    for plan in (KILLED, SLOW):
        print(f"\n{plan.title}\n\n| system | tasks | answered | lost | duplicate replies | attempts | seconds |")
        print("|---|---|---|---|---|---|---|")
        for name in names or NAMES:
            with tempfile.TemporaryDirectory() as folder:
                done = try_out(name, Path(folder), plan)
            cells = (name, done.tasks, done.answered, done.lost, done.duplicates, done.attempts, f"{done.seconds:.0f}")
            print(f"| {' | '.join(map(str, cells))} |", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
