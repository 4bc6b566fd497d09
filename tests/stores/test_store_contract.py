"""Do our own stores keep the contract that is asked of everybody's?"""

import asyncio
from collections.abc import Coroutine
from pathlib import Path
from typing import Any, TypeVar, cast

import pytest

from telex.ports.store import Store, settle
from telex.stores.memory import MemoryStore
from telex.stores.sqlite import caches
from telex.stores.sqlite.store import SqliteStore
from telex.testing import FakeClock, StoreContract
from telex.testing.contract_base import ids
from telex.testing.faulty_stores import BUGS

T = TypeVar("T")


class TestMemory(StoreContract):
    async def make(self) -> Store:
        return MemoryStore()


class TestSqlite(StoreContract):
    reopens = True

    async def make(self) -> Store:
        return SqliteStore.open(str(self.place / "a store, très joli.db"))


class TestSqliteWithAShortTail(TestSqlite):
    """Ids go into their index after a few messages and not after thousands, so that every promise meets both places."""

    @pytest.fixture(autouse=True)
    def _short(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(caches, "TAIL_MAX", 1)


class TestSqliteInGroups(TestSqlite):
    """What is asked for in one turn of an event loop shares a transaction."""

    async def make(self) -> Store:
        return SqliteStore.open(str(self.place / "store.db"), grouped=True)

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        return asyncio.run(work)

    async def test_what_is_sent_at_once_is_kept_once_each(self, store: Store) -> None:
        entries = [self.entry(f"m{number % 40}", "lead") for number in range(80)]
        sends = (self.append_one(store, entry, inbox_max=30) for entry in entries)
        outcomes = [result.outcome for result in await asyncio.gather(*sends)]
        assert outcomes == ["stored"] * 30 + ["inbox-full"] * 10 + ["duplicate"] * 30 + ["inbox-full"] * 10
        taken = await asyncio.gather(*(self.take(store, "lead", limit=7) for _ in range(6)))
        assert [ids(leases) for leases in taken if leases] == [
            [f"m{number}" for number in range(first, min(first + 7, 30))] for first in range(0, 30, 7)
        ]
        settled = await asyncio.gather(*(settle(store, [self.ack(one)]) for one in taken[0] * 2))
        assert [one.done for [one] in settled] == [True] * 7 + [False] * 7


# --- tests of the tests ----------------------------------------------------------------------------------------------


SHOW_LATE = {"lossy", "false-duplicate", "two-wakes", "late-wakes"}  # it takes a simulation


class NotATest(StoreContract):
    """The contract for a store with a flaw, run by hand."""

    def __init__(self, bug: str, place: Path) -> None:
        self.bug, self.place, self.clock = bug, place, FakeClock()

    async def make(self) -> Store:
        return cast(Store, BUGS[self.bug](MemoryStore()))


def broken_promises(bug: str, place: Path) -> list[str]:
    broken = []
    for name in dir(NotATest):
        if name.startswith("test_"):
            try:
                getattr(NotATest(bug, place), name)()
            except (AssertionError, ValueError):  # one thing was expected, and none or many came
                broken.append(name)
            except pytest.skip.Exception:
                continue
    return broken


@pytest.mark.parametrize("bug", sorted(set(BUGS) - SHOW_LATE))
def test_the_contract_finds_a_planted_bug(bug: str, tmp_path: Path) -> None:
    assert broken_promises(bug, tmp_path) != []
