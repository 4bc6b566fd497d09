"""Is what was promised there after a power cut? Twenty cuts here, a thousand in `make torture`."""

import asyncio
from pathlib import Path
from random import Random

import pytest

from telex.ports.store import find_messages
from telex.stores.sqlite.store import SqliteStore
from tests.crash.power import NAME, Outcome, cases_of, record_writers, simulate
from tests.crash.power_mutations import PLANTS
from tests.crash.syscalls import STRACE, Act, Create, Promise, Sync, Unlink, Write

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
    return record_writers(folder)


@pytest.fixture(scope="module")
def outcome(acts: list[Act]) -> Outcome:
    return simulate(acts, points=20, seed=SEED)


def test_power_cuts_lose_nothing_and_harm_no_store(outcome: Outcome) -> None:
    assert len(outcome.cases) == 20
    assert outcome.broken == []
    assert max(case.promises for case in outcome.cases) > 1000


def test_the_run_that_is_cut_does_all_that_a_store_does(acts: list[Act], folder: Path) -> None:
    """A first start, checkpoints in the middle of the work, pruning, the ballast, and a second beginning."""
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
        return not await store.read(find_messages, "old-0")
    finally:
        await store.close()


def test_the_processes_that_are_cut_get_in_between_each_other(acts: list[Act]) -> None:
    """What one commits is seen, and written after, by others before it is synced; and all are promised something."""
    overtaken = [
        act
        for number, act in enumerate(acts)
        if isinstance(act, Sync) and any(isinstance(other, Write) for other in acts[act.since : number])
    ]
    assert len(overtaken) > 50
    promised = [act.text.split() for act in acts if isinstance(act, Promise)]
    assert {id_.split("-")[2] for verb, id_ in promised if verb == "sent"} == {"many", "few", "alone"}
    assert sum(verb == "acked" for verb, _ in promised) > 300


@pytest.mark.parametrize("plant", PLANTS)
def test_a_store_that_promises_what_is_not_on_disk_is_found_out(plant: str, tmp_path: Path) -> None:
    acts = record_writers(tmp_path, plant, messages=200)
    assert any(case.lost for case in cases_of(acts, points=100, random=Random(SEED)))
