"""SQLite connection: one file, many writing processes, no daemon.

Every write is one `BEGIN IMMEDIATE` transaction under a file lock of the operating system, because SQLite's own busy
handler is unfair: with eight writers one of them may wait for seconds. A durable write is synced before it is
acknowledged, as with `synchronous = FULL`, but after the lock is released, so that the next writer need not wait for
the disk. That is safe: a sync covers everything written before it, and a checkpoint syncs the log before it changes the
file. A lease is not synced, since losing one in a power cut only means that the message is delivered again.
"""

import os
import time
from _thread import get_ident
from collections.abc import Callable
from typing import Any, NoReturn, TypeVar

import apsw

from telex.errors import OutcomeUnknown, StoreDamaged, StoreError, StoreFull, StoreTooNew, StoreUnavailable
from telex.stores.disk import FileLock, ReserveFile, free_bytes, make_file, open_file, refuse_links, sync_folder
from telex.stores.sqlite.schema import APPLICATION_ID, BACKUP_ID, MIGRATIONS, REPLICA_ID, VERSION


def store_error(error: apsw.Error, path: str, in_doubt: bool) -> StoreError:
    """The error of `telex.errors` for an error of the driver."""
    match error:
        case _ if in_doubt:
            return OutcomeUnknown(f"outcome unknown ({path}: {error}): send again with the same id.")
        case _ if isinstance(error, apsw.FullError) or getattr(error, "extendedresult", 0) == apsw.SQLITE_IOERR_SHMSIZE:
            return StoreFull(f"no room on the disk for {path}: nothing of this was stored; free some space.")
        case apsw.NotADBError():
            say = f"{path} is not a SQLite database; nothing was changed. Give the path of a store"
            return StoreDamaged(f"{say}, or restore a backup with telex restore FILE.")
        case apsw.CorruptError():
            return StoreDamaged(f"{path} is damaged ({error}): run telex doctor, and restore it from a copy.")
        case apsw.ConnectionClosedError() | apsw.CursorClosedError():
            return StoreUnavailable("this bus has been closed: open another one.")
        case apsw.BusyError() | apsw.LockedError():
            return StoreUnavailable(f"{path} is held by another program: try again when it has let go.")
        case apsw.ReadOnlyError() | apsw.PermissionsError():
            return StoreUnavailable(f"{path} may not be written: check its permissions and those of its folder.")
        case apsw.CantOpenError():
            return StoreUnavailable(f"cannot open {path}: check that its folder is there and may be written.")
        case apsw.IOError():
            return StoreUnavailable(f"the disk failed under {path} ({error}): nothing of this was stored.")
        case apsw.SQLError() if "no such table" in str(error):
            return StoreDamaged(f"{path} lacks a part of a Telex store ({error}): run telex doctor.")
        case _:
            raise error  # a bug of Telex, not a failure of the environment


T = TypeVar("T")
fdatasync = getattr(os, "fdatasync", os.fsync)
Row = tuple[Any, ...]
BUSY_MILLISECONDS = 30_000  # other tools do not take our lock
LOG_BYTES_AT_ONCE = 1_048_576
BALLAST_SECONDS = 0.02
LOW_BYTES = 16 * 1_048_576  # free on the disk: below this the log is checkpointed early
LOG_PAGES, LOG_PAGES_LOW = 1_000, 64  # of the log, after which SQLite copies it into the file
SUFFIXES = ("", "-wal", "-shm", "-journal", "-lock", "-ballast")  # the files of a store
OPEN_FLAGS = apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE | apsw.SQLITE_OPEN_NOFOLLOW


class SqliteConnection:
    """One connection to one store. It belongs to the thread and the process that opened it."""

    application_id = APPLICATION_ID

    def __init__(self, path: str, *, durable: bool = True) -> None:
        folder, name = os.path.split(path)
        self.path = path  # as given, for error texts
        self._path = path = os.path.join(os.path.realpath(folder), name)  # the process may change its directory
        self._durable = durable
        self._process, self._thread = os.getpid(), get_ident()
        self._is_closed = False
        self._lock = self._log = -1
        self._looked_at, self._has_room = float("-inf"), True
        self._ballast = ReserveFile(path + "-ballast")
        refuse_links(path + suffix for suffix in SUFFIXES)
        try:
            make_file(path)
        except OSError as error:
            raise StoreUnavailable(f"cannot open {self.path}: {error.strerror}") from error
        try:
            try:
                self._open()
            except StoreFull:  # opening takes a little space, and acks must be possible
                if not self._ballast.drop():
                    raise
                self._open()
        except BaseException:
            self.close()
            raise

    def _open(self) -> None:
        try:
            self._connection = apsw.Connection(self._path, flags=OPEN_FLAGS)
            self._cursor = self._connection.cursor()
            self._connection.set_busy_timeout(BUSY_MILLISECONDS)
            # Otherwise SQLite plans many statements again for every message.
            self._connection.config(apsw.SQLITE_DBCONFIG_ENABLE_QPSG, 1)
            version = self._version()  # before any file is created beside it: another program's database is not touched
            if version > VERSION:
                raise self._too_new(version)
            self._open_lock()
            if version < VERSION:
                self._bring_up_to_date()
            self._cursor.execute("PRAGMA synchronous = NORMAL")  # the log is synced by us, see `_sync`
            if self.value("PRAGMA journal_mode") != "wal":
                self._begin_log()
        except apsw.Error as error:
            self._explain(error)
        self._open_log()

    def _open_lock(self) -> None:
        try:
            status = os.lstat(self._path)
            self._identity, self._mode = (status.st_dev, status.st_ino), status.st_mode & 0o666
            if self._lock < 0:
                self._lock = open_file(self._path + "-lock", os.O_RDWR | os.O_CREAT, self._mode)
        except OSError as error:
            raise StoreUnavailable(f"cannot open {self.path}: {error.strerror}") from error

    def _too_new(self, version: int) -> StoreTooNew:
        known = f"file version {version}; this one knows {VERSION}"
        say = f"{self.path} was written by a later Telex ({known}): upgrade Telex to open it. Nothing was changed."
        return StoreTooNew(say)

    def _version(self) -> int:
        if not self._connection.in_transaction:
            return self.read_transaction(self._version)  # one snapshot: another process may be creating the store
        application = self.value("PRAGMA application_id")
        version = int(self.value("PRAGMA user_version"))
        if application == self.application_id:
            return version
        if version == 0 and application == 0 and not self.value("SELECT count(*) FROM sqlite_schema"):
            return 0
        if application == BACKUP_ID:
            raise StoreUnavailable(f"{self.path} is a backup: telex restore {self.path} makes a store of it.")
        if application == REPLICA_ID:
            raise StoreUnavailable(f"{self.path} is a hub's copy of a replicated team: use the address of the hub.")
        raise StoreDamaged(f"{self.path} is a database, but not a Telex store. Nothing was changed.")

    def _bring_up_to_date(self) -> None:
        """Migrate under the lock. A second process finds the work done."""
        with FileLock(self._lock):
            if self._version() == 0:
                self._cursor.execute("PRAGMA journal_mode = WAL")
            self._cursor.execute("PRAGMA synchronous = FULL")
            self._cursor.execute("BEGIN IMMEDIATE")
            try:
                for number in range(self._version(), VERSION):
                    self._cursor.execute(MIGRATIONS[number])
                self._cursor.execute(f"PRAGMA application_id = {APPLICATION_ID}")
                self._cursor.execute(f"PRAGMA user_version = {VERSION}")
            except BaseException:
                self._cursor.execute("ROLLBACK")
                raise
            self._cursor.execute("COMMIT")
        self.hold_ballast()
        sync_folder(os.path.dirname(self._path))

    def _begin_log(self) -> None:
        """Begin the write-ahead log that a restore has ended: it was killed, or has just replaced the file."""
        with FileLock(self._lock):
            if not self._is_in_place():
                raise StoreUnavailable(f"{self.path} was moved or deleted: nothing was stored; open the store again.")
            if self.value("PRAGMA journal_mode = WAL") != "wal":
                raise StoreUnavailable(f"{self.path} cannot be shared where it lies: put it on a local disk.")
            self._version()  # a read creates the log

    # --- reading -----------------------------------------------------------------------------------------------------

    def rows(self, sql: str, bindings: Any = ()) -> list[Row]:
        try:
            return list(self._cursor.execute(sql, bindings))
        except apsw.Error as error:
            self._explain(error)

    def row(self, sql: str, bindings: Any = ()) -> Row | None:
        rows = self.rows(sql, bindings)
        return rows[0] if rows else None

    def value(self, sql: str, bindings: Any = ()) -> Any:
        rows = self.rows(sql, bindings)
        return rows[0][0] if rows else None

    def read_transaction(self, work: Callable[[], T]) -> T:
        """Run several reads on one snapshot."""
        self._check_process()
        execute = self._cursor.execute
        try:
            execute("BEGIN")
            return work()
        except apsw.Error as error:
            self._explain(error)
        finally:
            if self._connection.in_transaction:  # some failures have ended it already
                execute("ROLLBACK")

    def data_version(self) -> int:
        """Changes whenever another connection has written."""
        version: int = self.value("PRAGMA data_version")
        return version

    # --- writing -----------------------------------------------------------------------------------------------------

    def run(self, sql: str, bindings: Any = ()) -> None:
        self._cursor.execute(sql, bindings)

    def run_many(self, sql: str, rows: list[Row]) -> None:
        if rows:
            self._cursor.executemany(sql, rows)

    def changed(self) -> int:
        return self._connection.changes()

    def write_transaction(self, work: Callable[[], T], *, durable: bool = True, may_use_reserve: bool = False) -> T:
        """Run the work in a write transaction. A durable one is on disk when this returns.

        On a full disk, work that `may_use_reserve` deletes the reserve file and runs again.

        Raises:
            OutcomeUnknown: the commit or the sync failed; the work may be stored or not.
            StoreError: nothing was stored.
        """
        self._check_process()
        if self._is_time_to_look():
            self._has_room = self.hold_ballast()
        if not (may_use_reserve or self._has_room):
            raise StoreFull(f"no room on the disk for {self.path}: nothing of this was stored; free some space.")
        try:
            return self._transact(work, durable)
        except StoreFull:
            if not may_use_reserve:
                raise
        self._ballast.drop()  # unless another process has
        self._limit_log(free_bytes(os.path.dirname(self._path)))
        return self._transact(work, durable)

    def _transact(self, work: Callable[[], T], durable: bool) -> T:
        execute = self._cursor.execute
        with FileLock(self._lock):
            if not self._is_in_place():
                raise StoreUnavailable(f"{self.path} was moved or deleted: nothing was stored; open the store again.")
            committing = False
            try:
                execute("BEGIN IMMEDIATE")
                for (version,) in execute("PRAGMA user_version"):
                    if version > VERSION:
                        raise self._too_new(version)  # migrated by a later Telex while we had it open
                answer = work()
                committing = True
                execute("COMMIT")
            except BaseException as error:
                undone = self._roll_back()
                if isinstance(error, apsw.Error):
                    # A recovery may find a failed COMMIT: after a failed sync the log is complete, but on a full disk
                    # its last frame is missing.
                    is_lost = isinstance(error, apsw.FullError) or (undone and not isinstance(error, apsw.IOError))
                    self._explain(error, in_doubt=committing and not is_lost)
                raise
        if durable:
            if self._durable:
                self._sync()
            if not self._is_in_place():
                raise self._replaced(self.path)
        return answer

    def _is_in_place(self) -> bool:
        """Whether the file that SQLite has open is still the one at this path. It costs a microsecond."""
        try:
            status = os.lstat(self._path)
        except OSError:
            return False
        return (status.st_dev, status.st_ino) == self._identity

    def _open_log(self) -> None:
        """Open the log before anything is committed: a file that is opened after a lost write may report no error.

        SQLite keeps it open until the store is closed. Closing ours drops no lock of SQLite, which locks other files.
        """
        self._close_log()
        try:
            self._log = open_file(self._path + "-wal", os.O_RDWR)
        except OSError as error:
            raise StoreUnavailable(f"cannot open {self.path}-wal: {error.strerror}") from error

    def _sync(self) -> None:
        """Wait until every commit so far, of any process, is on disk."""
        name = self.path + "-wal"
        try:
            fdatasync(self._log)
            in_place = os.fstat(self._log).st_ino == os.lstat(self._path + "-wal").st_ino
        except OSError as error:
            self._write_log_again()
            say = f"outcome unknown (cannot sync {name}: {error.strerror}): send again with the same id."
            raise OutcomeUnknown(say) from error
        if not in_place:
            raise self._replaced(name)

    def _replaced(self, name: str) -> OutcomeUnknown:
        say = (
            f"outcome unknown ({name} was moved, deleted or replaced): open the store again, and send with the same id."
        )
        return OutcomeUnknown(say)

    def _write_log_again(self) -> None:
        """Write the log once more after a failed sync, or else the kernel may report the next sync as successful
        although pages are lost."""
        with FileLock(self._lock):
            try:
                self._cursor.execute("BEGIN IMMEDIATE")  # for processes that do not take our lock
                at = 0
                while part := os.pread(self._log, LOG_BYTES_AT_ONCE, at):
                    at += os.pwrite(self._log, part, at)
            except (OSError, apsw.Error):
                pass  # the outcome is unknown anyway
            finally:
                self._roll_back()

    def _close_log(self) -> None:
        if self._log >= 0:
            os.close(self._log)
            self._log = -1

    def _roll_back(self) -> bool:
        """True: the transaction was open, and nothing of it is stored."""
        if not self._connection.in_transaction:
            return False
        try:
            self._cursor.execute("ROLLBACK")
        except apsw.Error:
            return False
        return True

    def _is_time_to_look(self) -> bool:
        """Whether to check the free space now. It costs as much as a row, so not for every commit."""
        now = time.monotonic()
        if now - self._looked_at < BALLAST_SECONDS:
            return False
        self._looked_at = now
        return True

    def _check_process(self) -> None:
        if os.getpid() != self._process:
            raise StoreUnavailable("this bus was opened before the process forked: open another one after it.")
        if get_ident() != self._thread:
            raise StoreUnavailable("this bus belongs to the thread that opened it: open one in each thread.")
        if self._is_closed:
            raise StoreUnavailable("this bus has been closed: open another one.")

    # --- a full disk -------------------------------------------------------------------------------------------------

    def hold_ballast(self) -> bool:
        """Create the reserve file, if it is missing. False: the disk is full."""
        try:
            free = free_bytes(os.path.dirname(self._path))
        except OSError:
            return True  # the folder is gone, which the transaction reports
        self._limit_log(free)
        return self._ballast.hold(free, self._mode)

    def _limit_log(self, free: float) -> None:
        """Keep the log short on a disk that is nearly full: at a checkpoint its pages must fit into the file. If they
        do not, there is no checkpoint, which would use the space that acks need."""
        pages = LOG_PAGES
        if free <= LOW_BYTES:
            grows = self.value("SELECT page_count * page_size FROM pragma_page_count, pragma_page_size")
            pages = LOG_PAGES_LOW if grows - os.path.getsize(self._path) <= free else 0
        self._connection.wal_autocheckpoint(pages)

    # --- the end -----------------------------------------------------------------------------------------------------

    def close(self) -> None:
        self._is_closed = True
        if os.getpid() == self._process and hasattr(self, "_connection"):
            try:
                self._connection.close(True)
            except apsw.Error as error:
                self._explain(error)
        self._close_log()
        if self._lock >= 0:
            os.close(self._lock)
            self._lock = -1

    def _explain(self, error: apsw.Error, *, in_doubt: bool = False) -> NoReturn:
        raise store_error(error, self.path, in_doubt) from error
