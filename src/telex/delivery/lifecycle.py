"""Decisions about one delivery, as settlements: ack, retry with backoff, dead letter, expiry, withdrawal.

`model/delivery.MOVES` lists the allowed state changes; these functions choose one of them and give the reason.
"""

import json
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from telex.model.limits import Limits
from telex.model.message import AT_ONCE, OPEN, Delivery, Event, NewMessage
from telex.ports.store import PendingRequest, Settlement

LAPSED = "the lease expired without an ack or nack"
DAMAGED = "its stored bytes are damaged (telex doctor names it): send it again under another id"


class FailedAttempt(NamedTuple):
    """End of a lease without an ack."""

    kind: str  # of the event: nacked or lease-expired
    reason: str
    at: float
    agent: str | None


def acked(delivery: int, fence: int, agent: str, now: float) -> Settlement:
    settlement = Settlement(delivery, "leased", "acked", now, "acked", agent=agent, fence=fence, holder=agent)
    return settlement._replace(after_expiry=True)


def extended(delivery: int, fence: int, agent: str, now: float, until: float) -> Settlement:
    detail = json.dumps({"until": until})
    settlement = Settlement(delivery, "leased", "leased", now, "extended", agent=agent, fence=fence)
    return settlement._replace(holder=agent, running_at=now, due_at=until, detail=detail)


def is_last_attempt(delivery: Delivery, limits: Limits) -> bool:
    return delivery.attempts >= limits.attempts_max


def given_back(
    delivery: Delivery,
    agent: str,
    now: float,
    reason: str,
    limits: Limits,
    *,
    delay: float | None = None,
    reports: tuple[NewMessage, ...] = (),
) -> Settlement:
    """Nack: retry later, or dead letter after the last attempt. `reports` are stored with a dead letter only."""
    due_at = now + (backoff(delivery.attempts, limits) if delay is None else delay)
    settlement = _retry(delivery, FailedAttempt("nacked", reason, now, agent), limits, due_at, reports)
    return settlement._replace(holder=agent, after_expiry=True)


def lapsed(delivery: Delivery, now: float, limits: Limits, *, reports: tuple[NewMessage, ...] = ()) -> Settlement:
    """Lease expiry. It counts as a failed attempt: a crashed agent and a slow one cannot be told apart. The backoff
    begins when the lease expired, not when the expiry is processed."""
    attempt = FailedAttempt("lease-expired", LAPSED, now, delivery.holder)
    due_at = delivery.due_at + backoff(delivery.attempts, limits)
    return _retry(delivery, attempt, limits, due_at, reports)._replace(run_out_at=now)  # the lease may just be extended


def damaged(delivery: Delivery, now: float, *, reports: tuple[NewMessage, ...] = ()) -> Settlement:
    """Dead letter at once: the bytes will not get better."""
    detail = _text({"reason": DAMAGED, "attempt": delivery.attempts})
    settlement = Settlement(delivery.seq, "leased", "dead", now, "dead", agent=delivery.holder, fence=delivery.fence)
    return settlement._replace(detail=detail, reports=reports, release=True)


def backoff(attempts: int, limits: Limits) -> float:
    """Seconds to wait after that many attempts; doubles with each."""
    return limits.backoff_seconds * 2.0 ** max(attempts - 1, 0)


def _retry(
    delivery: Delivery, attempt: FailedAttempt, limits: Limits, due_at: float, reports: tuple[NewMessage, ...]
) -> Settlement:
    """Back to the queue until `due_at`, or a dead letter after the last attempt."""
    now, detail = attempt.at, {"reason": attempt.reason, "attempt": delivery.attempts}
    if is_last_attempt(delivery, limits):
        text = _text(detail | {"was": attempt.kind})
        settlement = Settlement(delivery.seq, "leased", "dead", now, "dead", agent=attempt.agent, fence=delivery.fence)
        return settlement._replace(detail=text, reports=reports, release=True)
    text = _text(detail | {"next": due_at})
    settlement = Settlement(delivery.seq, "leased", "stored", now, attempt.kind, agent=attempt.agent)
    return settlement._replace(fence=delivery.fence, due_at=due_at, detail=text)


def expired(delivery: Delivery, now: float, reason: str) -> Settlement:
    detail = _text({"reason": reason})
    return Settlement(delivery.seq, delivery.state, "expired", now, "expired", fence=delivery.fence, detail=detail)


def withdrawn(
    delivery: Delivery,
    agent: str,
    now: float,
    reason: str,
    *,
    kind: str = "withdrawn",
    reports: tuple[NewMessage, ...] = (),
) -> Settlement:
    settlement = Settlement(delivery.seq, delivery.state, "withdrawn", now, kind, agent=agent, fence=delivery.fence)
    return settlement._replace(detail=_text({"reason": reason}), reports=reports, release=True)


def returned(delivery: Delivery, now: float, reason: str) -> Settlement:
    """Release the lease of an agent that has left: due at once, and not counted as an attempt."""
    settlement = Settlement(delivery.seq, "leased", "stored", now, "returned", agent=delivery.holder, due_at=AT_ONCE)
    attempts = max(delivery.attempts - 1, 0)
    return settlement._replace(fence=delivery.fence, attempts=attempts, detail=_text({"reason": reason}))


def finished(delivery: Delivery, now: float) -> Settlement:
    """Implicit ack: another action of the reader shows that it has processed the message."""
    return Settlement(delivery.seq, "leased", "acked", now, "acked", agent=delivery.holder, fence=delivery.fence)


def retried(delivery: Delivery, agent: str, now: float) -> Settlement:
    settlement = Settlement(delivery.seq, delivery.state, "stored", now, "retried", agent=agent, fence=delivery.fence)
    return settlement._replace(due_at=AT_ONCE, attempts=0)


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


def _text(detail: dict[str, Any]) -> str:
    return json.dumps(detail, ensure_ascii=False)


class LateReply(NamedTuple):
    """What to do about a late answer."""

    due_at: float | None  # the next deadline; None: give up
    again: tuple[str, ...]  # inboxes to put it into once more
    expire: tuple[Delivery, ...]  # deliveries that end unanswered
    reason: str
    detail: str  # JSON for the events


def late(pending_request: PendingRequest, deliveries: Sequence[Delivery], now: float, limits: Limits) -> LateReply:
    attempt = pending_request.attempts + 1
    still_there = tuple(delivery for delivery in deliveries if delivery.state in OPEN)
    reason = f"no answer by the deadline, attempt {attempt} of {limits.attempts_max}"
    if attempt >= limits.attempts_max:
        return LateReply(None, (), still_there, reason, json.dumps({"attempt": attempt, "reason": reason}))
    due_at = now + backoff(attempt, limits) + limits.request_seconds
    busy = {delivery.inbox for delivery in still_there}
    again = tuple(
        dict.fromkeys(
            delivery.inbox for delivery in deliveries if delivery.state == "acked" and delivery.inbox not in busy
        )
    )
    return LateReply(due_at, again, (), reason, json.dumps({"attempt": attempt, "next": due_at}))
