"""Schema of the store file: tables, numbered migrations, and the conversion between rows and values.

Only open deliveries are indexed, in a partial index, so that the cost does not grow with the log. Ids and correlations
are found through `known`, and the events of a message through `told`; maintenance fills both in batches, and a reader
scans what they do not have yet. The number of a delivery is the number of its message shifted left, so that the
deliveries of a message are adjacent and no number is used twice.
"""

from typing import Any

from telex.model.message import AT_ONCE, STATES, Delivery, Event, LeasedMessage, State, StoredMessage

APPLICATION_ID = 0x54454C58  # "TELX"
BACKUP_ID = 0x54454C42  # "TELB", of a backup
REPLICA_ID = 0x54454C52  # "TELR", of a hub's copy of a replicated team
REPLICATED = (
    "events",
    "messages",
    "deliveries",
    "asks",
    "members",
    "topics",
    "recent",
    "known",
    "told",
    "marks",
)  # tables that are equal in all copies at one position of the log
DELIVERY_BITS = 16  # deliveries of one message: a broadcast to 65,536 agents

_FIRST = """
CREATE TABLE events (
  seq INTEGER PRIMARY KEY,
  at REAL NOT NULL,
  kind TEXT NOT NULL,
  agent TEXT,
  message INTEGER,           -- NULL in the event that brought a message, which has its number
  delivery INTEGER,
  inbox TEXT,
  detail TEXT
) STRICT;

CREATE TABLE messages (
  seq INTEGER PRIMARY KEY,   -- that of the event that brought it
  id TEXT NOT NULL,
  at REAL NOT NULL,
  sender TEXT NOT NULL,
  role TEXT NOT NULL,
  recipient TEXT NOT NULL,
  dialect TEXT,
  type TEXT,
  rank INTEGER NOT NULL,
  correlation TEXT,
  reply_to TEXT,
  digest BLOB NOT NULL,
  raw BLOB NOT NULL,
  refused INTEGER NOT NULL   -- 0 accepted, 1 refused, 2 imported
) STRICT;

CREATE TABLE deliveries (
  seq INTEGER PRIMARY KEY,   -- the message's number, shifted up, and a number within it
  message INTEGER NOT NULL,
  inbox TEXT NOT NULL,
  rank INTEGER NOT NULL,
  state INTEGER NOT NULL,    -- its place in model/delivery.STATES
  due_at REAL NOT NULL,
  attempts INTEGER NOT NULL,
  fence INTEGER NOT NULL,
  holder TEXT
) STRICT;
CREATE INDEX deliveries_stored ON deliveries (inbox, rank, seq) WHERE state = 0;
CREATE INDEX deliveries_leased ON deliveries (due_at, inbox) WHERE state = 1;
CREATE INDEX deliveries_given_up ON deliveries (seq) WHERE state IN (3, 4);

CREATE TABLE recent (          -- ids within the window in which an equal one is the same message, but for the latest
  number INTEGER NOT NULL,     -- of the id, see model/digest.number_of
  seq INTEGER NOT NULL,
  PRIMARY KEY (number, seq)
) STRICT, WITHOUT ROWID;
CREATE TABLE known (           -- ids and correlations of everything that is kept
  number INTEGER NOT NULL,
  seq INTEGER NOT NULL,
  PRIMARY KEY (number, seq)
) STRICT, WITHOUT ROWID;
CREATE TABLE told (            -- the events of each message, beside the one that brought it
  message INTEGER NOT NULL,
  seq INTEGER NOT NULL,
  PRIMARY KEY (message, seq)
) STRICT, WITHOUT ROWID;
CREATE TABLE asks (            -- requests that wait for an answer
  message INTEGER PRIMARY KEY,
  due_at REAL NOT NULL,
  attempts INTEGER NOT NULL
) STRICT;
CREATE INDEX asks_due ON asks (due_at);
CREATE TABLE members (
  name TEXT PRIMARY KEY,
  role TEXT NOT NULL,
  dialects TEXT NOT NULL,      -- separated by blanks
  joined_at REAL,
  seen_at REAL,
  left_at REAL
) STRICT, WITHOUT ROWID;
CREATE TABLE marks (           -- how far the housekeeping has come: the number of the last event or message it has seen
  name TEXT PRIMARY KEY,
  value REAL NOT NULL
) STRICT, WITHOUT ROWID;
CREATE VIRTUAL TABLE texts USING fts5 (body, content = '', contentless_delete = 1);
"""

_THE_WORK = """
CREATE TABLE topics (          -- which messages belong to which matter of the work, see work
  name TEXT NOT NULL,
  seq INTEGER NOT NULL,        -- the message
  PRIMARY KEY (name, seq)
) STRICT, WITHOUT ROWID;
CREATE INDEX topics_of ON topics (seq);
CREATE TABLE snapshots (       -- how a long topic stood after one of its messages; only saves time
  topic TEXT PRIMARY KEY,
  seq INTEGER NOT NULL,
  words TEXT NOT NULL
) STRICT, WITHOUT ROWID;
ALTER TABLE members ADD COLUMN stopped_at REAL;
CREATE INDEX members_stopped ON members (name) WHERE stopped_at IS NOT NULL;
INSERT INTO marks SELECT 'weighed', coalesce(max(seq), 0) FROM events;  -- what came before belongs to no topic
"""

_ASKS_BY_NAME = """
ALTER TABLE asks ADD COLUMN id TEXT;           -- these three are the message's: a request is found by them
ALTER TABLE asks ADD COLUMN correlation TEXT;
ALTER TABLE asks ADD COLUMN type TEXT;
UPDATE asks SET (id, correlation, type) = (SELECT id, correlation, type FROM messages WHERE seq = asks.message);
CREATE INDEX asks_id ON asks (id);
CREATE INDEX asks_correlation ON asks (correlation, type) WHERE correlation IS NOT NULL;
"""

_REPLICA = """
CREATE TABLE local_marks (     -- marks of what every copy of a store does for itself: they are not replicated
  name TEXT PRIMARY KEY,
  value REAL NOT NULL
) STRICT, WITHOUT ROWID;
INSERT INTO local_marks SELECT name, value FROM marks WHERE name = 'texts';
DELETE FROM marks WHERE name = 'texts';
CREATE TABLE replica (         -- of a hub's copy: its place in the log that hubs share, see stores/nats
  id INTEGER PRIMARY KEY CHECK (id = 1),
  position INTEGER NOT NULL,   -- the last entry of the log that is in this file
  chain BLOB NOT NULL,         -- hash of the log up to there
  incarnation TEXT NOT NULL,   -- of the log
  writer TEXT NOT NULL         -- node whose batch was the last one
) STRICT;
"""

MIGRATIONS: tuple[str, ...] = (
    _FIRST,
    _THE_WORK,
    _ASKS_BY_NAME,
    _REPLICA,
)  # the n-th brings a file of version n to version n + 1
VERSION = len(MIGRATIONS)


Row = tuple[Any, ...]

CODES: dict[State, int] = {state: code for code, state in enumerate(STATES)}
STORED, LEASED = CODES["stored"], CODES["leased"]
GIVEN_UP = f"({CODES['dead']}, {CODES['expired']})"  # the same numbers as in the partial index, or it is not used

MESSAGE = (
    "m.seq, m.id, m.at, m.sender, m.role, m.recipient, m.dialect, m.type, m.rank, m.correlation, m.reply_to, "
    "m.digest, m.raw, m.refused"
)
DELIVERY = "d.seq, d.message, d.inbox, d.rank, d.state, d.due_at, d.attempts, d.fence, d.holder"
EVENT = "e.seq, e.at, e.kind, e.agent, coalesce(e.message, m.seq), e.delivery, e.inbox, e.detail"
_MESSAGE_WIDTH, _DELIVERY_WIDTH, EVENT_WIDTH = 14, 9, 8

STANDING = {"refused": 1, "imported": 2}  # in the column `refused`; only what was accepted counts as sent before
INSERT_EVENT = "INSERT INTO events VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
INSERT_MESSAGE = "INSERT INTO messages VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
INSERT_DELIVERY = "INSERT INTO deliveries VALUES (?, ?, ?, ?, ?, ?, 0, 0, NULL)"
INSERT_DELIVERIES = f"""INSERT INTO deliveries
SELECT seq << {DELIVERY_BITS}, seq, recipient, rank, {STORED}, {AT_ONCE!r}, 0, 0, NULL FROM messages
WHERE seq BETWEEN ? AND ?"""
INSERT_TOPIC = "INSERT OR IGNORE INTO topics VALUES (?, ?)"
INSERT_ASK = "INSERT OR REPLACE INTO asks VALUES (?, ?, 0, ?, ?, ?)"


_NEW = tuple.__new__  # makes a NamedTuple in half the time: a record is read a hundred thousand rows at a time


def message_of(row: Row) -> StoredMessage:
    return _NEW(StoredMessage, (*row[:13], row[13] == 1))


def delivery_of(row: Row) -> Delivery:
    return Delivery._make((*row[:4], STATES[row[4]], *row[5:9]))


def event_of(row: Row) -> Event:
    return _NEW(Event, row[:EVENT_WIDTH])


def event_and_message(row: Row) -> tuple[Event, StoredMessage | None]:
    message = row[EVENT_WIDTH:]
    return event_of(row), message_of(message) if message[0] is not None else None


def leased_of(row: Row, until: float) -> LeasedMessage:
    """From a delivery as it was before this lease, and its message."""
    seq, _, inbox, _, _, _, attempts, fence, _ = row[:_DELIVERY_WIDTH]
    return LeasedMessage(
        message_of(row[_DELIVERY_WIDTH:]), seq, inbox=inbox, attempt=attempts + 1, fence=fence + 1, until=until
    )


def first_delivery(message: int) -> int:
    return message << DELIVERY_BITS


def last_delivery(message: int) -> int:
    return ((message + 1) << DELIVERY_BITS) - 1
