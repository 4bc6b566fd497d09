"""Shutdown of a team: the requests to stop, the answers of the agents, and the report."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from telex.model.finding import Finding
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
    "not seen": "was declared and never seen",
}
WAITED = frozenset({"silent"})
UNSETTLED = frozenset({"refused", "silent", "not asked"})


class ShutdownAnswer(NamedTuple):
    """What an agent has answered last."""

    id: str  # of the message
    at: float
    approved: bool
    status: str  # complete, idle or in_progress
    pending: str  # what is left to do, in its own words


class ShutdownRequest(NamedTuple):
    """One request to stop."""

    id: str
    by: str
    role: str  # of whoever asked
    reason: str
    team: str
    at: float
    asked: tuple[str, ...]  # the inboxes it was put into
    answers: Mapping[str, ShutdownAnswer]  # by agent


class ShutdownState(NamedTuple):
    """Every request to stop: the state of the topic `shutdown`."""

    calls: list[ShutdownRequest]  # oldest first
    places: dict[str, int]  # by id: where the last of that id stands in `calls`
    latest: dict[str, int]  # by inbox: where the last that was put into it stands

    def call(self, id_: str) -> ShutdownRequest | None:
        """The last one of that id."""
        place = self.places.get(id_)
        return self.calls[place] if place is not None else None

    def last_into(self, inboxes: Iterable[str], since: float) -> ShutdownRequest | None:
        """The last request that was put into any of these inboxes, if it was at that time or later."""
        place = max([self.latest.get(inbox, -1) for inbox in inboxes], default=-1)
        return self.calls[place] if place >= 0 and self.calls[place].at >= since else None


NO_SHUTDOWNS = ShutdownState([], {}, {})


class MemberShutdown(NamedTuple):
    """Where one agent stands."""

    member: Member
    state: str  # one of STATES
    call: ShutdownRequest | None = None  # the one that it was asked by last
    answer: ShutdownAnswer | None = None


class ReturnedMessage(NamedTuple):
    """A message that waited for somebody who has stopped. Its sender was told."""

    id: str
    type: str | None
    sender: str
    inbox: str


class ShutdownReport(NamedTuple):
    """How a shutdown stands or has ended. Everyone who is concerned is in it, and nobody twice."""

    by: str
    requests: tuple[str, ...]  # ids of the shutdown_requests it is about
    agents: tuple[MemberShutdown, ...]
    returned: tuple[ReturnedMessage, ...] = ()
    dissolved: bool = False
    findings: tuple[Finding, ...] = ()  # why the team could not be asked; then nothing has happened
    until: float | None = None  # when it is waited for no longer

    def of(self, *states: str) -> tuple[MemberShutdown, ...]:
        return tuple(member_shutdown for member_shutdown in self.agents if member_shutdown.state in states)
