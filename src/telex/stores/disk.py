"""Files of a store: private to their owner and never symbolic links; the file lock, and a reserve for a full disk."""

import os
import stat
from collections.abc import Iterable
from contextlib import suppress

from telex.errors import StoreUnavailable

try:
    import fcntl
except ImportError:  # pragma: no cover - not a Unix; SQLite's own waiting has to do
    fcntl = None  # type: ignore[assignment]

FOLDER = ".telex"  # of a project; a cloned repository may bring one
FOLDER_MODE, FILE_MODE = 0o700, 0o600  # their owner's alone: messages are not for everybody on the machine
BALLAST_BYTES = 1_048_576  # given up on a full disk, so that what is done can still be said to be done
_NO_LINK = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)


def make_folder(folder: str) -> None:
    """Make the folder of a store, if it is missing.

    Raises:
        StoreUnavailable: it cannot be made, or is a project's own folder and leads elsewhere.
    """
    if os.path.basename(folder) == FOLDER:
        refuse_links([folder])
    if not folder or os.path.isdir(folder):
        return
    try:
        os.makedirs(os.path.dirname(folder) or ".", exist_ok=True)
        os.mkdir(folder, FOLDER_MODE)
        os.chmod(folder, FOLDER_MODE)  # whatever the umask
        if os.path.basename(folder) == FOLDER:
            os.write(ignored := open_file(os.path.join(folder, ".gitignore"), os.O_WRONLY | os.O_CREAT), b"*\n")
            os.close(ignored)
    except OSError as error:
        if not os.path.isdir(folder):  # another process may just have made it
            raise StoreUnavailable(f"cannot make {folder}: {error.strerror}") from error


def refuse_links(paths: Iterable[str]) -> None:
    """Look before anything is opened: a cloned repository may bring links, and what they lead to is not ours.

    Raises:
        StoreUnavailable: one of them is a symbolic link.
    """
    for path in paths:
        if os.path.islink(path):
            say = f"{path} is a symbolic link, which nothing of a store may be: remove it, or name what it points to."
            raise StoreUnavailable(say)


def open_file(path: str, flags: int, mode: int = FILE_MODE) -> int:
    """Open a file that is no symbolic link. Where `flags` make it, it gets exactly this mode, whatever the umask."""
    descriptor = os.open(path, flags | _NO_LINK, mode)
    if flags & os.O_CREAT and hasattr(os, "fchmod") and stat.S_IMODE(os.fstat(descriptor).st_mode) != mode:
        with suppress(PermissionError):  # it is another's, who shares it
            os.fchmod(descriptor, mode)
    return descriptor


def make_file(path: str) -> None:
    """Make an empty file, unless there is one. That one is not opened: to close it again would drop SQLite's locks."""
    with suppress(FileExistsError):
        os.close(open_file(path, os.O_RDWR | os.O_CREAT | os.O_EXCL))


class FileLock:
    """The operating system's lock on the store. It is fair, and a killed process lets go of it."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    def __enter__(self) -> None:
        if fcntl is not None:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX)

    def __exit__(self, *_: object) -> None:
        if fcntl is not None:
            fcntl.flock(self._descriptor, fcntl.LOCK_UN)


class ReserveFile:
    """A file that takes up room, so that there is some to give up."""

    def __init__(self, path: str) -> None:
        self._path = path

    def hold(self, free: float, mode: int) -> bool:
        """Have it, whole. False: there is no room for it and as much again, of so many bytes that are free."""
        with suppress(OSError):
            if os.path.getsize(self._path) == BALLAST_BYTES:
                return free >= BALLAST_BYTES
        if free < 2 * BALLAST_BYTES:  # not even tried: it would take what others need to ack
            return False
        try:
            with open(open_file(self._path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, mode), "wb") as file:
                file.write(bytes(BALLAST_BYTES))
        except OSError:
            self.drop()
            return False
        return True

    def drop(self) -> bool:
        """Give it up. False: there was none."""
        try:
            os.unlink(self._path)
        except OSError:
            return False
        return True


def free_bytes(folder: str) -> float:
    """What is free on the disk; infinite where the system does not tell."""
    if not hasattr(os, "statvfs"):  # pragma: no cover - not a Unix
        return float("inf")
    disk = os.statvfs(folder)
    return disk.f_bavail * disk.f_frsize if disk.f_blocks else float("inf")


def sync_folder(folder: str) -> None:
    """A new file is only safe when its folder knows of it."""
    try:
        descriptor = os.open(folder, os.O_RDONLY)
    except OSError:
        return
    try:
        os.fsync(descriptor)
    except OSError:
        pass
    finally:
        os.close(descriptor)
