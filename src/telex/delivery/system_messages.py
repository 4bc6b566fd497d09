"""Messages that the bus itself sends: a dead-letter report to the sender, and the answer to a refused message.

build-flow has types for both; in every other dialect they are plain text, since no other has an error type.
"""

import json
from typing import Any

from telex.dialects.registry import PLAIN
from telex.dialects.scalars import format_timestamp
from telex.dialects.schema import PRIORITIES, Dialect
from telex.model.finding import Finding, refusals
from telex.model.message import Message, NewMessage
from telex.model.roster import TELEX
from telex.model.text import digest_of

ERROR = PRIORITIES.index("ERROR")
_ERROR_REPORT, _MESSAGE_ERROR = "ERROR_REPORT", "MESSAGE_ERROR"
_MISSING = frozenset({"field-missing", "type-missing"})
_UNKNOWN = frozenset({"type-unknown"})


def not_delivered(
    message: Message, inbox: str, reason: str, now: float, new_id: str, dialect: Dialect | None
) -> NewMessage | None:
    """Report to the sender that a delivery became a dead letter. None: the sender is the bus itself."""
    if message.sender == TELEX:
        return None
    text = f"{message.type or 'message'} {message.id} to {inbox} failed: {reason}"
    if dialect is not None and _ERROR_REPORT in dialect.types:
        error = {"timestamp": format_timestamp(now), "message": text, "source": inbox}
        tree = _envelope(dialect, new_id, message.correlation or message.id, now, message.sender)
        body = {"severity": "ERROR", "count": 1, "errors": [error]}
        raw, name, type_ = _json(dialect, tree, _ERROR_REPORT, body), dialect.name, _ERROR_REPORT
    else:
        markdown = f"**Not delivered.** {text}\n\nSee `telex why {message.id}`.\n"
        raw, name, type_ = markdown.encode("utf-8", "replace"), PLAIN.name, None
    return NewMessage(
        id=new_id,
        at=now,
        sender=TELEX,
        role=TELEX,
        to=message.sender,
        dialect=name,
        type=type_,
        rank=ERROR,
        correlation=message.correlation,
        reply_to=message.id,
        digest=digest_of(raw),
        raw=raw,
        inboxes=(message.sender,),
    )


def refusal_answer(
    findings: tuple[Finding, ...],
    id_: str,
    correlation: str | None,
    sender: str,
    dialect: Dialect | None,
    now: float,
    new_id: str,
) -> str:
    """Answer to a refused message, in its own dialect where that has an error type."""
    refused = refusals(findings)
    details = "; ".join(f"{finding.code} at {finding.path}: {finding.say}" for finding in refused)
    if dialect is None or _MESSAGE_ERROR not in dialect.types:
        return f"Refused {id_}: {details}"
    codes = {finding.code for finding in refused}
    kind = "MISSING_FIELD" if codes & _MISSING else "UNKNOWN_TYPE" if codes & _UNKNOWN else "INVALID_FORMAT"
    body = {"originalMessageId": id_, "errorType": kind, "details": details}
    tree = _envelope(dialect, new_id, correlation or id_, now, sender)
    return _json(dialect, tree, _MESSAGE_ERROR, body).decode()


def _envelope(dialect: Dialect, id_: str, correlation: str, now: float, to: str) -> dict[str, Any]:
    wire = dialect.wire
    places = {
        wire.id: id_,
        wire.correlation: correlation,
        wire.timestamp: format_timestamp(now),
        wire.sender: TELEX,
        wire.recipient: to,
        wire.version: dialect.stated_version,
    }
    return {name: value for name, value in places.items() if name is not None}


def _json(dialect: Dialect, envelope: dict[str, Any], type_: str, body: dict[str, Any]) -> bytes:
    tree = envelope | {"type": type_} | ({dialect.payload: body} if dialect.payload else body)
    return json.dumps(tree, ensure_ascii=False).encode()
