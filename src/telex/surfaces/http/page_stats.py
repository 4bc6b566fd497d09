"""Statistics for the page: rates, latencies and refusals, folded from events that are read once for all pages.

Latencies are counted in a histogram whose steps grow by ten per cent, so that a quantile is accurate to five per cent
and the memory does not grow with the traffic.
"""

import asyncio
import math
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import aclosing
from typing import Any

from telex.dialects.schema import Dialect
from telex.model.message import BRINGING, COMING_AND_GOING, Event, StoredMessage, detail_of
from telex.model.named_tuple import NamedTuple
from telex.ports.bus import Bus
from telex.ports.store import Query
from telex.surfaces.http.stream import newest
from telex.surfaces.page.changes import ChangeLog
from telex.surfaces.page.history import History
from telex.surfaces.page.overview import MinuteCounts
from telex.surfaces.page.wake_failures import WakeFailures

EVENTS_FIRST = 8_000  # events before the first answer of the page: takes a quarter of a second
EVENTS_BACK = 300_000  # events that are folded in the background: takes some ten seconds
PAUSE_SECONDS = 0.02  # after each turn in the background: half of the time is left to others
REFUSED_BACK = 1_000_000  # events among which the store finds the refused messages
TURN_EVENTS = 500  # a few milliseconds of work; then other requests run
SLOT_SECONDS = 10.0  # the finest step
HISTORY_SECONDS = 86_400.0
SLOTS_MAX = 2 * int(HISTORY_SECONDS // SLOT_SECONDS)  # then the old ones are dropped
POINTS_MAX = 2_000  # of one response; a longer time has longer steps
COUNTED = ("accepted", "refused", "acked", "dead")
QUANTILES = {"p50": 0.5, "p99": 0.99}
GROWTH = math.log(1.1)
LATENCY_SECONDS_MIN = 1e-4
REFUSALS_MAX = 5_000  # the log has the rest
EXAMPLES_MAX = 3
AGENTS_MAX = 10  # columns of the table of refusals
CODES_MAX = 40
TYPES_MAX = 5
OUTSIDE_MAX = 20  # paths outside of a contract
FINDINGS_MAX = 20  # of one message
FIELDS = ("code", "path", "say", "expected", "found", "nearest")
NOTABLE = frozenset(  # kinds of events after which something else may wait for a person
    ("answered", "dead", "expired", "retried", "dropped", "withdrawn", "returned-to-sender", *COMING_AND_GOING)
)
OUTSIDE = ("path-outside-contract", "path-forbidden")  # codes for leaving a contract


class EventFold:
    """Everything that is folded from each event."""

    def __init__(self, dialects: Iterable[Dialect], begins_at: float = 0.0) -> None:
        self.rates, self.minutes = Rates(), MinuteCounts()
        self.history, self.changes = History(dialects, begins_at), ChangeLog()
        self.wake_failures = WakeFailures()
        self.messages = 0
        self.at = 0.0  # time of the last event
        self.notable = 0  # the last event that may change what waits for a person

    def add(self, event: Event, message: StoredMessage | None) -> None:
        self.changes.add(event, self.history.fold(event, message))
        self.wake_failures.fold(event)
        if _is_notable(event, message):
            self.notable = event.seq
        self.rates.count(event, message)
        self.at = event.at
        if event.kind in BRINGING and message is not None:
            self.messages += 1
            self.minutes.add(message.at, is_refused=event.kind == "refused")


def _is_notable(event: Event, message: StoredMessage | None) -> bool:
    """A plain text changes nothing that waits for a person, unless it is an answer, which has an event of its own."""
    if event.kind == "accepted":
        return message is None or message.dialect != "plain"
    return event.kind in NOTABLE


class RecentEvents:
    """Statistics of the latest events, updated incrementally.

    The first answer is made from few events, so that a page appears at once. `fill` then folds many more in the
    background, and counts the messages of the whole log; what it does not know yet is None.
    """

    def __init__(self, bus: Bus) -> None:
        self._bus, self._lock = bus, asyncio.Lock()
        self._fold = EventFold(bus.policy.dialects)
        self._filling: asyncio.Lock = asyncio.Lock()
        self._filled = False
        self.refusals = RefusalStats()
        self.after: int | None = None  # the last event that was counted

    @property
    def history(self) -> History:
        return self._fold.history

    @property
    def changes(self) -> ChangeLog:
        return self._fold.changes

    @property
    def at(self) -> float:
        """Time of the last event."""
        return self._fold.at

    @property
    def rates(self) -> "Rates":
        return self._fold.rates

    @property
    def minutes(self) -> MinuteCounts:
        return self._fold.minutes

    @property
    def wake_failures(self) -> WakeFailures:
        return self._fold.wake_failures

    @property
    def notable(self) -> int:
        """The last event that may change what waits for a person."""
        return self._fold.notable

    @property
    def messages(self) -> int | None:
        """All messages that are stored."""
        return self._fold.messages if self._filled or self._fold.history.begins_at == 0 else None

    async def caught_up(self) -> "RecentEvents":
        async with self._lock:
            if self.after is None:
                self.after = await self._begin()
            self.after = await self._read_into(self._fold, self.after, self._add_refusal)
        return self

    async def fill(self) -> None:
        """Fold the events that the first answer did without. Other requests run most of the time."""
        async with self._filling:
            await self.caught_up()
            if self._filled or self.history.begins_at == 0:
                return
            last = self.after or 0
            begin = max(0, last - EVENTS_BACK)
            full = EventFold(self._bus.policy.dialects, await self._time_of(begin + 1) if begin else 0.0)
            last = await self._read_into(full, begin, pause=PAUSE_SECONDS)
            await self._count_before(full, begin)
            async with self._lock:
                await self._read_into(full, last, until=self.after)
                self._fold, self._filled = full, True

    async def _count_before(self, full: EventFold, begin: int) -> None:
        """Count the messages up to that event, which are too old to be folded."""
        count = 0
        async with aclosing(self._bus.events(Query(kinds=BRINGING))) as events:
            async for event, message in events:
                if event.seq > begin:
                    return
                full.messages += 1
                full.minutes.add(event.at if message is None else message.at, is_refused=event.kind == "refused")
                count += 1
                if count % TURN_EVENTS == 0:
                    await asyncio.sleep(PAUSE_SECONDS)

    async def _begin(self) -> int:
        last = await newest(self._bus)
        if last is None:
            return 0
        begin = max(0, last.seq - min(EVENTS_FIRST, EVENTS_BACK))
        self.history.begins_at = await self._time_of(begin + 1)
        refused = Query(after=max(0, last.seq - REFUSED_BACK), kinds=("refused",))
        count = 0
        async with aclosing(self._bus.events(refused)) as events:
            async for event, message in events:
                if event.seq > begin:
                    break
                self._add_refusal(event, message)
                count += 1
                if count % TURN_EVENTS == 0:
                    await asyncio.sleep(0)
        return begin

    def _add_refusal(self, event: Event, message: StoredMessage | None) -> None:
        if event.kind == "refused" and message is not None:
            self.refusals.add(event, message)

    async def _time_of(self, seq: int) -> float:
        """When the first event with this number or a higher one happened; 0 for the first of the log."""
        if seq > 1:
            async with aclosing(self._bus.events(Query(after=seq - 1))) as events:
                async for event, _ in events:
                    return event.at
        return 0.0

    async def _read_into(
        self,
        fold: EventFold,
        after: int,
        each: Callable[[Event, StoredMessage | None], None] | None = None,
        *,
        until: int | None = None,
        pause: float = 0.0,
    ) -> int:
        """Fold the events after that one. The number of the last one; other requests run in between."""
        count = 0
        async with aclosing(self._bus.events(Query(after=after))) as events:
            async for event, message in events:
                if until is not None and event.seq > until:
                    break
                fold.add(event, message)
                if each is not None:
                    each(event, message)
                after = event.seq
                count += 1
                if count % TURN_EVENTS == 0:
                    await asyncio.sleep(pause)
        return after


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
            if len(self._slots) > SLOTS_MAX:
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
        whole = self._total(range(numbers[0] * slots, (numbers[-1] + 1) * slots))
        return {
            "since": numbers[0] * step,
            "until": until,
            "step": step,
            "begins_at": self.begins_at,
            "times": [number * step for number in numbers],
            **{kind: [total.counts[kind] for total in totals] for kind in COUNTED},
            **{name: [_quantile(total.latencies, part) for total in totals] for name, part in QUANTILES.items()},
            "totals": {kind: whole.counts[kind] for kind in COUNTED}
            | {name: _quantile(whole.latencies, part) for name, part in QUANTILES.items()},
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

    @property
    def codes(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(finding["code"] for finding in self.findings))

    def facts(self, *names: str) -> dict[str, Any]:
        return {name: getattr(self, name) for name in names}


class RefusalQuery(NamedTuple):
    since: float
    until: float
    agent: str = ""  # all agents
    code: str = ""  # all codes


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

    def of_agent(self, agent: str, since: float, until: float) -> Iterator[Refusal]:
        """Refused messages of an agent, newest first."""
        for refusal in reversed(self._refusals):
            if refusal.at < since:
                return
            if refusal.agent == agent and refusal.at <= until:
                yield refusal

    def within(self, since: float) -> list[Refusal]:
        """Refusals since then, oldest first."""
        return [refusal for refusal in self._refusals if refusal.at >= since]

    def outside(self) -> dict[str, Any]:
        """Refusals for leaving a contract, the latest of each agent and path first."""
        rows: dict[tuple[str, str], dict[str, Any]] = {}
        agents: Counter[str] = Counter()
        for refusal in reversed(self._refusals):
            for finding in refusal.findings:
                if finding["code"] not in OUTSIDE:
                    continue
                agents[refusal.agent] += 1
                key = refusal.agent, finding.get("found") or finding["path"]
                if key in rows:
                    rows[key]["count"] += 1
                else:
                    rows[key] = refusal.facts("seq", "at", "agent", "type") | finding | {"count": 1}
        return {
            "total": agents.total(),
            "agents": _counts(agents.elements())[:AGENTS_MAX],
            "agents_all": len(agents),
            "paths_all": len(rows),
            "rows": [*rows.values()][:OUTSIDE_MAX],
        }

    def facts(self, query: RefusalQuery) -> dict[str, Any]:
        """Table of codes and agents of a period, and the refusals of one agent or code in it."""
        period = [refusal for refusal in self.within(query.since) if refusal.at <= query.until]
        chosen = [
            refusal for refusal in period if query.agent in ("", refusal.agent) and query.code in ("", *refusal.codes)
        ]
        codes = _by_code(chosen, query.code)
        return {
            "since": query.since,
            "until": query.until,
            "total": len(period),
            "findings": sum(len(refusal.codes) for refusal in period),
            "full": len(self._refusals) == REFUSALS_MAX,  # there may have been more
            **_matrix(period),
            "chosen": len(chosen),
            "codes": codes[:CODES_MAX],
            "codes_all": len(codes),
        }


def _matrix(refusals: list[Refusal]) -> dict[str, Any]:
    """Number of messages by code and by agent, those with most first."""
    agents = Counter(refusal.agent for refusal in refusals)
    codes: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for refusal in refusals:
        for code in refusal.codes:
            codes[code][refusal.agent] += 1
    columns = [name for name, _ in sorted(agents.items(), key=lambda item: (-item[1], item[0]))]
    rows = sorted(codes.items(), key=lambda item: (-item[1].total(), item[0]))
    return {
        "agents": [{"name": name, "count": agents[name]} for name in columns[:AGENTS_MAX]],
        "agents_all": len(columns),
        "matrix": [
            {"code": code, "count": counts.total(), "counts": [counts[name] for name in columns[:AGENTS_MAX]]}
            for code, counts in rows[:CODES_MAX]
        ],
        "matrix_all": len(rows),
    }


def _refusing(findings: Iterable[Any]) -> Iterable[dict[str, str]]:
    for finding in findings:
        if isinstance(finding, dict) and finding.get("severity", "refusal") == "refusal" and finding.get("code"):
            given = {name: str(finding[name]) for name in FIELDS if finding.get(name)}
            yield {"code": "", "path": "$", "say": ""} | given


def _by_code(refusals: list[Refusal], only: str = "") -> list[dict[str, Any]]:
    """Most frequent first. A code counts once per message."""
    by_code: defaultdict[str, list[tuple[Refusal, dict[str, str]]]] = defaultdict(list)
    for refusal in refusals:
        first = {finding["code"]: finding for finding in reversed(refusal.findings)}
        for code in refusal.codes:
            if only in ("", code):
                by_code[code].append((refusal, first[code]))
    rows = [
        {
            "code": code,
            **explanation(code),
            "count": len(pairs),
            "last_at": pairs[-1][0].at,
            "agents": (agents := _counts(refusal.agent for refusal, _ in pairs))[:AGENTS_MAX],
            "agents_all": len(agents),
            "types": _counts(refusal.type or refusal.dialect or "text" for refusal, _ in pairs)[:TYPES_MAX],
            "examples": [
                refusal.facts("seq", "id", "at", "agent", "dialect", "type") | finding
                for refusal, finding in pairs[: -EXAMPLES_MAX - 1 : -1]
            ],
        }
        for code, pairs in by_code.items()
    ]
    return sorted(rows, key=lambda row: (-row["count"], row["code"]))


def _counts(names: Iterable[str]) -> list[dict[str, Any]]:
    return [{"name": name, "count": count} for name, count in Counter(names).most_common()]


def explanation(code: str) -> dict[str, str]:
    """Explanation of a code; empty for a code of a team's own dialect."""
    from telex.generate.codes import explanations

    page = explanations().get(code)
    return {} if page is None else {"title": page.title, "why": page.why, "fix": page.fix}
