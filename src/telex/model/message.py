"""What happened: the one record from which inboxes, receipts, logs, traces and the page are told.

Event kinds are listed here with what they mean; the docs and `telex why` take their words from this table.
"""

from typing import Any, Literal, NamedTuple

from telex.model.roster import ALL_OF_ROLE, EVERYONE, Member


class Event(NamedTuple):
    seq: int
    at: float  # seconds since 1970, UTC
    kind: str  # one of KINDS
    agent: str | None = None  # who did it
    message: int | None = None  # the message's number
    delivery: int | None = None
    inbox: str | None = None
    detail: str | None = None  # JSON; what it holds depends on the kind


KINDS: dict[str, str] = {
    "accepted": "the message passed every check and is stored for its recipients",
    "refused": "the message was refused; its bytes and the findings are stored",
    "imported": "the message was imported from another log; it is history and is not delivered",
    "duplicate": "the same message was sent again within the deduplication window and was ignored",
    "leased": "a reader received the message and holds it until the lease expires",
    "translated": "the reader received the message in a dialect that it reads, or as markdown",
    "read": "the recipient looked at the message without leasing it",
    "extended": "the reader extended its lease",
    "acked": "the reader has finished with the message",
    "returned": "the reader disconnected before it had the message, or has shut down; the attempt does not count",
    "nacked": "the reader rejected the message with a reason; it is retried",
    "lease-expired": "the lease expired without an ack or nack; the message is retried",
    "dead": "the last attempt failed, or the stored bytes are damaged; the sender was notified",
    "reply-overdue": "no reply came by the deadline",
    "request-repeated": "the request was delivered to the inbox once more",
    "expired": "no reply came to any repetition of the request",
    "answered": "the reply to a request arrived",
    "retried": "a person retried a dead letter",
    "dropped": "a person dropped a dead letter",
    "withdrawn": "a waiting message was withdrawn, since its recipient has left",
    "conversation-idle": "no message was sent in this conversation for `conversation_seconds`",
    "returned-to-sender": "a waiting message was withdrawn, since its recipient has shut down; the sender was notified",
    "joined": "an agent joined the team",
    "left": "an agent left the team",
    "stopped": "an agent agreed to shut down: it sends and receives no more messages",
    "forced": "an agent that did not agree to shut down was stopped",
    "dissolved": "every agent that was asked to shut down has stopped; the team is dissolved",
}
COMING_AND_GOING = ("joined", "left", "stopped", "forced")  # the kinds after which a member's standing is another
BRINGING = ("accepted", "refused", "imported")  # the kinds that bring a message; their number is the message's

ELSEWHERE = ("imported", "refused")  # what may have come from another record, and tells nothing about the time here


def detail_of(event: Event) -> dict[str, Any]:
    """What the event says beyond its kind. A detail that is no object, as a foreign record may have, says nothing."""
    import json

    try:
        found = json.loads(event.detail) if event.detail else {}
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


CHANGES = ("lost", "invented", "narrowed")  # what a rendering may have done to a message


def rendered_as(detail: dict[str, Any]) -> str:
    """`build-flow STATUS_UPDATE, 2 lost, 1 invented`: what an event `translated` says, not yet safe to look at."""
    words = [str(word) for word in (detail.get("dialect"), detail.get("type")) if word]
    into = " ".join(words) if len(words) > 1 else "markdown"
    if detail.get("mistake"):
        into = f"{into}, since Telex failed to translate it ({detail['mistake']})"
    return ", ".join([into, *(f"{detail[name]} {name}" for name in CHANGES if detail.get(name))])


State = Literal["stored", "leased", "acked", "dead", "expired", "withdrawn"]
STATES: tuple[State, ...] = ("stored", "leased", "acked", "dead", "expired", "withdrawn")
OPEN: frozenset[State] = frozenset({"stored", "leased"})  # somebody still has to do something

AT_ONCE = 0.0  # a moment that has come by any clock: the reader's may be behind the sender's

MOVES: dict[State, frozenset[State]] = {
    "stored": frozenset({"leased", "acked", "stored", "dead", "expired", "withdrawn"}),  # leased, or settled late
    "leased": frozenset({"leased", "acked", "stored", "dead", "expired", "withdrawn"}),  # extended, or settled
    "acked": frozenset(),
    "dead": frozenset({"stored", "withdrawn"}),  # a person asked for one more try, or dropped it
    "expired": frozenset({"stored", "withdrawn"}),
    "withdrawn": frozenset(),
}
MEANINGS: dict[State, str] = {
    "stored": "stored and waiting in the inbox; after a failed attempt it waits for its backoff",
    "leased": "held by one reader until the lease expires",
    "acked": "the reader has finished with it",
    "dead": "every attempt failed, or its bytes are damaged; a person may retry or drop it until the record is pruned",
    "expired": "a request to which no reply came in time",
    "withdrawn": "dropped by a person, or its recipient has left or shut down",
}


class Delivery(NamedTuple):
    seq: int  # its number in the store; older ones have lower numbers
    message: int  # the message's number
    inbox: str  # an agent's name, or `role:qa` for whoever of that role comes first
    rank: int  # index of its priority in PRIORITIES; the lowest is served first
    state: State
    due_at: float  # stored: may be leased from here on. leased: the lease runs out here
    attempts: int = 0  # leases given so far; one that lapsed counts, since a silent agent and a failing one look alike
    fence: int = 0  # goes up with every lease, so that an ack under an older one is known for what it is
    holder: str | None = None  # who has it, or had it at the end; stored: whose lease expired, and may be settled late


class Message(NamedTuple):
    seq: int  # its number in the store, which is also that of the event that brought it
    id: str  # the sender's own, or given by Telex
    at: float  # seconds since 1970, UTC
    sender: str
    role: str  # the sender's, by the roster
    to: str  # as addressed: an agent, `role:qa`, `all:qa` or `*`
    dialect: str | None  # None: it could not be read
    type: str | None
    rank: int  # index of its priority in PRIORITIES
    correlation: str | None
    reply_to: str | None
    digest: bytes  # of raw, so that a changed byte is noticed
    raw: bytes
    refused: bool = False  # stored for the record, delivered to nobody


class WorkChange(NamedTuple):
    """What a message changes in the work: stored together with it."""

    topics: tuple[str, ...] = ()  # those whose state it changes; it is stored as long as the store is
    reports: tuple["NewMessage", ...] = ()  # messages that follow from it
    members: tuple[tuple[Member, Event], ...] = ()  # members that change with it, and the events that say so


class NewMessage(NamedTuple):
    """A message to be stored, before it has a number, and everything that must be written together with it."""

    id: str
    at: float
    sender: str
    role: str
    to: str
    dialect: str | None
    type: str | None
    rank: int
    correlation: str | None
    reply_to: str | None
    digest: bytes
    raw: bytes
    inboxes: tuple[str, ...] = ()
    kind: str = "accepted"  # of the event that brings it: accepted, refused or imported
    detail: str | None = None  # JSON for that event: findings, how long it took
    answer_by: float | None = None  # it asks for an answer, due at this moment
    answers_requests: tuple[int, ...] = ()  # requests that wait for this one, by number: they wait no longer
    work_change: WorkChange | None = None  # None: it has no part in the work


class Rendering(NamedTuple):
    """A message in words that its reader reads. It is made anew from the original whenever it is wanted."""

    dialect: str
    type: str | None  # None: markdown, which everybody reads
    raw: bytes
    lost: tuple[str, ...] = ()  # where the original says something that is not in here
    invented: tuple[str, ...] = ()  # where this says something that the original does not
    narrowed: tuple[str, ...] = ()  # where the original says it more exactly
    mistake: str = ""  # of Telex itself: where translating failed, so that the reader has markdown instead

    @property
    def size(self) -> int:
        """Of all that is told, about: a message of many fields is not the same in as many places."""
        return len(self.raw) + sum(map(len, (*self.lost, *self.invented, *self.narrowed)))


class Lease(NamedTuple):
    """A message in a reader's hands: settle it with `token` before `until`."""

    message: Message
    delivery: int
    inbox: str
    attempt: int
    fence: int
    until: float
    rendering: Rendering | None = None  # None: the reader reads it as it was sent

    @property
    def raw(self) -> bytes:
        """What the reader is to read."""
        return self.message.raw if self.rendering is None else self.rendering.raw

    @property
    def token(self) -> str:
        """What the reader shows when it settles: which delivery, under which lease."""
        return f"{self.delivery}.{self.fence}"


def stored_inboxes(event: Event, message: Message) -> tuple[str, ...]:
    """The inboxes that a message was stored for, by the event that stored it: it names them where the address does not
    say them."""
    if event.detail is not None and '"inboxes"' in event.detail:
        named = detail_of(event).get("inboxes")
        if isinstance(named, list):
            return tuple(inbox for inbox in named if isinstance(inbox, str))
    is_for_many = message.to == EVERYONE or message.to.startswith(ALL_OF_ROLE)
    return () if is_for_many else (message.to,)
