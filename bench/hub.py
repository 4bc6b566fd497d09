"""Send over HTTP, beside the bare server and okf-agentbus.

The message is a report of 600 bytes, validated, and synced before the response; 64 connections send at once. The
comparisons: the whole hub with a route that returns a constant response to the same bytes, the server with
authentication and limits only, and the bare server. okf-agentbus publishes through its own Python interface
(synchronous=NORMAL), one message at a time. mcp_agent_mail is not run: its users report three sends per second.
"""

import itertools
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from bench.beside import okf_payload, okf_store
from bench.hub_client import CONNECTIONS, pump, requests
from bench.measure import UNPROMISED, Line, Turn, in_turns, pace, times_as_many
from bench.peers import CACHE
from bench.samples import updates

ROUNDS = 5
SENDS = 6_000  # in a round
READERS = 40  # whose inboxes have room for all of it
MAIL_RATE = 3.0  # sends a second of mcp_agent_mail, as its users tell it
HUB, OKF = "telex", "okf-agentbus, published (NORMAL)"
SERVER, DOOR, BARE = "the same hub, a constant answer", "its server and its door alone", "its server alone"
CONSTANT = "/constant"
_AT = "http://127.0.0.1:"


def lines() -> list[Line]:
    CACHE.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=CACHE) as name, ExitStack() as stack:
        hub = stack.enter_context(serving(Path(name)))
        for number in range(READERS):
            _post(hub, "/join", b'{"name": "lead-%d", "role": "lead"}' % number)
        floor, door, bare = (stack.enter_context(_floor(behind)) for behind in ("hub", "door", "bare"))
        fresh = itertools.count()

        def asked(port: int, path: str | None = None) -> list[bytes]:
            bodies = updates(f"hub-{next(fresh)}", SENDS)
            return [
                request
                for number in range(READERS)
                for request in requests(port, path or f"/send?sender=dev&to=lead-{number}", bodies[number::READERS])
            ]

        work: dict[str, Callable[[], Turn]] = {
            HUB: lambda: pump(hub, asked(hub)),
            SERVER: lambda: pump(floor, asked(floor, CONSTANT)),
            DOOR: lambda: pump(door, asked(door)),
            BARE: lambda: pump(bare, asked(bare)),
        }
        publish = _okf(Path(name, "okf"))
        if publish is not None:
            work[OKF] = publish
        turns = in_turns(work, ROUNDS)
    for other in (SERVER, DOOR, BARE, OKF):
        if other in turns:
            print(f"  {other}: {pace(turns[other])}", flush=True)
    return _report(turns)


def _report(turns: dict[str, list[Turn]]) -> list[Line]:
    what, ours = f"POST /send (FULL), {CONNECTIONS} connections", pace(turns[HUB])
    share = times_as_many(turns, HUB, SERVER)
    found = [Line(what, ours, SERVER, share, "at least 0.5", share >= 0.5)]
    found += [Line(what, ours, one, times_as_many(turns, HUB, one), UNPROMISED, True) for one in (DOOR, BARE)]
    if OKF in turns:
        times = times_as_many(turns, HUB, OKF)
        found.append(Line(what, ours, OKF, times, "at least 10 ×", times >= 10))
    slowest = min(turn.rate for turn in turns[HUB]) / MAIL_RATE
    known = f"mcp_agent_mail's known {MAIL_RATE:g}/s (not run; our slowest round)"
    found.append(Line(what, ours, known, slowest, "at least 50 ×", slowest >= 50))
    return found


@contextmanager
def serving(folder: Path, settings: str = "") -> Iterator[int]:
    """The port of a hub on the store of that folder, with more settings."""
    command = [sys.executable, "-m", "telex", "serve", "--port", "0", "--store", str(folder / "telex.db")]
    (folder / "telex.toml").write_text(f'[team]\nevidence = "off"\n{settings}', encoding="utf-8")
    with subprocess.Popen(command, cwd=folder, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stderr is not None
            port = int(process.stderr.readline().partition(_AT)[2].partition("/")[0])
            yield port
        finally:
            process.terminate()


@contextmanager
def _floor(behind: str) -> Iterator[int]:
    command = [sys.executable, "-m", "bench.hub_floor", behind]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            yield int(process.stdout.readline())
        finally:
            process.terminate()


def _post(port: int, path: str, body: bytes) -> None:
    headers = {"content-type": "application/json"}
    with urllib.request.urlopen(urllib.request.Request(f"{_AT}{port}{path}", body, headers)) as answer:
        assert answer.status == 200


def _okf(workspace: Path) -> Callable[[], Turn] | None:
    store: Any = okf_store(workspace)
    if store is None:
        return None
    raws = (raw for number in itertools.count() for raw in updates(f"okf-{number}", 1_000))

    def publish() -> Turn:
        each: list[float] = []
        start = before = time.perf_counter()
        while before < start + 1.0:
            store.publish(
                topic="okf/handoff", producer_id="codex", schema_version="1.0", payload=okf_payload(next(raws))
            )
            after = time.perf_counter()
            each.append(after - before)
            before = after
        return Turn(len(each), before - start, each)

    return publish
