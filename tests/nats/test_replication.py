"""Hubs of one team: conflicts, rows that differ, schemas, rows in flight, callers that fail or give up, clocks."""

import asyncio
import itertools
import sys
import time
from collections.abc import Coroutine
from functools import partial
from pathlib import Path
from typing import Any

import apsw
import msgspec
import pytest
from nats.js.errors import NotFoundError

from telex.errors import StoreDamaged, StoreError, StoreTooNew, StoreUnavailable
from telex.model.message import NewMessage
from telex.ports.store import Transaction
from telex.stores.nats import replica_file, store
from telex.stores.nats.batch import MAC_HEADER, Batch, Entry, Head, read_entry
from telex.stores.nats.log import Log, LogState, Outcome, Stored
from telex.stores.nats.replica_file import ReplicaConnection
from telex.stores.nats.store import ReplicatedStore
from telex.stores.nats.writer import LARGE_BATCH, TURN_BATCHES_MAX, BatchWriter
from telex.stores.sqlite.schema import MIGRATIONS, REPLICATED, VERSION
from telex.stores.sqlite.transaction import SqliteTransaction, WriteJob
from tests.nats.kit import (
    REFRESH_SECONDS,
    HeldPublish,
    Team,
    ack,
    applied_together,
    entry_at,
    has,
    hubs_of,
    ids_in,
    log_of,
    note,
    receive,
    send,
)
from tests.nats.servers import Servers
from tests.proofs import proves

CALLERS, SENDS = 4, 25
BATCHES = 24  # of each of two busy hubs
HOURS_2 = 7_200.0
CLOCK_SECONDS_MAX = 2.0  # between two hubs on a busy machine
BROKEN = (AssertionError, StoreError)


def run(work: Coroutine[Any, Any, None]) -> None:
    asyncio.run(asyncio.wait_for(work, 60.0))


# --- two hubs that write at once -------------------------------------------------------------------------------------


def _append(message: NewMessage, tx: Transaction) -> int:
    return tx.append(message)


async def write_at_once(team: Team) -> int:
    """Two hubs that both believe to have the turn: every send is stored once. The number of conflicts."""
    first, second = team.hubs

    async def take_turns() -> None:
        while True:
            first.turn.take()
            second.turn.take()
            await asyncio.sleep(0.001)

    async def call(number: int) -> list[str]:
        hub = team.hubs[number % 2]
        made = [f"{number}-{count}" for count in range(SENDS)]
        for name in made:
            await hub.transaction(partial(_append, note(name)))
        return made

    taking = asyncio.ensure_future(take_turns())
    try:
        sent = await asyncio.gather(*(call(number) for number in range(2 * CALLERS)))
    finally:
        taking.cancel()
    assert len(await team.digests()) == 1
    for hub in team.hubs:
        assert sorted(await ids_in(hub)) == sorted(itertools.chain(*sent))
    return first.batches.conflicts + second.batches.conflicts


async def write_much(team: Team, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Two hubs whose callers send again as soon as they have an answer. The hub that wrote, for each change of hubs."""
    turn, writers = team.hubs[0].turn, list[str]()
    written = turn.written

    def note_writer(node: str, *args: Any) -> None:
        if writers[-1:] != [node]:
            writers.append(node)
        written(node, *args)

    async def call(hub: ReplicatedStore, number: int) -> None:
        for count in range(BATCHES):
            await hub.transaction(partial(_append, note(f"{number}-{count}")))

    monkeypatch.setattr(turn, "written", note_writer)
    await asyncio.gather(*(call(team.hubs[number % 2], number) for number in range(4 * LARGE_BATCH)))
    assert len(await team.digests()) == 1
    return writers


async def publish_without_condition(log: Log, data: bytes, mac: str, _: int) -> Outcome:
    ack = await log.stream.publish(log.address.subject, data, headers={MAC_HEADER: mac})
    return Stored(ack.seq)


def read_anywhere(entry: Entry, *args: Any) -> Batch | None:
    """Without the check that a batch is where it belongs."""
    base = msgspec.msgpack.decode(entry.data, type=Head).base
    return read_entry(msgspec.structs.replace(entry, position=base + 1), *args)


@proves("replication/conflict")
def test_two_hubs_that_write_at_once_store_every_message_once(one_server: Servers, tmp_path: Path) -> None:
    async def write() -> None:
        async with hubs_of(one_server, tmp_path, 2) as team:
            assert await write_at_once(team) > 0

    run(write())


@proves("replication/turn")
def test_two_busy_hubs_take_turns_of_a_few_batches(
    one_server: Servers, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def write() -> None:
        async with hubs_of(one_server, tmp_path, 2) as team:
            assert len(await write_much(team, monkeypatch)) >= BATCHES // TURN_BATCHES_MAX

    run(write())


def test_a_hub_that_keeps_its_turn_while_it_has_work_is_found(
    one_server: Servers, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def write() -> None:
        async with hubs_of(one_server, tmp_path, 2) as team:
            assert len(await write_much(team, monkeypatch)) < BATCHES // TURN_BATCHES_MAX

    monkeypatch.setattr("telex.stores.nats.writer.TURN_BATCHES_MAX", sys.maxsize)
    run(write())


@proves("replication/conflict")
def test_a_batch_that_a_server_stored_in_the_wrong_place_is_void(
    one_server: Servers, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def write() -> None:
        async with hubs_of(one_server, tmp_path, 2) as team:
            await write_at_once(team)
            assert team.hubs[-1].void_entries > 0

    monkeypatch.setattr(Log, "publish", publish_without_condition)
    run(write())


def test_batches_without_a_condition_that_count_in_any_place_are_found(
    one_server: Servers, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def write() -> None:
        async with hubs_of(one_server, tmp_path, 2) as team:
            await write_at_once(team)

    monkeypatch.setattr(Log, "publish", publish_without_condition)
    monkeypatch.setattr(store, "read_entry", read_anywhere)
    with pytest.raises(BROKEN):
        run(write())


# --- a copy that differs ---------------------------------------------------------------------------------------------


async def change_a_row(team: Team) -> None:
    """A hub whose copy has another row than the writer halts when that row is written: it reads, and does not write."""
    writer, follower = team.hubs
    await send(writer, "m1")
    assert await follower.refresh(REFRESH_SECONDS)
    copy = Path(await team.close(follower))
    with apsw.Connection(str(copy)) as file:
        file.execute("UPDATE deliveries SET fence = 7")
    follower = await team.open(copy.parent.name)
    await receive(writer)
    await asyncio.sleep(0)
    assert not await follower.refresh(REFRESH_SECONDS)
    assert follower.status().halted is not None
    assert await has(follower, "m1")
    assert isinstance(follower.batches.halted, StoreDamaged)
    with pytest.raises(StoreUnavailable):
        await send(follower, "m2")
    await send(writer, "m3")
    assert not await has(follower, "m3")


class _Patchsets:
    """A session that records no old values."""

    def __init__(self, session: apsw.Session) -> None:
        self.close, self.changeset = session.close, session.patchset


@proves("replication/halt")
def test_a_hub_whose_copy_has_another_row_halts_and_serves_reads(one_server: Servers, tmp_path: Path) -> None:
    async def change() -> None:
        async with hubs_of(one_server, tmp_path, 2) as team:
            await change_a_row(team)

    run(change())


def test_batches_that_compare_no_old_values_are_found(
    one_server: Servers, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def change() -> None:
        async with hubs_of(one_server, tmp_path, 2) as team:
            await change_a_row(team)

    record = ReplicaConnection.record
    monkeypatch.setattr(ReplicaConnection, "record", lambda file: _Patchsets(record(file)))
    with pytest.raises(AssertionError):
        run(change())


# --- a later schema --------------------------------------------------------------------------------------------------

EXTRA = "CREATE TABLE extra (id INTEGER PRIMARY KEY, value TEXT NOT NULL) STRICT"


async def go_to_a_later_schema(team: Team, monkeypatch: pytest.MonkeyPatch) -> None:
    """A hub that does not know the schema to which another one goes halts there, and loses no row in silence."""
    newer, older = team.hubs
    async with applied_together(older, 3):
        await send(newer, "m1")
        monkeypatch.setattr(replica_file, "MIGRATIONS", (*MIGRATIONS, EXTRA))
        monkeypatch.setattr(replica_file, "REPLICATED", (*REPLICATED, "extra"))
        await newer.migrate(VERSION + 1)
        await newer._submit(WriteJob(lambda tx: tx.file.run("INSERT INTO extra VALUES (1, 'of the later schema')")))
    await older.refresh(REFRESH_SECONDS)
    assert isinstance(older.batches.halted, StoreTooNew)
    assert await has(older, "m1")
    with pytest.raises(StoreUnavailable):
        await send(older, "m2")


@proves("replication/schema")
def test_a_hub_of_an_older_version_halts_at_a_change_of_the_schema(
    one_server: Servers, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def migrate() -> None:
        async with hubs_of(one_server, tmp_path, 2) as team:
            await go_to_a_later_schema(team, monkeypatch)

    run(migrate())


@proves("replication/schema")
def test_all_hubs_that_know_a_schema_go_to_it(
    one_server: Servers, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def migrate() -> None:
        async with hubs_of(one_server, tmp_path, 2) as team:
            monkeypatch.setattr(store, "MIGRATIONS", (*MIGRATIONS, EXTRA))
            monkeypatch.setattr(replica_file, "MIGRATIONS", (*MIGRATIONS, EXTRA))
            first, second = team.hubs
            await asyncio.gather(first.migrate(VERSION + 1), second.migrate(VERSION + 1), send(first, "m1"))
            await send(second, "m2")
            assert len(await team.digests()) == 1
            assert [hub.schema for hub in team.hubs] == [VERSION + 1] * 3

    run(migrate())


def test_a_schema_that_is_not_checked_is_found(
    one_server: Servers, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def read_any_schema(entry: Entry, signer: Any, chain: bytes, _: int) -> Batch | None:
        schema = msgspec.msgpack.decode(entry.data, type=Batch).schema
        batch = read_entry(entry, signer, chain, schema)
        return None if batch is None else msgspec.structs.replace(batch, migrate=0)

    async def migrate() -> None:
        async with hubs_of(one_server, tmp_path, 2) as team:
            await go_to_a_later_schema(team, monkeypatch)

    monkeypatch.setattr(store, "read_entry", read_any_schema)
    with pytest.raises(AssertionError):
        run(migrate())


# --- rows in flight --------------------------------------------------------------------------------------------------


async def read_in_flight(team: Team, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is being published is read by nobody, on the hub that publishes it either."""
    writer, follower = team.hubs
    await send(writer, "m1")
    held = HeldPublish(log_of(writer))
    monkeypatch.setattr(log_of(writer), "publish", held)
    sending = asyncio.ensure_future(send(writer, "m2"))
    await held.is_called.wait()
    assert not await has(writer, "m2")
    assert not await has(follower, "m2")
    assert not sending.done()
    held.may_go_on.set()
    await sending
    assert await has(writer, "m2")


@proves("replication/in-flight")
def test_a_message_that_is_being_published_is_read_by_nobody(
    one_server: Servers, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def read() -> None:
        async with hubs_of(one_server, tmp_path, 2) as team:
            await read_in_flight(team, monkeypatch)

    run(read())


def test_reads_on_the_connection_that_writes_are_found(
    one_server: Servers, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def read() -> None:
        async with hubs_of(one_server, tmp_path, 2) as team:
            team.hubs[0]._file = team.hubs[0]._replica.writer
            await read_in_flight(team, monkeypatch)

    with pytest.raises((AssertionError, apsw.Error)):
        run(read())


# --- callers that fail or give up ------------------------------------------------------------------------------------


async def fail_in_a_batch(team: Team) -> None:
    """Three decisions of one batch, of which the second fails: only its caller gets the error."""
    hub, follower = team.hubs

    def fail(tx: Transaction) -> None:
        tx.append(note("m2"))
        raise ValueError("a mistake")

    calls = [send(hub, "m1"), hub.transaction(fail), send(hub, "m3")]
    first, failed, third = await asyncio.gather(*calls, return_exceptions=True)
    assert isinstance(failed, ValueError)
    assert [first.outcome, third.outcome] == ["stored", "stored"]  # type: ignore[union-attr]
    assert len(await team.digests()) == 1
    assert await ids_in(follower) == ["m1", "m3"]


@proves("replication/failed-decision")
def test_a_decision_that_fails_fails_for_its_caller_only(one_server: Servers, tmp_path: Path) -> None:
    async def fail() -> None:
        async with hubs_of(one_server, tmp_path, 2) as team:
            await fail_in_a_batch(team)

    run(fail())


def test_rows_of_a_failed_decision_that_stay_are_found(
    one_server: Servers, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fail() -> None:
        async with hubs_of(one_server, tmp_path, 2) as team:
            await fail_in_a_batch(team)

    monkeypatch.setattr(SqliteTransaction, "_drop_job", lambda _: None)
    with pytest.raises(AssertionError):
        run(fail())


async def cancel_a_receive(team: Team, monkeypatch: pytest.MonkeyPatch) -> None:
    """A caller gives up while its lease is being published: the message is there for the next one."""
    hub, other = team.hubs
    await send(hub, "m1")
    held = HeldPublish(log_of(hub))
    monkeypatch.setattr(log_of(hub), "publish", held)
    receiving = asyncio.ensure_future(receive(hub))
    await held.is_called.wait()
    receiving.cancel()
    held.may_go_on.set()
    with pytest.raises(asyncio.CancelledError):
        await receiving
    await send(hub, "m2", "qa")  # behind the lease and its return
    assert await other.refresh(REFRESH_SECONDS)
    assert [lease.message.id for lease in await receive(other)] == ["m1"]


@proves("replication/cancelled")
def test_a_message_whose_reader_gave_up_in_flight_is_returned(
    one_server: Servers, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def cancel() -> None:
        async with hubs_of(one_server, tmp_path, 2) as team:
            await cancel_a_receive(team, monkeypatch)

    run(cancel())


def test_a_lease_that_nobody_returns_is_found(
    one_server: Servers, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def keep(writer: BatchWriter, job: WriteJob, _: Any) -> Any:
        return await writer.submit(job)

    async def cancel() -> None:
        async with hubs_of(one_server, tmp_path, 2) as team:
            await cancel_a_receive(team, monkeypatch)

    monkeypatch.setattr(BatchWriter, "submit_or_undo", keep)
    with pytest.raises(AssertionError):
        run(cancel())


# --- clocks ----------------------------------------------------------------------------------------------------------


@proves("replication/clock")
@pytest.mark.parametrize("shift", [HOURS_2, -HOURS_2])
def test_hubs_whose_clocks_differ_by_two_hours_have_one_time(
    one_server: Servers, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, shift: float
) -> None:
    real = time.time

    async def compare() -> None:
        async with hubs_of(one_server, tmp_path, 1) as team:
            [hub] = team.hubs
            await send(hub, "m1")
            with monkeypatch.context() as patched:
                patched.setattr(time, "time", lambda: real() + shift)
                wrong = await team.open()
                await send(wrong, "m2")
                wrong_now, position = wrong.now(), wrong.position
            assert abs(hub.now() - wrong_now) < CLOCK_SECONDS_MAX
            assert abs(wrong.clock_offset + shift) < CLOCK_SECONDS_MAX + abs(hub.clock_offset)
            await send(hub, "m3")
            entries = [await entry_at(hub, place) for place in range(1, hub.position + 1)]
            times = [msgspec.msgpack.decode(data, type=Batch).at for data, _ in entries]
            assert position < hub.position
            assert all(later > earlier - CLOCK_SECONDS_MAX for earlier, later in itertools.pairwise(times))
            assert times[-1] - times[0] < HOURS_2 / 2

    run(compare())


# --- several hubs, one message ---------------------------------------------------------------------------------------


@proves("replication/one-lease")
def test_a_message_is_leased_to_one_of_many_readers_on_several_hubs(one_server: Servers, tmp_path: Path) -> None:
    async def read() -> None:
        async with hubs_of(one_server, tmp_path, 3) as team:
            for number in range(10):
                await send(team.hubs[number % 3], f"m{number}")
            for hub in team.hubs:
                assert await hub.refresh(REFRESH_SECONDS)
            calls = [receive(team.hubs[number % 3]) for number in range(30)]
            leases = [lease for leased in await asyncio.gather(*calls) for lease in leased]
            assert sorted(lease.message.id for lease in leases) == [f"m{number}" for number in range(10)]
            for hub in team.hubs:
                assert await hub.refresh(REFRESH_SECONDS)
            acks = await asyncio.gather(*(ack(hub, lease) for lease in leases for hub in team.hubs))
            assert acks.count(True) == len(leases)
            assert len(await team.digests()) == 1

    run(read())


# --- opening ---------------------------------------------------------------------------------------------------------


@proves("replication/one-store")
def test_hubs_that_make_the_log_at_the_same_time_use_the_same_one(
    one_server: Servers, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    create = Log.create
    waiting = [asyncio.Event() for _ in range(3)]

    async def create_together(log: Log, until: float, **options: Any) -> LogState:
        """Each finds no log before one is made."""
        info, stream = log.stream.stream_info, log.stream

        async def missing(*_: Any, **__: Any) -> Any:
            stream.stream_info = info  # type: ignore[method-assign]
            next(event for event in waiting if not event.is_set()).set()
            await asyncio.gather(*(event.wait() for event in waiting))
            raise NotFoundError

        stream.stream_info = missing  # type: ignore[method-assign]
        return await create(log, until, **options)

    monkeypatch.setattr(Log, "create", create_together)

    async def open_together() -> None:
        async with hubs_of(one_server, tmp_path) as team:
            await asyncio.gather(*(team.open() for _ in waiting))
            assert len({hub.incarnation for hub in team.hubs}) == 1

    run(open_together())
