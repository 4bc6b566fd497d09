"""What does a person see of what was handed up, and how is it answered from the shell?"""

import json

import pytest

from tests.bus.bus_team import Shell, Team, flow, open_team, shell, speech_of, team
from tests.bus.test_escalation import FIVE_MINUTES, answered, escalate, matter
from tests.proofs import proves

__all__ = ["open_team", "shell", "team"]  # fixtures


def to_a_person(team: Team, id: str = "e1") -> None:
    escalate(team, id)
    for _ in range(3):
        team.later(FIVE_MINUTES)


@proves("escalation/cli/list")
def test_escalations_tells_with_whom_each_is(team: Team, shell: Shell) -> None:
    escalate(team)
    ran = shell("escalations")
    assert ran.code == 0
    assert ran.out.splitlines()[1].split()[:3] == ["e1", "dev", "senior"]
    assert "00:05:00" in ran.out, "when it climbs"
    team.later(FIVE_MINUTES)
    [facts] = map(json.loads, shell("escalations", "--json").out.splitlines())
    assert (facts["with"], facts["open"], len(facts["steps"])) == ("role:lead", True, 2)
    team.note("Keep it.", "lead", "dev", reply_to="e1")
    assert shell("escalations").out == ""
    assert "answered by lead" in shell("escalations", "--all").out


@proves("escalation/cli/inbox")
def test_a_persons_inbox_begins_with_what_waits_for_a_person(team: Team, shell: Shell) -> None:
    team.note("The build is red.", "dev", "human")
    ask = speech_of("vbw-typed", "approval_request", "ask-1").tree
    ask["payload"].pop("deadline", None)
    assert team.bus.send(ask, sender="dev", to="lead").accepted
    assert "telex" not in shell("inbox", "--as", "human").out, "lead may still answer in time"
    to_a_person(team)
    ran = shell("inbox", "--as", "human")
    first, then, _, second, last, *rest = ran.out.splitlines()
    assert first.startswith("e1  escalation from dev, 15 min ago: The design")
    assert then.strip() == "telex answer e1 TEXT"
    assert second.startswith("ask-1  approval from dev")
    assert last.strip() == "telex approve ask-1 --reason TEXT"
    assert any("escalation  telex" in line for line in rest)
    lines = [json.loads(line) for line in shell("inbox", "--as", "human", "--json").out.splitlines()]
    assert [line.get("answer_with") for line in lines[:3]] == [
        "telex answer e1 TEXT",
        "telex approve ask-1 --reason TEXT",
        None,
    ]
    assert "telex answer" not in shell("inbox", "--as", "lead").out


@proves("escalation/cli/answer")
def test_an_answer_goes_to_who_escalated_whichever_step_it_names(team: Team, shell: Shell) -> None:
    to_a_person(team)
    last = matter(team).now.id
    assert shell("answer", last, "Me too.", "--as", "qa").err.startswith("e1 is still open")
    assert not answered(team)
    ran = shell("answer", last, "Keep the session.")
    assert (ran.code, ran.err) == (0, "")
    assert matter(team).answered_by == "human"
    assert [leased.message.sender for leased in team.bus.receive("dev", limit=9)] == ["qa", "human"]


@proves("escalation/cli/answer")
def test_anything_else_is_answered_to_its_sender(team: Team, shell: Shell) -> None:
    team.note("May I?", "dev", "lead", id="q1")
    assert shell("answer", "q1", "You may.", "--as", "lead").code == 0
    [leased] = team.bus.receive("dev")
    assert (leased.message.reply_to, leased.message.raw) == ("q1", b"You may.")
    assert shell("answer", "nobody", "You may.").code == 3
    assert shell("answer", "q1", " ").code == 64
    assert shell("answer", "q1", "You may.", "--as", "telex").code == 2


@proves("escalation/cli/answer-text")
@pytest.mark.parametrize("text", ["42", "true", "[1]"])
def test_an_answer_that_is_json_too_is_text(team: Team, shell: Shell, text: str) -> None:
    team.note("How many?", "dev", "lead", id="q1")
    ran = shell("answer", "q1", text, "--as", "lead")
    assert (ran.code, ran.err) == (0, "")
    refused = shell("answer", "q1", text, "--as", "lead", "--to", "nobody-here")
    assert (refused.code, "not-an-object" in refused.err) == (2, False)


@proves("escalation/cli/receive")
def test_who_takes_a_climb_is_shown_how_to_answer_it(team: Team, shell: Shell) -> None:
    to_a_person(team)
    last = matter(team).now.id
    assert f"answer it: telex answer {last} --as human" in shell("receive", "--as", "human").err
    assert "escalated to role:lead" in shell("why", "e1").out
    assert "without a deadline" in shell("why", last).out


@proves("escalation/bus-raised", "escalation/cli/answer")
def test_what_the_bus_raised_waits_climbs_and_is_answered(team: Team, shell: Shell) -> None:
    assert team.bus.send(
        flow("TASK_ASSIGNMENT", "a1", "build-orchestrator", "dev"), sender="build-orchestrator"
    ).accepted
    for number in range(3):
        raw = flow("STATUS_UPDATE", f"f{number}", "dev", "build-orchestrator")
        failed = json.loads(raw)
        failed["payload"] = {"taskId": "TASK-001", "status": "FAILED", "details": "Two tests are red"}
        assert team.bus.send(failed, sender="dev").accepted
    [raised] = team.bus.escalations()
    assert (raised.by, raised.now.level, raised.correlation) == ("telex", "CTO", "TASK-001")
    team.later(FIVE_MINUTES)
    [climbed] = team.bus.escalations()
    assert [rung.level for rung in climbed.rungs] == ["CTO", "HUMAN"]
    assert shell("answer", raised.id, "Skip that test.").code == 0
    assert team.bus.escalations() == []
    assert team.inbox("dev")[-1:] != []
