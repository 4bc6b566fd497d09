"""Whose turn is it, and what happens when a turn ends badly? Decisions about one delivery, as settlements.

What may become what is `model/delivery.MOVES`; these functions choose among those moves and say why.
"""

import json
from collections.abc import Iterable
from typing import Any

from telex.model.delivery import AT_ONCE, Delivery
from telex.model.event import Event
from telex.model.limits import Limits
from telex.model.message import NewMessage
from telex.ports.store import Settlement

LAPSED = "the lease expired without an ack or nack"


def acked(delivery: int, fence: int, agent: str, now: float) -> Settlement:
    return Settlement(delivery, "leased", "acked", now, "acked", agent, fence, holder=agent, running_at=now)


def extended(delivery: int, fence: int, agent: str, now: float, until: float) -> Settlement:
    detail = json.dumps({"until": until})
    settlement = Settlement(delivery, "leased", "leased", now, "extended", agent, fence, running_at=now)
    return settlement._replace(holder=agent, due_at=until, detail=detail)


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
    """A reader could not deal with it: another turn later, or none. `system_messages` go out with a death."""
    settlement = _another_turn(delivery, agent, now, "nacked", reason, limits, delay, reports)
    return settlement._replace(holder=agent, running_at=now)


def lapsed(delivery: Delivery, now: float, limits: Limits, *, reports: tuple[NewMessage, ...] = ()) -> Settlement:
    """A silent agent and a failing one look the same from here, so a lease that ran out counts as an attempt."""
    settlement = _another_turn(delivery, delivery.holder, now, "lease-expired", LAPSED, limits, None, reports)
    return settlement._replace(run_out_at=now)  # the reader may have asked for more time in this very moment


def backoff(attempts: int, limits: Limits) -> float:
    """Seconds to wait after that many attempts: later each time."""
    return limits.backoff_seconds * 2.0 ** max(attempts - 1, 0)


def _another_turn(
    delivery: Delivery,
    agent: str | None,
    now: float,
    kind: str,
    reason: str,
    limits: Limits,
    delay: float | None,
    reports: tuple[NewMessage, ...],
) -> Settlement:
    detail: dict[str, Any] = {"reason": reason, "attempt": delivery.attempts}
    if is_last_attempt(delivery, limits):
        detail["was"] = kind
        return Settlement(
            delivery.seq,
            "leased",
            "dead",
            now,
            "dead",
            agent,
            delivery.fence,
            detail=_text(detail),
            reports=reports,
            release=True,
        )
    due_at = now + (backoff(delivery.attempts, limits) if delay is None else delay)
    detail["next"] = due_at
    return Settlement(
        delivery.seq, "leased", "stored", now, kind, agent, delivery.fence, due_at=due_at, detail=_text(detail)
    )


def expired(delivery: Delivery, now: float, reason: str) -> Settlement:
    detail = _text({"reason": reason})
    return Settlement(delivery.seq, delivery.state, "expired", now, "expired", None, delivery.fence, detail=detail)


def withdrawn(
    delivery: Delivery,
    agent: str,
    now: float,
    reason: str,
    *,
    kind: str = "withdrawn",
    reports: tuple[NewMessage, ...] = (),
) -> Settlement:
    detail = _text({"reason": reason})
    return Settlement(
        delivery.seq,
        delivery.state,
        "withdrawn",
        now,
        kind,
        agent,
        delivery.fence,
        detail=detail,
        reports=reports,
        release=True,
    )


def returned(delivery: Delivery, now: float, reason: str) -> Settlement:
    """Its reader is gone for good and has not failed at it: others may have it at once, and the turn does not count."""
    settlement = Settlement(delivery.seq, "leased", "stored", now, "returned", delivery.holder, delivery.fence)
    attempts = max(delivery.attempts - 1, 0)
    return settlement._replace(due_at=AT_ONCE, attempts=attempts, detail=_text({"reason": reason}))


def finished(delivery: Delivery, now: float) -> Settlement:
    """What its reader did shows that it is done with it, whether or not it has said so in time."""
    return Settlement(delivery.seq, "leased", "acked", now, "acked", delivery.holder, delivery.fence)


def retried(delivery: Delivery, now: float) -> Settlement:
    return Settlement(
        delivery.seq, delivery.state, "stored", now, "retried", None, delivery.fence, due_at=AT_ONCE, attempts=0
    )


def state_of(deliveries: Iterable[Delivery], events: Iterable[Event], *, refused: bool) -> str:
    """The one word for a message: what is still open decides, then what went wrong, and last that all is well."""
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
