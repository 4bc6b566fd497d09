"""Simulated teams that stall, crash and repeat themselves: no violation, and every planted bug is found."""

from collections import Counter

import pytest

from telex.model.message import KINDS
from telex.testing.faulty_stores import BUGS
from telex.testing.simulator import SimulationRun, main, run

SEEDS_ON_MEMORY, SEEDS_ON_SQLITE, SEEDS_FOR_A_BUG = 50, 15, 40  # `make torture` plays 22,000
# Kinds of events that nobody in a simulated team causes.
NOT_SIMULATED = {"imported", "returned", "returned-to-sender", "stopped", "forced", "dissolved", "alerted"}

NOTICED = {  # by the bug: what the simulator says when it has found it
    "no-fencing": "without holding it",
    "no-late-acks": "and the lease is lost",
    "ack-after-nack": "without holding it",
    "no-dedup": "was stored twice",
    "read-is-ack": "which is not what its reader was told",
    "lossy": "is lost",
    "false-duplicate": "was called a duplicate",
    "last-in-first-out": "was offered in",
    "no-priorities": "was offered in",
    "no-reports": "got 0 of",
    "no-attempts": "its events give",
    "ack-forgotten": "was offered again after its ack",
    "other-bytes": "with other bytes",
    "two-hands": "two leases at once",
    "no-lease-expiry": "but its lease expired",
    "two-wakes": "was due, then due",
    "late-wakes": "which was read before",
}


def failures(runs: list[SimulationRun]) -> str:
    """Empty, or everything that went wrong and how to see it again."""
    return "\n\n".join(f"{run.report()}\nreplay: make torture SEED={run.seed}" for run in runs if run.violations)


@pytest.mark.slow
@pytest.mark.parametrize("first", range(0, 2 * SEEDS_ON_MEMORY, SEEDS_ON_MEMORY))
def test_teams_lose_nothing_are_told_nothing_false_and_see_every_kind_of_event(first: int) -> None:
    runs = [run(seed) for seed in range(first, first + SEEDS_ON_MEMORY)]
    assert failures(runs) == ""
    kinds = sum((one.kinds for one in runs), Counter[str]())
    assert set(KINDS) - NOT_SIMULATED - set(kinds) == set()
    assert kinds["acked"] > 10 * SEEDS_ON_MEMORY
    assert kinds["dead"] > SEEDS_ON_MEMORY / 2


@pytest.mark.slow
def test_teams_of_two_processes_on_one_file_lose_nothing() -> None:
    assert failures([run(seed, "sqlite") for seed in range(SEEDS_ON_SQLITE)]) == ""


@pytest.mark.parametrize("store", ["memory", "sqlite"])
def test_a_seed_tells_the_same_story_every_time(store: str) -> None:
    assert run(7, store) == run(7, store)
    assert run(7, store).history != run(8, store).history


def test_every_planted_bug_is_known_by_what_is_noticed() -> None:
    assert set(NOTICED) == set(BUGS)


@pytest.mark.parametrize("bug", BUGS)
def test_a_planted_bug_is_found(bug: str) -> None:
    runs = (run(seed, bug=bug) for seed in range(SEEDS_FOR_A_BUG))
    assert any(NOTICED[bug] in violation for one in runs for violation in one.violations)


def test_a_failure_prints_its_seed_and_how_it_came_to_it(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--seeds", "0:40", "--bug", "ack-forgotten"]) == 1
    printed = capsys.readouterr()
    assert "replay: python -m telex.testing.simulator --seeds" in printed.err
    assert "was offered again after its ack" in printed.out
    assert "accepted id-" in printed.out


def test_a_good_run_says_what_it_has_seen(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--seeds", "3"]) == 0
    assert "0 seeds failed" in capsys.readouterr().out
