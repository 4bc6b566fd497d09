"""Versions of a dialect: which one a message is read as, and what readers of the other receive."""

import json
from pathlib import Path
from typing import Any

import pytest

from telex.config import load_file
from telex.dialects.builtin.signal_md import SIGNAL_MD_1_1
from telex.dialects.builtin.vbw_typed import VBW_TYPED_2_1
from telex.dialects.registry import BUILT_IN
from telex.model.finding import refusals
from telex.surfaces.cli.main import main
from telex.translator import translate
from telex.validation.check import CheckPolicy, CheckResult, check
from tests.bus.bus_team import OpenTeam, Team, open_team, speech_of, team
from tests.cli.cli_kit import put
from tests.proofs import proves
from tests.tables import SIGNAL_MD, VBW_TYPED
from tests.tables.notation import BODY, message
from tests.tables.versions import SIGNAL_MD_1_1 as SIGNALS_1_1

__all__ = ["open_team", "team"]

ISSUE = {"test": "test_login", "file": "tests/test_login.py", "error": "fails on main"}


def typed(type_: str, changes: dict[str, Any] | None = None, **payload: Any) -> dict[str, Any]:
    tree = message(VBW_TYPED, VBW_TYPED.row(type_), bare=True)
    return {**tree, **(changes or {}), "payload": {**tree["payload"], **payload}}


def read(tree: dict[str, Any], policy: CheckPolicy | None = None) -> CheckResult:
    return check(json.dumps(tree), policy or CheckPolicy())


def codes(checked: CheckResult) -> list[tuple[str, str]]:
    return [(finding.code, finding.path) for finding in checked.findings]


# --- vbw-typed 2.1: which version it is -------------------------------------------------------------------------------


@proves("vbw-typed/2.1/read-as")
@pytest.mark.parametrize("row", VBW_TYPED.rows, ids=lambda row: row.type)
def test_a_message_that_fits_the_page_is_read_as_2_0(row: Any) -> None:
    for bare in (True, False):
        checked = read(message(VBW_TYPED, row, bare=bare))
        assert (checked.valid, checked.dialect) == (True, VBW_TYPED.dialect)


@proves("vbw-typed/2.1/read-as")
@pytest.mark.parametrize(
    "tree",
    [
        typed("execution_update", pre_existing_issues=[ISSUE]),
        typed("qa_verdict", checks_detail=[], result="FAIL"),
        typed("shutdown_response", {"author_role": "qa-author"}),
        typed("shutdown_request", {"target_role": "qa-author"}),
        typed("plan_contract", {"target_role": "qa-author"}),
        VBW_TYPED_2_1.types["debugger_report"].example,
        VBW_TYPED_2_1.types["tests_ready"].example,
    ],
    ids=lambda tree: tree["type"],
)
def test_a_message_with_parts_of_2_1_is_read_as_2_1(tree: dict[str, Any]) -> None:
    for policy in (CheckPolicy(), CheckPolicy(preferred="vbw-typed"), CheckPolicy(forced=VBW_TYPED.dialect)):
        checked = read(tree, policy)
        assert (checked.valid, checked.dialect) == (True, VBW_TYPED_2_1)


@proves("vbw-typed/2.1/read-as")
def test_a_version_can_be_asked_for(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def asked_for(version: str, *files: str) -> int:
        return main(["check", "--dialect", version, *files])

    ready = put(tmp_path, "ready.json", VBW_TYPED_2_1.types["tests_ready"].example)
    update = put(tmp_path, "update.json", typed("execution_update"))
    assert (asked_for("vbw-typed@2.1", ready, update), asked_for("vbw-typed", ready, update)) == (0, 0)
    assert (asked_for("vbw-typed@2.0", update), asked_for("vbw-typed@2.0", ready)) == (0, 2)
    assert asked_for("vbw-typed@2.2", ready) == 64


@proves("vbw-typed/rule/later-spelling", "vbw-typed/2.1/type/shutdown_response")
def test_both_spellings_of_a_consent_are_read_in_both_versions() -> None:
    for spelling in ("approve", "approved"):
        tree = typed("shutdown_response")
        tree["payload"] = {"request_id": "stop-1", spelling: True, "final_status": "idle"}
        assert (read(tree).valid, read(tree).dialect) == (True, VBW_TYPED.dialect)
        later = read(tree, CheckPolicy(forced=VBW_TYPED_2_1))
        assert (later.valid, later.tree["payload"]["approved"]) == (True, True)
        assert codes(later) == ([("later-spelling", "$.payload.approve")] if spelling == "approve" else [])


# --- vbw-typed 2.1: who gets what -------------------------------------------------------------------------------------


@proves("vbw-typed/2.1/reader")
def test_a_reader_of_2_0_gets_2_1_translated_down_and_is_told_what_is_lost() -> None:
    told = translate(json.dumps(typed("execution_update", pre_existing_issues=[ISSUE])), "vbw-typed@2.0")
    assert (told.dialect, told.type) == (VBW_TYPED.dialect, "execution_update")
    assert [change.path for change in told.lost] == ["$.payload.pre_existing_issues"]
    assert (told.invented, check(told.text).findings) == ((), ())


@proves("vbw-typed/2.1/reader")
def test_a_reader_of_2_1_gets_2_0_with_nothing_lost_and_nothing_invented() -> None:
    for row in VBW_TYPED.rows:
        told = translate(json.dumps(message(VBW_TYPED, row)), "vbw-typed@2.1")
        assert (told.dialect, told.type) == (VBW_TYPED_2_1, row.type)
        assert (told.lost, told.narrowed, told.invented) == ((), (), ())


@proves("vbw-typed/2.1/reader")
def test_on_the_bus_each_reader_gets_its_version(team: Team) -> None:
    for name, reads in {"old": ["vbw-typed@2.0"], "new": ["vbw-typed@2.1"], "either": ["vbw-typed"]}.items():
        team.bus.join(name, role="lead", dialects=reads)
        team.bus.send(
            json.dumps(typed("execution_update", {"id": name}, pre_existing_issues=[ISSUE])), sender="dev", to=name
        )
    old, new, either = (team.take(name) for name in ("old", "new", "either"))
    assert old.rendering is not None
    assert (old.rendering.dialect, old.rendering.lost) == ("vbw-typed", ("$.payload.pre_existing_issues",))
    assert (new.rendering, either.rendering) == (None, None)
    team.bus.join("old", dialects=["vbw-typed"])
    assert team.bus.rendering(old.message, agent="old") == old.rendering, "as it was given then"


# --- a shutdown without an envelope -----------------------------------------------------------------------------------

FLAT = {"type": "shutdown_request", "id": "s-1", "from": "lead", "reason": "phase_complete"}
FLAT_ANSWER = {
    "type": "shutdown_response",
    "request_id": "s-1",
    "from": "dev",
    "approved": True,
    "final_status": "idle",
}


@proves("vbw-typed/2.1/flat-shutdown")
@pytest.mark.parametrize(
    "tree",
    [
        FLAT,
        {**FLAT, "timestamp": "2026-02-12T10:00:00Z", "team_name": "phase-01"},
        {"requestId": "s-1", **{name: value for name, value in FLAT.items() if name != "id"}},
        {**FLAT, "requestId": "s-1", "id": "another"},
        FLAT_ANSWER,
        {**FLAT_ANSWER, "id": "a-1", "confidence": "high", "pending_work": "None"},
        {"approve": True, **{name: value for name, value in FLAT_ANSWER.items() if name != "approved"}},
        {"requestId": "s-1", **{name: value for name, value in FLAT_ANSWER.items() if name != "request_id"}},
    ],
)
def test_a_flat_shutdown_is_wrapped_into_its_envelope_and_noted(tree: dict[str, Any]) -> None:
    checked = read(tree)
    assert (checked.valid, checked.dialect, checked.type) == (True, VBW_TYPED_2_1, tree["type"])
    assert codes(checked)[0] == ("envelope-added", "$")
    inside = checked.tree["payload"]
    assert checked.tree["author_role"] == tree["from"]
    assert (checked.tree["id"] if tree["type"] == "shutdown_request" else inside["request_id"]) == "s-1"
    assert "approved" in inside or inside["reason"] == "phase_complete"


@proves("vbw-typed/2.1/flat-shutdown")
@pytest.mark.parametrize(
    "tree, paths",
    [
        ({"type": "shutdown_request", "requestId": "s-1", "from": "lead", "team_name": "a"}, ["$.payload.reason"]),
        ({**FLAT, "reason": "tired"}, ["$.payload.reason"]),
        ({**FLAT, "from": "dev"}, ["$.author_role"]),
        ({**FLAT_ANSWER, "final_status": "gone"}, ["$.payload.final_status"]),
    ],
)
def test_a_flat_shutdown_is_held_to_its_fields_and_roles(tree: dict[str, Any], paths: list[str]) -> None:
    checked = read(tree)
    assert [finding.path for finding in refusals(checked.findings)] == paths
    if paths != ["$.author_role"]:  # what is offered instead has the whole envelope
        assert set(checked.skeleton or {}) >= {"id", "type", "phase", "task", "author_role", "timestamp", "payload"}


@proves("vbw-typed/2.1/flat-shutdown", "common/control-frames/shutdown_request")
@pytest.mark.parametrize(
    "frame", [
        {"type": "shutdown_request", "request_id": "s@dev", "from": "team-lead", "reason": "all done"},
        {"type": "shutdown_request", "requestId": "s@dev", "from": "team-lead", "reason": "all done",
            "timestamp": "now"},
        {"type": "shutdown_response", "request_id": "s@dev", "approve": True},
    ],
)  # fmt: skip
def test_a_control_frame_of_a_coding_tool_is_none(frame: dict[str, Any]) -> None:
    assert (read(frame).outcome, codes(read(frame))) == ("control", [("control-frame", "$")])


@proves("vbw-typed/2.1/flat-shutdown")
def test_a_flat_answer_stops_its_sender(team: Team) -> None:
    team.bus.join("ada", role="dev")
    stop = {**FLAT, "team_name": "phase-01"}
    assert team.bus.send(json.dumps(stop), sender="lead", to="ada").id == "s-1"
    assert team.bus.send(json.dumps(FLAT_ANSWER), sender="ada", to="lead").accepted
    assert {one.member.name: one.state for one in team.bus.roster()}["ada"] == "shut down"


# --- signal-md 1.1 ----------------------------------------------------------------------------------------------------

HIGH = {"critical": 0, "high": 1, "medium": 0, "low": 0}
VERDICT = message(SIGNAL_MD, SIGNAL_MD.row("audit_verdict"), signal="pass_with_notes", security_findings=HIGH)
AUDIT = SIGNAL_MD.wire(VERDICT)


def team_1_1(tmp_path: Path) -> CheckPolicy:
    (tmp_path / "telex.toml").write_text('[team]\ndialect = "signal-md@1.1"\n')
    return load_file(str(tmp_path / "telex.toml")).policy()


@proves("signal-md/1.1/chosen")
def test_1_1_holds_where_a_team_names_it_and_nowhere_else(tmp_path: Path) -> None:
    assert (check(AUDIT).valid, check(AUDIT).dialect) == (True, SIGNAL_MD.dialect)
    chosen = check(AUDIT, team_1_1(tmp_path))
    assert (chosen.valid, chosen.dialect) == (False, SIGNAL_MD_1_1)
    assert all(dialect is not SIGNAL_MD_1_1 for dialect in BUILT_IN)


@proves("signal-md/1.1/chosen", "signal-md/1.1/type/worker_submission")
def test_a_team_of_1_1_has_three_tiers_of_implementers(open_team: OpenTeam) -> None:
    submission = speech_of("signal-md", "worker_submission").raw
    assert not open_team().bus.send(submission, sender="grunt", to="orchestrator", check=False).accepted
    tiered = open_team(dialect="signal-md@1.1")
    for role in ("grunt", "worker", "senior"):
        receipt = tiered.bus.send(submission, sender=role, to="orchestrator")
        assert (receipt.accepted, receipt.dialect) == (True, "signal-md@1.1")


@proves("signal-md/1.1/rule/route")
@pytest.mark.parametrize("signal", ["blocked", "escalate"])
def test_what_is_blocked_or_escalated_is_asked_for_its_route(signal: str) -> None:
    for row in SIGNALS_1_1.rows:
        if row.receivers != "orchestrator":
            continue
        tree = message(SIGNALS_1_1, row) | {"signal": signal}
        missing = check(SIGNALS_1_1.wire(tree), SIGNALS_1_1.team)
        assert (missing.valid, [finding.expected for finding in missing.findings]) == (True, ["## Route"])
        assert check(SIGNALS_1_1.wire(tree, BODY + "Route: senior\n"), SIGNALS_1_1.team).findings == ()
        assert check(SIGNAL_MD.wire(tree)).findings == ()


@proves("vbw-typed/2.1/flat-shutdown")
@pytest.mark.parametrize("name", ["requestId", "id"])
def test_a_shutdown_without_a_single_field_of_its_payload_is_refused(name: str) -> None:
    checked = read({"type": "shutdown_request", name: "s-1", "from": "lead"})
    assert not checked.valid
    assert ("field-missing", "$.payload") in codes(checked)
