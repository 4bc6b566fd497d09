"""Does kill -9 lose anything? Two hundred kills here; `make torture` makes two thousand.

The killing is done by a process of its own, which forks: a test process may have threads.
"""

import json
import subprocess
import sys
from typing import Any

import pytest

from tests.crash.verdict import ACKS_PER_KILL_MIN

pytestmark = pytest.mark.slow
SEED = 20_262


def torture(kills: int, *more: str) -> dict[str, Any]:
    command = [sys.executable, "-m", "tests.crash.kills", "--kills", str(kills), "--seed", str(SEED), *more]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ran.stdout, ran.stderr
    verdict: dict[str, Any] = json.loads(ran.stdout)
    assert verdict["kept"] is (ran.returncode == 0)
    return verdict


def test_two_hundred_kills_lose_nothing_and_nothing_is_acked_twice_or_late() -> None:
    verdict = torture(200)
    assert {name: verdict[name] for name in ("lost", "acked_twice", "late", "undone", "integrity")} == {
        "lost": [],
        "acked_twice": [],
        "late": [],
        "undone": [],
        "integrity": "ok",
    }
    assert verdict["acked"] >= ACKS_PER_KILL_MIN * verdict["kills"] == ACKS_PER_KILL_MIN * 200
    assert verdict["leases_lost"], "no ack came late, so none was refused"
    assert verdict["duplicates"], "nothing was in doubt, so nothing was sent twice"


@pytest.mark.parametrize(
    "plant, seen", [("no-fencing", "late"), ("dedup-off", "acked_twice"), ("read-is-ack", "undone")]
)
def test_a_planted_bug_is_found_by_the_kills(plant: str, seen: str) -> None:
    """Few kills are usually enough. How the processes meet is up to the machine, so a run without luck is repeated."""
    for kills in (25, 50, 100, 150):
        verdict = torture(kills, "--plant", plant)
        if verdict[seen]:
            assert not verdict["kept"]
            return
    raise AssertionError(f"{plant} went unnoticed")
