"""A new hub on a long log: it gets all of it, though its consumer is lost and the leader dies meanwhile."""

import asyncio
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from nats.aio.msg import Msg

from telex.errors import StoreUnavailable
from telex.stores.nats import log, store
from telex.stores.nats.log import Log
from telex.stores.nats.store import ReplicatedStore
from tests.nats.kit import REFRESH_SECONDS, Team, hubs_of, log_of, note, send
from tests.nats.servers import Servers
from tests.proofs import proves

pytestmark = pytest.mark.slow
BATCHES, LOST_AT = 1_000, 300
RESTART_SECONDS = 30.0


async def fill(team: Team) -> None:
    hub = await team.open()
    for number in range(BATCHES):
        await hub.transaction(lambda tx, number=number: tx.append(note(f"m{number}")))  # type: ignore[misc]


class FirstConsumer:
    """Something is done to the first consumer of a hub after some entries. `is_lost`: it delivers nothing more."""

    def __init__(self, incident: Callable[[Log], Any], is_lost: bool) -> None:
        self._incident, self._is_lost = incident, is_lost
        self._follow, self.consumers = Log.follow, 0

    async def __call__(self, log: Log, after: int, hear: Callable[[Any], None]) -> None:
        self.consumers += 1
        if self.consumers > 1:
            await self._follow(log, after, hear)
            return
        left = LOST_AT

        def hear_some(item: Any) -> None:
            nonlocal left
            left -= 1
            if left > 0 or not self._is_lost:
                hear(item)
            if left == 0:
                self._task = asyncio.ensure_future(self._incident(log))

        await self._follow(log, after, hear_some)


async def delete_consumers(of: Log) -> None:
    for consumer in await of.stream.consumers_info(of.address.stream):
        await of.stream.delete_consumer(of.address.stream, consumer.name)


def plant(monkeypatch: pytest.MonkeyPatch, incident: Callable[[Log], Any], *, is_lost: bool = True) -> None:
    first = FirstConsumer(incident, is_lost)
    monkeypatch.setattr(Log, "follow", lambda log, after, hear: first(log, after, hear))


@proves("replication/catch-up")
def test_a_hub_whose_consumer_is_lost_while_it_reads_a_long_log_reads_all_of_it(
    one_server: Servers, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def catch_up() -> None:
        async with hubs_of(one_server, tmp_path) as team:
            await fill(team)
            plant(monkeypatch, delete_consumers)
            monkeypatch.setattr(store, "APPLY_SECONDS", 0.0)  # a slow reader: one entry in each transaction
            assert len(await team.digests()) == 1
            assert log_of(team.hubs[-1]).consumers == 2

    asyncio.run(catch_up())


def test_a_hub_that_does_not_watch_its_consumer_is_found(
    one_server: Servers, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def catch_up() -> None:
        async with hubs_of(one_server, tmp_path) as team:
            await fill(team)
            plant(monkeypatch, delete_consumers)
            monkeypatch.setattr(ReplicatedStore, "_watch", ReplicatedStore._follow)
            with pytest.raises(StoreUnavailable):
                await team.open(open_seconds=4.0)

    asyncio.run(catch_up())


async def lose_the_last_entry(team: Team) -> None:
    """An entry gets lost on its way to a hub, and none follows it: the hub gets it all the same."""
    writer, follower = await team.open(), await team.open()
    await send(writer, "m1")
    assert await follower.refresh(REFRESH_SECONDS)
    while (subscription := log_of(follower)._subscription) is None:  # it may follow the log anew just then
        await asyncio.sleep(0.01)
    deliver = subscription._cb
    assert deliver is not None

    async def lose(message: Msg) -> None:
        if message.headers and message.headers.get("Status"):
            await deliver(message)

    subscription._cb = lose
    await send(writer, "m2")
    assert await follower.reach(writer.position, 5.0)
    assert len(await team.digests()) == 1


@proves("replication/catch-up")
def test_a_hub_that_missed_the_last_entry_gets_it(one_server: Servers, tmp_path: Path) -> None:
    async def miss() -> None:
        async with hubs_of(one_server, tmp_path) as team:
            await lose_the_last_entry(team)

    asyncio.run(miss())


def test_heartbeats_that_are_not_compared_with_what_was_delivered_are_found(
    one_server: Servers, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def miss() -> None:
        async with hubs_of(one_server, tmp_path) as team:
            await lose_the_last_entry(team)

    monkeypatch.setattr(log, "_LAST_SENT", "a header that is not there")
    with pytest.raises(AssertionError):
        asyncio.run(miss())


@pytest.fixture
def mortal_servers(three_servers: Servers) -> Iterator[Servers]:
    """Servers of which some may be killed: they run again for the next test."""
    yield three_servers
    three_servers.revive(RESTART_SECONDS)


@proves("replication/catch-up")
def test_a_hub_reads_a_long_log_whose_leader_is_killed_meanwhile(
    mortal_servers: Servers, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def kill_leader(of: Log) -> None:
        await asyncio.to_thread(lambda: mortal_servers.kill(mortal_servers.leader_of(of.address.stream)))

    async def catch_up() -> None:
        async with hubs_of(mortal_servers, tmp_path, replicas=3) as team:
            await fill(team)
            plant(monkeypatch, kill_leader, is_lost=False)
            monkeypatch.setattr(store, "APPLY_SECONDS", 0.0)
            late = await team.open()
            assert late.position == BATCHES
            await send(late, "after the election")
            assert len(await team.digests()) == 1

    asyncio.run(catch_up())
