"""What happened: the one record from which inboxes, receipts, logs, traces and the page are told.

Event kinds are listed here with what they mean; the docs and `telex why` take their words from this table.
"""

from typing import Any, NamedTuple


class Event(NamedTuple):
    seq: int
    at: float  # seconds since 1970, UTC
    kind: str  # one of KINDS
    agent: str | None = None  # who did it
    message: int | None = None  # the message's number
    delivery: int | None = None
    inbox: str | None = None
    detail: str | None = None  # JSON; what it holds depends on the kind


KINDS: dict[str, str] = {
    "accepted": "the message passed every check and is stored for its recipients",
    "refused": "the message was refused; its bytes and the findings are stored",
    "imported": "the message was imported from another log; it is history and is not delivered",
    "duplicate": "the same message was sent again within the deduplication window and was ignored",
    "leased": "a reader received the message and holds it until the lease expires",
    "translated": "the reader received the message in a dialect that it reads, or as markdown",
    "read": "the recipient looked at the message without leasing it",
    "extended": "the reader extended its lease",
    "acked": "the reader has finished with the message",
    "returned": "the reader disconnected before it had the message, or has shut down; the attempt does not count",
    "nacked": "the reader rejected the message with a reason; it is retried",
    "lease-expired": "the lease expired without an ack or nack; the message is retried",
    "dead": "the last attempt failed, or the stored bytes are damaged; the sender was notified",
    "reply-overdue": "no reply came by the deadline",
    "request-repeated": "the request was delivered to the inbox once more",
    "expired": "no reply came to any repetition of the request",
    "answered": "the reply to a request arrived",
    "retried": "a person retried a dead letter",
    "dropped": "a person dropped a dead letter",
    "withdrawn": "a waiting message was withdrawn, since its recipient has left",
    "conversation-idle": "no message was sent in this conversation for `conversation_seconds`",
    "returned-to-sender": "a waiting message was withdrawn, since its recipient has shut down; the sender was notified",
    "joined": "an agent joined the team",
    "left": "an agent left the team",
    "stopped": "an agent agreed to shut down: it sends and receives no more messages",
    "forced": "an agent that did not agree to shut down was stopped",
    "dissolved": "every agent that was asked to shut down has stopped; the team is dissolved",
}
COMING_AND_GOING = ("joined", "left", "stopped", "forced")  # the kinds after which a member's standing is another
BRINGING = ("accepted", "refused", "imported")  # the kinds that bring a message; their number is the message's

ELSEWHERE = ("imported", "refused")  # what may have come from another record, and tells nothing about the time here


def detail_of(event: Event) -> dict[str, Any]:
    """What the event says beyond its kind. A detail that is no object, as a foreign record may have, says nothing."""
    import json

    try:
        found = json.loads(event.detail) if event.detail else {}
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


CHANGES = ("lost", "invented", "narrowed")  # what a rendering may have done to a message


def rendered_as(detail: dict[str, Any]) -> str:
    """`build-flow STATUS_UPDATE, 2 lost, 1 invented`: what an event `translated` says, not yet safe to look at."""
    words = [str(word) for word in (detail.get("dialect"), detail.get("type")) if word]
    into = " ".join(words) if len(words) > 1 else "markdown"
    if detail.get("mistake"):
        into = f"{into}, since Telex failed to translate it ({detail['mistake']})"
    return ", ".join([into, *(f"{detail[name]} {name}" for name in CHANGES if detail.get(name))])
