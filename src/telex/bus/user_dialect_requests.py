"""Answers to requests in a user's own dialect, which the work rules do not know; see work/user_dialect_requests."""

from typing import TYPE_CHECKING

from telex.model.finding import Finding
from telex.model.message import stored_inboxes
from telex.ports.store import events_of, find_messages
from telex.work.approvals import Approval, ApprovalRequest, topic_of
from telex.work.user_dialect_requests import ANSWERING, LEAVE, decides_nothing, left_over, stands_for, wanted_by
from telex.work.view import WorkMessage

if TYPE_CHECKING:
    from telex.bus.context import BusContext
    from telex.model.message import Message
    from telex.ports.store import Reads


def findings_left(
    context: "BusContext", reads: "Reads", work_message: WorkMessage, findings: tuple[Finding, ...]
) -> tuple[Finding, ...] | None:
    """The findings that stay for an answer to a request in a user's dialect; None: it answers no such request."""
    wanted = wanted_by(work_message, findings)
    if wanted is None or work_message.reply_to is None:
        return None
    asked = [
        message
        for message in find_messages(reads, work_message.reply_to)
        if is_user_dialect_request(context, message, wanted)
    ]
    return left_over(work_message, findings, [_request(reads, message) for message in asked])


def decides_no_approval(context: "BusContext", work_message: WorkMessage) -> tuple[Finding, ...]:
    """What is found in an answer of a user's dialect to a request for approval, which it cannot decide."""
    if work_message.reply_to is None or not context.policy.work or not stands_for(work_message.type, ANSWERING):
        return ()
    approval: Approval | None = context.team.topic(topic_of(work_message.reply_to))
    if approval is None:
        return ()
    return decides_nothing(work_message, approval, context.dialects)


def is_user_dialect_request(context: "BusContext", message: "Message", wanted: frozenset[str] = LEAVE) -> bool:
    """Does the type of the message stand for one of these intents in the file of its dialect?"""
    found = context.type_of(message)
    return found is not None and stands_for(found[1], wanted) and not message.refused


def _request(reads: "Reads", message: "Message") -> ApprovalRequest:
    """The message as a request: who asked whom."""
    return ApprovalRequest(
        id=message.id,
        by=message.sender,
        role=message.role,
        to=message.to,
        inboxes=stored_inboxes(events_of(reads, message.seq)[0], message),
        kind="",
        subject="",
        at=message.at,
        deadline=None,
        dialect=message.dialect or "",
        type=message.type or "",
    )
