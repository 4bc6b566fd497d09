"""Is a fix only ever offered when it is certain, and is what a slip of form leaves behind still read?"""

import json
from typing import Any

import pytest

from telex.dialects.registry import BUILT_IN, by_name
from telex.dialects.schema import OneOf, Tree, walk_kinds
from telex.model.text import folded, nearest
from telex.validation.check import CheckPolicy, CheckResult, check
from telex.validation.compiled import FastValidator
from tests.cli.cli_kit import process
from tests.proofs import proves

PROGRESS: Tree = {"type": "dev_progress", "task": "T1", "plan_id": "P1", "commit": "c0ffee1", "status": "complete"}


def example(dialect: str, type_: str) -> Tree:
    found = by_name(dialect)
    assert found is not None
    copied: Tree = json.loads(json.dumps(found.types[type_].example))
    return copied


def said(checked: CheckResult) -> set[tuple[str, str]]:
    return {(finding.code, finding.path) for finding in checked.findings}


def checked(tree: Any, **asked: Any) -> CheckResult:
    return check(json.dumps(tree), **asked)


OPPOSITES = ["in{}", "un{}", "no_{}", "no{}", "non{}", "not_{}", "dis{}", "by{}", "UN{}"]
CHOICES = sorted(
    {
        value
        for dialect in BUILT_IN
        for type_ in dialect.types.values()
        for _, field in walk_kinds(dialect.fields_of(type_))
        if isinstance(field.kind, OneOf)
        for value in field.kind.values
    }
)


@pytest.mark.parametrize("opposite", OPPOSITES)
def test_a_word_is_never_fixed_into_its_opposite(opposite: str) -> None:
    fixed = {word: nearest(opposite.format(word), [word]) for word in CHOICES if len(word) > 2}
    assert {word: found for word, found in fixed.items() if found is not None} == {}


@pytest.mark.parametrize(
    "written, meant",
    [("Complete", "complete"), ("compelte", "complete"), ("completed", "complete"), ("parital", "partial")],
)
def test_a_slip_of_the_finger_is_fixed(written: str, meant: str) -> None:
    answer = checked(PROGRESS | {"status": written})
    assert answer.fixed == PROGRESS | {"status": meant}
    assert folded(meant) in folded(str(answer.findings[0].nearest))


def test_incomplete_work_is_not_offered_as_complete() -> None:
    answer = checked(PROGRESS | {"status": "incomplete"})
    assert said(answer) == {("not-one-of", "$.status")}
    assert answer.fixed is None


@proves("common/fixes/list-in-one-text")
@pytest.mark.parametrize(
    "written",
    [
        *("a.py, b.py", "a.py; b.py", "a.py\nb.py", ".env secrets/", "a.py and b.py", "a.py|b.py", "a.py&b.py"),
        *("none", "n/a", "None.", "none found", "No blockers", "[]", "[a.py]", "-", "no", ""),
    ],
)
def test_a_list_written_in_one_line_is_left_to_the_sender(written: str) -> None:
    answer = checked(PROGRESS | {"concerns": written})
    assert ("wrong-type", "$.concerns") in said(answer)
    assert answer.fixed is None


@proves("common/fixes/list-in-one-text")
@pytest.mark.parametrize("written", ["src/a.py", "secrets/", "src/**", "AC-1"])
def test_one_plain_item_is_put_into_its_list(written: str) -> None:
    assert checked(PROGRESS | {"concerns": written}).fixed == PROGRESS | {"concerns": [written]}


@proves("common/fixes/doubt")
@pytest.mark.parametrize("sign", ["?", "*", "!", " ?", " ❌", "(?)"])
def test_a_choice_with_a_sign_of_doubt_is_asked_about(sign: str) -> None:
    assert {value for value in CHOICES if nearest(value + sign, CHOICES)} == set()
    assert checked(PROGRESS | {"status": f"complete{sign}"}).fixed is None


@proves("common/fixes/doubt")
@pytest.mark.parametrize("written", ['"50.000"', '"50,000"', '"50_000"', "50.000", '"50 000"', '"~50"', '"50.0"'])
def test_a_number_with_separators_is_asked_about(written: str) -> None:
    tree = example("vbw-typed", "plan_contract")
    tree["payload"]["token_budget"] = "BUDGET"
    answer = check(json.dumps(tree).replace('"BUDGET"', written))
    assert ("wrong-type", "$.payload.token_budget") in said(answer)
    assert answer.fixed is None


@proves("common/fixes/doubt")
def test_front_matter_with_a_number_of_three_decimals_is_asked_about() -> None:
    answer = check("---\ntype: task_assignment\nsignal: execute\nwave: 2.000\n---\n")
    assert (said(answer) - {("section-missing", "$.body")}, answer.fixed) == ({("wrong-type", "$.wave")}, None)


@proves("signal-md/yaml/null-is-missing")
@pytest.mark.parametrize("null", ["null", "~", "Null", "NULL", ""])
@pytest.mark.parametrize("type_", ["research_request", "research_result", "plan_result"])
def test_null_in_a_required_text_of_front_matter_is_missing(type_: str, null: str) -> None:
    tree = example("signal-md", type_)
    name = "plan_file" if type_ == "plan_result" else "topic"
    lines = "".join(f"{key}: {null if key == name else json.dumps(value)}\n" for key, value in tree.items())
    assert ("field-missing", f"$.{name}") in said(check(f"---\n{lines}---\n"))
    assert check(f"---\n{lines}---\n".replace(f"{name}: {null}\n", f'{name}: "null"\n')).valid


@proves("common/findings/fixed")
@pytest.mark.parametrize("left", ["<fill: text>", {"a": ["<fill: text>"]}])
def test_a_blank_in_an_unknown_field_is_not_offered_as_fixed(left: Any) -> None:
    assert checked(PROGRESS | {"status": "Complete", "mood": left}).fixed is None
    assert process("fix", "-", stdin=json.dumps(PROGRESS | {"mood": left}).encode()).code == 2
    tree = example("build-flow", "STATE_TRANSITION")
    tree["payload"]["metadata"] = {"by": {"whom": left}}
    assert ("blank-left", "$.payload.metadata.by") in said(checked(tree))


def test_a_number_is_not_compared_with_a_list_that_has_blanks() -> None:
    tree = example("build-flow", "ERROR_REPORT")
    tree["payload"] |= {"count": 0, "errors": [{"timestamp": "<fill: a time>", "message": "<fill: text>"}]}
    assert {code for code, _ in said(checked(tree))} == {"blank-left"}


def test_an_optional_field_of_front_matter_without_a_value_is_asked_about() -> None:
    head = "---\ntype: task_assignment\nsignal: execute\nwave: 1\nstep:"
    assert check(f"{head} null\n---\n").fixed == {"type": "task_assignment", "signal": "execute", "wave": 1}
    assert check(f"{head}\n---\n").fixed is None


def test_a_field_that_lost_its_line_is_not_taken_for_text() -> None:
    head = "---\ntype: task_assignment\nsignal: execute\nplan_file: plans/reset.md"
    for line in ("wave: 1", "ave: 1", " step: 2"):
        assert check(f"{head}{line}\n---\n").fixed is None


def test_fields_beside_the_payload_are_moved_into_it() -> None:
    whole = example("vbw-typed", "execution_update")
    flat = {name: value for name, value in whole.items() if name != "payload"} | whole["payload"]
    answer = checked(flat)
    assert said(answer) == {("field-misplaced", "$.payload")}
    assert answer.fixed == whole


@proves("common/fixes/layout")
@pytest.mark.parametrize("box", ["payload", "data", "fields"])
@pytest.mark.parametrize(
    "dialect, type_", [("vbw-handoff", "dev_progress"), ("vbw-handoff", "scout_findings"), ("vbw-company", "qa_result")]
)
def test_fields_in_an_object_of_a_flat_dialect_are_moved_out_of_it(dialect: str, type_: str, box: str) -> None:
    whole = example(dialect, type_)
    answer = checked({"type": type_, box: {name: value for name, value in whole.items() if name != "type"}})
    assert said(answer) == {("field-misplaced", f"$.{box}")}
    assert answer.fixed == whole


@proves("common/fixes/layout")
@pytest.mark.parametrize("type_", ["plan_contract", "qa_verdict", "scout_findings", "shutdown_request"])
def test_a_payload_as_text_or_under_another_name_is_put_in_its_place(type_: str) -> None:
    whole = example("vbw-typed", type_)
    answer = checked(whole | {"payload": json.dumps(whole["payload"])})
    assert (said(answer), answer.fixed) == ({("wrong-type", "$.payload")}, whole)
    for name in ("data", "content", "Payload"):
        answer = checked({name if key == "payload" else key: value for key, value in whole.items()})
        assert (said(answer), answer.fixed) == ({("field-missing", "$.payload")}, whole)


@proves("common/fixes/one-item")
def test_one_value_in_a_list_is_taken_out_where_the_field_takes_one() -> None:
    for name in ("task", "status"):
        answer = checked(PROGRESS | {name: [PROGRESS[name]]})
        assert (said(answer), answer.fixed) == ({("wrong-type", f"$.{name}")}, PROGRESS)
    assert checked(PROGRESS | {"status": ["complete", "partial"]}).fixed is None
    assert checked(PROGRESS | {"status": ["perhaps"]}).fixed is None
    answer = check("---\ntype: triage_result\nsignal: [triage_complete]\ntier: [1]\nresearch_needed: [no]\n---\n")
    assert said(answer) >= {("wrong-type", "$.signal"), ("wrong-type", "$.tier"), ("wrong-type", "$.research_needed")}


@proves("common/fixes/one-item")
def test_a_key_given_twice_is_fixed_if_its_value_is_the_same() -> None:
    for twice, fixed in (('"T1"', PROGRESS), ('"T2"', None)):
        answer = check(json.dumps(PROGRESS)[:-1] + f', "task": {twice}}}')
        assert (said(answer), answer.fixed) == ({("duplicate-key", "$.task")}, fixed)
    answer = check("---\ntype: approval\nsignal: lgtm\nsignal: lgtm\n---\n")
    assert (said(answer), answer.fixed) == ({("duplicate-key", "$.signal")}, {"type": "approval", "signal": "lgtm"})
    assert checked(PROGRESS | {"n": 1}).valid
    assert check(json.dumps(PROGRESS)[:-1] + ', "n": 1, "n": true}').fixed is None


@proves("common/findings/parts")
def test_a_missing_object_or_list_of_objects_is_told_with_its_parts() -> None:
    tree = example("vbw-handoff", "qa_result")
    del tree["checks"]
    [finding] = checked(tree, policy=CheckPolicy(forced=by_name("vbw-handoff"))).findings
    assert all(f"{part} (an integer of at least 0)" in finding.say for part in ("passed", "failed", "total"))
    tree = example("vbw-handoff", "scout_findings")
    del tree["documents"]
    [finding] = checked(tree, policy=CheckPolicy(forced=by_name("vbw-handoff"))).findings
    assert "each an object with name (text), content (text, perhaps empty)" in finding.say


@proves("common/findings/foreign-type")
def test_a_type_of_another_dialect_in_an_envelope_is_told_at_its_type() -> None:
    whole = example("vbw-typed", "execution_update")
    answer = checked(whole | {"type": "dev_progress"})
    [finding] = answer.findings
    assert (finding.code, finding.path, finding.nearest) == ("type-unknown", "$.type", "execution_update")
    assert (answer.fixed, answer.skeleton) == (None, whole)
    answer = checked(whole | {"type": "DOC_QUERY", "payload": {}})
    assert ("type-unknown", "$.type") in said(answer)


@proves("common/fixes/names")
@pytest.mark.parametrize("key", ["kind", "message_type", "event", "Type"])
def test_a_type_under_another_key_is_renamed(key: str) -> None:
    answer = checked({key if name == "type" else name: value for name, value in PROGRESS.items()})
    assert (said(answer), answer.fixed) == ({("field-missing", "$.type")}, PROGRESS)
    assert checked({key: "dev_progress", "also": "dev_blocker", **PROGRESS, "type": None}).fixed is None


@proves("common/fixes/names")
def test_a_misspelt_optional_field_is_noted_and_named_in_the_fixed_message() -> None:
    whole = PROGRESS | {"concerns": ["x"]}
    answer = checked(PROGRESS | {"concrens": ["x"]})
    assert (answer.valid, answer.tree, answer.fixed) == (True, PROGRESS | {"concrens": ["x"]}, whole)
    assert checked(PROGRESS | {"concrens": "x and y"}).fixed is None
    assert checked(PROGRESS | {"status": "Complete", "concrens": ["x"]}).fixed == whole
    assert checked(PROGRESS | {"mood": "fine"}).fixed is None


def test_a_field_that_may_be_there_under_an_unknown_name_is_not_added_for_certain() -> None:
    assert check("---\ntype: approval\nsal: lgtm\n---\n").fixed is None
    assert check("---\ntype: approval\n---\n").fixed == {"type": "approval", "signal": "lgtm"}


def test_two_names_for_one_field_must_agree() -> None:
    whole = example("vbw-typed", "shutdown_response")
    whole["payload"]["approved"] = not whole["payload"]["approve"]
    answer = checked(whole)
    assert said(answer) == {("duplicate-key", "$.payload.approved")}
    assert not answer.valid
    assert answer.fixed is None
    whole["payload"]["approved"] = whole["payload"]["approve"]
    assert checked(whole).valid


@pytest.mark.parametrize(
    "box",
    [
        {"message": PROGRESS},
        {"message": json.dumps(PROGRESS)},
        {"to": "lead", "content": json.dumps(PROGRESS)},
        {"type": "message", "recipient": "lead", "content": PROGRESS, "summary": "done"},
    ],
)
def test_a_message_in_a_tools_envelope_is_taken_out(box: Tree) -> None:
    answer = checked(box)
    assert (answer.valid, answer.type, said(answer)) == (True, "dev_progress", {("wrapper-removed", "$")})


def test_a_type_in_the_form_of_another_dialect_is_told_its_form() -> None:
    [finding] = checked({"type": "approval", "signal": "lgtm"}).findings
    assert (finding.code, finding.path) == ("type-unknown", "$.type")
    assert "front matter" in finding.say
    [finding] = check("---\ntype: dev_progress\nstatus: complete\n---\n").findings
    assert "JSON" in finding.say


def test_front_matter_without_its_lines_is_no_plain_text() -> None:
    answer = check("type: worker_submission\nsignal: rfr\nfiles_changed: [a.py]\nqa_check: pass\n")
    assert (answer.valid, said(answer)) == (False, {("front-matter-missing", "$")})
    assert check("type: of thing I like\nsignal: none\n").valid


@pytest.mark.parametrize("to", ["lead", "dev", "qa-lead", "human"])
def test_an_escalation_to_anybody_but_the_next_above_is_told_who_that_is(to: str) -> None:
    tree = example("vbw-company", "escalation") | {"from": "dev", "to": to}
    [finding] = checked(tree).findings
    assert (finding.code, finding.path, finding.expected) == ("escalation-skips-a-step", "$.to", "senior")


def test_a_recipient_other_than_the_one_asked_for_is_warned_about() -> None:
    tree = example("build-flow", "DOC_QUERY") | {"to": "@agent-cto"}
    assert said(checked(tree, to_role="dev")) == {("recipient-differs", "$.to")}
    assert said(checked(tree, to_role="CTO")) == set()


@pytest.mark.parametrize("name, value", [("team_name", "phase-01"), ("payload", {}), ("schema_version", "2.0")])
def test_a_shutdown_request_that_lost_its_envelope_is_no_control_frame(name: str, value: Any) -> None:
    frame = {"type": "shutdown_request", "request_id": "1", "reason": "phase_complete"}
    assert checked(frame).outcome == "control"
    assert not checked(frame | {name: value}).valid
    assert checked(frame, policy=CheckPolicy(forced=by_name("vbw-typed"))).outcome == "control"


def test_the_role_of_the_caller_tells_the_dialect() -> None:
    tree = {name: value for name, value in example("vbw-handoff", "qa_result").items() if name != "body"}
    assert said(checked(tree, as_role="qa")) == {("field-missing", "$.body")}


@proves("common/detect/preferred")
def test_a_message_that_lacks_a_field_of_the_teams_dialect_is_not_read_as_another() -> None:
    tree = {name: value for name, value in example("vbw-handoff", "qa_result").items() if name != "body"}
    handoff, company = CheckPolicy(preferred="vbw-handoff"), CheckPolicy(preferred="vbw-company")
    for check_one in (checked, lambda tree, policy: FastValidator(policy).check(json.dumps(tree).encode())):
        assert said(check_one(tree, policy=handoff)) == {("field-missing", "$.body")}
        assert check_one(tree | {"artifact": "qa.md"}, policy=handoff).dialect is by_name("vbw-company")
        assert check_one(tree, policy=company).valid


def test_a_payload_tells_the_dialect_though_the_envelope_is_missing() -> None:
    answer = checked({"type": "scout_findings", "payload": {"domain": "quality", "documents": []}})
    assert answer.dialect is by_name("vbw-typed")


def test_a_fixed_message_keeps_the_order_it_was_written_in() -> None:
    answer = checked({"task": "T1", "type": "Dev_progress", "plan_id": "P1", "commit": "c0ffee1", "status": "complete"})
    assert list(answer.fixed or {}) == ["task", "type", "plan_id", "commit", "status"]


def test_a_message_that_was_cut_off_is_told_so() -> None:
    [finding] = check('{"type":"dev_progress","task":"t","sta').findings
    assert finding.code == "not-json"
    assert "cut off" in finding.say


def test_a_comma_too_many_is_pointed_at_and_taken_out() -> None:
    answer = check(json.dumps(PROGRESS, indent=1).replace('"complete"', '"complete",'))
    [finding] = answer.findings
    assert (finding.code, finding.found) == ("not-json", ",")
    assert "line 6, column 22" in finding.say
    assert answer.fixed == PROGRESS
