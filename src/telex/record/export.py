"""Export and import of a log as JSON lines: every event, and each message with its bytes.

Bytes that are UTF-8 are stored as text, so that the file can be read and searched; others as base64. Imported lines are
validated as untrusted input: an error names the line and the reason.
"""

import json
from base64 import b64decode, b64encode
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from telex.dialects.scalars import format_timestamp as stamp
from telex.dialects.schema import PRIORITIES
from telex.model.digest import digest_of
from telex.model.event import BRINGING, Event, detail_of
from telex.model.message import Message, NewMessage

VERSION = 1
_REQUIRED = {"id": str, "at": (int, float), "sender": str, "role": str, "to": str, "rank": int}
_OPTIONAL = ("dialect", "type", "correlation", "reply_to")
TEXT_CHARACTERS_MAX = 1_024  # no id, name or conversation is longer
_AT_MAX = 253_402_300_799  # the last second of the year 9999: no calendar here goes further


class InvalidLine(NamedTuple):
    """A line that cannot be taken in."""

    line: int
    say: str


def exported(event: Event, message: Message | None) -> dict[str, Any]:
    """One event as a value for JSON. The event that brought a message has it whole; others name it."""
    facts = {
        "telex": VERSION,
        "seq": event.seq,
        "at": event.at,
        "time": stamp(event.at),
        "kind": event.kind,
        "agent": event.agent,
        "inbox": event.inbox,
        "delivery": event.delivery,
        "detail": detail_of(event) or None,
        "id": message.id if message else None,
    }
    return facts | {"message": _whole(message)} if message and event.kind in BRINGING else facts


def _whole(message: Message) -> dict[str, Any]:
    facts = message._asdict() | {"digest": message.digest.hex()}
    raw = facts.pop("raw")
    try:
        return facts | {"raw": raw.decode("utf-8")}
    except UnicodeDecodeError:
        return facts | {"raw_base64": b64encode(raw).decode("ascii")}


def imported(lines: Iterable[bytes]) -> Iterator[NewMessage | InvalidLine | None]:
    """For each line its message, why it cannot be taken, or None where it brings none."""
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            yield _entry(json.loads(line))
        except (ValueError, RecursionError) as error:
            yield InvalidLine(number, _why(error))


def _why(error: Exception) -> str:
    if isinstance(error, json.JSONDecodeError):
        return f"not JSON: {error.msg} at column {error.colno}"
    return "nested too deep" if isinstance(error, RecursionError) else str(error)


def _entry(facts: Any) -> NewMessage | None:
    if not isinstance(facts, dict) or facts.get("telex") != VERSION:
        raise ValueError(f'not a line of an export: no "telex": {VERSION}')
    if facts.get("kind") not in BRINGING:
        return None
    message = facts.get("message")
    if not isinstance(message, dict):
        raise ValueError(f"an event of kind {facts['kind']} needs a message, and there is none")
    raw = _raw(message)
    known = {name: _typed(message, name, kind) for name, kind in _REQUIRED.items()}
    known |= {name: _typed(message, name, (str, type(None))) for name in _OPTIONAL}
    if not 0 <= known["rank"] < len(PRIORITIES):
        raise ValueError(f"message.rank is from 0 to {len(PRIORITIES) - 1}")
    if not 0 <= known["at"] <= _AT_MAX:
        raise ValueError("message.at is in seconds since 1970, up to the year 9999")
    made = digest_of(raw)
    if message.get("digest") != made.hex():
        raise ValueError("the bytes of the message do not match its digest")
    new_message = NewMessage(**known, digest=made, raw=raw, kind="imported")
    return (
        new_message._replace(kind="refused", detail=_why_refused(facts)) if facts["kind"] == "refused" else new_message
    )


def _why_refused(facts: dict[str, Any]) -> str | None:
    """What was found goes with the message: without it, nobody could tell why it was refused."""
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
        wanted = "a number" if kind is not str and str not in (kind if isinstance(kind, tuple) else ()) else "text"
        raise ValueError(f"message.{name} must be {wanted}")
    if isinstance(value, str) and (len(value) > TEXT_CHARACTERS_MAX or _has_half_characters(value)):
        raise ValueError(f"message.{name} must have at most {TEXT_CHARACTERS_MAX} characters and no lone surrogate")
    return value


def _has_half_characters(text: str) -> bool:
    return not text.isascii() and any("\ud800" <= letter <= "\udfff" for letter in text)
