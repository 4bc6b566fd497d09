"""Throughput of `telex.Worker`, beside a bare receive and ack loop, huey's consumer and FastStream on NATS JetStream.

The queue is full before a turn begins. A task is a TASK_ASSIGNMENT of 600 bytes; the reply is a STATUS_UPDATE.
Turns are short and many, so that a slow second of the machine falls on all contenders.
"""

import asyncio
import itertools
import statistics
import tempfile
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import NamedTuple

import telex
from bench.durable import emptied
from bench.measure import UNPROMISED, Line, Turn, in_turns, times_as_many
from bench.peers import CACHE, SETTINGS
from bench.samples import assignments
from bench.worker_peers import Run, Stopwatch, with_faststream, with_huey
from telex.messages.build_flow import StatusUpdate, TaskAssignment

ROUNDS = 9
AT_ONCE = 16
LEAD, DEV = "build-orchestrator", "dev"
SHARE_MIN = 0.8
HUEY = f"huey's consumer, {AT_ONCE} threads, results stored (FULL)"
SYNCED = f"FastStream on NATS JetStream, {AT_ONCE} at a time, replies stored, synced each"
UNSYNCED = f"FastStream on NATS JetStream, {AT_ONCE} at a time, replies stored, synced every 2 min (the default)"


class Pair(NamedTuple):
    """A worker, and the bare loop that does the same without one."""

    what: str
    at_once: int
    replies: bool
    tasks: int  # in a turn

    @property
    def worker(self) -> str:
        return f"worker: {self.what}"

    @property
    def bare(self) -> str:
        return f"bare loop: {self.what}"


ACKS = Pair(f"receive → ack, {AT_ONCE} at a time", AT_ONCE, replies=False, tasks=800)
REPLIES = Pair(f"receive → reply and ack, {AT_ONCE} at a time", AT_ONCE, replies=True, tasks=400)
PAIRS = (Pair("receive → ack, one at a time", 1, replies=False, tasks=100), ACKS, REPLIES)
UNREAD = f"bare loop that does not parse the message, {AT_ONCE} at a time"
Consume = Callable[[telex.Bus, Pair, Stopwatch], Awaitable[None]]


def lines() -> list[Line]:
    CACHE.mkdir(parents=True, exist_ok=True)
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(dir=CACHE)))
        runner = stack.enter_context(asyncio.Runner())
        connection = telex.connect(folder / "telex.db", settings=SETTINGS)
        bus = runner.run(connection.__aenter__())
        turn_ids = (f"turn-{number}" for number in itertools.count())  # no id is ever sent twice

        def run_telex(pair: Pair, consume: Consume) -> Turn:
            return runner.run(telex_turn(bus, next(turn_ids), pair, consume))

        def run_peer(run: Run) -> Turn:
            return run(assignments(next(turn_ids), REPLIES.tasks))

        work: dict[str, Callable[[], Turn]] = {UNREAD: partial(run_telex, ACKS, by_blind_loop)}
        for pair in PAIRS:
            work[pair.worker] = partial(run_telex, pair, by_worker)
            work[pair.bare] = partial(run_telex, pair, by_loop)
        peers = {
            HUEY: with_huey(folder, AT_ONCE),
            SYNCED: stack.enter_context(with_faststream(folder, "always", AT_ONCE)),
            UNSYNCED: stack.enter_context(with_faststream(folder, "2m", AT_ONCE)),
        }
        for name, run in peers.items():
            if run is not None:
                work[name] = partial(run_peer, run)
        turns = in_turns(work, ROUNDS)
        runner.run(connection.__aexit__(None, None, None))
    return _report(turns)


def _report(turns: Mapping[str, Sequence[Turn]]) -> list[Line]:
    rates = {name: f"{statistics.median(turn.rate for turn in each):,.0f}/s" for name, each in turns.items()}

    def line(ours: str, theirs: str, share_min: float | None = None) -> Line:
        times = times_as_many(turns, ours, theirs)
        promise = UNPROMISED if share_min is None else f"at least {share_min:g} ×"
        return Line(ours, rates[ours], f"{theirs} ({rates[theirs]})", times, promise, times >= (share_min or 0))

    promised = [line(pair.worker, pair.bare, SHARE_MIN) for pair in PAIRS]
    peers = [line(REPLIES.worker, name) for name in (HUEY, SYNCED, UNSYNCED) if name in turns]
    return [*promised, line(ACKS.worker, UNREAD), *peers]


# --- Telex


async def telex_turn(bus: telex.Bus, prefix: str, pair: Pair, consume: Consume) -> Turn:
    """Fill the inbox, let it be consumed, and empty the inbox of the replies."""
    raws = assignments(prefix, pair.tasks)
    await asyncio.gather(*(bus.send(raw, sender=LEAD, to=DEV) for raw in raws))
    watch = Stopwatch(pair.tasks)
    await consume(bus, pair, watch)
    await emptied(bus, LEAD)
    return watch.turn


async def by_worker(bus: telex.Bus, pair: Pair, watch: Stopwatch) -> None:
    worker = telex.Worker(DEV)

    @worker.handles(TaskAssignment, concurrency=pair.at_once)
    async def build(task: TaskAssignment) -> StatusUpdate | None:
        watch.note()
        return _reply(task) if pair.replies else None

    async with asyncio.TaskGroup() as group:
        group.create_task(worker.serve(bus))
        await watch.reached()
        worker.stop()


async def by_loop(bus: telex.Bus, pair: Pair, watch: Stopwatch) -> None:
    """What a worker does, without one: read the body, then reply or ack."""

    async def settle(lease: telex.Lease) -> None:
        watch.note()
        body = lease.message.body
        await (lease.reply(_reply(body)) if pair.replies else lease.ack())

    await _loop(bus, pair, settle)


async def by_blind_loop(bus: telex.Bus, pair: Pair, watch: Stopwatch) -> None:
    async def settle(lease: telex.Lease) -> None:
        watch.note()
        await lease.ack()

    await _loop(bus, pair, settle)


async def _loop(bus: telex.Bus, pair: Pair, settle: Callable[[telex.Lease], Awaitable[None]]) -> None:
    agent = bus.agent(DEV)
    while leases := await agent.receive(pair.at_once):
        await asyncio.gather(*map(settle, leases))


def _reply(task: TaskAssignment) -> StatusUpdate:
    return StatusUpdate(task_id=task.payload.task_id, status="COMPLETED", details="done")
