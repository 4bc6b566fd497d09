"""Text of a dispatch. The same dispatch always has the same text, so that a repeated send is a duplicate.

Other messages are quoted only under front matter, which is parsed first and determines the type. In plain text a quoted
message could be taken for the message itself, so there it is only named.
"""

from collections.abc import Mapping

from telex.dialects.builtin.signal_md import AUDIT_VERDICT, REVIEW_VERDICT, SIGNAL_MD
from telex.dialects.schema import TYPE, Tree
from telex.dialects.write import write
from telex.model.escape import shown
from telex.work.pipeline.machine import WORD
from telex.work.pipeline.pending_dispatches import Dispatch
from telex.work.pipeline.state import Work

QUOTED_CHARACTERS_MAX = 20_000  # of one message; who needs more is told where it is
VERDICT_TYPES = {"review": REVIEW_VERDICT, "audit": AUDIT_VERDICT}


def dispatch_text(work: Work, dispatch: Dispatch, quoted: Mapping[str, str], note: str = "") -> str:
    """The message. `quoted` has the bodies of the messages it cites; `note` is what a person adds."""
    if dispatch.kind == WORD:
        return _word(work, dispatch)
    if dispatch.type is None:
        return _check(work, dispatch)
    assert dispatch.type.deed is not None
    names = dispatch.type.deed.field_map
    tree: Tree = {TYPE: dispatch.type.name, **{names[name]: value for name, value in dispatch.of.items()}}
    return write(SIGNAL_MD, tree, _body(work, dispatch, quoted, note))


def _body(work: Work, dispatch: Dispatch, quoted: Mapping[str, str], note: str) -> str:
    paragraphs = [note.strip()] if note.strip() else []
    paragraphs += [_opening(work, dispatch)] if dispatch.place.kind != "triage" or dispatch.place.round else []
    for heading, id_ in dispatch.cites:
        if id_ and (text := quoted.get(id_, "").strip()):
            paragraphs += [f"## {heading}", _short(text, id_)]
    return "\n\n".join(paragraphs) + "\n"


def _opening(work: Work, dispatch: Dispatch) -> str:
    place, answer = dispatch.place, f"Answer with --reply-to {dispatch.id}."
    match dispatch.kind:
        case "triage_request":
            return f"Size up the request again. {answer}"
        case "research_request":
            return f"Answer question {place.name.partition('.')[2]} of the triage below. {answer}"
        case "architecture_request":
            return f"Make the plan and cut it into waves. {answer}"
        case "task_assignment":
            step = dispatch.of["step"]
            return f"Do step {step} of wave {dispatch.of['wave']}, as the plan has it. {answer}"
        case "revision_request":
            return f"Fix what was found and hand it in again. {answer}"
    return "Commit it."


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
