"""Conversion of values between kinds of fields, computed once for each pair.

A conversion is a function of the value: it returns the new value and whether it can be restored, or None if it does not
fit.
"""

from collections.abc import Callable, Mapping
from typing import Any

from telex.dialects.scalars import parse_timestamp
from telex.dialects.schema import (
    Anything,
    Boolean,
    Group,
    Integer,
    Kind,
    ListOf,
    MapOf,
    Number,
    OneOf,
    Text,
    Timestamp,
    choices_of,
)
from telex.model.limits import LIMITS

Told = tuple[Any, bool]
Way = Callable[[Any], Told | None]
Test = Callable[[Any], bool]
# What all dialects call it → as one of them writes it; of several spellings the first is written, and all are read.
Values = Mapping[Any, Any]


def way(source: Kind, spelt: Values | None, target: Kind, spelling: Values | None) -> Way:
    """From a value of the one kind, as its dialect writes it, to the other."""
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
        return lambda value: (value, True) if value and test(value) else None  # what says nothing need not be said
    if spelling is None:
        return lambda value: (value, True) if test(value) else None
    read_as = _inverse(spelling)
    table = {name: (written(spelling, name), read_as[written(spelling, name)] == name) for name in spelling}
    return lambda value: table.get(value) if isinstance(value, str) else None


def canonical(value: Any, spelt: Values | None) -> Any:
    """What all dialects call it; the value itself where nobody calls it otherwise."""
    if spelt is None:
        return value
    return _inverse(spelt).get(value) if isinstance(value, str | bool) else None


def written(spelling: Values, name: Any) -> Any:
    """As it is written; None where it cannot be."""
    found = spelling.get(name)
    return found[0] if isinstance(found, tuple) else found


def _inverse(spelt: Values) -> dict[Any, Any]:
    """Where two things are written alike, the first is what it is read as."""
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
    """Several texts in one place: a line each, which nobody can tell from one text of several lines."""
    if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
        return None
    joined = "\n".join(value)
    return (joined, len(value) == 1) if joined else None


def fits(kind: Kind) -> Test:
    """Would this value pass there?"""
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
            whole = _integer(low, high)
            return lambda value: whole(value) or (isinstance(value, float) and _within(value, low, high))
        case Timestamp():
            return lambda value: isinstance(value, str) and parse_timestamp(value).at is not None
        case ListOf(item):
            inner = fits(item)
            return lambda value: isinstance(value, list) and all(map(inner, value))
        case MapOf(item):
            inner = fits(item)
            return lambda value: isinstance(value, dict) and all(map(inner, value.values()))
        case Group(fields):
            return _group({name: (field.required, fits(field.kind)) for name, field in fields.items()})
        case Anything():
            return lambda value: True


def _text(limit: int | None, printable: bool) -> Test:
    if limit is None and not printable:
        return lambda value: isinstance(value, str)  # an empty one is warned of, in its own dialect as in any other

    def fit(value: Any) -> bool:
        return (
            isinstance(value, str)
            and value != ""
            and (limit is None or len(value) <= limit)
            and (not printable or value.isprintable())
        )

    return fit


def _within(value: float, low: float | None, high: float | None) -> bool:
    return (low is None or value >= low) and (high is None or value <= high)


def _integer(low: float | None, high: float | None) -> Test:
    least = LIMITS.integer_min if low is None else low
    most = LIMITS.integer_max if high is None else high
    return lambda value: isinstance(value, int) and not isinstance(value, bool) and least <= value <= most


def _group(fields: Mapping[str, tuple[bool, Test]]) -> Test:
    needed = frozenset(name for name, (required, _) in fields.items() if required)

    def fit(value: Any) -> bool:
        if not isinstance(value, dict) or not needed <= value.keys():
            return False
        return all(name not in fields or fields[name][1](inner) for name, inner in value.items())

    return fit
