"""Tables of the memory store, and the writes that keep them consistent with each other.

Every write goes through a method here. While a decision runs, each write also leaves its inverse in a journal, so that
a decision that raises can be undone.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable
from typing import Any

from telex.model.message import (
    AT_ONCE,
    BRINGING,
    COMING_AND_GOING,
    ELSEWHERE,
    MOVES,
    OPEN,
    Delivery,
    Event,
    Message,
    NewMessage,
    WorkChange,
)
from telex.model.roster import Member
from telex.ports.store import ROSTER, Changes, PendingRequest

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
