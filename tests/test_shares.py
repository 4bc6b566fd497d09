"""Order of the tests when they are spread over several processes."""

import pytest

from tests.conftest import ROOT
from tests.shares import GROUPS, group_of, in_shares, share_end

ITEMS = [*("other " * 60).split(), *("nats " * 9).split(), *("browser " * 5).split(), *("crash " * 4).split(), "cli"]
PLACES = {"nats": 0, "browser": 1, "crash": 2, "cli": 3}


@pytest.mark.parametrize("workers", [2, 3, 4, 6])
def test_each_share_begins_with_its_groups_and_every_test_is_in_one(workers: int) -> None:
    ordered = in_shares(ITEMS, workers, PLACES.get)
    assert sorted(ordered) == sorted(ITEMS)
    begins = [0, *(share_end(len(ITEMS), workers, number) for number in range(workers))]
    assert begins[-1] == len(ITEMS)
    for name, place in PLACES.items():
        assert name in ordered[begins[place % workers] :][: ITEMS.count(name) + 9]


def test_one_process_runs_them_in_the_order_of_their_files() -> None:
    assert in_shares(ITEMS, 1, PLACES.get) == ITEMS


def test_the_folders_of_the_groups_are_there() -> None:
    for number, folders in enumerate(GROUPS):
        for folder in folders:
            assert (ROOT / "tests" / folder).is_dir()
            assert group_of(ROOT / "tests" / folder / "test_x.py") == number
    assert group_of(ROOT / "tests/test_x.py") is None
