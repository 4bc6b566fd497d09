"""Would a power cut find it? Stores that promise what is not on disk yet, for as long as a process lives."""

import os
from collections.abc import Callable
from typing import Any

from telex.stores.sqlite import connection
from telex.stores.sqlite.connection import SqliteConnection


def no_sync() -> None:
    """SQLite's `synchronous = NORMAL` is what is left without our own sync: only a checkpoint waits for the disk."""
    _replace("_sync", lambda self: None)


def nothing_synced() -> None:
    """Not even a checkpoint waits."""
    opened = SqliteConnection._open

    def careless(self: SqliteConnection) -> None:
        opened(self)
        self.run("PRAGMA synchronous = OFF")

    no_sync()
    _replace("_open", careless)


def synced_too_early() -> None:
    """Synced when all is said and done, but for the commit."""
    transact = SqliteConnection._transact

    def hasty(self: SqliteConnection, work: Callable[[], Any], promised: bool) -> Any:
        def synced() -> Any:
            done = work()
            if promised:
                self._sync()
            return done

        return transact(self, synced, False)

    _replace("_transact", hasty)


def wrong_file_synced() -> None:
    """Not the log, where the messages are, but the file to which a checkpoint brings them some day."""

    descriptors: dict[str, int] = {}  # kept open: closing one would take SQLite's locks away

    def misled(self: SqliteConnection) -> None:
        if self.path not in descriptors:
            descriptors[self.path] = os.open(self.path, os.O_RDWR | os.O_CLOEXEC)
        connection.fdatasync(descriptors[self.path])

    _replace("_sync", misled)


def _replace(name: str, method: Callable[..., Any]) -> None:
    setattr(SqliteConnection, name, method)


PLANTS: dict[str, Callable[[], None]] = {
    "no-sync": no_sync,
    "nothing-synced": nothing_synced,
    "synced-too-early": synced_too_early,
    "wrong-file-synced": wrong_file_synced,
}
