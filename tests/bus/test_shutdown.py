"""Answers to a request to shut down, and the messages of an agent that has stopped."""

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from telex.config import Settings
from telex.connection import connect
from telex.errors import LeaseLost, NotAMember
from telex.model.roster import Member
from tests.bus.bus_team import QUICK, OpenTeam, Team, codes, join_refused, speech_of
from tests.bus.shutdown_kit import PHASE, agrees, joined, reply, request, states
from tests.proofs import proves
from tests.stores.store_kit import before_next_transaction

SHUT_DOWN = "sender-has-shut-down"


@pytest.fixture
def asked_team(team: Team) -> Team:
    """ada and kim were asked to stop, with the request stop-1."""
    joined(team, "ada", "kim")
    request(team)
    return team


@proves("shutdown/answer/stops")
def test_an_agent_that_agrees_has_stopped(asked_team: Team) -> None:
    agrees(asked_team, "ada", "stop-1")
    assert {one.member.name: one.state for one in asked_team.bus.roster()}["ada"] == "shut down"
    assert [event.agent for event, _ in asked_team.bus.events() if event.kind == "stopped"] == ["ada"]


@proves("shutdown/answer/at-once")
def test_it_has_stopped_in_the_very_moment_of_its_answer(tmp_path: Path) -> None:
    with connect(tmp_path / "t.db", settings=QUICK) as bus:  # on a clock that goes on
        bus.join("ada", role="dev")
        bus.send(speech_of("vbw-typed", "shutdown_request", "stop-1").raw, sender="lead", to="ada")
        agrees(bus, "ada", "stop-1")
        [heard] = [event.at for event, message in bus.events() if message and message.id == "ada-to-stop-1"]
        assert [event.at for event, _ in bus.events() if event.kind == "stopped"] == [heard]
        assert [one.member.stopped_at for one in bus.roster() if one.member.name == "ada"] == [heard]


@proves("shutdown/answer/nothing-more-sent")
@pytest.mark.parametrize("first", ["send", "receive"])
def test_who_acts_for_it_elsewhere_without_having_heard_does_not_bring_it_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, first: str
) -> None:
    """One process takes ada for new and is about to write that down; meanwhile another was ada, and has shut down."""
    with connect(tmp_path / "t.db", settings=QUICK) as here, connect(tmp_path / "t.db", settings=QUICK) as there:

        def shut_down() -> None:
            there.join("ada", role="dev")
            there.send(speech_of("vbw-typed", "shutdown_request", "stop-1").raw, sender="lead", to="ada")
            agrees(there, "ada", "stop-1")

        before_next_transaction(monkeypatch, here._bus.store, shut_down)
        if first == "send":
            receipt = here.send("I am new here", sender="ada", role="dev", to="lead", check=False)
            assert (receipt.accepted, codes(receipt.findings)) == (False, [SHUT_DOWN])
        else:
            with pytest.raises(NotAMember, match="ada has shut down"):
                here.receive("ada", role="dev")
        assert not here.send("still here", sender="ada", to="lead", check=False).accepted
        assert isinstance(here.join("ada", role="dev", by="lead"), Member)
        assert here.send("back again", sender="ada", to="lead").accepted


@proves("shutdown/answer/nothing-more-sent")
@pytest.mark.parametrize("strict", [True, False], ids=["strict", "lenient"])
def test_nothing_more_is_accepted_from_it(open_team: OpenTeam, strict: bool) -> None:
    team = open_team(strict=strict)
    joined(team, "ada")
    request(team)
    update = speech_of("vbw-typed", "execution_update").tree
    updates = [json.dumps(update | {"id": f"update-{number}"}).encode() for number in range(20)]
    assert all(
        team.bus.send(raw, sender="ada", to="lead").accepted for raw in updates
    )  # the validator is compiled by now
    agrees(team, "ada", "stop-1")
    raw = json.dumps(update | {"id": "one-more"}).encode()
    for role in (None, "dev", "qa"):
        for to in ("lead", "*", "role:lead"):
            receipt = team.bus.send(raw, sender="ada", role=role, to=to, check=False)
            assert (receipt.accepted, codes(receipt.findings)) == (False, [SHUT_DOWN])
    assert codes(team.bus.send("wait!", sender="@agent-Ada", to="lead", check=False).findings) == [SHUT_DOWN]


@proves("shutdown/answer/nothing-more-sent")
def test_another_process_in_its_name_is_refused_as_well(asked_team: Team) -> None:
    other = asked_team.other()
    assert other.send("all is well", sender="ada", to="lead").accepted
    agrees(asked_team, "ada", "stop-1")
    asked_team.clock.leap(0.01)
    assert codes(other.send("all is well", sender="ada", to="lead", check=False).findings) == [SHUT_DOWN]


@proves("shutdown/answer/nothing-more-leased")
def test_nothing_more_is_handed_to_it(asked_team: Team) -> None:
    agrees(asked_team, "ada", "stop-1")
    with pytest.raises(NotAMember) as told:
        asked_team.bus.receive("ada", role="dev")
    assert told.value.code == SHUT_DOWN
    assert asked_team.inbox("ada") == []


@proves("shutdown/answer/nothing-more-leased")
def test_whoever_waits_in_its_name_is_told(asked_team: Team) -> None:
    asked_team.taken("ada")
    other = asked_team.other()

    def meanwhile() -> None:
        asked_team.clock.meanwhile = None
        agrees(asked_team, "ada", "stop-1")

    asked_team.clock.meanwhile = meanwhile
    with pytest.raises(NotAMember) as told:
        other.receive("ada", wait=30.0)
    assert told.value.code == SHUT_DOWN


@proves("shutdown/answer/nothing-more-received")
def test_nobody_can_send_to_it(asked_team: Team) -> None:
    agrees(asked_team, "ada", "stop-1")
    assert codes(asked_team.bus.send("hello", sender="kim", to="ada", check=False).findings) == ["recipient-has-left"]
    assert "shut down" in asked_team.bus.send("hello", sender="kim", to="ada", check=False).findings[0].say
    assert asked_team.bus.send("hello", sender="lead", to="*").to == ("kim",)
    assert asked_team.bus.send("hello", sender="lead", to="all:dev").to == ("kim",)


@proves("shutdown/answer/repeated")
@pytest.mark.parametrize("to", ["lead", None], ids=["to", "target_role"])
def test_it_may_repeat_its_last_words(asked_team: Team, to: str | None) -> None:
    response = speech_of("vbw-typed", "shutdown_response", target_role="lead").tree
    first = asked_team.bus.send(response, sender="ada", to=to)
    again = asked_team.bus.send(response, sender="ada", to=to)
    assert (first.accepted, again.accepted, again.duplicate) == (True, True, True)
    other = response | {"task": "other words"}
    assert codes(asked_team.bus.send(other, sender="ada", to=to, check=False).findings) == [SHUT_DOWN]


@proves("shutdown/answer/acks-the-request")
def test_the_answer_settles_the_request(asked_team: Team) -> None:
    leased = asked_team.take("ada")
    agrees(asked_team, "ada", "stop-1")
    assert asked_team.bus.ack(leased.token, agent="ada") is False
    agrees(asked_team, "kim", "stop-1")
    outcome = {delivery.inbox: delivery.state for delivery in asked_team.story("stop-1").deliveries}
    assert outcome == {"ada": "acked", "kim": "withdrawn"}
    assert asked_team.happened("returned-to-sender") == []
    assert [message.sender for _, message in asked_team.bus.inbox("lead")] == ["ada", "kim"]  # and no report of telex


@proves("shutdown/answer/comes-back")
def test_who_has_stopped_comes_back_only_by_a_lead_or_a_person(asked_team: Team) -> None:
    agrees(asked_team, "ada", "stop-1")
    for by in (None, "ada", "kim", "nobody"):
        assert join_refused(asked_team.bus, "ada", role="dev", by=by).code == SHUT_DOWN
    for by in ("lead", "human"):
        back = asked_team.bus.join("ada", by=by)
        assert (back.role, back.stopped_at) == ("dev", None)
        assert asked_team.bus.send("here again", sender="ada", to="lead").accepted
        assert asked_team.bus.receive("ada") == []
        asked_team.bus.shut_down(agent="lead", reason=PHASE, deadline=0.0, force=True)
    assert asked_team.happened("joined")[-1]["by"] == "human"


@proves("shutdown/answer/refused")
def test_an_agent_that_refuses_goes_on_and_may_agree_later(asked_team: Team) -> None:
    for pending in ("tests", "docs"):
        refusal = reply(asked_team, "ada", "stop-1", approve=False, id=f"no-{pending}", pending_work=pending)
        assert refusal.accepted
    assert asked_team.bus.send("still at it", sender="ada", to="lead").accepted
    [book] = asked_team.bus.work_state("shutdown").values()
    assert (book.calls[0].answers["ada"].approved, book.calls[0].answers["ada"].pending) == (False, "docs")
    agrees(asked_team, "ada", "stop-1", id="yes-at-last")
    assert codes(asked_team.bus.send("still at it", sender="ada", to="lead", check=False).findings) == [SHUT_DOWN]


@proves("shutdown/answer/not-asked")
@pytest.mark.parametrize("agent, call, nearest", [("ada", "stop-2", "stop-1"), ("bob", "stop-1", None)])
def test_an_answer_to_nothing_is_refused(asked_team: Team, agent: str, call: str, nearest: str | None) -> None:
    asked_team.bus.join("bob", role="dev")  # after everybody was asked
    receipt = reply(asked_team, agent, call)
    [finding] = receipt.findings
    assert (receipt.accepted, finding.code, finding.path) == (False, "shutdown-not-asked", "$.payload.request_id")
    assert finding.nearest == nearest
    assert asked_team.bus.send("still here", sender=agent, to="lead").accepted


@proves("shutdown/answer/twice")
def test_who_agreed_and_came_back_cannot_agree_again(asked_team: Team) -> None:
    agrees(asked_team, "ada", "stop-1")
    asked_team.bus.join("ada", by="lead")
    assert codes(reply(asked_team, "ada", "stop-1", id="again").findings) == ["shutdown-answered"]
    assert asked_team.bus.send("here again", sender="ada", to="lead").accepted
    asked_team.clock.leap(1.0)
    request(asked_team, "stop-2")
    assert reply(asked_team, "ada", "stop-1", id="again-2").findings[0].nearest == "stop-2"
    agrees(asked_team, "ada", "stop-2")


@proves("shutdown/answer/later-spelling")
def test_the_later_spelling_counts(asked_team: Team) -> None:
    receipt = reply(asked_team, "ada", "stop-1", approve=None, approved=True)  # type: ignore[arg-type]
    assert receipt.accepted
    assert codes(asked_team.bus.send("hello", sender="ada", to="lead", check=False).findings) == [SHUT_DOWN]


@proves("shutdown/answer/lenient")
def test_a_lenient_team_lets_a_wrong_answer_pass_and_nobody_stops(open_team: OpenTeam) -> None:
    team = open_team(strict=False)
    joined(team, "ada")
    request(team)
    receipt = reply(team, "ada", "stop-2")
    assert (receipt.accepted, codes(receipt.findings)) == (True, ["shutdown-not-asked"])
    half = reply(team, "ada", "stop-1", id="half", final_status="finished")
    assert (half.accepted, len(codes(half.findings))) == (True, 1)
    assert team.bus.send("still here", sender="ada", to="lead").accepted


# --- prose -----------------------------------------------------------------------------------------------------------


@proves("shutdown/answer/prose")
@pytest.mark.parametrize("to", ["lead", "role:lead", "*"])
def test_text_is_no_answer_and_its_sender_is_told_how_to_answer(asked_team: Team, to: str) -> None:
    receipt = asked_team.bus.send("Sure, stopping now!", sender="ada", to=to)
    [warning] = receipt.findings
    assert (receipt.accepted, warning.code, warning.severity) == (True, "shutdown-not-answered", "warning")
    begun = json.loads(warning.expected or "")
    assert (begun["type"], begun["payload"]["request_id"]) == ("shutdown_response", "stop-1")
    filled = begun | {"phase": 1, "task": "", "confidence": "high"}
    filled["payload"] |= {"approve": True, "final_status": "idle"}
    assert asked_team.bus.send(filled, sender="ada", to="lead").accepted
    assert codes(asked_team.bus.send("bye", sender="ada", to="lead", check=False).findings) == [SHUT_DOWN]


@proves("shutdown/answer/prose")
def test_text_in_reply_leaves_the_request_waiting(asked_team: Team) -> None:
    asked_team.bus.send("Sure, stopping now!", sender="ada", to="lead", reply_to="stop-1")
    assert (asked_team.story("stop-1").answer_by is not None, asked_team.kinds("stop-1")) == (True, ["accepted"])
    agrees(asked_team, "ada", "stop-1")
    assert "answered" in asked_team.kinds("stop-1")


@proves("shutdown/answer/prose")
def test_the_answer_of_a_coding_tool_is_none_of_ours(asked_team: Team) -> None:
    frame = {"type": "shutdown_response", "request_id": "stop-1", "approve": True}
    receipt = asked_team.bus.send(frame, sender="ada", to="lead")
    assert (receipt.accepted, receipt.findings[-1].code) == (True, "shutdown-not-answered")
    idle = asked_team.bus.send({"type": "idle_notification", "from": "ada"}, sender="ada", to="lead")
    assert [finding.code for finding in idle.findings if finding.code == "shutdown-not-answered"] == []


@proves("shutdown/answer/prose-only")
def test_nobody_else_is_reminded(asked_team: Team) -> None:
    asked_team.bus.join("bob", role="dev")
    update = speech_of("vbw-typed", "execution_update").tree
    assert asked_team.bus.send(update, sender="ada", to="lead").findings == ()
    assert asked_team.bus.send("lunch?", sender="ada", to="kim").findings == ()
    assert asked_team.bus.send("what is up?", sender="bob", to="lead").findings == ()
    assert reply(asked_team, "ada", "stop-1", approve=False).accepted
    assert asked_team.bus.send("as I said", sender="ada", to="lead").findings == ()


def reports_to(team: Team, name: str) -> list[str | None]:
    """What telex has told somebody: about which messages."""
    return [message.reply_to for _, message in team.bus.inbox(name) if message.sender == "telex"]


@proves("shutdown/returned/own-inbox")
def test_what_was_still_in_its_inbox_is_taken_back_and_its_senders_told(team: Team) -> None:
    joined(team, "ada", "kim")
    held, waiting = team.note(sender="kim", to="ada"), team.note(sender="lead", to="ada")
    done = team.note(sender="lead", to="ada")
    team.bus.receive("ada", lease=600.0)
    last = [one for one in team.bus.receive("ada", limit=2) if one.message.id == done]
    assert team.bus.ack(last[0].token, agent="ada")
    report = team.bus.shut_down(agent="lead", reason=PHASE, wait=False)
    agrees(team, "ada", report.requests[0])
    agrees(team, "kim", report.requests[0])
    assert [team.kinds(id_)[-1] for id_ in (held, waiting)] == ["returned-to-sender"] * 2
    assert (reports_to(team, "lead"), team.story(done).state) == ([waiting], "acked")
    report = team.bus.shut_down(agent="lead", reason=PHASE)
    assert report.dissolved
    assert [(one.id, one.sender, one.inbox) for one in report.returned] == [
        (held, "kim", "ada"),
        (waiting, "lead", "ada"),
    ]


@proves("shutdown/returned/shared-inbox")
def test_what_it_holds_of_its_role_goes_to_the_others_at_once(team: Team) -> None:
    joined(team, "ada", "kim")
    work = team.note(sender="lead", to="role:dev")
    [held] = team.bus.receive("ada", lease=600.0)
    assert (held.message.id, held.attempt) == (work, 1)
    request(team)
    agrees(team, "ada", "stop-1")
    assert (team.kinds(work)[-1], reports_to(team, "lead")) == ("returned", [])
    [taken] = [one for one in team.bus.receive("kim", limit=9) if one.message.id == work]
    assert taken.attempt == 1


@proves("shutdown/returned/shared-inbox")
def test_it_settles_nothing_of_its_role_under_an_expired_lease(team: Team) -> None:
    joined(team, "ada", "kim")
    work = team.note(sender="lead", to="role:dev")
    [held] = team.bus.receive("ada")
    team.clock.leap(held.until - team.clock.now() + 0.1)
    team.bus.sweep()
    request(team)
    agrees(team, "ada", "stop-1")
    with pytest.raises(LeaseLost):
        team.bus.ack(held.token, agent="ada")
    with pytest.raises(LeaseLost):
        team.bus.nack(held.token, agent="ada", reason="Not me.")
    assert team.story(work).state == "stored"


@proves("shutdown/returned/last-of-role")
def test_with_the_last_of_a_role_what_waits_for_the_role_is_handed_back(team: Team) -> None:
    joined(team, "dev", "ada")
    work = team.note(sender="lead", to="role:dev")
    request(team)
    agrees(team, "ada", "stop-1")
    assert team.story(work).state == "stored"
    agrees(team, "dev", "stop-1")
    assert team.kinds(work)[-1] == "returned-to-sender"
    assert reports_to(team, "lead") == [work]


class Killed(BaseException):
    """As kill -9 would: nobody catches this."""


@proves("shutdown/returned/killed")
def test_killed_between_the_answer_and_the_hand_back(team: Team, monkeypatch: pytest.MonkeyPatch) -> None:
    joined(team, "ada", "kim")
    own, shared = team.note(sender="lead", to="ada"), team.note(sender="lead", to="role:dev")
    assert len(team.bus.receive("ada", limit=2, lease=600.0)) == 2
    request(team)

    async def killed(*_: object) -> None:
        raise Killed

    monkeypatch.setattr("telex.bus.maintenance.return_messages", killed)
    with pytest.raises(Killed):
        agrees(team, "ada", "stop-1")
    monkeypatch.undo()
    team.bus = team.other()
    before = team.bus.work_state("shutdown")
    assert team.story(own).state == "withdrawn"  # looking is enough: whoever looks sweeps
    for bus in (team.other(), team.other()):
        bus.sweep()
    assert [team.kinds(id_)[-1] for id_ in (own, shared)] == ["returned-to-sender", "returned"]
    assert [one["id"] for one in team.happened("returned-to-sender", "returned")] == [shared, own]
    assert (reports_to(team, "lead"), team.other().work_state("shutdown")) == ([own], before)


@proves("shutdown/returned/killed")
def test_killed_between_the_end_of_the_team_and_the_hand_back(team: Team, monkeypatch: pytest.MonkeyPatch) -> None:
    joined(team, "ada")
    work = team.note(sender="lead", to="ada")

    async def killed(*_: object) -> None:
        raise Killed

    monkeypatch.setattr("telex.bus.shutdown.return_messages", killed)
    with pytest.raises(Killed):
        team.bus.shut_down(agent="lead", reason=PHASE, deadline=0.0, force=True)
    monkeypatch.undo()
    other = team.other()
    other.sweep()
    assert team.kinds(work)[-1] == "returned-to-sender"
    assert other.shut_down(agent="lead", reason=PHASE).dissolved
    assert len(team.happened("dissolved")) == 1


@proves("shutdown/run/threads")
def test_agents_in_threads_of_their_own_all_stop(tmp_path: Path) -> None:
    """On a real clock and a real file: many answers at once belong to one topic, and none may be lost."""
    path, quick = tmp_path / "team.db", Settings(durable=False)
    names = [f"agent-{number}" for number in range(8)]
    with connect(path, settings=quick) as lead:
        lead.join("lead")
        for name in names:
            lead.join(name, role="dev")

        def live(name: str) -> None:
            with connect(path, settings=quick) as bus:
                [leased] = bus.receive(name, wait=30.0)
                agrees(bus, name, leased.message.id)
                bus.ack(leased.token, agent=name)

        with ThreadPoolExecutor(len(names)) as threads:
            living = [threads.submit(live, name) for name in names]
            report = lead.shut_down(agent="lead", reason=PHASE, deadline=30.0)
            for one in living:
                one.result(30.0)
        assert (states(report), report.dissolved) == (dict.fromkeys(names, "approved"), True)
        assert len(report.requests) == 1


@proves("shutdown/returned/forced")
def test_who_was_stopped_by_force_is_not_said_to_have_done_anything(team: Team) -> None:
    joined(team, "ada", "kim")
    request(team)
    assert len(team.bus.receive("ada", lease=600.0)) == len(team.bus.receive("kim", lease=600.0)) == 1
    agrees(team, "kim", "stop-1")
    assert [event.agent for event in team.story("stop-1").events if event.kind == "acked"] == ["kim"]
    assert team.bus.shut_down(agent="lead", reason=PHASE, deadline=0.0, force=True).dissolved
    assert [event.agent for event in team.story("stop-1").events if event.kind == "acked"] == ["kim"]
    assert team.kinds("stop-1")[-1] == "withdrawn"
