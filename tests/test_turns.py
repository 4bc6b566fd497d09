"""Are one sender's messages kept in the order in which it sends them, also where it waits for none of them?"""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import telex
from telex.bus import sender_lock
from telex.bus.sender_lock import SenderLock
from telex.config import Settings
from telex.dialects.builtin.vbw_typed import BLOCKER_REPORT, EXECUTION_UPDATE
from telex.dialects.schema import Tree
from telex.model.roster import Member
from telex.ports.bus import Bus
from telex.ports.store import Query
from telex.stores.sqlite.store import SqliteStore
from tests.contract_team import contract, report, typed
from tests.proofs import proves

STORES = ["memory:", "telex.db"]


def run(tmp_path: Path, where: str, work: Any) -> Any:
    async def on_a_bus() -> Any:
        async with telex.connect(where if where == "memory:" else tmp_path / where, settings=Settings()) as bus:
            await bus.join("dev", role="dev")
            await bus.join("lead", role="lead")
            return await work(bus)

    return asyncio.run(on_a_bus())


async def in_order(bus: Bus) -> list[str]:
    """Everything that was said, in the order in which it was kept."""
    return [message.id async for event, message in bus.events(Query(kinds=("accepted",))) if message is not None]


async def all_at_once(bus: Bus, trees: list[Tree | str], sender: str, to: str) -> list[bool]:
    sent = (bus.send(_bytes(tree), sender=sender, to=to, id=_id(tree)) for tree in trees)
    return [receipt.accepted for receipt in await asyncio.gather(*sent)]


def _bytes(tree: Tree | str) -> bytes:
    return tree.encode() if isinstance(tree, str) else json.dumps(tree).encode()


def _id(tree: Tree | str) -> str | None:
    return tree.replace(" ", "-") if isinstance(tree, str) else None


def names(trees: list[Tree | str]) -> list[str]:
    return [_id(tree) or json.loads(_bytes(tree))["id"] for tree in trees]


@proves("bus/order/sender")
@pytest.mark.parametrize("where", STORES)
def test_nothing_overtakes_what_its_sender_said_before(tmp_path: Path, where: str) -> None:
    """Each plan is weighed against the ones before it, again whenever one of them was quicker; a note is not."""
    trees: list[Tree | str] = []
    for number in range(6):
        trees += [contract(f"P{number}"), f"note {number}", f"another {number}"]

    async def work(bus: Bus) -> list[str]:
        assert all(await all_at_once(bus, trees, "lead", "dev"))
        return await in_order(bus)

    assert run(tmp_path, where, work) == names(trees)


@proves("bus/order/sender")
@pytest.mark.parametrize("where", STORES)
def test_a_report_is_held_against_the_plan_sent_just_before_it(tmp_path: Path, where: str) -> None:
    async def work(bus: Bus) -> tuple[list[bool], list[bool]]:
        for number in range(4):  # so that the pair is known, and takes the quick way
            assert (await bus.send(_bytes(report(f"Q{number}")), sender="dev", to="lead")).accepted
        plan, within, beyond = contract("P"), report("P"), report("P", files=["etc/passwd"])
        both = [bus.send(_bytes(plan), sender="lead", to="dev")]
        kept = [receipt.accepted for receipt in await asyncio.gather(*both)]
        return kept, await all_at_once(bus, [within, beyond, report("P")], "dev", "lead")

    assert run(tmp_path, where, work) == ([True], [True, False, True])


@proves("bus/order/sender")
def test_who_stops_waiting_keeps_nobody_back(tmp_path: Path) -> None:
    """The caller of the second is gone while it waits for the first; the third is sent all the same."""

    async def work(bus: Bus) -> list[bool]:
        first, second, third = (
            asyncio.ensure_future(bus.send(_bytes(one), sender="lead", to="dev"))
            for one in (contract("P1"), contract("P2"), contract("P3"))
        )
        await asyncio.sleep(0)
        second.cancel()
        await asyncio.wait([second])
        return [second.cancelled(), (await first).accepted, (await third).accepted]

    assert run(tmp_path, "telex.db", work) == [True, True, True]


@proves("bus/order/sender")
def test_others_do_not_wait(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """While the lead's plan is weighed, which takes for ever here, dev's notes are kept."""

    async def work(bus: Bus) -> list[str]:
        for_ever = asyncio.Event()

        async def weighing(*_: Any) -> tuple[()]:
            await for_ever.wait()
            return ()

        monkeypatch.setattr("telex.bus.send.check_evidence", weighing)
        plan = asyncio.ensure_future(bus.send(_bytes(contract("P")), sender="lead", to="dev"))
        later = asyncio.ensure_future(bus.send(b"do you have it?", sender="lead", to="dev", id="later"))
        assert (await bus.send(b"all is well", sender="dev", to="lead", id="meanwhile")).accepted
        assert [plan.done(), later.done()] == [False, False]
        for_ever.set()
        assert all(receipt.accepted for receipt in await asyncio.gather(plan, later))
        return await in_order(bus)

    said = run(tmp_path, "telex.db", work)
    assert (said[0], said[2]) == ("meanwhile", "later")


@proves("bus/order/sender")
def test_the_quick_way_overtakes_nothing_either(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def work(bus: Bus) -> list[str]:
        for number in range(10):  # a pair that has talked for a while
            assert (await bus.send(_bytes(report(f"Q{number}")), sender="dev", to="lead")).accepted
        go_on = asyncio.Event()

        async def weighing(*_: Any) -> tuple[()]:
            await go_on.wait()
            return ()

        monkeypatch.setattr("telex.bus.send.check_evidence", weighing)
        first, second = typed(BLOCKER_REPORT, id="blocked"), typed(EXECUTION_UPDATE, id="update")
        blocked = asyncio.ensure_future(bus.send(_bytes(first), sender="dev", to="lead"))
        await asyncio.sleep(0)
        update = asyncio.ensure_future(bus.send(_bytes(second), sender="dev", to="lead"))
        for _ in range(5):  # turns of the loop, in which it would be kept
            await asyncio.sleep(0)
        assert not update.done()
        go_on.set()
        await asyncio.gather(blocked, update)
        return await in_order(bus)

    assert run(tmp_path, "telex.db", work)[-2:] == ["blocked", "update"]


@proves("bus/order/sender")
def test_nothing_is_overtaken_while_it_is_written_down_that_its_sender_is_here(tmp_path: Path) -> None:
    """After a long silence the first message has its sender written down as seen, and the next has not."""

    async def work() -> list[str]:
        store = SqliteStore.open(str(tmp_path / "telex.db"))
        for name in ("dev", "lead"):
            await store.upsert_member(Member(name, name, joined_at=1.0, seen_at=1.0), None)
        await store.close()
        async with telex.connect(tmp_path / "telex.db", settings=Settings()) as bus:
            await asyncio.gather(*(bus.send(b"note", sender="dev", to="lead", id=f"n{number}") for number in range(4)))
            return await in_order(bus)

    assert asyncio.run(work()) == ["n0", "n1", "n2", "n3"]


@proves("bus/order/sender")
@pytest.mark.parametrize("where", STORES)
def test_who_comes_with_several_messages_at_once_comes_once(tmp_path: Path, where: str) -> None:
    async def work(bus: Bus) -> tuple[list[str], int]:
        sent = (bus.send(b"note", sender="kim", role="dev", to="lead", id=f"n{number}") for number in range(4))
        await asyncio.gather(*sent)
        come = [event async for event, _ in bus.events(Query(kinds=("joined",))) if event.agent == "kim"]
        return await in_order(bus), len(come)

    assert run(tmp_path, where, work) == (["n0", "n1", "n2", "n3"], 1)


@proves("bus/order/sender")
@pytest.mark.parametrize("where", STORES)
@pytest.mark.parametrize("spelt", ["lead", "LEAD", " Lead "])
def test_what_is_sent_in_the_moment_in_which_others_may_go_on_is_behind_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, where: str, spelt: str
) -> None:
    """The third is sent just as the first is kept, when the second has been told to go on and has not yet."""

    async def work(bus: Bus) -> list[str]:
        go_on, third = asyncio.Event(), list[Any]()

        async def weighing(*_: Any) -> tuple[()]:
            await go_on.wait()
            third.append(asyncio.ensure_future(bus.send(b"third", sender=spelt, to="dev", id="third")))
            return ()

        monkeypatch.setattr("telex.bus.send.check_evidence", weighing)
        first = asyncio.ensure_future(bus.send(_bytes(contract("P")), sender="lead", to="dev"))
        await asyncio.sleep(0)
        second = asyncio.ensure_future(bus.send(b"second", sender=spelt, to="dev", id="second"))
        await asyncio.sleep(0)
        go_on.set()
        assert all(receipt.accepted for receipt in await asyncio.gather(first, second))
        assert (await third[0]).accepted
        return await in_order(bus)

    assert run(tmp_path, where, work)[1:] == ["second", "third"]


@proves("bus/order/sender")
@given(st.data())
def test_whoever_gives_up_waiting_at_whatever_moment_leaves_the_others_in_order(data: st.DataObject) -> None:
    """Some take their turn for some rounds of the loop, some only wait, some are called off."""
    members = st.tuples(st.integers(0, 3), st.one_of(st.none(), st.integers(0, 3)), st.one_of(st.none(), st.integers()))
    line = data.draw(st.lists(members, max_size=8))
    kept, called_off = list[int](), set[int]()

    async def send(turns: SenderLock, number: int, rounds: int | None) -> None:
        await turns.wait("dev")
        if rounds is None:
            kept.append(number)
            return
        await turns.acquire("dev")
        try:
            for _ in range(rounds):
                await asyncio.sleep(0)
            kept.append(number)
        finally:
            turns.release("dev")

    async def work() -> bool:
        turns, tasks = SenderLock(), list[asyncio.Task[None]]()
        for number, (pause, rounds, off) in enumerate(line):
            tasks.append(asyncio.ensure_future(send(turns, number, rounds)))
            for _ in range(pause):
                await asyncio.sleep(0)
            if off is not None and tasks[off % len(tasks)].cancel():
                called_off.add(off % len(tasks))
        await asyncio.wait_for(asyncio.gather(*tasks, return_exceptions=True), 10.0)
        await asyncio.sleep(0)
        return turns.is_taken("dev")

    assert not asyncio.run(work()), "nothing is under way any more"
    assert kept == sorted(kept)
    assert set(range(len(line))) - set(kept) <= called_off


@proves("bus/order/sender")
def test_those_who_wait_are_not_all_woken_for_every_one_who_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """A hundred plans at once: each waits its turn once, and perhaps once more behind one that was told with it."""
    waited, told = 0, sender_lock._told

    async def counted(line: Any) -> None:
        nonlocal waited
        waited += 1
        await told(line)

    async def one(line: SenderLock, number: int, done: list[int]) -> None:
        await line.wait("lead")
        await line.acquire("lead")
        await asyncio.sleep(0)
        done.append(number)
        line.release("lead")

    async def many() -> list[int]:
        line, done = SenderLock(), list[int]()
        await asyncio.gather(*(one(line, number, done) for number in range(100)))
        return done

    monkeypatch.setattr(sender_lock, "_told", counted)
    assert asyncio.run(many()) == [*range(100)]
    assert waited <= 300
