"""Which rows belong to one transaction? They are gathered and numbered here, and written table by table.

So a group of sends costs four statements, and not four for each.
"""

from collections.abc import Sequence
from functools import cache

from telex.model.delivery import AT_ONCE
from telex.model.digest import number_of
from telex.model.event import Event
from telex.model.message import NewMessage, WorkChange
from telex.model.roster import Member
from telex.stores.sqlite.connection import SqliteConnection
from telex.stores.sqlite.dedup import INDEXED, PrefetchResult, RecentIds, prefetch_ids, put_in
from telex.stores.sqlite.rows import (
    INSERT_ASK,
    INSERT_DELIVERIES,
    INSERT_DELIVERY,
    INSERT_EVENT,
    INSERT_MESSAGE,
    INSERT_TOPIC,
    STANDING,
    STORED,
    Row,
)
from telex.stores.sqlite.schema import DELIVERY_BITS

# Asked together, since every transaction asks nearly all of it, and while it does the others wait.
_NOW = f"""SELECT (SELECT max(seq) FROM events), ({INDEXED}),
EXISTS (SELECT 1 FROM members WHERE stopped_at IS NOT NULL), (SELECT max(seq) FROM topics)"""
WEIGHED_MAX = 1_000  # remembered
ASKED_AT_ONCE = 100  # topics; a statement cannot have any number of columns
TOGETHER_FROM = 8  # messages: then it is quicker to have SQLite read what was just written than to tell it again

Expects = tuple[tuple[str, int], ...]  # topics, and the last number that each had when a message was weighed


class Batch:
    """Rows that belong to one transaction, numbered as they come."""

    def __init__(self, file: SqliteConnection, weighed: "dict[Expects, int] | None" = None) -> None:
        self.file = file
        last, indexed, self.any_stopped, last_in_a_topic = file.rows(_NOW)[0]
        self._last_in_a_topic = last_in_a_topic or 0
        self._weighed = {} if weighed is None else weighed
        self.indexed = int(indexed)  # the ids of messages up to here are in `recent`
        self.first = self.next = int(last or 0) + 1
        self.events: list[Row] = []
        self.messages: list[Row] = []
        self.deliveries: list[Row] = []
        self.to_one_each: list[tuple[int, int]] = []  # from and to these numbers: messages for whom they are addressed
        self.asks: list[Row] = []
        self.topics: list[tuple[str, int]] = []
        self.kept: list[tuple[int, NewMessage]] = []
        self.numbers: dict[str, int] = {}  # of ids, as far as they were looked for
        self.earlier: dict[tuple[str, str], list[Row]] = {}  # what was kept before, by sender and id
        self.fresh: dict[tuple[str, str], tuple[NewMessage, int]] = {}  # what this batch has accepted, likewise
        self.stopped: set[str] = set()  # of the senders looked for: who has shut down, perhaps in this very batch

    def look_for(self, ids: set[str], tail: RecentIds, ahead: PrefetchResult | None) -> None:
        """Find all recent messages of these ids. Where nothing was indexed since, by ourselves neither, what we found
        when we looked `ahead` is all that the index has of them."""
        if ahead is None or ahead.indexed != tail.indexed:
            ahead = prefetch_ids(self.file, tail, ids)
        self.numbers, self.earlier = ahead.numbers, ahead.earlier
        if not tail.knows_none_of(ids):
            for id_ in ids:
                for sender, *rest in tail.messages(id_):
                    self.earlier.setdefault((sender, id_), []).append(tuple(rest))

    def look_for_stopped(self, entries: Sequence[NewMessage]) -> None:
        if self.any_stopped:
            senders = {new_message.sender for new_message in entries if new_message.dedup_since is not None}
            self.stopped = {name for name in senders if self.has_stopped(name)}

    def has_stopped(self, name: str) -> bool:
        sql = "SELECT 1 FROM members WHERE name = ? AND stopped_at IS NOT NULL"
        return bool(self.any_stopped) and self.file.row(sql, (name,)) is not None

    def write_member(self, member: Member) -> None:
        when = (member.joined_at, member.seen_at, member.left_at, member.stopped_at)
        row = (member.name, member.role, " ".join(member.dialects), *when)
        self.file.run("INSERT OR REPLACE INTO members VALUES (?, ?, ?, ?, ?, ?, ?)", row)
        self.any_stopped = self.any_stopped or member.stopped_at is not None

    def event(self, event: Event) -> int:
        seq = self.next
        self.next = seq + 1
        self.events.append((seq, *event[1:]))
        return seq

    def message(self, new_message: NewMessage) -> int:
        seq = self.keep((new_message,))[0]
        if new_message.work_change is not None:
            self._take_part(new_message.work_change, seq)
        return seq

    def _take_part(self, work_change: WorkChange, seq: int) -> None:
        self.topics += [(name, seq) for name in work_change.topics]
        for member, event in work_change.members:
            self.write_member(member)
            if member.stopped_at is not None:
                self.stopped.add(member.name)
            self.event(event)
        for report in work_change.reports:
            self.message(report)

    def changes_no_topic(self, entries: Sequence[NewMessage]) -> bool:
        """Do these messages leave the book as it is, and is it still as they knew it? Then they need no look each."""
        # mostly one for all
        parts = {id(part): part for new_message in entries if (part := new_message.work_change) is not None}
        return all(
            work_change == WorkChange(expected_versions=work_change.expected_versions)
            and not self.is_stale(work_change)
            for work_change in parts.values()
        )

    def is_stale(self, work_change: WorkChange) -> bool:
        """Has anything been said in one of these topics since? In this very batch, perhaps."""
        if not self.topics and self._weighed.get(work_change.expected_versions) == self._last_in_a_topic:
            return False  # nothing has been said in any topic since these were looked at
        fresh = {name for name, _ in self.topics} if self.topics else ()
        for first in range(0, len(work_change.expected_versions), ASKED_AT_ONCE):
            names, lasts = zip(*work_change.expected_versions[first : first + ASKED_AT_ONCE], strict=True)
            if any(name in fresh for name in names) or self.file.row(_lasts(len(names)), names) != lasts:
                return True
        if len(self._weighed) >= WEIGHED_MAX:
            self._weighed.clear()
        self._weighed[work_change.expected_versions] = self._last_in_a_topic
        return False

    def keep(self, entries: Sequence[NewMessage]) -> range:
        """Number these messages and gather their rows, a table at a time: with many at once that is what costs."""
        seqs = range(self.next, self.next + len(entries))
        self.next = seqs.stop
        both = list(zip(seqs, entries, strict=True))
        self.events += [
            (seq, new_message.at, new_message.kind, new_message.sender, None, None, None, new_message.detail)
            for seq, new_message in both
        ]
        # An entry begins with what a message is, in the order of the columns.
        self.messages += [(seq, *new_message[:12], STANDING.get(new_message.kind, 0)) for seq, new_message in both]
        if len(both) >= TOGETHER_FROM and all(new_message.inboxes == (new_message.to,) for new_message in entries):
            self.to_one_each.append((seqs[0], seqs[-1]))
        else:
            self.deliveries += [
                (number, seq, inbox, new_message.rank, STORED, AT_ONCE)
                for seq, new_message in both
                for number, inbox in enumerate(new_message.inboxes, seq << DELIVERY_BITS)
            ]
        self.asks += [
            (seq, new_message.answer_by, new_message.id, new_message.correlation, new_message.type)
            for seq, new_message in both
            if new_message.answer_by is not None
        ]
        self.kept += both
        return seqs

    def write(self) -> None:
        self.file.run_many(INSERT_EVENT, self.events)
        self.file.run_many(INSERT_MESSAGE, self.messages)
        self.file.run_many(INSERT_DELIVERIES, self.to_one_each)
        self.file.run_many(INSERT_DELIVERY, self.deliveries)
        self.file.run_many(INSERT_ASK, self.asks)
        if self.topics:
            self.file.run_many(INSERT_TOPIC, self.topics)
        # Nobody compares with these, so nobody remembers them; but they are looked for.
        put_in(
            self.file,
            [(number_of(new_message.id), seq) for seq, new_message in self.kept if new_message.kind != "accepted"],
        )


@cache
def _lasts(topics: int) -> str:
    """The number of the last message in each of so many topics, as one question."""
    return f"SELECT {', '.join(['coalesce((SELECT max(seq) FROM topics WHERE name = ?), 0)'] * topics)}"
