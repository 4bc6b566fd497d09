"""Store port: what a store must do, the queries it answers, and the reads that are built from them.

A store keeps message bytes uninterpreted and reports a message as stored only when it is durable. It decides nothing
about the work: retries and dead letters arrive as a `Settlement`, which names the state it was decided on and is
rejected when that state has changed. An implementer writes the six verbs of `Store`, the nine of `Reads` and the nine
of `Transaction`; the functions below use nothing else.
"""

from collections.abc import Awaitable, Callable, Generator, Iterable, Sequence
from math import inf
from typing import Concatenate, Generic, Literal, ParamSpec, Protocol, TypeVar

from telex.model.message import (
    COMING_AND_GOING,
    ELSEWHERE,
    KINDS,
    OPEN,
    STATES,
    Delivery,
    Event,
    LeasedMessage,
    NewMessage,
    State,
    StoredMessage,
)
from telex.model.named_tuple import NamedTuple
from telex.model.roster import Member

P = ParamSpec("P")
T = TypeVar("T")
ROSTER = ""  # in `Transaction.changed`: a member was written. No topic has this name
LATEST_MESSAGES = 50  # of a conversation, whose senders and refusals are listed
CONVERSATION_BYTES = 4 * 1_048_576  # of last messages on one page, about
TEXT_CHARACTERS_MAX = 1_000  # of a search text
DUE_TIMES_MAX = 1_000  # stored deliveries of an inbox that are read to find the next one due

# --- values ----------------------------------------------------------------------------------------------------------


class AppendResult(NamedTuple):
    """Outcome of storing one message."""

    outcome: Literal["stored", "duplicate", "id-reused", "inbox-full"]
    seq: int  # the message's number; of the earlier one for a duplicate; 0 where nothing was stored
    inbox: str | None = None  # the full inbox


class EarlierMessage(NamedTuple):
    """A message that was accepted before, under an id that is used again."""

    seq: int
    digest: bytes
    to: str


class Settlement(NamedTuple):
    """A change of one delivery, and the state it was decided on."""

    delivery: int
    was: State
    becomes: State
    at: float
    kind: str  # of the event that records it
    agent: str | None = None
    fence: int | None = None  # the lease it was decided under; None: any
    holder: str | None = None  # the reader that must hold it; None: any
    running_at: float | None = None  # the lease must not have expired by this moment
    run_out_at: float | None = None  # the lease must have expired by this moment; its holder may still settle it late
    due_at: float = 0.0
    attempts: int | None = None  # None: unchanged
    detail: str | None = None  # JSON for the event
    reports: tuple[NewMessage, ...] = ()  # messages that are stored together with the change
    release: bool = False  # the request in this message is not pending any more
    after_expiry: bool = False  # valid also under an expired lease, until the message is offered again

    def holds_for(self, delivery: Delivery) -> bool:
        """Whether the delivery is still in the state that this was decided on. Every store uses this check."""
        is_late = self.after_expiry and delivery.state == "stored" and delivery.holder is not None
        return (
            (delivery.state == self.was or is_late)
            and self.fence in (None, delivery.fence)
            and self.holder in (None, delivery.holder)
            and (self.running_at is None or delivery.due_at > self.running_at)
            and (self.run_out_at is None or delivery.due_at <= self.run_out_at)
        )

    def applied_to(self, delivery: Delivery) -> Delivery:
        """The delivery after this change."""
        attempts = delivery.attempts if self.attempts is None else self.attempts
        holder = None if self.becomes == "stored" and self.run_out_at is None else delivery.holder
        return delivery._replace(state=self.becomes, due_at=self.due_at, attempts=attempts, holder=holder)


class SettleResult(NamedTuple):
    done: bool
    now: Delivery | None  # after this call; None: there is no such delivery


class LeaseRequest(NamedTuple):
    inboxes: Sequence[str]
    holder: str
    now: float
    until: float
    limit: int = 1
    only: Sequence[int] = ()  # these deliveries; empty: any that is due
    extra_event: Callable[[LeasedMessage], Event | None] | None = (
        None  # stored with each lease; may be called twice for one
    )


class PendingRequest(NamedTuple):
    """A request that waits for its answer."""

    message: int
    due_at: float
    attempts: int  # how often the deadline has passed


class Changes(NamedTuple):
    """Writes after some event, for readers that poll the store."""

    upto: int  # the number of the last event
    due: tuple[tuple[str, float], ...] = ()  # inboxes with a new stored delivery, and when it may be leased
    messages: frozenset[int] = frozenset()  # messages of the events
    members: frozenset[str] = frozenset()  # members that joined, left or stopped


class ConversationSummary(NamedTuple):
    """The messages of one correlation, and the first one where that has no correlation."""

    correlation: str
    messages: int
    last: StoredMessage
    senders: tuple[str, ...]  # of the latest LATEST_MESSAGES, the latest first
    refused: int  # of the latest LATEST_MESSAGES


class ConversationPage(NamedTuple):
    conversations: tuple[ConversationSummary, ...]  # the one with the latest message first
    next: int | None  # `before` of the next page, which may be empty and have a next one; None: this is the last


# --- queries: every filter that is set must match --------------------------------------------------------------------


class MessageQuery(NamedTuple):
    """Messages in the order of their numbers. One of the filters is set."""

    seqs: Sequence[int] | None = None
    id: str | None = None
    correlation: str | None = None
    limit: int | None = None


class DeliveryQuery(NamedTuple):
    """Deliveries by number, as offered to readers (priority, then number), by due time, or the newest first."""

    seqs: Sequence[int] | None = None
    message: int | None = None
    after: int | None = None  # of messages with a higher number
    inboxes: Sequence[str] | None = None
    states: Iterable[State] = STATES
    holder: str | None = None
    due_by: float | None = None
    answers: StoredMessage | None = (
        None  # of later messages that reply to this one, or are of its conversation and a type
    )
    answer_types: Sequence[str] = ()
    order: Literal["number", "offer", "due", "newest"] = "number"
    limit: int | None = None


class RequestQuery(NamedTuple):
    """Pending requests: those of an id or of a conversation by number, others by deadline."""

    id: str | None = None
    correlation: str | None = None
    types: Sequence[str] | None = None
    due_by: float | None = None
    limit: int | None = None


class Query(NamedTuple):
    """Filters of events, as callers of the bus give them."""

    after: int = 0  # only events with a higher number
    agent: str | None = None  # the agent that did it, or whose inbox it concerns
    kinds: tuple[str, ...] = ()
    type: str | None = None  # of the message
    dialect: str | None = None
    correlation: str | None = None
    since: float | None = None
    until: float | None = None
    text: str | None = None  # words in the message
    newest_first: bool = False


EVERYTHING = Query()


class EventQuery(NamedTuple):
    """Events in the order of their numbers."""

    filters: Query = EVERYTHING
    message: int | None = None
    topic: str | None = None  # events that brought a message of this topic
    limit: int | None = None


# --- the port --------------------------------------------------------------------------------------------------------


class Reads(Protocol):
    """Synchronous reads on one snapshot. In a transaction they see everything written in it so far."""

    @property
    def position(self) -> int:
        """The number of the last event; in a transaction, of the last one before it."""

    @property
    def changed(self) -> Sequence[str]:
        """Changes of this transaction so far: names of topics, and ROSTER for each member."""

    def messages(self, query: MessageQuery) -> list[StoredMessage]: ...

    def deliveries(self, query: DeliveryQuery) -> list[Delivery]: ...

    def events(self, query: EventQuery) -> list[Event]: ...

    def pending_requests(self, query: RequestQuery) -> list[tuple[PendingRequest, StoredMessage]]: ...

    def members(self) -> list[Member]: ...

    def depths(self) -> dict[str, tuple[int, int, float]]:
        """For every inbox with an open delivery: stored, leased, and when the oldest message was accepted."""

    def conversations(self, before: int | None, limit: int) -> ConversationPage:
        """Conversations whose last message has a lower number than `before`. The number of messages read for one page
        is bounded."""

    def topics(self, kind: str | None = None, after: int = 0) -> list[str]:
        """Topics of a kind, or all, that have a message with a number higher than `after`."""

    def snapshot(self, topic: str) -> tuple[int, str] | None:
        """The saved state of a topic, and the number of its last message."""


class Transaction(Reads, Protocol):
    """A write transaction, as a decision sees it. Other processes cannot write until it is committed."""

    def earlier(self, sender: str, id: str, since: float) -> EarlierMessage | None:
        """The message that this sender has sent under this id since then. Refused and imported ones do not count."""

    def full_inbox(self, inboxes: tuple[str, ...], limit: int) -> str | None:
        """The first of these inboxes whose quota of open deliveries is used up, if there is one."""

    def append(self, message: NewMessage) -> int:
        """Store a message with its event, deliveries and work change, and release the requests it answers. Its number,
        which is also that of its event."""

    def record(self, event: Event) -> int:
        """Store an event. Its number."""

    def upsert_member(self, member: Member, event: Event) -> None:
        """Store a member and the event of its change."""

    def mark_seen(self, name: str, at: float) -> None:
        """Store when a member was last active."""

    def keep_snapshot(self, topic: str, seq: int, text: str) -> None:
        """Save the state of a topic after that message. It only saves time and may be lost."""

    def settle(self, settlement: Settlement) -> SettleResult:
        """Make the change, if its delivery is still in the state it was decided on. Idempotent."""

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
        """Count a missed deadline, if the request still has as many attempts as given: an event `reply-overdue`, the
        next deadline, and a new delivery in each of these inboxes with an event `request-repeated`. Without a next
        deadline there is an event `expired`, and the request is not pending any more. The reports are stored with it.
        False: another process has answered or counted it, and nothing is stored."""


class Completed(Generic[T]):
    """An awaitable that makes a call when it is created, and returns its result or raises its error when awaited.

    A coroutine would run decisions in the order in which their callers await them.
    """

    __slots__ = ("_answer", "_error")

    def __init__(self, call: Callable[[], T]) -> None:
        self._error: Exception | None = None
        try:
            self._answer = call()
        except Exception as error:
            self._error = error

    def __await__(self) -> Generator[None, None, T]:
        yield from ()
        if self._error is not None:
            raise self._error
        return self._answer


class Cache(Protocol):
    """Cache of state that is derived from the log; see `Store.caches`."""

    def committed(self, before: int, after: int, changes: int) -> None:
        """A transaction between these event numbers was committed, with so many entries in `changed`."""

    def forget(self) -> None:
        """A decision or a transaction was rolled back: invalidate what the cache took from it."""


class Store(Protocol):
    """The verbs are coroutines, so that a store may be behind a network; one that never waits runs without an event
    loop."""

    caches: list[Cache]  # the store reports every commit and every rollback of this process to them

    def transaction(
        self,
        decide: Callable[[Transaction], T],
        *,
        prefetch_id: str | None = None,
        may_use_reserve: bool = False,
        durable: bool = True,
    ) -> Awaitable[T]:
        """Run a decision inside a write transaction, and return its answer once everything it wrote is durable.

        Decisions run in the order of the calls; those that are submitted together may share one commit. A decision is
        synchronous, may run more than once, and changes nothing outside the transaction but registered caches. If it
        raises, nothing of it is stored, the others of its commit are not affected, and the error reaches its caller.
        `prefetch_id`: an id that the decision looks up with `earlier`. `may_use_reserve`: it frees more than it stores,
        and may use the space that is reserved for a full disk. Not `durable`: it may be lost in a crash. A durable
        decision that writes nothing waits until everything that any process has written so far is durable.
        """

    async def read(self, query: Callable[Concatenate[Reads, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run reads on one snapshot. They may run more than once."""

    async def lease(self, request: LeaseRequest) -> list[LeasedMessage]:
        """Lease what is due, by priority and then by number. A holder that has shut down gets nothing."""

    async def maintain(
        self, now: float, *, same_since: float, keep_since: float, silent_since: float, limit: int
    ) -> int:
        """A small step of maintenance, unless another process has just made one: delete ids outside the deduplication
        window, index messages and events, record idle conversations, prune. The number of changes."""

    def changes(self) -> tuple[int, int]:
        """A counter of the transactions of this process, of which it reports every one to its caches, and a number that
        changes with every other write. Cheap enough for every receive."""

    async def close(self) -> None: ...


async def settle(store: Store, settlements: Sequence[Settlement]) -> list[SettleResult]:
    """Make each of these changes that still holds, in one transaction."""
    durable = not settlements or any(settlement.kind != "extended" for settlement in settlements)
    return await store.transaction(
        lambda tx: [tx.settle(settlement) for settlement in settlements], may_use_reserve=True, durable=durable
    )


# --- reads built from the queries ------------------------------------------------------------------------------------


def get_message(reads: Reads, seq: int) -> StoredMessage | None:
    return next(iter(reads.messages(MessageQuery(seqs=(seq,)))), None)


def find_messages(reads: Reads, id: str) -> list[StoredMessage]:
    """Every message of that id, oldest first; refused ones too."""
    return reads.messages(MessageQuery(id=id))


def find_thread(reads: Reads, correlation: str, limit: int) -> list[StoredMessage]:
    """The messages of a conversation, oldest first."""
    return reads.messages(MessageQuery(correlation=correlation, limit=limit))


def conversations(reads: Reads, before: int | None, limit: int) -> ConversationPage:
    return reads.conversations(before, limit)


def get_delivery(reads: Reads, seq: int) -> Delivery | None:
    return next(iter(reads.deliveries(DeliveryQuery(seqs=(seq,)))), None)


def deliveries_of(reads: Reads, message: int) -> list[Delivery]:
    return reads.deliveries(DeliveryQuery(message=message))


def with_messages(reads: Reads, deliveries: Sequence[Delivery]) -> list[tuple[Delivery, StoredMessage]]:
    if not deliveries:
        return []
    messages = _messages_by_seq(reads, [delivery.message for delivery in deliveries])
    return [(delivery, messages[delivery.message]) for delivery in deliveries]


def waiting_deliveries(reads: Reads, inboxes: Sequence[str], limit: int) -> list[tuple[Delivery, StoredMessage]]:
    """Stored and leased deliveries of these inboxes, in the order in which they are offered."""
    return with_messages(
        reads, reads.deliveries(DeliveryQuery(inboxes=inboxes, states=OPEN, order="offer", limit=limit))
    )


def expired_leases(reads: Reads, now: float, limit: int) -> list[tuple[Delivery, StoredMessage]]:
    query = DeliveryQuery(states=("leased",), due_by=now, order="due", limit=limit)
    return with_messages(reads, reads.deliveries(query))


def next_lease_expiry(reads: Reads) -> float:
    leased = reads.deliveries(DeliveryQuery(states=("leased",), order="due", limit=1))
    return leased[0].due_at if leased else inf


def dead_letters(reads: Reads, limit: int) -> list[tuple[Delivery, StoredMessage]]:
    """Dead and expired deliveries, newest first."""
    query = DeliveryQuery(states=("dead", "expired"), order="newest", limit=limit)
    return with_messages(reads, reads.deliveries(query))


def held_messages(reads: Reads, holder: str) -> list[StoredMessage]:
    """The messages that are leased to this reader."""
    held = reads.deliveries(DeliveryQuery(states=("leased",), holder=holder))
    return [message for _, message in with_messages(reads, held)]


def answers_to(reads: Reads, inboxes: Sequence[str], message: StoredMessage, types: Sequence[str]) -> list[Delivery]:
    """Stored deliveries that answer this message: by reply-to, or by correlation and type."""
    return reads.deliveries(
        DeliveryQuery(inboxes=inboxes, states=("stored",), answers=message, answer_types=types, order="offer")
    )


def overdue_requests(
    reads: Reads, now: float, limit: int
) -> list[tuple[PendingRequest, StoredMessage, list[Delivery]]]:
    """Requests whose answer is late, with their deliveries."""
    pending = reads.pending_requests(RequestQuery(due_by=now, limit=limit))
    return [(request, message, deliveries_of(reads, message.seq)) for request, message in pending]


def due_times(reads: Reads, inboxes: Sequence[str]) -> dict[str, float]:
    """For each of these inboxes with a stored delivery: when the first is due."""
    times: dict[str, float] = {}
    for inbox in inboxes:
        query = DeliveryQuery(inboxes=(inbox,), states=("stored",), order="offer", limit=DUE_TIMES_MAX)
        if stored := reads.deliveries(query):
            times[inbox] = min(delivery.due_at for delivery in stored)
    return times


def next_deadline(reads: Reads, inboxes: Sequence[str]) -> float | None:
    """When the next stored delivery in these inboxes is due, any lease expires, or any answer is late."""
    pending = reads.pending_requests(RequestQuery(limit=1))
    times = [*due_times(reads, inboxes).values(), *(request.due_at for request, _ in pending)]
    deadline = min([*times, next_lease_expiry(reads)])
    return deadline if deadline < inf else None


def events_of(reads: Reads, message: int) -> list[Event]:
    """Every event of one message, in order."""
    return reads.events(EventQuery(message=message))


def events_with_messages(reads: Reads, filters: Query, limit: int) -> list[tuple[Event, StoredMessage | None]]:
    return _with_messages(reads, reads.events(EventQuery(filters, limit=limit)))


def topic_messages(reads: Reads, topic: str, after: int = 0) -> list[tuple[Event, StoredMessage]]:
    """The messages of a topic with the events that brought them."""
    events = reads.events(EventQuery(Query(after=after), topic=topic))
    return [(event, message) for event, message in _with_messages(reads, events) if message is not None]


def roster_changed_since(reads: Reads, position: int) -> bool:
    """Whether any member has joined, left or stopped after that event."""
    return bool(reads.events(EventQuery(Query(after=position, kinds=COMING_AND_GOING), limit=1)))


def last_event(reads: Reads) -> int:
    return reads.position


def latest_at(reads: Reads) -> float:
    """When the last event happened here, by the clock of its writer; 0.0 in an empty store. Imported ones do not
    count."""
    kinds = tuple(kind for kind in KINDS if kind not in ELSEWHERE)
    latest = reads.events(EventQuery(Query(kinds=kinds, newest_first=True), limit=1))
    return latest[0].at if latest else 0.0


def changes_since(reads: Reads, after: int) -> Changes:
    events = reads.events(EventQuery(Query(after=after)))
    if not events:
        return Changes(after)
    touched = [event.delivery for event in events if event.delivery is not None]
    stored = reads.deliveries(DeliveryQuery(after=after, states=("stored",)))
    stored += reads.deliveries(DeliveryQuery(seqs=touched, states=("stored",)))
    return Changes(
        events[-1].seq,
        tuple((delivery.inbox, delivery.due_at) for delivery in stored),
        frozenset(event.message or event.seq for event in events),
        frozenset(event.agent for event in events if event.kind in COMING_AND_GOING and event.agent is not None),
    )


def _with_messages(reads: Reads, events: Sequence[Event]) -> list[tuple[Event, StoredMessage | None]]:
    messages = _messages_by_seq(reads, [event.message for event in events if event.message is not None])
    return [(event, messages.get(event.message or 0)) for event in events]


def _messages_by_seq(reads: Reads, seqs: Iterable[int]) -> dict[int, StoredMessage]:
    wanted = tuple(dict.fromkeys(seqs))
    return {message.seq: message for message in reads.messages(MessageQuery(seqs=wanted))} if wanted else {}
