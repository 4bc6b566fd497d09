"""How does the work stand at each point of a log? The book, as a trial writes it: nobody else holds any of its states.

The book grows with the work, and a log may be as long as it likes. So what nobody has in hand is put away, where there
is a place for it, and memory is for the rest.
"""

from collections.abc import Mapping
from typing import Any

from telex.dialects.schema import Dialect
from telex.model.roster import Member
from telex.replay.decoded_message import MessageContext
from telex.replay.fast_path import Values
from telex.replay.log_clock import LogClock
from telex.replay.plan_report_checks import PlanReportChecks
from telex.replay.spill_port import SpillPort
from telex.replay.state_cache import StateCache
from telex.replay.team import ReplayTeam
from telex.validation.check import CheckPolicy
from telex.work import blockers, reducer
from telex.work.actions import CHAPTERS
from telex.work.approvals import Approval, topic_of
from telex.work.mutable_state import OWNED, mutable_state
from telex.work.rule_set import LazyFinding, RuleContext
from telex.work.user_dialect_requests import decides_nothing
from telex.work.view import WorkMessage

_ABOUT_PLANS = frozenset(deed for deed, chapters in CHAPTERS.items() if "plans" in chapters)
_NEW = tuple.__new__  # makes a NamedTuple in half the time


class ReplayWorkState:
    def __init__(self, desk: CheckPolicy, team: ReplayTeam, settings: Mapping[str, Any]) -> None:
        self._book: dict[str, Any] = {}  # what is in memory
        self._whole: Mapping[str, Any] = self._book  # with what is not, once there is any
        self._shelf: StateCache | None = None
        self.times = LogClock()
        self.reports = PlanReportChecks(self._book, self.times)
        self._team, self._limits, self._settings = team, desk.limits, settings
        self._dialects: dict[str, Dialect] = {dialect.name: dialect for dialect in desk.dialects}

    def puts_away_into(self, away: SpillPort) -> None:
        """From now on what nobody has in hand goes there. Otherwise everything is in memory."""
        self._shelf = StateCache(self._book, away)

    @property
    def book(self) -> dict[str, Any]:
        """As it stands now, all of it in memory."""
        self.reports.settle()
        return self._shelf.in_memory() if self._shelf is not None and self._shelf.is_used else self._book

    def is_untouched(self, topics: tuple[str, ...]) -> bool:
        """Has nobody ever said anything in these, each of which is one for the whole team?"""
        return self._book.keys().isdisjoint(topics)

    def weigh(self, work_message: WorkMessage) -> tuple[LazyFinding, ...]:
        """What speaks against it, and what its sender should know."""
        does = work_message.action
        if does in _ABOUT_PLANS:
            self.reports.settle()
        return (
            reducer.lazy_findings(work_message, self._whole, self._ground(work_message.at))
            if reducer.rule_checks(does)
            else ()
        )

    def answered_in_own_words(self, work_message: WorkMessage) -> tuple[LazyFinding, ...]:
        """What is said of an answer in a team's own words, if it names something that the book keeps."""
        approval: Approval | None = (
            self._whole.get(topic_of(work_message.reply_to)) if work_message.reply_to is not None else None
        )
        return () if approval is None else decides_nothing(work_message, approval, self._dialects)

    def write(self, work_message: WorkMessage) -> tuple[Member, ...]:
        """Write it down. Who has shut down by it."""
        does, book, whole = work_message.action, self._book, self._whole
        if does in _ABOUT_PLANS:
            self.reports.settle()
        topics = reducer.topics_changed(work_message, whole)
        if topics:
            self.times.saw(work_message.at)
            self.reports.changed()
        for topic in topics:
            kind = reducer.kind_of(topic)
            state = reducer.fold_of(kind)(whole.get(topic), work_message)
            book.pop(topic, None)  # so that it stands behind all that was written before
            book[topic] = mutable_state(kind, state) if kind in OWNED else state
            if kind == blockers.KIND:
                self.reports.is_held_up(topic, state is not None)
        self._tidy()
        return reducer.stopping(work_message, book, self._ground(work_message.at)) if does == "stopped" else ()

    def blocked(self, told: Values, around: MessageContext) -> bool:
        """Somebody cannot go on, told at a glance. False: it has to be weighed."""
        is_told = self.reports.blocked(told, around)
        self._tidy()
        return is_told

    def _tidy(self) -> None:
        """Put away what nobody has in hand, when there is much in memory."""
        shelf = self._shelf
        if shelf is not None and len(self._book) > shelf.topics_max:
            shelf.put_away(self.reports.in_hand())
            if shelf.is_used:
                self._whole = self.reports.whole = shelf

    def _ground(self, at: float) -> RuleContext:
        return _NEW(RuleContext, (at, self._team.roster, self._limits, self._settings, self._dialects))
