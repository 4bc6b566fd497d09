"""Composition of a message that the bus writes itself, from the values of its action and the dialect's layout."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from telex.dialects.scalars import format_timestamp
from telex.dialects.schema import TYPE, Dialect, Field, Integer, MessageType, Number, OneOf, Timestamp, Tree, set_path

NOTHING: Tree = {}


class HeaderFields(NamedTuple):
    """Envelope values of a composed message."""

    id: str
    at: float
    sender: str
    to: str | None = None
    correlation: str | None = None
    reply_to: str | None = None


def compose(
    dialect: Dialect, type_: MessageType, of: Mapping[str, Any], header: HeaderFields, like: Tree = NOTHING
) -> Tree:
    """A complete message. Other envelope fields, such as its phase or task, are copied from the message `like`."""
    assert type_.deed is not None
    wire = dialect.wire
    known = {
        wire.id: header.id,
        wire.correlation: header.correlation,
        wire.timestamp: format_timestamp(header.at),
        wire.sender: header.sender,
        wire.recipient: header.to,
        wire.version: dialect.stated_version,
    }
    tree: Tree = {TYPE: type_.name}
    for name, field in dialect.envelope.items():
        value = known.get(name)
        if value is None:
            value = like.get(name) if name != wire.recipient else None
        if value is None and field.required:
            value = _least(field, header.at)
        if value is not None and _fits(field, value):
            tree[name] = value
    fields = {where: of[name] for name, where in type_.deed.field_map.items() if of.get(name) is not None}
    if header.reply_to is not None and wire.reply_to is not None:
        fields.setdefault(wire.reply_to, header.reply_to)
    for where, value in fields.items():
        if where not in dialect.envelope or where not in tree or of.get(where) is not None:
            set_path(tree, dialect.locate(type_, where), value)
    return tree


def _least(field: Field, now: float) -> Any:
    """The smallest valid value of a field."""
    kind = field.kind
    if isinstance(kind, OneOf):
        return kind.values[0]
    if isinstance(kind, (Integer, Number)):
        return kind.at_least or 0
    return format_timestamp(now) if isinstance(kind, Timestamp) else ""


def _fits(field: Field, value: Any) -> bool:
    """False for an optional field of roles whose value is an agent's name: the caller fills it in."""
    return not isinstance(field.kind, OneOf) or value in field.kind.values or field.required
