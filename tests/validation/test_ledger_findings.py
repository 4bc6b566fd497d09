"""Is what a sender is told enough to fix the message: everything at once, where, and how it would pass?"""

import json
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from telex.dialects.registry import BUILT_IN
from telex.dialects.scalars import parse_timestamp
from telex.dialects.schema import Dialect, MessageType
from telex.dialects.write import write
from telex.model.finding import refusals
from telex.validation.check import CheckPolicy, CheckResult, check
from tests.proofs import proves
from tests.tables import TABLES, VBW_HANDOFF, VBW_TYPED
from tests.tables.notation import Table, get, message, with_value, without

VERDICT = message(VBW_TYPED, VBW_TYPED.row("qa_verdict"), bare=True)
LENIENT = CheckPolicy(strict=False)


def codes(checked: CheckResult) -> list[tuple[str, str]]:
    return [(finding.code, finding.path) for finding in checked.findings]


def typed(tree: dict) -> CheckResult:
    return check(VBW_TYPED.wire(tree))


# --- severity -----------------------------------------------------------------------------------------------------


@proves("common/severity/refusal")
def test_what_contradicts_itself_is_a_refusal_and_stops_the_message() -> None:
    checked = typed(with_value(VERDICT, ("payload", "checks", "failed"), 1))
    assert {finding.severity for finding in checked.findings} == {"refusal"}
    assert not checked.valid


@proves("common/severity/warning")
def test_what_is_merely_suspicious_is_a_warning_and_passes() -> None:
    checked = typed(VERDICT | {"timestamp": "2026-02-12T10:00:00"})
    assert [finding.severity for finding in checked.findings] == ["warning"]
    assert checked.valid
    assert checked.fixed is checked.skeleton is None


@proves("common/severity/note")
def test_what_was_repaired_or_ignored_is_a_note_and_passes() -> None:
    checked = check(b"\xef\xbb\xbf" + VBW_TYPED.wire(VERDICT | {"mood": "good"}))
    assert [(finding.code, finding.severity) for finding in checked.findings] == [
        ("byte-order-mark", "note"),
        ("field-unknown", "note"),
    ]
    assert checked.valid


@pytest.mark.parametrize("dialect, type_", [(d, t) for d in BUILT_IN for t in d.types.values()], ids=lambda v: v.name)
@proves("common/page-examples-pass")
def test_the_example_of_every_type_passes_without_a_word(dialect: Dialect, type_: MessageType) -> None:
    raw = write(dialect, type_.example, type_.body_example).encode()
    checked = check(raw, CheckPolicy(preferred=dialect.name))
    assert (checked.valid, checked.dialect, checked.type, checked.findings) == (True, dialect, type_.name, ())


# --- timestamps ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "written, code, severity", [
            *(pytest.param(at, "timestamp-impossible", "refusal",
                marks=proves("common/timestamp/impossible")) for at in ("2026-13-01T10:00:00Z", "2026-02-30T10:00:00Z",
                "2026-02-12T25:00:00Z", "2026-02-12T10:61:00Z")),
        pytest.param("2026-02-12T10:00:00", "timestamp-without-zone", "warning",
            marks=proves("common/timestamp/without-zone")),
        pytest.param("2026-02-12", "timestamp-without-time", "warning", marks=proves("common/timestamp/without-time")),
        pytest.param("12.02.2026", "timestamp-malformed", "refusal", marks=proves("vbw-typed/envelope/timestamp")),
        pytest.param("٢٠٢٦-02-12T10:00:00Z", "timestamp-malformed", "refusal",
            marks=proves("vbw-typed/envelope/timestamp")),
    ],
)  # fmt: skip
def test_a_moment_that_is_not_whole_is_told(written: str, code: str, severity: str) -> None:
    checked = typed(VERDICT | {"timestamp": written})
    assert [(f.code, f.path, f.severity) for f in checked.findings] == [(code, "$.timestamp", severity)]
    assert checked.valid is (severity == "warning")


@proves("common/timestamp/without-zone", "common/timestamp/without-time")
@pytest.mark.parametrize(
    "deadline, past", [("2026-02-12T09:59:59", True), ("2026-02-12T10:00:01", False), ("2026-02-12", True)]
)
def test_a_moment_without_zone_or_time_is_read_as_utc_and_midnight(deadline: str, past: bool) -> None:
    ask = message(VBW_TYPED, VBW_TYPED.row("approval_request"), bare=True)
    checked = typed(with_value(ask, ("payload", "deadline"), deadline))
    assert (("deadline-in-past", "$.payload.deadline") in codes(checked)) is past


USUAL = st.builds(
    "{:04}-{:02}-{:02}T{:02}:{:02}:{:02}Z".format,
    *(st.integers(*bounds) for bounds in ((0, 9999), (0, 13), (0, 32), (0, 25), (0, 61), (0, 61))),
)


@proves("common/timestamp/impossible")
@given(USUAL)
def test_a_timestamp_in_its_usual_form_is_read_as_in_any_other(text: str) -> None:
    """A lower-case t is equivalent, and is not read by the shortcut for the usual form."""
    assert parse_timestamp(text) == parse_timestamp(text.replace("T", "t"))


@proves("common/timestamp/impossible")
@pytest.mark.parametrize("text", ["2026-03-02T10+01:00Z", "2026-03-02T1:00:00:Z", "２026-03-02T10:00:00Z", "T" * 20])
def test_text_of_the_length_of_a_timestamp_is_not_one(text: str) -> None:
    assert len(text) == len("2026-03-02T10:00:00Z")
    assert parse_timestamp(text).at is None


# --- what nobody knows -----------------------------------------------------------------------------------------------


@proves("common/unknown-fields/delivered")
@pytest.mark.parametrize("steps", [("mood",), ("payload", "mood"), ("payload", "checks", "mood")])
def test_an_unknown_field_is_kept_and_noted_at_any_depth(steps: tuple[str, ...]) -> None:
    tree = with_value(VERDICT, steps, {"how": ["good"]})
    checked = typed(tree)
    assert codes(checked) == [("field-unknown", "$." + ".".join(steps))]
    assert (checked.valid, checked.tree) == (True, tree)


@proves("common/unknown-fields/refused-by-choice")
def test_a_team_may_refuse_unknown_fields() -> None:
    raw = VBW_TYPED.wire(VERDICT | {"mood": "good"})
    assert not check(raw, CheckPolicy(unknown_fields="refusal")).valid
    assert check(raw, CheckPolicy(unknown_fields="refusal", strict=False)).valid


@proves("common/unknown-type/strict", "common/findings/nearest")
def test_an_unknown_type_is_refused_in_a_strict_team_and_the_nearest_is_offered() -> None:
    for named, meant in (("qa_verdikt", "qa_verdict"), ("QaVerdict", "qa_verdict"), ("weather_report", None)):
        checked = typed(VERDICT | {"type": named})
        assert [(f.code, f.path, f.nearest) for f in refusals(checked.findings)] == [("type-unknown", "$.type", meant)]
        assert not checked.valid


@proves("common/unknown-type/lenient")
@pytest.mark.parametrize("tree", [{"type": "weather_report", "sky": "blue"}, VERDICT | {"type": "weather_report"}])
def test_an_unknown_type_is_plain_text_in_a_lenient_team(tree: dict) -> None:
    raw = json.dumps(tree).encode()
    checked = check(raw, LENIENT)
    assert (checked.valid, checked.outcome, checked.text) == (True, "plain", raw.decode())
    assert checked.findings == check(raw).findings


# --- what a finding says --------------------------------------------------------------------------------------------

BROKEN_IN_MANY_PLACES = {
    "id": "v-1",
    "type": "qa_verdict",
    "phase": -1,
    "author_role": "Qa",
    "timestamp": "2026-02-30T10:00:00Z",
    "schema_version": "2.0",
    "confidance": "high",
    "payload": {"tier": "deepest", "result": "PASS", "checks": {"passed": "18", "failed": 2}, "failures": [],
        "recommendations": ["fix it", {"a": 1}]},
}  # fmt: skip


@proves("common/findings/all-at-once", "common/findings/code-and-path", "common/findings/expected-and-found")
def test_everything_is_told_at_once_each_with_its_place_and_what_was_expected() -> None:
    checked = typed(BROKEN_IN_MANY_PLACES)
    told = {finding.path: (finding.code, finding.found) for finding in refusals(checked.findings)}
    assert told == {
        "$.phase": ("out-of-range", "-1"),
        "$.task": ("field-missing", None),
        "$.author_role": ("not-one-of", "Qa"),
        "$.timestamp": ("timestamp-impossible", "2026-02-30T10:00:00Z"),
        "$.confidence": ("field-missing", "confidance"),
        "$.payload.tier": ("not-one-of", "deepest"),
        "$.payload.result": ("pass-with-failures", "PASS"),
        "$.payload.checks.passed": ("wrong-type", "18"),
        "$.payload.checks.total": ("field-missing", None),
        "$.payload.recommendations[1]": ("wrong-type", '{"a": 1}'),
    }
    assert all(finding.expected and finding.say.endswith(".") for finding in refusals(checked.findings))
    assert all(re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)+", finding.code) for finding in checked.findings)


@proves("common/findings/nearest")
@pytest.mark.parametrize(
    "changes, path, nearest",
    [
        ({"confidance": "high"}, "$.confidence", "confidence"),
        ({"Confidence": "high"}, "$.confidence", "confidence"),
        ({"confidence": "High"}, "$.confidence", "high"),
        ({"confidence": "meduim"}, "$.confidence", "medium"),
        ({"type": "qa-verdict"}, "$.type", "qa_verdict"),
    ],
)
def test_a_slip_is_answered_with_the_right_spelling_and_fixed(changes: dict[str, Any], path: str, nearest: str) -> None:
    base = VERDICT if "confidence" in changes or "type" in changes else without(VERDICT, ("confidence",))
    checked = typed(base | changes)
    assert [(finding.path, finding.nearest) for finding in refusals(checked.findings)] == [(path, nearest)]
    assert checked.fixed is not None
    assert typed(checked.fixed).findings == ()


@proves("common/findings/fixed")
@pytest.mark.parametrize(
    "table, tree", [
        (VBW_TYPED, without(VERDICT, ("schema_version",))),
        (VBW_TYPED, VERDICT | {"phase": "1"}),
        (VBW_TYPED, VERDICT | {"phase": 1.0}),
        (VBW_TYPED, VERDICT | {"task": 7}),
        (VBW_HANDOFF,
            {"type": "dev_blocker", "task": "t", "plan_id": "p", "blocker": "b", "needs": "n", "attempted": "x"}),
    ],
)  # fmt: skip
def test_a_certain_fix_is_offered_and_passes(table: Table, tree: dict) -> None:
    checked = check(table.wire(tree))
    assert not checked.valid
    assert checked.fixed is not None
    assert checked.skeleton is None
    assert check(table.wire(checked.fixed)).findings == ()


LEFT_OUT = {
    "vbw-typed": "qa_verdict.payload.tier",
    "vbw-handoff": "dev_blocker.needs",
    "vbw-company": "security_audit.categories",
    "signal-md": "plan_result.has_blockers",
    "build-flow": "QUALITY_REPORT.payload.gates",
}


@proves("common/findings/skeleton")
@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.name)
def test_what_only_the_sender_knows_is_a_marked_blank_and_passes_once_filled(table: Table) -> None:
    type_, *steps = LEFT_OUT[table.name].split(".")
    whole = message(table, table.row(type_), bare=True)
    checked = check(table.wire(without(whole, tuple(steps))), table.policy)
    assert checked.fixed is None
    assert checked.skeleton is not None
    again = check(table.wire(checked.skeleton), table.policy)
    assert {finding.code for finding in refusals(again.findings)} == {"blank-left"}
    filled = with_value(checked.skeleton, tuple(steps), get(whole, tuple(steps)))
    assert refusals(check(table.wire(filled), table.policy).findings) == []
