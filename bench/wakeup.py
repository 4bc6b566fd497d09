"""Idle cost and wake-up latency of a waiting reader.

Two readers, each a process: one with an event loop, one without. They first wait without messages, then get messages at
random times. A wake-up is timed from the return of the send to the return of the receive, by the machine's shared
monotonic clock.
"""

import asyncio
import multiprocessing
import random
import tempfile
import time
from multiprocessing.connection import Connection
from typing import Any

import telex
from bench.measure import Line, micro, percentile, percentiles
from bench.peers import CACHE, SETTINGS
from bench.samples import updates

IDLE_SECONDS = 8.0
WAKES = 250  # of each reader
PAUSE_SECONDS = (0.005, 0.060)
WAIT_SECONDS = 60.0
SHARE_MAX, WAKE_SECONDS_MAX = 0.01, 0.050
READERS = {"lead": "with an event loop", "qa": "blocking"}


def lines() -> list[Line]:
    CACHE.mkdir(parents=True, exist_ok=True)
    spawn = multiprocessing.get_context("spawn")
    with tempfile.TemporaryDirectory(dir=CACHE) as folder:
        path = f"{folder}/telex.db"
        pipes: dict[str, Connection] = {}
        processes = []
        for agent in READERS:
            pipes[agent], theirs = spawn.Pipe()
            processes.append(spawn.Process(target=_read, args=(agent, path, theirs), daemon=True))
            processes[-1].start()
        for pipe in pipes.values():
            pipe.recv()  # it is there and waits
        time.sleep(IDLE_SECONDS)
        shares, wakes = _wake(path, pipes)
        for pipe in pipes.values():
            pipe.close()
        for process in processes:
            process.join(10)
    return [line for agent in READERS for line in _report(READERS[agent], shares[agent], wakes[agent])]


def _wake(path: str, pipes: dict[str, Connection]) -> tuple[dict[str, float], dict[str, list[float]]]:
    chance = random.Random(1)
    shares: dict[str, float] = {}
    wakes: dict[str, list[float]] = {agent: [] for agent in pipes}
    with telex.connect(path, settings=SETTINGS) as bus:
        raws = iter(updates("wake", (WAKES + 1) * len(pipes)))
        for number in range(WAKES + 1):
            for agent, pipe in pipes.items():
                receipt = bus.send(next(raws), sender="dev", to=agent)
                sent_at = time.perf_counter()
                assert receipt.accepted, receipt
                woke_at, share = pipe.recv()
                if number == 0:
                    shares[agent] = share
                else:
                    wakes[agent].append(max(0.0, woke_at - sent_at))
                time.sleep(chance.uniform(*PAUSE_SECONDS))
    return shares, wakes


def _report(reader: str, share: float, wakes: list[float]) -> list[Line]:
    late, told = percentile(wakes, 0.99), percentiles(wakes)
    most = micro(WAKE_SECONDS_MAX)
    idle = f"an idle reader, waiting {reader} for {IDLE_SECONDS:g} s"
    woken = f"wake-up of a reader waiting {reader}, p99"
    return [
        Line(idle, f"{share:.2%} of a core", "a core", share, f"under {SHARE_MAX:.0%}", share < SHARE_MAX),
        Line(woken, told, most, late / WAKE_SECONDS_MAX, f"under {most}", late < WAKE_SECONDS_MAX),
    ]


def _read(agent: str, path: str, pipe: Connection) -> None:
    """Wait, say when it came and what the waiting cost, take it, wait again."""
    if READERS[agent] == "blocking":
        with telex.connect(path, settings=SETTINGS) as bus:
            _answer(pipe, lambda: bus.receive(agent, wait=WAIT_SECONDS), lambda token: bus.ack(token, agent=agent))
        return

    with asyncio.Runner() as loop:
        connection: Any = telex.connect(path, settings=SETTINGS)
        bus = loop.run(connection.__aenter__())
        _answer(
            pipe,
            lambda: loop.run(bus.receive(agent, wait=WAIT_SECONDS)),
            lambda token: loop.run(bus.ack(token, agent=agent)),
        )
        loop.run(connection.__aexit__(None, None, None))


def _answer(pipe: Connection, receive: Any, ack: Any) -> None:
    pipe.send("ready")
    while True:
        cpu, start = time.process_time(), time.perf_counter()
        taken = receive()
        woke_at = time.perf_counter()
        share = (time.process_time() - cpu) / (woke_at - start)
        for one in taken:
            ack(one.token)
        try:
            pipe.send((woke_at, share))
        except OSError:
            return
