"""Parser of log lines: a message with its metadata, an event, or an invalid line.

It parses three forms of lines, also mixed: those of an export, log records in the form of build-flow, and bare
messages. Unknown metadata is None; the sender of a bare message is read from its payload or envelope.
"""

from base64 import b64decode
from collections.abc import Callable
from typing import Any, Literal

import msgspec

from telex.delivery.routing import Route
from telex.dialects.scalars import parse_timestamp
from telex.dialects.schema import Dialect
from telex.model.message import BRINGING, COMING_AND_GOING, Event, StoredMessage, detail_of
from telex.model.named_tuple import NamedTuple
from telex.record import InvalidLine

SENT = "SENT"
_EXPORT_START = b'{"telex": 1, "seq": '  # of a line that Telex wrote
_AT_MAX = 253_402_300_799.0  # the last second of the year 9999


class LogEntry(NamedTuple):
    """A message of a log. None: the log does not contain it."""

    number: int  # of its line, or its number in the store
    raw: bytes
    sender: str | None = None
    role: str | None = None
    to: str | None = None
    at: float | None = None
    id: str | None = None
    correlation: str | None = None
    reply_to: str | None = None
    detail: str | None = None  # of the event that brought it, as JSON
    kept: bool = False  # by Telex itself: events record the members and the repeated messages
    refused: bool = False  # when it was sent

    @property
    def is_bare(self) -> bool:
        """Whether only the message itself is known."""
        return self.at is None and self.to is None and not self.kept


Line = LogEntry | Event | InvalidLine | None
Form = Literal["export", "record", "bare"]


class _Outline(msgspec.Struct):
    """The fields that distinguish the forms, decoded first. A bare message may contain some of them too."""

    telex: Any = None
    kind: Any = None
    type: Any = None
    direction: Any = None
    message: Any = None


class _ExportedMessage(msgspec.Struct):
    id: str
    at: float
    sender: str
    role: str
    to: str
    correlation: str | None = None
    reply_to: str | None = None
    raw: str | None = None
    raw_base64: str | None = None


class _ExportLine(msgspec.Struct):
    kind: str
    at: float
    seq: int = 0
    agent: str | None = None
    inbox: str | None = None
    delivery: int | None = None
    detail: msgspec.Raw = msgspec.Raw(b"null")
    message: _ExportedMessage | None = None


class _RecordLine(msgspec.Struct):
    direction: str
    message: msgspec.Raw
    agent: str | None = None
    timestamp: str | None = None
    id: str | None = None
    correlation: str | None = None


_decode_outline = msgspec.json.Decoder(_Outline).decode
_decode_export = msgspec.json.Decoder(_ExportLine).decode
_decode_record = msgspec.json.Decoder(_RecordLine).decode
_decode_text = msgspec.json.Decoder(str).decode


def line_reader(dialects: tuple[Dialect, ...]) -> Callable[[int, bytes], Line]:
    """A function that parses the lines of a log whose messages are in these dialects."""
    sender_fields = sorted({dialect.wire.sender or "" for dialect in dialects if dialect.form == "json"} - {""})
    claims = [(f"field{place}", Any, None) for place in range(len(sender_fields))]
    renamed = dict(zip((name for name, _, _ in claims), sender_fields, strict=True))
    decode_claims = msgspec.json.Decoder(msgspec.defstruct("Claims", claims, rename=renamed)).decode

    def read(number: int, line: bytes) -> Line:
        try:
            form = form_of(line)
            if form == "export":
                return _read_export(number, line)
            if form == "record":
                return _read_record(number, line)
        except (msgspec.MsgspecError, ValueError, RecursionError) as error:
            return InvalidLine(number, str(error)[:200])
        try:
            claimed = msgspec.structs.astuple(decode_claims(line))
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            return LogEntry(number, line, None)
        sender = next((value for value in claimed if value is not None), None)
        return LogEntry(number, line, sender if isinstance(sender, str) else None)

    return read


def form_of(line: bytes) -> Form:
    if line.startswith(_EXPORT_START):
        return "export"
    if b'"telex"' not in line and b'"direction"' not in line:
        return "bare"
    try:
        outline = _decode_outline(line)
    except (msgspec.MsgspecError, RecursionError):
        return "bare"
    if isinstance(outline.telex, int) and isinstance(outline.kind, str) and outline.type is None:
        return "export"
    is_record = isinstance(outline.direction, str) and isinstance(outline.message, dict | str)
    return "record" if is_record else "bare"


def of_store(event: Event, message: StoredMessage | None) -> Line:
    """The line of an event of a store."""
    if event.kind not in BRINGING or message is None:
        return event
    if event.kind == "imported":
        return None
    return LogEntry(
        message.seq, message.raw, message.sender, message.role, message.to,
        at=message.at, id=message.id, correlation=message.correlation, reply_to=message.reply_to,
        detail=event.detail, kept=True, refused=message.refused,
    )  # fmt: skip


def _read_export(number: int, line: bytes) -> Line:
    event = _decode_export(line)
    message, detail = event.message, bytes(event.detail).decode()
    if not 0 <= event.at <= _AT_MAX:
        return InvalidLine(number, "at must be in seconds since 1970, up to the year 9999")
    if event.kind not in BRINGING:
        if event.kind not in COMING_AND_GOING:
            return None  # events of deliveries have no effect on later messages
        member = Event(event.seq, event.at, event.kind, event.agent, detail=detail)
        return member._replace(delivery=event.delivery, inbox=event.inbox)
    if message is None:
        return InvalidLine(number, f"an event of kind {event.kind} needs a message")
    if event.kind == "imported":
        return None
    return LogEntry(
        number, _raw(message), message.sender, message.role, message.to,
        at=event.at, id=message.id, correlation=message.correlation, reply_to=message.reply_to,
        detail=detail, kept=True, refused=event.kind == "refused",
    )  # fmt: skip


def _raw(message: _ExportedMessage) -> bytes:
    if message.raw is not None:
        return message.raw.encode()
    if message.raw_base64 is not None:
        return b64decode(message.raw_base64, validate=True)
    raise ValueError("the message has neither raw nor raw_base64")


def _read_record(number: int, line: bytes) -> Line:
    """Only records of sends; those of receives contain nothing new."""
    record = _decode_record(line)
    if record.direction != SENT:
        return None
    raw = bytes(record.message)
    if raw.startswith(b'"'):
        raw = _decode_text(raw).encode()
    at = seconds_of(record.timestamp) if record.timestamp is not None else None
    return LogEntry(number, raw, record.agent, at=at, id=record.id, correlation=record.correlation)


def seconds_of(timestamp: str) -> float | None:
    """Seconds since 1970. None if the text is no timestamp."""
    moment = parse_timestamp(timestamp).at
    try:
        return moment.timestamp() if moment is not None else None
    except (OverflowError, ValueError):
        return None


def detail_recorded(entry: LogEntry) -> dict[str, Any]:
    """Findings and inboxes of the send, from the event that brought the message. Most events have neither."""
    detail = entry.detail
    if not detail or ('"findings"' not in detail and '"inboxes"' not in detail):
        return {}
    return detail_of(Event(0, 0.0, "", detail=detail))


def inboxes_recorded(entry: LogEntry) -> Route | None:
    """The inboxes that the bus chose. None if the log does not contain them."""
    inboxes = detail_recorded(entry).get("inboxes")
    return tuple(inbox for inbox in inboxes if isinstance(inbox, str)) if isinstance(inboxes, list) else None
