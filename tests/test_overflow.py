"""Is what was put into a file without a name found again, and is nothing left of it afterwards?"""

import errno
import os
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from telex.errors import StoreUnavailable
from telex.stores import temp_table
from telex.stores.temp_table import TempTable
from tests.proofs import proves
from tests.put_away_kit import SmallDisk

NAMES = st.text(st.characters(codec=None), max_size=3) | st.sampled_from(["plan:p", "n" * 5_000])
THINGS = st.lists(st.tuples(NAMES, st.binary(max_size=20) | st.just(b"x" * 9_000)), max_size=6)


@proves("replay/put-away")
@given(st.lists(THINGS, max_size=6), NAMES, st.sampled_from([1, 4, 1 << 16]))
def test_what_was_put_there_is_found_under_its_name(batches: list[Any], other: str, places: int) -> None:
    with pytest.MonkeyPatch.context() as patch, TempTable(BytesIO) as away:
        patch.setattr(temp_table, "PLACES", places)  # with few, most share one
        put: list[tuple[str, bytes]] = []
        for things in batches:
            assert away.put(iter(things))
            put += things
        assert list(away.items()) == put
        for name in {other, *(name for name, _ in put)}:
            each = [value for key, value in reversed(put) if key == name]
            assert list(away.each(name)) == each
            assert away.get(name) == (each[0] if each else None)


@proves("replay/put-away-full")
@given(THINGS, THINGS, st.integers(0, 30_000))
def test_what_there_is_no_room_for_leaves_everything_as_it_was(first: Any, then: Any, room: int) -> None:
    with TempTable(lambda: SmallDisk(room)) as away:
        kept = first if away.put(first) else []
        kept = [*kept, *then] if away.put(then) else kept
        assert list(away.items()) == kept
        for name, _ in [*first, *then]:
            assert away.get(name) == dict(kept).get(name)


def open_files(folder: Path) -> list[str]:
    """Those of this process that lie there, with or without a name."""
    found = []
    for number in os.listdir("/proc/self/fd"):
        try:
            found.append(os.readlink(f"/proc/self/fd/{number}"))
        except OSError:
            continue  # the one that was open for the listing
    return [path for path in found if path.startswith(str(folder))]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The system's temporary folder."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    return tmp_path


def _well(away: TempTable) -> None:
    assert away.put([("a", b"b")])


def _badly(away: TempTable) -> None:
    _well(away)
    raise KeyboardInterrupt


@proves("replay/put-away-gone")
@pytest.mark.parametrize("goes", [_well, _badly])
def test_the_file_has_no_name_and_is_gone_afterwards(goes: Callable[[TempTable], None], folder: Path) -> None:
    try:
        with TempTable() as away:
            assert not open_files(folder)  # it is not opened before it is needed
            assert away.put([("c", b"d")])
            assert (list(folder.iterdir()), len(open_files(folder))) == ([], 1)
            goes(away)
    except KeyboardInterrupt:
        pass
    assert (list(folder.iterdir()), open_files(folder), away.get("a")) == ([], [], None)


@proves("replay/put-away-gone")
def test_nobody_else_may_read_the_file(folder: Path) -> None:
    with TempTable() as away:
        assert away.put([("a", b"b")])
        file: Any = away._file
        assert os.fstat(file.fileno()).st_mode & 0o077 == 0


class Failing(BytesIO):
    def read(self, *_: Any) -> bytes:
        raise OSError(errno.EIO, "Input/output error")


@proves("replay/put-away-full")
def test_a_disk_that_fails_to_give_it_back_is_told_as_that() -> None:
    away = TempTable(Failing)
    assert away.put([("a", b"b")])
    assert away.get("never put there") is None
    with pytest.raises(StoreUnavailable, match="Input/output error"):
        away.get("a")
