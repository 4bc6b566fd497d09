"""Files of a store: private to their owner and never symbolic links; the file lock, and a reserve for a full disk."""

import os
import stat
from collections.abc import Iterable
from contextlib import suppress

from telex.errors import StoreUnavailable

try:
    import fcntl
except ImportError:  # pragma: no cover - not a Unix; SQLite's own locks have to do
    fcntl = None  # type: ignore[assignment]

FOLDER = ".telex"  # of a project; a cloned repository may bring one
FOLDER_MODE, FILE_MODE = 0o700, 0o600  # for their owner only
BALLAST_BYTES = 1_048_576  # deleted on a full disk, so that acks are still possible
_NO_LINK = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)


def make_folder(folder: str) -> None:
    """Create the folder of a store, if it is missing.

    Raises:
        StoreUnavailable: it cannot be created, or a project's folder is a symbolic link.
    """
    if os.path.basename(folder) == FOLDER:
        refuse_links([folder])
    if not folder or os.path.isdir(folder):
        return
    try:
        os.makedirs(os.path.dirname(folder) or ".", exist_ok=True)
        os.mkdir(folder, FOLDER_MODE)
        os.chmod(folder, FOLDER_MODE)  # regardless of the umask
        if os.path.basename(folder) == FOLDER:
            os.write(ignored := open_file(os.path.join(folder, ".gitignore"), os.O_WRONLY | os.O_CREAT), b"*\n")
            os.close(ignored)
    except OSError as error:
        if not os.path.isdir(folder):  # another process may have created it
            raise StoreUnavailable(f"cannot make {folder}: {error.strerror}") from error


def refuse_links(paths: Iterable[str]) -> None:
    """Check before anything is opened: a cloned repository may contain links to other files.

    Raises:
        StoreUnavailable: one of them is a symbolic link.
    """
    for path in paths:
        if os.path.islink(path):
            say = f"{path} is a symbolic link, which nothing of a store may be: remove it, or name what it points to."
            raise StoreUnavailable(say)


def open_file(path: str, flags: int, mode: int = FILE_MODE) -> int:
    """Open a file that is no symbolic link. A new one gets exactly this mode, regardless of the umask."""
    descriptor = os.open(path, flags | _NO_LINK, mode)
    if flags & os.O_CREAT and hasattr(os, "fchmod") and stat.S_IMODE(os.fstat(descriptor).st_mode) != mode:
        with suppress(PermissionError):  # it belongs to another user
            os.fchmod(descriptor, mode)
    return descriptor


def make_file(path: str) -> None:
    """Create an empty file. An existing one is not opened, since closing it would drop SQLite's locks."""
    with suppress(FileExistsError):
        os.close(open_file(path, os.O_RDWR | os.O_CREAT | os.O_EXCL))


class FileLock:
    """Lock of the operating system on the store. It is fair, and a killed process releases it."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    def __enter__(self) -> None:
        if fcntl is not None:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX)

    def __exit__(self, *_: object) -> None:
        if fcntl is not None:
            fcntl.flock(self._descriptor, fcntl.LOCK_UN)


class ReserveFile:
    """A file that reserves disk space, so that acks can be committed on a full disk."""

    def __init__(self, path: str) -> None:
        self._path = path

    def hold(self, free: float, mode: int) -> bool:
        """Create it, if it is missing. False: fewer than twice its bytes are free."""
        with suppress(OSError):
            if os.path.getsize(self._path) == BALLAST_BYTES:
                return free >= BALLAST_BYTES
        if free < 2 * BALLAST_BYTES:  # not tried: it would use the space that acks need
            return False
        try:
            with open(open_file(self._path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, mode), "wb") as file:
                file.write(bytes(BALLAST_BYTES))
        except OSError:
            self.drop()
            return False
        return True

    def drop(self) -> bool:
        """Delete it. False: there was none."""
        try:
            os.unlink(self._path)
        except OSError:
            return False
        return True


def free_bytes(folder: str) -> float:
    """Free bytes on the disk; infinite where unknown."""
    if not hasattr(os, "statvfs"):  # pragma: no cover - not a Unix
        return float("inf")
    disk = os.statvfs(folder)
    return disk.f_bavail * disk.f_frsize if disk.f_blocks else float("inf")


def sync_folder(folder: str) -> None:
    """Make new files in a folder durable."""
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
