"""How does the work stand at each point of a log? The book, as a trial writes it: nobody else holds any of its states.

The book grows with the work and with nothing else, so a log may be as long as it likes.
"""

from collections.abc import Mapping
from typing import Any

from telex.dialects.spec import Dialect
from telex.flow.admission import Desk
from telex.flow.book import blockers, pages
from telex.flow.book.chapter import Ground, Remark
from telex.flow.book.deeds import CHAPTERS
from telex.flow.book.owning import OWNED, owned
from telex.flow.book.said import Said
from telex.model.roster import Member
from telex.replay.reports import Reports
from telex.replay.team import Team
from telex.replay.times import Times

_ABOUT_PLANS = frozenset(deed for deed, chapters in CHAPTERS.items() if "plans" in chapters)
_NEW = tuple.__new__  # makes a NamedTuple in half the time


class Work:
    def __init__(self, desk: Desk, team: Team, settings: Mapping[str, Any]) -> None:
        self._book: dict[str, Any] = {}
        self.times = Times()
        self.reports = Reports(self._book, self.times)
        self._team, self._limits, self._settings = team, desk.limits, settings
        self._dialects: dict[str, Dialect] = {dialect.name: dialect for dialect in desk.dialects}

    @property
    def book(self) -> dict[str, Any]:
        """As it stands now."""
        self.reports.settle()
        return self._book

    def is_untouched(self, topics: tuple[str, ...]) -> bool:
        """Has nobody ever said anything in these?"""
        return self._book.keys().isdisjoint(topics)

    def weigh(self, said: Said) -> tuple[Remark, ...]:
        """What speaks against it, and what its sender should know."""
        does = said.does
        if does in _ABOUT_PLANS:
            self.reports.settle()
        return pages.remarks(said, self._book, self._ground(said.at)) if pages.weighing(does) else ()

    def write(self, said: Said) -> tuple[Member, ...]:
        """Write it down. Who has shut down by it."""
        does, book = said.does, self._book
        if does in _ABOUT_PLANS:
            self.reports.settle()
        topics = pages.belongs(said, book)
        if topics:
            self.times.saw(said.at)
            self.reports.changed()
        for topic in topics:
            kind = pages.kind_of(topic)
            book[topic] = state = pages.fold_of(kind)(book.get(topic), said)
            if kind in OWNED:
                book[topic] = owned(kind, state)
            elif kind == blockers.KIND:
                self.reports.is_held_up(topic, state is not None)
        return pages.stopping(said, book, self._ground(said.at)) if does == "stopped" else ()

    def _ground(self, at: float) -> Ground:
        return _NEW(Ground, (at, self._team.roster, self._limits, self._settings, self._dialects))
