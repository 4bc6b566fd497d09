"""Values of the demo's story: scenes and events, one line each."""

from typing import Literal, NamedTuple

from telex.model.finding import Finding, refusals
from telex.ports.bus import Receipt

Sign = Literal["stored", "refused", "asked", "warned", "climbed", "stopped", "looked"]
SIGNS: dict[Sign, str] = {
    "stored": "stored and delivered",
    "refused": "refused, with findings",
    "asked": "asked; waits for an answer",
    "warned": "stored, with a warning",
    "climbed": "escalated one step further",
    "stopped": "shut down",
    "looked": "read only; nothing was sent",
}


class Scene(NamedTuple):
    title: str
    says: str  # what it shows, in a sentence


class StoryEvent(NamedTuple):
    """Something happened."""

    at: float  # seconds of the story
    sign: Sign
    who: str
    whom: str | None  # None: nothing was sent
    what: str
    why: tuple[Finding, ...] = ()  # what the bus said to it
    id: str | None = None  # of the message


Happening = Scene | StoryEvent


def sign_of(receipt: Receipt, otherwise: Sign = "stored") -> Sign:
    if not receipt.accepted:
        return "refused"
    return "warned" if any(finding.severity == "warning" for finding in receipt.findings) else otherwise


def worth_telling(receipt: Receipt) -> tuple[Finding, ...]:
    """The refusals of what was refused; of what was stored, all that was said about the work."""
    return tuple(receipt.findings) if receipt.accepted else tuple(refusals(receipt.findings))
