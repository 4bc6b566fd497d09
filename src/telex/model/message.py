"""A message as it is stored: its bytes, exactly as they came, and what the bus needs to know of them."""

from typing import NamedTuple

from telex.model.event import Event, detail_of
from telex.model.roster import ALL_OF_ROLE, EVERYONE, Member


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
