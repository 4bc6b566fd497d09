"""What the tests of a long log share: a trial that has hardly any memory, a disk that becomes full, and a long log."""

import errno
import json
from collections.abc import Iterable, Iterator
from io import BytesIO
from typing import Any

import pytest

from telex.dialects.registry import BUILT_IN
from telex.model.event import Event
from telex.replay import state_cache
from telex.replay.reader import Line, LogEntry, line_reader
from telex.replay.simulate import Simulator
from telex.replay.spill_port import SpillPort
from telex.stores.temp_table import TempTable
from telex.validation.check import STRICT, CheckPolicy
from telex.work.rule_set import LazyFinding
from tests.replay_kit import typed

Answer = tuple[Any, ...]


class SmallDisk(BytesIO):
    """A file on a disk that has room for so many bytes."""

    def __init__(self, room: int) -> None:
        super().__init__()
        self._room = room

    def write(self, data: Any) -> int:
        fits = min(len(data), self._room - self.tell())
        if fits <= 0 < len(data):
            raise OSError(errno.ENOSPC, "No space left on device")
        return super().write(bytes(data[:fits]))


def forgetful(away: SpillPort | None = None, desk: CheckPolicy = STRICT, topics_max: int = 2) -> Simulator:
    """A trial that has so many topics in memory."""
    trial = Simulator(desk)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(state_cache, "TOPICS_MAX", topics_max)
        trial._work.puts_away_into(away or TempTable(BytesIO))
    return trial


def answers(trial: Simulator, lines: Iterable[Line], *, quick: bool = False) -> list[Answer]:
    """What is said to each message, in full words."""
    if quick:
        trial.open_track()
    return [_answer(trial, line, quick) for line in lines if line is not None]


def _answer(trial: Simulator, line: Line, quick: bool) -> Answer:
    if not isinstance(line, LogEntry):
        assert isinstance(line, Event)
        trial.happened(line)
        return ()
    judged = (trial.quick(line.number, line.raw) if quick else None) or trial.judge(line)
    findings: tuple[Any, ...] = judged.findings
    return (*judged[:-1], [one.finding() if isinstance(one, LazyFinding) else one for one in findings])


def same_book(one: Simulator, other: Simulator) -> bool:
    """The plans in the same order, too."""
    books = one.book, other.book
    plans = [list(book["contracts"].plans.items()) if "contracts" in book else [] for book in books]
    return books[0] == books[1] and plans[0] == plans[1]


def lines_of(raws: Iterable[bytes]) -> list[Line]:
    read = line_reader(BUILT_IN)
    return [read(number, raw) for number, raw in enumerate(raws, 1)]


def topics_in_memory(trial: Simulator) -> list[str]:
    return list(trial._work._book)


def at_work(plans: int, name: str = "p") -> Iterator[bytes]:
    """Plan after plan, each with two tasks and after the one before it: agreed, widened, held up, done."""
    for number in range(plans):
        plan, before = f"{name}{number}", [f"{name}{number - 1}"] if number else []
        tasks = [f"{plan}-t1", f"{plan}-t2"]
        words = {"plan_id": plan, "tasks": tasks, "allowed_paths": ["src/"], "depends_on": before}
        yield _raw("plan_contract", f"{plan}-c", words)
        yield _raw("approval_request", f"{plan}-ask", {"request_type": "scope_change"}, task=tasks[0])
        yield granted(plan, f"{plan}-yes")
        for task in tasks:
            yield report(plan, task, f"{task}-1")
            yield _raw("blocker_report", f"{task}-b", {"plan_id": plan, "task_id": task}, task=task)
            yield report(plan, task, f"{task}-2", status="complete")


def granted(plan: str, id: str) -> bytes:
    words = {"request_id": f"{plan}-ask", "approved": True, "modifications": ["docs/"]}
    return _raw("approval_response", id, words, task=f"{plan}-t1")


def report(plan: str, task: str, id: str, **payload: Any) -> bytes:
    words = {"plan_id": plan, "task_id": task, "status": "partial", "files_modified": ["docs/x.md"]} | payload
    return _raw("execution_update", id, words, task=task)


def _raw(type_: str, id: str, payload: Any, **changes: Any) -> bytes:
    return json.dumps(typed(type_, id, payload, **changes)).encode()
