"""What really arrives: wrapped, fenced, in prose, of any dialect or none. Is it read, and is every repair said?"""

import json
import re
from collections.abc import Callable
from html import escape

import pytest

from telex.dialects.parse.repair import CHARACTERS_MAX, read_relaxed
from telex.dialects.registry import BUILT_IN, by_name
from telex.dialects.write import write
from telex.model.finding import refusals
from telex.validation.check import CheckPolicy, CheckResult, check
from tests.dialects.damage import filled
from tests.proofs import proves
from tests.tables import BUILD_FLOW, SIGNAL_MD, TABLES, VBW_COMPANY, VBW_HANDOFF, VBW_TYPED
from tests.tables.notation import Table, message

SAMPLES = {table.name: table.wire(message(table, table.rows[0])) for table in TABLES}
JSON = json.dumps({"type": "dev_blocker", "task": "t", "plan_id": "p", "blocker": "b", "needs": "n"}, indent=1)
HEAD = "---\ntype: worker_submission\nsignal: rfr\nfiles_changed: [a.py]\nqa_check: pass\n---\n"
FRONT_MATTER = f"{HEAD}## Result\nDone.\n\n## Self-Assessment\nFine.\n"
SUBMISSION = {"type": "worker_submission", "signal": "rfr", "files_changed": ["a.py"], "qa_check": "pass"}
TREES = {JSON: json.loads(JSON), FRONT_MATTER: SUBMISSION}
TAG = '<teammate-message teammate_id="dev" color="blue">'


def notes(checked: CheckResult) -> list[str]:
    assert all(finding.severity == "note" for finding in checked.findings)
    return [finding.code for finding in checked.findings]


# --- the ladder ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "table",
    [
        pytest.param(VBW_TYPED, marks=proves("common/ladder/typed")),
        pytest.param(BUILD_FLOW, marks=proves("common/ladder/typed")),
        pytest.param(VBW_HANDOFF, marks=proves("common/ladder/flat")),
        pytest.param(VBW_COMPANY, marks=proves("common/ladder/flat")),
        pytest.param(SIGNAL_MD, marks=proves("common/ladder/front-matter")),
    ],
    ids=lambda table: table.name,
)
def test_each_form_is_read_as_its_dialect_without_being_told(table: Table) -> None:
    checked = check(SAMPLES[table.name])
    assert (checked.outcome, checked.dialect, checked.type) == ("message", table.dialect, table.rows[0].type)


@proves("common/detect/by-shape")
@pytest.mark.parametrize("table", [VBW_TYPED, VBW_HANDOFF, VBW_COMPANY], ids=lambda table: table.name)
def test_a_scout_speaks_three_dialects_under_one_name(table: Table) -> None:
    checked = check(table.wire(message(table, table.row("scout_findings"), bare=True)))
    assert (checked.dialect, checked.valid) == (table.dialect, True)


@proves("common/detect/forced")
@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.name)
def test_a_dialect_that_was_asked_for_is_the_only_one_read(table: Table) -> None:
    for name, raw in SAMPLES.items():
        checked = check(raw, table.policy)
        assert checked.dialect in (table.dialect, None)
        assert checked.valid is (name == table.name)


@proves("common/detect/forced", "common/ladder/plain")
@pytest.mark.parametrize("name", SAMPLES)
def test_any_message_can_be_taken_for_plain_text(name: str) -> None:
    checked = check(SAMPLES[name], CheckPolicy(forced=by_name("plain")))
    assert (checked.valid, checked.outcome, checked.text) == (True, "plain", SAMPLES[name].decode())


@proves("common/ladder/plain")
@pytest.mark.parametrize(
    "text", ["Hello", "| a | b |\n|---|---|", "---\n\nA rule above", "{not json}", "[x] done", "const a = {}"]
)
def test_text_of_no_dialect_is_kept_to_the_letter(text: str) -> None:
    checked = check(text.encode())
    assert (checked.valid, checked.outcome, checked.text) == (True, "plain", text)


@proves("common/ladder/plain")
@pytest.mark.parametrize("text", ["42", '"just a text"', "[1, 2]", "true", "null"])
def test_a_json_value_that_is_no_object_is_kept_as_plain_text_with_a_warning(text: str) -> None:
    checked = check(text.encode())
    assert (checked.valid, checked.outcome, checked.text) == (True, "plain", text)
    assert [(finding.code, finding.severity) for finding in checked.findings] == [("not-an-object", "warning")]


# --- what is put around a message -----------------------------------------------------------------------------------


@pytest.mark.parametrize("text", [JSON, FRONT_MATTER], ids=["json", "front matter"])
@pytest.mark.parametrize(
    "wrapped, codes", [
        pytest.param("{}", [], id="bare"),
        pytest.param("\n\n{}\n\n", [], id="blank lines"),
        pytest.param("```json\n{}\n```", ["fence-removed"], marks=proves("common/reading/fence"), id="fence"),
        pytest.param("~~~\n{}\n~~~\n", ["fence-removed"], marks=proves("common/reading/fence"), id="tildes"),
        pytest.param("Here it is:\n\n{}", ["prose-removed"], marks=proves("common/reading/prose"), id="prose before"),
        pytest.param("Here it is:\n\n```\n{}\n```\nAll right?", ["fence-removed", "prose-removed"],
            marks=proves("common/reading/fence", "common/reading/prose"), id="fence in prose"),
        pytest.param("\ufeff{}", ["byte-order-mark"], marks=proves("common/reading/bom"), id="byte order mark"),
        pytest.param(TAG + "{}</teammate-message>", ["wrapper-removed"], marks=proves("common/reading/wrapper"),
            id="tag"),
        pytest.param("<message>\n{}\n</message>\n", ["wrapper-removed"], marks=proves("common/reading/wrapper"),
            id="own tag"),
        pytest.param("\ufeff" + TAG + "Done.\n\n```json\n{}\n```\n</teammate-message>",
            ["byte-order-mark", "wrapper-removed", "fence-removed", "prose-removed"],
            marks=proves("common/reading/wrapper", "common/severity/note"), id="all of it"),
    ],
)  # fmt: skip
def test_wrapping_is_taken_off_and_said(wrapped: str, codes: list[str], text: str) -> None:
    checked = check(wrapped.replace("{}", text, 1).encode())
    assert (checked.valid, checked.tree) == (True, TREES[text])
    assert notes(checked) == codes


@proves("common/reading/prose")
def test_prose_after_a_json_message_is_left_aside() -> None:
    checked = check(f"{JSON}\n\nLet me know if that helps.".encode())
    assert (checked.valid, checked.tree, notes(checked)) == (True, TREES[JSON], ["prose-removed"])


@proves("common/reading/odd-blanks")
@pytest.mark.parametrize(
    "wrapped",
    ["\u00a0{}", "\x0b{}", "\u2028{}", "\u3000\n{}", "```\n\u00a0{}\n```", "<message>\n\u00a0{}\n</message>"],
)
@pytest.mark.parametrize("text", [JSON, FRONT_MATTER], ids=["json", "front matter"])
def test_white_space_that_only_looks_like_blanks_is_noted(wrapped: str, text: str) -> None:
    checked = check(wrapped.replace("{}", text, 1))
    assert (checked.valid, checked.tree) == (True, TREES[text])
    assert "odd-blanks" in notes(checked)


@proves("common/reading/odd-blanks")
def test_a_blank_before_front_matter_and_a_separator_for_a_line_end_are_noted() -> None:
    assert notes(check(f" {FRONT_MATTER}")) == ["odd-blanks"]
    assert notes(check(f"\n\n{FRONT_MATTER}")) == []
    assert notes(check(FRONT_MATTER.replace("\nqa_check", "\u2028qa_check"))) == ["odd-blanks"]
    assert notes(check(f"{JSON}\u2029")) == ["odd-blanks"]
    assert notes(check(f"{FRONT_MATTER}\u00a0")) == []  # of the body


@proves("common/reading/ended-early")
@pytest.mark.parametrize("rest", [', "attempted": ["x"]}', '\n  "attempted": ["x"]\n}', '], "attempted": []}'])
def test_an_object_that_ends_before_its_last_field_is_not_read_without_it(rest: str) -> None:
    checked = check(JSON + rest)
    assert (checked.valid, checked.fixed, [finding.code for finding in checked.findings]) == (
        False,
        None,
        ["stray-brace"],
    )
    assert "stray-brace" in {finding.code for finding in check(f"Here it is:\n\n{JSON}{rest}").findings}
    assert check(JSON + '\n\nThat is all: "done".').valid


PROSE = {
    "before": "If I agreed, I would send:\n\n{}",
    "around a fence": "I am still thinking. If I agreed:\n\n```json\n{}\n```\nBut wait for me.",
    "behind a tag": TAG + "\n{}\n</teammate-message>\nBut wait for me.",
    "in a tag": "<thinking>\nI would say:\n{}\n</thinking>",
}
ALONE = {
    "bare": "{}",
    "fence": "```\n{}\n```",
    "tag": "<message>\n{}\n</message>",
    "teammate": TAG + "{}</teammate-message>",
}
EVERY_TYPE = [(dialect, type_) for dialect in BUILT_IN for type_ in dialect.types.values()]


@proves("common/reading/decision-in-prose", "common/reading/prose")
@pytest.mark.parametrize("around", PROSE)
def test_a_decision_inside_other_text_is_refused_with_the_message_and_a_report_is_read(around: str) -> None:
    for dialect, type_ in EVERY_TYPE:
        text = write(dialect, type_.example, type_.body_example).strip()
        checked = check(PROSE[around].replace("{}", text))
        refused = [finding.code for finding in refusals(checked.findings)]
        assert refused == (["decision-in-prose"] if type_.decides else [])
        assert checked.fixed == type_.example
        lenient = check(PROSE[around].replace("{}", text), CheckPolicy(strict=False))
        assert (lenient.outcome, lenient.findings) == ("plain" if type_.decides else "message", checked.findings)


WRAPPED: dict[str, Callable[[str], str]] = {
    "fence": lambda text: f"```json\n{text}\n```",
    "string": json.dumps,
    "box": lambda text: json.dumps({"to": "dev", "content": text}),
}


@proves("common/reading/decision-in-prose", "common/reading/prose")
@pytest.mark.parametrize("wrapper", WRAPPED)
def test_text_or_another_message_behind_a_decision_inside_its_wrapper_is_refused(wrapper: str) -> None:
    dialect = next(one for one in BUILT_IN if one.name == "vbw-typed")
    text = write(dialect, dialect.types["approval_response"].example)
    wrap = WRAPPED[wrapper]
    assert check(wrap(text)).valid
    for rest, code in (("That would be a yes.", "decision-in-prose"), (text, "several-messages")):
        assert [one.code for one in refusals(check(wrap(f"{text}\n{rest}")).findings)] == [code]


@proves("common/reading/decision-in-prose")
@pytest.mark.parametrize("around", ALONE)
def test_a_decision_that_is_the_whole_text_counts(around: str) -> None:
    for dialect, type_ in EVERY_TYPE:
        text = write(dialect, type_.example, type_.body_example).strip()
        assert check(ALONE[around].replace("{}", text)).valid


@proves("common/reading/decision-in-prose")
def test_what_decides_is_told_by_the_tables_and_not_by_a_list_of_types() -> None:
    reports = {type_.name for _, type_ in EVERY_TYPE if not type_.decides}
    assert reports == {
        *("scout_findings", "execution_update", "blocker_report", "approval_request", "STATUS_UPDATE", "escalation"),
        *("VALIDATION_REQUEST", "ERROR_REPORT", "ESCALATION_REQUEST", "DOC_QUERY", "DOC_RESPONSE", "MESSAGE_ERROR"),
        *("CODEBASE_REVIEW_REPORT", "dev_progress", "dev_blocker", "debugger_report", "architecture_design"),
        *("senior_spec", "tests_ready", "worker_submission", "triage_result", "plan_result", "research_result"),
    }


@proves("common/reading/crlf")
@pytest.mark.parametrize("text", [JSON, FRONT_MATTER], ids=["json", "front matter"])
def test_crlf_is_read_like_any_other_line_end(text: str) -> None:
    checked = check(text.replace("\n", "\r\n").encode())
    assert (checked.tree, checked.body, notes(checked)) == (
        TREES[text],
        check(text.encode()).body,
        ["carriage-returns"],
    )


@proves("common/reading/prose", "common/ladder/plain")
@pytest.mark.parametrize(
    "text",
    [
        'Our config is {"type": "object"} and nothing else.',
        '```json\n{\n  "compilerOptions": {"strict": true}\n}\n```\nis what I use.',
        "I ran it:\n\n---\nIt failed.\n---\n",
    ],
)
def test_json_and_rules_in_prose_are_no_message_when_they_name_no_type(text: str) -> None:
    assert (check(text.encode()).outcome, check(text.encode()).findings) == ("plain", ())


# --- control frames ---------------------------------------------------------------------------------------------------

FRAMES: dict[str, dict] = {
    "shutdown_request": {"request_id": "shutdown-1@dev", "from": "team-lead", "reason": "all done"},
    "shutdown_response": {"request_id": "shutdown-1@dev", "approve": True},
    "plan_approval_request": {"request_id": "plan-1@dev", "from": "dev", "plan_content": "1. …"},
    "plan_approval_response": {"request_id": "plan-1@dev", "approve": False, "feedback": "smaller"},
    "idle_notification": {"from": "dev", "timestamp": "2026-02-12T10:00:00.000Z", "idleReason": "available"},
}


@pytest.mark.parametrize("name", [pytest.param(name, marks=proves(f"common/control-frames/{name}")) for name in FRAMES])
def test_a_coding_tools_own_frame_passes_untouched(name: str) -> None:
    text = json.dumps({"type": name, **FRAMES[name]})
    for wrapped in (text, f"{TAG}\n{text}\n</teammate-message>"):
        checked = check(wrapped.encode())
        assert (checked.valid, checked.outcome, checked.dialect) == (True, "control", None)
        assert (checked.text, checked.fixed, checked.skeleton) == (text, None, None)
        assert notes(checked)[-1] == "control-frame"


@proves("common/control-frames/shutdown_request", "common/control-frames/shutdown_response")
@pytest.mark.parametrize("type_", ["shutdown_request", "shutdown_response"])
def test_a_message_of_that_name_with_an_envelope_is_ours(type_: str) -> None:
    checked = check(VBW_TYPED.wire(message(VBW_TYPED, VBW_TYPED.row(type_))))
    assert (checked.outcome, checked.dialect, checked.valid) == ("message", VBW_TYPED.dialect, True)


# --- a message that can be seen but not read --------------------------------------------------------------------------

BLOCKER = json.loads(JSON)
MALFORMED = {
    "comment //": JSON.replace("{", "{ // mine", 1), "comment /* */": JSON.replace("{", "{ /* mine */", 1),
    "comment #": JSON.replace("{", "{ # mine", 1), "single quotes": JSON.replace('"', "'"),
    "smart quotes": re.sub(r'"(\w+)"', "“\\1”", JSON), "missing first brace": JSON[1:],
    "doubled braces": f"{{{JSON}}}", "escaped quotes": json.dumps(JSON)[1:-1],
    "tag on one line": f"<message>{json.dumps(BLOCKER)}</message>",
    "backticks on one line": f"`{json.dumps(BLOCKER)}`", "const m = …;": f"const m = {JSON};",
    "HTML entities": escape(JSON), "quoted": "\n".join(f"> {line}" for line in JSON.splitlines()),
    "YAML": "type: dev_blocker\ntask: t\nplan_id: p\nblocker: b\nneeds: n\n",
    "in a sentence": f"I sent {json.dumps(BLOCKER)} to you.", "array of one": f"[{JSON}]",
    "line breaks as \\n": JSON.replace("\n", "\\n"), "under any key": f'{{"envelope": {JSON}}}',
    "tool call": json.dumps({"name": "send", "arguments": JSON}),
}  # fmt: skip


@proves("common/reading/typed-or-plain")
@pytest.mark.parametrize("how", MALFORMED)
def test_a_message_that_can_be_seen_but_not_read_is_refused_with_the_message_it_would_be(how: str) -> None:
    strict, lenient = (check(MALFORMED[how], CheckPolicy(strict=strict)) for strict in (True, False))
    assert (strict.valid, strict.outcome, strict.fixed) == (False, "unreadable", BLOCKER)
    assert (lenient.valid, lenient.outcome, lenient.type) == (True, "plain", None)
    assert refusals(lenient.findings)
    assert lenient.findings == strict.findings


APPROVAL = "---\ntype: approval\nsignal: lgtm\n---\nGo.\n"


@proves("common/reading/typed-or-plain")
@pytest.mark.parametrize(
    "text, body",
    [
        ("---\nmessage:\n  type: approval\n  signal: lgtm\n---\nGo.\n", "Go.\n"),
        ("type: approval\nsignal: lgtm\n", ""),
        ("type: approval\nsignal: lgtm\n---\nGo.\n", "Go.\n"),
        ("---\ntype: approval\nsignal: lgtm\n\nGo.\n", "Go.\n"),
        ('{"type": "approval", "signal": "lgtm", "body": "Go."}', "Go."),
        ("> ---\n> type: approval\n> signal: lgtm\n> ---\n> Go.", "Go."),
    ],
)
def test_front_matter_that_can_be_seen_but_not_read_is_refused_with_the_message(text: str, body: str) -> None:
    checked = check(text)
    assert (checked.valid, checked.fixed, checked.body) == (False, {"type": "approval", "signal": "lgtm"}, body)
    assert (check(text, CheckPolicy(strict=False)).outcome) == "plain"


@proves("common/reading/cut-off")
def test_a_message_that_was_cut_off_anywhere_is_never_certain_and_is_fixed_in_one_turn() -> None:
    for end in range(JSON.index("dev_blocker") + 12, len(JSON) - 1):
        checked = check(JSON[:end])
        assert (checked.valid, checked.fixed) == (False, None)
        assert checked.skeleton is not None
        assert check(json.dumps(filled(checked.skeleton, BLOCKER))).tree == BLOCKER


@proves("common/reading/typed-or-plain", "common/ladder/plain")
@pytest.mark.parametrize(
    "text",
    [
        "The type dev_blocker is for what keeps you from going on.", "type: of thing I like\ntask: none",
        "Which type: dev_progress or dev_blocker?", 'The config has {"type": "object", "task": "string"} in it.',
        "| type | task |\n|---|---|\n| dev_blocker | T1 |", "{braces} begin this text",
    ],
)  # fmt: skip
def test_text_about_messages_is_plain_text(text: str) -> None:
    assert (check(text).outcome, check(text).findings) == ("plain", ())


@proves("common/detect/forced")
@pytest.mark.parametrize("how", MALFORMED)
def test_a_text_with_a_message_in_it_can_be_sent_as_plain_text(how: str) -> None:
    checked = check(MALFORMED[how], CheckPolicy(forced=by_name("plain")))
    assert (checked.valid, checked.text, checked.findings) == (True, MALFORMED[how], ())


HOSTILE = (
    '"', "'", '\\"', "{", "[", "/*", '"a" ', "“", '"\\n', "\n", ": ", '{"a":', "> ", "&quot;", "type: approval\n",
    '"a"1',
)  # fmt: skip


@proves("common/reading/tolerant-is-linear")
@pytest.mark.parametrize("unit", HOSTILE)
def test_a_hostile_text_is_not_looked_at_over_and_over(unit: str) -> None:
    """It would take minutes."""
    text = '{"type": "dev_blocker", "task": ' + unit * (500_000 // len(unit))
    assert not read_relaxed(text, 0, 64).is_exact
    assert not check(text).valid
    assert not check(text[:CHARACTERS_MAX]).valid
