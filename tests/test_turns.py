"""Are one sender's messages kept in the order in which it sends them, also where it waits for none of them?"""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

import telex
from telex.config import Settings
from telex.dialects.spec import Tree
from telex.dialects.vbw_typed import BLOCKER_REPORT, EXECUTION_UPDATE
from telex.ports.bus import Bus
from telex.ports.store import Query
from tests.contract_team import contract, report, typed
from tests.proofs import proves

STATES = ["memory:", "telex.db"]


def run(tmp_path: Path, where: str, work: Any) -> Any:
    async def on_a_bus() -> Any:
        async with telex.connect(where if where == "memory:" else tmp_path / where, settings=Settings()) as bus:
            await bus.join("dev", role="dev")
            await bus.join("lead", role="lead")
            return await work(bus)

    return asyncio.run(on_a_bus())


def in_order(bus: Bus) -> Any:
    """Everything that was said, in the order in which it was kept."""

    async def said() -> list[str]:
        return [message.id async for event, message in bus.events(Query(kinds=("accepted",))) if message is not None]

    return said()


async def all_at_once(bus: Bus, trees: list[Tree | str], sender: str, to: str) -> list[bool]:
    sent = (bus.send(_bytes(tree), sender=sender, to=to, id=_id(tree)) for tree in trees)
    return [receipt.accepted for receipt in await asyncio.gather(*sent)]


def _bytes(tree: Tree | str) -> bytes:
    return tree.encode() if isinstance(tree, str) else json.dumps(tree).encode()


def _id(tree: Tree | str) -> str | None:
    return tree.replace(" ", "-") if isinstance(tree, str) else None


def names(trees: list[Tree | str]) -> list[str]:
    return [_id(tree) or tree["id"] for tree in trees]  # type: ignore[index]


@proves("bus/order/sender")
@pytest.mark.parametrize("where", STATES)
def test_nothing_overtakes_what_its_sender_said_before(tmp_path: Path, where: str) -> None:
    """Each plan is weighed against the ones before it, again whenever one of them was quicker; a note is not."""
    trees: list[Tree | str] = []
    for number in range(6):
        trees += [contract(f"P{number}"), f"note {number}", f"another {number}"]

    async def work(bus: Bus) -> list[str]:
        assert all(await all_at_once(bus, trees, "lead", "dev"))
        return await in_order(bus)  # type: ignore[no-any-return]

    assert run(tmp_path, where, work) == names(trees)


@proves("bus/order/sender")
@pytest.mark.parametrize("where", STATES)
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

        monkeypatch.setattr("telex.bus.sending.look_for_evidence", weighing)
        plan = asyncio.ensure_future(bus.send(_bytes(contract("P")), sender="lead", to="dev"))
        later = asyncio.ensure_future(bus.send(b"do you have it?", sender="lead", to="dev", id="later"))
        assert (await bus.send(b"all is well", sender="dev", to="lead", id="meanwhile")).accepted
        assert [plan.done(), later.done()] == [False, False]
        for_ever.set()
        assert all(receipt.accepted for receipt in await asyncio.gather(plan, later))
        return await in_order(bus)  # type: ignore[no-any-return]

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

        monkeypatch.setattr("telex.bus.sending.look_for_evidence", weighing)
        first, second = typed(BLOCKER_REPORT, id="blocked"), typed(EXECUTION_UPDATE, id="update")
        blocked = asyncio.ensure_future(bus.send(_bytes(first), sender="dev", to="lead"))
        await asyncio.sleep(0)
        update = asyncio.ensure_future(bus.send(_bytes(second), sender="dev", to="lead"))
        for _ in range(5):  # turns of the loop, in which it would be kept
            await asyncio.sleep(0)
        assert not update.done()
        go_on.set()
        await asyncio.gather(blocked, update)
        return await in_order(bus)  # type: ignore[no-any-return]

    assert run(tmp_path, "telex.db", work)[-2:] == ["blocked", "update"]
