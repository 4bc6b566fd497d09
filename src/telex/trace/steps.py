"""Steps of a conversation and their labels, computed once for all diagrams.

Steps are in the order in which the store wrote them, which does not depend on clocks.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Literal

from telex.dialects.schema import PRIORITIES
from telex.model.message import BRINGING, WAKING, Event, detail_of, rendered_as
from telex.model.named_tuple import NamedTuple
from telex.model.roster import EVERYONE, ONE_OF_ROLE, TELEX
from telex.ports.bus import MessageHistory
from telex.trace.text import REASON_MAX, TYPE_MAX, brief, lasting, moment, name_of, offset
from telex.validation.authorization import normalised

Tone = Literal["good", "wait", "bad", "plain"]
TONES: dict[str, Tone] = {
    "acked": "good",
    **dict.fromkeys(("nacked", "lease-expired", "reply-overdue", "request-repeated"), "wait"),
    **dict.fromkeys(("refused", "dead", "expired", "dropped", "withdrawn", "returned-to-sender"), "bad"),
}
SIGNS: dict[Tone, str] = {"good": "✓", "wait": "↻", "bad": "✗", "plain": "·"}
_LEASE_ENDS = frozenset(
    {"acked", "nacked", "lease-expired", "dead", "expired", "withdrawn", "returned-to-sender", "dropped"}
)
_HIDDEN = frozenset({"answered", *WAKING})  # the answer has its own arrow; wakes are not part of the conversation
_HEADLINES = {
    "duplicate": "sent again, ignored",
    "extended": "asked for more time",
    "reply-overdue": "no answer yet",
    "expired": "no answer came",
    "retried": "given another round",
    "conversation-idle": "conversation idle",
}
_SUFFIXES = {"request-repeated": " (repeated)", "imported": " (imported)"}


class DeliveryOutcome(NamedTuple):
    """Outcome of one delivery. Times are seconds since the message was sent."""

    inbox: str
    holder: str | None
    state: str
    attempts: int
    leased_after: float | None  # first lease
    acked_after: float | None


class TraceMessage(NamedTuple):
    number: int  # in the conversation, from 1
    at: float
    sender: str
    to: str  # as addressed
    type: str
    rank: int
    state: str
    parent: int | None  # number of the message it refers to
    climbs: bool  # the bus takes an escalation to the next level: that is no answer
    refused: bool
    reason: str  # of the refusal
    outcomes: tuple[DeliveryOutcome, ...]

    @property
    def is_answer(self) -> bool:
        return self.parent is not None and not self.climbs

    @property
    def priority(self) -> str:
        return PRIORITIES[min(max(self.rank, 0), len(PRIORITIES) - 1)]


class TraceStep(NamedTuple):
    """One event: an arrow if it has recipients, otherwise a mark on the agent's lane."""

    seq: int
    at: float
    kind: str  # of the event
    message: TraceMessage
    lane: str  # the agent that sent, leased or settled it
    to: tuple[str, ...] = ()
    delivery: int | None = None
    reason: str = ""
    held: float | None = None  # seconds, at the end of a lease
    attempt: int = 0  # number of leases of the delivery so far

    @property
    def is_first_lease(self) -> bool:
        """Diagrams show it by the state of the lane only."""
        return self.kind == "leased" and self.attempt < 2

    @property
    def tone(self) -> Tone:
        return TONES.get(self.kind, "plain")

    @property
    def label(self) -> str:
        """Label of an arrow: `#3 task_result`."""
        return f"#{self.message.number} {brief(self.message.type, TYPE_MAX)}{_SUFFIXES.get(self.kind, '')}"

    @property
    def refusal(self) -> str:
        return f"{self.label} to {name_of(self.message.to)} refused"

    @property
    def phrase(self) -> str:
        """Label of a mark: `#3 nacked: disk full`."""
        return f"#{self.message.number} {self.headline}{self.because(': ')}"

    @property
    def headline(self) -> str:
        """The event in words, without the reason."""
        if self.kind == "leased":
            return f"offered {self.attempt}×"
        if self.kind == "translated":
            return f"read as {brief(self.reason, REASON_MAX)}"
        if self.kind == "dead" and self.attempt:
            return f"dead after {self.attempt} attempt{'s' * (self.attempt != 1)}"
        headline = _HEADLINES.get(self.kind, brief(self.kind, TYPE_MAX))
        has_duration = self.kind in ("acked", "lease-expired") and self.held is not None
        return f"{headline} after {lasting(self.held or 0.0)}" if has_duration else headline

    def because(self, joint: str = "") -> str:
        return joint + brief(self.reason, REASON_MAX) if self.reason and self.kind != "translated" else ""


class LeaseSpan(NamedTuple):
    """A lease, from one step to another (None: still open)."""

    lane: str
    message: TraceMessage
    first: int
    last: int | None


class Conversation(NamedTuple):
    name: str
    began_at: float
    ended_at: float
    lanes: tuple[str, ...]  # in order of first appearance
    messages: tuple[TraceMessage, ...]
    steps: tuple[TraceStep, ...]

    @property
    def heading(self) -> list[str]:
        """Start, size and duration."""
        agents = f"{len(self.lanes)} agent{'s' * (len(self.lanes) != 1)}"
        messages = f"{len(self.messages)} message{'s' * (len(self.messages) != 1)}"
        return [moment(self.began_at), f"{messages}, {agents}, {lasting(self.ended_at - self.began_at)}"]

    def when(self, at: float) -> str:
        return offset(at - self.began_at)


def conversation(histories: Sequence[MessageHistory]) -> Conversation:
    messages = _messages(histories)
    steps = [step for pair in zip(messages, histories, strict=True) for step in _steps(*pair)]
    steps.sort(key=lambda step: (step.seq, step.at))
    times = [step.at for step in steps] or [0.0]
    name = next((history.message.correlation for history in histories if history.message.correlation), "")
    lanes = dict.fromkeys(lane for step in steps for lane in (step.lane, *step.to))
    return Conversation(name, min(times), max(times), tuple(lanes), messages=tuple(messages), steps=tuple(steps))


def lease_spans(steps: Sequence[TraceStep]) -> list[LeaseSpan]:
    begun: dict[int | None, int] = {}  # by delivery: the step that leased it
    spans = []
    for index, step in enumerate(steps):
        if step.kind == "leased" or step.kind in _LEASE_ENDS:
            first = begun.pop(step.delivery, None)
            if first is not None:
                spans.append(LeaseSpan(steps[first].lane, step.message, first, index))
        if step.kind == "leased":
            begun[step.delivery] = index
    spans += [LeaseSpan(steps[first].lane, steps[first].message, first, None) for first in begun.values()]
    return sorted(spans, key=lambda span: span.first)


def _messages(histories: Sequence[MessageHistory]) -> list[TraceMessage]:
    numbers: dict[str, int] = {}  # by id; only earlier messages, so that no message is its own ancestor
    messages: list[TraceMessage] = []
    for number, history in enumerate(histories, 1):
        message = history.message
        parent = numbers.get(message.reply_to) if message.reply_to is not None else None
        messages.append(
            TraceMessage(
                number=number,
                at=message.at,
                sender=normalised(message.sender),
                to=message.to,
                type=message.type or message.dialect or "unreadable",
                rank=message.rank,
                state=history.state,
                parent=parent,
                climbs=parent is not None and message.sender == TELEX and messages[parent - 1].type == message.type,
                refused=message.refused,
                reason=_reason(event for event in history.events if event.kind == "refused"),
                outcomes=tuple(_outcomes(history)),
            )
        )
        numbers[message.id] = number
    return messages


def _outcomes(history: MessageHistory) -> Iterator[DeliveryOutcome]:
    sent_at = history.message.at
    for delivery in history.deliveries:
        events = [event for event in history.events if event.delivery == delivery.seq]
        leased = [event.at - sent_at for event in events if event.kind == "leased"]
        acked = [event.at - sent_at for event in events if event.kind == "acked"]
        yield DeliveryOutcome(
            inbox=delivery.inbox,
            holder=delivery.holder,
            state=delivery.state,
            attempts=max(delivery.attempts, len(leased)),
            leased_after=leased[0] if leased else None,
            acked_after=acked[-1] if acked else None,
        )


def _steps(message: TraceMessage, history: MessageHistory) -> Iterator[TraceStep]:
    """The message itself, even if its events have been pruned, and its other events."""
    lanes = _lanes(history)
    yield _first_step(message, history, lanes)
    leased_at: dict[int, float] = {}
    attempts: dict[int | None, int] = {}
    for event in history.events:
        if event.kind in BRINGING or event.kind in _HIDDEN:
            continue
        delivery, held = event.delivery, None
        if event.kind == "leased" and delivery is not None:
            lanes[delivery] = normalised(event.agent or event.inbox or message.to)
            leased_at[delivery], attempts[delivery] = event.at, attempts.get(delivery, 0) + 1
        elif event.kind in _LEASE_ENDS and delivery in leased_at:
            held = event.at - leased_at.pop(delivery)
        lane, to = _place(event, message, lanes)
        step = TraceStep(event.seq, event.at, event.kind, message, lane, to=to, delivery=delivery)
        yield step._replace(reason=_reason([event]), held=held, attempt=attempts.get(delivery, 0))


def _first_step(message: TraceMessage, history: MessageHistory, lanes: dict[int, str]) -> TraceStep:
    event = next((event for event in history.events if event.kind in BRINGING), None)
    kind = event.kind if event else "refused" if message.refused else "accepted"
    repeated = {event.delivery for event in history.events if event.kind == "request-repeated"}
    to = tuple(dict.fromkeys(lane for delivery, lane in lanes.items() if delivery not in repeated))
    if not to and not message.refused and message.to not in ("", EVERYONE):
        to = (normalised(message.to),)  # an imported message has no deliveries
    reason = _reason([event] if event else [])
    return TraceStep(history.message.seq, message.at, kind, message, message.sender, to=to, reason=reason)


def _place(event: Event, message: TraceMessage, lanes: dict[int, str]) -> tuple[str, tuple[str, ...]]:
    """Lane and recipients of an event. An event without a delivery is on the sender's lane."""
    reader = lanes.get(event.delivery) if event.delivery is not None else None
    if reader is None and (event.inbox or event.kind == "read"):
        reader = normalised(event.inbox or event.agent or message.to)
    if event.kind == "request-repeated":
        return message.sender, (reader or normalised(message.to),)
    return reader or message.sender, ()


def _lanes(history: MessageHistory) -> dict[int, str]:
    """Lane of each delivery: one for a role is on the lane of the agent that leased it first."""
    takers = {event.delivery: event.agent for event in reversed(history.events) if event.kind == "leased"}
    lanes = {}
    for delivery in history.deliveries:
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
