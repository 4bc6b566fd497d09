"""Verdict of a run with faults: the clients' ledgers compared with the log."""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from telex.ports.store import EventQuery, MessageQuery, Query, Reads
from telex.stores.nats.store import ReplicatedStore
from tests.nats.fault_load import ACKED, ACKED_BEFORE, READ, SENT, UNREAD


class Record(NamedTuple):
    """What a store has: the ids of its messages, and of those that were acked, once for each time."""

    stored: Sequence[str]
    acked: Sequence[str]


class Comparison(NamedTuple):
    """Each list but `own_reads` is empty if all promises were kept."""

    lost: list[str]  # acknowledged, and not stored
    twice: list[str]  # stored twice
    acks_lost: list[str]  # an acknowledged ack that is not in the store
    acked_twice: list[str]  # two leases of one message were acked, or one lease twice
    unread: list[str]  # a client did not find its own message at another hub
    own_reads: int  # times that it did


def compare(lines: Iterable[Sequence[str]], record: Record) -> Comparison:
    lines = [line for line in lines if len(line) > 1]
    sent = {name for word, name, *_ in lines if word == SENT}
    stored, acked = Counter(record.stored), Counter(record.acked)
    acks = {name for word, name, *_ in lines if word in (ACKED, ACKED_BEFORE)}
    in_record = {name for name, count in acked.items() if count > 1}
    return Comparison(
        lost=sorted(sent - stored.keys()),
        twice=sorted(name for name, count in stored.items() if count > 1),
        acks_lost=sorted(acks - acked.keys()),
        acked_twice=sorted(in_record | acked_twice(lines)),
        unread=sorted(name for word, name, *_ in lines if word == UNREAD),
        own_reads=sum(word == READ for word, *_ in lines),
    )


def acked_twice(lines: Iterable[Sequence[str]]) -> set[str]:
    """Messages of which two different leases were acked, or for which two acks were the first."""
    first = Counter[str]()
    tokens: dict[str, set[str]] = {}
    for word, name, *rest in lines:
        if word in (ACKED, ACKED_BEFORE):
            first[name] += word == ACKED
            tokens.setdefault(name, set()).add(rest[0])
    return {name for name, used in tokens.items() if len(used) > 1 or first[name] > 1}


async def record_of(hub: ReplicatedStore) -> Record:
    return await hub.read(_record)


def _record(reads: Reads) -> Record:
    messages = {message.seq: message.id for message in reads.messages(MessageQuery(seqs=range(1, reads.position + 1)))}
    acked = reads.events(EventQuery(Query(kinds=("acked",))))
    return Record(list(messages.values()), [messages.get(event.message or 0, "") for event in acked])
