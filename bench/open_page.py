"""Cost of an open page for agents that send through the hub, on a store with a large team.

50,000 messages, 200 silent agents with 2,600 unread messages, 40 open approvals. Agents send at a fixed rate, once
without a page and once while a page follows the events, requests the counts 400 ms after an event and the states of new
messages, as the page in the browser does.
"""

import asyncio
import itertools
import json
import multiprocessing
import shutil
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import httpx2 as httpx

import telex
from bench.hub import serving
from bench.measure import Line, Turn, in_turns, percentile, percentiles
from bench.old_store import store_of
from bench.peers import CACHE
from bench.samples import updates
from telex.messages.vbw_typed import ApprovalRequest

KEPT, AGENTS, UNREAD, APPROVALS = 50_000, 200, 2_600, 40
ROLES = ("lead", "dev", "qa", "scout")
ROUNDS, SENDS, EVERY_SECONDS = 5, 400, 0.01
COUNTED_SECONDS, STATES_SECONDS = 0.4, 0.25  # after an event, as in app.js and feed_row.js
ALONE, WATCHED = "no page", "one open page"


def lines() -> list[Line]:
    CACHE.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=CACHE) as name, ExitStack() as stack:
        asyncio.run(_fill(Path(name)))
        port = stack.enter_context(serving(Path(name), "[limits]\nsilent_seconds = 1\n"))
        fresh = itertools.count()

        def send() -> Turn:
            return asyncio.run(_send(port, updates(f"page-{next(fresh)}", SENDS)))

        work: dict[str, Callable[[], Turn]] = {ALONE: send, WATCHED: lambda: _while_watched(port, send)}
        turns = in_turns(work, ROUNDS)
    late = {name: [percentile(turn.each, 0.99) for turn in done] for name, done in turns.items()}
    found = statistics.median(a / b for a, b in zip(late[WATCHED], late[ALONE], strict=True))
    every = {name: percentiles([each for turn in done for each in turn.each]) for name, done in turns.items()}
    print(f"  {ALONE}: {every[ALONE]}", flush=True)
    what = f"POST /send with an open page, {KEPT:,} messages, {AGENTS} agents, {UNREAD:,} unread: p99"
    return [Line(what, every[WATCHED], ALONE, found, "at most 2 ×", found <= 2)]


async def _fill(folder: Path) -> None:
    for file in store_of(KEPT).parent.iterdir():
        shutil.copy(file, folder / file.name)
    async with telex.connect(str(folder / "telex.db")) as bus:
        names = [f"agent-{number}" for number in range(AGENTS)]
        for number, name in enumerate(names):
            await bus.join(name, role=ROLES[number % len(ROLES)])
        for number in range(UNREAD):
            sender, to = names[number * 7 % AGENTS], names[(number * 13 + 1) % AGENTS]
            await bus.send(f"Look at the build, note {number}.", sender=sender, to=to)
        for number in range(APPROVALS):
            ask = ApprovalRequest(
                subject="More scope",
                request_type="scope_change",
                evidence="The plan",
                phase=1,
                task=f"T{number}",
                confidence="high",
            )
            receipt = await bus.send(ask, id=f"ask-{number}", sender=names[4 * number + 1], to=names[4 * number])
            assert receipt.accepted, receipt.findings


async def _send(port: int, bodies: list[bytes]) -> Turn:
    each: list[float] = []
    start = time.perf_counter()
    async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}") as client:

        async def one(number: int, body: bytes) -> None:
            at = start + number * EVERY_SECONDS
            await asyncio.sleep(max(0.0, at - time.perf_counter()))
            asked = time.perf_counter()
            path = f"/send?sender=agent-1&to=agent-{4 * (number % 50)}"
            answer = await client.post(path, content=body, headers={"content-type": "application/json"})
            each.append(time.perf_counter() - asked)
            assert answer.status_code in (200, 201), answer.text

        await asyncio.gather(*(one(number, body) for number, body in enumerate(bodies)))
    return Turn(len(each), time.perf_counter() - start, each)


def _while_watched(port: int, send: Callable[[], Turn]) -> Turn:
    with _page(port):
        return send()


@contextmanager
def _page(port: int) -> Iterator[None]:
    """A page in a process of its own; begun when it has its first counts."""
    is_ready = multiprocessing.Event()
    viewer = multiprocessing.Process(target=_view, args=(port, is_ready), daemon=True)
    viewer.start()
    assert is_ready.wait(60)
    try:
        yield
        assert viewer.is_alive(), "the page has failed"
    finally:
        viewer.terminate()
        viewer.join()


def _view(port: int, is_ready: "multiprocessing.synchronize.Event") -> None:
    asyncio.run(_watch(port, is_ready))


async def _watch(port: int, is_ready: "multiprocessing.synchronize.Event") -> None:
    async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}", timeout=60) as client:
        assert "stalls" in (await client.get("/page/summary")).json()
        [newest] = (await client.get("/events", params={"newest_first": True, "limit": 1})).json()["answer"]
        is_ready.set()
        wanted: set[int] = set()
        happened = asyncio.Event()
        async with asyncio.TaskGroup() as group:
            group.create_task(_count(client, happened))
            group.create_task(_states(client, wanted))
            path, stream = f"/events?after={newest['event']['seq']}", {"accept": "text/event-stream"}
            async with client.stream("GET", path, headers=stream) as events:
                async for line in events.aiter_lines():
                    if line.startswith("data:"):
                        event = json.loads(line.removeprefix("data:"))["event"]
                        wanted.add(event["message"] or event["seq"])
                        happened.set()


async def _count(client: httpx.AsyncClient, happened: asyncio.Event) -> None:
    while True:
        await happened.wait()
        happened.clear()
        await asyncio.sleep(COUNTED_SECONDS)
        await client.get("/page/summary")


async def _states(client: httpx.AsyncClient, wanted: set[int]) -> None:
    while True:
        await asyncio.sleep(STATES_SECONDS)
        if wanted:
            asked = sorted(wanted)[-200:]
            wanted.clear()
            await client.post("/states", json={"messages": asked})
