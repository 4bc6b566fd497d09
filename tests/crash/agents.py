"""Who is killed? Senders and readers that write down every promise they get, and go on where they were interrupted.

A sender writes down what it is about to send, so that its next life sends what is in doubt again, with the same id.
A reader does the work before it says that the work is done. Both use the bus as anybody would.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable
from itertools import count
from pathlib import Path
from random import Random

import telex
from telex.client import SyncBus
from telex.config import Settings
from telex.errors import LeaseLost, StoreError
from telex.model.limits import Limits
from telex.model.message import LeasedMessage
from telex.ports.bus import Bus, Receipt
from tests.crash.agent_log import Line, Logbook, words_of
from tests.crash.messages import READERS, has_reply, reply_id, sending

LEASE_SECONDS = 0.4
SETTINGS = Settings(
    limits=Limits(
        attempts_max=1_000_000,  # a kill counts as an attempt, and here nobody gives up
        backoff_seconds=0.02,
        lease_seconds=LEASE_SECONDS,
        inbox_max=1_000_000,
    )
)
REPEATED_DAWDLE = 10  # times as often with a message that another may still hold: then an ack comes late
BURST = 4  # messages that one who sends alone sends without a pause


def in_doubt(lines: list[Line]) -> list[str]:
    """What may have been kept or not; and the last that was kept, since a careful client sends once too often."""
    sent = [id_ for id_, *_ in words_of(lines, "sent")]
    known = set(sent[:-1])
    return [id_ for (id_,) in words_of(lines, "sending") if id_ not in known]


class Sender:
    def __init__(self, name: str, logs: Path) -> None:
        self.name = name
        self.log = Logbook(logs / f"{name}.log")
        earlier = self.log.lines()
        self.doubts = in_doubt(earlier)
        used = sum(line.verb == "sending" for line in earlier)
        self.ids = (f"{name}-{number}" for number in count(used))

    def told(self, id_: str, receipt: Receipt) -> None:
        self.log.say(
            "sent" if receipt.accepted else "turned-down", id_, *(finding.code for finding in receipt.findings)
        )

    def failed(self, error: StoreError) -> None:
        self.log.say("error", type(error).__name__)

    # --- many messages on their way at once ---------------------------------------------------------------------------

    async def live(self, bus: Bus, hands: int, pause: float) -> None:
        await self.settle_doubts(bus)
        await asyncio.gather(*(self._hand(bus, pause) for _ in range(hands)))

    async def settle_doubts(self, bus: Bus) -> None:
        await asyncio.gather(*(self.send(bus, id_) for id_ in self.doubts))

    async def _hand(self, bus: Bus, pause: float) -> None:
        for id_ in self.ids:
            self.log.say("sending", id_)
            await self.send(bus, id_)
            await asyncio.sleep(pause)

    async def send(self, bus: Bus, id_: str) -> None:
        """Send until there is an answer. Whatever went wrong before it, the same id makes that safe."""
        while True:
            try:
                raw, beside = sending(id_)
                self.told(id_, await bus.send(raw, sender=self.name, check=False, **beside))
                return
            except StoreError as error:
                self.failed(error)
                await asyncio.sleep(0.05)

    # --- one after the other, with no event loop ----------------------------------------------------------------------

    def live_alone(self, bus: SyncBus, pause: float) -> None:
        for id_ in self.doubts:
            self.send_alone(bus, id_)
        for number, id_ in enumerate(self.ids):
            self.log.say("sending", id_)
            self.send_alone(bus, id_)
            if number % BURST == 0:
                time.sleep(pause * BURST)

    def send_alone(self, bus: SyncBus, id_: str) -> None:
        while True:
            try:
                raw, beside = sending(id_)
                self.told(id_, bus.send(raw, sender=self.name, check=False, **beside))
                return
            except StoreError as error:
                self.failed(error)
                time.sleep(0.05)


class Reader:
    def __init__(self, name: str, logs: Path, random: Random) -> None:
        self.name = name
        self.log = Logbook(logs / f"{name}.log")
        self.random = random

    async def live(self, bus: Bus) -> None:
        while True:
            try:
                await self.turn(bus, dawdle=0.02)
            except StoreError as error:
                self.log.say("error", type(error).__name__)

    async def turn(self, bus: Bus, *, dawdle: float = 0.0, wait: float = 1.0) -> int:
        """Take some messages and do the work of each; sometimes too slowly. How many were taken."""
        leased = await bus.receive(self.name, role=READERS, limit=self.random.randint(1, 5), wait=wait)
        for one in leased:
            if self.random.random() < (dawdle if one.attempt == 1 else dawdle * REPEATED_DAWDLE):
                await asyncio.sleep(LEASE_SECONDS * 1.2)
            self.log.say("done", one.message.id)
            await self.ack(bus, one)
        return len(leased)

    async def ack(self, bus: Bus, one: LeasedMessage) -> None:
        begun, id_ = time.time(), one.message.id
        try:
            if has_reply(id_):
                sender = one.message.sender
                receipt = await bus.send("Done.", sender=self.name, to=sender, id=reply_id(id_), ack=one.token)
                first = not receipt.duplicate
            else:
                first = await bus.ack(one.token, agent=self.name)
        except LeaseLost:
            self.log.say("lease-lost", one.token, one.message.id)
        else:
            self.log.say("acked" if first else "acked-before", one.token, one.message.id, begun - one.until)


async def with_bus(store: str, live: Callable[[Bus], Awaitable[object]]) -> None:
    async with telex.connect(store, settings=SETTINGS) as bus:
        await live(bus)


def run(name: str, store: str, logs: Path, seed: int) -> None:
    """One life of one of the eight, which only a signal ends."""
    if name.startswith("reader"):
        asyncio.run(with_bus(store, Reader(name, logs, Random(seed)).live))
        return
    sender = Sender(name, logs)
    if name in ALONE:
        with telex.connect(store, settings=SETTINGS) as bus:
            sender.live_alone(bus, pause=0.005)
    else:
        asyncio.run(with_bus(store, lambda bus: sender.live(bus, hands=8, pause=0.08)))


ALONE = ("sender-3", "sender-4")
NAMES = tuple(f"{kind}-{number}" for number in (1, 2, 3, 4) for kind in ("sender", "reader"))
