"""How is a command line typed without starting processes? For `make quick`: one command takes milliseconds here, and a
tenth of a second as a process.

Only what needs no real shell is taken: commands of Telex and `echo`, joined by pipes, their output perhaps into a file.
`make test` types all of it into a real shell.
"""

import io
import re
import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from itertools import groupby
from pathlib import Path

import pytest

from telex.surfaces.cli.main import main

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
