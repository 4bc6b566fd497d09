"""Whose power is cut? A busy process on a new store, that says aloud what it was promised, when it was promised it.

    python -m tests.crash.power_writer STORE MESSAGES [NORMAL|OFF]

Sixteen senders, two readers and the housekeeping share one bus. It is closed half-way and opened again.
"""

import asyncio
import os
import sys
import time
from random import Random

import telex
from telex.bus.local import LocalBus
from telex.config import Settings
from telex.model.digest import digest_of
from telex.model.message import Entry
from telex.stores.sqlite import SqliteStore
from telex.stores.sqlite_file import SqliteFile
from tests.crash.agents import TO, body_of

SENDERS, READERS = 16, 2
OLD_MESSAGES, MONTH_SECONDS = 300, 31 * 86_400.0


def say(text: str) -> None:
    os.write(1, text.encode() + b"\n")  # one call, so that it has one place in the order of things


async def send(bus: LocalBus, name: str, count: int) -> None:
    for number in range(count):
        id_ = f"{name}-{number}"
        receipt = await bus.send(body_of(id_), sender=name, role="dev", to=TO, id=id_)
        assert receipt.accepted, receipt
        say(f"sent {id_}")


async def read(bus: LocalBus, name: str, random: Random, over: asyncio.Event) -> None:
    while not over.is_set():
        leased = await bus.receive(name, role="qa", most=random.randint(1, 20), wait=0.05)
        done = [one for one in leased if random.random() < 0.9]  # some stay leased, so that a cut finds every state
        await asyncio.gather(*(ack(bus, name, one.token) for one in done))


async def ack(bus: LocalBus, name: str, token: str) -> None:
    await bus.ack(token, agent=name)
    say(f"acked {token}")


async def sweep(bus: LocalBus, over: asyncio.Event) -> None:
    while not over.is_set():
        await bus.sweep()
        await asyncio.sleep(0.02)


async def live(store: str, life: int, messages: int) -> None:
    over = asyncio.Event()
    async with telex.connect(store, settings=Settings()) as bus:
        others = [read(bus, f"reader-{number}", Random(number), over) for number in range(READERS)]
        beside = [asyncio.ensure_future(other) for other in (*others, sweep(bus, over))]
        senders = (send(bus, f"sender-{life}-{number}", messages // SENDERS) for number in range(SENDERS))
        await asyncio.gather(*senders)
        over.set()
        await asyncio.gather(*beside)


async def put_old_messages(store: str) -> None:
    """Something to prune: settled long ago, and promised to nobody any more."""
    opened, at = SqliteStore.open(store), time.time() - MONTH_SECONDS
    bodies = ((id_, body_of(id_).encode()) for id_ in (f"old-{number}" for number in range(OLD_MESSAGES)))
    await opened.append(
        [
            Entry(id_, at, "lead", "lead", "qa", None, None, 3, "old", None, digest_of(raw), raw, kind="imported")
            for id_, raw in bodies
        ]
    )
    await opened.close()


def plant(synchronous: str) -> None:
    """Promise before it is on disk: SQLite's NORMAL is what is left without our own sync, OFF syncs nothing at all."""
    opened = SqliteFile._open

    def careless(self: SqliteFile) -> None:
        opened(self)
        self._durable = False
        self.run(f"PRAGMA synchronous = {synchronous}")

    SqliteFile._open = careless  # type: ignore[method-assign]


def main(store: str, messages: str, synchronous: str = "FULL") -> None:
    if synchronous != "FULL":
        plant(synchronous)
    asyncio.run(put_old_messages(store))
    for life in (1, 2):
        asyncio.run(live(store, life, int(messages) // 2))


if __name__ == "__main__":
    main(*sys.argv[1:])
