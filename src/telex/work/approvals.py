"""Work state of approval requests: one topic for each request, by its id.

A request is open until it has one answer; there is never a second. An answer names the request's id, or, without one,
belongs to the only open request of its task.
"""

from collections.abc import Iterable, Mapping
from itertools import islice
from typing import Any

from telex.delivery.routing import listed, normal_address
from telex.dialects.schema import ANY, Dialect, MessageType
from telex.model.finding import Finding
from telex.model.limits import LIMITS
from telex.model.named_tuple import NamedTuple
from telex.model.roster import HUMAN, ONE_OF_ROLE, Member
from telex.model.text import LATEST_MAX, ROOT, nearest, path_of
from telex.validation.authorization import has_no_words
from telex.work.escalations import topics_of_step
from telex.work.plans import named_paths
from telex.work.reducer import (
    APPROVED,
    CONDITIONAL,
    REJECTED,
    Fold,
    RuleContext,
    Topics,
    WorkRules,
    WorkState,
    decision_of,
    for_dispatches,
    topic_of_request,
)
from telex.work.view import WorkMessage, id_reused

InItsWords = tuple[Dialect, MessageType]  # the dialect of a request, and the type that answers it there
GATE_OVERRIDE = "gate_override"  # an approved one is marked as an override


class ApprovalRequest(NamedTuple):
    id: str
    by: str
    role: str  # of the agent that asks
    to: str  # as addressed
    inboxes: tuple[str, ...]  # of its recipients
    kind: str
    subject: str
    at: float
    deadline: float | None
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
    override: bool = False  # of a gate


class Approval(NamedTuple):
    request: ApprovalRequest
    answer: ApprovalAnswer | None = None

    @property
    def waits(self) -> bool:
        return self.answer is None


topic_of = topic_of_request


def task_topic(message: WorkMessage) -> tuple[str, ...]:
    """Topic of its task; none if it has no task."""
    task = message.text("task")
    return (f"task:{task}",) if task else ()


# --- which request is meant -------------------------------------------------------------------------------------------


def named(message: WorkMessage) -> str | None:
    """The request that an answer names."""
    return message.text("request") or message.reply_to or None


def meant(message: WorkMessage, topics: WorkState) -> str | None:
    """Id of the request that an answer names, else of the only open one of its task. It may be unknown."""
    if (name := named(message)) is not None:
        return name
    return only_one(_waiting_in_task(message, topics))


def _waiting_in_task(message: WorkMessage, topics: WorkState) -> dict[str, Any]:
    """Open requests of its task, by id."""
    name = message.text("task")
    task = topics.get(f"task:{name}") if name else None
    waiting: dict[str, Any] = task.waiting if task is not None else {}
    return waiting


def only_one(waiting: Mapping[str, Any]) -> str | None:
    return next(iter(waiting)) if len(waiting) == 1 else None


# --- asking -----------------------------------------------------------------------------------------------------------


def _check_ask(message: WorkMessage, topics: WorkState, context: RuleContext) -> tuple[Finding, ...]:
    approval: Approval | None = topics.get(topic_of(message.id))
    return () if approval is None else (id_reused(message, f"{approval.request.by} has asked for something"),)


def asked(message: WorkMessage) -> ApprovalRequest:
    return ApprovalRequest(
        message.id,
        message.sender,
        role=message.role,
        to=message.to,
        inboxes=message.inboxes,
        kind=message.text("kind"),
        subject=message.text("subject"),
        at=message.at,
        deadline=message.moment("deadline"),
        dialect=message.dialect.name,
        type=message.type.name,
        task=message.text("task"),
        correlation=message.correlation,
        paths=named_paths(message),
    )


# --- answering --------------------------------------------------------------------------------------------------------


def _answer_topics(message: WorkMessage, topics: WorkState) -> Topics:
    name = meant(message, topics)
    topic = topic_of(name) if name is not None else ""
    return (topic,) if topic in topics else ()


def _check_answer(message: WorkMessage, topics: WorkState, context: RuleContext) -> tuple[Finding, ...]:
    name = meant(message, topics)
    approval: Approval | None = topics.get(topic_of(name)) if name is not None else None
    if approval is None:
        # An escalation may be answered with the same type.
        if name is not None and not topics.keys().isdisjoint(topics_of_step(name)):
            return ()
        return (_unknown(message, name, topics),)
    request, answer = approval
    is_allowed = may_answer(message, request, answering(request, context.dialects))
    findings = () if is_allowed else (may_not(message, request),)
    if answer is None:
        return findings
    decided = f"{answer.by} has {_WORDS[answer.decision]} {request.id} already"
    say, where = f"Ask for it anew if it is to be decided again: {decided}.", _where(message, request.id)
    return (*findings, Finding("approval-answered", where, say, expected="a request that waits", found=answer.id))


def may_answer(message: WorkMessage, request: ApprovalRequest, in_its_words: InItsWords | None = None) -> bool:
    """Never the agent that asks; always a person; else an agent that was asked or whose role may send the type, if the
    dialect of the request lets its role answer."""
    if message.sender == request.by:
        return False
    if HUMAN in (message.sender, message.role):
        return True
    if in_its_words is not None and has_no_words(message.role, *in_its_words):
        return False
    if message.role in _by_trade(message.type):
        return True
    return not {message.sender, message.role, ONE_OF_ROLE + message.role}.isdisjoint(whom_asked(request))


def _by_trade(type_: MessageType) -> tuple[str, ...]:
    """Roles that may answer without having been asked: the senders of an answer type, not those of a dispatch."""
    is_for_that = type_.action == "answer" and type_.senders != ANY
    return type_.senders if is_for_that else ()


def whom_asked(request: ApprovalRequest) -> tuple[str, ...]:
    return request.inboxes or (normal_address(request.to),)


def answerers(request: ApprovalRequest, in_its_words: InItsWords | None, members: Iterable[Member] = ()) -> list[str]:
    """Names and roles of all that may answer; an asked agent whose role may not send the answer is left out."""
    if in_its_words is None:
        return [HUMAN]
    dialect, answer = in_its_words
    speechless = {role for role in dialect.roles if has_no_words(role, dialect, answer)}
    cannot = {member.name for member in members if member.role in speechless} | {
        ONE_OF_ROLE + role for role in speechless
    }
    asked_of = [inbox for inbox in whom_asked(request) if inbox not in cannot]
    by_role = [ONE_OF_ROLE + role for role in _by_trade(answer) if role not in asked_of]
    return [name for name in dict.fromkeys((*asked_of, *by_role, HUMAN)) if name != request.by]


def answering(request: ApprovalRequest, dialects: Mapping[str, Dialect]) -> InItsWords | None:
    """Dialect of the request and the type that answers it there. None: there is no such type or dialect."""
    dialect = dialects.get(request.dialect)
    asked_as = dialect.types.get(request.type) if dialect is not None else None
    answer = dialect.types.get(asked_as.reply or "") if dialect is not None and asked_as is not None else None
    return (dialect, answer) if dialect is not None and answer is not None else None


def _where(message: WorkMessage, name: str | None) -> str:
    """Path of the field that names the request."""
    wire = message.dialect.wire.reply_to
    if wire and name is not None:
        return path_of(*message.dialect.locate(message.type, wire))
    return message.path("task") if message.has("task") else ROOT


def _unknown(message: WorkMessage, name: str | None, topics: WorkState) -> Finding:
    code = "approval-unknown"
    waiting = _waiting_in_task(message, topics)
    expected = listed(waiting) if waiting else "a request that waits for an answer"
    if name is not None:
        close, found = nearest(name, islice(reversed(waiting), LATEST_MAX)), name[: LIMITS.found_characters_max]
        what = close or "a request that waits (telex approvals shows them)"
        say = f"Name {what}: there is no request {found}."
        return Finding(code, _where(message, name), say, expected=expected, found=found, nearest=close)
    task = message.text("task")[: LIMITS.found_characters_max]
    why = f"{len(waiting)} wait in {task}" if waiting else f"nothing waits for an answer in {task}"
    say = f"Say which request you answer: {why}."
    return Finding(code, _where(message, None), say, expected=expected, found=task)


def may_not(message: WorkMessage, request: ApprovalRequest) -> Finding:
    asked_of = " or ".join(answerers(request, (message.dialect, message.type)))
    why = "who asks does not answer" if message.sender == request.by else f"you are {message.sender}"
    say, where = f"Leave the answer to {asked_of}: {why}.", _where(message, request.id)
    return Finding("may-not-answer", where, say, expected=asked_of, found=message.sender)


_WORDS = {APPROVED: "approved", REJECTED: "rejected", CONDITIONAL: "approved, on conditions,"}


def answered(message: WorkMessage, kind: str) -> ApprovalAnswer:
    decision = decision_of(message)
    return ApprovalAnswer(
        message.id,
        message.sender,
        role=message.role,
        at=message.at,
        decision=decision,
        reason=message.text("reason") or "; ".join(message.texts("reasons")),
        conditions=message.texts("conditions"),
        modifications=message.texts("modifications"),
        override=kind == GATE_OVERRIDE and decision != REJECTED,
    )


def _fold(state: Approval | None, message: WorkMessage) -> Any:
    """The first request and the first answer count."""
    if message.action == "ask":
        return Approval(asked(message)) if state is None else state
    if state is None or state.answer is not None:
        return state
    return Approval(state.request, answered(message, state.request.kind))


_ANSWER = WorkRules(_answer_topics, _check_answer)
RULES: dict[str, WorkRules] = {
    "ask": WorkRules(lambda message, _: (topic_of(message.id),), _check_ask),
    "answer": _ANSWER,
    "dispatch": for_dispatches(_ANSWER),
}
FOLDS: dict[str, Fold] = {"approval": _fold}
