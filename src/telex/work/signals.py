"""Work rules of the pipeline: changes of the topic `work:{id}` by signals and dispatches, and pending dispatches.

A work begins with a triage request whose id is also its correlation id. Only messages with that correlation id take
part: results, and the dispatches of the orchestrator. Pending dispatches follow from the state alone. Reviews, audits
and messages to a human are plain text, not types of the dialect, so the state does not record that they were sent: they
stay pending until their answer arrives, and the sender checks first whether they exist.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice, pairwise
from typing import Any

from telex.dialects import scalars
from telex.dialects.builtin.signal_md import (
    APPROVAL,
    ARCHITECTURE_REQUEST,
    AUDIT_VERDICT,
    ITERATIONS_MAX,
    PLAN_RESULT,
    RESEARCH_REQUEST,
    RESEARCH_RESULT,
    REVIEW_VERDICT,
    REVISION_REQUEST,
    SIGNAL_MD,
    TASK_ASSIGNMENT,
    TRIAGE_REQUEST,
    TRIAGE_RESULT,
    WORKER_SUBMISSION,
)
from telex.dialects.schema import TYPE, MessageType, Tree
from telex.dialects.write import write
from telex.model.finding import Finding
from telex.model.named_tuple import NamedTuple
from telex.model.roster import HUMAN, ONE_OF_ROLE
from telex.model.text import ROOT, shown
from telex.work.pipeline import (
    BEGINS,
    CHECKS,
    HELD,
    WORD,
    Kind,
    Part,
    PipelineStep,
    SignalResult,
    Work,
    answered,
    answers_what,
    approval_id,
    begun,
    dispatch_id,
    dispatched,
    is_work_id,
    place_called,
    was_sent,
    wave_of,
    word_id,
)
from telex.work.reducer import Fold, RuleContext, WorkRules, WorkState
from telex.work.view import WorkMessage, id_reused

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
    kind: str  # its type; `review`, `audit` or `a notice to human` for plain text
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
    """Input of the architect; unverified answers are marked in their heading."""
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


TOPIC_CHARACTERS_MAX = 60
HEADINGS_MAX = 2_000  # that are read of one text, which bounds the time of the search
_HEADING = re.compile(r"^(#{1,6})[ \t]+(.{0,300}).*$", re.MULTILINE)
_FENCE = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
_ITEM = re.compile(r"^(?:[-*+]|\d{1,3}[.)])[ \t]+", re.MULTILINE)
_REASON = re.compile(r"(?:why|decision|it gates|gates|this gates)\b", re.IGNORECASE)
_PLACE = re.compile(r"(?:where|look|sources?|see)\b", re.IGNORECASE)
_MARKS = " \t-*_+>"


class Excerpt(NamedTuple):
    title: str  # one line, without marks
    text: str  # without the title


class ResearchQuestion(NamedTuple):
    topic: str
    text: str
    why: str = ""
    where: str = ""


def question(triage: str, number: int) -> ResearchQuestion | None:
    """The question of that number, counted from 1, under the heading Research Questions."""
    section = next((excerpt.text for excerpt in _excerpts(triage) if "question" in excerpt.title.casefold()), "")
    items = _items(section)
    if number > len(items):
        return None
    first, *rest = items[number - 1].splitlines()
    kinds = {"text": [first], "why": [], "where": []}
    for line in rest:
        words = line.lstrip(_MARKS)
        kind = "why" if _REASON.match(words) else "where" if _PLACE.match(words) else "text"
        kinds[kind].append(line if kind == "text" else words)
    topic = first.strip(_MARKS + "?").split("?")[0]
    if len(topic) > TOPIC_CHARACTERS_MAX:
        topic = topic[:TOPIC_CHARACTERS_MAX].rpartition(" ")[0] or topic[:TOPIC_CHARACTERS_MAX]
    return ResearchQuestion(topic, **{kind: "\n".join(lines).strip() for kind, lines in kinds.items()})


def plan_step(plan: str, wave: int, number: int, count: int) -> Excerpt | None:
    """The step of a wave, by its heading or as an item of the wave's list. `count` numbers it across all waves."""
    excerpts = list(_excerpts(plan))
    exactly = rf"\bwave\W*{wave}\b.*\bstep\W*{number}\b|\bw{wave}\.s{number}\b|(?<![\d.]){wave}\.{number}(?![\d.])"
    found = _titled(exactly, excerpts)
    if found is not None:
        return found
    in_wave = _titled(rf"\bwave\W*{wave}\b", excerpts)
    if in_wave is None:
        return _titled(rf"\bstep\W*{count}\b", excerpts)
    inside = list(_excerpts(in_wave.text))
    items = [Excerpt(item.partition("\n")[0].strip(_MARKS), item.partition("\n")[2]) for item in _items(in_wave.text)]
    listed = inside or items
    named = _titled(rf"\bstep\W*{number}\b", inside) or _titled(rf"\bstep\W*{count}\b", inside)
    return named or (listed[number - 1] if number <= len(listed) else None)


def _titled(pattern: str, excerpts: list[Excerpt]) -> Excerpt | None:
    return next((excerpt for excerpt in excerpts if re.search(pattern, excerpt.title, re.IGNORECASE)), None)


def _excerpts(text: str) -> Iterator[Excerpt]:
    """Every heading with its text, deeper headings included."""
    bare = _FENCE.sub(lambda fence: " " * len(fence[0]), text)
    headings = list(islice(_HEADING.finditer(bare), HEADINGS_MAX))
    for index, heading in enumerate(headings):
        following = (other.start() for other in headings[index + 1 :] if len(other[1]) <= len(heading[1]))
        yield Excerpt(heading[2].strip(" \t#*_"), text[heading.end() : next(following, len(text))].strip())


def _items(text: str) -> list[str]:
    """Items of the first list, each with the lines that belong to it."""
    starts = [found.start() for found in _ITEM.finditer(text)]
    return [
        item
        for start, end in pairwise([*starts, len(text)])
        if (item := _ITEM.sub("", text[start:end], count=1).strip())
    ]


QUOTED_CHARACTERS_MAX = 20_000  # of one message
STEP_PARTS = {"Acceptance Criteria": "acceptance", "Files": "files"}  # and how a plan's own part begins
VERDICT_TYPES = {"review": REVIEW_VERDICT, "audit": AUDIT_VERDICT}


Opening = tuple[dict[str, str], list[str]]  # fields that only the cited messages can fill; the first paragraphs


def dispatch_text(work: Work, dispatch: Dispatch, quoted: Mapping[str, str], note: str = "", plan: str = "") -> str:
    """The message. `quoted`: bodies of the cited messages; `plan`: text of the plan's file; `note`: of a person."""
    if dispatch.kind == WORD:
        return _word(work, dispatch)
    if dispatch.type is None:
        return _check(work, dispatch)
    names = dispatch.type.field_map
    found, paragraphs = _opening(work, dispatch, quoted, plan)
    of = {**dispatch.of, **found}
    tree: Tree = {TYPE: dispatch.type.name, **{names[name]: of[name] for name in names if name in of}}
    return write(SIGNAL_MD, tree, _body(dispatch, quoted, [note.strip(), *paragraphs]))


def _body(dispatch: Dispatch, quoted: Mapping[str, str], paragraphs: list[str]) -> str:
    for heading, id_ in dispatch.cites:
        if id_:
            text = quoted.get(id_, "").strip() or f"It has no body: telex show {id_}"
            paragraphs.append(f"{heading}\n\n{_short(text, id_)}")
    return "\n\n".join(filter(None, paragraphs)) + "\n"


def _opening(work: Work, dispatch: Dispatch, quoted: Mapping[str, str], plan: str) -> Opening:
    place, answer = dispatch.place, f"Answer with reply-to {dispatch.id}."
    match dispatch.kind:
        case "triage_request":
            return {}, [f"Size up the request again. {answer}"] if place.round else []
        case "research_request":
            return _research(place, quoted.get(work.places["triage"].answer, ""), answer)
        case "architecture_request":
            none = "" if any(work.of_kind("research")) else "No research needed — proceed."
            return {}, [f"Make the plan and cut it into waves. {answer}", none]
        case "task_assignment":
            return {}, _assignment(work, dispatch, plan or quoted.get(work.places["plan"].answer, ""), answer)
        case "revision_request":
            return {}, [f"Fix what was found and hand it in again. {answer}"]
    return {}, ["Commit it, using conventional commit format."]


def _research(place: PipelineStep, triage: str, answer: str) -> Opening:
    number = int(place.name.partition(".")[2])
    asked = question(triage, number) or ResearchQuestion("", f"Answer question {number} of the triage below.")
    return {"topic": asked.topic} if asked.topic else {}, [
        asked.text,
        answer,
        f"## Why it matters\n\n{asked.why or 'It gates the plan: the architect waits for the answer.'}",
        f"## Where to look\n\n{asked.where or 'Start with what the triage below names.'}",
    ]


def _assignment(work: Work, dispatch: Dispatch, plan: str, answer: str) -> list[str]:
    wave, number = dispatch.of["wave"], dispatch.of["step"]
    source = work.plan_file or "the plan"
    spec = plan_step(plan, wave, number, sum(work.waves[: wave - 1]) + number)
    text = f"**{spec.title}**\n\n{spec.text}" if spec is not None else f"Do step {number} of wave {wave} of {source}."
    lines = [line.lstrip("#*_>-+ \t").casefold() for line in text.splitlines()]
    elsewhere = [name for name in STEP_PARTS if not any(line.startswith(STEP_PARTS[name]) for line in lines)]
    parts = [f"## {name}\n\nAs {source} has them for step {number} of wave {wave}." for name in elsewhere]
    return [_short(text, work.places["plan"].answer), answer, *parts]


def _short(text: str, id_: str) -> str:
    if len(text) <= QUOTED_CHARACTERS_MAX:
        return text
    return f"{text[:QUOTED_CHARACTERS_MAX]}…\n\n(The rest: telex show {id_})"


def _check(work: Work, dispatch: Dispatch) -> str:
    step, type_ = dispatch.place, VERDICT_TYPES[dispatch.kind].name
    doubt = [] if step.sure else ["Its maker says that it failed its own check."]
    again = f", revision {step.iteration}" if step.iteration else ""
    return "\n".join(
        [
            f"# {dispatch.kind.capitalize()} {step.name} of {work.id}{again}",
            "",
            f"Handed in by {shown(step.by)}: telex show {shown(step.answer)}",
            *doubt,
            "",
            f"Answer {shown(work.by)} with {type_}, sent with reply-to {dispatch.id}",
            "",
        ]
    )


def _word(work: Work, dispatch: Dispatch) -> str:
    step = dispatch.place
    what = {"blocked": "is blocked", "escalated": "needs your decision"}[step.state]
    return "\n".join(
        [
            f"# {work.id} {what} at {step.name}",
            "",
            f"{shown(step.why)}.",
            f"Read it: telex show {shown(step.held)}",
            f"Set it going again: telex work resume {work.id} {step.name}",
            "",
        ]
    )


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


def _check_signal(message: WorkMessage, topics: WorkState, context: RuleContext) -> tuple[Finding, ...]:
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
    do = f"Answer with reply-to {waited[0]}" if waited else "Leave it at that"
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
    say = f"Send it again with reply-to {waited[0]}, or whichever it answers: it changes nothing, since {why}."
    return (_no_effect(message, say, waited),)


def text_answers_nothing(work: Work, reply_to: str) -> tuple[Finding, ...]:
    """Warning on plain text in reply to a dispatch that waits for a typed result."""
    found = place_called(work, reply_to)
    if found is None or reply_to not in _waited_for(work, found[1]):
        return ()
    wanted = next(name for name, part in ANSWERS.items() if part == found[1])
    say = f"Send {wanted} with reply-to {reply_to}: this text is delivered and is no result, so {work.id} still waits."
    return (Finding("dispatch-not-answered", ROOT, say, "warning", expected=wanted),)


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
    "signal": WorkRules(_signal_topics, _check_signal),
    "dispatch": WorkRules(_dispatch_topics, _check_dispatch),
}
FOLDS: dict[str, Fold] = {"work": fold}
