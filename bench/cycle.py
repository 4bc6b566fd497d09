"""Round trip (send, receive, ack) of four senders and four receivers on one file, beside huey.

huey gets the same messages in the same number of processes. It dequeues without a lease or an ack.
"""

import asyncio
import itertools
import statistics
import tempfile
from collections.abc import Sequence
from typing import Any

import telex
from bench.crew import Crew, Hands, Round
from bench.measure import Line, micro, percentile, percentiles
from bench.peers import CACHE, SETTINGS, peer

ROUNDS = 5
GROUP = 10
STEPS = ("send", "receive", "ack")
SINGLE, GROUPED, HUEY = "telex, one at a time", f"telex, {GROUP} at a time", "huey (FULL)"
MESSAGES = {SINGLE: 2_000, GROUPED: 6_000, HUEY: 2_000}  # in a round; enough steps of each kind to tell p99.9
P99_SECONDS, P999_SECONDS = 0.050, 0.100


def lines() -> list[Line]:
    CACHE.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=CACHE) as folder:
        crews = {SINGLE: Crew(one_at_a_time, f"{folder}/single.db"), GROUPED: Crew(in_groups, f"{folder}/grouped.db")}
        if peer("huey.storage") is not None:
            crews[HUEY] = Crew(with_huey, f"{folder}/huey.db")
        fresh = (f"turn-{number}" for number in itertools.count())
        rounds: dict[str, list[Round]] = {name: [] for name in crews}
        for number in range(ROUNDS + 1):
            for name, crew in crews.items():
                done = crew.round(next(fresh), MESSAGES[name])
                if number:  # the first finds every cache empty
                    rounds[name].append(done)
        for crew in crews.values():
            crew.close()
    return _report(rounds)


def _report(rounds: dict[str, list[Round]]) -> list[Line]:
    found = []
    for name, promised in ((SINGLE, 0.8), (GROUPED, 2.0)):
        ours = f"{statistics.median(one.rate for one in rounds[name]):,.0f}/s"
        what = f"send → receive → ack, 4 + 4 processes, {name.removeprefix('telex, ')}"
        if HUEY in rounds:
            pairs = zip(rounds[name], rounds[HUEY], strict=True)
            times = statistics.median(mine.rate / theirs.rate for mine, theirs in pairs)
            found.append(Line(what, ours, HUEY, times, f"at least {promised:g} ×", times >= promised))
        errors = [error for one in rounds[name] for error in one.errors]
        for error in sorted(set(errors)):
            print(f"  {name}: {errors.count(error)} × {error}", flush=True)
        found.append(Line(f"{what}: lock errors", f"{len(errors)}", "none", len(errors), "0", not errors))
        found += [line for step in STEPS for line in _slowest(what, step, _each(rounds[name], step))]
    if HUEY in rounds:
        rate = statistics.median(one.rate for one in rounds[HUEY])
        print(f"  {HUEY}: {rate:,.0f}/s, {sum(len(one.errors) for one in rounds[HUEY])} errors")
        for step in STEPS[:2]:
            print(f"  {HUEY} {step}: {percentiles(_each(rounds[HUEY], step))}", flush=True)
    return found


def _each(rounds: Sequence[Round], step: str) -> list[float]:
    return [seconds for round_ in rounds for seconds in round_.steps.get(step, [])]


def _slowest(what: str, step: str, each: Sequence[float]) -> list[Line]:
    found = []
    for share, most in ((0.99, P99_SECONDS), (0.999, P999_SECONDS)):
        name, seconds = f"p{share * 100:g}", percentile(each, share)
        ours = f"{micro(seconds)} (p50 {micro(percentile(each, 0.5))})"
        promise = f"under {micro(most)}"
        found.append(Line(f"{what}: {name} of a {step}", ours, micro(most), seconds / most, promise, seconds < most))
    return found


# --- the three of them, as each process uses them; named here so that a fresh process can find them -------------------


def one_at_a_time(path: str) -> Hands:
    bus: Any = telex.connect(path, settings=SETTINGS).__enter__()

    def send(raws: Sequence[bytes]) -> None:
        receipt = bus.send(raws[0], sender="dev", to="lead")
        assert receipt.accepted, receipt

    def ack(taken: tuple[Any, ...]) -> None:
        bus.ack(taken[0].token, agent="lead")

    return Hands(send, lambda: tuple(bus.receive("lead")), ack, 1, bus.close)


def in_groups(path: str) -> Hands:
    """What is sent or acked at once shares one commit."""
    run = asyncio.new_event_loop().run_until_complete
    bus: Any = run(telex.connect(path, settings=SETTINGS).__aenter__())

    async def send(raws: Sequence[bytes]) -> None:
        receipts = await asyncio.gather(*(bus.send(raw, sender="dev", to="lead") for raw in raws))
        assert all(receipt.accepted for receipt in receipts), receipts

    async def ack(taken: tuple[Any, ...]) -> None:
        await asyncio.gather(*(bus.ack(one.token, agent="lead") for one in taken))

    async def receive() -> tuple[Any, ...]:
        return tuple(await bus.receive("lead", limit=GROUP))

    return Hands(
        lambda raws: run(send(raws)),
        lambda: run(receive()),
        lambda taken: run(ack(taken)),
        GROUP,
        lambda: run(bus.close()),
    )


def with_huey(path: str) -> Hands:
    module = peer("huey.storage")
    assert module is not None
    storage = module.SqliteStorage("bench", filename=path, fsync=True)

    def receive() -> tuple[Any, ...]:
        taken = storage.dequeue()
        return () if taken is None else (taken,)

    return Hands(lambda raws: storage.enqueue(raws[0]), receive, None, 1, storage.close)
