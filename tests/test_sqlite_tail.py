"""Is a message that was sent before found, whoever wrote it, and wherever its id is kept by then?"""

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from telex.bus.driving import drive
from telex.model.digest import digest_of
from telex.model.message import Entry, Part
from telex.ports.store import Settlement
from telex.stores import sqlite_tail
from telex.stores.sqlite import SqliteStore

NOW = 1_790_000_000.0
Open = Callable[[], SqliteStore]


@pytest.fixture
def open_(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Open:
    """Everything that happens after thousands of messages happens here after a few."""
    monkeypatch.setattr(sqlite_tail, "TAIL_MAX", 3)
    monkeypatch.setattr(sqlite_tail, "LEFT_MAX", 3)
    monkeypatch.setattr(sqlite_tail, "SIEVE_FROM", 3)
    monkeypatch.setattr(sqlite_tail, "LOADED_AT_ONCE", 2)
    return lambda: SqliteStore.open(str(tmp_path / "telex.db"), durable=False)


def entry(id_: str, to: str = "lead", inbox_max: int | None = None) -> Entry:
    raw = b"all is well"
    first = (id_, NOW, "dev", "dev", to, None, None, 3, None, None, digest_of(raw), raw, (to,))
    return Entry(*first, same_since=NOW - 3600.0, inbox_max=inbox_max)


def sent(store: SqliteStore, *ids: str) -> list[str]:
    """What becomes of each, sent one after the other."""
    return [drive(store.append([entry(id_)]))[0].outcome for id_ in ids]


def numbered(prefix: str, count: int) -> list[str]:
    return [f"{prefix}-{number}" for number in range(count)]


def indexed(store: SqliteStore) -> int:
    return int(store._file.value("SELECT count(*) FROM recent"))


@pytest.mark.parametrize("count", [1, 3, 4, 7, 8, 30])
def test_whoever_comes_later_finds_what_was_sent_before(open_: Open, count: int) -> None:
    first, second = open_(), open_()
    assert sent(first, *numbered("m", count)) == ["kept"] * count
    assert sent(second, *numbered("m", count)) == ["duplicate"] * count
    assert sent(first, *numbered("m", count)) == ["duplicate"] * count


@pytest.mark.parametrize("theirs", [1, 8, 30])
def test_what_others_have_written_and_indexed_meanwhile_is_not_taken_for_new(open_: Open, theirs: int) -> None:
    """The first has its sieve by then, and has read nothing of what the second wrote and put into the index."""
    first, second = open_(), open_()
    sent(first, *numbered("a", 30))
    assert sent(second, *numbered("b", theirs)) == ["kept"] * theirs
    assert sent(first, *numbered("b", theirs)) == ["duplicate"] * theirs


def test_a_sieve_that_has_missed_too_much_is_begun_anew(open_: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlite_tail, "GAP_MAX", 5)
    first, second = open_(), open_()
    sent(first, *numbered("a", 30))
    sent(second, *numbered("b", 30))
    assert sent(first, *numbered("b", 30)) == ["duplicate"] * 30
    assert sent(first, *numbered("c", 30), *numbered("b", 30)) == ["kept"] * 30 + ["duplicate"] * 30


def test_what_was_there_before_is_found_while_the_sieve_is_still_loading(open_: Open) -> None:
    before = open_()
    sent(before, *numbered("old", 60))
    later = open_()
    outcomes = [sent(later, f"new-{number}", f"old-{number}") for number in range(40)]
    assert outcomes == [["kept", "duplicate"]] * 40


@pytest.mark.parametrize("slots", [1, 8, 1 << 22])
def test_a_sieve_as_coarse_as_you_like_only_costs_time(
    open_: Open, monkeypatch: pytest.MonkeyPatch, slots: int
) -> None:
    monkeypatch.setattr(sqlite_tail, "SLOTS", slots)
    store = open_()
    assert sent(store, *numbered("m", 40)) == ["kept"] * 40
    assert sent(store, *numbered("m", 40), *numbered("n", 5)) == ["duplicate"] * 40 + ["kept"] * 5


def test_new_ids_are_told_without_a_look_at_their_index(open_: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    store, asked = open_(), list[str]()
    sent(store, *numbered("m", 20))
    rows = store._file.rows

    def noted(sql: str, bindings: object = ()) -> list[tuple[object, ...]]:
        asked.append(sql)
        return rows(sql, bindings)

    monkeypatch.setattr(store._file, "rows", noted)
    assert sent(store, *numbered("n", 5)) == ["kept"] * 5
    assert not [sql for sql in asked if "json_each" in sql]
    assert sent(store, "m-1") == ["duplicate"]


def test_whoever_leaves_or_rests_leaves_few_ids_to_be_read_up(open_: Open) -> None:
    leaving, resting = open_(), open_()
    sent(leaving, *numbered("m", 6))
    assert indexed(leaving) == 0, "its own may be twice as many as others' may"
    drive(leaving.close())
    assert indexed(resting) == 6
    sent(resting, *numbered("n", 6))
    drive(resting.tidy(NOW, same_since=0.0, keep_since=0.0, silent_since=0.0, most=100))
    assert indexed(resting) == 12


@pytest.mark.parametrize("theirs", [1, 3, 30])
def test_what_others_write_between_our_look_and_our_lock_is_seen(
    open_: Open, monkeypatch: pytest.MonkeyPatch, theirs: int
) -> None:
    """We look before we wait for the lock. Whoever has it then may write the very same, and index it."""
    first, second = open_(), open_()
    sent(first, *numbered("a", 10))
    sent(second, *numbered("b", 2))
    assert sent(first, "a-10") == ["kept"]  # from here on it knows that others write
    transact = first._file.transact

    def late(*work: Any, **how: Any) -> Any:
        assert sent(second, *numbered("c", theirs)) == ["kept"] * theirs
        return transact(*work, **how)

    monkeypatch.setattr(first._file, "transact", late)
    [outcome] = sent(first, "c-0")
    assert outcome == "duplicate"


def test_a_matter_that_others_go_on_with_is_noticed_however_often_it_was_not(open_: Open) -> None:
    first, second = open_(), open_()
    weighed = Part((), (("contracts", 0), ("blockers", 0)))

    def outcome(store: SqliteStore, id_: str, part: Part) -> str:
        return drive(store.append([entry(id_)._replace(part=part)]))[0].outcome

    assert [outcome(first, f"m-{number}", weighed) for number in range(3)] == ["kept"] * 3
    assert outcome(second, "elsewhere", Part(("work",), (("work", 0),))) == "kept"
    assert outcome(first, "still", weighed) == "kept"
    assert outcome(second, "plan", Part(("contracts",), (("contracts", 0),))) == "kept"
    assert [outcome(first, f"n-{number}", weighed) for number in range(2)] == ["stale"] * 2


# --- room in an inbox ------------------------------------------------------------------------------------------------


def put(store: SqliteStore, count: int, *, inbox_max: int | None = 10, first: int = 0) -> Sequence[str]:
    """As one group, as sends that come together are."""
    entries = [entry(f"m-{number}", inbox_max=inbox_max) for number in range(first, first + count)]
    return [one.outcome for one in drive(store.append(entries))]


def test_an_inbox_takes_what_it_may_and_not_one_more(open_: Open) -> None:
    store = open_()
    assert put(store, 9) == ["kept"] * 9
    assert put(store, 3, first=9) == ["kept", "inbox-full", "inbox-full"]


def test_what_others_have_put_in_counts(open_: Open) -> None:
    first, second = open_(), open_()
    put(first, 4)
    put(second, 5, first=4)
    assert put(first, 3, first=20) == ["kept", "inbox-full", "inbox-full"]


def test_what_is_put_in_whatever_the_limit_counts_for_those_who_have_one(open_: Open) -> None:
    store = open_()
    put(store, 1)
    put(store, 8, inbox_max=None, first=10)
    assert put(store, 3, first=30) == ["kept", "inbox-full", "inbox-full"]
    assert put(store, 1, inbox_max=5, first=40) == ["inbox-full"]


def test_a_place_that_was_freed_is_found(open_: Open) -> None:
    store = open_()
    assert put(store, 10) == ["kept"] * 10
    leases = drive(store.lease(("lead",), "lead", NOW, NOW + 60.0, 4))
    drive(
        store.settle([Settlement(one.delivery, "leased", "acked", NOW, "acked", "lead", one.fence) for one in leases])
    )
    assert put(store, 5, first=20) == ["kept"] * 4 + ["inbox-full"]


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

    assert asyncio.run(asked_again()) == ["kept", "inbox-full"]


def test_history_that_is_taken_in_leaves_little_to_look_through(open_: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever looks for an id looks through everything above the mark, one by one: an import looks for each."""
    monkeypatch.setattr(sqlite_tail, "TAIL_MAX", 8)
    store = open_()
    for number in range(40):
        drive(store.append([entry(f"h-{number}")._replace(kind="imported", inboxes=(), same_since=None)]))
        assert number + 1 - int(store._file.value(sqlite_tail.INDEXED)) <= 4
    assert [len(drive(store.find(f"h-{number}"))) for number in range(40)] == [1] * 40
