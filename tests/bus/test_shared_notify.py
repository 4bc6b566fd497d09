"""Many wait on one event loop, as they do in a hub. Is each woken when something concerns it, and only then?"""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, TypeVar

import pytest

import telex
from telex.bus import run_sync
from telex.bus.local import LocalBus
from telex.bus.shared_notify import SharedSubscription
from telex.config import Settings
from telex.errors import NotAMember, RequestFailed, StoreUnavailable
from telex.model.limits import Limits
from telex.model.message import LeasedMessage
from telex.ports.store import LeaseRequest
from telex.stores.memory import MemoryStore
from telex.testing import FakeClock
from tests.proofs import proves

T = TypeVar("T")
NOTE = "The build is red.\n"
LONG = 30.0  # seconds that nobody waits for unless something is wrong
SETTINGS = Settings(evidence="off", limits=Limits(backoff_seconds=0.05))


def run(work: Coroutine[Any, Any, T]) -> T:
    async def bounded() -> T:
        return await asyncio.wait_for(work, LONG)

    return asyncio.run(bounded())


@asynccontextmanager
async def hub(folder: Path) -> AsyncIterator[LocalBus]:
    async with telex.connect(folder / "telex.db", settings=SETTINGS) as bus:
        assert isinstance(bus, LocalBus)
        yield bus


class Looks:
    """Who looks into the store for something to take, and how often."""

    def __init__(self, bus: LocalBus) -> None:
        self.by: Counter[str] = Counter()
        store: Any = bus.store
        self._lease, store.lease = store.lease, self._counted

    async def _counted(self, request: LeaseRequest) -> list[LeasedMessage]:
        self.by[request.holder] += 1
        leases: list[LeasedMessage] = await self._lease(request)
        return leases

    async def until_all_wait(self, names: list[str]) -> None:
        """Everybody has looked twice: when it came, and when it had been seen to that nothing is missed."""
        while any(self.by[name] < 2 for name in names):
            await asyncio.sleep(0)
        await asyncio.sleep(0)
        self.by.clear()


async def take_all(bus: LocalBus, name: str, taken: list[str]) -> None:
    while True:
        for leased in await bus.receive(name, wait=LONG):
            taken.append(leased.message.id)
            await bus.ack(leased.token, agent=name)


async def joined(bus: LocalBus, role: str, count: int) -> list[str]:
    names = [f"{role}-{number}" for number in range(count)]
    for name in names:
        await bus.join(name, role=role)
    return names


async def until(done: Any) -> None:
    while not done():
        await asyncio.sleep(0.001)


@proves("notify/readers/only-affected")
def test_only_those_look_again_whose_inbox_something_came_into(tmp_path: Path) -> None:
    async def play() -> Counter[str]:
        async with hub(tmp_path) as bus:
            names = await joined(bus, "dev", 30)
            taken: list[str] = []
            looks = Looks(bus)
            tasks = [asyncio.create_task(take_all(bus, name, taken)) for name in names]
            await looks.until_all_wait(names)
            for number in range(10):
                await bus.send(NOTE, sender="lead", to=names[7], id=f"n-{number}")
            await until(lambda: len(taken) == 10)
            await _end(tasks)
            return looks.by

    looks = run(play())
    others = sum(count for name, count in looks.items() if name != "dev-7")
    assert others <= 10, "whoever leaves an inbox that others share asks one of them to look, and nobody asks all"


@proves("notify/readers/shared-inbox")
def test_a_message_for_a_role_wakes_one_of_it_and_none_is_left_lying(tmp_path: Path) -> None:
    async def play() -> tuple[list[str], int]:
        async with hub(tmp_path) as bus:
            names = await joined(bus, "qa", 30)
            taken: list[str] = []
            looks = Looks(bus)
            tasks = [asyncio.create_task(take_all(bus, name, taken)) for name in names]
            await looks.until_all_wait(names)
            for number in range(40):
                await bus.send(NOTE, sender="lead", to="role:qa", id=f"n-{number}")
            await until(lambda: len(taken) == 40)
            await _end(tasks)
            return taken, looks.by.total()

    taken, looks = run(play())
    assert sorted(taken) == sorted(f"n-{number}" for number in range(40))
    assert looks <= 40 * 5, "once to take it, twice before it waits again, and one more that is asked on leaving"


@proves("notify/readers/gone-meanwhile")
def test_a_reader_gone_in_the_moment_it_is_woken_leaves_nothing_lying(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone: list[asyncio.Task[Any]] = []
    wake = SharedSubscription.wake

    def woken(self: SharedSubscription) -> None:
        wake(self)
        if gone:
            gone.pop().cancel()  # it is the first in the line, so it is the one that was woken

    async def play() -> list[str]:
        async with hub(tmp_path) as bus:
            await joined(bus, "qa", 2)
            looks = Looks(bus)
            first = asyncio.create_task(bus.receive("qa-0", wait=LONG * 2))
            await looks.until_all_wait(["qa-0"])
            second = asyncio.create_task(bus.receive("qa-1", wait=LONG * 2))
            await looks.until_all_wait(["qa-1"])
            monkeypatch.setattr(SharedSubscription, "wake", woken)
            gone.append(first)
            await bus.send(NOTE, sender="lead", to="role:qa", id="n-1")
            taken = await second
            assert first.cancelled()
            return [leased.message.id for leased in taken]

    assert run(play()) == ["n-1"]


@proves("notify/readers/other-name")
def test_an_inbox_named_like_a_role_is_left_to_who_comes_by_that_name(tmp_path: Path) -> None:
    async def play() -> list[str]:
        async with hub(tmp_path) as bus:
            await bus.join("kim", role="qa")  # reads what is for qa, while nobody is called so
            looks = Looks(bus)
            kim = asyncio.create_task(bus.receive("kim", wait=LONG * 2))
            await looks.until_all_wait(["kim"])
            await bus.join("qa")
            named = asyncio.create_task(bus.receive("qa", wait=LONG * 2))
            while looks.by["qa"] < 2:
                await asyncio.sleep(0)
            await bus.send(NOTE, sender="lead", to="qa", id="n-1")
            taken = await named
            await _end([kim])
            return [leased.message.id for leased in taken]

    assert run(play()) == ["n-1"]


@proves("notify/readers/other-process")
def test_what_another_process_sends_wakes_its_reader(tmp_path: Path) -> None:
    async def play() -> list[str]:
        async with hub(tmp_path) as bus, hub(tmp_path) as other:
            looks = Looks(bus)
            waiting = asyncio.create_task(bus.receive("lead", wait=LONG))
            await looks.until_all_wait(["lead"])
            await other.send(NOTE, sender="dev", to="lead", id="n-1")
            return [leased.message.id for leased in await waiting]

    assert run(play()) == ["n-1"]


@proves("notify/readers/backoff")
def test_what_was_given_back_comes_again_when_it_falls_due(tmp_path: Path) -> None:
    async def play() -> tuple[str, int]:
        async with hub(tmp_path) as bus:
            await bus.send(NOTE, sender="dev", to="role:qa", id="n-1")
            [leased] = await bus.receive("kim", role="qa")
            others = [asyncio.create_task(bus.receive(name, role="qa", wait=LONG)) for name in ("lee", "max")]
            await bus.nack(leased.token, agent="kim", reason="not mine")
            done, left = await asyncio.wait(others, return_when=asyncio.FIRST_COMPLETED)
            await _end(list(left))
            [again] = done.pop().result()
            return again.message.id, again.attempt

    assert run(play()) == ("n-1", 2)


@proves("notify/readers/lease-expired")
def test_what_another_has_let_lapse_comes_to_who_waits(tmp_path: Path) -> None:
    async def play() -> tuple[str, int]:
        async with hub(tmp_path) as bus:
            await bus.send(NOTE, sender="dev", to="role:qa", id="n-1")
            await bus.receive("kim", role="qa", lease=0.05)
            [again] = await bus.receive("lee", role="qa", wait=LONG)
            return again.message.id, again.attempt

    assert run(play()) == ("n-1", 2)


@proves("notify/readers/removed")
def test_who_is_taken_out_of_the_team_waits_no_longer(tmp_path: Path) -> None:
    async def play() -> None:
        async with hub(tmp_path) as bus:
            await bus.join("kim", role="qa")
            looks = Looks(bus)
            waiting = asyncio.create_task(bus.receive("kim", wait=LONG * 2))
            await looks.until_all_wait(["kim"])
            await bus.leave("kim")
            with pytest.raises(NotAMember):
                await waiting

    run(play())


@proves("notify/readers/closing")
def test_who_waits_when_the_bus_is_closed_is_told_so(tmp_path: Path) -> None:
    async def play() -> None:
        async with hub(tmp_path) as bus:
            looks = Looks(bus)
            waiting = asyncio.create_task(bus.receive("lead", wait=LONG * 2))
            await looks.until_all_wait(["lead"])
        with pytest.raises(StoreUnavailable):
            await waiting

    run(play())


@proves("notify/readers/store-away")
def test_who_waits_while_the_store_is_away_is_told_so_and_the_next_one_is_served(tmp_path: Path) -> None:
    async def play() -> list[str]:
        async with hub(tmp_path) as bus:
            looks, store = Looks(bus), _anything(bus.store)
            read, lease = store.read, store.lease

            async def away(*_: Any) -> Any:
                raise StoreUnavailable("the disk is gone")

            waiting = asyncio.create_task(bus.receive("lead", wait=LONG * 2))
            await looks.until_all_wait(["lead"])
            store.read = store.lease = away
            await bus.send(NOTE, sender="dev", to="lead", id="n-1")
            with pytest.raises(StoreUnavailable):
                await waiting
            store.read, store.lease = read, lease
            return [leased.message.id for leased in await bus.receive("lead", wait=LONG)]

    assert run(play()) == ["n-1"]


@proves("notify/requests/given-up")
def test_who_waits_for_an_answer_is_told_when_none_will_come(tmp_path: Path) -> None:
    async def play() -> None:
        async with hub(tmp_path) as bus:
            await bus.join("kim", role="qa")
            asking = asyncio.create_task(bus.request(NOTE, sender="lead", to="kim", timeout=LONG * 2))
            [leased] = await bus.receive("kim", wait=LONG)
            await bus.leave("kim")
            with pytest.raises(RequestFailed):
                await asking
            assert leased.message.sender == "lead"

    run(play())


@proves("notify/receipts/acked")
def test_who_waits_for_an_ack_is_told_when_it_comes(tmp_path: Path) -> None:
    async def play() -> str:
        async with hub(tmp_path) as bus:
            await bus.send(NOTE, sender="dev", to="lead", id="n-1")
            waiting = asyncio.create_task(bus.settled("n-1", sender="dev", until="acked", timeout=LONG * 2))
            [leased] = await bus.receive("lead")
            await bus.ack(leased.token, agent="lead")
            return (await waiting).state

    assert run(play()) == "acked"


@proves("notify/housekeeping/share")
def test_housekeeping_takes_a_tenth_of_the_time_and_no_more() -> None:
    clock, store = FakeClock(), _anything(MemoryStore())
    bus, began, steps = LocalBus(store, clock), clock.now(), 0

    async def slow(*_: Any, **__: Any) -> int:
        nonlocal steps
        steps += 1
        clock.leap(0.5)
        return 0

    store.maintain = slow
    while clock.now() < began + 50.0:
        run_sync(bus.sweep())
        clock.leap(0.25)
    assert steps == 10


def _anything(value: Any) -> Any:
    """To the type checker: a store in which a test may put something in the place of something else."""
    return value


async def _end(tasks: "list[asyncio.Task[Any]]") -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
