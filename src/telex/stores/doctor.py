"""Is the store well? Everything that can be wrong with the file, its folder, its clock and its contents.

It only looks: a store that is damaged is named as such, row by row, and left as it is.
"""

import os
from collections.abc import Iterator
from typing import Any, NamedTuple

import apsw

from telex.errors import StoreError
from telex.model.digest import digest_of
from telex.stores.sqlite_file import SqliteFile
from telex.stores.sqlite_schema import VERSION

WAL_BYTES_MAX = 256 * 1_048_576  # far more than a checkpoint leaves behind: somebody keeps it from happening
FREE_BYTES_MIN = 64 * 1_048_576
CLOCK_SECONDS_MAX = 5.0
SQLITE_MIN = (3, 51, 3)  # mended a fault in WAL that many writers could set off
NAMED_MAX = 20  # rotten rows that are named one by one
NETWORKED = frozenset(
    {"nfs", "nfs4", "cifs", "smb3", "smbfs", "9p", "fuse.sshfs", "afs", "ceph", "glusterfs", "lustre"}
)


class Check(NamedTuple):
    name: str
    ok: bool | None  # None: could not be told, or worth knowing
    say: str


def examine(path: str, now: float) -> Iterator[Check]:
    """Look at everything, the cheapest first. `now` is the time by the wall clock."""
    if not os.path.exists(path):
        yield Check("file", False, f"{path} is not there: the first telex send makes it.")
        return
    yield Check("file", True, f"{path}, {_bytes(os.path.getsize(path))}")
    yield from _surroundings(path)
    yield _sqlite()
    try:
        file = SqliteFile(path)
    except StoreError as error:
        yield Check("store", False, error.say)
        return
    try:
        yield Check("version", True, f"file version {VERSION}")
        yield from _contents(file, now)
    except StoreError as error:
        yield Check("store", False, error.say)
    finally:
        file.close()


def _surroundings(path: str) -> Iterator[Check]:
    folder = os.path.dirname(os.path.abspath(path))
    system = file_system(folder)
    if system in NETWORKED:
        say = f"{system}: a store on a network file system can be damaged by two machines; use a local disk."
        yield Check("file system", False, say)
    else:
        yield Check("file system", None if system is None else True, system or "cannot be told on this system")
    writable = os.access(folder, os.W_OK) and os.access(path, os.W_OK)
    yield Check("permissions", writable, "may be written" if writable else f"{path} or its folder may not be written.")
    room = os.statvfs(folder)
    free = room.f_bavail * room.f_frsize
    yield Check("disk", free >= FREE_BYTES_MIN, f"{_bytes(free)} free")
    ballast = os.path.exists(path + "-ballast")
    say = "kept" if ballast else "given up for a full disk; it is kept again when there is room"
    yield Check("ballast", True if ballast else None, say)
    wal = os.path.getsize(path + "-wal") if os.path.exists(path + "-wal") else 0
    say = _bytes(wal) if wal <= WAL_BYTES_MAX else f"{_bytes(wal)}: somebody reads for so long that it cannot shrink."
    yield Check("write-ahead log", wal <= WAL_BYTES_MAX, say)


def _sqlite() -> Check:
    version = tuple(int(part) for part in apsw.sqlite_lib_version().split("."))
    ok = version >= SQLITE_MIN
    wanted = ".".join(map(str, SQLITE_MIN))
    say = f"SQLite {apsw.sqlite_lib_version()}" + ("" if ok else f" can damage a store that many write; take {wanted}.")
    return Check("SQLite", ok, say)


def _contents(file: SqliteFile, now: float) -> Iterator[Check]:
    problems = [row[0] for row in file.rows(f"PRAGMA integrity_check({NAMED_MAX})")]
    ok = problems == ["ok"]
    yield Check("integrity", ok, "ok" if ok else "; ".join(problems))
    if not ok:
        return
    yield _clock(file, now)
    yield _digests(file)
    yield _orphans(file)
    counts = {name: file.value(f"SELECT count(*) FROM {name}") for name in ("messages", "events")}
    open_ = file.value(
        "SELECT (SELECT count(*) FROM deliveries WHERE state = 0) + (SELECT count(*) FROM deliveries WHERE state = 1)"
    )
    yield Check("contents", True, f"{counts['messages']:,} messages, {open_:,} waiting, {counts['events']:,} events")


def _clock(file: SqliteFile, now: float) -> Check:
    latest = float(file.value("SELECT max(at) FROM (SELECT at FROM events ORDER BY seq DESC LIMIT 100)") or 0.0)
    ahead = latest - now
    if ahead <= CLOCK_SECONDS_MAX:
        return Check("clock", True, "not behind the store")
    say = (
        f"the clock is {ahead:,.0f} s behind what the store remembers: leases and deadlines go by the store until then."
    )
    return Check("clock", False, say)


def _digests(file: SqliteFile) -> Check:
    """SQLite does not notice a changed byte inside a row; the digest that was kept with the message does."""
    count, rotten, after = 0, [], 0
    while rows := file.rows("SELECT seq, id, digest, raw FROM messages WHERE seq > ? ORDER BY seq LIMIT 500", (after,)):
        count, after = count + len(rows), rows[-1][0]
        rotten += [_named(seq, id_) for seq, id_, digest, raw in rows if digest_of(raw) != digest]
    if not rotten:
        return Check("digests", True, f"{count:,} messages are as they were received")
    more = f" and {len(rotten) - NAMED_MAX} more" if len(rotten) > NAMED_MAX else ""
    return Check("digests", False, f"changed since they were received: {', '.join(rotten[:NAMED_MAX])}{more}")


def _orphans(file: SqliteFile) -> Check:
    sql = "SELECT count(*) FROM deliveries d LEFT JOIN messages m ON m.seq = d.message WHERE m.seq IS NULL"
    lost = file.value(sql)
    return Check("deliveries", not lost, f"{lost} have lost their message." if lost else "each has its message")


def _named(seq: int, id_: str) -> str:
    return f"{id_} (number {seq})"


def _bytes(count: float) -> str:
    for unit in ("bytes", "KiB", "MiB"):
        if count < 1024:
            return f"{count:,.0f} {unit}"
        count /= 1024
    return f"{count:,.1f} GiB"


def file_system(folder: str, mounts: str = "/proc/self/mounts") -> str | None:
    """What kind of file system a folder lies on; None where the system does not tell."""
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
