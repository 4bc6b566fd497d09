"""Tables of the work rules: the modules for each action and each kind of topic."""

from typing import Any, NamedTuple

# The modules with the rules of an action. They are imported at its first message, since a cold start pays for each
# import and most teams use few of them.
CHAPTERS: dict[str, tuple[str, ...]] = {
    "contract": ("plans",),
    "close": ("plans",),
    "progress": ("plans", "blockers"),
    "blocker": ("blockers",),
    "review": ("plans",),
    "ask": ("approvals", "plans", "tasks"),
    "answer": ("approvals", "plans", "tasks"),
    "commit": ("tasks", "plans"),
    "assign": ("tasks",),
    "status": ("tasks", "blockers"),
    "quality": ("tasks",),
    "move": ("tasks",),
    "stop": ("shutdown",),
    "stopped": ("shutdown",),
    "escalate": ("escalations", "tasks"),
    "signal": ("signals", "plans"),
    "dispatch": ("signals", "approvals", "plans", "tasks"),
}
# The module with the fold of each kind of topic; the kind is the part of its name before the colon.
FOLDS: dict[str, str] = {
    "plan": "plans",
    "contracts": "plans",
    "approval": "approvals",
    "task": "tasks",
    "shutdown": "shutdown",
    "escalation": "escalations",
    "climb": "escalations",
    "escalations": "escalations",
    "blocker": "blockers",
    "blockers": "blockers",
    "work": "signals",
}
# Kinds of topics whose states may be long: their folds write into the lists and dicts of the state that they are given.
IN_PLACE = frozenset({"contracts", "plan", "task", "shutdown"})


class NoOpCondition(NamedTuple):
    """When a deed means nothing: a message that does it need not be read again to know that it may pass."""

    topics: tuple[str, ...]  # as long as nobody has ever said anything in these, and
    name: str = ""  # what stands under this name of the deed
    busy: frozenset[str] = frozenset()  # is none of these, in whatever case

    def fits(self, found: Any) -> bool:
        """Does what stands there mean nothing in itself?"""
        return not self.name or (isinstance(found, str) and found.casefold() not in self.busy)


IDLE: dict[str, NoOpCondition] = {
    "progress": NoOpCondition(("contracts", "blockers")),
    # Any word from whoever a matter is with may answer it, a status too.
    "status": NoOpCondition(
        ("blockers", "escalations"), "status", frozenset({"started", "blocked", "completed", "failed"})
    ),
    "quality": NoOpCondition((), "status", frozenset({"passed"})),
}
# Reports come along in many conversations and mean nothing by that: they answer no matter that was handed up there.
COMES_ALONG = frozenset({"progress", "quality"})
# By these a request for approval is decided: by what answers it, and by a dispatch that says yes or no to it.
DECIDING = frozenset({"answer", "dispatch"})
