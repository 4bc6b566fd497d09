"""Which fields does the user's file give a message, and of what kind?

builds = { type = "integer", min = 1, max = 50 }
notes = "string?"
"""

from collections.abc import Callable, Collection
from typing import cast

from telex.dialects.blanks import is_blank
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
from telex.dialects.toml.document import TomlValue, shown

DEPTH_MAX = 8  # objects within objects
FIELDS_MAX = 200  # in one table
VALUES_MAX = 200  # of one enum
NAME_CHARACTERS_MAX = 64

# A field that could not be read. It stands in for the real one, so that what is said about it elsewhere is no flaw.
UNREAD: Kind = Anything()


def read_fields(place: TomlValue, reserved: Collection[str] = (), depth: int = 1) -> dict[str, Field]:
    """Every field of a table; names in `reserved` are taken."""
    found: dict[str, Field] = {}
    if depth > DEPTH_MAX:
        place.flaw(f"objects are nested more than {DEPTH_MAX} deep")
        return found
    for name, value in place.entries(FIELDS_MAX):
        if name in reserved:
            value.flaw(f"every message has a {name!r} already; choose another name")
        elif flaw := name_flaw(name):
            value.flaw(flaw)
        found[name] = read_field(value, depth)
    return found


def name_flaw(name: str) -> str | None:
    if not name or len(name) > NAME_CHARACTERS_MAX:
        return f"a field's name has 1 to {NAME_CHARACTERS_MAX} characters"
    if not name.isprintable():
        return "a field's name has no control or invisible characters"
    if '"' in name or "\\" in name:
        return "a field's name has no double quote and no backslash: fast readers of JSON compare names as written"
    if name.endswith("[]"):
        return "a field's name does not end in []: in rules that stands for every item of a list"
    return None


def read_field(value: TomlValue, depth: int = 1) -> Field:
    if isinstance(value.value, str):
        named = value.value.removesuffix("?")
        kind = _kind(value._replace(value={"type": named}), named, depth, short=True)
        return Field(kind, required=named == value.value)
    if not isinstance(value.value, dict):
        value.wrong('a type such as "string" or { type = "integer", min = 1 }')
        return Field(UNREAD)
    kind = _long_kind(value, depth, "required")
    required = value.at("required").boolean() if value.has("required") else True
    return Field(kind, required=required is not False)


def _item(value: TomlValue, depth: int) -> Kind:
    """What a list or a map holds. It has no `required`: an item is there or it is not."""
    if isinstance(value.value, str):
        if value.value.endswith("?"):
            value.flaw("only a field can be optional, not what a list or map holds; leave the ? out")
        named = value.value.removesuffix("?")
        return _kind(value._replace(value={"type": named}), named, depth, short=True)
    if not isinstance(value.value, dict):
        value.wrong('a type such as "string" or { type = "integer", min = 1 }')
        return UNREAD
    return _long_kind(value, depth)


def _long_kind(place: TomlValue, depth: int, *more_keys: str) -> Kind:
    value = place.need("type", 'such as "string", "integer" or "enum"')
    if value is None:
        return UNREAD
    if isinstance(value.value, str) and value.value.endswith("?"):
        value.flaw("within braces, write required = false instead of the ?")
        return UNREAD
    named = value.choice(KINDS)
    if named is None:
        return UNREAD
    keys, _ = KINDS[named]
    place.only("type", *more_keys, *keys)
    return _kind(place, named, depth)


def _kind(value: TomlValue, named: str, depth: int, *, short: bool = False) -> Kind:
    if named not in KINDS:
        value.unknown(named, KINDS, f"{shown(named)} is no type of field")
        return UNREAD
    keys, make = KINDS[named]
    if short and make in (_enum, _list, _map):
        needs = f"{keys[0]} = {'[…]' if named == 'enum' else '…'}"
        value.flaw(f'{named} alone says too little: write {{ type = "{named}", {needs} }}')
        return UNREAD
    return make(value, depth)


# --- a maker for each kind: it finds its own keys in the table --------------------------------------------------------


def _text(value: TomlValue, depth: int) -> Kind:
    most = value.at("max").integer() if value.has("max") else None
    if most is not None and most < 1:
        value.at("max").wrong("at least 1 character")
    may_be_empty = value.at("empty").boolean() if value.has("empty") else False
    return Text(may_be_empty=bool(may_be_empty), characters_max=most)


def _integer(value: TomlValue, depth: int) -> Kind:
    low = value.at("min").integer() if value.has("min") else None
    high = value.at("max").integer() if value.has("max") else None
    _check_range(value, low, high)
    return Integer(low, high)


def _number(value: TomlValue, depth: int) -> Kind:
    low = value.at("min").number() if value.has("min") else None
    high = value.at("max").number() if value.has("max") else None
    _check_range(value, low, high)
    return Number(low, high)


def _check_range(value: TomlValue, low: float | None, high: float | None) -> None:
    if low is not None and high is not None and low > high:
        value.at("min").flaw(f"min {low} is more than max {high}, so no value fits")


def _enum(place: TomlValue, depth: int) -> Kind:
    given = place.need("values", 'the spellings there are, such as ["go", "no-go"]')
    if given is None:
        return UNREAD
    if given.value == []:
        given.flaw("an enum has at least one value")
    values: list[str] = []
    for item in given.items(VALUES_MAX):
        value = item.line()
        if value is None:
            continue
        if value in values:
            item.flaw(f"{shown(value)} is there twice")
        elif is_blank(value):
            item.flaw("this is how a blank looks that is still to be filled; choose another spelling")
        values.append(value)
    return OneOf(tuple(values)) if values else UNREAD


def _list(place: TomlValue, depth: int) -> Kind:
    value = place.need("of", 'what the list holds, such as "string"')
    return ListOf(_item(value, depth)) if value else UNREAD


def _map(place: TomlValue, depth: int) -> Kind:
    value = place.need("of", 'what its values are, such as "string"')
    return MapOf(_item(value, depth)) if value else UNREAD


def _object(value: TomlValue, depth: int) -> Kind:
    if not value.has("fields"):
        return OPEN
    return Group(read_fields(value.at("fields"), depth=depth + 1))


def _of(kind: Kind) -> Callable[[TomlValue, int], Kind]:
    return lambda value, depth: kind


KINDS: dict[str, tuple[tuple[str, ...], Callable[[TomlValue, int], Kind]]] = {  # type: its own keys, and who reads them
    "string": (("max", "empty"), _text),
    "integer": (("min", "max"), _integer),
    "number": (("min", "max"), _number),
    "boolean": ((), _of(BOOLEAN)),
    "enum": (("values",), _enum),
    "datetime": ((), _of(MOMENT)),
    "list": (("of",), _list),
    "map": (("of",), _map),
    "object": (("fields",), _object),
    "any": ((), _of(cast(Kind, Anything()))),
}
