"""Input and output files of commands.

Messages are read from files, folders, lines and stdin, no further than the largest allowed message. An output file is
replaced when it is complete.
"""

import errno
import os
import re
import stat
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from typing import BinaryIO

from telex.model.text import nearest
from telex.surfaces.cli.output import shell_word, shown
from telex.surfaces.cli.usage import FAILED, NOT_FOUND, CommandError

STDIN = "-"
LINES = (".jsonl", ".ndjson")  # a message on every line
MESSAGES = (".json", ".md", ".txt", *LINES)  # suffixes that a folder is searched for
_SKIP_BYTES = 65_536

Piece = tuple[int, bytes, int]  # line number (0 for a whole file), bytes up to the limit, total size in bytes


def files_in(operands: list[str]) -> list[str]:
    """The files that the operands name; folders are searched."""
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
    """Files of messages in a folder and its subfolders, by name. Links to folders are skipped: they may be circular."""
    try:
        with os.scandir(folder) as scanned:
            entries = sorted(scanned, key=lambda entry: entry.name)
    except OSError as error:
        raise CommandError(f"cannot list {shown(folder)}: {error.strerror}", FAILED) from error
    for entry in entries:
        if entry.name.startswith("."):
            continue
        if entry.is_dir(follow_symlinks=False):
            yield from _walk(entry.path)
        elif entry.name.endswith(MESSAGES) and entry.is_file():
            yield entry.path


def file_word(path: str) -> str:
    """The path quoted for a shell; a name with a leading dash is no option."""
    return shell_word(os.path.join(os.curdir, path) if path.startswith("-") and path != STDIN else path)


def has_lines(path: str, forced: bool = False) -> bool:
    """Whether there is a message on every line."""
    return forced or path.endswith(LINES)


def pieces(path: str, bytes_max: int, *, lines: bool) -> Iterator[Piece]:
    """The messages of one file."""
    return _read(path, bytes_max, _lines if lines else _whole)


def lines_as_they_are(path: str, bytes_max: int) -> Iterator[Piece]:
    """Every line of one file, blank ones too, each with its line end."""
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
        size = max(size, os.fstat(file.fileno()).st_size)  # 0 for a pipe
    yield 0, raw, size


def _lines(file: BinaryIO, bytes_max: int) -> Iterator[Piece]:
    """Every line that is not blank. The rest of one that is too long is skipped, not buffered."""
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
    """Read to the end of the line and return how many bytes that were."""
    skipped = 0
    while part := file.readline(_SKIP_BYTES):
        skipped += len(part)
        if part.endswith(b"\n"):
            return skipped - 1
    return skipped


STORE_BEGINS = b"SQLite format 3\0"
_STORE_SUFFIXES = ("-wal", "-shm", "-journal", "-lock", "-ballast")  # files that belong to a store
_STREAMS = {"/dev/stdout": 1, "/dev/stderr": 2}
_DESCRIPTOR = "/(?:dev|proc/self)/fd/([0-9]{1,9})"  # compiled when a file is written


@contextmanager
def writing(path: str | None, *, source: str | None = None) -> Iterator[BinaryIO]:
    """Open `path` for writing; None and `-` are stdout. A regular file is replaced when the block ends without error.

    `source` is the file that is read meanwhile, `-` being stdin.
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
    match = re.fullmatch(_DESCRIPTOR, name)
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
        if is_store(store):
            what = "is a store" if store == target else "belongs to a store"
            raise CommandError(f"{shown(path)} {what}, and writing would destroy it: give another file", FAILED)


def is_store(path: str) -> bool:
    with suppress(OSError):
        if os.path.isfile(path):  # opening a pipe would block
            with open(path, "rb") as file:
                return begins_a_store(file.read(len(STORE_BEGINS)))
    return False
