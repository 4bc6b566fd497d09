"""How is a message admitted quickly when many come the same way?

A fast lane takes ten milliseconds to open and then saves most of the cost of every message, so it is opened for a pair
of agents that has sent a few. What a message says about itself comes along either way.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from telex.dialects.spec import PRIORITY_CLASSES, Dialect, MessageType
from telex.flow.admission import Checked, Desk, check
from telex.flow.facts import NO_FACTS, Facts, facts_in, reader_of

if TYPE_CHECKING:
    from telex.flow.express import Express

OPENED_AFTER = 8  # messages of one pair
LANES_MAX = 512  # pairs whose lane is kept open
STATUS = PRIORITY_CLASSES.index("STATUS")  # the class of text that nobody typed


class Pair(NamedTuple):
    """Between whom: what the door knows of the sender, and of the one recipient if there is one."""

    as_role: str | None = None
    to_role: str | None = None
    as_name: str | None = None
    to_name: str | None = None


class Looked(NamedTuple):
    """A message that was looked at, and what is known of it."""

    checked: Checked | None  # None: it took the fast lane, and there is nothing to find in it
    dialect: Dialect | None
    type: MessageType | None
    facts: Facts

    @property
    def rank(self) -> int:
        return PRIORITY_CLASSES.index(self.type.priority) if self.type is not None else STATUS


class Lanes:
    """A team's desk with its fast lanes."""

    def __init__(self, desk: Desk) -> None:
        self.desk = desk
        self._used: dict[Pair, int] = {}
        self._open: dict[Pair, Express] = {}
        self._readers: dict[tuple[str, str], Callable[[bytes], Facts]] = {}

    def look(self, raw: bytes, pair: Pair) -> Looked:
        lane = self._open.get(pair) or self._lane(pair)
        if lane is not None and len(raw) <= self.desk.limits.message_bytes_max:
            passed = lane.passes(raw)
            if passed is not None:
                return Looked(None, passed.dialect, passed.type, self._reader(passed.dialect, passed.type)(raw))
        checked = check(raw, self.desk, **pair._asdict())
        type_ = checked.dialect.types.get(checked.type or "") if checked.dialect else None
        facts = facts_in(checked.tree, checked.dialect, type_) if checked.outcome == "message" else NO_FACTS
        return Looked(checked, checked.dialect, type_, facts)

    def _reader(self, dialect: Dialect, type_: MessageType) -> "Callable[[bytes], Facts]":
        known = self._readers.get((dialect.name, type_.name))
        if known is None:
            known = self._readers[dialect.name, type_.name] = reader_of(dialect, type_)
        return known

    def _lane(self, pair: Pair) -> "Express | None":
        used = self._used[pair] = self._used.get(pair, 0) + 1
        if used < OPENED_AFTER:
            return None
        if len(self._open) >= LANES_MAX:
            self._open.clear()
            self._used.clear()
        from telex.flow.express import Express

        lane = self._open[pair] = Express(self.desk, **pair._asdict())
        return lane
