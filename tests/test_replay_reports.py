"""Are reports on a plan, which a replay tells at a glance, answered as the bus answers them?"""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from telex.bus.local import LocalBus
from telex.client import run_sync
from telex.dialects.registry import BUILT_IN
from telex.model.finding import refusals
from telex.replay import plan_report_checks
from telex.replay.reader import LogEntry, line_reader
from telex.replay.result import SimulatedResult, in_words
from telex.replay.simulate import Simulator
from telex.stores.memory import MemoryStore
from telex.testing import FakeClock
from telex.work.rule_set import Book
from tests.bus_team import speech_of
from tests.proofs import proves
from tests.replay_kit import typed
from tests.test_book import book_of

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


def replayed(raws: list[bytes], *, quick: bool) -> tuple[list[SimulatedResult], Book]:
    trial, read, found = Simulator(), line_reader(BUILT_IN), []
    if quick:
        trial.open_track()
    for number, raw in enumerate(raws, 1):
        line = read(number, raw)
        assert isinstance(line, LogEntry)
        judged = (trial.quick(number, raw) if quick else None) or trial.judge(line)
        found.append(judged.told())
    return found, trial.book


@proves("replay/quick")
@given(DAYS)
def test_a_day_of_work_is_told_quickly_as_it_is_told_patiently(said: list[tuple[str, dict[str, Any]]]) -> None:
    raws = [raw for _, raw in written(said)]
    assert replayed(raws, quick=True) == replayed(raws, quick=False)


@proves("replay/quick")
@given(DAYS)
def test_the_quick_way_says_what_the_bus_says(said: list[tuple[str, dict[str, Any]]]) -> None:
    """Everything is said to everybody, as it is taken to be where a log does not say for whom it was."""
    bus = LocalBus(MemoryStore(), FakeClock())
    for name in TEAM:
        run_sync(bus.join(name, role=name))
    messages = written(said)
    trial = Simulator(begin=[one.member for one in run_sync(bus.roster())])
    trial.open_track()
    read = line_reader(BUILT_IN)
    for number, (sender, raw) in enumerate(messages, 1):
        receipt = run_sync(bus.send(raw, sender=sender, to="*"))
        line = read(number, raw)
        assert isinstance(line, LogEntry)
        judged = trial.quick(number, raw) or trial.judge(line)
        assert (judged.verdict == "refused") == (not receipt.accepted), (judged, receipt)
        ours = refusals([in_words(finding) for finding in judged.findings])
        theirs = refusals(receipt.findings)
        assert sorted(our.code for our in ours) == sorted(their.code for their in theirs)
    assert standing(trial.book) == standing(book_of(bus))


def standing(book: Book) -> dict[str, Any]:
    """How the plans stand, and which of them are known to be complete."""
    plans = {topic: (sorted(one.done), one.spent) for topic, one in book.items() if topic.startswith("plan:")}
    contracts = book.get("contracts")
    return plans | {name: one.closed for name, one in (contracts.plans if contracts is not None else {}).items()}


def contract(**payload: Any) -> bytes:
    words = {"plan_id": "p", "tasks": ["t1", "t2"], "allowed_paths": ["src/"], "depends_on": []} | payload
    return json.dumps(typed("plan_contract", "c1", words)).encode()


def report(id: str, **payload: Any) -> bytes:
    words = {"plan_id": "p", "task_id": "t1", "status": "partial", "files_modified": ["src/a.py"]} | payload
    return json.dumps(typed("execution_update", id, words)).encode()


def trial_after(*raws: bytes) -> Simulator:
    trial = Simulator()
    trial.open_track()
    for number, raw in enumerate(raws, 1):
        judged = trial.quick(number, raw)
        assert judged is not None
        assert judged.verdict == "passed", judged
    return trial


@proves("replay/quick")
def test_an_ordinary_report_is_not_read_as_a_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither one that ticks a task off, the last of its plan included, nor one that says what it took, nor the first
    after its task was held up, nor that this is so."""
    blocked = json.dumps(typed("blocker_report", "b1", {"plan_id": "p", "task_id": "t1"})).encode()
    trial = trial_after(contract(), report("u1"), blocked)
    weighed: list[Any] = []
    monkeypatch.setattr(Simulator, "_weighed", lambda *args: weighed.append(args))
    last = report("u6", status="complete", task_id="t2")
    again = json.dumps(typed("blocker_report", "b2", {"plan_id": "p", "task_id": "t2"})).encode()
    spent = report("u3", tokens_used=90)
    for number, raw in enumerate([report("u2"), spent, report("u4", status="complete"), again, last], 10):
        judged = trial.quick(number, raw)
        assert judged is not None
        assert judged.verdict == "passed"
    assert not weighed
    plan = trial.book["plan:p"]
    assert (list(plan.done), plan.spent) == (["t1", "t2"], 90)
    assert trial.book["contracts"].plans["p"].closed
    assert trial.book["blocker:p/t1"] is trial.book["blocker:p/t2"] is None


@proves("replay/quick")
@pytest.mark.parametrize("zone", ["+05:30", ".9999999Z", ".1229997Z", ".1230004Z", ".123456Z", ".25Z"])
def test_a_task_is_done_at_the_moment_that_its_report_names(zone: str) -> None:
    """To the millionth of a second, as the patient way reads it."""
    done = report("u1", status="complete").replace(b'Z"', zone.encode() + b'"')
    assert zone.encode() in done
    quick, patient = (replayed([contract(), done], quick=way)[1]["plan:p"].done["t1"] for way in (True, False))
    assert quick == patient
    assert quick.at != replayed([contract()], quick=False)[1]["plan:p"].revisions[0].at


@proves("replay/quick")
@pytest.mark.parametrize(
    "payload, code",
    [
        ({"files_modified": ["docs/x.md"]}, "path-outside-contract"),
        ({"task_id": "t9"}, "task-not-in-plan"),
        ({"tokens_used": 900}, "token-budget-spent"),
    ],
)
def test_a_report_beside_its_contract_is_refused_however_many_passed_before(payload: Any, code: str) -> None:
    trial = trial_after(contract(token_budget=500), *(report(f"u{number}") for number in range(9)))
    judged = trial.quick(20, report("other", **payload))
    assert judged is not None
    assert (judged.verdict, [finding.code for finding in judged.findings]) == ("refused", [code])


@proves("replay/quick")
@pytest.mark.parametrize("spent, next_", [(400, 200), (500, 0)])
def test_what_was_spent_at_a_glance_is_spent(spent: int, next_: int) -> None:
    trial = trial_after(contract(token_budget=500), report("u1", tokens_used=spent))
    judged = trial.quick(9, report("u2", tokens_used=next_))
    assert judged is not None
    assert [finding.code for finding in judged.findings] == ["token-budget-spent"]


@proves("replay/quick")
def test_what_is_known_of_a_plan_holds_only_as_long_as_the_plan_stands_so() -> None:
    trial = trial_after(contract(), report("u1"), contract(allowed_paths=["docs/"]).replace(b'"c1"', b'"c2"'))
    judged = trial.quick(9, report("u2"))
    assert judged is not None
    assert [finding.code for finding in judged.findings] == ["path-outside-contract"]


@proves("replay/quick")
def test_a_plan_that_opens_again_holds_up_those_that_wait_for_it() -> None:
    first = contract(tasks=["t1"])
    second = json.dumps(
        typed("plan_contract", "c2", {"plan_id": "q", "tasks": ["t2"], "allowed_paths": ["src/"], "depends_on": ["p"]})
    ).encode()
    waits = [report(f"w{number}", plan_id="q", task_id="t2") for number in range(2)]
    trial = trial_after(first, report("u1", status="complete"), second, waits[0], report("u2", status="failed"))
    judged = trial.quick(9, waits[1])
    assert judged is not None
    assert [finding.code for finding in judged.findings] == ["dependency-not-complete"]


@proves("replay/long")
def test_what_is_remembered_of_plans_and_files_has_an_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plan_report_checks, "FILES_MAX", 3)
    monkeypatch.setattr(plan_report_checks, "PLANS_MAX", 2)
    plans = [contract(plan_id=f"p{number}").replace(b'"c1"', b'"c%d"' % number) for number in range(9)]
    files = [report(f"f{number}", plan_id="p0", files_modified=[f"src/{number}.py"]) for number in range(9)]
    each = [report(f"u{number}", plan_id=f"p{number}") for number in range(9)]
    trial = trial_after(*plans, *files, *each)
    known = trial._work.reports._plans
    assert len(known) <= 2
    assert all(len(one.terms.may_touch) <= 3 for one in known.values())


@proves("replay/quick")
def test_nobody_takes_the_quick_way_past_a_shutdown_and_the_others_still_do() -> None:
    raws = [speech_of("vbw-typed", "execution_update", "u1").raw]
    raws += [speech_of("vbw-typed", "shutdown_request", "stop-1").raw]
    raws += [speech_of("vbw-typed", "shutdown_response", "yes").raw]
    trial = trial_after(*raws)
    assert trial.quick(9, speech_of("vbw-typed", "execution_update", "u2").raw) is None
    assert trial.quick(9, speech_of("vbw-typed", "qa_verdict", "v1").raw) is not None
