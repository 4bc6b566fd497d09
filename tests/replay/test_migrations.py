"""Is an older file brought up to date with all that is in it, once, or not at all?

A next version is planted: it makes a table and fills it from the messages, which would fail or double if it were done
twice. Files of the versions that were are made by undoing a step.
"""

import fcntl
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import apsw
import pytest

import telex
from telex.bus import run_sync
from telex.client import SyncBus
from telex.config import Settings
from telex.errors import StoreError, StoreTooNew
from telex.stores.sqlite import connection
from telex.stores.sqlite.schema import MIGRATIONS, VERSION
from telex.stores.sqlite.store import SqliteStore
from telex.testing.contract_messages import pending_requests
from tests.bus.bus_team import flow

IDS = [f"m{number}" for number in range(5)]
NEXT = "CREATE TABLE planted (seq INTEGER PRIMARY KEY) STRICT; INSERT INTO planted SELECT seq FROM messages;"
LATER = """
import os, sys, apsw, telex
from telex.config import Settings
from telex.stores.sqlite import connection

apsw.connection_hooks.append(lambda connection: connection.create_scalar_function("die", lambda: os._exit(9)))
connection.MIGRATIONS = (*connection.MIGRATIONS, sys.argv[2])
connection.VERSION += 1
print("ready", flush=True)
with telex.connect(sys.argv[1], settings=Settings()) as bus:
    print(*[message.id for _, message in bus.inbox("lead")])
"""


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """A store as this version makes it, with some messages in it."""
    path = tmp_path / "telex.db"
    with telex.connect(path, settings=Settings()) as bus:
        for id_ in IDS:
            bus.send("all is well\n", sender="dev", to="lead", id=id_)
    return path


@pytest.fixture
def later(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """From here on this is a later Telex, until it is undone."""
    plant(monkeypatch, NEXT)
    return monkeypatch


def plant(monkeypatch: pytest.MonkeyPatch, migration: str) -> None:
    monkeypatch.setattr(connection, "MIGRATIONS", (*MIGRATIONS, migration))
    monkeypatch.setattr(connection, "VERSION", VERSION + 1)


def process(store: Path, migration: str = NEXT) -> subprocess.Popen[str]:
    """A later Telex that opens this store, as a process of its own."""
    return subprocess.Popen(
        [sys.executable, "-c", LATER, str(store), migration], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def waiting(bus: SyncBus) -> list[str]:
    return [message.id for _, message in bus.inbox("lead")]


def opened(store: Path) -> list[str]:
    with telex.connect(store, settings=Settings()) as bus:
        return waiting(bus)


def version(store: Path) -> tuple[int, int | None]:
    """The file's version, and how many rows the planted table has, if it is there."""
    connection = apsw.Connection(str(store))
    [(number,)] = connection.execute("PRAGMA user_version")
    there = connection.execute("SELECT 1 FROM sqlite_schema WHERE name = 'planted'").fetchall()
    rows: list[tuple[Any, ...]] = connection.execute("SELECT count(*) FROM planted").fetchall() if there else []
    connection.close()
    return number, rows[0][0] if rows else None


OLD, NEW = (VERSION, None), (VERSION + 1, len(IDS))


def test_an_older_file_is_brought_up_to_date_with_all_that_is_in_it(store: Path, later: object) -> None:
    assert version(store) == OLD
    assert opened(store) == IDS
    assert version(store) == NEW
    with telex.connect(store, settings=Settings()) as bus:
        assert bus.send("all is well\n", sender="dev", to="lead", id=IDS[0]).duplicate
        [leased] = bus.receive("lead")
        assert bus.ack(leased.token, agent="lead")


def test_a_new_file_takes_every_step(tmp_path: Path, later: object) -> None:
    assert opened(tmp_path / "new.db") == []
    assert version(tmp_path / "new.db") == (VERSION + 1, 0)


@pytest.mark.slow
def test_several_processes_at_once_bring_it_up_to_date_once(store: Path) -> None:
    """All have seen the older version, and wait for the lock, when the first of them begins."""
    with open(f"{store}-lock", "rb+") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        processes = [process(store) for _ in range(4)]
        for one in processes:
            assert one.stdout is not None
            assert one.stdout.readline() == "ready\n"
        time.sleep(0.2)  # to open a file and look at it; should it take longer, the test is weaker and not wrong
        assert version(store) == OLD
    for one in processes:
        out, err = one.communicate(timeout=60)
        assert (one.returncode, out, err) == (0, " ".join(IDS) + "\n", "")
    assert version(store) == NEW


@pytest.mark.parametrize(
    "wrong", ["INSERT INTO nowhere VALUES (1);", "DELETE FROM messages; INSERT INTO planted VALUES (1), (1);"]
)
def test_a_step_that_fails_half_way_leaves_the_older_file_as_it_was(
    store: Path, later: pytest.MonkeyPatch, wrong: str
) -> None:
    plant(later, NEXT + wrong)
    with pytest.raises((StoreError, apsw.Error)):
        opened(store)
    assert version(store) == OLD
    later.undo()
    assert opened(store) == IDS


def test_a_process_killed_half_way_leaves_the_older_file_as_it_was(store: Path) -> None:
    one = process(store, NEXT + "DELETE FROM messages; SELECT die();")
    one.communicate(timeout=60)
    assert one.returncode == 9
    assert version(store) == OLD
    assert opened(store) == IDS


def test_the_older_program_is_told_that_it_cannot_open_the_newer_file(store: Path, later: pytest.MonkeyPatch) -> None:
    opened(store)
    later.undo()
    before = store.read_bytes()
    with pytest.raises(StoreTooNew) as raised:
        opened(store)
    assert "upgrade Telex" in raised.value.say
    assert store.read_bytes() == before
    assert not os.path.exists(f"{store}-wal"), "nothing was begun"
    plant(later, NEXT)
    assert opened(store) == IDS


def test_who_has_it_open_while_a_later_program_brings_it_up_to_date_writes_no_more(store: Path) -> None:
    with telex.connect(store, settings=Settings()) as bus:
        bus.send("all is well\n", sender="dev", to="lead", id="before")
        process(store).communicate(timeout=60)
        with pytest.raises(StoreTooNew):
            bus.send("all is well\n", sender="dev", to="lead", id="after")


UNDONE = """
DROP TABLE local_marks; DROP TABLE replica;
DROP INDEX asks_id; DROP INDEX asks_correlation;
ALTER TABLE asks DROP COLUMN id; ALTER TABLE asks DROP COLUMN correlation; ALTER TABLE asks DROP COLUMN type;
PRAGMA user_version = 2;
"""


def test_requests_that_wait_in_a_file_of_the_second_version_are_found_and_answered(store: Path) -> None:
    """From the third on they are found by what was only in their messages before."""
    with telex.connect(store, settings=Settings()) as bus:
        for number in range(3):
            asked = flow("VALIDATION_REQUEST", f"ask-{number}", "fullstack-developer", "cto", f"T{number % 2}")
            assert bus.send(asked, sender="fullstack-developer").accepted
    older = apsw.Connection(str(store))
    older.execute(UNDONE)
    older.close()
    assert version(store) == (2, None)
    opened_now = SqliteStore.open(str(store))
    assert [message.id for _, message in run_sync(pending_requests(opened_now, "ask-1", None))] == ["ask-1"]
    found = run_sync(pending_requests(opened_now, None, "T0", ["VALIDATION_REQUEST"]))
    assert [message.id for _, message in found] == ["ask-0", "ask-2"]
    assert run_sync(pending_requests(opened_now, None, "T0", ["TASK_ASSIGNMENT"])) == []
    run_sync(opened_now.close())
    with telex.connect(store, settings=Settings()) as bus:
        assert bus.approve("ask-0", approved=True, agent="cto", reason="It is simple.").accepted
        assert bus.why("ask-0")[-1].events[-1].kind == "answered"
    assert version(store) == OLD
