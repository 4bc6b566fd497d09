"""Who waits for whom, and where does it not go on? What `telex stall` shows."""

from typing import Literal, NamedTuple

Why = Literal["blocker", "dependency", "approval", "escalation", "answer", "unread", "shutdown"]
WHYS: dict[Why, str] = {
    "blocker": "said that it cannot go on, and has told no progress since",
    "dependency": "has a plan that may not begin before another is complete",
    "approval": "asked for an approval that nobody has given or refused",
    "escalation": "handed a matter up, and has no answer",
    "answer": "asked something, and has no answer",
    "unread": "wrote to somebody who has been silent since",
    "shutdown": "asked the team to shut down, and has no answer",
}
KnotKind = Literal["cycle", "nobody-may-answer", "silent", "everybody"]
KNOTS: dict[KnotKind, str] = {
    "cycle": "each of them waits for the next, and the last for the first",
    "nobody-may-answer": "an approval waits, and nobody who may give it is here",
    "silent": "an agent has been silent for long, with work in hand or waiting for it",
    "everybody": "more agents wait for this one than for any other, directly or through others",
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
