"""The page of a hub in a real browser, on a store of 200 agents and 50,000 messages, and what open pages cost agents.

    python -m bench.open_page

Loading: a browser without a cache opens each view in turn. First content is the browser's own mark; a view is loaded
when its facts are shown. Counts are true when the number beside Needs you is there. Live: agents send ten messages a
second while one page is open; its share of a core is the processor time of its renderer process.
Send: agents send 100 messages a second through the hub: without a page, with five pages that request all that a page
requests, and with five pages in a browser, whose drawing takes its time from the same two cores.
"""

import asyncio
import itertools
import json
import multiprocessing
import statistics
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import httpx2 as httpx
from playwright.sync_api import Browser, Page, sync_playwright

from bench.big_store import BIG, make
from bench.hub import serving
from bench.measure import UNPROMISED, Line, Turn, in_turns, micro, percentile, percentiles, table_row
from bench.peers import CACHE
from tests.browser.conftest import ARGUMENTS, CHROMIUM

ROUNDS, SENDS, EVERY_SECONDS = 5, 400, 0.01
PAGES = 5
ALONE, WATCHED, SHOWN = "no page", f"{PAGES} open pages", f"{PAGES} open pages that are drawn on the same cores"
WINDOW = {"seconds": 900}
TIMELINE_SECONDS, OVERVIEW_SECONDS, NEEDS_SECONDS = 1.0, 5.0, 0.5  # as in views/timeline.js
LIVE_EVERY, LIVE_SECONDS = 0.1, 15.0
CONTENT_SECONDS_MAX, COUNTS_SECONDS_MAX, VIEW_SECONDS_MAX = 0.5, 1.0, 0.5
CORE_SHARE_MAX, FRAME_SECONDS_MAX, HEIGHT_MAX = 0.15, 1 / 58, 6_000
LOADS = 5
VIEWS = (
    *("", "needs", "agents", "agent/auth-dev-1", "conversations", "conversation/1-1-T12", "refusals", "contracts"),
    *("rates", "shutdown", "search?q=migration", "message/40000"),
)
LOADED = """view => new Promise((done) => {
    const begin = performance.now();
    const shown = () => requestAnimationFrame(() => done((performance.now() - begin) / 1000));
    addEventListener("telex-loaded", shown, { once: true });
    location.hash = `#/${view}`;
})"""
CONTENT = "performance.getEntriesByName('first-contentful-paint')[0].startTime / 1000"
SCROLLED = """() => new Promise((done) => {
    const frames = [];
    let before = performance.now(), left = 90;
    const step = (now) => {
        frames.push(now - before);
        before = now;
        scrollBy(0, 40);
        if (left--) return requestAnimationFrame(step);
        frames.sort((one, other) => one - other);
        done(frames[Math.floor(frames.length / 2)] / 1000);
    };
    requestAnimationFrame(step);
})"""


def lines() -> list[Line]:
    CACHE.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=CACHE) as name, ExitStack() as stack:
        make(Path(name) / "telex.db")
        port = stack.enter_context(serving(Path(name)))
        playwright = stack.enter_context(sync_playwright())
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=[*ARGUMENTS])
        stack.callback(browser.close)
        address = f"http://127.0.0.1:{port}"
        with opened(browser, address) as page:  # the hub reads its log for the first page
            page.wait_for_timeout(20_000)
        return [*_loading(browser, address), _live(browser, address, port), *_sending(browser, address, port)]


@contextmanager
def opened(browser: Browser, address: str, view: str = "") -> Iterator[Page]:
    context = browser.new_context(base_url=address, viewport={"width": 1440, "height": 900})
    page = context.new_page()
    page.goto(f"/#/{view}")
    page.locator(".connection").filter(has_text="live").wait_for()
    yield page
    context.close()


# --- loading ----------------------------------------------------------------------------------------------------------


def _loading(browser: Browser, address: str) -> Iterator[Line]:
    content, counts = list[float](), list[float]()
    for _ in range(LOADS):
        with opened(browser, address) as page:
            page.locator("nav .badge").first.wait_for()
            counts.append(float(page.evaluate("performance.now() / 1000")))
            content.append(float(page.evaluate(CONTENT)))
    what = f"page, {BIG.messages:,} messages, {BIG.agents} agents"
    yield _limit(f"{what}: first content", statistics.median(content), CONTENT_SECONDS_MAX)
    yield _limit(f"{what}: true counts", statistics.median(counts), COUNTS_SECONDS_MAX)
    times, heights, frames = dict[str, float](), dict[str, int](), list[float]()
    for view in VIEWS[1:] + VIEWS[:1]:
        each = []
        for _ in range(3):
            with opened(browser, address, "nonsense") as page:
                each.append(float(page.evaluate(LOADED, view)))
                heights[view] = int(page.evaluate("document.documentElement.scrollHeight"))
                if view in ("", "needs"):
                    frames.append(float(page.evaluate(SCROLLED)))
        times[view] = statistics.median(each)
        print(f"  #/{view}: {micro(times[view])}, {heights[view]:,} px high", flush=True)
    slowest, highest = max(times, key=lambda view: times[view]), max(heights, key=lambda view: heights[view])
    yield _limit(f"{what}: slowest view (#/{slowest})", times[slowest], VIEW_SECONDS_MAX)
    yield _limit(f"{what}: a frame while scrolling", max(frames), FRAME_SECONDS_MAX)
    ratio = heights[highest] / HEIGHT_MAX
    yield Line(
        f"{what}: height of #/{highest}",
        f"{heights[highest]:,} px",
        f"{HEIGHT_MAX:,} px",
        ratio,
        "at most 1 ×",
        ratio <= 1,
    )


def _limit(what: str, seconds: float, most: float) -> Line:
    return Line(what, micro(seconds), micro(most), seconds / most, "at most 1 ×", seconds <= most)


# --- live -------------------------------------------------------------------------------------------------------------


def _live(browser: Browser, address: str, port: int) -> Line:
    with opened(browser, address) as page:
        page.wait_for_timeout(2_000)
        session = browser.new_browser_cdp_session()
        stop = threading.Event()
        sender = threading.Thread(target=_send_until, args=(port, stop))
        sender.start()
        page.wait_for_timeout(1_000)
        before = _renderers(session)
        page.wait_for_timeout(LIVE_SECONDS * 1_000)
        after = _renderers(session)
        stop.set()
        sender.join()
    share = max(after[id_] - before.get(id_, 0.0) for id_ in after) / LIVE_SECONDS
    what = f"page at {1 / LIVE_EVERY:g} messages a second: share of a core"
    return Line(
        what, f"{share:.1%}", f"{CORE_SHARE_MAX:.0%}", share / CORE_SHARE_MAX, "at most 1 ×", share <= CORE_SHARE_MAX
    )


def _renderers(session: Any) -> dict[int, float]:
    """Processor seconds of the browser's renderer processes."""
    processes = session.send("SystemInfo.getProcessInfo")["processInfo"]
    return {one["id"]: one["cpuTime"] for one in processes if one["type"] == "renderer"}


def _send_until(port: int, stop: threading.Event) -> None:
    with httpx.Client(base_url=f"http://127.0.0.1:{port}") as client:
        for number in itertools.count():
            if stop.wait(LIVE_EVERY):
                return
            client.post(
                "/send?sender=auth-dev-1&to=auth-lead", content=f"Live note {number}".encode()
            ).raise_for_status()


# --- agents that send -------------------------------------------------------------------------------------------------


def _sending(browser: Browser, address: str, port: int) -> Iterator[Line]:
    fresh = itertools.count()

    def send() -> Turn:
        turns = list[Turn]()
        thread = threading.Thread(target=lambda: turns.append(asyncio.run(_send(port, notes(next(fresh))))))
        thread.start()
        while thread.is_alive():
            pause.wait_for_timeout(50)  # the browser's events are handled meanwhile
        return turns[0]

    def watched() -> Turn:
        with viewers(port):
            return send()

    def shown() -> Turn:
        with ExitStack() as stack:
            for _ in range(PAGES):
                stack.enter_context(opened(browser, address))
            pause.wait_for_timeout(2_000)
            return send()

    pause = browser.new_page()
    turns = in_turns({ALONE: send, WATCHED: watched, SHOWN: shown}, ROUNDS)
    pause.close()
    late = {name: [percentile(turn.each, 0.99) for turn in done] for name, done in turns.items()}
    every = {name: percentiles([each for turn in done for each in turn.each]) for name, done in turns.items()}
    print(f"  {ALONE}: {every[ALONE]}", flush=True)
    for name, most in ((WATCHED, 2.0), (SHOWN, None)):
        found = statistics.median(a / b for a, b in zip(late[name], late[ALONE], strict=True))
        promise = UNPROMISED if most is None else f"at most {most:g} ×"
        yield Line(f"POST /send with {name}: p99", every[name], ALONE, found, promise, most is None or found <= most)


@contextmanager
def viewers(port: int) -> Iterator[None]:
    """Pages without a browser, in a process of their own: they request what the timeline requests, and draw nothing."""
    is_ready = multiprocessing.Event()
    process = multiprocessing.Process(target=_view, args=(port, is_ready), daemon=True)
    process.start()
    assert is_ready.wait(60)
    try:
        yield
        assert process.is_alive(), "the pages have failed"
    finally:
        process.kill()  # huey's consumer, in another room of this run, has taken SIGTERM
        process.join()


def _view(port: int, is_ready: "multiprocessing.synchronize.Event") -> None:
    async def watch_all() -> None:
        ready = [asyncio.Event() for _ in range(PAGES)]
        async with asyncio.TaskGroup() as group:
            for one in ready:
                group.create_task(_watch(port, one))
            for one in ready:
                await one.wait()
            is_ready.set()

    asyncio.run(watch_all())


async def _watch(port: int, ready: asyncio.Event) -> None:
    """What views/timeline.js does."""
    async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}", timeout=60) as client:
        (await client.get("/page/home", params=WINDOW)).raise_for_status()
        news, later, needs = asyncio.Event(), asyncio.Event(), asyncio.Event()
        async with asyncio.TaskGroup() as group:
            group.create_task(_again(client, news, TIMELINE_SECONDS, "/page/timeline"))
            group.create_task(_again(client, later, OVERVIEW_SECONDS, "/page/overview"))
            group.create_task(_again(client, needs, NEEDS_SECONDS, "/page/needs"))
            async with client.stream("GET", "/page/stream", headers={"Accept": "text/event-stream"}) as updates:
                updates.raise_for_status()
                async for line in updates.aiter_lines():
                    if line.startswith("data:"):
                        ready.set()
                        news.set()
                        later.set()
                        if json.loads(line.removeprefix("data:"))["needs"] is not None:
                            needs.set()


async def _again(client: httpx.AsyncClient, news: asyncio.Event, seconds: float, path: str) -> None:
    while True:
        await news.wait()
        news.clear()
        (await client.get(path, params={**WINDOW, "limit": 3})).raise_for_status()
        await asyncio.sleep(seconds)


def notes(turn: int) -> list[bytes]:
    return [
        f"Note {number} of turn {turn}: the build is green, the report is on its way.".encode()
        for number in range(SENDS)
    ]


async def _send(port: int, bodies: list[bytes]) -> Turn:
    each: list[float] = []
    start = time.perf_counter()
    async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}") as client:

        async def one(number: int, body: bytes) -> None:
            at = start + number * EVERY_SECONDS
            await asyncio.sleep(max(0.0, at - time.perf_counter()))
            asked = time.perf_counter()
            answer = await client.post("/send?sender=auth-dev-1&to=auth-lead", content=body)
            each.append(time.perf_counter() - asked)
            assert answer.status_code in (200, 201), answer.text

        await asyncio.gather(*(one(number, body) for number, body in enumerate(bodies)))
    return Turn(len(each), time.perf_counter() - start, each)


if __name__ == "__main__":
    for row in map(table_row, lines()):
        print(row)
