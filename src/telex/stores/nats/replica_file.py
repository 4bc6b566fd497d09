"""A hub's copy of a replicated team: a SQLite file with the tables of a store and the copy's position in the log.

One process has it open, through three connections: one reads what is committed, one has the transaction of the batch
that is being published, one applies the batches of other hubs. To the caches of a store, the third is another process.
The file is not synced by each commit: after a power cut it is older, and the log has the rest.
"""

import hashlib
import os
from collections.abc import Iterable
from contextlib import ExitStack, closing

import apsw

from telex.errors import StoreDamaged, StoreUnavailable
from telex.model.named_tuple import NamedTuple
from telex.stores.disk import make_file, make_folder, open_file, refuse_links, sync_folder
from telex.stores.nats.batch import unpack
from telex.stores.sqlite.connection import OPEN_FLAGS, SUFFIXES, SqliteConnection, store_error
from telex.stores.sqlite.schema import MIGRATIONS, REPLICA_ID, REPLICATED, VERSION

try:
    import fcntl
except ImportError:  # pragma: no cover - not a Unix: two hubs with one copy are not noticed there
    fcntl = None  # type: ignore[assignment]

HUB_LOCK = "-hub"  # suffix of the file that a hub locks
LOG_PAGES = 4_000  # of SQLite's log before a checkpoint, which syncs the copy while callers wait
# Of the connection that applies batches, and not of the file: the full-text index of a copy is its own.
_REMOVE_TEXTS = """CREATE TEMP TRIGGER texts_removed AFTER DELETE ON main.messages
WHEN old.seq <= (SELECT value FROM local_marks WHERE name = 'texts')
BEGIN DELETE FROM texts WHERE rowid = old.seq; END"""
_SET = "UPDATE replica SET position = ?, chain = ?, writer = ?"


class Place(NamedTuple):
    """Position of a copy in the log."""

    position: int
    chain: bytes
    incarnation: str
    writer: str


class ReplicaConnection(SqliteConnection):
    """A connection to a copy. It never migrates the file: the log says when."""

    application_id = REPLICA_ID

    def __init__(self, path: str, *, reads_only: bool = False) -> None:
        super().__init__(path, durable=False)
        self._connection.wal_autocheckpoint(LOG_PAGES)
        if reads_only:  # nothing but the transaction of a batch may change a replicated table
            self._cursor.execute("PRAGMA query_only = 1")

    def _bring_up_to_date(self) -> None:
        pass

    @property
    def schema(self) -> int:
        return int(self.value("PRAGMA user_version"))

    @property
    def place(self) -> Place:
        position, chain, incarnation, writer = self.rows("SELECT position, chain, incarnation, writer FROM replica")[0]
        return Place(position, bytes(chain), incarnation, writer)

    def begin(self) -> None:
        if not self._is_in_place():
            raise StoreUnavailable(f"{self.path} was moved or deleted: restart this hub.")
        try:
            self._cursor.execute("BEGIN IMMEDIATE")
        except apsw.Error as error:
            self._explain(error)

    def record(self) -> apsw.Session:
        """Record what the open transaction changes in replicated tables."""
        session = apsw.Session(self._connection, "main")
        for table in REPLICATED:
            session.attach(table)
        return session

    def apply(self, rows: bytes) -> None:
        """Apply the changes of a batch.

        Raises:
            apsw.AbortError: a row differs from what its writer had.
        """
        apsw.Changeset.apply(unpack(rows), self._connection)

    def migrate(self, schema: int) -> None:
        self._cursor.execute(MIGRATIONS[schema - 1])
        self._cursor.execute(f"PRAGMA user_version = {schema}")

    def set_place(self, position: int, chain: bytes, writer: str) -> None:
        self.run(_SET, (position, chain, writer))

    def commit(self) -> None:
        try:
            self._cursor.execute("COMMIT")
        except apsw.Error as error:
            self._roll_back()
            self._explain(error)

    def roll_back(self) -> None:
        self._roll_back()


class ReplicaFile:
    """The open copy."""

    def __init__(self, path: str) -> None:
        self._lock = _lock(path)
        with ExitStack() as stack:
            stack.callback(os.close, self._lock)
            opened = [
                stack.enter_context(closing(ReplicaConnection(path, reads_only=reads_only)))
                for reads_only in (True, False, False)
            ]
            stack.pop_all()
        self.reader, self.writer, self.applier = opened
        self.applier.run(_REMOVE_TEXTS)

    def close(self) -> None:
        for connection in (self.applier, self.writer, self.reader):
            connection.roll_back()
            connection.close()
        os.close(self._lock)


def create_replica(path: str, incarnation: str, schema: int = VERSION, chain: bytes = b"") -> None:
    """Make an empty copy, with the tables that the log starts with."""
    make_folder(os.path.dirname(path))
    refuse_links(path + suffix for suffix in SUFFIXES)
    refuse_leftovers(path)
    part = path + ".new"
    if os.path.lexists(part):
        os.unlink(part)
    make_file(part)
    try:
        with closing(apsw.Connection(part, flags=OPEN_FLAGS)) as connection:
            for step in MIGRATIONS[:schema]:
                connection.execute(step)
            connection.execute(f"PRAGMA user_version = {schema}; PRAGMA application_id = {REPLICA_ID}")
            connection.execute("INSERT INTO replica VALUES (1, 0, ?, ?, '')", (chain, incarnation))
    except apsw.Error as error:
        raise store_error(error, path, False) from error
    put_in_place(part, path)


def refuse_leftovers(path: str) -> None:
    """SQLite would apply the log of another file to a new one of the same name."""
    for suffix in ("-wal", "-journal"):
        if os.path.exists(path + suffix):
            raise StoreDamaged(f"{path}{suffix} is left of an earlier copy: remove it.")


def put_in_place(part: str, path: str) -> None:
    refuse_leftovers(path)
    descriptor = open_file(part, os.O_RDWR)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
    os.rename(part, path)
    sync_folder(os.path.dirname(path) or ".")


def _lock(path: str) -> int:
    """
    Raises:
        StoreUnavailable: another hub has this copy open.
    """
    refuse_links([path + HUB_LOCK])
    descriptor = open_file(path + HUB_LOCK, os.O_RDWR | os.O_CREAT)
    if fcntl is not None:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            os.close(descriptor)
            say = f"another hub uses {path}: each hub needs a folder of its own (--data)."
            raise StoreUnavailable(say) from error
    return descriptor


def table_digest(path: str, tables: Iterable[str] = REPLICATED) -> str:
    """Hash of the replicated tables of a copy or a store, as of one moment."""
    with closing(apsw.Connection(path, flags=apsw.SQLITE_OPEN_READONLY)) as connection:
        return digest_of_tables(connection, tables)


def digest_of_tables(connection: apsw.Connection, tables: Iterable[str] = REPLICATED) -> str:
    state = hashlib.blake2b(digest_size=16)
    nested = connection.in_transaction
    if not nested:
        connection.execute("BEGIN")
    try:
        for table in tables:
            keys = [name for _, name, _, _, _, key in connection.execute(f"PRAGMA table_info({table})") if key]
            for row in connection.execute(f"SELECT * FROM {table} ORDER BY {', '.join(keys)}"):
                state.update(repr(row).encode())
            state.update(table.encode())
    finally:
        if not nested:
            connection.execute("ROLLBACK")
    return state.hexdigest()
