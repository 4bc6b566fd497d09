"""Processes whose power is cut: NATS servers and two hubs under load. They print what was acknowledged.

    python -m tests.nats.power_team FOLDER MESSAGES [--default-sync] [--servers HOSTS] [--plant]

Without `--servers` it starts three servers, whose files lie in FOLDER too. With `--default-sync` they sync as they do
when nothing is configured. With `--plant` the hubs' copies are never synced, not even by a checkpoint.
"""

import argparse
import asyncio
import os
from contextlib import ExitStack
from pathlib import Path
from random import Random

from telex.stores.nats.address import parse_address
from telex.stores.nats.replica_file import ReplicaConnection
from telex.stores.nats.store import ReplicaOptions, ReplicatedStore
from tests.nats.kit import SECRETS, send
from tests.nats.servers import Servers

TEAM, SERVERS, HUBS = "power", 3, 2
SENDERS = 12
BODY_BYTES_MAX = 6_000
LOG_PAGES = 20  # of a copy's log, much less than usual: a short run has checkpoints too


def say(text: str) -> None:
    os.write(1, text.encode() + b"\n")  # one call, so that it has one place in the trace


def open_with(*, log_pages: int, syncs: bool) -> None:
    """Open copies with these options."""
    opened = ReplicaConnection.__init__

    def open_so(self: ReplicaConnection, path: str, *, reads_only: bool = False) -> None:
        opened(self, path, reads_only=reads_only)
        self._connection.wal_autocheckpoint(log_pages)
        if not syncs:
            self._cursor.execute("PRAGMA synchronous = OFF")

    ReplicaConnection.__init__ = open_so  # type: ignore[method-assign]


async def send_many(hub: ReplicatedStore, name: str, count: int) -> None:
    random = Random(name)
    for number in range(count):
        result = await send(hub, f"{name}-{number}", raw=random.randbytes(random.randrange(BODY_BYTES_MAX)))
        assert result.outcome == "stored", result
        say(f"{name}-{number}")


async def work(address: str, folder: Path, messages: int, replicas: int) -> None:
    options = ReplicaOptions(replicas, log_bytes=-1, accepts_weaker=True)
    hubs = [
        await ReplicatedStore.open_replica(parse_address(address), str(folder / f"hub{number}"), SECRETS, options)
        for number in range(HUBS)
    ]
    senders = (send_many(hubs[number % HUBS], f"m{number}", messages // SENDERS) for number in range(SENDERS))
    await asyncio.gather(*senders)
    for hub in hubs:
        await hub.close()


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("messages", type=int)
    parser.add_argument("--default-sync", action="store_true")
    parser.add_argument("--servers")
    parser.add_argument("--plant", action="store_true")
    options = parser.parse_args()
    open_with(log_pages=LOG_PAGES, syncs=not options.plant)
    with ExitStack() as stack:
        address, replicas = options.servers, 1
        if address is None:
            servers = Servers(options.folder, SERVERS, synced=not options.default_sync)
            stack.callback(servers.stop)
            address, replicas = servers.start().address(TEAM), SERVERS
        asyncio.run(work(address, options.folder, options.messages, replicas))


if __name__ == "__main__":
    main()
