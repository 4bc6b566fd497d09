"""Cost of a stream on its NATS servers: memory, file handles, processor time without traffic, time of a start.

Measured with real servers that sync every write. Each stream has one entry and one consumer, as a team with one hub
has. The figures are the constants of `bench.placement`. Run it alone: `python -m bench.stream_cost`, four minutes.
"""

import asyncio
import itertools
import os
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import nats
from nats.js.api import AckPolicy, ConsumerConfig, StreamConfig
from nats.js.client import JetStreamContext
from nats.js.errors import NoStreamResponseError

from bench.peers import CACHE
from tests.nats.servers import Servers

AT_ONCE = 16
SETTLE_SECONDS = 6.0  # after the last stream was made
IDLE_SECONDS = 10.0
_TICKS = os.sysconf("SC_CLK_TCK")


class Cost(NamedTuple):
    """The mean of the servers. A stream with three replicas is on each of the three servers."""

    streams: int
    memory_mb: float
    handles: float
    idle_share: float  # of a core

    def __str__(self) -> str:
        return (
            f"{self.streams:>6,} streams: {self.memory_mb:,.0f} MB, {self.handles:,.0f} file handles, "
            f"{self.idle_share:.1%} of a core when idle"
        )


def measure(replicas: int, counts: Sequence[int]) -> None:
    """Print the cost with each number of streams, on as many servers as there are replicas."""
    CACHE.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=CACHE) as name:
        servers = Servers(Path(name), replicas).start()
        try:
            for before, count in itertools.pairwise((0, *counts)):
                seconds = asyncio.run(_make(servers, range(before, count)))
                each = seconds / (count - before)
                print(f"  {_cost(servers, count)}; made in {1_000 * each:.0f} ms each", flush=True)
            print(f"  started again in {_restart(servers, counts[-1]):.1f} s, then {_cost(servers, counts[-1])}")
        finally:
            servers.stop()


def _cost(servers: Servers, count: int) -> Cost:
    time.sleep(SETTLE_SECONDS)
    pids = [process.pid for process in servers._processes if process is not None]
    memory = sum(_resident_mb(pid) for pid in pids) / servers.count
    handles = sum(len(os.listdir(f"/proc/{pid}/fd")) for pid in pids) / servers.count
    began = sum(map(_cpu_seconds, pids))
    time.sleep(IDLE_SECONDS)
    idle = (sum(map(_cpu_seconds, pids)) - began) / IDLE_SECONDS / servers.count
    return Cost(count, memory, handles, idle)


async def _make(servers: Servers, numbers: range) -> float:
    """Make streams with an entry and a consumer. The seconds that it took."""
    client = await nats.connect(servers.hosts[0])
    stream, waiting = client.jetstream(timeout=30), iter(numbers)
    began = time.monotonic()

    async def make() -> None:
        for number in waiting:
            config = StreamConfig(name=f"T{number}", subjects=[f"telex.t{number}.log"], num_replicas=servers.count)
            await stream.add_stream(config)
            while not await _publish(stream, f"telex.t{number}.log"):
                await asyncio.sleep(0.05)
            consumer = ConsumerConfig(  # it outlives this connection
                deliver_subject=f"follow.{number}",
                ack_policy=AckPolicy.NONE,
                mem_storage=True,
                num_replicas=1,
                inactive_threshold=600.0,
            )
            await stream.add_consumer(f"T{number}", consumer)

    await asyncio.gather(*(make() for _ in range(AT_ONCE)))
    seconds = time.monotonic() - began
    await client.close()
    return seconds


async def _publish(stream: JetStreamContext, subject: str) -> bool:
    try:
        await stream.publish(subject, b"x" * 600, timeout=30)
    except NoStreamResponseError:
        return False  # the server of this connection does not know the stream yet
    return True


def _restart(servers: Servers, count: int) -> float:
    """Seconds from the start of all servers until the last stream has a leader."""
    for number in range(servers.count):
        servers.kill(number)
    began = time.monotonic()
    servers.start()
    while _led(servers) < count:
        time.sleep(0.05)
    return time.monotonic() - began


def _led(servers: Servers) -> int:
    facts = servers.ask(0, "jsz?streams=true&accounts=true")
    details = [stream for account in facts.get("account_details", ()) for stream in account.get("stream_detail", ())]
    return sum(servers.count == 1 or bool(stream.get("cluster", {}).get("leader")) for stream in details)


def _resident_mb(pid: int) -> float:
    status = Path(f"/proc/{pid}/status").read_text()
    return int(status.partition("VmRSS:")[2].split()[0]) / 1_024


def _cpu_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS


if __name__ == "__main__":
    for replicas, counts in ((1, (1, 1_000, 2_000)), (3, (1, 500, 1_000))):
        print(f"{replicas} replicas; of each of {replicas} servers", flush=True)
        measure(replicas, counts)
