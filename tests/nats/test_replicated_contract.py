"""Does the replicated store keep the contract of every store?"""

import asyncio
import os
from collections.abc import Coroutine
from contextlib import suppress
from typing import Any, TypeVar, cast

import pytest

from telex.errors import StoreUnavailable
from telex.ports.store import Store
from telex.stores.nats.store import ReplicatedStore
from telex.testing import StoreContract
from tests.nats.kit import REFRESH_SECONDS, new_team, open_hub
from tests.nats.servers import Servers

T = TypeVar("T")
ALL = os.environ.get("TELEX_PROFILE") == "long"  # otherwise the weakest and the strongest of the variants


class TestOneServer(StoreContract):
    reopens = True
    replicas = 1

    @pytest.fixture(autouse=True)
    def _servers(self, one_server: Servers) -> None:
        self.servers, self.team = one_server, new_team()

    async def make(self) -> Store:
        for number in range(4):  # another copy, if this one is in use
            with suppress(StoreUnavailable):
                return await self.open(f"hub{number}")
        raise AssertionError("every copy is in use")

    async def open(self, name: str) -> ReplicatedStore:
        return await open_hub(self.servers, self.team, self.place / name, replicas=self.replicas)

    async def see_others(self, store: Store) -> None:
        assert await cast(ReplicatedStore, store).refresh(REFRESH_SECONDS)

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        return asyncio.run(work)


class _BesideAWriter:
    """A hub, and another one that writes whenever it has the turn."""

    def __init__(self, hub: ReplicatedStore, other: ReplicatedStore) -> None:
        self._hub, self._other = hub, other
        self._task = asyncio.ensure_future(self._write())

    def __getattr__(self, name: str) -> Any:
        return getattr(self._hub, name)

    async def _write(self) -> None:
        while True:
            await self._other.transaction(lambda _: None)

    async def close(self) -> None:
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)
        await self._other.close()
        await self._hub.close()


class TestBesideAWriter(TestOneServer):
    """Another hub writes all the time, so that every write has to wait for its turn."""

    __test__ = ALL

    async def make(self) -> Store:
        hub = cast(ReplicatedStore, await super().make())
        return cast(Store, _BesideAWriter(hub, cast(ReplicatedStore, await super().make())))


class TestDecidedTwice(TestOneServer):
    """Every batch is decided, rolled back and decided again, as after a conflict."""

    __test__ = ALL

    async def open(self, name: str) -> ReplicatedStore:
        store = await super().open(name)
        store.batches.decides_twice = True
        return store


class TestThreeServers(TestOneServer):
    __test__ = ALL
    replicas = 3

    @pytest.fixture(autouse=True)
    def _servers(self, three_servers: Servers) -> None:
        self.servers, self.team = three_servers, new_team()


class TestThreeServersBesideAWriter(TestThreeServers):
    __test__ = True

    async def make(self) -> Store:
        hub = cast(ReplicatedStore, await super().make())
        return cast(Store, _BesideAWriter(hub, cast(ReplicatedStore, await super().make())))


# These two count how often a decision runs, which is more than once after a conflict.
_COUNTED = (
    "decisions_run_in_the_order_in_which_they_were_submitted",
    "a_cache_gets_every_commit_once_with_its_numbers",
)
for _class in (TestBesideAWriter, TestDecidedTwice, TestThreeServersBesideAWriter):
    for _name in _COUNTED:
        setattr(_class, f"test_{_name}", None)
if not ALL:  # four hubs that all write take seconds
    TestThreeServersBesideAWriter.test_two_who_have_it_open_see_one_store = None  # type: ignore[assignment]
