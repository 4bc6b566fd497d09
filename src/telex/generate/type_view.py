"""Views of a message type that the generators share: its roles, its fields in words, its rules for one sender.

For one sender role the role's own name is filled in, receivers that a rule forbids are removed, and only rules that the
role can break remain. Rules are evaluated as far as the known fields decide them, and written in the rule language
again.
"""

from collections.abc import Mapping
from typing import Any

from telex.dialects import rule_language, schema
from telex.dialects.rule_language import Binary, Constant, FunctionCall, Getter, Node, Not, Reference
from telex.dialects.schema import ANY, TYPE, Dialect, Field, Fields, HardRule, Kind, MessageType, OneOf
from telex.model.finding import Severity
from telex.model.named_tuple import NamedTuple
from telex.validation.authorization import may_send


def participants(dialect: Dialect) -> tuple[str, ...]:
    """Every role that a type names, the dialect's own roles first. A person may receive without being one of them."""
    named = [role for type_ in dialect.types.values() for role in (*type_.senders, *type_.receivers)]
    return tuple(role for role in dict.fromkeys((*dialect.roles, *named)) if role not in ANY)


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
                values = tuple(value for value in field.kind.values if value in allowed or value.lower() in allowed)
                fields[name] = field._replace(kind=OneOf(values or field.kind.values))
    return fields


# --- fields in words -------------------------------------------------------------------------------------------------


class KindNames(NamedTuple):
    """Names of a kind of value in the generated texts."""

    words: str
    short: str
    python: str
    typescript: str


KIND_NAMES: Mapping[type, KindNames] = {
    schema.Text: KindNames("text", "text", "str", "string"),
    schema.OneOf: KindNames("text", "text", "str", "string"),
    schema.Integer: KindNames("integer", "int", "int", "number"),
    schema.Number: KindNames("number", "num", "float", "number"),
    schema.Boolean: KindNames("true or false", "bool", "bool", "boolean"),
    schema.Timestamp: KindNames("time", "time", "str", "string"),
    schema.Group: KindNames("object", "", "dict[str, Any]", "object"),
    schema.Anything: KindNames("any value", "any", "Any", "unknown"),
}
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
        case schema.ListOf(item):
            return f"list of {_plural(item)}"
        case schema.MapOf(schema.Anything()):
            return "object"
        case schema.MapOf(value):
            return f"object of {_plural(value)}"
    return KIND_NAMES[type(kind)].words


def _plural(kind: Kind) -> str:
    words = kind_words(kind)
    return f"{words}s" if words in ("integer", "number", "time", "object") else words


def values_words(kind: Kind) -> str:
    """The allowed values of the kind. Empty if all are allowed."""
    match kind:
        case OneOf(values):
            return ", ".join(f"`{value}`" for value in values)
        case schema.Integer(low, high) | schema.Number(low, high):
            return _range_words(low, high)
        case schema.Text(characters_max=int() as length_max):
            return f"at most {length_max} characters"
        case schema.Text(may_be_empty=True):
            return "may be empty"
        case schema.Timestamp():
            return "ISO 8601 with a zone"
        case schema.ListOf(item) | schema.MapOf(item):
            return values_words(item)
    return ""


def _range_words(low: float | None, high: float | None) -> str:
    if low is not None and high is not None:
        return f"{low} to {high}"
    if low is not None:
        return f"at least {low}"
    return f"at most {high}" if high is not None else ""


# --- rules -----------------------------------------------------------------------------------------------------------

Known = Mapping[str, Any]  # the value of each known field, by its name in rules

_PRECEDENCE = {"or": 1, "and": 2, "not": 3, "+": 5, "-": 5}  # all other operators are comparisons
_COMPARISON = 4


def simplified(node: Node, known: Known) -> Node:
    """An equivalent rule with the known fields replaced by their values; a constant if they decide it."""
    match node:
        case Not(operand):
            return _folded(Not(simplified(operand, known)))
        case Binary("and" | "or" as operation, left, right):
            return _connected(operation, simplified(left, known), simplified(right, known))
    return _folded(_substituted(node, known))


def _substituted(node: Node, known: Known) -> Node:
    """Replace names only. Operands of a comparison are values: folding them would turn an absent field into false."""
    match node:
        case Reference(name):
            return Constant(known[name]) if name in known else node
        case Not(operand):
            return Not(_substituted(operand, known))
        case FunctionCall(function, arguments):
            return FunctionCall(function, tuple(_substituted(argument, known) for argument in arguments))
        case Binary(operation, left, right):
            return Binary(operation, _substituted(left, known), _substituted(right, known))
    return node


def _folded(node: Node) -> Node:
    """A node without field names becomes the constant that it evaluates to."""
    return node if any(rule_language.names(node)) else Constant(rule_language.compile_rule(node, _no_field)(None))


def _no_field(name: str) -> Getter:
    raise AssertionError(f"{name} is not known")


def _connected(operation: str, left: Node, right: Node) -> Node:
    for side, other in ((left, right), (right, left)):
        if isinstance(side, Constant):
            decides = bool(side.value) is (operation == "or")
            return Constant(bool(side.value)) if decides else other
    return Binary(operation, left, right)


def written(node: Node, outer: int = 0) -> str:
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
            text, own = f"not {written(operand, _PRECEDENCE['not'])}", _PRECEDENCE["not"]
        case Binary(operation, left, right):
            own = _PRECEDENCE.get(operation, _COMPARISON)
            chains = own != _COMPARISON  # a and b and c; but never a < b < c
            text = f"{written(left, own - chains)} {operation} {written(right, own)}"
    return text if own > outer else f"({text})"


def _constant(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, tuple):
        return f"[{', '.join(_constant(item) for item in value)}]"
    if isinstance(value, str):
        return f'"{value}"' if "'" in value else f"'{value}'"
    return str(value)


# --- a type for one sender role --------------------------------------------------------------------------------------


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
    if not may_send(role, type_) or any(isinstance(rule.broken_when, Constant) for rule in rules if refuses(rule)):
        return None
    forced = _constants_forced(type_, rules)
    recipient = dialect.wire.recipient
    receivers = (forced[recipient],) if recipient in forced else type_.receivers
    fields, values = dict(type_.fields), known | forced
    for name, field in fields.items():
        if isinstance(values.get(name), str):
            fields[name] = Field(OneOf((values[name],)), field.required)
        elif name == recipient and isinstance(field.kind, OneOf):
            fields[name] = Field(OneOf(tuple(value for value in field.kind.values if value in receivers)))
    decided = [Binary("!=", Reference(name), Constant(value)) for name, value in forced.items()]
    remaining = tuple(rule for rule in rules if rule.broken_when not in decided)
    return RoleView(type_, receivers, fields, remaining)


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


def rules_left(rules: tuple[HardRule, ...], known: Known) -> tuple[RemainingRule, ...]:
    """The rules that can still be broken."""
    nodes = [(rule.severity, simplified(rule_language.parse(rule.broken_when), known)) for rule in rules]
    can_break = [(severity, node) for severity, node in nodes if not isinstance(node, Constant) or node.value]
    return tuple(RemainingRule(severity, node) for severity, node in can_break)


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
