"""What can be asked of the hub, for machines: an OpenAPI 3.1 document, made from the table of verbs and the values."""

from typing import Any

from telex.model.finding import Finding
from telex.model.message import Rendering
from telex.ports.bus import Receipt
from telex.protocol.schema import REFERENCE, SchemaBuilder
from telex.protocol.type_hints import optional
from telex.protocol.verbs import LOOKED_AT, RENDERED, VERBS, Argument, Verb, answer_kind, arguments, is_wrapped, summary
from telex.surfaces.http.asgi import JSON, PROBLEM
from telex.surfaces.http.routes_extra import CHECK, LETTERS, SVG, CheckResponse

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
SECRET = "token"
_PROBLEM_NAME = "Problem"
_PROBLEM_REFERENCE = {"$ref": REFERENCE.format(_PROBLEM_NAME)}


def document() -> dict[str, Any]:
    from telex import __version__

    schemas = SchemaBuilder()
    paths: dict[str, dict[str, Any]] = {}
    for verb in VERBS.values():
        paths.setdefault(verb.path, {})[verb.method.lower()] = _operation(verb, schemas)
    for path, method, operation in _others(schemas):
        paths.setdefault(path, {})[method] = operation
    schemas.named[_PROBLEM_NAME] = _problem(schemas)
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
            "securitySchemes": {SECRET: {"type": "http", "scheme": "bearer"}},
        },
        "security": [{SECRET: []}, {}],
    }


def _operation(verb: Verb, schemas: SchemaBuilder) -> dict[str, Any]:
    wanted = arguments(verb.name)
    in_path = [name for name in wanted if f"{{{name}}}" in verb.path]
    operation: dict[str, Any] = {"operationId": verb.name, "summary": summary(verb.name), "tags": [verb.group]}
    in_query = [] if verb.body == "json" else [name for name in wanted if name not in in_path]
    parameters = [_parameter(wanted[name], "path", schemas) for name in in_path]
    parameters += [_parameter(wanted[name], "query", schemas, verb.acts) for name in in_query]
    if parameters:
        operation["parameters"] = parameters
    if verb.body == "json":
        operation["requestBody"] = _json_body(_object(wanted, schemas, verb.acts))
    elif verb.body == "message":
        operation["requestBody"] = _message_body()
    answer = schemas.of(answer_kind(verb.name))
    if verb.name in LOOKED_AT:
        beside = {"type": "object", "properties": {RENDERED: schemas.of(Rendering | None)}, "required": [RENDERED]}
        answer = {"allOf": [answer, beside]}
    good = _content(_wrapped(answer) if is_wrapped(verb.name) else answer)
    if verb.name == "events":
        good["content"]["text/event-stream"] = {"schema": {"type": "string"}}
    done = {"200": good | {"description": "done now or before"}}
    if verb.created:
        done["201"] = good | {"description": "accepted and stored"}
    operation["responses"] = done | _problems()
    return operation


def _parameter(argument: Argument, place: str, schemas: SchemaBuilder, acts: str | None = None) -> dict[str, Any]:
    schema = schemas.of(optional(argument.kind) or argument.kind)
    if place == "path":
        schema["minLength"] = 1
    required = place == "path" or (argument.required and argument.name != acts)
    return {"name": argument.name, "in": place, "required": required, "schema": schema}


def _object(wanted: dict[str, Argument], schemas: SchemaBuilder, acts: str | None) -> dict[str, Any]:
    """`acts` names who acts, which a token says already."""
    properties = {name: schemas.of(argument.kind) for name, argument in wanted.items()}
    required = [name for name, argument in wanted.items() if argument.required and name != acts]
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


def _json_body(schema: dict[str, Any]) -> dict[str, Any]:
    needed = bool(schema["required"])  # where nothing has to be said, no body is as good as an empty object
    return {"required": needed, "content": {JSON.decode(): {"schema": schema}}}


def _message_body() -> dict[str, Any]:
    """The message itself, in whatever form its dialect has."""
    return {
        "required": True,
        "content": {"application/json": {"schema": {}}, "text/markdown": {"schema": {}}},
    }


def _content(schema: dict[str, Any]) -> dict[str, Any]:
    return {"description": "done", "content": {JSON.decode(): {"schema": schema}}}


def _problems() -> dict[str, Any]:
    content = {PROBLEM.decode(): {"schema": _PROBLEM_REFERENCE}}
    return {str(status): {"description": say, "content": content} for status, say in PROBLEMS.items()}


def _problem(schemas: SchemaBuilder) -> dict[str, Any]:
    texts = {name: {"type": "string"} for name in ("type", "title", "detail", "code")}
    findings = {"type": "array", "items": schemas.of(Finding)}
    return {
        "type": "object",
        "description": "What went wrong (RFC 9457). `code` is stable; `telex explain CODE` explains it.",
        "properties": texts | {"status": {"type": "integer"}, "findings": findings},
        "required": [*texts, "status"],
    }


def _others(schemas: SchemaBuilder) -> list[tuple[str, str, dict[str, Any]]]:
    """What is no verb of the bus."""
    sent = {"type": "array", "items": {"anyOf": [schemas.of(Receipt), _PROBLEM_REFERENCE]}}
    picture = {"description": "a picture", "content": {SVG.decode(): {"schema": {"type": "string"}}}}
    numbers = {"description": "metrics for Prometheus", "content": {"text/plain": {"schema": {"type": "string"}}}}
    check = {
        **_other("check", "Check a message. Nothing is stored.", "messages"),
        "parameters": [_parameter(argument, "query", schemas) for argument in CHECK.values()],
        "requestBody": _message_body(),
    }
    many = {
        **_other("send_many", "Send many messages. Each gets its own receipt, in order.", "messages"),
        "requestBody": _json_body(_object(LETTERS, schemas, "sender")),
    }
    drawn = {
        **_other("picture", "A conversation as a sequence diagram.", "the record"),
        "parameters": [_parameter(arguments("trace")["correlation"], "path", schemas)],
    }
    return [
        ("/check", "post", _answered(check, _content(schemas.of(CheckResponse)))),
        ("/send/batch", "post", _answered(many, _content(_wrapped(sent)))),
        ("/trace/{correlation}/picture", "get", _answered(drawn, picture)),
        ("/healthz", "get", _answered(_other("alive", "Is the hub up?"), _content(_flag("alive")))),
        (
            "/readyz",
            "get",
            _answered(_other("ready", "Is the hub up, and is its store available?"), _content(_flag("ready"))),
        ),
        ("/openapi.json", "get", _answered(_other("openapi", "This document."), _content({"type": "object"}))),
        ("/metrics", "get", _answered(_other("metrics", "Metrics for Prometheus."), numbers)),
    ]


def _other(name: str, say: str, group: str = "the hub") -> dict[str, Any]:
    return {"operationId": name, "summary": say, "tags": [group]}


def _answered(operation: dict[str, Any], good: dict[str, Any]) -> dict[str, Any]:
    return operation | {"responses": {"200": good, **_problems()}}


def _flag(name: str) -> dict[str, Any]:
    return {"type": "object", "properties": {name: {"type": "boolean"}}, "required": [name]}


def _wrapped(schema: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": {"answer": schema}, "required": ["answer"]}
