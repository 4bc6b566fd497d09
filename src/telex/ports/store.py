"""What must a store do? Keep bytes unread, and never say that something is stored when it may be lost.

A store decides nothing about the work: when to try again and when to give up comes in as a `Settlement`, with the
state it was decided upon. If that state has changed meanwhile, the settlement does not happen, and nothing of it does.
Each verb is all-or-nothing for each item it is given. The verbs are async so that a store may be a network away; one
that never waits may be driven without an event loop.
"""

from collections.abc import Callable, Sequence
from typing import Literal, NamedTuple, Protocol

from telex.model.delivery import Delivery, State
from telex.model.event import Event
from telex.model.message import Lease, Message, NewMessage
from telex.model.roster import Member


class AppendResult(NamedTuple):
    """What became of an entry."""

    # stale: what it was weighed against has gone on; stopped: its sender has shut down in the meantime
    outcome: Literal["stored", "duplicate", "id-reused", "inbox-full", "stale", "stopped"]
    seq: int  # the message's number; of the earlier one for a duplicate; 0 where nothing was stored
    inbox: str | None = None  # the one that was full


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
    run_out_at: float | None = None  # the lease must have run out by this moment
    due_at: float = 0.0
    attempts: int | None = None  # None: as they are
    detail: str | None = None  # JSON for the event
    reports: tuple[NewMessage, ...] = ()  # messages that must be stored together with the change
    release: bool = False  # no request of this message is waited for any longer

    def holds_for(self, delivery: Delivery) -> bool:
        """Is the delivery still as it was when this was decided? Every store asks this, and nothing else."""
        return (
            delivery.state == self.was
            and self.fence in (None, delivery.fence)
            and self.holder in (None, delivery.holder)
            and (self.running_at is None or delivery.due_at > self.running_at)
            and (self.run_out_at is None or delivery.due_at <= self.run_out_at)
        )


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


Beside = Callable[[Lease], Event | None]  # what is to be told of a lease beyond that it was given


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


class Store(Protocol):
    async def append(self, entries: Sequence[NewMessage]) -> list[AppendResult]:
        """Keep each message with its deliveries, its event and its part in the work, durably. Repeating an entry does
        not keep it twice. One whose topics have gone on since it was weighed is `stale`, and one whose
        sender has shut down is `stopped`, unless it repeats an entry: nothing of either is stored."""

    async def lease(
        self,
        inboxes: Sequence[str],
        holder: str,
        now: float,
        until: float,
        limit: int,
        only: Sequence[int] = (),
        beside: Beside | None = None,
    ) -> list[Lease]:
        """Hand out what is due, by rank and then by number, at most that many. `only` these deliveries, if given. To a
        holder that has shut down, nothing.

        What `beside` says to a lease is written together with it; it may be asked twice about the same one.
        """

    async def settle(self, settlements: Sequence[Settlement]) -> list[SettleResult]:
        """Make each change whose delivery is still as it was seen. Telling twice is the same as telling once.

        With no settlements at all it still waits until everything that anybody has written so far is durable.
        """

    async def lapsed(self, now: float, limit: int) -> list[tuple[Delivery, Message]]:
        """Leases that have run out and have not been settled."""

    async def overdue(self, now: float, limit: int) -> list[tuple[PendingRequest, Message, list[Delivery]]]:
        """Requests whose answer is late."""

    async def remind(
        self,
        pending_request: PendingRequest,
        at: float,
        due_at: float | None,
        inboxes: Sequence[str],
        detail: str,
        reports: Sequence[NewMessage] = (),
    ) -> bool:
        """Count a missed deadline, unless `pending_request.attempts` has changed: an event `reply-overdue`, the next
        deadline, and the message once more in these inboxes (each with an event `request-repeated`). Without a next
        deadline also an event `expired`, and the request is no longer pending. The reports are stored with it."""

    async def pending_requests(
        self, id: str | None, correlation: str | None, types: Sequence[str] | None = None
    ) -> list[tuple[PendingRequest, Message]]:
        """Requests still waiting for an answer that have this id, or else belong to this conversation; only those of
        these types, unless any will do. Most messages ask this, whatever waits: it must not mean looking through it."""

    async def record(self, events: Sequence[Event]) -> None:
        """Write down what happened beside messages. Their `seq` is given by the store."""

    async def message(self, seq: int) -> Message | None: ...

    async def find(self, id: str) -> list[Message]:
        """Every message of that id, oldest first; refused ones too."""

    async def thread(self, correlation: str, limit: int) -> list[Message]:
        """Every message of a conversation, oldest first."""

    async def topic(self, name: str, after: int = 0) -> list[tuple[Event, Message]]:
        """What belongs to a topic, in order, each with the event that brought it; only what came after that number."""

    async def topics(self, kind: str) -> list[str]:
        """The topics of that kind: `plan:1-1` is one of kind `plan`, and `contracts` the only one of its own."""

    async def snapshot(self, topic: str) -> tuple[int, str] | None:
        """What was last written down of a topic: up to which message, and the words. None: nothing, or it was lost."""

    async def keep_snapshot(self, topic: str, seq: int, words: str) -> None:
        """Write that down, in the place of what was. Nothing is promised about its surviving anything."""

    async def held(self, holder: str) -> list[Message]:
        """What somebody has leased at the moment, oldest first."""

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

    async def upsert_member(self, member: Member, event: Event | None, *, back: bool = False) -> Member:
        """Write down a member as it now is, with the event that made it so. Where somebody else has joined under that
        name and in another role meanwhile, or it has shut down and does not come `back` expressly, that stands: the
        member as it is."""

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

    def others(self) -> int:
        """A number that is another one whenever somebody else has written; our own writes do not change it."""

    async def latest_at(self) -> float:
        """When the last event happened here, by the clock of whoever wrote it; 0.0 in an empty store. What was imported
        happened elsewhere."""

    async def close(self) -> None: ...
