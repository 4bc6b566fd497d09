"""Structure of the mapping tables, which are in `mapping_*.py`, one for each dialect.

A *slot* is the meaning of a field, named as in the type's action. The same meaning has the same slot in every dialect;
where an action names it differently, the mapping says so.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

NOTHING: Mapping[str, Any] = {}


class FromSlot(NamedTuple):
    """What another slot says, the first of these that says something; `$correlation` and the like are the header's."""

    slots: tuple[str, ...]
    otherwise: Any


class AsList(NamedTuple):
    """A list of the one thing that another slot says, or an empty one."""

    slot: str


class Sum(NamedTuple):
    """Several numbers together; one that is not there counts nothing."""

    slots: tuple[str, ...]


class ItemCount(NamedTuple):
    """How many things a list holds."""

    slot: str


class HasItems(NamedTuple):
    """Whether a list holds anything."""

    slot: str


class ByValue(NamedTuple):
    """By what a slot says, in the words that all dialects have for it."""

    slot: str
    values: Mapping[str, Any]
    otherwise: Any


class Overstatement(NamedTuple):
    """What the type itself says is more than the original does, unless that says one of these words of a slot."""

    slot: str  # or `$intent`: what the original is
    words: tuple[str, ...]
    reason: str


Worth = Any  # a value as it is written, or one of those above


class MinimumValue(NamedTuple):
    """What is written where the original says nothing and the type wants something."""

    value: Worth
    reason: str


class Section(NamedTuple):
    """A slot that stands under a heading of its own in the markdown body."""

    heading: str
    slot: str
    listed: bool = False


class Body(NamedTuple):
    """What stands in the markdown under the front matter."""

    main: str  # the slot that is the body, where nothing else is in it
    heading: str  # over it, where something is
    sections: tuple[Section, ...] = ()
    pages: bool = False  # the main slot is a list of named pages, not a text


class TypeMapping(NamedTuple):
    """One type of a dialect as one act. A type that may be several acts has several rows, told apart by `when`."""

    type: str
    intents: tuple[str, ...]  # what it is, then what it may pass for in a dialect that does not know that
    serves: tuple[str, ...] = ()  # intents for which others are translated into it; () is the first one only
    when: Mapping[str, tuple[Any, ...]] = NOTHING  # slot → the values it has as this act; a single one is also written
    means: Mapping[str, tuple[Any, ...]] = NOTHING  # slot → what the type itself says of it, the plainest first
    values: Mapping[str, Mapping[Any, Any]] = NOTHING  # slot → what all dialects call it → as it is written here
    names: Mapping[str, str] = NOTHING  # slot → the deed's name for it, where that is another
    unread: tuple[str, ...] = ()  # slots that are only written: what stands there need not mean that
    unwritten: tuple[str, ...] = ()  # slots only read in what is borrowed for them, since it says more than that
    parts: Mapping[str, str] = NOTHING  # list/part → the field of an item that is written for it, and never read as it
    overstates: Mapping[str, Overstatement] = NOTHING  # slot that `when` writes → where that is made up
    # by the deed's names; or by path, as in a row that a user's file declares
    least: Mapping[str, MinimumValue] = NOTHING
    remedies: Mapping[str, Mapping[str, Worth]] = NOTHING  # code of a broken rule → deed's name → what is written
    body: Body | None = None

    @property
    def targets(self) -> tuple[str, ...]:
        return self.serves or self.intents[:1]
