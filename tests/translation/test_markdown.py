"""How does a message read as markdown, and how is it answered?"""

import json
from typing import Any

import pytest

from telex.dialects.parse.reader import read
from telex.dialects.registry import BUILT_IN, by_name
from telex.dialects.schema import Dialect, MessageType
from telex.dialects.write import is_blank, write
from telex.translation.envelope import MessageHeader
from telex.translation.markdown import ITEMS_MAX, TEXT_CHARACTERS_MAX, render
from telex.validation.check import CheckPolicy, check
from tests.markdown_reader import codes
from tests.proofs import proves

HEADER = MessageHeader("msg-1", 0.0, "ada", "dev", "lead", "lead", "T-1")
PLAIN_ANSWER = "telex send --as lead --to ada --reply-to msg-1 -"
ASKING = [
    pytest.param(dialect, type_, id=f"{dialect.name} {type_.name}")
    for dialect in BUILT_IN
    for type_ in dialect.types.values()
    if type_.reply
]


def spoken(dialect: str, type_: str) -> tuple[Dialect, MessageType]:
    found = by_name(dialect)
    assert found is not None
    return found, found.types[type_]


def page(dialect: str, type_: str, header: MessageHeader = HEADER, **changes: Any) -> str:
    """The type's example as markdown, with some of its own fields changed."""
    found, meant = spoken(dialect, type_)
    example = meant.example
    inside = {found.payload: example[found.payload] | changes} if found.payload else changes
    return render(example | inside, found, meant, header, meant.body_example or None)


@proves("rendering/title")
def test_a_message_reads_from_who_said_it_to_what_is_to_be_done() -> None:
    assert page("vbw-typed", "blocker_report").splitlines() == [
        "# blocker_report from ada (dev) to lead",
        "",
        "What keeps an agent from going on, and what would free it.",
        "",
        "- plan id: 1-2",
        "- task id: 1-2-T1",
        "- blocker: The session table is not there yet",
        "- needs: Plan 1-1 committed",
        "- attempted:",
        "  - Looked for the migration on main",
        "- severity: blocking",
        "- phase: 1",
        "- timestamp: 2026-02-12T10:00:00Z",
        "- confidence: medium",
        "- about: T-1",
        "- message id: msg-1",
        "",
        f"No particular answer is asked for; plain text reaches ada: `{PLAIN_ANSWER}`.",
    ]


@proves("rendering/title")
@pytest.mark.parametrize(
    "known, title",
    [
        ({"sender": "dev"}, "# dev_progress from dev to lead"),
        ({"recipient": "*", "recipient_role": None}, "# dev_progress from ada (dev) to everybody"),
        ({"recipient": None, "recipient_role": None}, "# dev_progress from ada (dev)"),
        ({"recipient": "kim", "recipient_role": "c#"}, "# dev_progress from ada (dev) to kim (c#)"),
        ({"recipient": "c #", "recipient_role": None}, "# dev_progress from ada (dev) to c \\#"),
    ],
)
def test_agents_are_named_with_their_roles(known: dict[str, Any], title: str) -> None:
    assert page("vbw-handoff", "dev_progress", HEADER._replace(**known)).splitlines()[0] == title


@proves("rendering/facts")
def test_what_has_parts_is_told_part_by_part() -> None:
    told = page("vbw-typed", "qa_verdict")
    assert "- checks: passed 18, failed 2, total 20\n" in told
    assert "- failures (1 of 1):\n  - check: Links\n  - expected: All resolve\n" in told
    assert "  - AC1: pass\n  - AC2: partial\n" in page("signal-md", "worker_submission")


@proves("rendering/facts")
def test_what_is_empty_false_or_unknown_to_the_dialect_is_told_too() -> None:
    told = page(
        "vbw-typed",
        "execution_update",
        commit="",
        concerns=[],
        evidence=None,
        riskOf={"rot": [{"a": True}]},
        task="of its own",
    )
    assert "- task: of its own\n" in told  # though the envelope has such a name too
    assert "- commit: none\n" in told
    assert "- concerns: none\n" in told
    assert "- evidence: none\n" in told
    assert "- risk of:\n  - rot (1 of 1):\n    - a: yes\n" in told


@proves("rendering/facts")
def test_what_the_bus_knows_is_told_once() -> None:
    answer = page("vbw-typed", "approval_response", HEADER._replace(reply_to="ask-1"))
    assert "- request id: ask-1\n" in answer
    assert "- answers:" not in answer
    assert "- answers: ask-1\n" in page("vbw-handoff", "dev_progress", HEADER._replace(reply_to="ask-1"))
    assert "about" not in page("vbw-handoff", "dev_progress", HEADER._replace(correlation="03-01/reset-link"))


@proves("rendering/long")
def test_a_text_of_several_lines_is_quoted_below_the_facts() -> None:
    told = page("signal-md", "worker_submission")
    assert "\n\nbody:\n> \\## Result\n> A reset link works once.\n>\n> \\## Self-Assessment\n" in told
    nested = page("vbw-typed", "scout_findings")
    assert "- documents (1 of 1):\n  - name: STACK.md\n  - content:\n    > \\## Stack\n    > Python" in nested
    listed = page("vbw-typed", "execution_update", concerns=["one\ntwo", "three"])
    assert "- concerns:\n  - > one\n    > two\n  - three\n" in listed


@proves("rendering/long")
@pytest.mark.parametrize("fence", ["```", "~~~"])
def test_code_keeps_its_indentation(fence: str) -> None:
    text = f"This fails:\n{fence}python\ndef a():\n    return b\n{fence}"
    told = page("vbw-typed", "blocker_report", blocker=text)
    marks = "````" if fence == "```" else "```"
    assert f"\nblocker:\n{marks}\n{text}\n{marks}\n" in told
    assert "\nblocker:\n```\nif a:\n    b()\n```\n" in page("vbw-typed", "blocker_report", blocker="if a:\n    b()")


@proves("rendering/bounded")
def test_what_is_too_long_is_cut_and_said_to_be() -> None:
    many = [f"src/{number}.py" for number in range(ITEMS_MAX + 5)]
    told = page("vbw-typed", "execution_update", files_modified=many, evidence="x" * (TEXT_CHARACTERS_MAX + 1234))
    assert f"  - src/{ITEMS_MAX - 1}.py\n  - … and 5 more\n" in told
    assert f"src/{ITEMS_MAX}.py" not in told
    assert f"> {'x' * TEXT_CHARACTERS_MAX}\n\n(1,234 more characters stand in the message itself)\n" in told
    failures = [{"check": "a", "expected": "", "actual": "", "evidence": ""}] * (ITEMS_MAX + 1)
    assert "\n- … and 1 more\n" in page("vbw-typed", "qa_verdict", failures=failures)


@proves("rendering/bounded")
def test_what_lies_deep_is_said_in_one_short_line() -> None:
    deep: Any = "x" * 1000
    for _ in range(40):
        deep = {"a": [deep]}
    told = page("build-flow", "TASK_ASSIGNMENT", context=deep)
    assert max(map(len, told.splitlines()[:-1])) < 400
    assert len(told) < 3000


# --- answers ---------------------------------------------------------------------------------------------------------


def filled(value: Any, given: Any) -> Any:
    """The draft with its blanks taken from a good message."""
    if is_blank(value):
        return given
    if isinstance(value, dict):
        return {key: filled(one, given.get(key) if isinstance(given, dict) else None) for key, one in value.items()}
    return given if isinstance(value, list) and "<fill: " in json.dumps(value) else value


@proves("rendering/answer")
@pytest.mark.parametrize("dialect, type_", ASKING)
def test_the_answer_that_is_asked_for_is_begun_and_passes_once_it_is_filled_in(
    dialect: Dialect, type_: MessageType
) -> None:
    answer = dialect.types[type_.reply or ""]
    role = answer.senders[0] if answer.senders[0] != "*" else "cto"
    about = type_.example.get(dialect.wire.correlation or "")
    header = HEADER._replace(recipient="kim", recipient_role=role, correlation=about)
    told = render(type_.example, dialect, type_, header)
    assert f"**It asks for a{'n' if answer.name[0] in 'ao' else ''} {answer.name}**" in told
    begun = read(told.split("\n```")[1].partition("\n")[2].encode(), (dialect,))
    simplest = {"research_needed": False} if answer.name == "triage_result" else {}  # which else needs one field more
    whole = filled(begun.tree, answer.example | simplest)
    passed = check(write(dialect, whole, begun.body), CheckPolicy(forced=dialect))
    left = [finding for finding in passed.findings if finding.path != "$.body"]  # the body is the sender's to write
    assert (passed.valid, left, passed.type) == (True, [], answer.name)
    inside = whole | whole.get(dialect.payload or "", {})
    wire = {dialect.wire.reply_to: {"msg-1"}, dialect.wire.sender: {role, "kim"}, dialect.wire.recipient: {"ada"}}
    assert all(inside[name] in known for name, known in wire.items() if name in inside)


@proves("rendering/answer")
def test_who_may_not_give_the_answer_is_not_put_under_it() -> None:
    told = page("vbw-typed", "shutdown_request", HEADER._replace(recipient="kim", recipient_role="auditor"))
    assert '"author_role": "<fill: one of dev, qa, scout, lead, debugger, docs>"' in told
    assert '"request_id": "msg-1"' in told


@proves("rendering/answer/command")
def test_an_approval_and_an_escalation_say_which_command_answers_them() -> None:
    assert codes(page("vbw-typed", "approval_request")) == [
        "telex approve msg-1 --as lead --reason WORDS",
        "telex reject msg-1 --as lead --reason WORDS",
    ]
    assert codes(page("vbw-company", "escalation")) == ["telex answer msg-1 --as lead TEXT"]
    handed_on = HEADER._replace(sender="telex", sender_role="telex")
    assert codes(page("build-flow", "ERROR_REPORT", handed_on)) == ["telex answer msg-1 --as lead TEXT"]


@proves("rendering/answer/words")
def test_plain_text_reaches_whoever_asked_for_nothing_in_particular() -> None:
    assert codes(page("signal-md", "approval")) == [PLAIN_ANSWER]
    unsafe = page("signal-md", "approval", HEADER._replace(id="$(rm -rf .)"))
    assert unsafe.endswith("No particular answer is asked for; plain text reaches ada.\n")
    assert "- message id: $(rm -rf .)\n" in unsafe
