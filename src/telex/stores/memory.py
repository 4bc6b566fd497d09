"""Memory store: the store contract in plain Python, for tests, simulation and replay.

Everything is in dicts and gone with the process. No verb ever waits, so each is done before another one begins.
"""

import json
from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from heapq import nsmallest
from itertools import islice
from typing import TypeVar

from telex.model.message import OPEN, Delivery, Event, Lease, Message
from telex.model.roster import TELEX, Member
from telex.ports.store import (
    CONVERSATION_BYTES,
    LATEST_MESSAGES,
    Cache,
    Changes,
    ConversationPage,
    ConversationSummary,
    LeaseRequest,
    PendingRequest,
    Query,
    Reads,
    Settlement,
    SettleResult,
    Transaction,
)
from telex.stores.completed import Completed
from telex.stores.memory_tables import MemoryTables
from telex.stores.memory_transaction import MemoryReads, MemoryTransaction
from telex.stores.query_match import matches_query

T = TypeVar("T")


class MemoryStore(MemoryTables):
    def __init__(self) -> None:
        super().__init__()
        self._caches: list[Cache] = []

    # --- transactions -----------------------------------------------------------------------------------------------

    def register_cache(self, cache: Cache) -> None:
        self._caches.append(cache)

    def transaction(
        self,
        decide: Callable[[Transaction], T],
        *,
        prefetch_id: str | None = None,
        may_use_reserve: bool = False,
    ) -> Awaitable[T]:
        return Completed(partial(self.decide, decide))

    def decide(self, decide: Callable[[Transaction], T]) -> T:
        """The transaction, for a caller that needs no coroutine."""
        marks = (self._last_event, self._last_delivery, self._latest_at)
        with self._commit():
            self._journal = []
            try:
                answer = decide(MemoryTransaction(self))
            except BaseException:
                self._undo(marks)
                for cache in self._caches:
                    cache.forget()
                raise
            self._journal = None
        return answer

    @contextmanager
    def _commit(self) -> Iterator[None]:
        """Tell the caches what was written, unless it raised."""
        before, self._changed = self._last_event, []
        yield
        for cache in self._caches:
            cache.committed(before, self._last_event, len(self._changed))

    async def read(self, query: Callable[[Reads], T]) -> T:
        return query(MemoryReads(self))

    # --- delivering -------------------------------------------------------------------------------------------------

    async def lease(self, request: LeaseRequest) -> list[Lease]:
        if self._has_stopped(request.holder):
            return []
        wanted = set(request.only)
        due = [
            delivery
            for delivery in self._open_in(request.inboxes)
            if delivery.state == "stored" and delivery.due_at <= request.now
            if not wanted or delivery.seq in wanted
        ]
        with self._commit():
            return [self._lease(delivery, request) for delivery in nsmallest(request.limit, due, key=_turn)]

    def _lease(self, stored: Delivery, request: LeaseRequest) -> Lease:
        attempt, until, holder = stored.attempts + 1, request.until, request.holder
        delivery = self._put(
            stored._replace(state="leased", due_at=until, attempts=attempt, fence=stored.fence + 1, holder=holder)
        )
        detail = json.dumps({"until": until, "attempt": attempt})
        self._record(request.now, "leased", agent=holder, of=delivery, detail=detail)
        lease = Lease(
            self._messages[delivery.message],
            delivery.seq,
            inbox=delivery.inbox,
            attempt=attempt,
            fence=delivery.fence,
            until=until,
        )
        event = request.extra_event(lease) if request.extra_event is not None else None
        if event is not None:
            self._record(event.at, event.kind, agent=event.agent, of=delivery, detail=event.detail)
        return lease

    async def settle(self, settlements: Sequence[Settlement]) -> list[SettleResult]:
        with self._commit():
            return [self._settle(settlement) for settlement in settlements]

    def _settle(self, wanted: Settlement) -> SettleResult:
        delivery = self._deliveries.get(wanted.delivery)
        if delivery is None or not wanted.holds_for(delivery):
            return SettleResult(False, delivery)
        now = self._put(wanted.applied_to(delivery))
        self._record(wanted.at, wanted.kind, agent=wanted.agent, of=now, detail=wanted.detail)
        if wanted.release:
            self._release_request(now.message)
        for report in wanted.reports:
            self._store(report)
        return SettleResult(True, now)

    async def lapsed(self, now: float, limit: int) -> list[tuple[Delivery, Message]]:
        late = [self._deliveries[seq] for seq in self._leased if self._deliveries[seq].due_at <= now]
        return self._with_messages(nsmallest(limit, late, key=lambda delivery: (delivery.due_at, delivery.seq)))

    async def waiting(self, inboxes: Sequence[str], limit: int) -> list[tuple[Delivery, Message]]:
        return self._with_messages(nsmallest(limit, self._open_in(inboxes), key=_turn))

    async def due_times(self, inboxes: Sequence[str]) -> dict[str, float]:
        stored = [delivery for delivery in self._open_in(inboxes) if delivery.state == "stored"]
        return {
            delivery.inbox: delivery.due_at
            for delivery in sorted(stored, key=lambda delivery: delivery.due_at, reverse=True)
        }

    async def changes_since(self, after: int | None) -> Changes:
        return Changes(self._last_event) if after is None else self._touched(after)

    async def next_deadline(self, inboxes: Sequence[str]) -> float | None:
        stored = (await self.due_times(inboxes)).values()
        leases = [self._deliveries[seq].due_at for seq in self._leased]
        return min(
            [*stored, *leases, *(pending_request.due_at for pending_request in self._asks.values())], default=None
        )

    async def depths(self) -> dict[str, tuple[int, int, float]]:
        depths = {}
        for inbox, seqs in self._open.items():
            if seqs:
                leased = len(seqs & self._leased)
                oldest = min(self._messages[self._deliveries[seq].message].at for seq in seqs)
                depths[inbox] = (len(seqs) - leased, leased, oldest)
        return depths

    async def dead(self, limit: int) -> list[tuple[Delivery, Message]]:
        given_up = [delivery for delivery in self._deliveries.values() if delivery.state in ("dead", "expired")]
        newest_first = sorted(given_up, key=lambda delivery: (delivery.message, delivery.seq), reverse=True)
        return self._with_messages(newest_first[:limit])

    # --- requests and their answers ---------------------------------------------------------------------------------

    async def overdue(self, now: float, limit: int) -> list[tuple[PendingRequest, Message, list[Delivery]]]:
        late = nsmallest(
            limit,
            (pending_request for pending_request in self._asks.values() if pending_request.due_at <= now),
            key=lambda ask: (ask.due_at, ask.message),
        )
        return [
            (pending_request, self._messages[pending_request.message], await self.deliveries(pending_request.message))
            for pending_request in late
        ]

    async def answers_to(self, inboxes: Sequence[str], message: Message, types: Sequence[str]) -> list[int]:
        def answers(other: Message) -> bool:
            if other.reply_to is None:
                same = other.correlation is not None and other.correlation == message.correlation
                return other.seq > message.seq and same and other.type in types
            return other.seq > message.seq and other.reply_to == message.id and other.sender != TELEX

        stored = [delivery for delivery in self._open_in(inboxes) if delivery.state == "stored"]
        return [delivery.seq for delivery in sorted(stored, key=_turn) if answers(self._messages[delivery.message])]

    # --- looking ----------------------------------------------------------------------------------------------------

    async def message(self, seq: int) -> Message | None:
        return self._messages.get(seq)

    async def find(self, id: str) -> list[Message]:
        return MemoryReads(self).find(id)

    async def thread(self, correlation: str, limit: int) -> list[Message]:
        return [message for message in self._messages.values() if message.correlation == correlation][:limit]

    async def conversations(self, before: int | None, limit: int) -> ConversationPage:
        threads: dict[str, list[Message]] = defaultdict(list)
        for message in reversed(self._messages.values()):
            if message.correlation:
                threads[message.correlation].append(message)
        found, size = list[ConversationSummary](), 0
        for correlation, thread in threads.items():
            if before is not None and thread[0].seq >= before:
                continue
            begun = sum(message.correlation is None for message in await self.find(correlation))
            latest = thread[:LATEST_MESSAGES]
            senders = tuple(dict.fromkeys(message.sender for message in latest))
            refused = sum(message.refused for message in latest)
            found.append(ConversationSummary(correlation, len(thread) + begun, thread[0], senders, refused))
            size += len(thread[0].raw)
            if len(found) == limit or size >= CONVERSATION_BYTES:
                return ConversationPage(tuple(found), thread[0].seq)
        return ConversationPage(tuple(found), None)

    async def deliveries(self, message: int) -> list[Delivery]:
        return MemoryReads(self).deliveries(message)

    async def delivery(self, seq: int) -> Delivery | None:
        return self._deliveries.get(seq)

    async def story(self, message: int) -> list[Event]:
        return MemoryReads(self).story(message)

    async def events(self, query: Query, limit: int) -> list[tuple[Event, Message | None]]:
        events = reversed(self._events.values()) if query.newest_first else self._events.values()
        told = ((event, self._messages.get(event.message or 0)) for event in events)
        return list(
            islice(((event, message) for event, message in told if matches_query(query, event, message)), limit)
        )

    # --- members and housekeeping -----------------------------------------------------------------------------------

    async def members(self) -> list[Member]:
        return list(self._members.values())

    async def seen(self, name: str, at: float) -> None:
        with self._commit():
            self._mark_seen(name, at)

    async def maintain(
        self, now: float, *, same_since: float, keep_since: float, silent_since: float, limit: int
    ) -> int:
        steps: list[Callable[[int], int]] = [
            lambda left: self._forget_ids(same_since, left),
            lambda left: self._tell_silence(now, silent_since, left),
            lambda left: self._prune_messages(keep_since, left),
            lambda left: self._prune_events(keep_since, left),
        ]
        done = 0
        with self._commit():
            for step in steps:
                done += step(limit - done)
        return done

    def _forget_ids(self, same_since: float, limit: int) -> int:
        old = [key for key, seq in self._accepted.items() if self._messages[seq].at < same_since][:limit]
        for key in old:
            del self._accepted[key]
        return len(old)

    def _tell_silence(self, now: float, silent_since: float, limit: int) -> int:
        threads: dict[str, list[Message]] = defaultdict(list)
        for message in self._messages.values():
            if message.correlation:
                threads[message.correlation].append(message)
        silent = [
            (correlation, thread)
            for correlation, thread in threads.items()
            if thread[-1].at < silent_since and self._idle.get(correlation) != thread[-1].seq
        ]
        for correlation, thread in silent[:limit]:
            deliveries = [self._deliveries[seq] for message in thread for seq in self._deliveries_of[message.seq]]
            waiting = sum(delivery.state in OPEN for delivery in deliveries)
            detail = json.dumps({"correlation": correlation, "messages": len(thread), "open": waiting})
            self._record(now, "conversation-idle", message=thread[-1].seq, detail=detail)
            self._idle[correlation] = thread[-1].seq
        return len(silent[:limit])

    def _prune_messages(self, keep_since: float, limit: int) -> int:
        old = [seq for seq in self._messages if self._last_at(seq) < keep_since and self._is_settled(seq)]
        for seq in old[:limit]:
            self._remove(seq)
        return len(old[:limit])

    def _prune_events(self, keep_since: float, limit: int) -> int:
        old = [seq for seq, event in self._events.items() if event.at < keep_since and event.message is None][:limit]
        for seq in old:
            del self._events[seq]
            self._writes += 1
        return len(old)

    async def is_maintenance_due(self, now: float) -> bool:
        return True

    def changes(self) -> int:
        return self._writes

    async def latest_at(self) -> float:
        return self._latest_at

    async def close(self) -> None:
        pass


def _turn(delivery: Delivery) -> tuple[int, int, int]:
    """Its place in the order of offering: by class, and first come, first served."""
    return delivery.rank, delivery.message, delivery.seq
