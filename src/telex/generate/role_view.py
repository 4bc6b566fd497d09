"""A message type as one sender role sees it.

The role's own name is filled in, receivers that a rule forbids are removed, and only rules that it can break remain.
"""

from typing import Any, NamedTuple

from telex.dialects.rule_language import Binary, Constant, Node, Reference, parse
from telex.dialects.schema import TYPE, Dialect, Field, Fields, HardRule, MessageType, OneOf
from telex.generate.roles import may_send
from telex.generate.rule_text import simplified
from telex.model.finding import Severity


class RemainingRule(NamedTuple):
    severity: Severity
    broken_when: Node


class RoleView(NamedTuple):
    type_: MessageType
    receivers: tuple[str, ...]
    fields: Fields  # the type's own
    rules: tuple[RemainingRule, ...]  # the type's own


def view(dialect: Dialect, type_: MessageType, role: str) -> RoleView | None:
    """The type as this role sends it. None if it may not, or if a rule refuses every message that it could send."""
    known = {TYPE: type_.name} | settled(dialect, dialect.envelope, role) | settled(dialect, type_.fields, role)
    rules = rules_left(type_.rules, known)
    if not may_send(type_, role) or any(isinstance(rule.broken_when, Constant) for rule in rules if refuses(rule)):
        return None
    only = _constants_forced(type_, rules)
    forced = {name: value for name, value in only.items() if name in type_.fields}
    receivers = _receivers(dialect, type_, only)
    remaining_rules = tuple(rule for rule in rules if not _is_kept_by(rule, forced))
    return RoleView(type_, receivers, _narrowed(dialect, type_, known | forced, receivers), remaining_rules)


def receivers_from(dialect: Dialect, type_: MessageType, role: str) -> tuple[str, ...]:
    """The receivers that this role may send the type to. Empty if it may not send the type."""
    role_view = view(dialect, type_, role)
    return () if role_view is None else role_view.receivers


def settled(dialect: Dialect, fields: Fields, role: str) -> dict[str, Any]:
    """The fields whose value is known: constants, and the role's own name."""
    constants = {
        name: field.kind.values[0]
        for name, field in fields.items()
        if field.required and isinstance(field.kind, OneOf) and len(field.kind.values) == 1
    }
    sender = dialect.wire.sender
    return constants | ({sender: role} if sender is not None and sender in fields else {})


def rules_left(rules: tuple[HardRule, ...], known: dict[str, Any]) -> tuple[RemainingRule, ...]:
    remaining_rules = [RemainingRule(rule.severity, simplified(parse(rule.broken_when), known)) for rule in rules]
    return tuple(
        rule for rule in remaining_rules if not (isinstance(rule.broken_when, Constant) and not rule.broken_when.value)
    )


def refuses(rule: RemainingRule) -> bool:
    return rule.severity == "refusal"


def _constants_forced(type_: MessageType, rules: tuple[RemainingRule, ...]) -> dict[str, Any]:
    """A rule that refuses every value but one, such as `to != 'senior'`, makes the field a constant."""
    forced: dict[str, Any] = {}
    for rule in filter(refuses, rules):
        match rule.broken_when:
            case Binary("!=", Reference(name), Constant(str() as value)) if name in type_.fields:
                forced[name] = value
    return forced


def _is_kept_by(rule: RemainingRule, forced: dict[str, Any]) -> bool:
    match rule.broken_when:
        case Binary("!=", Reference(name), Constant(value)):
            return name in forced and bool(forced[name] == value)
    return False


def _receivers(dialect: Dialect, type_: MessageType, only: dict[str, Any]) -> tuple[str, ...]:
    recipient = dialect.wire.recipient
    return (only[recipient],) if recipient in only else type_.receivers


def _narrowed(dialect: Dialect, type_: MessageType, known: dict[str, Any], receivers: tuple[str, ...]) -> Fields:
    fields = dict(type_.fields)
    for name, field in fields.items():
        if isinstance(known.get(name), str):
            fields[name] = Field(OneOf((known[name],)), field.required)
        elif name == dialect.wire.recipient and isinstance(field.kind, OneOf):
            fields[name] = Field(OneOf(tuple(value for value in field.kind.values if value in receivers)))
    return fields
