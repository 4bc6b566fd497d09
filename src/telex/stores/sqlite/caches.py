"""Caches of one writing process: ids that are not in the deduplication index yet, and counts of open deliveries per
inbox.

Ids are random, so inserting them one by one would rewrite an index page for nearly each of them. They are inserted in
batches of some thousands, and each writer keeps the ids that are not in the index `recent` yet in memory.
"""

from collections.abc import Iterable, Sequence
from typing import Protocol

from telex.model.message import NewMessage
from telex.model.named_tuple import NamedTuple
from telex.model.text import number_of
from telex.stores.sqlite.connection import Row, SqliteConnection

TAIL_MAX = 1_024  # ids written by other processes that are not indexed; a process that reads more indexes them
OWN_TIMES = 2  # as many more may be the process's own, which it need not read
BEHIND_TIMES = 4  # as many more events may follow the last indexed message
LEFT_MAX = 128  # ids of its own that a closing or idle process leaves out of the index
IDS = "ids"  # the mark of the last message whose id is in `recent`
INDEXED = f"SELECT coalesce((SELECT value FROM marks WHERE name = '{IDS}'), 0)"
UNCOUNTED_SHARE = 16  # one in so many free places may be used after other processes wrote, without counting again
_NEW = "SELECT seq, id, sender, at, recipient, digest FROM messages WHERE seq > ? AND refused = 0"
_EARLIER = """SELECT m.sender, m.id, m.at, m.recipient, m.digest, m.seq FROM json_each(?) n
JOIN recent r ON r.number = n.value JOIN messages m ON m.seq = r.seq WHERE m.refused = 0"""
_LAST = f"SELECT (SELECT max(seq) FROM events), ({INDEXED})"


class PrefetchResult(NamedTuple):
    """Messages that were sent under some ids before, looked up without the lock."""

    indexed: int  # the mark IDS at that time
    numbers: dict[str, int]
    earlier: dict[tuple[str, str], list[Row]]  # messages in `recent`, by sender and id


class RecentIds:
    """The latest accepted messages by their ids. Valid only after `catch_up` in the same transaction."""

    def __init__(self) -> None:
        self._messages: dict[str, tuple[Row, ...]] = {}  # sender, time, recipient, digest, number
        self._numbers: list[tuple[int, int]] = []  # of their ids, and their own: rows of `recent`
        self._read = 0  # how many of these other processes have written
        self.indexed = 0  # messages up to this number are in `recent`
        self._upto = 0  # messages up to this number are there or here
        self._written = 0  # by this process
        self._others_write = False  # between two of our own transactions

    def catch_up(self, file: SqliteConnection, last: int, indexed: int, *, leaving: bool = False) -> None:
        """Read what other processes have written up to the `last` event, forget what is `indexed`, and index the rest
        when it is long. A process that is `leaving` indexes sooner."""
        self._read_on(file, last, indexed)
        if self._is_too_long(leaving, last):
            put_in(file, self._numbers)
            file.run("INSERT OR REPLACE INTO marks VALUES (?, ?)", (IDS, float(last)))
            self._forget(last)

    def _read_on(self, file: SqliteConnection, last: int, indexed: int) -> None:
        if indexed != self.indexed:
            self._forget(indexed)
        if self._upto < last:
            others = file.rows(_NEW, (self._upto,))
            self._others_write = bool(others)
            self._read += len(others)
            self._remember(others, last)

    def wrote(self, stored: Sequence[tuple[int, NewMessage]], numbers: dict[str, int], first: int, last: int) -> None:
        """This process has committed these messages, and all events from `first` to `last`."""
        if self._upto != first - 1:
            return  # not caught up with what was before: the next lookup will be
        own = {
            message.id: ((message.sender, message.at, message.to, message.digest, seq),)
            for seq, message in stored
            if message.kind == "accepted"
        }
        if len(own) == len(stored) and own.keys() == numbers.keys() and self.knows_none_of(numbers):  # the usual case
            self._messages.update(own)
            self._numbers += [(numbers[message.id], seq) for seq, message in stored]
            self._upto = last
        else:
            rows: list[Row] = [
                (seq, message.id, message.sender, message.at, message.to, message.digest)
                for seq, message in stored
                if message.kind == "accepted"
            ]
            self._remember(rows, last)
        self._written += len(own)

    def prefetch(self, file: SqliteConnection, ids: Iterable[str]) -> PrefetchResult | None:
        """Look up these ids before the lock is taken, if other processes write too."""
        if not self._others_write:
            return None

        def look() -> PrefetchResult:
            last, indexed = file.rows(_LAST)[0]
            self._read_on(file, last or 0, int(indexed))
            return self.look_up(file, ids)

        return file.read_transaction(look)

    def look_up(self, file: SqliteConnection, ids: Iterable[str]) -> PrefetchResult:
        """Find all messages of these ids that are in `recent`, in one statement."""
        found = PrefetchResult(self.indexed, {id_: number_of(id_) for id_ in ids}, {})
        for sender, id_, *rest in file.rows(_EARLIER, (f"[{','.join(map(str, found.numbers.values()))}]",)):
            found.earlier.setdefault((sender, id_), []).append(tuple(rest))
        return found

    @property
    def is_long(self) -> bool:
        """Whether the next process that sends would have to read many unindexed ids of this one."""
        return min(self._upto - self.indexed, self._written) > LEFT_MAX

    def _is_too_long(self, leaving: bool, last: int) -> bool:
        count, behind = len(self._numbers), last - self.indexed
        if not count:  # imported messages are indexed as they are stored: only the mark is missing
            return behind > TAIL_MAX // 4
        if behind > (LEFT_MAX if leaving else TAIL_MAX * BEHIND_TIMES):
            return True
        return count > TAIL_MAX and (self._read > TAIL_MAX or count > TAIL_MAX * OWN_TIMES)

    def knows_none_of(self, ids: Iterable[str]) -> bool:
        return self._messages.keys().isdisjoint(ids)

    def messages(self, id_: str) -> tuple[Row, ...]:
        return self._messages.get(id_, ())

    def _remember(self, rows: list[Row], last: int) -> None:
        for seq, id_, *rest in rows:
            self._messages[id_] = (*self.messages(id_), (*rest, seq))
        self._numbers += [(number_of(row[1]), row[0]) for row in rows]
        self._upto = last

    def _forget(self, indexed: int) -> None:
        """Forget the messages that are in `recent` now."""
        left = [(id_, tuple(row for row in rows if row[4] > indexed)) for id_, rows in self._messages.items()]
        self._messages = {id_: rows for id_, rows in left if rows}
        self._numbers = [pair for pair in self._numbers if pair[1] > indexed]
        self._read = min(self._read, len(self._numbers))
        self.indexed, self._upto = indexed, max(self._upto, indexed)


def put_in(file: SqliteConnection, numbers: list[tuple[int, int]]) -> None:
    """Insert these ids into the index, in its own order."""
    file.run_many("INSERT OR IGNORE INTO recent VALUES (?, ?)", sorted(numbers))


class InboxCounter(Protocol):
    """The write transaction, as far as a quota needs it."""

    @property
    def data_version(self) -> int: ...

    def count_open(self, inbox: str) -> int: ...


class InboxQuota:
    """Open deliveries per inbox. Counting a deep inbox for every send would cost more than the send itself.

    A count stays exact as long as this process alone writes. After other processes wrote, each process may use a
    sixteenth of the places that were free at its last count before it counts again. Near the limit that is none, and
    every send counts.
    """

    def __init__(self) -> None:
        self._used: dict[str, int] = {}  # at the last count, and by this process since
        self._counted_at: dict[str, int] = {}  # the file's data version at the last count
        self._uncounted: dict[str, int] = {}  # places that may be used without counting, whatever others write

    def has_room(self, counter: InboxCounter, inbox: str, limit: int) -> bool:
        """Whether there is room for one more message."""
        if self._uncounted.get(inbox, 0) > 0:
            return True
        if self._used.get(inbox, 0) < limit and self._counted_at.get(inbox) == counter.data_version:
            return True
        used = self._used[inbox] = counter.count_open(inbox)
        self._uncounted[inbox] = max(0, limit - used) // UNCOUNTED_SHARE
        self._counted_at[inbox] = counter.data_version
        return used < limit

    def add(self, inboxes: Iterable[str]) -> None:
        """A message was put into these inboxes."""
        for inbox in inboxes:
            if inbox in self._used:
                self._used[inbox] += 1
                self._uncounted[inbox] -= 1

    def recount(self) -> None:
        """Messages were rolled back: count before relying on the counts again."""
        self._counted_at.clear()
