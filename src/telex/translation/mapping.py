"""Mappings of message types for translation: conversion of values, structure of a mapping, slots of a type.

A *slot* is the meaning of a field: a name of the type's field map, or a term of a user's type. The same meaning has the
same slot in every dialect; where a field map has another name for it, the mapping lists both. A conversion returns the
new value and whether it can be restored, or None if the value does not fit.
"""

from collections.abc import Callable, Mapping
from math import inf
from typing import Any

from telex.dialects.scalars import parse_timestamp
from telex.dialects.schema import (
    NOTE,
    TEXT,
    TEXTS,
    Anything,
    Boolean,
    Dialect,
    Group,
    Integer,
    Kind,
    ListOf,
    MapOf,
    MessageType,
    Number,
    OneOf,
    Text,
    Timestamp,
    choices_of,
    fields,
    has_to_be_chosen,
    kind_at,
)
from telex.model.limits import LIMITS
from telex.model.named_tuple import NamedTuple
from telex.model.text import path_of

Told = tuple[Any, bool]
Way = Callable[[Any], Told | None]
Test = Callable[[Any], bool]
# Common word → value or values of one dialect; the first is written, all are read.
Values = Mapping[Any, Any]


def way(source: Kind, spelt: Values | None, target: Kind, spelling: Values | None) -> Way:
    """Conversion from one kind of field to another."""
    choices = choices_of(source)
    if choices is not None:
        table = {choice: told for choice in choices if (told := _respelt(choice, spelt, target, spelling)) is not None}
        return lambda value: table.get(value) if isinstance(value, str | bool) else None
    if isinstance(source, Text) and isinstance(target, ListOf):
        fits_item = fits(target.item)
        return lambda value: ([value], True) if value and fits_item(value) else None
    if isinstance(source, ListOf) and isinstance(target, Text):
        return _joined
    test = fits(target)
    if isinstance(source, Text) and isinstance(target, Text) and source.may_be_empty and not target.may_be_empty:
        return lambda value: (value, True) if value and test(value) else None
    if spelling is None:
        return lambda value: (value, True) if test(value) else None
    read_as = _inverse(spelling)
    table = {name: (written(spelling, name), read_as[written(spelling, name)] == name) for name in spelling}
    return lambda value: table.get(value) if isinstance(value, str) else None


def canonical(value: Any, spelt: Values | None) -> Any:
    """Common word for a value; the value itself where there are no words."""
    if spelt is None:
        return value
    return _inverse(spelt).get(value) if isinstance(value, str | bool) else None


def written(spelling: Values, name: Any) -> Any:
    """Value for a common word; None: there is none."""
    found = spelling.get(name)
    return found[0] if isinstance(found, tuple) else found


def _inverse(spelt: Values) -> dict[Any, Any]:
    """Words by value. A value of several words is read as the first."""
    found: dict[Any, Any] = {}
    for name, wires in spelt.items():
        for wire in wires if isinstance(wires, tuple) else (wires,):
            found.setdefault(wire, name)
    return found


def _respelt(one: Any, spelt: Values | None, target: Kind, spelling: Values | None) -> Told | None:
    name = canonical(one, spelt)
    if name is None:
        return None
    wire = name if spelling is None else written(spelling, name)
    if wire is None or not fits(target)(wire):
        return None
    back = canonical(wire, spelling)
    again = back if spelt is None else written(spelt, back)
    return wire, again == one and type(again) is type(one)


def _joined(value: Any) -> Told | None:
    """Texts joined by line ends. Several cannot be separated again."""
    if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
        return None
    joined = "\n".join(value)
    return (joined, len(value) == 1) if joined else None


def fits(kind: Kind) -> Test:
    """Validity test of a value for a kind of field."""
    match kind:
        case Text(_, most, printable):
            return _text(most, printable)
        case OneOf(values):
            return lambda value: isinstance(value, str) and value in values
        case Boolean():
            return lambda value: isinstance(value, bool)
        case Integer(low, high):
            return _integer(low, high)
        case Number(low, high):
            whole, least, limit = _integer(low, high), -inf if low is None else low, inf if high is None else high
            return lambda value: whole(value) or (isinstance(value, float) and least <= value <= limit)
        case Timestamp():
            return lambda value: isinstance(value, str) and parse_timestamp(value).at is not None
        case ListOf(item):
            inner = fits(item)
            return lambda value: isinstance(value, list) and all(map(inner, value))
        case MapOf(item):
            inner = fits(item)
            return lambda value: isinstance(value, dict) and all(map(inner, value.values()))
        case Group(inside):
            needed = frozenset(name for name, field in inside.items() if field.required)
            tests = {name: fits(field.kind) for name, field in inside.items()}
            return lambda value: (
                isinstance(value, dict)
                and needed <= value.keys()
                and all(name not in tests or tests[name](inner) for name, inner in value.items())
            )
        case Anything():
            return lambda value: True


def _text(limit: int | None, printable: bool) -> Test:
    if limit is None and not printable:
        return lambda value: isinstance(value, str)  # an empty one only gets a warning
    most = LIMITS.message_bytes_max if limit is None else limit
    return lambda value: isinstance(value, str) and 0 < len(value) <= most and (not printable or value.isprintable())


def _integer(low: float | None, high: float | None) -> Test:
    least = LIMITS.integer_min if low is None else low
    most = LIMITS.integer_max if high is None else high
    return lambda value: isinstance(value, int) and not isinstance(value, bool) and least <= value <= most


NOTHING: Mapping[str, Any] = {}


class FromSlot(NamedTuple):
    """First value of these slots; `$correlation` and the like are in the header."""

    slots: tuple[str, ...]
    otherwise: Any


class OfList(NamedTuple):
    """A function of a slot's value."""

    slot: str
    function: Callable[[Any], Any]


class Sum(NamedTuple):
    """Sum of the numbers in these slots."""

    slots: tuple[str, ...]


class ByValue(NamedTuple):
    """A value for each common word of a slot."""

    slot: str
    values: Mapping[str, Any]
    otherwise: Any


class Overstatement(NamedTuple):
    """The type implies more than the original has, unless the original has one of these words of a slot."""

    slot: str  # or `$intent`
    words: tuple[str, ...]
    reason: str


Worth = Any  # a literal value, or one of the classes above


class MinimumValue(NamedTuple):
    """Value of a required field for which the original has none."""

    value: Worth
    reason: str


class SectionMapping(NamedTuple):
    """A slot with its own heading in the markdown body."""

    heading: str
    slot: str
    listed: bool = False


class Body(NamedTuple):
    """Layout of the markdown body."""

    main: str  # the slot of the body
    heading: str  # of that slot, if the body has other sections
    sections: tuple[SectionMapping, ...] = ()
    pages: bool = False  # the main slot is a list of named pages, not a text


class TypeMapping(NamedTuple):
    """Mapping of a type with one intent. A type with several intents has several, which `when` distinguishes."""

    type: str
    intents: tuple[str, ...]  # its own, then those it may be translated as
    serves: tuple[str, ...] = ()  # intents that are translated into it; () is the first only
    when: Mapping[str, tuple[Any, ...]] = NOTHING  # slot → its values with this intent; a single one is also written
    means: Mapping[str, tuple[Any, ...]] = NOTHING  # slot → words that the type implies, the most general first
    values: Mapping[str, Mapping[Any, Any]] = NOTHING  # slot → common word → value
    names: Mapping[str, str] = NOTHING  # slot → its name in the field map, where that is another
    unread: tuple[str, ...] = ()  # slots that are only written: the field may have another meaning
    unwritten: tuple[str, ...] = ()  # slots that are only read in a borrowed field, which implies more
    parts: Mapping[str, str] = NOTHING  # list/part → field of an item that is only written for it
    overstates: Mapping[str, Overstatement] = NOTHING  # slot that `when` writes → where that is invented
    least: Mapping[str, MinimumValue] = NOTHING  # by name of the field map, or by path in a user's dialect
    remedies: Mapping[str, Mapping[str, Worth]] = NOTHING  # code of a broken rule → name → value that fixes it
    body: Body | None = None

    @property
    def targets(self) -> tuple[str, ...]:
        return self.serves or self.intents[:1]


BODY = "$.body"
UNKNOWN = "unknown"
UNSAID = MinimumValue(..., "")  # a choice that only the sender can make
PAGES = ListOf(Group(fields({"name": TEXT, "text": NOTE})))
Steps = tuple[str, ...]


class ItemPart(NamedTuple):
    """One value of each item of a list; without steps: the item itself."""

    steps: Steps
    kind: Kind
    required: bool
    only_written: bool = False  # not read back: the field may have another meaning


TEXT_PARTS = {"text": ItemPart((), TEXT, required=True)}
PAGE_PARTS = {"name": ItemPart(("name",), TEXT, required=True), "text": ItemPart(("text",), NOTE, required=True)}


class Slot(NamedTuple):
    """Location of a slot in a type."""

    slot: str
    name: str  # in the action
    path: str
    steps: Steps
    kind: Kind
    values: Values | None
    parts: Mapping[str, ItemPart]
    in_body: bool = False


def places_of(dialect: Dialect, type_: MessageType, row: TypeMapping) -> list[Slot]:
    """Every slot of the mapping: own names before borrowed ones, and those in the body last."""
    said = names_of(type_)
    whole = dialect.fields_of(type_)
    slots = []
    for slot, name in (*((name, name) for name in said), *row.names.items()):
        where = said.get(name)
        if where is None or "/" in slot or "[]" in where:
            continue
        steps = dialect.locate(type_, where)
        field = kind_at(whole, steps)
        assert field is not None, f"{type_.name} has no field {where}"
        parts = _parts(said, name, where, field.kind) | _lent(row, name, field.kind)
        slots.append(Slot(slot, name, path_of(*steps), steps, field.kind, values=row.values.get(slot), parts=parts))
    body = row.body
    if body is None:
        return slots
    kinds: dict[str, Kind] = {section.slot: TEXTS if section.listed else TEXT for section in body.sections}
    kinds[body.main] = PAGES if body.pages else TEXT
    for slot, name in (*((kind, kind) for kind in kinds), *row.names.items()):
        if name in kinds and name not in said:
            parts = PAGE_PARTS if body.pages and name == body.main else TEXT_PARTS if kinds[name] is TEXTS else {}
            slots.append(Slot(slot, name, BODY, (), kinds[name], values=None, parts=parts, in_body=True))
    return slots


def names_of(type_: MessageType) -> Mapping[str, str]:
    """Slot → its field."""
    return type_.semantics.terms if type_.semantics.intents else type_.field_map


def _parts(said: Mapping[str, str], name: str, where: str, kind: Kind) -> dict[str, ItemPart]:
    found: dict[str, ItemPart] = {}
    if not isinstance(kind, ListOf):
        return found
    for part, at in said.items():
        if part.startswith(f"{name}/"):
            step = at.removeprefix(f"{where}[]").removeprefix(".")
            inner = kind_at(kind.item.fields, (step,)) if step and isinstance(kind.item, Group) else None
            steps = (step,) if step else ()
            found[part.partition("/")[2]] = (
                ItemPart(steps, inner.kind, inner.required) if inner else ItemPart((), kind.item, required=True)
            )
    return found


def _lent(row: TypeMapping, name: str, kind: Kind) -> dict[str, ItemPart]:
    """Fields of an item that are written for a part without a field of its own."""
    found: dict[str, ItemPart] = {}
    for slot, step in row.parts.items():
        of, _, part = slot.partition("/")
        field = (
            kind_at(kind.item.fields, (step,)) if isinstance(kind, ListOf) and isinstance(kind.item, Group) else None
        )
        if of == name and field is not None:
            found[part] = ItemPart((step,), field.kind, field.required, only_written=True)
    return found


def default(kind: Kind, reason: str) -> MinimumValue:
    """Default value of a field. A choice or a boolean has none."""
    if has_to_be_chosen(kind):
        return UNSAID
    match kind:
        case Text(may_be_empty=True):
            return MinimumValue("", reason)
        case Text(_, most, _):
            return MinimumValue(UNKNOWN if most is None or most >= len(UNKNOWN) else "?", reason)
        case Integer(low, high) | Number(low, high):
            nearest_to_zero = low if low is not None and low > 0 else high if high is not None and high < 0 else 0
            return MinimumValue(nearest_to_zero, reason)
        case ListOf():
            return MinimumValue([], reason)
        case MapOf():
            return MinimumValue({}, reason)
        case OneOf((only,)):
            return MinimumValue(only, reason)
        case Timestamp():
            return MinimumValue(None, "when the message was sent")
    raise AssertionError(f"no default for {kind}")
