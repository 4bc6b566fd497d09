"""Same through every door: the team and its work, at hand, over HTTP and by the tools of MCP."""

import json
from typing import Any

import pytest

from telex.errors import InvalidValue, NotFound
from tests.bus.bus_team import codes, join_refused, speech_of
from tests.proofs import proves
from tests.surfaces.surfaces_kit import Door, door, note, state, take, wide_door
from tests.work.contract_team import ask, close, contract, report

__all__ = ["door", "wide_door"]  # fixtures, found by their names

BACKOFF_SECONDS = 60.0  # longer than any wait before a next attempt


# --- the log ----------------------------------------------------------------------------------------------------------


@proves("surfaces/states")
def test_the_states_of_many_messages_are_told_at_once(wide_door: Door) -> None:
    note(wide_door)
    wide_door.bus.join("ada", role="lead")
    wide_door.bus.ack(take(wide_door).token, agent="lead")
    wide_door.bus.send("Good morning", sender="dev", to="*", id="n-2")
    take(wide_door)
    refused = wide_door.bus.send({"type": "dev_blocker"}, sender="dev", to="lead", id="n-3", check=False)
    assert not refused.accepted
    first, second, third = (wide_door.bus.why(id_)[-1].message.seq for id_ in ("n-1", "n-2", "n-3"))
    assert wide_door.bus.states([third, first, second, 0, 9_999, -1]) == [
        (third, "refused", 0, 0),
        (first, "acked", 1, 1),
        (second, "leased", 2, 0),
    ]
    with pytest.raises(InvalidValue):
        wide_door.bus.states([1] * 1_001)


@proves("surfaces/conversations")
def test_conversations_are_counted_by_the_bus_and_paged(wide_door: Door) -> None:
    for number in range(9):
        wide_door.bus.send("Hello", sender="dev", to="lead", correlation=f"c-{number % 3}")
    page = wide_door.bus.conversations(limit=2)
    assert [(one.correlation, one.messages, one.senders) for one in page.conversations] == [
        ("c-2", 3, ("dev",)),
        ("c-1", 3, ("dev",)),
    ]
    rest = wide_door.bus.conversations(before=page.next)
    assert ([one.correlation for one in rest.conversations], rest.next) == (["c-0"], None)


# --- the team ---------------------------------------------------------------------------------------------------------


@proves("surfaces/roster")
def test_who_is_there_and_what_waits_for_them(door: Door) -> None:
    note(door)
    assert door.bus.join("ada", role="dev").role == "dev"
    found = {one.member.name: one for one in door.bus.roster()}
    assert found["ada"].state == "here"
    note(door, "n-2", to="ada")
    found = {one.member.name: one for one in door.bus.roster()}
    assert (found["ada"].waiting, found["ada"].leased) == (1, 0)


@proves("surfaces/join-refused")
def test_joining_with_a_dialect_that_nobody_has_is_refused(door: Door) -> None:
    for dialect, code in (("klingon", "dialect-unknown"), ("build-flow@9.9", "version-unknown")):
        assert join_refused(door.bus, "ada", role="dev", dialects=["signal-md", dialect]).code == code


@proves("surfaces/leave")
def test_what_waited_for_whoever_leaves_is_taken_back(wide_door: Door) -> None:
    wide_door.bus.join("ada", role="dev")
    note(wide_door, to="ada")
    assert wide_door.bus.leave("ada") == 1
    assert state(wide_door, "n-1") == "withdrawn"
    with pytest.raises(NotFound):
        wide_door.bus.leave("nobody")


@proves("surfaces/out-means-out")
def test_who_was_forced_out_does_not_bring_itself_back(wide_door: Door) -> None:
    wide_door.bus.join("ada", role="dev")
    wide_door.bus.shut_down(agent="lead", reason="user_abort", deadline=0.0, force=True)
    for how in ({}, {"role": "dev", "by": "ada"}):
        assert join_refused(wide_door.bus, "ada", **how).code == "sender-has-shut-down"
    refused = wide_door.bus.send("here", sender="ada", role="dev", to="lead", check=False)
    assert codes(refused.findings) == ["sender-has-shut-down"]
    assert wide_door.bus.join("ada", by="lead").role == "dev"


@proves("surfaces/shut-down")
def test_a_team_is_shut_down_and_whoever_is_silent_is_named(wide_door: Door) -> None:
    note(wide_door)
    take(wide_door)
    found = wide_door.bus.shut_down(agent="lead", reason="phase_complete", deadline=0.2)
    assert not found.dissolved
    assert [(agent.member.name, agent.state) for agent in found.agents] == [("dev", "silent")]
    assert found.requests


# --- the work ---------------------------------------------------------------------------------------------------------


def agreed(door: Door, **words: Any) -> None:
    receipt = door.bus.send(json.dumps(contract("P", **words)), sender="lead", to="dev")
    assert receipt.accepted, receipt.findings


@proves("surfaces/guard")
def test_a_path_is_allowed_or_refused_with_the_request_to_send(door: Door) -> None:
    agreed(door)
    inside, outside = door.bus.guard(["src/a.py", "docs/a.md"], agent="dev")
    assert (inside.allowed, inside.plan) == (True, "P")
    assert (outside.allowed, outside.code, outside.ask_to) == (False, "path-outside-contract", "lead")
    assert outside.ask is not None
    assert outside.ask["type"] == "approval_request"
    with pytest.raises(NotFound):
        door.bus.guard(["src/a.py"], agent="dev", plan="Q")


@proves("surfaces/contract")
def test_a_report_outside_its_contract_is_refused(door: Door) -> None:
    agreed(door)
    receipt = door.bus.send(json.dumps(report(files=["docs/a.md"])), sender="dev", to="lead", check=False)
    assert "path-outside-contract" in codes(receipt.findings)


@proves("contracts/close", "surfaces/contract")
def test_a_contract_holds_at_every_door_until_it_is_closed(door: Door) -> None:
    agreed(door, tasks=["T1"])
    assert door.bus.send(json.dumps(report(status="complete")), sender="dev", to="lead").accepted
    assert not door.bus.guard(["docs/a.md"], agent="dev")[0].allowed
    assert door.bus.send(json.dumps(close("P")), sender="lead", to="dev").accepted
    assert door.bus.guard(["docs/a.md"], agent="dev")[0].allowed


@proves("surfaces/approve")
def test_a_person_approves_and_whoever_asked_is_given_the_answer(wide_door: Door) -> None:
    agreed(wide_door)
    request = ask(subject="May I touch docs?")
    assert wide_door.bus.send(json.dumps(request), sender="dev", to="lead").accepted
    receipt = wide_door.bus.approve(request["id"], approved=True, reason="go on", agent="lead", modifications=["docs/"])
    assert receipt.accepted, receipt.findings
    assert wide_door.bus.guard(["docs/a.md"], agent="dev")[0].allowed
    again = wide_door.bus.approve(request["id"], approved=False, reason="no", agent="lead", check=False)
    assert codes(again.findings) == ["approval-answered"]
    [approval] = wide_door.bus.work_state("approval").values()
    assert (approval.answer.decision, approval.answer.by, approval.waits) == ("approved", "lead", False)
    with pytest.raises(NotFound):
        wide_door.bus.approve("no-such", approved=True, reason="go on")
    nothing = ask(subject="May I touch more?")
    assert wide_door.bus.send(json.dumps(nothing), sender="dev", to="lead").accepted
    asked = wide_door.bus.approve(nothing["id"], approved=True, reason="go on", check=False)
    assert (asked.accepted, codes(asked.findings)) == (False, ["approval-widens-nothing"])


@proves("surfaces/stall")
def test_who_waits_for_whom_is_told(wide_door: Door) -> None:
    assert wide_door.bus.stall().waits == ()
    agreed(wide_door)
    assert wide_door.bus.send(json.dumps(ask()), sender="dev", to="lead").accepted
    waits = wide_door.bus.stall().waits
    assert [(wait.who, wait.whom) for wait in waits] == [("dev", "lead")]


@proves("surfaces/escalations")
def test_what_was_escalated_is_listed_until_it_is_answered(wide_door: Door) -> None:
    assert wide_door.bus.escalations() == []
    raw = speech_of("vbw-company", "escalation", **{"from": "dev", "to": "senior"}).raw
    receipt = wide_door.bus.send(raw, sender="dev", to="senior", id="e-1")
    assert receipt.accepted, receipt.findings
    [matter] = wide_door.bus.escalations()
    assert (matter.id, matter.by, matter.now.level) == ("e-1", "dev", "senior")
    assert wide_door.bus.send("Done.", sender="senior", to="dev", reply_to="e-1").accepted
    assert wide_door.bus.escalations() == []
    assert [one.answered_by for one in wide_door.bus.escalations(answered=True)] == ["senior"]


# --- dead letters -----------------------------------------------------------------------------------------------------


def died(door: Door, id: str) -> None:
    note(door, id)
    while door.bus.nack(take(door).token, agent="lead", reason="no table").state != "dead":
        door.leap(BACKOFF_SECONDS)


@proves("surfaces/dead-letters")
def test_dead_letters_are_listed_given_another_turn_or_dropped(wide_door: Door) -> None:
    died(wide_door, "n-1")
    died(wide_door, "n-2")
    assert {message.id for _, message in wide_door.bus.dead_letters()} == {"n-1", "n-2"}
    assert wide_door.bus.retry("n-1") == 1
    [retried] = [event for event in wide_door.bus.why("n-1")[0].events if event.kind == "retried"]
    assert (retried.agent, retried.inbox) == ("human", "lead")
    assert take(wide_door).message.id == "n-1"
    assert wide_door.bus.drop("n-2", reason="nobody needs it") == 1
    assert wide_door.bus.dead_letters() == []
    with pytest.raises(NotFound):
        wide_door.bus.retry("n-2")
