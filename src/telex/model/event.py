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
    "accepted": "a message passed every check and was stored for its recipients",
    "refused": "a message was refused; its bytes and the findings are stored",
    "imported": "a message came from another record; it is history and delivered to nobody",
    "duplicate": "the same message was sent again within the window and ignored",
    "leased": "a reader was offered the message and holds it until the lease runs out",
    "translated": "the reader was given the message in a dialect that it reads, or as markdown",
    "read": "its recipient looked at it without taking it",
    "extended": "the reader asked for more time",
    "acked": "the reader is done with it",
    "returned": "the reader was gone before it had the message, or has shut down; the turn does not count",
    "failed": "the reader gave it back with a reason",
    "lapsed": "the lease ran out with no word from the reader",
    "dead": "the last attempt failed; its sender was told",
    "overdue": "no answer has come by the deadline",
    "asked-again": "the request was put into the inbox once more",
    "expired": "no answer came, however often it was asked",
    "answered": "the answer to a request arrived",
    "retried": "a person gave a dead letter one more round of attempts",
    "dropped": "a person dropped a dead letter",
    "withdrawn": "a waiting message was taken back, since its recipient has left",
    "silent": "nothing was said in this conversation for so long that it is over",
    "handed-back": "a waiting message was taken back, since its recipient has shut down; its sender was told",
    "joined": "an agent joined the team",
    "left": "an agent left the team",
    "stopped": "an agent agreed to shut down: it sends nothing more and is handed nothing more",
    "forced": "an agent that did not agree to shut down was stopped all the same",
    "dissolved": "everyone who was asked to shut down has stopped, and the team is no more",
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
