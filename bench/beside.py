"""Send, receive and ack of one message at a time, beside okf-agentbus.

One process. okf-agentbus publishes and polls through its own Python interface (synchronous=NORMAL, no ack); Telex
sends, receives and acks.
"""

import itertools
import json
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import telex
from bench.measure import UNPROMISED, Line, Turn, in_turns, pace, times_as_many
from bench.peers import CACHE, SETTINGS, peer
from bench.samples import updates

ROUNDS = 5
SECONDS = 1.0
OURS, OKF = "telex", "okf-agentbus, published and polled (NORMAL)"


def lines() -> list[Line]:
    CACHE.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=CACHE) as name, telex.connect(f"{name}/telex.db", settings=SETTINGS) as bus:
        raws = (raw for number in itertools.count() for raw in updates(f"turn-{number}", 1_000))

        def ours() -> None:
            assert bus.send(next(raws), sender="dev", to="lead").accepted
            [one] = bus.receive("lead")
            bus.ack(one.token, agent="lead")

        work: dict[str, Callable[[], Turn]] = {OURS: lambda: _over_and_over(ours)}
        okf = _okf(Path(name, "okf"))
        if okf is None:
            return []
        work[OKF] = lambda: _over_and_over(okf)
        turns = in_turns(work, ROUNDS)
    print(f"  {OKF}: {pace(turns[OKF])}", flush=True)
    what = "send → receive → ack (FULL) in one process, one at a time"
    return [Line(what, pace(turns[OURS]), OKF, times_as_many(turns, OURS, OKF), UNPROMISED, True)]


def _over_and_over(step: Callable[[], None]) -> Turn:
    each: list[float] = []
    start = before = time.perf_counter()
    while before < start + SECONDS:
        step()
        after = time.perf_counter()
        each.append(after - before)
        before = after
    return Turn(len(each), before - start, each)


def okf_store(workspace: Path) -> Any | None:
    rbac, store = peer("agentbus.rbac"), peer("agentbus.store")
    if rbac is None or store is None:
        return None
    workspace.mkdir()
    rbac.ensure_default_roles(workspace)
    return store.EventStore(workspace)


def okf_payload(raw: bytes) -> dict[str, str]:
    """As many bytes as ours, in its own words."""
    payload = {"from": "codex", "to": "all", "summary": json.loads(raw)["id"]}
    payload["summary"] += " " + "x" * (600 - len(json.dumps(payload)) - 1)
    return payload


def _okf(workspace: Path) -> Callable[[], None] | None:
    events = okf_store(workspace)
    if events is None:
        return None
    raws = (raw for number in itertools.count() for raw in updates(f"okf-{number}", 1_000))
    last = 0

    def step() -> None:
        nonlocal last
        payload = okf_payload(next(raws))
        events.publish(topic="okf/handoff", producer_id="codex", schema_version="1.0", payload=payload)
        found = events.poll("okf/handoff", since_id=last, limit=1)
        assert len(found["events"]) == 1
        last = found["latest_id"]

    return step
