"""Does an inbox take as much as it may, and not one more, whoever puts it there and however it comes?"""

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from telex.bus.run_sync import run_sync
from telex.model.message import WorkChange
from telex.ports.store import Settlement
from telex.stores.sqlite.store import SqliteStore
from tests.store_kit import NOW, entry

Open = Callable[[], SqliteStore]


@pytest.fixture
def open_(tmp_path: Path) -> Open:
    return lambda: SqliteStore.open(str(tmp_path / "telex.db"), durable=False)


def put(store: SqliteStore, count: int, *, inbox_max: int | None = 10, first: int = 0) -> Sequence[str]:
    """As one group, as sends that come together are."""
    entries = [entry(f"m-{number}", inbox_max=inbox_max) for number in range(first, first + count)]
    return [one.outcome for one in run_sync(store.append(entries))]


def test_an_inbox_takes_what_it_may_and_not_one_more(open_: Open) -> None:
    store = open_()
    assert put(store, 9) == ["stored"] * 9
    assert put(store, 3, first=9) == ["stored", "inbox-full", "inbox-full"]


def test_what_others_have_put_in_counts(open_: Open) -> None:
    first, second = open_(), open_()
    put(first, 4)
    put(second, 5, first=4)
    assert put(first, 3, first=20) == ["stored", "inbox-full", "inbox-full"]


def test_what_is_put_in_whatever_the_limit_counts_for_those_who_have_one(open_: Open) -> None:
    store = open_()
    put(store, 1)
    put(store, 8, inbox_max=None, first=10)
    assert put(store, 3, first=30) == ["stored", "inbox-full", "inbox-full"]
    assert put(store, 1, inbox_max=5, first=40) == ["inbox-full"]


def test_a_place_that_was_freed_is_found(open_: Open) -> None:
    store = open_()
    assert put(store, 10) == ["stored"] * 10
    leases = run_sync(store.lease(("lead",), "lead", NOW, NOW + 60.0, 4))
    run_sync(
        store.settle(
            [Settlement(lease.delivery, "leased", "acked", NOW, "acked", "lead", lease.fence) for lease in leases]
        )
    )
    assert put(store, 5, first=20) == ["stored"] * 4 + ["inbox-full"]


def test_what_comes_along_in_the_same_group_counts(open_: Open) -> None:
    """Reports always find room, and take it from those behind them."""
    store = open_()
    put(store, 7)
    report = entry("report")._replace(sender="telex", dedup_since=None)
    told = entry("told", "qa", 10)._replace(
        work_change=WorkChange(("work",), (), (report, report._replace(id="other")))
    )
    group = [told, entry("unlimited"), *(entry(f"n-{number}", inbox_max=10) for number in range(2))]
    assert [one.outcome for one in run_sync(store.append(group))] == ["stored", "stored", "inbox-full", "inbox-full"]


@pytest.mark.parametrize("grouped", [False, True])
def test_what_we_put_in_by_another_way_counts(tmp_path: Path, grouped: bool) -> None:
    """A request that is asked again lies there a second time."""

    async def asked_again() -> list[str]:
        store = SqliteStore.open(str(tmp_path / "telex.db"), durable=False, grouped=grouped)
        asking = entry("q", inbox_max=3)._replace(answer_by=NOW + 1.0)
        [kept] = await store.append([asking])
        [(ask, _, _)] = await store.overdue(NOW + 2.0, 10)
        assert ask.message == kept.seq
        await store.remind(ask, NOW + 2.0, NOW + 9.0, ("lead",), "{}")
        later = [entry(f"m-{number}", inbox_max=3) for number in range(2)]
        outcomes: list[str] = [one.outcome for one in await store.append(later)]
        await store.close()
        return outcomes

    assert asyncio.run(asked_again()) == ["stored", "inbox-full"]
