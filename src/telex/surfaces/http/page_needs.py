"""Needs of a person for the page: read from the bus, and cached until an event changes them.

Stalls are computed beside the requests, at most every few seconds, and shared by all pages.
"""

import asyncio
import math
import time
from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Iterator
from typing import Any

from telex.config import Settings
from telex.errors import InvalidValue, TelexError
from telex.model.contracts import Plan
from telex.model.message import Delivery, StoredMessage, detail_of
from telex.model.named_tuple import NamedTuple
from telex.model.roster import ONE_OF_ROLE, Member, roster_of
from telex.ports.bus import Bus, Presence
from telex.surfaces.http.page_need_facts import NeedFacts, View
from telex.surfaces.http.page_shared import after_others
from telex.surfaces.http.page_stats import RecentEvents
from telex.surfaces.http.tokens import Caller
from telex.surfaces.page.gist import gist
from telex.surfaces.page.history import History
from telex.surfaces.page.needs import (
    NEED_KINDS,
    DeadLetter,
    Need,
    StallSnapshot,
    approval_needs,
    dead_needs,
    escalation_needs,
    parsed_key,
    plans_by_request,
    stall_needs,
    waiters_of,
    wake_needs,
    without_letters,
)
from telex.surfaces.page.past import PastHistories
from telex.surfaces.size_limits import within_bytes

LETTERS_MAX = 1_000  # dead letters that are listed; the oldest wait until others are answered
ITEMS_MAX = 200  # of one response
STALL_SECONDS, STALL_SHARE = 5.0, 0.02  # between two computations, and of the hub's time for them
STALL_WAIT_SECONDS = 0.3  # that the first request waits for the first computation
STALLS_MAX, STALL_VALID_SECONDS = 500, 60.0  # snapshots of the past, and how long one is valid
INTERVAL_SECONDS, TIME_SHARE = 0.25, 0.05  # between two computations of the list, and of the hub's time for them
Facts = dict[str, Any]


class NeedsQuery(NamedTuple):
    at: float | None = None  # a past moment; None: now
    limit: int = 50
    cursor: str = ""
    item: str = ""  # key of an item that is wanted wherever it is in the list
    kind: str = ""


class NeedsList(NamedTuple):
    needs: tuple[Need, ...]
    unknown: frozenset[str] = frozenset()  # kinds that are not known (yet)
    is_past: bool = False  # then those kinds will not be known

    def by_kind(self) -> dict[str, int | None]:
        counts = dict.fromkeys(NEED_KINDS, 0)
        for need in self.needs:
            counts[need.kind] += 1
        return {kind: None if kind in self.unknown else count for kind, count in counts.items()}

    @property
    def total(self) -> int | None:
        return None if self.unknown and not self.is_past else len(self.needs)

    def visible_to(self, caller: Caller) -> "NeedsList":
        """Without items of other conversations, for a viewer of one."""
        if caller.conversation is None:
            return self
        return self._replace(needs=tuple(need for need in self.needs if need.conversation == caller.conversation))

    def find(self, key: str) -> Need | None:
        """The item of a key, whatever its revision."""
        wanted = parsed_key(key)
        return next((need for need in self.needs if (need.kind, need.id) == wanted[:2]), None)


class BackgroundValue:
    """A value that is computed beside the requests while it is asked for, at most every few seconds."""

    def __init__(self, compute: Callable[[], Awaitable[StallSnapshot]]) -> None:
        self._compute = compute
        self._task: asyncio.Task[None] | None = None
        self._next = -math.inf
        self.value: StallSnapshot | None = None
        self.earlier: deque[StallSnapshot] = deque(maxlen=STALLS_MAX)

    def refresh(self) -> "asyncio.Task[None] | None":
        if self._task is None and time.monotonic() >= self._next:
            self._task = asyncio.ensure_future(self._run())
        return self._task

    async def _run(self) -> None:
        begun = time.monotonic()
        try:
            value = await self._compute()
            if self.value is not None:
                self.earlier.append(self.value)
            self.value = value
        except TelexError:  # a store that is away for a moment
            pass
        finally:
            ended = time.monotonic()
            self._next = ended + max(STALL_SECONDS, (ended - begun) / STALL_SHARE)
            self._task = None

    def at(self, moment: float) -> StallSnapshot | None:
        """The snapshot that was valid then."""
        for snapshot in reversed([*self.earlier, *([self.value] if self.value is not None else [])]):
            if snapshot.stall.at <= moment:
                return snapshot if moment - snapshot.stall.at <= STALL_VALID_SECONDS else None
        return None


class Needs:
    """All items that wait for a person."""

    def __init__(self, bus: Bus, settings: Settings, events: RecentEvents, past: PastHistories) -> None:
        self._bus, self._settings = bus, settings
        self._events, self._past = events, past
        self._lock = asyncio.Lock()
        self._stamp: tuple[Any, ...] = ()
        self._list = NeedsList((), frozenset(NEED_KINDS))
        self._letters: dict[tuple[int, int], DeadLetter] = {}  # by delivery and number of its leases
        self._plans: dict[str, Plan] = {}
        self._facts = NeedFacts(bus, settings, events)
        self._next = -math.inf
        self.stall = BackgroundValue(self._stalled)
        self.answered: Callable[[], frozenset[str]] = frozenset  # keys that have an answer which is held back

    @property
    def known(self) -> NeedsList:
        """The items that were open when they were computed last."""
        return self._visible(self._list)

    async def current(self) -> NeedsList:
        """The open items that have no answer yet."""
        return self._visible(await self.all())

    async def latest(self) -> NeedsList:
        """The same without a wait: as they were a moment ago, if they were computed only then."""
        return self._visible(await self.all(may_wait=False))

    async def all(self, *, may_wait: bool = True) -> NeedsList:
        """The open items, also those whose answer is held back. They are computed anew only if an event may have
        changed them."""
        task = self.stall.refresh() if self._settings.work_rules else None
        if task is not None and self.stall.value is None:
            await asyncio.wait([task], timeout=STALL_WAIT_SECONDS)
        async with self._lock:
            events, stall = await self._events.caught_up(), self.stall.value
            stamp = events.notable, events.wake_failures.changes, stall and stall.stall.at
            if stamp != self._stamp and (may_wait or time.monotonic() >= self._next):
                await asyncio.sleep(self._next - time.monotonic())
                begun = time.monotonic()
                self._list = await self._computed()
                self._stamp, cost = stamp, time.monotonic() - begun
                self._next = time.monotonic() + min(max(INTERVAL_SECONDS, cost / TIME_SHARE), 2.0)
            return self._list

    def _visible(self, needs: NeedsList) -> NeedsList:
        answered = self.answered()
        if not answered:
            return needs
        left = (need for need in needs.needs if need.key not in answered or need.kind == "dead")
        return needs._replace(needs=tuple(without_letters(left, answered)))

    async def at(self, moment: float) -> NeedsList:
        """The items that were open at a moment."""
        bus, limits = self._bus, self._settings.limits
        events = await self._events.caught_up()
        history = await self._past.covering(events.history, moment, moment)
        approvals = await bus.work_state("approval")
        plans = plans_by_request((await bus.work_state("plan")).values())
        stall = self.stall.at(moment) if self._settings.work_rules else None
        needs = [
            *approval_needs(approvals.values(), plans, limits, moment),
            *escalation_needs(await bus.escalations(answered=True), limits, moment),
            *dead_needs(letters_at(history, moment)),
            *(stall_needs(stall) if stall is not None else ()),
            *wake_needs(events.wake_failures.at(moment), None),
        ]
        unknown = frozenset(("stall",)) if stall is None and self._settings.work_rules else frozenset[str]()
        return NeedsList(tuple(sorted(needs, key=lambda need: need.place)), unknown, is_past=True)

    async def _computed(self) -> NeedsList:
        bus, limits = self._bus, self._settings.limits
        approvals = await after_others(bus.work_state("approval"))
        asks = any(approval.waits for approval in approvals.values())
        plans = (await after_others(bus.work_state("plan"))).values() if asks else ()
        self._plans = plans_by_request(plans)
        escalations = await after_others(bus.escalations())
        letters = await self._dead_letters()
        roster = await after_others(bus.roster())
        stall = self.stall.value
        needs = [
            *approval_needs(approvals.values(), self._plans, limits, None),
            *escalation_needs(escalations, limits, None),
            *dead_needs(letters),
            *(stall_needs(stall) if stall is not None else ()),
            *wake_needs(self._events.wake_failures.at(time.time()), unread_by_agent(roster)),
        ]
        unknown = frozenset(("stall",)) if stall is None and self._settings.work_rules else frozenset[str]()
        return NeedsList(tuple(sorted(needs, key=lambda need: need.place)), unknown)

    async def _stalled(self) -> StallSnapshot:
        roster = await after_others(self._bus.roster())
        stall = await after_others(self._bus.stall())
        return StallSnapshot(stall, {one.member.name: one.oldest_at for one in roster if one.oldest_at is not None})

    # --- dead letters ------------------------------------------------------------------------------------------------

    async def _dead_letters(self) -> list[DeadLetter]:
        limited = await within_bytes(lambda limit: self._bus.dead_letters(limit=limit), LETTERS_MAX)
        known, self._letters = self._letters, {}
        for delivery, message in limited.found:
            place = delivery.seq, delivery.fence
            self._letters[place] = known.get(place) or await self._dead_letter(delivery, message)
        return [*self._letters.values()]

    async def _dead_letter(self, delivery: Delivery, message: StoredMessage) -> DeadLetter:
        folded = self._events.history.delivery(delivery.seq)
        if folded is not None and folded.event:
            event, at, reason = folded.event, folded.ended, folded.reason
        else:  # older than the history
            event, at, reason = await self._death(delivery, message)
        return DeadLetter(
            delivery.seq,
            event,
            at,
            inbox=delivery.inbox,
            reason=reason,
            attempts=delivery.attempts,
            message=message.seq,
            id=message.id,
            sender=message.sender,
            gist=gist(message.raw),
            conversation=message.correlation,
        )

    async def _death(self, delivery: Delivery, message: StoredMessage) -> tuple[int, float, str]:
        stories = await after_others(self._bus.why(message.id))
        events = [event for story in stories for event in story.events if event.kind in ("dead", "expired")]
        own = [event for event in events if event.delivery in (delivery.seq, None)]
        return (own[-1].seq, own[-1].at, str(detail_of(own[-1]).get("reason") or "")) if own else (0, message.at, "")

    # --- facts -------------------------------------------------------------------------------------------------------

    async def page(self, query: NeedsQuery, caller: Caller) -> Facts:
        needs = (await (self.current() if query.at is None else self.at(query.at))).visible_to(caller)
        chosen = [need for need in needs.needs if query.kind in ("", need.kind)]
        after = _place(query.cursor)
        rest = [need for need in chosen if after is None or need.place > after]
        shown = rest[: query.limit]
        view = await self._view(query, caller)
        wanted = needs.find(query.item) if query.item else None
        return {
            "count": needs.total,
            "by_kind": needs.by_kind(),
            "items": [await self._facts.facts(need, view) for need in shown],
            "cursor": _cursor(shown[-1]) if len(rest) > len(shown) else None,
            "item": await self._facts.facts(wanted, view) if wanted is not None else None,
        }

    async def _view(self, query: NeedsQuery, caller: Caller) -> View:
        events = await self._events.caught_up()
        stall = self.stall.value if query.at is None else self.stall.at(query.at)
        roster = await self._bus.roster()
        members = [presence.member for presence in roster]
        waits = stall.stall.waits if stall is not None else ()
        return View(
            caller,
            query.at,
            events.history,
            waiters=waiters_of(waits),
            roster=roster_of(members),
            unread=unread_by_agent(roster),
            plans=self._plans,
        )

    async def facts_of(self, need: Need, caller: Caller) -> Facts:
        return await self._facts.facts(need, await self._view(NeedsQuery(), caller))


# --- helpers ----------------------------------------------------------------------------------------------------------


def letters_at(history: History, moment: float) -> Iterator[DeadLetter]:
    """Letters that were dead at a moment, newest messages first."""
    count = 0
    for message in reversed(history.messages.values()):
        for delivery in message.deliveries if message.at <= moment else ():
            if delivery.state_at(moment) != "dead":
                continue
            died = next((since for since, until in delivery.dead if since <= moment < until), delivery.ended)
            yield DeadLetter(
                delivery.number or 0,
                delivery.event,
                died,
                inbox=delivery.inbox,
                reason=delivery.reason,
                attempts=len(delivery.attempts),
                message=message.seq,
                id=message.id,
                sender=message.sender,
                gist=message.gist,
                conversation=message.conversation,
            )
            count += 1
            if count == LETTERS_MAX:
                return


def unread_by_agent(roster: Iterable[Presence]) -> dict[str, int]:
    """Messages in each inbox; agents with a role also read those of the role."""
    waiting = {presence.member.name: presence.waiting for presence in roster}
    members: list[Member] = [presence.member for presence in roster]
    return {
        member.name: waiting[member.name] + waiting.get(ONE_OF_ROLE + member.role, 0)
        for member in members
        if not member.name.startswith(ONE_OF_ROLE)
    }


def _cursor(need: Need) -> str:
    due, since, key = need.place
    return f"{due!r},{since!r},{key}"


def _place(cursor: str) -> tuple[float, float, str] | None:
    if not cursor:
        return None
    due, _, rest = cursor.partition(",")
    since, _, key = rest.partition(",")
    try:
        return float(due), float(since), key
    except ValueError:
        raise InvalidValue("cursor takes the cursor of an answer.") from None
