"""Work state of approval requests: one topic for each request, by its id.

A request is open until it has one answer; there is never a second. An answer names the request's id, or, without one,
belongs to the only open request of its task.
"""

from collections.abc import Iterable, Mapping
from itertools import islice
from typing import Any, NamedTuple

from telex.delivery.routing import listed, normal_address
from telex.dialects.schema import ANY, Dialect, MessageType
from telex.model.finding import Finding
from telex.model.json_path import ROOT, path_of
from telex.model.limits import LIMITS
from telex.model.roster import HUMAN, ONE_OF_ROLE, Member
from telex.model.suggestion import LATEST_MAX, nearest
from telex.validation.authorization import has_no_words
from telex.work.escalations import topics_of_step
from telex.work.plan_lookup import named_paths
from telex.work.reducer import (
    APPROVED,
    CONDITIONAL,
    REJECTED,
    Book,
    Fold,
    RuleContext,
    Topics,
    WorkRules,
    decision_of,
    for_dispatches,
    topic_of_request,
)
from telex.work.view import WorkMessage, id_reused

InItsWords = tuple[Dialect, MessageType]  # the dialect of a request, and the type that answers it there
GATE_OVERRIDE = "gate_override"  # an approved one sets a gate aside, and is told as that for ever


class ApprovalRequest(NamedTuple):
    id: str
    by: str
    role: str  # of whoever asks
    to: str  # as addressed
    inboxes: tuple[str, ...]  # whom it was put to
    kind: str
    subject: str
    at: float
    deadline: float | None  # as the message says it
    dialect: str
    type: str
    task: str = ""
    correlation: str | None = None
    paths: tuple[str, ...] = ()  # that it names, to widen a contract


class ApprovalAnswer(NamedTuple):
    id: str
    by: str
    role: str
    at: float
    decision: str  # approved, rejected or conditional
    reason: str
    conditions: tuple[str, ...] = ()
    modifications: tuple[str, ...] = ()
    override: bool = False  # a gate was set aside


class Approval(NamedTuple):
    request: ApprovalRequest
    answer: ApprovalAnswer | None = None

    @property
    def waits(self) -> bool:
        return self.answer is None


topic_of = topic_of_request


def task_topic(work_message: WorkMessage) -> tuple[str, ...]:
    """Where the requests of the same task are known; a message may well be about no task."""
    task = work_message.text("task")
    return (f"task:{task}",) if task else ()


# --- which request is meant -------------------------------------------------------------------------------------------


def named(work_message: WorkMessage) -> str | None:
    """The request that an answer names."""
    return work_message.text("request") or work_message.reply_to or None


def meant(work_message: WorkMessage, book: Book) -> str | None:
    """The request that an answer means, as far as that can be told. It need not be there."""
    if (name := named(work_message)) is not None:
        return name
    return only_one(_waiting_in_task(work_message, book))


def _waiting_in_task(work_message: WorkMessage, book: Book) -> dict[str, Any]:
    """By id: the requests without an answer in the task which the message is about."""
    name = work_message.text("task")
    task = book.get(f"task:{name}") if name else None
    waiting: dict[str, Any] = task.waiting if task is not None else {}
    return waiting


def only_one(waiting: Mapping[str, Any]) -> str | None:
    """The request that an answer means which names none."""
    return next(iter(waiting)) if len(waiting) == 1 else None


# --- asking -----------------------------------------------------------------------------------------------------------


def _ask_topics(work_message: WorkMessage, book: Book) -> Topics:
    return (topic_of(work_message.id),)


def _weigh_ask(work_message: WorkMessage, book: Book, context: RuleContext) -> tuple[Finding, ...]:
    approval: Approval | None = book.get(topic_of(work_message.id))
    return () if approval is None else (id_reused(work_message, f"{approval.request.by} has asked for something"),)


def asked(work_message: WorkMessage) -> ApprovalRequest:
    return ApprovalRequest(
        work_message.id,
        work_message.sender,
        role=work_message.role,
        to=work_message.to,
        inboxes=work_message.inboxes,
        kind=work_message.text("kind"),
        subject=work_message.text("subject"),
        at=work_message.at,
        deadline=deadline_of(work_message),
        dialect=work_message.dialect.name,
        type=work_message.type.name,
        task=work_message.text("task"),
        correlation=work_message.correlation,
        paths=named_paths(work_message),
    )


def deadline_of(work_message: WorkMessage) -> float | None:
    return work_message.moment("deadline")


# --- answering --------------------------------------------------------------------------------------------------------


def _answer_belongs(work_message: WorkMessage, book: Book) -> Topics:
    name = meant(work_message, book)
    topic = topic_of(name) if name is not None else ""
    return (topic,) if topic in book else ()


def _weigh_answer(work_message: WorkMessage, book: Book, context: RuleContext) -> tuple[Finding, ...]:
    name = meant(work_message, book)
    approval: Approval | None = book.get(topic_of(name)) if name is not None else None
    if approval is None:
        # What was escalated may be answered in the same words; that is another chapter.
        if name is not None and not book.keys().isdisjoint(topics_of_step(name)):
            return ()
        return (_unknown(work_message, name, book),)
    request, answer = approval
    is_allowed = may_answer(work_message, request, answering(request, context.dialects))
    findings = () if is_allowed else (may_not(work_message, request),)
    return findings if answer is None else (*findings, _answered(work_message, request, answer))


def may_answer(work_message: WorkMessage, request: ApprovalRequest, in_its_words: InItsWords | None = None) -> bool:
    """Never who asks; a person always; else who was asked, or whose role the type is meant for. But nobody who could
    not say it in the dialect of the request, whichever it takes."""
    if work_message.sender == request.by:
        return False
    if HUMAN in (work_message.sender, work_message.role):
        return True
    if in_its_words is not None and has_no_words(work_message.role, *in_its_words):
        return False
    if work_message.role in _by_trade(work_message.type):
        return True
    return not {work_message.sender, work_message.role, ONE_OF_ROLE + work_message.role}.isdisjoint(whom_asked(request))


def _by_trade(type_: MessageType) -> tuple[str, ...]:
    """The roles whose part it is to answer. Whoever may send off work need not be asked about everything."""
    is_for_that = type_.action == "answer" and type_.senders != ANY
    return type_.senders if is_for_that else ()


def whom_asked(request: ApprovalRequest) -> tuple[str, ...]:
    return request.inboxes or (normal_address(request.to),)


def answerers(request: ApprovalRequest, in_its_words: InItsWords | None, members: Iterable[Member] = ()) -> list[str]:
    """Everyone who may answer, as they are told: by name, or by role. Who was asked and has no words for it is not."""
    if in_its_words is None:
        return [HUMAN]
    dialect, answer = in_its_words
    speechless = {role for role in dialect.roles if has_no_words(role, dialect, answer)}
    cannot = {member.name for member in members if member.role in speechless} | {
        ONE_OF_ROLE + role for role in speechless
    }
    asked_of = [one for one in whom_asked(request) if one not in cannot]
    by_role = [ONE_OF_ROLE + role for role in _by_trade(answer) if role not in asked_of]
    found = dict.fromkeys((*asked_of, *by_role, HUMAN))
    return [one for one in found if one != request.by]


def answering(request: ApprovalRequest, dialects: Mapping[str, Dialect]) -> InItsWords | None:
    """Its own dialect, and the type that answers it there. None: the team has that dialect no more."""
    dialect = dialects.get(request.dialect)
    asked_as = dialect.types.get(request.type) if dialect is not None else None
    answer = dialect.types.get(asked_as.reply or "") if dialect is not None and asked_as is not None else None
    return (dialect, answer) if dialect is not None and answer is not None else None


def _where(work_message: WorkMessage, name: str | None) -> str:
    """The field that says which request is meant."""
    wire = work_message.dialect.wire.reply_to
    if wire and name is not None:
        return path_of(*work_message.dialect.locate(work_message.type, wire))
    return work_message.path("task") if work_message.has("task") else ROOT


def _unknown(work_message: WorkMessage, name: str | None, book: Book) -> Finding:
    code = "approval-unknown"
    waiting = _waiting_in_task(work_message, book)
    expected = listed(waiting) if waiting else "a request that waits for an answer"
    if name is not None:
        close, found = nearest(name, islice(reversed(waiting), LATEST_MAX)), name[: LIMITS.found_characters_max]
        what = close or "a request that waits (telex approvals shows them)"
        say = f"Name {what}: there is no request {found}."
        return Finding(code, _where(work_message, name), say, expected=expected, found=found, nearest=close)
    task = work_message.text("task")[: LIMITS.found_characters_max]
    why = f"{len(waiting)} wait in {task}" if waiting else f"nothing waits for an answer in {task}"
    say = f"Say which request you answer: {why}."
    return Finding(code, _where(work_message, None), say, expected=expected, found=task)


def may_not(work_message: WorkMessage, request: ApprovalRequest) -> Finding:
    """The finding for an answer from an agent that may not give it."""
    asked_of = " or ".join(answerers(request, (work_message.dialect, work_message.type)))
    why = "who asks does not answer" if work_message.sender == request.by else f"you are {work_message.sender}"
    say, where = f"Leave the answer to {asked_of}: {why}.", _where(work_message, request.id)
    return Finding("may-not-answer", where, say, expected=asked_of, found=work_message.sender)


def _answered(work_message: WorkMessage, request: ApprovalRequest, answer: ApprovalAnswer) -> Finding:
    say = (
        f"Ask for it anew if it is to be decided again: {answer.by} has {_WORDS[answer.decision]} {request.id} already."
    )
    where = _where(work_message, request.id)
    return Finding("approval-answered", where, say, expected="a request that waits", found=answer.id)


_WORDS = {APPROVED: "approved", REJECTED: "rejected", CONDITIONAL: "approved, on conditions,"}


def answered(work_message: WorkMessage, kind: str) -> ApprovalAnswer:
    decision = decision_of(work_message)
    return ApprovalAnswer(
        work_message.id,
        work_message.sender,
        role=work_message.role,
        at=work_message.at,
        decision=decision,
        reason=work_message.text("reason") or "; ".join(work_message.texts("reasons")),
        conditions=work_message.texts("conditions"),
        modifications=work_message.texts("modifications"),
        override=kind == GATE_OVERRIDE and decision != REJECTED,
    )


def _fold(state: Approval | None, work_message: WorkMessage) -> Any:
    """The first request and the first answer stand, whatever comes after them."""
    if work_message.action == "ask":
        return Approval(asked(work_message)) if state is None else state
    if state is None or state.answer is not None:
        return state
    return Approval(state.request, answered(work_message, state.request.kind))


_ANSWER = WorkRules(_answer_belongs, _weigh_answer)
CHAPTERS: dict[str, WorkRules] = {
    "ask": WorkRules(_ask_topics, _weigh_ask),
    "answer": _ANSWER,
    "dispatch": for_dispatches(_ANSWER),
}
FOLDS: dict[str, Fold] = {"approval": _fold}
