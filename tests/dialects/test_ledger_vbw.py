"""What the three vbw pages promise beside their types and hard rules: the envelope, targets, the chain, the way out."""

from typing import Any

import pytest

from telex.model.finding import refusals
from telex.validation.check import CheckPolicy, CheckResult, check
from tests.proofs import proves
from tests.tables import VBW_COMPANY, VBW_HANDOFF, VBW_TYPED
from tests.tables.notation import Row, message, with_value, without
from tests.tables.vbw_company import CHAIN

UPDATE = message(VBW_TYPED, VBW_TYPED.row("execution_update"), bare=True)


def typed(**envelope: Any) -> CheckResult:
    return check(VBW_TYPED.wire(UPDATE | envelope))


def refused(checked: CheckResult) -> list[tuple[str, str]]:
    return [(finding.code, finding.path) for finding in refusals(checked.findings)]


# --- vbw-typed: the envelope --------------------------------------------------------------------------------------


@proves("vbw-typed/envelope/id")
@pytest.mark.parametrize("id_", ["9f8b2c1e-5d7a-4f3b-9c6d-0a1b2c3d4e5f", "abc-123", "a", "é☃ b", "x" * 128])
def test_any_short_visible_id_will_do(id_: str) -> None:
    assert typed(id=id_).findings == ()


@proves("vbw-typed/envelope/id")
@pytest.mark.parametrize(
    "id_, code",
    [("", "out-of-range"), ("x" * 129, "out-of-range"), ("a\nb", "not-printable"), ("a\u200bb", "not-printable")],
)
def test_an_empty_long_or_invisible_id_is_refused(id_: str, code: str) -> None:
    assert refused(typed(id=id_)) == [(code, "$.id")]


@proves("vbw-typed/envelope/type")
def test_a_type_with_a_slip_in_it_is_refused_and_the_nearest_is_offered() -> None:
    checked = typed(type="excution_update")
    assert refused(checked) == [("type-unknown", "$.type")]
    assert checked.findings[0].nearest == "execution_update"
    assert checked.fixed == UPDATE


@pytest.mark.parametrize(
    "field, values", [
        pytest.param("phase", [0, 1, 10_000], marks=proves("vbw-typed/envelope/phase")),
        pytest.param("task", ["", "1-1-T3"], marks=proves("vbw-typed/envelope/task")),
        pytest.param("timestamp", ["2026-02-12T10:00:00Z", "2026-02-12T10:00+02:00"],
            marks=proves("vbw-typed/envelope/timestamp")),
        pytest.param("schema_version", ["2.0"], marks=proves("vbw-typed/envelope/schema_version")),
        pytest.param("confidence", ["high", "medium", "low"], marks=proves("vbw-typed/envelope/confidence")),
        pytest.param("author_role", ["dev", "docs"], marks=proves("vbw-typed/envelope/author_role")),
        pytest.param("target_role", ["lead"], marks=proves("vbw-typed/envelope/target_role")),
    ],
)  # fmt: skip
def test_an_envelope_field_takes_its_values_without_a_word(field: str, values: list[Any]) -> None:
    for value in values:
        assert typed(**{field: value}).findings == (), value


@pytest.mark.parametrize(
    "field, value, code",
    [
        pytest.param("phase", -1, "out-of-range", marks=proves("vbw-typed/envelope/phase")),
        pytest.param("phase", 1.5, "wrong-type", marks=proves("vbw-typed/envelope/phase")),
        pytest.param("phase", True, "wrong-type", marks=proves("vbw-typed/envelope/phase")),
        pytest.param("task", None, "field-missing", marks=proves("vbw-typed/envelope/task")),
        pytest.param("author_role", "human", "not-one-of", marks=proves("vbw-typed/envelope/author_role")),
        pytest.param("timestamp", "yesterday", "timestamp-malformed", marks=proves("vbw-typed/envelope/timestamp")),
        pytest.param("schema_version", "1.0", "not-one-of", marks=proves("vbw-typed/envelope/schema_version")),
        pytest.param("schema_version", 2.0, "wrong-type", marks=proves("vbw-typed/envelope/schema_version")),
        pytest.param("confidence", "certain", "not-one-of", marks=proves("vbw-typed/envelope/confidence")),
        pytest.param("payload", [], "wrong-type", marks=proves("vbw-typed/envelope/payload")),
        pytest.param("target_role", "human", "not-one-of", marks=proves("vbw-typed/envelope/target_role")),
    ],
)
def test_an_envelope_field_with_another_value_is_refused_there(field: str, value: Any, code: str) -> None:
    assert (code, f"$.{field}") in refused(typed(**{field: value}))


@proves("vbw-typed/envelope/all-mandatory")
@pytest.mark.parametrize(
    "field", ["id", "type", "phase", "task", "author_role", "timestamp", "schema_version", "payload", "confidence"]
)
def test_an_envelope_without_one_of_its_nine_fields_is_refused_there(field: str) -> None:
    checked = check(VBW_TYPED.wire(without(UPDATE, (field,))), VBW_TYPED.policy)
    assert not checked.valid
    assert f"$.{field}" in {path for _, path in refused(checked)}


# --- vbw-typed: targets, lenient teams, the later spelling ---------------------------------------------------------


@proves("vbw-typed/roles/target-named")
@pytest.mark.parametrize("row", VBW_TYPED.rows, ids=lambda row: row.type)
def test_a_message_may_only_name_a_receiver_of_its_type_as_target(row: Row) -> None:
    for role in VBW_TYPED.roles.split():
        checked = check(VBW_TYPED.wire(message(VBW_TYPED, row, bare=True) | {"target_role": role}))
        wanted = [] if role in row.receivers.split() else [("role-may-not-receive", "$.target_role")]
        assert refused(checked) == wanted, role


@proves("vbw-typed/roles/target-asked")
def test_a_team_may_choose_to_refuse_a_delivery_to_another_role() -> None:
    keeps_to_receivers = CheckPolicy(misdelivery="refusal")
    assert not check(VBW_TYPED.wire(UPDATE), keeps_to_receivers, to_role="qa").valid
    assert check(VBW_TYPED.wire(UPDATE), keeps_to_receivers, to_role="lead").valid


@proves("vbw-typed/roles/sender")
def test_a_claim_alone_is_held_to_the_senders_of_the_type_and_they_are_named() -> None:
    checked = typed(author_role="qa")
    assert refused(checked) == [("role-may-not-send", "$.author_role")]
    assert (checked.findings[0].expected, checked.findings[0].found) == ("dev or docs", "qa")


@proves("common/identity/claim-differs")
def test_a_claim_to_be_another_than_the_one_who_sends_is_refused_and_fixed() -> None:
    checked = check(VBW_TYPED.wire(UPDATE), as_role="docs")
    assert refused(checked) == [("role-claim-differs", "$.author_role")]
    assert checked.fixed == UPDATE | {"author_role": "docs"}


@proves("vbw-typed/lenient", "common/strict-and-lenient")
@pytest.mark.parametrize(
    "tree",
    [
        UPDATE | {"author_role": "qa"},
        UPDATE | {"phase": "one"},
        without(UPDATE, ("payload", "commit")),
        {"type": "execution_update"},
    ],
    ids=["unauthorised", "malformed", "incomplete", "old format"],
)
def test_a_lenient_team_passes_what_a_strict_one_refuses_with_the_same_findings(tree: dict) -> None:
    strict, lenient = (check(VBW_TYPED.wire(tree), CheckPolicy(strict=strict)) for strict in (True, False))
    assert not strict.valid
    assert lenient.valid
    assert lenient.findings == strict.findings != ()


@proves("vbw-typed/rule/later-spelling")
def test_a_shutdown_response_that_says_approved_is_read_as_approve_with_a_note() -> None:
    tree = message(VBW_TYPED, VBW_TYPED.row("shutdown_response"), bare=True)
    later = without(with_value(tree, ("payload", "approved"), True), ("payload", "approve"))
    checked = check(VBW_TYPED.wire(later))
    assert checked.valid
    assert [(f.code, f.path, f.severity) for f in checked.findings] == [
        ("later-spelling", "$.payload.approved", "note")
    ]
    assert checked.tree == checked.fixed == tree


# --- vbw-handoff ----------------------------------------------------------------------------------------------------


@proves("vbw-handoff/not-json", "common/ladder/plain")
@pytest.mark.parametrize("text", ["# Findings\n\n- it works", "done", "see {this} and [that]", "--\nnot front matter"])
def test_text_that_is_not_json_is_plain_markdown(text: str) -> None:
    checked = check(text.encode())
    assert (checked.valid, checked.outcome, checked.text) == (True, "plain", text)
    assert checked.findings == ()


# --- vbw-company ----------------------------------------------------------------------------------------------------

MAY_BE_LEFT_OUT = {"concerns", "attempted", "failures", "committed", "artifact"}


@proves("vbw-company/optional")
@pytest.mark.parametrize("row", VBW_COMPANY.rows, ids=lambda row: row.type)
def test_only_what_may_have_nothing_to_say_can_be_left_out(row: Row) -> None:
    tree = message(VBW_COMPANY, row)
    for field in tree:
        checked = check(VBW_COMPANY.wire(without(tree, (field,))), VBW_COMPANY.policy)
        optional = field in MAY_BE_LEFT_OUT and (field, row.type) != ("artifact", "architecture_design")
        assert checked.valid is optional, field


@proves("vbw-company/optional")
def test_a_decision_may_do_without_alternatives() -> None:
    tree = message(VBW_COMPANY, VBW_COMPANY.row("architecture_design"))
    assert check(VBW_COMPANY.wire(without(tree, ("decisions", 0, "alternatives")))).findings == ()


@proves("vbw-company/chain")
@pytest.mark.parametrize("role, above", CHAIN.items())
def test_an_escalation_one_step_up_is_accepted_and_any_other_is_told_where_to_go(role: str, above: str) -> None:
    for to in ("senior", "lead", "architect", "human"):
        tree = message(VBW_COMPANY, VBW_COMPANY.row("escalation")) | {"from": role, "to": to}
        checked = check(VBW_COMPANY.wire(tree), as_role=role)
        assert checked.valid is (to == above)
        assert [finding.expected for finding in checked.findings] == ([] if to == above else [above])


@proves("vbw-company/type/escalation", "common/identity/claim-differs")
def test_an_escalation_is_signed_by_the_one_who_sends_it() -> None:
    tree = message(VBW_COMPANY, VBW_COMPANY.row("escalation")) | {"from": "scout", "to": "lead"}
    assert refused(check(VBW_COMPANY.wire(tree), as_role="scout")) == []
    assert refused(check(VBW_COMPANY.wire(tree), as_role="security")) == [("role-claim-differs", "$.from")]


@proves("vbw-company/told-from-handoff", "common/detect/by-shape")
@pytest.mark.parametrize("type_", ["scout_findings", "qa_result", "debugger_report"])
def test_a_name_that_two_pages_share_is_told_apart_by_shape(type_: str) -> None:
    for table in (VBW_HANDOFF, VBW_COMPANY):
        assert check(table.wire(message(table, table.row(type_)))).dialect is table.dialect


@proves("vbw-company/told-from-handoff", "common/detect/own-dialect-wins")
@pytest.mark.parametrize("type_", ["dev_progress", "dev_blocker"])
def test_where_both_fit_a_teams_own_dialect_wins_and_then_the_receiver(type_: str) -> None:
    raw = VBW_COMPANY.wire(message(VBW_COMPANY, VBW_COMPANY.row(type_)))
    for table, receiver in ((VBW_HANDOFF, "lead"), (VBW_COMPANY, "senior")):
        assert check(raw, CheckPolicy(preferred=table.name)).dialect is table.dialect
        assert check(raw, to_role=receiver).dialect is table.dialect
