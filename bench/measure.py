"""How are two things compared fairly? In turns, in one run, by the median of the rounds.

Machines are shared and their clocks wander, so seconds mean little and a ratio taken in the same second means much.
"""

import os
import resource
import statistics
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple


class Line(NamedTuple):
    """One row of the report: what was measured, against what, and what we promised."""

    what: str
    ours: str
    against: str
    ratio: float
    promise: str
    holds: bool


def interleaved(work: dict[str, Callable[[], Any]], rounds: int) -> dict[str, list[float]]:
    """Seconds of each piece of work in each round, one after the other within a round.

    Each is run twice and the second run counts: the first finds the caches full of its neighbour's things.
    """
    seconds: dict[str, list[float]] = {name: [] for name in work}
    for _ in range(rounds):
        for name, run in work.items():
            run()
            start = time.perf_counter()
            run()
            seconds[name].append(time.perf_counter() - start)
    return seconds


def ratio(seconds: Mapping[str, Sequence[float]], ours: str, theirs: str) -> float:
    """The median of the rounds' own ratios, so that a slow second hits both alike."""
    return statistics.median(a / b for a, b in zip(seconds[ours], seconds[theirs], strict=True))


def process_seconds(command: Sequence[str], stdin: bytes = b"") -> float:
    """CPU seconds of a fresh process and its children: what it costs, whatever else the machine does."""
    # Where Python may not keep what it compiled, every start compiles everything anew: no user runs it so.
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    nowhere = subprocess.DEVNULL
    subprocess.run(command, input=stdin, stdout=nowhere, stderr=nowhere, env=environment, check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (after.ru_utime + after.ru_stime) - (before.ru_utime + before.ru_stime)


def micro(seconds: float) -> str:
    return f"{seconds * 1e6:.2f} µs" if seconds < 1e-3 else f"{seconds * 1e3:.1f} ms"
