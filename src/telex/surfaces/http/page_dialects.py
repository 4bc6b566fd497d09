"""Dialects for the forms of the page: types, fields and who may send them."""

from typing import Any

from telex.dialects.schema import (
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
from telex.generate.schemas import type_schema
from telex.generate.type_view import addressed_fields, meaning

_DIALECT = ("name", "version", "purpose", "form", "roles", "payload", "addresses", "wire")
_TYPE = ("name", "purpose", "senders", "receivers", "priority", "reply", "sections", "example", "body_example")
Facts = dict[str, Any]


def dialects_facts(dialects: tuple[Dialect, ...]) -> list[Facts]:
    return [
        {name: getattr(dialect, name) for name in _DIALECT}
        | {"types": [_type_facts(dialect, type_) for type_ in dialect.types.values()]}
        for dialect in dialects
    ]


def _type_facts(dialect: Dialect, type_: MessageType) -> Facts:
    fields = _fields_facts(addressed_fields(dialect, type_), dialect)
    return {name: getattr(type_, name) for name in _TYPE} | {"fields": fields, "schema": type_schema(dialect, type_)}


def _fields_facts(fields: Fields, dialect: Dialect | None = None) -> list[Facts]:
    """Fields with their meanings, which only fields at the top level have."""
    facts = []
    for name, field in fields.items():
        text = meaning(dialect, name) if dialect is not None else None
        own = {"name": name, "required": field.required, **_kind_facts(field.kind)}
        facts.append(own | {"meaning": text} if text else own)
    return facts


def _kind_facts(kind: Kind) -> Facts:
    match kind:
        case Text(may_be_empty, characters_max, _):
            return {"kind": "text", "may_be_empty": may_be_empty, "maximum": characters_max}
        case OneOf(values):
            return {"kind": "choice", "values": values}
        case Integer(least, most) | Number(least, most):
            return {"kind": "integer" if isinstance(kind, Integer) else "number", "minimum": least, "maximum": most}
        case Boolean():
            return {"kind": "boolean"}
        case Timestamp():
            return {"kind": "moment"}
        case ListOf(item):
            return {"kind": "list", "item": _kind_facts(item)}
        case MapOf(value):
            return {"kind": "map", "item": _kind_facts(value)}
        case Group(fields):
            return {"kind": "group", "fields": _fields_facts(fields)}
        case Anything():
            return {"kind": "any"}
    raise AssertionError(f"unknown kind of field: {kind}")
