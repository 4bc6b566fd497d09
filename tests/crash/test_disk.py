"""Is the simulated disk one that could be? Small acts, and what each cut may and must leave of them."""

import sys
from pathlib import Path
from random import Random

import pytest

from tests.crash.disk import CUTS, SECTOR, Cut, Disk
from tests.crash.syscalls import (
    STRACE,
    Act,
    Create,
    Promise,
    Reader,
    Rename,
    Resize,
    Sync,
    UnknownCallError,
    Unlink,
    Write,
    calls,
    record,
)

UNSYNCED: tuple[Cut, ...] = ("up to a moment", "pages in any order", "torn pages")


def images(acts: list[Act], cut: Cut, count: int = 200) -> list[dict[str, bytes]]:
    """What many power cuts after these acts leave."""
    disk, random = Disk(), Random(1)
    for act in acts:
        disk.do(act)
    return [disk.after(cut, random) for _ in range(count)]


@pytest.mark.parametrize("cut", CUTS)
def test_what_was_synced_survives_every_cut(cut: Cut) -> None:
    acts: list[Act] = [Create("db"), Write("db", 0, b"a" * 2000), Resize("db", 1500), Sync("db", 3)]
    assert all(image == {"db": b"a" * 1500} for image in images(acts, cut))


def test_without_luck_nothing_unsynced_survives_not_even_the_name() -> None:
    assert images([Create("db"), Write("db", 0, b"a")], "nothing unsynced", 1) == [{}]
    acts: list[Act] = [Create("db"), Sync(".", 1), Write("db", 0, b"a")]
    assert images(acts, "nothing unsynced", 1) == [{"db": b""}]


def test_with_luck_everything_survives() -> None:
    acts: list[Act] = [Create("db"), Write("db", 0, b"abc"), Write("db", 1, b"x"), Promise("sent 1")]
    assert images(acts, "everything", 1) == [{"db": b"axc"}]


def test_a_sector_is_old_or_new_and_never_half_written() -> None:
    old, new = b"o" * 8 * SECTOR, b"n" * 8 * SECTOR
    acts: list[Act] = [Create("db"), Write("db", 0, old), Sync("db", 2), Write("db", 0, new)]
    seen = [image["db"] for image in images(acts, "torn pages")]
    sectors = {content[at : at + SECTOR] for content in seen for at in range(0, len(content), SECTOR)}
    assert sectors == {b"o" * SECTOR, b"n" * SECTOR}
    assert any(b"o" in content and b"n" in content for content in seen)


def test_writes_reach_the_disk_in_any_order() -> None:
    acts: list[Act] = [Create("db"), Write("db", 0, bytes(8192)), Sync("db", 2), Write("db", 0, b"1")]
    acts += [Write("db", 4096, b"2")]
    seen = {(image["db"][0], image["db"][4096]) for image in images(acts, "pages in any order")}
    assert seen == {(0, 0), (ord("1"), 0), (0, ord("2")), (ord("1"), ord("2"))}


def test_what_is_written_while_a_sync_runs_is_not_covered_by_it() -> None:
    acts: list[Act] = [Create("db"), Write("db", 0, b"a"), Write("db", 1, b"b"), Sync("db", 2)]
    assert images(acts, "nothing unsynced", 1) == [{"db": b"a"}]


def test_a_name_that_changes_while_a_sync_runs_is_not_covered_by_it() -> None:
    acts: list[Act] = [Create("one"), Create("two"), Sync("one", 1), Unlink("one"), Sync(".", 3)]
    assert images(acts[:3], "nothing unsynced", 1) == [{"one": b""}]
    assert images(acts, "nothing unsynced", 1) == [{"one": b"", "two": b""}]


@pytest.mark.parametrize("cut", UNSYNCED)
def test_names_survive_in_the_order_in_which_they_changed(cut: Cut) -> None:
    acts: list[Act] = [Create("one"), Sync("one", 1), Create("two"), Rename("two", "three"), Unlink("one")]
    seen = {frozenset(image) for image in images(acts, cut)}
    assert seen == {frozenset({"one"}), frozenset({"one", "two"}), frozenset({"one", "three"}), frozenset({"three"})}


# --- several processes, whose calls overlap ---------------------------------------------------------------------------


def hexed(text: str) -> str:
    return "".join(f"\\x{byte:02x}" for byte in text.encode())


def read(*lines: str) -> list[Act]:
    """The acts of a trace, written here with plain names: `1 write db x` of the process 1, `1 ...` for its return."""
    told: list[str] = []
    begun: dict[str, str] = {}
    for line in lines:
        process, what, *rest = line.split(" ")
        if what == "...":
            told.append(f"{process} <... {begun[process]} resumed>) = {rest[0] if rest else 0}\n")
            continue
        begun[process], cut = what, rest[-1] == "<unfinished"
        name, *text = rest[:-1] if cut else rest
        args = {
            "openat": f'AT_FDCWD</>, "{hexed("/f/" + name)}", O_RDWR|O_CREAT',
            "pwrite64": f'4<{hexed("/f/" + name)}>, "{hexed("".join(text))}", {len("".join(text))}, 0',
            "write": f'1<{hexed("pipe:[7]")}>, "{hexed(name)}", {len(name)}',
            "fdatasync": f"4<{hexed('/f/' + name)}>",
        }[what]
        answer = {"openat": 4, "pwrite64": len("".join(text)), "write": len(name)}.get(what, 0)
        told.append(f"{process} {what}({args} <unfinished ...>\n" if cut else f"{process} {what}({args}) = {answer}\n")
    return list(Reader(Path("/f")).acts(calls(told)))


def test_a_promise_counts_from_the_moment_it_is_begun() -> None:
    acts = read("1 openat db", "1 write sent <unfinished", "2 pwrite64 db x", "1 ... 4")
    assert acts == [Create("db"), Promise("sent"), Write("db", 0, b"x")]


def test_a_sync_counts_when_it_has_returned_and_covers_what_had_returned_when_it_began() -> None:
    acts = read("1 openat db", "1 pwrite64 db x", "1 fdatasync db <unfinished", "2 pwrite64 db y", "1 ...")
    assert acts == [Create("db"), Write("db", 0, b"x"), Write("db", 0, b"y"), Sync("db", 2)]


def test_a_write_that_is_under_way_when_a_sync_begins_may_be_on_disk_and_is_not_covered() -> None:
    acts = read("1 openat db", "2 pwrite64 db x <unfinished", "1 fdatasync db", "2 ... 1", "1 fdatasync db")
    assert acts == [Create("db"), Write("db", 0, b"x"), Sync("db", 1), Sync("db", 3)]


def test_a_write_to_another_file_takes_nothing_away_from_a_sync() -> None:
    begun = ("1 openat db", "1 openat log", "2 pwrite64 db x <unfinished")
    acts = read(*begun, "1 pwrite64 log y", "1 fdatasync log", "2 ... 1")
    assert acts[2:] == [Write("db", 0, b"x"), Write("log", 0, b"y"), Sync("log", 4)]


def test_a_call_that_fails_in_the_end_has_done_nothing() -> None:
    assert read("1 openat db", "1 pwrite64 db x <unfinished", "2 write sent", "1 ... -1") == [
        Create("db"),
        Promise("sent"),
    ]


# --- a real program ---------------------------------------------------------------------------------------------------

WRITER = """
import os, sys
folder = sys.argv[1]
with open(folder + "/a b", "wb") as file:
    file.write(b"hello"); file.flush(); os.fsync(file.fileno()); os.write(1, b"sent 1\\n")
    os.pwrite(file.fileno(), b"J", 0); os.ftruncate(file.fileno(), 4)
with open(folder + "/a b", "ab") as file:
    file.write(b"!")
os.rename(folder + "/a b", folder + "/c")
os.link(folder + "/c", folder + "/d") if "link" in sys.argv else os.unlink(folder + "/c")
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    if STRACE is None:
        pytest.skip("NOT CHECKED: no power cut was simulated; needs strace")
    (tmp_path / "folder").mkdir()
    return tmp_path / "folder"


def test_everything_a_program_does_to_a_folder_is_recorded_in_order(folder: Path) -> None:
    acts = record([sys.executable, "-c", WRITER, str(folder)], folder, folder.parent / "trace")
    assert acts == [
        *(Create("a b"), Resize("a b", 0), Write("a b", 0, b"hello"), Sync("a b", 3), Promise("sent 1")),
        *(Write("a b", 0, b"J"), Resize("a b", 4), Write("a b", 4, b"!"), Rename("a b", "c"), Unlink("c")),
    ]


def test_a_call_that_the_simulation_does_not_know_stops_it(folder: Path) -> None:
    with pytest.raises(UnknownCallError, match="link"):
        record([sys.executable, "-c", WRITER, str(folder), "link"], folder, folder.parent / "trace")
