"""Values of the work state: escalations, shutdowns, and the report of `telex stall`."""

from collections.abc import Iterable, Mapping
from typing import Literal

from telex.model.finding import Finding
from telex.model.named_tuple import NamedTuple
from telex.model.roster import Member

# --- escalations -----------------------------------------------------------------------------------------------------

NO_DEADLINE = 253_370_764_800.0  # the year 9999, which every calendar library supports


def waits_for_ever(due_at: float) -> bool:
    return due_at >= NO_DEADLINE - 86_400.0  # it may have been computed relative to now


class EscalationLevel(NamedTuple):
    """One step: a message to the agents of one level."""

    id: str
    seq: int
    at: float
    level: str  # as its dialect writes it: `senior`, `CTO`
    to: str  # as addressed
    inboxes: tuple[str, ...]
    due_at: float | None = None  # then it goes to the next level; None: a person has it, or it was answered


class Escalation(NamedTuple):
    id: str  # of the first message
    by: str  # its author
    role: str
    at: float
    dialect: str
    type: str
    reason: str
    severity: str
    correlation: str | None
    cause: str | None  # the message it follows from, if the bus is its author
    rungs: tuple[EscalationLevel, ...]  # one per level so far
    answered_by: str | None = None
    answered_at: float | None = None

    @property
    def now(self) -> EscalationLevel:
        return self.rungs[-1]

    @property
    def is_open(self) -> bool:
        return self.answered_at is None


# --- shutdowns -------------------------------------------------------------------------------------------------------

TOPIC = "shutdown"

# States of an agent. Those of WAITED may still answer; a team with any of UNSETTLED is not dissolved.
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
    """The last answer of an agent."""

    id: str  # of the message
    at: float
    approved: bool
    status: str  # complete, idle or in_progress
    pending: str  # open work, as free text


class ShutdownRequest(NamedTuple):
    """One request to stop."""

    id: str
    by: str
    role: str  # of the sender
    reason: str
    team: str
    at: float
    asked: tuple[str, ...]  # the recipients' inboxes
    answers: Mapping[str, ShutdownAnswer]  # by agent


class ShutdownState(NamedTuple):
    """All requests to stop: the state of the topic `shutdown`."""

    calls: list[ShutdownRequest]  # oldest first
    places: dict[str, int]  # by id: index in `calls` of the last request of that id
    latest: dict[str, int]  # by inbox: index of the last request to it

    def call(self, id_: str) -> ShutdownRequest | None:
        """The last request of that id."""
        place = self.places.get(id_)
        return self.calls[place] if place is not None else None

    def last_into(self, inboxes: Iterable[str], since: float) -> ShutdownRequest | None:
        """The last request to any of these inboxes, if it is not older than that."""
        place = max([self.latest.get(inbox, -1) for inbox in inboxes], default=-1)
        return self.calls[place] if place >= 0 and self.calls[place].at >= since else None


NO_SHUTDOWNS = ShutdownState([], {}, {})


class MemberShutdown(NamedTuple):
    """Progress of one agent."""

    member: Member
    state: str  # one of STATES
    call: ShutdownRequest | None = None  # the last request to it
    answer: ShutdownAnswer | None = None


class ReturnedMessage(NamedTuple):
    """A message that waited for an agent that has stopped. Its sender was notified."""

    id: str
    type: str | None
    sender: str
    inbox: str


class ShutdownReport(NamedTuple):
    """Progress or result of a shutdown, with every agent that it is about."""

    by: str
    requests: tuple[str, ...]  # ids of the shutdown_requests it is about
    agents: tuple[MemberShutdown, ...]
    returned: tuple[ReturnedMessage, ...] = ()
    dissolved: bool = False
    findings: tuple[Finding, ...] = ()  # why the request was refused; then nothing has changed
    until: float | None = None  # deadline of the answers

    def of(self, *states: str) -> tuple[MemberShutdown, ...]:
        return tuple(agent for agent in self.agents if agent.state in states)


# --- stalls ----------------------------------------------------------------------------------------------------------


Why = Literal["blocker", "dependency", "approval", "escalation", "answer", "shutdown"]
WHYS: dict[Why, str] = {
    "blocker": "reported a blocker, and no progress since",
    "dependency": "has a plan that depends on another plan",
    "approval": "asked for an approval that is neither given nor refused",
    "escalation": "escalated, and has no answer",
    "answer": "sent a request, and has no reply",
    "shutdown": "asked the team to shut down, and has no answer",
}
KnotKind = Literal["cycle", "no-approver", "unread", "silent", "bottleneck"]
KNOTS: dict[KnotKind, str] = {
    "cycle": "each of them waits for every other, directly or through others",
    "no-approver": "an approval is pending, and no present member may give it",
    "unread": "messages wait for an agent or a role that no agent has claimed",
    "silent": "an agent is silent, with leased or waiting messages",
    "bottleneck": "more agents wait for this one than for any other, directly or through others",
}


class Remedy(NamedTuple):
    """A command that would end a wait."""

    command: str  # for the shell
    message: str | None = None  # its standard input


class Wait(NamedTuple):
    who: str  # an agent, `role:qa` where any of several would do, or `plan:1-2`
    whom: str
    why: Why
    about: str  # the id of the message, or of the plan
    since: float
    words: str = ""  # description
    id: str | None = None  # of the message to answer
    remedy: Remedy | None = None  # if an answer is not enough


class Deadlock(NamedTuple):
    kind: KnotKind
    who: tuple[str, ...]
    waits: tuple[Wait, ...]
    say: str
    remedy: Remedy


class Stall(NamedTuple):
    at: float
    waits: tuple[Wait, ...] = ()
    knots: tuple[Deadlock, ...] = ()  # the most severe first
