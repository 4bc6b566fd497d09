"""Statistics for the page: rates, latencies and refusals, folded from events that are read once for all pages.

Latencies are counted in a histogram whose steps grow by ten per cent, so that a quantile is accurate to five per cent
and the memory does not grow with the traffic.
"""

import asyncio
import math
from collections import Counter, defaultdict, deque
from collections.abc import AsyncGenerator, Iterable
from contextlib import aclosing
from typing import Any

from telex.model.message import BRINGING, Event, StoredMessage, detail_of
from telex.model.named_tuple import NamedTuple
from telex.ports.bus import Bus
from telex.ports.store import Query
from telex.surfaces.http.stream import newest

EVENTS_BACK = 50_000  # events before the start of the hub that are read: takes a few seconds
REFUSED_BACK = 1_000_000  # events among which the store finds the refused messages
TURN_EVENTS = 500  # a few milliseconds of work; then other requests run
SLOT_SECONDS = 10.0  # the finest step
HISTORY_SECONDS = 86_400.0
POINTS_MAX = 2_000  # of one response; a longer time has longer steps
COUNTED = ("accepted", "refused", "acked", "dead")
QUANTILES = {"p50": 0.5, "p99": 0.99}
GROWTH = math.log(1.1)
LATENCY_SECONDS_MIN = 1e-4
REFUSALS_MAX = 5_000  # the log has the rest
EXAMPLES_MAX = 3
FINDINGS_MAX = 20  # of one message
FIELDS = ("code", "path", "say", "expected", "found", "nearest")
OUTSIDE = ("path-outside-contract", "path-forbidden")  # codes for leaving a contract


class RecentEvents:
    """Statistics of the latest events, updated incrementally."""

    def __init__(self, bus: Bus) -> None:
        self._bus, self._lock = bus, asyncio.Lock()
        self.rates, self.refusals = Rates(), RefusalStats()
        self.messages = 0  # only the latest of those before the start of the hub
        self.after: int | None = None  # the last event that was counted

    async def caught_up(self) -> "RecentEvents":
        async with self._lock:
            if self.after is None:
                self.after = await self._begin()
            async with aclosing(self._read(Query(after=self.after))) as events:
                async for event, message in events:
                    self.rates.count(event, message)
                    self.messages += event.kind in BRINGING
                    if event.kind == "refused" and message is not None:
                        self.refusals.add(event, message)
                    self.after = event.seq
        return self

    async def _begin(self) -> int:
        last = await newest(self._bus)
        if last is None:
            return 0
        begin = max(0, last.seq - EVENTS_BACK)
        refused = Query(after=max(0, last.seq - REFUSED_BACK), kinds=("refused",))
        async with aclosing(self._read(refused)) as events:
            async for event, message in events:
                if event.seq > begin:
                    break
                if message is not None:
                    self.refusals.add(event, message)
        return begin

    async def _read(self, query: Query) -> AsyncGenerator[tuple[Event, StoredMessage | None], None]:
        """Events of the bus; other requests run in between."""
        count = 0
        async with aclosing(self._bus.events(query)) as events:
            async for event in events:
                yield event
                count += 1
                if count % TURN_EVENTS == 0:
                    await asyncio.sleep(0)


# --- rates ------------------------------------------------------------------------------------------------------------


class RateSlot:
    __slots__ = ("counts", "latencies")

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self.latencies: Counter[int] = Counter()  # from accepted to acked, by step of the histogram


class Rates:
    def __init__(self) -> None:
        self._slots: dict[int, RateSlot] = {}
        self.begins_at: float | None = None

    def count(self, event: Event, message: StoredMessage | None) -> None:
        if self.begins_at is None:
            self.begins_at = event.at
        if event.kind not in COUNTED:
            return
        number = int(event.at // SLOT_SECONDS)
        slot = self._slots.get(number)
        if slot is None:
            oldest = number - int(HISTORY_SECONDS // SLOT_SECONDS)
            self._slots = {slot_number: slot for slot_number, slot in self._slots.items() if slot_number >= oldest}
            slot = self._slots[number] = RateSlot()
        slot.counts[event.kind] += 1
        if event.kind == "acked" and message is not None:
            latency = max(event.at - message.at, LATENCY_SECONDS_MIN)
            slot.latencies[round(math.log(latency) / GROWTH)] += 1

    def since(self, since: float, until: float, step: float) -> dict[str, Any]:
        """Columns for a chart; `times` are the beginnings of the steps."""
        since = max(since, until - HISTORY_SECONDS)
        slots = math.ceil(max(step, (until - since) / POINTS_MAX) / SLOT_SECONDS)
        step = slots * SLOT_SECONDS
        numbers = range(int(since // step), int(until // step) + 1)
        totals = [self._total(range(number * slots, (number + 1) * slots)) for number in numbers]
        return {
            "since": numbers[0] * step,
            "until": until,
            "step": step,
            "begins_at": self.begins_at,
            "times": [number * step for number in numbers],
            **{kind: [total.counts[kind] for total in totals] for kind in COUNTED},
            **{name: [_quantile(total.latencies, part) for total in totals] for name, part in QUANTILES.items()},
        }

    def _total(self, numbers: range) -> RateSlot:
        total = RateSlot()
        for number in numbers:
            slot = self._slots.get(number)
            if slot is not None:
                total.counts.update(slot.counts)
                total.latencies.update(slot.latencies)
        return total


def _quantile(latencies: "Counter[int]", part: float) -> float | None:
    wanted, seen = part * latencies.total(), 0
    for step in sorted(latencies):
        seen += latencies[step]
        if seen >= wanted:
            return round(math.exp(step * GROWTH), 6)
    return None


# --- refusals ---------------------------------------------------------------------------------------------------------


class Refusal(NamedTuple):
    seq: int
    id: str
    at: float
    agent: str
    role: str
    dialect: str | None
    type: str | None
    findings: tuple[dict[str, str], ...]  # those that refused it

    def facts(self, *names: str) -> dict[str, Any]:
        return {name: getattr(self, name) for name in names}


class RefusalStats:
    def __init__(self) -> None:
        self._refusals: deque[Refusal] = deque(maxlen=REFUSALS_MAX)

    def add(self, event: Event, message: StoredMessage) -> None:
        findings = detail_of(event).get("findings")
        self._refusals.append(
            Refusal(
                seq=message.seq,
                id=message.id,
                at=event.at,
                agent=message.sender,
                role=message.role,
                dialect=message.dialect,
                type=message.type,
                findings=tuple(_refusing(findings))[:FINDINGS_MAX] if isinstance(findings, list) else (),
            )
        )

    def within(self, since: float) -> list[Refusal]:
        """Refusals since then, oldest first."""
        return [refusal for refusal in self._refusals if refusal.at >= since]

    def outside(self) -> list[dict[str, Any]]:
        """Refusals for leaving a contract, newest first."""
        return [
            refusal.facts("seq", "id", "at", "agent", "type") | finding
            for refusal in reversed(self._refusals)
            for finding in refusal.findings
            if finding["code"] in OUTSIDE
        ]

    def since(self, since: float) -> dict[str, Any]:
        refusals = self.within(since)
        types = Counter((refusal.dialect, refusal.type) for refusal in refusals)
        return {
            "since": since,
            "total": len(refusals),
            "full": len(self._refusals) == REFUSALS_MAX,  # there may have been more
            "codes": _by_code(refusals),
            "agents": _by_agent(refusals),
            "types": [
                {"dialect": dialect, "type": type_, "count": count} for (dialect, type_), count in types.most_common()
            ],
        }


def _refusing(findings: Iterable[Any]) -> Iterable[dict[str, str]]:
    for finding in findings:
        if isinstance(finding, dict) and finding.get("severity", "refusal") == "refusal" and finding.get("code"):
            given = {name: str(finding[name]) for name in FIELDS if finding.get(name)}
            yield {"code": "", "path": "$", "say": ""} | given


def _by_code(refusals: list[Refusal]) -> list[dict[str, Any]]:
    """Most frequent first. A code counts once per message."""
    by_code: defaultdict[str, list[tuple[Refusal, dict[str, str]]]] = defaultdict(list)
    for refusal in refusals:
        first = {finding["code"]: finding for finding in reversed(refusal.findings)}
        for code in dict.fromkeys(finding["code"] for finding in refusal.findings):
            by_code[code].append((refusal, first[code]))
    rows = [
        {
            "code": code,
            **explanation(code),
            "count": len(pairs),
            "last_at": pairs[-1][0].at,
            "agents": _counts(refusal.agent for refusal, _ in pairs),
            "types": _counts(refusal.type or refusal.dialect or "text" for refusal, _ in pairs),
            "examples": [
                refusal.facts("seq", "id", "at", "agent", "dialect", "type") | finding
                for refusal, finding in pairs[: -EXAMPLES_MAX - 1 : -1]
            ],
        }
        for code, pairs in by_code.items()
    ]
    return sorted(rows, key=lambda row: (-row["count"], row["code"]))


def _by_agent(refusals: list[Refusal]) -> list[dict[str, Any]]:
    by_agent: defaultdict[str, list[Refusal]] = defaultdict(list)
    for refusal in refusals:
        by_agent[refusal.agent].append(refusal)
    rows = [
        {
            "agent": agent,
            "role": own[-1].role,
            "count": len(own),
            "last_at": own[-1].at,
            "codes": _counts(code for refusal in own for code in {finding["code"] for finding in refusal.findings}),
        }
        for agent, own in by_agent.items()
    ]
    return sorted(rows, key=lambda row: (-row["count"], row["agent"]))


def _counts(names: Iterable[str]) -> list[dict[str, Any]]:
    return [{"name": name, "count": count} for name, count in Counter(names).most_common()]


def explanation(code: str) -> dict[str, str]:
    """Explanation of a code; empty for a code of a team's own dialect."""
    from telex.generate.codes import explanations

    page = explanations().get(code)
    return {} if page is None else {"title": page.title, "why": page.why, "fix": page.fix}
