"""JSON Schemas (2020-12) of message types and dialects, and the AsyncAPI 3.0.0 document of a dialect.

A schema accepts every message that the check accepts, and rejects what a schema can express. A schema can compare a
field only with a constant; `x-telex` contains every rule in full, with the senders and the priority of the type. The
schema of a front-matter dialect describes the front matter as a mapping.

In an AsyncAPI document the inbox of a role is a channel; a role that may send messages to it is an operation. For types
that any agent may receive, one channel represents all inboxes and takes the agent's name as a parameter. Payloads are
the schemas of the types, limited to keywords of AsyncAPI's own schema language. The document names no server.
"""

from typing import Any

from telex.dialects import schema as kinds
from telex.dialects.rule_language import Binary, Constant, FunctionCall, Node, Not, Reference, parse
from telex.dialects.schema import ANY, Dialect, Field, Fields, Kind, MessageType, kind_at
from telex.generate.type_view import addressed_fields, meaning, participants, receivers_from
from telex.model.limits import LIMITS
from telex.model.named_tuple import NamedTuple

Schema = dict[str, Any]

DRAFT = "https://json-schema.org/draft/2020-12/schema"
# Most validators ignore `format`, so a pattern is given too: every date of ISO 8601, any time.
_DATE = r"^\d{4}-?(\d\d-?\d\d|W\d\d-?\d|\d{3})"
_NO_CONTROL_CHARACTERS = r"^[^\u0000-\u001f\u007f-\u009f]*$"
_FLIPPED = {"==": "==", "!=": "!=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
_BOUNDS = {"<": "exclusiveMaximum", "<=": "maximum", ">": "exclusiveMinimum", ">=": "minimum"}
_FALSY = [False, 0, "", [], {}]


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
        "title": dialect.title,
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
    translator = RuleTranslator(dialect, type_)
    rules = [  # that a schema can express; after a warning the message is accepted
        {"title": rule.code, "description": rule.say, "if": broken, "then": False}
        for rule in (*dialect.rules, *type_.rules)
        if rule.severity == "refusal" and (broken := translator.when(parse(rule.broken_when), True)) is not None
    ]
    if rules:
        schema["allOf"] = schema.get("allOf", []) + rules
    return schema | {"x-telex": _extension(dialect, type_)}


def _extension(dialect: Dialect, type_: MessageType) -> dict[str, Any]:
    extension: dict[str, Any] = {
        "dialect": dialect.name,
        "version": dialect.version,
        "form": dialect.form,
        "priority": type_.priority,
        "senders": list(type_.senders),
        "receivers": list(type_.receivers),
        "reply": type_.reply,
        "rules": [
            {"code": rule.code, "severity": rule.severity, "brokenWhen": rule.broken_when, "path": rule.path}
            | {"say": rule.say}
            for rule in (*dialect.rules, *type_.rules)
        ],
    }
    if type_.fillings:
        extension["fillings"] = [filling._asdict() for filling in type_.fillings]
    if type_.sections:
        extension["sections"] = list(type_.sections)
    return extension


# --- fields ----------------------------------------------------------------------------------------------------------


def kind_schema(kind: Kind) -> Schema:
    match kind:
        case kinds.Text(may_be_empty, length_max, printable):  # the check only warns about other empty texts
            least = {} if may_be_empty else {"minLength": 1}
            name = {"pattern": _NO_CONTROL_CHARACTERS, **least} if printable else {}
            return {"type": "string", **name, **({} if length_max is None else {"maxLength": length_max})}
        case kinds.OneOf((only,)):
            return {"type": "string", "const": only}
        case kinds.OneOf(values):
            return {"type": "string", "enum": list(values)}
        case kinds.Integer(low, high):
            low, high = LIMITS.integer_min if low is None else low, LIMITS.integer_max if high is None else high
            return {"type": "integer", "minimum": low, "maximum": high}
        case kinds.Number(low, high):
            bounds = {"minimum": low, "maximum": high}
            return {"type": "number"} | {name: bound for name, bound in bounds.items() if bound is not None}
        case kinds.Boolean():
            return {"type": "boolean"}
        case kinds.Timestamp():
            return {"type": "string", "format": "date-time", "pattern": _DATE}
        case kinds.ListOf(item):
            return {"type": "array", "items": kind_schema(item)}
        case kinds.MapOf(value):
            return {"type": "object", "additionalProperties": kind_schema(value)}
        case kinds.Group(fields):
            return _object(fields)
    return {}


def _object(fields: Fields) -> Schema:
    """Additional fields are allowed: they are stored and delivered."""
    plain = {name: field for name, field in fields.items() if field.later_spelling is None}
    schema: Schema = {
        "type": "object",
        "properties": {name: kind_schema(field.kind) for name, field in plain.items()},
        "required": [name for name, field in plain.items() if field.required],
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


# --- rules -----------------------------------------------------------------------------------------------------------


class RuleTranslator(NamedTuple):
    """Translates hard rules to schemas, as far as a schema can express them.

    A rule becomes a schema that matches only messages that certainly break it: of `a and b` both sides must be
    expressible, of `a or b` one is enough. So the schema never rejects what the check accepts.
    """

    dialect: Dialect
    type_: MessageType

    def when(self, node: Node, truth: bool) -> Schema | None:
        """A schema that matches only messages for which the expression has this truth value. None if there is none."""
        if isinstance(node, Not):
            return self.when(node.operand, not truth)
        if isinstance(node, Binary) and node.operation in ("and", "or"):
            sides = [side for side in (self.when(node.left, truth), self.when(node.right, truth)) if side is not None]
            if (node.operation == "and") is truth:
                return {"allOf": sides} if len(sides) == 2 else None
            return {"anyOf": sides} if len(sides) == 2 else next(iter(sides), None)
        exact = self._exact(node)
        return exact if exact is None or truth else {"not": exact}

    def _exact(self, node: Node) -> Schema | None:
        """A schema that matches exactly when this simple expression is true. None if there is none."""
        match node:
            case Constant(value):
                return {} if value else {"not": {}}
            case Reference(name):
                field = self._field(name)
                is_boolean = field is not None and isinstance(field.kind, kinds.Boolean)
                return self._at(name, {"const": True} if is_boolean else {"not": {"enum": _FALSY}})
            case FunctionCall("has", (Reference(name),)):
                return self._at(name, {})
            case FunctionCall("len", (Reference(name),)):
                return self._length_min(name, 1)
            case Binary("in", Reference(name), Constant(tuple() as values)):
                return self._at(name, {"enum": list(values)}) if _suits(self._field(name), *values) else None
            case Binary("in", Constant(value), Reference(name)):
                return self._contains(name, value)
            case Binary(operation, FunctionCall("len", (Reference(name),)), Constant(int() as count)):
                return self._length(name, operation, count)
            case Binary(operation, Reference(name), Constant(value)):
                return self._compared(name, operation, value)
            case Binary(operation, Constant() as constant, Reference() | FunctionCall() as other):
                flipped = _FLIPPED.get(operation)
                return self._exact(Binary(flipped, other, constant)) if flipped is not None else None
        return None

    def _compared(self, name: str, operation: str, value: Any) -> Schema | None:
        field = self._field(name)
        if field is None or not _suits(field, value):
            return None
        if operation == "==":
            return self._at(name, {"const": value})
        if operation == "!=":
            return self._at(name, {"not": {"const": value}})
        if isinstance(field.kind, kinds.Integer | kinds.Number) and operation in _BOUNDS:
            return self._at(name, {_BOUNDS[operation]: value})
        return None  # a schema cannot order texts

    def _length(self, name: str, operation: str, count: int) -> Schema | None:
        """An absent field has length 0, so every comparison becomes `at least` or its negation."""
        at_least, above = self._length_min(name, count), self._length_min(name, count + 1)
        if at_least is None or above is None:
            return None
        equal = {"allOf": [at_least, {"not": above}]} if count > 0 else {"not": above}
        schemas: dict[str, Schema] = {">=": at_least, ">": above, "==": equal}
        schemas |= {"<": {"not": at_least}, "<=": {"not": above}, "!=": {"not": equal}}
        return schemas.get(operation)

    def _length_min(self, name: str, at_least: int) -> Schema | None:
        field = self._field(name)
        match field.kind if field else None:
            case kinds.Text() | kinds.OneOf():
                leaf = {"type": "string", "minLength": at_least}
            case kinds.ListOf():
                leaf = {"type": "array", "minItems": at_least}
            case kinds.MapOf() | kinds.Group():
                leaf = {"type": "object", "minProperties": at_least}
            case _:
                return None
        return {} if at_least <= 0 else self._at(name, leaf)

    def _contains(self, name: str, value: Any) -> Schema | None:
        """`'FAILED' in gates[].status`, or a constant in a list of texts or numbers."""
        field, steps = self._field(name), self.dialect.locate(self.type_, name)
        lists = [index for index, step in enumerate(steps) if step.endswith("[]")]
        if field is None or len(lists) > 1:
            return None
        if lists:
            outer, inner = steps[: lists[0] + 1], steps[lists[0] + 1 :]
            suits, item = _suits(field, value), _nested(inner, {"const": value})
        elif isinstance(field.kind, kinds.ListOf):
            outer, suits, item = steps, _suits(field._replace(kind=field.kind.item), value), {"const": value}
        else:
            return None  # in a text or an object, `in` has another meaning
        path = tuple(step.removesuffix("[]") for step in outer)
        return _nested(path, {"contains": item}) if suits else None

    def _field(self, name: str) -> Field | None:
        """The field of this name. None also if its value may come from another place than the field itself."""
        fields, steps = self.dialect.fields_of(self.type_), self.dialect.locate(self.type_, name)
        on_the_way = [kinds.kind_at(fields, steps[: end + 1]) for end in range(len(steps))]
        filled = {self.dialect.locate(self.type_, filling.path) for filling in self.type_.fillings}
        if steps in filled or any(field is None or field.later_spelling for field in on_the_way):
            return None
        return on_the_way[-1]

    def _at(self, name: str, leaf: Schema) -> Schema | None:
        """The field is present and matches."""
        steps = self.dialect.locate(self.type_, name)
        if self._field(name) is None or any(step.endswith("[]") for step in steps):
            return None
        return _nested(steps, leaf)


def _suits(field: Field | None, *values: Any) -> bool:
    """Whether the constants are of the kind of the field. In Python 1 equals true, in a schema it does not."""
    match field.kind if field else None:
        case kinds.Text() | kinds.OneOf():
            return all(isinstance(value, str) for value in values)
        case kinds.Boolean():
            return all(isinstance(value, bool) for value in values)
        case kinds.Integer() | kinds.Number():
            return all(isinstance(value, int | float) and not isinstance(value, bool) for value in values)
    return False


def _nested(steps: tuple[str, ...], leaf: Schema) -> Schema:
    for step in reversed(steps):
        leaf = {"properties": {step: leaf}, "required": [step]} if leaf else {"required": [step]}
    return leaf


# --- AsyncAPI ---------------------------------------------------------------------------------------------------------

CONTENT_TYPES = {"json": "application/json", "front-matter": "text/markdown", "text": "text/markdown"}

[EVERYONE] = ANY


def asyncapi(dialect: Dialect) -> dict[str, Any]:
    inboxes = {
        role: [type_ for type_ in dialect.types.values() if role in type_.receivers]
        for role in (*participants(dialect), EVERYONE)
    }
    inboxes = {role: types for role, types in inboxes.items() if types}
    return {
        "asyncapi": "3.0.0",
        "id": f"urn:telex:{dialect.base}:{dialect.version}",
        "info": {"title": dialect.base, "version": dialect.version, "description": dialect.purpose},
        "defaultContentType": CONTENT_TYPES[dialect.form],
        "channels": {_channel_id(role): _channel(dialect, role, types) for role, types in inboxes.items()},
        "operations": {
            f"{_label(role)}-receives": _operation("receive", role, types) for role, types in inboxes.items()
        }
        | _sends(dialect, list(inboxes)),
        "components": {"messages": {name: _message(dialect, type_) for name, type_ in dialect.types.items()}},
    }


# --- AsyncAPI: channels -----------------------------------------------------------------------------------------------


def _channel_id(role: str) -> str:
    return "inbox" if role == EVERYONE else f"inbox-{role}"


def _channel(dialect: Dialect, role: str, types: list[MessageType]) -> dict[str, Any]:
    messages = {type_.name: {"$ref": f"#/components/messages/{type_.name}"} for type_ in types}
    if role != EVERYONE:
        return {"address": f"inbox/{role}", "description": f"What {role} is to read.", "messages": messages}
    agent: dict[str, Any] = {"description": "The agent who is to read it.", "examples": list(participants(dialect))}
    recipient = dialect.wire.recipient
    if recipient is not None and recipient in dialect.envelope:
        agent["location"] = _pointer(recipient)
    return {
        "address": "inbox/{agent}",
        "description": "What an agent is to read.",
        "parameters": {"agent": agent},
        "messages": messages,
    }


# --- AsyncAPI: operations ---------------------------------------------------------------------------------------------


def _sends(dialect: Dialect, inboxes: list[str]) -> dict[str, Any]:
    """One operation from each role to each inbox, and one more for each type that has a reply."""
    operations: dict[str, Any] = {}
    for sender in (*participants(dialect), EVERYONE):
        sent = [type_ for type_ in dialect.types.values() if sender in type_.senders]
        for receiver in inboxes:
            types = [type_ for type_ in sent if receiver in receivers_from(dialect, type_, sender)]
            if plain := [type_ for type_ in types if type_.reply is None]:
                operations[f"{_label(sender)}-tells-{_label(receiver)}"] = _operation("send", receiver, plain)
            for type_ in types:
                if type_.reply is not None:
                    # The reply arrives in the inbox of the role that sent the request, or in any inbox.
                    receivers = dialect.types[type_.reply].receivers if type_.reply in dialect.types else ()
                    inbox = next((role for role in (sender, EVERYONE) if role in receivers), None)
                    reply = {} if inbox is None else {"reply": _references(inbox, [type_.reply])}
                    request = _operation("send", receiver, [type_]) | reply
                    operations[f"{_label(sender)}-asks-{_label(receiver)}-{type_.name}"] = request
    return operations


def _operation(action: str, role: str, types: list[MessageType]) -> dict[str, Any]:
    return {"action": action, **_references(role, [type_.name for type_ in types])}


def _references(role: str, types: list[str]) -> dict[str, Any]:
    channel = f"#/channels/{_channel_id(role)}"
    return {"channel": {"$ref": channel}, "messages": [{"$ref": f"{channel}/messages/{name}"} for name in types]}


def _label(role: str) -> str:
    return "anyone" if role == EVERYONE else role


# --- AsyncAPI: messages -----------------------------------------------------------------------------------------------


def _message(dialect: Dialect, type_: MessageType) -> dict[str, Any]:
    message: dict[str, Any] = {
        "name": type_.name,
        "title": type_.name,
        "summary": type_.purpose,
        "contentType": CONTENT_TYPES[dialect.form],
        "payload": message_schema(dialect, type_),
        "examples": [{"name": type_.name, "payload": type_.example}],
        "x-telex-priority": type_.priority,
    }
    if dialect.form == "front-matter":
        message["description"] = "The payload is the front matter; a markdown body follows it."
    if dialect.wire.correlation is not None:
        steps = dialect.locate(type_, dialect.wire.correlation)
        if kind_at(dialect.fields_of(type_), steps) is not None:
            message["correlationId"] = {"location": _pointer(*steps)}
    return message


def _pointer(*steps: str) -> str:
    """The runtime expression of a field."""
    escaped = [step.replace("~", "~0").replace("/", "~1") for step in steps]
    return "$message.payload#/" + "/".join(escaped)
