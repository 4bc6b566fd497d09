"""Adapters of other queues, each with the durability that it offers."""

import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from bench.measure import Turn
from bench.peers import peer

Put = Callable[[bytes], object]


def huey(path: Path) -> Put | None:
    """synchronous=FULL; one connection, which its threads take in turn."""
    storage = peer("huey.storage")
    return storage and storage.SqliteStorage("bench", filename=str(path / "huey.db"), fsync=True).enqueue


def persist_queue(path: Path) -> Put | None:
    """synchronous=FULL, which is what it comes with; one connection for putting, which its threads take in turn."""
    module = peer("persistqueue")
    if module is None:
        return None
    queue = module.SQLiteAckQueue(str(path / "persist-queue"), multithreading=True)
    queue._putter.execute("PRAGMA synchronous = FULL")
    put: Put = queue.put
    return put


def litequeue(path: Path) -> Put | None:
    """synchronous=NORMAL, the only mode it offers: a power cut loses acknowledged messages."""
    module = peer("litequeue")
    if module is None:
        return None
    queue = module.LiteQueue(str(path / "litequeue.db"))
    return lambda raw: queue.put(raw.decode())


QUEUES = {"huey (FULL)": huey, "persist-queue (FULL)": persist_queue, "litequeue (NORMAL)": litequeue}


def in_threads(put: Put, raws: Iterator[bytes], callers: int, seconds: float) -> Turn:
    """So many threads, each putting one message after the other until the time is up."""
    taken: list[float] = []
    begin = threading.Barrier(callers + 1)
    until = 0.0

    def call() -> None:
        begin.wait()
        before = time.perf_counter()
        while before < until:
            put(next(raws))
            after = time.perf_counter()
            taken.append(after - before)
            before = after

    threads = [threading.Thread(target=call) for _ in range(callers)]
    for thread in threads:
        thread.start()
    start = time.perf_counter()
    until = start + seconds
    begin.wait()
    for thread in threads:
        thread.join()
    return Turn(len(taken), time.perf_counter() - start, taken)
