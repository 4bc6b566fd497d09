"""State at an earlier time: inboxes, team and work, folded from the events up to that moment."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from telex.dialects.schema import Dialect
from telex.model.message import (
    AT_ONCE,
    COMING_AND_GOING,
    MOVES,
    Delivery,
    Event,
    Message,
    State,
    detail_of,
    stored_inboxes,
)
from telex.model.roster import Member
from telex.replay.team import apply_member_event
from telex.work import reducer

UNTOLD = 0  # the number of a delivery to which nothing has happened yet: no event has named it
# What becomes of a delivery with an event of that kind.
BECOMES: dict[str, State] = {
    "leased": "leased",
    "extended": "leased",
    "acked": "acked",
    "returned": "stored",
    "nacked": "stored",
    "lease-expired": "stored",
    "dead": "dead",
    "expired": "expired",
    "retried": "stored",
    "dropped": "withdrawn",
    "withdrawn": "withdrawn",
    "returned-to-sender": "withdrawn",
}
Place = tuple[int, str]  # message and inbox


class TimeTravelState:
    """Everything as it was after the events that were written into it."""

    def __init__(self, dialects: Mapping[str, Dialect]) -> None:
        self.members: dict[str, Member] = {}
        self.book: dict[str, Any] = {}
        self.events, self.at = 0, 0.0
        self._dialects = dialects
        self._untold: dict[Place, Delivery] = {}
        self._told: dict[int, Delivery] = {}
        self._messages: dict[int, Message] = {}  # those that still lie somewhere

    def write(self, event: Event, message: Message | None) -> None:
        self.events, self.at = self.events + 1, event.at
        if event.kind in COMING_AND_GOING:
            apply_member_event(self.members, event)
        elif message is None:
            return
        elif event.kind == "accepted":
            for inbox in stored_inboxes(event, message):
                self._untold[message.seq, inbox] = _new(UNTOLD, message, inbox)
                self._messages[message.seq] = message
            reducer.write(self.book, event, message, self._dialects)
        elif event.delivery is not None and event.inbox is not None:
            self._deliver(event, event.delivery, event.inbox, message)

    def _deliver(self, event: Event, number: int, inbox: str, message: Message) -> None:
        if event.kind == "request-repeated":
            self._told[number] = _new(number, message, inbox)
            self._messages[message.seq] = message
        if event.kind not in BECOMES:
            return
        before = self._told.pop(number, None) or self._untold.pop((message.seq, inbox), None)
        # Where a record does not tell to whom something went, it tells it when somebody does something with it.
        now = after(before or _new(number, message, inbox), event)._replace(seq=number)
        if MOVES[now.state]:
            self._told[number] = now
            self._messages[message.seq] = message

    def deliveries(self) -> Iterator[tuple[Delivery, Message]]:
        """What was not over, in the order in which it would be offered."""
        deliveries = sorted(
            (*self._told.values(), *self._untold.values()),
            key=lambda delivery: (delivery.rank, delivery.message, delivery.seq),
        )
        yield from ((delivery, self._messages[delivery.message]) for delivery in deliveries)

    def of_kind(self, kind: str) -> list[Any]:
        """The matters of the work of that kind."""
        return [state for topic, state in self.book.items() if reducer.kind_of(topic) == kind]


def as_it_was(
    events: Iterable[tuple[Event, Message | None]], dialects: Mapping[str, Dialect], members: Iterable[Member] = ()
) -> TimeTravelState:
    """`known`: the members as they are now. Of those who came so long ago that no event tells of it, their own dates
    do."""
    moment = TimeTravelState(dialects)
    for event, message in events:
        moment.write(event, message)
    for member in members:
        if member.name not in moment.members and member.joined_at is not None and member.joined_at <= moment.at:
            moment.members[member.name] = _at(member, moment.at)
    return moment


def _at(member: Member, at: float) -> Member:
    """The member without what has happened to it since."""
    left, stopped = member.left_at, member.stopped_at
    return member._replace(
        left_at=left if left is not None and left <= at else None,
        stopped_at=stopped if stopped is not None and stopped <= at else None,
    )


def after(delivery: Delivery, event: Event) -> Delivery:
    """The delivery after that event."""
    detail = detail_of(event) if event.kind in ("leased", "extended", "nacked", "lease-expired") else {}
    changes: dict[str, Any] = {"state": BECOMES[event.kind], "due_at": AT_ONCE}
    if changes["state"] == "stored" and event.kind != "lease-expired":
        changes["holder"] = None
    if event.kind == "leased":
        attempts = detail.get("attempt", delivery.attempts + 1)
        changes |= {"attempts": attempts, "fence": delivery.fence + 1, "holder": event.agent}
    if event.kind in ("leased", "extended"):
        changes["due_at"] = detail.get("until", AT_ONCE)
    elif event.kind in ("nacked", "lease-expired"):
        changes["due_at"] = detail.get("next", AT_ONCE)
    elif event.kind == "returned":
        changes["attempts"] = max(delivery.attempts - 1, 0)
    elif event.kind == "retried":
        changes["attempts"] = 0
    return delivery._replace(**changes)


def _new(number: int, message: Message, inbox: str) -> Delivery:
    return Delivery(number, message.seq, inbox=inbox, rank=message.rank, state="stored", due_at=AT_ONCE)
