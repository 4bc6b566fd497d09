"""Store port: keeps message bytes uninterpreted, and reports a message as stored only when it is durable.

A store decides nothing about the work: when to try again and when to give up comes in as a `Settlement`, with the
state it was decided upon. If that state has changed meanwhile, the settlement does not happen, and nothing of it does.
Each verb is all-or-nothing for each item it is given. The verbs are async so that a store may be a network away; one
that never waits may be driven without an event loop.
"""

from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import Literal, NamedTuple, Protocol, TypeVar

from telex.model.message import Delivery, Event, Lease, Message, NewMessage, State
from telex.model.roster import Member

T = TypeVar("T")
ROSTER = ""  # in `Transaction.changed`: a member was written. No topic has this name


class AppendResult(NamedTuple):
    """What happened to a message that was to be stored."""

    outcome: Literal["stored", "duplicate", "id-reused", "inbox-full"]
    seq: int  # the message's number; of the earlier one for a duplicate; 0 where nothing was stored
    inbox: str | None = None  # the one that was full


class EarlierMessage(NamedTuple):
    """A message that was accepted before, under an id that is used again."""

    seq: int
    digest: bytes
    to: str


class Settlement(NamedTuple):
    """A change of one delivery, decided on the state it was seen in."""

    delivery: int
    was: State
    becomes: State
    at: float
    kind: str  # of the event that tells it
    agent: str | None = None
    fence: int | None = None  # the lease it was decided under; None: whichever
    holder: str | None = None  # who must have it; None: whoever
    running_at: float | None = None  # the lease must not have run out by this moment
    run_out_at: float | None = None  # the lease must have run out by this moment; its holder may still settle it late
    due_at: float = 0.0
    attempts: int | None = None  # None: as they are
    detail: str | None = None  # JSON for the event
    reports: tuple[NewMessage, ...] = ()  # messages that must be stored together with the change
    release: bool = False  # no request of this message is waited for any longer
    after_expiry: bool = False  # under a lease that has run out too, as long as the message waits to be offered again

    def holds_for(self, delivery: Delivery) -> bool:
        """Is the delivery still as it was when this was decided? Every store asks this, and nothing else."""
        is_late = self.after_expiry and delivery.state == "stored" and delivery.holder is not None
        return (
            (delivery.state == self.was or is_late)
            and self.fence in (None, delivery.fence)
            and self.holder in (None, delivery.holder)
            and (self.running_at is None or delivery.due_at > self.running_at)
            and (self.run_out_at is None or delivery.due_at <= self.run_out_at)
        )

    def applied_to(self, delivery: Delivery) -> Delivery:
        """The delivery after this change. Every store stores this, and nothing else."""
        attempts = delivery.attempts if self.attempts is None else self.attempts
        holder = None if self.becomes == "stored" and self.run_out_at is None else delivery.holder
        return delivery._replace(state=self.becomes, due_at=self.due_at, attempts=attempts, holder=holder)


class SettleResult(NamedTuple):
    done: bool
    now: Delivery | None  # as it is after this call; None: there is no such delivery


class PendingRequest(NamedTuple):
    """A request that waits for its answer."""

    message: int
    due_at: float
    attempts: int  # how often the deadline has passed


class Changes(NamedTuple):
    """What has happened to whom since some event, told so that whoever waits for it can be woken."""

    upto: int  # the number of the last event
    due: tuple[tuple[str, float], ...] = ()  # inboxes that something was put into, and from when on it may be leased
    messages: frozenset[int] = frozenset()  # those that anything has happened to
    members: frozenset[str] = frozenset()  # those who have joined, left or stopped


class LeaseRequest(NamedTuple):
    """Which deliveries are to be leased, to whom and until when."""

    inboxes: Sequence[str]
    holder: str
    now: float
    until: float
    limit: int = 1
    only: Sequence[int] = ()  # these deliveries; empty: any that is due
    extra_event: Callable[[Lease], Event | None] | None = None  # stored with each lease; may be called twice for one


LATEST_MESSAGES = 50  # of a conversation, whose senders and refusals are listed


class ConversationSummary(NamedTuple):
    """The messages of one correlation, and the one that it was begun with where that has none."""

    correlation: str
    messages: int
    last: Message
    senders: tuple[str, ...]  # of the latest LATEST_MESSAGES, the latest first
    refused: int  # of the latest LATEST_MESSAGES


class ConversationPage(NamedTuple):
    conversations: tuple[ConversationSummary, ...]  # the one with the latest message first
    next: int | None  # `before` of the next page, which may be empty and have a next one; None: this is the last


CONVERSATION_BYTES = 4 * 1_048_576  # of last messages on one page, about
TEXT_CHARACTERS_MAX = 1_000  # of what is looked for


class Query(NamedTuple):
    """Which events are wanted. Everything that is given must fit."""

    after: int = 0  # only events with a higher number
    agent: str | None = None  # who did it, or whose inbox it concerns
    kinds: tuple[str, ...] = ()
    type: str | None = None  # of the message
    dialect: str | None = None
    correlation: str | None = None
    since: float | None = None
    until: float | None = None
    text: str | None = None  # words that stand in the message
    newest_first: bool = False


EVERYTHING = Query()


class Reads(Protocol):
    """Synchronous reads on one snapshot. In a transaction they see everything written in it so far."""

    @property
    def position(self) -> int:
        """The number of the last event; in a transaction, of the last one before it."""

    @property
    def changed(self) -> Sequence[str]:
        """What this transaction has written so far: names of topics, and ROSTER for each member."""

    def topics_since(self, position: int) -> Iterable[str]:
        """Topics that a message after that event belongs to."""

    def roster_changed_since(self, position: int) -> bool:
        """Has any member joined, left or stopped after that event?"""

    def members(self) -> list[Member]: ...

    def find(self, id: str) -> list[Message]: ...

    def pending_requests(
        self, id: str | None, correlation: str | None, types: Sequence[str] | None = None
    ) -> list[tuple[PendingRequest, Message]]: ...

    def held(self, holder: str) -> list[Message]: ...

    def deliveries(self, message: int) -> list[Delivery]: ...

    def story(self, message: int) -> list[Event]: ...

    def topic(self, name: str, after: int = 0) -> list[tuple[Event, Message]]: ...

    def topics(self, kind: str) -> list[str]: ...

    def snapshot(self, topic: str) -> tuple[int, str] | None: ...

    def keep_snapshot(self, topic: str, seq: int, text: str) -> None:
        """Save the state of a topic after that message. It only saves time: it need not survive anything."""


class Transaction(Reads, Protocol):
    """A write transaction, as a decision sees it. Other processes cannot write until it is committed."""

    def earlier(self, sender: str, id: str, since: float) -> EarlierMessage | None:
        """The message that this sender has sent under this id since then. Refused and imported ones do not count."""

    def full_inbox(self, inboxes: tuple[str, ...], limit: int) -> str | None:
        """An inbox with so many open deliveries that it takes no more, if there is one."""

    def append(self, message: NewMessage) -> int:
        """Store a message with its event, its deliveries and its work change, and release the requests it answers. Its
        number, which is also that of its event."""

    def record(self, event: Event) -> int:
        """Store an event. Its number."""

    def upsert_member(self, member: Member, event: Event) -> None:
        """Store a member as it now is, with the event that made it so."""

    def mark_seen(self, name: str, at: float) -> None:
        """Store when a member was last active."""

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
        False: the request was answered or reminded of meanwhile, and nothing is stored."""


class Cache(Protocol):
    """State of a process that follows from the log; see `Store.register_cache`."""

    def committed(self, before: int, after: int, changes: int) -> None:
        """A transaction between these event numbers was committed, with so many entries in `changed`."""

    def forget(self) -> None:
        """A decision or a transaction was undone: what the cache took from it is wrong."""


class Store(Protocol):
    def transaction(
        self, decide: Callable[[Transaction], T], *, prefetch_id: str | None = None, may_use_reserve: bool = False
    ) -> Awaitable[T]:
        """Run a decision inside a write transaction, and return its answer once everything it wrote is durable.

        Decisions run in the order of the calls; those that are submitted together may share one commit. A decision is
        synchronous, may run more than once, and changes nothing outside the transaction but registered caches. If it
        raises, nothing of it is stored, the others of its commit are not affected, and the error reaches its caller.
        `prefetch_id`: an id that the decision will look up with `earlier`. `may_use_reserve`: it frees more than it
        stores, and may use the space that is kept free for a full disk.
        """

    async def read(self, query: Callable[[Reads], T]) -> T:
        """Run several reads on one snapshot."""

    def register_cache(self, cache: Cache) -> None:
        """Tell a cache about every commit and every rollback of this process."""

    async def lease(self, request: LeaseRequest) -> list[Lease]:
        """Lease what is due, by priority and then by number. A holder that has shut down gets nothing."""

    async def settle(self, settlements: Sequence[Settlement]) -> list[SettleResult]:
        """Make each change whose delivery is still as it was seen. Telling twice is the same as telling once.

        With no settlements at all it still waits until everything that anybody has written so far is durable.
        """

    async def lapsed(self, now: float, limit: int) -> list[tuple[Delivery, Message]]:
        """Leases that have run out and have not been settled."""

    async def overdue(self, now: float, limit: int) -> list[tuple[PendingRequest, Message, list[Delivery]]]:
        """Requests whose answer is late."""

    async def message(self, seq: int) -> Message | None: ...

    async def find(self, id: str) -> list[Message]:
        """Every message of that id, oldest first; refused ones too."""

    async def thread(self, correlation: str, limit: int) -> list[Message]:
        """Every message of a conversation, oldest first."""

    async def conversations(self, before: int | None, limit: int) -> ConversationPage:
        """Conversations whose last message has a lower number than `before`. How many messages are looked through for
        one page is bounded."""

    async def deliveries(self, message: int) -> list[Delivery]: ...

    async def delivery(self, seq: int) -> Delivery | None: ...

    async def waiting(self, inboxes: Sequence[str], limit: int) -> list[tuple[Delivery, Message]]:
        """What is stored or leased in these inboxes, in the order in which it will be offered."""

    async def depths(self) -> dict[str, tuple[int, int, float]]:
        """For every inbox with anything open: stored, leased, and when the oldest was accepted."""

    async def answers_to(self, inboxes: Sequence[str], message: Message, types: Sequence[str]) -> list[int]:
        """Deliveries waiting in these inboxes that answer this message: by reply-to, or by correlation and type."""

    async def next_deadline(self, inboxes: Sequence[str]) -> float | None:
        """When the next stored delivery in these inboxes falls due, a lease anywhere runs out, or an answer is late."""

    async def due_times(self, inboxes: Sequence[str]) -> dict[str, float]:
        """For each of these inboxes that has something stored: when the first of it falls due."""

    async def changes_since(self, after: int | None) -> Changes:
        """What anybody has done since that event. None: only the number of the last event there is."""

    async def story(self, message: int) -> list[Event]:
        """Every event of one message, in order."""

    async def events(self, query: Query, limit: int) -> list[tuple[Event, Message | None]]:
        """Events in order (or the other way round), each with its message."""

    async def dead(self, limit: int) -> list[tuple[Delivery, Message]]:
        """Dead and expired deliveries, newest first."""

    async def members(self) -> list[Member]: ...

    async def seen(self, name: str, at: float) -> None:
        """The member was active. Nothing is promised about this surviving a crash."""

    async def maintain(
        self, now: float, *, same_since: float, keep_since: float, silent_since: float, limit: int
    ) -> int:
        """A small step of housekeeping: forget old ids, index, tell silent conversations, prune. How much was done."""

    async def is_maintenance_due(self, now: float) -> bool:
        """Is it time for such a step? One process at a time is enough, and not all the time."""

    def changes(self) -> int:
        """A number that is another one whenever anybody has written. Cheap enough to ask fifty times a second."""

    async def latest_at(self) -> float:
        """When the last event happened here, by the clock of whoever wrote it; 0.0 in an empty store. What was imported
        happened elsewhere."""

    async def close(self) -> None: ...
