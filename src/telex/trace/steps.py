"""What happened in a conversation, step by step? Read once, here, so that no two pictures tell different stories.

Texts in the values made here are as the messages had them: each picture shows them escaped for where it goes.
Steps stand in the order in which the store wrote them down, which no clock can upset.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from telex.model.event import BRINGING, Event, detail_of, rendered_as
from telex.model.roster import EVERYONE, ONE_OF_ROLE
from telex.ports.bus import MessageHistory
from telex.trace.text import lasting
from telex.validation.authorization import normalised

# What ends a lease.
SETTLING = frozenset(
    {"acked", "nacked", "lease-expired", "dead", "expired", "withdrawn", "returned-to-sender", "dropped"}
)
UNTOLD = frozenset({"answered"})  # the answer is an arrow of its own


class TraceStep(NamedTuple):
    """One thing that happened: an arrow if it reached somebody, otherwise a mark where it happened."""

    seq: int
    at: float
    kind: str  # of the event that tells it
    number: int  # of the message it is about, counted from 1
    lane: str  # who sent it, took it, gave it back
    to: tuple[str, ...] = ()
    delivery: int | None = None
    reason: str = ""
    held: float | None = None  # for what ends a lease: how long it was held
    attempt: int = 0  # for what concerns a delivery: how often it had been offered by then


class DeliveryOutcome(NamedTuple):
    """What became of one delivery. Times are seconds since the message was sent."""

    inbox: str
    holder: str | None
    state: str
    offered: int
    leased_after: float | None  # for the first time
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
    """A message in somebody's hands, from one step to another (None: it still is)."""

    lane: str
    number: int
    first: int
    last: int | None


class Conversation(NamedTuple):
    name: str
    began_at: float
    ended_at: float
    lanes: tuple[str, ...]  # in the order in which they came in
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
    """Everything that is drawn, from what the bus tells about a correlation."""
    messages = _told(stories)
    steps = sorted((step for number, story in enumerate(stories, 1) for step in _steps(number, story)), key=_order)
    times = [step.at for step in steps] or [0.0]
    name = next((story.message.correlation for story in stories if story.message.correlation), "")
    lanes = dict.fromkeys(lane for step in steps for lane in (step.lane, *step.to))
    return Conversation(name, min(times), max(times), tuple(lanes), tuple(messages), tuple(steps))


def holds(steps: Sequence[TraceStep]) -> list[LeaseSpan]:
    """Who had what in hand when: from each lease to what ended it."""
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


def _order(step: TraceStep) -> tuple[int, float]:
    return step.seq, step.at


def _told(stories: Sequence[MessageHistory]) -> list[TraceMessage]:
    numbers: dict[str, int] = {}  # by id; only what was said before can be answered, so no message is its own ancestor
    messages = []
    for number, (message, state, _, events, _) in enumerate(stories, 1):
        parent = numbers.get(message.reply_to) if message.reply_to is not None else None
        reason = _reason(event for event in events if event.kind == "refused")
        sender, type_ = normalised(message.sender), message.type or message.dialect or "unreadable"
        fates = tuple(_fates(stories[number - 1]))
        messages.append(
            TraceMessage(number, message.id, message.at, sender, message.to, type_, message.rank, state, parent,
                 message.refused, reason, fates)
        )  # fmt: skip
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
    """The message itself, even where its events have been pruned, and what happened to it."""
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
        attempt = attempts.get(of, 0) if of is not None else 0
        yield TraceStep(event.seq, event.at, event.kind, number, lane, to, of, _reason([event]), held, attempt)


def _brought(number: int, story: MessageHistory, lanes: dict[int, str]) -> TraceStep:
    message = story.message
    event = next((event for event in story.events if event.kind in BRINGING), None)
    kind = event.kind if event else "refused" if message.refused else "accepted"
    again = {event.delivery for event in story.events if event.kind == "request-repeated"}
    to = tuple(dict.fromkeys(lane for delivery, lane in lanes.items() if delivery not in again))
    if not to and not message.refused and message.to not in ("", EVERYONE):  # history is delivered to nobody
        to = (normalised(message.to),)
    reason = _reason([event] if event else [])
    return TraceStep(message.seq, message.at, kind, number, normalised(message.sender), to, reason=reason)


def _place(event: Event, story: MessageHistory, lanes: dict[int, str]) -> tuple[str, tuple[str, ...]]:
    """Where it happened, and whom it reached. What concerns no delivery concerns whoever waits: the sender."""
    sender = normalised(story.message.sender)
    reader = lanes.get(event.delivery) if event.delivery is not None else None
    if reader is None and (event.inbox or event.kind == "read"):
        reader = normalised(event.inbox or event.agent or story.message.to)
    if event.kind == "request-repeated":
        return sender, (reader or normalised(story.message.to),)
    return reader or sender, ()


def _lanes(story: MessageHistory) -> dict[int, str]:
    """On whose lane each delivery is drawn: one for a role belongs to whoever took it first."""
    takers = {event.delivery: event.agent for event in reversed(story.events) if event.kind == "leased"}
    lanes = {}
    for delivery in story.deliveries:
        taker = takers.get(delivery.seq) or delivery.holder
        lane = taker if taker and delivery.inbox.startswith(ONE_OF_ROLE) else delivery.inbox
        lanes[delivery.seq] = normalised(lane)
    return lanes


def _reason(events: Iterable[Event]) -> str:
    """Why, in the words of whoever said it; for a refusal, the code and the first thing to fix."""
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
