"""CloudEvents 1.0 in structured mode: middleware that turns events into plain requests, and plain answers into events.

`data` is passed on byte for byte; the attributes are the envelope. An event takes the path of a plain request, so
tokens and names are checked in one place.
"""

import base64
import re
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any
from urllib.parse import quote, unquote, urlencode

import msgspec

from telex.model.finding import Finding
from telex.model.limits import LIMITS, Limits
from telex.model.message import LeasedMessage, StoredMessage, detail_of
from telex.model.named_tuple import NamedTuple
from telex.model.text import ROOT, join
from telex.ports.bus import MessageHistory
from telex.ports.environment import TRACEPARENT, as_traceparent
from telex.protocol import decoded, made, plain
from telex.surfaces.http import asgi
from telex.surfaces.http.asgi import App, ClientDisconnected, HttpResponse, Receive, Scope, Send

EVENT, BATCH, EITHER = "application/cloudevents+json", "application/cloudevents-batch+json", b"application/cloudevents"
REQUIRED = ("id", "source", "specversion", "type")
ATTRIBUTES = (*REQUIRED, "subject", "correlationid", "replyto", "traceparent")
_NAME, _READ = re.compile("[a-z0-9]+|data_base64"), re.compile("/receive|/messages/[^/]+")
_NOT_JSON = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
_REPLACED_HEADERS = (b"content-type", b"content-length", b"transfer-encoding", b"accept")


class ReceivedEvent(NamedTuple):
    raw: bytes
    fields: dict[str, str]  # arguments of `send`; the sender is a claim, which the verb checks
    traceparent: str | None


def cloudevents_middleware(app: App, limits: Limits) -> App:
    async def handle(app: App, scope: Scope, receive: Receive, send: Send) -> None:
        path = scope["path"]
        if path == "/send" and asgi.header(scope, b"content-type").lower().startswith(EITHER):
            response = _send_event(app, limits, scope, receive)
        elif _READ.fullmatch(path) and EITHER in asgi.header(scope, b"accept").lower():
            response = _read_events(app, scope, receive)
        else:
            await app(scope, receive, send)
            return
        with suppress(ClientDisconnected):
            await asgi.reply(send, await response)

    return asgi.http_middleware(handle)(app)


def read_event(body: bytes, limits: Limits = LIMITS) -> ReceivedEvent | tuple[Finding, ...]:
    """The message in an event, or all findings about the event."""
    try:
        body.decode()
        parts = msgspec.json.decode(body, type=dict[str, msgspec.Raw])
        values = {name: msgspec.json.decode(parts[name]) for name in ATTRIBUTES if name in parts}
        data = _data(parts)
    except _NOT_JSON as error:
        return (Finding("not-json", ROOT, f"Send one event as a JSON object in UTF-8: {error}."),)
    findings = (*_findings(parts, values), *([data] if isinstance(data, Finding) else []))
    if findings or isinstance(data, Finding):
        return findings[: limits.findings_max]
    id_, source, _, _, to, correlation, reply_to, traceparent = (values.get(name) for name in ATTRIBUTES)
    fields = {"sender": unquote(source or ""), "to": to, "id": id_, "reply_to": reply_to, "correlation": correlation}
    return ReceivedEvent(data, {name: value for name, value in fields.items() if value is not None}, traceparent)


def _findings(parts: dict[str, msgspec.Raw], values: dict[str, Any]) -> Iterator[Finding]:
    for name in parts:
        if not _NAME.fullmatch(name):  # `correlationId` would be lost otherwise
            nearest = next((known for known in ATTRIBUTES if known == name.lower().replace("_", "")), None)
            say = f"Rename it{f' to {nearest}' if nearest else ''}: names of attributes consist of a to z and 0 to 9."
            yield Finding("field-unknown", join(ROOT, name[:60]), say, found=name[:60], nearest=nearest)
    for name in ATTRIBUTES:
        path, value = join(ROOT, name), values.get(name)
        if value is None and name in REQUIRED:
            yield Finding("field-missing", path, f"Add {name}.")
        elif value is not None and not isinstance(value, str):
            yield Finding("wrong-type", path, f"Give {name} as text.", expected="text")
        elif value == "":
            yield Finding("text-empty", path, f"Give {name} a value, or leave it out.")
        elif name == "specversion" and value != "1.0":
            yield Finding("not-one-of", path, "Send an event of version 1.0.", expected="1.0", found=str(value)[:60])


def _data(parts: dict[str, msgspec.Raw]) -> bytes | Finding:
    given = {name: raw for name in ("data", "data_base64") if (raw := bytes(parts.get(name, b"null"))) != b"null"}
    if len(given) != 1:
        code, path = ("field-unknown", "$.data_base64") if given else ("field-missing", "$.data")
        return Finding(code, path, "Give the message as data or as data_base64.", expected="data or data_base64")
    [(name, raw)] = given.items()
    if name == "data":  # text is decoded, other JSON keeps its bytes
        return msgspec.json.decode(raw, type=str).encode() if raw.startswith(b'"') else raw
    try:
        return base64.b64decode(msgspec.json.decode(raw, type=str), validate=True)
    except (msgspec.ValidationError, ValueError):
        return Finding("wrong-type", "$.data_base64", "Write data_base64 in base64 (RFC 4648).", expected="base64")


async def _send_event(app: App, limits: Limits, scope: Scope, receive: Receive) -> HttpResponse:
    kind = asgi.header(scope, b"content-type").split(b";")[0].strip().lower().decode("latin-1")
    if kind != EVENT:
        return asgi.problem(415, "not-one-of", f"Send {EVENT}: {kind[:60]} is not supported.")
    body = await asgi.read_body(scope, receive, limits.message_bytes_max * 2)
    if isinstance(body, HttpResponse):
        return body
    event = read_event(body, limits)
    if not isinstance(event, ReceivedEvent):
        more = {"accepted": False, "state": "refused", "findings": plain(event)}
        return asgi.problem(asgi.REFUSED, event[0].code, f"{event[0].path}: {event[0].say}", **more)
    query = b"&".join(part for part in (scope["query_string"], urlencode(event.fields).encode()) if part)
    headers = [(name, value) for name, value in scope["headers"] if name not in _REPLACED_HEADERS]
    headers += [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(event.raw))]
    if as_traceparent(event.traceparent) and not asgi.header(scope, TRACEPARENT.encode()):
        headers.append((TRACEPARENT.encode(), str(event.traceparent).encode()))
    return await asgi.collected(
        app, dict(scope) | {"query_string": query, "headers": headers}, asgi.with_body(event.raw, receive)
    )


async def _read_events(app: App, scope: Scope, receive: Receive) -> HttpResponse:
    headers = [(name, value) for name, value in scope["headers"] if name != b"accept"]
    answer = await asgi.collected(app, dict(scope) | {"headers": headers}, receive)
    if (answer.status, answer.kind) != (200, asgi.JSON):
        return answer
    tree = decoded(answer.body)["answer"]
    if scope["path"] == "/receive":
        events = b",".join(event_of_lease(lease) for lease in made(list[LeasedMessage], tree))
        return answer._replace(body=b"[" + events + b"]", kind=BATCH.encode())
    history = made(list[MessageHistory], tree)[-1]
    trace = detail_of(history.events[0]).get(TRACEPARENT) if history.events else None
    more = {"traceparent": as_traceparent(trace) if isinstance(trace, str) else None}
    return answer._replace(body=event_of(history.message, more), kind=EVENT.encode())


def event_of_lease(lease: LeasedMessage) -> bytes:
    """A leased message as its reader gets it, with the token to ack it."""
    rendering = lease.rendering or lease.message
    message = lease.message._replace(dialect=rendering.dialect, type=rendering.type, raw=lease.raw)
    more = {"token": lease.token, "inbox": lease.inbox, "attempt": lease.attempt}
    return event_of(message, more | {"leaseduntil": timestamp(lease.until)})


def event_of(message: StoredMessage, more: dict[str, Any]) -> bytes:
    content_type, name, data = _encode_data(message)
    event = {
        "specversion": "1.0",
        "id": message.id,
        "source": quote(message.sender, safe=""),  # it must be a URI reference
        "type": ".".join(("telex", message.dialect or "text", *([message.type] if message.type else []))),
        "time": timestamp(message.at),
        "subject": message.to,
        "correlationid": message.correlation,
        "replyto": message.reply_to,
        "datacontenttype": content_type,
        **more,
    }
    head = msgspec.json.encode({key: value for key, value in event.items() if value not in (None, "")})
    return head[:-1] + f', "{name}": '.encode() + data + b"}"


def _encode_data(message: StoredMessage) -> tuple[str, str, bytes]:
    """Content type, member name and JSON value of the message."""
    try:
        text = message.raw.decode()
    except UnicodeDecodeError:
        return "application/octet-stream", "data_base64", b'"' + base64.b64encode(message.raw) + b'"'
    with suppress(*_NOT_JSON):
        if isinstance(msgspec.json.decode(text), dict):
            return "application/json", "data", message.raw.strip(b" \t\r\n")
    kind = "text/markdown" if (message.dialect or "").startswith("signal-md") else "text/plain"
    return kind, "data", msgspec.json.encode(text)


def timestamp(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
