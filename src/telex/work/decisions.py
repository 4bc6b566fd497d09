"""Dispatches that answer an approval request: in signal-md they are the only form of an answer.

A dispatch that decides something and names a request counts as an answer, in any dialect. Only the agent that was
asked may give it, or a human.
"""

from collections.abc import Iterable

from telex.delivery.routing import normal_address
from telex.model.finding import Finding
from telex.model.roster import HUMAN, ONE_OF_ROLE
from telex.work.rule_set import Book, RuleContext, Topics, WorkRules, nothing
from telex.work.view import WorkMessage

APPROVED, REJECTED, CONDITIONAL = "approved", "rejected", "conditional"
_DECISIONS = {APPROVED: APPROVED, REJECTED: REJECTED, CONDITIONAL: CONDITIONAL, "lgtm": APPROVED}


def decision_of(work_message: WorkMessage) -> str:
    """One of three words, however the dialect says it. What says neither yes nor no is no."""
    yes = work_message.get("approved")
    if isinstance(yes, bool):
        return REJECTED if not yes else CONDITIONAL if work_message.texts("conditions") else APPROVED
    return _DECISIONS.get(work_message.text("decision").casefold(), REJECTED)


def topic_of_request(request_id: str) -> str:
    return f"approval:{request_id}"


def for_dispatches(answer: WorkRules) -> WorkRules:
    """What a chapter has to say to a dispatch that answers a request: the same as to any answer."""

    def belongs(work_message: WorkMessage, book: Book) -> Topics:
        return (
            answer.topics_changed(work_message, book)
            if _decides(work_message, book) and _was_asked(work_message, book)
            else ()
        )

    def weigh(work_message: WorkMessage, book: Book, context: RuleContext) -> Iterable[Finding]:
        return answer.check(work_message, book, context) if _decides(work_message, book) else ()

    return WorkRules(belongs, nothing if answer.check is nothing else weigh)


def _may_decide(work_message: WorkMessage) -> bool:
    return work_message.reply_to is not None and work_message.has("decision")


def _decides(work_message: WorkMessage, book: Book) -> bool:
    """Somebody else may have asked under the id of what it replies to; whoever asked is told the answer."""
    asked = book.get(topic_of_request(work_message.reply_to or "")) if _may_decide(work_message) else None
    if asked is None:
        return False
    heard_by = work_message.inboxes or (normal_address(work_message.to),)
    return not {asked.request.by, ONE_OF_ROLE + asked.request.role}.isdisjoint(heard_by)


def _was_asked(work_message: WorkMessage, book: Book) -> bool:
    """Before signals decided anything they were taken from everybody, and a record may have some."""
    request = book[topic_of_request(work_message.reply_to or "")].request
    asked = {HUMAN, *(request.inboxes or (normal_address(request.to),))}
    return work_message.sender != request.by and not asked.isdisjoint(
        {work_message.sender, work_message.role, ONE_OF_ROLE + work_message.role}
    )
