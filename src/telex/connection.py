"""Factory of a bus: opens a store or connects to a hub, by settings and an address. It is the only module that knows
every concrete class. Each is imported where it is used, so that a command starts with the imports that it needs.
"""

import os
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import TYPE_CHECKING

from telex.bus import run_sync
from telex.clock import LoopClock, SteadyClock
from telex.config import HUBS, MEMORY, NATS, SQLITE, Settings, load
from telex.errors import StoreUnavailable
from telex.ports.environment import Evidence, StoreClock
from telex.ports.store import Store, latest_at
from telex.project import GIT, STORE_FOLDER, VARIABLE, is_inside, nearest, store_folder, work_tree

if TYPE_CHECKING:
    from telex.bus.guard import WriteGuard
    from telex.bus.local import LocalBus
    from telex.client import SyncBus
    from telex.http_client.bus import RemoteBus
    from telex.ports.bus import Bus
    from telex.stores.nats.address import TeamAddress
    from telex.stores.nats.store import ReplicaOptions

FILE = "telex.db"
STORE = "TELEX_STORE"  # variable: a path or the address of a hub
TOKEN = "TELEX_TOKEN"  # variable, and no option of a command, which other users of the machine could see


def connect(
    where: str | os.PathLike[str] | None = None,
    *,
    settings: Settings | None = None,
    clock: StoreClock | None = None,
    token: str | None = None,
) -> "Connection":
    """The bus at an address: `memory:`, a path, `sqlite:path`, `http://…` of a hub, or None for the `.telex/telex.db`
    of the project. Several hubs that share a store are separated by commas. `token` is for a hub; the default is
    TELEX_TOKEN.

    async with telex.connect() as bus:  # on an event loop; concurrent sends share one commit
        await bus.send(...)

    with telex.connect() as bus:  # the same methods, blocking
        bus.send(...)
    """
    return Connection(None if where is None else os.fspath(where), settings, clock, token)


class Connection:
    """A bus that is opened by `with` (blocking) or `async with`."""

    def __init__(
        self, where: str | None, settings: Settings | None, clock: StoreClock | None, token: str | None = None
    ) -> None:
        self._where, self._settings, self._clock, self._token = where, settings, clock, token
        self._bus: LocalBus | RemoteBus | None = None
        self.is_remote: bool = False  # whether the open bus is that of a hub

    def __enter__(self) -> "SyncBus":
        from telex.client import SyncBus

        self._bus = self._open(self._clock or SteadyClock(), on_loop=False)
        return SyncBus(self._bus)

    def __exit__(self, *_: object) -> None:
        if self._bus is not None:
            run_sync(self._bus.close())

    async def __aenter__(self) -> "Bus":
        self._bus = self._open(self._clock or LoopClock(), on_loop=True)
        return self._bus

    async def __aexit__(self, *_: object) -> None:
        if self._bus is not None:
            await self._bus.close()

    def _open(self, clock: StoreClock, *, on_loop: bool) -> "LocalBus | RemoteBus":
        settings = load(os.getcwd()) if self._settings is None else self._settings
        url = hub_at(self._where, settings)
        self.is_remote = url is not None
        if url is None:
            return _open_local(self._where, settings, clock, on_loop=on_loop)
        from telex.http_client.bus import open_remote, token_for

        is_named = bool(self._where or os.environ.get(STORE))
        token = token_for(url, self._token or os.environ.get(TOKEN), is_named=is_named)
        return open_remote(url, token, clock, settings.policy(), on_loop=on_loop)


def _open_local(where: str | None, settings: Settings, clock: StoreClock, *, on_loop: bool) -> "LocalBus":
    path = store_path(where, settings)
    store = open_store(path, settings, grouped=on_loop)
    clock.begin_after(run_sync(store.read(latest_at)))
    return _local_bus(store, clock, path, settings, on_loop=on_loop)


def _local_bus(store: Store, clock: StoreClock, path: str, settings: Settings, *, on_loop: bool) -> "LocalBus":
    from telex.bus.local import LocalBus

    notifier = None
    if on_loop:
        from telex.bus.shared_notify import SharedNotifier
        from telex.ports.environment import traceparent

        notifier = SharedNotifier
    bus = LocalBus(
        store,
        clock,
        policy=settings.policy(),
        members=settings.members,
        waiting=notifier,
        work=settings.work(),
        evidence=evidence_beside(path, settings, aside=on_loop),
    )
    if on_loop:
        bus.carry(traceparent)
    return bus


@asynccontextmanager
async def open_replicated(
    address: "TeamAddress", folder: str, settings: Settings, options: "ReplicaOptions"
) -> "AsyncIterator[LocalBus]":
    """The bus of a hub that shares its team with other hubs. `folder` has this hub's copy."""
    from telex.stores.nats.address import secrets_from
    from telex.stores.nats.durability import describe, is_durable
    from telex.stores.nats.store import ReplicatedStore

    store = await ReplicatedStore.open_replica(address, folder, secrets_from(os.environ), options)
    clock = LoopClock(store.now)  # the servers' time, which all hubs share
    clock.begin_after(await store.read(latest_at))
    bus = _local_bus(store, clock, store.path, settings, on_loop=True)
    bus.replica = store
    if not is_durable(store.replicas, store.synced):
        bus.weaker_durability = describe(store.replicas, store.synced)
    store.on_applied = bus.nudge
    try:
        yield bus
    finally:
        await bus.close()


@contextmanager
def gate(where: str | None, settings: Settings, *, close: bool = True) -> "Iterator[WriteGuard]":
    """The part of a bus that a guard needs: it starts in half the time, and runs for every written file. A process that
    ends at once need not `close` the store, which would rewrite its log."""
    from telex.bus.context import TeamState, default_roles
    from telex.bus.guard import WriteGuard

    clock, store = SteadyClock(), open_store(store_path(where, settings), settings)
    dialects = {dialect.name: dialect for dialect in settings.dialects()}
    used = (settings.forced,) if settings.forced else tuple(dialects.values())
    team = TeamState(
        clock=clock,
        limits=settings.limits,
        dialects=dialects,
        declared=settings.members,
        default_roles=default_roles(used, closed=bool(settings.members)),
    )
    try:
        yield WriteGuard(store, clock, team, dialects, settings.limits)
    finally:
        if close:
            run_sync(store.close())


def open_store(path: str, settings: Settings, *, grouped: bool = False) -> Store:
    if path == MEMORY:
        from telex.stores.memory import MemoryStore

        return MemoryStore()
    from telex.stores.sqlite.store import SqliteStore

    return SqliteStore.open(path, durable=settings.durable, grouped=grouped)


def hub_at(where: str | None, settings: Settings) -> str | None:
    """The address of the hub, or of several with commas; None: a store is used."""
    where = where or os.environ.get(STORE) or settings.store_path
    return where if where is not None and is_hub(where) else None


def is_hub(where: str) -> bool:
    return where.lower().startswith(HUBS)


def store_path(where: str | None, settings: Settings) -> str:
    """The path of the store: as given, of the environment, of the settings, or of the project.

    Raises:
        StoreUnavailable: it is no path of a store.
    """
    where = where or os.environ.get(STORE) or settings.store_path
    if where is None:
        source = None if os.environ.get(VARIABLE) else settings.source  # a named file may be outside the project
        return os.path.join(store_folder(os.getcwd(), source), STORE_FOLDER, FILE)
    if where in (MEMORY, ":memory:"):
        return MEMORY
    if where == SQLITE:
        raise StoreUnavailable("no file: use sqlite:PATH.")
    if where.startswith(SQLITE):
        return where.removeprefix(SQLITE)
    if "://" in where:
        if is_hub(where):
            raise StoreUnavailable(
                "this needs the store file, not a hub: run it on the machine of the hub, with --store FILE."
            )
        if where.lower().startswith(NATS):
            raise StoreUnavailable(
                "only a hub opens a replicated team: telex serve --store nats://…; use the address of the hub here."
            )
        raise StoreUnavailable(
            f"unknown store scheme {where.split('://', 1)[0]}: use memory:, sqlite:PATH, http:// or a path."
        )
    if _is_like_a_hub(where) and not os.path.exists(where):
        raise StoreUnavailable(f"give a hub as http://HOST:PORT; for a file of that name use sqlite:{where}.")
    return os.path.join(where, FILE) if os.path.isdir(where) else where


def _is_like_a_hub(where: str) -> bool:
    """An incomplete address: localhost:4477, http:/hub."""
    host, _, port = where.rstrip("/").rpartition(":")
    has_port = bool(host) and port.isdecimal() and "/" not in host and os.sep not in host
    return has_port or where.lower().startswith(("http:", "https:"))


def evidence_beside(path: str, settings: Settings, *, aside: bool = False) -> Evidence | None:
    """The repository around the store, if there is one; around the working directory for a store in memory. In a linked
    work tree of it, that work tree: an agent reports about the files that it has."""
    if settings.evidence == "off":
        return None
    folder = os.getcwd() if path == MEMORY else os.path.dirname(os.path.abspath(path))
    top, tree = nearest(folder, GIT), work_tree(os.getcwd())
    if tree is not None and tree.main != tree.top and is_inside(folder, tree.main):
        top, folder = tree.top, os.path.join(tree.top, os.path.relpath(folder, tree.main))
    if top is None:
        return None
    from telex.evidence import GitEvidence

    return GitEvidence(top, folder, "refusal" if settings.evidence == "refuse" else "warning", aside=aside)
