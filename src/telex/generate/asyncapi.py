"""AsyncAPI 3.0.0 document of a dialect.

The inbox of a role is a channel; a role that may send messages to it is an operation. For types that any agent may
receive, one channel represents all inboxes and takes the agent's name as a parameter. Payloads are the JSON Schemas of
the types, limited to keywords of AsyncAPI's own schema language. The document names no server.
"""

from typing import Any

from telex.dialects.schema import ANY, Dialect, MessageType, kind_at
from telex.generate.json_schema import message_schema
from telex.generate.type_view import participants, receivers_from

ASYNCAPI_VERSION = "3.0.0"
CONTENT_TYPES = {"json": "application/json", "front-matter": "text/markdown", "text": "text/markdown"}

[EVERYONE] = ANY


def asyncapi(dialect: Dialect) -> dict[str, Any]:
    """The whole document."""
    return {
        "asyncapi": ASYNCAPI_VERSION,
        "id": f"urn:telex:{dialect.base}:{dialect.version}",
        "info": {"title": dialect.base, "version": dialect.version, "description": dialect.purpose},
        "defaultContentType": CONTENT_TYPES[dialect.form],
        "channels": {_channel_id(role): _channel(dialect, role) for role in _inboxes(dialect)},
        "operations": _receiving(dialect) | _sending(dialect),
        "components": {"messages": {name: _message(dialect, type_) for name, type_ in dialect.types.items()}},
    }


# --- channels ------------------------------------------------------------------------------------------------------


def _inboxes(dialect: Dialect) -> list[str]:
    """Every role that receives a type, and `EVERYONE` if any agent may receive one."""
    return [role for role in (*participants(dialect), EVERYONE) if _received(dialect, role)]


def _received(dialect: Dialect, role: str) -> list[MessageType]:
    return [type_ for type_ in dialect.types.values() if role in type_.receivers]


def _channel_id(role: str) -> str:
    return "inbox" if role == EVERYONE else f"inbox-{role}"


def _channel(dialect: Dialect, role: str) -> dict[str, Any]:
    names = [type_.name for type_ in _received(dialect, role)]
    messages = {name: {"$ref": f"#/components/messages/{name}"} for name in names}
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


def _receiving(dialect: Dialect) -> dict[str, Any]:
    return {
        f"{_spoken(role)}-receives": {
            "action": "receive",
            "channel": _channel_ref(role),
            "messages": [_message_ref(role, type_.name) for type_ in _received(dialect, role)],
        }
        for role in _inboxes(dialect)
    }


def _sending(dialect: Dialect) -> dict[str, Any]:
    """One operation from each role to each inbox, and one more for each type that has a reply."""
    operations: dict[str, Any] = {}
    for sender in (*participants(dialect), EVERYONE):
        for receiver in _inboxes(dialect):
            both = [type_ for type_ in _sent(dialect, sender) if receiver in receivers_from(dialect, type_, sender)]
            message_types = [type_ for type_ in both if type_.reply is None]
            if message_types:
                operations[f"{_spoken(sender)}-tells-{_spoken(receiver)}"] = _send(receiver, message_types)
            for type_ in both:
                if type_.reply is not None:
                    asking = _send(receiver, [type_]) | _reply(dialect, sender, type_.reply)
                    operations[f"{_spoken(sender)}-asks-{_spoken(receiver)}-{type_.name}"] = asking
    return operations


def _sent(dialect: Dialect, role: str) -> list[MessageType]:
    """The types that name this role, or everyone, as a sender."""
    return [type_ for type_ in dialect.types.values() if role in type_.senders]


def _send(receiver: str, types: list[MessageType]) -> dict[str, Any]:
    messages = [_message_ref(receiver, type_.name) for type_ in types]
    return {"action": "send", "channel": _channel_ref(receiver), "messages": messages}


def _reply(dialect: Dialect, asker: str, reply: str) -> dict[str, Any]:
    """The reply arrives in the inbox of the role that sent the request, or in any inbox."""
    receivers = dialect.types[reply].receivers if reply in dialect.types else ()
    inbox = next((role for role in (asker, EVERYONE) if role in receivers), None)
    if inbox is None:
        return {}
    return {"reply": {"channel": _channel_ref(inbox), "messages": [_message_ref(inbox, reply)]}}


def _spoken(role: str) -> str:
    return "anyone" if role == EVERYONE else role


def _channel_ref(role: str) -> dict[str, str]:
    return {"$ref": f"#/channels/{_channel_id(role)}"}


def _message_ref(role: str, type_name: str) -> dict[str, str]:
    return {"$ref": f"#/channels/{_channel_id(role)}/messages/{type_name}"}


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
    if location := _correlation(dialect, type_):
        message["correlationId"] = {"location": location}
    return message


def _correlation(dialect: Dialect, type_: MessageType) -> str | None:
    """The runtime expression of the correlation id. None if the type has no such field."""
    if dialect.wire.correlation is None:
        return None
    steps = dialect.locate(type_, dialect.wire.correlation)
    field = kind_at(dialect.fields_of(type_), steps)
    return None if field is None else _pointer(*steps)


def _pointer(*steps: str) -> str:
    escaped = [step.replace("~", "~0").replace("/", "~1") for step in steps]
    return "$message.payload#/" + "/".join(escaped)
