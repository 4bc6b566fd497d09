"""Where is it written? Into the file that was named, whole or not at all: what was there stays until all of it is.

It is written beside the file and put in its place at the end, so that a log may be written over itself, and a run that
fails or is interrupted changes nothing. Pipes and devices take it as it comes. A store is never written over.
"""

import errno
import os
import stat
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from typing import BinaryIO, TextIO

from telex.surfaces.cli.exits import FAILED, CommandError
from telex.surfaces.cli.render import shown
from telex.surfaces.cli.sources import STDIN

STORE_BEGINS = b"SQLite format 3\0"
_BESIDE_A_STORE = ("-wal", "-shm", "-journal")  # without them a store has lost its last messages
_OPEN_FILES = ("/dev/fd", "/proc/")  # a name in there means what somebody has open, whatever its path


class Target:
    """What is written to; `is_terminal` says whether a person looks at it."""

    def __init__(self, file: BinaryIO) -> None:
        self.write = file.write
        self.is_terminal = file.isatty()


def writing(path: str | None) -> AbstractContextManager[Target]:
    """What is named so, `-` and None being stdout. A file has what was written once the block was left in good order.

    Raises:
        CommandError: when it cannot be written, or is a store.
    """
    if path is None or path == STDIN:
        return _stream(sys.stdout, None)
    with _naming(path):
        there = _standing(path)
        for stream in (sys.stdout, sys.stderr):
            if there is not None and _is_that(stream, there):
                return _stream(stream, path)  # /dev/stdout: what stands in its file already stays there
        if _takes_it_as_it_comes(path, there):
            return _straight(path)
    return _in_its_place(path, there)


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


def _standing(path: str) -> os.stat_result | None:
    try:
        return os.stat(path)
    except FileNotFoundError:
        return None


# --- what takes it as it comes ----------------------------------------------------------------------------------------


@contextmanager
def _stream(stream: TextIO, name: str | None) -> Iterator[Target]:
    with _naming(name):
        stream.flush()
        yield Target(stream.buffer)
        stream.buffer.flush()


@contextmanager
def _straight(path: str) -> Iterator[Target]:
    with _naming(path), open(path, "wb") as file:
        yield Target(file)


def _takes_it_as_it_comes(path: str, there: os.stat_result | None) -> bool:
    """A pipe, a device, something that is open; also what is no file at all, of which `open` says best what it is."""
    if there is not None and not stat.S_ISREG(there.st_mode):
        return True
    folder, name = os.path.split(path)
    return not name or os.path.realpath(folder).startswith(_OPEN_FILES)


def _is_that(stream: TextIO, there: os.stat_result) -> bool:
    try:
        return os.path.samestat(there, os.fstat(stream.fileno()))
    except (OSError, ValueError):  # closed, or no file of the system's
        return False


# --- a file -----------------------------------------------------------------------------------------------------------


@contextmanager
def _in_its_place(path: str, there: os.stat_result | None) -> Iterator[Target]:
    whole = os.path.realpath(path)  # a link stays a link: what it points to is written
    _refuse_a_store(path, whole)
    beside = os.path.join(os.path.dirname(whole), f".telex-{os.urandom(6).hex()}.part")
    with _naming(path):
        try:
            with _made(beside, whole, there) as file:
                yield Target(file)
                file.flush()
                os.fsync(file.fileno())
            os.replace(beside, whole)
        except BaseException:
            with suppress(OSError):
                os.unlink(beside)
            raise


def _made(beside: str, whole: str, there: os.stat_result | None) -> BinaryIO:
    """An empty file, for the same people as the one that it is to replace."""
    if there is not None and not os.access(whole, os.W_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
    descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666 if there is None else 0o600)
    file = open(descriptor, "wb")  # noqa: SIM115
    if there is not None:
        with suppress(PermissionError):  # of somebody else, whose file we may write: it is ours from now on
            os.fchown(descriptor, there.st_uid, there.st_gid)
        os.fchmod(descriptor, stat.S_IMODE(there.st_mode))
    return file


def _refuse_a_store(path: str, whole: str) -> None:
    suffix = next((one for one in _BESIDE_A_STORE if whole.endswith(one)), "")
    for store in {whole, whole.removesuffix(suffix)}:
        if _is_store(store):
            what = "is a store" if store == whole else "belongs to a store"
            raise CommandError(f"{shown(path)} {what}, whose messages would be lost: name another file", FAILED)


def _is_store(path: str) -> bool:
    try:
        with open(path, "rb") as file:
            return begins_a_store(file.read(len(STORE_BEGINS)))
    except OSError:
        return False
