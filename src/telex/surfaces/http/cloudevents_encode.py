"""How does a message go out as a CloudEvent? JSON stands in `data` as it was written; the rest as text or base64.

Read again by `cloudevents`, it is the same message under the same id from the same sender.
"""

import base64
import json
from datetime import UTC, datetime
from typing import Any
from urllib.parse import quote

from telex.model.message import Lease, Message
from telex.surfaces.http.cloudevents import BASE64, DATA, SPECVERSION, tree_in

_MARKDOWN = "signal-md"  # the dialect that is written as markdown with front matter


def event_of(message: Message, *, traceparent: str | None = None) -> bytes:
    """A message as an event, in JSON."""
    return _event(message, message.raw, message.dialect, message.type, {"traceparent": traceparent})


def event_of_lease(lease: Lease, *, traceparent: str | None = None) -> bytes:
    """What a reader has in hand, in the words that it reads, with what it settles it by."""
    rendering = lease.rendering
    dialect, type_ = (rendering.dialect, rendering.type) if rendering else (lease.message.dialect, lease.message.type)
    more = {
        "token": lease.token,
        "inbox": lease.inbox,
        "attempt": lease.attempt,
        "leaseduntil": _moment(lease.until),
        "traceparent": traceparent,
    }
    return _event(lease.message, lease.raw, dialect, type_, more)


def batch_of(events: list[bytes]) -> bytes:
    return b"[" + b",".join(events) + b"]"


def _event(message: Message, raw: bytes, dialect: str | None, type_: str | None, more: dict[str, Any]) -> bytes:
    said = {
        "specversion": SPECVERSION,
        "id": message.id,
        "source": quote(message.sender, safe=""),  # it has to be a reference, and a name may have any letters
        "type": ".".join(("telex", *(part for part in (dialect or "text", type_) if part))),
        "time": _moment(message.at),
        "subject": message.to,
        "correlationid": message.correlation,
        "replyto": message.reply_to,
        **more,
    }
    kind, name, data = _data(raw, dialect)
    head = {key: value for key, value in said.items() if value not in (None, "")} | {"datacontenttype": kind}
    opened = json.dumps(head, ensure_ascii=False).encode("utf-8", "backslashreplace")[:-1]
    return opened + f', "{name}": '.encode() + data + b"}"


def _data(raw: bytes, dialect: str | None) -> tuple[str, str, bytes]:
    """Of which kind the message is, where it goes in the event, and the JSON that goes there."""
    try:
        text = raw.decode()
    except UnicodeDecodeError:
        return "application/octet-stream", BASE64, json.dumps(base64.b64encode(raw).decode()).encode()
    if isinstance(tree_in(text), dict):
        return "application/json", DATA, raw.strip(b" \t\r\n")
    kind = "text/markdown" if dialect == _MARKDOWN else "text/plain"
    return kind, DATA, json.dumps(text, ensure_ascii=False).encode()


def _moment(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
