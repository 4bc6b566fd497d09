"""`telex migrate-store`: a team goes from a store file to a replicated log and back without losing anything."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import apsw
import pytest

import telex as library
from telex.bus.local import LocalBus
from telex.clock import SteadyClock
from telex.errors import StoreDamaged
from telex.stores.nats.address import KEY, parse_address
from telex.stores.nats.log import Log
from telex.stores.nats.replica_file import create_replica, table_digest
from telex.stores.nats.store import FILE, ReplicatedStore
from telex.stores.sqlite.schema import APPLICATION_ID
from tests.cli.cli_bus_kit import BLOCKER, Telex, sent, taken, telex
from tests.cli.cli_kit import example
from tests.nats.kit import SECRETS, new_team, open_hub
from tests.nats.servers import Servers
from tests.proofs import proves

__all__ = ["telex"]
STORE, BACK = ".telex/telex.db", "back.db"
WEAKER = ("--replicas", "1", "--accept-weaker-durability")
ASK = example("vbw-typed", "approval_request")


@pytest.fixture(autouse=True)
def _key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(KEY, SECRETS.keys[0].decode())
    monkeypatch.setattr("telex.stores.nats.store.LOG_BYTES", 64 * 1_048_576)  # the server reserves it


def fill(telex: Telex) -> dict[str, str]:
    """A lease, a pending request, a dead letter and a waiting message."""
    ids = {"dead": sent(telex)}
    token = taken(telex)["token"]
    with library.connect(STORE) as bus:
        bus.nack(token, agent="lead", reason="cannot be read", final=True)
    ids["request"] = sent(telex, ASK, sender="dev", to="lead")
    ids["leased"] = sent(telex, "a task to work on", to="qa")
    ids["token"] = taken(telex, "qa")["token"]
    ids["waiting"] = sent(telex, "all is well", to="qa")
    return ids


def migrate(telex: Telex, *words: str) -> dict[str, Any]:
    ran = telex("migrate-store", *words, "--json")
    assert ran.code == 0, ran
    answer: dict[str, Any] = ran.answer
    return answer


def on_hub(servers: Servers, team: str, folder: Path, work: Callable[[ReplicatedStore], Awaitable[Any]]) -> Any:
    async def main() -> Any:
        store = await open_hub(servers, team, folder)
        try:
            return await work(store)
        finally:
            await store.close()

    return asyncio.run(main())


@proves("replication-tools/migrate/round-trip")
def test_a_round_trip_keeps_leases_requests_and_dead_letters(telex: Telex, tmp_path: Path, one_server: Servers) -> None:
    ids, address = fill(telex), one_server.address(team := new_team())
    before = table_digest(STORE)
    there = migrate(telex, f"sqlite:{STORE}", address, *WEAKER)
    back = migrate(telex, address, f"sqlite:{BACK}")
    assert before == there["digest"] == back["digest"] == table_digest(STORE) == table_digest(BACK)
    assert back["position"] == 0
    with closing(apsw.Connection(BACK)) as file:
        assert list(file.execute("PRAGMA application_id")) == [(APPLICATION_ID,)]
        assert list(file.execute("PRAGMA journal_mode")) == [("wal",)]
        assert list(file.execute("SELECT count(*) FROM replica")) == [(0,)]
        assert list(file.execute("SELECT id FROM asks")) == [(ids["request"],)]

    async def ack(store: ReplicatedStore) -> str:
        bus = LocalBus(store, SteadyClock())
        await bus.ack(ids["token"], agent="qa")
        return store.digest()

    after = on_hub(one_server, team, tmp_path / "hub", ack)
    second = migrate(telex, address, "second.db")  # a path without sqlite: works too
    assert second["digest"] == after == table_digest("second.db") != before
    assert second["position"] > 0
    assert [row["id"] for row in telex("dead", "--json", "--store", "second.db").answers] == [ids["dead"]]
    assert telex("why", ids["leased"], "--json", "--store", "second.db").answer["state"] == "acked"
    assert telex("ack", ids["token"], "--as", "qa", "--store", BACK).code == 0  # the lease is still open there
    assert telex("doctor", "--store", "second.db").code == 0


@proves("replication-tools/migrate/in-use")
def test_a_file_that_is_in_use_is_not_migrated(telex: Telex, one_server: Servers) -> None:
    sent(telex)
    address = one_server.address(new_team())
    with library.connect(STORE) as bus:
        bus.roster()
        ran = telex("migrate-store", STORE, address, *WEAKER)
        assert ran.code == 1
        assert "in use" in ran.err
    assert telex("migrate-store", address, BACK).code == 3  # there is no log
    assert sent(telex, "still usable")
    assert migrate(telex, STORE, address, *WEAKER)["messages"] == 2


@proves("replication-tools/migrate/existing")
def test_a_log_or_a_file_that_exists_is_not_replaced(telex: Telex, tmp_path: Path, one_server: Servers) -> None:
    sent(telex)
    address = one_server.address(new_team())
    migrate(telex, STORE, address, *WEAKER)
    assert telex("migrate-store", STORE, address, *WEAKER).code == 1
    Path(BACK).write_text("something else")
    assert telex("migrate-store", address, BACK).code == 1
    assert Path(BACK).read_text() == "something else"
    assert sorted(path.name for path in tmp_path.iterdir() if path.name.startswith(".telex-")) == []


@proves("replication-tools/migrate/durability")
def test_a_log_with_one_replica_has_to_be_accepted(telex: Telex, one_server: Servers) -> None:
    sent(telex)
    address = one_server.address(new_team())
    ran = telex("migrate-store", STORE, address, "--replicas", "1")
    assert ran.code == 1
    assert "--accept-weaker-durability" in ran.err
    assert telex("migrate-store", address, BACK).code == 3


@proves("replication-tools/migrate/genesis")
def test_a_hub_that_starts_from_nothing_halts(telex: Telex, tmp_path: Path, one_server: Servers) -> None:
    sent(telex)
    address = one_server.address(team := new_team())
    incarnation = migrate(telex, STORE, address, *WEAKER)["incarnation"]

    async def write(store: ReplicatedStore) -> None:
        await store.checkpoint()

    on_hub(one_server, team, tmp_path / "hub", write)
    (tmp_path / "empty").mkdir()
    create_replica(str(tmp_path / "empty" / FILE), incarnation)

    async def halted(store: ReplicatedStore) -> Exception | None:
        return store.batches.halted

    assert isinstance(on_hub(one_server, team, tmp_path / "empty", halted), StoreDamaged)


def test_snapshots_after_the_first_one_leave_a_log_that_hubs_can_start_from(
    telex: Telex, tmp_path: Path, one_server: Servers
) -> None:
    sent(telex)
    address = one_server.address(team := new_team())
    migrate(telex, STORE, address, *WEAKER)

    async def write(store: ReplicatedStore) -> str:
        for _ in range(3):
            await store.checkpoint()
            await store.snapshot()
        return store.digest()

    async def digest(store: ReplicatedStore) -> str:
        return store.digest()

    async def first() -> int:
        log = await Log.connect(parse_address(address), SECRETS)
        state = await log.state(0.0)
        await log.close()
        assert state is not None
        return state.first

    written = on_hub(one_server, team, tmp_path / "one", write)
    assert asyncio.run(first()) == 3  # behind the last snapshot but one
    assert on_hub(one_server, team, tmp_path / "two", digest) == written


@pytest.mark.parametrize("words", [("a.db", "b.db"), ("nats://x/t", "nats://y/t"), ("http://h:1", "nats://x/t")])
def test_two_files_or_two_addresses_are_wrong_usage(telex: Telex, words: tuple[str, str]) -> None:
    assert telex("migrate-store", *words).code == 64


def test_a_blocker_keeps_its_topic(telex: Telex, one_server: Servers) -> None:
    sent(telex, BLOCKER)
    address = one_server.address(new_team())
    migrate(telex, STORE, address, *WEAKER)
    migrate(telex, address, BACK)
    with closing(apsw.Connection(STORE)) as one, closing(apsw.Connection(BACK)) as two:
        assert list(one.execute("SELECT * FROM topics")) == list(two.execute("SELECT * FROM topics"))
