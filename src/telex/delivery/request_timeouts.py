"""Decision on an overdue request: repeat it, or report to the sender that no answer came.

A request is sent `attempts_max` times. While it is still in an inbox, it is not repeated; if it was acked without an
answer, it is delivered again.
"""

import json
from collections.abc import Sequence
from typing import NamedTuple

from telex.delivery.lifecycle import backoff
from telex.model.delivery import OPEN, Delivery
from telex.model.limits import Limits
from telex.ports.store import PendingRequest


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
