"""A dialect as msgspec Structs: the shape of every message checked in one pass of C code.

Made from the same definition as everything else. The Structs are a little stricter than the dialect (what draws even
a warning does not decode), since all they have to say is "nothing to find here"; whatever they turn down is read
again by the patient way, which says why.
"""

from collections.abc import Callable
from datetime import datetime
from typing import Annotated, Any, Literal, NamedTuple, Union

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType

from telex.dialects.schema import (
    TYPE,
    Anything,
    Boolean,
    Dialect,
    Fields,
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
)
from telex.model.limits import Limits

_ZONED = Annotated[datetime, Meta(tz=True)]


class StructLayout(NamedTuple):
    """An object's Struct, and under which attribute each of its fields is kept.

    Attributes are numbered, because a user's field may have any name, `from` and `class` among them.
    """

    struct: type[Struct]
    attributes: dict[str, str]
    inner: "dict[str, StructLayout]"  # of fields that are objects, or lists or maps of objects


class CompiledDialect(NamedTuple):
    dialect: Dialect
    shapes: dict[str, StructLayout]  # by type name
    types: dict[type[Struct], MessageType]
    decoder: "msgspec.json.Decoder[Any]"


Claims = Callable[[MessageType], dict[str, tuple[str, ...]]]  # what may stand in the fields that name agents


def compile_dialect(dialect: Dialect, limits: Limits, claims: Claims) -> CompiledDialect:
    """One tagged union for all types of a JSON dialect. Claims that are not allowed do not decode either."""
    assert dialect.form == "json", f"{dialect.name} is not JSON"
    shapes = {
        type_.name: _shape(_own_fields(dialect, type_, claims(type_)), limits, tag=type_.name)
        for type_ in dialect.types.values()
    }
    # Of one type alone msgspec would take a message that does not name it.
    nothing = msgspec.defstruct("Nothing", [], tag="", tag_field=TYPE)
    structs = (nothing, *(shape.struct for shape in shapes.values()))
    types = {shape.struct: dialect.types[name] for name, shape in shapes.items()}
    return CompiledDialect(dialect, shapes, types, msgspec.json.Decoder(Union[structs]))  # noqa: UP007


def _own_fields(dialect: Dialect, type_: MessageType, allowed: dict[str, tuple[str, ...]]) -> Fields:
    whole = {
        name: field._replace(kind=OneOf(allowed[name]))
        if allowed.get(name) and isinstance(field.kind, (Text, OneOf, Timestamp, Anything))
        else field
        for name, field in dialect.fields_of(type_).items()
        if name != TYPE
    }
    # msgspec looks for the next key where the last one ended, so what is often left out had better stand last.
    return dict(sorted(whole.items(), key=lambda item: not item[1].required))


def _shape(fields: Fields, limits: Limits, tag: str | None = None) -> StructLayout:
    attributes = {name: f"f{index}" for index, name in enumerate(fields)}
    inner = {name: shape for name, field in fields.items() if (shape := _inner(field.kind, limits)) is not None}
    members: list[Any] = []
    for name, field in fields.items():
        annotation = _annotation(field.kind, limits, inner.get(name))
        if field.required:
            members.append((attributes[name], annotation))
        else:
            members.append((attributes[name], Union[annotation, UnsetType], UNSET))  # noqa: UP007
    struct = msgspec.defstruct(
        "Message" if tag else "Part",
        members,
        kw_only=True,
        gc=False,
        rename={attribute: name for name, attribute in attributes.items()},
        **({"tag": tag, "tag_field": TYPE} if tag else {}),  # type: ignore[arg-type]
    )
    return StructLayout(struct, attributes, inner)


def _inner(kind: Kind, limits: Limits) -> StructLayout | None:
    match kind:
        case Group(fields):
            return _shape(fields, limits)
        case ListOf(item):
            return _inner(item, limits)
        case MapOf(value):
            return _inner(value, limits)
    return None


def _annotation(kind: Kind, limits: Limits, inner: StructLayout | None) -> Any:
    match kind:
        case Text(may_be_empty, characters_max, printable):
            least = None if may_be_empty else 1
            bounded = not may_be_empty or characters_max is not None or printable
            return Annotated[str, Meta(min_length=least, max_length=characters_max)] if bounded else str
        case OneOf(values):
            return Literal[values]
        case Integer(low, high):
            return _bounded_integer(low, high, limits)
        case Number(low, high):
            return _bounded_integer(low, high, limits) | Annotated[float, Meta(ge=low, le=high)]
        case Boolean():
            return bool
        case Timestamp():
            return _ZONED
        case Anything():
            return Any
        case ListOf(item):
            return list[_annotation(item, limits, inner)]  # type: ignore[misc]
        case MapOf(value):
            return dict[str, _annotation(value, limits, inner)]  # type: ignore[misc]
        case Group():
            assert inner is not None
            return inner.struct


def _bounded_integer(low: float | None, high: float | None, limits: Limits) -> Any:
    least = limits.integer_min if low is None else int(low)
    most = limits.integer_max if high is None else int(high)
    return Annotated[int, Meta(ge=least, le=most)]
