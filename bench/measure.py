"""Fair comparison of two things: interleaved rounds in one run, and the median of the ratios.

Machines are shared and clocks drift, so a ratio measured within one second says more than seconds.
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


UNPROMISED = "shown for comparison"  # the promise of a line that only tells


class Turn(NamedTuple):
    """What one contender did in one round: how much, in how many seconds, and how long each took its caller."""

    done: int
    seconds: float
    each: list[float]

    @property
    def rate(self) -> float:
        return self.done / self.seconds


def in_turns(work: dict[str, Callable[[], Turn]], rounds: int) -> dict[str, list[Turn]]:
    """Every contender once in each round. A first round, which finds every cache empty, does not count."""
    turns: dict[str, list[Turn]] = {name: [] for name in work}
    for number in range(rounds + 1):
        for name, run in work.items():
            turn = run()
            if number:
                turns[name].append(turn)
    return turns


def times_as_many(turns: Mapping[str, Sequence[Turn]], ours: str, theirs: str) -> float:
    """By how much one outdoes the other: the median of the rounds' own ratios."""
    return statistics.median(a.rate / b.rate for a, b in zip(turns[ours], turns[theirs], strict=True))


def pace(turns: Sequence[Turn]) -> str:
    """The median rate, and how long a caller waited, as text for the report."""
    each = [seconds for turn in turns for seconds in turn.each]
    return f"{statistics.median(turn.rate for turn in turns):,.0f}/s; {percentiles(each)}"


def percentiles(seconds: Sequence[float]) -> str:
    """p50 and p99, and p99.9 where there are enough to tell."""
    asked = [0.5, 0.99, 0.999] if len(seconds) >= 2000 else [0.5, 0.99]
    return ", ".join(f"p{share * 100:g} {micro(percentile(seconds, share))}" for share in asked)


def percentile(seconds: Sequence[float], share: float) -> float:
    """The least that is at least as long as that share of them."""
    ordered = sorted(seconds)
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))]


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


def figure(ratio: float) -> str:
    """Two places after the point; small ones with two digits that say something."""
    return f"{ratio:.2f}" if ratio >= 0.1 or ratio == 0 else f"{ratio:.2g}"


def micro(seconds: float) -> str:
    return f"{seconds * 1e6:.2f} µs" if seconds < 1e-3 else f"{seconds * 1e3:.1f} ms"


def table_row(line: Line) -> str:
    """A row of docs/benchmarks.md."""
    holds = "yes" if line.holds else "**no**"
    return f"| {line.what} | {line.ours or '–'} | {line.against} | {figure(line.ratio)} | {line.promise} | {holds} |"
