"""What does the store say when the disk fails it: at the commit, or at the sync that comes after?"""

import asyncio
import errno
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import apsw
import pytest

import telex
from telex.client import SyncBus
from telex.config import Settings
from telex.connection import Connection
from telex.errors import OutcomeUnknown, StoreFull
from telex.ports.bus import Receipt
from telex.stores.sqlite import caches, connection
from telex.stores.sqlite.transaction import SqliteTransaction

NOTE = "all is well\n"


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """A store in which everybody is known, so that a send is one transaction and one sync."""
    store = tmp_path / "telex.db"
    with opened(store) as bus:
        send(bus, "first")
        [leased] = bus.receive("lead")
        bus.ack(leased.token, agent="lead")
    return store


def opened(store: Path) -> Connection:
    return telex.connect(store, settings=Settings())


def send(bus: SyncBus, id_: str) -> Receipt:
    return bus.send(NOTE, sender="dev", to="lead", id=id_)


def waiting(bus: SyncBus) -> list[str]:
    return [message.id for _, message in bus.inbox("lead")]


class Syncs:
    """Stands before `fdatasync`: it tells which files were synced, and fails when it is told to."""

    def __init__(self) -> None:
        self.inodes: list[int] = []
        self.failing = False

    def __call__(self, descriptor: int) -> None:
        self.inodes.append(os.fstat(descriptor).st_ino)
        if self.failing:
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        os.fsync(descriptor)


@pytest.fixture
def syncs(store: Path, monkeypatch: pytest.MonkeyPatch) -> Syncs:
    syncs = Syncs()
    monkeypatch.setattr(connection, "fdatasync", syncs)
    return syncs


# --- which file is synced, and when -----------------------------------------------------------------------------------


def test_what_is_promised_is_synced_once_and_a_lease_is_not(store: Path, syncs: Syncs) -> None:
    with opened(store) as bus:
        send(bus, "m1")
        assert len(syncs.inodes) == 1
        [leased] = bus.receive("lead")
        assert len(syncs.inodes) == 1
        bus.ack(leased.token, agent="lead")
        assert len(syncs.inodes) == 2


def test_one_who_is_told_that_it_was_sent_before_is_told_so_after_a_sync(store: Path, syncs: Syncs) -> None:
    """Whoever kept it may have been killed before its own sync."""
    with opened(store) as bus:
        send(bus, "m1")
        assert send(bus, "m1").duplicate
        assert len(syncs.inodes) == 2


def test_the_log_that_is_synced_is_the_one_that_is_written(store: Path, syncs: Syncs) -> None:
    """While anybody has the store open the log stays; when all have closed it goes, and the next begin another."""

    def synced(bus: SyncBus, id_: str) -> int:
        assert send(bus, id_).accepted
        assert syncs.inodes[-1] == log.stat().st_ino
        return syncs.inodes[-1]

    log = Path(f"{store}-wal")
    with opened(store) as one:
        first = synced(one, "m1")
        with opened(store) as other:
            assert synced(other, "m2") == first
        assert synced(one, "m3") == first
        with opened(store) as other:
            one.close()
            assert synced(other, "m4") == first
    assert not log.exists()
    (store.parent / "in the place of the old log").touch()  # so that the new one is told from it
    with opened(store) as bus:
        synced(bus, "m5")
        assert waiting(bus) == ["m1", "m2", "m3", "m4", "m5"]


# --- a sync that fails ------------------------------------------------------------------------------------------------


def test_a_log_replaced_under_an_open_store_is_never_taken_for_its_own(store: Path, tmp_path: Path) -> None:
    log = Path(f"{store}-wal")
    with opened(store) as bus:
        send(bus, "m1")
        log.rename(tmp_path / "elsewhere")
        with pytest.raises(OutcomeUnknown):
            send(bus, "m2")
        shutil.copy(tmp_path / "elsewhere", log)
        with pytest.raises(OutcomeUnknown):
            send(bus, "m3")


def test_after_a_failed_sync_the_log_is_written_again_as_it_was(
    store: Path, syncs: Syncs, monkeypatch: pytest.MonkeyPatch
) -> None:
    written: list[bytes] = []
    write = os.pwrite

    def seen(descriptor: int, data: bytes, at: int) -> int:
        written.append(data)
        return write(descriptor, data, at)

    monkeypatch.setattr(os, "pwrite", seen)
    with opened(store) as bus:
        send(bus, "m1")
        assert not written
        syncs.failing = True
        with pytest.raises(OutcomeUnknown):
            send(bus, "m2")
        assert b"".join(written) == Path(f"{store}-wal").read_bytes()
        syncs.failing = False
        assert send(bus, "m2").duplicate
        assert waiting(bus) == ["m1", "m2"]


def test_a_newcomer_whose_first_sync_fails_is_told_the_id_that_it_gave(store: Path, syncs: Syncs) -> None:
    with opened(store) as bus:
        syncs.failing = True
        with pytest.raises(OutcomeUnknown) as caught:
            bus.send(NOTE, sender="ada", role="qa", to="lead", id="n-1")
        assert caught.value.id == "n-1"


def test_a_failed_sync_leaves_it_open_and_sending_again_keeps_it_once(store: Path, syncs: Syncs) -> None:
    syncs.failing = True
    with opened(store) as bus, pytest.raises(OutcomeUnknown) as raised:
        send(bus, "m1")
    assert raised.value.id == "m1"
    syncs.failing = False
    with opened(store) as bus:
        again = send(bus, "m1")
        assert (again.accepted, again.duplicate) == (True, True)
        assert waiting(bus) == ["m1"]


def test_while_syncs_fail_sending_again_is_not_answered_either(store: Path, syncs: Syncs) -> None:
    syncs.failing = True
    with opened(store) as bus:
        for _ in range(3):
            with pytest.raises(OutcomeUnknown):
                send(bus, "m1")
        syncs.failing = False
        assert send(bus, "m1").duplicate
        assert waiting(bus) == ["m1"]


def test_a_failed_sync_is_told_to_each_who_shared_it_with_the_id_of_its_own(store: Path, syncs: Syncs) -> None:
    ids = [f"m{number}" for number in range(5)]

    async def scene() -> None:
        async with opened(store) as bus:
            await bus.inbox("lead")
            syncs.failing, before = True, len(syncs.inodes)
            sends = [bus.send(NOTE, sender="dev", to="lead", id=id_) for id_ in ids]
            failures = await asyncio.gather(*sends, return_exceptions=True)
            assert [failure.id for failure in failures if isinstance(failure, OutcomeUnknown)] == ids
            assert len(syncs.inodes) == before + 1, "they were one transaction, and it is not tried again by itself"
            syncs.failing = False
            sends = [bus.send(NOTE, sender="dev", to="lead", id=id_) for id_ in ids]
            assert all(receipt.duplicate for receipt in await asyncio.gather(*sends))
            assert [message.id for _, message in await bus.inbox("lead")] == ids

    asyncio.run(scene())


def test_a_failed_sync_of_an_ack_leaves_it_open_and_acking_again_is_safe(store: Path, syncs: Syncs) -> None:
    with opened(store) as bus:
        send(bus, "m1")
        [leased] = bus.receive("lead")
        syncs.failing = True
        with pytest.raises(OutcomeUnknown):
            bus.ack(leased.token, agent="lead")
        syncs.failing = False
        assert bus.ack(leased.token, agent="lead") is False
        assert waiting(bus) == []


# --- a commit that fails ----------------------------------------------------------------------------------------------


class Disk(apsw.VFS):
    """A disk that takes so many more writes to the log, and then fails in its way."""

    def __init__(self) -> None:
        self.writes_left: int | None = None
        self.failure: apsw.Error = apsw.FullError("no room")
        super().__init__("failing", "unix", makedefault=True)

    def xOpen(self, name: str | apsw.URIFilename | None, flags: list[int]) -> apsw.VFSFile:  # noqa: N802
        return File(self, name, flags)


class File(apsw.VFSFile):
    def __init__(self, disk: Disk, name: str | apsw.URIFilename | None, flags: list[int]) -> None:
        self.disk, self.log = disk, bool(flags[0] & apsw.SQLITE_OPEN_WAL)
        super().__init__("unix", name, flags)

    def xWrite(self, data: bytes, offset: int) -> None:  # noqa: N802
        if self.log and self.disk.writes_left is not None:
            if self.disk.writes_left == 0:
                raise self.disk.failure
            self.disk.writes_left -= 1
        super().xWrite(data, offset)


@pytest.fixture
def disk(store: Path) -> Iterator[Disk]:
    disk = Disk()
    yield disk
    disk.unregister()


def found_after_a_crash(store: Path, copy: Path) -> list[str]:
    """What somebody finds who has nothing but the files."""
    copy.mkdir()
    for name in (store.name, f"{store.name}-wal"):
        shutil.copy(store.parent / name, copy / name)
    with opened(copy / store.name) as bus:
        return waiting(bus)


def test_a_commit_for_which_there_is_no_room_keeps_nothing_wherever_it_stops(
    store: Path, disk: Disk, tmp_path: Path
) -> None:
    with opened(store) as bus:
        send(bus, "m1")
        for writes in range(100):
            disk.writes_left = writes
            try:
                send(bus, "m2")
                break
            except StoreFull:
                disk.writes_left = None
                assert waiting(bus) == ["m1"]
                assert found_after_a_crash(store, tmp_path / f"after-{writes}") == ["m1"]
        assert writes > 4, "it was never full in the middle of a commit"
        assert waiting(bus) == ["m1", "m2"]


def test_a_commit_that_the_disk_fails_is_open_and_sending_again_keeps_it_once(store: Path, disk: Disk) -> None:
    disk.failure = apsw.IOError("the disk failed")
    with opened(store) as bus:
        send(bus, "m1")
        disk.writes_left = 3
        with pytest.raises(OutcomeUnknown) as raised:
            send(bus, "m2")
        assert raised.value.id == "m2"
        disk.writes_left = None
        assert send(bus, "m2").accepted
        assert waiting(bus) == ["m1", "m2"]


def test_on_a_full_disk_an_ack_gives_up_the_ballast_before_it_gives_up(store: Path, disk: Disk) -> None:
    with opened(store) as bus:
        send(bus, "m1")
        [leased] = bus.receive("lead")
        disk.writes_left = 1
        ballast = Path(f"{store}-ballast")
        assert ballast.exists()
        with pytest.raises(StoreFull):
            bus.ack(leased.token, agent="lead")
        assert not ballast.exists(), "it was given up, and the second attempt met the same disk"
        disk.writes_left = None
        assert bus.ack(leased.token, agent="lead")


# --- the latest ids --------------------------------------------------------------------------------------------------


def test_what_was_undone_is_not_taken_for_indexed(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The ids of m1 and m2 go into their index in the very transaction that fails."""
    monkeypatch.setattr(caches, "TAIL_MAX", 1)
    with opened(store) as bus:
        send(bus, "m1")
        send(bus, "m2")
        with monkeypatch.context() as patched:
            patched.setattr(SqliteTransaction, "commit", _no_room)
            with pytest.raises(StoreFull):
                send(bus, "m3")
        assert [send(bus, name).duplicate for name in ("m1", "m2", "m3", "m1")] == [True, True, False, True]


def _no_room(tx: SqliteTransaction) -> None:
    raise apsw.FullError("no room")
