"""Tests of the files of a store: symbolic links among them, their modes, and a store that is moved while it is open."""

import os
import shutil
import stat
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

import telex
from telex.client import SyncBus
from telex.config import Settings
from telex.connection import Connection
from telex.errors import OutcomeUnknown, StoreFull, StoreUnavailable
from telex.stores.disk import BALLAST_BYTES
from telex.stores.sqlite import connection
from telex.stores.sqlite.connection import SqliteConnection
from telex.surfaces.http.tokens import TokenFile, new_token
from tests.proofs import proves

TOKEN = new_token(agent="dev", role="dev", operator=False, now=1_000.0, expires_at=None)[0]
NOTE = "all is well\n"
KEYS = b"ssh-ed25519 AAAA ada\n" * 10


def opened(path: Path) -> Connection:
    return telex.connect(path, settings=Settings())


def send(bus: SyncBus, id_: str) -> None:
    assert bus.send(NOTE, sender="dev", to="lead", id=id_).accepted


def mode(path: Path) -> int:
    return stat.S_IMODE(path.lstat().st_mode)


# --- symbolic links ---------------------------------------------------------------------------------------------------


@proves("store/files/no-link")
@pytest.mark.parametrize("suffix", ["", "-wal", "-shm", "-journal", "-lock", "-ballast"])
@pytest.mark.parametrize("is_dangling", [False, True])
def test_a_store_file_that_is_a_link_is_refused_and_its_target_is_left_alone(
    suffix: str, is_dangling: bool, tmp_path: Path
) -> None:
    store, target = tmp_path / "project" / ".telex" / "telex.db", tmp_path / "authorized_keys"
    store.parent.mkdir(parents=True)
    if not is_dangling:
        target.write_bytes(KEYS)
    Path(f"{store}{suffix}").symlink_to(target)
    with pytest.raises(StoreUnavailable, match="symbolic link"), opened(store) as bus:
        send(bus, "m1")
    assert (target.read_bytes() if target.exists() else None) == (None if is_dangling else KEYS)
    assert [path.name for path in store.parent.iterdir()] == [f"telex.db{suffix}"]


@proves("store/files/no-link")
def test_a_telex_folder_that_is_a_link_is_refused(tmp_path: Path) -> None:
    (tmp_path / "home").mkdir()
    (tmp_path / "project").mkdir()
    (tmp_path / "project" / ".telex").symlink_to(tmp_path / "home")
    with pytest.raises(StoreUnavailable, match="symbolic link"), opened(tmp_path / "project" / ".telex" / "telex.db"):
        pass
    assert list((tmp_path / "home").iterdir()) == []


@proves("store/files/no-link")
def test_a_link_planted_in_place_of_the_reserve_file_is_not_followed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection, "BALLAST_SECONDS", 0.0)
    store, target = tmp_path / "telex.db", tmp_path / "authorized_keys"
    target.write_bytes(KEYS)
    with opened(store) as bus:
        send(bus, "m1")
        Path(f"{store}-ballast").unlink()
        Path(f"{store}-ballast").symlink_to(target)
        with suppress(StoreFull):  # the link was removed, and the next send makes the file
            send(bus, "m2")
        send(bus, "m3")
    assert Path(f"{store}-ballast").stat().st_size == BALLAST_BYTES
    assert target.read_bytes() == KEYS


@proves("store/files/no-link")
@pytest.mark.parametrize("name", ["tokens.json", "tokens.json-lock", "tokens.json-new"])
def test_a_token_file_that_is_a_link_is_not_followed(name: str, tmp_path: Path) -> None:
    target = tmp_path / "authorized_keys"
    target.write_bytes(b'{"tokens": []}')
    (tmp_path / name).symlink_to(target)
    file = TokenFile(str(tmp_path / "tokens.json"))
    if name != "tokens.json-new":  # that one is removed and made anew
        with pytest.raises(StoreUnavailable):
            file.add(TOKEN)
    else:
        file.add(TOKEN)
    assert target.read_bytes() == b'{"tokens": []}'


def test_a_store_below_a_linked_folder_that_somebody_names_is_opened(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    with opened(tmp_path / "link" / "telex.db") as bus:
        send(bus, "m1")
    assert (tmp_path / "real" / "telex.db").exists()


# --- modes ------------------------------------------------------------------------------------------------------------


@pytest.fixture
def umask(request: pytest.FixtureRequest) -> Iterator[None]:
    before = os.umask(request.param)
    yield
    os.umask(before)


@proves("store/files/private")
@pytest.mark.parametrize("umask", [0o000, 0o022, 0o277], indirect=True)
def test_what_is_made_for_a_store_is_its_owners_alone_whatever_the_umask(umask: None, tmp_path: Path) -> None:
    folder = tmp_path / ".telex"
    with opened(folder / "telex.db") as bus:
        send(bus, "m1")
        TokenFile(str(folder / "tokens.json")).add(TOKEN)
        names = {path.name: mode(path) for path in folder.iterdir()}
    assert names.keys() >= {"telex.db", "telex.db-wal", "telex.db-shm", "telex.db-lock", "telex.db-ballast"}
    assert {name: value for name, value in names.items() if value != 0o600} == {}
    assert mode(folder) == 0o700


def test_a_store_that_its_owner_shares_stays_shared(tmp_path: Path) -> None:
    """Files beside the store get its mode, as SQLite does it: a group may be let in by one chmod of the store."""
    store = tmp_path / "telex.db"
    with opened(store) as bus:
        send(bus, "m1")
    for path in tmp_path.iterdir():
        path.chmod(0o660)
    Path(f"{store}-lock").unlink()
    with opened(store) as bus:
        send(bus, "m2")
        assert {mode(path) for path in tmp_path.iterdir()} == {0o660}


# --- moved, deleted, replaced -----------------------------------------------------------------------------------------


def moved(store: Path) -> None:
    store.rename(store.with_name("elsewhere.db"))


def deleted(store: Path) -> None:
    store.unlink()


def replaced(store: Path) -> None:
    shutil.copy(store, store.with_name("copy.db"))
    store.with_name("copy.db").replace(store)


def whole_folder(store: Path) -> None:
    store.parent.rename(store.parent.with_name("old"))


@proves("store/files/in-place")
@pytest.mark.parametrize("away", [moved, deleted, replaced, whole_folder])
def test_a_store_moved_or_deleted_under_a_process_takes_no_more_messages_or_acks(
    away: Callable[[Path], None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection, "BALLAST_SECONDS", 0.0)  # the free space is read before each write
    store = tmp_path / "team" / "telex.db"
    bus = opened(store).__enter__()
    send(bus, "m1")
    [lease] = bus.receive("lead")
    away(store)
    with pytest.raises(StoreUnavailable, match="moved or deleted"):
        send(bus, "m2")
    with pytest.raises(StoreUnavailable, match="moved or deleted"):
        bus.ack(lease.token, agent="lead")
    bus.close()


@proves("store/files/in-place")
def test_a_store_deleted_while_a_message_is_written_leaves_the_outcome_unknown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = tmp_path / "telex.db"
    with opened(store) as bus:
        send(bus, "m1")
        sync = SqliteConnection._sync

        def delete_and_sync(self: SqliteConnection) -> None:
            store.unlink()
            sync(self)

        monkeypatch.setattr(SqliteConnection, "_sync", delete_and_sync)
        with pytest.raises(OutcomeUnknown):
            send(bus, "m2")


def test_a_process_that_changes_its_folder_goes_on_with_its_store(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path)
    with opened(Path("telex.db")) as bus:
        send(bus, "m1")
        monkeypatch.chdir(tmp_path / "elsewhere")
        send(bus, "m2")
