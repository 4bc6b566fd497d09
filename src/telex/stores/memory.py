"""Memory store: the store contract in plain Python, for tests, simulation and replay.

Everything is in dicts and gone with the process. Every write goes through a method of `MemoryTables`. While a decision
runs, each write also leaves its inverse in a journal, so that a decision that raises can be undone.
"""

import json
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from heapq import nsmallest
from itertools import islice
from typing import Any, Concatenate, ParamSpec, TypeVar

from telex.model.message import (
    AT_ONCE,
    MOVES,
    OPEN,
    Delivery,
    Event,
    LeasedMessage,
    NewMessage,
    StoredMessage,
    WorkChange,
)
from telex.model.roster import Member
from telex.ports.store import (
    CONVERSATION_BYTES,
    LATEST_MESSAGES,
    ROSTER,
    Cache,
    Completed,
    ConversationPage,
    ConversationSummary,
    DeliveryQuery,
    EarlierMessage,
    EventQuery,
    LeaseRequest,
    MessageQuery,
    PendingRequest,
    Reads,
    RequestQuery,
    Settlement,
    SettleResult,
    Transaction,
)
from telex.stores.query_match import matches_delivery, matches_query, matches_request

P = ParamSpec("P")
T = TypeVar("T")
Undo = tuple[Callable[..., Any], tuple[Any, ...]]
_ORDERS: dict[str, Callable[[Delivery], tuple[float, ...]]] = {
    "number": lambda delivery: (delivery.message, delivery.seq),
    "offer": lambda delivery: (delivery.rank, delivery.message, delivery.seq),
    "due": lambda delivery: (delivery.due_at, delivery.message, delivery.seq),
    "newest": lambda delivery: (-delivery.message, -delivery.seq),
}


class MemoryTables:
    def __init__(self) -> None:
        self._messages: dict[int, StoredMessage] = {}
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
        self._changed: list[str] = []  # by the decision that runs: topics, and ROSTER for each member
        self._journal: list[Undo] | None = None  # inverses of its writes; None: no decision runs

    # --- journal -----------------------------------------------------------------------------------------------------

    def _undo(self, marks: tuple[int, int]) -> None:
        journal, self._journal = self._journal or [], None
        for inverse, arguments in reversed(journal):
            inverse(*arguments)
        self._last_event, self._last_delivery = marks

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
        self._set(self._messages, seq, StoredMessage(seq, *new_message[:12], new_message.kind == "refused"))
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
        """The request is not pending any more. False: it was not."""
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

    def _has_stopped(self, name: str) -> bool:
        member = self._members.get(name)
        return member is not None and member.stopped_at is not None

    def _deliver(self, message: int, inbox: str) -> Delivery:
        self._last_delivery += 1
        assert self._last_delivery not in self._deliveries, "no number is used twice"
        self._add(self._deliveries_of[message], self._last_delivery)
        rank = self._messages[message].rank
        return self._put(Delivery(self._last_delivery, message, inbox, rank, state="stored", due_at=AT_ONCE))

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
        """Store an event of a message, or of one of its deliveries. Its number."""
        event = Event(self._last_event + 1, at, kind, agent, message, detail=detail)
        if of is not None:
            event = event._replace(message=of.message, delivery=of.seq, inbox=of.inbox)
        self._write(event)
        return event.seq

    def _write(self, event: Event) -> None:
        self._last_event = event.seq
        self._set(self._events, event.seq, event)
        if event.message is not None:
            self._add(self._events_of[event.message], event.seq)
        self._writes += 1

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

    def _is_settled(self, message: int) -> bool:
        states = {self._deliveries[seq].state for seq in self._deliveries_of.get(message, ())}
        has_topic = any(message in topic for topic in self._topics.values())
        return message not in self._asks and not states & OPEN and not has_topic

    def _last_at(self, message: int) -> float:
        """The time of its last event."""
        return self._events[self._events_of[message][-1]].at


def _request_keys(message: StoredMessage) -> tuple[tuple[str, str | None], ...]:
    """The keys of a pending request in `_asked`."""
    return ("id", message.id), ("correlation", message.correlation)


class MemoryReads:
    def __init__(self, tables: MemoryTables) -> None:
        self._tables = tables
        self.position = tables._last_event
        self.changed: Sequence[str] = ()

    def messages(self, query: MessageQuery) -> list[StoredMessage]:
        messages = self._tables._messages
        if query.correlation is not None:
            found = (message for message in messages.values() if message.correlation == query.correlation)
        else:
            known = sorted(messages.keys() & (query.seqs or ()))
            found = (messages[seq] for seq in (known if query.id is None else self._tables._by_id.get(query.id, ())))
        return list(islice(found, query.limit))

    def conversations(self, before: int | None, limit: int) -> ConversationPage:
        threads = _threads(reversed(self._tables._messages.values()))
        page, size = list[ConversationSummary](), 0
        for correlation, thread in threads.items():
            if before is not None and thread[0].seq >= before:
                continue
            begun = sum(message.correlation is None for message in self.messages(MessageQuery(id=correlation)))
            latest = thread[:LATEST_MESSAGES]
            senders = tuple(dict.fromkeys(message.sender for message in latest))
            refused = sum(message.refused for message in latest)
            page.append(ConversationSummary(correlation, len(thread) + begun, thread[0], senders, refused))
            size += len(thread[0].raw)
            if len(page) == limit or size >= CONVERSATION_BYTES:
                return ConversationPage(tuple(page), thread[0].seq)
        return ConversationPage(tuple(page), None)

    def deliveries(self, query: DeliveryQuery) -> list[Delivery]:
        tables = self._tables
        matching = [
            delivery
            for delivery in (tables._deliveries[seq] for seq in self._candidates(query))
            if matches_delivery(query, delivery, tables._messages[delivery.message])
        ]
        return nsmallest(len(matching) if query.limit is None else query.limit, matching, key=_ORDERS[query.order])

    def _candidates(self, query: DeliveryQuery) -> Iterable[int]:
        tables = self._tables
        if query.seqs is not None:
            return tables._deliveries.keys() & query.seqs
        if query.message is not None:
            return tables._deliveries_of.get(query.message, ())
        if frozenset(query.states) == {"leased"}:
            return tables._leased
        if query.inboxes is not None and OPEN.issuperset(query.states):
            return {seq for inbox in query.inboxes for seq in tables._open.get(inbox, ())}
        return tables._deliveries

    def depths(self) -> dict[str, tuple[int, int, float]]:
        tables, depths = self._tables, {}
        for inbox, seqs in tables._open.items():
            if seqs:
                leased = len(seqs & tables._leased)
                oldest = min(tables._messages[tables._deliveries[seq].message].at for seq in seqs)
                depths[inbox] = (len(seqs) - leased, leased, oldest)
        return depths

    def events(self, query: EventQuery) -> list[Event]:
        tables, filters = self._tables, query.filters
        if query.message is not None:
            seqs: Sequence[int] = tables._events_of.get(query.message, ())
        elif query.topic is not None:
            seqs = tables._topics.get(query.topic, ())
            seqs = seqs[bisect_right(seqs, filters.after) :]
        elif filters.after:
            seqs = [seq for seq in range(filters.after + 1, tables._last_event + 1) if seq in tables._events]
        else:
            seqs = list(tables._events)
        events = (tables._events[seq] for seq in (reversed(seqs) if filters.newest_first else seqs))
        matching = (
            event for event in events if matches_query(filters, event, tables._messages.get(event.message or 0))
        )
        return list(islice(matching, query.limit))

    def pending_requests(self, query: RequestQuery) -> list[tuple[PendingRequest, StoredMessage]]:
        tables = self._tables
        key = ("id", query.id) if query.id is not None else ("correlation", query.correlation)
        is_named = key[1] is not None
        pending = [
            (request, message)
            for seq in sorted(tables._asked.get(key, ()) if is_named else tables._asks)
            if matches_request(query, request := tables._asks[seq], message := tables._messages[seq])
        ]
        if not is_named:
            pending.sort(key=lambda pair: pair[0].due_at)
        return pending[: query.limit]

    def members(self) -> list[Member]:
        return list(self._tables._members.values())

    def topics(self, kind: str | None = None, after: int = 0) -> list[str]:
        return sorted(
            name
            for name, seqs in self._tables._topics.items()
            if seqs and seqs[-1] > after and (kind is None or name == kind or name.startswith(kind + ":"))
        )

    def snapshot(self, topic: str) -> tuple[int, str] | None:
        return self._tables._snapshots.get(topic)


class MemoryTransaction(MemoryReads):
    def __init__(self, tables: MemoryTables) -> None:
        super().__init__(tables)
        self.changed = tables._changed

    def keep_snapshot(self, topic: str, seq: int, text: str) -> None:
        self._tables._set(self._tables._snapshots, topic, (seq, text))

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

    def settle(self, settlement: Settlement) -> SettleResult:
        return self._tables._settle(settlement)

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


class MemoryStore(MemoryTables):
    def __init__(self) -> None:
        super().__init__()
        self.caches: list[Cache] = []

    # --- transactions -----------------------------------------------------------------------------------------------

    def transaction(
        self,
        decide: Callable[[Transaction], T],
        *,
        prefetch_id: str | None = None,
        may_use_reserve: bool = False,
        durable: bool = True,
    ) -> Awaitable[T]:
        return Completed(partial(self.decide, decide))

    def decide(self, decide: Callable[[Transaction], T]) -> T:
        """The transaction, for a caller that needs no coroutine."""
        marks = (self._last_event, self._last_delivery)
        with self._commit():
            self._journal = []
            try:
                answer = decide(MemoryTransaction(self))
            except BaseException:
                self._undo(marks)
                for cache in self.caches:
                    cache.forget()
                raise
            self._journal = None
        return answer

    @contextmanager
    def _commit(self) -> Iterator[None]:
        """Report the commit to the caches, unless it raised."""
        before, self._changed = self._last_event, []
        yield
        for cache in self.caches:
            cache.committed(before, self._last_event, len(self._changed))

    async def read(self, query: Callable[Concatenate[Reads, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        return query(MemoryReads(self), *args, **kwargs)

    # --- delivering -------------------------------------------------------------------------------------------------

    async def lease(self, request: LeaseRequest) -> list[LeasedMessage]:
        if self._has_stopped(request.holder):
            return []
        due = MemoryReads(self).deliveries(
            DeliveryQuery(
                seqs=request.only or None,
                inboxes=request.inboxes,
                states=("stored",),
                due_by=request.now,
                order="offer",
                limit=request.limit,
            )
        )
        with self._commit():
            return [self._lease(delivery, request) for delivery in due]

    def _lease(self, stored: Delivery, request: LeaseRequest) -> LeasedMessage:
        attempt, until, holder = stored.attempts + 1, request.until, request.holder
        delivery = self._put(
            stored._replace(state="leased", due_at=until, attempts=attempt, fence=stored.fence + 1, holder=holder)
        )
        detail = json.dumps({"until": until, "attempt": attempt})
        self._record(request.now, "leased", agent=holder, of=delivery, detail=detail)
        message, fence = self._messages[delivery.message], delivery.fence
        lease = LeasedMessage(message, delivery.seq, delivery.inbox, attempt, fence=fence, until=until)
        event = request.extra_event(lease) if request.extra_event is not None else None
        if event is not None:
            self._record(event.at, event.kind, agent=event.agent, of=delivery, detail=event.detail)
        return lease

    # --- members and housekeeping -----------------------------------------------------------------------------------

    async def maintain(
        self, now: float, *, same_since: float, keep_since: float, silent_since: float, limit: int
    ) -> int:
        steps: list[Callable[[int], int]] = [
            lambda left: self._forget_ids(same_since, left),
            lambda left: self._record_idle(now, silent_since, left),
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

    def _record_idle(self, now: float, silent_since: float, limit: int) -> int:
        threads = _threads(self._messages.values())
        idle = [
            (correlation, thread)
            for correlation, thread in threads.items()
            if thread[-1].at < silent_since and self._idle.get(correlation) != thread[-1].seq
        ]
        for correlation, thread in idle[:limit]:
            deliveries = [self._deliveries[seq] for message in thread for seq in self._deliveries_of[message.seq]]
            waiting = sum(delivery.state in OPEN for delivery in deliveries)
            detail = json.dumps({"correlation": correlation, "messages": len(thread), "open": waiting})
            self._record(now, "conversation-idle", message=thread[-1].seq, detail=detail)
            self._idle[correlation] = thread[-1].seq
        return len(idle[:limit])

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

    def changes(self) -> tuple[int, int]:
        return 0, self._writes

    async def close(self) -> None:
        pass


def _threads(messages: Iterable[StoredMessage]) -> dict[str, list[StoredMessage]]:
    """Conversations by correlation, in the order of these messages."""
    threads: dict[str, list[StoredMessage]] = defaultdict(list)
    for message in messages:
        if message.correlation:
            threads[message.correlation].append(message)
    return threads
