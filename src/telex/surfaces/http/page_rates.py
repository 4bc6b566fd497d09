"""Rates and latencies for the page: counts per few seconds, folded from events.

Latencies are kept in a histogram whose steps grow by ten per cent, so that a quantile is accurate to five per cent and
the memory does not grow with the traffic.
"""

import math
from collections import Counter
from typing import Any

from telex.model.message import Event, Message

SLOT_SECONDS = 10.0  # the finest that can be asked for
KEPT_SECONDS = 86_400.0
POINTS_MAX = 2_000  # of one answer; a longer time is told in longer steps
COUNTED = ("accepted", "refused", "acked", "dead")
QUANTILES = {"p50": 0.5, "p99": 0.99}
GROWTH = math.log(1.1)
LEAST_SECONDS = 1e-4  # what is faster counts as this


class RateBucket:
    """What happened within one slot."""

    __slots__ = ("counts", "latencies")

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self.latencies: Counter[int] = Counter()  # from accepted to acked, by step of the histogram


class Rates:
    def __init__(self) -> None:
        self._slots: dict[int, RateBucket] = {}
        self.begins_at: float | None = None  # of the first event that was heard

    def hear(self, event: Event, message: Message | None) -> None:
        if self.begins_at is None:
            self.begins_at = event.at
        if event.kind not in COUNTED:
            return
        number = int(event.at // SLOT_SECONDS)
        slot = self._slots.get(number)
        if slot is None:
            slot = self._slots[number] = RateBucket()
            self._forget(number - int(KEPT_SECONDS // SLOT_SECONDS))
        slot.counts[event.kind] += 1
        if event.kind == "acked" and message is not None:
            slot.latencies[_step(event.at - message.at)] += 1

    def _forget(self, oldest: int) -> None:
        for number in [slot for slot in self._slots if slot < oldest]:
            del self._slots[number]

    def since(self, since: float, until: float, step: float) -> dict[str, Any]:
        """In columns, as a chart wants them: `times` are the beginnings of the steps."""
        since = max(since, until - KEPT_SECONDS)
        step = _whole_step(max(step, (until - since) / POINTS_MAX))
        each = int(step // SLOT_SECONDS)
        first, last = int(since // step), int(until // step)
        totals = [self._joined(range(number * each, (number + 1) * each)) for number in range(first, last + 1)]
        return {
            "since": first * step,
            "until": until,
            "step": step,
            "begins_at": self.begins_at,
            "times": [number * step for number in range(first, last + 1)],
            **{kind: [slot.counts[kind] for slot in totals] for kind in COUNTED},
            **{name: [_quantile(slot.latencies, part) for slot in totals] for name, part in QUANTILES.items()},
        }

    def _joined(self, numbers: range) -> RateBucket:
        joined = RateBucket()
        for number in numbers:
            slot = self._slots.get(number)
            if slot is not None:
                joined.counts.update(slot.counts)
                joined.latencies.update(slot.latencies)
        return joined


def _whole_step(step: float) -> float:
    return math.ceil(step / SLOT_SECONDS) * SLOT_SECONDS


def _step(seconds: float) -> int:
    return round(math.log(max(seconds, LEAST_SECONDS)) / GROWTH)


def _quantile(latencies: "Counter[int]", part: float) -> float | None:
    wanted, seen = part * latencies.total(), 0
    for step in sorted(latencies):
        seen += latencies[step]
        if seen >= wanted:
            return round(math.exp(step * GROWTH), 6)
    return None
