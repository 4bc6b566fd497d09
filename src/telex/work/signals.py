"""How do signals and dispatches move a work on? The chapter of `work:{id}`; the moves themselves are `work/pipeline`.

A work begins with a triage request whose id is also its conversation's. Only what belongs to that conversation has a
part in it: results, and the dispatches that the router would send.
"""

from collections.abc import Iterable
from functools import partial

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
from telex.validation import scalars
from telex.work.id_reuse import id_reused
from telex.work.pipeline.machine import SignalResult, answered, answers_what, begun, dispatched, was_sent
from telex.work.pipeline.pending_dispatches import ASKS
from telex.work.pipeline.state import Part, Work, dispatch_id, is_work_id
from telex.work.rule_set import Book, FindingText, Fold, LazyFinding, RuleContext, WorkRules
from telex.work.view import WorkMessage

ANSWERS: dict[str, Part] = {
    TRIAGE_RESULT.name: "triage",
    RESEARCH_RESULT.name: "research",
    PLAN_RESULT.name: "plan",
    WORKER_SUBMISSION.name: "step",
    REVIEW_VERDICT.name: "review",
    AUDIT_VERDICT.name: "audit",
}
_ASKS_FOR: dict[str, Part] = {REVISION_REQUEST.name: "step", **{type_.name: kind for kind, type_ in ASKS.items()}}


def topic_of(said: WorkMessage) -> str | None:
    return f"work:{said.correlation}" if said.correlation and is_work_id(said.correlation) else None


def _wanted(said: WorkMessage, book: Book) -> tuple[str, ...]:
    topic = topic_of(said)
    return (topic,) if topic is not None else ()


def _signal_belongs(said: WorkMessage, book: Book) -> tuple[str, ...]:
    """Odd ones too, since they are listed; but nothing is said of a work that nobody has begun."""
    topic = topic_of(said)
    return (topic,) if topic is not None and topic in book and said.type.name in ANSWERS else ()


def _dispatch_belongs(said: WorkMessage, book: Book) -> tuple[str, ...]:
    topic = topic_of(said)
    if topic is None:
        return ()
    work: Work | None = book.get(topic)
    return (topic,) if _after_dispatch(work, said) is not None else ()


def _weigh(said: WorkMessage, book: Book, ground: RuleContext) -> tuple[LazyFinding, ...]:
    """A signal is never refused for coming late. Its sender is told that it changes nothing, and what would."""
    work: Work | None = book.get(topic_of(said) or "")
    if work is None or said.type.name not in ANSWERS:
        return ()
    answer = answer_of(said)
    found = answers_what(work, said.reply_to, answer)
    if not isinstance(found, str):
        return ()
    return (LazyFinding("signal-out-of-turn", partial(_out_of_turn, said, work, answer.part, found), "warning"),)


def _out_of_turn(said: WorkMessage, work: Work, part: Part, why: str) -> FindingText:
    waited = _waited_for(work, part)
    do = f"Answer with --reply-to {waited[0]}" if waited else "Leave it at that"
    say = f"{do}: this signal changes nothing in {work.id}, since {why}."
    return FindingText(said.path("signal"), say, f"one of {', '.join(waited[:8])}" if waited else None, said.reply_to)


def _weigh_dispatch(said: WorkMessage, book: Book, ground: RuleContext) -> tuple[LazyFinding, ...]:
    """Two who lead a work at the same moment work out the same dispatch: it is sent by one of them."""
    work: Work | None = book.get(topic_of(said) or "")
    if work is None or not was_sent(work, said.id):
        return ()
    return (id_reused(said, f"this dispatch of {work.id} has been sent"),)


def answers_nothing(said: WorkMessage, works: Iterable[Work]) -> tuple[Finding, ...]:
    """A result that belongs to no work, while works wait for one like it: what its sender should know."""
    part = ANSWERS.get(said.type.name)
    waited = [name for work in works for name in _waited_for(work, part)] if part is not None else []
    if not waited:
        return ()
    why = "it does not say what it answers" if said.reply_to is None else "no dispatch has the id that it names"
    say = f"Send it again with --reply-to {waited[0]}, or whichever it answers: it changes nothing, since {why}."
    expected = f"one of {', '.join(waited[:8])}"
    return (Finding("signal-out-of-turn", said.path("signal"), say, "warning", expected, said.reply_to),)


def _waited_for(work: Work, part: Part) -> list[str]:
    """The dispatches that such a result could answer now."""
    checks = part in ("review", "audit")
    return [
        dispatch_id(work.id, place, part if checks else "")
        for place in work.places.values()
        if (place.kind == "step" if checks else place.kind == part)
        and not isinstance(answers_what(work, dispatch_id(work.id, place, part if checks else ""), _ANY[part]), str)
    ]


_ANY = {part: SignalResult(part, "blocked") for part in ANSWERS.values()}  # a signal that any place takes


def fold(work: Work | None, said: WorkMessage) -> Work | None:
    if said.does == "dispatch":
        return _after_dispatch(work, said) or work
    return answered(work, said.reply_to, answer_of(said)) if work is not None and said.type.name in ANSWERS else work


def _after_dispatch(work: Work | None, said: WorkMessage) -> Work | None:
    """None: it changes nothing."""
    if work is not None:
        return dispatched(work, said.id, _ASKS_FOR.get(said.type.name), said.at)
    begins = said.type.name == ASKS["triage"].name and said.id == said.correlation and is_work_id(said.id)
    return begun(said.id, said.sender, said.at) if begins else None


def answer_of(said: WorkMessage) -> SignalResult:
    """A result in the machine's words."""
    return SignalResult(
        ANSWERS[said.type.name],
        said.text("signal"),
        said.sender,
        said.role,
        said.id,
        said.at,
        questions=_count(said, "questions") if _truth(said, "research") else 0,
        sure=_truth(said, "verified") is not False and said.get("qa") != "fail",
        waves=_count(said, "waves"),
        steps=_count(said, "steps"),
        has_blockers=_truth(said, "has_blockers") is True,
        plan_file=said.text("plan_file"),
    )


def _count(said: WorkMessage, name: str) -> int:
    found = said.get(name)
    number = scalars.number(found, 0) if isinstance(found, str) else found  # front matter is kept as it was written
    return max(number, 0) if isinstance(number, int) and not isinstance(number, bool) else 0


def _truth(said: WorkMessage, name: str) -> bool | None:
    found = said.get(name)
    return scalars.TRUTH.get(found) if isinstance(found, str) else found if isinstance(found, bool) else None


CHAPTERS: dict[str, WorkRules] = {
    "signal": WorkRules(_wanted, _signal_belongs, _weigh),
    "dispatch": WorkRules(_wanted, _dispatch_belongs, _weigh_dispatch),
}
FOLDS: dict[str, Fold] = {"work": fold}
