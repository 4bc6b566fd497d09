"""What does a store promise, said in plain Python? Everything is in dicts, and gone with the process.

This one is for tests and simulations, and the reference for the others: where two stores differ, it is this one that
can be read in five minutes. No verb ever waits, so each is done whole before anybody else has a turn.
"""

import json
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Sequence
from heapq import nsmallest
from itertools import islice

from telex.model.delivery import OPEN, Delivery
from telex.model.event import Event
from telex.model.message import Lease, Message, NewMessage
from telex.model.roster import TELEX, Member
from telex.ports.store import AppendResult, Beside, Changes, PendingRequest, Query, Settlement, SettleResult
from telex.stores.memory_tables import MemoryTables
from telex.stores.query_match import matches_query


class MemoryStore(MemoryTables):
    # --- keeping ----------------------------------------------------------------------------------------------------

    async def append(self, entries: Sequence[NewMessage]) -> list[AppendResult]:
        return [self._append(new_message) for new_message in entries]

    def _append(self, new_message: NewMessage) -> AppendResult:
        assert new_message.kind == "accepted" or not new_message.inboxes, "only what was accepted is delivered"
        earlier = self._earlier(new_message)
        if earlier is not None:
            if (earlier.digest, earlier.to) != (new_message.digest, new_message.to):
                return AppendResult("id-reused", earlier.seq)
            self._tell(new_message.at, "duplicate", agent=new_message.sender, message=earlier.seq)
            return AppendResult("duplicate", earlier.seq)
        if new_message.dedup_since is not None and self._has_stopped(new_message.sender):
            return AppendResult("stopped", 0)
        if new_message.work_change is not None and any(
            last != (self._topics.get(name) or [0])[-1] for name, last in new_message.work_change.expected_versions
        ):
            return AppendResult("stale", 0)
        for inbox in new_message.inboxes:
            if new_message.inbox_max is not None and len(self._open[inbox]) >= new_message.inbox_max:
                return AppendResult("inbox-full", 0, inbox)
        seq = self._keep(new_message)
        for asked in new_message.answers_requests:
            if self._wait_no_longer(asked):
                self._tell(
                    new_message.at, "answered", agent=new_message.sender, message=asked, detail=json.dumps({"by": seq})
                )
        return AppendResult("stored", seq)

    def _earlier(self, new_message: NewMessage) -> Message | None:
        """The message that this one repeats, or whose id it uses."""
        seq = self._ids.get((new_message.sender, new_message.id))
        if seq is None or new_message.dedup_since is None:
            return None
        return self._messages[seq] if self._messages[seq].at >= new_message.dedup_since else None

    async def record(self, events: Sequence[Event]) -> None:
        for event in events:
            self._last_event += 1
            self._write(event._replace(seq=self._last_event))

    # --- delivering -------------------------------------------------------------------------------------------------

    async def lease(
        self,
        inboxes: Sequence[str],
        holder: str,
        now: float,
        until: float,
        limit: int,
        only: Sequence[int] = (),
        beside: Beside | None = None,
    ) -> list[Lease]:
        if self._has_stopped(holder):
            return []
        wanted = set(only)
        due = [
            delivery
            for delivery in self._open_in(inboxes)
            if delivery.state == "stored" and delivery.due_at <= now and (not wanted or delivery.seq in wanted)
        ]
        return [self._lease(delivery, holder, now, until, beside) for delivery in nsmallest(limit, due, key=_turn)]

    def _lease(self, stored: Delivery, holder: str, now: float, until: float, beside: Beside | None) -> Lease:
        attempt, fence = stored.attempts + 1, stored.fence + 1
        delivery = stored._replace(state="leased", due_at=until, attempts=attempt, fence=fence, holder=holder)
        self._put(delivery)
        self._tell(now, "leased", agent=holder, of=delivery, detail=json.dumps({"until": until, "attempt": attempt}))
        lease = Lease(self._messages[delivery.message], delivery.seq, delivery.inbox, attempt, fence, until)
        event = beside(lease) if beside is not None else None
        if event is not None:
            self._tell(event.at, event.kind, agent=event.agent, of=delivery, detail=event.detail)
        return lease

    async def settle(self, settlements: Sequence[Settlement]) -> list[SettleResult]:
        return [self._settle(settlement) for settlement in settlements]

    def _settle(self, wanted: Settlement) -> SettleResult:
        delivery = self._deliveries.get(wanted.delivery)
        if delivery is None or not wanted.holds_for(delivery):
            return SettleResult(False, delivery)
        attempts = delivery.attempts if wanted.attempts is None else wanted.attempts
        now = self._put(delivery._replace(state=wanted.becomes, due_at=wanted.due_at, attempts=attempts))
        self._tell(wanted.at, wanted.kind, agent=wanted.agent, of=now, detail=wanted.detail)
        if wanted.release:
            self._wait_no_longer(now.message)
        for report in wanted.reports:
            self._keep(report)
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
            key=lambda ask: ask.due_at,
        )
        return [
            (pending_request, self._messages[pending_request.message], await self.deliveries(pending_request.message))
            for pending_request in late
        ]

    async def remind(
        self,
        pending_request: PendingRequest,
        at: float,
        due_at: float | None,
        inboxes: Sequence[str],
        detail: str,
        reports: Sequence[NewMessage] = (),
    ) -> bool:
        stands = self._asks.get(pending_request.message)
        if stands is None or stands.attempts != pending_request.attempts:
            return False
        self._tell(at, "reply-overdue", message=pending_request.message, detail=detail)
        for inbox in inboxes:
            self._tell(at, "request-repeated", of=self._deliver(pending_request.message, inbox), detail=detail)
        if due_at is None:
            self._wait_no_longer(pending_request.message)
            self._tell(at, "expired", message=pending_request.message, detail=detail)
        else:
            self._asks[pending_request.message] = PendingRequest(
                pending_request.message, due_at, pending_request.attempts + 1
            )
        for report in reports:
            self._keep(report)
        return True

    async def pending_requests(
        self, id: str | None, correlation: str | None, types: Sequence[str] | None = None
    ) -> list[tuple[PendingRequest, Message]]:
        if id is None and correlation is None:
            return []
        found = self._asked.get(("id", id) if id is not None else ("correlation", correlation), {})
        asked = [(self._asks[seq], self._messages[seq]) for seq in sorted(found)]
        return [one for one in asked if types is None or one[1].type in types]

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
        return [message for message in self._messages.values() if message.id == id]

    async def thread(self, correlation: str, limit: int) -> list[Message]:
        return [message for message in self._messages.values() if message.correlation == correlation][:limit]

    async def topic(self, name: str, after: int = 0) -> list[tuple[Event, Message]]:
        seqs = self._topics.get(name, [])
        return [(self._events[seq], self._messages[seq]) for seq in seqs[bisect_right(seqs, after) :]]

    async def topics(self, kind: str) -> list[str]:
        return sorted(name for name in self._topics if name == kind or name.startswith(kind + ":"))

    async def snapshot(self, topic: str) -> tuple[int, str] | None:
        return self._snapshots.get(topic)

    async def keep_snapshot(self, topic: str, seq: int, words: str) -> None:
        self._snapshots[topic] = seq, words

    async def held(self, holder: str) -> list[Message]:
        held = sorted(seq for seq in self._leased if self._deliveries[seq].holder == holder)
        return [self._messages[self._deliveries[seq].message] for seq in held]

    async def deliveries(self, message: int) -> list[Delivery]:
        return [self._deliveries[seq] for seq in self._deliveries_of.get(message, ())]

    async def delivery(self, seq: int) -> Delivery | None:
        return self._deliveries.get(seq)

    async def story(self, message: int) -> list[Event]:
        return [self._events[seq] for seq in self._events_of.get(message, ())]

    async def events(self, query: Query, limit: int) -> list[tuple[Event, Message | None]]:
        events = reversed(self._events.values()) if query.newest_first else self._events.values()
        told = ((event, self._messages.get(event.message or 0)) for event in events)
        return list(
            islice(((event, message) for event, message in told if matches_query(query, event, message)), limit)
        )

    # --- members and housekeeping -----------------------------------------------------------------------------------

    async def members(self) -> list[Member]:
        return list(self._members.values())

    async def upsert_member(self, member: Member, event: Event | None, *, back: bool = False) -> Member:
        known = self._members.get(member.name)
        if known is not None and known.stands_against(member, back=back):
            return known
        self._members[member.name] = member
        self._writes += 1
        await self.record([] if event is None else [event])
        return member

    async def seen(self, name: str, at: float) -> None:
        if name in self._members:
            self._members[name] = self._members[name]._replace(seen_at=at)

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
        for step in steps:
            done += step(limit - done)
        return done

    def _forget_ids(self, same_since: float, limit: int) -> int:
        old = [key for key, seq in self._ids.items() if self._messages[seq].at < same_since][:limit]
        for key in old:
            del self._ids[key]
        return len(old)

    def _tell_silence(self, now: float, silent_since: float, limit: int) -> int:
        threads: dict[str, list[Message]] = defaultdict(list)
        for message in self._messages.values():
            if message.correlation:
                threads[message.correlation].append(message)
        silent = [
            (correlation, thread)
            for correlation, thread in threads.items()
            if thread[-1].at < silent_since and self._told_silent.get(correlation) != thread[-1].seq
        ]
        for correlation, thread in silent[:limit]:
            deliveries = [self._deliveries[seq] for message in thread for seq in self._deliveries_of[message.seq]]
            waiting = sum(delivery.state in OPEN for delivery in deliveries)
            detail = json.dumps({"correlation": correlation, "messages": len(thread), "open": waiting})
            self._tell(now, "conversation-idle", message=thread[-1].seq, detail=detail)
            self._told_silent[correlation] = thread[-1].seq
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

    def others(self) -> int:
        return 0  # nobody else can write here

    async def latest_at(self) -> float:
        return self._latest_at

    async def close(self) -> None:
        pass


def _turn(delivery: Delivery) -> tuple[int, int, int]:
    """Its place in the order of offering: by priority, and first in, first out."""
    return delivery.rank, delivery.message, delivery.seq
