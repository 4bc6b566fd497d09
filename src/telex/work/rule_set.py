"""Types of the work rules: a WorkRules for each action and module, a Fold for each kind of topic.

Everything here is pure. The fold of a topic depends on nothing but its state and the message, so that folding one topic
alone and folding all of them give the same state.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

from telex.dialects.schema import Dialect, MessageType
from telex.model.finding import Finding
from telex.model.limits import LIMITS, Limits
from telex.model.roster import Roster
from telex.work.view import WorkMessage

Book = Mapping[str, Any]  # topic → its state; a topic in which nothing was said is not there
Topics = Iterable[str]


class RuleContext(NamedTuple):
    """What a decision stands on besides the book."""

    now: float
    roster: Roster
    limits: Limits = LIMITS
    settings: Mapping[str, Any] = {}  # what a team chose for the work: `task_states`, …
    dialects: Mapping[str, Dialect] = {}


class DraftMessage(NamedTuple):
    """A message that follows by itself from another: the bus gives it an id and keeps both together, or neither."""

    dialect: Dialect
    type: MessageType
    to: str  # an address, as for --to
    of: Mapping[str, Any]  # by the deed's names
    correlation: str | None = None
    reply_to: str | None = None
    id: str | None = None


def nothing(*_: Any) -> tuple[()]:
    return ()


class WorkRules(NamedTuple):
    """The rules of one module for one action. Each reads the topics it needs from `book`."""

    # Topics that the message belongs to once it is stored: only those whose state it changes.
    topics_changed: Callable[[WorkMessage, Book], Topics] = nothing
    # What the rules find in it.
    check: Callable[[WorkMessage, Book, RuleContext], Iterable[Finding]] = nothing
    # Messages that follow from it.
    follow_ups: Callable[[WorkMessage, Book, RuleContext], Iterable[DraftMessage]] = nothing


Fold = Callable[[Any, WorkMessage], Any]  # (state or None, message that belongs to the topic) → state
