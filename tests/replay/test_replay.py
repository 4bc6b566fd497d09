"""Replay at the command line: other settings, the work before a message, and where a log may be."""

import io
import json
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

import pytest

import telex
from telex.surfaces.cli.main import main
from tests.bus.bus_team import OpenTeam, Shell, Team, open_team, shell, speech_of, team
from tests.bus.shutdown_kit import agrees, request
from tests.cli.cli_kit import Ran
from tests.proofs import proves
from tests.replay.replay_kit import Replay, flowing, hasty, replay, typed
from tests.surfaces.surfaces_kit import Hub, hub

__all__ = ["hub", "open_team", "replay", "shell", "team"]


# --- under other settings ---------------------------------------------------------------------------------------------


@proves("replay/strict")
def test_what_a_strict_team_would_have_refused_is_told_by_agent_type_and_code(open_team: OpenTeam) -> None:
    team = open_team(strict=False)
    for number in range(3):
        assert team.bus.send(hasty(f"hasty-{number}"), sender="dev", to="lead").accepted
    team.say(speech_of("vbw-typed", "scout_findings"), to="lead")
    *rows, total = replayed(team, "--strict", code=2)
    assert [(row["agent"], row["type"], row["code"], row["times"], row["first"]) for row in rows] == [
        ("dev", "qa_verdict", "role-may-not-send", 3, "hasty-0")
    ]
    assert (total["messages"], total["passed"], total["refused"], total["newly"]) == (4, 1, 3, 3)


def replayed(team: Team, *args: str, code: int = 0) -> list[Any]:
    """The lines of a replay of the team's own store, at the team's own time of day."""
    out = io.StringIO()
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(out), redirect_stderr(io.StringIO()):
        patch.setattr("telex.connection.SteadyClock", team.wall_clock)
        assert main(["replay", "--store", str(team.path), "--json", *args]) == code
    return [json.loads(line) for line in out.getvalue().splitlines()]


@proves("replay/warnings")
def test_warnings_are_counted_by_code_with_their_first_message(team: Team, shell: Shell) -> None:
    for number in range(2):  # scouts do not get verdicts: a warning, since `misdelivery` is one
        verdict = speech_of("vbw-typed", "qa_verdict", f"verdict-{number}")
        assert team.bus.send(verdict.raw, sender=verdict.sender, to="scout").accepted
    *rows, total = shell("replay", "--json").answers
    assert (rows, total["warned"]) == ([], 2)
    assert total["warnings"] == [{"code": "role-may-not-receive", "times": 2, "first": "verdict-0"}]
    assert "role-may-not-receive" in shell("replay").out


@proves("replay/lenient")
def test_what_a_lenient_team_would_have_let_pass_is_told_too(team: Team, shell: Shell) -> None:
    assert not team.bus.send(hasty(), sender="dev", to="lead", check=False).accepted
    *rows, total = shell("replay", "--lenient", "--json").answers
    assert (total["passed"], total["refused"], total["pardoned"], total["forgiven"]) == (1, 0, 1, 1)
    assert [row["code"] for row in rows] == ["role-may-not-send"]
    assert shell("replay", "--lenient").code == 0
    assert shell("replay").code == 2


@proves("replay/team")
def test_whoever_is_not_in_the_roster_of_the_other_team_is_refused(team: Team, shell: Shell) -> None:
    team.say(speech_of("vbw-typed", "scout_findings"), to="lead")
    team.note(sender="qa", to="dev")
    other = team.path.parent / "other.toml"
    other.write_text('[team.members.lead]\n[team.members.scout]\n[team.members.qa]\nrole = "qa"\n')
    *rows, total = shell("replay", "--team", str(other), "--json").answers
    assert [(row["agent"], row["code"]) for row in rows] == [("qa", "recipient-unknown")]
    other.write_text("[team.members.lead]\n[team.members.dev]\n")
    *rows, total = shell("replay", "--team", str(other), "--json").answers
    assert sorted((row["agent"], row["code"]) for row in rows) == [
        ("qa", "sender-unknown"),
        ("scout", "sender-unknown"),
    ]
    assert total["newly"] == 2


@proves("replay/same-settings")
def test_what_was_wrong_at_the_door_stays_wrong_and_is_not_new(open_team: OpenTeam) -> None:
    team = open_team(inbox_max=1)
    team.note(to="dev", sender="lead")
    assert not team.bus.send("One more.", sender="lead", to="dev", check=False).accepted
    assert not team.bus.send(
        typed("scout_findings", "s1"), sender="scout", to="lead", id="another", check=False
    ).accepted
    *rows, total = replayed(team, code=2)
    assert sorted(row["code"] for row in rows) == ["id-differs", "inbox-full"]
    assert (total["refused"], total["newly"]) == (2, 0)


@proves("replay/team")
def test_the_severities_and_rules_of_the_other_team_hold(team: Team, shell: Shell) -> None:
    team.say(speech_of("vbw-typed", "scout_findings", extra="?"), to="lead")
    other = team.path.parent / "other.toml"
    other.write_text('[team]\nunknown_fields = "refusal"\n')
    first, *_ = shell("replay", "--team", str(other), "--json").answers
    assert first["code"] == "field-unknown"
    other.write_text("[team]\nstrict = 3\n")
    assert shell("replay", "--team", str(other)).code == 64
    assert shell("replay", "--team", "nowhere.toml").code == 3


@proves("replay/untouched")
def test_a_replay_changes_nothing(team: Team, shell: Shell) -> None:
    team.bus.send(hasty(), sender="dev", to="lead", check=False)
    team.note()
    before = shell("log", "--export", "-").out
    assert shell("replay", "--lenient").code == 0
    assert shell("replay", "--until", "1s").code == 0
    assert shell("log", "--export", "-").out == before


# --- what went before -------------------------------------------------------------------------------------------------


CONTRACT = {"plan_id": "p1", "tasks": ["t1"], "allowed_paths": ["src/"], "depends_on": []}
REPORT = {"plan_id": "p1", "task_id": "t1", "status": "partial"}


@proves("replay/work")
def test_a_report_is_held_against_the_contract_before_it(replay: Replay) -> None:
    outside = typed("execution_update", "u1", {**REPORT, "files_modified": ["docs/a.md"]})
    inside = typed("execution_update", "u2", {**REPORT, "files_modified": ["src/a.py"]})
    contract = typed("plan_contract", "c1", CONTRACT)
    *rows, total = replay([outside, contract, inside, outside | {"id": "u3"}], "--json").answers
    assert [(row["agent"], row["code"], row["first"]) for row in rows] == [("dev", "path-outside-contract", "u3")]
    assert total["passed"] == 3


@proves("replay/work")
def test_without_the_work_rules_nothing_is_held_against_anything(replay: Replay, tmp_path: Path) -> None:
    (tmp_path / "free.toml").write_text("[team]\nwork_rules = false\n")
    outside = typed("execution_update", "u1", {**REPORT, "files_modified": ["docs/a.md"]})
    assert replay([typed("plan_contract", "c1", CONTRACT), outside], "--team", str(tmp_path / "free.toml")).code == 0


@proves("replay/work")
def test_an_answer_to_what_nobody_asked_and_a_move_that_is_none_are_refused(replay: Replay) -> None:
    lines = [
        flowing("STATE_TRANSITION", "m1", "dev", "build-orchestrator"),
        typed("approval_response", "a1", {"request_id": "nothing"}, author_role="lead"),
        flowing("STATE_TRANSITION", "m2", "dev", "build-orchestrator"),
    ]
    *rows, _ = replay(lines, "--json").answers
    assert sorted((row["code"], row["first"]) for row in rows) == [
        ("approval-unknown", "a1"),
        ("transition-not-allowed", "m2"),
    ]


@proves("replay/shut-down")
def test_whoever_has_shut_down_in_a_log_says_nothing_more(replay: Replay, team: Team, shell: Shell) -> None:
    stop = typed("shutdown_request", "stop-1", author_role="lead")
    done = typed("shutdown_response", "yes", {"request_id": "stop-1", "approve": True}, author_role="dev")
    late = typed("execution_update", "late", REPORT)
    *rows, _ = replay([stop, done, late], "--json").answers
    assert [(row["agent"], row["code"], row["first"]) for row in rows] == [("dev", "sender-has-shut-down", "late")]
    team.bus.join("dev")
    agrees(team, "dev", request(team))
    assert not team.bus.send(late, sender="dev", to="lead", check=False).accepted
    *rows, _ = shell("replay", "--json").answers
    assert [row["code"] for row in rows] == ["sender-has-shut-down"]


@proves("replay/evidence")
@pytest.mark.parametrize("setting, code", [("refuse", 2), ("mark", 0), ("off", 0)])
def test_what_the_repository_spoke_against_counts_as_the_team_wants(
    replay: Replay, tmp_path: Path, setting: str, code: int
) -> None:
    (tmp_path / "strict.toml").write_text(f'[team]\nevidence = "{setting}"\n')
    finding = {"code": "evidence-contradicted", "path": "$.payload.commit", "say": "No.", "severity": "warning"}
    raw = json.dumps(typed("execution_update", "u1"))
    message = {"id": "u1", "at": 1.0, "sender": "dev", "role": "dev", "to": "lead", "raw": raw}
    line = {"telex": 1, "kind": "accepted", "at": 1.0, "detail": {"findings": [finding]}, "message": message}
    assert replay([line], "--team", str(tmp_path / "strict.toml")).code == code


# --- where a log is ---------------------------------------------------------------------------------------------------


def at(capsys: pytest.CaptureFixture[str], *args: str) -> Ran:
    return Ran(main(["replay", *args]), *capsys.readouterr())


@proves("replay/where")
def test_a_hub_is_replayed_by_its_address(hub: Hub, capsys: pytest.CaptureFixture[str]) -> None:
    with telex.connect(hub.url) as bus:
        bus.send("The build is red.", sender="dev", to="lead")
    [total] = at(capsys, hub.url, "--json").answers
    assert total["messages"] == 1
    assert at(capsys, "--store", hub.url, "--json").answers == [total]


@proves("replay/where")
def test_an_address_that_is_no_hubs_is_told_what_there_is(capsys: pytest.CaptureFixture[str]) -> None:
    ran = at(capsys, "ftp://somewhere/log")
    assert (ran.code, "no such file" in ran.err, "http://" in ran.err) == (1, False, True)


@proves("replay/where")
@pytest.mark.parametrize("folder", ["project", "project/.telex", "."])
def test_a_folder_stands_for_the_store_in_it(
    folder: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with telex.connect(tmp_path / "project" / ".telex" / "telex.db") as bus:
        bus.send("The build is red.", sender="dev", to="lead")
    monkeypatch.chdir(tmp_path / "project" if folder == "." else tmp_path)
    [total] = at(capsys, folder, "--json").answers
    assert total["messages"] == 1


@proves("replay/where")
def test_of_a_folder_without_a_store_it_is_said_what_was_looked_for(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with telex.connect(tmp_path / ".telex" / "telex.db") as bus:  # above it, and not the one that was named
        bus.send("The build is red.", sender="dev", to="lead")
    empty = tmp_path / "empty"
    empty.mkdir()
    monkeypatch.chdir(tmp_path)
    ran = at(capsys, "empty")
    assert ran.code == 3
    assert all(place in ran.err for place in ("no store in empty", "empty/telex.db", "empty/.telex/telex.db"))
    assert list(empty.iterdir()) == []
