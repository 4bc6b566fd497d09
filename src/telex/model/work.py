"""What somebody could not settle alone, and where it has come to: raised once, climbing until it is answered."""

from collections.abc import Iterable, Mapping
from typing import Literal, NamedTuple

from telex.model.finding import Finding
from telex.model.roster import Member

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
    """What would set it going again, ready to be used."""

    command: str  # a line for the shell
    message: str | None = None  # what that line sends, where it reads it from its input


class Wait(NamedTuple):
    who: str  # an agent, `role:qa` where any of several would do, or `plan:1-2`
    whom: str
    why: Why
    about: str  # the id of the message, or of the plan
    since: float
    words: str = ""  # what is waited for, as it was said
    id: str | None = None  # of the message that an answer would name
    remedy: Remedy | None = None  # what would end it, where that takes more than an answer


class Deadlock(NamedTuple):
    kind: KnotKind
    who: tuple[str, ...]
    waits: tuple[Wait, ...]
    say: str
    remedy: Remedy


class Stall(NamedTuple):
    at: float
    waits: tuple[Wait, ...] = ()
    knots: tuple[Deadlock, ...] = ()  # the gravest first
