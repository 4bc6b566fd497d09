"""Tests of the transaction promises of the store contract: planted stores break each of them and are found."""

import asyncio
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any, TypeVar
from unittest.mock import patch

import pytest

from telex.ports.store import Settlement, SettleResult, Store
from telex.stores.memory import MemoryStore
from telex.stores.sqlite import store as sqlite_store
from telex.stores.sqlite.store import SqliteStore
from telex.stores.sqlite.transaction import SqliteTransaction
from telex.testing import FakeClock
from telex.testing.store_contract import TransactionPromises
from tests.proofs import proves
from tests.stores.faulty_transactions import BLIND, COUNTERS, TABLES, TRANSACTION_BUGS

T = TypeVar("T")
Open = Callable[[str], Any]
PROMISES = {name for name in dir(TransactionPromises) if name.startswith("test_")}

BEFORE = "test_a_decision_that_raises_before_it_writes_leaves_nothing"
AFTER_ANY = "test_a_decision_that_raises_after_any_write_leaves_nothing"
AFTER_READ = "test_a_decision_that_raises_after_it_read_what_it_wrote_leaves_nothing"
AS_THE_FIRST = "test_a_message_after_a_rejected_one_is_stored_as_if_it_were_the_first"
ERROR = "test_the_error_of_a_decision_reaches_its_caller_and_no_other"
OTHERS = "test_the_others_of_its_commit_are_stored_and_it_is_not"
REPLACED = "test_a_rejected_decision_under_an_id_leaves_the_earlier_message_of_that_id_known"
NO_PLACE = "test_a_rejected_decision_takes_no_place_and_no_id"
READS = "test_a_decision_reads_what_it_has_written"
READS_EACH = "test_a_decision_reads_each_thing_right_after_it_has_written_it"
READS_NEXT = "test_the_next_decision_of_a_commit_reads_what_the_last_one_has_written"
READS_NO_REJECTED = "test_no_decision_of_a_commit_reads_what_a_rejected_one_has_written"
WINDOW = "test_a_message_of_the_same_commit_counts_as_earlier_only_within_the_window"
HELD = "test_a_decision_reads_what_is_held"
SETTLES = "test_a_decision_settles_a_lease_together_with_what_it_stores"
SETTLES_NEW = "test_a_decision_settles_a_delivery_that_it_has_not_read"
CHANGED = "test_a_decision_reads_which_topics_and_whether_members_have_changed"
CHANGED_NEXT = "test_what_the_last_decision_changed_is_named_or_before_the_position_of_the_next"
FORGET = "test_a_cache_forgets_after_a_rejected_decision_before_the_next_one_runs"
COMMITS = "test_a_cache_gets_every_commit_once_with_its_numbers"
COMMITS_FOLLOW = "test_the_commits_that_a_cache_gets_follow_each_other"
COMMITS_OTHERS = "test_a_cache_gets_commits_of_other_verbs_too"
ORDER = "test_decisions_run_in_the_order_in_which_they_were_submitted"
NUMBERS = "test_messages_are_numbered_in_the_order_of_their_decisions"
POSITION = "test_a_read_sees_what_was_committed_and_its_position"
SNAPSHOT = "test_the_reads_of_one_snapshot_see_nothing_that_is_written_meanwhile"

# By the fault in a store: the promises that find it.
FOUND_BY: dict[str, tuple[str, ...]] = {
    **{f"undo-leaves{name.replace('_', '-')}": (AFTER_ANY, AFTER_READ) for name in TABLES + COUNTERS},
    "undo-leaves-request-answered": (AFTER_ANY, AFTER_READ, READS_NO_REJECTED),
    "undo-forgets-replaced-ids": (REPLACED,),
    "settles-rejected": (AFTER_ANY, AFTER_READ, READS_NO_REJECTED, SETTLES),
    "stores-rejected": (SETTLES, AFTER_ANY, AFTER_READ, AS_THE_FIRST, OTHERS, NO_PLACE, READS_NO_REJECTED, FORGET),
    "fails-together": (BEFORE, ERROR, OTHERS),
    "undoes-together": (AS_THE_FIRST, OTHERS),
    "another-error": (ERROR,),
    "wrong-numbers": (AS_THE_FIRST, OTHERS),
    **{f"blind-{name.replace('_', '-')}": (READS,) for name in BLIND},
    "blind-earlier": (READS, WINDOW),
    "blind-deliveries": (READS, HELD),
    "blind-topics": (READS, CHANGED),
    "blind-events": (READS, CHANGED),
    "blind-changed": (CHANGED, COMMITS),
    "blind-next": (READS_NEXT,),
    "no-snapshot": (SNAPSHOT,),
    "old-position": (POSITION,),
    "never-forgets": (FORGET,),
    "never-committed": (COMMITS, COMMITS_FOLLOW, COMMITS_OTHERS),
    "committed-twice": (COMMITS, COMMITS_FOLLOW, COMMITS_OTHERS),
    "wrong-before": (COMMITS, COMMITS_FOLLOW, COMMITS_OTHERS),
    "wrong-after": (COMMITS, COMMITS_FOLLOW, COMMITS_OTHERS),
    "wrong-changes": (COMMITS, COMMITS_FOLLOW, COMMITS_OTHERS),
    "only-decisions": (COMMITS_OTHERS,),
    "last-first": (ORDER, NUMBERS, READS_NEXT),
    "runs-when-awaited": (ORDER,),
}


class PromisesByHand(TransactionPromises):
    """The promises for one store, run by hand."""

    def __init__(self, opened: Open, place: Path, *, reopens: bool = False) -> None:
        self._opened, self.place, self.clock, self.reopens = opened, place, FakeClock(), reopens
        self.place.mkdir(parents=True)

    async def make(self) -> Store:
        store: Store = self._opened(str(self.place))
        return store


class GroupedByHand(PromisesByHand):
    def run(self, work: Coroutine[Any, Any, T]) -> T:
        return asyncio.run(work)


def open_sqlite(folder: str) -> Store:
    return SqliteStore.open(f"{folder}/store.db", durable=False)


def open_grouped(folder: str) -> Store:
    return SqliteStore.open(f"{folder}/store.db", durable=False, grouped=True)


def is_broken(promises: PromisesByHand, name: str) -> bool:
    try:
        getattr(promises, name)()
    except Exception:
        return True
    return False


PROVED_BY: dict[str, tuple[str, ...]] = {
    "rejected": (BEFORE, AFTER_ANY, AFTER_READ),
    "settle": (SETTLES, SETTLES_NEW),
    "others": (OTHERS, ERROR),
    "numbers": (AS_THE_FIRST, NO_PLACE),
    "reads": (READS, READS_EACH, READS_NEXT, READS_NO_REJECTED, WINDOW, HELD, CHANGED, CHANGED_NEXT),
    "forget": (FORGET,),
    "committed": (COMMITS, COMMITS_FOLLOW, COMMITS_OTHERS),
    "order": (ORDER, NUMBERS),
    "snapshot": (POSITION, SNAPSHOT),
}


@pytest.mark.parametrize(
    "promise",
    [
        pytest.param(name, marks=proves(f"store/transaction/{line}"))
        for line, names in PROVED_BY.items()
        for name in names
    ],
)
def test_the_stores_keep_a_promise_of_transactions(promise: str, tmp_path: Path) -> None:
    kept = [
        PromisesByHand(open_sqlite, tmp_path / "sqlite", reopens=True),
        GroupedByHand(open_grouped, tmp_path / "grouped", reopens=True),
    ]
    if promise != SNAPSHOT:  # no other process can open it
        kept.append(PromisesByHand(lambda _: MemoryStore(), tmp_path / "memory"))
    for promises in kept:
        getattr(promises, promise)()


@pytest.mark.parametrize("bug", TRANSACTION_BUGS)
def test_a_planted_fault_of_a_transaction_is_found(bug: str, tmp_path: Path) -> None:
    found = [
        name
        for name in FOUND_BY[bug]
        if is_broken(PromisesByHand(TRANSACTION_BUGS[bug], tmp_path / name, reopens=bug == "no-snapshot"), name)
    ]
    assert found == list(FOUND_BY[bug])


# --- faults in the SQLite store --------------------------------------------------------------------------------------


def dropping_all_but(name: str) -> type[SqliteTransaction]:
    """Leaves one part of a rejected decision in the transaction."""

    class Planted(SqliteTransaction):
        def _drop_job(self) -> None:
            left = getattr(self, name)
            part = left.copy() if isinstance(left, (list, dict)) else left
            super()._drop_job()
            setattr(self, name, part)

    return Planted


class CachesNotForgotten(SqliteTransaction):
    def _drop_job(self) -> None:
        self._forget = lambda: None
        super()._drop_job()


class SettlesUnnoticed(SqliteTransaction):
    """Takes a decision that has settled a delivery for one whose rows are not in the file."""

    def settle(self, settlement: Settlement) -> SettleResult:
        in_file = self._in_file
        result = super().settle(settlement)
        self._in_file = in_file
        return result


class NeverRolledBack(SqliteTransaction):
    """Takes a decision whose rows are in the file for one whose rows are not."""

    @property
    def _in_file(self) -> bool:
        return False

    @_in_file.setter
    def _in_file(self, value: bool) -> None:
        return None


def not_flushing_for(name: str) -> type[SqliteTransaction]:
    """One of its reads does not see the rows that are gathered."""

    class Planted(SqliteTransaction):
        def flush(self) -> None:
            if not self.__dict__.get("_is_blind"):
                super().flush()

    def read(self: Any, *arguments: Any) -> Any:
        self._is_blind = True
        try:
            return getattr(SqliteTransaction, name)(self, *arguments)
        finally:
            self._is_blind = False

    setattr(Planted, name, read)
    return Planted


FLUSHING = ("messages", "pending_requests", "deliveries", "events", "topics", "count_open")
SQLITE_FOUND_BY: dict[str, tuple[type[SqliteTransaction], tuple[str, ...]]] = {
    "drop-leaves-messages": (dropping_all_but("_pending"), (OTHERS,)),
    "drop-leaves-events": (dropping_all_but("_events"), (OTHERS,)),
    "drop-leaves-topics": (dropping_all_but("_topics"), (OTHERS, READS_NO_REJECTED)),
    "drop-leaves-ids": (dropping_all_but("_accepted"), (NO_PLACE,)),
    "drop-leaves-changes": (dropping_all_but("changed"), (CHANGED_NEXT, COMMITS_FOLLOW)),
    "drop-leaves-numbers": (dropping_all_but("next"), (COMMITS_FOLLOW,)),
    "drop-forgets-nothing": (CachesNotForgotten, (FORGET,)),
    "settles-unnoticed": (SettlesUnnoticed, (AFTER_ANY,)),
    "never-rolled-back": (NeverRolledBack, (AFTER_ANY, AFTER_READ, OTHERS, SETTLES)),
    "no-flush-settle": (not_flushing_for("settle"), (SETTLES_NEW,)),
    **{f"no-flush-{name.replace('_', '-')}": (not_flushing_for(name), (READS_EACH,)) for name in FLUSHING},
}


@pytest.mark.parametrize("bug", SQLITE_FOUND_BY)
def test_a_planted_fault_of_the_sqlite_transaction_is_found(bug: str, tmp_path: Path) -> None:
    planted, promises = SQLITE_FOUND_BY[bug]
    with patch.object(sqlite_store, "SqliteTransaction", planted):
        found = [name for name in promises if is_broken(GroupedByHand(open_grouped, tmp_path / name), name)]
    assert found == list(promises)


def test_every_promise_of_transactions_finds_a_planted_fault() -> None:
    finding = [*FOUND_BY.values(), *(promises for _, promises in SQLITE_FOUND_BY.values())]
    assert PROMISES - {name for names in finding for name in names} == set()
