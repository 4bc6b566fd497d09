"""Work state of a replay: topic states in memory, updated in place."""

from collections.abc import Mapping
from typing import Any

from telex.dialects.schema import Dialect
from telex.model.roster import Member
from telex.replay.log_clock import LogClock
from telex.replay.team import ReplayTeam
from telex.validation.check import CheckPolicy
from telex.work import reducer
from telex.work.approvals import Approval, topic_of
from telex.work.mutable_state import OWNED, mutable_state
from telex.work.rule_set import LazyFinding, RuleContext
from telex.work.user_dialect_requests import decides_nothing
from telex.work.view import WorkMessage

_NEW = tuple.__new__  # makes a NamedTuple in half the time


class ReplayWorkState:
    def __init__(self, desk: CheckPolicy, team: ReplayTeam, settings: Mapping[str, Any]) -> None:
        self._book: dict[str, Any] = {}
        self.times = LogClock()
        self._team, self._limits, self._settings = team, desk.limits, settings
        self._dialects: dict[str, Dialect] = {dialect.name: dialect for dialect in desk.dialects}

    @property
    def book(self) -> dict[str, Any]:
        return self._book

    def is_untouched(self, topics: tuple[str, ...]) -> bool:
        """Has nobody ever said anything in these, each of which is one for the whole team?"""
        return self._book.keys().isdisjoint(topics)

    def weigh(self, work_message: WorkMessage) -> tuple[LazyFinding, ...]:
        """What speaks against it, and what its sender should know."""
        if not reducer.rule_checks(work_message.action):
            return ()
        return reducer.lazy_findings(work_message, self._book, self._ground(work_message.at))

    def answered_in_own_words(self, work_message: WorkMessage) -> tuple[LazyFinding, ...]:
        """What is said of an answer in a team's own words, if it names something that the book keeps."""
        approval: Approval | None = (
            self._book.get(topic_of(work_message.reply_to)) if work_message.reply_to is not None else None
        )
        return () if approval is None else decides_nothing(work_message, approval, self._dialects)

    def write(self, work_message: WorkMessage) -> tuple[Member, ...]:
        """Write it down. Who has shut down by it."""
        book = self._book
        topics = reducer.topics_changed(work_message, book)
        if topics:
            self.times.saw(work_message.at)
        for topic in topics:
            kind = reducer.kind_of(topic)
            state = reducer.fold_of(kind)(book.get(topic), work_message)
            book[topic] = mutable_state(kind, state) if kind in OWNED else state
        return reducer.stopping(work_message, book, self._ground(work_message.at))

    def _ground(self, at: float) -> RuleContext:
        return _NEW(RuleContext, (at, self._team.roster, self._limits, self._settings, self._dialects))
