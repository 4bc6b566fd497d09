"""Tests that every decision of a bus can run again: each runs twice, first undone, and the bus answers the same."""

import asyncio
import importlib
import os
from collections.abc import Callable
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from telex.bus import run_sync
from telex.bus.context import TeamState
from telex.bus.decision import Decision
from telex.bus.local import LocalBus
from telex.model.limits import LIMITS
from telex.ports.store import Store
from telex.stores.memory import MemoryStore
from telex.stores.sqlite.store import SqliteStore
from telex.testing import FakeClock
from telex.testing.faulty_stores import DecideTwice, decide_twice
from telex.testing.simulator import run
from telex.validation.check import CheckPolicy
from tests.bus.bus_team import empty_store
from tests.bus.random_acts import HISTORIES, Act, history_of, masked, play
from tests.demo.story_settings import FEWER
from tests.proofs import proves

POLICIES = [CheckPolicy(), CheckPolicy(strict=False), CheckPolicy(limits=LIMITS._replace(inbox_max=3))]
SEEDS_ON_MEMORY, SEEDS_ON_SQLITE, SEEDS_FOR_A_FAULT = 10, 2, 20
# Modules of tests that are run again on a store that decides twice: what belongs to a message, and the work rules.
CORE = (
    "bus.test_ledger_bus_requests", "bus.test_ledger_bus_receipts", "work.test_contracts", "bus.test_approvals",
    "work.test_tasks", "bus.test_bus_edges",
)  # fmt: skip
MORE = ("work.test_tasks_work", "bus.test_shutdown", "bus.test_escalation", "work.test_pipeline")
IS_LONG = os.environ.get("TELEX_PROFILE") == "long"


def record(acts: list[Act], store: Store, policy: CheckPolicy) -> str:
    clock = FakeClock()
    return run_sync(play(acts, [LocalBus(store, clock, policy=policy)], clock))


def on_memory(acts: list[Act], policy: CheckPolicy, *, twice: bool) -> str:
    return record(acts, cast(Store, DecideTwice(MemoryStore())) if twice else MemoryStore(), policy)


def on_sqlite(acts: list[Act], policy: CheckPolicy, *, twice: bool) -> str:
    """Grouped: both runs of a decision are in one commit, unless the first has reached the file."""

    async def played(path: Path) -> str:
        path.write_bytes(empty_store())
        clock, store = FakeClock(), SqliteStore.open(str(path), durable=False, grouped=True)
        try:
            chosen = cast(Store, DecideTwice(store)) if twice else store
            return await play(acts, [LocalBus(chosen, clock, policy=policy)], clock)
        finally:
            await store.close()

    with TemporaryDirectory(prefix="telex-twice-") as folder:
        return asyncio.run(played(Path(folder, "telex.db")))


@proves("store/decision/again")
@FEWER
@given(HISTORIES, st.sampled_from(POLICIES))
def test_a_bus_whose_decisions_run_twice_answers_and_stores_the_same(acts: list[Act], policy: CheckPolicy) -> None:
    assert on_memory(acts, policy, twice=True) == on_memory(acts, policy, twice=False)


@proves("store/decision/again")
@FEWER
@given(HISTORIES, st.sampled_from(POLICIES))
def test_a_bus_on_a_file_whose_decisions_run_twice_answers_and_stores_the_same(
    acts: list[Act], policy: CheckPolicy
) -> None:
    assert on_sqlite(acts, policy, twice=True) == on_sqlite(acts, policy, twice=False)


@pytest.mark.parametrize("store, seeds", [("memory", SEEDS_ON_MEMORY), ("sqlite", SEEDS_ON_SQLITE)])
def test_a_simulated_team_whose_decisions_run_twice_has_the_same_history(store: str, seeds: int) -> None:
    for seed in range(seeds):
        twice, once = run(seed, store, twice=True), run(seed, store)
        assert twice.violations == []
        assert masked((twice.history, twice.kinds)) == masked((once.history, once.kinds))


# --- planted faults --------------------------------------------------------------------------------------------------


def keeps_topics(monkeypatch: pytest.MonkeyPatch) -> None:
    """The cache keeps the topics of a decision that was undone."""
    forget = TeamState.forget

    def faulty(self: TeamState) -> None:
        topics = self.__dict__.get("_topics", {})
        forget(self)
        self._topics = topics

    monkeypatch.setattr(TeamState, "forget", faulty)


def keeps_everything(monkeypatch: pytest.MonkeyPatch) -> None:
    forget = TeamState.forget

    def faulty(self: TeamState) -> None:
        if not hasattr(self, "_topics"):
            forget(self)

    monkeypatch.setattr(TeamState, "forget", faulty)


def counts_outside(monkeypatch: pytest.MonkeyPatch) -> None:
    """A decision counts sends in the cache, which does not forget the count, and refuses each fourth."""
    make = Decision.make.__func__  # type: ignore[attr-defined]

    def faulty(cls: type[Decision], context: Any, prepared: Any, tx: Any) -> Any:
        context.team.sends = getattr(context.team, "sends", 0) + 1
        if context.team.sends % 4 == 0:
            prepared = prepared._replace(request=prepared.request._replace(to="nobody"))
        return make(cls, context, prepared, tx)

    monkeypatch.setattr(Decision, "make", classmethod(faulty))


def remembers_ids(monkeypatch: pytest.MonkeyPatch) -> None:
    """A decision remembers outside the store which ids were sent."""
    known: dict[int, set[str]] = {}
    check = Decision._check_duplicate

    def faulty(self: Decision) -> Any:
        ids = known.setdefault(id(self._context), set())
        is_known = self._id in ids
        ids.add(self._id)
        return self._refuse(()) if is_known else check(self)

    monkeypatch.setattr(Decision, "_check_duplicate", faulty)


FAULTS = [keeps_topics, keeps_everything, counts_outside, remembers_ids]


@pytest.mark.parametrize("plant", FAULTS, ids=lambda plant: plant.__name__)
def test_a_decision_that_changes_something_outside_its_transaction_is_found(
    plant: Callable[[pytest.MonkeyPatch], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    plant(monkeypatch)
    histories = [history_of(seed) for seed in range(SEEDS_FOR_A_FAULT)]
    assert any(
        on_memory(acts, POLICIES[0], twice=True) != on_memory(acts, POLICIES[0], twice=False) for acts in histories
    )


# --- the tests of the bus, on a store that decides twice -------------------------------------------------------------


@pytest.fixture(autouse=True)
def deciding_twice(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.node.originalname.startswith("test_twice_"):
        once = SqliteStore.transaction

        def transaction(self: SqliteStore, decide: Callable[[Any], Any], **options: Any) -> Any:
            return decide_twice(partial(once, self), decide, **options)

        monkeypatch.setattr(SqliteStore, "transaction", transaction)


def again(module: str) -> dict[str, Any]:
    """The tests of a module by another name, and its fixtures by their own."""
    names = vars(importlib.import_module(f"tests.{module}"))
    tests = {
        name.replace("test_", f"test_twice_{module.replace('.', '_')}_", 1): test
        for name, test in names.items()
        if name.startswith("test_")
    }
    return {name: one for name, one in names.items() if type(one).__name__ == "FixtureFunctionDefinition"} | tests


for core in (*CORE, *(MORE if IS_LONG else ())):
    vars().update(again(core))
