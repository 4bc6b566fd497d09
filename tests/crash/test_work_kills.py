"""Do the rules of the work survive kill -9? Forty kills here; `make torture` makes five hundred.

The killing is done by a process of its own, which forks: a test process may have threads.
"""

import json
import subprocess
import sys
from typing import Any

import pytest

from tests.crash.work_verdict import SAID_PER_KILL_MIN
from tests.proofs import proves

pytestmark = pytest.mark.slow
SEED = 20_264
EVERY_DEED = {"contract", "progress", "ask", "answer", "move", "stop", "stopped", "signal", "dispatch"}
TOO_LATE = {"approval-answered", "sender-has-shut-down"}


def torture(kills: int, *more: str) -> dict[str, Any]:
    command = [sys.executable, "-m", "tests.crash.work_kills", "--kills", str(kills), "--seed", str(SEED), *more]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ran.stdout, ran.stderr
    verdict: dict[str, Any] = json.loads(ran.stdout)
    assert verdict["right"] is (ran.returncode == 0)
    return verdict


@proves("work/killed")
def test_whoever_is_killed_the_book_is_what_the_log_says_and_no_rule_was_broken() -> None:
    verdict = next((one for one in map(torture, (40, 80, 160)) if saw_enough(one) or not one["right"]), None)
    assert verdict is not None, "the processes never got into each other's way"
    broken = ("lost", "answered_twice", "after_its_end", "out_of_place", "sent_twice", "books_differ", "wrong_topics")
    assert {name: verdict[name] for name in broken} == {name: [] for name in broken}
    assert (verdict["integrity"], verdict["unfinished"]) == ("ok", 0)
    assert verdict["kept"] >= SAID_PER_KILL_MIN * verdict["kills"]


def saw_enough(verdict: dict[str, Any]) -> bool:
    """Was everything done, somebody too late, and a snapshot written? How the processes meet is up to the machine."""
    done, late = verdict["deeds"].keys() >= EVERY_DEED, verdict["refused"].keys() >= TOO_LATE
    return done and late and bool(verdict["snapshots"])


@pytest.mark.parametrize(
    "plant, seen",
    [("topics-ignored", ("answered_twice", "out_of_place", "wrong_topics")), ("stops-ignored", ("after_its_end",))],
)
def test_a_planted_bug_is_found_by_the_kills(plant: str, seen: tuple[str, ...]) -> None:
    """Few kills are usually enough. How the processes meet is up to the machine, so a run without luck is repeated."""
    for kills in (10, 20, 40, 80):
        verdict = torture(kills, "--plant", plant)
        if any(verdict[name] for name in seen):
            assert not verdict["right"]
            return
    raise AssertionError(f"{plant} went unnoticed")
