"""Backup and restore of a store: one file with everything that is deliverable, taken while the store is in use.

A backup is a SQLite database with the pages of the store, as of one moment, and the files beside it in a table. It has
its own application id and no write-ahead log, so that no command can use it as a store by mistake, and one file is all.
A restore replaces the file of a store only if no process has it open: SQLite deletes the log of a file that was
replaced under it by its name, and with it commits of the new one.
"""

import os
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from typing import Any

import apsw

from telex.errors import StoreDamaged, StoreTooNew, StoreUnavailable
from telex.model.named_tuple import NamedTuple
from telex.stores.disk import FileLock, make_file, make_folder, open_file, refuse_links, sync_folder
from telex.stores.sqlite.connection import BUSY_MILLISECONDS, SUFFIXES, store_error
from telex.stores.sqlite.schema import APPLICATION_ID, BACKUP_ID, VERSION

IN_USE_MILLISECONDS = 2_000  # commands that end soon are waited for
_READ = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_NOFOLLOW
_WRITE = apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_NOFOLLOW
_COUNTS = """SELECT (SELECT count(*) FROM messages), (SELECT count(*) FROM deliveries WHERE state < 2),
(SELECT count(*) FROM members), (SELECT coalesce(max(at), 0) FROM (SELECT at FROM events ORDER BY seq DESC LIMIT 1))"""


class BackupSummary(NamedTuple):
    messages: int
    waiting: int  # deliveries that are stored or leased
    members: int
    latest_at: float  # of the newest event
    beside: tuple[str, ...]  # names of the files beside the store
    aside: str | None = None  # backup of the store that was replaced


def write_backup(store: str, target: str, beside: Mapping[str, str]) -> BackupSummary:
    """Write a backup of a store that may be in use. `beside`: paths of further files, by their name in the backup.

    Raises:
        StoreError: it cannot be read or written; an existing `target` is as it was.
    """
    if os.path.lexists(target) and not is_backup(target):
        raise StoreUnavailable(f"{target} exists and is no backup: give another file.")
    with _new_file(target) as part, _explained(store):
        with closing(_opened(store, _READ)) as source, closing(_opened(part, _WRITE)) as copy:
            _check_store(source, store, APPLICATION_ID)
            _copy_pages(source, copy)
            _add_files(copy, beside)
            copy.execute(f"PRAGMA application_id = {BACKUP_ID}")
            summary = _summary(copy)
        os.replace(part, target)
    return summary


def restore_backup(backup: str, store: str, beside: Mapping[str, str], *, replace: bool) -> BackupSummary:
    """Make the store that the backup has. One that is there is only replaced if `replace`, after a backup of itself.

    Raises:
        StoreError: the backup is damaged, or the store exists or is in use; nothing was changed.
    """
    folder, name = os.path.split(store)
    store = os.path.join(os.path.realpath(folder), name)
    make_folder(os.path.dirname(store))
    refuse_links([store + suffix for suffix in SUFFIXES] + [*beside.values()])
    with _new_file(store) as part:
        with _explained(backup):
            files, summary = _unpack(backup, part)
        with _locked(store):
            aside = None
            if os.path.exists(store):
                if not replace:
                    raise StoreUnavailable(f"{store} exists: it is not replaced.")
                os.chmod(part, os.stat(store).st_mode & 0o666)
                aside = _put_aside(store, beside)
            os.replace(part, store)
            _write_files(files, beside)
    return summary._replace(aside=aside)


def is_backup(path: str) -> bool:
    if not os.path.isfile(path) or os.path.islink(path):
        return False
    try:
        with closing(_opened(path, _READ)) as file:
            return bool(_value(file, "PRAGMA application_id") == BACKUP_ID)
    except apsw.Error:
        return False


# --- the copy ---------------------------------------------------------------------------------------------------------
def _unpack(backup: str, part: str) -> tuple[dict[str, bytes], BackupSummary]:
    """Copy the backup into a file that is a store; return the files beside it."""
    if not os.path.isfile(backup):
        raise StoreUnavailable(f"no file {backup}.")
    with closing(_opened(backup, _READ)) as source, closing(_opened(part, _WRITE)) as copy:
        _check_store(source, backup, BACKUP_ID)
        _copy_pages(source, copy)
        _check_contents(copy, backup)
        summary = _summary(copy)
        files = dict(_rows(copy, "SELECT name, content FROM backup_files"))
        copy.execute(f"DROP TABLE backup_files; PRAGMA application_id = {APPLICATION_ID}")
        copy.execute("PRAGMA journal_mode = WAL")
    return files, summary


def _copy_pages(source: apsw.Connection, copy: apsw.Connection) -> None:
    """Copy all pages in one step, which is one snapshot; writers of the source go on meanwhile."""
    with copy.backup("main", source, "main") as backup:
        backup.step(-1)
    copy.execute("PRAGMA journal_mode = DELETE")


def _add_files(copy: apsw.Connection, beside: Mapping[str, str]) -> None:
    copy.execute("CREATE TABLE backup_files (name TEXT PRIMARY KEY, content BLOB NOT NULL) STRICT, WITHOUT ROWID")
    for name, path in beside.items():
        with suppress(FileNotFoundError), open(open_file(path, os.O_RDONLY), "rb") as file:
            copy.execute("INSERT INTO backup_files VALUES (?, ?)", (name, file.read()))


def _summary(copy: apsw.Connection) -> BackupSummary:
    [(messages, waiting, members, latest_at)] = _rows(copy, _COUNTS)
    beside = tuple(name for (name,) in _rows(copy, "SELECT name FROM backup_files ORDER BY name"))
    return BackupSummary(messages, waiting, members, latest_at, beside)


# --- checks -----------------------------------------------------------------------------------------------------------
def _check_store(file: apsw.Connection, path: str, application: int) -> None:
    if _value(file, "PRAGMA application_id") != application:
        raise StoreDamaged(f"{path} is no {'backup' if application == BACKUP_ID else 'store'} of Telex.")
    version = _value(file, "PRAGMA user_version")
    if version > VERSION:
        known = f"file version {version}; this one knows {VERSION}"
        raise StoreTooNew(f"{path} was written by a later Telex ({known}): upgrade Telex first.")


def _check_contents(copy: apsw.Connection, path: str) -> None:
    """A trigger or a view of a file from elsewhere would run with every later write."""
    problem = _value(copy, "PRAGMA integrity_check(1)")
    if problem != "ok":
        raise StoreDamaged(f"{path} is damaged ({problem}): take another backup.")
    if _value(copy, "SELECT count(*) FROM sqlite_schema WHERE type IN ('trigger', 'view')"):
        raise StoreDamaged(f"{path} is no backup of Telex: it has triggers or views.")


# --- the file of the store --------------------------------------------------------------------------------------------
def _put_aside(store: str, beside: Mapping[str, str]) -> str:
    """Back up the store, or rename it if it is damaged."""
    number, aside = 1, f"{store}.replaced"
    while os.path.lexists(aside):
        number += 1
        aside = f"{store}.replaced-{number}"
    try:
        write_backup(store, aside, beside)
    except (StoreDamaged, StoreTooNew):
        _end_log(store)
        for suffix in ("", "-wal", "-shm", "-journal"):
            with suppress(FileNotFoundError):
                os.replace(store + suffix, aside + suffix)
        return aside
    try:
        _end_log(store)
    except StoreUnavailable:
        os.unlink(aside)
        raise
    return aside


def _end_log(store: str) -> None:
    """Leave the write-ahead mode, which is possible only if no other process has the store open."""
    try:
        with closing(_opened(store, _WRITE)) as file:
            file.set_busy_timeout(IN_USE_MILLISECONDS)
            file.execute("PRAGMA journal_mode = DELETE")
    except apsw.BusyError as error:
        raise StoreUnavailable(f"{store} is in use: stop the hub and the agents that use it, and try again.") from error
    except (apsw.NotADBError, apsw.CorruptError):
        pass  # no process can use it


def _write_files(files: Mapping[str, bytes], beside: Mapping[str, str]) -> None:
    for name, path in beside.items():
        if name not in files:
            with suppress(FileNotFoundError):
                os.unlink(path)
            continue
        with _new_file(path) as part:
            with open(part, "wb") as file:
                file.write(files[name])
                file.flush()
                os.fsync(file.fileno())
            os.replace(part, path)


@contextmanager
def _new_file(path: str) -> Iterator[str]:
    """A file beside this path, private to its owner, to be renamed to it when it is complete."""
    folder = os.path.dirname(os.path.abspath(path))
    part = os.path.join(folder, f".telex-{os.urandom(6).hex()}.part")
    try:
        make_file(part)
        yield part
        sync_folder(folder)
    except OSError as error:
        raise StoreUnavailable(f"cannot write {path}: {error.strerror}.") from error
    finally:
        for suffix in SUFFIXES:
            with suppress(OSError):
                os.unlink(part + suffix)


@contextmanager
def exclusive_access(store: str) -> Iterator[None]:
    """No other process has this store open, and one that opens it waits until the block ends.

    Raises:
        StoreError: it is no store, or in use.
    """
    refuse_links(store + suffix for suffix in SUFFIXES)
    if not os.path.isfile(store):
        raise StoreUnavailable(f"no file {store}.")
    with _explained(store), closing(_opened(store, _READ)) as file:
        _check_store(file, store, APPLICATION_ID)
    with _locked(store):
        _end_log(store)
        yield


def copy_store(store: str, target: str) -> None:
    """Copy a store to a file that does not exist."""
    make_file(target)
    with _explained(store), closing(_opened(store, _READ)) as source, closing(_opened(target, _WRITE)) as copy:
        _check_store(source, store, APPLICATION_ID)
        _copy_pages(source, copy)
        problem = _value(copy, "PRAGMA integrity_check(1)")
        if problem != "ok":
            raise StoreDamaged(f"{store} is damaged ({problem}): run telex doctor, and restore it from a backup.")


@contextmanager
def _locked(store: str) -> Iterator[None]:
    """The lock of the store's writers."""
    descriptor = open_file(store + "-lock", os.O_RDWR | os.O_CREAT)
    try:
        with FileLock(descriptor):
            yield
    finally:
        os.close(descriptor)


@contextmanager
def _explained(path: str) -> Iterator[None]:
    try:
        yield
    except apsw.Error as error:
        raise store_error(error, path, False) from error


def _opened(path: str, flags: int) -> apsw.Connection:
    connection = apsw.Connection(path, flags=flags)
    connection.set_busy_timeout(BUSY_MILLISECONDS)
    return connection


def _rows(file: apsw.Connection, sql: str) -> list[Any]:
    return list(file.execute(sql))


def _value(file: apsw.Connection, sql: str) -> Any:
    return _rows(file, sql)[0][0]
