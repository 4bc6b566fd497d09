"""Is what was promised there after a power cut? A hundred cuts here; `make torture` makes a thousand."""

import asyncio
from pathlib import Path

import pytest

from telex.stores.sqlite import SqliteStore
from tests.crash.power import NAME, Outcome, record_writer, simulate
from tests.crash.syscalls import STRACE, Act, Create, Promise, Sync, Unlink

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(STRACE is None, reason="NOT CHECKED: no power cut was simulated; needs strace"),
]
SEED = 20_261


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("power")


@pytest.fixture(scope="module")
def acts(folder: Path) -> list[Act]:
    return record_writer(folder)


@pytest.fixture(scope="module")
def outcome(acts: list[Act]) -> Outcome:
    return simulate(acts, points=100, seed=SEED)


def test_a_hundred_power_cuts_lose_nothing_and_harm_no_store(outcome: Outcome) -> None:
    assert len(outcome.cases) == 100
    assert outcome.broken == []
    assert max(case.promises for case in outcome.cases) > 1000


def test_the_run_that_is_cut_does_all_that_a_store_does(acts: list[Act], folder: Path) -> None:
    """A first start, checkpoints in the middle of the work, pruning, the ballast, and a second opening."""
    promised = [number for number, act in enumerate(acts) if isinstance(act, Promise)]
    at_work = acts[promised[0] : promised[-1]]
    assert any(isinstance(act, Sync) and act.name == NAME for act in at_work), "no checkpoint"
    assert any(isinstance(act, Unlink) and act.name == f"{NAME}-wal" for act in at_work), "not opened again"
    assert {act.name for act in acts if isinstance(act, Create)} >= {NAME, f"{NAME}-wal", f"{NAME}-ballast"}
    assert any(isinstance(act, Sync) and act.name == "." for act in acts[: promised[0]]), "the folder was not synced"
    assert asyncio.run(pruned(folder / "store" / NAME))


async def pruned(path: Path) -> bool:
    store = SqliteStore.open(str(path))
    try:
        return not await store.find("old-0")
    finally:
        await store.close()


@pytest.mark.parametrize("synchronous", ["NORMAL", "OFF"])
def test_a_store_that_promises_before_it_syncs_is_found_out(synchronous: str, tmp_path: Path) -> None:
    outcome = simulate(record_writer(tmp_path, synchronous, messages=320), points=15, seed=SEED)
    assert any(case.lost for case in outcome.broken)
