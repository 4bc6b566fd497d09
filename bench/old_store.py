"""Generator of a store with a million messages.

The rows are those that the bus would have left: each message sent, leased and acked, over 29 days, indexed by id,
conversation and word. The file is cached for a day; after that its oldest rows would be pruned.
"""

import shutil
import time
import zlib
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path

import apsw

from bench.floors import Rows, entry
from bench.peers import CACHE
from bench.samples import updates
from telex.model.message import Event, NewMessage
from telex.model.text import number_of
from telex.stores.sqlite.caches import IDS
from telex.stores.sqlite.connection import SqliteConnection
from telex.stores.sqlite.reads import CORRELATION, TOLD, last_event
from telex.stores.sqlite.schema import CODES, INSERT_EVENT, INSERT_MESSAGE, INSERT_TOPIC, MIGRATIONS, first_delivery

DAY_SECONDS = 86_400.0
SPREAD_SECONDS = 29 * DAY_SECONDS
FRESH_SECONDS = 0.8 * DAY_SECONDS
STEP = 20_000
_INSERT_ACKED = f"INSERT INTO deliveries VALUES (?, ?, 'lead', 3, {CODES['acked']}, ?, 1, 1, 'lead')"


def store_of(kept: int) -> Path:
    """A store with so many messages in it, made unless there is a fresh one."""
    return made(f"kept-{kept}", kept, _reports)


def _reports(kept: int) -> Iterator[NewMessage]:
    for first in range(0, kept, STEP):
        for number, raw in enumerate(updates(f"kept-{first}", min(STEP, kept - first)), first):
            yield entry(raw, 0.0)._replace(correlation=f"conversation-{number // 50}")


def made(name: str, kept: int, entries: Callable[[int], Iterator[NewMessage]]) -> Path:
    """A store of these messages, unless there is a fresh one of that name."""
    version = zlib.crc32("".join(MIGRATIONS).encode())
    path = CACHE / f"{name}-{version:08x}" / "telex.db"
    if path.exists() and time.time() - path.parent.stat().st_mtime < FRESH_SECONDS:
        return path
    for older in CACHE.glob(f"{name}-*"):
        shutil.rmtree(older)
    print(f"  making a store of {kept:,} messages …", flush=True)
    making = path.parent.with_suffix(".making")
    shutil.rmtree(making, ignore_errors=True)
    making.mkdir(parents=True)
    _fill(making / path.name, kept, entries(kept))
    making.rename(path.parent)
    return path


def _fill(path: Path, kept: int, entries: Iterator[NewMessage]) -> None:
    file = SqliteConnection(str(path))  # makes the tables
    cursor = apsw.Connection(str(path)).cursor()
    cursor.execute("PRAGMA synchronous = OFF")
    began = time.time() - SPREAD_SECONDS
    known: list[tuple[int, int]] = []
    for first in range(0, kept, STEP):
        batch = Rows(last_event(file))
        deliveries = []
        for number, one in enumerate(islice(entries, STEP), first):
            at = began + SPREAD_SECONDS * number / kept
            one = one._replace(at=at)
            seq = batch.message(one)
            deliveries.append((first_delivery(seq), seq, at))
            for kind in ("leased", "acked"):
                batch.event(Event(0, at, kind, "lead", seq, first_delivery(seq), "lead", '{"attempt": 1}'))
            known += [(number_of(one.id), seq), (number_of(f"{CORRELATION}{one.correlation}"), seq)]
        cursor.execute("BEGIN IMMEDIATE")
        cursor.executemany(INSERT_EVENT, batch.events)
        cursor.executemany(INSERT_MESSAGE, batch.messages)
        cursor.executemany(_INSERT_ACKED, deliveries)
        cursor.executemany(INSERT_TOPIC, batch.topics)
        cursor.execute("COMMIT")
    cursor.execute("BEGIN IMMEDIATE")
    cursor.executemany("INSERT OR IGNORE INTO known VALUES (?, ?)", sorted(known))
    cursor.execute("INSERT INTO texts (rowid, body) SELECT seq, CAST(raw AS TEXT) FROM messages")
    cursor.execute("INSERT INTO told SELECT message, seq FROM events WHERE message IS NOT NULL ORDER BY message, seq")
    last = known[-1][1]
    marks = [(name, last) for name in ("known", "recent", "silent", IDS)] + [(TOLD, batch.last)]
    cursor.executemany("INSERT OR REPLACE INTO marks VALUES (?, ?)", marks)
    cursor.execute("INSERT OR REPLACE INTO local_marks VALUES ('texts', ?)", (last,))
    cursor.execute("COMMIT")
    cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    cursor.connection.close()
    file.close()
