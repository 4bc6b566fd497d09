"""Output to an open descriptor, and to the file that is read meanwhile."""

import json
import subprocess
from pathlib import Path
from typing import NamedTuple

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
