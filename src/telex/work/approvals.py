"""What was asked, who may answer, and how was it answered? One topic for each request, by its id.

A request waits until it has one answer, and there is never a second. Which request an answer means is told by the id it
names, or, where it names none, by its task: the one request that is open there.
"""

from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any, NamedTuple

from telex.delivery.routing import listed, normal_address
from telex.dialects.schema import ANY, Dialect, MessageType
from telex.model.json_path import ROOT, path_of
from telex.model.limits import LIMITS
from telex.model.roster import HUMAN, ONE_OF_ROLE, Member
from telex.model.suggestion import LATEST_MAX, nearest
from telex.validation.authorization import has_no_words
from telex.work.approval_requests import NO_ASKS, RequestIndex, asks_of
from telex.work.decisions import (
    APPROVED,
    CONDITIONAL,
    REJECTED,
    decision_of,
    for_dispatches,
    topic_of_request,
)
from telex.work.escalations import topics_of_step
from telex.work.id_reuse import id_reused
from telex.work.rule_set import Book, FindingText, Fold, LazyFinding, RuleContext, Topics, WorkRules
from telex.work.view import WorkMessage

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


def task_topic(said: WorkMessage) -> tuple[str, ...]:
    """Where the requests of the same task are known; a message may well be about no task."""
    task = said.text("task")
    return (f"task:{task}",) if task else ()


# --- which request is meant -------------------------------------------------------------------------------------------


def named(said: WorkMessage) -> str | None:
    """The request that an answer names."""
    return said.text("request") or said.reply_to or None


def meant(said: WorkMessage, book: Book) -> str | None:
    """The request that an answer means, as far as that can be told. It need not be there."""
    if (name := named(said)) is not None:
        return name
    return asks_in_task(said, book).only_one_waiting


def asks_in_task(said: WorkMessage, book: Book) -> RequestIndex:
    """What was asked in the task which the message is about."""
    task = said.text("task")
    found = book.get(f"task:{task}") if task else None
    return asks_of(found.asks) if found is not None else NO_ASKS


# --- asking -----------------------------------------------------------------------------------------------------------


def _ask_wanted(said: WorkMessage, book: Book) -> Topics:
    return (topic_of(said.id),)


def _weigh_ask(said: WorkMessage, book: Book, ground: RuleContext) -> tuple[LazyFinding, ...]:
    known: Approval | None = book.get(topic_of(said.id))
    return () if known is None else (id_reused(said, f"{known.request.by} has asked for something"),)


def asked(said: WorkMessage) -> ApprovalRequest:
    return ApprovalRequest(
        said.id,
        said.sender,
        said.role,
        said.to,
        said.inboxes,
        said.text("kind"),
        said.text("subject"),
        said.at,
        deadline_of(said),
        said.dialect.name,
        said.type.name,
        said.text("task"),
        said.correlation,
    )


def deadline_of(said: WorkMessage) -> float | None:
    return said.moment("deadline")


# --- answering --------------------------------------------------------------------------------------------------------


def _answer_wanted(said: WorkMessage, book: Book) -> Topics:
    name = meant(said, book)
    return (*task_topic(said), *((topic_of(name), *topics_of_step(name)) if name is not None else ()))


def _answer_belongs(said: WorkMessage, book: Book) -> Topics:
    name = meant(said, book)
    topic = topic_of(name) if name is not None else ""
    return (topic,) if topic in book else ()


def _weigh_answer(said: WorkMessage, book: Book, ground: RuleContext) -> tuple[LazyFinding, ...]:
    name = meant(said, book)
    found: Approval | None = book.get(topic_of(name)) if name is not None else None
    if found is None:
        # What was escalated may be answered in the same words; that is another chapter.
        if name is not None and not book.keys().isdisjoint(topics_of_step(name)):
            return ()
        return (LazyFinding("approval-unknown", partial(_unknown, said, name, book)),)
    request, answer = found
    wrong = () if may_answer(said, request, answering(request, ground.dialects)) else (may_not(said, request),)
    return (
        wrong
        if answer is None
        else (*wrong, LazyFinding("approval-answered", partial(_answered, said, request, answer)))
    )


def may_answer(said: WorkMessage, request: ApprovalRequest, in_its_words: InItsWords | None = None) -> bool:
    """Never who asks; a person always; else who was asked, or whose role the type is meant for. But nobody who could
    not say it in the dialect of the request, whichever it takes."""
    if said.sender == request.by:
        return False
    if HUMAN in (said.sender, said.role):
        return True
    if in_its_words is not None and has_no_words(said.role, *in_its_words):
        return False
    if said.role in _by_trade(said.type):
        return True
    return not {said.sender, said.role, ONE_OF_ROLE + said.role}.isdisjoint(whom_asked(request))


def _by_trade(type_: MessageType) -> tuple[str, ...]:
    """The roles whose part it is to answer. Whoever may send off work need not be asked about everything."""
    is_for_that = type_.deed is not None and type_.deed.does == "answer" and type_.senders != ANY
    return type_.senders if is_for_that else ()


def whom_asked(request: ApprovalRequest) -> tuple[str, ...]:
    return request.inboxes or (normal_address(request.to),)


def answerers(request: ApprovalRequest, in_its_words: InItsWords | None, members: Iterable[Member] = ()) -> list[str]:
    """Everyone who may answer, as they are told: by name, or by role. Who was asked and has no words for it is not."""
    if in_its_words is None:
        return [HUMAN]
    dialect, answer = in_its_words
    speechless = {role for role in dialect.roles if has_no_words(role, dialect, answer)}
    cannot = {one.name for one in members if one.role in speechless} | {ONE_OF_ROLE + role for role in speechless}
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


def _where(said: WorkMessage, name: str | None) -> str:
    """The field that says which request is meant."""
    wire = said.dialect.wire.reply_to
    if wire and name is not None:
        return path_of(*said.dialect.locate(said.type, wire))
    return said.path("task") if said.has("task") else ROOT


def _unknown(said: WorkMessage, name: str | None, book: Book) -> FindingText:
    waiting = asks_in_task(said, book).waiting()
    expected = listed(waiting) if waiting else "a request that waits for an answer"
    if name is not None:
        close, found = nearest(name, waiting[-LATEST_MAX:]), name[: LIMITS.found_characters_max]
        what = close or "a request that waits (telex approvals shows them)"
        say = f"Name {what}: nobody has asked for anything under {found}."
        return FindingText(_where(said, name), say, expected, found, close)
    task = said.text("task")[: LIMITS.found_characters_max]
    why = f"{len(waiting)} wait in {task}" if waiting else f"nothing waits for an answer in {task}"
    return FindingText(_where(said, None), f"Say which request you answer: {why}.", expected, task)


def may_not(said: WorkMessage, request: ApprovalRequest) -> LazyFinding:
    """What is said to whoever answers and may not."""
    return LazyFinding("may-not-answer", partial(_left_to_others, said, request))


def _left_to_others(said: WorkMessage, request: ApprovalRequest) -> FindingText:
    asked_of = " or ".join(answerers(request, (said.dialect, said.type)))
    why = "who asks does not answer" if said.sender == request.by else f"you are {said.sender}"
    return FindingText(_where(said, request.id), f"Leave the answer to {asked_of}: {why}.", asked_of, said.sender)


def _answered(said: WorkMessage, request: ApprovalRequest, given: ApprovalAnswer) -> FindingText:
    say = f"Ask for it anew if it is to be decided again: {given.by} has {_WORDS[given.decision]} {request.id} already."
    return FindingText(_where(said, request.id), say, "a request that waits", given.id)


_WORDS = {APPROVED: "approved", REJECTED: "rejected", CONDITIONAL: "approved, on conditions,"}


def answered(said: WorkMessage, kind: str) -> ApprovalAnswer:
    decision = decision_of(said)
    return ApprovalAnswer(
        said.id,
        said.sender,
        said.role,
        said.at,
        decision,
        said.text("reason") or "; ".join(said.texts("reasons")),
        said.texts("conditions"),
        said.texts("modifications"),
        override=kind == GATE_OVERRIDE and decision != REJECTED,
    )


def _fold(state: Approval | None, said: WorkMessage) -> Any:
    """The first request and the first answer stand, whatever comes after them."""
    if said.does == "ask":
        return Approval(asked(said)) if state is None else state
    if state is None or state.answer is not None:
        return state
    return Approval(state.request, answered(said, state.request.kind))


_ANSWER = WorkRules(_answer_wanted, _answer_belongs, _weigh_answer)
CHAPTERS: dict[str, WorkRules] = {
    "ask": WorkRules(_ask_wanted, _ask_wanted, _weigh_ask),
    "answer": _ANSWER,
    "dispatch": for_dispatches(_ANSWER),
}
FOLDS: dict[str, Fold] = {"approval": _fold}
