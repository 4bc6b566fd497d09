"""Is the example in the user's file a message of its type?

It stands in the docs, the schemas and the prompts, where people copy it. What an agent would be told about a message,
the user is told here about the example, with its line.
"""

from datetime import date, datetime, time
from typing import Any

from telex.dialects.blanks import expected, is_blank
from telex.dialects.schema import (
    Anything,
    Boolean,
    Fields,
    Group,
    Integer,
    Kind,
    ListOf,
    MapOf,
    Number,
    OneOf,
    Text,
    Timestamp,
    Tree,
)
from telex.dialects.timestamps import parse_timestamp
from telex.dialects.toml.document import TomlValue, shown

ITEMS_MAX = 200  # of one list or object in an example


def read_fields_of_example(place: TomlValue, fields: Fields) -> Tree:
    """The object as it stands on the wire; what is missing, unknown or wrong is noted."""
    found: Tree = {}
    for name, value in place.entries(ITEMS_MAX):
        if name in fields:
            found[name] = read_value(value, fields[name].kind)
        else:
            value.unknown(name, fields, f"there is no field {shown(name)}")
    for name, field in fields.items():
        if field.required and not place.has(name):
            place.need(name, expected(field.kind))
    return found


def read_value(place: TomlValue, kind: Kind) -> Any:
    """What stands there, as it stands on the wire; noted where it is not of that kind."""
    if is_blank(place.value):
        place.flaw("there is still a blank here: fill it in")
        return place.value
    match kind:
        case Group(fields):
            return read_fields_of_example(place, fields)
        case ListOf(item):
            return [read_value(value, item) for value in place.items(ITEMS_MAX)]
        case MapOf(value):
            return {key: read_value(entry, value) for key, entry in place.entries(ITEMS_MAX)}
        case Text():
            return _text(place, kind)
        case Timestamp():
            return _moment(place)
        case Integer() | Number():
            return _number(place, kind)
        case Boolean():
            return place.boolean()
        case OneOf(values):
            return place.choice(values)
        case Anything():
            return _anything(place)


def _text(value: TomlValue, kind: Text) -> str | None:
    text = value.value
    if not isinstance(text, str) or not (text or kind.may_be_empty):
        value.wrong("text")
        return None
    if kind.characters_max is not None and len(text) > kind.characters_max:
        value.flaw(f"has {len(text)} characters, and the field takes at most {kind.characters_max}")
    elif kind.printable and not text.isprintable():
        value.flaw("has control or invisible characters, and the field takes none")
    return text


def _moment(value: TomlValue) -> str | None:
    """A time as JSON has it; TOML's own notation is as good as text."""
    text = _iso(value.value) if isinstance(value.value, datetime) else value.value
    if not isinstance(text, str) or parse_timestamp(text).flaw is not None:
        value.wrong("a time with its zone, such as 2026-02-12T10:00:00Z")
        return None
    return text


def _number(value: TomlValue, kind: Integer | Number) -> int | float | None:
    number = value.integer() if isinstance(kind, Integer) else value.number()
    if number is None:
        return None
    low, high = kind.at_least, kind.at_most
    if (low is not None and number < low) or (high is not None and number > high):
        value.wrong(expected(kind))
    return number


def _anything(place: TomlValue) -> Any:
    value = place.value
    if isinstance(value, dict):
        return {key: _anything(value) for key, value in place.entries(ITEMS_MAX)}
    if isinstance(value, list):
        return [_anything(value) for value in place.items(ITEMS_MAX)]
    if isinstance(value, (date, time)):
        return _iso(value)
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return place.number()
    return value


def _iso(value: date | time) -> str:
    return value.isoformat().replace("+00:00", "Z")
