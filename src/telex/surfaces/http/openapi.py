"""What can be asked of the hub, for machines: an OpenAPI 3.1 document, made from the table of verbs and the values."""

from typing import Any

from telex.surfaces.http.extra_doors import CHECK, Letters
from telex.surfaces.http.problem import JSON, PROBLEM
from telex.wire.hints import optional
from telex.wire.schema import Schemas
from telex.wire.verbs import VERBS, Argument, Verb, answer_kind, arguments, is_wrapped, summary

PROBLEMS = {
    400: "the arguments are wrong; findings say where",
    401: "a token is needed, or the one that came is not valid",
    403: "whoever asks may not do that, or not under that name",
    404: "there is no such message, agent or place",
    405: "another method is meant",
    409: "the lease ran out or passed to another",
    413: "it is too large",
    422: "refused: findings say what is wrong and how to mend it",
    424: "whoever was asked has not answered, or never will",
    429: "too many requests are open: try again in a moment",
    503: "the store is away, or the outcome is unknown: try again, a send with the same id",
}
SECRET = "token"
_PROBLEM_NAME = "Problem"


def document() -> dict[str, Any]:
    from telex import __version__

    schemas = Schemas()
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


def _operation(verb: Verb, schemas: Schemas) -> dict[str, Any]:
    wanted = arguments(verb.name)
    in_path = [name for name in wanted if f"{{{name}}}" in verb.path]
    operation: dict[str, Any] = {"operationId": verb.name, "summary": summary(verb.name), "tags": [verb.group]}
    in_query = [] if verb.body == "json" else [name for name in wanted if name not in in_path]
    parameters = [_parameter(wanted[name], "path", schemas) for name in in_path]
    parameters += [_parameter(wanted[name], "query", schemas) for name in in_query]
    if parameters:
        operation["parameters"] = parameters
    if verb.body == "json":
        operation["requestBody"] = _json_body(_object(wanted, schemas))
    elif verb.body == "message":
        operation["requestBody"] = _message_body()
    answer = schemas.of(answer_kind(verb.name))
    wrapped = {"type": "object", "properties": {"answer": answer}, "required": ["answer"]}
    good = _content(wrapped if is_wrapped(verb.name) else answer)
    if verb.name == "events":
        good["content"]["text/event-stream"] = {"schema": {"type": "string"}}
    done = {"200": good | {"description": "done, or it had been before"}}
    if verb.created:
        done["201"] = good | {"description": "accepted and kept"}
    operation["responses"] = done | _problems()
    return operation


def _parameter(argument: Argument, place: str, schemas: Schemas) -> dict[str, Any]:
    schema = schemas.of(optional(argument.kind) or argument.kind)
    if place == "path":
        schema["minLength"] = 1
    required = place == "path" or (argument.required and argument.name not in _actors())
    return {"name": argument.name, "in": place, "required": required, "schema": schema}


def _actors() -> set[str]:
    """Names that a token says already."""
    return {verb.acts for verb in VERBS.values() if verb.acts}


def _object(wanted: dict[str, Argument], schemas: Schemas) -> dict[str, Any]:
    properties = {name: schemas.of(one.kind) for name, one in wanted.items()}
    required = [name for name, one in wanted.items() if one.required and name not in _actors()]
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


def _json_body(schema: dict[str, Any]) -> dict[str, Any]:
    return {"required": True, "content": {JSON.decode(): {"schema": schema}}}


def _message_body() -> dict[str, Any]:
    """The message itself, in whatever form its dialect has."""
    return {
        "required": True,
        "content": {"application/json": {"schema": {}}, "text/markdown": {"schema": {"type": "string"}}},
    }


def _content(schema: dict[str, Any]) -> dict[str, Any]:
    return {"description": "done", "content": {JSON.decode(): {"schema": schema}}}


def _problems() -> dict[str, Any]:
    content = {PROBLEM.decode(): {"schema": {"$ref": f"#/components/schemas/{_PROBLEM_NAME}"}}}
    return {str(status): {"description": say, "content": content} for status, say in PROBLEMS.items()}


def _problem(schemas: Schemas) -> dict[str, Any]:
    from telex.model.refusal import Finding

    texts = {name: {"type": "string"} for name in ("type", "title", "detail", "code")}
    findings = {"type": "array", "items": schemas.of(Finding)}
    return {
        "type": "object",
        "description": "What went wrong (RFC 9457). `code` is stable, and `telex explain CODE` tells about it.",
        "properties": texts | {"status": {"type": "integer"}, "findings": findings},
        "required": [*texts, "status"],
    }


def _others(schemas: Schemas) -> list[tuple[str, str, dict[str, Any]]]:
    checked = {"type": "object", "properties": {"valid": {"type": "boolean"}}, "required": ["valid", "findings"]}
    check = {
        "operationId": "check",
        "summary": "Say everything about a message. Nothing is kept.",
        "tags": ["messages"],
        "parameters": [_parameter(one, "query", schemas) for one in CHECK.values()],
        "requestBody": _message_body(),
        "responses": {"200": _content(checked), **_problems()},
    }
    many = {
        "operationId": "send_many",
        "summary": "Send many messages. Each is answered for itself, in order, with its receipt or its problem.",
        "tags": ["messages"],
        "requestBody": _json_body(schemas.of(Letters)),
        "responses": {"200": _content({"type": "object", "required": ["answer"]}), **_problems()},
    }
    picture = {
        "operationId": "picture",
        "summary": "A conversation as a sequence diagram.",
        "tags": ["the record"],
        "parameters": [_parameter(arguments("trace")["correlation"], "path", schemas)],
        "responses": {
            "200": {"description": "a picture", "content": {"image/svg+xml": {"schema": {"type": "string"}}}},
            **_problems(),
        },
    }
    found: list[tuple[str, str, dict[str, Any]]] = [
        ("/check", "post", check),
        ("/send/batch", "post", many),
        ("/trace/{correlation}/picture", "get", picture),
    ]
    for path, name, say in (
        ("/healthz", "alive", "Is the hub up?"),
        ("/readyz", "ready", "Is it up, and does its store answer?"),
        ("/openapi.json", "openapi", "This document."),
    ):
        answer = {"200": _content({"type": "object"}), **_problems()}
        found.append((path, "get", {"operationId": name, "summary": say, "tags": ["the hub"], "responses": answer}))
    return found
