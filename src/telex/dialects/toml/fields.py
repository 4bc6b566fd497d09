"""Field declarations: the table of field types with their keys.

builds = { type = "integer", min = 1, max = 50 }
notes = "string?"
"""

from collections.abc import Callable, Collection, Iterator, Mapping
from datetime import date, datetime, time
from itertools import pairwise
from typing import Any

from telex.dialects import scalars, schema
from telex.dialects.rule_language import compile_for_tree, parse
from telex.dialects.schema import ANY, TYPE, Dialect, Field, Fields, HardRule, Kind, MessageType, Tree, has_to_be_chosen
from telex.dialects.toml.document import RAW, Key, TomlValue, is_portable, shown
from telex.dialects.write import expected, is_blank
from telex.model.named_tuple import NamedTuple
from telex.model.text import path_of

DEPTH_MAX = 8  # objects within objects
FIELDS_MAX = 200  # in one table
VALUES_MAX = 200  # of one enum
NAME_CHARACTERS_MAX = 64

UNREAD: Kind = schema.Anything()  # placeholder for an invalid declaration; suppresses further problems about the field


def read_fields(place: TomlValue, reserved: Collection[str] = (), depth: int = 1) -> dict[str, Field]:
    """Every field of a table; names in `reserved` are taken."""
    if depth > DEPTH_MAX:
        place.flaw(f"objects are nested more than {DEPTH_MAX} deep")
        return {}
    fields: dict[str, Field] = {}
    for name, value in place.entries(FIELDS_MAX):
        if name in reserved:
            value.flaw(f"every message has a {name!r} already; choose another name")
        elif flaw := name_flaw(name):
            value.flaw(flaw)
        fields[name] = _read_field(value, depth)
    return fields


def name_flaw(name: str) -> str | None:
    if not name or len(name) > NAME_CHARACTERS_MAX:
        return f"a field's name has 1 to {NAME_CHARACTERS_MAX} characters"
    if not name.isprintable():
        return "a field's name has no control or invisible characters"
    if '"' in name or "\\" in name:
        return "a field's name has no double quote and no backslash: fast JSON parsers compare names as written"
    if name.endswith("[]"):
        return "a field's name does not end in []: in rules that stands for every item of a list"
    return None


def _read_field(value: TomlValue, depth: int, *, is_item: bool = False) -> Field:
    """A field, or with `is_item` the content of a list or map, which cannot be optional."""
    if isinstance(value.value, str):
        short = value.value.removesuffix("?")
        is_optional = short != value.value
        if is_item and is_optional:
            value.flaw("only a field can be optional, not the items of a list or map; leave the ? out")
        return Field(_short_kind(value, short, depth), required=not is_optional)
    if not isinstance(value.value, dict):
        value.wrong('a type such as "string" or { type = "integer", min = 1 }')
        return Field(UNREAD)
    named = value.need("type", 'such as "string", "integer" or "enum"')
    if named and isinstance(named.value, str) and named.value.endswith("?"):
        named.flaw("within braces, write required = false instead of the ?")
        named = None
    name = named.choice(KINDS) if named else None
    keys = KINDS[name].keys if name else dict.fromkeys(value.value, RAW)
    required = {} if is_item else {"required": Key(TomlValue.boolean, default=True)}
    given = value.read({"type": RAW, **keys, **required})
    low, high = given.get("min"), given.get("max")
    if name and low is not None and high is not None and low > high:
        value.at("min").flaw(f"min {low} is more than max {high}, so no value fits")
    return Field(KINDS[name].make(given, depth) if name else UNREAD, required=given.get("required", True))


def _short_kind(value: TomlValue, name: str, depth: int) -> Kind:
    if name not in KINDS:
        value.unknown(name, KINDS, f"{shown(name)} is no type of field")
        return UNREAD
    keys, make = KINDS[name]
    for key, spec in keys.items():
        if spec.needed:
            values = "[…]" if name == "enum" else "…"
            value.flaw(f'{name} alone is incomplete: write {{ type = "{name}", {key} = {values} }}')
            return UNREAD
    return make(dict.fromkeys(keys), depth)


# --- the types of fields ---------------------------------------------------------------------------------------------


class FieldType(NamedTuple):
    keys: Mapping[str, Key]
    make: Callable[[Mapping[str, Any], int], Kind]  # from the values of the keys and the depth


def _enum_values(place: TomlValue) -> tuple[str, ...]:
    if place.value == []:
        place.flaw("an enum has at least one value")
    values: list[str] = []
    for item in place.items(VALUES_MAX):
        value = item.line()
        if value is None:
            continue
        if value in values:
            item.flaw(f"{shown(value)} is there twice")
        elif is_blank(value):
            item.flaw("this is the mark of a blank that is still to be filled; choose another spelling")
        values.append(value)
    return tuple(values)


def _container(make: Callable[[Kind], Kind], of: TomlValue | None, depth: int) -> Kind:
    item = _read_field(of, depth, is_item=True).kind if of else None
    return make(item) if item is not None else UNREAD


_INTEGERS = {"min": Key(TomlValue.integer), "max": Key(TomlValue.integer)}
_NUMBERS = {"min": Key(TomlValue.number), "max": Key(TomlValue.number)}

KINDS: dict[str, FieldType] = {
    "string": FieldType(
        {"max": Key(lambda value: value.integer(at_least=1)), "empty": Key(TomlValue.boolean)},
        lambda given, depth: schema.Text(may_be_empty=bool(given["empty"]), characters_max=given["max"]),
    ),
    "integer": FieldType(_INTEGERS, lambda given, depth: schema.Integer(given["min"], given["max"])),
    "number": FieldType(_NUMBERS, lambda given, depth: schema.Number(given["min"], given["max"])),
    "boolean": FieldType({}, lambda given, depth: schema.BOOLEAN),
    "enum": FieldType(
        {"values": Key(_enum_values, 'the allowed values, such as ["go", "no-go"]')},
        lambda given, depth: schema.OneOf(given["values"]) if given["values"] else UNREAD,
    ),
    "datetime": FieldType({}, lambda given, depth: schema.MOMENT),
    "list": FieldType(
        {"of": Key(RAW.read, 'what the list holds, such as "string"')},
        lambda given, depth: _container(schema.ListOf, given["of"], depth),
    ),
    "map": FieldType(
        {"of": Key(RAW.read, 'what its values are, such as "string"')},
        lambda given, depth: _container(schema.MapOf, given["of"], depth),
    ),
    "object": FieldType(
        {"fields": RAW},
        lambda given, depth: (
            schema.Group(read_fields(given["fields"], depth=depth + 1)) if given["fields"] else schema.OPEN
        ),
    ),
    "any": FieldType({}, lambda given, depth: schema.Anything()),
}


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
        case schema.Group(fields):
            return read_object(place, fields)
        case schema.ListOf(item):
            return [read_value(value, item) for value in place.items(ITEMS_MAX)]
        case schema.MapOf(value):
            return {key: read_value(entry, value) for key, entry in place.entries(ITEMS_MAX)}
        case schema.Anything():
            return _anything(place)
    written: Any = _iso(place.value) if isinstance(place.value, datetime) else place.value
    if not scalars.fits(written, kind) or not is_portable(written):
        return place.wrong(expected(kind))
    if isinstance(kind, schema.Text):
        if not written and not kind.may_be_empty:
            place.wrong("text")
        elif kind.characters_max is not None and len(written) > kind.characters_max:
            place.flaw(f"has {len(written)} characters, and the field takes at most {kind.characters_max}")
        elif kind.printable and not written.isprintable():
            place.flaw("has control or invisible characters, and the field takes none")
    return written


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
    if isinstance(kind, schema.Text):
        return kind.characters_max is None or len(value) <= kind.characters_max
    return isinstance(kind, schema.OneOf) and value in kind.values


def plain_value(kind: Kind) -> Any:
    match kind:
        case schema.Text(_, most):
            return "text"[:most]
        case schema.OneOf(values):
            return values[0]
        case schema.Integer(low, high) | schema.Number(low, high):
            return low if low is not None else 1 if high is None else min(1, high)
        case schema.Boolean():
            return True
        case schema.Timestamp():
            return "2026-01-01T12:00:00Z"
        case schema.ListOf(item):
            return [plain_value(item)]
        case schema.MapOf(value):
            return {"name": plain_value(value)}
        case schema.Group(fields):
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
    inner: Fields | None = kind.fields if isinstance(kind, schema.Group) else None
    if isinstance(kind, schema.ListOf) and isinstance(kind.item, schema.Group) and isinstance(place.value, dict):
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
        if isinstance(kind, schema.Group):
            if field.required or is_filled:
                yield from _without_value(kind.fields, path, filled, defaults)
        elif isinstance(kind, schema.ListOf) and isinstance(kind.item, schema.Group) and is_filled:
            yield from _without_value(kind.item.fields, (*steps, name + EACH), filled, defaults)
        elif field.required and has_to_be_chosen(kind) and not is_filled and _path(path) not in defaults:
            yield path
