"""Kill -9 and the work rules: twenty kills here, five hundred in `make torture`."""

from typing import Any

import pytest

from tests.crash.kills import finds, tortured
from tests.crash.work_verdict import SAID_PER_KILL_MIN
from tests.proofs import proves

pytestmark = pytest.mark.slow
MODULE, SEED = "tests.crash.work_kills", 20_264
EVERY_DEED = {"contract", "progress", "ask", "answer", "move", "stop", "stopped", "signal", "dispatch"}
TOO_LATE = {"approval-answered", "sender-has-shut-down"}


@proves("work/killed")
def test_whoever_is_killed_the_book_is_what_the_log_says_and_no_rule_was_broken() -> None:
    verdicts = (tortured(MODULE, kills, SEED) for kills in (20, 80, 160))
    verdict = next((each for each in verdicts if saw_enough(each) or not each["right"]), None)
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
    assert finds(plant, MODULE, SEED, (10, 20, 40, 80), seen)
