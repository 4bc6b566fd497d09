"""Delivery of one message to one inbox: its states and the moves between them.

`MOVES` is the only table of allowed moves. The store contract tests it, the docs draw their diagram from it, and the
simulator checks the log against it.
"""

from typing import Literal, NamedTuple

State = Literal["stored", "leased", "acked", "dead", "expired", "withdrawn"]
STATES: tuple[State, ...] = ("stored", "leased", "acked", "dead", "expired", "withdrawn")
OPEN: frozenset[State] = frozenset({"stored", "leased"})  # somebody still has to do something

AT_ONCE = 0.0  # a moment that has come by any clock: the reader's may be behind the sender's

MOVES: dict[State, frozenset[State]] = {
    "stored": frozenset({"leased", "acked", "stored", "dead", "expired", "withdrawn"}),  # leased, or settled late
    "leased": frozenset({"leased", "acked", "stored", "dead", "expired", "withdrawn"}),  # extended, or settled
    "acked": frozenset(),
    "dead": frozenset({"stored", "withdrawn"}),  # a person asked for one more try, or dropped it
    "expired": frozenset({"stored", "withdrawn"}),
    "withdrawn": frozenset(),
}
MEANINGS: dict[State, str] = {
    "stored": "stored and waiting in the inbox; after a failed attempt it waits for its backoff",
    "leased": "held by one reader until the lease expires",
    "acked": "the reader has finished with it",
    "dead": "every attempt failed, or its bytes are damaged; a person may retry or drop it until the record is pruned",
    "expired": "a request to which no reply came in time",
    "withdrawn": "dropped by a person, or its recipient has left or shut down",
}


class Delivery(NamedTuple):
    seq: int  # its number in the store; older ones have lower numbers
    message: int  # the message's number
    inbox: str  # an agent's name, or `role:qa` for whoever of that role comes first
    rank: int  # index of its priority in PRIORITIES; the lowest is served first
    state: State
    due_at: float  # stored: may be leased from here on. leased: the lease runs out here
    attempts: int = 0  # leases given so far; one that lapsed counts, since a silent agent and a failing one look alike
    fence: int = 0  # goes up with every lease, so that an ack under an older one is known for what it is
    holder: str | None = None  # who has it, or had it at the end; stored: whose lease expired, and may be settled late
