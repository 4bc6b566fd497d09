"""Work rules of the pipeline: what signals and dispatches do to the topic `work:{id}`; `work/pipeline` has the moves.

A work begins with a triage request whose id is also its correlation id. Only messages with that correlation id take
part: results, and the dispatches of the orchestrator.
"""

from collections.abc import Iterable

from telex.dialects import scalars
from telex.dialects.builtin.signal_md import (
    AUDIT_VERDICT,
    PLAN_RESULT,
    RESEARCH_RESULT,
    REVIEW_VERDICT,
    REVISION_REQUEST,
    TRIAGE_RESULT,
    WORKER_SUBMISSION,
)
from telex.model.finding import Finding
from telex.work.dispatches import ASKS
from telex.work.pipeline import (
    Part,
    SignalResult,
    Work,
    answered,
    answers_what,
    begun,
    dispatch_id,
    dispatched,
    is_work_id,
    was_sent,
)
from telex.work.reducer import Fold, RuleContext, WorkRules, WorkState
from telex.work.view import WorkMessage, id_reused

ANSWERS: dict[str, Part] = {
    TRIAGE_RESULT.name: "triage",
    RESEARCH_RESULT.name: "research",
    PLAN_RESULT.name: "plan",
    WORKER_SUBMISSION.name: "step",
    REVIEW_VERDICT.name: "review",
    AUDIT_VERDICT.name: "audit",
}
_ASKS_FOR: dict[str, Part] = {REVISION_REQUEST.name: "step", **{type_.name: kind for kind, type_ in ASKS.items()}}


def topic_of(message: WorkMessage) -> str | None:
    id_ = message.correlation
    return f"work:{id_}" if id_ and is_work_id(id_) else None


def _signal_topics(message: WorkMessage, topics: WorkState) -> tuple[str, ...]:
    """Signals that change nothing belong too, since they are listed; those of an unknown work do not."""
    topic = topic_of(message)
    return (topic,) if topic is not None and topic in topics and message.type.name in ANSWERS else ()


def _dispatch_topics(message: WorkMessage, topics: WorkState) -> tuple[str, ...]:
    topic = topic_of(message)
    if topic is None:
        return ()
    work: Work | None = topics.get(topic)
    return (topic,) if _after_dispatch(work, message) is not None else ()


def _check(message: WorkMessage, topics: WorkState, context: RuleContext) -> tuple[Finding, ...]:
    """A late signal is never refused: its sender gets a warning that it changes nothing."""
    work: Work | None = topics.get(topic_of(message) or "")
    if work is None or message.type.name not in ANSWERS:
        return ()
    answer = answer_of(message)
    found = answers_what(work, message.reply_to, answer)
    if not isinstance(found, str):
        return ()
    return (_out_of_turn(message, work, answer.part, found),)


def _out_of_turn(message: WorkMessage, work: Work, part: Part, why: str) -> Finding:
    waited = _waited_for(work, part)
    do = f"Answer with --reply-to {waited[0]}" if waited else "Leave it at that"
    say = f"{do}: this signal changes nothing in {work.id}, since {why}."
    return _no_effect(message, say, waited)


def _no_effect(message: WorkMessage, say: str, waited: list[str]) -> Finding:
    expected = f"one of {', '.join(waited[:8])}" if waited else None
    finding = Finding("signal-out-of-turn", message.path("signal"), say, "warning")
    return finding._replace(expected=expected, found=message.reply_to)


def _check_dispatch(message: WorkMessage, topics: WorkState, context: RuleContext) -> tuple[Finding, ...]:
    """Two orchestrators of one work compute the same dispatch: only the first is accepted."""
    work: Work | None = topics.get(topic_of(message) or "")
    if work is None or not was_sent(work, message.id):
        return ()
    return (id_reused(message, f"this dispatch of {work.id} has been sent"),)


def answers_nothing(message: WorkMessage, works: Iterable[Work]) -> tuple[Finding, ...]:
    """Warning on a result that belongs to no work while some work waits for such a result."""
    part = ANSWERS.get(message.type.name)
    waited = [name for work in works for name in _waited_for(work, part)] if part is not None else []
    if not waited:
        return ()
    why = "it does not say what it answers" if message.reply_to is None else "no dispatch has the id that it names"
    say = f"Send it again with --reply-to {waited[0]}, or whichever it answers: it changes nothing, since {why}."
    return (_no_effect(message, say, waited),)


def _waited_for(work: Work, part: Part) -> list[str]:
    """Ids of the dispatches that such a result could answer now."""
    checks = part in ("review", "audit")
    return [
        dispatch_id(work.id, step, part if checks else "")
        for step in work.places.values()
        if (step.kind == "step" if checks else step.kind == part)
        and not isinstance(answers_what(work, dispatch_id(work.id, step, part if checks else ""), _ANY[part]), str)
    ]


_ANY = {part: SignalResult(part, "blocked") for part in ANSWERS.values()}  # a signal that every step accepts


def fold(work: Work | None, message: WorkMessage) -> Work | None:
    if message.action == "dispatch":
        return _after_dispatch(work, message) or work
    if work is None or message.type.name not in ANSWERS:
        return work
    return answered(work, message.reply_to, answer_of(message))


def _after_dispatch(work: Work | None, message: WorkMessage) -> Work | None:
    """None: it changes nothing."""
    if work is not None:
        return dispatched(work, message.id, _ASKS_FOR.get(message.type.name), message.at)
    begins = message.type.name == ASKS["triage"].name and message.id == message.correlation and is_work_id(message.id)
    return begun(message.id, message.sender, message.at) if begins else None


def answer_of(message: WorkMessage) -> SignalResult:
    """A result in the terms of the state machine."""
    return SignalResult(
        ANSWERS[message.type.name],
        message.text("signal"),
        by=message.sender,
        role=message.role,
        message=message.id,
        at=message.at,
        questions=_count(message, "questions") if _truth(message, "research") else 0,
        sure=_truth(message, "verified") is not False and message.get("qa") != "fail",
        waves=_count(message, "waves"),
        steps=_count(message, "steps"),
        has_blockers=_truth(message, "has_blockers") is True,
        plan_file=message.text("plan_file"),
        route=message.text("route"),
    )


def _count(message: WorkMessage, name: str) -> int:
    found = message.get(name)
    number = scalars.number(found, 0) if isinstance(found, str) else found  # front matter is stored as text
    return max(number, 0) if isinstance(number, int) and not isinstance(number, bool) else 0


def _truth(message: WorkMessage, name: str) -> bool | None:
    found = message.get(name)
    return scalars.TRUTH.get(found) if isinstance(found, str) else found if isinstance(found, bool) else None


RULES: dict[str, WorkRules] = {
    "signal": WorkRules(_signal_topics, _check),
    "dispatch": WorkRules(_dispatch_topics, _check_dispatch),
}
FOLDS: dict[str, Fold] = {"work": fold}
