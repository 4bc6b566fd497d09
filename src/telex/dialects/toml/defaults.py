"""What stands in a field of the user's file when others' messages say nothing of it?

[types.build_report.defaults]
queue = "main"
ticket.board = "releases"

The table has the shape of the message, a list of objects that of one of them. A choice is never made by itself, so a
required one that nobody says and that has no default is what makes a translation fail: that is told beforehand.
"""

from collections.abc import Collection, Iterator
from itertools import pairwise
from typing import Any

from telex.dialects.schema import (
    TYPE,
    Dialect,
    Field,
    Fields,
    Group,
    ListOf,
    MessageType,
    has_to_be_chosen,
)
from telex.dialects.toml.document import TomlValue, shown
from telex.dialects.toml.examples import ITEMS_MAX, read_value
from telex.dialects.toml.sample_values import fits
from telex.model.json_path import path_of

EACH = "[]"
Steps = tuple[str, ...]


def read_defaults(place: TomlValue, type_: MessageType, dialect: Dialect) -> dict[str, Any]:
    found: dict[str, Any] = {}
    if not place.has("defaults"):
        return found
    known = {**dialect.envelope, **type_.fields}
    for name, value in place.at("defaults").entries(ITEMS_MAX):
        if name in known:
            inside = (dialect.payload,) if dialect.payload is not None and name in type_.fields else ()
            _read(value, known[name], (*inside, name), found)
        else:
            value.unknown(name, known, f"there is no field {shown(name)}")
    return found


def _read(place: TomlValue, field: Field, steps: Steps, found: dict[str, Any]) -> None:
    kind = field.kind
    inner: Fields | None = kind.fields if isinstance(kind, Group) else None
    if isinstance(kind, ListOf) and isinstance(kind.item, Group) and isinstance(place.value, dict):
        inner, steps = kind.item.fields, (*steps[:-1], steps[-1] + EACH)
    if inner is not None:
        for name, value in place.entries(ITEMS_MAX):
            if name in inner:
                _read(value, inner[name], (*steps, name), found)
            else:
                value.unknown(name, inner, f"there is no field {shown(name)}")
    elif not field.required:
        place.flaw("it may be left out, so nothing has to stand in for it")
    else:
        found[key_of(steps)] = read_value(place, kind)


def key_of(steps: Steps) -> str:
    """Where a default belongs: as a path, with [] behind a list whose items it is for."""
    whole = path_of(*(step.removesuffix(EACH) for step in steps[:1]))
    for before, step in pairwise(steps):
        each = EACH if before.endswith(EACH) else ""
        whole += each + path_of(step.removesuffix(EACH)).removeprefix("$")
    return whole


def unfilled(
    type_: MessageType, dialect: Dialect, said: Collection[Steps], defaults: Collection[str]
) -> Iterator[Steps]:
    """Required fields in which something has to be chosen, and that nothing fills."""
    wire = dialect.wire
    names = (wire.id, wire.correlation, wire.sender, wire.recipient, wire.timestamp, wire.reply_to, TYPE)
    filled = {*said, *(dialect.locate(type_, name) for name in names if name is not None)}
    whole = dialect.fields_of(type_)
    version = wire.version or ""
    if version in whole and fits(dialect.version, whole[version].kind):
        filled.add((version,))
    yield from _unfilled(whole, (), filled, defaults)


def _unfilled(inside: Fields, steps: Steps, filled: set[Steps], defaults: Collection[str]) -> Iterator[Steps]:
    for name, field in inside.items():
        here = (*steps, name)
        used = any(one[: len(here)] == here for one in filled)
        if isinstance(field.kind, Group):
            if field.required or used:
                yield from _unfilled(field.kind.fields, here, filled, defaults)
        elif isinstance(field.kind, ListOf) and isinstance(field.kind.item, Group) and used:
            each = (*steps, name + EACH)
            yield from _unfilled(field.kind.item.fields, each, filled, defaults)
        elif field.required and has_to_be_chosen(field.kind) and not used and key_of(here) not in defaults:
            yield here
