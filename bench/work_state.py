"""Cost of the work rules: folding a long log into the work state, and sending into a store that has contracts."""

import copy
import json
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bench.cold import TELEX
from bench.floors import entry
from bench.measure import Line, micro, process_seconds
from bench.old_store import made
from bench.peers import outside
from telex.bus import run_sync
from telex.dialects.builtin.vbw_typed import (
    APPROVAL_REQUEST,
    APPROVAL_RESPONSE,
    EXECUTION_UPDATE,
    PLAN_CONTRACT,
    VBW_TYPED,
)
from telex.dialects.registry import BUILT_IN
from telex.dialects.schema import MessageType
from telex.model.message import NewMessage, WorkChange
from telex.ports.store import EVERYTHING, events_with_messages
from telex.stores.sqlite.store import SqliteStore
from telex.work import reducer
from telex.work.view import WorkMessage, fields_of, parse_tree

EVENTS = 1_000_000
MESSAGES = EVENTS // 3 + 1  # each is accepted, leased and acked
PER_PLAN = 300  # a contract, a request for more, the answer, and reports
TASKS = 20
ROUNDS, SENDS = 3, 15
PAGE = 500
DIALECTS = {dialect.name: dialect for dialect in BUILT_IN}


def lines() -> list[Line]:
    worked = made("worked", MESSAGES, _work)
    return [_folding(worked), *_sending(worked)]


def _folding(path: Path) -> Line:
    store = SqliteStore.open(str(path))
    ratios, seconds = [], []
    for _ in range(ROUNDS):
        began = time.perf_counter()
        events = sum(1 for _ in _read(store))
        read = time.perf_counter()
        book = reducer.written(_read(store), DIALECTS)
        folded = time.perf_counter()
        assert events >= EVENTS, events
        assert sum(topic.startswith("plan:") for topic in book) == MESSAGES // PER_PLAN + 1
        seconds.append(folded - read)
        ratios.append((folded - read) / (read - began))
    run_sync(store.close())
    times = statistics.median(ratios)
    what = f"folding {EVENTS:,} events into the work state, reading them included"
    return Line(what, f"{statistics.median(seconds):.1f} s", "reading them", times, "at most 3 ×", times <= 3)


def _read(store: SqliteStore) -> Iterator[Any]:
    after = 0
    while page := run_sync(store.read(events_with_messages, EVERYTHING._replace(after=after), PAGE)):
        yield from page
        after = page[-1][0].seq


def _sending(worked: Path) -> list[Line]:
    """Cold, into a store in which much was done, and into an empty one. Reports of a plan that has a contract, and of
    one that has none."""
    with tempfile.TemporaryDirectory(dir=outside()) as folder:
        full, empty = Path(folder, "full.db"), Path(folder, "empty.db")
        shutil.copy(worked, full)
        plans = {"of a plan with a contract": _name(MESSAGES // PER_PLAN // 2), "of a plan without a contract": "none"}
        found = []
        for number, (which, plan) in enumerate(plans.items()):
            ratios, ours = [], []
            for round_ in range(SENDS + 1):
                raw = _told(EXECUTION_UPDATE, f"cold-{number}-{round_}", plan, "T1", status="partial")
                both = [process_seconds(_send(path), raw) for path in (full, empty)]
                if round_:
                    ours.append(both[0])
                    ratios.append(both[0] / both[1])
            what = f"telex send, cold, into a store of {EVENTS:,} events: a report {which} (CPU time)"
            times, cost = statistics.median(ratios), micro(statistics.median(ours))
            found.append(Line(what, cost, "into an empty store", times, "at most 2 ×", times <= 2))
        kept = subprocess.run([TELEX, "inbox", "--store", str(full), "--as", "lead", "--json"], capture_output=True)
        assert kept.stdout.count(b'"cold-') == 2 * (SENDS + 1), "not every cold send was kept"
    return found


def _send(path: Path) -> list[str]:
    return [TELEX, "send", "--store", str(path), "--as", "dev", "--to", "lead", "-"]


# --- a team that has done much ----------------------------------------------------------------------------------------


def _name(plan: int) -> str:
    return f"1-{plan}"


def _work(messages: int) -> Iterator[NewMessage]:
    """Plan after plan: what was agreed, what was asked for and granted, and how it went."""
    book: dict[str, Any] = {}
    for number in range(messages):
        plan, place = divmod(number, PER_PLAN)
        one = _entry(_name(plan), place, number)
        said = _said(one)
        topics = reducer.topics_changed(said, book)
        for topic in topics:
            book[topic] = reducer.fold(topic, book.get(topic), said)
        yield one._replace(work_change=WorkChange(topics)) if topics else one


def _entry(plan: str, place: int, number: int) -> NewMessage:
    if place == 0:
        tasks = [f"{plan}-T{task}" for task in range(TASKS)]
        raw = _told(PLAN_CONTRACT, f"contract-{plan}", plan, tasks=tasks, token_budget=10_000_000, depends_on=[])
        return entry(raw, 0.0)._replace(sender="lead", role="lead", to="dev", type=PLAN_CONTRACT.name)
    if place == 1:
        raw = _told(APPROVAL_REQUEST, f"ask-{plan}", plan, "T1")
        return entry(raw, 0.0)._replace(type=APPROVAL_REQUEST.name)
    if place == 2:
        raw = _told(APPROVAL_RESPONSE, f"answer-{plan}", plan, "T1", request_id=f"ask-{plan}")
        return entry(raw, 0.0)._replace(sender="lead", role="lead", to="dev", type=APPROVAL_RESPONSE.name)
    done = place % (PER_PLAN // TASKS) == PER_PLAN // TASKS - 1  # its last report, so that the plan is done in the end
    status = "complete" if done else "partial"
    raw = _told(EXECUTION_UPDATE, f"update-{number}", plan, f"T{place * TASKS // PER_PLAN}", status=status)
    return entry(raw, 0.0)


def _told(type_: MessageType, id_: str, plan: str, task: str = "", **fields: Any) -> bytes:
    tree = copy.deepcopy(type_.example)
    inside = tree["payload"]
    tree |= {"id": id_, "task": f"{plan}-{task}" if task else ""}
    inside |= {name: value for name, value in (("plan_id", plan), ("task_id", f"{plan}-{task}")) if name in inside}
    inside |= fields
    return json.dumps(tree).encode()


def _said(one: NewMessage) -> WorkMessage:
    type_ = VBW_TYPED.types[one.type or ""]
    fields = fields_of(parse_tree(one.raw, VBW_TYPED, type_), VBW_TYPED, type_)
    return WorkMessage(
        0, one.id, one.at, one.sender, one.role, one.to, one.inboxes, VBW_TYPED, type_, fields, one.correlation
    )


if __name__ == "__main__":
    for line in lines():
        sys.stdout.write(f"{line}\n")
