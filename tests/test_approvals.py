"""Approvals: what waits, who may answer, and that it is answered once."""

import json
from typing import Any

import pytest

from telex.ports.bus import Receipt
from telex.work.approvals import Approval
from tests.bus_team import OpenTeam, Shell, Team, codes, flow, open_team, shell, speech_of, team
from tests.proofs import proves

__all__ = ["open_team", "shell", "team"]

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
    return team.other().send(raw, sender=sender, to="dev")


def reply(team: Team, sender: str = CTO, id: str = "a-1", task: str = "TASK-001", **changes: Any) -> Receipt:
    tree = json.loads(flow("VALIDATION_RESPONSE", id, sender, DEV, task, **changes))
    if tree.get("replyTo") is None:
        del tree["replyTo"]
    return team.other().send(tree, sender=sender)


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
    assert codes(other.send(raw[1], sender="architect", to="dev").findings) == ["approval-answered"]


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
    receipt = team.bus.send(typed("approval_response", "an-1", "lead"), sender="lead", to="ada")
    assert codes(receipt.findings) == ["recipient-has-left"]
    assert approval(team, "ask-1").waits


@proves("approvals/same-id")
def test_nobody_asks_under_the_id_of_another(team: Team) -> None:
    ask(team)
    raw = typed("approval_request", "ask-1", "lead")
    assert codes(team.bus.send(raw, sender="lead", to="architect").findings) == ["id-reused"]
    team.clock.leap(2 * 3600.0)
    raw = typed("approval_request", "ask-1", "dev", subject="Something else")
    assert codes(team.bus.send(raw, sender="dev", to="lead").findings) == ["id-reused"]
    assert approval(team, "ask-1").request.subject == "The reset link needs the mail module"


EXAMPLE = "I am still thinking. If I approved, I would send:\n\n```json\n{}\n```\nPlease wait for my decision."


@proves("common/reading/decision-in-prose")
@pytest.mark.parametrize("strict", [True, False])
def test_an_approval_inside_other_text_decides_nothing(open_team: OpenTeam, strict: bool) -> None:
    team = open_team(strict=strict)
    ask(team)
    alone = typed("approval_response", "an-1", "lead", request_id="ask-1", approved=True)
    receipt = team.bus.send(EXAMPLE.replace("{}", alone.decode()), sender="lead", to="dev", reply_to="ask-1")
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
