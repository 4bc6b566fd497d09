"""Mail of a session: unread messages and leases of its agent, read from the store without a bus.

A hook runs for every tool call and pays for its imports, so this uses the store alone: no dialects, no work state.
"""

from telex.bus import run_sync
from telex.delivery import lifecycle
from telex.model.limits import LIMITS
from telex.model.message import Delivery, StoredMessage
from telex.model.named_tuple import NamedTuple
from telex.model.roster import ONE_OF_ROLE, Member
from telex.model.text import shown
from telex.ports.store import DeliveryQuery, Reads, events_of, settle, with_messages
from telex.stores.sqlite.store import SqliteStore
from telex.surfaces.clients.answers import shell_word
from telex.surfaces.clients.json_text import parse

LISTED_MAX = 5  # messages in one text
WORDS_CHARACTERS_MAX, NAME_CHARACTERS_MAX = 100, 64
RENEW_BEFORE_SECONDS = 300.0  # a lease that expires sooner is renewed
RENEW_SECONDS = 600.0
_READ_MAX = 200
_HEADER_FIELDS = frozenset({"id", "type", "timestamp", "schema_version", "author_role", "phase", "task", "confidence"})


class Unread(NamedTuple):
    total: int
    newest: int  # number of the newest message
    messages: tuple[StoredMessage, ...]  # the first ones, in the order in which they are offered


class HeldLeases(NamedTuple):
    deliveries: tuple[Delivery, ...]
    expires_at: float  # the first of them; 0: there is none


class Mail:
    """Reader of an existing store. `close` is for a process that goes on: closing checkpoints the write-ahead log,
    whose size and time other hooks compare."""

    def __init__(self, path: str) -> None:
        self._store = SqliteStore.open(path)

    def close(self) -> None:
        run_sync(self._store.close())

    def is_member(self, name: str) -> bool:
        members = run_sync(self._store.read(_members))
        return name in members

    def unread(self, agent: str, after: int) -> Unread:
        """Messages with a higher number than `after` that wait for this agent."""
        return run_sync(self._store.read(_unread, agent, after))

    def leases_of(self, agent: str) -> HeldLeases:
        deliveries = run_sync(self._store.read(_leased, agent))
        return HeldLeases(tuple(deliveries), min((one.due_at for one in deliveries), default=0.0))

    def renew(self, agent: str, now: float) -> HeldLeases:
        """Renew the leases of this agent that expire soon, but hold none for longer than an MCP server would."""
        held = self.leases_of(agent)
        due = [one for one in held.deliveries if one.due_at < now + RENEW_BEFORE_SECONDS]
        due = [one for one in due if self._leased_at(one) > now - LIMITS.hold_seconds_max]
        if not due:
            return held
        until = now + RENEW_SECONDS
        run_sync(settle(self._store, [lifecycle.extended(one.seq, one.fence, agent, now, until) for one in due]))
        return self.leases_of(agent)

    def _leased_at(self, delivery: Delivery) -> float:
        events = run_sync(self._store.read(events_of, delivery.message))
        return max((one.at for one in events if (one.kind, one.delivery) == ("leased", delivery.seq)), default=0.0)

    def give_back(self, agent: str, now: float) -> int:
        """Release the leases of this agent, so that the messages are delivered again. How many."""
        held = self.leases_of(agent).deliveries
        if held:
            run_sync(settle(self._store, [lifecycle.returned(one, now, "its session has ended") for one in held]))
        return len(held)


def _members(reads: Reads) -> dict[str, Member]:
    return {member.name: member for member in reads.members()}


def _unread(reads: Reads, agent: str, after: int) -> Unread:
    members = _members(reads)
    role = members[agent].role if agent in members else agent
    named_like_role = (role,) if role != agent and role not in members else ()
    inboxes = (agent, ONE_OF_ROLE + role, *named_like_role)
    query = DeliveryQuery(inboxes=inboxes, after=after, states=("stored",), order="offer", limit=_READ_MAX)
    deliveries = [one for one in reads.deliveries(query) if one.message > after]
    messages = [message for _, message in with_messages(reads, deliveries[:LISTED_MAX])]
    return Unread(len(deliveries), max((one.message for one in deliveries), default=0), tuple(messages))


def _leased(reads: Reads, agent: str) -> list[Delivery]:
    return reads.deliveries(DeliveryQuery(states=("leased",), holder=agent))


# --- text -------------------------------------------------------------------------------------------------------------
def unread_lines(unread: Unread, agent: str) -> list[str]:
    """At most eight lines about unread messages. What other agents wrote is behind `|`."""
    many = "1 new message" if unread.total == 1 else f"{unread.total} new messages"
    lines = [f"Telex: {many} for {word(agent)}. The text behind | was written by other agents."]
    lines += [_line(message) for message in unread.messages]
    if unread.total > len(unread.messages):
        lines.append(f"and {unread.total - len(unread.messages)} more")
    return [
        *lines,
        f"The telex tool `wait` receives them; so does: telex receive --as {shell_word(agent)}",
    ]


def _line(message: StoredMessage) -> str:
    type_ = message.type or message.dialect or "plain"
    id_, type_, sender = (word(name) for name in (message.id, type_, message.sender))
    return f"{id_} {type_} from {sender} | {first_words(message.raw)}"


def word(name: str) -> str:
    """A name that another agent chose, as one word: with blanks and `|` it could look like a line of ours."""
    return _cut(name, NAME_CHARACTERS_MAX).replace(" ", "\\x20").replace("|", "\\x7c")


def first_words(raw: bytes) -> str:
    """The beginning of a message on one line; of JSON the values, without those of the header."""
    text = raw[: 64 * 1024].decode("utf-8", "replace")
    if text.lstrip()[:1] == "{":
        try:
            tree = parse(text)
        except ValueError:
            tree = None
        if isinstance(tree, dict):
            fields = tree["payload"] if isinstance(tree.get("payload"), dict) else tree
            words = [f"{name}: {value}" for name, value in fields.items() if _is_shown(name, value)]
            text = ", ".join(words) or text
    return _cut(" ".join(text.split()), WORDS_CHARACTERS_MAX)


def _is_shown(name: str, value: object) -> bool:
    return name not in _HEADER_FIELDS and isinstance(value, str | int | float) and value != ""


def _cut(text: str, limit: int) -> str:
    text = shown(text if len(text) <= limit else text[: limit - 1] + "…")
    return text if len(text) <= 2 * limit else text[: 2 * limit]  # escapes are longer
