"""Whose power is cut? A busy team on a new store, that says aloud what it was promised, when it was promised it.

    python -m tests.crash.power_writer STORE MESSAGES [PLANT]

Six processes make the store, all at once. Then three senders and three readers are processes of their own: some have
many messages on their way at once, some only one; one opens the store again and again; one does the housekeeping. All
end half-way, so that the last one takes the log away, and others go on.
"""

import asyncio
import multiprocessing
import os
import sys
import time
from collections.abc import Callable
from random import Random
from typing import Any

import telex
from telex.config import Settings
from telex.model.message import NewMessage
from telex.model.text import digest_of
from telex.ports.bus import Bus
from telex.stores.sqlite.store import SqliteStore
from telex.testing.contract_base import append
from tests.crash.messages import READERS, body_of, sending
from tests.crash.power_mutations import PLANTS

HANDS_MANY, HANDS_FEW = 12, 4
ALONE_SHARE = 10  # one who waits for every single message sends a tenth of them
REOPENED_AFTER = 15  # messages
ACKED = 0.9  # the others stay leased, so that a cut finds every state
OLD_MESSAGES, MONTH_SECONDS = 300, 31 * 86_400.0

processes = multiprocessing.get_context("fork")


def say(text: str) -> None:
    os.write(1, text.encode() + b"\n")  # one call, so that it has one place in the order of things


# --- many messages on their way at once -------------------------------------------------------------------------------


async def send_together(store: str, name: str, hands: int, count: int) -> None:
    async with telex.connect(store, settings=Settings()) as bus:
        await asyncio.gather(*(send(bus, f"{name}-{hand}", count // hands) for hand in range(hands)))


async def send(bus: Bus, name: str, count: int) -> None:
    for number in range(count):
        id_ = f"{name}-{number}"
        raw, beside = sending(id_)
        receipt = await bus.send(raw, sender=name.rpartition("-")[0], **beside)
        assert receipt.accepted, receipt
        say(f"sent {id_}")


async def read_together(store: str, name: str, hands: int, over: Callable[[], bool], housekeeping: bool) -> None:
    async with telex.connect(store, settings=Settings()) as bus:
        readers = [read(bus, f"{name}-{hand}", Random(hand), over) for hand in range(hands)]
        await asyncio.gather(*readers, *([sweep(bus, over)] if housekeeping else []))


async def read(bus: Bus, name: str, random: Random, over: Callable[[], bool]) -> None:
    while not over():
        leased = await bus.receive(name, role=READERS, limit=random.randint(1, 20), wait=0.05)
        await asyncio.gather(*(ack(bus, name, one.token) for one in leased if random.random() < ACKED))


async def ack(bus: Bus, name: str, token: str) -> None:
    await bus.ack(token, agent=name)
    say(f"acked {token}")


async def sweep(bus: Bus, over: Callable[[], bool]) -> None:
    while not over():
        await bus.sweep()
        await asyncio.sleep(0.02)


async def put_old_messages(store: str) -> None:
    """Something to prune: settled long ago, and promised to nobody any more."""
    opened, at = SqliteStore.open(store), time.time() - MONTH_SECONDS
    bodies = ((id_, body_of(id_)) for id_ in (f"old-{number}" for number in range(OLD_MESSAGES)))
    imported = [
        NewMessage(id_, at, "lead", "lead", "qa", None, None, 3, "old", None, digest_of(raw), raw, kind="imported")
        for id_, raw in bodies
    ]
    await append(opened, imported)
    await opened.close()


# --- one after the other, with no event loop --------------------------------------------------------------------------


def send_alone(store: str, name: str, count: int) -> None:
    for begin in range(0, count, REOPENED_AFTER):
        with telex.connect(store, settings=Settings()) as bus:
            for number in range(begin, min(count, begin + REOPENED_AFTER)):
                id_ = f"{name}-{number}"
                raw, beside = sending(id_)
                assert bus.send(raw, sender=name, **beside).accepted
                say(f"sent {id_}")


def read_alone(store: str, name: str, over: Callable[[], bool]) -> None:
    random = Random(name)
    with telex.connect(store, settings=Settings()) as bus:
        while not over():
            for one in bus.receive(name, role=READERS, limit=2, wait=0.05):
                if random.random() < ACKED:
                    bus.ack(one.token, agent=name)
                    say(f"acked {one.token}")


# --- the team ---------------------------------------------------------------------------------------------------------


def live(store: str, life: int, messages: int) -> None:
    over, alone = processes.Event(), messages // ALONE_SHARE
    share = (messages - alone) // 2
    readers = [
        started(run, read_together, store, f"reader-{life}-many", 2, over.is_set, True),
        started(run, read_together, store, f"reader-{life}-few", 1, over.is_set, False),
        started(read_alone, store, f"reader-{life}-alone", over.is_set),
    ]
    senders = [
        started(run, send_together, store, f"sender-{life}-many", HANDS_MANY, share),
        started(run, send_together, store, f"sender-{life}-few", HANDS_FEW, share),
        started(send_alone, store, f"sender-{life}-alone", alone),
    ]
    for process in senders:
        process.join()
    over.set()
    ended(*senders, *readers)


def make(store: str) -> None:
    asyncio.run(SqliteStore.open(store).close())


def started(work: Callable[..., Any], *args: object) -> Any:
    process = processes.Process(target=work, args=args)
    process.start()
    return process


def ended(*team: Any) -> None:
    for process in team:
        process.join()
    assert not any(process.exitcode for process in team), [process.exitcode for process in team]


def run(work: Callable[..., Any], *args: object) -> None:
    asyncio.run(work(*args))


def main(store: str, messages: str, plant: str = "") -> None:
    if plant:
        PLANTS[plant]()
    ended(*[started(make, store) for _ in range(6)])
    asyncio.run(put_old_messages(store))
    for life in (1, 2):
        live(store, life, int(messages) // 2)


if __name__ == "__main__":
    main(*sys.argv[1:])
