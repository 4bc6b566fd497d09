"""Field declarations: the table of field types with their keys.

builds = { type = "integer", min = 1, max = 50 }
notes = "string?"
"""

from collections.abc import Callable, Collection, Mapping
from typing import Any, NamedTuple

from telex.dialects.schema import (
    BOOLEAN,
    MOMENT,
    OPEN,
    Anything,
    Field,
    Group,
    Integer,
    Kind,
    ListOf,
    MapOf,
    Number,
    OneOf,
    Text,
)
from telex.dialects.toml.document import RAW, Key, TomlValue, shown
from telex.dialects.write import is_blank

DEPTH_MAX = 8  # objects within objects
FIELDS_MAX = 200  # in one table
VALUES_MAX = 200  # of one enum
NAME_CHARACTERS_MAX = 64

UNREAD: Kind = Anything()  # placeholder for an invalid declaration; suppresses further problems about the field


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


def _length(value: TomlValue) -> int | None:
    characters_max = value.integer()
    if characters_max is not None and characters_max < 1:
        value.wrong("at least 1 character")
    return characters_max


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


def _item(value: TomlValue | None, depth: int) -> Kind | None:
    return _read_field(value, depth, is_item=True).kind if value else None


def _list(given: Mapping[str, Any], depth: int) -> Kind:
    item = _item(given["of"], depth)
    return ListOf(item) if item is not None else UNREAD


def _map(given: Mapping[str, Any], depth: int) -> Kind:
    item = _item(given["of"], depth)
    return MapOf(item) if item is not None else UNREAD


def _object(given: Mapping[str, Any], depth: int) -> Kind:
    return Group(read_fields(given["fields"], depth=depth + 1)) if given["fields"] else OPEN


_INTEGERS = {"min": Key(TomlValue.integer), "max": Key(TomlValue.integer)}
_NUMBERS = {"min": Key(TomlValue.number), "max": Key(TomlValue.number)}

KINDS: dict[str, FieldType] = {
    "string": FieldType(
        {"max": Key(_length), "empty": Key(TomlValue.boolean)},
        lambda given, depth: Text(may_be_empty=bool(given["empty"]), characters_max=given["max"]),
    ),
    "integer": FieldType(_INTEGERS, lambda given, depth: Integer(given["min"], given["max"])),
    "number": FieldType(_NUMBERS, lambda given, depth: Number(given["min"], given["max"])),
    "boolean": FieldType({}, lambda given, depth: BOOLEAN),
    "enum": FieldType(
        {"values": Key(_enum_values, 'the allowed values, such as ["go", "no-go"]')},
        lambda given, depth: OneOf(given["values"]) if given["values"] else UNREAD,
    ),
    "datetime": FieldType({}, lambda given, depth: MOMENT),
    "list": FieldType({"of": Key(RAW.read, 'what the list holds, such as "string"')}, _list),
    "map": FieldType({"of": Key(RAW.read, 'what its values are, such as "string"')}, _map),
    "object": FieldType({"fields": RAW}, _object),
    "any": FieldType({}, lambda given, depth: Anything()),
}
