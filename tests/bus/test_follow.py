"""Many follow the record at once, as a hub's viewers do. Does each see all of what it asks for, once and in order?"""

import asyncio
from contextlib import aclosing
from pathlib import Path
from random import Random
from typing import Any

import pytest

import telex
from telex.bus.local import LocalBus
from telex.bus.notify import EventPage
from telex.bus.shared_notify import Follower
from telex.config import Settings
from telex.model.message import BRINGING
from telex.ports.store import EVERYTHING, Query, events_with_messages, last_event
from tests.bus.test_shared_notify import NOTE, hub, run
from tests.proofs import proves

WISHES = [
    EVERYTHING,
    Query(kinds=("accepted",)),
    Query(kinds=BRINGING, agent="lead"),
    Query(agent="dev"),
    Query(agent="qa"),
    Query(dialect="vbw-typed"),
    Query(correlation="T-3"),
    Query(text="cafe"),  # the store finds the café by this, and comparing letters would not
    Query(text="red build"),
    Query(after=12),
]


async def told(bus: LocalBus, query: Query) -> list[int]:
    """As the store tells it afterwards."""
    return [event.seq async for event, _ in bus.events(query)]


async def talk(bus: LocalBus, chance: Random, rounds: int) -> None:
    """Messages, refusals, leases and acks, some at once and some by and by."""
    words = ["The build is red.\n", "Meet me at the café.\n", '{"type": "no_such"}', NOTE]
    for number in range(rounds):
        sends = [
            bus.send(chance.choice(words), sender="dev", to="lead", correlation=f"T-{number % 5}", check=False)
            for _ in range(chance.randint(1, 4))
        ]
        await asyncio.gather(*sends)
        if chance.random() < 0.5:
            for leased in await bus.receive("lead", limit=2):
                await bus.ack(leased.token, agent="lead")
        await asyncio.sleep(chance.choice([0, 0, 0.001, 0.01]))


async def follow(bus: LocalBus, query: Query, last: "asyncio.Future[int]", seen: list[int], slow: float = 0.0) -> None:
    """Until the last event, by number, has come or passed."""
    async with aclosing(bus.events(query, follow=True)) as events:
        async for event, _ in events:
            seen.append(event.seq)
            if slow:
                await asyncio.sleep(slow)
            if last.done() and event.seq >= last.result():
                return


@proves("notify/followers/no-gap")
@pytest.mark.parametrize("seed", range(4))
def test_whoever_follows_sees_all_that_fits_once_and_in_order(tmp_path: Path, seed: int) -> None:
    chance = Random(seed)

    async def play() -> None:
        async with hub(tmp_path) as bus:
            await talk(bus, chance, 5)
            seen: list[tuple[Query, list[int]]] = [(wish, []) for wish in WISHES * 3]
            tasks = []
            for wish, events in seen:
                tasks.append(asyncio.create_task(_collect(bus, wish, events)))
                await talk(bus, chance, 2)
            await talk(bus, chance, 20)
            wanted = {wish: await told(bus, wish) for wish in WISHES}
            while any(len(events) < len(wanted[wish]) for wish, events in seen):
                await asyncio.sleep(0.001)
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            for wish, events in seen:
                assert events == wanted[wish], wish

    run(play())


async def _collect(bus: LocalBus, wish: Query, events: list[int]) -> None:
    async for event, _ in bus.events(wish, follow=True):
        events.append(event.seq)


@proves("notify/followers/start")
@pytest.mark.parametrize("moment", [1, 2])
def test_what_is_written_while_somebody_begins_to_follow_is_not_missed(tmp_path: Path, moment: int) -> None:
    async def play() -> str | None:
        async with hub(tmp_path) as bus:
            store: Any = bus.store
            read, asked = store.read, 0

            async def meanwhile(query: Any, *arguments: Any) -> Any:
                nonlocal asked
                found = await read(query, *arguments)
                asked += query is last_event
                if asked == moment:
                    asked += 1
                    with telex.connect(tmp_path / "telex.db", settings=Settings(evidence="off")) as other:
                        other.send(NOTE, sender="dev", to="lead", id="n-1")
                return found

            store.read = meanwhile
            async with aclosing(bus.events(Query(kinds=("accepted",)), follow=True)) as events:
                async for _, message in events:
                    return message and message.id
        return None

    assert run(play()) == "n-1"


@proves("notify/followers/behind")
def test_a_follower_that_does_not_keep_up_misses_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("telex.bus.shared_notify.BEHIND_MAX", 10)
    lying: list[int] = []
    give = Follower.give

    def counted(self: Follower, page: EventPage) -> None:
        give(self, page)
        lying.append(sum(map(len, self._pages)))

    monkeypatch.setattr(Follower, "give", counted)

    async def play() -> None:
        async with hub(tmp_path) as bus:
            seen: list[int] = []
            last: asyncio.Future[int] = asyncio.get_running_loop().create_future()
            task = asyncio.create_task(follow(bus, EVERYTHING, last, seen, slow=0.002))
            await talk(bus, Random(1), 40)
            wanted = await told(bus, EVERYTHING)
            last.set_result(wanted[-1])
            await task
            assert seen == wanted

    run(play())
    assert lying
    assert max(lying) <= 10


@proves("notify/followers/one-read")
def test_the_record_is_read_once_for_all_who_follow_it(tmp_path: Path) -> None:
    async def play() -> tuple[int, int]:
        async with hub(tmp_path) as bus:
            store: Any = bus.store
            reads, read = 0, store.read

            async def counted(query: Any, *arguments: Any) -> Any:
                nonlocal reads
                reads += query is events_with_messages
                return await read(query, *arguments)

            seen: list[list[int]] = [[] for _ in range(40)]
            tasks = [asyncio.create_task(_collect(bus, EVERYTHING, one)) for one in seen]
            await bus.send(NOTE, sender="dev", to="lead")
            await _until_all_have(seen, await told(bus, EVERYTHING))
            store.read = counted
            for _ in range(25):
                await bus.send(NOTE, sender="dev", to="lead")
            store.read, told_meanwhile = read, reads
            wanted = await told(bus, EVERYTHING)
            await _until_all_have(seen, wanted)
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            assert all(one == wanted for one in seen)
            return told_meanwhile, len(wanted)

    reads, events = run(play())
    assert reads <= events, "forty followers, and not one read for each"


async def _until_all_have(seen: list[list[int]], wanted: list[int]) -> None:
    while any(len(one) < len(wanted) for one in seen):
        await asyncio.sleep(0.001)


@proves("notify/followers/quiet")
def test_who_follows_until_it_is_quiet_is_let_go_then(tmp_path: Path) -> None:
    async def play() -> list[str | None]:
        async with hub(tmp_path) as bus:
            await bus.send(NOTE, sender="dev", to="lead", id="n-1")
            query = Query(kinds=("accepted",))
            return [message and message.id async for _, message in bus.events(query, follow=True, wait=0.05)]

    assert run(play()) == ["n-1"]
