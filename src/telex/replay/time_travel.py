"""Snapshot of an earlier time: inboxes, team and work, folded from the events up to that time."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from telex.dialects.schema import Dialect
from telex.model.message import (
    AT_ONCE,
    COMING_AND_GOING,
    MOVES,
    Delivery,
    Event,
    State,
    StoredMessage,
    detail_of,
    stored_inboxes,
)
from telex.model.roster import Member
from telex.work import reducer

UNNUMBERED = 0  # number of a delivery without an event of its own: no event has named it
# State of a delivery after an event of that kind.
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


def apply_member_event(members: dict[str, Member], event: Event) -> None:
    """Apply an event of a log to the members: one has joined, left or stopped."""
    name, at = event.agent, event.at
    if name is None or event.kind not in COMING_AND_GOING:
        return
    member = members.get(name)
    if event.kind == "joined":
        detail = detail_of(event)
        role, reads = detail.get("role"), detail.get("reads")
        is_here = member is not None and member.is_here and member.joined_at is not None
        members[name] = Member(
            name=name,
            role=role if isinstance(role, str) else member.role if member is not None else "",
            dialects=tuple(dialect for dialect in reads if isinstance(dialect, str)) if isinstance(reads, list) else (),
            declared=member.declared if member is not None else False,
            joined_at=member.joined_at if member is not None and is_here else at,
        )
    elif member is not None:
        left = at if event.kind in ("left", "forced") else member.left_at
        stopped = at if event.kind in ("stopped", "forced") else member.stopped_at
        members[name] = member._replace(left_at=left, stopped_at=stopped)


class TimeTravelState:
    """Members, deliveries and work after the events that were applied."""

    def __init__(self, dialects: Mapping[str, Dialect]) -> None:
        self.members: dict[str, Member] = {}
        self.topics: dict[str, Any] = {}
        self.events, self.at = 0, 0.0
        self._dialects = dialects
        self._new: dict[Place, Delivery] = {}
        self._numbered: dict[int, Delivery] = {}
        self._messages: dict[int, StoredMessage] = {}  # those with a delivery that is not final

    def write(self, event: Event, message: StoredMessage | None) -> None:
        self.events, self.at = self.events + 1, event.at
        if event.kind in COMING_AND_GOING:
            apply_member_event(self.members, event)
        elif message is None:
            return
        elif event.kind == "accepted":
            for inbox in stored_inboxes(event, message):
                self._new[message.seq, inbox] = _stored(UNNUMBERED, message, inbox)
                self._messages[message.seq] = message
            reducer.write(self.topics, event, message, self._dialects)
        elif event.delivery is not None and event.inbox is not None:
            self._deliver(event, event.delivery, event.inbox, message)

    def _deliver(self, event: Event, number: int, inbox: str, message: StoredMessage) -> None:
        if event.kind == "request-repeated":
            self._numbered[number] = _stored(number, message, inbox)
            self._messages[message.seq] = message
        if event.kind not in BECOMES:
            return
        before = self._numbered.pop(number, None) or self._new.pop((message.seq, inbox), None)
        # If the record lacks the inboxes of a message, its deliveries are known from their first event.
        delivery = after(before or _stored(number, message, inbox), event)._replace(seq=number)
        if MOVES[delivery.state]:
            self._numbered[number] = delivery
            self._messages[message.seq] = message

    def deliveries(self) -> Iterator[tuple[Delivery, StoredMessage]]:
        """Deliveries that are not final, in the order in which they would be leased."""
        deliveries = [*self._numbered.values(), *self._new.values()]
        deliveries.sort(key=lambda delivery: (delivery.rank, delivery.message, delivery.seq))
        yield from ((delivery, self._messages[delivery.message]) for delivery in deliveries)

    def of_kind(self, kind: str) -> list[Any]:
        """Work states of that kind."""
        return [state for topic, state in self.topics.items() if reducer.kind_of(topic) == kind]


def as_it_was(
    events: Iterable[tuple[Event, StoredMessage | None]],
    dialects: Mapping[str, Dialect],
    members: Iterable[Member] = (),
) -> TimeTravelState:
    """The state after these events. `members` are those of now: for a member without an event its own dates count."""
    moment = TimeTravelState(dialects)
    for event, message in events:
        moment.write(event, message)
    for member in members:
        if member.name not in moment.members and member.joined_at is not None and member.joined_at <= moment.at:
            moment.members[member.name] = _at(member, moment.at)
    return moment


def _at(member: Member, at: float) -> Member:
    """The member without later changes."""
    left, stopped = member.left_at, member.stopped_at
    return member._replace(
        left_at=left if left is not None and left <= at else None,
        stopped_at=stopped if stopped is not None and stopped <= at else None,
    )


def after(delivery: Delivery, event: Event) -> Delivery:
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


def _stored(number: int, message: StoredMessage, inbox: str) -> Delivery:
    return Delivery(number, message.seq, inbox=inbox, rank=message.rank, state="stored", due_at=AT_ONCE)
