"""Hard rules as JSON Schema, as far as a schema can express them.

A schema can compare a field with a constant, not with another field. So a rule becomes a schema that matches only
messages that certainly break it: of `a and b` both sides must be expressible, of `a or b` one is enough. The schema
omits the rest, so it never rejects what the check accepts.
"""

from typing import Any, NamedTuple

from telex.dialects.rule_language import Binary, Constant, FunctionCall, Node, Not, Reference, parse
from telex.dialects.schema import (
    Boolean,
    Dialect,
    Field,
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
    kind_at,
)

Schema = dict[str, Any]

_FLIPPED = {"==": "==", "!=": "!=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
_BOUNDS = {"<": "exclusiveMaximum", "<=": "maximum", ">": "exclusiveMinimum", ">=": "minimum"}
_FALSY = [False, 0, "", [], {}]


class RuleFields(NamedTuple):
    """Resolves the names in a rule to fields."""

    dialect: Dialect
    type_: MessageType

    def steps(self, name: str) -> tuple[str, ...]:
        return self.dialect.locate(self.type_, name)

    def field(self, name: str) -> Field | None:
        """The field of this name. None also if its value may come from another place than the field itself."""
        whole, steps = self.dialect.fields_of(self.type_), self.steps(name)
        on_the_way = [kind_at(whole, steps[: end + 1]) for end in range(len(steps))]
        filled = {self.steps(filling.path) for filling in self.type_.fillings}
        if steps in filled or any(field is None or field.later_spelling for field in on_the_way):
            return None
        return on_the_way[-1]


def broken(rule: HardRule, dialect: Dialect, type_: MessageType) -> Schema | None:
    """A schema that matches only messages that break the rule. None if no part of the rule can be expressed."""
    return _surely(parse(rule.broken_when), True, RuleFields(dialect, type_))


def _surely(node: Node, truth: bool, rule_fields: RuleFields) -> Schema | None:
    """A schema that matches only messages for which the expression is true, or only those for which it is false."""
    if isinstance(node, Not):
        return _surely(node.operand, not truth, rule_fields)
    if isinstance(node, Binary) and node.operation in ("and", "or"):
        sides = [_surely(node.left, truth, rule_fields), _surely(node.right, truth, rule_fields)]
        sayable = [side for side in sides if side is not None]
        if (node.operation == "and") is truth:
            return {"allOf": sayable} if len(sayable) == 2 else None
        return {"anyOf": sayable} if len(sayable) == 2 else next(iter(sayable), None)
    exactly = _exactly(node, rule_fields)
    if exactly is None or truth:
        return exactly
    return {"not": exactly}


def _exactly(node: Node, rule_fields: RuleFields) -> Schema | None:
    """A schema that matches exactly when this simple expression is true. None if there is none."""
    match node:
        case Constant(value):
            return {} if value else {"not": {}}
        case Reference(name):
            return _truthy(name, rule_fields)
        case FunctionCall("has", (Reference(name),)):
            return _at(name, {}, rule_fields)
        case FunctionCall("len", (Reference(name),)):
            return _longer(name, 1, rule_fields)
        case Binary("in", Reference(name), Constant(tuple() as values)):
            return _at(name, {"enum": list(values)}, rule_fields) if _suits(rule_fields.field(name), *values) else None
        case Binary("in", Constant(value), Reference(name)):
            return _contains(name, value, rule_fields)
        case Binary(operation, FunctionCall("len", (Reference(name),)), Constant(int() as count)):
            return _length(name, operation, count, rule_fields)
        case Binary(operation, Reference(name), Constant(value)):
            return _compared(name, operation, value, rule_fields)
        case Binary(operation, Constant() as constant, Reference() | FunctionCall() as other) if operation in _FLIPPED:
            return _exactly(Binary(_FLIPPED[operation], other, constant), rule_fields)
    return None


def _truthy(name: str, rule_fields: RuleFields) -> Schema | None:
    field = rule_fields.field(name)
    is_boolean = field is not None and isinstance(field.kind, Boolean)
    return _at(name, {"const": True} if is_boolean else {"not": {"enum": _FALSY}}, rule_fields)


def _compared(name: str, operation: str, value: Any, rule_fields: RuleFields) -> Schema | None:
    field = rule_fields.field(name)
    if field is None or not _suits(field, value):
        return None
    if operation == "==":
        return _at(name, {"const": value}, rule_fields)
    if operation == "!=":
        return _at(name, {"not": {"const": value}}, rule_fields)
    if isinstance(field.kind, Integer | Number) and operation in _BOUNDS:
        return _at(name, {_BOUNDS[operation]: value}, rule_fields)
    return None  # a schema cannot order texts


def _length(name: str, operation: str, count: int, rule_fields: RuleFields) -> Schema | None:
    """An absent field has length 0, so every comparison becomes `at least` or its negation."""
    at_least, above = _longer(name, count, rule_fields), _longer(name, count + 1, rule_fields)
    if at_least is None or above is None:
        return None
    exactly = {"allOf": [at_least, {"not": above}]} if count > 0 else {"not": above}
    schemas: dict[str, Schema] = {
        ">=": at_least,
        ">": above,
        "<": {"not": at_least},
        "<=": {"not": above},
        "==": exactly,
        "!=": {"not": exactly},
    }
    return schemas.get(operation)


def _longer(name: str, at_least: int, rule_fields: RuleFields) -> Schema | None:
    field = rule_fields.field(name)
    match field.kind if field else None:
        case Text() | OneOf():
            leaf = {"type": "string", "minLength": at_least}
        case ListOf():
            leaf = {"type": "array", "minItems": at_least}
        case MapOf() | Group():
            leaf = {"type": "object", "minProperties": at_least}
        case _:
            return None
    return {} if at_least <= 0 else _at(name, leaf, rule_fields)


def _contains(name: str, value: Any, rule_fields: RuleFields) -> Schema | None:
    """`'FAILED' in gates[].status`, or a constant in a list of texts or numbers."""
    field, steps = rule_fields.field(name), rule_fields.steps(name)
    lists = [index for index, step in enumerate(steps) if step.endswith("[]")]
    if field is None or len(lists) > 1:
        return None
    if lists:
        within, rest = steps[: lists[0] + 1], steps[lists[0] + 1 :]
        suits, item = _suits(field, value), _nested(rest, {"const": value})
    elif isinstance(field.kind, ListOf):
        within, suits, item = steps, _suits(field._replace(kind=field.kind.item), value), {"const": value}
    else:
        return None  # in a text or an object, `in` has another meaning
    path = tuple(step.removesuffix("[]") for step in within)
    return _nested(path, {"contains": item}) if suits else None


def _suits(field: Field | None, *values: Any) -> bool:
    """Whether the constants are of the kind of the field. In Python 1 equals true, in a schema it does not."""
    return field is not None and all(_suits_kind(field.kind, value) for value in values)


def _suits_kind(kind: Kind, value: Any) -> bool:
    if isinstance(kind, Text | OneOf):
        return isinstance(value, str)
    if isinstance(kind, Boolean):
        return isinstance(value, bool)
    return isinstance(kind, Integer | Number) and isinstance(value, int | float) and not isinstance(value, bool)


def _at(name: str, leaf: Schema, rule_fields: RuleFields) -> Schema | None:
    """The field is present and matches."""
    steps = rule_fields.steps(name)
    if rule_fields.field(name) is None or any(step.endswith("[]") for step in steps):
        return None
    return _nested(steps, leaf)


def _nested(steps: tuple[str, ...], leaf: Schema) -> Schema:
    for step in reversed(steps):
        leaf = {"properties": {step: leaf}, "required": [step]} if leaf else {"required": [step]}
    return leaf
