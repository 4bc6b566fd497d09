"""Checks of `telex doctor`: the store file, its folder, the clock, the contents and the work state.

It only reads. Damaged rows are named and left as they are.
"""

import os
from collections.abc import Iterator
from typing import Any

import apsw

from telex.dialects.registry import VERSIONS
from telex.errors import StoreError
from telex.model.message import ALERTED, Event, StoredMessage
from telex.model.named_tuple import NamedTuple
from telex.model.text import digest_of
from telex.stores.disk import refuse_links
from telex.stores.sqlite.connection import SUFFIXES, store_error
from telex.stores.sqlite.schema import APPLICATION_ID, BACKUP_ID, EVENT, MESSAGE, VERSION, event_and_message
from telex.work import reducer, snapshots
from telex.work.view import work_message_from_log

WAL_BYTES_MAX = 256 * 1_048_576  # far more than a checkpoint leaves behind: a long read prevents it
FREE_BYTES_MIN = 64 * 1_048_576
CLOCK_SECONDS_MAX = 5.0
SQLITE_MIN = (3, 51, 3)  # fixes a WAL bug with many writers
BUSY_MILLISECONDS = 5_000  # another process may be recovering the log
NAMED_MAX = 20  # damaged rows that are named
NETWORKED = frozenset(
    {"nfs", "nfs4", "cifs", "smb3", "smbfs", "9p", "fuse.sshfs", "afs", "ceph", "glusterfs", "lustre"}
)
PAGE = 500
_ACCEPTED = f"""SELECT {EVENT}, {MESSAGE} FROM messages m JOIN events e ON e.seq = m.seq
WHERE m.seq > ? AND m.refused = 0 ORDER BY m.seq LIMIT {PAGE}"""
_SINCE = "SELECT coalesce((SELECT value FROM marks WHERE name = 'weighed'), 0)"


class DoctorCheck(NamedTuple):
    name: str
    ok: bool | None  # None: unknown, or worth knowing
    say: str


class ReadOnlyConnection:
    """A connection that cannot write and does not migrate an older file."""

    def __init__(self, path: str) -> None:
        self._path = path
        try:
            self._connection = apsw.Connection(path, flags=apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_NOFOLLOW)
            self._connection.set_busy_timeout(BUSY_MILLISECONDS)
        except apsw.Error as error:
            raise store_error(error, path, False) from error

    def rows(self, sql: str, bindings: Any = ()) -> list[tuple[Any, ...]]:
        try:
            return list(self._connection.execute(sql, bindings))
        except apsw.Error as error:
            raise store_error(error, self._path, False) from error

    def value(self, sql: str) -> Any:
        return self.rows(sql)[0][0]

    def close(self) -> None:
        self._connection.close(True)


def alert_events(path: str) -> list[Event]:
    """The events of alerts in a store, in order. Raises StoreError."""
    file = ReadOnlyConnection(path)
    try:
        rows = file.rows("SELECT seq, at, kind, detail FROM events WHERE kind = ? ORDER BY seq", (ALERTED,))
        return [Event(seq, at, kind, detail=detail) for seq, at, kind, detail in rows]
    finally:
        file.close()


def examine(path: str, now: float) -> Iterator[DoctorCheck]:
    """Run all checks, the cheapest first. `now` is the time by the wall clock."""
    folder, name = os.path.split(path)
    path = os.path.join(os.path.realpath(folder), name)
    try:
        refuse_links(path + suffix for suffix in SUFFIXES)
    except StoreError as error:
        yield DoctorCheck("file", False, error.say)
        return
    if not os.path.exists(path):
        yield DoctorCheck("file", False, f"{path} is not there: the first telex send makes it.")
        return
    yield DoctorCheck("file", True, f"{path}, {_bytes(os.path.getsize(path))}")
    yield from _surroundings(path)
    yield _sqlite()
    try:
        file = ReadOnlyConnection(path)
    except StoreError as error:
        yield DoctorCheck("store", False, error.say)
        return
    try:
        yield (version := _version(file))
        if version.ok is not False:
            yield from _beside(path)
            yield from _contents(file, now, current=version.ok is True)
    except StoreError as error:
        yield DoctorCheck("store", False, error.say)
    finally:
        file.close()


def _version(file: ReadOnlyConnection) -> DoctorCheck:
    application, version = file.value("PRAGMA application_id"), file.value("PRAGMA user_version")
    if not application and not version and not file.value("SELECT count(*) FROM sqlite_schema"):
        return DoctorCheck("store", False, "the file is empty: the first telex send creates the store.")
    if application == BACKUP_ID:
        return DoctorCheck("store", False, "it is a backup: telex restore makes a store of it.")
    if application != APPLICATION_ID:
        return DoctorCheck("store", False, "it is a database, but not a Telex store.")
    if version > VERSION:
        return DoctorCheck(
            "version", False, f"file version {version}; this Telex knows {VERSION}: upgrade Telex to open it."
        )
    if version < VERSION:
        say = f"file version {version}; the next command that opens it migrates it to {VERSION}."
        return DoctorCheck("version", None, say)
    return DoctorCheck("version", True, f"file version {VERSION}")


def _surroundings(path: str) -> Iterator[DoctorCheck]:
    folder = os.path.dirname(path)
    system = file_system(folder)
    if system in NETWORKED:
        say = f"{system}: a store on a network file system can be damaged by two machines; use a local disk."
        yield DoctorCheck("file system", False, say)
    else:
        yield DoctorCheck("file system", None if system is None else True, system or "unknown on this system")
    yield _permissions(path, folder)
    room = os.statvfs(folder)
    free = room.f_bavail * room.f_frsize
    yield DoctorCheck("disk", free >= FREE_BYTES_MIN, f"{_bytes(free)} free")


def _permissions(path: str, folder: str) -> DoctorCheck:
    if not (os.access(folder, os.W_OK) and os.access(path, os.W_OK)):
        return DoctorCheck("permissions", False, f"{path} or its folder is not writable.")
    if os.stat(path).st_mode & 0o077 and os.stat(folder).st_mode & 0o077:
        return DoctorCheck("permissions", None, f"other users can open it: chmod 700 {folder}, unless they should.")
    return DoctorCheck("permissions", True, "writable")


def _beside(path: str) -> Iterator[DoctorCheck]:
    ballast = os.path.exists(path + "-ballast")
    say = "in place" if ballast else "reserve used up by a full disk; it is written again when there is room"
    yield DoctorCheck("ballast", True if ballast else None, say)
    wal = os.path.getsize(path + "-wal") if os.path.exists(path + "-wal") else 0
    say = _bytes(wal) if wal <= WAL_BYTES_MAX else f"{_bytes(wal)}: a long read keeps it from shrinking."
    yield DoctorCheck("write-ahead log", wal <= WAL_BYTES_MAX, say)


def _sqlite() -> DoctorCheck:
    version = tuple(int(part) for part in apsw.sqlite_lib_version().split("."))
    ok = version >= SQLITE_MIN
    wanted = ".".join(map(str, SQLITE_MIN))
    say = f"SQLite {apsw.sqlite_lib_version()}" + ("" if ok else f": several writers can damage a store: use {wanted}.")
    return DoctorCheck("SQLite", ok, say)


def _contents(file: ReadOnlyConnection, now: float, *, current: bool) -> Iterator[DoctorCheck]:
    problems = [row[0] for row in file.rows(f"PRAGMA integrity_check({NAMED_MAX})")]
    ok = problems == ["ok"]
    yield DoctorCheck("integrity", ok, "ok" if ok else "; ".join(problems))
    if not ok or not current:
        return
    yield _clock(file, now)
    yield _digests(file)
    sql = "SELECT count(*) FROM deliveries d LEFT JOIN messages m ON m.seq = d.message WHERE m.seq IS NULL"
    lost = file.value(sql)
    say = f"{_counted(lost, 'delivery', 'deliveries')} without a message" if lost else "each has its message"
    yield DoctorCheck("deliveries", not lost, say)
    yield _work_state(file)
    messages, events = (file.value(f"SELECT count(*) FROM {name}") for name in ("messages", "events"))
    waiting = file.value(
        "SELECT (SELECT count(*) FROM deliveries WHERE state = 0) + (SELECT count(*) FROM deliveries WHERE state = 1)"
    )
    yield DoctorCheck(
        "contents", True, f"{_counted(messages, 'message')}, {waiting:,} waiting, {_counted(events, 'event')}"
    )


def _clock(file: ReadOnlyConnection, now: float) -> DoctorCheck:
    latest = float(file.value("SELECT max(at) FROM (SELECT at FROM events ORDER BY seq DESC LIMIT 100)") or 0.0)
    ahead = latest - now
    if ahead <= CLOCK_SECONDS_MAX:
        return DoctorCheck("clock", True, "not behind the newest event")
    say = f"the clock is {ahead:,.0f} s behind the newest event: until then leases and deadlines use the event's time."
    return DoctorCheck("clock", False, say)


def _digests(file: ReadOnlyConnection) -> DoctorCheck:
    """SQLite does not notice a changed byte inside a row; the digest of the message does."""
    count, damaged, after = 0, [], 0
    while rows := file.rows("SELECT seq, id, digest, raw FROM messages WHERE seq > ? ORDER BY seq LIMIT 500", (after,)):
        count, after = count + len(rows), rows[-1][0]
        damaged += [f"{id_} (number {seq})" for seq, id_, digest, raw in rows if digest_of(raw) != digest]
    if not damaged:
        return DoctorCheck("digests", True, f"{_counted(count, 'message')} as received")
    more = f" and {len(damaged) - NAMED_MAX} more" if len(damaged) > NAMED_MAX else ""
    return DoctorCheck("digests", False, f"changed since they were received: {', '.join(damaged[:NAMED_MAX])}{more}")


def _work_state(file: ReadOnlyConnection) -> DoctorCheck:

    topics, wrong = wrong_topics(file)
    if not wrong:
        return DoctorCheck("work state", True, f"{_counted(topics, 'topic')}, equal to a replay of the log")
    more = f" and {len(wrong) - NAMED_MAX} more" if len(wrong) > NAMED_MAX else ""
    return DoctorCheck("work state", False, f"differs from a replay of the log: {', '.join(wrong[:NAMED_MAX])}{more}")


def wrong_topics(file: ReadOnlyConnection) -> tuple[int, list[str]]:
    """The number of topics, and those whose messages or snapshot differ from a fold of the log."""
    dialects = {dialect.name: dialect for dialect in VERSIONS}
    states: dict[str, Any] = {}
    folded: dict[str, list[int]] = {}
    saved = {topic: (seq, text) for topic, seq, text in file.rows("SELECT topic, seq, words FROM snapshots")}
    wrong: dict[str, None] = {}
    for event, message in _messages(file):
        dialect = dialects.get(message.dialect or "")
        work_message = work_message_from_log(message, event, dialect) if dialect is not None else None
        for topic in reducer.topics_changed(work_message, states) if work_message is not None else ():
            assert work_message is not None
            states[topic] = reducer.fold_in_place(topic, states.get(topic), work_message)
            folded.setdefault(topic, []).append(message.seq)
            if topic in saved and saved[topic][0] == message.seq and not _is_as(topic, *saved[topic], states[topic]):
                wrong[topic] = None
    indexed: dict[str, list[int]] = {}
    for name, seq in file.rows("SELECT name, seq FROM topics ORDER BY name, seq"):
        indexed.setdefault(name, []).append(seq)
    wrong |= {topic: None for topic in indexed.keys() | folded.keys() if indexed.get(topic) != folded.get(topic)}
    return len(indexed), sorted(wrong)


def _messages(file: ReadOnlyConnection) -> Iterator[tuple[Event, StoredMessage]]:
    after = int(file.value(_SINCE))
    while rows := file.rows(_ACCEPTED, (after,)):
        for row in rows:
            event, message = event_and_message(row)
            assert message is not None
            yield event, message
        after = rows[-1][0]


def _is_as(topic: str, seq: int, text: str, state: Any) -> bool:
    try:
        return bool(snapshots.decode_snapshot(topic, seq, text) == state)
    except ValueError:  # of another version or damaged: it is never used
        return True


def _counted(count: int, one: str, many: str | None = None) -> str:
    return f"{count:,} {one if count == 1 else many or one + 's'}"


def _bytes(count: float) -> str:
    for unit in ("bytes", "KiB", "MiB"):
        if count < 1024:
            return f"{count:,.0f} {unit}"
        count /= 1024
    return f"{count:,.1f} GiB"


def file_system(folder: str, mounts: str = "/proc/self/mounts") -> str | None:
    """The type of a folder's file system; None: unknown."""
    try:
        with open(mounts, encoding="utf-8", errors="replace") as file:
            table: list[Any] = [line.split() for line in file]
    except OSError:
        return None
    best = ("", None)
    for _, place, kind, *_ in table:
        place = place.replace("\\040", " ")
        if (folder == place or folder.startswith(place.rstrip("/") + "/")) and len(place) >= len(best[0]):
            best = (place, kind)
    return best[1]
