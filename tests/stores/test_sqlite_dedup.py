"""Deduplication in the SQLite store: ids in memory, in the index, and written by other processes."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from telex.bus import run_sync
from telex.errors import StoreFull
from telex.model.message import WorkChange
from telex.ports.store import find_messages
from telex.stores.sqlite import caches
from telex.stores.sqlite.store import SqliteStore
from telex.stores.sqlite.transaction import SqliteTransaction
from telex.testing.contract_base import append
from tests.stores.store_kit import NOW, SINCE, entry, full_at_first, outcomes

Open = Callable[[], SqliteStore]


@pytest.fixture
def open_(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Open:
    """Everything that happens after thousands of messages happens here after a few."""
    monkeypatch.setattr(caches, "TAIL_MAX", 3)
    monkeypatch.setattr(caches, "LEFT_MAX", 3)
    return lambda: SqliteStore.open(str(tmp_path / "telex.db"), durable=False)


def sent(store: SqliteStore, *ids: str) -> list[str]:
    """What becomes of each, sent one after the other."""
    return [outcome for id_ in ids for outcome in outcomes(store, entry(id_))]


def numbered(prefix: str, count: int) -> list[str]:
    return [f"{prefix}-{number}" for number in range(count)]


def indexed(store: SqliteStore) -> int:
    return int(store._file.value("SELECT count(*) FROM recent"))


@pytest.mark.parametrize("count", [1, 3, 4, 7, 8, 30])
def test_whoever_comes_later_finds_what_was_sent_before(open_: Open, count: int) -> None:
    first, second = open_(), open_()
    assert sent(first, *numbered("m", count)) == ["stored"] * count
    assert sent(second, *numbered("m", count)) == ["duplicate"] * count
    assert sent(first, *numbered("m", count)) == ["duplicate"] * count


@pytest.mark.parametrize("theirs", [1, 8, 30])
def test_what_others_have_written_and_indexed_meanwhile_is_not_taken_for_new(open_: Open, theirs: int) -> None:
    """The first has read nothing of what the second wrote and put into the index."""
    first, second = open_(), open_()
    sent(first, *numbered("a", 30))
    assert sent(second, *numbered("b", theirs)) == ["stored"] * theirs
    assert sent(first, *numbered("b", theirs)) == ["duplicate"] * theirs


def test_whoever_leaves_or_rests_leaves_few_ids_to_be_read_up(open_: Open) -> None:
    leaving, resting = open_(), open_()
    sent(leaving, *numbered("m", 6))
    assert indexed(leaving) == 0, "its own may be twice as many as others' may"
    run_sync(leaving.close())
    assert indexed(resting) == 6
    sent(resting, *numbered("n", 6))
    run_sync(resting.maintain(NOW, same_since=0.0, keep_since=0.0, silent_since=0.0, limit=100))
    assert indexed(resting) == 12


@pytest.mark.parametrize("theirs", [1, 3, 30])
def test_what_others_write_between_our_look_and_our_lock_is_seen(
    open_: Open, monkeypatch: pytest.MonkeyPatch, theirs: int
) -> None:
    """We look before we wait for the lock. Whoever has it then may write the very same, and index it."""
    first, second = open_(), open_()
    sent(first, *numbered("a", 10))
    sent(second, *numbered("b", 2))
    assert sent(first, "a-10") == ["stored"]  # from here on it knows that others write
    transact = first._file.write_transaction

    def late(*work: Any, **how: Any) -> Any:
        assert sent(second, *numbered("c", theirs)) == ["stored"] * theirs
        return transact(*work, **how)

    monkeypatch.setattr(first._file, "write_transaction", late)
    [outcome] = sent(first, "c-0")
    assert outcome == "duplicate"


@pytest.mark.parametrize("turns", range(1, 12))
def test_what_we_index_ourselves_between_our_look_and_our_question_is_seen(open_: Open, turns: int) -> None:
    """Where others write too we look before we take the lock, and under it the latest may go into the index."""
    first, second = open_(), open_()
    for number in range(turns):
        assert sent(second, f"b-{number}") + sent(first, f"a-{number}") == ["stored"] * 2
    assert sent(second, "another") == ["stored"]
    again = [entry(id_) for id_ in (*numbered("a", turns), *numbered("b", turns))]
    assert outcomes(first, *again) == ["duplicate"] * turns * 2


def test_a_group_of_which_some_was_refused_and_some_reported_on_is_kept_once(open_: Open) -> None:
    """As many were stored as were sent, and yet not the same: a report came along, and an inbox was full."""
    store = open_()
    report = entry("report", "qa")._replace(sender="telex")
    told = entry("told")._replace(work_change=WorkChange(("work",), (report,)))
    assert outcomes(store, told, entry("full"), inbox_max=1) == ["stored", "inbox-full"]
    assert sent(store, "told", "full", "report") == ["duplicate", "stored", "stored"]


def test_a_decision_that_writes_nothing_shares_a_transaction_with_one_that_does(tmp_path: Path) -> None:
    async def together() -> Any:
        store = SqliteStore.open(str(tmp_path / "telex.db"), durable=False, grouped=True)
        answers = await asyncio.gather(
            store.transaction(lambda tx: tx.position), append(store, [entry("m")], dedup_since=SINCE)
        )
        await store.close()
        return answers

    position, [appended] = asyncio.run(asyncio.wait_for(together(), 10.0))
    assert (position, appended.outcome) == (0, "stored")


def test_a_topic_that_others_have_written_since_is_noticed(open_: Open) -> None:
    first, second = open_(), open_()

    def written(id_: str, topic: str) -> list[str]:
        position = run_sync(first.read(lambda reads: reads.position))
        assert outcomes(second, entry(id_)._replace(work_change=WorkChange((topic,)))) == ["stored"]
        return run_sync(first.read(lambda reads: [*reads.topics(after=position)]))

    assert sent(first, *numbered("m", 3)) == ["stored"] * 3
    topics = {"a": "work", "b": "contracts", "c": "work"}
    assert [written(*one) for one in topics.items()] == [["work"], ["contracts"], ["work"]]


# --- a full disk, a wrong clock --------------------------------------------------------------------------------------


def tidied(store: SqliteStore, now: float) -> None:
    run_sync(store.maintain(now, same_since=now - 3600.0, keep_since=0.0, silent_since=0.0, limit=100))


def test_maintenance_undone_for_want_of_room_leaves_no_id_out(open_: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    store = open_()
    sent(store, *numbered("m", 6))
    with monkeypatch.context() as patched:
        patched.setattr(SqliteTransaction, "commit", full_at_first(SqliteTransaction.commit))
        with pytest.raises(StoreFull):
            tidied(store, NOW)
    assert Path(f"{store.path}-ballast").exists()
    assert sent(store, *numbered("m", 6)) == ["duplicate"] * 6
    assert sent(open_(), *numbered("m", 6)) == ["duplicate"] * 6


def test_whoever_leaves_a_full_disk_leaves_the_room_that_is_kept_for_it(
    open_: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = open_()
    sent(store, *numbered("m", 6))
    with monkeypatch.context() as patched:
        patched.setattr(SqliteTransaction, "commit", full_at_first(SqliteTransaction.commit))
        run_sync(store.close())
    assert Path(f"{store.path}-ballast").exists()
    assert sent(open_(), *numbered("m", 6)) == ["duplicate"] * 6


def test_ids_from_a_clock_gone_wrong_are_not_forgotten_with_those_around_them(open_: Open) -> None:
    store, days = open_(), 3 * 86_400.0
    ahead = entry("ahead")._replace(at=NOW + days)
    assert sent(store, "before") == ["stored"]
    assert outcomes(store, ahead) == ["stored"]
    tidied(store, NOW + 7200.0)
    assert sent(store, "before", "ahead") == ["duplicate" if same else "stored" for same in (False, True)]


def test_ids_that_are_out_of_the_window_are_not_kept_for_good(open_: Open) -> None:
    store = open_()
    sent(store, *numbered("m", 6))
    for hours in (2.0, 3.0, 4.0):
        tidied(store, NOW + hours * 3600.0)
    assert indexed(store) == 0


def test_history_that_is_taken_in_leaves_little_to_look_through(open_: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever looks for an id looks through everything above the mark, one by one: an import looks for each."""
    monkeypatch.setattr(caches, "TAIL_MAX", 8)
    store = open_()
    for number in range(40):
        assert outcomes(store, entry(f"h-{number}")._replace(kind="imported", inboxes=())) == ["stored"]
        assert number + 1 - int(store._file.value(caches.INDEXED)) <= 4
    assert [len(run_sync(store.read(find_messages, f"h-{number}"))) for number in range(40)] == [1] * 40
