"""What somebody could not settle alone, and where it has come to: raised once, climbing until it is answered."""

from typing import NamedTuple

NO_DEADLINE = 253_370_764_800.0  # the year 9999, which every calendar can still write: a person is waited for


def waits_for_ever(due_at: float) -> bool:
    return due_at >= NO_DEADLINE - 86_400.0  # it may have been worked out as so many seconds from now


class EscalationLevel(NamedTuple):
    """One step of it: a message to whoever could settle it."""

    id: str
    seq: int
    at: float
    level: str  # as its dialect writes it: `senior`, `CTO`
    to: str  # as addressed
    inboxes: tuple[str, ...]
    due_at: float | None = None  # it climbs then; None: it is with a person, or settled


class Escalation(NamedTuple):
    id: str  # of the first message
    by: str  # who raised it
    role: str
    at: float
    dialect: str
    type: str
    reason: str
    severity: str
    correlation: str | None
    cause: str | None  # the message it followed from, where the bus itself raised it
    rungs: tuple[EscalationLevel, ...]  # the first, and each climb
    answered_by: str | None = None
    answered_at: float | None = None

    @property
    def now(self) -> EscalationLevel:
        """Where it is."""
        return self.rungs[-1]

    @property
    def is_open(self) -> bool:
        return self.answered_at is None
