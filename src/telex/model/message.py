"""Messages, their deliveries and the events of the log.

The tables of event kinds and delivery states are the single source for the docs and for `telex why`.
"""

from typing import Any, Literal

from telex.model.named_tuple import NamedTuple
from telex.model.roster import ALL_OF_ROLE, EVERYONE, Member


class Event(NamedTuple):
    seq: int
    at: float  # seconds since 1970, UTC
    kind: str  # one of KINDS
    agent: str | None = None  # who did it
    message: int | None = None  # the message's number
    delivery: int | None = None
    inbox: str | None = None
    detail: str | None = None  # JSON, by kind


KINDS: dict[str, str] = {
    "accepted": "the message passed every check and is stored for its recipients",
    "refused": "the message was refused; its bytes and the findings are stored",
    "imported": "the message was imported from another log; it is history and is not delivered",
    "duplicate": "the same message was sent again within the deduplication window and was ignored",
    "leased": "a reader received the message and holds it until the lease expires",
    "translated": "the reader received the message in a dialect that it reads, or as markdown",
    "read": "the recipient read the message without leasing it",
    "extended": "the reader extended its lease",
    "acked": "the reader has finished with the message",
    "returned": "the reader returned the message, disconnected or has shut down; the attempt does not count",
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
    "wake-due": "an agent has unread messages and is to be woken; or the delivery of its wake failed, and is repeated",
    "wake-delivered": "the wake was delivered to the agent's session",
    "wake-seen": "the agent read its inbox after the wake",
    "wake-withdrawn": "the messages of a wake were read before its delivery, or the agent did not react to it in time",
    "alerted": "a hub has notified, or tries to notify, a person outside the page of what waits for one",
    "joined": "an agent joined the team",
    "left": "an agent left the team",
    "stopped": "an agent agreed to shut down: it sends and receives no more messages",
    "forced": "an agent that did not agree to shut down was stopped",
    "dissolved": "every agent that was asked to shut down has stopped; the team is dissolved",
}
COMING_AND_GOING = ("joined", "left", "stopped", "forced")  # kinds that change a membership
BRINGING = ("accepted", "refused", "imported")  # kinds that store a message; their number is the message's
WAKING = ("wake-due", "wake-delivered", "wake-seen", "wake-withdrawn")  # kinds that change a wake; inbox: the agent
ALERTED = "alerted"  # detail: target, batch and stage of a notification
ELSEWHERE = ("imported", "refused")  # kinds whose time may be that of another log


def detail_of(event: Event) -> dict[str, Any]:
    """The parsed detail; empty where it is no JSON object, as a foreign log may have it."""
    import json

    try:
        detail = json.loads(event.detail) if event.detail else {}
    except (ValueError, RecursionError):
        return {}
    return detail if isinstance(detail, dict) else {}


CHANGES = ("lost", "invented", "narrowed")  # kinds of changes by a translation


def rendered_as(detail: dict[str, Any]) -> str:
    """`build-flow STATUS_UPDATE, 2 lost, 1 invented`: text of an event `translated`, not escaped."""
    words = [str(word) for word in (detail.get("dialect"), detail.get("type")) if word]
    into = " ".join(words) if len(words) > 1 else "markdown"
    if detail.get("mistake"):
        into = f"{into}, since Telex failed to translate it ({detail['mistake']})"
    return ", ".join([into, *(f"{detail[name]} {name}" for name in CHANGES if detail.get(name))])


State = Literal["stored", "leased", "acked", "dead", "expired", "withdrawn"]
STATES: tuple[State, ...] = ("stored", "leased", "acked", "dead", "expired", "withdrawn")
OPEN: frozenset[State] = frozenset({"stored", "leased"})
AT_ONCE = 0.0  # due by any clock: the reader's may be behind the sender's

MOVES: dict[State, frozenset[State]] = {
    "stored": frozenset({"leased", "acked", "stored", "dead", "expired", "withdrawn"}),  # leased, or settled late
    "leased": frozenset({"leased", "acked", "stored", "dead", "expired", "withdrawn"}),  # extended, or settled
    "acked": frozenset(),
    "dead": frozenset({"stored", "withdrawn"}),  # a person retried or dropped it
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
    inbox: str  # an agent's name, or `role:qa` for the first agent of that role
    rank: int  # index of its priority in PRIORITIES; the lowest is served first
    state: State
    due_at: float  # stored: earliest lease. leased: expiry of the lease
    attempts: int = 0  # leases so far, expired ones included
    fence: int = 0  # goes up with every lease, so that an ack under an older lease is detected
    holder: str | None = None  # agent of the last lease; while stored, it may still settle its expired lease


class StoredMessage(NamedTuple):
    seq: int  # its number in the store, and of the event that stored it
    id: str  # the sender's own, or made by Telex
    at: float  # seconds since 1970, UTC
    sender: str
    role: str  # the sender's, by the roster
    to: str  # as addressed: an agent, `role:qa`, `all:qa` or `*`
    dialect: str | None  # None: it could not be parsed
    type: str | None
    rank: int  # index of its priority in PRIORITIES
    correlation: str | None
    reply_to: str | None
    digest: bytes  # of raw: detects damaged bytes
    raw: bytes
    refused: bool = False  # recorded, not delivered


class WorkChange(NamedTuple):
    """Changes of the work state, stored together with the message that causes them."""

    topics: tuple[str, ...] = ()  # their messages are never pruned
    reports: tuple["NewMessage", ...] = ()  # follow-up messages
    members: tuple[tuple[Member, Event], ...] = ()  # changed members, each with its event


class NewMessage(NamedTuple):
    """A message to be stored, with everything that is written in the same transaction."""

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
    kind: str = "accepted"  # of its event: accepted, refused or imported
    detail: str | None = None  # JSON for that event: findings, how long it took
    answer_by: float | None = None  # deadline of the answer that it asks for
    answers_requests: tuple[int, ...] = ()  # numbers of pending requests that it answers
    work_change: WorkChange | None = None


class Rendering(NamedTuple):
    """A message translated for its reader. It is computed on demand."""

    dialect: str
    type: str | None  # None: markdown
    raw: bytes
    lost: tuple[str, ...] = ()  # paths of the original that are missing here
    invented: tuple[str, ...] = ()  # paths that the original does not have
    narrowed: tuple[str, ...] = ()  # paths of the original with a more exact value
    mistake: str = ""  # where the translation failed; the reader gets markdown instead

    @property
    def size(self) -> int:
        return len(self.raw) + sum(map(len, (*self.lost, *self.invented, *self.narrowed)))


class LeasedMessage(NamedTuple):
    """A leased message: settle it with `token` before `until`."""

    message: StoredMessage
    delivery: int
    inbox: str
    attempt: int
    fence: int
    until: float
    rendering: Rendering | None = None  # None: the reader reads it as it was sent

    @property
    def raw(self) -> bytes:
        """The bytes for the reader: the translation, if there is one."""
        return self.message.raw if self.rendering is None else self.rendering.raw

    @property
    def token(self) -> str:
        """Delivery and fence, for ack, nack and extend."""
        return f"{self.delivery}.{self.fence}"


def stored_inboxes(event: Event, message: StoredMessage) -> tuple[str, ...]:
    """The inboxes that a message was stored for, from its event; the event names them where the address does not."""
    if event.detail is not None and '"inboxes"' in event.detail:
        named = detail_of(event).get("inboxes")
        if isinstance(named, list):
            return tuple(inbox for inbox in named if isinstance(inbox, str))
    is_for_many = message.to == EVERYONE or message.to.startswith(ALL_OF_ROLE)
    return () if is_for_many else (message.to,)
