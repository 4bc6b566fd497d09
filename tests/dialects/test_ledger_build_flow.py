"""What the build-flow page promises beside its types and hard rules: the base fields, addresses, code quality."""

from typing import Any

import pytest

from telex.model.finding import refusals
from telex.validation.authorization import same_name
from telex.validation.check import CheckResult, check
from tests.proofs import proves
from tests.tables import BUILD_FLOW
from tests.tables.notation import message, without

STATUS = message(BUILD_FLOW, BUILD_FLOW.row("STATUS_UPDATE"), bare=True, taskId="t-1") | {"correlationId": "t-1"}


def flow(**base: Any) -> CheckResult:
    return check(BUILD_FLOW.wire(STATUS | base))


def refused(checked: CheckResult) -> list[tuple[str, str]]:
    return [(finding.code, finding.path) for finding in refusals(checked.findings)]


def base(field: str, *more: Any) -> Any:
    return pytest.param(field, *more, marks=proves(f"build-flow/base/{field}"))


@pytest.mark.parametrize(
    "field, values",
    [
        base("messageId", ["msg-123", "9f8b2c1e-5d7a-4f3b-9c6d-0a1b2c3d4e5f", "x" * 128]),
        base("correlationId", ["t-1"]), base("timestamp", ["2024-01-01T12:00:00Z", "2024-01-01T12:00:00.123+01:00"]),
        base("from", ["build orchestrator", "@agent-cto"]),
        base("to", ["@agent-fullstack-developer", "build-orchestrator"]), base("version", ["1.0"]),
        base("replyTo", ["req-123"]), base("broadcast", [False]), base("event", [True, False]),
    ],
)  # fmt: skip
def test_a_base_field_takes_its_values_without_a_word(field: str, values: list[Any]) -> None:
    for value in values:
        assert flow(**{field: value}).findings == (), value


@pytest.mark.parametrize(
    "field, value, code",
    [
        base("messageId", "", "out-of-range"), base("messageId", "x" * 129, "out-of-range"),
        base("correlationId", ["t-1"], "wrong-type"), base("timestamp", "noon", "timestamp-malformed"),
        base("from", {"name": "cto"}, "wrong-type"), base("to", ["cto", "dev"], "wrong-type"),
        base("type", "STATUS", "type-unknown"), base("version", "2.0", "not-one-of"),
        base("replyTo", ["req-123"], "wrong-type"), base("broadcast", "to all", "wrong-type"),
        base("event", 1, "wrong-type"),
    ],
)  # fmt: skip
def test_a_base_field_with_another_value_is_refused_there(field: str, value: Any, code: str) -> None:
    assert (code, f"$.{field}") in refused(flow(**{field: value}))


@pytest.mark.parametrize(
    "field", [base(name) for name in ["messageId", "correlationId", "timestamp", "from", "to", "type", "version"]]
)
def test_a_message_without_a_base_field_is_refused_there(field: str) -> None:
    checked = check(BUILD_FLOW.wire(without(STATUS, (field,))), BUILD_FLOW.policy)
    assert not checked.valid
    assert f"$.{field}" in {path for _, path in refused(checked)}


@pytest.mark.parametrize("field", [base("replyTo"), base("broadcast"), base("event")])
def test_a_message_may_do_without_the_rest(field: str) -> None:
    assert field not in STATUS
    assert flow().findings == ()


@proves("build-flow/base/type")
def test_a_type_with_a_slip_in_it_is_refused_and_the_nearest_is_offered() -> None:
    checked = flow(type="status-update")
    assert refused(checked) == [("type-unknown", "$.type")]
    assert checked.findings[0].nearest == "STATUS_UPDATE"
    assert checked.fixed == STATUS


@proves("build-flow/address")
@pytest.mark.parametrize(
    "one, other, same",
    [
        ("build orchestrator", "build-orchestrator", True),
        ("Build Orchestrator", "@agent-build-orchestrator", True), ("@agent-cto", "CTO", True),
        ("@Agent-cto", "cto", True), (" cto ", "cto", True), ("cto", "cto-2", False), ("agent-cto", "cto", False),
        ("build_orchestrator", "build-orchestrator", False),
    ],
)  # fmt: skip
def test_names_compare_without_case_spaces_and_prefix(one: str, other: str, same: bool) -> None:
    assert same_name(one, other) is same_name(other, one) is same


@proves("build-flow/address")
def test_a_sender_may_sign_in_any_spelling_and_what_was_sent_is_kept() -> None:
    checked = check(BUILD_FLOW.wire(STATUS | {"from": "Build Orchestrator"}), as_role="@agent-build-orchestrator")
    assert (checked.findings, checked.tree["from"]) == ((), "Build Orchestrator")
    assert refused(check(BUILD_FLOW.wire(STATUS | {"from": "cto"}), as_role="dev")) == [
        ("role-claim-differs", "$.from")
    ]


@proves("build-flow/type/CODEBASE_REVIEW_REPORT/codeQuality")
def test_code_quality_may_be_left_out_but_not_by_halves() -> None:
    tree = message(BUILD_FLOW, BUILD_FLOW.row("CODEBASE_REVIEW_REPORT"))
    assert check(BUILD_FLOW.wire(without(tree, ("payload", "findings", "codeQuality")))).valid
    for part in ("technicalDebt", "patterns", "dependencies"):
        steps = ("payload", "findings", "codeQuality", part)
        assert refused(check(BUILD_FLOW.wire(without(tree, steps)))) == [
            ("field-missing", f"$.payload.findings.codeQuality.{part}")
        ]
