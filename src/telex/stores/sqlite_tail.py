"""Which messages are so new that their ids are not in `recent` yet?

Ids are random, so an index of them has no end where the next one goes: put in one by one, nearly each would make a page
of its own be written again. So they are put in some hundred at a time, and whoever writes remembers those in between.
"""

from collections.abc import Iterable, Sequence

from telex.model.digest import number_of
from telex.model.message import Entry
from telex.stores.sqlite_file import Row, SqliteFile

TAIL_MAX = 1_024  # messages; whoever finds more puts them into `recent`
IDS = "ids"  # the mark of the last message whose id is in `recent`
INDEXED = f"SELECT coalesce((SELECT value FROM marks WHERE name = '{IDS}'), 0)"
_NEW = "SELECT seq, id, sender, at, recipient, digest FROM messages WHERE seq > ? AND refused = 0"


class Tail:
    """The latest accepted messages by their ids. It is only as good as its last `catch_up`, which has to be in the same
    transaction as the question."""

    def __init__(self) -> None:
        self._messages: dict[str, list[Row]] = {}  # sender, moment, recipient, digest, number
        self._numbers: list[tuple[int, int]] = []  # of their ids, and their own: as `recent` wants them
        self._indexed = 0  # up to here they are in `recent`
        self._upto = 0  # up to here they are there or here

    def catch_up(self, file: SqliteFile, last: int) -> None:
        """Remember what others have written, up to this number; and when it has become much, put it into `recent`."""
        indexed = int(file.value(INDEXED))
        if indexed != self._indexed:
            self._forget(indexed)
        if self._upto < last:
            self._remember(file.rows(_NEW, (self._upto,)), last, {})
        if len(self._numbers) > TAIL_MAX:
            put_in(file, self._numbers)
            file.run("INSERT OR REPLACE INTO marks VALUES (?, ?)", (IDS, float(last)))
            self._forget(last)

    def wrote(self, kept: Sequence[tuple[int, Entry]], numbers: dict[str, int], first: int, last: int) -> None:
        """Remember what we have written ourselves, now that it is kept: everything from `first` to `last` is ours."""
        if self._upto != first - 1:
            return  # not caught up with what was before: the next question will be
        rows = [(seq, one.id, one.sender, one.at, one.to, one.digest) for seq, one in kept if one.kind == "accepted"]
        self._remember(rows, last, numbers)

    def knows_none_of(self, ids: Iterable[str]) -> bool:
        return self._messages.keys().isdisjoint(ids)

    def messages(self, id_: str) -> list[Row]:
        return self._messages.get(id_, [])

    def _remember(self, rows: list[Row], last: int, numbers: dict[str, int]) -> None:
        messages = self._messages
        for seq, id_, sender, at, to, digest in rows:
            row = (sender, at, to, digest, seq)
            if id_ in messages:
                messages[id_].append(row)
            else:
                messages[id_] = [row]
        self._numbers += [(numbers.get(row[1]) or number_of(row[1]), row[0]) for row in rows]
        self._upto = last

    def _forget(self, indexed: int) -> None:
        """Whatever is in `recent` need not be remembered."""
        left = [(id_, [row for row in rows if row[4] > indexed]) for id_, rows in self._messages.items()]
        self._messages = {id_: rows for id_, rows in left if rows}
        self._numbers = [pair for pair in self._numbers if pair[1] > indexed]
        self._indexed, self._upto = indexed, max(self._upto, indexed)


def put_in(file: SqliteFile, numbers: list[tuple[int, int]]) -> None:
    """Make these ids findable, in the order in which the index has them."""
    file.run_many("INSERT OR IGNORE INTO recent VALUES (?, ?)", sorted(numbers))
