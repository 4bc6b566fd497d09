"""Where does the memory store put things, so that what is looked up in two ways is the same thing?

Every write goes through one of these, and only here are the dicts changed that must agree with each other.
"""

from collections import defaultdict
from collections.abc import Iterable

from telex.model.delivery import AT_ONCE, MOVES, OPEN, Delivery
from telex.model.event import BRINGING, COMING_AND_GOING, ELSEWHERE, Event
from telex.model.message import Message, NewMessage, WorkChange
from telex.model.roster import Member
from telex.ports.store import Changes, PendingRequest


class MemoryTables:
    def __init__(self) -> None:
        self._messages: dict[int, Message] = {}
        self._deliveries: dict[int, Delivery] = {}
        self._events: dict[int, Event] = {}
        self._asks: dict[int, PendingRequest] = {}  # by message, oldest first
        self._members: dict[str, Member] = {}
        self._topics: dict[str, list[int]] = defaultdict(list)  # by topic: the messages that belong to it
        self._snapshots: dict[str, tuple[int, str]] = {}
        self._told_silent: dict[str, int] = {}  # by correlation: the message after which its silence was told
        # What follows could be found by looking through the above, and is here so that it is found at once.
        self._ids: dict[tuple[str, str], int] = {}  # by sender and id: the newest message that was not refused
        self._open: dict[str, set[int]] = defaultdict(set)  # by inbox: deliveries that are stored or leased
        self._leased: set[int] = set()
        self._deliveries_of: dict[int, list[int]] = defaultdict(list)  # by message
        self._events_of: dict[int, list[int]] = defaultdict(list)  # by message
        self._asked: dict[tuple[str, str | None], dict[int, None]] = defaultdict(dict)  # those, by id or conversation
        self._last_event = self._last_delivery = self._writes = 0
        self._latest_at = 0.0

    def _keep(self, new_message: NewMessage) -> int:
        seq = self._tell(
            new_message.at,
            new_message.kind,
            agent=new_message.sender,
            message=self._last_event + 1,
            detail=new_message.detail,
        )
        refused = new_message.kind == "refused"
        self._messages[seq] = Message(
            seq,
            new_message.id,
            new_message.at,
            new_message.sender,
            new_message.role,
            new_message.to,
            new_message.dialect,
            new_message.type,
            new_message.rank,
            new_message.correlation,
            new_message.reply_to,
            new_message.digest,
            new_message.raw,
            refused,
        )
        if new_message.kind == "accepted":
            self._ids[new_message.sender, new_message.id] = seq
        for inbox in new_message.inboxes:
            self._deliver(seq, inbox)
        if new_message.answer_by is not None:
            self._wait_for_answer(PendingRequest(seq, new_message.answer_by, 0))
        if new_message.work_change is not None:
            self._take_part(new_message.work_change, seq)
        return seq

    def _take_part(self, work_change: WorkChange, seq: int) -> None:
        for topic in work_change.topics:
            self._topics[topic].append(seq)
        for member, event in work_change.members:
            self._members[member.name] = member
            self._last_event += 1
            self._write(event._replace(seq=self._last_event))
        for report in work_change.reports:
            self._keep(report)

    def _wait_for_answer(self, pending_request: PendingRequest) -> None:
        self._asks[pending_request.message] = pending_request
        for key in _names(self._messages[pending_request.message]):
            self._asked[key][pending_request.message] = None

    def _wait_no_longer(self, message: int) -> bool:
        """For an answer to this message. Was it waited for?"""
        if self._asks.pop(message, None) is None:
            return False
        for key in _names(self._messages[message]):
            del self._asked[key][message]
            if not self._asked[key]:
                del self._asked[key]
        return True

    def _has_stopped(self, name: str) -> bool:
        member = self._members.get(name)
        return member is not None and member.stopped_at is not None

    def _deliver(self, message: int, inbox: str) -> Delivery:
        self._last_delivery += 1
        self._deliveries_of[message].append(self._last_delivery)
        return self._put(Delivery(self._last_delivery, message, inbox, self._messages[message].rank, "stored", AT_ONCE))

    def _put(self, delivery: Delivery) -> Delivery:
        """Write down a delivery as it now is."""
        before = self._deliveries.get(delivery.seq)
        assert before is None or delivery.state in MOVES[before.state], f"{before} may not become {delivery.state}"
        self._deliveries[delivery.seq] = delivery
        _keep_in(self._open[delivery.inbox], delivery.seq, delivery.state in OPEN)
        _keep_in(self._leased, delivery.seq, delivery.state == "leased")
        self._writes += 1
        return delivery

    def _tell(
        self,
        at: float,
        kind: str,
        *,
        agent: str | None = None,
        message: int | None = None,
        of: Delivery | None = None,
        detail: str | None = None,
    ) -> int:
        """Write an event. Its number."""
        self._last_event += 1
        if of is None:
            event = Event(self._last_event, at, kind, agent, message, detail=detail)
        else:
            event = Event(self._last_event, at, kind, agent, of.message, of.seq, of.inbox, detail)
        self._write(event)
        return self._last_event

    def _write(self, event: Event) -> None:
        self._events[event.seq] = event
        if event.message is not None:
            self._events_of[event.message].append(event.seq)
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
        """Take a message off every shelf, with all that belongs to it."""
        message = self._messages.pop(seq)
        if self._ids.get((message.sender, message.id)) == seq:
            del self._ids[message.sender, message.id]
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


def _names(message: Message) -> tuple[tuple[str, str | None], ...]:
    """What a request is found by while it waits."""
    return ("id", message.id), ("correlation", message.correlation)


def _keep_in(numbers: set[int], number: int, belongs: bool) -> None:
    if belongs:
        numbers.add(number)
    else:
        numbers.discard(number)
