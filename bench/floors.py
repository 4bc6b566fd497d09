"""Lower bounds of a durable send on this disk: the fsync alone, and the same rows without any logic."""

import os
import time
from collections.abc import Sequence
from pathlib import Path

import apsw

from bench.measure import Turn
from telex.model.message import AT_ONCE, Event, NewMessage
from telex.model.text import digest_of, number_of
from telex.stores.sqlite.connection import Row, SqliteConnection
from telex.stores.sqlite.reads import last_event
from telex.stores.sqlite.schema import INSERT_DELIVERY, INSERT_EVENT, INSERT_MESSAGE, STORED, first_delivery

SYNCS = 500


def syncs(folder: Path, size: int = 4096) -> Turn:
    """A page written and synced, again and again, in a file that has its size: what one durable step costs."""
    descriptor = os.open(folder / "floor", os.O_RDWR | os.O_CREAT, 0o600)
    try:
        page, each = b"x" * size, []
        os.pwrite(descriptor, page * 64, 0)
        os.fsync(descriptor)
        start = before = time.perf_counter()
        for number in range(SYNCS):
            os.pwrite(descriptor, page, number % 64 * size)
            getattr(os, "fdatasync", os.fsync)(descriptor)
            after = time.perf_counter()
            each.append(after - before)
            before = after
        return Turn(SYNCS, before - start, each)
    finally:
        os.close(descriptor)


class Rows:
    """The rows that the store writes for messages of one transaction."""

    def __init__(self, last: int) -> None:
        self.last = last  # the number of the last event
        self.events: list[Row] = []
        self.messages: list[Row] = []
        self.deliveries: list[Row] = []
        self.ids: list[Row] = []
        self.topics: list[Row] = []

    def message(self, message: NewMessage) -> int:
        seq = self.event(Event(0, message.at, message.kind, message.sender, detail=message.detail))
        self.messages.append((seq, *message[:12], 0))
        self.deliveries += [
            (number, seq, inbox, message.rank, STORED, AT_ONCE)
            for number, inbox in enumerate(message.inboxes, first_delivery(seq))
        ]
        self.ids.append((number_of(message.id), seq))
        self.topics += [(name, seq) for name in (message.work_change.topics if message.work_change else ())]
        return seq

    def event(self, event: Event) -> int:
        self.last += 1
        self.events.append((self.last, *event[1:]))
        return self.last


class RawGroups:
    """The rows that the store writes for a message, put in with nothing around them, so many to a transaction."""

    def __init__(self, path: Path) -> None:
        self._file = SqliteConnection(str(path))  # makes the tables
        self._connection = apsw.Connection(str(path))
        self._cursor = self._connection.cursor()
        self._cursor.execute("PRAGMA synchronous = FULL")

    def run(self, raws: Sequence[bytes], group: int) -> Turn:
        batches = self._batches(raws, group)
        execute, many, each = self._cursor.execute, self._cursor.executemany, []
        start = before = time.perf_counter()
        for batch in batches:
            execute("BEGIN IMMEDIATE")
            many(INSERT_EVENT, batch.events)
            many(INSERT_MESSAGE, batch.messages)
            many(INSERT_DELIVERY, batch.deliveries)
            many("INSERT INTO recent VALUES (?, ?)", batch.ids)
            execute("COMMIT")
            after = time.perf_counter()
            each.append(after - before)
            before = after
        return Turn(len(raws), before - start, each)

    def _batches(self, raws: Sequence[bytes], group: int) -> list[Rows]:
        batches: list[Rows] = []
        for first in range(0, len(raws), group):
            batch = Rows(batches[-1].last if batches else last_event(self._file))
            for raw in raws[first : first + group]:
                batch.message(entry(raw))
            batches.append(batch)
        return batches

    def close(self) -> None:
        self._connection.close()
        self._file.close()


def entry(raw: bytes, at: float | None = None) -> NewMessage:
    """What the bus makes of one of our messages: filled in as it would be, so that the rows are of the same size."""
    id_ = raw[8 : raw.index(b'"', 8)].decode()
    return NewMessage(
        id=id_,
        at=time.time() if at is None else at,
        sender="dev",
        role="dev",
        to="lead",
        dialect="vbw-typed",
        type="execution_update",
        rank=3,
        correlation="1-1-T1",
        reply_to=None,
        digest=digest_of(raw),
        raw=raw,
        inboxes=("lead",),
    )
