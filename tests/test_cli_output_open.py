"""What becomes of what was given open, of what is being read, and of a file that nothing can be put beside?"""

import errno
import json
import os
import subprocess
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.cli_bus_kit import PROGRESS, Telex, sent, telex
from tests.cli_kit import COMMAND
from tests.proofs import proves

__all__ = ["telex"]
VERSIONS = ("--from", "vbw@1.0", "--to", "vbw@2.0")
MIGRATE = ("migrate-log", "old.jsonl", *VERSIONS)
USAGE = 64


class Shelled(NamedTuple):
    code: int
    err: str


@pytest.fixture
def log(telex: Telex) -> Path:
    """A log of one message, in the folder where everything happens."""
    file = Path("old.jsonl")
    file.write_text(json.dumps(PROGRESS) + "\n")
    return file


def shelled(command: tuple[str, ...], streams: str) -> Shelled:
    """What a shell makes of it, which opens the files: `3>>kept`."""
    script = ["sh", "-c", f'exec "$@" {streams}', "sh", *COMMAND, *command]
    ran = subprocess.run(script, capture_output=True, timeout=60, check=False)
    return Shelled(ran.returncode, ran.stderr.decode())


def _is_migrated(line: str) -> bool:
    type_: str = json.loads(line)["type"]
    return type_ == "execution_update"


# --- what was given open ----------------------------------------------------------------------------------------------


@proves("files/as-it-comes")
@pytest.mark.parametrize("name", ["/dev/fd/3", "/proc/self/fd/3", "/dev//fd/3"])
def test_what_was_given_open_to_be_continued_keeps_what_stands_there(log: Path, name: str) -> None:
    Path("kept").write_text("before\n")
    assert shelled((*MIGRATE, "--output", name), "3>>kept").code == 0
    before, line = Path("kept").read_text().splitlines()
    assert before == "before"
    assert _is_migrated(line)


@proves("files/as-it-comes")
def test_what_was_given_only_to_be_read_is_not_written(log: Path) -> None:
    Path("kept").write_text("before\n")
    ran = shelled((*MIGRATE, "--output", "/dev/fd/3"), "3<kept")
    assert (ran.code, ran.err) == (1, "telex: cannot write /dev/fd/3: Bad file descriptor\n")
    assert Path("kept").read_text() == "before\n"


@proves("files/names-it")
def test_what_was_not_given_open_is_named(log: Path) -> None:
    ran = shelled((*MIGRATE, "--output", "/dev/fd/77"), "")
    assert (ran.code, ran.err) == (1, "telex: cannot write /dev/fd/77: Bad file descriptor\n")


@proves("files/store")
@pytest.mark.parametrize("name, number", [("/dev/fd/3", 3), ("/dev/stdout", 1)])
@pytest.mark.parametrize("suffix", ["", "-wal", "-lock"])
def test_a_store_that_was_given_open_is_not_written(telex: Telex, name: str, number: int, suffix: str) -> None:
    id_ = sent(telex, PROGRESS)
    [store] = Path(".telex").glob("*.db")
    before = store.read_bytes()
    ran = shelled(("log", "--export", name), f"{number}>>{store}{suffix}")
    assert ran.code == 1
    assert "store" in ran.err
    assert store.read_bytes() == before
    assert json.loads(telex("show", id_, "--raw").out) == PROGRESS


# --- what is being read -----------------------------------------------------------------------------------------------


@proves("files/not-its-own-end")
@pytest.mark.parametrize(
    "command, streams",
    [
        (MIGRATE, ">>old.jsonl"),
        ((*MIGRATE, "--output", "-"), ">>old.jsonl"),
        ((*MIGRATE, "--output", "/dev/stdout"), "1<>old.jsonl"),
        ((*MIGRATE, "--output", "/dev/fd/3"), "3>>old.jsonl"),
        (("migrate-log", "-", *VERSIONS), "<old.jsonl >>old.jsonl"),
        (("migrate-log", "-", *VERSIONS, "--output", "/dev/fd/0"), "0<>old.jsonl"),
    ],
)
def test_a_log_that_would_grow_by_its_own_end_is_as_it_was(log: Path, command: tuple[str, ...], streams: str) -> None:
    before = log.read_bytes()
    ran = shelled(command, streams)
    assert ran.code == USAGE
    assert "is read and written at once: give another file with --output" in ran.err
    assert log.read_bytes() == before


# --- what nothing can be put beside, or what cannot be replaced -------------------------------------------------------


@pytest.fixture(params=["EACCES", "EPERM", "EROFS", "EBUSY"])
def bound(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """What a system says of such a file: root, who may run this, would not be told."""
    code: int = getattr(errno, request.param)
    create, replace = os.open, os.replace

    def open_(path: Any, flags: int, mode: int = 0o777) -> int:
        if str(path).endswith(".part") and code != errno.EBUSY:
            raise OSError(code, os.strerror(code))
        return create(path, flags, mode)

    def replace_(one: str, other: str) -> None:
        if code == errno.EBUSY:
            raise OSError(code, os.strerror(code))
        replace(one, other)

    monkeypatch.setattr("os.open", open_)
    monkeypatch.setattr("os.replace", replace_)
    return os.strerror(code)


@proves("files/copied-over")
@pytest.mark.parametrize("before", ["", "short", "far longer than what is to be written\n" * 100])
def test_a_file_that_may_be_written_is(telex: Telex, log: Path, bound: str, before: str) -> None:
    target = Path("new.jsonl")
    target.write_text(before)
    inode = target.stat().st_ino
    assert telex(*MIGRATE, "--output", "new.jsonl").code == 0
    [line] = target.read_text().splitlines()
    assert _is_migrated(line)
    assert target.stat().st_ino == inode
    assert sorted(os.listdir()) == ["new.jsonl", "old.jsonl"]


@proves("files/copied-over")
def test_it_is_as_it_was_if_not_all_could_be_written(
    telex: Telex, log: Path, bound: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = Path("new.jsonl")
    target.write_text("before")
    line = log.read_bytes()
    log.write_bytes(line + b" " + line)
    monkeypatch.setattr("telex.surfaces.cli.migrate_log.LINE_BYTES_MAX", len(line))
    assert telex(*MIGRATE, "--output", "new.jsonl").code == 1
    assert target.read_text() == "before"
    assert sorted(os.listdir()) == ["new.jsonl", "old.jsonl"]


@proves("files/copied-over")
def test_a_disk_without_room_says_so_before_anything_is_written_over(
    telex: Telex, log: Path, bound: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_room(descriptor: int, begin: int, size: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("os.posix_fallocate", no_room)
    target = Path("new.jsonl")
    target.write_text("before")
    ran = telex(*MIGRATE, "--output", "new.jsonl")
    assert (ran.code, ran.err) == (1, "telex: cannot write new.jsonl: No space left on device\n")
    assert target.read_text() == "before"


@proves("files/copied-over")
def test_what_is_being_read_is_never_copied_over(telex: Telex, log: Path, bound: str) -> None:
    before = log.read_bytes()
    ran = telex(*MIGRATE, "--output", log.name)
    assert (ran.code, ran.err) == (1, f"telex: cannot write {log.name}: {bound}\n")
    assert log.read_bytes() == before
    assert os.listdir() == [log.name]


@proves("files/copied-over")
def test_a_new_file_needs_its_folder(telex: Telex, log: Path, bound: str) -> None:
    if bound == os.strerror(errno.EBUSY):
        return  # a file that is not there is not mounted
    ran = telex(*MIGRATE, "--output", "new.jsonl")
    assert (ran.code, ran.err) == (1, f"telex: cannot write new.jsonl: {bound}\n")
