"""Pending dispatches of a work, computed from its state alone.

Reviews, audits and messages to a human are plain text, not types of the dialect, so the state does not record that
they were sent. They stay pending until their answer arrives, and the sender checks first whether they exist.
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
FIXES_ALL_UNTIL = 3  # after this iteration only critical findings are fixed


class Dispatch(NamedTuple):
    id: str
    kind: str  # its type; `review`, `audit` or `a notice to human` for what is plain text
    place: PipelineStep
    to: str
    or_to: str  # address to use if that agent has left
    type: MessageType | None = None
    of: Mapping[str, Any] = {}  # its content, by the action's field names
    cites: tuple[tuple[str, str], ...] = ()  # messages that it quotes: heading with its marks, id
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
        notes = tuple(("## A note that came with it", note) for note in step.notes)
        yield _typed(work, step, APPROVAL, {"signal": "lgtm"}, notes)._replace(id=approval_id(work.id, step))
    elif step.state == BEGINS[step.kind] and not step.asked:
        yield ask(work, step)


def ask(work: Work, place: PipelineStep) -> Dispatch:
    """The dispatch that starts a step, or that sends it back for revision."""
    if place.kind == "triage":
        return _typed(work, place, TRIAGE_REQUEST, {"signal": "execute"}, (("## The request", work.id),))
    if place.kind == "research":
        topic = f"{work.id}, question {place.name.partition('.')[2]}"
        cites = (("## The request", work.id), ("## The triage", work.places["triage"].answer))
        return _typed(work, place, RESEARCH_REQUEST, {"signal": "research", "topic": topic}, cites)
    if place.kind == "plan":
        return _typed(work, place, ARCHITECTURE_REQUEST, {"signal": "plan"}, (*_findings(work), *_stopped(place)))
    if place.iteration:
        verdicts = tuple((f"## From the {CHECKERS[verdict.part]}", verdict.message) for verdict in place.verdicts)
        severity = "all" if place.iteration <= FIXES_ALL_UNTIL else "critical"
        says = {"iteration": place.iteration, "iterations_max": ITERATIONS_MAX, "severity": severity}
        return _typed(work, place, REVISION_REQUEST, {"signal": "revise", **says}, verdicts)
    step = int(place.name.partition(".s")[2])
    says = {"plan_file": work.plan_file} if work.plan_file else {}
    says |= {"wave": wave_of(place.name), "step": step}
    context = ("## Context", work.places["plan"].answer)
    return _typed(work, place, TASK_ASSIGNMENT, {"signal": "execute", **says}, (context, *_stopped(place)))


def _stopped(place: PipelineStep) -> tuple[tuple[str, str], ...]:
    """The message for which the step begins anew, if it was handed over or is planned again."""
    return (("## Why it was stopped", place.held),) if place.held else ()


def _findings(work: Work) -> tuple[tuple[str, str], ...]:
    """Input of the architect; the heading of an unverified answer says so."""
    research = [
        (f"### Question {step.name.partition('.')[2]}" + ("" if step.sure else " (UNVERIFIED)"), step.answer)
        for step in work.of_kind("research")
    ]
    if research:
        research[0] = (f"## Research Context\n\n{research[0][0]}", research[0][1])
    return (("## The request", work.id), ("## The triage", work.places["triage"].answer), *research)


def _typed(
    work: Work, step: PipelineStep, type_: MessageType, of: Mapping[str, Any], cites: tuple[tuple[str, str], ...] = ()
) -> Dispatch:
    """To the agent that worked on it before, if any: the architect of the triage makes the plan, and a step stays with
    its worker."""
    before = work.places["triage"] if step.kind == "plan" and not step.by else step
    role = ONE_OF_ROLE + (before.role or type_.receivers[0])
    dispatch = Dispatch(dispatch_id(work.id, step), type_.name, step, before.by or role, role)
    return dispatch._replace(type=type_, of=of, cites=cites, reply_to=before.answer or None)
