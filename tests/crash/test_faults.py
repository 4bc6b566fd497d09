"""What does a fault of the disk or the file look like? A clear error or correct work, and nothing accepted is lost."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path

import apsw
import pytest

import telex
from telex.client import SyncBus
from telex.errors import StoreDamaged, StoreFull, StoreTooNew, StoreUnavailable
from telex.stores.disk import BALLAST_BYTES
from tests.crash.fault_folders import ROOT, read_only, small_disk
from tests.crash.verdict import integrity

NOTE = "all is well\n"


def cli(*args: str, given: str = "") -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "telex", *args]
    return subprocess.run(command, input=given, capture_output=True, text=True, check=False, cwd=ROOT)


def send(store: Path, id: str, text: str = NOTE) -> None:
    with telex.connect(store) as bus:
        receipt = bus.send(text, sender="dev", to="lead", id=id)
        assert receipt.accepted, receipt


def waiting(store: Path) -> list[str]:
    with telex.connect(store) as bus:
        return [message.id for _, message in bus.inbox("lead", limit=1000)]


# --- many at once, and nothing there ----------------------------------------------------------------------------------

STARTER = """
import sys, telex
name = sys.argv[1]
print("ready", flush=True)
for path in sys.stdin:
    try:
        with telex.connect(path.rstrip()) as bus:
            print(bus.send("all is well", sender="dev", to="lead", id=name).accepted, flush=True)
    except Exception as error:
        print(repr(error), flush=True)
"""


@pytest.mark.slow
def test_twenty_processes_that_start_at_once_on_no_file_share_one_store(tmp_path: Path) -> None:
    names = [f"m{number}" for number in range(20)]
    starters = [
        subprocess.Popen(
            [sys.executable, "-c", STARTER, name], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT
        )
        for name in names
    ]
    try:
        assert [heard(starter) for starter in starters] == ["ready"] * 20
        for turn in range(5):
            store = tmp_path / f"new-{turn}" / "telex.db"
            for starter in starters:
                say(starter, str(store))
            assert [heard(starter) for starter in starters] == ["True"] * 20
            assert sorted(waiting(store)) == sorted(names)
    finally:
        for starter in starters:
            starter.communicate()


def say(process: subprocess.Popen[str], text: str) -> None:
    assert process.stdin is not None
    process.stdin.write(text + "\n")
    process.stdin.flush()


def heard(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().rstrip()


# --- a full disk ------------------------------------------------------------------------------------------------------


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    with small_disk(tmp_path / "disk", "8m", "a full disk") as folder:
        yield folder


def fill(disk: Path) -> Path:
    """Something else on the disk that takes all the room there is."""
    filler = disk / "filler"
    with filler.open("wb", buffering=0) as file:
        for size in (65_536, 4096, 1):
            try:
                while True:
                    file.write(bytes(size))
            except OSError:
                continue
    return filler


def send_until_full(bus: SyncBus, text: str = NOTE * 100) -> list[str]:
    kept: list[str] = []
    while True:
        id_ = f"more-{len(kept)}"
        try:
            receipt = bus.send(text, sender="dev", to="lead", id=id_)
        except StoreFull:
            return kept
        assert receipt.accepted
        kept.append(id_)


def test_a_full_disk_is_said_and_takes_nothing_that_was_kept(disk: Path) -> None:
    store = disk / "telex.db"
    send(store, "first")
    assert waiting(store) == ["first"]
    filler = fill(disk)
    with telex.connect(store) as bus:
        kept = ["first", *send_until_full(bus)]
        assert [message.id for _, message in bus.inbox("lead", limit=1000)] == kept
    refused = cli("send", "--as", "dev", "--to", "lead", "--store", str(store), "-", given=NOTE * 100)
    assert (refused.returncode, refused.stdout) == (1, "")
    assert "no room" in refused.stderr
    filler.unlink()
    send(store, "last")
    assert waiting(store) == [*kept, "last"]
    assert integrity(store) == "ok"


def test_on_a_full_disk_what_is_done_can_still_be_acked(disk: Path) -> None:
    store, ballast = disk / "telex.db", disk / "telex.db-ballast"
    for number in range(20):
        send(store, f"m{number}")
    with telex.connect(store) as bus:
        leased = bus.receive("lead", limit=20)
        filler = fill(disk)
        send_until_full(bus)
        assert all(bus.ack(one.token, agent="lead") for one in leased)
        assert not ballast.exists()
        filler.unlink()
        send(store, "after")
        assert ballast.stat().st_size == BALLAST_BYTES
        assert {bus.why(one.message.id)[0].state for one in leased} == {"acked"}
    assert integrity(store) == "ok"


def test_on_a_full_disk_a_new_process_can_still_ack_and_nobody_can_send(disk: Path) -> None:
    store = disk / "telex.db"
    send(store, "m1")
    with telex.connect(store) as bus:
        [leased] = bus.receive("lead")
    fill(disk)
    acked = cli("ack", leased.token, "--as", "lead", "--store", str(store))
    assert (acked.returncode, acked.stderr.count("Traceback")) == (0, 0)
    refused = cli("send", "--as", "dev", "--to", "lead", "--store", str(store), "-", given=NOTE)
    assert (refused.returncode, refused.stdout) == (1, "")
    assert "no room" in refused.stderr
    with telex.connect(store) as bus:
        assert bus.why("m1")[0].state == "acked"


LARGE = "The pump in hall seven is out of order. " * 1_000


def test_on_a_disk_that_the_store_itself_has_filled_everything_but_sending_goes_on(disk: Path) -> None:
    store = disk / "telex.db"
    with telex.connect(store) as bus:
        kept = len(send_until_full(bus, LARGE))
        assert len(bus.search("pump", limit=1000)) == kept
        assert len(bus.inbox("lead", limit=1000)) == kept
        for command in (
            ("inbox", "--as", "lead", "--max", "1000"),
            ("search", "pump"),
            ("why", "more-1"),
            ("log",),
            ("team",),
        ):
            shown = cli(*command, "--store", str(store))
            assert (shown.returncode, shown.stderr) == (0, ""), command
        assert cli("receive", "--as", "lead", "--json", "--store", str(store)).returncode == 0
        for number in range(kept - 1):
            [lease] = bus.receive("lead")
            assert bus.ack(lease.token, agent="lead")
            with suppress(StoreFull):
                bus.send(LARGE, sender="dev", to="qa", id=f"late-{number}")
        assert bus.receive("lead") == []
        assert bus.leave("lead") == 1
    assert integrity(store) == "ok"


# --- a folder that may not be written ---------------------------------------------------------------------------------


def test_a_read_only_folder_is_said_and_a_store_in_it_is_left_alone(tmp_path: Path) -> None:
    with read_only(tmp_path / "folder", lambda folder: send(folder / "old.db", "m1")) as folder:
        before = (folder / "old.db").read_bytes()
        for name in ("old.db", "new.db", "deeper/new.db"):
            with pytest.raises(StoreUnavailable):
                send(folder / name, "m2")
        refused = cli("send", "--as", "dev", "--to", "lead", "--store", str(folder / "new.db"), "-", given=NOTE)
        assert (refused.returncode, refused.stdout, refused.stderr.count("Traceback")) == (1, "", 0)
        assert "new.db" in refused.stderr
        assert (folder / "old.db").read_bytes() == before


# --- a file that is not what it should be -----------------------------------------------------------------------------


def of_another_program(store: Path) -> None:
    with closing(apsw.Connection(str(store))) as connection:
        connection.execute("CREATE TABLE recipes (name TEXT)")


def cut_in_half(store: Path) -> None:
    for number in range(50):
        send(store, f"m{number}", NOTE * 100)
    content = store.read_bytes()
    store.write_bytes(content[: len(content) // 8192 * 4096])


def cut_to_a_stub(store: Path) -> None:
    send(store, "m1")
    store.write_bytes(store.read_bytes()[:50])


def scribbled_over(store: Path) -> None:
    send(store, "m1")
    content = bytearray(store.read_bytes())
    content[4096:] = b"\xff" * (len(content) - 4096)
    store.write_bytes(content)


@pytest.mark.parametrize(
    "spoil",
    [
        lambda store: store.write_text("Dear diary,\n" * 1000),
        lambda store: store.write_bytes(b"SQLite format 3\0" + bytes(5000)),
        of_another_program,
        cut_in_half,
        cut_to_a_stub,
        scribbled_over,
    ],
    ids=["text", "only a header", "another program's", "half of it", "a stub", "scribbled over"],
)
def test_a_file_that_is_no_whole_store_is_refused_and_not_touched(spoil: object, tmp_path: Path) -> None:
    store = tmp_path / "telex.db"
    assert callable(spoil)
    spoil(store)
    before = store.read_bytes()
    with pytest.raises(StoreDamaged):
        waiting(store)
    with pytest.raises(StoreDamaged):
        send(store, "m2")
    refused = cli("inbox", "--as", "lead", "--store", str(store))
    assert (refused.returncode, refused.stdout, refused.stderr.count("Traceback")) == (1, "", 0)
    assert store.read_bytes() == before


def test_a_file_from_a_later_version_is_refused_politely(tmp_path: Path) -> None:
    store = tmp_path / "telex.db"
    send(store, "m1")
    with closing(apsw.Connection(str(store))) as connection:
        connection.execute("PRAGMA user_version = 99")
    before = store.read_bytes()
    with pytest.raises(StoreTooNew):
        send(store, "m2")
    refused = cli("send", "--as", "dev", "--to", "lead", "--store", str(store), "-", given=NOTE)
    assert (refused.returncode, refused.stdout) == (1, "")
    assert "upgrade" in refused.stderr
    assert store.read_bytes() == before


def test_an_empty_file_becomes_a_store(tmp_path: Path) -> None:
    store = tmp_path / "telex.db"
    store.touch()
    send(store, "m1")
    assert waiting(store) == ["m1"]


# --- paths ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name",
    [
        "with blanks",
        "naïve-сообщение-消息",
        "what?mode=ro",
        "a#b",
        "100%25",
        'it\'s "quoted"',
        "file:x",
        "-v",
        "two\nlines",
    ],
)
@pytest.mark.slow
def test_a_store_may_lie_on_any_path(name: str, tmp_path: Path) -> None:
    store = tmp_path / name / f"{name}.db"
    sent = cli("send", "--as", "dev", "--to", "lead", "--id", "m1", "--store", str(store), "-", given=NOTE)
    assert (sent.returncode, sent.stderr) == (0, "")
    assert store.is_file()
    assert [path.name for path in tmp_path.iterdir()] == [name]
    assert waiting(store) == ["m1"]


def test_a_folder_in_the_place_of_the_store_is_said(tmp_path: Path) -> None:
    (tmp_path / "telex.db").mkdir()
    with pytest.raises(StoreUnavailable):
        send(tmp_path, "m1")  # a folder is asked for telex.db in it
