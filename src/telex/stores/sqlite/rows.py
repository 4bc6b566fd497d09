"""Rows and values: the only module that knows the order of the columns."""

from typing import Any

from telex.model.message import AT_ONCE, STATES, Delivery, Event, Lease, Message, State
from telex.stores.sqlite.schema import DELIVERY_BITS

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


def message_of(row: Row) -> Message:
    return _NEW(Message, (*row[:13], row[13] == 1))


def delivery_of(row: Row) -> Delivery:
    return Delivery._make((*row[:4], STATES[row[4]], *row[5:9]))


def event_of(row: Row) -> Event:
    return _NEW(Event, row[:EVENT_WIDTH])


def delivery_and_message(row: Row) -> tuple[Delivery, Message]:
    return delivery_of(row), message_of(row[_DELIVERY_WIDTH:])


def event_and_message(row: Row) -> tuple[Event, Message | None]:
    message = row[EVENT_WIDTH:]
    return event_of(row), message_of(message) if message[0] is not None else None


def leased_of(row: Row, until: float) -> Lease:
    """From a delivery as it was before this lease, and its message."""
    seq, _, inbox, _, _, _, attempts, fence, _ = row[:_DELIVERY_WIDTH]
    return Lease(
        message_of(row[_DELIVERY_WIDTH:]), seq, inbox=inbox, attempt=attempts + 1, fence=fence + 1, until=until
    )


def first_delivery(message: int) -> int:
    return message << DELIVERY_BITS


def last_delivery(message: int) -> int:
    return ((message + 1) << DELIVERY_BITS) - 1
