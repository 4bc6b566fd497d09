"""OpenAPI 3.1 document of the hub and tables of docs/http.md, from the table of verbs and the types of its values."""

import types
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal, Union, get_args, get_origin

from telex.model.finding import Finding
from telex.model.message import Rendering
from telex.ports.bus import Receipt
from telex.protocol.codec import BASE64, DERIVED, HEX_FIELDS, is_value, optional, type_hints
from telex.protocol.verbs import (
    RENDERED,
    VERBS,
    WITH_RENDERING,
    Argument,
    Verb,
    answer_kind,
    arguments,
    is_wrapped,
    summary,
)
from telex.surfaces.http.asgi import EVENT_STREAM, JSON, PROBLEM, STATUSES
from telex.surfaces.http.replica import ReplicaHealth
from telex.surfaces.http.verbs import BATCH_ARGUMENTS, CHECK_ARGUMENTS, SVG, CheckResponse

Schema = dict[str, Any]
REFERENCE = "#/components/schemas/{}"
_SIMPLE: dict[Any, Schema] = {
    str: {"type": "string"},
    int: {"type": "integer"},
    float: {"type": "number"},
    bool: {"type": "boolean"},
    type(None): {"type": "null"},
    bytes: {
        "anyOf": [
            {"type": "string"},
            {"type": "object", "properties": {BASE64: {"type": "string"}}, "required": [BASE64]},
        ]
    },
    Any: {},
    object: {},
}


class SchemaBuilder:
    """JSON schemas of many types, each named once."""

    def __init__(self) -> None:
        self.named: dict[str, Schema] = {}

    def of(self, kind: Any) -> Schema:
        if kind in _SIMPLE:
            return dict(_SIMPLE[kind])
        if is_value(kind):
            name = name_of(kind)
            if name not in self.named:
                self.named[name] = {}  # it may refer to itself
                self.named[name] = self._object(kind)
            return {"$ref": REFERENCE.format(name)}
        origin, inner = get_origin(kind), get_args(kind)
        if origin in (Union, types.UnionType):
            schemas = [self.of(part) for part in inner]
            simple = [schema["type"] for schema in schemas if set(schema) == {"type"}]
            if len(simple) == len(schemas):
                return {"type": simple}
            return {"anyOf": schemas}
        if origin is Literal:
            return {"enum": list(inner)}
        if origin in (dict, Mapping) or kind is dict:
            return {"type": "object", "additionalProperties": self.of(inner[1]) if inner else {}}
        if origin is tuple and inner and Ellipsis not in inner:
            items = [self.of(part) for part in inner]
            return {"type": "array", "prefixItems": items, "minItems": len(items), "maxItems": len(items)}
        assert origin in (tuple, list, Sequence, frozenset), f"{kind} has no schema"
        return {"type": "array", "items": self.of(inner[0])}

    def _object(self, kind: Any) -> Schema:
        hints = type_hints(kind)
        properties = {
            name: {"type": "string", "pattern": "^[0-9a-f]*$"} if name in HEX_FIELDS.get(kind, ()) else self.of(hint)
            for name, hint in hints.items()
        }
        properties |= {name: {"type": "string"} for name in DERIVED.get(kind, ())}
        schema: Schema = {"type": "object", "properties": properties, "required": list(properties)}
        if kind.__doc__ and not kind.__doc__.startswith(f"{kind.__name__}("):
            schema["description"] = " ".join(kind.__doc__.split())
        return schema


def name_of(kind: Any) -> str:
    """Classes of the work state may have the same name in two modules."""
    module = kind.__module__
    return f"{module.rpartition('.')[2]}.{kind.__name__}" if ".work." in module else str(kind.__name__)


PROBLEMS = {
    400: "the arguments are wrong; findings say where",
    401: "a token is missing or not valid",
    403: "the caller may not do that, or not under that name",
    404: "no such message, agent or path",
    405: "method not allowed",
    408: "the request was too slow",
    409: "the lease expired or passed to another reader",
    413: "too large",
    415: "a CloudEvent in an unsupported form",
    422: "refused: findings say what is wrong and how to fix it",
    424: "no reply came, or none will come",
    429: "too many requests are open: try again in a moment",
    431: "the URL or the headers are too long",
    503: "the store is unavailable, or the outcome is unknown: try again, a send with the same id",
}
_PROBLEM_REFERENCE = {"$ref": REFERENCE.format("Problem")}
_JSON = JSON.decode()
_TEXT = {"schema": {"type": "string"}}
_MESSAGE_BODY = {"required": True, "content": {"application/json": {"schema": {}}, "text/markdown": {"schema": {}}}}


def document() -> Schema:
    from telex import __version__

    schemas = SchemaBuilder()
    paths: dict[str, Schema] = {}
    for verb in VERBS.values():
        paths.setdefault(verb.path, {})[verb.method.lower()] = _operation(verb, schemas)
    for path, method, operation in _other_operations(schemas):
        paths.setdefault(path, {})[method] = operation
    schemas.named["Problem"] = _problem(schemas)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Telex",
            "version": __version__,
            "summary": "A typed, durable message bus for teams of AI agents",
        },
        "paths": paths,
        "components": {
            "schemas": dict(sorted(schemas.named.items())),
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
        "security": [{"token": []}, {}],
    }


def _operation(verb: Verb, schemas: SchemaBuilder) -> Schema:
    wanted = arguments(verb.name)
    in_path = [name for name in wanted if f"{{{name}}}" in verb.path]
    in_query = [] if verb.body == "json" else [name for name in wanted if name not in in_path]
    operation: Schema = {"operationId": verb.name, "summary": summary(verb.name), "tags": [verb.group]}
    parameters = [_parameter(wanted[name], "path", schemas) for name in in_path]
    parameters += [_parameter(wanted[name], "query", schemas, verb.acts) for name in in_query]
    if parameters:
        operation["parameters"] = parameters
    if verb.body != "none":
        operation["requestBody"] = _MESSAGE_BODY if verb.body == "message" else _json_body(wanted, schemas, verb.acts)
    answer = schemas.of(answer_kind(verb.name))
    if verb.name in WITH_RENDERING:
        rendering = {"type": "object", "properties": {RENDERED: schemas.of(Rendering | None)}, "required": [RENDERED]}
        answer = {"allOf": [answer, rendering]}
    content: Schema = {_JSON: {"schema": _wrapped(answer) if is_wrapped(verb.name) else answer}}
    if verb.name == "events":
        content[EVENT_STREAM.decode()] = _TEXT
    responses = {"200": {"description": "done now or before", "content": content}}
    if verb.created:
        responses["201"] = {"description": "accepted and stored", "content": content}
    return operation | {"responses": responses | _problems()}


def _parameter(argument: Argument, place: str, schemas: SchemaBuilder, acts: str | None = None) -> Schema:
    """`acts` is the argument that names the caller, which a token does already."""
    schema = schemas.of(optional(argument.kind) or argument.kind)
    if place == "path":
        schema["minLength"] = 1
    required = place == "path" or (argument.required and argument.name != acts)
    return {"name": argument.name, "in": place, "required": required, "schema": schema}


def _json_body(wanted: dict[str, Argument], schemas: SchemaBuilder, acts: str | None) -> Schema:
    properties = {name: schemas.of(argument.kind) for name, argument in wanted.items()}
    required = [name for name, argument in wanted.items() if argument.required and name != acts]
    schema = {"type": "object", "properties": properties, "required": required, "additionalProperties": False}
    return {"required": bool(required), "content": {_JSON: {"schema": schema}}}


def _problems() -> Schema:
    content = {PROBLEM.decode(): {"schema": _PROBLEM_REFERENCE}}
    return {str(status): {"description": text, "content": content} for status, text in PROBLEMS.items()}


def _problem(schemas: SchemaBuilder) -> Schema:
    texts = {name: {"type": "string"} for name in ("type", "title", "detail", "code")}
    findings = {"type": "array", "items": schemas.of(Finding)}
    return {
        "type": "object",
        "description": "What went wrong (RFC 9457). `code` is stable; `telex explain CODE` explains it.",
        "properties": texts | {"status": {"type": "integer"}, "findings": findings},
        "required": [*texts, "status"],
    }


def _other_operations(schemas: SchemaBuilder) -> list[tuple[str, str, Schema]]:
    """Path, method and operation of everything that is not a verb."""
    hub, messages = "the hub", "messages"
    batch = {"type": "array", "items": {"anyOf": [schemas.of(Receipt), _PROBLEM_REFERENCE]}}
    check_arguments = [_parameter(argument, "query", schemas) for argument in CHECK_ARGUMENTS.values()]
    check = _other("check", "Check a message. Nothing is stored.", messages, schemas.of(CheckResponse))
    send_many = _other(
        "send_many", "Send many messages. Each gets its own receipt, in order.", messages, _wrapped(batch)
    )
    picture = _other(
        "picture",
        "A conversation as a sequence diagram.",
        "the record",
        None,
        media_type=SVG.decode(),
        description="a picture",
    )
    metrics = _other(
        "metrics", "Metrics for Prometheus.", hub, None, media_type="text/plain", description="metrics for Prometheus"
    )
    replica = {"properties": {"replica": schemas.of(ReplicaHealth)}}  # of a hub that shares its store with others
    ready = _other(
        "ready",
        "Is the hub up, is its store available, and is its copy of it current?",
        hub,
        _also(_flag("ready"), replica),
    )
    ready["responses"]["503"]["content"] = {PROBLEM.decode(): {"schema": _also(_PROBLEM_REFERENCE, replica)}}
    correlation = [_parameter(arguments("trace")["correlation"], "path", schemas)]
    return [
        ("/check", "post", check | {"parameters": check_arguments, "requestBody": _MESSAGE_BODY}),
        ("/send/batch", "post", send_many | {"requestBody": _json_body(BATCH_ARGUMENTS, schemas, "sender")}),
        ("/trace/{correlation}/picture", "get", picture | {"parameters": correlation}),
        ("/healthz", "get", _other("alive", "Is the hub up?", hub, _flag("alive"))),
        ("/readyz", "get", ready),
        ("/openapi.json", "get", _other("openapi", "This document.", hub, {"type": "object"})),
        ("/metrics", "get", metrics),
    ]


def _other(
    name: str,
    text: str,
    group: str,
    schema: Schema | None,  # None: text
    media_type: str = _JSON,
    description: str = "done",
) -> Schema:
    content = {media_type: _TEXT if schema is None else {"schema": schema}}
    responses = {"200": {"description": description, "content": content}, **_problems()}
    return {"operationId": name, "summary": text, "tags": [group], "responses": responses}


def _flag(name: str) -> Schema:
    return {"type": "object", "properties": {name: {"type": "boolean"}}, "required": [name]}


def _also(schema: Schema, optional_fields: Schema) -> Schema:
    return {"allOf": [schema, optional_fields]}


def _wrapped(schema: Schema) -> Schema:
    return {"type": "object", "properties": {"answer": schema}, "required": ["answer"]}


# --- tables of docs/http.md -------------------------------------------------------------------------------------------

_BODIES = {"none": "query", "json": "JSON body", "message": "query; the body is the message"}
_MAY = {"agent": "an agent, under its own name", "reader": "any client", "operator": "a person"}
Row = tuple[str, ...]


def parts() -> dict[str, str]:
    """Generated parts of the page by name."""
    groups = dict.fromkeys(verb.group for verb in VERBS.values())
    verbs = [verb for group in groups for verb in VERBS.values() if verb.group == group]
    return {
        "routes": _table(("request", "what it does", "arguments", "in the", "who may"), map(_verb_row, verbs)),
        "beside": _table(("request", "what it does"), _other_rows()),
        "statuses": _table(("status", "what it means", "in Python"), _status_rows()),
    }


def _verb_row(verb: Verb) -> Row:
    wanted = [argument for argument in arguments(verb.name).values() if f"{{{argument.name}}}" not in verb.path]
    names = [f"**`{argument.name}`**" for argument in wanted if argument.required]
    names += [f"`{argument.name}`" for argument in wanted if not argument.required]
    text = _first_sentence(summary(verb.name))
    return f"`{verb.method} {verb.path}`", text, ", ".join(names) or "none", _BODIES[verb.body], _MAY[verb.may]


def _other_rows() -> Iterator[Row]:
    verbs = {(verb.path, verb.method.lower()) for verb in VERBS.values()}
    for path, methods in document()["paths"].items():
        for method, operation in methods.items():
            if (path, method) not in verbs:
                yield f"`{method.upper()} {path}`", _first_sentence(operation["summary"])


def _status_rows() -> Iterator[Row]:
    for status, response in document()["paths"]["/send"]["post"]["responses"].items():
        errors = [f"`{kind.__name__}`" for kind, of_error in STATUSES.items() if str(of_error) == status]
        yield status, response["description"], ", ".join(errors)


def _first_sentence(text: str) -> str:
    return text.split(". ")[0].rstrip(".").replace("|", "\\|")


def _table(heading: Row, rows: Iterable[Row]) -> str:
    lines = [heading, tuple("---" for _ in heading), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
