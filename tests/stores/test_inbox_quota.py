"""Does an inbox take as much as it may, and not one more, whoever puts it there and however it comes?"""

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest

from telex.bus import run_sync
from telex.model.message import WorkChange
from telex.ports.store import LeaseRequest, Settlement, Transaction, overdue_requests, settle
from telex.stores.sqlite.store import SqliteStore
from telex.testing.contract_base import append
from telex.testing.contract_messages import remind
from tests.stores.store_kit import NOW, SINCE, entry, outcomes

Open = Callable[[], SqliteStore]


@pytest.fixture
def open_(tmp_path: Path) -> Open:
    return lambda: SqliteStore.open(str(tmp_path / "telex.db"), durable=False)


def put(store: SqliteStore, count: int, *, inbox_max: int | None = 10, first: int = 0) -> list[str]:
    """As one group, as sends that come together are."""
    return outcomes(store, *(entry(f"m-{number}") for number in range(first, first + count)), inbox_max=inbox_max)


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
    leases = run_sync(store.lease(LeaseRequest(("lead",), "lead", NOW, NOW + 60.0, 4)))
    run_sync(
        settle(
            store,
            [Settlement(lease.delivery, "leased", "acked", NOW, "acked", "lead", lease.fence) for lease in leases],
        )
    )
    assert put(store, 5, first=20) == ["stored"] * 4 + ["inbox-full"]


def test_what_comes_along_in_the_same_group_counts(open_: Open) -> None:
    """Reports always find room, and take it from those behind them."""
    store = open_()
    put(store, 7)
    report = entry("report")._replace(sender="telex")
    reports = WorkChange(("work",), (report, report._replace(id="other")))

    def decide(tx: Transaction) -> list[str | None]:
        tx.append(entry("told", "qa")._replace(work_change=reports))
        tx.append(entry("unlimited"))
        return [tx.full_inbox(("lead",), 10) for _ in range(2)]

    async def together() -> list[str | None]:
        return await store.transaction(decide)

    assert run_sync(together()) == ["lead", "lead"]


def test_dead_letters_that_are_taken_up_again_count_and_so_do_reports_of_failures(open_: Open) -> None:
    store = open_()
    put(store, 4, inbox_max=4)
    leases = run_sync(store.lease(LeaseRequest(("lead",), "lead", NOW, NOW + 60.0, 4)))
    died = [Settlement(lease.delivery, "leased", "dead", NOW, "dead", fence=lease.fence) for lease in leases]
    run_sync(settle(store, died))
    assert put(store, 1, inbox_max=4, first=10) == ["stored"]
    [held] = run_sync(store.lease(LeaseRequest(("lead",), "lead", NOW, NOW + 60.0, 1)))
    report = Settlement(held.delivery, "leased", "dead", NOW, "dead", reports=(entry("report"),))
    again = [Settlement(lease.delivery, "dead", "stored", NOW, "retried") for lease in leases[:2]]
    run_sync(settle(store, [report, *again]))
    assert put(store, 2, inbox_max=4, first=20) == ["stored", "inbox-full"]


@pytest.mark.parametrize("grouped", [False, True])
def test_what_we_put_in_by_another_way_counts(tmp_path: Path, grouped: bool) -> None:
    """A request that is asked again lies there a second time."""

    async def asked_again() -> list[str]:
        store = SqliteStore.open(str(tmp_path / "telex.db"), durable=False, grouped=grouped)
        asking = entry("q")._replace(answer_by=NOW + 1.0)
        [stored] = await append(store, [asking], dedup_since=SINCE, inbox_max=3)
        [(ask, _, _)] = await store.read(overdue_requests, NOW + 2.0, 10)
        assert ask.message == stored.seq
        await remind(store, ask, NOW + 2.0, NOW + 9.0, inboxes=("lead",))
        later = [entry(f"m-{number}") for number in range(2)]
        results = await append(store, later, dedup_since=SINCE, inbox_max=3)
        await store.close()
        return [result.outcome for result in results]

    assert asyncio.run(asked_again()) == ["stored", "inbox-full"]
