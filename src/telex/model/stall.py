"""Report of `telex stall`: who waits for whom, and where the work is stuck."""

from typing import Literal, NamedTuple

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
