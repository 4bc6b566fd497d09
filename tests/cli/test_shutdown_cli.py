"""What does `telex team shutdown` say, and with which code does it leave?"""

import shlex
from pathlib import Path

import pytest

from telex.surfaces.cli.main import main
from tests.bus.bus_team import Shell, Team, open_team, shell, team
from tests.bus.shutdown_kit import PHASE, agrees, asked, joined, reply, request, states
from tests.proofs import proves

__all__ = ["open_team", "shell", "team"]

SHUTDOWN = ("team", "shutdown", "--as", "lead", "--reason", PHASE)


@pytest.fixture
def asked_team(team: Team, shell: Shell) -> Team:
    """ada, bob and kim were asked; ada has agreed with a message left in its inbox, kim refuses."""
    joined(team, "ada", "bob", "kim")
    team.note(id="work-1", sender="lead", to="ada")
    shell(*SHUTDOWN, "--no-wait")
    [call] = asked(team)
    agrees(team, "ada", call)
    reply(team, "kim", call, approve=False, final_status="in_progress", pending_work="two \x1b[31m tests")
    return team


@proves("shutdown/cli/report", "shutdown/cli/exit")
def test_the_report_is_a_table(asked_team: Team, shell: Shell) -> None:
    ran = shell(*SHUTDOWN, "--deadline", "60")
    assert ran.code == 4
    lines = [line.split() for line in ran.out.splitlines()]
    assert lines[0] == ["not", "dissolved:", "1", "agreed,", "1", "refused,", "1", "not", "answered"]
    assert ["ada", "dev", "approved", "complete", "1"] in lines
    assert ["bob", "dev", "silent", "·"] in lines
    assert ["kim", "dev", "refused", "in_progress", "·", "two", "\\x1b[31m", "tests"] in lines
    assert ["work-1", "text", "lead", "ada"] in lines
    assert "\x1b" not in ran.out
    assert "waiting up to 60 s for 1 agent" in ran.err
    assert "--force" in ran.err


@proves("shutdown/cli/report")
def test_the_report_as_json(asked_team: Team, shell: Shell) -> None:
    ran = shell(*SHUTDOWN, "--json")
    told = ran.answer
    assert (ran.code, told["dissolved"], told["requests"]) == (4, False, asked(asked_team))
    assert {one["name"]: (one["state"], one["pending_work"]) for one in told["agents"]} == {
        "ada": ("approved", ""),
        "bob": ("silent", None),
        "kim": ("refused", "two \x1b[31m tests"),
    }
    assert told["returned"] == [{"id": "work-1", "type": None, "sender": "lead", "inbox": "ada"}]


@proves("shutdown/cli/exit")
def test_the_exit_code_says_how_it_ended(asked_team: Team, shell: Shell) -> None:
    agrees(asked_team, "bob", asked(asked_team)[0])
    assert shell(*SHUTDOWN).code == 2  # kim refuses, and all have answered
    assert shell("team", "shutdown", "--as", "kim", "--reason", PHASE).code == 2
    forced = shell(*SHUTDOWN, "--deadline", "0", "--force")
    assert (forced.code, forced.out.splitlines()[0]) == (0, "dissolved: 2 agreed, 1 forced")
    again = shell(*SHUTDOWN)
    assert (again.code, again.out) == (0, "the team has no other member\n")


@proves("shutdown/cli/exit")
def test_what_is_asked_wrongly_is_a_usage_error(asked_team: Team, shell: Shell) -> None:
    assert shell("team", "shutdown", "--as", "lead").code == 64
    assert shell("team", "shutdown", "--reason", PHASE).code == 64
    assert shell(*SHUTDOWN, "--deadline", "soon").code == 64
    ran = shell("team", "shutdown", "--as", "lead", "--reason", "enough", "--deadline", "0")
    assert (ran.code, "not-one-of" in ran.err) == (2, True)


@proves("shutdown/cli/team")
def test_the_team_shows_who_has_shut_down_and_what_is_under_way(asked_team: Team, shell: Shell) -> None:
    asked_team.clock.leap(5.0)
    table = shell("team").out
    assert "shut down" in next(line for line in table.splitlines() if line.startswith("ada"))
    under_way = f"lead asked for a shutdown 5 s ago ({PHASE}): 1 agreed, 1 refused, 1 not answered"
    assert table.splitlines()[-1] == under_way
    shell(*SHUTDOWN, "--deadline", "0", "--force")
    assert "asked for a shutdown" not in shell("team").out
    assert {answer["name"]: answer["state"] for answer in shell("team", "--json").answers}["kim"] == "shut down"


@proves("shutdown/answer/nothing-more-leased")
def test_the_shell_says_it_to_an_agent_that_has_stopped(asked_team: Team, shell: Shell) -> None:
    ran = shell("receive", "--as", "ada", "--role", "dev")
    assert (ran.code, "sender-has-shut-down" in ran.err) == (2, True)
    assert shell("team", "join", "ada", "--as", "lead").code == 0
    assert shell("receive", "--as", "ada").code in (0, 4)


@proves("shutdown/cli/receive")
def test_who_takes_the_request_is_shown_how_to_answer(team: Team, shell: Shell) -> None:
    joined(team, "ada")
    request(team)
    hint = shell("receive", "--as", "ada").err
    assert "(an ack does not answer it): telex new shutdown_response --role dev" in hint
    assert "and send it: telex send --as ada" in hint
    assert shell("ack", "stop-1", "--as", "ada").code == 0
    assert states(team.bus.shut_down(agent="lead", reason=PHASE, wait=False)) == {"ada": "silent"}
    agrees(team, "ada", "stop-1")
    assert shell("receive", "--as", "ada").code == 2  # it has stopped


@proves("shutdown/cli/receive-draft")
def test_the_suggested_draft_is_a_complete_answer(
    team: Team, shell: Shell, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    joined(team, "ada")
    request(team)
    hint = shell("receive", "--as", "ada").err
    [line] = [line for line in hint.splitlines() if "telex new" in line]
    assert main(shlex.split(line.partition("telex ")[2])) == 0
    (tmp_path / "bye.json").write_text(capsys.readouterr().out)
    assert shell("send", "--as", "ada", "--to", "lead", str(tmp_path / "bye.json")).code == 0
    assert states(team.bus.shut_down(agent="lead", reason=PHASE, wait=False)) == {"ada": "approved"}
