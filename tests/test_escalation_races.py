"""What if two look at the clock at once, an answer comes in the moment of a climb, or the lights go out?"""

from typing import Any

import apsw
import pytest

from telex.bus.escalate import escalate_further
from telex.client import run_sync
from telex.errors import TelexError
from telex.ports.store import overdue_requests
from tests.bus_team import Team, open_team, team
from tests.console_examples import FailingCursor
from tests.proofs import proves
from tests.store_kit import before_next_transaction
from tests.test_escalation import FIVE_MINUTES, answered, escalate, levels, matter

__all__ = ["open_team", "team"]  # fixtures


@proves("escalation/climb/once")
def test_two_processes_that_have_seen_the_same_deadline_pass_climb_once(team: Team) -> None:
    buses = [team.bus, team.other(), team.other()]
    escalate(team)
    team.clock.leap(FIVE_MINUTES)
    seen = [
        run_sync(bus._bus.store.read(overdue_requests, team.clock.now(), 9)) for bus in buses
    ]  # before any of them acts
    for bus, [(ask, message, _)] in zip(buses, seen, strict=True):
        assert run_sync(escalate_further(bus._bus._context, ask, message))
    assert levels(team) == ["senior", "lead"]
    assert len(team.inbox("lead")) == 1
    assert team.kinds("e1").count("reply-overdue") == 1


@proves("escalation/answer/race")
def test_an_answer_in_the_very_moment_of_a_climb_ends_it(team: Team, monkeypatch: pytest.MonkeyPatch) -> None:
    escalate(team)
    team.clock.leap(FIVE_MINUTES)
    slow, quick = team.other(), team.other()
    before_next_transaction(monkeypatch, slow._bus.store, quick.sweep)
    assert slow.send("Keep the session.", sender="senior", to="dev", reply_to="e1").accepted
    assert levels(team) == ["senior", "lead"], "the other climbed before the answer was written"
    assert answered(team)
    assert team.bus.escalations() == []
    team.later(FIVE_MINUTES)
    team.later(FIVE_MINUTES)
    assert levels(team) == ["senior", "lead"]
    assert team.story(matter(team).now.id).answer_by is None
    assert team.inbox("architect") == []


@proves("escalation/climb/crash")
@pytest.mark.parametrize("at", ["INSERT", "COMMIT"])
def test_a_climb_and_its_missed_deadline_are_written_together_or_not_at_all(team: Team, at: str) -> None:
    dying = team.other()
    escalate(team)
    team.clock.leap(FIVE_MINUTES)
    file: Any = dying._bus.store._file  # type: ignore[attr-defined]
    file._cursor = FailingCursor(file._cursor, at, apsw.IOError("disk I/O error"))
    with pytest.raises(TelexError):
        dying.sweep()
    assert run_sync(team.bus._bus.store.read(overdue_requests, team.clock.now(), 9)), "still to be counted"
    assert list(team.bus.work_state("escalation")["escalation:e1"].rungs)[1:] == []
    assert levels(team) == ["senior", "lead"]  # whoever looks next climbs
    assert team.kinds("e1").count("reply-overdue") == 1


@proves("escalation/climb/crash")
def test_after_reopening_everything_goes_on_where_it_was(team: Team) -> None:
    escalate(team)
    for expected in (["senior", "lead"], ["senior", "lead", "architect"]):
        team.clock.leap(FIVE_MINUTES)
        reopened = team.other()
        [found] = reopened.escalations()
        assert [rung.level for rung in found.rungs] == expected
        assert found == matter(team)
