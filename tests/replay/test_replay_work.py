"""Work rules in a replay: contracts, budgets, dependencies and shutdowns are answered as the bus answers them."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from telex.bus import run_sync
from telex.bus.local import LocalBus
from telex.dialects.registry import BUILT_IN
from telex.model.finding import refusals
from telex.replay.reader import LogEntry, line_reader
from telex.replay.simulate import SimulatedResult, Simulator
from telex.stores.memory import MemoryStore
from telex.testing import FakeClock
from telex.work.reducer import WorkState
from tests.bus.bus_team import speech_of
from tests.proofs import proves
from tests.replay.replay_kit import typed
from tests.work.test_work_state import book_of

TEAM = ("lead", "dev", "qa", "docs", "architect")
PLANS, TASKS = st.sampled_from(["p", "q"]), st.sampled_from(["t1", "t2", "t/3"])
FILES = st.lists(st.sampled_from(["src/a.py", "src/b.py", "docs/x.md", "src/secret.py", "../up.py"]), max_size=2)
PATTERNS = st.lists(st.sampled_from(["src/", "docs/*.md", "src/secret.py", "../up/"]), max_size=2)


def told(type_: str, **payload: st.SearchStrategy[Any]) -> st.SearchStrategy[tuple[str, dict[str, Any]]]:
    return st.tuples(st.just(type_), st.fixed_dictionaries(payload))


REPORT = told(
    "execution_update",
    plan_id=PLANS,
    task_id=TASKS,
    status=st.sampled_from(["partial", "partial", "complete", "failed"]),
    commit=st.just("abc1234"),
    files_modified=FILES,
    tokens_used=st.sampled_from([0, 0, 0, 400]),
)
SAID = st.one_of(
    REPORT,
    REPORT,
    REPORT,
    told(
        "plan_contract",
        plan_id=PLANS,
        tasks=st.lists(TASKS, max_size=3, unique=True),
        allowed_paths=PATTERNS,
        forbidden_paths=st.just([]) | PATTERNS,
        depends_on=st.just([]) | st.lists(PLANS, max_size=1),
        token_budget=st.sampled_from([10_000, 500]),
    ),
    told(
        "blocker_report", plan_id=PLANS, task_id=TASKS, severity=st.sampled_from(["blocking", "blocking", "degraded"])
    ),
    told(
        "approval_request",
        request_type=st.sampled_from(["scope_change", "gate_override", "plan_approval"]),
        deadline=st.sampled_from(["2026-03-02T12:00:00Z", "2026-03-02T12:00:00.1229997+01:00"]),
    ),
    told(
        "approval_response",
        request_id=st.sampled_from(["m1", "m2", "m3", "m4", "m5"]),
        approved=st.sampled_from([True, True, False]),
        conditions=st.just([]) | st.just(["Keep it small"]),
        modifications=PATTERNS,
    ),
    told("shutdown_request"),
    told("shutdown_response", request_id=st.sampled_from(["m1", "m2", "m3", "m4"]), approve=st.booleans()),
)
DAYS = st.lists(SAID, min_size=4, max_size=16)


def written(said: list[tuple[str, dict[str, Any]]]) -> list[tuple[str, bytes]]:
    """The messages with their senders, each under an id and at a second of its own."""
    found = []
    for number, (type_, payload) in enumerate(said, 1):
        task = payload.get("task_id", "t1")
        fraction = ".9999999" if number % 3 == 0 else ""  # of a second: to be cut off
        when = {"task": task, "timestamp": f"2026-03-02T10:00:{number:02}{fraction}Z"}
        tree = typed(type_, f"m{number}", payload, **when)
        found.append((tree["author_role"], json.dumps(tree).encode()))
    return found


@proves("replay/work")
@given(DAYS)
def test_a_day_of_work_is_answered_as_the_bus_answers_it(said: list[tuple[str, dict[str, Any]]]) -> None:
    """Everything is sent to everyone, which is assumed where a log does not name a recipient."""
    bus = LocalBus(MemoryStore(), FakeClock())
    for name in TEAM:
        run_sync(bus.join(name, role=name))
    simulator, read = Simulator(begin=[presence.member for presence in run_sync(bus.roster())]), line_reader(BUILT_IN)
    for number, (sender, raw) in enumerate(written(said), 1):
        receipt = run_sync(bus.send(raw, sender=sender, to="*", check=False))
        entry = read(number, raw)
        assert isinstance(entry, LogEntry)
        result = simulator.send(entry)
        assert (result.verdict == "refused") == (not receipt.accepted), (result, receipt)
        ours = refusals(result.findings)
        assert sorted(finding.code for finding in ours) == sorted(
            finding.code for finding in refusals(receipt.findings)
        )
    assert standing(simulator.work_state) == standing(book_of(bus))


def standing(book: WorkState) -> dict[str, Any]:
    """How the plans stand, and which of them are known to be complete."""
    plans = {topic: (sorted(one.done), one.spent) for topic, one in book.items() if topic.startswith("plan:")}
    contracts = book.get("contracts")
    return plans | ({"open": list(contracts.open), "closed": list(contracts.closed)} if contracts is not None else {})


def contract(**payload: Any) -> bytes:
    words = {"plan_id": "p", "tasks": ["t1", "t2"], "allowed_paths": ["src/"], "depends_on": []} | payload
    return json.dumps(typed("plan_contract", "c1", words)).encode()


def report(id: str, **payload: Any) -> bytes:
    words = {"plan_id": "p", "task_id": "t1", "status": "partial", "files_modified": ["src/a.py"]} | payload
    return json.dumps(typed("execution_update", id, words)).encode()


def replayed(*raws: bytes) -> tuple[list[SimulatedResult], WorkState]:
    simulator, read, results = Simulator(), line_reader(BUILT_IN), []
    for number, raw in enumerate(raws, 1):
        entry = read(number, raw)
        assert isinstance(entry, LogEntry)
        results.append(simulator.send(entry))
    return results, simulator.work_state


def last_codes(*raws: bytes) -> list[str]:
    """The codes of what was found in the last of these messages. All others pass."""
    *before, last = replayed(*raws)[0]
    assert [result.verdict for result in before] == ["passed"] * len(before)
    return [finding.code for finding in last.findings]


@proves("replay/work")
def test_reports_complete_tasks_spend_tokens_and_end_blockers() -> None:
    blocked = [
        json.dumps(typed("blocker_report", f"b-{task}", {"plan_id": "p", "task_id": task})).encode()
        for task in ("t1", "t2")
    ]
    reports = [report("u1"), report("u2", tokens_used=90), report("u3", status="complete")]
    results, book = replayed(contract(), *blocked, *reports, report("u4", status="complete", task_id="t2"))
    assert {result.verdict for result in results} == {"passed"}
    assert (list(book["plan:p"].done), book["plan:p"].spent) == (["t1", "t2"], 90)
    assert (book["plan:p"].is_complete, list(book["contracts"].open)) == (True, ["p"])
    assert book["blocker:p/t1"] is book["blocker:p/t2"] is None


@proves("replay/work")
@pytest.mark.parametrize(
    "zone, seconds",
    [("+05:30", -19_800.0), (".9999999Z", 0.999999), (".1229997Z", 0.122999), (".123456Z", 0.123456), (".25Z", 0.25)],
)
def test_a_task_is_done_at_the_time_that_its_report_names(zone: str, seconds: float) -> None:
    """To the microsecond; digits beyond it are cut off."""
    done = [report("u1", status="complete"), report("u1", status="complete").replace(b'Z"', zone.encode() + b'"')]
    plain, other = (replayed(contract(), raw)[1]["plan:p"].done["t1"].at for raw in done)
    assert other - plain == pytest.approx(seconds, abs=1e-6)


@proves("replay/work")
@pytest.mark.parametrize(
    "payload, code",
    [
        ({"files_modified": ["docs/x.md"]}, "path-outside-contract"),
        ({"task_id": "t9"}, "task-not-in-plan"),
        ({"tokens_used": 900}, "token-budget-spent"),
    ],
)
def test_a_report_against_its_contract_is_refused_however_many_passed_before(payload: Any, code: str) -> None:
    before = [report(f"u{number}") for number in range(9)]
    assert last_codes(contract(token_budget=500), *before, report("other", **payload)) == [code]


@proves("replay/work")
@pytest.mark.parametrize("spent, next_", [(400, 200), (500, 0)])
def test_the_tokens_of_all_reports_count_against_the_budget(spent: int, next_: int) -> None:
    raws = contract(token_budget=500), report("u1", tokens_used=spent), report("u2", tokens_used=next_)
    assert last_codes(*raws) == ["token-budget-spent"]


@proves("replay/work")
def test_a_report_is_held_against_the_latest_revision_of_its_contract() -> None:
    revision = contract(allowed_paths=["docs/"]).replace(b'"c1"', b'"c2"')
    assert last_codes(contract(), report("u1"), revision, report("u2")) == ["path-outside-contract"]


@proves("replay/work")
def test_a_plan_that_opens_again_blocks_those_that_depend_on_it() -> None:
    second = json.dumps(
        typed("plan_contract", "c2", {"plan_id": "q", "tasks": ["t2"], "allowed_paths": ["src/"], "depends_on": ["p"]})
    ).encode()
    waits = [report(f"w{number}", plan_id="q", task_id="t2") for number in range(2)]
    done, failed = report("u1", status="complete"), report("u2", status="failed")
    assert last_codes(contract(tasks=["t1"]), done, second, waits[0], failed, waits[1]) == ["dependency-not-complete"]


@proves("replay/shut-down")
def test_only_the_agent_that_has_shut_down_is_refused() -> None:
    types = {"u1": "execution_update", "stop-1": "shutdown_request", "yes": "shutdown_response"}
    raws = [speech_of("vbw-typed", type_, id_).raw for id_, type_ in types.items()]
    assert last_codes(*raws, speech_of("vbw-typed", "execution_update", "u2").raw) == ["sender-has-shut-down"]
    assert last_codes(*raws, speech_of("vbw-typed", "qa_verdict", "v1").raw) == []
