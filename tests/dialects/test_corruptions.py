"""The corpus of corrupted messages: how many are fixed, that no fix is wrong and that no message is lost in silence."""

from collections import Counter

import pytest

from tests.dialects.corruption_kinds import KINDS
from tests.dialects.corruptions import COUNT, corpus, counted, totals
from tests.proofs import proves

SAMPLE = 5 * len(KINDS)


@proves("common/fixes/corpus")
@pytest.mark.parametrize("count, seed", [(SAMPLE, 4), pytest.param(COUNT, 15, marks=pytest.mark.slow)])
def test_no_fix_is_wrong_no_message_is_silent_and_nearly_all_are_fixed_in_one_turn(count: int, seed: int) -> None:
    counts = counted(corpus(count, seed))
    assert counts.keys() == KINDS.keys()
    found = totals(counts)
    every = sum(found.values(), Counter[str]())
    assert {name: outcomes for name, outcomes in counts.items() if outcomes["wrong"] or outcomes["silent"]} == {}
    assert found["yes"]["right"] >= 0.95 * found["yes"].total()
    assert every["stuck"] <= 0.03 * (every["none"] + every["stuck"])
