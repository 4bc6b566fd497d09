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
    kind_at,
)
from telex.generate.type_view import addressed_fields, meaning
from telex.model.limits import LIMITS

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


DRAFT = "https://json-schema.org/draft/2020-12/schema"
INTEGER_MIN, INTEGER_MAX = LIMITS.integer_min, LIMITS.integer_max

# Most validators ignore `format`, so a pattern is given too: every date of ISO 8601, any time.
_DATE = r"^\d{4}-?(\d\d-?\d\d|W\d\d-?\d|\d{3})"
_NO_CONTROL_CHARACTERS = r"^[^\u0000-\u001f\u007f-\u009f]*$"


def type_schema(dialect: Dialect, type_: MessageType) -> Schema:
    """The self-contained schema of one type."""
    return {
        "$schema": DRAFT,
        "$id": f"urn:telex:{dialect.base}:{dialect.version}:{type_.name}",
        **message_schema(dialect, type_),
        "examples": [type_.example],
    }


def dialect_schema(dialect: Dialect) -> Schema:
    """The schema of any message of the dialect: one of its types, selected by `type`."""
    head = {
        "$schema": DRAFT,
        "$id": f"urn:telex:{dialect.base}:{dialect.version}",
        "title": f"{dialect.title}",
        "description": dialect.purpose,
    }
    if not dialect.types:
        return head | {"type": "string"}
    return head | {
        "type": "object",
        "required": ["type"],
        "properties": {"type": {"enum": list(dialect.types)}},
        "discriminator": {"propertyName": "type"},
        "oneOf": [{"$ref": f"#/$defs/{name}"} for name in dialect.types],
        "$defs": {name: message_schema(dialect, type_) for name, type_ in dialect.types.items()},
    }


def message_schema(dialect: Dialect, type_: MessageType) -> Schema:
    """The schema of one type as a part of another document, limited to keywords of draft 7."""
    schema: Schema = {"title": type_.name, "description": type_.purpose}
    schema |= _object(addressed_fields(dialect, type_))
    for name, property_ in schema["properties"].items():
        if words := meaning(dialect, name):
            property_["description"] = words
    if rules := _rules(dialect, type_):
        schema["allOf"] = schema.get("allOf", []) + rules
    return schema | {"x-telex": _extension(dialect, type_)}


def kind_schema(kind: Kind) -> Schema:
    match kind:
        case Text():
            return _text(kind)
        case OneOf((only,)):
            return {"type": "string", "const": only}
        case OneOf(values):
            return {"type": "string", "enum": list(values)}
        case Integer(low, high):
            least = INTEGER_MIN if low is None else low
            return {"type": "integer", "minimum": least, "maximum": INTEGER_MAX if high is None else high}
        case Number(low, high):
            bounds = {"minimum": low, "maximum": high}
            return {"type": "number"} | {name: bound for name, bound in bounds.items() if bound is not None}
        case Boolean():
            return {"type": "boolean"}
        case Timestamp():
            return {"type": "string", "format": "date-time", "pattern": _DATE}
        case ListOf(item):
            return {"type": "array", "items": kind_schema(item)}
        case MapOf(value):
            return {"type": "object", "additionalProperties": kind_schema(value)}
        case Group(fields):
            return _object(fields)
    return {}


def _text(kind: Text) -> Schema:
    """The check only warns about an empty text, except in a field that is a name."""
    schema: Schema = {"type": "string"}
    if kind.printable:
        schema |= {"pattern": _NO_CONTROL_CHARACTERS}
        schema |= {} if kind.may_be_empty else {"minLength": 1}
    return schema | ({} if kind.characters_max is None else {"maxLength": kind.characters_max})


def _object(fields: Fields) -> Schema:
    """Additional fields are allowed: they are stored and delivered."""
    spelt_once = {name: field for name, field in fields.items() if field.later_spelling is None}
    schema: Schema = {
        "type": "object",
        "properties": {name: kind_schema(field.kind) for name, field in spelt_once.items()},
        "required": [name for name, field in spelt_once.items() if field.required],
    }
    either = [_either_spelling(name, field) for name, field in fields.items() if field.later_spelling is not None]
    return schema | ({"allOf": either} if either else {})


def _either_spelling(name: str, field: Field) -> Schema:
    """The later spelling counts only if the first is absent or null; otherwise it is an additional field."""
    later, kind = str(field.later_spelling), kind_schema(field.kind)
    first = {"properties": {name: kind}, "required": [name]}
    second = {"properties": {name: {"type": "null"}, later: kind}, "required": [later]}
    neither = {"not": {"anyOf": [{"required": [name]}, {"required": [later]}]}}
    return {"anyOf": [first, second] if field.required else [first, second, neither]}


def _rules(dialect: Dialect, type_: MessageType) -> list[Schema]:
    """The rules that a schema can express. Rules of severity warning are omitted, because the message is accepted."""
    return [
        {"title": rule.code, "description": rule.say, "if": when, "then": False}
        for rule in (*dialect.rules, *type_.rules)
        if rule.severity == "refusal" and (when := broken(rule, dialect, type_)) is not None
    ]


def _extension(dialect: Dialect, type_: MessageType) -> dict[str, Any]:
    extension: dict[str, Any] = {
        "dialect": dialect.name,
        "version": dialect.version,
        "form": dialect.form,
        "priority": type_.priority,
        "senders": list(type_.senders),
        "receivers": list(type_.receivers),
        "reply": type_.reply,
        "rules": [_rule(rule) for rule in (*dialect.rules, *type_.rules)],
    }
    if type_.fillings:
        extension["fillings"] = [filling._asdict() for filling in type_.fillings]
    if type_.sections:
        extension["sections"] = list(type_.sections)
    return extension


def _rule(rule: HardRule) -> dict[str, Any]:
    return {
        "code": rule.code,
        "severity": rule.severity,
        "brokenWhen": rule.broken_when,
        "path": rule.path,
        "say": rule.say,
    }
