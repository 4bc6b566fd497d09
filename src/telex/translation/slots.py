"""Slots of a type: the fields and body sections that hold the values of its action."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from telex.dialects.schema import (
    NOTE,
    TEXT,
    TEXTS,
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
    Tree,
    fields,
    has_to_be_chosen,
    kind_at,
)
from telex.model.text import path_of
from telex.translation.kind_conversion import Values
from telex.translation.mapping import MinimumValue, TypeMapping

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
    """Slot → its field: as declared in the file of a user's own type, else from the type's action."""
    if type_.meaning is not None:
        return type_.meaning.says
    assert type_.deed is not None, f"{type_.name} has no names for its fields"
    return type_.deed.field_map


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


def getter(steps: Steps) -> Callable[[Tree], Any]:
    """As `get_path`, for fields outside lists, and faster: each message needs a dozen of them."""
    first, *rest = steps
    if not rest:
        return lambda tree: tree.get(first)
    second, *more = rest
    if not more:  # the common case: a field of the payload
        return lambda tree: inside.get(second) if type(inside := tree.get(first)) is dict else None

    def get(tree: Tree) -> Any:
        inside = tree.get(first)
        if type(inside) is not dict:
            return None
        found = inside.get(second)
        for step in more:
            if type(found) is not dict:
                return None
            found = found.get(step)
        return found

    return get


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
            return MinimumValue(_nearest_to_zero(low, high), reason)
        case ListOf():
            return MinimumValue([], reason)
        case MapOf():
            return MinimumValue({}, reason)
        case OneOf((only,)):
            return MinimumValue(only, reason)
        case Timestamp():
            return MinimumValue(None, "when the message was sent")
    raise AssertionError(f"no default for {kind}")


def _nearest_to_zero(low: float | None, high: float | None) -> float:
    if low is not None and low > 0:
        return low
    return high if high is not None and high < 0 else 0
