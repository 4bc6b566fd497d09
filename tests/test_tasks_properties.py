"""Whatever is said of tasks, in whatever order: a simple model and the bus agree, and so does the record."""

import json
from contextlib import ExitStack
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from telex.dialects.registry import BUILT_IN
from telex.model.task_states import TASK_STATES, TaskStep, moves, standing, state_name
from telex.work import reducer
from telex.work.tasks import Task, new_task
from telex.work.view import WorkMessage, fields_of
from tests.bus_team import QUICK, Team, empty_store, flow
from tests.proofs import proves
from tests.story_settings import FEWER
from tests.test_tasks import CTO, DEV, HEAD, WAY, escalations

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
            receipt = team.bus.send(raw, sender=HEAD)
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
