"""Order of the tests when pytest-xdist spreads them: each worker's share begins with one group of tests that wait.

xdist gives each worker one run of consecutive tests, and an idle worker steals from the end of another's. So servers
and browser are started by one worker each, groups that wait do so at the same time, and no worker ends with them.

This is a pytest plugin, loaded by `tests/conftest.py`.
"""

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

import pytest

T = TypeVar("T")
FOLDER = Path(__file__).parent
GROUPS = (("nats",), ("browser",), ("crash", "http_client"), ("clients", "cli", "mcp", "http"))  # folders of tests


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    workers = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
    items[:] = in_shares(items, workers, lambda item: group_of(item.path))


def group_of(path: Path) -> int | None:
    folder = path.relative_to(FOLDER).parts[0] if path.is_relative_to(FOLDER) else ""
    return next((number for number, folders in enumerate(GROUPS) if folder in folders), None)


def in_shares(items: Sequence[T], workers: int, group_of: Callable[[T], int | None]) -> list[T]:
    """The items in the order in which each worker's share begins with its groups."""
    if workers < 2:
        return list(items)
    groups: list[list[T]] = [[] for _ in range(workers)]
    others: list[T] = []
    for item in items:
        group = group_of(item)
        (others if group is None else groups[group % workers]).append(item)
    ordered: list[T] = []
    for number, waiting in enumerate(groups):
        end = share_end(len(items), workers, number)
        room = max(0, end - len(ordered) - len(waiting))
        ordered += [*waiting, *others[:room]]
        del others[:room]
    return [*ordered, *others]


def share_end(count: int, workers: int, number: int) -> int:
    """Where the share of a worker ends, as xdist divides the tests: the rest by the number of workers that are left."""
    end = 0
    for before in range(number + 1):
        end += (count - end) // (workers - before)
    return end
