"""Changes of the page's history: which messages, agents and conversations the latest events concern.

An update for a page is made from the changes after the last event that the page has, however many there are.
"""

from collections import deque
from collections.abc import Iterable, Iterator
from typing import Any

from telex.model.message import BRINGING, COMING_AND_GOING, Event
from telex.model.named_tuple import NamedTuple
from telex.surfaces.page.history import History, PageMessage
from telex.surfaces.page.rows import row

CHANGES_MAX = 20_000  # a page that is further behind loads everything again
ROWS_MAX = 200  # of one update
NAMES_MAX = 500  # agents or conversations of one update

Facts = dict[str, Any]


class Change(NamedTuple):
    """An event, its message and the agents that it concerns."""

    seq: int
    at: float
    message: PageMessage | None
    agents: tuple[str, ...]
    is_roster: bool  # an agent came or went


class Update(NamedTuple):
    """Everything that changed after one event, up to another."""

    messages: tuple[PageMessage, ...] = ()
    agents: tuple[str, ...] = ()
    conversations: tuple[str, ...] = ()
    is_roster: bool = False
    is_reset: bool = False  # more changed than an update has place for

    def facts(self, now: float) -> Facts:
        facts: Facts = {
            "rows": [row(message, now) for message in self.messages],
            "agents": self.agents,
            "conversations": self.conversations,
            "roster": self.is_roster,
        }
        return facts | {"reset": True} if self.is_reset else facts


RESET = Update(is_roster=True, is_reset=True)


class ChangeLog:
    """The latest changes, in the order of the events."""

    def __init__(self) -> None:
        self._changes: deque[Change] = deque(maxlen=CHANGES_MAX)

    def add(self, event: Event, message: PageMessage | None) -> None:
        agents = dict.fromkeys(_agents(event, message))
        self._changes.append(Change(event.seq, event.at, message, tuple(agents), event.kind in COMING_AND_GOING))

    def after(self, seq: int, history: History) -> Update:
        """Changes after this event."""
        if seq >= history.position:
            return Update()
        if not self._changes or self._changes[0].seq > seq + 1:
            return RESET
        return _merged(self._later(seq))

    def _later(self, seq: int) -> Iterator[Change]:
        """Changes after this event, the latest first."""
        for change in reversed(self._changes):
            if change.seq <= seq:
                return
            yield change


def _agents(event: Event, message: PageMessage | None) -> Iterator[str]:
    if event.agent:
        yield event.agent
    if event.inbox:
        yield event.inbox
    if message is None:
        return
    yield message.sender  # it may wait for the outcome
    if event.kind in BRINGING:
        for delivery in message.deliveries[:NAMES_MAX]:
            yield delivery.inbox


def _merged(changes: Iterable[Change]) -> Update:
    messages: dict[int, PageMessage] = {}
    agents: dict[str, None] = {}
    conversations: dict[str, None] = {}
    is_roster = False
    for change in changes:
        agents.update(dict.fromkeys(change.agents))
        is_roster = is_roster or change.is_roster
        if change.message is not None:
            messages[change.message.seq] = change.message
            if change.message.conversation:
                conversations[change.message.conversation] = None
        if len(messages) > ROWS_MAX or max(len(agents), len(conversations)) > NAMES_MAX:
            return RESET
    ordered = tuple(messages[seq] for seq in sorted(messages, reverse=True))
    return Update(ordered, tuple(agents), tuple(conversations), is_roster)
