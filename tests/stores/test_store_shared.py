"""Whatever several processes ask of one file, in whatever order: does it answer as one list of messages would?

Each has a memory of its own: of the latest ids, of what certainly is not in their index, of the room in inboxes. None
of them may ever show. The orders are Hypothesis's, and everything happens here after a few messages that else happens
after thousands.
"""

from contextlib import suppress
from typing import Any
from unittest.mock import patch

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import rule

from telex.errors import StoreFull
from telex.ports.store import Store
from telex.stores.sqlite import caches
from telex.stores.sqlite.transaction import SqliteTransaction
from tests.stores.store_kit import full_at_first
from tests.stores.test_store_machine import INBOXES, SOME_INBOXES, WINDOW_SECONDS, SqliteMachine

TINY: dict[str, Any] = {"LEFT_MAX": 1}
OTHERS = 2
TOGETHER = st.lists(st.tuples(st.sampled_from("abcdefgh"), SOME_INBOXES), min_size=2, max_size=10)


class SharedMachine(SqliteMachine):
    def __init__(self) -> None:
        self.tiny = patch.multiple(caches, **TINY)
        self.tiny.start()
        self.others: list[Store] = []
        super().__init__()
        self.others = [self.open() for _ in range(OTHERS)]

    def clean_up(self) -> None:
        for other in self.others:
            self.run(other.close())
        super().clean_up()
        self.tiny.stop()  # last, as it came first: the other takes for usual what it has found

    @rule(which=st.integers(0, OTHERS - 1))
    def another_goes_on(self, which: int) -> None:
        self.store, self.others[which] = self.others[which], self.store

    @rule(wanted=TOGETHER, inbox_max=st.sampled_from([None, 2, 4, 9]))
    def append_together(self, wanted: list[tuple[str, tuple[str, ...]]], inbox_max: int | None) -> None:
        self.append_all([self.entry(id=id_, inboxes=inboxes) for id_, inboxes in wanted], inbox_max)

    @rule(first=st.integers(0, 20), count=st.integers(8, 12), inbox=st.sampled_from(INBOXES))
    def append_many(self, first: int, count: int, inbox: str) -> None:
        """To one inbox each, as nearly all messages are."""
        self.append_all([self.entry(id=f"m{first + number}", inboxes=(inbox,)) for number in range(count)])

    @rule(inboxes=SOME_INBOXES)
    def lease_on_a_full_disk(self, inboxes: tuple[str, ...]) -> None:
        """Everything is undone at the end, and done again with the room that was kept for this."""
        with patch.object(SqliteTransaction, "commit", full_at_first(SqliteTransaction.commit)):
            self.lease(inboxes, 4, 10.0)

    @rule()
    def tidy_on_a_full_disk(self) -> None:
        """Everything is undone at the end, and left for another time."""
        with patch.object(SqliteTransaction, "commit", full_at_first(SqliteTransaction.commit)), suppress(StoreFull):
            since = self.now - WINDOW_SECONDS
            self.run(self.store.maintain(self.now, same_since=since, keep_since=-1.0, silent_since=-1.0, limit=1000))


TestSharedMachine = SharedMachine.TestCase
TestSharedMachine.settings = settings(stateful_step_count=30)
