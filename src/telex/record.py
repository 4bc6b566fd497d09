"""Log of a team as data: export and import as JSON lines, and the records of `telex log`.

An export has every event, and each message with its bytes: as text if they are UTF-8, so that the file can be read and
searched, else as base64. Imported lines are validated as untrusted input: an error names the line and the reason.

A record of `telex log` is one message sent or one attempt of a reader. Its fields are those of build-flow's log and are
derived from events only, so that the log agrees with `telex why`.
"""

import json
from base64 import b64decode, b64encode
from collections.abc import Iterable, Iterator
from typing import Any, Literal

from telex.dialects.scalars import format_timestamp
from telex.dialects.schema import PRIORITIES
from telex.model.message import BRINGING, Event, NewMessage, StoredMessage, detail_of
from telex.model.named_tuple import NamedTuple
from telex.model.text import digest_of

VERSION = 1
TEXT_CHARACTERS_MAX = 1_024  # no id, name or conversation is longer
SENT = ("accepted", "refused", "imported")
SETTLED = ("acked", "nacked", "lease-expired", "dead")  # dead: after the last nack or expired lease
KINDS = (*SENT, "leased", *SETTLED)  # events from which the log is made
_FIELDS = {"at": (int, float), "rank": int} | dict.fromkeys(("id", "sender", "role", "to"), str)
_OPTIONAL = ("dialect", "type", "correlation", "reply_to")
_AT_MAX = 253_402_300_799  # the last second of the year 9999


class InvalidLine(NamedTuple):
    """A line of an export that cannot be imported."""

    line: int
    say: str


def exported(event: Event, message: StoredMessage | None) -> dict[str, Any]:
    """One event as a JSON value. The event that stored a message contains it; others name its id."""
    facts = {
        "telex": VERSION,
        "seq": event.seq,
        "at": event.at,
        "time": format_timestamp(event.at),
        "kind": event.kind,
        "agent": event.agent,
        "inbox": event.inbox,
        "delivery": event.delivery,
        "detail": detail_of(event) or None,
        "id": message.id if message else None,
    }
    return facts | {"message": _message_facts(message)} if message and event.kind in BRINGING else facts


def _message_facts(message: StoredMessage) -> dict[str, Any]:
    facts = message._asdict() | {"digest": message.digest.hex()}
    raw = facts.pop("raw")
    try:
        return facts | {"raw": raw.decode("utf-8")}
    except UnicodeDecodeError:
        return facts | {"raw_base64": b64encode(raw).decode("ascii")}


def imported(lines: Iterable[bytes]) -> Iterator[NewMessage | InvalidLine | None]:
    """For each line its message, the error, or None if it has no message."""
    for number, line in enumerate(lines, 1):
        if line.strip():
            try:
                yield _new_message(json.loads(line))
            except json.JSONDecodeError as error:
                yield InvalidLine(number, f"not JSON: {error.msg} at column {error.colno}")
            except RecursionError:
                yield InvalidLine(number, "nested too deep")
            except ValueError as error:
                yield InvalidLine(number, str(error))


def _new_message(facts: Any) -> NewMessage | None:
    if not isinstance(facts, dict) or facts.get("telex") != VERSION:
        raise ValueError(f'not a line of an export: no "telex": {VERSION}')
    kind, message = facts.get("kind"), facts.get("message")
    if kind not in BRINGING:
        return None
    if not isinstance(message, dict):
        raise ValueError(f"an event of kind {kind} needs a message, and there is none")
    raw = _raw(message)
    values = {name: _typed(message, name, kind) for name, kind in _FIELDS.items()}
    values |= {name: _typed(message, name, (str, type(None))) for name in _OPTIONAL}
    if not 0 <= values["rank"] < len(PRIORITIES):
        raise ValueError(f"message.rank is from 0 to {len(PRIORITIES) - 1}")
    if not 0 <= values["at"] <= _AT_MAX:
        raise ValueError("message.at is in seconds since 1970, up to the year 9999")
    digest = digest_of(raw)
    if message.get("digest") != digest.hex():
        raise ValueError("the bytes of the message do not match its digest")
    new = NewMessage(**values, digest=digest, raw=raw, kind="imported")
    return new._replace(kind="refused", detail=_findings(facts)) if kind == "refused" else new


def _findings(facts: dict[str, Any]) -> str | None:
    """The detail of a refusal, which says why the message was refused."""
    detail = facts.get("detail")
    if not isinstance(detail, dict | None):
        raise ValueError("detail must be an object")
    return json.dumps(detail) if detail else None


def _raw(message: dict[str, Any]) -> bytes:
    if isinstance(message.get("raw"), str):
        return str(message["raw"]).encode("utf-8", "surrogatepass")
    if isinstance(message.get("raw_base64"), str):
        return b64decode(message["raw_base64"], validate=True)
    raise ValueError("the message has neither raw nor raw_base64")


def _typed(message: dict[str, Any], name: str, kind: Any) -> Any:
    value = message.get(name)
    if not isinstance(value, kind) or isinstance(value, bool):
        raise ValueError(f"message.{name} must be {'a number' if name in ('at', 'rank') else 'text'}")
    if isinstance(value, str) and (len(value) > TEXT_CHARACTERS_MAX or any("\ud800" <= c <= "\udfff" for c in value)):
        raise ValueError(f"message.{name} must have at most {TEXT_CHARACTERS_MAX} characters and no lone surrogate")
    return value


# --- records of `telex log` -------------------------------------------------------------------------------------------


class LogRecord(NamedTuple):
    seq: int  # of its last event
    at: float
    direction: Literal["SENT", "RECEIVED"]
    agent: str
    message: StoredMessage
    processing_ms: float | None  # SENT: check and store. RECEIVED: from lease to settlement. None: not known
    result: Literal["SUCCESS", "ERROR"]
    reason: str | None = None


def records(events: Iterable[tuple[Event, StoredMessage | None]]) -> Iterator[LogRecord]:
    """The log records of these events, in their order."""
    leased_at: dict[int | None, float] = {}
    for event, message in events:
        if event.kind == "leased":
            leased_at[event.delivery] = event.at
        elif message is not None and event.kind in SENT:
            yield _sent(event, message)
        elif message is not None and event.kind in SETTLED:
            yield _received(event, message, leased_at.pop(event.delivery, None))


def _sent(event: Event, message: StoredMessage) -> LogRecord:
    detail = detail_of(event)
    took = detail.get("took")
    took = float(took) if isinstance(took, (int, float)) else None
    if event.kind != "refused":
        return LogRecord(event.seq, event.at, "SENT", message.sender, message, processing_ms=took, result="SUCCESS")
    findings = detail.get("findings")
    codes = [str(row.get("code")) for row in findings if isinstance(row, dict)] if isinstance(findings, list) else []
    reason = ", ".join(dict.fromkeys(codes)) or None
    return LogRecord(
        event.seq, event.at, "SENT", message.sender, message, processing_ms=took, result="ERROR", reason=reason
    )


def _received(event: Event, message: StoredMessage, leased_at: float | None) -> LogRecord:
    reason = detail_of(event).get("reason")
    agent = event.agent or event.inbox or message.to
    return LogRecord(
        event.seq,
        event.at,
        "RECEIVED",
        agent,
        message,
        processing_ms=max(event.at - leased_at, 0.0) * 1000 if leased_at is not None else None,
        result="SUCCESS" if event.kind == "acked" else "ERROR",
        reason=str(reason) if reason else None,
    )


def log_facts(record: LogRecord) -> dict[str, Any]:
    """The record as build-flow writes it, with further fields."""
    message = record.message
    return {
        "timestamp": format_timestamp(record.at),
        "direction": record.direction,
        "agent": record.agent,
        "message": content_of(message.raw),
        "processingTime": round(record.processing_ms, 3) if record.processing_ms is not None else None,
        "result": record.result,
        "reason": record.reason,
        "id": message.id,
        "dialect": message.dialect,
        "type": message.type,
        "correlation": message.correlation,
        "seq": record.seq,
    }


def content_of(raw: bytes) -> Any:
    """The content of a message: a JSON object, or its text."""
    text = raw.decode("utf-8", "backslashreplace")
    try:
        tree = json.loads(text)
    except (ValueError, RecursionError):
        return text
    return tree if isinstance(tree, dict) else text
