"""Tables of the memory store, and the writes that keep them consistent with each other.

Every write goes through a method here. While a decision runs, each write also leaves its inverse in a journal, so that
a decision that raises can be undone.
"""

import json
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from heapq import nsmallest
from itertools import islice
from typing import Any, TypeVar

from telex.model.delivery import AT_ONCE, MOVES, OPEN, Delivery
from telex.model.event import BRINGING, COMING_AND_GOING, ELSEWHERE, Event
from telex.model.message import Lease, Message, NewMessage, WorkChange
from telex.model.roster import TELEX, Member
from telex.ports.store import (
    CONVERSATION_BYTES,
    LATEST_MESSAGES,
    ROSTER,
    Cache,
    Changes,
    Completed,
    ConversationPage,
    ConversationSummary,
    EarlierMessage,
    LeaseRequest,
    PendingRequest,
    Query,
    Reads,
    Settlement,
    SettleResult,
    Transaction,
)
from telex.stores.query_match import matches_query

Undo = tuple[Callable[..., Any], tuple[Any, ...]]


class MemoryTables:
    def __init__(self) -> None:
        self._messages: dict[int, Message] = {}
        self._deliveries: dict[int, Delivery] = {}
        self._events: dict[int, Event] = {}
        self._asks: dict[int, PendingRequest] = {}  # by message, oldest first
        self._members: dict[str, Member] = {}
        self._topics: dict[str, list[int]] = defaultdict(list)  # by topic: the messages that belong to it
        self._snapshots: dict[str, tuple[int, str]] = {}
        self._idle: dict[str, int] = {}  # by correlation: the message after which it was recorded as idle
        # Indexes of the tables above.
        self._by_id: dict[str, list[int]] = defaultdict(list)  # messages
        self._accepted: dict[tuple[str, str], int] = {}  # by sender and id: the newest accepted message
        self._open: dict[str, set[int]] = defaultdict(set)  # by inbox: deliveries that are stored or leased
        self._leased: set[int] = set()
        self._deliveries_of: dict[int, list[int]] = defaultdict(list)  # by message
        self._events_of: dict[int, list[int]] = defaultdict(list)  # by message
        self._asked: dict[tuple[str, str | None], dict[int, None]] = defaultdict(dict)  # asks by id or conversation
        self._last_event = self._last_delivery = self._writes = 0
        self._latest_at = 0.0
        self._changed: list[str] = []  # by the decision that runs: topics, and ROSTER for each member
        self._journal: list[Undo] | None = None  # inverses of its writes; None: no decision runs

    # --- journal -----------------------------------------------------------------------------------------------------

    def _undo(self, marks: tuple[int, int, float]) -> None:
        journal, self._journal = self._journal or [], None
        for inverse, arguments in reversed(journal):
            inverse(*arguments)
        self._last_event, self._last_delivery, self._latest_at = marks

    def _set(self, table: dict[Any, Any], key: Any, value: Any) -> None:
        if self._journal is not None:
            inverse = (table.__setitem__, (key, table[key])) if key in table else (table.pop, (key,))
            self._journal.append(inverse)
        table[key] = value

    def _add(self, items: list[Any], item: Any) -> None:
        items.append(item)
        if self._journal is not None:
            self._journal.append((items.pop, ()))

    def _put_in(self, numbers: set[int], number: int, belongs: bool) -> None:
        if (number in numbers) == belongs:
            return
        change, inverse = (numbers.add, numbers.discard) if belongs else (numbers.discard, numbers.add)
        change(number)
        if self._journal is not None:
            self._journal.append((inverse, (number,)))

    # --- writes ------------------------------------------------------------------------------------------------------

    def _store(self, new_message: NewMessage) -> int:
        """Store a message with everything that belongs to it. Its number."""
        assert new_message.kind == "accepted" or not new_message.inboxes, "only accepted messages are delivered"
        seq = self._last_event + 1
        self._write(Event(seq, new_message.at, new_message.kind, new_message.sender, seq, detail=new_message.detail))
        # A NewMessage begins with the fields of a Message, in their order.
        self._set(self._messages, seq, Message(seq, *new_message[:12], new_message.kind == "refused"))
        self._add(self._by_id[new_message.id], seq)
        if new_message.kind == "accepted":
            self._set(self._accepted, (new_message.sender, new_message.id), seq)
        for inbox in new_message.inboxes:
            self._deliver(seq, inbox)
        if new_message.answer_by is not None:
            self._add_request(PendingRequest(seq, new_message.answer_by, 0))
        if new_message.work_change is not None:
            self._change_work(new_message.work_change, seq)
        for request in new_message.answers_requests:
            if self._release_request(request):
                detail = f'{{"by": {seq}}}'
                self._record(new_message.at, "answered", agent=new_message.sender, message=request, detail=detail)
        return seq

    def _change_work(self, work_change: WorkChange, seq: int) -> None:
        for topic in work_change.topics:
            self._add(self._topics[topic], seq)
            self._changed.append(topic)
        for member, event in work_change.members:
            self._put_member(member, event)
        for report in work_change.reports:
            self._store(report)

    def _put_member(self, member: Member, event: Event) -> None:
        self._set(self._members, member.name, member)
        self._changed.append(ROSTER)
        self._write(event._replace(seq=self._last_event + 1))

    def _mark_seen(self, name: str, at: float) -> None:
        member = self._members.get(name)
        if member is not None and (member.seen_at is None or member.seen_at < at):
            self._set(self._members, name, member._replace(seen_at=at))
            self._writes += 1

    def _add_request(self, request: PendingRequest) -> None:
        self._set(self._asks, request.message, request)
        for key in _request_keys(self._messages[request.message]):
            self._set(self._asked[key], request.message, None)

    def _release_request(self, message: int) -> bool:
        """No answer to this message is waited for any longer. Was one?"""
        request = self._asks.pop(message, None)
        if request is None:
            return False
        for key in _request_keys(self._messages[message]):
            del self._asked[key][message]
        if self._journal is not None:
            self._journal.append((self._add_request, (request,)))
        return True

    def _remind(
        self,
        request: PendingRequest,
        at: float,
        due_at: float | None,
        inboxes: Iterable[str],
        detail: str,
        *,
        reports: Iterable[NewMessage],
    ) -> bool:
        pending = self._asks.get(request.message)
        if pending is None or pending.attempts != request.attempts:
            return False
        self._record(at, "reply-overdue", message=request.message, detail=detail)
        for inbox in inboxes:
            self._record(at, "request-repeated", of=self._deliver(request.message, inbox), detail=detail)
        if due_at is None:
            self._release_request(request.message)
            self._record(at, "expired", message=request.message, detail=detail)
        else:
            self._set(self._asks, request.message, PendingRequest(request.message, due_at, request.attempts + 1))
        for report in reports:
            self._store(report)
        return True

    def _has_stopped(self, name: str) -> bool:
        member = self._members.get(name)
        return member is not None and member.stopped_at is not None

    def _deliver(self, message: int, inbox: str) -> Delivery:
        self._last_delivery += 1
        assert self._last_delivery not in self._deliveries, "no number is used twice"
        self._add(self._deliveries_of[message], self._last_delivery)
        return self._put(
            Delivery(
                self._last_delivery,
                message,
                inbox=inbox,
                rank=self._messages[message].rank,
                state="stored",
                due_at=AT_ONCE,
            )
        )

    def _put(self, delivery: Delivery) -> Delivery:
        """Store a delivery as it now is."""
        before = self._deliveries.get(delivery.seq)
        assert before is None or delivery.state in MOVES[before.state], f"{before} may not become {delivery.state}"
        self._set(self._deliveries, delivery.seq, delivery)
        self._put_in(self._open[delivery.inbox], delivery.seq, delivery.state in OPEN)
        self._put_in(self._leased, delivery.seq, delivery.state == "leased")
        self._writes += 1
        return delivery

    def _record(
        self,
        at: float,
        kind: str,
        *,
        agent: str | None = None,
        message: int | None = None,
        of: Delivery | None = None,
        detail: str | None = None,
    ) -> int:
        """Store an event. Its number."""
        seq = self._last_event + 1
        if of is None:
            self._write(Event(seq, at, kind, agent, message, detail=detail))
        else:
            self._write(
                Event(
                    seq=seq,
                    at=at,
                    kind=kind,
                    agent=agent,
                    message=of.message,
                    delivery=of.seq,
                    inbox=of.inbox,
                    detail=detail,
                )
            )
        return seq

    def _write(self, event: Event) -> None:
        self._last_event = event.seq
        self._set(self._events, event.seq, event)
        if event.message is not None:
            self._add(self._events_of[event.message], event.seq)
        if event.kind not in ELSEWHERE:
            self._latest_at = event.at
        self._writes += 1

    def _touched(self, after: int) -> Changes:
        events = [self._events[seq] for seq in range(after + 1, self._last_event + 1) if seq in self._events]
        numbers = {event.delivery for event in events if event.delivery is not None}
        for event in events:
            if event.kind in BRINGING:
                numbers.update(self._deliveries_of.get(event.seq, ()))
        put = [one for number in sorted(numbers) if (one := self._deliveries.get(number)) and one.state == "stored"]
        return Changes(
            self._last_event,
            tuple((delivery.inbox, delivery.due_at) for delivery in put),
            frozenset(event.message or event.seq for event in events),
            frozenset(event.agent for event in events if event.kind in COMING_AND_GOING and event.agent is not None),
        )

    def _remove(self, seq: int) -> None:
        """Delete a message with all that belongs to it."""
        message = self._messages.pop(seq)
        self._by_id[message.id].remove(seq)
        if self._accepted.get((message.sender, message.id)) == seq:
            del self._accepted[message.sender, message.id]
        for delivery in self._deliveries_of.pop(seq, ()):
            del self._deliveries[delivery]
        for event in self._events_of.pop(seq, ()):
            del self._events[event]
        self._writes += 1

    def _open_in(self, inboxes: Iterable[str]) -> list[Delivery]:
        return [self._deliveries[seq] for inbox in set(inboxes) for seq in self._open.get(inbox, ())]

    def _with_messages(self, deliveries: Iterable[Delivery]) -> list[tuple[Delivery, Message]]:
        return [(delivery, self._messages[delivery.message]) for delivery in deliveries]

    def _is_settled(self, message: int) -> bool:
        states = {self._deliveries[seq].state for seq in self._deliveries_of.get(message, ())}
        in_the_book = any(message in topic for topic in self._topics.values())
        return message not in self._asks and not states & OPEN and not in_the_book

    def _last_at(self, message: int) -> float:
        """When anything happened to it last."""
        return self._events[self._events_of[message][-1]].at


def _request_keys(message: Message) -> tuple[tuple[str, str | None], ...]:
    """What a pending request is found by."""
    return ("id", message.id), ("correlation", message.correlation)


class MemoryReads:
    def __init__(self, tables: MemoryTables) -> None:
        self._tables = tables
        self.position = tables._last_event
        self.changed: Sequence[str] = ()

    def topics_since(self, position: int) -> list[str]:
        return [name for name, seqs in self._tables._topics.items() if seqs and seqs[-1] > position]

    def roster_changed_since(self, position: int) -> bool:
        events = (self._tables._events.get(seq) for seq in range(position + 1, self._tables._last_event + 1))
        return any(event is not None and event.kind in COMING_AND_GOING for event in events)

    def members(self) -> list[Member]:
        return list(self._tables._members.values())

    def find(self, id: str) -> list[Message]:
        return [self._tables._messages[seq] for seq in self._tables._by_id.get(id, ())]

    def pending_requests(
        self, id: str | None, correlation: str | None, types: Sequence[str] | None = None
    ) -> list[tuple[PendingRequest, Message]]:
        if id is None and correlation is None:
            return []
        tables = self._tables
        found = tables._asked.get(("id", id) if id is not None else ("correlation", correlation), {})
        asked = [(tables._asks[seq], tables._messages[seq]) for seq in sorted(found)]
        return [(request, message) for request, message in asked if types is None or message.type in types]

    def held(self, holder: str) -> list[Message]:
        tables = self._tables
        held = sorted(seq for seq in tables._leased if tables._deliveries[seq].holder == holder)
        return [tables._messages[tables._deliveries[seq].message] for seq in held]

    def deliveries(self, message: int) -> list[Delivery]:
        return [self._tables._deliveries[seq] for seq in self._tables._deliveries_of.get(message, ())]

    def story(self, message: int) -> list[Event]:
        return [self._tables._events[seq] for seq in self._tables._events_of.get(message, ())]

    def topic(self, name: str, after: int = 0) -> list[tuple[Event, Message]]:
        tables = self._tables
        seqs = tables._topics.get(name, [])
        return [(tables._events[seq], tables._messages[seq]) for seq in seqs[bisect_right(seqs, after) :]]

    def topics(self, kind: str) -> list[str]:
        topics = self._tables._topics
        return sorted(name for name, seqs in topics.items() if seqs and (name == kind or name.startswith(kind + ":")))

    def snapshot(self, topic: str) -> tuple[int, str] | None:
        return self._tables._snapshots.get(topic)

    def keep_snapshot(self, topic: str, seq: int, text: str) -> None:
        self._tables._set(self._tables._snapshots, topic, (seq, text))


class MemoryTransaction(MemoryReads):
    def __init__(self, tables: MemoryTables) -> None:
        super().__init__(tables)
        self.changed = tables._changed

    def earlier(self, sender: str, id: str, since: float) -> EarlierMessage | None:
        seq = self._tables._accepted.get((sender, id))
        message = self._tables._messages[seq] if seq is not None else None
        if message is None or message.at < since:
            return None
        return EarlierMessage(message.seq, message.digest, message.to)

    def full_inbox(self, inboxes: tuple[str, ...], limit: int) -> str | None:
        return next((inbox for inbox in inboxes if len(self._tables._open[inbox]) >= limit), None)

    def append(self, message: NewMessage) -> int:
        return self._tables._store(message)

    def record(self, event: Event) -> int:
        seq = self._tables._last_event + 1
        self._tables._write(event._replace(seq=seq))
        return seq

    def upsert_member(self, member: Member, event: Event) -> None:
        self._tables._put_member(member, event)

    def mark_seen(self, name: str, at: float) -> None:
        self._tables._mark_seen(name, at)

    def remind(
        self,
        request: PendingRequest,
        at: float,
        due_at: float | None,
        inboxes: Sequence[str],
        detail: str,
        *,
        reports: Sequence[NewMessage] = (),
    ) -> bool:
        return self._tables._remind(request, at, due_at, inboxes, detail, reports=reports)


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
