"""How does the bus itself speak? To say that a message could not be delivered, or why one was refused.

build-flow has types for both; in every other dialect plain text serves, since none of them has an error of its own.
"""

import json
from typing import Any

from telex.dialects.registry import PLAIN
from telex.dialects.schema import PRIORITIES, Dialect

# everybody who writes one takes it from here
from telex.dialects.timestamps import format_timestamp as format_timestamp
from telex.model.digest import digest_of
from telex.model.finding import Finding, refusals
from telex.model.message import Message, NewMessage
from telex.model.roster import TELEX

ERROR = PRIORITIES.index("ERROR")
_ERROR_REPORT, _MESSAGE_ERROR = "ERROR_REPORT", "MESSAGE_ERROR"
_MISSING = frozenset({"field-missing"})
_UNKNOWN = frozenset({"type-unknown"})


def not_delivered(
    message: Message, inbox: str, reason: str, now: float, new_id: str, dialect: Dialect | None
) -> NewMessage | None:
    """A report to the sender that its message was given up. None: the sender is the bus itself."""
    if message.sender == TELEX:
        return None
    said = f"{message.type or 'message'} {message.id} to {inbox} was given up: {reason}"
    if dialect is not None and _ERROR_REPORT in dialect.types:
        body: dict[str, Any] = {
            "severity": "ERROR",
            "count": 1,
            "errors": [{"timestamp": format_timestamp(now), "message": said, "source": inbox}],
        }
        raw = _envelope(dialect, _ERROR_REPORT, new_id, message.correlation or message.id, now, message.sender, body)
        name, type_ = dialect.name, _ERROR_REPORT
    else:
        raw, name, type_ = _plain(message, said), PLAIN.name, None
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
    """What a refused message is answered with, in its own dialect where that has a form for it."""
    refused = refusals(findings)
    details = "; ".join(f"{finding.code} at {finding.path}: {finding.say}" for finding in refused)
    if dialect is None or _MESSAGE_ERROR not in dialect.types:
        return f"Refused {id_}: {details}"
    codes = {finding.code for finding in refused}
    kind = "MISSING_FIELD" if codes & _MISSING else "UNKNOWN_TYPE" if codes & _UNKNOWN else "INVALID_FORMAT"
    body = {"originalMessageId": id_, "errorType": kind, "details": details}
    return _envelope(dialect, _MESSAGE_ERROR, new_id, correlation or id_, now, sender, body).decode()


def _envelope(
    dialect: Dialect, type_: str, id_: str, correlation: str, now: float, to: str, body: dict[str, Any]
) -> bytes:
    """A message of the bus's own, put together from where the dialect keeps things."""
    wire = dialect.wire
    places = {
        wire.id: id_,
        wire.correlation: correlation,
        wire.timestamp: format_timestamp(now),
        wire.sender: TELEX,
        wire.recipient: to,
        wire.version: dialect.version,
    }
    tree: dict[str, Any] = {name: value for name, value in places.items() if name is not None}
    tree |= {"type": type_} | ({dialect.payload: body} if dialect.payload else body)
    return json.dumps(tree, ensure_ascii=False).encode()


def _plain(message: Message, said: str) -> bytes:
    return f"**Not delivered.** {said}\n\nSee `telex why {message.id}`.\n".encode("utf-8", "replace")
