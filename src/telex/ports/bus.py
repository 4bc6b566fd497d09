"""Bus port: the verbs of every surface, and their results."""

from collections.abc import AsyncGenerator, Callable, Sequence
from typing import TYPE_CHECKING, Any, Protocol, Required, TypedDict, Unpack

from telex.model.finding import Finding
from telex.model.message import Delivery, Event, LeasedMessage, NewMessage, Rendering, StoredMessage
from telex.model.named_tuple import NamedTuple
from telex.model.roster import HUMAN, Member
from telex.ports.store import EVERYTHING, AppendResult, ConversationPage, Query

if TYPE_CHECKING:
    from telex.agent import Agent
    from telex.model.contracts import PathVerdict
    from telex.model.work import Escalation, ShutdownReport, Stall
    from telex.validation.check import CheckPolicy


class SendOptions(TypedDict, total=False):
    """Arguments of a send beside the message and its sender."""

    role: str | None
    to: str | None
    id: str | None
    reply_to: str | None
    correlation: str | None


class SendContext(SendOptions, total=False):
    """Arguments of a send from which a message fills its envelope."""

    sender: Required[str]
    to_role: str | None
    now: float | None  # the time in the envelope; None: the time at which the message was made
    new_id: str | None  # the id where `id` is None; None: a random one


class Encodable(Protocol):
    """A typed message that encodes itself with its envelope, such as one of `telex.messages`."""

    def encode(self, **context: Unpack[SendContext]) -> bytes:
        """The message as bytes, with what it lacks filled from the arguments of the send."""


Raw = bytes | str | dict[str, Any] | Encodable  # a message to be sent


def as_bytes(raw: Raw, **context: Unpack[SendContext]) -> bytes:
    """The message as bytes. The context is for a message that writes its own envelope."""
    if isinstance(raw, bytes):
        return raw
    if isinstance(raw, dict):
        import json

        raw = json.dumps(raw, ensure_ascii=False)
    if isinstance(raw, str):
        return raw.encode("utf-8", "surrogatepass")  # a lone surrogate is then a finding, not an exception
    return raw.encode(**context)


class Receipt(NamedTuple):
    """The result of a send: accepted or not, with findings and a fixed message."""

    accepted: bool
    id: str
    state: str  # stored, acked, … as in `why`; or refused
    to: tuple[str, ...] = ()  # inboxes
    dialect: str | None = None
    type: str | None = None
    findings: tuple[Finding, ...] = ()
    duplicate: bool = False  # it was accepted before; nothing was stored
    answer: str | None = None  # for a refused message: its dialect's error message
    fixed: str | None = None  # for a refused message: the fixed message, or a skeleton with blanks
    certain: bool = False  # `fixed` is complete; False: it has blanks to fill


class UnreadInbox(NamedTuple):
    """An inbox with a waiting message that no agent reads."""

    inbox: str
    say: str  # the reason, without capital letter and full stop


class MessageHistory(NamedTuple):
    """Everything about one message."""

    message: StoredMessage
    state: str
    deliveries: tuple[Delivery, ...]
    events: tuple[Event, ...]
    answer_by: float | None = None  # it waits for an answer until then
    unread: tuple[UnreadInbox, ...] = ()  # where it waits and no agent reads


class MessageState(NamedTuple):
    """The state of one message, without its history."""

    message: int
    state: str  # as in MessageHistory
    inboxes: int
    acked: int  # of the inboxes


class Presence(NamedTuple):
    """A member as it is now."""

    member: Member
    state: str  # here, silent, not seen yet, shut down, left; shared for an inbox that a role has in common
    waiting: int
    leased: int
    oldest_at: float | None  # of what is open in its inbox


class Wake(NamedTuple):
    """The wake of an agent: the notification of its session that there are unread messages."""

    agent: str
    stage: str  # none, due, delivered, seen or withdrawn
    number: int = 0  # of the event that made it due; 0: there was none
    unread: int = 0  # messages announced neither to the session nor by an earlier wake; at most 201
    newest: int = 0  # the number of the newest of them
    deliver_at: float | None = None  # of a due wake: the earliest delivery; None: not before a setting changes
    reason: str = ""  # why a due wake waits, or the last delivery failed
    claimed: bool = False  # this call has claimed the delivery: the caller makes it now


class Bus(Protocol):
    """The verbs of a team's message bus, on a store or at a hub. `telex.connect` opens one."""

    @property
    def policy(self) -> "CheckPolicy":
        """How messages are checked: dialects, limits, severities. For a hub: those of the caller's telex.toml."""

    def agent(self, name: str, *, role: str | None = None) -> "Agent":
        """This bus bound to one agent: sender and reader of every call. `role`: under which it joins."""

    async def send(
        self,
        raw: Raw,
        *,
        sender: str,
        role: str | None = None,
        to: str | None = None,
        id: str | None = None,
        reply_to: str | None = None,
        correlation: str | None = None,
        ack: str | None = None,
        check: bool = True,
    ) -> Receipt:
        """Check a message and store it for its recipients.

        A refused message is not delivered: `Refused` is raised, or, without `check`, the receipt has the findings.

        `ack`: the token of a message that the sender has leased. It is acked in the transaction that stores this one:
        both happen or neither. If the message is refused, the lease stays as it is. A second send of the same message
        under the same id gets the first one's receipt; another message under a lease that is acked is not stored.

        Raises:
            Refused: the message was refused; fix what its findings name.
            LeaseLost: the leased message was offered again, given up, withdrawn or acked; nothing was stored.
            NotFound: `ack` is not a token of a lease.
            OutcomeUnknown: the commit may have succeeded; retry with the id it names, which is deduplicated.
            StoreError: the store failed; nothing was stored.
        """

    async def receive(
        self, agent: str, *, role: str | None = None, limit: int = 1, wait: float = 0.0, lease: float | None = None
    ) -> list[LeasedMessage]:
        """Lease up to `limit` messages, waiting up to `wait` seconds for the first. An empty list if there are none."""

    async def ack(self, token: str, *, agent: str) -> bool:
        """Ack a message: the reader is done with it. False: it was acked already.

        Raises:
            LeaseLost: the message was offered again, given up or withdrawn.
        """

    async def nack(
        self,
        token: str,
        *,
        agent: str,
        reason: str,
        delay: float | None = None,
        final: bool = False,
        counted: bool = True,
    ) -> Delivery:
        """Nack a message: it is retried after `delay` seconds (default: backoff), or becomes a dead letter after the
        last attempt. `final`: it becomes a dead letter now. Not `counted`: it is returned unprocessed, delivered again
        at once or after `delay` seconds, and the attempt does not count.

        Raises:
            LeaseLost: as for `ack`.
            InvalidValue: `final` and not `counted`.
        """

    async def extend(self, token: str, *, agent: str, seconds: float | None = None) -> float:
        """Extend a lease. The time at which it now expires."""

    async def request(
        self,
        raw: Raw,
        *,
        sender: str,
        role: str | None = None,
        to: str | None = None,
        id: str | None = None,
        reply_to: str | None = None,
        correlation: str | None = None,
        timeout: float | None = None,
    ) -> LeasedMessage:
        """Send a request and wait for its reply, which is leased to the sender.

        Raises:
            Refused: the request was refused; it carries the receipt.
            RequestTimedOut: no reply in time; the request stays open.
            RequestFailed: no reply will come.
        """

    async def read(self, id: str, *, agent: str) -> StoredMessage:
        """Read a message without leasing it. It stays in the inbox."""

    async def inbox(
        self, agent: str, *, role: str | None = None, limit: int = 100
    ) -> list[tuple[Delivery, StoredMessage]]:
        """The inbox of an agent, in the order of delivery. Nothing is leased."""

    async def rendering(self, message: StoredMessage, *, agent: str) -> Rendering | None:
        """The form in which this agent receives the message, or received it. None: the message itself.

        Raises:
            NotFound: no member of that name is or was in the team.
        """

    async def why(self, id: str) -> list[MessageHistory]:
        """The history of every message with that id: usually one.

        Raises:
            NotFound: no message has that id.
        """

    async def settled(self, id: str, *, sender: str, until: str, timeout: float) -> MessageHistory:
        """Wait until a message is acked (or read, or leased), or cannot be any more. Its history then."""

    def events(
        self, query: Query = EVERYTHING, *, follow: bool = False, wait: float | None = None
    ) -> AsyncGenerator[tuple[Event, StoredMessage | None], None]:
        """Events in order; with `follow`, new ones too, for ever or until none has come for `wait` seconds."""

    async def search(self, text: str, *, limit: int = 50) -> list[StoredMessage]:
        """Messages that contain all these words, newest first."""

    async def trace(self, correlation: str) -> list[MessageHistory]:
        """The history of every message of a conversation, oldest first."""

    async def conversations(self, *, before: int | None = None, limit: int = 30) -> ConversationPage:
        """Conversations, the one with the latest message first; at most 100. `before` is `next` of the page before."""

    async def states(self, messages: Sequence[int]) -> list[MessageState]:
        """The states of the messages with these numbers, at most 1,000; of those that are stored."""

    async def work_state(self, kind: str) -> dict[str, Any]:
        """The work state of one kind, by topic: plan, approval, task, shutdown, …"""

    async def guard(
        self,
        paths: Sequence[str],
        *,
        agent: str,
        role: str | None = None,
        plan: str | None = None,
        resolve: Callable[[str], str | None] | None = None,
    ) -> "list[PathVerdict]":
        """Whether an agent may write these paths now, with the reason, and the request to send where it may not.

        A caller with access to the project's files gives `resolve`, which follows symbolic links: the real path from
        the project's root, or None when it is outside.

        Raises:
            NotAMember: the agent is unknown, and so are its contracts.
            NotFound: the plan has no contract.
        """

    async def escalations(self, *, answered: bool = False) -> "list[Escalation]":
        """Open escalations, oldest first; with `answered`, answered ones too."""

    async def stall(self) -> "Stall":
        """Agents that wait for each other, where that is a stall, and the commands that resolve it."""

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
        revision: int | None = None,
        check: bool = True,
    ) -> Receipt:
        """Answer an approval request, in its dialect, to the agent that asked. An approval of a wider contract without
        `modifications` grants the paths that the request names; if it names none, nothing is decided. `revision`: of
        the contract that the answer was made for; if it was revised since, the answer is refused.

        A refused answer decides nothing: `Refused` is raised, or, without `check`, the receipt has the findings.

        Raises:
            Refused: the answer was refused.
            NotFound: no approval request has that id.
            InvalidValue: its dialect has no conditions or modifications.
        """

    async def roster(self) -> list[Presence]:
        """Current and former members of the team, with their presence."""

    async def join(
        self, name: str, *, role: str | None = None, dialects: Sequence[str] = (), by: str | None = None
    ) -> Member:
        """Join the team, or change the dialects that the agent reads. `by`: who adds the agent, if not itself; one that
        has shut down is added by a lead or a person only.

        Raises:
            NotAMember: it cannot join; `finding` says why.
        """

    async def leave(self, name: str) -> int:
        """Remove an agent from the team; withdraw its messages and notify their senders. The number withdrawn."""

    async def wake(
        self,
        agent: str,
        *,
        by: str | None = None,
        announced: int = 0,
        session: str | None = None,
        way: str | None = None,
        failed: str | None = None,
        force: bool = False,
    ) -> Wake:
        """Update the state of an agent's wake: due if there are unread messages after number `announced`, withdrawn if
        they were read, seen if the agent has read its inbox. With `way`, the caller claims a due wake, unless it has to
        wait: then `claimed` is true, and the caller delivers it, or reports with `failed` why it could not. `force`
        ignores grace, quiet hours, budget and `announced`. `session`: the agent's session that the caller knows; what
        was delivered to another one does not count. At most one wake of an agent is due or delivered at a time.

        Raises:
            NotAMember: no agent of that name can be in the team.
        """

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
        """Ask all agents to shut down, and wait until all have answered or `deadline` seconds have passed. If all have
        agreed, or with `force`, the team is dissolved. A second call continues the shutdown.

        Raises:
            NotAMember: the agent is not on the roster.
            InvalidValue: no dialect of the team has a shutdown request, or the work rules are off.
        """

    async def dead_letters(self, *, limit: int = 100) -> list[tuple[Delivery, StoredMessage]]:
        """Dead letters, newest first."""

    async def retry(self, id: str, *, agent: str = HUMAN) -> int:
        """Retry the dead deliveries of a message with a new round of attempts. The number retried."""

    async def drop(self, id: str, *, reason: str, agent: str = HUMAN) -> int:
        """Drop the dead deliveries of a message. The number dropped."""

    async def import_messages(self, entries: Sequence[NewMessage]) -> list[AppendResult]:
        """Import messages of another log as history: searchable, not delivered. Idempotent."""

    async def sweep(self) -> int:
        """Run maintenance: expired leases, overdue replies, old ids, retention. The number of changes."""

    async def close(self) -> None:
        """Close the store. A `with` statement does it."""
