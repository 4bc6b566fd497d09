"""What was promised, and to whom, as seen by those to whom it was promised?

A line is written in one call to a file opened for appending, so it is there whole or not at all, and outlives the
process that wrote it: killing a process takes nothing out of the kernel.
"""

import os
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple


class Line(NamedTuple):
    """What somebody wrote down. What the words after the verb mean depends on it."""

    who: str
    verb: str
    words: tuple[str, ...]


class Logbook:
    def __init__(self, path: Path) -> None:
        self.path = path
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)

    def say(self, verb: str, *words: object) -> None:
        text = " ".join((verb, *map(str, words))).encode() + b"\n"
        written = os.write(self._file, text)
        assert written == len(text), "the logbook's disk is full"

    def lines(self) -> list[Line]:
        return read(self.path)


def read(path: Path) -> list[Line]:
    who = path.stem
    split = (line.split(" ") for line in path.read_text(encoding="utf-8").splitlines())
    return [Line(who, words[0], tuple(words[1:])) for words in split]


def read_all(folder: Path) -> list[Line]:
    return [line for path in sorted(folder.glob("*.log")) for line in read(path)]


def words_of(lines: Iterable[Line], verb: str) -> list[tuple[str, ...]]:
    return [line.words for line in lines if line.verb == verb]
