"""Rates and latencies for the page: counts per few seconds, folded from events.

Latencies are kept in a histogram whose steps grow by ten per cent, so that a quantile is accurate to five per cent and
the memory does not grow with the traffic.
"""

import asyncio
import math
from collections import Counter, deque
from collections.abc import AsyncIterator, Iterable
from typing import Any, NamedTuple

from telex.model.event import BRINGING, Event, detail_of
from telex.model.message import Message
from telex.ports.bus import Bus
from telex.ports.store import Query
from telex.surfaces.http.stream import Happening, happenings, newest

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


KEPT_MAX = 5_000  # refusals; the log has the rest
EXAMPLES_MAX = 3
FINDINGS_MAX = 20  # of one message: a hostile one has hundreds
FIELDS = ("code", "path", "say", "expected", "found", "nearest")
OUTSIDE = ("path-outside-contract", "path-forbidden")  # codes for leaving a contract


class Refusal(NamedTuple):
    seq: int
    id: str
    at: float
    agent: str
    role: str
    dialect: str | None
    type: str | None
    findings: tuple[dict[str, str], ...]  # refusals only


class RefusalStats:
    def __init__(self) -> None:
        self._kept: deque[Refusal] = deque(maxlen=KEPT_MAX)

    def hear(self, event: Event, message: Message) -> None:
        findings = detail_of(event).get("findings")
        self._kept.append(
            Refusal(
                seq=message.seq,
                id=message.id,
                at=event.at,
                agent=message.sender,
                role=message.role,
                dialect=message.dialect,
                type=message.type,
                findings=tuple(_stopping(findings))[:FINDINGS_MAX] if isinstance(findings, list) else (),
            )
        )

    def within(self, since: float) -> list[Refusal]:
        """Refusals since then, oldest first."""
        return [refusal for refusal in self._kept if refusal.at >= since]

    def outside(self, since: float = 0.0) -> list[dict[str, Any]]:
        """Refusals for leaving a contract, newest first."""
        return [
            {
                "seq": refusal.seq,
                "id": refusal.id,
                "at": refusal.at,
                "agent": refusal.agent,
                "type": refusal.type,
                **finding,
            }
            for refusal in reversed(self.within(since))
            for finding in refusal.findings
            if finding["code"] in OUTSIDE
        ]

    def since(self, since: float) -> dict[str, Any]:
        refusals = self.within(since)
        return {
            "since": since,
            "total": len(refusals),
            "full": len(self._kept) == KEPT_MAX,  # there may have been more
            "codes": _by_code(refusals),
            "agents": _by_agent(refusals),
            "types": _by_type(refusals),
        }


def _stopping(said: Iterable[Any]) -> Iterable[dict[str, str]]:
    for one in said:
        if isinstance(one, dict) and one.get("severity", "refusal") == "refusal" and one.get("code"):
            yield {"code": "", "path": "$", "say": ""} | {name: str(one[name]) for name in FIELDS if one.get(name)}


def _by_code(refusals: list[Refusal]) -> list[dict[str, Any]]:
    """The most frequent first. A message that breaks a rule in five places breaks it once."""
    told: dict[str, list[tuple[Refusal, dict[str, str]]]] = {}
    for refusal in refusals:
        for code in dict.fromkeys(one["code"] for one in refusal.findings):
            finding = next(one for one in refusal.findings if one["code"] == code)
            told.setdefault(code, []).append((refusal, finding))
    rows = [
        {
            "code": code,
            **explained(code),
            "count": len(found),
            "last_at": found[-1][0].at,
            "agents": _counted(refusal.agent for refusal, _ in found),
            "types": _counted(refusal.type or refusal.dialect or "text" for refusal, _ in found),
            "examples": [_example(*one) for one in found[: -EXAMPLES_MAX - 1 : -1]],
        }
        for code, found in told.items()
    ]
    return sorted(rows, key=lambda row: (-row["count"], row["code"]))


def _example(refusal: Refusal, finding: dict[str, str]) -> dict[str, Any]:
    about = {"seq": refusal.seq, "id": refusal.id, "at": refusal.at, "agent": refusal.agent}
    return about | {"dialect": refusal.dialect, "type": refusal.type} | finding


def _by_agent(refusals: list[Refusal]) -> list[dict[str, Any]]:
    agents: dict[str, list[Refusal]] = {}
    for one in refusals:
        agents.setdefault(one.agent, []).append(one)
    rows = [
        {
            "agent": agent,
            "role": refusals[-1].role,
            "count": len(refusals),
            "last_at": refusals[-1].at,
            "codes": _counted(
                code for refusal in refusals for code in {finding["code"] for finding in refusal.findings}
            ),
        }
        for agent, refusals in agents.items()
    ]
    return sorted(rows, key=lambda row: (-row["count"], row["agent"]))


def _by_type(refusals: list[Refusal]) -> list[dict[str, Any]]:
    counts = Counter((refusal.dialect, refusal.type) for refusal in refusals)
    return [{"dialect": dialect, "type": type_, "count": count} for (dialect, type_), count in counts.most_common()]


def _counted(names: Iterable[str]) -> list[dict[str, Any]]:
    return [{"name": name, "count": count} for name, count in Counter(names).most_common()]


def explained(code: str) -> dict[str, str]:
    """What the code is, why it happens and how it is fixed; nothing for one of a team's own dialect."""
    from telex.generate.codes import explanations

    found = explanations().get(code)
    return {} if found is None else {"title": found.title, "why": found.why, "fix": found.fix}


EVENTS_BACK = 50_000  # of everything that happened before the hub began, so many are read: a few seconds' work
REFUSED_BACK = 1_000_000  # the refused among so many are found by the store itself
REFUSED = "refused"
AT_ONCE = 500  # events, which is a few milliseconds' work; then others have their turn


class RecentEvents:
    """Two folds over the events, and how far they have come."""

    def __init__(self, bus: Bus) -> None:
        self._bus, self._lock = bus, asyncio.Lock()
        self.rates, self.refusals = Rates(), RefusalStats()
        self.messages = 0  # heard of, of those before the hub began only the latest
        self.after: int | None = None  # the last event that was heard; None: nobody has looked yet

    async def caught_up(self) -> "RecentEvents":
        """With everything that has happened until now. Whoever asks meanwhile waits, and finds it done."""
        async with self._lock:
            if self.after is None:
                self.after = await self._begin()
            async with happenings(self._bus, Query(after=self.after)) as events:
                async for event, message in _in_turns(events):
                    self.rates.hear(event, message)
                    self.messages += event.kind in BRINGING
                    if event.kind == REFUSED and message is not None:
                        self.refusals.hear(event, message)
                    self.after = event.seq
        return self

    async def _begin(self) -> int:
        last = await newest(self._bus)
        if last is None:
            return 0
        begins = max(0, last.seq - EVENTS_BACK)
        earlier = Query(after=max(0, last.seq - REFUSED_BACK), kinds=(REFUSED,))
        async with happenings(self._bus, earlier) as events:
            async for event, message in _in_turns(events):
                if event.seq > begins:
                    break
                if message is not None:
                    self.refusals.hear(event, message)
        return begins


async def _in_turns(events: AsyncIterator[Happening]) -> AsyncIterator[Happening]:
    """The same events. A long record is read for one page, and meanwhile the whole team wants something too."""
    heard = 0
    async for event in events:
        yield event
        heard += 1
        if heard % AT_ONCE == 0:
            await asyncio.sleep(0)
