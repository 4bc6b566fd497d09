"""Does `telex replay` put the work of a long log away, say the same as ever, and leave nothing behind?"""

import errno
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest

from telex.replay import state_cache
from telex.stores import temp_table
from telex.surfaces.cli.exit_codes import FAILED, INTERRUPTED
from tests.proofs import proves
from tests.put_away_kit import at_work
from tests.replay_kit import Replay, replay
from tests.test_overflow import open_files

__all__ = ["replay"]  # the fixture
LONG: list[Any] = list(at_work(60))


@pytest.fixture
def folder(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The system's temporary folder."""
    folder = tmp_path_factory.mktemp("temporary")
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    return folder


def seen_by(monkeypatch: pytest.MonkeyPatch, then: BaseException | None = None) -> list[list[str]]:
    """Which temporary files are open when something is put there, and what happens thereafter."""
    seen: list[list[str]] = []
    put = temp_table.TempTable.put

    def watched(self: temp_table.TempTable, things: Any) -> bool:
        done = put(self, things)
        seen.append(open_files(Path("/")))
        if then is not None:
            raise then
        return done

    monkeypatch.setattr(temp_table.TempTable, "put", watched)
    return seen


@proves("replay/put-away", "replay/put-away-gone")
def test_a_long_log_goes_by_the_disk_and_nothing_is_left(
    replay: Replay, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    short = replay(LONG, "--json").out
    monkeypatch.setattr(state_cache, "TOPICS_MAX", 20)
    seen = seen_by(monkeypatch)
    assert _without_seconds(replay(LONG, "--json").out) == _without_seconds(short)
    assert len(seen) > 5
    assert any(path.startswith(str(folder)) for path in seen[0])
    assert (list(folder.iterdir()), open_files(folder)) == ([], [])


def _without_seconds(out: str) -> list[str]:
    return [line for line in out.splitlines() if "seconds" not in line]


@proves("replay/put-away-gone")
def test_nor_is_anything_left_by_one_that_is_broken_off(
    replay: Replay, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(state_cache, "TOPICS_MAX", 20)
    seen = seen_by(monkeypatch, KeyboardInterrupt())
    assert replay(LONG).code == INTERRUPTED
    assert len(seen) == 1
    assert (list(folder.iterdir()), open_files(folder)) == ([], [])


@proves("replay/put-away-full")
def test_without_a_temporary_folder_everything_stays_in_memory(replay: Replay, monkeypatch: pytest.MonkeyPatch) -> None:
    usual = replay(LONG, "--json")
    monkeypatch.setattr(state_cache, "TOPICS_MAX", 20)
    monkeypatch.setattr("tempfile.tempdir", "/nowhere/at/all")
    assert _without_seconds(replay(LONG, "--json").out) == _without_seconds(usual.out)


class Failing(BytesIO):
    def read(self, *_: Any) -> bytes:
        raise OSError(errno.EIO, "Input/output error")


@proves("replay/put-away-full")
def test_a_disk_that_fails_is_told_in_a_sentence(replay: Replay, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(state_cache, "TOPICS_MAX", 20)
    monkeypatch.setattr(temp_table, "nameless", Failing)
    asked = replay([*LONG, *list(at_work(1, "q")), LONG[0].replace(b'"p0-c"', b'"again"')])
    assert (asked.code, "Input/output error" in asked.err, asked.err.count("\n") < 4) == (FAILED, True, True)
