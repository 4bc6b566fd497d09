"""Workers of huey and of FastStream on NATS JetStream, with the tasks and replies of `bench.workers`.

Each handles a full queue in this process and stores one reply per task. NATS is a process of its own.
"""

import asyncio
import json
import logging
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from bench.measure import Turn
from bench.peers import peer, program
from examples.comparison.nats_server import nats_server

Run = Callable[[Sequence[bytes]], Turn]

STUCK_SECONDS = 60.0


class Stopwatch:
    """Times at which tasks reached the handler. The first one starts the clock, so that start-up does not count."""

    def __init__(self, tasks: int) -> None:
        self._tasks = tasks
        self._times: list[float] = []

    def note(self) -> None:
        self._times.append(time.perf_counter())

    @property
    def is_done(self) -> bool:
        return len(self._times) >= self._tasks

    @property
    def turn(self) -> Turn:
        assert len(self._times) == self._tasks, f"{self._tasks} tasks were handled {len(self._times)} times"
        return Turn(self._tasks - 1, self._times[-1] - self._times[0], [])

    def wait(self) -> None:
        """Block until every task was handled."""
        deadline = time.monotonic() + STUCK_SECONDS
        while not self.is_done and time.monotonic() < deadline:
            time.sleep(0.005)

    async def reached(self) -> None:
        """Return once every task was handled."""
        async with asyncio.timeout(STUCK_SECONDS):
            while not self.is_done:
                await asyncio.sleep(0.005)


def answer(task: dict[str, Any]) -> dict[str, Any]:
    """The work of one task: the reply and nothing else."""
    return {"taskId": task["payload"]["taskId"], "status": "COMPLETED", "details": "done"}


def with_huey(folder: Path, threads: int) -> Run | None:
    """huey's consumer with that many threads; results are stored (synchronous=FULL)."""
    module = peer("huey")
    if module is None:
        return None
    logging.getLogger("huey").setLevel(logging.ERROR)
    queue = module.SqliteHuey("workers", filename=str(folder / "huey-workers.db"), fsync=True)
    watch = Stopwatch(0)

    @queue.task()  # type: ignore[untyped-decorator]  # huey is imported at run time
    def build(raw: bytes) -> dict[str, Any]:
        watch.note()
        return answer(json.loads(raw))

    def run(raws: Sequence[bytes]) -> Turn:
        nonlocal watch
        watch = Stopwatch(len(raws))
        for raw in raws:
            build(raw)
        consumer = queue.create_consumer(workers=threads, periodic=False, check_worker_health=False)
        consumer.start()
        watch.wait()
        consumer.stop(graceful=True)
        queue.storage.flush_results()
        return watch.turn

    return run


@contextmanager
def with_faststream(folder: Path, sync: str, batch: int) -> Iterator[Run | None]:
    """FastStream with a pull consumer of that batch size; tasks and replies are in JetStream."""
    module, schemas, server = peer("faststream.nats"), peer("nats.js.api"), program("nats-server")
    if module is None or schemas is None or server is None:
        yield None
        return
    with ExitStack() as stack:
        url = stack.enter_context(nats_server(server, folder / f"nats-{sync}", sync=sync))
        runner = stack.enter_context(asyncio.Runner())
        yield lambda raws: runner.run(_faststream_turn(module, schemas, url, raws, batch))


async def _faststream_turn(module: Any, schemas: Any, url: str, raws: Sequence[bytes], batch: int) -> Turn:
    watch = Stopwatch(len(raws))
    broker = module.NatsBroker(url, logger=None)
    team = module.JStream("team", subjects=["tasks", "replies"])
    subscribed = broker.subscriber("tasks", stream=team, durable="dev", pull_sub=module.PullSub(batch_size=batch))

    @subscribed  # type: ignore[untyped-decorator]  # FastStream is imported at run time
    @broker.publisher("replies", stream=team)  # type: ignore[untyped-decorator]
    async def build(task: dict[str, Any]) -> Any:
        watch.note()
        return module.NatsResponse(answer(task), headers={"Nats-Msg-Id": f"{task['messageId']}.reply"})

    await broker.connect()
    stream = broker._connection.jetstream()
    await stream.add_stream(schemas.StreamConfig(name="team", subjects=["tasks", "replies"]))
    for first in range(0, len(raws), 100):
        await asyncio.gather(*(stream.publish("tasks", raw) for raw in raws[first : first + 100]))
    await broker.start()
    await watch.reached()
    await broker.stop()
    return watch.turn
