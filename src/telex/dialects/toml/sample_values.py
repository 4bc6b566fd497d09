"""Plain example values, for a type whose file gives no example."""

from typing import Any

from telex.dialects.rule_evaluation import compile_for_tree
from telex.dialects.rule_language import parse
from telex.dialects.schema import (
    ANY,
    Boolean,
    Dialect,
    Fields,
    Group,
    HardRule,
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
)

NOON = "2026-01-01T12:00:00Z"


def broken_rules(message: Tree, dialect: Dialect, type_: MessageType) -> tuple[HardRule, ...]:
    rules = (*dialect.rules, *type_.rules)
    return tuple(rule for rule in rules if compile_for_tree(parse(rule.broken_when), dialect, type_)(message))


def plain_fields(dialect: Dialect, type_: MessageType, fields: Fields) -> Tree:
    """Every required field with a plain value, or with the one that the bus would expect there."""
    known = _known(dialect, type_)
    plain = {name: plain_value(field.kind) for name, field in fields.items() if field.required}
    return plain | {name: value for name, value in known.items() if name in plain and fits(value, fields[name].kind)}


def _known(dialect: Dialect, type_: MessageType) -> dict[str | None, str]:
    wire, senders = dialect.wire, _roles(type_.senders, dialect) or ("",)
    receivers = [role for role in _roles(type_.receivers, dialect) if role != senders[0]] or senders
    return {
        wire.task: "task-1",
        wire.correlation: "task-1",
        wire.id: f"{type_.name}-1",
        wire.sender: senders[0],
        wire.recipient: receivers[0],
        wire.version: dialect.version,
        wire.reply_to: next(
            (f"{message_type.name}-1" for message_type in dialect.types.values() if message_type.reply == type_.name),
            "1",
        ),
    }


def _roles(named: tuple[str, ...], dialect: Dialect) -> tuple[str, ...]:
    return dialect.roles if named == ANY else named


def fits(value: str, kind: Kind) -> bool:
    if isinstance(kind, Text):
        return kind.characters_max is None or len(value) <= kind.characters_max
    return isinstance(kind, OneOf) and value in kind.values


def plain_value(kind: Kind) -> Any:
    match kind:
        case Text(_, most):
            return "text"[:most]
        case OneOf(values):
            return values[0]
        case Integer(low, high) | Number(low, high):
            return low if low is not None else 1 if high is None else min(1, high)
        case Boolean():
            return True
        case Timestamp():
            return NOON
        case ListOf(item):
            return [plain_value(item)]
        case MapOf(value):
            return {"name": plain_value(value)}
        case Group(fields):
            return {name: plain_value(field.kind) for name, field in fields.items() if field.required}
    return "text"
