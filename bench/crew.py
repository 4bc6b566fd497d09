"""Rounds of four sending and four receiving processes on one file.

All processes open the store and wait for each other before a round begins. A round ends when all its messages are
acked. An error is counted and the step retried, so that lock contention shows up as a count and not as a crash.
"""

import multiprocessing
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from multiprocessing.connection import Connection
from typing import Any, NamedTuple

from bench.samples import updates

SENDERS = RECEIVERS = 4
IDLE_SECONDS = 0.001  # how long a receiver leaves an empty queue alone
STUCK_SECONDS = 60.0

Step = Callable[[Sequence[bytes]], None]  # sends these
Take = Callable[[], tuple[Any, ...]]  # receives some
Ack = Callable[[tuple[Any, ...]], None]


class Hands(NamedTuple):
    """What one process does, in the words of one system."""

    send: Step
    receive: Take
    ack: Ack | None  # None: taking it was the ack
    group: int  # how many at a time
    close: Callable[[], None]


class Report(NamedTuple):
    steps: dict[str, list[float]]  # seconds of each step, by its name
    errors: list[str]
    ended_at: float


class Round(NamedTuple):
    done: int
    seconds: float
    steps: dict[str, list[float]]
    errors: list[str]

    @property
    def rate(self) -> float:
        return self.done / self.seconds


class Crew:
    def __init__(self, open_hands: Callable[[str], Hands], path: str) -> None:
        spawn = multiprocessing.get_context("spawn")  # nothing is inherited, as with any two programs
        self._begin = spawn.Barrier(SENDERS + RECEIVERS + 1)
        self._acked = spawn.Value("q", 0)
        self._pipes: list[Connection] = []
        self._processes = []
        for number in range(SENDERS + RECEIVERS):
            ours, theirs = spawn.Pipe()
            given = (open_hands, path, number, theirs, self._begin, self._acked)
            process = spawn.Process(target=_work, args=given, daemon=True)
            process.start()
            self._pipes.append(ours)
            self._processes.append(process)

    def round(self, prefix: str, count: int) -> Round:
        """Let so many messages go round once."""
        assert count % SENDERS == 0
        self._acked.value = 0
        for pipe in self._pipes:
            pipe.send((prefix, count))
        self._begin.wait(STUCK_SECONDS)
        start = time.perf_counter()
        reports: list[Report] = [pipe.recv() for pipe in self._pipes]
        assert self._acked.value == count, f"{count} were sent and {self._acked.value} acked"
        steps: dict[str, list[float]] = {}
        for report in reports:
            for name, each in report.steps.items():
                steps.setdefault(name, []).extend(each)
        errors = [error for report in reports for error in report.errors]
        return Round(count, max(report.ended_at for report in reports) - start, steps, errors)

    def close(self) -> None:
        for pipe in self._pipes:
            pipe.send(None)
        for process in self._processes:
            process.join(STUCK_SECONDS)


def _work(open_hands: Callable[[str], Hands], path: str, number: int, pipe: Connection, begin: Any, acked: Any) -> None:
    hands = open_hands(path)
    while (task := pipe.recv()) is not None:
        prefix, count = task
        raws = updates(f"{prefix}-{number}", count // SENDERS)
        report = Report({}, [], 0.0)
        begin.wait(STUCK_SECONDS)
        if number < SENDERS:
            _send(hands, raws, report)
        else:
            _receive(hands, count, acked, report)
        pipe.send(report._replace(ended_at=time.perf_counter()))
    hands.close()


def _send(hands: Hands, raws: Sequence[bytes], report: Report) -> None:
    for first in range(0, len(raws), hands.group):
        _timed("send", report, partial(hands.send, raws[first : first + hands.group]))


def _receive(hands: Hands, count: int, acked: Any, report: Report) -> None:
    while acked.value < count:
        taken: tuple[Any, ...] = ()
        before = time.perf_counter()
        with _counted(report):
            taken = hands.receive()
        if not taken:
            time.sleep(IDLE_SECONDS)
            continue
        report.steps.setdefault("receive", []).append(time.perf_counter() - before)
        if hands.ack is not None:
            _timed("ack", report, partial(hands.ack, taken))
        with acked.get_lock():
            acked.value += len(taken)


def _timed(name: str, report: Report, step: Callable[[], None]) -> None:
    """Do it until it is done. The whole time counts, errors and all."""
    before = time.perf_counter()
    done = False
    while not done:
        with _counted(report):
            step()
            done = True
    report.steps.setdefault(name, []).append(time.perf_counter() - before)


@contextmanager
def _counted(report: Report) -> Iterator[None]:
    try:
        yield
    except Exception as error:
        report.errors.append(f"{type(error).__name__}: {error}")
        if len(report.errors) > 1_000:
            raise
