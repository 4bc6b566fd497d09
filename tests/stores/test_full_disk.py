"""Tests of a full disk as an agent sees it: acks, nacks, leases and everything that only reads go on."""

import random
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from unittest.mock import patch

import pytest

from telex.bus.local import LocalBus
from telex.client import SyncBus
from telex.errors import RequestTimedOut, StoreFull
from telex.stores.sqlite import connection
from telex.stores.sqlite.store import SqliteStore
from telex.stores.sqlite.transaction import SqliteTransaction
from telex.testing import FakeClock
from tests.bus.bus_team import speech_of
from tests.proofs import proves
from tests.stores.test_full_disk_batches import limit_pages

MESSAGES, WORDS = 40, 200


class FullTeam:
    """A bus whose clock is still, and whose file can be kept from growing."""

    def __init__(self, path: Path) -> None:
        self.clock, self.store = FakeClock(), SqliteStore.open(str(path), durable=False)
        self.bus = SyncBus(LocalBus(self.store, self.clock))
        self.reserve = Path(f"{path}-ballast")

    def send(self, id_: str, correlation: str | None = None) -> None:
        words = random.Random(id_).choices([f"word{number}" for number in range(5_000)], k=WORDS)
        assert self.bus.send(
            f"{id_} {' '.join(words)}", sender="dev", to="lead", id=id_, correlation=correlation
        ).accepted

    def fill(self, pages: int) -> None:
        """Let the file grow by so many pages and no more."""
        limit_pages(self.store, pages)

    @contextmanager
    def no_room(self) -> Iterator[None]:
        """Only what may use the reserve file can be written."""
        with patch.object(connection, "BALLAST_SECONDS", 0.0), patch.object(connection, "free_bytes", lambda _: 1_000):
            yield


@pytest.fixture
def team(tmp_path: Path) -> Iterator[FullTeam]:
    team = FullTeam(tmp_path / "telex.db")
    yield team
    team.fill(1_000_000)
    team.bus.close()


@proves("store/full/housekeeping")
def test_housekeeping_for_which_there_is_no_room_ends_no_verb_and_leaves_the_reserve_alone(team: FullTeam) -> None:
    for number in range(MESSAGES):
        team.send(f"m{number}")
    team.fill(2)
    [first, second] = team.bus.receive("lead", limit=2)
    assert team.bus.ack(first.token, agent="lead")
    assert team.bus.nack(second.token, agent="lead", reason="no table").state == "stored"
    assert len(team.bus.inbox("lead")) == MESSAGES - 1
    assert team.bus.sweep() == 0
    assert team.reserve.exists()


@proves("store/full/read")
def test_everything_can_be_read_though_nothing_can_be_written(team: FullTeam) -> None:
    for number in range(MESSAGES):
        team.send(f"m{number}", correlation="T1")
    lease = team.bus.receive("lead")[0]
    team.clock.leap(3600.0)  # a lease has expired, an agent has been silent, and nothing is indexed yet
    team.send("last", correlation="T1")
    team.fill(0)
    with team.no_room(), patch.object(SqliteTransaction, "settle", no_room):
        assert len(team.bus.inbox("lead")) == MESSAGES + 1
        assert team.bus.why(lease.message.id)[0].message.id == lease.message.id
        assert [message.id for message in team.bus.search("last")] == ["last"]
        assert len(team.bus.search("m1 m2")) == 0
        assert [story.message.id for story in team.bus.trace("T1")][-1] == "last"
        assert team.bus.conversations().conversations[0].messages == MESSAGES + 1
        assert team.bus.read("last", agent="lead").id == "last"
        assert {one.member.name for one in team.bus.roster()} >= {"dev", "lead"}
        assert team.bus.dead_letters() == []
        assert len(list(team.bus.events())) > MESSAGES


def no_room(*_: object, **__: object) -> None:
    raise StoreFull("no room")


@proves("store/full/housekeeping")
def test_a_late_answer_that_cannot_be_recorded_keeps_nobody_from_its_messages(team: FullTeam) -> None:
    request = speech_of("build-flow", "VALIDATION_REQUEST")
    assert team.bus.send(request.raw, sender=request.sender).accepted
    team.send("m1")
    team.clock.leap(3600.0)
    with team.no_room():
        assert [lease.message.id for lease in team.bus.receive("lead")] == ["m1"]


@proves("store/full/housekeeping")
def test_an_expired_lease_that_cannot_be_recorded_ends_no_request(team: FullTeam) -> None:
    team.send("m1")
    team.bus.receive("lead")
    team.clock.leap(3600.0)
    with patch.object(SqliteTransaction, "settle", no_room), pytest.raises(RequestTimedOut):
        team.bus.request("May I?", sender="dev", to="qa", timeout=0.5)


@proves("store/full/after-a-commit")
def test_an_ack_that_is_stored_is_answered_though_there_is_no_room_for_when_its_agent_was_seen(team: FullTeam) -> None:
    team.send("m1")
    [lease] = team.bus.receive("lead", lease=7200.0)
    team.clock.leap(3600.0)
    with patch.object(SqliteTransaction, "mark_seen", no_room):
        assert team.bus.ack(lease.token, agent="lead") is True


@proves("store/full/after-a-commit")
def test_who_leaves_has_left_though_its_messages_cannot_be_withdrawn_yet(team: FullTeam) -> None:
    team.send("m1")
    team.bus.receive("lead")
    with patch.object(SqliteTransaction, "settle", no_room):
        assert team.bus.leave("lead") == 0
    assert {one.member.name: one.state for one in team.bus.roster()}["lead"] == "left"
    assert team.bus.why("m1")[0].state == "withdrawn"


@proves("store/full/after-a-commit")
def test_a_team_that_is_dissolved_is_reported_so_though_its_messages_cannot_be_returned_yet(team: FullTeam) -> None:
    team.bus.receive("dev")
    team.bus.send("To do.", sender="lead", to="dev", id="m1")
    with patch.object(SqliteTransaction, "settle", no_room):
        report = team.bus.shut_down(agent="lead", reason="phase_complete", deadline=1.0, force=True)
    assert report.dissolved
    team.bus.sweep()
    assert team.bus.why("m1")[0].state == "withdrawn"


def test_the_log_is_kept_short_on_a_disk_that_is_nearly_full(team: FullTeam) -> None:
    """What it holds must fit into the file once the reserve is given up."""
    with patch.object(connection, "BALLAST_SECONDS", 0.0), patch.object(connection, "free_bytes", lambda _: 3_000_000):
        for number in range(200):
            team.send(f"m{number}")
    assert Path(f"{team.store.path}-wal").stat().st_size < 1_000_000


def test_no_message_is_taken_when_only_the_reserve_is_left(team: FullTeam) -> None:
    team.send("m1")
    [lease] = team.bus.receive("lead")
    with team.no_room():
        with pytest.raises(StoreFull):
            team.send("m2")
        assert team.bus.ack(lease.token, agent="lead")
