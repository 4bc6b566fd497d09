"""Migration of a team between a store file and a replicated log, and a new log from a hub's copy.

A log that begins with a state has this state as snapshot 0, and the digest of the state as the hash of its beginning: a
hub that starts from nothing halts at the first entry. The snapshot is stored and read back before the stream is made,
so that no hub can start without it.
"""

import os
import tempfile
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, closing, contextmanager

import apsw

from telex.errors import NotFound, StoreDamaged, StoreUnavailable
from telex.model.named_tuple import NamedTuple
from telex.ports.replica import HubStatus
from telex.stores.disk import make_folder, refuse_links
from telex.stores.nats.address import HubSecrets, TeamAddress
from telex.stores.nats.batch import Signer
from telex.stores.nats.durability import require_durability
from telex.stores.nats.hubs import hear_hubs
from telex.stores.nats.log import Log
from telex.stores.nats.replica_file import ReplicaFile, digest_of_tables, put_in_place, table_digest
from telex.stores.nats.snapshot import SnapshotStore, make_snapshot
from telex.stores.nats.store import FILE, ReplicaOptions, ReplicatedStore
from telex.stores.sqlite.backup import copy_store, exclusive_access
from telex.stores.sqlite.connection import SUFFIXES, SqliteConnection, store_error
from telex.stores.sqlite.schema import APPLICATION_ID, REPLICA_ID

GENESIS = 0  # position of the snapshot that a log begins with
REFRESH_SECONDS = 30.0
_COUNTS = """SELECT (SELECT count(*) FROM messages), (SELECT count(*) FROM deliveries WHERE state < 2),
(SELECT count(*) FROM members)"""


class MigrationSummary(NamedTuple):
    messages: int
    waiting: int  # deliveries that are stored or leased
    members: int
    digest: str  # of the replicated tables, equal on both sides
    position: int  # of the log
    incarnation: str
    hubs: tuple[HubStatus, ...] = ()  # that run although the team was copied out of the log
    aside: str | None = None  # where the copy is that a new log was made from


async def migrate_to_log(
    path: str, address: TeamAddress, secrets: HubSecrets, options: ReplicaOptions
) -> MigrationSummary:
    """Begin the log of a team with the content of a store file. The file stays as it is.

    Raises:
        StoreError: the file is in use, or the team has a log already; nothing was changed.
    """
    require_durability(options.replicas, options.servers, accepts_weaker=options.accepts_weaker)
    log = await Log.connect(address, secrets, seconds=options.open_seconds)
    try:
        until = time.monotonic() + options.open_seconds
        if await log.state(until) is not None:
            raise StoreUnavailable(f"{address} has a log already: choose another team name.")
        await _refuse_snapshots(log, until)
        with exclusive_access(path), _folder_beside(path) as folder:  # agents that open the file meanwhile wait
            part = os.path.join(folder, "genesis.db")
            copy_store(path, part)
            SqliteConnection(part, durable=False).close()  # migrates it
            return await _begin_log(log, part, options, secrets)
    finally:
        await log.close()


async def migrate_to_file(
    address: TeamAddress, path: str, secrets: HubSecrets, options: ReplicaOptions
) -> MigrationSummary:
    """Write the team, as it is at the end of its log, into a new store file. The log stays as it is.

    Raises:
        StoreError: there is no such log, it cannot be followed to its end, or the file exists.
    """
    folder, name = os.path.split(path)
    path = os.path.join(os.path.realpath(folder), name)
    refuse_links(path + suffix for suffix in SUFFIXES)
    for suffix in SUFFIXES[:-2]:
        if os.path.lexists(path + suffix):
            raise StoreUnavailable(f"{path}{suffix} exists: give another file.")
    make_folder(os.path.dirname(path))
    hubs = await running_hubs(address, secrets, options)
    with _folder_beside(path) as temporary:
        async with open_copy(address, temporary, secrets, options) as store:
            digest, position, incarnation = store.digest(), store.position, store.incarnation
        part = os.path.join(temporary, FILE)
        with _explained(part), closing(apsw.Connection(part)) as file:
            file.execute("PRAGMA journal_mode = DELETE").fetchall()
            file.execute(f"DELETE FROM replica; PRAGMA application_id = {APPLICATION_ID}")
            _check_health(file, part)
            _compare(digest, digest_of_tables(file))
            counts = _counts(file)
            file.execute("PRAGMA journal_mode = WAL").fetchall()
        put_in_place(part, path)
    return MigrationSummary(*counts, digest=digest, position=position, incarnation=incarnation, hubs=hubs)


async def begin_new_log(
    address: TeamAddress, folder: str, secrets: HubSecrets, options: ReplicaOptions
) -> MigrationSummary:
    """Delete the log of a team and begin another one with the content of a hub's copy.

    Raises:
        StoreError: a hub runs, or the copy is in use or damaged; nothing was changed.
    """
    path = os.path.join(folder, FILE)
    if not os.path.exists(path):
        raise NotFound(f"no copy in {folder}: give the folder of a hub with --data.")
    if await running_hubs(address, secrets, options, incarnation=_incarnation_of(path)):
        raise StoreUnavailable(f"hubs of {address} run: stop all of them first.")
    log = await Log.connect(address, secrets, seconds=options.open_seconds)
    try:
        with _opened_alone(path), _folder_beside(path) as temporary:
            part = os.path.join(temporary, "genesis.db")
            with _explained(path), closing(apsw.Connection(path, flags=apsw.SQLITE_OPEN_READONLY)) as source:
                _check_health(source, path)
                source.execute("VACUUM INTO ?", (part,))
            until = time.monotonic() + options.open_seconds
            state = await log.state(until)
            if state is not None:
                options = options._replace(replicas=state.replicas, log_bytes=state.bytes_max)
            await log.delete(until)
            summary = await _begin_log(log, part, options, secrets)
        aside = f"{path}.replaced-{summary.incarnation}"
        os.rename(path, aside)
        return summary._replace(aside=aside)
    finally:
        await log.close()


@contextmanager
def _opened_alone(path: str) -> Iterator[None]:
    file = ReplicaFile(path)
    try:
        yield
    finally:
        file.close()


@asynccontextmanager
async def open_copy(
    address: TeamAddress, folder: str, secrets: HubSecrets, options: ReplicaOptions
) -> AsyncIterator[ReplicatedStore]:
    """A copy in this folder at the end of the team's log, which must exist.

    Raises:
        StoreError: it cannot be followed to its end.
    """
    log = await Log.connect(address, secrets, seconds=options.open_seconds)
    try:
        if await log.state(time.monotonic() + options.open_seconds) is None:
            raise NotFound(f"{address} has no log.")
    finally:
        await log.close()
    store = await ReplicatedStore.open_replica(address, folder, secrets, options._replace(accepts_weaker=True))
    try:
        is_complete = await store.refresh(REFRESH_SECONDS)
        if store.batches.halted is not None:
            raise store.batches.halted
        if not is_complete:
            raise StoreUnavailable(f"the log of {address} was not read to its end in time: try again.")
        yield store
    finally:
        await store.close()


# --- the beginning of a log -------------------------------------------------------------------------------------------


async def _begin_log(log: Log, part: str, options: ReplicaOptions, secrets: HubSecrets) -> MigrationSummary:
    """Make this file a copy at position 0 of a new log, store it as snapshot, and make the stream."""
    until = time.monotonic() + options.open_seconds
    incarnation = os.urandom(10).hex()
    with _explained(part), closing(apsw.Connection(part)) as file:
        file.execute("PRAGMA journal_mode = DELETE").fetchall()
        chain = bytes.fromhex(digest_of_tables(file))
        file.execute("DELETE FROM replica")
        file.execute("INSERT INTO replica VALUES (1, 0, ?, ?, '')", (chain, incarnation))
        file.execute(f"PRAGMA application_id = {REPLICA_ID}")
        counts, [(schema,)] = _counts(file), list(file.execute("PRAGMA user_version"))
    position, data = make_snapshot(part)
    assert position == GENESIS
    digest, snapshots, signer = chain.hex(), SnapshotStore(log), Signer(secrets.keys, incarnation)
    await log.repeat(lambda: snapshots.put(GENESIS, data, signer, replicas=options.replicas), until)
    back = part + "-back"
    await log.repeat(lambda: snapshots.fetch(GENESIS, back, signer), until)
    _compare(digest, table_digest(back))
    state = await log.create(
        until,
        schema=int(str(schema)),
        replicas=options.replicas,
        bytes_max=options.log_bytes,
        incarnation=incarnation,
    )
    if state.incarnation != incarnation:
        await snapshots.remove(GENESIS)
        raise StoreUnavailable(f"a hub has just begun the log of {log.address}: choose another team name.")
    return MigrationSummary(*counts, digest=digest, position=GENESIS, incarnation=incarnation)


async def _refuse_snapshots(log: Log, until: float) -> None:
    """Snapshots without a log belong to one that was deleted. Snapshot 0 alone is left of a migration that failed."""
    positions = await log.repeat(SnapshotStore(log).positions, until)
    if positions and positions != [GENESIS]:
        raise StoreUnavailable(
            f"{log.address} has no log but snapshots of an earlier one: choose another team name, or begin a new log "
            f"from a hub's copy with telex doctor {log.address} --new-log --data FOLDER."
        )


async def running_hubs(
    address: TeamAddress, secrets: HubSecrets, options: ReplicaOptions, incarnation: str | None = None
) -> tuple[HubStatus, ...]:
    """The hubs that announce themselves, of the team's log or of another one that a copy belongs to."""
    log = await Log.connect(address, secrets, seconds=options.open_seconds)
    try:
        state = await log.state(time.monotonic() + options.open_seconds)
        made_with = {name for name in (state and state.incarnation, incarnation) if name}
        hubs: list[HubStatus] = []
        for name in made_with:
            hubs += [heard.status for heard in await hear_hubs(log, Signer(secrets.keys, name))]
        return tuple(hubs)
    finally:
        await log.close()


# --- files ------------------------------------------------------------------------------------------------------------


@contextmanager
def _folder_beside(path: str) -> Iterator[str]:
    """A private folder on the same disk."""
    try:
        made = tempfile.TemporaryDirectory(prefix=".telex-", dir=os.path.dirname(path) or ".")
    except OSError as error:
        raise StoreUnavailable(f"cannot write beside {path}: {error.strerror}.") from error
    with made as folder:
        yield folder


@contextmanager
def _explained(path: str) -> Iterator[None]:
    try:
        yield
    except apsw.Error as error:
        raise store_error(error, path, False) from error


def _incarnation_of(path: str) -> str:
    with _explained(path), closing(apsw.Connection(path, flags=apsw.SQLITE_OPEN_READONLY)) as file:
        [(application,)] = list(file.execute("PRAGMA application_id"))
        if application != REPLICA_ID:
            raise StoreDamaged(f"{path} is no hub's copy of a replicated team.")
        [(incarnation,)] = list(file.execute("SELECT incarnation FROM replica"))
    return str(incarnation)


def _check_health(file: apsw.Connection, path: str) -> None:
    [(health,)] = list(file.execute("PRAGMA integrity_check(1)"))
    if health != "ok":
        raise StoreDamaged(f"{path} is damaged ({health}).")


def _compare(expected: str, digest: str) -> None:
    if digest != expected:
        raise StoreDamaged("the copy differs from what it was made of: nothing was changed; try again.")


def _counts(file: apsw.Connection) -> tuple[int, int, int]:
    messages, waiting, members = (int(str(count)) for count in next(iter(file.execute(_COUNTS))))
    return messages, waiting, members
