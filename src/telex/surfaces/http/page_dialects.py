"""Dialects for the page's forms: types, fields and who may send them."""

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
from telex.generate.json_schema import type_schema
from telex.generate.type_view import addressed_fields, meaning

Facts = dict[str, Any]


def dialects_facts(dialects: tuple[Dialect, ...]) -> list[Facts]:
    return [_dialect(dialect) for dialect in dialects]


def _dialect(dialect: Dialect) -> Facts:
    return {
        "name": dialect.name,
        "version": dialect.version,
        "purpose": dialect.purpose,
        "form": dialect.form,
        "roles": dialect.roles,
        "payload": dialect.payload,
        "addresses": dialect.addresses,
        "wire": dialect.wire,
        "types": [_type(dialect, message_type) for message_type in dialect.types.values()],
    }


def _type(dialect: Dialect, type_: MessageType) -> Facts:
    return {
        "name": type_.name,
        "purpose": type_.purpose,
        "senders": type_.senders,
        "receivers": type_.receivers,
        "priority": type_.priority,
        "reply": type_.reply,
        "sections": type_.sections,
        "fields": _fields(addressed_fields(dialect, type_), dialect),
        "example": type_.example,
        "body_example": type_.body_example,
        "schema": type_schema(dialect, type_),
    }


def _fields(fields: Fields, dialect: Dialect | None = None) -> list[Facts]:
    return [
        {
            "name": name,
            "required": field.required,
            **_kind(field.kind),
            **({"meaning": words} if dialect is not None and (words := meaning(dialect, name)) else {}),
        }
        for name, field in fields.items()
    ]


def _kind(kind: Kind) -> Facts:
    """What a form has to know: which input it takes, and between which bounds."""
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
            return {"kind": "list", "item": _kind(item)}
        case MapOf(value):
            return {"kind": "map", "item": _kind(value)}
        case Group(fields):
            return {"kind": "group", "fields": _fields(fields)}
        case Anything():
            return {"kind": "any"}
    raise AssertionError(f"{kind} is no kind of field")
