"""Steps of a conversation, computed once for all output formats.

Texts are as the messages have them: each format escapes them itself. Steps are in the order in which the store wrote
them, which does not depend on clocks.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from telex.model.message import BRINGING, Event, detail_of, rendered_as
from telex.model.roster import EVERYONE, ONE_OF_ROLE
from telex.ports.bus import MessageHistory
from telex.trace.text import lasting
from telex.validation.authorization import normalised

# Events that end a lease.
SETTLING = frozenset(
    {"acked", "nacked", "lease-expired", "dead", "expired", "withdrawn", "returned-to-sender", "dropped"}
)
UNTOLD = frozenset({"answered"})  # the answer is an arrow of its own


class TraceStep(NamedTuple):
    """One event: an arrow if it has recipients, otherwise a mark on the agent's lane."""

    seq: int
    at: float
    kind: str  # of the event
    number: int  # of the message it is about, counted from 1
    lane: str  # the agent that sent, leased or settled it
    to: tuple[str, ...] = ()
    delivery: int | None = None
    reason: str = ""
    held: float | None = None  # for the end of a lease: its duration
    attempt: int = 0  # for a delivery: number of leases so far


class DeliveryOutcome(NamedTuple):
    """Outcome of one delivery. Times are seconds since the message was sent."""

    inbox: str
    holder: str | None
    state: str
    offered: int
    leased_after: float | None  # first lease
    acked_after: float | None


class TraceMessage(NamedTuple):
    """One message of the conversation."""

    number: int
    id: str
    at: float
    sender: str
    to: str  # as addressed
    type: str
    rank: int
    state: str
    parent: int | None  # the number of the message it answers
    refused: bool
    reason: str  # why it was refused
    fates: tuple[DeliveryOutcome, ...]


class LeaseSpan(NamedTuple):
    """A lease, from one step to another (None: still open)."""

    lane: str
    number: int
    first: int
    last: int | None


class Conversation(NamedTuple):
    name: str
    began_at: float
    ended_at: float
    lanes: tuple[str, ...]  # in order of first appearance
    messages: tuple[TraceMessage, ...]
    steps: tuple[TraceStep, ...]

    def about(self, step: TraceStep) -> TraceMessage:
        return self.messages[step.number - 1]

    @property
    def heading(self) -> str:
        agents = f"{len(self.lanes)} agent{'s' * (len(self.lanes) != 1)}"
        messages = f"{len(self.messages)} message{'s' * (len(self.messages) != 1)}"
        return f"{messages}, {agents}, {lasting(self.ended_at - self.began_at)}"


def conversation(stories: Sequence[MessageHistory]) -> Conversation:
    """The conversation with a correlation id, from the histories of its messages."""
    messages = _messages(stories)
    steps = [step for number, story in enumerate(stories, 1) for step in _steps(number, story)]
    steps.sort(key=lambda step: (step.seq, step.at))
    times = [step.at for step in steps] or [0.0]
    began_at, ended_at = min(times), max(times)
    name = next((story.message.correlation for story in stories if story.message.correlation), "")
    lanes = dict.fromkeys(lane for step in steps for lane in (step.lane, *step.to))
    return Conversation(name, began_at, ended_at, tuple(lanes), messages=tuple(messages), steps=tuple(steps))


def holds(steps: Sequence[TraceStep]) -> list[LeaseSpan]:
    """Leases, each from its start to its end."""
    begun: dict[int | None, int] = {}  # delivery: the step that leased it
    lease_spans = []
    for index, step in enumerate(steps):
        if step.kind == "leased" or step.kind in SETTLING:
            first = begun.pop(step.delivery, None)
            if first is not None:
                lease_spans.append(LeaseSpan(steps[first].lane, step.number, first, index))
        if step.kind == "leased":
            begun[step.delivery] = index
    lease_spans += [LeaseSpan(steps[first].lane, steps[first].number, first, None) for first in begun.values()]
    return sorted(lease_spans, key=lambda hold: hold.first)


def _messages(stories: Sequence[MessageHistory]) -> list[TraceMessage]:
    numbers: dict[str, int] = {}  # by id; only earlier messages, so that no message is its own ancestor
    messages = []
    for number, history in enumerate(stories, 1):
        message = history.message
        messages.append(
            TraceMessage(
                number=number,
                id=message.id,
                at=message.at,
                sender=normalised(message.sender),
                to=message.to,
                type=message.type or message.dialect or "unreadable",
                rank=message.rank,
                state=history.state,
                parent=numbers.get(message.reply_to) if message.reply_to is not None else None,
                refused=message.refused,
                reason=_reason(event for event in history.events if event.kind == "refused"),
                fates=tuple(_fates(history)),
            )
        )
        numbers[message.id] = number
    return messages


def _fates(story: MessageHistory) -> Iterator[DeliveryOutcome]:
    sent_at = story.message.at
    for delivery in story.deliveries:
        events = [event for event in story.events if event.delivery == delivery.seq]
        leased = [event for event in events if event.kind == "leased"]
        acked = [event for event in events if event.kind == "acked"]
        yield DeliveryOutcome(
            inbox=delivery.inbox,
            holder=delivery.holder,
            state=delivery.state,
            offered=max(delivery.attempts, len(leased)),
            leased_after=leased[0].at - sent_at if leased else None,
            acked_after=acked[-1].at - sent_at if acked else None,
        )


def _steps(number: int, story: MessageHistory) -> Iterator[TraceStep]:
    """The message itself, even where its events have been pruned, and its other events."""
    lanes = _lanes(story)
    yield _brought(number, story, lanes)
    leased_at: dict[int, float] = {}
    attempts: dict[int, int] = {}
    for event in story.events:
        if event.kind in BRINGING or event.kind in UNTOLD:
            continue
        of, held = event.delivery, None
        if event.kind == "leased" and of is not None:
            lanes[of] = normalised(event.agent or event.inbox or story.message.to)
            leased_at[of], attempts[of] = event.at, attempts.get(of, 0) + 1
        elif event.kind in SETTLING and of in leased_at:
            held = event.at - leased_at.pop(of)
        lane, to = _place(event, story, lanes)
        step = TraceStep(event.seq, event.at, event.kind, number, lane, to=to, delivery=of, reason=_reason([event]))
        yield step._replace(held=held, attempt=attempts.get(of, 0) if of is not None else 0)


def _brought(number: int, story: MessageHistory, lanes: dict[int, str]) -> TraceStep:
    message = story.message
    event = next((event for event in story.events if event.kind in BRINGING), None)
    kind = event.kind if event else "refused" if message.refused else "accepted"
    again = {event.delivery for event in story.events if event.kind == "request-repeated"}
    to = tuple(dict.fromkeys(lane for delivery, lane in lanes.items() if delivery not in again))
    if not to and not message.refused and message.to not in ("", EVERYONE):  # history has no recipient
        to = (normalised(message.to),)
    reason = _reason([event] if event else [])
    return TraceStep(message.seq, message.at, kind, number, normalised(message.sender), to=to, reason=reason)


def _place(event: Event, story: MessageHistory, lanes: dict[int, str]) -> tuple[str, tuple[str, ...]]:
    """Lane and recipients of an event. An event without a delivery is on the sender's lane."""
    sender = normalised(story.message.sender)
    reader = lanes.get(event.delivery) if event.delivery is not None else None
    if reader is None and (event.inbox or event.kind == "read"):
        reader = normalised(event.inbox or event.agent or story.message.to)
    if event.kind == "request-repeated":
        return sender, (reader or normalised(story.message.to),)
    return reader or sender, ()


def _lanes(story: MessageHistory) -> dict[int, str]:
    """Lane of each delivery: one for a role is on the lane of the agent that leased it first."""
    takers = {event.delivery: event.agent for event in reversed(story.events) if event.kind == "leased"}
    lanes = {}
    for delivery in story.deliveries:
        taker = takers.get(delivery.seq) or delivery.holder
        lane = taker if taker and delivery.inbox.startswith(ONE_OF_ROLE) else delivery.inbox
        lanes[delivery.seq] = normalised(lane)
    return lanes


def _reason(events: Iterable[Event]) -> str:
    """Reason as given; for a refusal, the code and text of its first finding."""
    for event in events:
        detail = detail_of(event)
        if event.kind == "translated":
            return rendered_as(detail)
        if isinstance(detail.get("reason"), str):
            return str(detail["reason"])
        findings = detail.get("findings")
        if isinstance(findings, list) and findings and isinstance(findings[0], dict):
            more = f" (and {len(findings) - 1} more)" if len(findings) > 1 else ""
            return f"{findings[0].get('code', '')}: {findings[0].get('say', '')}{more}"
    return ""
