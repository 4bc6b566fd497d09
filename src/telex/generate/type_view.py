"""Roles of a dialect, and the types that they send and receive."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from telex.dialects.rule_language import (
    Binary,
    Constant,
    FunctionCall,
    Getter,
    Node,
    Not,
    Reference,
    compile_rule,
    names,
    parse,
)
from telex.dialects.schema import (
    ANY,
    TYPE,
    Anything,
    Boolean,
    Dialect,
    Field,
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
)
from telex.model.finding import Severity


def participants(dialect: Dialect) -> tuple[str, ...]:
    """Every role that a type names, the dialect's own roles first. A person may receive without being one of them."""
    named = [role for type_ in dialect.types.values() for role in (*type_.senders, *type_.receivers)]
    return tuple(role for role in dict.fromkeys((*dialect.roles, *named)) if role not in ANY)


def may_send(type_: MessageType, role: str) -> bool:
    return type_.senders == ANY or role in type_.senders


def may_receive(type_: MessageType, role: str) -> bool:
    return type_.receivers == ANY or role in type_.receivers


def answered_by(dialect: Dialect, type_: MessageType) -> list[str]:
    """The types that this one is the reply to."""
    return [request.name for request in dialect.types.values() if request.reply == type_.name]


def addressed_fields(dialect: Dialect, type_: MessageType) -> Fields:
    """All fields of the message; sender and recipient have only the names that this type allows."""
    fields = dict(dialect.fields_of(type_))
    if dialect.addresses == "roles":
        for name, allowed in ((dialect.wire.sender, type_.senders), (dialect.wire.recipient, type_.receivers)):
            field = fields.get(name or "")
            if name and field and isinstance(field.kind, OneOf) and allowed != ANY:
                fields[name] = field._replace(kind=_only(field.kind, allowed))
    return fields


def _only(kind: OneOf, allowed: tuple[str, ...]) -> OneOf:
    """The allowed values, compared without case. All of them if none is allowed: the senders of the type tell that."""
    left = tuple(value for value in kind.values if value in allowed or value.lower() in allowed)
    return OneOf(left) if left else kind


# The meaning of a field to the bus, by its name in `Wire`. The first match is used.
_MEANINGS = {
    "id": "Names this message; the sender uses it once.",
    "correlation": "The same in every message about one thing.",
    "sender": "Who sends it.",
    "recipient": "Who it is for.",
    "timestamp": "When it was written.",
    "version": "The version of the dialect.",
    "reply_to": "The id of the message that this one answers.",
    "task": "What the message is about.",
}


def meaning(dialect: Dialect, name: str) -> str | None:
    """The meaning of the field to the bus. None if the bus does not read it."""
    if name == dialect.payload:
        return "The fields of the message's type."
    wire = dialect.wire._asdict()
    return next((words for role, words in _MEANINGS.items() if wire[role] == name), None)


def kind_words(kind: Kind) -> str:
    """The kind of value, without the allowed values."""
    match kind:
        case Text() | OneOf():
            return "text"
        case Integer():
            return "integer"
        case Number():
            return "number"
        case Boolean():
            return "true or false"
        case Timestamp():
            return "time"
        case ListOf(item):
            return f"list of {_several(item)}"
        case MapOf(Anything()) | Group():
            return "object"
        case MapOf(value):
            return f"object of {_several(value)}"
        case Anything():
            return "any value"


def _several(kind: Kind) -> str:
    words = kind_words(kind)
    return f"{words}s" if words in ("integer", "number", "time", "object") else words


def values_words(kind: Kind) -> str:
    """The allowed values of the kind. Empty if all are allowed."""
    match kind:
        case OneOf(values):
            return ", ".join(f"`{value}`" for value in values)
        case Integer(low, high) | Number(low, high):
            return range_words(low, high)
        case Text(characters_max=int() as most):
            return f"at most {most} characters"
        case Text(may_be_empty=True):
            return "may be empty"
        case Timestamp():
            return "ISO 8601 with a zone"
        case ListOf(item) | MapOf(item):
            return values_words(item)
    return ""


def range_words(low: float | None, high: float | None) -> str:
    if low is not None and high is not None:
        return f"{low} to {high}"
    if low is not None:
        return f"at least {low}"
    return f"at most {high}" if high is not None else ""


Known = Mapping[str, Any]  # the value of each known field, by its name in rules

_TIGHTNESS = {"or": 1, "and": 2, "not": 3, "+": 5, "-": 5}  # all other operators are comparisons
_COMPARISON = 4


def simplified(node: Node, known: Known) -> Node:
    """An equivalent rule with the known fields replaced by their values; a constant if they decide it."""
    match node:
        case Not(operand):
            return _settled(Not(simplified(operand, known)))
        case Binary("and" | "or" as operation, left, right):
            return _either_side(operation, simplified(left, known), simplified(right, known))
    return _settled(_put_in(node, known))


def _put_in(node: Node, known: Known) -> Node:
    """Replace names only. Operands of a comparison are values: folding them would turn an absent field into false."""
    match node:
        case Reference(name):
            return Constant(known[name]) if name in known else node
        case Not(operand):
            return Not(_put_in(operand, known))
        case FunctionCall(function, arguments):
            return FunctionCall(function, tuple(_put_in(argument, known) for argument in arguments))
        case Binary(operation, left, right):
            return Binary(operation, _put_in(left, known), _put_in(right, known))
    return node


def _settled(node: Node) -> Node:
    """A node without field names becomes the constant that it evaluates to."""
    return node if any(names(node)) else Constant(compile_rule(node, _no_field)(None))


def _no_field(name: str) -> Getter:
    raise AssertionError(f"{name} was to be known")


def _either_side(operation: str, left: Node, right: Node) -> Node:
    for one, other in ((left, right), (right, left)):
        if isinstance(one, Constant):
            decides = bool(one.value) is (operation == "or")
            return Constant(bool(one.value)) if decides else other
    return Binary(operation, left, right)


def written(node: Node, tighter_than: int = 0) -> str:
    """The rule as text that parses to the same rule, with parentheses only where needed."""
    match node:
        case Constant(value):
            return _constant(value)
        case Reference(name):
            return name
        case FunctionCall(function, arguments):
            return f"{function}({', '.join(written(argument) for argument in arguments)})"
        case Not(Binary("in", left, right)):
            text, own = f"{written(left, _COMPARISON)} not in {written(right, _COMPARISON)}", _COMPARISON
        case Not(operand):
            text, own = f"not {written(operand, _TIGHTNESS['not'])}", _TIGHTNESS["not"]
        case Binary(operation, left, right):
            own = _TIGHTNESS.get(operation, _COMPARISON)
            chains = own != _COMPARISON  # a and b and c; but never a < b < c
            text = f"{written(left, own - chains)} {operation} {written(right, own)}"
    return text if own > tighter_than else f"({text})"


def _constant(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, tuple):
        return f"[{', '.join(_constant(item) for item in value)}]"
    if isinstance(value, str):
        return f'"{value}"' if "'" in value else f"'{value}'"
    return str(value)


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
