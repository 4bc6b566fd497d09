"""Send into a store with a million messages, beside one with ten thousand."""

import asyncio
import time
from collections.abc import Callable
from functools import partial

import telex
from bench.durable import sent_by
from bench.measure import Line, Turn, in_turns, pace, times_as_many
from bench.old_store import store_of
from bench.peers import SETTINGS
from bench.samples import updates

SMALL, LARGE = 10_000, 1_000_000
ROUNDS = 15
TURNS = {64: 64 * 20, 1: 200}  # callers at once, and how many messages they send in a turn
AT_MOST = 1.15


def lines() -> list[Line]:
    with asyncio.Runner() as runner:
        connections = {f"{kept:,} stored": telex.connect(store_of(kept), settings=SETTINGS) for kept in (SMALL, LARGE)}
        buses = {name: runner.run(connection.__aenter__()) for name, connection in connections.items()}
        small, large = buses
        found = []
        for callers, messages in TURNS.items():

            def turn(name: str, callers: int, messages: int) -> Turn:
                raws = updates(f"turn-{time.time_ns()}", messages)  # no id is ever sent twice
                return runner.run(sent_by(buses[name], raws, callers))

            work: dict[str, Callable[[], Turn]] = {name: partial(turn, name, callers, messages) for name in buses}
            turns = in_turns(work, ROUNDS)
            print(f"  {callers} at once, {small}: {pace(turns[small])}", flush=True)
            times = times_as_many(turns, small, large)
            what = f"cost of a durable send with {large}, {callers} at once"
            found.append(Line(what, pace(turns[large]), small, times, f"at most {AT_MOST:g} ×", times <= AT_MOST))
        for connection in connections.values():
            runner.run(connection.__aexit__(None, None, None))
    return found
