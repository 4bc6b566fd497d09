"""Does a hub bear many clients at once, and a kill in the midst of them? A small run of what tests/load does."""

import asyncio
import socket
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

import telex
from telex.config import Settings
from telex.ports.bus import Bus
from telex.ports.store import EVERYTHING, Query
from telex.surfaces.http.server import LISTENERS, listeners
from telex.surfaces.http.stream import PAGE, EventBacklog
from tests.load.hub_load import Plan, play
from tests.proofs import proves


@pytest.mark.slow
@proves("load/steady")
def test_what_is_accepted_comes_once_and_viewers_miss_nothing(tmp_path: Path) -> None:
    report = play(Plan(agents=60, viewers=6, rate=60, seconds=3), tmp_path)
    assert report.holds, report.told()
    assert report.delivered == 180


@pytest.mark.slow
@proves("load/killed")
def test_a_killed_hub_loses_nothing_and_its_clients_go_on_by_themselves(tmp_path: Path) -> None:
    report = play(Plan(agents=50, viewers=5, rate=60, seconds=4, kill_at=1.5), tmp_path)
    assert report.holds, report.told()
    assert report.delivered == 240
    assert report.resumed >= 55, "everybody had to connect again"


class Counted:
    """A bus whose record is read, and how often."""

    def __init__(self, bus: Bus) -> None:
        self._bus, self.reads = bus, 0

    def events(self, query: Query = EVERYTHING, **options: Any) -> AsyncIterator[Any]:
        self.reads += 1
        return self._bus.events(query, **options)


@proves("load/one-page")
def test_what_many_missed_is_read_once_for_all(tmp_path: Path) -> None:
    async def scene() -> None:
        async with telex.connect(tmp_path / "telex.db", settings=Settings(evidence="off")) as bus:
            for _ in range(0, PAGE * 2, 50):
                await asyncio.gather(*(bus.send("All is well.\n", sender="dev", to="lead") for _ in range(60)))
            counted = Counted(bus)
            missed, until = EventBacklog(counted), PAGE * 2  # type: ignore[arg-type]
            told = await asyncio.gather(
                *(_ids(missed, after, until) for after in (0, 7, PAGE - 1, PAGE, until - 1) * 8)
            )
            for ids, after in zip(told, (0, 7, PAGE - 1, PAGE, until - 1) * 8, strict=True):
                assert ids == list(range(after + 1, until + 1))
            assert counted.reads == 2, "one read for each of the two pages"
            assert await _ids(missed, until + 3, until + 9) == list(range(until + 4, until + 10))

    asyncio.run(scene())


async def _ids(missed: EventBacklog, after: int, until: int) -> list[int]:
    texts = [text async for text in missed.between(after, until)]
    return [int(line[4:]) for line in b"".join(texts).split(b"\n") if line.startswith(b"id: ")]


@proves("load/doors")
def test_many_connections_are_taken_in_at_every_turn() -> None:
    uvloop = pytest.importorskip("uvloop")

    async def turns() -> int:
        with socket.create_server(("127.0.0.1", 0), backlog=256) as listening:
            came: list[object] = []
            clients = [socket.create_connection(listening.getsockname()) for _ in range(128)]
            loop = asyncio.get_running_loop()
            servers = [await loop.create_server(lambda: _Came(came), sock=door) for door in listeners([listening])]
            turns = 0
            while len(came) < len(clients):
                turns += 1
                await asyncio.sleep(0)
            for server in servers:
                server.close()
            for client in clients:
                client.close()
            return turns

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as loop:
        assert loop.run(turns()) <= 128 / LISTENERS * 4


class _Came(asyncio.Protocol):
    def __init__(self, came: list[object]) -> None:
        self._came = came

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._came.append(self)
        transport.close()
