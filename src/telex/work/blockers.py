"""Who said that it cannot go on, and has it gone on since? A topic for each task that was ever held up.

The topic `blockers` has one message only, the first blocker there was: as long as it is empty, progress of any task
means nothing here, and nothing has to be read to know that.
"""

from typing import NamedTuple

from telex.work.rule_set import Book, Fold, Topics, WorkRules
from telex.work.view import WorkMessage

KIND, ANY = "blocker", "blockers"
HOLDS_UP = ("", "blocking")  # a blocker that is merely degrading or worth knowing holds nobody up


class Blocker(NamedTuple):
    """The state of a topic while its task is held up; None when it has gone on."""

    id: str
    task: str
    plan: str
    by: str
    to: str
    inboxes: tuple[str, ...]
    at: float
    what: str
    needs: str


def topic_of(work_message: WorkMessage) -> str:
    return topic_at(work_message.text("plan"), work_message.text("task"))


def topic_at(plan: str, task: str) -> str:
    """Of a task in a plan. A / in the plan's name is written out, or task `b/c` of `a` would be task `c` of `a/b`."""
    if "%" in plan or "/" in plan:
        plan = plan.replace("%", "%25").replace("/", "%2F")
    return f"{KIND}:{plan}/{task}"


def _belongs(work_message: WorkMessage, book: Book) -> Topics:
    """Progress means something only where that very task is held up."""
    if _holds_up(work_message):
        return (topic_of(work_message),) if ANY in book else (topic_of(work_message), ANY)
    goes_on = ANY in book and not _is_blocked(work_message) and book.get(topic := topic_of(work_message)) is not None
    return (topic,) if goes_on else ()


def _is_blocked(work_message: WorkMessage) -> bool:
    does = work_message.action
    return does == "blocker" or (does == "status" and work_message.text("status") == "BLOCKED")


def _holds_up(work_message: WorkMessage) -> bool:
    return _is_blocked(work_message) and work_message.text("severity") in HOLDS_UP


def _fold(state: Blocker | None, work_message: WorkMessage) -> Blocker | None:
    if not _is_blocked(work_message):
        return None
    return Blocker(
        work_message.id,
        work_message.text("task"),
        work_message.text("plan"),
        work_message.sender,
        work_message.to,
        work_message.inboxes or (work_message.to,),
        work_message.at,
        work_message.text("blocker") or "; ".join(work_message.texts("blockers")) or work_message.text("details"),
        work_message.text("needs"),
    )


def _since(state: float | None, work_message: WorkMessage) -> float:
    """When there was the first."""
    return work_message.at if state is None else state


_CHAPTER = WorkRules(_belongs)
CHAPTERS: dict[str, WorkRules] = {"blocker": _CHAPTER, "progress": _CHAPTER, "status": _CHAPTER}
FOLDS: dict[str, Fold] = {KIND: _fold, ANY: _since}
