"""How did things stand at that time? Asked at the command line, where nothing but the log is left of it."""

from typing import Any

import pytest

from telex.bus import run_sync
from telex.bus.local import LocalBus
from telex.model.message import Event
from telex.model.roster import Member
from telex.ports.store import EVERYTHING, events_with_messages
from telex.replay.time_travel import as_it_was
from telex.stores.memory import MemoryStore
from telex.surfaces.cli.render import stamp
from telex.testing import FakeClock
from tests.bus.bus_team import Shell, Team, flow, open_team, shell, speech_of, team
from tests.proofs import proves
from tests.work.test_work_state import DIALECTS

__all__ = ["open_team", "shell", "team"]


@pytest.fixture
def moments(team: Team) -> list[str]:
    """A contract, its request for more, and an answer; and when each of these had happened."""
    found = []

    def pass_by() -> None:
        found.append(stamp(team.clock.now()))
        team.later(1.0)

    pass_by()
    team.bus.join("dev-2", role="dev")
    team.say(speech_of("vbw-typed", "plan_contract", "c1"), to="dev-2")
    team.bus.send(flow("TASK_ASSIGNMENT", "t1", "build-orchestrator", "dev-2"), sender="build-orchestrator")
    pass_by()
    team.say(speech_of("vbw-typed", "approval_request", "ask-1"), to="lead")
    lease = team.take("dev-2")
    pass_by()
    team.bus.ack(lease.token, agent="dev-2")
    team.say(speech_of("vbw-typed", "approval_response", "yes", author_role="lead"), to="dev")
    team.bus.leave("dev-2")
    pass_by()
    return found


def state(shell: Shell, until: str) -> dict[str, Any]:
    """By what it is and its name: how it was."""
    lines = shell("replay", "--until", until, "--json").answers
    members = {f"member {line['name']}": line["state"] for line in lines if line["what"] == "member"}
    deliveries = {
        f"delivery {line['id']}": (line["inbox"], line["state"]) for line in lines if line["what"] == "delivery"
    }
    topics = {line["topic"]: line["state"] for line in lines if line["what"] == "topic"}
    return members | deliveries | topics


@proves("replay/until")
def test_each_moment_is_told_as_it_was(moments: list[str], shell: Shell) -> None:
    before, agreed, asked, over = (state(shell, moment) for moment in moments)
    assert before == {}
    assert agreed["delivery c1"] == ("dev-2", "stored")
    assert agreed["member dev-2"] == "here"
    assert agreed["plan:1-1"]["revisions"][0]["number"] == 1
    assert "approval:ask-1" not in agreed
    assert "leased" in (asked["delivery c1"][1], asked["delivery t1"][1])
    assert asked["approval:ask-1"]["answer"] is None
    assert over["approval:ask-1"]["answer"]["decision"] == "conditional"
    assert over["member dev-2"] == "left"
    assert not {"delivery c1", "delivery t1"} & over.keys()


@proves("replay/until")
def test_a_person_reads_it_as_tables(moments: list[str], shell: Shell) -> None:
    seen = shell("replay", "--until", moments[2])
    assert seen.code == 0
    for title in ("Team", "Inboxes", "Contracts", "Approvals", "Tasks"):
        assert f"\n{title}\n" in seen.out
    assert "waits" in seen.out
    assert "assigned" in seen.out
    assert "the log has no event" in shell("replay", "--until", moments[0]).err
    assert shell("replay", "--until", "yesterday").code == 64


@proves("replay/until")
def test_who_came_before_the_record_begins_is_there_all_the_same() -> None:
    early = Member("dev-2", "dev", joined_at=1.0, left_at=500.0)
    late = Member("qa", "qa", joined_at=400.0)
    events: list[Any] = [(Event(9, 100.0, "joined", "lead", detail='{"role": "lead"}'), None)]
    was = as_it_was(events, DIALECTS, [early, late])
    assert {name: member.is_here for name, member in was.members.items()} == {"lead": True, "dev-2": True}


@proves("replay/moment")
def test_what_went_to_many_is_told_by_the_event_that_brought_it() -> None:
    store, clock = MemoryStore(), FakeClock()
    bus = LocalBus(store, clock)
    for name in ("dev-1", "dev-2", "qa"):
        run_sync(bus.join(name, role=name.partition("-")[0]))
    assert run_sync(bus.send("Stop.", sender="lead", to="*")).to == ("dev-1", "dev-2", "qa")
    assert run_sync(bus.send("Devs.", sender="lead", to="all:dev")).to == ("dev-1", "dev-2")
    was = as_it_was(run_sync(store.read(events_with_messages, EVERYTHING, 1_000)), DIALECTS)
    assert sorted(delivery.inbox for delivery, _ in was.deliveries()) == ["dev-1", "dev-1", "dev-2", "dev-2", "qa"]


@proves("replay/until")
def test_a_moment_that_is_still_to_come_is_now(moments: list[str], shell: Shell) -> None:
    far, near = (shell("replay", "--until", until) for until in ("2999-01-01T00:00:00Z", moments[-1]))
    assert "2999-01-01 00:00:00 UTC is in the future; this is the current state" in far.err
    assert "2999" not in far.out
    assert len(far.out.splitlines()) == len(near.out.splitlines())
    assert "still to come" not in near.err
