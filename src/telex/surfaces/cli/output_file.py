"""Where is it written? Into the file that was named, whole or not at all: what was there stays until all of it is.

Pipes, devices and what was given to us open take it as it comes; a file is written as `atomic_write` says. A store is
never written to, nor is a file straight that is being read: whoever reads it would never come to its end.
"""

import os
import re
import stat
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import BinaryIO, TextIO

from telex.surfaces.cli.atomic_write import atomic_write
from telex.surfaces.cli.exit_codes import FAILED, CommandError
from telex.surfaces.cli.inputs import STDIN
from telex.surfaces.cli.output import shown

STORE_BEGINS = b"SQLite format 3\0"
# Without the first three a store has lost its last messages; the others keep two from writing at once, and room to end.
_BESIDE_A_STORE = ("-wal", "-shm", "-journal", "-lock", "-ballast")
_DESCRIPTOR = re.compile("[0-9]{1,9}")


class OutputFile:
    """What is written to; `is_terminal` says whether a person looks at it."""

    def __init__(self, file: BinaryIO) -> None:
        self.write = file.write
        self.is_terminal = file.isatty()


def writing(path: str | None, *, source: str | None = None) -> AbstractContextManager[OutputFile]:
    """What is named so, `-` and None being stdout. A file has what was written once the block was left in good order.

    `source` is what is read in the meantime, `-` being stdin.

    Raises:
        CommandError: when it cannot be written, is a store, or would grow while it is read.
    """
    if path is None or path == STDIN:
        _refuse_the_source(source, _standing_open(sys.stdout))
        return _stream(sys.stdout, None)
    with _naming(path):
        _refuse_a_store(path)
        there = _standing(path)
        for stream in (sys.stdout, sys.stderr):
            if _is_same(_standing_open(stream), there):
                _refuse_the_source(source, there)
                return _stream(stream, path)  # /dev/stdout: what stands in its file already stays there
        if _is_given_open(path):
            _refuse_the_source(source, there)
            return _given_open(path)
        if _takes_it_as_it_comes(path, there):
            return _straight(path)
    return _whole(path, there, may_copy=not _is_source(source, there))


def begins_a_store(raw: bytes) -> bool:
    return raw.startswith(STORE_BEGINS)


@contextmanager
def _naming(path: str | None) -> Iterator[None]:
    """What the system says of the file, with its name. None: it is stdout, of which `main` says it."""
    try:
        yield
    except OSError as error:
        if path is None:
            raise
        raise CommandError(f"cannot write {shown(path)}: {error.strerror or error}", FAILED) from error


# --- the ways of writing ----------------------------------------------------------------------------------------------


@contextmanager
def _stream(stream: TextIO, name: str | None) -> Iterator[OutputFile]:
    with _naming(name):
        stream.flush()
        yield OutputFile(stream.buffer)
        stream.buffer.flush()


@contextmanager
def _given_open(path: str) -> Iterator[OutputFile]:
    """Opened anew it would be emptied, or written where it was given only to be read."""
    with _naming(path), open(os.dup(int(os.path.basename(path))), "wb") as file:
        yield OutputFile(file)


@contextmanager
def _straight(path: str) -> Iterator[OutputFile]:
    with _naming(path), open(path, "wb") as file:
        yield OutputFile(file)


@contextmanager
def _whole(path: str, there: os.stat_result | None, *, may_copy: bool) -> Iterator[OutputFile]:
    # A link stays a link: what it points to is written.
    with _naming(path), atomic_write(os.path.realpath(path), there, may_copy=may_copy) as file:
        yield OutputFile(file)


def _is_given_open(path: str) -> bool:
    """Is it the name of something that we were started with, whatever its path? `/dev/fd/3`."""
    folder, name = os.path.split(path)
    own = ("/dev/fd", os.path.realpath("/proc/self/fd"))
    return _DESCRIPTOR.fullmatch(name) is not None and os.path.realpath(folder) in own


def _takes_it_as_it_comes(path: str, there: os.stat_result | None) -> bool:
    """A pipe, a device; also what is no file at all, of which `open` says best what it is."""
    return (there is not None and not stat.S_ISREG(there.st_mode)) or not os.path.basename(path)


# --- which file is it? ------------------------------------------------------------------------------------------------


def _standing(path: str) -> os.stat_result | None:
    try:
        return os.stat(path)
    except FileNotFoundError:
        return None


def _standing_open(stream: TextIO) -> os.stat_result | None:
    try:
        return os.fstat(stream.fileno())
    except (OSError, ValueError, AttributeError):  # closed, before we began even, or no file of the system's
        return None


def _is_same(one: os.stat_result | None, other: os.stat_result | None) -> bool:
    return one is not None and other is not None and os.path.samestat(one, other)


def _refuse_the_source(source: str | None, there: os.stat_result | None) -> None:
    if source is not None and _is_source(source, there):
        raise CommandError(f"{shown(source)} is read and written at once: give another file with --output")


def _is_source(source: str | None, there: os.stat_result | None) -> bool:
    """Pipes and devices do not give back what they were given."""
    if source is None or there is None or not stat.S_ISREG(there.st_mode):
        return False
    try:
        return _is_same(_standing_open(sys.stdin) if source == STDIN else os.stat(source), there)
    except OSError:  # whoever reads it says what is wrong with it
        return False


def _refuse_a_store(path: str) -> None:
    whole = os.path.realpath(path)
    suffix = next((one for one in _BESIDE_A_STORE if whole.endswith(one)), "")
    for store in {whole, whole.removesuffix(suffix)}:
        if _is_store(store):
            what = "is a store" if store == whole else "belongs to a store"
            raise CommandError(f"{shown(path)} {what}, and writing would destroy it: give another file", FAILED)


def _is_store(path: str) -> bool:
    try:
        if not stat.S_ISREG(os.stat(path).st_mode):
            return False  # a pipe would be waited for
        with open(path, "rb") as file:
            return begins_a_store(file.read(len(STORE_BEGINS)))
    except OSError:
        return False
