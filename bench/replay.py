"""Replay of a long log: messages per second, cost against `telex check`, growth of cost and memory with the log."""

import json
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from itertools import count, islice
from pathlib import Path
from typing import Any, NamedTuple

from bench.floors import entry
from bench.measure import UNPROMISED, Line, process_seconds
from bench.old_store import made
from bench.peers import outside
from bench.samples import messages
from bench.work_state import PER_PLAN, _entry, _name
from bench.work_state import _said as said_of
from bench.work_state import _told as _about
from telex.dialects.builtin.build_flow import BUILD_FLOW
from telex.dialects.builtin.vbw_typed import VBW_TYPED
from telex.model.message import NewMessage, WorkChange
from telex.work import reducer

LINES = 100_000
RATE_MIN = 25_000  # messages per second of CPU time: of reports under contracts, and of a store
ROUNDS = 5
TELEX = [sys.executable, "-m", "telex"]
NO_WORK = "[team]\nwork_rules = false\n"
_PEAK = """import re, runpy, sys
sys.argv = sys.argv[1:]
try:
    runpy.run_module("telex", run_name="__main__")
finally:
    print("peak", re.search(r"VmHWM:\\s+(\\d+)", open("/proc/self/status").read())[1], file=sys.stderr)"""


def lines() -> list[Line]:
    with tempfile.TemporaryDirectory(dir=outside()) as name:
        folder = Path(name)
        without, with_work = folder / "without.toml", folder / "with_work.toml"
        without.write_text(NO_WORK, encoding="utf-8")
        with_work.write_text("", encoding="utf-8")
        everything = _log(folder, "every type", _every_type)
        logs = {work: _log(folder, f"work {number}", work.raws) for number, work in enumerate(WORK)}
        team = logs[WORK[-1]]
        return [
            *_beside_check("every type of two dialects, without the rules of the work", everything, without, True),
            *(line for work, log in logs.items() for line in _beside_check(work.what, log, with_work, work.promised)),
            *_kept(folder, with_work),
            _growth(folder, with_work),
            _memory("without the rules of the work", everything, without),
            _memory("with them, a team at work", team, with_work),
        ]


def _log(folder: Path, name: str, raws: Callable[[], Iterator[bytes]]) -> Path:
    log = folder / f"{name}.jsonl"
    log.write_bytes(b"\n".join(islice(raws(), LINES)) + b"\n")
    return log


def _every_type() -> Iterator[bytes]:
    """Every type of two dialects, each message under an id of its own."""
    trees = [(json.loads(raw), dialect.wire.id) for dialect in (VBW_TYPED, BUILD_FLOW) for raw in messages(dialect)]
    for number in count():
        tree, place = trees[number % len(trees)]
        yield json.dumps(tree | {place: f"m-{number}"}).encode()


def _beside_check(what: str, log: Path, team: Path, promised: bool) -> list[Line]:
    """`telex check` applies no work rules, so that the ratio shows what they cost."""
    against = "telex check on the same messages"
    return _beside(what, [*TELEX, "check", str(log)], against, log=log, team=team, promised=promised)


def _beside(what: str, other: list[str], against: str, *, log: Path, team: Path, promised: bool) -> list[Line]:
    """By the CPU time of the whole commands."""
    ratios, ours = [], []
    for _ in range(ROUNDS):
        replay = process_seconds([*TELEX, "replay", str(log), "--team", str(team)])
        ours.append(replay)
        ratios.append(process_seconds(other) / replay)
    rate, name = LINES / statistics.median(ours), f"telex replay on {LINES:,} messages: {what}"
    promise, holds = (f"at least {RATE_MIN:,} messages/s", rate >= RATE_MIN) if promised else (UNPROMISED, True)
    return [
        Line(name, f"{rate:,.0f} messages/s", against, statistics.median(ratios), UNPROMISED, True),
        Line(name, f"{rate:,.0f} messages/s", f"{RATE_MIN:,} messages/s", rate / RATE_MIN, promise, holds),
    ]


class Worked(NamedTuple):
    what: str
    raws: Callable[[], Iterator[bytes]]
    promised: bool = False


def _reports() -> Iterator[bytes]:
    for number in count():
        yield _entry(_name(number // PER_PLAN), number % PER_PLAN, number).raw


def _team() -> Iterator[bytes]:
    """Plan after plan, each with ten tasks: what was found, agreed, asked for and granted; three reports a task, every
    third of them held up in between; three verdicts."""
    types = VBW_TYPED.types
    for number in count():
        plan = _name(number)
        ids = (f"{plan}-{place}" for place in count())
        yield _about(types["scout_findings"], next(ids), plan)
        waits_for = [_name(number - 1)] if number else []
        tasks = [f"{plan}-T{task}" for task in range(10)]
        yield _about(types["plan_contract"], next(ids), plan, tasks=tasks, depends_on=waits_for)
        yield _about(types["approval_request"], f"ask-{plan}", plan, "T1")
        yield _about(types["approval_response"], next(ids), plan, "T1", request_id=f"ask-{plan}")
        for task in range(10):
            yield _about(types["execution_update"], next(ids), plan, f"T{task}", status="partial")
            if not task % 3:
                yield _about(types["blocker_report"], next(ids), plan, f"T{task}")
            yield _about(types["execution_update"], next(ids), plan, f"T{task}", status="partial")
            yield _about(types["execution_update"], next(ids), plan, f"T{task}", status="complete")
        for _ in range(3):
            yield _about(types["qa_verdict"], next(ids), plan)


WORK = (
    Worked("with the rules of the work, every type, all about one task", _every_type),
    Worked("with them, 99 of 100 are reports on a plan, 7 of 100 tick a task off", _reports, True),
    Worked("with them, a team at work: 7 of 10 report, 2 tick a task off, 2 agree, ask, grant or are held up", _team),
)


def _kept(folder: Path, team: Path) -> list[Line]:
    """A log that Telex itself has written: the store, and an export of it."""
    store, export = made("replayed", LINES, _entries), folder / "export.jsonl"
    subprocess.run([*TELEX, "log", "--store", str(store), "--export", str(export)], check=True, capture_output=True)
    against = "reading the same and checking each message"
    return [
        line
        for kind, log, promised in (("from the store", store, True), ("from an export", export, False))
        for line in _beside(
            f"a team at work, {kind}",
            [sys.executable, "-m", "bench.checked", str(log)],
            against,
            log=log,
            team=team,
            promised=promised,
        )
    ]


def _entries(kept: int) -> Iterator[NewMessage]:
    book: dict[str, Any] = {}
    for number, raw in enumerate(islice(_team(), kept)):
        tree = json.loads(raw)
        role = tree["author_role"]
        to = "dev" if role == "lead" else "lead"
        one = entry(raw, float(number))._replace(
            sender=role, role=role, to=to, inboxes=(to,), type=tree["type"], correlation=tree.get("task") or None
        )
        topics = reducer.topics_changed(said_of(one), book)
        for topic in topics:
            book[topic] = reducer.fold(topic, book.get(topic), said_of(one))
        yield one._replace(work_change=WorkChange(topics)) if topics else one


def _growth(folder: Path, team: Path) -> Line:
    """Unanswered requests and many transitions of one task: the cost must not grow with their number."""
    logs = []
    for most in (LINES // 10, LINES):
        logs.append(folder / f"{most} about one task.jsonl")
        logs[-1].write_bytes(b"\n".join(islice(_every_type(), most)) + b"\n")
    short, long = ([*TELEX, "replay", str(log), "--team", str(team)] for log in logs)
    empty = folder / "empty.jsonl"
    empty.write_bytes(b"")
    start = [*TELEX, "replay", str(empty), "--team", str(team)]
    ratios = []
    for _ in range(ROUNDS):
        began = process_seconds(start)
        ratios.append((process_seconds(long) - began) / (process_seconds(short) - began) / 10)
    times = statistics.median(ratios)
    what = f"what a message costs in {LINES:,} of every type, all about one task"
    return Line(what, "", f"the same in {LINES // 10:,}", times, "at most 1.25 ×", times <= 1.25)


def _memory(what: str, log: Path, team: Path) -> Line:
    """It grows, since the memory store of a replay keeps messages."""
    small = log.with_name(f"tenth of {log.name}")
    with log.open("rb") as lines:
        small.write_bytes(b"".join(islice(lines, LINES // 10)))
    grown = _peak(log, team) / _peak(small, team)
    against = f"a log of {LINES // 10:,} messages"
    return Line(f"its peak memory, {what}", "", against, grown, UNPROMISED, True)


def _peak(log: Path, team: Path) -> float:
    command = [sys.executable, "-c", _PEAK, "telex", "replay", str(log), "--team", str(team)]
    done = subprocess.run(command, capture_output=True, check=False)
    return float(done.stderr.decode().rsplit("peak", 1)[1])


if __name__ == "__main__":
    for line in lines():
        sys.stdout.write(f"{line}\n")
