"""Kill -9 of senders and readers: forty kills here, two thousand in `make torture`."""

import pytest

from tests.crash.kills import finds, tortured
from tests.crash.verdict import ACKS_PER_KILL_MIN

pytestmark = pytest.mark.slow
MODULE, SEED = "tests.crash.kills", 20_262


def test_kills_lose_nothing_and_nothing_is_acked_twice_or_late() -> None:
    verdict = tortured(MODULE, 40, SEED)
    assert [verdict[name] for name in ("lost", "acked_twice", "late", "undone", "answered_wrongly")] == [[]] * 5
    assert verdict["integrity"] == "ok"
    assert verdict["acked"] >= ACKS_PER_KILL_MIN * verdict["kills"] == ACKS_PER_KILL_MIN * 40
    assert verdict["leases_lost"], "no ack came late, so none was refused"
    assert verdict["duplicates"], "nothing was in doubt, so nothing was sent twice"


@pytest.mark.parametrize(
    "plant, seen",
    [
        ("no-fencing", "late"),
        ("dedup-off", "acked_twice"),
        ("read-is-ack", "undone"),
        ("reply-apart", "answered_wrongly"),
    ],
)
def test_a_planted_bug_is_found_by_the_kills(plant: str, seen: str) -> None:
    assert finds(plant, MODULE, SEED, (25, 50, 100, 150), [seen])
