"""A team that is asked to stop: who was asked, what has each one said, and how did it end?"""

from collections.abc import Mapping
from typing import NamedTuple

from telex.model.refusal import Finding
from telex.model.roster import Member

TOPIC = "shutdown"

# Where an agent stands. Those of WAITED may still answer, and nothing is dissolved while there are any of UNSETTLED.
STATES: dict[str, str] = {
    "approved": "has answered and shut down",
    "refused": "has answered that it cannot stop yet",
    "silent": "was asked and has not answered",
    "not asked": "may not be sent a shutdown_request in this team",
    "forced": "was stopped without its consent",
    "left": "has left the team since it was asked",
    "not seen": "was declared and has never come",
}
WAITED = frozenset({"silent"})
UNSETTLED = frozenset({"refused", "silent", "not asked"})


class Answer(NamedTuple):
    """What an agent has answered last."""

    id: str  # of the message
    at: float
    approved: bool
    status: str  # complete, idle or in_progress
    pending: str  # what is left to do, in its own words


class Call(NamedTuple):
    """One request to stop."""

    id: str
    by: str
    role: str  # of whoever asked
    reason: str
    team: str
    at: float
    asked: tuple[str, ...]  # the inboxes it was put into
    answers: Mapping[str, Answer]  # by agent; never changed, always made anew


class Shutdowns(NamedTuple):
    """Every call there was, oldest first: the state of the topic `shutdown`."""

    calls: tuple[Call, ...] = ()

    def call(self, id_: str) -> Call | None:
        """The last one of that id."""
        return next((call for call in reversed(self.calls) if call.id == id_), None)


NO_SHUTDOWNS = Shutdowns()


class Standing(NamedTuple):
    """Where one agent stands."""

    member: Member
    state: str  # one of STATES
    call: Call | None = None  # the one that it was asked by last
    answer: Answer | None = None


class HandedBack(NamedTuple):
    """A message that waited for somebody who has stopped. Its sender was told."""

    id: str
    type: str | None
    sender: str
    inbox: str


class ShutdownReport(NamedTuple):
    """How a shutdown stands or has ended. Everyone who is concerned is in it, and nobody twice."""

    by: str
    requests: tuple[str, ...]  # ids of the shutdown_requests it is about
    agents: tuple[Standing, ...]
    handed_back: tuple[HandedBack, ...] = ()
    dissolved: bool = False
    findings: tuple[Finding, ...] = ()  # why the team could not be asked; then nothing has happened
    until: float | None = None  # when it is waited for no longer

    def of(self, *states: str) -> tuple[Standing, ...]:
        return tuple(one for one in self.agents if one.state in states)
