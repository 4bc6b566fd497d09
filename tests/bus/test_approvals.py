"""Approvals: what waits, who may answer, and what ends the wait."""

import json
from typing import Any

import pytest

from telex.ports.bus import Receipt
from telex.work.approvals import Approval
from tests.bus.bus_team import OpenTeam, Shell, Team, codes, flow, speech_of
from tests.proofs import proves
from tests.work.contract_team import ask as asking
from tests.work.contract_team import contract, kept

DEV, CTO, HEAD = "fullstack-developer", "cto", "build-orchestrator"
MINUTES = 60.0


def typed(type_: str, id: str, role: str, **payload: Any) -> bytes:
    """A vbw-typed message."""
    made = speech_of("vbw-typed", type_, id, author_role=role)
    made.tree["payload"] |= payload
    return json.dumps(made.tree).encode()


def ask(team: Team, id: str = "ask-1", sender: str = "dev", to: str = "lead", **payload: Any) -> str:
    payload = {"deadline": None} | payload
    raw = json.loads(typed("approval_request", id, sender, **payload))
    raw["payload"] = {name: value for name, value in raw["payload"].items() if value is not None}
    receipt = team.bus.send(raw, sender=sender, to=to)
    assert receipt.accepted, receipt.findings
    return id


def question(team: Team, id: str = "q-1", to: str = CTO, task: str = "TASK-001") -> str:
    receipt = team.bus.send(flow("VALIDATION_REQUEST", id, DEV, to, task), sender=DEV)
    assert receipt.accepted, receipt.findings
    return id


def answer(team: Team, sender: str, request: str = "ask-1", id: str = "an-1", **payload: Any) -> Receipt:
    raw = typed("approval_response", id, sender, request_id=request, **payload)
    return team.other().send(raw, sender=sender, to="dev", check=False)


def reply(team: Team, sender: str = CTO, id: str = "a-1", task: str = "TASK-001", **changes: Any) -> Receipt:
    tree = json.loads(flow("VALIDATION_RESPONSE", id, sender, DEV, task, **changes))
    if tree.get("replyTo") is None:
        del tree["replyTo"]
    return team.other().send(tree, sender=sender, check=False)


def approval(team: Team, id: str) -> Approval:
    found: Approval = team.bus.work_state("approval")[f"approval:{id}"]
    return found


# --- what waits -------------------------------------------------------------------------------------------------------


@proves("approvals/waits")
def test_a_request_waits_with_everything_one_needs_to_answer_it(team: Team, shell: Shell) -> None:
    ask(team), question(team)
    [asked, queried] = [json.loads(line) for line in shell("approvals", "--json").out.splitlines()]
    assert (asked["id"], asked["kind"], asked["from"]) == ("ask-1", "scope_change", "dev")
    assert asked["subject"] == "The reset link needs the mail module"
    assert asked["may_answer"] == ["lead", "role:architect", "human"]
    assert (queried["id"], queried["kind"], queried["may_answer"]) == ("q-1", "DESIGN", [CTO, "human"])
    for one in (asked, queried):
        assert (one["at"], one["deadline"]) == ("2026-01-01T00:00:00.000Z", "2026-01-01T00:05:00.000Z")
        assert not one["overdue"]
    shown = shell("approvals").out
    assert "ask-1  in 5 min  lead, role:architect, human" in shown


@proves("approvals/deadline/own")
def test_a_request_is_waited_for_until_the_deadline_it_names(team: Team) -> None:
    ask(team, deadline="2026-01-01T02:00:00Z")
    assert team.story("ask-1").answer_by == pytest.approx(team.clock.now() + 7200)
    team.later(119 * MINUTES)
    assert "reply-overdue" not in team.kinds("ask-1")
    team.later(2 * MINUTES)
    assert "reply-overdue" in team.kinds("ask-1")


@proves("approvals/deadline/past")
def test_a_deadline_in_the_past_is_none(team: Team) -> None:
    ask(team, deadline="2025-12-31T00:00:00Z")
    assert team.story("ask-1").answer_by == pytest.approx(team.clock.now() + 5 * MINUTES)


@proves("approvals/deadline/overdue", "approvals/deadline/late-answer")
def test_a_request_that_nobody_answered_is_overdue_and_can_still_be_answered(team: Team, shell: Shell) -> None:
    ask(team)
    for _ in range(4):
        team.later(6 * MINUTES)
    assert team.story("ask-1").state == "expired"
    [listed] = [json.loads(line) for line in shell("approvals", "--json").out.splitlines()]
    assert listed["overdue"]
    assert "overdue" in shell("approvals").out
    assert answer(team, "lead").accepted
    given = approval(team, "ask-1").answer
    assert given is not None
    assert (given.by, given.decision) == ("lead", "conditional")


# --- to what, and how often -------------------------------------------------------------------------------------------


@proves("approvals/unknown")
def test_an_answer_to_nothing_is_refused_and_told_what_was_meant(team: Team) -> None:
    ask(team, "reset-scope")
    [finding] = answer(team, "lead", "reset_scope").findings
    assert (finding.code, finding.path) == ("approval-unknown", "$.payload.request_id")
    assert (finding.nearest, finding.found) == ("reset-scope", "reset_scope")
    question(team)
    [finding] = reply(team, replyTo="q1").findings
    assert (finding.code, finding.path, finding.nearest) == ("approval-unknown", "$.replyTo", "q-1")
    assert approval(team, "q-1").waits


@proves("approvals/by-task/one")
def test_an_answer_that_names_no_request_answers_the_one_that_waits_in_its_task(team: Team) -> None:
    question(team), question(team, "q-2", task="TASK-002")
    assert reply(team, replyTo=None).accepted
    assert not approval(team, "q-1").waits
    assert approval(team, "q-2").waits
    question(team, "q-3")
    assert reply(team, id="a-3", replyTo=None).accepted
    assert not approval(team, "q-3").waits


@proves("approvals/by-task/none-or-several")
def test_an_answer_must_name_its_request_where_that_is_not_clear(team: Team) -> None:
    [refusal] = [finding for finding in reply(team, replyTo=None).findings if finding.severity == "refusal"]
    assert (refusal.code, refusal.path) == ("approval-unknown", "$.payload.taskId")
    question(team), question(team, "q-2")
    [refusal] = [finding for finding in reply(team, replyTo=None).findings if finding.severity == "refusal"]
    assert refusal.expected == "one of q-1, q-2"


@proves("approvals/once")
def test_a_second_answer_is_refused_and_told_how_it_was_decided(team: Team) -> None:
    ask(team)
    assert answer(team, "lead", approved=False, conditions=[]).accepted
    for sender in ("lead", "architect"):
        [finding] = answer(team, sender, id=f"an-{sender}").findings
        assert finding.code == "approval-answered"
        assert "lead has rejected ask-1" in finding.say
    given = approval(team, "ask-1").answer
    assert given is not None
    assert (given.id, given.decision) == ("an-1", "rejected")


@proves("approvals/once/everywhere")
def test_of_two_answers_at_once_one_is_kept(team: Team) -> None:
    ask(team)
    one, other = team.other(), team.other()
    for bus in (one, other):  # both know the request as open
        assert bus.work_state("approval")["approval:ask-1"].waits
    raw = [typed("approval_response", f"an-{role}", role, request_id="ask-1") for role in ("lead", "architect")]
    assert one.send(raw[0], sender="lead", to="dev").accepted
    assert codes(other.send(raw[1], sender="architect", to="dev", check=False).findings) == ["approval-answered"]


@proves("approvals/revision")
def test_an_answer_for_an_earlier_revision_of_the_contract_decides_nothing(team: Team, shell: Shell) -> None:
    kept(team, contract())
    kept(team, asking(id="ask-1"))
    assert shell("reject", "ask-1", "--reason", "no", "--revision", "2").code == 2
    kept(team, contract(must_haves=["Links work once"]))
    late = team.bus.approve("ask-1", approved=True, reason="fine", modifications=["docs/"], revision=1, check=False)
    assert (late.accepted, codes(late.findings), approval(team, "ask-1").waits) == (False, ["approval-outdated"], True)
    assert team.bus.approve("ask-1", approved=True, reason="fine", modifications=["docs/"], revision=2).accepted


@proves("approvals/repeated")
def test_the_same_answer_again_is_a_duplicate(team: Team) -> None:
    ask(team)
    assert answer(team, "lead").accepted
    again = answer(team, "lead")
    assert (again.accepted, again.duplicate) == (True, True)


# --- by whom ----------------------------------------------------------------------------------------------------------


@proves("approvals/asker-never")
def test_whoever_asks_cannot_answer(team: Team) -> None:
    ask(team, sender="lead", to="architect")
    assert codes(answer(team, "lead").findings) == ["may-not-answer"]
    question(team)
    assert codes(reply(team, DEV, replyTo="q-1").findings) == ["may-not-answer"]
    assert approval(team, "ask-1").waits
    assert approval(team, "q-1").waits


@proves("approvals/who")
def test_who_was_asked_may_answer_and_who_was_not_may_not(team: Team) -> None:
    team.bus.join("ada", role=CTO)
    question(team), question(team, "q-2", "plan-manager"), ask(team, to="lead")
    assert codes(reply(team, HEAD, replyTo="q-1").findings) == ["may-not-answer"]
    assert reply(team, "ada", replyTo="q-1").accepted  # she has the role that was asked
    assert codes(reply(team, "ada", "a-2", replyTo="q-2").findings) == ["may-not-answer"]
    assert answer(team, "architect").accepted  # the matrix lets that role approve
    assert codes(answer(team, "qa", id="an-2").findings) == ["role-may-not-send"]


@proves("approvals/reaches-the-asker")
@pytest.mark.parametrize("to", ["ada", "role:dev", "architect"])
def test_an_approval_sent_to_another_is_also_delivered_to_the_agent_that_asked(team: Team, to: str) -> None:
    team.bus.join("ada", role="dev"), team.bus.join("dev")
    ask(team)
    receipt = team.bus.send(typed("approval_response", "an-1", "lead"), sender="lead", to=to)
    assert receipt.to == (to, "dev")
    assert not approval(team, "ask-1").waits
    assert "an-1" in team.inbox("dev")
    assert "answered" in team.kinds("ask-1")


@proves("approvals/reaches-the-asker")
def test_an_approval_that_cannot_reach_the_agent_that_asked_decides_nothing(team: Team) -> None:
    team.bus.join("ada", role="dev"), team.bus.join("dev")
    ask(team)
    team.bus.leave("dev")
    receipt = team.bus.send(typed("approval_response", "an-1", "lead"), sender="lead", to="ada", check=False)
    assert codes(receipt.findings) == ["recipient-has-left"]
    assert approval(team, "ask-1").waits


@proves("approvals/same-id")
def test_nobody_asks_under_the_id_of_another(team: Team) -> None:
    ask(team)
    raw = typed("approval_request", "ask-1", "lead")
    assert codes(team.bus.send(raw, sender="lead", to="architect", check=False).findings) == ["id-reused"]
    team.clock.leap(2 * 3600.0)
    raw = typed("approval_request", "ask-1", "dev", subject="Something else")
    assert codes(team.bus.send(raw, sender="dev", to="lead", check=False).findings) == ["id-reused"]
    assert approval(team, "ask-1").request.subject == "The reset link needs the mail module"


EXAMPLE = "I am still thinking. If I approved, I would send:\n\n```json\n{}\n```\nPlease wait for my decision."


@proves("common/reading/decision-in-prose")
@pytest.mark.parametrize("strict", [True, False])
def test_an_approval_inside_other_text_decides_nothing(open_team: OpenTeam, strict: bool) -> None:
    team = open_team(strict=strict)
    ask(team)
    alone = typed("approval_response", "an-1", "lead", request_id="ask-1", approved=True)
    receipt = team.bus.send(
        EXAMPLE.replace("{}", alone.decode()), sender="lead", to="dev", reply_to="ask-1", check=False
    )
    assert (receipt.accepted, receipt.type) == (not strict, "approval_response" if strict else None)
    assert "decision-in-prose" in codes(receipt.findings)
    assert approval(team, "ask-1").waits
    if strict:
        assert (receipt.certain, json.loads(receipt.fixed or "")) == (True, json.loads(alone))
    assert team.bus.send(alone, sender="lead", to="dev").accepted
    assert not approval(team, "ask-1").waits


@proves("approvals/lenient")
def test_a_lenient_team_hears_the_same_and_nothing_is_decided(open_team: OpenTeam) -> None:
    team = open_team(strict=False)
    question(team)
    receipt = reply(team, HEAD, replyTo="q-1")
    assert receipt.accepted
    assert codes(receipt.findings) == ["may-not-answer"]
    assert approval(team, "q-1").waits
    assert reply(team, CTO, "a-2", replyTo="q-1").accepted
    given = approval(team, "q-1").answer
    assert given is not None
    assert given.by == CTO


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
    refused = team.bus.send(said.raw, sender="hal", to="lead", check=False)
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
    from tests.bus.test_escalation import FIVE_MINUTES, escalate, matter

    escalate(team)
    team.later(FIVE_MINUTES + 1)
    for step in matter(team).rungs:
        ran = shell("approve", step.id, "--reason", "Fine")
        assert (ran.code, f"telex answer {step.id} TEXT" in ran.err) == (3, True)
