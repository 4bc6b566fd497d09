"""States of a task: moves, failures, escalation; and a model of random messages about tasks."""

import json
from contextlib import ExitStack
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from telex.dialects.registry import BUILT_IN
from telex.model.finding import Finding
from telex.model.work import TASK_STATES, TaskStatus, TaskStep, moves, standing, state_name
from telex.ports.bus import Receipt
from telex.validation.check import check
from telex.work import reducer
from telex.work.tasks import Task, new_task
from telex.work.view import WorkMessage, fields_of
from tests.bus.bus_team import QUICK, OpenTeam, Team, codes, empty_store, flow
from tests.demo.story_settings import FEWER
from tests.proofs import proves

DEV, CTO, HEAD = "fullstack-developer", "cto", "build-orchestrator"
WAY = (
    *("pending", "assigned", "planning", "validated", "in_progress", "testing"),
    *("quality_review", "approved", "committing", "completed"),
)


def tell(team: Team, type_: str, task: str = "TASK-001", sender: str = HEAD, to: str = DEV, **payload: Any) -> Receipt:
    """A message about a task, under an id of its own."""
    tree = json.loads(flow(type_, f"m-{sum(1 for _ in team.bus.events())}", sender, to, task))
    tree["payload"] |= payload
    return team.bus.send(tree, sender=sender, check=False)


def move(team: Team, came_from: str, goes_to: str, task: str = "TASK-001", **more: Any) -> Receipt:
    return tell(team, "STATE_TRANSITION", task, fromState=came_from, toState=goes_to, **more)


def go(team: Team, *states: str, task: str = "TASK-001") -> None:
    """Through these states, each of which must be allowed."""
    for came_from, goes_to in pairwise(states):
        receipt = move(team, came_from, goes_to, task)
        assert receipt.accepted, receipt.findings


def fail(team: Team, times: int, task: str = "TASK-001") -> None:
    for number in range(times):
        receipt = tell(team, "STATUS_UPDATE", task, DEV, HEAD, status="FAILED", details=f"error {number + 1}")
        assert receipt.accepted, receipt.findings


def stands(team: Team, task: str = "TASK-001") -> TaskStatus:
    found = team.bus.work_state("task").get(f"task:{task}")
    return standing(TASK_STATES, found.steps if found is not None else ())


def refused(receipt: Receipt) -> list[Finding]:
    assert not receipt.accepted
    return [finding for finding in receipt.findings if finding.severity == "refusal"]


def escalations(team: Team, agent: str) -> list[dict[str, Any]]:
    found = [json.loads(message.raw) for _, message in team.bus.inbox(agent) if message.type == "ESCALATION_REQUEST"]
    return [one for one in found if one["from"] == "telex"]


# --- moves ------------------------------------------------------------------------------------------------------------


@proves("tasks/machine/way", "tasks/assigned")
def test_a_task_goes_its_way_to_the_end(team: Team) -> None:
    assert tell(team, "TASK_ASSIGNMENT").accepted
    assert stands(team).state == "assigned"
    go(team, *WAY[1:])
    assert stands(team).state == "completed"
    [finding] = refused(move(team, "completed", "planning"))
    assert (finding.code, finding.path) == ("transition-not-allowed", "$.payload.toState")


@proves("tasks/assigned")
def test_assigning_a_task_again_leaves_it_where_it_is(team: Team) -> None:
    tell(team, "TASK_ASSIGNMENT")
    go(team, "assigned", "planning")
    assert tell(team, "TASK_ASSIGNMENT", to="plan-manager").accepted
    assert stands(team).state == "planning"
    assert team.bus.work_state("task")["task:TASK-001"].assigned_to == "plan-manager"


@proves("tasks/pending", "tasks/at-its-word")
def test_a_task_that_nobody_spoke_of_is_pending_or_where_its_first_move_says(team: Team) -> None:
    assert stands(team).state == "pending"
    go(team, "pending", "assigned", "planning")
    go(team, "testing", "quality_review", task="TASK-002")
    assert stands(team, "TASK-002").state == "quality_review"
    [finding] = refused(move(team, "testing", "completed", "TASK-003"))
    assert finding.expected == "one of quality_review"
    [finding, _] = refused(move(team, "doing", "done", "TASK-004"))  # a state that nobody knows is no word to take
    assert (finding.path, finding.expected) == ("$.payload.fromState", "pending")
    assert refused(move(team, "planning", "cto_intervention", "TASK-005"))


@proves("tasks/from-differs")
def test_a_move_from_elsewhere_is_refused_and_told_where_the_task_is(team: Team) -> None:
    tell(team, "TASK_ASSIGNMENT")
    [finding] = refused(move(team, "pending", "planning"))
    assert (finding.code, finding.path) == ("transition-not-allowed", "$.payload.fromState")
    assert (finding.expected, finding.found, finding.nearest) == ("assigned", "pending", "assigned")
    assert stands(team).state == "assigned"


@proves("tasks/no-such-move")
def test_a_move_that_is_not_there_is_refused_and_told_those_that_are(team: Team) -> None:
    go(team, "pending", "assigned", "planning")
    [finding] = refused(move(team, "planning", "validate"))
    assert (finding.code, finding.path) == ("transition-not-allowed", "$.payload.toState")
    assert (finding.expected, finding.nearest) == ("one of validated, planning", "validated")
    both = refused(move(team, "testing", "approved"))
    assert [one.path for one in both] == ["$.payload.fromState", "$.payload.toState"]


@proves("tasks/spelling")
def test_states_compare_without_case_and_separators(team: Team) -> None:
    go(team, "Validated", "IN-PROGRESS", "Testing", "quality review", "In Progress")
    assert stands(team).state == "in_progress"


@proves("tasks/repeated")
def test_the_same_transition_again_is_a_duplicate(team: Team) -> None:
    raw = flow("STATE_TRANSITION", "m-1", HEAD, DEV)
    assert team.bus.send(raw, sender=HEAD).accepted
    again = team.other().send(raw, sender=HEAD)
    assert (again.accepted, again.duplicate) == (True, True)
    assert len(team.bus.work_state("task")["task:TASK-001"].steps) == 1


@proves("tasks/once")
def test_of_two_moves_at_once_one_is_kept(team: Team) -> None:
    go(team, "pending", "assigned", "planning")
    one, other = team.other(), team.other()
    for bus in (one, other):
        assert bus.work_state("task")
    raw = [flow("STATE_TRANSITION", id_, HEAD, DEV) for id_ in ("x-1", "x-2")]
    assert one.send(raw[0], sender=HEAD).accepted
    assert codes(other.send(raw[1], sender=HEAD, check=False).findings) == ["transition-not-allowed"] * 2


@proves("tasks/lenient")
def test_a_lenient_team_hears_the_same_and_nothing_moves(open_team: OpenTeam) -> None:
    team = open_team(strict=False)
    tell(team, "TASK_ASSIGNMENT")
    receipt = move(team, "assigned", "completed")
    assert receipt.accepted
    assert codes(receipt.findings) == ["transition-not-allowed"]
    assert stands(team).state == "assigned"


# --- failures ---------------------------------------------------------------------------------------------------------

FAILING = {
    "planning": ("planning",),
    "quality_review": ("in_progress", "testing", "quality_review"),
    "committing": ("in_progress", "testing", "quality_review", "approved", "committing"),
}


def fail_in(team: Team, state: str, times: int) -> None:
    """Fail there so many times, and come back."""
    for _ in range(times):
        if state == "in_progress":
            fail(team, 1)
        else:
            go(team, state, *FAILING[state])


@proves("tasks/failures", "tasks/cto-after-three", "tasks/escalation")
@pytest.mark.parametrize("state", [*FAILING, "in_progress"])
def test_three_failures_in_a_state_open_the_way_to_the_cto(team: Team, state: str) -> None:
    go(team, "pending", *WAY[1 : WAY.index(state) + 1])
    fail_in(team, state, 2)
    [finding] = refused(move(team, state, "cto_intervention"))
    assert (finding.code, finding.path) == ("transition-not-allowed", "$.payload.toState")
    assert escalations(team, CTO) == []
    fail_in(team, state, 1)
    assert stands(team).failures(state) == 3
    [escalation] = escalations(team, CTO)
    assert escalation["payload"]["context"]["state"] == state
    assert move(team, state, "cto_intervention").accepted


@proves("tasks/escalation")
def test_the_third_failure_tells_the_cto_what_failed_how_often(team: Team) -> None:
    tell(team, "TASK_ASSIGNMENT", "TASK-007")
    go(team, *WAY[1:5], task="TASK-007")
    fail(team, 3, "TASK-007")
    [escalation] = escalations(team, CTO)
    assert (escalation["correlationId"], escalation["payload"]["taskId"]) == ("TASK-007", "TASK-007")
    assert escalation["payload"]["escalationType"] == "CTO"
    assert escalation["payload"]["failureHistory"] == [{"agent": DEV, "attempts": 3, "lastError": "error 3"}]
    assert check(json.dumps(escalation)).findings == ()


@proves("tasks/escalation/once", "tasks/fresh-start")
def test_a_state_is_escalated_once_until_somebody_has_intervened(team: Team) -> None:
    go(team, *WAY[:5])
    fail(team, 5)
    assert len(escalations(team, CTO)) == 1
    go(team, "in_progress", "cto_intervention")
    fail(team, 3)  # while somebody sees to it, nobody is told again
    assert len(escalations(team, CTO)) == 1
    go(team, "cto_intervention", "in_progress")
    assert stands(team).failures("in_progress") == 0
    assert refused(move(team, "in_progress", "cto_intervention"))
    fail(team, 3)
    assert len(escalations(team, CTO)) == 2


@proves("tasks/human-after-two", "tasks/escalation/human")
def test_after_two_interventions_a_person_is_asked(team: Team) -> None:
    go(team, *WAY[:5])
    fail(team, 3)
    go(team, "in_progress", "cto_intervention")
    [finding] = refused(move(team, "cto_intervention", "human_escalation"))
    assert finding.expected == "one of planning, in_progress, quality_review, committing"
    go(team, "cto_intervention", "in_progress")
    fail(team, 3)
    go(team, "in_progress", "cto_intervention", "in_progress")
    fail(team, 3)
    assert len(escalations(team, CTO)) == 2
    [escalation] = escalations(team, "human")
    assert escalation["payload"]["escalationType"] == "HUMAN"
    go(team, "in_progress", "cto_intervention", "human_escalation")
    assert refused(move(team, "human_escalation", "planning"))


@proves("tasks/escalation/cto")
def test_a_team_without_a_cto_asks_a_person_at_once(open_team: OpenTeam) -> None:
    from telex.model.roster import Member

    team = open_team(members=(Member(DEV, DEV, declared=True), Member(HEAD, HEAD, declared=True)))
    go(team, *WAY[:5])
    fail(team, 3)
    assert [one["payload"]["escalationType"] for one in escalations(team, "human")] == ["HUMAN"]


WORK = ("planning", "in_progress", "quality_review", "committing")
STATES = (*WAY, "cto_intervention", "human_escalation")
NEXT = dict(pairwise(WAY))
FAILURES = {("planning", "planning"), ("quality_review", "in_progress"), ("committing", "in_progress")}


class Model:
    """The page's own sentences, one line of code each."""

    def __init__(self) -> None:
        self.state, self.known = "pending", False
        self.failures = dict.fromkeys(WORK, 0)
        self.attempts, self.escalated = 0, [0, 0]  # to the CTO, to a person

    def assign(self) -> bool:
        self.state, self.known = "assigned" if self.state == "pending" else self.state, True
        return True

    def fail(self) -> bool:
        if self.state not in ("completed", "human_escalation", "cto_intervention"):
            self._failed("in_progress")
        return True

    def move(self, came_from: str, goes_to: str) -> bool:
        if came_from != (self.state if self.known else came_from):
            return False
        helps = goes_to == "cto_intervention" and came_from in WORK and self.failures[came_from] >= 3
        back = came_from == "cto_intervention" and goes_to in WORK
        person = came_from == "cto_intervention" and goes_to == "human_escalation" and self.attempts >= 2
        fails = (came_from, goes_to) in FAILURES
        if not (NEXT.get(came_from) == goes_to or fails or helps or back or person):
            return False
        self.state, self.known = goes_to, True
        self.attempts += helps
        if back or person:
            self.failures = dict.fromkeys(WORK, 0)
        if fails:
            self._failed(came_from)
        return True

    def _failed(self, state: str) -> None:
        self.failures[state] += 1
        if self.failures[state] == 3:
            self.escalated[self.attempts >= 2] += 1


wandering = st.tuples(st.just("move"), st.sampled_from(STATES), st.sampled_from(STATES))
going_on = st.tuples(st.just("go"), st.integers(-1, 3), st.none())  # -1: to whoever can help, allowed or not
failing = st.tuples(st.just("fail"), st.none(), st.none())
assigning = st.tuples(st.just("assign"), st.none(), st.none())
reopening = st.tuples(st.just("reopen"), st.none(), st.none())
anything = st.one_of(going_on, going_on, failing, failing, failing, wandering, assigning, reopening)
troubled = st.just([("fail", None, None)] * 3 + [("go", -1, None)])
beginning = st.sampled_from([[("move", "validated", "in_progress")], [("move", "assigned", "planning")], []])


def joined(parts: list[Any]) -> list[Any]:
    return [play for part in parts for play in (part if isinstance(part, list) else [part])]


plays = st.tuples(beginning, st.lists(st.one_of(anything, anything, anything, troubled), max_size=12)).map(
    lambda both: [*both[0], *joined(both[1])]
)


def moved(number: int, came_from: str, goes_to: str) -> bytes:
    tree = json.loads(flow("STATE_TRANSITION", f"m-{number}", HEAD, DEV))
    tree["payload"] |= {"fromState": came_from, "toState": goes_to}
    return json.dumps(tree).encode()


FAILED = flow("STATUS_UPDATE", "m-0", HEAD, DEV).replace(b"PROGRESS", b"FAILED")
ASSIGNED = flow("TASK_ASSIGNMENT", "m-0", HEAD, DEV)


def said(team: Team, model: Model, number: int, does: str, one: Any, other: Any) -> tuple[bytes, bool]:
    """What is sent, and whether the model lets it pass."""
    if does == "go":
        task = team.bus.work_state("task").get("task:TASK-001") or new_task("TASK-001")
        there = moves(TASK_STATES, standing(TASK_STATES, task.steps)) or ("pending",)
        help_ = "human_escalation" if model.state == "cto_intervention" else "cto_intervention"
        one, other = model.state, help_ if one < 0 else there[one % len(there)]
    if does in ("go", "move"):
        return moved(number, one, other), model.move(one, other)
    raw = FAILED if does == "fail" else ASSIGNED
    return raw.replace(b'"m-0"', f'"m-{number}"'.encode()), model.fail() if does == "fail" else model.assign()


@proves("tasks/folded")
@FEWER
@given(plays)
def test_the_bus_agrees_with_a_simple_model_and_with_its_record(plays: list[tuple[str, Any, Any]]) -> None:
    with TemporaryDirectory() as folder, ExitStack() as stack:
        path = Path(folder, "team.db")
        path.write_bytes(empty_store())
        team, model = Team(path, QUICK, stack), Model()
        for number, (does, one, other) in enumerate(plays):
            if does == "reopen":
                before = team.bus.work_state("task")
                team.bus = team.other()
                assert team.bus.work_state("task") == before
                continue
            raw, passes = said(team, model, number, does, one, other)
            receipt = team.bus.send(raw, sender=HEAD, check=False)
            assert receipt.accepted == passes, (model.state, does, one, other, receipt.findings)
        book = team.bus.work_state("task")
        written = reducer.written(team.bus.events(), {dialect.name: dialect for dialect in BUILT_IN})
        assert {topic: state for topic, state in written.items() if topic.startswith("task:")} == book
        if book:
            stands = standing(TASK_STATES, book["task:TASK-001"].steps)
            assert stands.state == model.state
            assert {state: stands.failures(state) for state in WORK} == model.failures
        assert [len(escalations(team, who)) for who in (CTO, "human")] == model.escalated


steps = st.builds(
    TaskStep,
    st.sampled_from(("assign", "move", "fail")),
    st.text(max_size=3),
    st.floats(0, 1e9),
    st.text(max_size=3),
    st.sampled_from((*STATES, "", "elsewhere")),
    st.sampled_from((*STATES, "", "elsewhere")),
)


@proves("tasks/folded")
@given(st.lists(steps, max_size=20))
def test_any_steps_bring_a_task_somewhere(given_: list[TaskStep]) -> None:
    stands = standing(TASK_STATES, given_)
    assert set(moves(TASK_STATES, stands)) <= set(STATES)
    assert not stands.placed or stands.state in STATES


@proves("tasks/spelling")
@given(st.text())
def test_a_state_compared_is_compared_the_same_again(text: str) -> None:
    assert state_name(state_name(text)) == state_name(text)


@proves("tasks/folded")
@given(
    st.sampled_from([(dialect, type_) for dialect in BUILT_IN for type_ in dialect.types.values() if type_.action]),
    st.dictionaries(st.sampled_from(["taskId", "task", "status", "fromState", "toState", "decision"]), st.none()),
)
def test_the_fold_takes_any_message_that_may_belong_to_it(kind: Any, changes: dict[str, Any]) -> None:
    dialect, type_ = kind
    tree = json.loads(json.dumps(type_.example)) | changes
    heard = WorkMessage(1, "m", 0.0, "dev", "dev", "lead", (), dialect, type_, fields_of(tree, dialect, type_))
    for state in (None, new_task("T")):
        assert isinstance(reducer.fold("task:T", state, heard), Task)
