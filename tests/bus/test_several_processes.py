"""Tests of several processes that write to one file at once: the log is what one process could have written."""

import json
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from telex.bus import run_sync
from telex.bus.local import LocalBus
from telex.model.message import Event, StoredMessage, detail_of
from telex.model.roster import TELEX
from telex.ports.store import EVERYTHING, events_with_messages
from telex.stores.memory import MemoryStore
from telex.stores.sqlite.store import SqliteStore
from telex.testing import FakeClock
from tests.bus.bus_processes import Work
from tests.bus.bus_team import empty_store
from tests.bus.random_acts import EVENTS_MAX, folded_states
from tests.crash.verdict import integrity
from tests.proofs import proves

ROOT = Path(__file__).parents[2]
PROCESSES, BATCHES = 3, 25
TOO_LATE = {"transition-not-allowed", "approval-answered"}  # another process was faster
pytestmark = pytest.mark.slow
Log = list[tuple[Event, StoredMessage | None]]


class Outcome(NamedTuple):
    works: list[Work]  # by process
    log: Log
    folded: dict[str, str]  # the topics, folded from the log


def run_processes(path: Path, *faults: str) -> Outcome:
    path.write_bytes(empty_store())
    command = [sys.executable, "-m", "tests.bus.bus_processes", str(path), str(PROCESSES), str(BATCHES), *faults]
    ran = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)
    assert ran.returncode == 0, ran.stderr
    works = [
        Work([(sender, id_, accepted) for sender, id_, accepted in receipts], topics)
        for receipts, topics in json.loads(ran.stdout)
    ]
    store = SqliteStore.open(str(path))
    try:
        return Outcome(
            works, run_sync(store.read(events_with_messages, EVERYTHING, EVENTS_MAX)), run_sync(folded_states(store))
        )
    finally:
        run_sync(store.close())


# --- what must hold --------------------------------------------------------------------------------------------------


def lost_or_twice(outcome: Outcome) -> list[str]:
    """Messages that are not stored exactly as often as their senders were told."""
    kinds = {True: "accepted", False: "refused"}
    promised = Counter(
        (sender, id_, kinds[accepted]) for work in outcome.works for sender, id_, accepted in work.receipts
    )
    stored = Counter((m.sender, m.id, event.kind) for event, m in sent(outcome.log))
    return [str(key) for key in promised | stored if promised[key] != stored[key]]


def sent(log: Log) -> Iterator[tuple[Event, StoredMessage]]:
    for event, message in log:
        if event.kind in ("accepted", "refused") and message is not None and message.sender != TELEX:
            yield event, message


def codes_of(event: Event) -> list[str]:
    return [finding["code"] for finding in detail_of(event).get("findings", ())]


def decided_otherwise(log: Log) -> list[str]:
    """Messages on which a bus that gets them one by one, in the order of the log, decides otherwise."""
    clock = FakeClock()
    bus, found = LocalBus(MemoryStore(), clock), []
    for event, message in log:
        clock.leap(event.at - clock.now())
        if event.kind == "joined":
            run_sync(bus.join(event.agent or "", role=detail_of(event)["role"]))
        elif event.kind == "left":
            run_sync(bus.leave(event.agent or ""))
        elif event.kind in ("accepted", "refused") and message is not None and message.sender != TELEX:
            given = {"sender": message.sender, "role": message.role, "to": message.to}
            own_id = message.id if message.dialect is None else None
            receipt = run_sync(bus.send(message.raw, **given, id=own_id, check=False))
            codes = [finding.code for finding in receipt.findings]
            if (receipt.accepted, codes) != (event.kind == "accepted", codes_of(event)):
                found.append(f"{message.sender} {message.id}: {event.kind} {codes_of(event)}, alone {codes}")
    return found


def other_topics(outcome: Outcome) -> list[str]:
    """Topics that a process knows otherwise than they are in the log."""
    return [
        f"{topic} of process {number}"
        for number, work in enumerate(outcome.works)
        for topic in work.topics.keys() | outcome.folded.keys()
        if work.topics.get(topic) != outcome.folded.get(topic)
    ]


@proves("store/processes/at-once")
def test_processes_that_write_at_once_leave_a_log_that_one_process_could_have_written(tmp_path: Path) -> None:
    outcome = run_processes(tmp_path / "telex.db")
    assert lost_or_twice(outcome) == []
    assert decided_otherwise(outcome.log) == []
    assert other_topics(outcome) == []
    assert integrity(tmp_path / "telex.db") == "ok"
    codes = {code for event, _ in sent(outcome.log) if event.kind == "refused" for code in codes_of(event)}
    assert codes & TOO_LATE, "the processes never got into each other's way"


def test_processes_whose_caches_never_catch_up_are_found(tmp_path: Path) -> None:
    outcome = run_processes(tmp_path / "telex.db", "never-catches-up")
    assert decided_otherwise(outcome.log) != []
    assert other_topics(outcome) != []
