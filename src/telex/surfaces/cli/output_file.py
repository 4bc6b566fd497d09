"""Output of a command to stdout or to a file that the user names.

A regular file is replaced atomically: the content goes to a temporary file beside it, which is fsynced and renamed, so
a run that fails leaves the file as it was. Pipes, devices and open descriptors are written directly. A store is never
overwritten.
"""

import errno
import os
import re
import stat
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from typing import BinaryIO

from telex.surfaces.cli.exit_codes import FAILED, CommandError
from telex.surfaces.cli.inputs import STDIN
from telex.surfaces.cli.output import shown

STORE_BEGINS = b"SQLite format 3\0"
_STORE_SUFFIXES = ("-wal", "-shm", "-journal", "-lock", "-ballast")  # files that belong to a store
_STREAMS = {"/dev/stdout": 1, "/dev/stderr": 2}
_DESCRIPTOR = re.compile("/(?:dev|proc/self)/fd/([0-9]{1,9})")


@contextmanager
def writing(path: str | None, *, source: str | None = None) -> Iterator[BinaryIO]:
    """Open `path` for writing; None and `-` are stdout. A regular file is replaced when the block ends without error.

    `source` is the file that is read meanwhile, `-` being stdin.

    Raises:
        CommandError: it cannot be written, is a store, or is the source and would grow while it is read.
    """
    if path is None or path == STDIN:
        _refuse_source(source, 1)
        sys.stdout.flush()
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    _refuse_store(path)
    try:
        with _open(path, source) as file:
            yield file
    except OSError as error:
        raise CommandError(f"cannot write {shown(path)}: {error.strerror or error}", FAILED) from error


def begins_a_store(raw: bytes) -> bool:
    return raw.startswith(STORE_BEGINS)


def _open(path: str, source: str | None) -> AbstractContextManager[BinaryIO]:
    name = os.path.normpath(path)
    match = _DESCRIPTOR.fullmatch(name)
    descriptor = int(match[1]) if match else _STREAMS.get(name)
    if descriptor is not None:  # opened by its name, a file would be truncated
        _refuse_source(source, descriptor)
        return open(os.dup(descriptor), "wb")
    is_new = not os.path.exists(path) and os.path.basename(path)
    return _replacing(os.path.realpath(path)) if is_new or os.path.isfile(path) else open(path, "wb")


@contextmanager
def _replacing(path: str) -> Iterator[BinaryIO]:
    existing = os.stat(path) if os.path.exists(path) else None
    if existing and not os.access(path, os.W_OK):  # a rename only checks the directory
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
    temporary = os.path.join(os.path.dirname(path), f".telex-{os.urandom(6).hex()}.part")
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
    try:
        with open(os.open(temporary, flags, 0o600 if existing else 0o666), "wb") as file:
            if existing:
                _copy_permissions(file.fileno(), existing)
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    finally:
        with suppress(OSError):
            os.unlink(temporary)


def _copy_permissions(descriptor: int, existing: os.stat_result) -> None:
    mode = stat.S_IMODE(existing.st_mode)
    try:
        os.fchown(descriptor, -1, existing.st_gid)
    except PermissionError:  # another group gets no more access than others have
        mode = mode & ~stat.S_IRWXG | (mode & stat.S_IRWXO) << 3
    with suppress(PermissionError):
        os.fchown(descriptor, existing.st_uid, -1)
    os.fchmod(descriptor, mode)


def _refuse_source(source: str | None, descriptor: int) -> None:
    if source is None:
        return
    with suppress(OSError):  # the reader or the writer reports it
        read, written = os.fstat(0) if source == STDIN else os.stat(source), os.fstat(descriptor)
        if stat.S_ISREG(written.st_mode) and os.path.samestat(read, written):
            raise CommandError(f"{shown(source)} is read and written at once: give another file with --output")


def _refuse_store(path: str) -> None:
    target = os.path.realpath(path)
    suffix = next((suffix for suffix in _STORE_SUFFIXES if target.endswith(suffix)), "")
    for store in {target, target.removesuffix(suffix)}:
        if _is_store(store):
            what = "is a store" if store == target else "belongs to a store"
            raise CommandError(f"{shown(path)} {what}, and writing would destroy it: give another file", FAILED)


def _is_store(path: str) -> bool:
    with suppress(OSError):
        if os.path.isfile(path):  # opening a pipe would block
            with open(path, "rb") as file:
                return begins_a_store(file.read(len(STORE_BEGINS)))
    return False
