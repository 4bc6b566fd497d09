"""Reads and write transaction of the memory store."""

from bisect import bisect_right
from collections.abc import Sequence

from telex.model.message import COMING_AND_GOING, Delivery, Event, Message, NewMessage
from telex.model.roster import Member
from telex.ports.store import EarlierMessage, PendingRequest
from telex.stores.memory_tables import MemoryTables


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
