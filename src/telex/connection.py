"""Construction of a bus from settings and an address. The only module that knows all parts."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import TYPE_CHECKING

from telex.bus import run_sync
from telex.clock import SteadyClock
from telex.config import Settings, load
from telex.errors import StoreUnavailable
from telex.ports.clock import StoreClock
from telex.ports.evidence import Evidence
from telex.ports.store import Store
from telex.project import GIT, STORE_FOLDER, VARIABLE, is_inside, nearest, store_folder, work_tree

if TYPE_CHECKING:
    from telex.bus.guard import WriteGuard
    from telex.bus.local import LocalBus
    from telex.client import SyncBus
    from telex.http_client.bus import RemoteBus
    from telex.ports.bus import Bus

FILE = "telex.db"
STORE = "TELEX_STORE"  # names the store, wherever it is
MEMORY, SQLITE = "memory:", "sqlite:"
HUBS = ("http://", "https://")
TOKEN = "TELEX_TOKEN"  # what a hub lets in by; never an argument of a command, which others could see


def connect(
    where: str | os.PathLike[str] | None = None,
    *,
    settings: Settings | None = None,
    clock: StoreClock | None = None,
    token: str | None = None,
) -> "Connection":
    """The bus at that place: `memory:`, a path, `sqlite:path`, `http://…` for that of a hub, or None for the
    `.telex/telex.db` of the project. A hub lets in by a `token`, which is TELEX_TOKEN's if not given.

    async with telex.connect() as bus:      # for an event loop; sends that come together share one sync
        await bus.send(...)

    with telex.connect() as bus:            # the same verbs, blocking
        bus.send(...)
    """
    return Connection(None if where is None else os.fspath(where), settings, clock, token)


class Connection:
    """A bus not opened yet: entering it decides whether it blocks."""

    def __init__(
        self, where: str | None, settings: Settings | None, clock: StoreClock | None, token: str | None = None
    ) -> None:
        self._where, self._settings, self._clock, self._token = where, settings, clock, token
        self._bus: LocalBus | RemoteBus | None = None

    def __enter__(self) -> "SyncBus":
        from telex.client import SyncBus

        self._bus = self._open(self._clock or SteadyClock(), grouped=False)
        return SyncBus(self._bus)

    def __exit__(self, *_: object) -> None:
        if self._bus is not None:
            run_sync(self._bus.close())

    async def __aenter__(self) -> "Bus":
        from telex.clock import LoopClock

        self._bus = self._open(self._clock or LoopClock(), grouped=True)
        return self._bus

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bus is not None:
            await self._bus.close()

    def _open(self, clock: StoreClock, *, grouped: bool) -> "LocalBus | RemoteBus":
        settings = load(os.getcwd()) if self._settings is None else self._settings
        url = hub_at(self._where, settings)
        if url is not None:
            from telex.http_client.factory import open_remote, token_for

            is_named = bool(self._where or os.environ.get(STORE))
            token = token_for(url, self._token or os.environ.get(TOKEN), is_named=is_named)
            return open_remote(url, token, clock, settings.desk(), on_loop=grouped)
        from telex.bus.local import LocalBus

        store = open_store(self._where, settings, grouped=grouped)
        clock.begin_after(run_sync(store.latest_at()))
        waiting = None
        if grouped:
            from telex.bus.notify import SharedNotifier

            waiting = SharedNotifier
        evidence = evidence_beside(store_path(self._where, settings), settings, aside=grouped)
        bus = LocalBus(
            store,
            clock,
            desk=settings.desk(),
            members=settings.members,
            waiting=waiting,
            work=settings.work(),
            evidence=evidence,
        )
        if grouped:
            from telex.ports.trace_context import traceparent  # whoever has a loop has paid for it

            bus.carry(traceparent)
        return bus


@contextmanager
def gate(where: str | None, settings: Settings) -> "Iterator[WriteGuard]":
    """As much of a bus as a guard needs. It starts in half the time, and is started for every file."""
    from telex.bus.context import TeamState, default_roles
    from telex.bus.guard import WriteGuard

    clock, store = SteadyClock(), open_store(where, settings)
    dialects = {dialect.name: dialect for dialect in settings.dialects()}
    spoken = (settings.forced,) if settings.forced else tuple(dialects.values())
    team = TeamState(
        clock=clock,
        limits=settings.limits,
        dialects=dialects,
        declared=settings.members,
        default_roles=default_roles(spoken, closed=bool(settings.members)),
    )
    try:
        yield WriteGuard(store, clock, team, dialects, settings.limits)
    finally:
        run_sync(store.close())


def open_store(where: str | None, settings: Settings, *, grouped: bool = False) -> Store:
    path = store_path(where, settings)
    if path == MEMORY:
        from telex.stores.memory import MemoryStore

        return MemoryStore()
    from telex.stores.sqlite.store import SqliteStore

    return SqliteStore.open(path, durable=settings.durable, grouped=grouped)


def hub_at(where: str | None, settings: Settings) -> str | None:
    """The address of the hub that is meant; None: a store is."""
    where = where or os.environ.get(STORE) or settings.store_path
    return where if where is not None and is_hub(where) else None


def is_hub(where: str) -> bool:
    return where.lower().startswith(HUBS)


def store_path(where: str | None, settings: Settings) -> str:
    """Where the store is: as given, as in the environment or the settings, or that of the project.

    Raises:
        StoreUnavailable: that kind of place is not one we know.
    """
    where = where or os.environ.get(STORE) or settings.store_path
    if where is None:
        return usual_store(os.getcwd(), settings)
    if where in (MEMORY, ":memory:"):
        return MEMORY
    if where == SQLITE:
        raise StoreUnavailable("no file: use sqlite:PATH.")
    if where.startswith(SQLITE):
        return where.removeprefix(SQLITE)
    if "://" in where:
        scheme = where.split("://", 1)[0]
        if is_hub(where):
            raise StoreUnavailable("this needs the store file: it does not work through a hub.")
        raise StoreUnavailable(f"unknown store scheme {scheme}: use memory:, sqlite:PATH, http:// or a path.")
    if _is_like_a_hub(where) and not os.path.exists(where):
        raise StoreUnavailable(f"give a hub as http://HOST:PORT; for a file of that name use sqlite:{where}.")
    return os.path.join(where, FILE) if os.path.isdir(where) else where


def _is_like_a_hub(where: str) -> bool:
    """As people write one when they are in a hurry: localhost:4477, http:/hub."""
    host, _, port = where.rstrip("/").rpartition(":")
    named = bool(host) and port.isdecimal() and "/" not in host and os.sep not in host
    return named or where.lower().startswith(("http:", "https:"))


def usual_store(folder: str, settings: Settings) -> str:
    """The store of the project that a folder is in, where none is named."""
    source = None if os.environ.get(VARIABLE) else settings.source  # a file named from elsewhere tells no place
    return os.path.join(store_folder(folder, source), STORE_FOLDER, FILE)


def evidence_beside(path: str, settings: Settings, *, aside: bool = False) -> Evidence | None:
    """The repository that the store lies in, if it lies in one; a store in memory lies in the working directory. From a
    linked work tree of it, that work tree: what an agent reports of files is about the files that it has."""
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
