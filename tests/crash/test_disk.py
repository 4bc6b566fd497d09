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
    Rename,
    Resize,
    Sync,
    UnknownCallError,
    Unlink,
    Write,
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


@pytest.mark.parametrize("cut", UNSYNCED)
def test_names_survive_in_the_order_in_which_they_changed(cut: Cut) -> None:
    acts: list[Act] = [Create("one"), Sync("one", 1), Create("two"), Rename("two", "three"), Unlink("one")]
    seen = {frozenset(image) for image in images(acts, cut)}
    assert seen == {
        frozenset({"one"}),
        frozenset({"one", "two"}),
        frozenset({"one", "three"}),
        frozenset({"three"}),
    }


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
