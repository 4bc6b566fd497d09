"""Maintenance of the store in small steps: indexes, old ids, idle conversations, retention.

The progress of each is a mark: the number of the last message or event it has processed.
"""

import json
from itertools import takewhile

from telex.model.message import Event
from telex.model.text import number_of
from telex.stores.sqlite.caches import IDS, INDEXED, put_in
from telex.stores.sqlite.connection import SqliteConnection
from telex.stores.sqlite.reads import CORRELATION, TOLD
from telex.stores.sqlite.schema import DELIVERY_BITS, Row, first_delivery, last_delivery
from telex.stores.sqlite.transaction import SqliteTransaction

BUSY_SECONDS, IDLE_SECONDS = 0.05, 1.0  # between two steps, with and without work left
_BEFORE = "SELECT seq, id, correlation, at FROM messages WHERE seq > ? ORDER BY seq LIMIT ?"
_STILL_SAME = "SELECT seq, id FROM messages WHERE seq > ? AND seq <= ? AND at >= ? AND refused = 0"
_DELIVERIES = "FROM deliveries WHERE seq BETWEEN ? AND ?"
_LAST_EVENT = "SELECT max(e.at) FROM told t JOIN events e ON e.seq = t.seq WHERE t.message = ?"
AHEAD_SECONDS_MAX = 86_400.0  # a later time was written by a wrong clock
EVENTS_EACH = 4  # events that a message usually has
_STILL_OPEN = f"""SELECT count(*) FROM known k JOIN deliveries d
ON d.seq BETWEEN (k.seq << {DELIVERY_BITS}) AND ((k.seq + 1) << {DELIVERY_BITS}) - 1
WHERE k.number = ? AND d.state < 2"""


def is_due(file: SqliteConnection, now: float) -> bool:
    """Whether the last step of any process is long enough ago. A clock that was set back does not stop it."""
    due = float(file.value("SELECT value FROM marks WHERE name = 'tidy'") or 0.0)
    return not due - IDLE_SECONDS <= now < due


def next_time(file: SqliteConnection, now: float, done: int, limit: int) -> None:
    pause = BUSY_SECONDS if done >= limit else IDLE_SECONDS
    file.run("INSERT OR REPLACE INTO marks VALUES ('tidy', ?)", (now + pause,))


def is_anything_to_do(
    file: SqliteConnection, now: float, same_since: float, keep_since: float, silent_since: float
) -> bool:
    """Checked before anything is written, because a write wakes all waiting readers."""
    last = file.value("SELECT max(seq) FROM messages") or 0
    if min(_mark(file, "known"), texts_mark(file)) < last:
        return True
    if _mark(file, TOLD) < (file.value("SELECT max(seq) FROM events") or 0):
        return True
    marks = (("recent", same_since), ("silent", silent_since), ("pruned", keep_since))
    if any(_older(file, mark, moment, now, 1)[1] for mark, moment in marks):
        return True
    first = file.value("SELECT at FROM events ORDER BY seq LIMIT 1")
    return first is not None and first < keep_since


def index(file: SqliteConnection, limit: int) -> int:
    """Index the next messages by id and conversation."""
    rows = file.rows(_BEFORE, (_mark(file, "known"), limit))
    numbers = []
    for seq, id_, correlation, _ in rows:
        numbers.append((number_of(id_), seq))
        if correlation is not None:
            numbers.append((number_of(CORRELATION + correlation), seq))
    file.run_many("INSERT OR IGNORE INTO known VALUES (?, ?)", sorted(set(numbers)))
    if rows:
        _set_mark(file, "known", rows[-1][0])
    return len(rows)


def index_events(file: SqliteConnection, limit: int) -> int:
    """Index the next events by their message."""
    rows = file.rows("SELECT seq, message FROM events WHERE seq > ? ORDER BY seq LIMIT ?", (_mark(file, TOLD), limit))
    told = sorted((message, seq) for seq, message in rows if message is not None)
    file.run_many("INSERT OR IGNORE INTO told VALUES (?, ?)", told)
    if rows:
        _set_mark(file, TOLD, rows[-1][0])
    return len(rows)


def index_texts(file: SqliteConnection, limit: int) -> int:
    """Add the next messages to the full-text index."""
    rows = file.rows("SELECT seq, raw FROM messages WHERE seq > ? ORDER BY seq LIMIT ?", (texts_mark(file), limit))
    texts = [(seq, raw.decode("utf-8", "replace")) for seq, raw in rows]
    file.run_many("INSERT INTO texts (rowid, body) VALUES (?, ?)", texts)
    if rows:
        file.run("INSERT OR REPLACE INTO local_marks VALUES ('texts', ?)", (float(rows[-1][0]),))
    return len(rows)


def forget_ids(file: SqliteConnection, same_since: float, now: float, limit: int) -> int:
    """Delete ids that are out of the deduplication window from `recent`. Later ids of a wrong clock are still in the
    window, and are inserted."""
    rows, last = _older(file, "recent", same_since, now, limit)
    upto = min(last, _mark(file, "known"))
    old = [(number_of(id_), seq) for seq, id_, *_ in rows if seq <= upto]
    file.run_many("DELETE FROM recent WHERE number = ? AND seq = ?", old)
    if upto > _mark(file, "recent"):
        _set_mark(file, "recent", upto)
    indexed = int(file.value(INDEXED))
    if upto > indexed:
        put_in(file, [(number_of(id_), seq) for seq, id_ in file.rows(_STILL_SAME, (indexed, upto, same_since))])
        _set_mark(file, IDS, upto)
    return len(old)


def mark_idle(file: SqliteConnection, tx: SqliteTransaction, now: float, silent_since: float, limit: int) -> int:
    """Record conversations whose last message is that old, with the number of open deliveries."""
    if _mark(file, "known") < (file.value("SELECT max(seq) FROM messages") or 0):
        return 0  # a later message may not be indexed yet
    rows, passed = _older(file, "silent", silent_since, now, limit)
    for seq, _, correlation, _ in rows:
        if not correlation:
            continue
        number = number_of(CORRELATION + correlation)
        messages, last = file.rows("SELECT count(*), max(seq) FROM known WHERE number = ?", (number,))[0]
        if last == seq:
            detail = {"correlation": correlation, "messages": messages, "open": file.value(_STILL_OPEN, (number,))}
            tx.record(Event(0, now, "conversation-idle", message=seq, detail=json.dumps(detail, ensure_ascii=False)))
    if passed:
        _set_mark(file, "silent", passed)
    return len(rows)


def prune(file: SqliteConnection, keep_since: float, now: float, limit: int) -> int:
    """Delete messages whose last event is older than the retention. Open ones and those of a topic stay."""
    if _mark(file, TOLD) < (file.value("SELECT max(seq) FROM events") or 0):
        return 0  # a later event may not be indexed yet
    place = _mark(file, "pruned")
    rows, passed = _older(file, "pruned", keep_since, now, limit)
    gone = 0
    for seq, id_, correlation, _ in rows:
        bounds = (first_delivery(seq), last_delivery(seq))
        waits = file.value(f"SELECT 1 {_DELIVERIES} AND state < 2", bounds)
        if waits or file.value("SELECT 1 FROM asks WHERE message = ?", (seq,)):
            continue
        if file.value("SELECT 1 FROM topics WHERE seq = ?", (seq,)):
            continue  # the work state is folded from it
        if (file.value(_LAST_EVENT, (seq,)) or 0.0) >= keep_since:
            continue
        _remove(file, seq, id_, correlation, bounds)
        gone += 1
    if passed or place:
        _set_mark(file, "pruned", passed)  # at the end, start again with those that stayed
    return gone + _prune_loose_events(file, keep_since, limit)


def _remove(file: SqliteConnection, seq: int, id_: str, correlation: str | None, bounds: tuple[int, int]) -> None:
    if seq <= texts_mark(file):
        file.run("DELETE FROM texts WHERE rowid = ?", (seq,))
    for number in (number_of(id_), number_of(CORRELATION + (correlation or ""))):
        file.run("DELETE FROM known WHERE number = ? AND seq = ?", (number, seq))
        file.run("DELETE FROM recent WHERE number = ? AND seq = ?", (number, seq))
    file.run(f"DELETE {_DELIVERIES}", bounds)
    last = "(SELECT max(seq) FROM events)"
    file.run(f"DELETE FROM events WHERE seq IN (SELECT seq FROM told WHERE message = ?) AND seq < {last}", (seq,))
    file.run("DELETE FROM told WHERE message = ?", (seq,))
    # The last event stays: the next number is one above it, and no number is used twice.
    file.run(f"DELETE FROM events WHERE seq = ? AND seq < {last}", (seq,))
    file.run("DELETE FROM messages WHERE seq = ?", (seq,))


def _prune_loose_events(file: SqliteConnection, keep_since: float, limit: int) -> int:
    """Delete old events without a message."""
    file.run(
        """DELETE FROM events WHERE seq IN (
             SELECT e.seq FROM events e LEFT JOIN messages m ON m.seq = coalesce(e.message, e.seq)
             WHERE e.at < ? AND m.seq IS NULL AND e.seq < (SELECT max(seq) FROM events)
             AND e.seq < coalesce((SELECT min(seq) FROM messages), e.seq + 1) LIMIT ?)""",
        (keep_since, limit),
    )
    return file.changed()


def _older(file: SqliteConnection, mark: str, moment: float, now: float, limit: int) -> tuple[list[Row], int]:
    """The next messages from before that moment, and the number to continue from.

    The first younger message ends the step. One from the future, written by a wrong clock, is passed over, since it
    would block all later steps.
    """
    rows = file.rows(_BEFORE, (_mark(file, mark), limit))
    seen = list(takewhile(lambda row: row[3] < moment or row[3] > now + AHEAD_SECONDS_MAX, rows))
    return [row for row in seen if row[3] < moment], seen[-1][0] if seen else 0


def texts_mark(file: SqliteConnection) -> int:
    """The last message in the full-text index, which every copy of a store fills by itself."""
    return int(file.value("SELECT value FROM local_marks WHERE name = 'texts'") or 0)


def _mark(file: SqliteConnection, name: str) -> int:
    return int(file.value("SELECT value FROM marks WHERE name = ?", (name,)) or 0)


def _set_mark(file: SqliteConnection, name: str, value: int) -> None:
    file.run("INSERT OR REPLACE INTO marks VALUES (?, ?)", (name, float(value)))
