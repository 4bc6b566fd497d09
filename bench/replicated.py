"""Durable send through hubs that share a replicated log, beside one SQLite file, bare JetStream and FastStream.

Three real NATS servers that sync every write, on this machine: the figures have the cost of the code and of three syncs
on one disk, and nothing of a network. Every hub is a process of its own with its callers. Bare JetStream publishes
payloads of the sizes that the hub has just published, one after another, with the same condition. Run it alone:
`python -m bench.replicated`.
"""

import asyncio
import itertools
import json
import os
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import nats
from nats.js.api import DiscardPolicy, StorageType, StreamConfig

from bench.measure import UNPROMISED, Line, Turn, in_turns, micro, pace, percentile, table_row, times_as_many
from bench.peers import CACHE, peer
from bench.replicated_hub import HubProcess, hub_process
from bench.samples import updates
from telex.stores.nats.batch import MAC_CHARACTERS, MAC_HEADER
from tests.nats.servers import Servers

ROUNDS = 9
CALLERS, FEW = 64, 4
MESSAGES = 3_840
ALONE = 150  # messages of a single caller
MESSAGES_AHEAD = 30_000  # of a hub that writes until it is stopped
SENDS_OF_PEER = 1_280
SQLITE, LONE = "one SQLite file (FULL), 64 callers", "one hub, 64 callers"
FOLLOWED = "one hub, 64 callers, a second hub follows"
BOTH = "two hubs, 64 callers each, together"
BESIDE, CROWDED = (f"64 callers beside a hub with {others} callers" for others in (FEW, CALLERS))
ONE, ONE_BESIDE = "one caller", f"one caller beside a hub with {FEW} callers"
BARE = "bare JetStream, batches of the same sizes"
FASTSTREAM = "FastStream, one JetStream message per send, 64 callers"
SQLITE_SHARE_MIN, BESIDE_SHARE_MIN, BOTH_SHARE_MIN, BARE_SHARE_MIN = 0.4, 0.25, 0.9, 0.5
BESIDE_SECONDS_MAX = 0.030  # p99


def lines() -> list[Line]:
    CACHE.mkdir(parents=True, exist_ok=True)
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(dir=CACHE)))
        servers = Servers(folder / "nats", 3).start()
        stack.callback(servers.stop)

        def hub(where: str, copy: str) -> HubProcess:
            return stack.enter_context(hub_process(where, folder / copy))

        plain, lone = hub(str(folder / "telex.db"), "plain"), hub(servers.address("lone"), "lone")
        pair = Pair(hub(servers.address("pair"), "first"), hub(servers.address("pair"), "second"))
        runner = stack.enter_context(asyncio.Runner())
        bare = runner.run(Bare.connect(servers))
        stack.callback(lambda: runner.run(bare.close()))
        work: dict[str, Callable[[], Turn]] = {
            SQLITE: partial(measure, plain, MESSAGES, CALLERS),
            LONE: partial(measure, lone, MESSAGES, CALLERS),
            BARE: lambda: runner.run(bare.publish(lone.do("batches"), MESSAGES)),  # of the turn before
            FOLLOWED: partial(measure, pair.first, MESSAGES, CALLERS),
            BOTH: pair.both,
            BESIDE: partial(pair.beside, MESSAGES, CALLERS, FEW),
            CROWDED: partial(pair.beside, MESSAGES // 2, CALLERS, CALLERS),
            ONE: partial(measure, pair.first, ALONE, 1),
            ONE_BESIDE: partial(pair.beside, ALONE, 1, FEW),
        }
        publish = stack.enter_context(with_faststream(runner, servers))
        if publish is not None:
            work[FASTSTREAM] = publish
        turns = in_turns(work, ROUNDS)
        sizes = lone.do("batches")
    for name, each in turns.items():
        print(f"  {name}: {pace(each)}", flush=True)
    print(
        f"  a batch of {LONE}: {MESSAGES / len(sizes):.0f} messages in {sum(sizes) / len(sizes):,.0f} bytes", flush=True
    )
    return _report(turns)


# --- Telex


_names = (f"turn-{number}" for number in itertools.count())  # no id is ever sent twice


def measure(hub: HubProcess, messages: int, callers: int) -> Turn:
    hub.do("prepare", name=next(_names), messages=messages)
    hub.begin("send", callers=callers)
    turn = hub.turn()
    hub.do("empty")
    return turn


class Pair:
    """Two hubs of one team."""

    def __init__(self, first: HubProcess, second: HubProcess) -> None:
        self.first, self._second = first, second

    def both(self) -> Turn:
        """Half of the messages each, at the same time."""
        hubs = (self.first, self._second)
        for hub in hubs:
            hub.do("prepare", name=next(_names), messages=MESSAGES // 2)
        for hub in hubs:
            hub.begin("send", callers=CALLERS)
        turns = [hub.turn() for hub in hubs]
        self.first.do("empty")
        return Turn(MESSAGES, max(turn.seconds for turn in turns), [each for turn in turns for each in turn.each])

    def beside(self, messages: int, callers: int, others: int) -> Turn:
        """Callers of the first hub, while callers of the second one send all the time."""
        self.first.do("prepare", name=next(_names), messages=messages)
        self._second.do("prepare", name=next(_names), messages=MESSAGES_AHEAD)
        self._second.do("write", callers=others)
        self.first.begin("send", callers=callers)
        turn = self.first.turn()
        self._second.begin("stop")
        self._second.turn()
        self.first.do("empty")
        return turn


# --- others


class Bare:
    """JetStream without Telex: payloads one after another, each on the condition that nothing else came before it."""

    def __init__(self, client: Any) -> None:
        self._client, self._stream, self._last = client, client.jetstream(), 0

    @classmethod
    async def connect(cls, servers: Servers) -> "Bare":
        bare = cls(await nats.connect(servers.hosts))
        config = StreamConfig(  # as the log of a team
            name="BARE",
            subjects=["bare"],
            storage=StorageType.FILE,
            num_replicas=3,
            discard=DiscardPolicy.NEW,
            deny_delete=True,
            allow_direct=True,
        )
        await bare._stream.add_stream(config)
        return bare

    async def publish(self, sizes: Sequence[int], messages: int) -> Turn:
        """Batches of these sizes, which hold that many messages."""
        payloads = [os.urandom(size) for size in sizes]
        same = {"Nats-Expected-Stream": "BARE", MAC_HEADER: "0" * MAC_CHARACTERS}
        each: list[float] = []
        start = before = time.perf_counter()
        for payload in payloads:
            headers = same | {"Nats-Expected-Last-Sequence": str(self._last)}
            self._last = (await self._stream.publish("bare", payload, headers=headers)).seq
            after = time.perf_counter()
            each.append(after - before)
            before = after
        return Turn(messages, before - start, each)

    async def close(self) -> None:
        await self._client.close()


@contextmanager
def with_faststream(runner: asyncio.Runner, servers: Servers) -> Iterator[Callable[[], Turn] | None]:
    """FastStream publishes each message to a stream with three replicas, and waits for its acknowledgement."""
    module = peer("faststream.nats")
    if module is None:
        yield None
        return
    broker = module.NatsBroker([f"nats://{host}" for host in servers.hosts], logger=None)
    runner.run(_start(broker))
    yield lambda: runner.run(_published(broker, [json.loads(raw) for raw in updates(next(_names), SENDS_OF_PEER)]))
    runner.run(broker.stop())


async def _start(broker: Any) -> None:
    await broker.connect()
    await broker._connection.jetstream().add_stream(
        StreamConfig(name="PEER", subjects=["peer"], storage=StorageType.FILE, num_replicas=3)
    )


async def _published(broker: Any, trees: Sequence[dict[str, Any]]) -> Turn:
    each: list[float] = []

    async def call(own: Sequence[dict[str, Any]]) -> None:
        for tree in own:
            before = time.perf_counter()
            await broker.publish(tree, "peer", stream="PEER", timeout=10)
            each.append(time.perf_counter() - before)

    start = time.perf_counter()
    await asyncio.gather(*(call(trees[number::CALLERS]) for number in range(CALLERS)))
    return Turn(len(trees), time.perf_counter() - start, each)


# --- the report


def _report(turns: dict[str, list[Turn]]) -> list[Line]:
    def line(ours: str, theirs: str, share_min: float | None = None) -> Line:
        times = times_as_many(turns, ours, theirs)
        promise = UNPROMISED if share_min is None else f"at least {share_min:g} ×"
        return Line(f"replicated send: {ours}", pace(turns[ours]), theirs, times, promise, times >= (share_min or 0))

    found = [
        line(LONE, SQLITE, SQLITE_SHARE_MIN),
        line(LONE, BARE, BARE_SHARE_MIN),
        line(BESIDE, SQLITE, BESIDE_SHARE_MIN),
        line(CROWDED, SQLITE),
        line(BOTH, FOLLOWED, BOTH_SHARE_MIN),
        line(ONE_BESIDE, ONE),
    ]
    beside, alone = (
        percentile([each for turn in turns[name] for each in turn.each], 0.99) for name in (ONE_BESIDE, ONE)
    )
    what, most = f"replicated send: {ONE_BESIDE}: p99", micro(BESIDE_SECONDS_MAX)
    against = f"{most} (p99 of one caller without the other hub: {micro(alone)})"
    found.append(
        Line(what, micro(beside), against, beside / BESIDE_SECONDS_MAX, f"under {most}", beside < BESIDE_SECONDS_MAX)
    )
    if FASTSTREAM in turns:
        found.append(line(LONE, FASTSTREAM))
    return found


if __name__ == "__main__":
    for row in map(table_row, lines()):
        print(row)
