"""Codes about approvals: who asked, who may answer, and that it is answered once. Shown by plays, like the bus's."""

from telex.dialects.builtin.build_flow import BUILD_FLOW
from telex.dialects.builtin.vbw_typed import VBW_TYPED
from telex.generate.codes_bus import BusExplanation
from telex.generate.codes_examples import sent

_DEV, _CTO = "fullstack-developer", "cto"


def file(name: str, text: str) -> str:
    """A file that is there from here on."""
    return f"$ cat {name}\n{text.rstrip()}"


def play(*lines: str) -> str:
    return "\n".join(lines)


_ASK = file("ask.json", sent(VBW_TYPED, "approval_request"))
_ASKED = (_ASK, "$ telex send --as dev --to lead ask.json")
_ANSWER = file("answer.json", sent(VBW_TYPED, "approval_response"))
_QUESTION = file("question.json", sent(BUILD_FLOW, "VALIDATION_REQUEST", {"from": _DEV, "to": _CTO}))

APPROVALS = (
    BusExplanation(
        "approval-unknown",
        "An answer to nothing",
        "The answer names a request that nobody has made, or names none while its task has no request that waits, or"
        " several. An answer is kept only where it is clear what it answers.",
        "Name the request by its id. `telex approvals` shows those that wait. In build-flow an answer without `replyTo`"
        " means the one request that waits in its task.",
        before=play(*_ASKED, _ANSWER.replace('"ask-1"', '"ask1"'), "$ telex send --as lead --to dev answer.json"),
        say="Name ask-1: nobody has asked for anything under ask1.",
        after=play(_ANSWER, "$ telex send --as lead --to dev answer.json"),
    ),
    BusExplanation(
        "approval-answered",
        "Answered before",
        "The request has its answer, and the first one stands: work may rest on it already.",
        "Leave it at that. If it has to be decided anew, have it asked anew, under another id.",
        before=play(
            *_ASKED,
            "$ telex reject ask-1 --reason 'Mail is another team'",
            _ANSWER,
            "$ telex send --as lead --to dev answer.json",
        ),
        say="Ask for it anew if it is to be decided again: human has rejected ask-1 already.",
        after=play(
            _ASK.replace('"ask-1"', '"ask-2"'),
            "$ telex send --as dev --to lead ask.json",
            _ANSWER.replace('"ask-1"', '"ask-2"'),
            "$ telex send --as lead --to dev answer.json",
        ),
    ),
    BusExplanation(
        "may-not-answer",
        "Answered by somebody who was not asked",
        "An approval counts because of who gives it. That is whoever was asked, by name or by role, a role for which"
        " the type is meant, or a person; never the one who asks.",
        "Leave it to one of those that are named. `telex approvals` shows for each request who may answer.",
        before=play(
            _QUESTION,
            f"$ telex send --as {_DEV} question.json",
            f"$ telex approve msg-1 --reason 'Looks right' --as {_DEV}",
        ),
        say="Leave the answer to cto or human: who asks does not answer.",
        after=play("$ telex approve msg-1 --reason 'Looks right' --as cto"),
    ),
    BusExplanation(
        "approval-not-decided",
        "Words where a decision is waited for",
        "A request for approval was replied to in plain text, or in a type of the team's own dialect. That is"
        " delivered, and the request waits on: whether words mean yes or no, and on which conditions, is not for the"
        " bus to guess.",
        "Send the answer that the request's type has, or let `telex approve` or `telex reject` write it. Where you only"
        " wanted to ask something back, all is well.",
        before=play(
            *_ASKED,
            file("words.md", "Go ahead."),
            "$ telex send --as lead --to dev --reply-to ask-1 words.md",
        ),
        say="Answer ask-1 with approval_response, as telex approve and telex reject write it: this is delivered, but no"
        " text decides a request for approval.",
        after=play("$ telex approve ask-1 --as lead --reason 'Go ahead'"),
        severity="warning",
    ),
)
