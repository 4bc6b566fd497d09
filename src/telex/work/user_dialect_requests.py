"""Requests and answers in users' own dialects, which the work state does not contain.

The work rules know the requests of the built-in dialects. A type of a user's file grants nothing; but a reader may have
received it as a request in its own dialect, and must be able to answer. Such an answer is delivered and decides
nothing. The same agents may give it as for any other request.

Conversely, an answer in a user's dialect decides no request of the work state, though its recipient receives it as an
answer. So it is accepted only from agents that may answer, with a finding on what would decide the request.
"""

from collections.abc import Mapping, Sequence

from telex.dialects.schema import Dialect, MessageType
from telex.model.finding import Finding
from telex.model.text import ROOT
from telex.work.approvals import Approval, ApprovalRequest, answering, may_answer, may_not
from telex.work.view import WorkMessage

LEAVE = frozenset({"ask", "escalate"})  # what is answered by a yes or a no
_UNKNOWN = "approval-unknown"
# What the book says when it knows of no such request → the intents of what may have been asked instead.
NOT_IN_THE_BOOK: Mapping[str, frozenset[str]] = {_UNKNOWN: LEAVE, "shutdown-not-asked": frozenset({"stop"})}
ANSWERING = frozenset({"answer"})
ASKING = frozenset[str]().union(*NOT_IN_THE_BOOK.values())
Found = tuple[Finding, ...]


def stands_for(type_: MessageType, wanted: frozenset[str]) -> bool:
    """Is a message of this type one of these intents, as the file of its dialect says?"""
    return type_.meaning is not None and not wanted.isdisjoint(type_.meaning.intents)


def wanted_by(work_message: WorkMessage, found: Found) -> frozenset[str] | None:
    """The intents of which the request must be that was answered; None: it is refused for something else."""
    intents = {NOT_IN_THE_BOOK.get(one.code) for one in found if one.severity == "refusal"}
    return intents.pop() if len(intents) == 1 and work_message.reply_to is not None else None


def left_over(work_message: WorkMessage, found: Found, requests: Sequence[ApprovalRequest]) -> Found | None:
    """What is left to say of an answer to one of these, which were asked in own words; None: it answers none."""
    refused = [one for one in found if one.severity == "refusal"]
    rest = tuple(one for one in found if one.severity != "refusal")
    if any(may_answer(work_message, request) for request in requests):
        return rest
    return (*rest, may_not(work_message, requests[-1])) if requests and refused[0].code == _UNKNOWN else None


def decides_nothing(
    work_message: WorkMessage, approval: Approval, dialects: Mapping[str, Dialect]
) -> tuple[Finding, ...]:
    """What is said of an answer in own words to something that the book keeps, which is decided by a type of ours."""
    in_its_words = answering(approval.request, dialects)
    if not may_answer(work_message, approval.request, in_its_words):
        return (may_not(work_message, approval.request),)
    if not approval.waits or in_its_words is None:
        return ()
    return (undecided(approval.request.id, in_its_words[1].name, f"no {work_message.type.name}"),)


def undecided(request_id: str, decides: str, not_by: str) -> Finding:
    how = f"Answer {request_id} with {decides}, as telex approve and telex reject write it"
    say = f"{how}: this is delivered, but {not_by} decides a request for approval."
    return Finding("approval-not-decided", ROOT, say, "warning", decides)
