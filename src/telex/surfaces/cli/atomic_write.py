"""How is a file written, so that it is either as it was or has all that is new?

It is written beside the file and put in its place at the end, so that a log may be written over itself, and a run that
fails or is ended changes nothing. Where nothing can be put beside it, or it cannot be replaced, it is written elsewhere
first and copied over it once all of it is there.
"""

import errno
import os
import signal
import stat
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import BinaryIO

_NOT_THERE = (errno.EACCES, errno.EPERM, errno.EROFS)  # says a folder, of which a file may be written all the same
_NOT_REPLACED = (errno.EBUSY, errno.ENOENT)  # it is mounted there by itself; or was written elsewhere
_ENDS = (signal.SIGTERM, signal.SIGHUP)  # Ctrl-C is an exception already
_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


@contextmanager
def atomic_write(path: str, there: os.stat_result | None, *, may_copy: bool) -> Iterator[BinaryIO]:
    """What is to be in the file, once the block was left in good order. `there` is what is in its place, if anything.

    Without `may_copy` the file is only ever replaced: it is what is being read, and a copy that breaks off has lost it.

    Raises:
        OSError: when it cannot be written.
    """
    if there is not None and not os.access(path, os.W_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))  # replacing it would ask only the folder
    may_copy = may_copy and there is not None
    beside = os.path.join(os.path.dirname(path), f".telex-{os.urandom(6).hex()}.part")
    with _removed_unless_replaced(beside), _begun(beside, there, may_copy=may_copy) as file:
        yield file
        file.flush()
        os.fsync(file.fileno())
        if not _replaced(beside, path, may_copy=may_copy):
            with _undisturbed():
                _copy_over(file, path)


# --- beside it --------------------------------------------------------------------------------------------------------


@contextmanager
def _removed_unless_replaced(beside: str) -> Iterator[None]:
    """Also when the whole process is told to end."""

    def remove() -> None:
        with suppress(OSError):
            os.unlink(beside)

    def end(number: int, _: object) -> None:
        remove()
        signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)

    try:
        with _handling(_ENDS, end):
            yield
    finally:
        remove()


def _begun(beside: str, there: os.stat_result | None, *, may_copy: bool) -> BinaryIO:
    """An empty file: beside the other one, for the same people, or else somewhere where only we find it."""
    try:
        mode = 0o666 if there is None else 0o600  # until it is known for whom it is
        descriptor = os.open(beside, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode)
    except OSError as error:
        if error.errno not in _NOT_THERE or not may_copy:
            raise
        import tempfile

        return tempfile.TemporaryFile()
    file = open(descriptor, "w+b")  # noqa: SIM115
    if there is not None:
        _give_to_the_same(descriptor, there)
    return file


def _give_to_the_same(descriptor: int, there: os.stat_result) -> None:
    mode = stat.S_IMODE(there.st_mode)
    if not _given(descriptor, group=there.st_gid):  # then our group gets no more of it than it had: that of everybody
        mode = mode & ~stat.S_IRWXG | (mode & stat.S_IRWXO) << 3
    _given(descriptor, owner=there.st_uid)  # or else, of somebody else who lets us write it, it is ours from now on
    os.fchmod(descriptor, mode)


def _given(descriptor: int, owner: int = -1, group: int = -1) -> bool:
    """Each by itself: whoever is in the group of a file may give it away to that, but to no other owner."""
    try:
        os.fchown(descriptor, owner, group)
    except PermissionError:
        return False
    return True


def _replaced(beside: str, path: str, *, may_copy: bool) -> bool:
    try:
        os.replace(beside, path)
    except OSError as error:
        if error.errno not in (*_NOT_THERE, *_NOT_REPLACED) or not may_copy:
            raise
        return False
    return True


# --- over it ----------------------------------------------------------------------------------------------------------


def _copy_over(file: BinaryIO, path: str) -> None:
    import shutil

    file.seek(0)
    with open(os.open(path, os.O_WRONLY | os.O_CLOEXEC), "wb") as target:
        _make_room(target, os.fstat(file.fileno()).st_size)
        shutil.copyfileobj(file, target)
        target.truncate()
        target.flush()
        os.fsync(target.fileno())


def _make_room(target: BinaryIO, size: int) -> None:
    """So that a full disk says so before the first byte is written over."""
    before = os.fstat(target.fileno()).st_size
    if size <= before or not hasattr(os, "posix_fallocate"):
        return
    try:
        os.posix_fallocate(target.fileno(), 0, size)
    except OSError as error:
        target.truncate(before)
        if error.errno in _NO_ROOM:
            raise


# --- signals ----------------------------------------------------------------------------------------------------------


@contextmanager
def _undisturbed() -> Iterator[None]:
    """Whoever wants us to stop waits until the file is whole again."""
    came: list[int] = []
    with _handling((signal.SIGINT, *_ENDS), lambda number, _: came.append(number)):
        yield
    for number in came:
        os.kill(os.getpid(), number)


@contextmanager
def _handling(numbers: tuple[signal.Signals, ...], handler: Callable[[int, FrameType | None], None]) -> Iterator[None]:
    """What is ignored stays ignored; and only the main thread may set handlers."""
    is_main = threading.current_thread() is threading.main_thread()
    before = {number: signal.getsignal(number) for number in numbers if is_main}
    handled = {one: former for one, former in before.items() if former not in (signal.SIG_IGN, None)}
    for one in handled:
        signal.signal(one, handler)
    try:
        yield
    finally:
        for one, former in handled.items():
            signal.signal(one, former)
