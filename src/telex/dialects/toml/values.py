"""Values of fields: written examples, plain examples and defaults, checked against the kinds of their fields.

[types.build_report.defaults]
queue = "main"
ticket.board = "releases"

`defaults` has the shape of a message; the default of a list of objects has the shape of one of them.
"""

from collections.abc import Collection, Iterator
from datetime import date, datetime, time
from itertools import pairwise
from typing import Any

from telex.dialects.rule_language import compile_for_tree, parse
from telex.dialects.scalars import parse_timestamp
from telex.dialects.schema import (
    ANY,
    TYPE,
    Anything,
    Boolean,
    Dialect,
    Field,
    Fields,
    Group,
    HardRule,
    Integer,
    Kind,
    ListOf,
    MapOf,
    MessageType,
    Number,
    OneOf,
    Text,
    Timestamp,
    Tree,
    has_to_be_chosen,
)
from telex.dialects.toml.document import TomlValue, shown
from telex.dialects.write import expected, is_blank
from telex.model.json_path import path_of

ITEMS_MAX = 200  # of one list or object
EACH = "[]"
Steps = tuple[str, ...]


# --- written values --------------------------------------------------------------------------------------------------


def read_object(place: TomlValue, fields: Fields) -> Tree:
    """The object as JSON has it; reports missing, unknown and invalid fields."""
    tree = {name: read_value(value, field.kind) for name, value, field in known_fields(place, fields)}
    for name, field in fields.items():
        if field.required and not place.has(name):
            place.need(name, expected(field.kind))
    return tree


def known_fields(place: TomlValue, fields: Fields) -> Iterator[tuple[str, TomlValue, Field]]:
    for name, value in place.entries(ITEMS_MAX):
        if name in fields:
            yield name, value, fields[name]
        else:
            value.unknown(name, fields, f"there is no field {shown(name)}")


def read_value(place: TomlValue, kind: Kind) -> Any:
    """The value as JSON has it; reports one that is not of this kind."""
    if is_blank(place.value):
        place.flaw("there is still a blank here: fill it in")
        return place.value
    match kind:
        case Group(fields):
            return read_object(place, fields)
        case ListOf(item):
            return [read_value(value, item) for value in place.items(ITEMS_MAX)]
        case MapOf(value):
            return {key: read_value(entry, value) for key, entry in place.entries(ITEMS_MAX)}
        case Text():
            return _text(place, kind)
        case Timestamp():
            return _timestamp(place)
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


def _timestamp(value: TomlValue) -> str | None:
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
    match place.value:
        case dict():
            return {key: _anything(value) for key, value in place.entries(ITEMS_MAX)}
        case list():
            return [_anything(value) for value in place.items(ITEMS_MAX)]
        case date() | time():
            return _iso(place.value)
        case bool() | str():
            return place.value
    return place.number()


def _iso(value: date | time) -> str:
    return value.isoformat().replace("+00:00", "Z")


# --- plain examples --------------------------------------------------------------------------------------------------


def broken_rules(message: Tree, dialect: Dialect, type_: MessageType) -> tuple[HardRule, ...]:
    rules = (*dialect.rules, *type_.rules)
    return tuple(rule for rule in rules if compile_for_tree(parse(rule.broken_when), dialect, type_)(message))


def plain_message(dialect: Dialect, type_: MessageType) -> Tree:
    """An example of plain values, for a type whose file gives none."""
    plain = plain_fields(dialect, type_, dialect.fields_of(type_))
    if dialect.payload is not None:
        plain[dialect.payload] = plain_fields(dialect, type_, type_.fields)
    return plain


def plain_fields(dialect: Dialect, type_: MessageType, fields: Fields) -> Tree:
    """Every required field with the value that the bus expects there, or else a plain one."""
    expected_values = _envelope_values(dialect, type_)
    plain: Tree = {}
    for name, field in fields.items():
        if field.required:
            value = expected_values.get(name)
            plain[name] = value if value is not None and fits(value, field.kind) else plain_value(field.kind)
    return plain


def _envelope_values(dialect: Dialect, type_: MessageType) -> dict[str | None, str]:
    wire, requests = dialect.wire, (request for request in dialect.types.values() if request.reply == type_.name)
    senders, receivers = (dialect.roles if roles == ANY else roles for roles in (type_.senders, type_.receivers))
    sender = next(iter(senders), "")
    request = next(requests, None)
    return {
        wire.task: "task-1",
        wire.correlation: "task-1",
        wire.id: f"{type_.name}-1",
        wire.sender: sender,
        wire.recipient: next((role for role in receivers if role != sender), sender),
        wire.version: dialect.version,
        wire.reply_to: f"{request.name}-1" if request else "1",
    }


def fits(value: str, kind: Kind) -> bool:
    if isinstance(kind, Text):
        return kind.characters_max is None or len(value) <= kind.characters_max
    return isinstance(kind, OneOf) and value in kind.values


def plain_value(kind: Kind) -> Any:
    match kind:
        case Text(_, most):
            return "text"[:most]
        case OneOf(values):
            return values[0]
        case Integer(low, high) | Number(low, high):
            return low if low is not None else 1 if high is None else min(1, high)
        case Boolean():
            return True
        case Timestamp():
            return "2026-01-01T12:00:00Z"
        case ListOf(item):
            return [plain_value(item)]
        case MapOf(value):
            return {"name": plain_value(value)}
        case Group(fields):
            return {name: plain_value(field.kind) for name, field in fields.items() if field.required}
    return "text"


# --- defaults --------------------------------------------------------------------------------------------------------


def read_defaults(place: TomlValue, type_: MessageType, dialect: Dialect) -> dict[str, Any]:
    """The defaults of a type by their JSON path, with [] behind a list whose items they are for."""
    defaults: dict[str, Any] = {}
    if table := place.get("defaults"):
        for name, value, field in known_fields(table, {**dialect.envelope, **type_.fields}):
            inside = (dialect.payload,) if dialect.payload is not None and name in type_.fields else ()
            _read_default(value, field, (*inside, name), defaults)
    return defaults


def _read_default(place: TomlValue, field: Field, steps: Steps, defaults: dict[str, Any]) -> None:
    kind = field.kind
    inner: Fields | None = kind.fields if isinstance(kind, Group) else None
    if isinstance(kind, ListOf) and isinstance(kind.item, Group) and isinstance(place.value, dict):
        inner, steps = kind.item.fields, (*steps[:-1], steps[-1] + EACH)
    if inner is not None:
        for name, value, inner_field in known_fields(place, inner):
            _read_default(value, inner_field, (*steps, name), defaults)
    elif not field.required:
        place.flaw("the field may be left out, so it needs no default")
    else:
        defaults[_path(steps)] = read_value(place, kind)


def _path(steps: Steps) -> str:
    path = path_of(*(step.removesuffix(EACH) for step in steps[:1]))
    for before, step in pairwise(steps):
        path += (EACH if before.endswith(EACH) else "") + path_of(step.removesuffix(EACH)).removeprefix("$")
    return path


def fields_without_value(
    type_: MessageType, dialect: Dialect, said: Collection[Steps], defaults: Collection[str]
) -> Iterator[Steps]:
    """Required choices that neither a term, the envelope nor a default fills when a message is translated."""
    wire, whole = dialect.wire, dialect.fields_of(type_)
    names = (wire.id, wire.correlation, wire.sender, wire.recipient, wire.timestamp, wire.reply_to, TYPE)
    filled = {*said, *(dialect.locate(type_, name) for name in names if name is not None)}
    if wire.version is not None and wire.version in whole and fits(dialect.version, whole[wire.version].kind):
        filled.add((wire.version,))
    yield from _without_value(whole, (), filled, defaults)


def _without_value(inside: Fields, steps: Steps, filled: set[Steps], defaults: Collection[str]) -> Iterator[Steps]:
    for name, field in inside.items():
        path, kind = (*steps, name), field.kind
        is_filled = any(steps[: len(path)] == path for steps in filled)
        if isinstance(kind, Group):
            if field.required or is_filled:
                yield from _without_value(kind.fields, path, filled, defaults)
        elif isinstance(kind, ListOf) and isinstance(kind.item, Group) and is_filled:
            yield from _without_value(kind.item.fields, (*steps, name + EACH), filled, defaults)
        elif field.required and has_to_be_chosen(kind) and not is_filled and _path(path) not in defaults:
            yield path
