"""CPU of a send in a team with a contract, against a team without one."""

import asyncio
import itertools
import json
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import telex
from bench.durable import CALLERS, emptied
from bench.measure import Line, Turn, in_turns, micro, times_as_many
from bench.peers import CACHE, SETTINGS
from telex.dialects.builtin.vbw_typed import EXECUTION_UPDATE, PLAN_CONTRACT

ROUNDS, MESSAGES = 9, 6_400
TASKS, CLOSES_EVERY = 20, 10  # tasks of a plan; one report in so many completes one
COST_MAX = 1.5
WITHOUT = "the same team without a contract"
SENDERS = tuple(f"dev-{number}" for number in range(CALLERS))


def lines() -> list[Line]:
    CACHE.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=CACHE) as name, asyncio.Runner() as runner:
        teams = {kind: Team(runner, Path(name) / f"{kind}.db") for kind in ("without", "contract", "changes")}
        teams["contract"].agree(plans=1)
        teams["changes"].agree(plans=(ROUNDS + 1) * MESSAGES // CLOSES_EVERY // TASKS + 1)
        found = []
        for senders, who in ((SENDERS, f"{CALLERS} senders"), (SENDERS[:1], "one sender")):
            turns = in_turns({kind: partial(teams[kind].send, senders) for kind in ("without", "contract")}, ROUNDS)
            found.append(_line(f"CPU of a send in a team with a contract, {who}", turns, "contract"))
        turns = in_turns({kind: partial(teams[kind].send, SENDERS) for kind in ("without", "changes")}, ROUNDS)
        found.append(_line("CPU of a send under contracts, every tenth report completes a task", turns, "changes"))
        for team in teams.values():
            team.close()
    return found


def _line(what: str, turns: dict[str, list[Turn]], ours: str) -> Line:
    cost = times_as_many(turns, "without", ours)
    mean = sum(turn.seconds for turn in turns[ours]) / sum(turn.done for turn in turns[ours])
    return Line(what, micro(mean), WITHOUT, cost, f"at most {COST_MAX:g} ×", cost <= COST_MAX)


class Team:
    """64 developers who report to one lead, on a store of their own."""

    def __init__(self, runner: asyncio.Runner, path: Path) -> None:
        self._run: Callable[[Any], Any] = runner.run
        self._connection = telex.connect(path, settings=SETTINGS)
        self._bus: Any = self._run(self._connection.__aenter__())
        self._plans = 0
        self._numbers = itertools.count()
        for name, role in (("lead", "lead"), *((name, "dev") for name in SENDERS)):
            self._run(self._bus.join(name, role=role))

    def close(self) -> None:
        self._run(self._connection.__aexit__(None, None, None))

    def agree(self, plans: int) -> None:
        """Send these contracts. With more than one, reports complete their tasks."""
        self._plans = plans
        for number in range(plans):
            terms = {"plan_id": f"P{number}", "tasks": ["going on", *map(str, range(TASKS))], "depends_on": []}
            payload = PLAN_CONTRACT.example["payload"] | terms | {"allowed_paths": ["src/"], "forbidden_paths": []}
            contract = PLAN_CONTRACT.example | {"id": f"contract-{number}", "payload": payload}
            receipt = self._run(self._bus.send(json.dumps(contract), sender="lead", to="all:dev"))
            assert receipt.accepted, receipt
        self._run(self._emptied())

    async def _emptied(self) -> None:
        for name in SENDERS:
            await emptied(self._bus, name)

    def send(self, senders: tuple[str, ...]) -> Turn:
        """The CPU seconds that it takes; the inbox is emptied afterwards."""
        raws = [self._report(next(self._numbers)) for _ in range(MESSAGES)]

        async def call(number: int) -> None:
            for raw in raws[number::CALLERS]:
                receipt = await self._bus.send(raw, sender=senders[number % len(senders)], to="lead")
                assert receipt.accepted, receipt

        async def calls() -> None:
            await asyncio.gather(*map(call, range(CALLERS)))

        began = time.process_time()
        self._run(calls())
        seconds = time.process_time() - began
        self._run(emptied(self._bus, "lead"))
        return Turn(len(raws), seconds, [])

    def _report(self, number: int) -> bytes:
        closed, completes = divmod(number, CLOSES_EVERY)
        changes = self._plans > 1 and completes == 0
        plan = closed // TASKS if changes else number % max(self._plans, 1)
        payload = EXECUTION_UPDATE.example["payload"] | {
            "plan_id": f"P{plan}",
            "task_id": str(closed % TASKS) if changes else "going on",
            "status": "complete" if changes else "partial",
            "files_modified": ["src/session.py", "src/store/table.py"],
            "evidence": "the session table waits for the token of the reset mail " * 4,
        }
        return json.dumps(EXECUTION_UPDATE.example | {"id": f"report-{number}", "payload": payload}).encode()
