"""Faults of the log: unknown outcomes, a log that lost entries, entries of strangers, a full log, snapshots."""

import asyncio
import os
import random
import time
from collections.abc import Callable, Coroutine
from contextlib import closing
from pathlib import Path
from typing import Any

import apsw
import msgspec
import nats.errors
import pytest
from nats.js.errors import BadRequestError, NoStreamResponseError

from telex.errors import OutcomeUnknown, StoreDamaged, StoreError, StoreFull, StoreUnavailable
from telex.ports.store import find_messages
from telex.stores.nats import store, writer
from telex.stores.nats.batch import FORMAT, Batch, Entry, Signer, encode, next_chain, read_entry
from telex.stores.nats.log import Conflict, InDoubt, LogState, NoRoom, Outcome
from telex.stores.nats.replica_file import ReplicaConnection, create_replica
from telex.stores.nats.snapshot import SnapshotStore, make_snapshot
from telex.stores.nats.store import FILE, ReplicatedStore
from telex.stores.nats.writer import BatchWriter, Flight
from telex.stores.sqlite.schema import VERSION
from tests.nats.kit import (
    REFRESH_SECONDS,
    Publish,
    Team,
    ack,
    entry_at,
    has,
    hubs_of,
    ids_in,
    log_of,
    losing_acks,
    note,
    publish_raw,
    receive,
    send,
)
from tests.nats.servers import Servers
from tests.proofs import proves

LOG_BYTES = 300_000
TOO_LARGE_BYTES = 9_000_000


def run(work: Coroutine[Any, Any, None]) -> None:
    asyncio.run(asyncio.wait_for(work, 60.0))


# --- unknown outcomes ------------------------------------------------------------------------------------------------


def stored_behind_another(team: Team) -> Publish:
    """Another hub writes after the batch was decided and before it is published."""
    log, other = log_of(team.hubs[0]), team.hubs[1]
    publish, is_first = log.publish, [True]

    async def publish_later(data: bytes, mac: str, base: int) -> Outcome:
        if is_first[0]:
            is_first[0] = False
            other.turn.take()
            await send(other, "another")
        return await publish(data, mac, base)

    return publish_later


def stored_before_another(team: Team) -> Publish:
    """The acknowledgement is lost, and another hub writes before the batch is published again."""
    log, other = log_of(team.hubs[0]), team.hubs[1]
    lose, is_first = losing_acks(log, 1), [True]

    async def publish(data: bytes, mac: str, base: int) -> Outcome:
        outcome = await lose(data, mac, base)
        if is_first[0]:
            is_first[0] = False
            other.turn.take()
            await send(other, "another")
        return outcome

    return publish


OUTCOMES: dict[str, Callable[[Team], Publish]] = {
    "stored, one ack lost": lambda team: losing_acks(log_of(team.hubs[0]), 1),
    "stored, three acks lost": lambda team: losing_acks(log_of(team.hubs[0]), 3),
    "not stored": lambda team: losing_acks(log_of(team.hubs[0]), 2, stores=False),
    "stored behind another": stored_behind_another,
    "stored before another": stored_before_another,
}


async def write_in_doubt(team: Team, outcome: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A message whose outcome is unknown for a while is in the log once, and its caller gets its number."""
    hub, other = team.hubs
    await send(hub, "first")
    await other.refresh(REFRESH_SECONDS)
    monkeypatch.setattr(log_of(hub), "publish", OUTCOMES[outcome](team))
    seq = await hub.transaction(lambda tx: tx.append(note("m1")))  # not deduplicated: a second one would be stored
    await send(hub, "last")
    assert len(await team.digests()) == 1
    names = await ids_in(other)
    assert sorted(set(names) - {"another"}) == ["first", "last", "m1"]
    assert len(names) == len(set(names))
    assert [message.seq for message in await hub.read(find_messages, "m1")] == [seq]


@proves("replication/unknown-outcome")
@pytest.mark.parametrize("outcome", OUTCOMES)
def test_a_message_whose_outcome_was_unknown_is_stored_once(
    one_server: Servers, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, outcome: str
) -> None:
    async def write() -> None:
        async with hubs_of(one_server, tmp_path, 2) as team:
            await write_in_doubt(team, outcome, monkeypatch)

    run(write())


def test_a_conflict_that_is_taken_for_another_hubs_batch_is_found(
    one_server: Servers, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The log does not deliver the batch before its second publication: else that would be the end of the doubt."""
    judge = BatchWriter._judge
    team: Team

    async def hasty(writer: BatchWriter, flight: Flight, outcome: Outcome) -> None:
        if isinstance(outcome, Conflict):
            writer.overtaken()
            team.hubs[0]._apply_soon()
        else:
            await judge(writer, flight, outcome)

    async def write() -> None:
        nonlocal team
        async with hubs_of(one_server, tmp_path, 2) as team:
            await write_in_doubt(team, "stored, one ack lost", monkeypatch)

    monkeypatch.setattr(BatchWriter, "_judge", hasty)
    monkeypatch.setattr(BatchWriter, "delivered", lambda writer: False)
    with pytest.raises(AssertionError):
        run(write())


@proves("replication/unknown-outcome")
def test_a_hub_whose_connection_fails_at_once_serves_reads(
    one_server: Servers, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each attempt to publish fails without any waiting: reads, and the timeout of the caller, still get their turn."""

    async def read() -> None:
        async with hubs_of(one_server, tmp_path, 1) as team:
            [hub] = team.hubs
            await send(hub, "m1")
            monkeypatch.setattr(writer, "OUTCOME_SECONDS", 0.3)
            monkeypatch.setattr(log_of(hub), "publish", fail_at_once)
            sending = asyncio.ensure_future(send(hub, "m2"))
            await asyncio.sleep(0.1)
            assert await has(hub, "m1")
            with pytest.raises(OutcomeUnknown):
                await sending

    run(read())


@pytest.mark.parametrize("why, is_repeated", [("peer offline", True), ("insufficient storage", False)])
def test_a_log_is_made_when_a_server_that_restarts_is_back(
    one_server: Servers, tmp_path: Path, why: str, is_repeated: bool
) -> None:
    failures = [BadRequestError(code=400, err_code=10005, description=f"no suitable peers for placement, {why}")]

    async def request() -> str:
        if failures:
            raise failures.pop()
        return "made"

    async def repeat() -> None:
        async with hubs_of(one_server, tmp_path, 1) as team:
            if is_repeated:
                assert await log_of(team.hubs[0]).repeat(request, time.monotonic() + 20.0) == "made"
            else:
                with pytest.raises(StoreUnavailable, match=why):
                    await log_of(team.hubs[0]).repeat(request, time.monotonic() + 20.0)

    run(repeat())


async def fail_at_once(*_: Any) -> Outcome:
    return InDoubt()


# --- a log that is not the one of the copy ---------------------------------------------------------------------------


async def remake(hub: ReplicatedStore, incarnation: str | None) -> None:
    """Delete the stream and make an empty one, with that incarnation or a new one."""
    log = log_of(hub)
    await log.stream.delete_stream(log.address.stream)
    until = asyncio.get_running_loop().time() + 10.0
    await log.create(until, schema=VERSION, replicas=1, bytes_max=-1, incarnation=incarnation)


async def halted_by(hub: ReplicatedStore) -> StoreError | None:
    """Why a hub halts, after it had time to notice."""
    for _ in range(400):
        if hub.batches.halted is not None:
            return hub.batches.halted
        await asyncio.sleep(0.05)
    return None


@proves("replication/lost-log")
@pytest.mark.parametrize("is_same", [True, False], ids=["shortened", "made anew"])
def test_a_copy_is_refused_by_a_log_that_lost_entries(one_server: Servers, tmp_path: Path, is_same: bool) -> None:
    async def reopen() -> None:
        async with hubs_of(one_server, tmp_path, 2) as team:
            helper, hub = team.hubs
            await send(hub, "m1")
            incarnation = hub._state.incarnation if is_same else None
            copy = Path(await team.close(hub)).parent.name
            await remake(helper, incarnation)
            with pytest.raises(StoreDamaged):
                await team.open(copy)

    run(reopen())


@proves("replication/lost-log")
def test_a_copy_that_is_older_than_the_beginning_of_the_log_is_refused(one_server: Servers, tmp_path: Path) -> None:
    async def reopen() -> None:
        async with hubs_of(one_server, tmp_path, 2) as team:
            writer, hub = team.hubs
            await send(writer, "m1")
            await hub.refresh(REFRESH_SECONDS)
            copy = Path(await team.close(hub)).parent.name
            for number in range(3):
                await send(writer, f"n{number}")
            await log_of(writer).cut(writer.position)
            with pytest.raises(StoreDamaged):
                await team.open(copy)
            with pytest.raises(StoreDamaged):
                await team.open()  # from nothing, without a snapshot

    run(reopen())


@proves("replication/lost-log")
@pytest.mark.parametrize("writes", [True, False], ids=["that writes", "that only follows"])
@pytest.mark.parametrize("how", ["emptied", "made anew", "deleted"])
def test_a_running_hub_halts_when_its_log_loses_entries(
    one_server: Servers, tmp_path: Path, how: str, writes: bool
) -> None:
    async def lose() -> None:
        async with hubs_of(one_server, tmp_path, 1) as team:
            [hub] = team.hubs
            for number in range(5):
                await send(hub, f"m{number}")
            if how == "deleted":
                await log_of(hub).stream.delete_stream(log_of(hub).address.stream)
            else:
                await remake(hub, hub._state.incarnation if how == "emptied" else None)
            if writes:
                with pytest.raises(StoreError):
                    await send(hub, "lost")
            assert isinstance(await halted_by(hub), StoreDamaged)
            assert await has(hub, "m4")
            assert not await has(hub, "lost")

    run(lose())


@proves("replication/conflict")
def test_a_server_that_answers_with_an_old_end_of_the_log_halts_no_hub(one_server: Servers, tmp_path: Path) -> None:
    """A leader that was stopped, and goes on before it knows that there is another one."""

    async def answer() -> None:
        async with hubs_of(one_server, tmp_path, 1) as team:
            [hub] = team.hubs
            for number in range(3):
                await send(hub, f"m{number}")
            log, answers = log_of(hub), [Conflict(1), Conflict(1)]
            publish = log.publish

            async def publish_to_old_leader(data: bytes, mac: str, base: int) -> Outcome:
                return answers.pop() if answers else await publish(data, mac, base)

            log.publish = publish_to_old_leader  # type: ignore[method-assign]
            await send(hub, "m3")
            assert hub.batches.halted is None
            assert await ids_in(hub) == ["m0", "m1", "m2", "m3"]

    run(answer())


@proves("replication/lost-log")
def test_a_state_of_the_log_that_is_old_halts_no_hub(one_server: Servers, tmp_path: Path) -> None:
    async def answer() -> None:
        async with hubs_of(one_server, tmp_path, 1) as team:
            [hub] = team.hubs
            await send(hub, "m0")
            log = log_of(hub)
            state = log.state
            now = await state(0.0)
            assert now is not None
            answers = [None, now._replace(last=0), now._replace(last=0)]

            async def old_state(until: float) -> LogState | None:
                return answers.pop() if answers else await state(until)

            log.state = old_state  # type: ignore[method-assign]
            hub.catch_up()
            await send(hub, "m1")
            while answers:
                await asyncio.sleep(0.05)
            await send(hub, "m2")
            assert hub.batches.halted is None

    run(answer())


@proves("replication/lost-log")
def test_a_running_hub_that_missed_entries_which_were_cut_off_halts(
    one_server: Servers, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def miss() -> None:
        async with hubs_of(one_server, tmp_path, 2) as team:
            writer, hub = team.hubs
            await send(writer, "m1")
            assert await hub.refresh(REFRESH_SECONDS)
            with monkeypatch.context() as patched:
                patched.setattr(hub, "_apply_soon", lambda: None)  # what is delivered now is lost
                for number in range(3):
                    await send(writer, f"n{number}")
                await log_of(writer).cut(writer.position)
                hub._inbox.clear()
            hub.catch_up()
            await send(writer, "m2")
            assert isinstance(await halted_by(hub), StoreDamaged)
            assert await has(hub, "m1")

    run(miss())


@proves("replication/lost-log")
def test_a_changed_entry_is_void_without_the_key_and_noticed_with_it() -> None:
    signer, chain, entries = Signer([b"a key of sixteen or more"], "log"), b"", []
    for position in (1, 2):
        data = encode(Batch(FORMAT, position - 1, "node", position, chain, VERSION, 0.0, rows=b"rows"))
        entries.append(Entry(position, data, signer.sign(data), 0.0))
        chain = next_chain(chain, position, data)
    first, second = entries
    after = next_chain(b"", 1, first.data)
    assert read_entry(first, signer, b"", VERSION) is not None
    assert read_entry(second, signer, after, VERSION) is not None
    changed = encode(msgspec.structs.replace(msgspec.msgpack.decode(first.data, type=Batch), rows=b"others"))
    assert read_entry(msgspec.structs.replace(first, data=changed), signer, b"", VERSION) is None
    assert read_entry(first, Signer([b"a key of sixteen or more"], "another log"), b"", VERSION) is None
    with pytest.raises(StoreDamaged):
        read_entry(second, signer, next_chain(b"", 1, changed), VERSION)


# --- entries of strangers --------------------------------------------------------------------------------------------


async def publish_garbage(team: Team, folder: Path) -> None:
    """Copies of batches, garbage, and a batch that is right but for its signature: void on all hubs."""
    first, second = team.hubs
    await send(first, "m1")
    data, mac = await entry_at(first, 1)
    for forged, signature in (
        (data, mac),
        (data, None),
        (b"garbage", None),
        (b"garbage", mac),
        (b"", ""),
        (b"\x95", first._signer.sign(b"\x95")),
    ):
        await publish_raw(second, forged, signature)
        await send(second, f"after {first.position}")
    assert await first.refresh(REFRESH_SECONDS)
    rows = forged_rows(folder)
    forged = encode(Batch(FORMAT, first.position, first.node, 99, first.chain, first.schema, 0.0, rows=rows))
    await publish_raw(first, forged, Signer([b"not the key of the team"], first._state.incarnation).sign(forged))
    await send(first, "last")
    assert len(await team.digests()) == 1
    for hub in team.hubs:
        assert hub.status().halted is None
        assert await has(hub, "last")
        assert hub._file.rows("SELECT * FROM marks WHERE name = 'forged'") == []
    assert team.hubs[-1].void_entries == 7


def forged_rows(folder: Path) -> bytes:
    """A changeset that adds a row."""
    path = str(folder / "forged.db")
    create_replica(path, "forged")
    with closing(ReplicaConnection(path)) as file:
        file.begin()
        session = file.record()
        file.run("INSERT INTO marks VALUES ('forged', 1.0)")
        changes = session.changeset()
        session.close()
        file.roll_back()
    return changes


@proves("replication/void")
def test_copies_and_garbage_in_the_log_are_void(one_server: Servers, tmp_path: Path) -> None:
    async def publish() -> None:
        async with hubs_of(one_server, tmp_path, 2) as team:
            await publish_garbage(team, tmp_path)

    run(publish())


async def publish_with_headers(hub: ReplicatedStore, head: bytes) -> None:
    """Publish an entry with exactly these headers, as no client library would."""
    [port] = [int(address.rpartition(":")[2]) for address in log_of(hub).address.servers]
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    await reader.readline()
    sizes = f"{len(head)} {len(head) + 1}"
    command = f"HPUB {log_of(hub).address.subject} {sizes}\r\n".encode()
    writer.write(b'CONNECT {"headers": true, "verbose": false}\r\n' + command + head + b"x\r\nPING\r\n")
    while not (await reader.readline()).startswith(b"PONG"):
        pass
    writer.close()


@proves("replication/void")
@pytest.mark.parametrize(
    "head",
    [
        b"NATS/1.0 100 Idle Heartbeat\r\n\r\n",
        b"NATS/1.0\r\nStatus: 100\r\n\r\n",
        b"NATS/1.0\r\nTelex-Mac: \xc3\xbc\r\n\r\n",
        b"NATS/1.0\r\nTelex-Mac: \xff\r\n\r\n",
        b"NATS/1.0\r\nTelex-Mac\r\n\r\n",
    ],
    ids=["heartbeat", "status of a heartbeat", "signature in UTF-8", "signature in no encoding", "no value"],
)
def test_an_entry_with_strange_headers_is_void(one_server: Servers, tmp_path: Path, head: bytes) -> None:
    async def publish() -> None:
        async with hubs_of(one_server, tmp_path, 2) as team:
            first, second = team.hubs
            await send(first, "m1")
            await publish_with_headers(first, head)
            await send(second, "m2")
            await send(first, "m3")
            assert len(await team.digests()) == 1
            assert [hub.status().halted for hub in team.hubs] == [None] * 3
            assert await ids_in(second) == ["m1", "m2", "m3"]
            assert team.hubs[-1].void_entries == 1

    run(publish())


def test_signatures_that_are_not_checked_are_found(
    one_server: Servers, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def publish() -> None:
        async with hubs_of(one_server, tmp_path, 2) as team:
            await publish_garbage(team, tmp_path)

    monkeypatch.setattr(Signer, "is_valid", lambda *_: True)
    with pytest.raises((AssertionError, StoreError)):
        run(publish())


@proves("replication/void")
def test_a_copy_of_a_batch_in_flight_with_another_signature_is_not_taken_for_it(
    one_server: Servers, tmp_path: Path
) -> None:
    """All hubs must find it void, also the one that wrote these bytes."""

    async def copy() -> None:
        async with hubs_of(one_server, tmp_path, 2) as team:
            hub, other = team.hubs
            await send(hub, "m1")
            log = log_of(hub)
            publish, is_first = log.publish, [True]

            async def publish_behind_copy(data: bytes, mac: str, base: int) -> Outcome:
                if is_first.pop() if is_first else False:
                    await publish_raw(other, data, "0" * len(mac))
                    return InDoubt()
                return await publish(data, mac, base)

            log.publish = publish_behind_copy  # type: ignore[method-assign]
            await send(hub, "m2")
            assert await other.refresh(REFRESH_SECONDS)
            assert await ids_in(other) == ["m1", "m2"]
            assert len(await team.digests()) == 1

    run(copy())


# --- a full log ------------------------------------------------------------------------------------------------------


async def fill_up(hub: ReplicatedStore, sent: list[str]) -> None:
    """Send until the log takes no more."""
    noise = random.Random(1)
    for number in range(1_000):
        await send(hub, f"m{number}", raw=noise.randbytes(10_000))
        sent.append(f"m{number}")


@proves("replication/full-log")
def test_a_full_log_takes_no_message_and_every_ack(one_server: Servers, tmp_path: Path) -> None:
    async def fill() -> None:
        async with hubs_of(one_server, tmp_path) as team:
            hub, sent = await team.open(log_bytes=LOG_BYTES), list[str]()
            with pytest.raises(StoreFull):
                await fill_up(hub, sent)
            leased = await receive(hub, limit=3)
            assert [await ack(hub, lease) for lease in leased] == [True] * 3
            assert len(await team.digests()) == 1
            assert await ids_in(team.hubs[-1]) == sent

    run(fill())


@proves("replication/full-log")
def test_a_log_without_any_room_refuses_what_it_cannot_store(
    one_server: Servers, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The server refuses it, as when other streams use up its disk."""

    async def fill() -> None:
        async with hubs_of(one_server, tmp_path) as team:
            hub, sent = await team.open(log_bytes=LOG_BYTES), list[str]()
            with pytest.raises(StoreFull):
                await fill_up(hub, sent)
            assert len(await team.digests()) == 1
            assert await ids_in(team.hubs[-1]) == sent

    monkeypatch.setattr(ReplicatedStore, "is_log_full", False)
    run(fill())


@proves("replication/full-log")
def test_a_message_that_is_too_large_for_the_log_is_refused_and_those_beside_it_are_not(
    one_server: Servers, tmp_path: Path
) -> None:
    large = random.Random(1).randbytes(TOO_LARGE_BYTES)

    async def write() -> None:
        async with hubs_of(one_server, tmp_path, 1) as team:
            [hub] = team.hubs
            with pytest.raises(StoreFull):
                await send(hub, "alone", raw=large)
            calls = [send(hub, "m1"), send(hub, "m2"), send(hub, "large", raw=large), send(hub, "m3")]
            *_, refused, last = await asyncio.gather(*calls, return_exceptions=True)
            assert isinstance(refused, StoreFull)
            assert not isinstance(last, BaseException)
            assert await ids_in(hub) == ["m1", "m2", "m3"]
            assert len(await team.digests()) == 1

    run(write())


@proves("replication/full-log")
@pytest.mark.parametrize("outcome, error", [(NoRoom("full"), StoreFull), (InDoubt(), OutcomeUnknown)])
def test_a_checkpoint_that_cannot_be_stored_is_an_error(
    one_server: Servers, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, outcome: Outcome, error: type[StoreError]
) -> None:
    async def fill() -> None:
        async with hubs_of(one_server, tmp_path, 1) as team:
            [hub] = team.hubs
            await send(hub, "m1")

            async def publish(data: bytes, mac: str, base: int) -> Outcome:
                await asyncio.sleep(0)
                return outcome

            log_of(hub).publish = publish  # type: ignore[method-assign]
            with pytest.raises(error):
                await asyncio.wait_for(hub.checkpoint(), 10.0)

    monkeypatch.setattr(writer, "OUTCOME_SECONDS", 0.2)
    run(fill())


# --- a full disk -----------------------------------------------------------------------------------------------------


@proves("replication/catch-up")
def test_a_copy_that_cannot_be_written_is_not_tried_again_with_each_entry(
    one_server: Servers, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each attempt follows the log anew, which costs the servers a consumer."""

    async def follow() -> None:
        async with hubs_of(one_server, tmp_path, 2) as team:
            writer, hub = team.hubs
            await send(writer, "m1")
            assert await hub.refresh(REFRESH_SECONDS)
            applier = hub._replica.applier
            begin = applier.begin

            def fail() -> None:
                raise StoreFull("no room")

            applier.begin = fail  # type: ignore[method-assign]
            await send(writer, "n0")
            while not hub._follow_from:
                await asyncio.sleep(0.01)
            consumers = log_of(hub).consumers + 1  # one may be on its way
            for number in range(1, 5):
                await send(writer, f"n{number}")
                await asyncio.sleep(2 * store.TICK_SECONDS)
            assert log_of(hub).consumers <= consumers
            applier.begin = begin  # type: ignore[method-assign]
            hub._follow_from = 0.0
            assert await hub.refresh(REFRESH_SECONDS)
            assert await has(hub, "n4")

    monkeypatch.setattr(store, "APPLY_AGAIN_SECONDS", 1_000.0)
    run(follow())


# --- snapshots -------------------------------------------------------------------------------------------------------


@proves("replication/snapshot")
@pytest.mark.parametrize("error", [apsw.FullError("disk"), NoStreamResponseError()], ids=["full disk", "election"])
def test_a_snapshot_that_fails_is_made_later(
    one_server: Servers, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    errors = [error]

    def make(path: str) -> tuple[int, bytes]:
        if errors:
            raise errors.pop()
        return make_snapshot(path)

    async def wait() -> None:
        async with hubs_of(one_server, tmp_path, 1) as team:
            [hub] = team.hubs
            await send(hub, "m1")
            while not hub.status().snapshot:
                await asyncio.sleep(0.05)

    monkeypatch.setattr(store, "make_snapshot", make)
    monkeypatch.setattr(store, "CHECK_LOG_SECONDS", 0.05)
    monkeypatch.setattr(store, "SNAPSHOT_SECONDS", 0.0)
    run(wait())


@proves("replication/snapshot")
def test_a_hub_asks_again_for_a_snapshot_that_it_did_not_get(
    one_server: Servers, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fetch, errors = SnapshotStore.fetch, [nats.errors.TimeoutError()]

    async def fail_once(self: SnapshotStore, *arguments: Any) -> None:
        if errors:
            raise errors.pop()
        await fetch(self, *arguments)

    async def start() -> None:
        async with hubs_of(one_server, tmp_path, 1) as team:
            await send(team.hubs[0], "m1")
            await team.hubs[0].snapshot()
            assert await has(await team.open(), "m1")
            assert not errors

    monkeypatch.setattr(SnapshotStore, "fetch", fail_once)
    run(start())


@proves("replication/snapshot")
def test_a_hub_that_starts_from_a_snapshot_has_the_tables_of_the_whole_log(one_server: Servers, tmp_path: Path) -> None:
    async def start() -> None:
        async with hubs_of(one_server, tmp_path, 1) as team:
            [hub] = team.hubs
            for number in range(5):
                await send(hub, f"m{number}")
            position = await hub.snapshot()
            assert position == hub.position
            await send(hub, "m5")
            whole = tmp_path / "whole"
            create_replica(str(whole / FILE), hub._state.incarnation)
            assert len({hub.digest(), (await team.open()).digest(), (await team.open("whole")).digest()}) == 1
            await hub.snapshot()
            state = await log_of(hub).state(0.0)
            assert state is not None
            assert state.first == position + 1
            assert len(await team.digests()) == 1

    run(start())


@proves("replication/snapshot")
@pytest.mark.parametrize("suffix", ["-wal", "-journal"])
@pytest.mark.parametrize("from_snapshot", [True, False])
def test_a_new_copy_is_refused_beside_the_log_file_of_an_earlier_one(
    one_server: Servers, tmp_path: Path, suffix: str, from_snapshot: bool
) -> None:
    async def start() -> None:
        async with hubs_of(one_server, tmp_path, 1) as team:
            [hub] = team.hubs
            await send(hub, "m1")
            if from_snapshot:
                await hub.snapshot()
            os.mkdir(tmp_path / "new")
            (tmp_path / "new" / f"{FILE}{suffix}").write_bytes(b"left over")
            with pytest.raises(StoreDamaged):
                await team.open("new")

    run(start())


@proves("replication/snapshot")
def test_a_hub_that_starts_from_nothing_on_a_log_that_began_with_a_file_halts(
    one_server: Servers, tmp_path: Path
) -> None:
    async def start() -> None:
        async with hubs_of(one_server, tmp_path, 1) as team:
            create_replica(str(tmp_path / "first" / FILE), team.hubs[0]._state.incarnation, chain=b"sixteen of state")
            first = await team.open("first")
            await send(first, "m1")
            assert isinstance(await halted_by(team.hubs[0]), StoreDamaged)
            late = await team.open()
            assert isinstance(late.batches.halted, StoreDamaged)
            with pytest.raises(StoreError):
                await send(late, "m2")

    run(start())
