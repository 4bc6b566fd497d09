"""How fast is a long log replayed, beside checking its messages, and does memory stay where it is?"""

import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from itertools import count, islice
from pathlib import Path
from typing import Any, NamedTuple

from bench.book import PER_PLAN, _entry, _name
from bench.book import _told as _about
from bench.measure import UNPROMISED, Line, process_seconds
from bench.samples import messages
from telex.dialects.build_flow import BUILD_FLOW
from telex.dialects.registry import BUILT_IN
from telex.dialects.vbw_typed import VBW_TYPED
from telex.flow.admission import STRICT
from telex.flow.book import pages
from telex.flow.book.chapter import Ground
from telex.flow.book.said import Said, tree_of
from telex.flow.lanes import Lanes, Pair
from telex.model.limits import LIMITS
from telex.model.refusal import refusals
from telex.model.roster import EVERYONE
from telex.replay.lines import line_reader
from telex.replay.team import Team
from telex.replay.trial import Trial

LINES = 100_000
WORKED = 30_000
ROUNDS = 5
TELEX = [sys.executable, "-m", "telex"]
NO_WORK = "[team]\nrules_of_work = false\n"
_PEAK = """import re, runpy, sys
sys.argv = sys.argv[1:]
try:
    runpy.run_module("telex", run_name="__main__")
finally:
    print("peak", re.search(r"VmHWM:\\s+(\\d+)", open("/proc/self/status").read())[1], file=sys.stderr)"""


def lines() -> list[Line]:
    with tempfile.TemporaryDirectory() as folder:
        large, small, team = Path(folder, "large.jsonl"), Path(folder, "small.jsonl"), Path(folder, "team.toml")
        large.write_bytes(_told(LINES))
        small.write_bytes(_told(LINES // 10))
        team.write_text(NO_WORK, encoding="utf-8")
        return [
            _beside_check(large, team),
            _beside_weighing(),
            *(_with_work(Path(folder), work) for work in WORK),
            _memory(large, small, team),
        ]


def _told(most: int) -> bytes:
    """Every type of two dialects, each message under an id of its own."""
    trees = [(json.loads(raw), dialect.wire.id) for dialect in (VBW_TYPED, BUILD_FLOW) for raw in messages(dialect)]
    made = []
    for number in range(most):
        tree, place = trees[number % len(trees)]
        made.append(json.dumps(tree | {place: f"m-{number}"}).encode() + b"\n")
    return b"".join(made)


def _beside_check(log: Path, team: Path) -> Line:
    """Who does not keep to contracts asks of a message by itself, as a check does."""
    ratios, ours = [], []
    for _ in range(ROUNDS):
        replay = process_seconds([*TELEX, "replay", str(log), "--team", str(team)])
        check = process_seconds([*TELEX, "check", str(log)])
        ours.append(replay)
        ratios.append(check / replay)
    part, rate = statistics.median(ratios), LINES / statistics.median(ours)
    what = f"telex replay on a log of {LINES:,} messages, without the rules of the work (CPU time)"
    against = "telex check on the same messages"
    return Line(what, f"{rate:,.0f} messages/s", against, part, "at least half the rate", part >= 0.5)


class Worked(NamedTuple):
    what: str
    raws: Callable[[], Iterator[bytes]]
    is_promised: bool


def _with_work(folder: Path, work: Worked) -> Line:
    """Checking asks nothing of the work, so that this is no like for like: it tells what the rules of the work cost."""
    log, team = folder / "worked.jsonl", folder / "with_work.toml"
    log.write_bytes(b"\n".join(islice(work.raws(), LINES)) + b"\n")
    team.write_text("", encoding="utf-8")
    ratios, ours = [], []
    for _ in range(ROUNDS):
        replay = process_seconds([*TELEX, "replay", str(log), "--team", str(team)])
        ours.append(replay)
        ratios.append(process_seconds([*TELEX, "check", str(log)]) / replay)
    part, rate = statistics.median(ratios), f"{LINES / statistics.median(ours):,.0f} messages/s"
    named = f"telex replay with the rules of the work on {LINES:,} messages: {work.what} (CPU time)"
    promise = "at least half the rate" if work.is_promised else UNPROMISED
    holds = part >= 0.5 or not work.is_promised
    return Line(named, rate, "telex check on the same messages", part, promise, holds)


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
    Worked("99 of 100 are reports on a plan, 7 of 100 tick a task off", _reports, True),
    Worked(
        "a team at work: 7 of 10 are reports, 2 of 10 tick a task off, 2 of 10 are contracts, approvals or blockers",
        _team,
        False,
    ),
)


def _beside_weighing() -> Line:
    """A team that keeps to contracts: what was agreed, asked for and granted, and report after report."""
    raws = [_entry(_name(number // PER_PLAN), number % PER_PLAN, number).raw for number in range(WORKED)]
    ratios, ours = [], []
    for _ in range(ROUNDS):
        weigh, replay = _seconds(_weighed, raws), _seconds(_replayed, raws)
        ours.append(replay)
        ratios.append(weigh / replay)
    part, rate = statistics.median(ratios), WORKED / statistics.median(ours)
    what = f"replaying {WORKED:,} messages under contracts, with the rules of the work"
    against = "checking each and weighing it against the book"
    return Line(what, f"{rate:,.0f} messages/s", against, part, "at least half the rate", part >= 0.5)


def _seconds(work: Any, raws: list[bytes]) -> float:
    began = time.process_time()
    work(raws)
    return time.process_time() - began


def _replayed(raws: list[bytes]) -> None:
    trial, read = Trial(), line_reader(BUILT_IN)
    for number, raw in enumerate(raws, 1):
        judged = trial.quick(number, raw)
        if judged is None:
            told: Any = read(number, raw)
            judged = trial.judge(told)
        assert judged.verdict == "passed", judged


def _weighed(raws: list[bytes]) -> None:
    """The least that has to be done for such a verdict."""
    lanes, roster, book = Lanes(STRICT), Team(STRICT).roster, dict[str, Any]()
    for number, raw in enumerate(raws, 1):
        looked = lanes.look(raw, Pair())
        kind, facts = looked.kind, looked.facts
        assert kind is not None
        assert kind.deed is not None
        tree = tree_of(raw, kind.dialect, kind.type)
        said = Said(
            number, facts.id or "", number, tree["author_role"], tree["author_role"], EVERYONE, (), kind.dialect,
            kind.type, tree, facts.correlation, facts.reply_to,
        )  # fmt: skip
        findings = pages.weigh(said, book, Ground(number, roster, LIMITS, {}, {}))
        assert not refusals(findings), findings
        for topic in pages.belongs(said, book):
            book[topic] = pages.fold(topic, book.get(topic), said)


def _memory(large: Path, small: Path, team: Path) -> Line:
    grown = _peak(large, team) / _peak(small, team)
    what, against = "its peak memory", f"a log of {LINES // 10:,} messages"
    return Line(what, "", against, grown, "does not grow (at most 1.1 ×)", grown <= 1.1)


def _peak(log: Path, team: Path) -> float:
    command = [sys.executable, "-c", _PEAK, "telex", "replay", str(log), "--team", str(team)]
    done = subprocess.run(command, capture_output=True, check=False)
    return float(done.stderr.decode().rsplit("peak", 1)[1])


if __name__ == "__main__":
    for line in lines():
        sys.stdout.write(f"{line}\n")
