"""What ends the waiting for an approval, and how is that seen by those who were asked as well?"""

import json

import pytest

from tests.bus_team import OpenTeam, Shell, Team, codes, open_team, shell, speech_of, team
from tests.contract_team import ask as asking
from tests.contract_team import contract, kept
from tests.proofs import proves
from tests.test_approvals import CTO, DEV, MINUTES, answer, approval, ask, question, reply

__all__ = ["open_team", "shell", "team"]


def waits(team: Team, id: str) -> bool:
    return team.story(id).answer_by is not None


@proves("approvals/words")
def test_words_decide_nothing_and_their_sender_is_told(team: Team) -> None:
    ask(team)
    receipt = team.bus.send("Sure, go ahead", sender="lead", to="dev", reply_to="ask-1")
    [warning] = receipt.findings
    assert (receipt.accepted, warning.code, warning.severity) == (True, "approval-not-decided", "warning")
    assert (waits(team, "ask-1"), approval(team, "ask-1").waits) == (True, True)
    assert "answered" not in team.kinds("ask-1")
    team.later(5 * MINUTES + 1)
    assert team.kinds("ask-1")[-1] == "reply-overdue"


@proves("approvals/words")
@pytest.mark.parametrize("sender", ["dev", "qa"])
def test_nobody_is_told_so_who_could_not_have_decided(team: Team, sender: str) -> None:
    ask(team)
    receipt = team.bus.send("It is about the mail", sender=sender, to="lead", reply_to="ask-1")
    assert (receipt.accepted, receipt.findings, waits(team, "ask-1")) == (True, (), True)


@proves("approvals/who/cannot")
def test_whoever_was_asked_and_may_send_no_answer_is_not_named_among_those_who_may(team: Team, shell: Shell) -> None:
    team.bus.join("hal", role="dev", dialects=["vbw@1.0"])
    team.bus.join("orla", role="orchestrator", dialects=["signal-md"])
    ask(team, "ask-1", sender="lead", to="hal")
    ask(team, "ask-2", to="orla")
    first, second = (json.loads(line) for line in shell("approvals", "--json").out.splitlines())
    assert first["may_answer"] == ["role:lead", "role:architect", "human"]
    assert second["may_answer"] == ["orla", "role:lead", "role:architect", "human"]
    flowing = {"messageId": "yes-1", "from": "hal", "to": "lead", "replyTo": "ask-1"}
    said = speech_of("build-flow", "VALIDATION_RESPONSE", **flowing)
    refused = team.bus.send(said.raw, sender="hal", to="lead")
    assert (refused.accepted, codes(refused.findings)) == (False, ["may-not-answer"]), "in no other dialect either"
    taken = shell("receive", "--as", "hal")
    assert "The answer is for lead or architect to give" in taken.out
    assert ("telex approve" in taken.out + taken.err, "--reply-to ask-1" in taken.err) == (False, True)
    told = team.bus.send("Go ahead", sender="hal", to="lead", reply_to="ask-1")
    assert told.findings == (), "it could not have decided"
    assert [finding.code for finding in team.bus.send("Go", sender="orla", to="dev", reply_to="ask-2").findings] == [
        "approval-not-decided"
    ]


@proves("approvals/words")
def test_after_the_decision_words_are_only_words(team: Team) -> None:
    ask(team)
    assert answer(team, "lead").accepted
    assert team.bus.send("And good luck", sender="lead", to="dev", reply_to="ask-1").findings == ()


@proves("approvals/words")
def test_a_team_without_rules_of_the_work_may_answer_in_words(open_team: OpenTeam) -> None:
    team = open_team(work_rules=False)
    ask(team)
    assert team.bus.send("Sure, go ahead", sender="lead", to="dev", reply_to="ask-1").findings == ()
    assert not waits(team, "ask-1")


@proves("approvals/ends-its-own")
def test_an_answer_ends_the_waiting_for_what_it_decides_and_nothing_else(team: Team) -> None:
    question(team, "q-1", task="TASK-001")
    other = json.loads(team.story("q-1").message.raw) | {"messageId": "q-2"}
    other["payload"]["taskId"] = "TASK-002"
    assert team.bus.send(other, sender=DEV).accepted  # another task, in the same conversation
    assert reply(team, replyTo=None).accepted
    assert (waits(team, "q-1"), waits(team, "q-2")) == (False, True)
    assert (approval(team, "q-1").waits, approval(team, "q-2").waits) == (False, True)


@proves("approvals/ends-its-own")
def test_an_answer_that_goes_to_somebody_else_is_the_answer_all_the_same(team: Team) -> None:
    ask(team)
    given = json.loads(team.story("ask-1").message.raw)
    given |= {"type": "approval_response", "id": "an-1", "author_role": "architect"}
    given["payload"] = {"request_id": "ask-1", "approved": True, "reason": "Fine"}
    assert team.bus.send(given, sender="architect", to="lead").accepted
    assert (approval(team, "ask-1").waits, waits(team, "ask-1")) == (False, False)


@proves("approvals/ends-its-own", "approvals/lenient")
@pytest.mark.parametrize("sender, code", [("lead", "may-not-answer"), ("qa", "role-may-not-send")])
def test_what_only_a_lenient_team_lets_pass_ends_no_waiting(open_team: OpenTeam, sender: str, code: str) -> None:
    team = open_team(strict=False)
    ask(team, sender="lead", to="architect")
    given = speech_of("vbw-typed", "approval_response", "an-1", author_role=sender).tree
    receipt = team.bus.send(given, sender=sender, to="role:lead" if sender != "lead" else "architect")
    assert (receipt.accepted, code in codes(receipt.findings)) == (True, True)
    assert (approval(team, "ask-1").waits, waits(team, "ask-1")) == (True, True)


@proves("approvals/answered-elsewhere")
def test_who_was_asked_sees_that_somebody_else_has_answered(team: Team, shell: Shell) -> None:
    ask(team), question(team)
    assert shell("approve", "ask-1", "--reason", "Fine").code == 0
    assert shell("reject", "q-1", "--reason", "Not yet").code == 0
    for name, id_ in (("lead", "ask-1"), (CTO, "q-1")):
        assert "stored, answered by human" in shell("inbox", "--as", name).out
        [lying] = [json.loads(line) for line in shell("inbox", "--as", name, "--json").out.splitlines()]
        assert (lying["id"], lying["answered_by"]) == (id_, "human")
        ran = shell("receive", "--as", name)
        assert "answered by human: no further answer is expected" in ran.err
        assert "telex approve" not in ran.err
    ask(team, "ask-2")
    [lying] = [
        json.loads(line) for line in shell("inbox", "--as", "lead", "--json").out.splitlines() if "ask-2" in line
    ]
    assert lying["answered_by"] is None


@proves("approvals/receive")
def test_who_takes_a_request_is_shown_the_commands_that_decide_it(team: Team, shell: Shell) -> None:
    ask(team)
    ran = shell("receive", "--as", "lead")
    for verb in ("approve", "reject"):
        assert f"telex {verb} ask-1 --as lead" in ran.err
    assert shell("approve", "ask-1", "--as", "lead", "--reason", "Fine").code == 0
    assert not waits(team, "ask-1")


@proves("approvals/approve/findings")
def test_a_person_is_told_what_speaks_against_the_answer_as_given(team: Team, shell: Shell) -> None:
    kept(team, contract())
    kept(team, asking(id="wider"))
    ran = shell("approve", "wider", "--reason", "Fine", "--modify", "../x")
    assert (ran.code, "approved wider" in ran.out, "pattern-covers-nothing" in ran.out) == (0, True, True)


@proves("approvals/approve/newcomer")
def test_a_newcomer_says_which_role_it_has(team: Team, shell: Shell) -> None:
    ask(team)
    ran = shell("approve", "ask-1", "--reason", "Fine", "--as", "mona")
    assert (ran.code, "role-may-not-send" in ran.err) == (2, True)
    assert shell("approve", "ask-1", "--reason", "Fine", "--as", "mona", "--role", "lead").code == 0
    given = approval(team, "ask-1").answer
    assert given is not None
    assert (given.by, given.role) == ("mona", "lead")


@proves("approvals/approve/handed-up")
def test_to_approve_what_was_handed_up_names_the_command_that_answers_it(team: Team, shell: Shell) -> None:
    from tests.test_escalation import FIVE_MINUTES, escalate, matter

    escalate(team)
    team.later(FIVE_MINUTES + 1)
    for step in matter(team).rungs:
        ran = shell("approve", step.id, "--reason", "Fine")
        assert (ran.code, f"telex answer {step.id} TEXT" in ran.err) == (3, True)
