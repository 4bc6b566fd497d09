"""Tests of several buses on one file, each with its own store and cache, against one bus."""

import re
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st

from telex.bus import context as team_state
from telex.bus import run_sync
from telex.bus.context import TeamState
from telex.bus.local import LocalBus
from telex.model.limits import LIMITS
from telex.ports.store import Reads
from telex.stores.sqlite.store import SqliteStore
from telex.testing import FakeClock
from telex.validation.check import CheckPolicy
from tests.bus.bus_team import empty_store
from tests.bus.random_acts import HISTORIES, Act, history_of, play
from tests.proofs import proves

BUSES, SEEDS_FOR_A_FAULT = 3, 20
POLICIES = [CheckPolicy(), CheckPolicy(strict=False), CheckPolicy(limits=LIMITS._replace(inbox_max=3))]
SEEN = re.compile(r"seen_at=[\d.]+")  # each process writes it only now and then


def close(store: SqliteStore) -> None:
    run_sync(store.close())


def record(acts: list[Act], buses: int, seed: int, policy: CheckPolicy) -> str:
    """The record of these acts, each on one of so many buses."""
    clock, random = FakeClock(), Random(seed)
    with TemporaryDirectory(prefix="telex-buses-") as folder, ExitStack() as stack:
        path = Path(folder, "telex.db")
        path.write_bytes(empty_store())
        opened = []
        for _ in range(buses):
            store = SqliteStore.open(str(path), durable=False)
            stack.callback(close, store)
            opened.append(LocalBus(store, clock, policy=policy))
        return SEEN.sub("seen_at=…", run_sync(play(acts, opened, clock, choose=random.choice)))


@proves("store/processes/one-state")
@given(HISTORIES, st.integers(0, 10**6), st.sampled_from(POLICIES))
def test_acts_spread_over_three_buses_on_one_file_end_as_on_one(
    acts: list[Act], seed: int, policy: CheckPolicy
) -> None:
    assert record(acts, BUSES, seed, policy) == record(acts, 1, seed, policy)


# --- planted faults --------------------------------------------------------------------------------------------------


def never_catches_up() -> Any:
    """The cache takes what it read first for valid, whatever other processes have written since."""
    catch_up = TeamState._catch_up

    def faulty(self: TeamState, reads: Reads) -> None:
        if self._roster is None:
            catch_up(self, reads)
        self.position = reads.position

    return patch.object(TeamState, "_catch_up", faulty)


def ignores_topics() -> Any:
    return patch.object(TeamState, "_mark_outdated", lambda self, names: None)


def ignores_members() -> Any:
    catch_up = TeamState._catch_up

    def faulty(self: TeamState, reads: Reads) -> None:
        with patch.object(team_state, "roster_changed_since", lambda reads, position: False):
            catch_up(self, reads)

    return patch.object(TeamState, "_catch_up", faulty)


@pytest.mark.parametrize("plant", [never_catches_up, ignores_topics, ignores_members], ids=lambda plant: plant.__name__)
def test_a_cache_that_misses_what_another_process_wrote_is_found(plant: Callable[[], Any]) -> None:
    def is_found(seed: int) -> bool:
        acts = history_of(seed)
        expected = record(acts, 1, seed, POLICIES[0])
        try:
            with plant():
                return record(acts, BUSES, seed, POLICIES[0]) != expected
        except AssertionError:  # a bus has other topics than the log
            return True

    assert any(is_found(seed) for seed in range(SEEDS_FOR_A_FAULT))
