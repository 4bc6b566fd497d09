"""Rows of messages, as the feed, an inbox, a conversation and the timeline show them."""

from typing import Any

from telex.model.roster import ALL_OF_ROLE, EVERYONE, ONE_OF_ROLE
from telex.surfaces.page.history import NO_END, PageDelivery, PageMessage

RECIPIENTS_MAX = 50  # of one row

Facts = dict[str, Any]


def row(message: PageMessage, at: float) -> Facts:
    return {
        "seq": message.seq,
        "id": message.id,
        "at": message.at,
        "from": message.sender,
        "from_role": message.role,
        "to": list(dict.fromkeys(delivery.inbox for delivery in message.deliveries))[:RECIPIENTS_MAX] or [message.to],
        "to_label": recipient_label(message.to),
        "kind": message.kind,
        "type": message.type,
        "gist": message.gist,
        "state": message.state_at(at),
        "codes": message.codes,
        "conversation": message.conversation,
        "reply_to": message.reply_to,
    }


def recipient_label(to: str) -> str:
    """`everyone`, `all of qa`, `one of qa` or a name."""
    if to == EVERYONE:
        return "everyone"
    for prefix, words in ((ALL_OF_ROLE, "all of"), (ONE_OF_ROLE, "one of")):
        if to.startswith(prefix):
            return f"{words} {to.removeprefix(prefix)}"
    return to


def delivery_row(delivery: PageDelivery, at: float) -> Facts:
    """One recipient of a message: when it was taken and done."""
    begun = [attempt for attempt in delivery.attempts if attempt.taken <= at]
    last = begun[-1] if begun else None
    return {
        "agent": last.agent if last else delivery.inbox,
        "inbox": delivery.inbox,
        "sent": delivery.sent,
        "taken": last.taken if last else None,
        "done": ended(min(last.done, delivery.ended), at) if last else ended(delivery.ended, at),
        "state": delivery.state_at(at),
        "attempt": len(begun),
    }


def ended(moment: float, at: float) -> float | None:
    """The moment, or None while it is not reached at `at`."""
    return moment if moment != NO_END and moment <= at else None
