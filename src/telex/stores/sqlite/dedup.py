"""Deduplication: write buffer and Bloom filter in front of the id index.

Ids are random, so inserting them one by one would rewrite an index page for nearly each of them. They are inserted in
batches of some thousands, and each writer keeps the ids that are not in the index yet in memory. A process that writes
much also keeps a Bloom filter of the index: most ids are new, and looking each of them up would cost more than storing
the message.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from telex.model.message import NewMessage
from telex.model.text import number_of
from telex.stores.sqlite.connection import Row, SqliteConnection

TAIL_MAX = 1_024  # messages written by others; whoever finds more puts them into `recent`
OWN_TIMES = 2  # as many more may be one's own: nobody has to read them up
BEHIND_TIMES = 4  # as many more may be anything: whoever looks for an id looks through them
LEFT_MAX = 128  # that whoever leaves, or rests, leaves behind if it has written as many
SIEVE_FROM = 512  # messages written by one process until a sieve is worth its memory
SLOTS = 1 << 22  # in a sieve, a byte each; beyond a million ids in the window it lets ever more through
WORN_AFTER = SLOTS  # numbers: then it is begun anew, since ids that are out of the window stay in a sieve
LOADED_AT_ONCE = 2_000  # ids
GAP_MAX = 10_000  # numbers that others may have gone on by, or the sieve is begun anew
IDS = "ids"  # the mark of the last message whose id is in `recent`
INDEXED = f"SELECT coalesce((SELECT value FROM marks WHERE name = '{IDS}'), 0)"
_NEW = "SELECT seq, id, sender, at, recipient, digest FROM messages WHERE seq > ? AND refused = 0"
_BETWEEN = "SELECT id FROM messages WHERE seq > ? AND seq <= ? AND refused = 0"
_EARLIER = """SELECT m.sender, m.id, m.at, m.recipient, m.digest, m.seq FROM json_each(?) n
JOIN recent r ON r.number = n.value JOIN messages m ON m.seq = r.seq WHERE m.refused = 0"""
_LAST = f"SELECT (SELECT max(seq) FROM events), ({INDEXED})"
_LOAD = "SELECT number FROM recent WHERE number > ? ORDER BY number LIMIT ?"


class BloomFilter:
    """Lets through every id that may be in `recent`, and few others. Of no use before everything in it is `loaded`."""

    def __init__(self, begun_at: int) -> None:
        self.begun_at = begun_at
        self._slots = bytearray(SLOTS)
        self._place = -(1 << 63) - 1  # below the lowest number
        self.loaded = False

    def load(self, file: SqliteConnection) -> None:
        """The next of those that were there before: some at a time, since others wait for the transaction."""
        numbers = [row[0] for row in file.rows(_LOAD, (max(self._place, -(1 << 63)), LOADED_AT_ONCE))]
        self.add(numbers)
        self.loaded = len(numbers) < LOADED_AT_ONCE
        if numbers:
            self._place = numbers[-1]

    def add(self, numbers: Iterable[int]) -> None:
        slots, last = self._slots, SLOTS - 1
        for number in numbers:
            slots[number & last] = 1

    def maybe_present(self, numbers: Iterable[int]) -> list[int]:
        slots, last = self._slots, SLOTS - 1
        return [number for number in numbers if slots[number & last]]


class RecentIds:
    """The latest accepted messages by their ids. It is only as good as its last `catch_up`, which has to be in the same
    transaction as the question."""

    def __init__(self) -> None:
        self._messages: dict[str, tuple[Row, ...]] = {}  # sender, moment, recipient, digest, number
        self._numbers: list[tuple[int, int]] = []  # of their ids, and their own: as `recent` wants them
        self._read = 0  # of these, how many others have written
        self.indexed = 0  # up to here they are in `recent`
        self._upto = 0  # up to here they are there or here
        self._written = 0  # by this process
        self._sieve: BloomFilter | None = None
        self.others_write = False  # between two of our own

    def catch_up(self, file: SqliteConnection, last: int, indexed: int, *, leaving: bool = False) -> None:
        """Remember what others have written, up to the `last` number of all, and forget what is `indexed` by now; and
        when what is left has become much, put it into `recent`.

        Who is `leaving`, or at rest, leaves little for others to read up.
        """
        self.read_up(file, last, indexed)
        if self._is_too_long(leaving, last):
            put_in(file, self._numbers)
            file.run("INSERT OR REPLACE INTO marks VALUES (?, ?)", (IDS, float(last)))
            self._forget(last)
        if self._sieve is not None and not self._sieve.loaded:
            self._sieve.load(file)

    def read_up(self, file: SqliteConnection, last: int, indexed: int) -> None:
        if indexed != self.indexed:
            self._sift(file, indexed)
            self._forget(indexed)
        if self._upto < last:
            others = file.rows(_NEW, (self._upto,))
            self.others_write = bool(others)
            self._read += len(others)
            self._remember(others, last)

    def wrote(self, kept: Sequence[tuple[int, NewMessage]], numbers: dict[str, int], first: int, last: int) -> None:
        """Remember what we have written ourselves, now that it is kept: everything from `first` to `last` is ours."""
        if self._upto != first - 1:
            return  # not caught up with what was before: the next question will be
        ours = {
            new_message.id: ((new_message.sender, new_message.at, new_message.to, new_message.digest, seq),)
            for seq, new_message in kept
            if new_message.kind == "accepted"
        }
        only_new = len(ours) == len(kept) and ours.keys() == numbers.keys() and self.knows_none_of(numbers)
        if only_new:  # as nearly always
            self._messages.update(ours)
            self._add([(numbers[new_message.id], seq) for seq, new_message in kept], last)
        else:
            told = [
                (seq, new_message.id, new_message.sender, new_message.at, new_message.to, new_message.digest)
                for seq, new_message in kept
                if new_message.kind == "accepted"
            ]
            self._remember(told, last)
        self._written += len(ours)
        is_worn = self._sieve is not None and last - self._sieve.begun_at > WORN_AFTER
        if is_worn or (self._sieve is None and self._written > SIEVE_FROM):
            self._sieve = BloomFilter(last)
            self._sieve.add(number for number, _ in self._numbers)

    def prefetch(self, file: SqliteConnection, ids: Iterable[str]) -> "PrefetchResult | None":
        """Where others write too: read up what they have written before we take the lock, and not under it."""
        if not self.others_write:
            return None

        def look() -> PrefetchResult:
            last, indexed = file.rows(_LAST)[0]
            self.read_up(file, last or 0, int(indexed))
            return prefetch_ids(file, self, ids)

        return file.read_transaction(look)

    @property
    def is_long(self) -> bool:
        """Would the next to send have to read up much, and much of it ours?"""
        return min(self._upto - self.indexed, self._written) > LEFT_MAX

    def _is_too_long(self, leaving: bool, last: int) -> bool:
        count, behind = len(self._numbers), last - self.indexed
        if not count:  # history was taken in, which is indexed as it comes: only the mark is missing
            return behind > TAIL_MAX // 4
        if behind > (LEFT_MAX if leaving else TAIL_MAX * BEHIND_TIMES):
            return True
        return count > TAIL_MAX and (self._read > TAIL_MAX or count > TAIL_MAX * OWN_TIMES)

    def may_be_indexed(self, numbers: Iterable[int]) -> list[int]:
        """Those of these numbers of ids that have to be looked for in `recent`."""
        if self._sieve is None or not self._sieve.loaded:
            return list(numbers)
        return self._sieve.maybe_present(numbers)

    def knows_none_of(self, ids: Iterable[str]) -> bool:
        return self._messages.keys().isdisjoint(ids)

    def messages(self, id_: str) -> tuple[Row, ...]:
        return self._messages.get(id_, ())

    def _remember(self, rows: list[Row], last: int) -> None:
        messages = self._messages
        for seq, id_, *rest in rows:
            messages[id_] = (*messages.get(id_, ()), (*rest, seq))
        self._add([(number_of(row[1]), row[0]) for row in rows], last)

    def _add(self, new: list[tuple[int, int]], last: int) -> None:
        self._numbers += new
        if self._sieve is not None:
            self._sieve.add(number for number, _ in new)
        self._upto = last

    def _sift(self, file: SqliteConnection, indexed: int) -> None:
        """Others have indexed messages that we never read: their ids go into the sieve, or it is begun anew."""
        if self._sieve is None or indexed <= self._upto:
            return
        if indexed - self._upto > GAP_MAX:
            self._sieve, self._written = None, 0
        else:
            self._sieve.add(number_of(id_) for (id_,) in file.rows(_BETWEEN, (self._upto, indexed)))

    def _forget(self, indexed: int) -> None:
        """Whatever is in `recent` need not be remembered."""
        left = [(id_, tuple(row for row in rows if row[4] > indexed)) for id_, rows in self._messages.items()]
        self._messages = {id_: rows for id_, rows in left if rows}
        self._numbers = [pair for pair in self._numbers if pair[1] > indexed]
        self._read = min(self._read, len(self._numbers))
        self.indexed, self._upto = indexed, max(self._upto, indexed)


class PrefetchResult(NamedTuple):
    """What is known of some ids before anything is written, and others need not wait for it to be found out."""

    indexed: int  # up to here `recent` went, then
    numbers: dict[str, int]
    earlier: dict[tuple[str, str], list[Row]]  # what is in `recent`, by sender and id


def prefetch_ids(file: SqliteConnection, tail: RecentIds, ids: Iterable[str]) -> PrefetchResult:
    """Find all messages of these ids that are in `recent`, in one question."""
    ahead = PrefetchResult(tail.indexed, {id_: number_of(id_) for id_ in ids}, {})
    suspects = tail.may_be_indexed(ahead.numbers.values())
    if suspects:
        for sender, id_, *rest in file.rows(_EARLIER, (f"[{','.join(map(str, suspects))}]",)):
            ahead.earlier.setdefault((sender, id_), []).append(tuple(rest))
    return ahead


def put_in(file: SqliteConnection, numbers: list[tuple[int, int]]) -> None:
    """Make these ids findable, in the order in which the index has them."""
    file.run_many("INSERT OR IGNORE INTO recent VALUES (?, ?)", sorted(numbers))
