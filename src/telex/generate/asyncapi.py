"""AsyncAPI 3.0.0 document of a dialect.

The inbox of a role is a channel; a role that may send messages to it is an operation. For types that any agent may
receive, one channel represents all inboxes and takes the agent's name as a parameter. Payloads are the JSON Schemas of
the types, limited to keywords of AsyncAPI's own schema language. The document names no server.
"""

from typing import Any

from telex.dialects.schema import ANY, Dialect, MessageType, kind_at
from telex.generate.json_schema import message_schema
from telex.generate.type_view import participants, receivers_from

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


# --- channels ------------------------------------------------------------------------------------------------------


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


# --- operations ----------------------------------------------------------------------------------------------------


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
                    request = _operation("send", receiver, [type_]) | _reply(dialect, sender, type_.reply)
                    operations[f"{_label(sender)}-asks-{_label(receiver)}-{type_.name}"] = request
    return operations


def _operation(action: str, role: str, types: list[MessageType]) -> dict[str, Any]:
    return {"action": action, **_references(role, [type_.name for type_ in types])}


def _reply(dialect: Dialect, asker: str, reply: str) -> dict[str, Any]:
    """The reply arrives in the inbox of the role that sent the request, or in any inbox."""
    receivers = dialect.types[reply].receivers if reply in dialect.types else ()
    inbox = next((role for role in (asker, EVERYONE) if role in receivers), None)
    return {} if inbox is None else {"reply": _references(inbox, [reply])}


def _references(role: str, types: list[str]) -> dict[str, Any]:
    channel = f"#/channels/{_channel_id(role)}"
    return {"channel": {"$ref": channel}, "messages": [{"$ref": f"{channel}/messages/{name}"} for name in types]}


def _label(role: str) -> str:
    return "anyone" if role == EVERYONE else role


# --- messages ------------------------------------------------------------------------------------------------------


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
