"""Input of commands: files, folders, lines and stdin, read no further than the largest allowed message."""

import os
import sys
from collections.abc import Callable, Iterator
from typing import BinaryIO

from telex.model.text import nearest
from telex.surfaces.cli.exit_codes import FAILED, NOT_FOUND, CommandError
from telex.surfaces.cli.output import shown

STDIN = "-"
LINES = (".jsonl", ".ndjson")  # a message on every line
MESSAGES = (".json", ".md", ".txt", *LINES)  # what is looked at in a folder
_SKIP_BYTES = 65_536

Piece = tuple[int, bytes, int]  # its line (0 for a whole file), as much of it as is allowed, its whole size in bytes


def files_in(operands: list[str]) -> list[str]:
    """The files that were asked for, folders opened up.

    Raises:
        CommandError: when one is not there, or a folder holds no messages.
    """
    missing = [operand for operand in operands if operand != STDIN and not os.path.exists(operand)]
    if missing:
        raise CommandError("; ".join(map(_missing, missing)), NOT_FOUND)
    files = [file for operand in operands for file in (_walk(operand) if os.path.isdir(operand) else (operand,))]
    if not files:
        raise CommandError(f"no messages in {shown(', '.join(operands))}: looked for {', '.join(MESSAGES)}", NOT_FOUND)
    return files


def _missing(path: str) -> str:
    folder, name = os.path.split(path)
    try:
        meant = nearest(name, os.listdir(folder or "."))
    except OSError:
        meant = None
    perhaps = f" (did you mean {shown(os.path.join(folder, meant))}?)" if meant else ""
    return f"no such file: {shown(path)}{perhaps}"


def _walk(folder: str) -> Iterator[str]:
    """The messages in a folder and those below it, by name. Links to folders are left alone: they may go round."""
    try:
        with os.scandir(folder) as found:
            entries = sorted(found, key=lambda entry: entry.name)
    except OSError as error:
        raise CommandError(f"cannot look into {shown(folder)}: {error.strerror}", FAILED) from error
    for entry in entries:
        if entry.name.startswith("."):
            continue
        if entry.is_dir(follow_symlinks=False):
            yield from _walk(entry.path)
        elif entry.name.endswith(MESSAGES) and entry.is_file():
            yield entry.path


def has_lines(path: str, asked: bool = False) -> bool:
    """Is there a message on every line?"""
    return asked or path.endswith(LINES)


def pieces(path: str, bytes_max: int, *, lines: bool) -> Iterator[Piece]:
    """The messages of one file.

    Raises:
        CommandError: when it cannot be read.
    """
    return _read(path, bytes_max, _lines if lines else _whole)


def lines_as_they_are(path: str, bytes_max: int) -> Iterator[Piece]:
    """Every line of one file, blank ones too, each with its line end.

    Raises:
        CommandError: when it cannot be read.
    """
    return _read(path, bytes_max, _lines_with_ends)


def _read(path: str, bytes_max: int, read: Callable[[BinaryIO, int], Iterator[Piece]]) -> Iterator[Piece]:
    try:
        if path == STDIN and sys.stdin is None:
            raise CommandError("stdin is closed: there is nothing to read", FAILED)
        if path == STDIN:
            yield from read(sys.stdin.buffer, bytes_max)
        else:
            with open(path, "rb") as file:
                yield from read(file, bytes_max)
    except OSError as error:
        raise CommandError(f"cannot read {shown(path)}: {error.strerror}", FAILED) from error


def _whole(file: BinaryIO, bytes_max: int) -> Iterator[Piece]:
    raw = file.read(bytes_max + 1)
    size = len(raw)
    if size > bytes_max:
        size = max(size, os.fstat(file.fileno()).st_size)  # 0 for a pipe, which does not tell
    yield 0, raw, size


def _lines(file: BinaryIO, bytes_max: int) -> Iterator[Piece]:
    """Every line that is not blank. One that is too long is passed over without being held."""
    longest, readline, number = bytes_max + 2, file.readline, 0  # with its \r\n
    while raw := readline(longest):
        number += 1
        if len(raw) == longest and raw[-1] != 10:
            yield number, raw, longest + _skip_line(file)
            continue
        raw = raw.rstrip(b"\r\n")
        if raw and not raw.isspace():
            yield number, raw, len(raw)


def _lines_with_ends(file: BinaryIO, bytes_max: int) -> Iterator[Piece]:
    number = 0
    while raw := file.readline(bytes_max + 1):
        number += 1
        yield number, raw, len(raw)


def _skip_line(file: BinaryIO) -> int:
    """How many bytes the rest of the line had."""
    skipped = 0
    while part := file.readline(_SKIP_BYTES):
        skipped += len(part)
        if part.endswith(b"\n"):
            return skipped - 1
    return skipped
