"""Durable send (synchronous=FULL): 64 concurrent callers in one process, beside other queues."""

import asyncio
import itertools
import tempfile
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import telex
from bench.floors import RawGroups, syncs
from bench.measure import UNPROMISED, Line, Turn, in_turns, pace, times_as_many
from bench.peers import CACHE, SETTINGS
from bench.queues import QUEUES, in_threads
from bench.samples import updates

CALLERS = 64
ROUNDS = 7
MESSAGES = 6_400  # of ours in a turn: fewer than an inbox holds
SECONDS = 0.5  # of a queue's turn
OURS, RAW, SYNC = "telex", "raw group commit of the same rows", "a page written and synced each time"
PROMISED = {"huey (FULL)": 5.0, "persist-queue (FULL)": 5.0, "litequeue (NORMAL)": 3.0}
RAW_SHARE_MIN = 0.45


def lines() -> list[Line]:
    CACHE.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=CACHE) as name, asyncio.Runner() as runner:
        folder = Path(name)
        connection = telex.connect(folder / "telex.db", settings=SETTINGS)
        bus = runner.run(connection.__aenter__())
        raw = RawGroups(folder / "raw.db")
        fresh = (f"turn-{number}" for number in itertools.count())  # no id is ever sent twice
        anything = itertools.cycle(updates("peer", 1_000))  # to a queue it is all the same
        work: dict[str, Callable[[], Turn]] = {
            OURS: lambda: runner.run(sent_by(bus, updates(next(fresh), MESSAGES))),
            RAW: lambda: raw.run(updates(next(fresh), MESSAGES), CALLERS),
            SYNC: lambda: syncs(folder),
        }
        for peer, open_ in QUEUES.items():
            put = open_(folder)
            if put is not None:
                work[peer] = partial(in_threads, put, anything, CALLERS, SECONDS)
        turns = in_turns(work, ROUNDS)
        runner.run(connection.__aexit__(None, None, None))
        raw.close()
    return _report(turns)


def _report(turns: dict[str, list[Turn]]) -> list[Line]:
    ours = pace(turns[OURS])
    what = f"durable send (FULL), validated, {CALLERS} callers in one process"
    found = []
    for name, promised in PROMISED.items():
        if name in turns:
            print(f"  {name}: {pace(turns[name])}", flush=True)
            times = times_as_many(turns, OURS, name)
            promise = f"at least {promised:g} ×"
            found.append(Line(what, ours, name, times, promise, times >= promised))
    for name in (RAW, SYNC):
        print(f"  {name}: {pace(turns[name])}", flush=True)
    part, cheaper = times_as_many(turns, OURS, RAW), times_as_many(turns, OURS, SYNC)
    found.append(Line(what, ours, RAW, part, f"at least {RAW_SHARE_MIN:g} ×", part >= RAW_SHARE_MIN))
    found.append(Line(what, ours, SYNC, cheaper, UNPROMISED, True))
    return found


async def sent_by(bus: Any, raws: Sequence[bytes], callers: int = CALLERS) -> Turn:
    """Each caller waits for its receipt before it sends its next."""
    each: list[float] = []

    async def call(mine: Sequence[bytes]) -> None:
        before = time.perf_counter()
        for raw in mine:
            receipt = await bus.send(raw, sender="dev", to="lead")
            assert receipt.accepted, receipt
            after = time.perf_counter()
            each.append(after - before)
            before = after

    start = time.perf_counter()
    await asyncio.gather(*(call(raws[number::callers]) for number in range(callers)))
    seconds = time.perf_counter() - start
    await emptied(bus, "lead")
    return Turn(len(raws), seconds, each)


async def emptied(bus: Any, agent: str) -> None:
    """Take everything out of an inbox, so that the next turn finds it as this one did."""
    while taken := await bus.receive(agent, limit=1_000):
        await asyncio.gather(*(bus.ack(one.token, agent=agent) for one in taken))
