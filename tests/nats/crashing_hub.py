"""A hub process that crashes in the middle of a write, at a step that its arguments name.

    python -m tests.nats.crashing_hub ADDRESS FOLDER STEP [--planted]

It prints the id of every message that was acknowledged. With `--planted` it commits before it publishes.
"""

import asyncio
import os
import sys
from pathlib import Path

from telex.stores.nats.address import parse_address
from telex.stores.nats.batch import MAC_HEADER
from telex.stores.nats.log import Log, Outcome
from telex.stores.nats.store import ReplicaOptions, ReplicatedStore
from telex.stores.nats.writer import BatchWriter, Flight
from tests.nats.kit import SECRETS, log_of, send

STEPS = ("decided", "published", "acknowledged", "committed")
WRITES = 5  # the last of them crashes
EXIT_CODE = 9


def crash() -> None:
    sys.stdout.flush()
    os._exit(EXIT_CODE)


class CrashingLog:
    """Publishing that crashes before, during or after."""

    def __init__(self, log: Log, step: str) -> None:
        self._log, self._client, self._publish, self._step = log, log._client, log.publish, step

    async def __call__(self, data: bytes, mac: str, base: int) -> Outcome:
        if self._step == "decided":
            crash()
        if self._step == "published":
            headers = {MAC_HEADER: mac, "Nats-Expected-Last-Sequence": str(base)}
            await self._client.publish(self._log.address.subject, data, headers=headers)
            await self._client.flush()
            crash()
        outcome = await self._publish(data, mac, base)
        if self._step == "acknowledged":
            crash()
        return outcome


def commit_before_publishing() -> None:
    start = BatchWriter._start

    def start_committed(writer: BatchWriter, flight: Flight) -> None:
        start(writer, flight)
        writer._file.commit()

    BatchWriter._start = start_committed  # type: ignore[assignment,method-assign]


async def live(address: str, folder: Path, step: str, is_planted: bool) -> None:
    hub = await ReplicatedStore.open_replica(
        parse_address(address), str(folder), SECRETS, ReplicaOptions(1, log_bytes=-1, accepts_weaker=True)
    )
    for number in range(WRITES):
        if number == WRITES - 1:
            prepare(hub, step, is_planted)
        await send(hub, f"m{number}")
        print(f"m{number}", flush=True)


def prepare(hub: ReplicatedStore, step: str, is_planted: bool) -> None:
    if is_planted:
        commit_before_publishing()
    if step == "committed":
        hub.committed = lambda *_: crash()  # type: ignore[method-assign]
    else:
        log_of(hub).publish = CrashingLog(log_of(hub), step)  # type: ignore[method-assign]


if __name__ == "__main__":
    asyncio.run(live(sys.argv[1], Path(sys.argv[2]), sys.argv[3], "--planted" in sys.argv))
