"""Work state of blocked tasks: one topic per task that was ever blocked.

The topic `blockers` holds only the first blocker of the team: while it is empty, a progress message has no effect here
and no topic has to be read.
"""

from telex.model.named_tuple import NamedTuple
from telex.work.reducer import Fold, Topics, WorkRules, WorkState
from telex.work.view import WorkMessage

KIND, ANY = "blocker", "blockers"
HOLDS_UP = ("", "blocking")  # severities with which a blocker stops its task


class Blocker(NamedTuple):
    """State of a topic while its task is blocked; None once it has made progress."""

    id: str
    task: str
    plan: str
    by: str
    to: str
    inboxes: tuple[str, ...]
    at: float
    what: str
    needs: str


def topic_of(message: WorkMessage) -> str:
    return topic_at(message.text("plan"), message.text("task"))


def topic_at(plan: str, task: str) -> str:
    """Topic of a task in a plan. A / in the plan's name is escaped, so that task `b/c` of `a` is not `c` of `a/b`."""
    if "%" in plan or "/" in plan:
        plan = plan.replace("%", "%25").replace("/", "%2F")
    return f"{KIND}:{plan}/{task}"


def _topics(message: WorkMessage, topics: WorkState) -> Topics:
    """A progress message matters only while its own task is blocked."""
    if _is_blocked(message) and message.text("severity") in HOLDS_UP:
        return (topic_of(message),) if ANY in topics else (topic_of(message), ANY)
    goes_on = ANY in topics and not _is_blocked(message) and topics.get(topic := topic_of(message)) is not None
    return (topic,) if goes_on else ()


def _is_blocked(message: WorkMessage) -> bool:
    does = message.action
    return does == "blocker" or (does == "status" and message.text("status") == "BLOCKED")


def _fold(state: Blocker | None, message: WorkMessage) -> Blocker | None:
    if not _is_blocked(message):
        return None
    return Blocker(
        id=message.id,
        task=message.text("task"),
        plan=message.text("plan"),
        by=message.sender,
        to=message.to,
        inboxes=message.inboxes or (message.to,),
        at=message.at,
        what=message.text("blocker") or "; ".join(message.texts("blockers")) or message.text("details"),
        needs=message.text("needs"),
    )


def _since(state: float | None, message: WorkMessage) -> float:
    """Time of the first blocker."""
    return message.at if state is None else state


_RULES = WorkRules(_topics)
RULES: dict[str, WorkRules] = {"blocker": _RULES, "progress": _RULES, "status": _RULES}
FOLDS: dict[str, Fold] = {KIND: _fold, ANY: _since}
