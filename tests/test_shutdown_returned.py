"""What becomes of the work of an agent that stops? Nothing is lost, whoever is killed meanwhile."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from telex.config import Settings
from telex.connection import connect
from telex.errors import LeaseLost
from tests.bus_team import Team, open_team, team
from tests.proofs import proves
from tests.shutdown_kit import PHASE, agrees, joined, request, states

__all__ = ["open_team", "team"]


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
