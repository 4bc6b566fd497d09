"""The verbs that every surface speaks, and what they answer. The door must not change the answer."""

from collections.abc import AsyncGenerator, Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from telex.model.delivery import Delivery
from telex.model.event import Event
from telex.model.finding import Finding
from telex.model.message import Lease, Message, NewMessage, Rendering
from telex.model.roster import HUMAN, Member
from telex.ports.store import EVERYTHING, AppendResult, Query

if TYPE_CHECKING:
    from telex.model.contracts import PathVerdict  # whoever only sends does without
    from telex.model.escalation import Escalation
    from telex.model.shutdown import ShutdownReport
    from telex.model.stall import Stall


class Receipt(NamedTuple):
    """What became of a message that was sent. `accepted` says it all; the rest says why and how to go on."""

    accepted: bool
    id: str
    state: str  # stored, acked, … as `why` would say it; refused
    to: tuple[str, ...] = ()  # the inboxes it lies in
    dialect: str | None = None
    type: str | None = None
    findings: tuple[Finding, ...] = ()
    duplicate: bool = False  # it had been accepted before; nothing was done
    answer: str | None = None  # for a refused message: the error message its dialect has for this, ready to show
    fixed: str | None = None  # for a refused message: how it would pass, or a skeleton with blanks
    certain: bool = False  # is `fixed` complete, or are there blanks to fill?


class MessageHistory(NamedTuple):
    """Everything about one message."""

    message: Message
    state: str
    deliveries: tuple[Delivery, ...]
    events: tuple[Event, ...]
    answer_by: float | None = None  # it waits for an answer until then


class Presence(NamedTuple):
    """A member as it is now."""

    member: Member
    state: str  # here, silent, not seen yet, shut down, left; shared for an inbox that a role has in common
    waiting: int
    leased: int
    oldest_at: float | None  # of what is open in its inbox


class Bus(Protocol):
    async def send(
        self,
        raw: bytes | str | dict[str, Any],
        *,
        sender: str,
        role: str | None = None,
        to: str | None = None,
        id: str | None = None,
        reply_to: str | None = None,
        correlation: str | None = None,
    ) -> Receipt:
        """Check a message and keep it for its recipients. Refused: a receipt that says why; nothing is delivered.

        Raises:
            OutcomeUnknown: the write failed half-way; send again with the id it names.
            StoreError: the store cannot keep it; nothing was stored.
        """

    async def receive(
        self, agent: str, *, role: str | None = None, limit: int = 1, wait: float = 0.0, lease: float | None = None
    ) -> list[Lease]:
        """Lease up to that many messages, waiting so many seconds for the first. Nothing there: an empty list."""

    async def ack(self, token: str, *, agent: str) -> bool:
        """Done with it. False: it was acked before, which is as well.

        Raises:
            LeaseLost: the lease ran out or passed to another.
        """

    async def nack(self, token: str, *, agent: str, reason: str, delay: float | None = None) -> Delivery:
        """Reject it: it is retried later, or becomes a dead letter after the last attempt."""

    async def extend(self, token: str, *, agent: str, seconds: float | None = None) -> float:
        """Keep it longer. When the lease now runs out."""

    async def request(
        self,
        raw: bytes | str | dict[str, Any],
        *,
        sender: str,
        role: str | None = None,
        to: str | None = None,
        id: str | None = None,
        reply_to: str | None = None,
        correlation: str | None = None,
        timeout: float | None = None,
    ) -> Receipt | Lease:
        """Send, and wait for the reply, which is leased to the sender. Refused: the receipt.

        Raises:
            RequestTimedOut: no reply in time; the request goes on and `why` tells about it.
        """

    async def read(self, id: str, *, agent: str) -> Message:
        """Look at a message without taking it. It still waits."""

    async def inbox(self, agent: str, *, role: str | None = None, limit: int = 100) -> list[tuple[Delivery, Message]]:
        """What waits for an agent, in the order in which it will come. Nothing is leased by looking."""

    async def rendering(self, message: Message, *, agent: str) -> Rendering | None:
        """What this agent is given in the place of the message, by what it reads; if it has had it, what it was given
        then. None: the message itself.

        Raises:
            NotFound: nobody of that name is or was in the team.
        """

    async def why(self, id: str) -> list[MessageHistory]:
        """The whole story of every message of that id: usually one.

        Raises:
            NotFound: none has it.
        """

    async def settled(self, id: str, *, sender: str, until: str, timeout: float) -> MessageHistory:
        """Wait until a message is acked (or read, or leased), or cannot be any more. The story then, or at the end."""

    def events(
        self, query: Query = EVERYTHING, *, follow: bool = False, wait: float | None = None
    ) -> AsyncGenerator[tuple[Event, Message | None], None]:
        """What happened, in order; with `follow`, also what happens next, for ever or until nothing has for `wait`."""

    async def search(self, text: str, *, limit: int = 50) -> list[Message]:
        """Messages in which all these words stand, newest first."""

    async def trace(self, correlation: str) -> list[MessageHistory]:
        """The stories of every message of a conversation, oldest first."""

    async def work_state(self, kind: str) -> dict[str, Any]:
        """The matters of the work of that kind as they stand, by topic: plan, approval, task, shutdown, …"""

    async def guard(
        self,
        paths: Sequence[str],
        *,
        agent: str,
        role: str | None = None,
        plan: str | None = None,
        resolve: Callable[[str], str | None] | None = None,
    ) -> "list[PathVerdict]":
        """May this agent write these paths now? With the reason for each, and where not, the request to send.

        Who has the project's files at hand brings `resolve`: where a path of the project really leads, from its root,
        or None when that is outside; links are then followed.

        Raises:
            NotAMember: nobody of that name is known, nor what contracts it would be under.
            NotFound: there is no contract of that plan.
        """

    async def escalations(self, *, answered: bool = False) -> "list[Escalation]":
        """What was handed up and waits for an answer, oldest first; with `answered`, what had one too."""

    async def stall(self) -> "Stall":
        """Who waits for whom, where it does not go on, and what would set it going again."""

    async def approve(
        self,
        id: str,
        *,
        approved: bool,
        reason: str,
        agent: str = HUMAN,
        role: str | None = None,
        conditions: Sequence[str] = (),
        modifications: Sequence[str] = (),
    ) -> Receipt:
        """Answer a request for approval, in its own dialect, to whoever asked. Refused: a receipt that says why.

        Raises:
            NotFound: nobody has asked for anything under that id.
            InvalidValue: its dialect has no words for conditions or modifications.
        """

    async def roster(self) -> list[Presence]:
        """Everybody who is or was in the team, as they are now."""

    async def join(self, name: str, *, role: str | None = None, dialects: Sequence[str] = ()) -> Member | Finding:
        """Come into the team, or say anew which dialects one reads. Refused: the finding that says why."""

    async def leave(self, name: str) -> int:
        """Take an agent out of the team. What still waited for it is withdrawn and its senders told: how much."""

    async def shut_down(
        self,
        *,
        agent: str,
        reason: str,
        deadline: float = 60.0,
        team: str | None = None,
        force: bool = False,
        wait: bool = True,
    ) -> "ShutdownReport":
        """Ask everyone to shut down, and wait until all have answered or so many seconds have passed. Where all have
        agreed, or with `force`, the team is dissolved. Running it again goes on with what another run has begun.

        Raises:
            NotAMember: whoever asks is not on the roster.
            InvalidValue: no dialect of the team can ask anybody to shut down, or it does without the rules of the work.
        """

    async def dead_letters(self, *, limit: int = 100) -> list[tuple[Delivery, Message]]:
        """What was given up, newest first."""

    async def retry(self, id: str) -> int:
        """Give the dead deliveries of a message one more round of attempts. How many."""

    async def drop(self, id: str, *, reason: str, agent: str = HUMAN) -> int:
        """Give up on the dead deliveries of a message. How many."""

    async def import_messages(self, entries: Sequence[NewMessage]) -> list[AppendResult]:
        """Keep messages of another record as history: found and shown, delivered to nobody. Twice is once."""

    async def sweep(self) -> int:
        """Do what the clock asks for: expired leases, late answers, old ids, old records. How much was done."""

    async def close(self) -> None: ...
