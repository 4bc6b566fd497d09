"""Whatever is asked of the hubs of a team, in whatever order: do they answer as one store, with equal tables?

Each verb goes to another hub. Every batch is decided twice, as after a conflict. Hubs restart, and copies are rebuilt
from the log.
"""

import asyncio
import itertools
import shutil
from collections.abc import Coroutine
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeVar, cast

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import rule, run_state_machine_as_test

from telex.ports.store import Store
from telex.stores.nats.store import ReplicatedStore
from telex.stores.sqlite import caches
from tests.nats.kit import REFRESH_SECONDS, Team, hubs_of
from tests.nats.servers import Servers
from tests.proofs import proves
from tests.stores.test_store_machine import SMALL_TAIL, StoreMachine

T = TypeVar("T")
HUBS = 3


class _EachInTurn:
    """The hubs of a team as one store: each call goes to the next one, after it has what the others have written."""

    def __init__(self, hubs: list[ReplicatedStore]) -> None:
        self._hubs, self._number = hubs, itertools.count()

    def __getattr__(self, verb: str) -> Any:
        async def call(*args: Any, **options: Any) -> Any:
            hub = self._hubs[next(self._number) % len(self._hubs)]
            assert await hub.refresh(REFRESH_SECONDS), hub.status()
            return await getattr(hub, verb)(*args, **options)

        return call

    async def close(self) -> None:
        pass  # the team does


class TeamMachine(StoreMachine):
    servers: Servers

    def __init__(self) -> None:
        self.folder = TemporaryDirectory(prefix="telex-team-")
        self.loop = asyncio.new_event_loop()
        self.context = hubs_of(self.servers, Path(self.folder.name), HUBS)
        self.team: Team = self.run(self.context.__aenter__())
        super().__init__()

    def open(self) -> Store:
        for hub in self.team.hubs:
            hub.batches.decides_twice = True
        return cast(Store, _EachInTurn(self.team.hubs))

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        return self.loop.run_until_complete(work)

    @rule(number=st.integers(0, HUBS - 1), is_rebuilt=st.booleans())
    def reopen(self, number: int, is_rebuilt: bool) -> None:
        self.run(self._reopen(self.team.hubs[number], is_rebuilt))
        self.store = self.open()

    async def _reopen(self, hub: ReplicatedStore, is_rebuilt: bool) -> None:
        copy = Path(await self.team.close(hub)).parent
        if is_rebuilt:
            shutil.rmtree(copy)
        await self.team.open(copy.name)

    @rule(number=st.integers(0, HUBS - 1))
    def take_the_turn(self, number: int) -> None:
        self.team.hubs[number].turn.take()

    def teardown(self) -> None:
        try:
            super().teardown()
            assert len(self.run(self.team.digests())) == 1
        finally:
            self.run(self.context.__aexit__(None, None, None))
            self.loop.close()
            self.folder.cleanup()


@pytest.fixture(autouse=True)
def _small_tail(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ids go into their index after two messages: what a rolled back batch has indexed is missed soon."""
    for name, value in SMALL_TAIL.items():
        monkeypatch.setattr(caches, name, value)


def run_machine(servers: Servers, examples: int, steps: int = 30) -> None:
    class Machine(TeamMachine):
        pass

    Machine.servers = servers
    run_state_machine_as_test(
        Machine,
        settings=settings(
            max_examples=examples,
            stateful_step_count=steps,
            phases=[Phase.generate],
            database=None,
            derandomize=True,
            deadline=None,
            suppress_health_check=list(HealthCheck),
        ),
    )


@proves("replication/one-store")
def test_the_hubs_of_a_team_answer_as_one_store_and_have_equal_tables(one_server: Servers) -> None:
    run_machine(one_server, 12)


def test_caches_that_remember_a_batch_that_was_rolled_back_are_found(
    one_server: Servers, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ReplicatedStore, "forget", lambda _: None)
    with pytest.raises((AssertionError, ExceptionGroup)):
        run_machine(one_server, 60)
