"""`make bench`: measure, print, and write docs/benchmarks.md. Exit 1 when a promise does not hold."""

import os
import platform
import sys
from importlib.metadata import version
from pathlib import Path

from bench import (
    beside,
    cold,
    contracts,
    cycle,
    durable,
    guard,
    hooks,
    hub,
    in_process,
    kept,
    many,
    mcp_calls,
    open_page,
    replay,
    replicated,
    translation,
    wakeup,
    work_state,
    workers,
)
from bench.measure import Line, figure, table_row
from bench.peers import versions

PAGE = Path(__file__).parent.parent / "docs" / "benchmarks.md"
ROOMS = {
    "in process": in_process,
    "cold start": cold,
    "the guard": guard,
    "hooks of coding tools": hooks,
    "many messages": many,
    "a log replayed": replay,
    "durable sends": durable,
    "contracts": contracts,
    "there and back": cycle,
    "workers": workers,
    "a million kept": kept,
    "waiting readers": wakeup,
    "the rules of the work": work_state,
    "other dialects": translation,
    "beside another bus": beside,
    "the hub": hub,
    "an open page": open_page,
    "replicated hubs": replicated,
    "an MCP call": mcp_calls,
}
_INTRO = """# Benchmarks

Written by `make bench`. Every row is a ratio: the median of interleaved rounds of one run. So it compares Telex with
others and does not measure this machine. p50, p99 and p99.9 are over all rounds together.

Checks: the messages are every type of the dialect, thirty times with other words, written by Python's `json`. All pass.
Duplicate keys, rules and roles are checked. Peers are given the same fields, rules and senders.

The bus: the message is a developer's report of 600 bytes, under a new id each time. It is validated and stored with its
event, its delivery and its id. A queue gets the same bytes and does not check them. FULL means that a message is synced
before its sender is answered. A queue that syncs each message on its own is as fast as the disk's sync. One that shares
a sync among its callers is faster. The slower the disk, the larger the ratio between them. What a sync cost in this run
is the row "a page written and synced each time".

Workers: the queue is full before a turn begins, and the handler does nothing. The bare loop is what a program writes
without a worker: receive, read the typed body, reply or ack; one row is against a loop that does not even parse the
message. FastStream runs in this process and its NATS server in
another; huey runs in this process. Both take the same tasks, unchecked, and store a reply of the same fields.

The hub: requests come over 64 connections of this machine, from a client that does little more than write and read. The
same hub with a constant answer is the complete hub with one more route, which gets the same bytes and stores nothing.
The server with authentication alone, and the server alone, show what each part costs.

Replicated send: three NATS servers that sync every write, the hubs and their callers, all on this machine; each hub is
a process of its own with its callers. Bare JetStream publishes random bytes in batches of the sizes that the hub has
just published, one after another, with the same condition. FastStream publishes one JSON message per send to a stream
with three replicas, without checks, leases or batches.

The page: a browser without a cache on this machine, which draws in software. Five open pages request all that pages
request; five pages that are drawn also take the processor time of their drawing from the same two cores.
"""


def main() -> int:
    lines: list[Line] = []
    for name, room in ROOMS.items():
        print(f"{name} …", flush=True)
        for line in room.lines():
            cost = f"{line.ours}, " if line.ours else ""
            print(f"  {line.what}: {cost}{figure(line.ratio)} × {line.against} ({line.promise})", flush=True)
            lines.append(line)
    PAGE.write_text(_page(lines), encoding="utf-8")
    short = [line for line in lines if not line.holds]
    for line in short:
        print(f"SHORT: {line.what}: {figure(line.ratio)} × {line.against}; promised {line.promise}")
    print(f"written to {PAGE.relative_to(Path.cwd()) if PAGE.is_relative_to(Path.cwd()) else PAGE.name}")
    return 1 if short else 0


def _page(lines: list[Line]) -> str:
    head = ["| what | Telex | against | ratio | promise | holds |", "|---|---|---|---|---|---|"]
    packages = ", ".join(f"{name} {version(name)}" for name in ("msgspec", "pydantic", "PyYAML", "apsw"))
    machine = f"CPython {platform.python_version()} on {os.cpu_count()} cores ({platform.machine()})"
    where = "; ".join(filter(None, (machine, packages, versions()))) + "."
    return "\n".join([_INTRO, where, "", *head, *map(table_row, lines), ""])


if __name__ == "__main__":
    sys.exit(main())
