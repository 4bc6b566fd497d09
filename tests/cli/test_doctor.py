"""Does `telex doctor` see what is wrong with a store, say so, and leave it as it is?"""

import os
import time
from collections.abc import Iterator
from pathlib import Path

import apsw
import pytest

from telex import connect
from telex.client import SyncBus
from telex.config import Settings
from telex.connection import Connection
from telex.stores import doctor
from telex.stores.doctor import DoctorCheck, examine, file_system
from telex.stores.sqlite.schema import VERSION
from telex.surfaces.cli.main import main
from tests.cli.cli_bus_kit import Telex, sent, telex
from tests.evidence.git_repository import Repository
from tests.proofs import proves

__all__ = ["telex"]


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """A store with two messages in it, one of which waits."""
    path = tmp_path / "telex.db"
    with opened(path) as bus:
        for id_ in ("m1", "m2"):
            bus.send("all is well\n", sender="dev", to="lead", id=id_)
        [leased] = bus.receive("lead")
        bus.ack(leased.token, agent="lead")
    return path


@pytest.fixture
def bus(store: Path) -> Iterator[SyncBus]:
    """Somebody who has the store open meanwhile."""
    with opened(store) as bus:
        yield bus


def opened(path: Path) -> Connection:
    return connect(path, settings=Settings())


def change(store: Path, sql: str) -> None:
    connection = apsw.Connection(str(store))
    connection.execute(sql)
    connection.close()


def checks(store: Path, now: float | None = None) -> dict[str, DoctorCheck]:
    return {check.name: check for check in examine(str(store), time.time() if now is None else now)}


def wrong(store: Path, now: float | None = None) -> list[str]:
    return [check.name for check in checks(store, now).values() if check.ok is False]


# --- a sound store ----------------------------------------------------------------------------------------------------


def test_a_sound_store_has_everything_in_order(store: Path) -> None:
    seen = checks(store)
    assert [name for name, check in seen.items() if check.ok is not True] == []
    assert seen["version"].say == f"file version {VERSION}"
    assert seen["contents"].say.startswith("2 messages, 1 waiting, ")
    assert seen["digests"].say == "2 messages as received"


def test_one_message_is_one_message(tmp_path: Path) -> None:
    with opened(tmp_path / "telex.db") as bus:
        bus.send("all is well\n", sender="dev", to="lead")
    seen = checks(tmp_path / "telex.db")
    assert seen["contents"].say.startswith("1 message, 1 waiting, ")
    assert seen["digests"].say == "1 message as received"


def test_a_store_in_use_can_be_looked_at(store: Path, bus: SyncBus) -> None:
    bus.send("all is well\n", sender="dev", to="lead")
    assert wrong(store) == []
    assert checks(store)["contents"].say.startswith("3 messages, 2 waiting")
    assert bus.send("all is well\n", sender="dev", to="lead").accepted


def test_looking_changes_nothing(store: Path) -> None:
    before = store.read_bytes()
    checks(store)
    assert store.read_bytes() == before


def test_a_link_in_the_place_of_a_store_is_named(store: Path, tmp_path: Path) -> None:
    (tmp_path / "link.db").symlink_to(store)
    assert wrong(tmp_path / "link.db") == ["file"]
    assert "symbolic link" in checks(tmp_path / "link.db")["file"].say


# --- harmed contents --------------------------------------------------------------------------------------------------


def test_a_message_changed_in_the_file_is_named(store: Path) -> None:
    change(store, "UPDATE messages SET raw = CAST('all is wall' || char(10) AS BLOB) WHERE id = 'm2'")
    assert wrong(store) == ["digests"]
    say = checks(store)["digests"].say
    assert "m2" in say
    assert "m1" not in say


def test_no_more_than_some_rotten_messages_are_named(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "NAMED_MAX", 1)
    change(store, "UPDATE messages SET raw = x'00'")
    assert checks(store)["digests"].say.endswith("and 1 more")


def test_a_damaged_file_is_called_damaged_and_the_rest_is_not_guessed_at(store: Path) -> None:
    harmed = bytearray(store.read_bytes())
    for page in range(2, len(harmed) // 4096):
        harmed[page * 4096 : page * 4096 + 200] = b"\xaa" * 200
    store.write_bytes(harmed)
    assert set(wrong(store)) & {"integrity", "store"}
    assert "contents" not in checks(store)
    assert store.read_bytes() == harmed


def test_a_file_that_is_cut_short_is_called_damaged(store: Path) -> None:
    store.write_bytes(store.read_bytes()[: 4096 * 3])
    assert set(wrong(store)) & {"integrity", "store"}


def test_deliveries_that_have_lost_their_message_are_counted(store: Path) -> None:
    change(store, "DELETE FROM messages WHERE id = 'm2'")
    assert wrong(store) == ["deliveries"]
    assert checks(store)["deliveries"].say == "1 delivery without a message"
    change(store, "DELETE FROM messages")
    assert checks(store)["deliveries"].say == "2 deliveries without a message"


# --- not ours ---------------------------------------------------------------------------------------------------------


def test_a_store_of_a_later_telex_is_left_to_it(store: Path) -> None:
    change(store, f"PRAGMA user_version = {VERSION + 1}")
    assert wrong(store) == ["version"]
    assert "upgrade Telex" in checks(store)["version"].say
    assert "contents" not in checks(store)


def test_a_store_of_an_earlier_telex_is_not_brought_up_to_date_by_looking(
    store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = store.read_bytes()
    monkeypatch.setattr(doctor, "VERSION", VERSION + 1)
    assert wrong(store) == []
    assert checks(store)["version"].ok is None
    assert store.read_bytes() == before


def test_a_file_in_which_nothing_is_yet_stays_as_it_is(tmp_path: Path) -> None:
    empty = tmp_path / "empty.db"
    empty.touch()
    assert wrong(empty) == ["store"]
    assert empty.stat().st_size == 0


def test_a_file_that_is_not_there_is_not_made(tmp_path: Path) -> None:
    assert wrong(tmp_path / "none.db") == ["file"]
    assert list(tmp_path.iterdir()) == []


def test_the_database_of_another_program_is_told_from_ours(tmp_path: Path) -> None:
    change(tmp_path / "other.db", "CREATE TABLE t (a)")
    assert wrong(tmp_path / "other.db") == ["store"]


# --- the place --------------------------------------------------------------------------------------------------------


def test_a_log_that_cannot_shrink_is_noticed(store: Path, bus: SyncBus, monkeypatch: pytest.MonkeyPatch) -> None:
    bus.send("all is well\n", sender="dev", to="lead")
    assert wrong(store) == []
    monkeypatch.setattr(doctor, "WAL_BYTES_MAX", 100)
    assert wrong(store) == ["write-ahead log"]


def test_a_clock_behind_the_store_is_noticed(store: Path) -> None:
    assert wrong(store, time.time() - 2) == []
    assert wrong(store, time.time() - 100) == ["clock"]


def test_a_disk_that_is_nearly_full_is_noticed(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "FREE_BYTES_MIN", 2**62)
    assert wrong(store) == ["disk"]


def test_a_ballast_that_was_given_up_is_worth_a_note(store: Path) -> None:
    Path(f"{store}-ballast").unlink()
    assert wrong(store) == []
    assert checks(store)["ballast"].ok is None


def test_a_store_that_other_users_can_open_is_worth_a_note(store: Path) -> None:
    store.chmod(0o644)
    store.parent.chmod(0o755)
    assert checks(store)["permissions"].ok is None
    assert "chmod 700" in checks(store)["permissions"].say


@pytest.mark.parametrize("content", [b"", b"Dear diary,\n"])
def test_nothing_is_said_about_the_files_beside_a_file_that_is_no_store(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "diary.txt").write_bytes(content)
    assert not checks(tmp_path / "diary.txt").keys() & {"ballast", "write-ahead log"}


def test_an_old_sqlite_is_noticed(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "SQLITE_MIN", (99, 0, 0))
    assert wrong(store) == ["SQLite"]


def test_a_store_that_may_not_be_written_is_noticed(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Asked of the system in its own words, since root may write everything."""
    allowed = os.access
    monkeypatch.setattr(os, "access", lambda path, mode: path != str(store) and allowed(path, mode))
    assert wrong(store) == ["permissions"]
    monkeypatch.setattr(os, "access", lambda path, mode: path != str(store.parent) and allowed(path, mode))
    assert wrong(store) == ["permissions"]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everything")
def test_a_read_only_store_can_still_be_looked_at(store: Path) -> None:
    store.chmod(0o400)
    assert wrong(store) == ["permissions"]


MOUNTS = """\
/dev/sda1 / ext4 rw 0 0
server:/home /home nfs4 rw 0 0
/dev/sdb1 /home/ada/local\\040disk xfs rw 0 0
tmpfs /homely tmpfs rw 0 0
"""


@pytest.mark.parametrize(
    "folder, system",
    [
        ("/", "ext4"),
        ("/srv/team", "ext4"),
        ("/home", "nfs4"),
        ("/home/ada/project/.telex", "nfs4"),
        ("/home/ada/local disk/.telex", "xfs"),
        ("/homely/project", "tmpfs"),
    ],
)
def test_the_file_system_is_that_of_the_nearest_mount(tmp_path: Path, folder: str, system: str) -> None:
    mounts = tmp_path / "mounts"
    mounts.write_text(MOUNTS)
    assert file_system(folder, str(mounts)) == system


def test_where_the_system_does_not_tell_nothing_is_claimed(
    tmp_path: Path, store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert file_system("/home", str(tmp_path / "no mounts here")) is None
    monkeypatch.setattr(doctor, "file_system", lambda folder: None)
    assert checks(store)["file system"].ok is None


@pytest.mark.parametrize("system", sorted(doctor.NETWORKED))
def test_a_network_file_system_is_no_place_for_a_store(
    store: Path, monkeypatch: pytest.MonkeyPatch, system: str
) -> None:
    monkeypatch.setattr(doctor, "file_system", lambda folder: system)
    assert wrong(store) == ["file system"]


# --- the command ------------------------------------------------------------------------------------------------------


def test_the_command_fails_when_anything_is_wrong_and_names_it(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor", "--store", str(store)]) == 0
    assert "wrong" not in capsys.readouterr().out
    change(store, "UPDATE messages SET raw = x'00' WHERE id = 'm1'")
    assert main(["doctor", "--store", str(store)]) == 1
    shown = capsys.readouterr().out
    [line] = [line for line in shown.splitlines() if line.lstrip().startswith("wrong")]
    assert "digests" in line
    assert "m1" in shown


@pytest.fixture
def strays(telex: Telex, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Telex:
    """A repository with a linked work tree, its store, and two stores that were made in other folders of it before."""
    repository = Repository(tmp_path / "main")
    repository.commit({"src/a.py": ""})
    repository.git("worktree", "add", "--quiet", str(tmp_path / "linked"))
    monkeypatch.chdir(repository.folder)
    for place in ("src/.telex/telex.db", str(tmp_path / "linked/.telex/telex.db")):
        telex_of = ["--store", place]
        Path("note.txt").write_text(place)
        for id_ in ("waits", "done"):
            assert (
                telex("send", "--as", "ada", "--to", "lead", "--id", f"{id_}-{place[0]}", "note.txt", *telex_of).code
                == 0
            )
        assert telex("receive", "--as", "lead", "--json", *telex_of).answer["id"] == f"waits-{place[0]}"
        assert telex("receive", "--as", "lead", "--ack", *telex_of).code == 0
        assert telex("send", "--as", "dev", "--to", "nobody", "note.txt", *telex_of).code == 2
    sent(telex)
    return telex


@proves("bus/place/strays")
def test_stray_stores_of_the_repository_are_listed(strays: Telex, tmp_path: Path) -> None:
    found = [check["say"] for check in strays("doctor", "--json").answers if check["name"] == "stray store"]
    assert [say.partition(":")[0] for say in found] == ["src/.telex/telex.db", "../linked/.telex/telex.db"]
    assert all("3 messages, 1 waiting" in say for say in found)
    assert "telex doctor --merge src/.telex" in found[0]
    (tmp_path / "main/src/telex.toml").touch()  # now it is a project of its own
    assert [check["name"] for check in strays("doctor", "--json").answers].count("stray store") == 1


@proves("bus/place/merge")
def test_a_stray_store_is_merged_once_with_what_waits_in_it(strays: Telex, tmp_path: Path) -> None:
    copy = tmp_path / "copy.db"
    copy.write_bytes(Path("src/.telex/telex.db").read_bytes())
    merged = strays("doctor", "--merge", "src", "--json").answer
    assert (merged["messages"], merged["waiting"], merged["members"]) == (3, 1, ["ada"])
    assert (Path("src/.telex").exists(), Path("src/.telex-merged/telex.db").exists()) == (False, True)
    for path in (str(copy), "src/.telex-merged"):
        again = strays("doctor", "--merge", path, "--json").answer
        assert (again["messages"], again["waiting"]) == (0, 0)
    strays("ack", strays("receive", "--as", "lead", "--json").answer["token"], "--as", "lead")
    waits = strays("receive", "--as", "lead", "--json").answer
    assert (waits["id"], waits["from"], waits["raw"]) == ("waits-s", "ada", "src/.telex/telex.db")
    assert strays("receive", "--as", "lead").code == 4
    assert strays("why", "done-s").code == 0
    assert strays("doctor").code == 0


def test_the_store_itself_and_what_is_none_are_not_merged(strays: Telex) -> None:
    assert strays("doctor", "--merge", ".").code == 64
    assert strays("doctor", "--merge", "nowhere").code == 3
    assert strays("doctor", "--merge", "note.txt").code == 1
