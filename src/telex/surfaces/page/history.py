"""History of a team: its messages, who had them in hand when, and who waited for an answer, folded from the log.

One fold serves the live page, which goes on from event to event, and any moment of the past: every question takes the
moment at which it is answered. Times are seconds since 1970.
"""

from bisect import bisect_left, bisect_right
from collections import deque
from collections.abc import Callable, Container, Iterable, Iterator
from itertools import islice, takewhile
from typing import Literal

from telex.dialects.schema import Dialect, MessageType
from telex.model.message import BRINGING, WAKING, Event, StoredMessage, detail_of, stored_inboxes
from telex.model.named_tuple import NamedTuple
from telex.surfaces.page.gist import read_text
from telex.work.view import fields_of, parse_tree

PageState = Literal["sent", "in-hand", "waiting", "done", "retrying", "dead", "refused", "withdrawn"]
Why = Literal["reply", "approval", "escalation"]
MESSAGES_MAX = 100_000  # then the oldest are forgotten: a moment before them is folded anew
FORGET = 1_000  # at once
TEXTS_MAX = 32_000_000  # characters of all texts; then a search finds the oldest messages by their gist only
CODES_MAX = 5  # codes for which a message was refused
FILES_MAX = 20  # of one report of progress
WAKES_MAX = 50  # latest events of one agent's wakes
KINDS: dict[str, str] = {  # by action of the type: what a person calls such a message
    "contract": "task",
    "assign": "task",
    "dispatch": "task",
    "close": "end of task",
    "progress": "update",
    "status": "update",
    "move": "update",
    "ask": "approval request",
    "answer": "approval answer",
    "escalate": "escalation",
    "stop": "shutdown",
    "stopped": "shutdown answer",
    "signal": "report",
    "commit": "commit request",
    "unread": "error",
    "quality": "verdict",
    "survey": "findings",
}
_ENDS: dict[str, PageState] = {  # events that end an attempt, and the state of the attempt then
    "acked": "done",
    "nacked": "retrying",
    "lease-expired": "retrying",
    "returned": "retrying",
    "dead": "dead",
    "expired": "dead",
    "dropped": "withdrawn",
    "withdrawn": "withdrawn",
    "returned-to-sender": "withdrawn",
}
_LEAVING = ("stopped", "forced", "left", "dissolved")
_FINAL = frozenset(("acked", "dead", "expired", "dropped", "withdrawn", "returned-to-sender"))
NO_END = float("inf")


class ProgressReport(NamedTuple):
    """Figures of a report of work, besides its text."""

    tokens: int | None  # None: not reported
    files: tuple[str, ...]


class Attempt:
    """One lease of a message: a bar of the timeline."""

    __slots__ = ("agent", "done", "number", "state", "taken")

    def __init__(self, agent: str, taken: float, number: int) -> None:
        self.agent, self.taken, self.number = agent, taken, number
        self.done = NO_END
        self.state: PageState = "in-hand"


class PageDelivery:
    """A message in one inbox."""

    __slots__ = ("attempts", "dead", "ended", "event", "inbox", "number", "reason", "sent", "state")

    def __init__(self, inbox: str, sent: float, number: int | None = None) -> None:
        self.inbox, self.sent, self.number = inbox, sent, number  # the number is unknown until its first event
        self.attempts: list[Attempt] = []
        self.ended = NO_END
        self.state: PageState = "sent"
        self.dead: list[tuple[float, float]] = []  # from when to when it was dead, before it was retried or dropped
        self.event, self.reason = 0, ""  # of its last death

    def end(self, at: float, state: PageState) -> None:
        if self.ended < at:  # a dead letter that was retried or dropped
            self.dead.append((self.ended, at))
        self.ended, self.state = at, state

    @property
    def agent(self) -> str:
        """Who has it or had it last; before that, the inbox."""
        return self.attempts[-1].agent if self.attempts else self.inbox

    def state_at(self, at: float) -> PageState:
        if self.ended <= at:
            return self.state
        if any(since <= at < until for since, until in self.dead):
            return "dead"
        begun = [attempt for attempt in self.attempts if attempt.taken <= at]
        if not begun:
            return "sent"
        return "in-hand" if begun[-1].done > at else "retrying"


class PageMessage:
    __slots__ = (
        *("action", "answered", "answered_by", "asks", "at", "codes", "conversation", "deliveries", "dialect", "gist"),
        *("id", "kind", "refused", "reply_to", "report", "role", "sender", "seq", "text", "text_cut", "to", "type"),
    )

    def __init__(self, message: StoredMessage, type_: MessageType | None, *, refused: bool) -> None:
        self.seq, self.id, self.at = message.seq, message.id, message.at
        self.sender, self.role, self.to = message.sender, message.role, message.to
        self.dialect, self.type = message.dialect, message.type
        self.conversation, self.reply_to = message.correlation, message.reply_to
        self.kind, self.action = kind_of(message, type_), type_.action if type_ is not None else None
        self.gist, self.text, self.text_cut = read_text(message.raw)
        self.refused = refused
        self.codes: tuple[str, ...] = ()
        self.report: ProgressReport | None = None
        self.deliveries: list[PageDelivery] = []
        self.asks: Why | None = None if refused or type_ is None else asks(type_)
        self.answered, self.answered_by = (
            NO_END,
            0,
        )  # when, and by which message; without an answer: when it was given up

    def state_at(self, at: float) -> PageState:
        if self.refused:
            return "refused"
        states = {delivery.state_at(at) for delivery in self.deliveries if delivery.sent <= at}
        for state in ("in-hand", "retrying", "sent", "dead"):
            if state in states:
                return state
        if self.asks and at < self.answered:
            return "waiting"
        return "withdrawn" if states == {"withdrawn"} else "done"

    def waits_at(self, at: float) -> bool:
        return self.asks is not None and self.at <= at < self.answered


class AnswerWait(NamedTuple):
    """An agent that waits for the answer to its message."""

    message: PageMessage
    whom: tuple[str, ...]
    why: Why
    since: float
    until: float  # NO_END: it still waits


class Lane:
    """What one agent did: its messages, and the ones it had in hand, each by time."""

    __slots__ = ("asked", "bars", "changed_at", "held", "inbox", "longest", "sent", "unsettled", "wakes")

    def __init__(self) -> None:
        self.sent: list[PageMessage] = []
        self.asked: list[PageMessage] = []  # of those, the ones that ask for an answer
        self.bars: list[tuple[float, PageMessage, Attempt]] = []
        self.inbox: list[tuple[PageDelivery, PageMessage]] = []  # also after they were settled
        self.wakes: deque[Event] = deque(maxlen=WAKES_MAX)
        self.longest = 0.0  # seconds of the longest attempt that has ended
        # As of the last change of a delivery, so that a look at the present does not go through all of them:
        self.changed_at = 0.0
        self.held: dict[Attempt, PageMessage] = {}
        self.unsettled: dict[PageDelivery, PageMessage] = {}

    def only(self, messages: Container[int]) -> "Lane":
        """The lane with these messages only."""
        part = Lane()
        part.sent = [message for message in self.sent if message.seq in messages]
        part.asked = [message for message in self.asked if message.seq in messages]
        part.bars = [bar for bar in self.bars if bar[1].seq in messages]
        part.inbox = [entry for entry in self.inbox if entry[1].seq in messages]
        part.changed_at, part.longest = self.changed_at, self.longest
        part.held = {attempt: message for attempt, message in self.held.items() if message.seq in messages}
        part.unsettled = {delivery: message for delivery, message in self.unsettled.items() if message.seq in messages}
        return part

    def bars_in(self, since: float, until: float) -> Iterator[tuple[PageMessage, Attempt]]:
        """Messages in hand at any time between the two, in the order in which they were taken."""
        earliest = since - self.longest  # of those that had ended; others are still in hand
        for attempt, message in self.held.items():
            if attempt.taken < earliest and attempt.taken <= until:
                yield message, attempt
        for taken, message, attempt in islice(self.bars, bisect_left(self.bars, earliest, key=_taken), None):
            if taken > until:
                return
            if attempt.done >= since:
                yield message, attempt

    def held_at(self, at: float) -> list[tuple[PageMessage, Attempt]]:
        """Messages in hand, the one that was taken last at the end."""
        if at >= self.changed_at:
            return [(message, attempt) for attempt, message in self.held.items()]
        return [(message, attempt) for message, attempt in self.bars_in(at, at) if attempt.done > at]

    def sent_in(self, since: float, until: float) -> list[PageMessage]:
        begin = bisect_left(self.sent, since, key=_at)
        return self.sent[begin : bisect_right(self.sent, until, key=_at)]

    def waits_in(self, since: float, until: float) -> Iterator[AnswerWait]:
        for message in self.asked:
            if message.at <= until and message.answered >= since:
                assert message.asks is not None
                whom = tuple(dict.fromkeys(delivery.agent for delivery in message.deliveries)) or (message.to,)
                yield AnswerWait(message, whom, message.asks, message.at, message.answered)

    def waits_at(self, at: float) -> list[AnswerWait]:
        return [wait for wait in self.waits_in(at, at) if wait.until > at]

    def unread_at(self, at: float) -> list[tuple[PageDelivery, PageMessage]]:
        deliveries = self.unsettled.items() if at >= self.changed_at else self.inbox
        return [
            (delivery, message)
            for delivery, message in deliveries
            if delivery.sent <= at < delivery.ended and delivery.state_at(at) in ("sent", "retrying")
        ]

    def active_at(self, at: float) -> float | None:
        """Time of its last action."""
        last = bisect_right(self.sent, at, key=_at)
        times = [self.sent[last - 1].at] if last else []
        last = bisect_right(self.bars, at, key=_taken)
        times += [attempt.done if attempt.done <= at else attempt.taken for _, _, attempt in self.bars[last - 1 : last]]
        return max(times, default=None)


def _inboxes(message: PageMessage) -> Iterator[str]:
    """Every inbox and every agent that had it."""
    for delivery in message.deliveries:
        yield delivery.inbox
        yield from (attempt.agent for attempt in delivery.attempts)


class History:
    """Messages by number, with their deliveries, and lanes by agent."""

    def __init__(self, dialects: Iterable[Dialect], begins_at: float = 0.0) -> None:
        self._dialects = {dialect.name: dialect for dialect in dialects}
        self.begins_at = begins_at  # before that, messages may be missing
        self.messages: dict[int, PageMessage] = {}  # by number, which is also their order
        self.by_id: dict[str, PageMessage] = {}
        self.conversations: dict[str, list[PageMessage]] = {}
        self.changed: dict[str, int] = {}  # conversations by their last event, the latest at the end
        self.lanes: dict[str, Lane] = {}
        self.position = 0  # the last event that was folded
        self.now = begins_at  # its time
        self._deliveries: dict[int, tuple[PageDelivery, PageMessage]] = {}
        self._texts: deque[PageMessage] = deque()  # messages that have their text
        self._texts_size = 0

    def only(self, conversation: str) -> "History":
        """This conversation alone, as of now: its messages, and what its agents did in it."""
        part = History((), self.begins_at)
        part.position, part.now = self.position, self.now
        messages = self.conversations.get(conversation, [])
        part.messages = {message.seq: message for message in messages}
        part.by_id = {message.id: message for message in messages}
        part.conversations = {conversation: messages}
        people = {name for message in messages for name in (message.sender, *_inboxes(message))}
        part.lanes = {name: self.lane(name).only(part.messages) for name in people}
        return part

    def lane(self, agent: str) -> Lane:
        lane = self.lanes.get(agent)
        if lane is None:
            lane = self.lanes[agent] = Lane()
        return lane

    def fold(self, event: Event, message: StoredMessage | None) -> PageMessage | None:
        """Take the next event. The message that it concerns, if the history has it."""
        self.position, self.now = event.seq, max(self.now, event.at)
        if event.kind in BRINGING:
            found = self._add(event, message) if message is not None else None
        elif event.kind in WAKING:
            self.lane(event.inbox or "").wakes.append(event)
            return None
        elif event.kind in _LEAVING:
            self._end_waits(event)
            return None
        else:
            found = self.messages.get(event.message or 0)
            step = _STEPS.get(event.kind)
            if step is not None and found is not None:
                step(self, event, found)
        if found is not None:
            self._note_change(found.conversation or found.id)
        return found

    def conversation(self, id: str) -> list[PageMessage]:
        """Its messages. A message without a conversation may have begun one under its own id."""
        messages, first = self.conversations.get(id, []), self.by_id.get(id)
        return [first, *messages] if messages and first is not None and first.conversation is None else messages

    def changed_after(self, position: int) -> list[str]:
        """Conversations that an event after that one concerns."""
        return [name for name, _ in takewhile(lambda one: one[1] > position, reversed(self.changed.items()))]

    def _note_change(self, id: str) -> None:
        if id in self.conversations:
            self.changed.pop(id, None)
            self.changed[id] = self.position

    # --- steps -------------------------------------------------------------------------------------------------------

    def _add(self, event: Event, message: StoredMessage) -> PageMessage:
        dialect = self._dialects.get(message.dialect or "")
        type_ = dialect.types.get(message.type or "") if dialect is not None else None
        added = PageMessage(message, type_, refused=event.kind == "refused")
        if dialect is not None and type_ is not None and type_.action == "progress" and not added.refused:
            added.report = _report_of(message, dialect, type_)
        self.messages[added.seq] = added
        self.by_id[added.id] = added
        if added.conversation:
            self.conversations.setdefault(added.conversation, []).append(added)
        self._keep_text(added)
        lane = self.lane(added.sender)
        lane.sent.append(added)
        if added.refused:
            added.codes = tuple(refusal_codes(event)[:CODES_MAX])
        elif event.kind == "accepted":
            for inbox in stored_inboxes(event, message):
                self._deliver(added, PageDelivery(inbox, added.at))
        if event.kind != "accepted":
            added.asks = None
        if added.asks:
            lane.asked.append(added)
        if len(self.messages) > MESSAGES_MAX:
            self._forget()
        return added

    def _keep_text(self, message: PageMessage) -> None:
        self._texts.append(message)
        self._texts_size += len(message.text)
        while self._texts_size > TEXTS_MAX:
            oldest = self._texts.popleft()
            self._texts_size -= len(oldest.text)
            oldest.text, oldest.text_cut = oldest.gist, True

    def _deliver(self, message: PageMessage, delivery: PageDelivery) -> PageDelivery:
        message.deliveries.append(delivery)
        lane = self.lane(delivery.inbox)
        lane.inbox.append((delivery, message))
        lane.unsettled[delivery] = message
        lane.changed_at = max(lane.changed_at, delivery.sent)
        return delivery

    def delivery(self, number: int) -> PageDelivery | None:
        known = self._deliveries.get(number)
        return known[0] if known is not None else None

    def _delivery(self, event: Event, message: PageMessage) -> PageDelivery:
        """The delivery of an event: the first event of a delivery gives it its number."""
        number = event.delivery or 0
        known = self._deliveries.get(number)
        if known is not None:
            return known[0]
        inbox = event.inbox or event.agent or message.to
        unnumbered = (one for one in message.deliveries if one.number is None and one.inbox == inbox)
        found = next(unnumbered, None) or self._deliver(message, PageDelivery(inbox, event.at))
        found.number = number
        self._deliveries[number] = (found, message)
        return found

    def _leased(self, event: Event, message: PageMessage) -> None:
        delivery = self._delivery(event, message)
        agent = event.agent or delivery.inbox
        attempt = Attempt(agent, event.at, len(delivery.attempts) + 1)
        delivery.attempts.append(attempt)
        lane = self.lane(agent)
        lane.bars.append((event.at, message, attempt))
        lane.held[attempt] = message
        self._changed(event, agent, delivery.inbox)

    def _changed(self, event: Event, *agents: str) -> None:
        for agent in agents:
            lane = self.lane(agent)
            lane.changed_at = max(lane.changed_at, event.at)

    def _ended(self, event: Event, message: PageMessage) -> None:
        if event.delivery is None:  # a request without an answer
            message.answered = min(message.answered, event.at)
            return
        delivery, state = self._delivery(event, message), _ENDS[event.kind]
        attempt = delivery.attempts[-1] if delivery.attempts else None
        if attempt is not None and attempt.done == NO_END:
            attempt.done, attempt.state = event.at, state
            lane = self.lane(attempt.agent)
            lane.held.pop(attempt, None)
            lane.longest = max(lane.longest, attempt.done - attempt.taken)
            self._changed(event, attempt.agent)
        if state == "dead":
            delivery.event, delivery.reason = event.seq, str(detail_of(event).get("reason") or "")
        if event.kind in _FINAL:
            delivery.end(event.at, state)
            self.lane(delivery.inbox).unsettled.pop(delivery, None)
        self._changed(event, delivery.inbox)

    def _retried(self, event: Event, message: PageMessage) -> None:
        delivery = self._delivery(event, message)
        delivery.end(event.at, "sent")
        delivery.ended = NO_END
        self.lane(delivery.inbox).unsettled[delivery] = message
        self._changed(event, delivery.inbox)

    def _answered(self, event: Event, message: PageMessage) -> None:
        by = detail_of(event).get("by")
        message.answered = min(message.answered, event.at)  # it may have been given up before
        message.answered_by = by if isinstance(by, int) else 0

    def _end_waits(self, event: Event) -> None:
        """An agent that is gone waits for no reply, and a team that has ended for no shutdown answers."""
        is_end = event.kind == "dissolved"
        for lane in [*self.lanes.values()] if is_end else [self.lane(event.agent or "")]:
            for message in lane.asked:
                ends = message.kind == KINDS["stop"] if is_end else message.asks == "reply"
                if ends and message.answered == NO_END:
                    message.answered = event.at

    def _repeated(self, event: Event, message: PageMessage) -> None:
        if event.delivery is not None:
            self._delivery(event, message)

    def _forget(self) -> None:
        """Forget the oldest messages."""
        gone = [self.messages.pop(seq) for seq in [*self.messages][:FORGET]]
        self.begins_at = gone[-1].at
        names = {message.sender for message in gone}
        for message in gone:
            if self.by_id.get(message.id) is message:
                del self.by_id[message.id]
            for delivery in message.deliveries:
                self._deliveries.pop(delivery.number or 0, None)
                names |= {delivery.inbox, *(attempt.agent for attempt in delivery.attempts)}
        last = gone[-1].seq
        while self._texts and self._texts[0].seq <= last:
            self._texts_size -= len(self._texts.popleft().text)
        for name in names:
            lane = self.lanes[name]
            lane.sent = [message for message in lane.sent if message.seq > last]
            lane.asked = [message for message in lane.asked if message.seq > last]
            lane.bars = [bar for bar in lane.bars if bar[1].seq > last]
            lane.inbox = [row for row in lane.inbox if row[1].seq > last]
            lane.held = {attempt: message for attempt, message in lane.held.items() if message.seq > last}
            lane.unsettled = {delivery: message for delivery, message in lane.unsettled.items() if message.seq > last}
        for name in {message.conversation for message in gone if message.conversation}:
            rest = [message for message in self.conversations[name] if message.seq > last]
            if rest:
                self.conversations[name] = rest
                self._note_change(name)
            else:
                del self.conversations[name]
                self.changed.pop(name, None)


_STEPS: dict[str, Callable[[History, Event, PageMessage], None]] = {
    "leased": History._leased,
    "retried": History._retried,
    "answered": History._answered,
    "request-repeated": History._repeated,
    **dict.fromkeys(_ENDS, History._ended),
}


def asks(type_: MessageType) -> Why | None:
    """The event that a message of this type waits for."""
    if type_.action == "escalate":
        return "escalation"
    if type_.reply is None:
        return None
    return "approval" if type_.action == "ask" else "reply"


def kind_of(message: StoredMessage, type_: MessageType | None) -> str:
    """The word for such a message: task, update, verdict."""
    if type_ is not None and type_.action:
        return KINDS.get(type_.action, type_.action)
    if message.type is None or message.dialect == "plain":
        return "text"
    return message.type.replace("_", " ").lower()


def _report_of(message: StoredMessage, dialect: Dialect, type_: MessageType) -> ProgressReport:
    fields = fields_of(parse_tree(message.raw, dialect, type_), dialect, type_)
    tokens, files = fields.get("tokens"), fields.get("files")
    return ProgressReport(
        tokens if isinstance(tokens, int) and not isinstance(tokens, bool) else None,
        tuple([file for file in files if isinstance(file, str)][:FILES_MAX]) if isinstance(files, list) else (),
    )


def _at(message: PageMessage) -> float:
    return message.at


def _taken(bar: tuple[float, PageMessage, Attempt]) -> float:
    return bar[0]


def refusal_codes(event: Event) -> list[str]:
    """Codes of a refused message, each once. An imported event may have anything in `findings`."""
    findings = detail_of(event).get("findings")
    if not isinstance(findings, list):
        return []
    rows = [row for row in findings if isinstance(row, dict) and row.get("severity", "refusal") == "refusal"]
    return list(dict.fromkeys(code for row in rows if isinstance(code := row.get("code"), str)))
