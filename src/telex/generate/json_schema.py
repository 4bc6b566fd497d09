"""JSON Schema (2020-12) of a message type or of a whole dialect.

The schema accepts every message that the check accepts, and rejects what a schema can express. A schema can compare a
field only with a constant; `x-telex` contains every rule in full, with the senders and the priority of the type. The
schema of a front-matter dialect describes the front matter as a mapping.
"""

from typing import Any

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
)
from telex.generate.field_text import meaning
from telex.generate.roles import addressed_fields
from telex.generate.rule_schema import Schema, broken
from telex.model.limits import LIMITS

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
        extension["fillings"] = [vars(filling) for filling in type_.fillings]
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
