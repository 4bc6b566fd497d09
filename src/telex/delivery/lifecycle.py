"""Decisions about one delivery, as settlements (ack, retry with backoff, dead letter, expiry, withdrawal), and the
messages of the bus itself: the report of a dead letter to its sender, and the answer to a refused message.

`model/message.MOVES` lists the allowed state changes; these functions choose one of them and give the reason.
"""

import json
from collections.abc import Iterable, Sequence
from typing import Any

from telex.dialects.registry import PLAIN
from telex.dialects.scalars import format_timestamp
from telex.dialects.schema import PRIORITIES, Dialect
from telex.model.finding import Finding, refusals
from telex.model.limits import Limits
from telex.model.message import AT_ONCE, OPEN, Delivery, Event, NewMessage, State, StoredMessage
from telex.model.named_tuple import NamedTuple
from telex.model.roster import TELEX
from telex.model.text import digest_of
from telex.ports.store import PendingRequest, Settlement

LAPSED = "the lease expired without an ack or nack"
DAMAGED = "its stored bytes are damaged (telex doctor names it): send it again under another id"


def acked(delivery: int, fence: int, agent: str, now: float) -> Settlement:
    return Settlement(delivery, "leased", "acked", now, "acked", agent=agent, fence=fence, holder=agent)


def extended(delivery: int, fence: int, agent: str, now: float, until: float) -> Settlement:
    return Settlement(
        delivery,
        "leased",
        "leased",
        now,
        "extended",
        agent=agent,
        fence=fence,
        holder=agent,
        running_at=now,
        due_at=until,
        detail=_text({"until": until}),
    )


def is_last_attempt(delivery: Delivery, limits: Limits) -> bool:
    return delivery.attempts >= limits.attempts_max


def nacked(
    delivery: Delivery,
    agent: str,
    now: float,
    reason: str,
    limits: Limits,
    *,
    delay: float | None = None,
    reports: tuple[NewMessage, ...] = (),
) -> Settlement:
    """Retry later, or dead letter after the last attempt. `reports` are stored with a dead letter only."""
    due_at = now + (backoff(delivery.attempts, limits) if delay is None else delay)
    settlement = _failed(delivery, "nacked", reason, now, due_at, limits=limits, reports=reports)
    return settlement._replace(agent=agent, holder=agent)


def lapsed(delivery: Delivery, now: float, limits: Limits, *, reports: tuple[NewMessage, ...] = ()) -> Settlement:
    """Lease expiry. It counts as a failed attempt: a crashed agent and a slow one look the same. The backoff
    begins when the lease expired, not when the expiry is processed."""
    due_at = delivery.due_at + backoff(delivery.attempts, limits)
    settlement = _failed(delivery, "lease-expired", LAPSED, now, due_at, limits=limits, reports=reports)
    return settlement._replace(run_out_at=now)  # the lease may just be extended


def backoff(attempts: int, limits: Limits) -> float:
    """Backoff in seconds after that many attempts; it doubles with each."""
    return limits.backoff_seconds * 2.0 ** max(attempts - 1, 0)


def _failed(
    delivery: Delivery,
    kind: str,
    reason: str,
    now: float,
    due_at: float,
    *,
    limits: Limits,
    reports: tuple[NewMessage, ...],
) -> Settlement:
    """A lease ended without an ack: back to the queue until `due_at`, or dead letter after the last attempt."""
    detail = {"reason": reason, "attempt": delivery.attempts}
    if is_last_attempt(delivery, limits):
        return _dead(delivery, now, detail | {"was": kind}, reports)
    settlement = _settlement(delivery, "stored", kind, now, agent=delivery.holder, detail=detail | {"next": due_at})
    return settlement._replace(was="leased", due_at=due_at)


def _dead(delivery: Delivery, now: float, detail: dict[str, Any], reports: tuple[NewMessage, ...]) -> Settlement:
    settlement = _settlement(delivery, "dead", "dead", now, agent=delivery.holder, detail=detail)
    return settlement._replace(was="leased", reports=reports, release=True)


def damaged(delivery: Delivery, now: float, *, reports: tuple[NewMessage, ...] = ()) -> Settlement:
    """Dead letter at once: a retry does not repair the bytes."""
    detail = {"reason": DAMAGED, "attempt": delivery.attempts}
    return _dead(delivery, now, detail, reports)


def expired(delivery: Delivery, now: float, reason: str) -> Settlement:
    return _settlement(delivery, "expired", "expired", now, detail={"reason": reason})


def withdrawn(
    delivery: Delivery,
    agent: str,
    now: float,
    reason: str,
    *,
    kind: str = "withdrawn",
    reports: tuple[NewMessage, ...] = (),
) -> Settlement:
    settlement = _settlement(delivery, "withdrawn", kind, now, agent=agent, detail={"reason": reason})
    return settlement._replace(reports=reports, release=True)


def returned(delivery: Delivery, now: float, reason: str) -> Settlement:
    """Release the lease of an agent that has left: due at once, and not counted as an attempt."""
    settlement = _settlement(delivery, "stored", "returned", now, agent=delivery.holder, detail={"reason": reason})
    return settlement._replace(due_at=AT_ONCE, attempts=max(delivery.attempts - 1, 0))


def finished(delivery: Delivery, now: float) -> Settlement:
    """Implicit ack: another action of the reader shows that it has processed the message."""
    return _settlement(delivery, "acked", "acked", now, agent=delivery.holder)


def retried(delivery: Delivery, agent: str, now: float) -> Settlement:
    return _settlement(delivery, "stored", "retried", now, agent=agent)._replace(due_at=AT_ONCE, attempts=0)


def _settlement(
    delivery: Delivery,
    becomes: State,
    kind: str,
    now: float,
    *,
    agent: str | None = None,
    detail: dict[str, Any] | None = None,
) -> Settlement:
    settlement = Settlement(delivery.seq, delivery.state, becomes, now, kind, agent=agent, fence=delivery.fence)
    return settlement._replace(detail=_text(detail) if detail is not None else None)


def _text(detail: dict[str, Any]) -> str:
    return json.dumps(detail, ensure_ascii=False)


def state_of(deliveries: Iterable[Delivery], events: Iterable[Event], *, refused: bool) -> str:
    """State of a message from those of its deliveries: an open one decides, then a failed one, then acked."""
    if refused:
        return "refused"
    states = {delivery.state for delivery in deliveries}
    kinds = {event.kind for event in events}
    if "leased" in states:
        return "leased"
    if "stored" in states:
        return "read" if "read" in kinds else "stored"
    if "dead" in states:
        return "dead"
    if "expired" in states or ("expired" in kinds and "answered" not in kinds):
        return "expired"
    if "withdrawn" in states:
        return "withdrawn"
    return "acked" if states else "recorded"


class LateReply(NamedTuple):
    """Decision on an overdue request: repeat it, or give up."""

    due_at: float | None  # the next deadline; None: give up
    again: tuple[str, ...]  # inboxes that get it once more
    expire: tuple[Delivery, ...]  # deliveries that end unanswered
    reason: str
    detail: str  # JSON for the events


def late(request: PendingRequest, deliveries: Sequence[Delivery], now: float, limits: Limits) -> LateReply:
    attempt = request.attempts + 1
    open_ = tuple(delivery for delivery in deliveries if delivery.state in OPEN)
    reason = f"no answer by the deadline, attempt {attempt} of {limits.attempts_max}"
    if attempt >= limits.attempts_max:
        return LateReply(None, (), open_, reason, json.dumps({"attempt": attempt, "reason": reason}))
    due_at = now + backoff(attempt, limits) + limits.request_seconds
    busy = {delivery.inbox for delivery in open_}
    acked = [delivery.inbox for delivery in deliveries if delivery.state == "acked" and delivery.inbox not in busy]
    return LateReply(due_at, tuple(dict.fromkeys(acked)), (), reason, json.dumps({"attempt": attempt, "next": due_at}))


# --- messages of the bus itself ---------------------------------------------------------------------------------------

ERROR = PRIORITIES.index("ERROR")
_ERROR_REPORT, _MESSAGE_ERROR = "ERROR_REPORT", "MESSAGE_ERROR"
_MISSING = frozenset({"field-missing", "type-missing"})
_UNKNOWN = frozenset({"type-unknown"})


def not_delivered(
    message: StoredMessage, inbox: str, reason: str, now: float, new_id: str, dialect: Dialect | None
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
