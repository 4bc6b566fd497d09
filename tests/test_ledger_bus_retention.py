"""How long is anything kept? Everything for thirty days, what still waits for as long as it waits."""

import pytest

from telex.errors import NotFound
from telex.ports.store import Query
from tests.bus_team import OpenTeam, Team, flow, open_team, team
from tests.proofs import proves

__all__ = ["open_team", "team"]

DAY = 86_400.0


def tidied(team: Team) -> None:
    """Let somebody look a few times: housekeeping goes in small steps."""
    for _ in range(6):
        team.later(2.0)


def is_kept(team: Team, id_: str) -> bool:
    try:
        return team.story(id_).message.id == id_
    except NotFound:
        return False


@proves("bus/retention/thirty-days")
def test_a_message_is_kept_and_found_for_thirty_days_and_then_gone(team: Team) -> None:
    id_ = team.note("The build is violet.")
    team.taken()
    team.later(30 * DAY - 60)
    tidied(team)
    assert is_kept(team, id_)
    assert [message.id for message in team.bus.search("violet")] == [id_]
    young = team.note()
    team.later(120)
    tidied(team)
    assert not is_kept(team, id_)
    assert team.bus.search("violet") == []
    told = team.bus.events(Query(kinds=("accepted", "leased", "acked")))
    assert [message.id if message else None for _, message in told] == [young]


@proves("bus/retention/setting")
def test_a_team_may_choose_how_long(open_team: OpenTeam) -> None:
    team = open_team(retention_seconds=60.0)
    id_ = team.note()
    team.taken()
    team.note()
    team.later(61.0)
    tidied(team)
    assert not is_kept(team, id_)


@proves("bus/retention/waiting")
@pytest.mark.parametrize("state", ["stored", "leased"])
def test_what_still_waits_is_never_pruned(team: Team, state: str) -> None:
    id_ = team.note()
    if state == "leased":
        team.take(lease=50 * DAY)
    team.later(40 * DAY)
    tidied(team)
    assert team.story(id_).state == state


@proves("bus/retention/waiting")
def test_a_request_is_never_pruned_before_its_answer_is_due(open_team: OpenTeam) -> None:
    team = open_team(request_seconds=60 * DAY)
    team.bus.send(flow("DOC_QUERY", "q-1", "cto", "plan-manager"), sender="cto")
    assert team.taken("plan-manager") == ["q-1"]
    team.later(40 * DAY)
    tidied(team)
    assert team.story("q-1").answer_by is not None


@proves("bus/retention/each-event")
def test_what_happened_late_to_a_message_is_kept_for_thirty_days_as_well(team: Team) -> None:
    id_ = team.note()
    team.later(40 * DAY)
    assert team.taken() == [id_]
    tidied(team)
    assert team.story(id_).state == "acked"
    team.later(29 * DAY)
    assert team.kinds(id_)[-1] == "acked"
    team.later(2 * DAY)
    tidied(team)
    assert not is_kept(team, id_)


@proves("bus/retention/each-event")
def test_a_letter_that_died_late_can_still_be_retried(team: Team) -> None:
    id_ = team.note()
    team.later(40 * DAY)
    team.fail()
    tidied(team)
    assert [message.id for _, message in team.bus.dead_letters()] == [id_]
    assert team.bus.retry(id_) == 1


@proves("bus/retention/small-steps")
def test_pruning_goes_in_small_steps(team: Team) -> None:
    for number in range(450):
        team.bus.send(b" ", sender="dev", to="lead", id=f"n-{number}")
    team.clock.leap(31 * DAY)
    left = []
    for _ in range(4):
        team.later(2.0)
        left.append(len(list(team.bus.events(Query(kinds=("refused",))))))
    assert left == [250, 50, 1, 1]  # the last event of a store stays, to count on from
