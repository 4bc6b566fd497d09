"""What is to be dispatched now? Whatever a work stands at and has not been sent, worked out from its state alone.

Reviews, audits and words to a person are no types of the dialect, so the state does not know whether they were sent;
they are due for as long as their answer is waited for, and whoever sends them looks first whether they are there.
"""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from telex.dialects.builtin.signal_md import (
    APPROVAL,
    ARCHITECTURE_REQUEST,
    ITERATIONS_MAX,
    RESEARCH_REQUEST,
    REVISION_REQUEST,
    TASK_ASSIGNMENT,
    TRIAGE_REQUEST,
)
from telex.dialects.schema import MessageType
from telex.model.roster import HUMAN, ONE_OF_ROLE
from telex.work.pipeline.machine import WORD
from telex.work.pipeline.state import (
    BEGINS,
    CHECKS,
    HELD,
    Kind,
    PipelineStep,
    Work,
    approval_id,
    dispatch_id,
    wave_of,
    word_id,
)

ASKS: dict[Kind, MessageType] = {
    "triage": TRIAGE_REQUEST,
    "research": RESEARCH_REQUEST,
    "plan": ARCHITECTURE_REQUEST,
    "step": TASK_ASSIGNMENT,
}
CHECKERS = {"review": "reviewer", "audit": "auditor"}
FIXES_ALL_UNTIL = 3  # from the iteration after this one on only critical findings are fixed


class Dispatch(NamedTuple):
    id: str
    kind: str  # its type; `review`, `audit` or `a word to human` for what is plain text
    place: PipelineStep
    to: str
    or_to: str  # where it goes when that one has left
    type: MessageType | None = None
    of: Mapping[str, Any] = {}  # what it says, by the deed's names
    cites: tuple[tuple[str, str], ...] = ()  # what stands in it from other messages: heading, id of the message
    reply_to: str | None = None


def pending_dispatches(work: Work) -> tuple[Dispatch, ...]:
    return tuple(dispatch for step in work.places.values() for dispatch in _of_place(work, step))


def _of_place(work: Work, step: PipelineStep) -> Iterator[Dispatch]:
    if step.state in HELD:
        yield Dispatch(word_id(work.id, step, step.state), WORD, step, HUMAN, HUMAN, reply_to=step.held or None)
    elif step.state == "checking":
        for check in CHECKS:
            if all(verdict.part != check for verdict in step.verdicts):
                role, id_ = ONE_OF_ROLE + CHECKERS[check], dispatch_id(work.id, step, check)
                yield Dispatch(id_, check, step, role, role, reply_to=step.answer or None)
    elif step.state == "approved" and not step.told:
        notes = tuple(("A note that came with it", note) for note in step.notes)
        yield _typed(work, step, APPROVAL, approval_id(work.id, step), {"signal": "lgtm"}, notes)
    elif step.state == BEGINS[step.kind] and not step.asked:
        yield ask(work, step)


def ask(work: Work, place: PipelineStep) -> Dispatch:
    """The dispatch that a place begins with, or with which it is sent back."""
    id_ = dispatch_id(work.id, place)
    if place.kind == "triage":
        return _typed(work, place, TRIAGE_REQUEST, id_, {"signal": "execute"}, (("The request", work.id),))
    if place.kind == "research":
        topic = f"{work.id}, question {place.name.partition('.')[2]}"
        told = (("The triage", work.places["triage"].answer),)
        return _typed(work, place, RESEARCH_REQUEST, id_, {"signal": "research", "topic": topic}, told)
    if place.kind == "plan":
        return _typed(work, place, ARCHITECTURE_REQUEST, id_, {"signal": "plan"}, _findings(work))
    if place.iteration:
        verdicts = tuple(
            (f"From the {CHECKERS[review_verdict.part]}", review_verdict.message) for review_verdict in place.verdicts
        )
        severity = "all" if place.iteration <= FIXES_ALL_UNTIL else "critical"
        says = {"iteration": place.iteration, "iterations_max": ITERATIONS_MAX, "severity": severity}
        return _typed(work, place, REVISION_REQUEST, id_, {"signal": "revise", **says}, verdicts)
    step = int(place.name.partition(".s")[2])
    says = {"plan_file": work.plan_file} if work.plan_file else {}
    where = {"signal": "execute", **says, "wave": wave_of(place.name), "step": step}
    return _typed(work, place, TASK_ASSIGNMENT, id_, where)


def _findings(work: Work) -> tuple[tuple[str, str], ...]:
    """What the architect plans on. What nobody verified says so in its heading."""
    research = [
        (f"Research, question {step.name.partition('.')[2]}" + ("" if step.sure else " (UNVERIFIED)"), step.answer)
        for step in work.of_kind("research")
    ]
    return (("The request", work.id), ("The triage", work.places["triage"].answer), *research)


def _typed(
    work: Work,
    step: PipelineStep,
    type_: MessageType,
    id_: str,
    of: Mapping[str, Any],
    cites: tuple[tuple[str, str], ...] = (),
) -> Dispatch:
    """To whoever had it before, if anybody: the architect who sized it up plans it, and a step stays with its maker."""
    before = work.places["triage"] if step.kind == "plan" and not step.by else step
    role = ONE_OF_ROLE + (before.role or type_.receivers[0])
    reply_to = before.answer or None
    return Dispatch(id_, type_.name, step, before.by or role, role, type_, of, cites, reply_to)
