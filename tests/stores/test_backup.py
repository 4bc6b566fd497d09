"""`telex backup` and `telex restore`: what was deliverable is deliverable again, and no other file is harmed."""

import shutil
import threading
from contextlib import closing
from pathlib import Path
from typing import Any

import apsw
import pytest

import telex as library
from telex.config import Settings
from telex.stores.doctor import examine
from telex.stores.sqlite import backup
from telex.stores.sqlite.backup import is_backup, restore_backup, write_backup
from telex.stores.sqlite.schema import VERSION
from tests.cli.cli_bus_kit import BLOCKER, Telex, sent, taken, telex
from tests.cli.cli_kit import example
from tests.proofs import proves

__all__ = ["telex"]
STORE, BACKUP = ".telex/telex.db", "backup.db"


def backed_up(telex: Telex) -> dict[str, Any]:
    ran = telex("backup", BACKUP, "--json")
    assert ran.code == 0, ran
    answer: dict[str, Any] = ran.answer
    return answer


def restored(telex: Telex, *options: str) -> dict[str, Any]:
    ran = telex("restore", BACKUP, "--json", *options)
    assert ran.code == 0, ran
    answer: dict[str, Any] = ran.answer
    return answer


def lose_store(folder: Path) -> None:
    shutil.rmtree(folder / ".telex")


def waiting(telex: Telex, agent: str = "lead") -> list[str]:
    ran = telex("inbox", "--as", agent, "--json")
    assert ran.code == 0, ran
    return [row["id"] for row in ran.answers]


# --- what survives ----------------------------------------------------------------------------------------------------
@proves("cli/backup-leases")
def test_a_lease_is_held_and_acked_after_a_restore(telex: Telex, tmp_path: Path) -> None:
    first, second = sent(telex), sent(telex, "all is well")
    token = taken(telex)["token"]
    assert backed_up(telex)["waiting"] == 2
    lose_store(tmp_path)
    restored(telex)
    assert telex("receive", "--as", "lead", "--json").answer["id"] == second  # the first is leased
    assert telex("ack", token, "--as", "lead").code == 0
    assert telex("why", first, "--json").answer["state"] == "acked"


@proves("cli/backup-dead-letters")
def test_a_dead_letter_is_retried_after_a_restore(telex: Telex, tmp_path: Path) -> None:
    (tmp_path / "telex.toml").write_text("[limits]\nattempts_max = 1\n")
    id_ = sent(telex)
    assert telex("nack", taken(telex)["token"], "--as", "lead", "--reason", "no room").code == 0
    backed_up(telex)
    lose_store(tmp_path)
    restored(telex)
    assert [row["id"] for row in telex("dead", "--json").answers] == [id_]
    assert telex("dead", "retry", id_).code == 0
    assert taken(telex)["id"] == id_


@proves("cli/backup-requests")
def test_a_pending_request_is_answered_after_a_restore(telex: Telex, tmp_path: Path) -> None:
    id_ = sent(telex, example("vbw-typed", "approval_request", id="ask-1"))
    backed_up(telex)
    lose_store(tmp_path)
    restored(telex)
    assert telex("why", id_, "--json").answer["answer_by"] is not None
    assert [row["id"] for row in telex("approvals", "--json").answers] == [id_]
    assert telex("approve", id_, "--as", "lead", "--reason", "fine").code == 0
    assert telex("approvals", "--json").answers == []


@proves("cli/backup-tokens")
def test_tokens_are_those_of_the_backup(telex: Telex, tmp_path: Path) -> None:
    sent(telex)
    kept = telex("token", "create", "--agent", "dev", "--json").answer["id"]
    backed_up(telex)
    later = telex("token", "create", "--agent", "qa", "--json").answer["id"]
    restored(telex, "--force")
    assert [row["id"] for row in telex("token", "list", "--json").answers] == [kept] != [later]
    assert (tmp_path / ".telex/tokens.json").stat().st_mode & 0o777 == 0o600


@proves("cli/backup-team")
def test_members_log_and_known_ids_are_those_of_the_backup(telex: Telex, tmp_path: Path) -> None:
    sent(telex, "all is well", "--id", "m-1", "--role", "qa", sender="ada")
    before = telex("events", "--json").answers
    backed_up(telex)
    lose_store(tmp_path)
    restored(telex)
    assert telex("events", "--json").answers == before
    assert telex("where", "--as", "ada", "--json").answer["role"]["value"] == "qa"
    again = telex("send", "--as", "ada", "--to", "lead", "--id", "m-1", "--json", "message.json")
    assert (again.code, again.answer["duplicate"]) == (0, True)


@proves("cli/backup-online")
def test_a_backup_under_writes_is_one_moment_of_the_log(tmp_path: Path) -> None:
    """Every receipt from before the backup is in it, and what is in it is sound."""
    receipts: list[str] = []
    stop = threading.Event()

    def write() -> None:
        with library.connect(tmp_path / "telex.db", settings=Settings()) as bus:
            while not stop.is_set():
                receipts.append(bus.send("all is well\n", sender="dev", to="lead").id)

    writer = threading.Thread(target=write)
    writer.start()
    try:
        while len(receipts) < 20:
            stop.wait(0.001)
        for number in range(3):
            known = set(receipts)
            target = tmp_path / f"b{number}.db"
            write_backup(str(tmp_path / "telex.db"), str(target), {})
            restore_backup(str(target), str(tmp_path / f"r{number}.db"), {}, replace=False)
            with library.connect(tmp_path / f"r{number}.db", settings=Settings()) as bus:
                assert known <= {message.id for _, message in bus.inbox("lead", limit=100_000)}
            assert [check for check in examine(str(tmp_path / f"r{number}.db"), 9e9) if check.ok is False] == []
    finally:
        stop.set()
        writer.join()


# --- what is not harmed -----------------------------------------------------------------------------------------------
@proves("cli/restore-force")
def test_a_store_is_replaced_only_on_request_and_can_be_had_back(telex: Telex) -> None:
    first = sent(telex)
    backed_up(telex)
    second = sent(telex, "all is well")
    assert telex("restore", BACKUP).code == 64
    assert waiting(telex) == [first, second]
    aside = restored(telex, "--force")["aside"]
    assert waiting(telex) == [first]
    assert telex("restore", aside, "--force").code == 0
    assert waiting(telex) == [first, second]


@proves("cli/restore-in-use")
def test_a_store_that_a_process_has_open_is_not_replaced(
    telex: Telex, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("telex.stores.sqlite.backup.IN_USE_MILLISECONDS", 1)
    sent(telex)
    backed_up(telex)
    with library.connect() as bus:
        later = bus.send("all is well\n", sender="dev", to="lead").id
        assert telex("restore", BACKUP, "--force").code == 1
        assert bus.send("all is well\n", sender="dev", to="lead").accepted
    assert later in waiting(telex)
    assert not list(tmp_path.glob(".telex/*.replaced*"))


class Killed(BaseException):
    pass


@proves("cli/restore-killed")
@pytest.mark.parametrize("step", ["_unpack", "_put_aside"])
def test_a_restore_that_is_killed_leaves_the_old_store_in_use(
    telex: Telex, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    first = sent(telex)
    backed_up(telex)
    second = sent(telex, "all is well")
    done = getattr(backup, step)

    def kill(*args: Any) -> None:
        done(*args)
        raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(backup, step, kill)
        with pytest.raises(Killed):
            telex("restore", BACKUP, "--force")
    assert waiting(telex) == [first, second]
    assert sent(telex, "all is well, still")


@proves("cli/restore-checked")
@pytest.mark.parametrize("harm", ["cut", "changed", "no database", "a store", "triggers", "later version"])
def test_what_is_no_sound_backup_is_refused_and_nothing_changes(telex: Telex, tmp_path: Path, harm: str) -> None:
    id_ = sent(telex)
    backed_up(telex)
    file = tmp_path / BACKUP
    raw = file.read_bytes()
    match harm:
        case "cut":
            file.write_bytes(raw[: len(raw) // 2])
        case "changed":
            change(file, "PRAGMA writable_schema = ON; DELETE FROM sqlite_schema WHERE name = 'deliveries_stored'")
        case "no database":
            file.write_text("all is well")
        case "a store":
            file.unlink()
            shutil.copy(tmp_path / STORE, file)
        case "triggers":
            change(file, "CREATE TRIGGER t AFTER INSERT ON messages BEGIN DELETE FROM messages; END")
        case _:
            change(file, f"PRAGMA user_version = {VERSION + 1}")
    before = sorted(tmp_path.glob(".telex/*"))
    assert telex("restore", BACKUP, "--force").code == 1
    assert sorted(tmp_path.glob(".telex/*")) == before
    assert waiting(telex) == [id_]


def change(file: Path, sql: str) -> None:
    with closing(apsw.Connection(str(file))) as connection:
        connection.execute(sql)


@proves("cli/restore-damaged")
@pytest.mark.parametrize("damage", [b"no database at all", b"SQLite format 3\0" + b"\xff" * 9000])
def test_a_damaged_store_is_replaced_and_put_aside(telex: Telex, tmp_path: Path, damage: bytes) -> None:
    id_ = sent(telex)
    backed_up(telex)
    lose_store(tmp_path)
    (tmp_path / ".telex").mkdir()
    (tmp_path / STORE).write_bytes(damage)
    aside = restored(telex, "--force")["aside"]
    assert Path(aside).read_bytes() == damage
    assert waiting(telex) == [id_]


@proves("cli/backup-overwrites-backups-only")
def test_a_backup_replaces_a_backup_and_nothing_else(telex: Telex, tmp_path: Path) -> None:
    sent(telex)
    backed_up(telex)
    sent(telex, "all is well")
    assert backed_up(telex)["messages"] == 2
    (tmp_path / "notes.txt").write_text("mine")
    (tmp_path / "link.db").symlink_to(tmp_path / BACKUP)
    for target in ("notes.txt", STORE, ".", "link.db", "no/such/folder.db"):
        assert telex("backup", target).code == 1, target
    assert (tmp_path / "notes.txt").read_text() == "mine"
    assert len(waiting(telex)) == 2
    assert not list(tmp_path.glob(".telex-*"))


@proves("cli/backup-private")
def test_a_backup_is_private_and_no_store(telex: Telex, tmp_path: Path) -> None:
    sent(telex, BLOCKER)
    backed_up(telex)
    assert (tmp_path / BACKUP).stat().st_mode & 0o777 == 0o600
    assert is_backup(str(tmp_path / BACKUP))
    refused = telex("inbox", "--as", "lead", "--store", BACKUP)
    assert refused.code == 1
    assert "telex restore" in refused.err


def test_a_backup_needs_the_file_of_a_store(telex: Telex) -> None:
    assert telex("backup", BACKUP).code == 3  # there is no store here
    assert telex("restore", BACKUP).code == 3
    for store in ("http://127.0.0.1:9", "memory:"):
        assert telex("backup", BACKUP, "--store", store).code in (1, 64)
