"""Order of one sender's messages: they are stored in the order of its calls, though it awaits none of them.

A store that groups its commits takes a decision into its queue when it is called. A report whose claims are looked up
in a repository is called later than it is sent, so what its sender sends meanwhile waits for it.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from telex.bus.local import LocalBus
from telex.clock import SteadyClock
from telex.dialects.builtin.vbw_typed import EXECUTION_UPDATE
from telex.dialects.schema import Tree
from telex.model.finding import Severity
from telex.ports.bus import Receipt
from telex.ports.environment import EvidenceResult
from telex.ports.store import Query
from telex.stores.memory import MemoryStore
from telex.stores.sqlite.store import SqliteStore
from tests.demo.story_settings import FEWER
from tests.proofs import proves
from tests.work.contract_team import contract, report, typed

STORES = ["memory", "sqlite"]


class SlowEvidence:
    """A repository that takes its time: `until` waits as long as a test wants, given the commit that is asked for."""

    contradicted: Severity = "warning"

    def __init__(self, until: Callable[[str], Awaitable[object]]) -> None:
        self.until = until

    async def of_commit(self, commit: str, files: tuple[str, ...]) -> EvidenceResult | None:
        await self.until(commit)
        return None

    async def of_files(self, files: tuple[str, ...]) -> EvidenceResult | None:
        return None


@asynccontextmanager
async def bus_on(kind: str, folder: Path, evidence: SlowEvidence | None = None) -> AsyncIterator[LocalBus]:
    path = str(folder / "telex.db")
    store = MemoryStore() if kind == "memory" else SqliteStore.open(path, durable=False, grouped=True)
    bus = LocalBus(store, SteadyClock(), evidence=evidence)
    await bus.join("dev", role="dev")
    await bus.join("lead", role="lead")
    yield bus
    await store.close()


async def in_order(bus: LocalBus) -> list[str]:
    """The ids of all messages, in the order in which they were stored."""
    return [message.id async for _, message in bus.events(Query(kinds=("accepted",))) if message is not None]


def send(bus: LocalBus, what: Tree | str, sender: str = "dev", to: str = "lead") -> "asyncio.Task[Receipt]":
    """A note, whose text is its id, or a typed message; its sender does not wait for it."""
    raw, id_ = (what.encode(), what) if isinstance(what, str) else (json.dumps(what).encode(), None)
    return asyncio.ensure_future(bus.send(raw, sender=sender, to=to, id=id_, check=False))


def claim(id_: str, commit: str = "abcdef0123") -> Tree:
    """A report on a commit, which is looked up."""
    return typed(EXECUTION_UPDATE, id=id_, commit=commit)


async def turns(count: int) -> None:
    for _ in range(count):
        await asyncio.sleep(0)


# --- one queue --------------------------------------------------------------------------------------------------------


@proves("bus/order/sender")
@pytest.mark.parametrize("kind", STORES)
def test_plans_and_notes_of_one_sender_are_stored_in_the_order_of_its_calls(tmp_path: Path, kind: str) -> None:
    """A plan is decided on the ones before it, and a note on nothing."""
    sent: list[Tree | str] = []
    for number in range(6):
        sent += [contract(f"P{number}"), f"note-{number}", f"another-{number}"]

    async def work() -> list[str]:
        async with bus_on(kind, tmp_path) as bus:
            receipts = await asyncio.gather(*(send(bus, what, "lead", "dev") for what in sent))
            assert all(receipt.accepted for receipt in receipts)
            return await in_order(bus)

    assert asyncio.run(work()) == [what if isinstance(what, str) else what["id"] for what in sent]


@proves("bus/order/sender")
@pytest.mark.parametrize("kind", STORES)
def test_a_report_is_decided_on_the_plan_that_was_sent_just_before_it(tmp_path: Path, kind: str) -> None:
    async def work() -> list[bool]:
        async with bus_on(kind, tmp_path) as bus:
            plan = send(bus, contract("P"), "lead", "dev")
            reports = [send(bus, report("P", files=files)) for files in ([], ["etc/passwd"], [])]
            return [receipt.accepted for receipt in await asyncio.gather(plan, *reports)]

    assert asyncio.run(work()) == [True, True, False, True]


@proves("bus/order/sender")
@pytest.mark.parametrize("kind", STORES)
def test_a_newcomer_that_sends_several_messages_at_once_joins_once(tmp_path: Path, kind: str) -> None:
    async def work() -> tuple[list[str], int]:
        async with bus_on(kind, tmp_path) as bus:
            notes = (bus.send(b"note", sender="kim", role="dev", to="lead", id=f"n{number}") for number in range(4))
            assert all(receipt.accepted for receipt in await asyncio.gather(*notes))
            joined = [event async for event, _ in bus.events(Query(kinds=("joined",))) if event.agent == "kim"]
            return await in_order(bus), len(joined)

    assert asyncio.run(work()) == (["n0", "n1", "n2", "n3"], 1)


@proves("bus/order/sender")
def test_a_caller_that_is_cancelled_before_the_commit_has_sent_nothing_and_delays_no_other(tmp_path: Path) -> None:
    async def work() -> tuple[bool, list[str]]:
        async with bus_on("sqlite", tmp_path) as bus:
            first, second, third = (send(bus, contract(f"P{number}"), "lead", "dev") for number in range(3))
            await asyncio.sleep(0)
            second.cancel()
            await asyncio.wait([second])
            stored = [(await first).id, (await third).id]
            assert await in_order(bus) == stored
            return second.cancelled(), stored

    cancelled, stored = asyncio.run(work())
    assert (cancelled, len(stored)) == (True, 2)


# --- slow evidence ----------------------------------------------------------------------------------------------------


@proves("bus/order/sender")
@pytest.mark.parametrize("kind", STORES)
@pytest.mark.parametrize("spelt", ["dev", "DEV", " Dev "])
def test_a_note_does_not_overtake_a_report_whose_evidence_is_slow(tmp_path: Path, kind: str, spelt: str) -> None:
    """Nor does one that is sent in the moment in which the evidence is there. Other senders do not wait."""

    async def work() -> list[str]:
        found, third = asyncio.Event(), list[asyncio.Task[Receipt]]()

        async def until(commit: str) -> None:
            await found.wait()
            third.append(send(bus, "third", spelt))

        async with bus_on(kind, tmp_path, SlowEvidence(until)) as bus:
            first, second = send(bus, claim("first")), send(bus, "second", spelt)
            assert (await send(bus, "meanwhile", "lead", "dev")).accepted
            await turns(5)
            assert [first.done(), second.done()] == [False, False]
            found.set()
            receipts = [await first, await second, await third[0]]
            assert all(receipt.accepted for receipt in receipts)
            return await in_order(bus)

    assert asyncio.run(work()) == ["meanwhile", "first", "second", "third"]


@proves("bus/order/sender")
@FEWER
@given(st.data())
def test_whoever_is_cancelled_at_whatever_moment_the_others_are_stored_in_order(data: st.DataObject) -> None:
    """Each send takes some turns of the event loop for its evidence, or none; some callers are cancelled."""
    one = st.tuples(st.none() | st.integers(0, 4), st.integers(0, 3), st.none() | st.integers(0, 9))
    sends = data.draw(st.lists(one, max_size=10))
    kind = data.draw(st.sampled_from(STORES))

    async def work(folder: Path) -> tuple[list[int], set[int]]:
        evidence = SlowEvidence(lambda commit: turns(int(commit[-1])))
        async with bus_on(kind, folder, evidence) as bus:
            tasks, cancelled = list[asyncio.Task[Receipt]](), set[int]()
            for number, (slow, pause, off) in enumerate(sends):
                what: Any = str(number) if slow is None else claim(str(number), f"abcdef{slow}")
                tasks.append(send(bus, what))
                await turns(pause)
                if off is not None and tasks[off % len(tasks)].cancel():
                    cancelled.add(off % len(tasks))
            await asyncio.wait_for(asyncio.gather(*tasks, return_exceptions=True), 10.0)
            assert not bus._sender._undecided, "nothing is under way any more"
            return [int(id_) for id_ in await in_order(bus)], cancelled

    with TemporaryDirectory(prefix="telex-order-") as folder:
        stored, cancelled = asyncio.run(work(Path(folder)))
    assert stored == sorted(stored)
    assert set(range(len(sends))) - set(stored) <= cancelled


@proves("bus/order/sender")
def test_a_sender_whose_evidence_fails_can_go_on(tmp_path: Path) -> None:
    async def until(commit: str) -> None:
        raise OSError("the repository is gone")

    async def work() -> list[str]:
        async with bus_on("sqlite", tmp_path, SlowEvidence(until)) as bus:
            [failed, note] = await asyncio.gather(send(bus, claim("u1")), send(bus, "n1"), return_exceptions=True)
            assert isinstance(failed, OSError)
            assert isinstance(note, Receipt)
            return await in_order(bus)

    assert asyncio.run(work()) == ["n1"]
