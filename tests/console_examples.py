"""How is a play on a page of a code typed? Line by line, in an empty folder, to the real commands over a real store.

Time passes when the play sleeps, and at no other moment. What happens in the world by itself (`# the disk is full`) is
made to happen here.
"""

import io
import re
import shlex
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

import apsw
import pytest

from telex.bus.local import LocalBus
from telex.clock import SteadyClock
from telex.errors import TelexError
from telex.stores.nats.durability import describe
from telex.stores.sqlite import connection
from telex.stores.sqlite.connection import SqliteConnection
from telex.surfaces.cli.main import main
from telex.testing import FakeClock
from tests.cli.cli_kit import Ran
from tests.evidence.git_repository import Repository

STORE = "team.db"
LATER_VERSION = 99


class Step(NamedTuple):
    line: str
    below: str  # what stands under it


def steps(play: str) -> Iterator[Step]:
    lines = play.split("\n")
    starts = [number for number, line in enumerate(lines) if line.startswith(("$ ", "# "))]
    assert starts[0] == 0, "a play begins with a command or with what happens"
    for start, end in zip(starts, [*starts[1:], len(lines)], strict=True):
        yield Step(lines[start], "".join(f"{line}\n" for line in lines[start + 1 : end]))


class Stage:
    """An empty folder with a shell in it, and the world around."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
        self.folder, self.patch, self.capsys = folder, monkeypatch, capsys
        self.clock = FakeClock()
        self.raised: list[TelexError] = []
        self.fails: tuple[str, Exception] | None = None
        self.other: apsw.Connection | None = None
        monkeypatch.chdir(folder)
        for name in ("TELEX_STORE", "TELEX_CONFIG"):
            monkeypatch.delenv(name, raising=False)
        monkeypatch.setattr("telex.connection.SteadyClock", self._clock)
        monkeypatch.setattr(TelexError, "__init__", self._raise(TelexError.__init__))
        monkeypatch.setattr(SqliteConnection, "_open", self._open(SqliteConnection._open))

    def play(self, text: str) -> list[Ran]:
        """What each of its commands answered."""
        return [ran for step in steps(text) if (ran := self._do(step)) is not None]

    def _do(self, step: Step) -> Ran | None:
        if step.line.startswith("# "):
            HAPPENINGS[step.line.removeprefix("# ")](self)
            return None
        match shlex.split(step.line.removeprefix("$ ")):
            case ["cat", name]:
                (self.folder / name).write_text(step.below, encoding="utf-8")
            case ["sleep", seconds]:
                self.clock.leap(float(seconds))
            case ["echo", text, "|", "telex", *args]:
                return self._telex(args, f"{text}\n")
            case ["telex", *args]:
                return self._telex(args, "")
            case words:
                raise AssertionError(f"nobody here knows how to {words[0]}")
        return None

    def _telex(self, args: list[str], given: str) -> Ran:
        self.patch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(given.encode())))
        return Ran(main(args), *self.capsys.readouterr())

    # --- the world ---------------------------------------------------------------------------------------------------

    def _clock(self) -> SteadyClock:
        return SteadyClock(self.clock.now, self.clock.now, lambda seconds: void(self.clock.leap(seconds)))

    def _raise(self, init: Any) -> Any:
        def noted(error: TelexError, say: str) -> None:
            self.raised.append(error)
            init(error, say)

        return noted

    def _open(self, opened: Any) -> Any:
        def with_faults(file: SqliteConnection) -> None:
            opened(file)
            if self.fails is not None:
                file._cursor = FailingCursor(file._cursor, *self.fails)  # type: ignore[assignment]

        return with_faults

    def disk_full(self) -> None:
        self.fails = "INSERT", apsw.FullError("database or disk is full")

    def disk_failing(self) -> None:
        self.fails = "COMMIT", apsw.IOError("disk I/O error")

    def disk_well(self) -> None:
        self.fails = None

    def store_held(self) -> None:
        self.patch.setattr(connection, "BUSY_MILLISECONDS", 1)
        self.other = apsw.Connection(STORE)
        self.other.execute("BEGIN IMMEDIATE")

    def store_let_go(self) -> None:
        assert self.other is not None
        self.other.close()

    def store_of_later_version(self) -> None:
        later = apsw.Connection(STORE)
        later.execute(f"PRAGMA user_version = {LATER_VERSION}")
        later.close()

    def committed(self) -> None:
        Repository(self.folder).commit({"src/auth/reset.py": "def reset(user): ...\n"})

    def one_replica(self) -> None:
        init = LocalBus.__init__

        def replicated(bus: LocalBus, *args: Any, **options: Any) -> None:
            init(bus, *args, **options)
            bus.weaker_durability = self.weaker_durability

        self.weaker_durability: str | None = describe(1, synced=True)
        self.patch.setattr(LocalBus, "__init__", replicated)

    def three_replicas(self) -> None:
        self.weaker_durability = None

    def upgraded(self) -> None:
        self.patch.setattr(connection, "VERSION", LATER_VERSION)


HAPPENINGS: dict[str, Callable[[Stage], None]] = {
    "the disk is full": Stage.disk_full,
    "the disk has room again": Stage.disk_well,
    "the disk fails at the end of the next write": Stage.disk_failing,
    "the disk is well again": Stage.disk_well,
    "another program holds team.db": Stage.store_held,
    "the other program lets go": Stage.store_let_go,
    "a later Telex has written team.db": Stage.store_of_later_version,
    "the team has a log with one replica": Stage.one_replica,
    "the team has a log with three replicas": Stage.three_replicas,
    "Telex is upgraded": Stage.upgraded,
    "dev commits src/auth/reset.py as 8066c02": Stage.committed,
}


class FailingCursor:
    """A cursor that fails at statements that begin so, as a disk would make it fail."""

    def __init__(self, cursor: apsw.Cursor, at: str, error: Exception) -> None:
        self.cursor, self.at, self.error = cursor, at, error

    def execute(self, sql: str, bindings: Any = ()) -> Any:
        self._check(sql)
        return self.cursor.execute(sql, bindings)

    def executemany(self, sql: str, rows: Any) -> Any:
        self._check(sql)
        return self.cursor.executemany(sql, rows)

    def _check(self, sql: str) -> None:
        if sql.lstrip().startswith(self.at):
            raise self.error


def void(_: object) -> None:
    """Nothing, of something."""


_NEEDS_A_SHELL = re.compile(r"[$`&;<(]|2>|>>")


def plain(command: str) -> list[list[str]] | None:
    """The words of each command between the pipes; None: it needs a shell."""
    if _NEEDS_A_SHELL.search(command):
        return None
    lexer = shlex.shlex(command, posix=True, punctuation_chars="|>")
    lexer.whitespace_split = True
    piped = [list(words) for is_pipe, words in groupby(lexer, "|".__eq__) if not is_pipe]
    return piped if all(words[0] in ("telex", "echo") for words in piped) else None


def type_here(piped: list[list[str]], folder: Path) -> str:
    """What a person would see of them: both streams, in one order."""
    seen, given = io.StringIO(), ""
    for number, words in enumerate(piped, 1):
        words, into = (words[:-2], words[-1]) if words[-2:-1] == [">"] else (words, None)
        is_shown = number == len(piped) and into is None
        out = seen if is_shown else io.StringIO()
        _run(words, given, folder, out, seen)
        given = "" if is_shown else out.getvalue()
        if into is not None and into != "/dev/null":
            (folder / into).write_text(given, encoding="utf-8")
    return seen.getvalue()


def _run(words: list[str], given: str, folder: Path, out: io.StringIO, err: io.StringIO) -> None:
    if words[0] == "echo":
        out.write(" ".join(words[1:]) + "\n")
        return
    with _terminal(given, folder), redirect_stdout(out), redirect_stderr(err):
        main(words[1:])


@contextmanager
def _terminal(given: str, folder: Path) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setenv("NO_COLOR", "1")
        patch.setenv("COLUMNS", "120")
        patch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(given.encode())))
        yield
