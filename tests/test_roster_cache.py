"""Cache of the roster and of routes: every change of the team reaches the next send, and nothing else makes it read."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import telex
from telex.client import SyncBus, run_sync
from telex.clock import SteadyClock
from telex.config import Settings
from telex.delivery.validator_cache import OPENED_AFTER
from telex.dialects.builtin.vbw_typed import EXECUTION_UPDATE
from telex.model.roster import Member
from telex.ports.bus import Receipt
from telex.stores.sqlite.connection import SqliteConnection
from telex.stores.sqlite.reads import SqliteReads
from tests.bus_team import OpenTeam, Team, codes, open_team, team
from tests.contract_team import typed

__all__ = ["open_team", "team"]  # fixtures
Buses = Callable[[Team], tuple[SyncBus, SyncBus]]


class Ticking:
    """A clock that goes on by a moment whenever it is read, so that nothing is new enough to be believed."""

    def __init__(self) -> None:
        self.now = 1_790_000_000.0

    def __call__(self) -> float:
        self.now += 0.05
        return self.now


def update(bus: SyncBus, number: int, **who: Any) -> Receipt:
    return bus.send(json.dumps(typed(EXECUTION_UPDATE, id=f"u-{number}")).encode(), **who)


def warmed(bus: SyncBus, **who: Any) -> None:
    """So many messages that the route is cached and the validator compiled."""
    for number in range(-OPENED_AFTER - 2, 0):
        assert update(bus, number, **who).accepted


def test_messages_of_other_processes_do_not_make_a_sender_read_the_roster_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ticking, files, members = Ticking(), list[SqliteConnection](), SqliteReads.members

    def counted(reads: SqliteReads) -> list[Member]:
        files.append(reads.file)
        return members(reads)

    monkeypatch.setattr(SqliteReads, "members", counted)
    store, clock = tmp_path / "telex.db", SteadyClock(wall=ticking, monotonic=ticking)
    with telex.connect(store, settings=Settings(), clock=clock) as bus, telex.connect(store) as other:
        for number in range(30):
            assert update(bus, number, sender="dev", to="lead").accepted
            assert other.send("all is well", sender="lead", to="dev").accepted
            if number == 2:  # both have joined by now
                files.clear()
        assert bus._bus.store._file not in files  # type: ignore[attr-defined]


@pytest.fixture(params=["the same process", "another process"])
def buses(request: pytest.FixtureRequest) -> Buses:
    """The bus that sends, and the one through which the team changes."""
    is_same = request.param == "the same process"
    return lambda team: (team.bus, team.bus if is_same else team.other())


def test_a_member_that_joins_gets_the_next_broadcast(team: Team, buses: Buses) -> None:
    (bus, other), who = buses(team), {"sender": "dev", "to": "all:lead"}
    warmed(bus, **who)
    other.join("lena", role="lead")
    assert "lena" in update(bus, 1, **who).to


def test_a_member_that_has_left_gets_nothing_more(team: Team, buses: Buses) -> None:
    (bus, other), who = buses(team), {"sender": "dev", "to": "lena"}
    bus.join("lena", role="lead")
    warmed(bus, **who)
    other.leave("lena")
    assert codes(update(bus, 1, **who).findings) == ["recipient-has-left"]


def test_a_member_that_comes_back_in_another_role_sends_in_that_role(team: Team, buses: Buses) -> None:
    (bus, other), who = buses(team), {"sender": "ada", "to": "lead"}
    bus.join("ada", role="dev")
    warmed(bus, **who)
    other.leave("ada")
    other.join("ada", role="qa")
    assert "role-may-not-send" in codes(update(bus, 1, **who).findings)


def test_the_activity_of_a_sender_is_written_down_now_and_then(open_team: OpenTeam) -> None:
    silent_seconds, seen = 0.1, set[float]()
    team = open_team(silent_seconds=silent_seconds)
    for number in range(200):
        team.clock.leap(silent_seconds / 50)
        assert update(team.bus, number, sender="dev", to="lead").accepted
        [seen_at] = [
            one.seen_at
            for one in run_sync(team.bus._bus.store.read(lambda reads: reads.members()))
            if one.name == "dev"
        ]
        assert seen_at is not None
        assert team.clock.now() - seen_at < silent_seconds, "it would be shown as silent"
        seen.add(seen_at)
    assert 3 < len(seen) < 20, "not for every message"
