"""Records of `telex log`: one for each message sent and for each attempt of a reader.

The fields are those of build-flow's log: timestamp, direction, agent, message, processingTime, result. They are derived
from events only, so that the log agrees with `telex why`.
"""

import json
from collections.abc import Iterable, Iterator
from typing import Any, Literal, NamedTuple

from telex.dialects.scalars import format_timestamp as stamp
from telex.model.event import Event, detail_of
from telex.model.message import Message

SENT = ("accepted", "refused", "imported")  # imported: it was accepted where it comes from
TAKEN = "leased"
SETTLED = ("acked", "nacked", "lease-expired", "dead")  # dead: after the last nack or expired lease
KINDS = (*SENT, TAKEN, *SETTLED)  # the events that the log is made from


class LogRecord(NamedTuple):
    seq: int  # of the event that ended it
    at: float
    direction: Literal["SENT", "RECEIVED"]
    agent: str
    message: Message
    processing_ms: float | None  # SENT: to check and keep it. RECEIVED: lease to the reader's word. None: not known
    result: Literal["SUCCESS", "ERROR"]
    reason: str | None = None


def records(events: Iterable[tuple[Event, Message | None]]) -> Iterator[LogRecord]:
    """The log lines of these events, in their order. An event that tells nothing to the log is passed over."""
    taken_at: dict[int | None, float] = {}
    for event, message in events:
        if event.kind == TAKEN:
            taken_at[event.delivery] = event.at
        elif message is not None and event.kind in SENT:
            yield _sent(event, message)
        elif message is not None and event.kind in SETTLED:
            yield _received(event, message, taken_at.pop(event.delivery, None))


def _sent(event: Event, message: Message) -> LogRecord:
    detail = detail_of(event)
    passed = event.kind != "refused"
    ms = detail.get("took")
    return LogRecord(
        seq=event.seq,
        at=event.at,
        direction="SENT",
        agent=message.sender,
        message=message,
        processing_ms=float(ms) if isinstance(ms, (int, float)) else None,
        result="SUCCESS" if passed else "ERROR",
        reason=None if passed else _codes(detail),
    )


def _received(event: Event, message: Message, taken_at: float | None) -> LogRecord:
    reason = detail_of(event).get("reason")
    return LogRecord(
        seq=event.seq,
        at=event.at,
        direction="RECEIVED",
        agent=event.agent or event.inbox or message.to,
        message=message,
        processing_ms=max(event.at - taken_at, 0.0) * 1000 if taken_at is not None else None,
        result="SUCCESS" if event.kind == "acked" else "ERROR",
        reason=str(reason) if reason else None,
    )


def _codes(detail: dict[str, Any]) -> str | None:
    findings = detail.get("findings")
    codes = (
        [str(finding.get("code")) for finding in findings if isinstance(finding, dict)]
        if isinstance(findings, list)
        else []
    )
    return ", ".join(dict.fromkeys(codes)) or None


def log_facts(record: LogRecord) -> dict[str, Any]:
    """The record as build-flow writes it, and what else is known beside it."""
    message = record.message
    return {
        "timestamp": stamp(record.at),
        "direction": record.direction,
        "agent": record.agent,
        "message": said(message),
        "processingTime": round(record.processing_ms, 3) if record.processing_ms is not None else None,
        "result": record.result,
        "reason": record.reason,
        "id": message.id,
        "dialect": message.dialect,
        "type": message.type,
        "correlation": message.correlation,
        "seq": record.seq,
    }


def said(message: Message) -> Any:
    """What the message says: an object where it is one, otherwise its text."""
    text = message.raw.decode("utf-8", "backslashreplace")
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return text
    return found if isinstance(found, dict) else text
