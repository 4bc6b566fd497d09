"""Reader of log lines: a message with its metadata, an event, or an invalid line.

Three kinds of lines are understood, also mixed: those of an export, log records in the form of build-flow, and messages
with nothing around them. Unknown metadata stays open; the sender of a bare message is the one it names itself.
"""

from base64 import b64decode
from collections.abc import Callable
from operator import attrgetter
from typing import Any, Literal, NamedTuple

import msgspec

from telex.delivery.routing import Route
from telex.dialects.scalars import parse_timestamp
from telex.dialects.schema import Dialect
from telex.model.event import BRINGING, COMING_AND_GOING, Event, detail_of
from telex.model.message import Message
from telex.record.export import InvalidLine

_EXPORTED, _RECORDED = b'"telex"', b'"direction"'  # in every line of that kind
SENT = "SENT"
_NEW = tuple.__new__  # makes a NamedTuple in half the time
_AT_MAX = 253_402_300_799.0  # the last second of the year 9999


class LogEntry(NamedTuple):
    """A message of a log. None: the log does not say."""

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
    kept: bool = False  # by Telex itself: who was there, and what was repeated, is told by events
    refused: bool = False  # when it was sent

    @property
    def is_bare(self) -> bool:
        """Is there nothing around it? Then all that is known is what it says itself."""
        return self.at is None and self.to is None and not self.kept


Line = LogEntry | Event | InvalidLine | None
Form = Literal["export", "record", "bare"]


class _Message(msgspec.Struct):
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
    message: _Message | None = None


class _RecordLine(msgspec.Struct):
    direction: str
    message: msgspec.Raw
    agent: str | None = None
    timestamp: str | None = None
    id: str | None = None
    correlation: str | None = None


_exported = msgspec.json.Decoder(_ExportLine).decode
_recorded = msgspec.json.Decoder(_RecordLine).decode
_text = msgspec.json.Decoder(str).decode


def line_reader(dialects: tuple[Dialect, ...]) -> Callable[[int, bytes], Line]:
    """What makes of each line what it tells."""
    claims = claim_reader(dialects)
    bare = LogEntry(0, b"")[3:]

    def read(number: int, line: bytes) -> Line:
        try:
            if _EXPORTED in line and _is_export(line):
                return _of_export(number, line)
            if _RECORDED in line and _is_record(line):
                return _of_record(number, line)
        except (msgspec.MsgspecError, ValueError, RecursionError) as error:
            return InvalidLine(number, str(error)[:200])
        return _NEW(LogEntry, (number, line, claims(line), *bare))

    return read


def form_of(line: bytes) -> Form:
    """Which of the three kinds of lines it is."""
    if _EXPORTED in line and _is_export(line):
        return "export"
    return "record" if _RECORDED in line and _is_record(line) else "bare"


def of_store(event: Event, message: Message | None) -> Line:
    """The same of an event that a store has told."""
    if event.kind not in BRINGING or message is None:
        return event
    if event.kind == "imported":
        return None
    seq, id_, at, sender, role, to, _, _, _, correlation, reply_to, _, raw, refused = message
    return _NEW(LogEntry, (seq, raw, sender, role, to, at, id_, correlation, reply_to, event.detail, True, refused))


# --- the lines of an export -------------------------------------------------------------------------------------------


class _VersionLine(msgspec.Struct):
    telex: Any = None
    kind: Any = None
    type: Any = None


_version = msgspec.json.Decoder(_VersionLine).decode


def _is_export(line: bytes) -> bool:
    """A message may well speak of Telex."""
    if line.startswith(b'{"telex": 1, "seq": '):  # as we write it ourselves
        return True
    try:
        facts = _version(line)
    except msgspec.MsgspecError:
        return False
    return isinstance(facts.telex, int) and isinstance(facts.kind, str) and facts.type is None


def _of_export(number: int, line: bytes) -> Line:
    facts = _exported(line)
    if not 0 <= facts.at <= _AT_MAX:
        return InvalidLine(number, "at is in seconds since 1970, up to the year 9999")
    if facts.kind not in BRINGING:
        if facts.kind not in COMING_AND_GOING:
            return None  # what became of a message decides nothing about the next
        detail = bytes(facts.detail).decode()
        return Event(
            facts.seq,
            facts.at,
            kind=facts.kind,
            agent=facts.agent,
            message=None,
            delivery=facts.delivery,
            inbox=facts.inbox,
            detail=detail,
        )
    detail = bytes(facts.detail).decode()
    message = facts.message
    if message is None:
        return InvalidLine(number, f"an event of kind {facts.kind} brings a message, and here is none")
    if facts.kind == "imported":
        return None
    raw, refused = message.raw.encode() if message.raw is not None else _raw(message), facts.kind == "refused"
    whom = (message.sender, message.role, message.to)
    return _NEW(
        LogEntry,
        (number, raw, *whom, facts.at, message.id, message.correlation, message.reply_to, detail, True, refused),
    )


def _raw(message: _Message) -> bytes:
    if message.raw_base64 is not None:
        return b64decode(message.raw_base64, validate=True)
    raise ValueError("the message has neither raw nor raw_base64")


# --- log records ------------------------------------------------------------------------------------------------------


class _DirectionLine(msgspec.Struct):
    direction: Any = None
    message: Any = None
    type: Any = None


_direction = msgspec.json.Decoder(_DirectionLine).decode


def _is_record(line: bytes) -> bool:
    try:
        facts = _direction(line)
    except (msgspec.MsgspecError, RecursionError):
        return False
    return isinstance(facts.direction, str) and isinstance(facts.message, (dict, str))


def _of_record(number: int, line: bytes) -> Line:
    """Only what was sent: that somebody received it tells nothing new."""
    facts = _recorded(line)
    if facts.direction != SENT:
        return None
    raw = bytes(facts.message)
    if raw.startswith(b'"'):
        raw = _text(raw).encode()
    at = moment_in(facts.timestamp) if facts.timestamp is not None else None
    return LogEntry(number, raw, facts.agent, at=at, id=facts.id, correlation=facts.correlation)


def moment_in(text: str) -> float | None:
    """When that is, in seconds since 1970; None where it is no moment."""
    found = parse_timestamp(text).at
    try:
        return found.timestamp() if found is not None else None
    except (OverflowError, ValueError):
        return None


# --- bare messages ----------------------------------------------------------------------------------------------------


def claim_reader(dialects: tuple[Dialect, ...]) -> Callable[[bytes], str | None]:
    """What a message says of its sender: the field that any of these dialects has for it."""
    names = sorted(
        {dialect.wire.sender for dialect in dialects if dialect.form == "json" and dialect.wire.sender is not None}
    )
    fields = [(f"claim_{place}", Any, None) for place in range(len(names))]
    renamed = {attribute: name for (attribute, _, _), name in zip(fields, names, strict=True)}
    decode = msgspec.json.Decoder(msgspec.defstruct("Claims", fields, rename=renamed)).decode
    values = attrgetter(*renamed, "__doc__", "__doc__")  # these are always None, and make it a tuple in any case

    def claim(raw: bytes) -> str | None:
        try:
            found = values(decode(raw))
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            return None
        for value in found:
            if value is not None:
                return value if isinstance(value, str) else None
        return None

    return claim


def recorded(line: LogEntry) -> dict[str, Any]:
    """What the event that brought a message says beyond its kind; most say only how long it took."""
    detail = line.detail
    if not detail or ('"findings"' not in detail and '"inboxes"' not in detail):
        return {}
    return detail_of(Event(0, 0.0, "", detail=detail))


def inboxes_of(line: LogEntry) -> Route | None:
    """Where it was put, as the bus has written it down; None: that is told by who was there."""
    where = recorded(line).get("inboxes")
    return tuple(one for one in where if isinstance(one, str)) if isinstance(where, list) else None
