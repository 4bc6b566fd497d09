"""How is a message written that nobody typed? From what it is to say, by the deed's names, and its dialect."""

from collections.abc import Mapping
from typing import Any

from telex.delivery.system_messages import format_timestamp
from telex.dialects.rule_evaluation import set_path
from telex.dialects.schema import TYPE, Dialect, Field, Integer, MessageType, Number, OneOf, Timestamp, Tree

NOTHING: Tree = {}


def compose(
    dialect: Dialect,
    type_: MessageType,
    of: Mapping[str, Any],
    *,
    id: str,
    now: float,
    sender: str,
    to: str | None = None,
    correlation: str | None = None,
    reply_to: str | None = None,
    like: Tree = NOTHING,
) -> Tree:
    """A whole message that says this. What the envelope wants besides is taken from the message it is like, such as the
    one it answers: its phase, its task."""
    assert type_.deed is not None
    wire = dialect.wire
    known = {
        wire.id: id,
        wire.correlation: correlation,
        wire.timestamp: format_timestamp(now),
        wire.sender: sender,
        wire.recipient: to,
        wire.version: dialect.version,
    }
    tree: Tree = {TYPE: type_.name}
    for name, field in dialect.envelope.items():
        value = known.get(name)
        if value is None:
            value = like.get(name) if name != wire.recipient else None
        if value is None and field.required:
            value = _least(field, now)
        if value is not None and _fits(field, value):
            tree[name] = value
    said = {where: of[name] for name, where in type_.deed.field_map.items() if of.get(name) is not None}
    if reply_to is not None and wire.reply_to is not None:
        said.setdefault(wire.reply_to, reply_to)
    for where, value in said.items():
        if where not in dialect.envelope or where not in tree or of.get(where) is not None:
            set_path(tree, dialect.locate(type_, where), value)
    return tree


def _least(field: Field, now: float) -> Any:
    """The least that a field may say."""
    kind = field.kind
    if isinstance(kind, OneOf):
        return kind.values[0]
    if isinstance(kind, (Integer, Number)):
        return kind.at_least or 0
    return format_timestamp(now) if isinstance(kind, Timestamp) else ""


def _fits(field: Field, value: Any) -> bool:
    """A recipient or a sender by name is no role: such a field is left to the caller."""
    return not isinstance(field.kind, OneOf) or value in field.kind.values or field.required
