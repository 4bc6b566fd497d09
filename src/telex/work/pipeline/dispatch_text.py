"""Text of a dispatch, as the page of signal-md describes it. The same dispatch always has the same text, so that a
repeated send is a duplicate.

Other messages are quoted only under front matter, which is parsed first and determines the type. In plain text a quoted
message could be taken for the message itself, so there it is only named.
"""

from collections.abc import Mapping

from telex.dialects.builtin.signal_md import AUDIT_VERDICT, REVIEW_VERDICT, SIGNAL_MD
from telex.dialects.schema import TYPE, Tree
from telex.dialects.write import write
from telex.model.text import shown
from telex.work.pipeline.excerpts import ResearchQuestion, plan_step, question
from telex.work.pipeline.machine import WORD
from telex.work.pipeline.pending_dispatches import Dispatch
from telex.work.pipeline.state import PipelineStep, Work

QUOTED_CHARACTERS_MAX = 20_000  # of one message; who needs more is told where it is
STEP_PARTS = {"Acceptance Criteria": "acceptance", "Files": "files"}  # and how a plan's own part begins
VERDICT_TYPES = {"review": REVIEW_VERDICT, "audit": AUDIT_VERDICT}


Opening = tuple[dict[str, str], list[str]]  # fields that only the cited messages can fill; the first paragraphs


def dispatch_text(work: Work, dispatch: Dispatch, quoted: Mapping[str, str], note: str = "", plan: str = "") -> str:
    """The message. `quoted` has the bodies of the messages it cites, `plan` the text of the plan's file; `note` is what
    a person adds."""
    if dispatch.kind == WORD:
        return _word(work, dispatch)
    if dispatch.type is None:
        return _check(work, dispatch)
    assert dispatch.type.deed is not None
    names = dispatch.type.deed.field_map
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
    place, answer = dispatch.place, f"Answer with --reply-to {dispatch.id}."
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
            f"Answer {shown(work.by)} with {type_}, sent with --reply-to {dispatch.id}",
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
