"""What do we ask of the operating system? A lock that is fair, room kept aside, and a folder that knows its files."""

import os

try:
    import fcntl
except ImportError:  # pragma: no cover - not a Unix; SQLite's own waiting has to do
    fcntl = None  # type: ignore[assignment]

BALLAST_BYTES = 1_048_576  # given up on a full disk, so that what is done can still be said to be done


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

    def hold(self) -> bool:
        """Have it, whole. False: there is no room for it."""
        try:
            if os.path.getsize(self._path) == BALLAST_BYTES:
                return True
        except OSError:
            pass
        try:
            with open(self._path, "wb") as file:
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
