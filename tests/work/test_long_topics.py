"""Long topics: the cost of a message does not grow with its topic, and every way to hold a state gives the same one."""

import copy
import gc
import sys
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from telex.dialects.registry import BUILT_IN
from telex.dialects.schema import set_path
from telex.model.contracts import ContractIndex
from telex.model.finding import Finding
from telex.model.roster import Member, Roster
from telex.model.work import NO_SHUTDOWNS, TASK_STATES, TaskHistory, TaskState, TaskStateMachine, TaskStep, standing
from telex.protocol.codec import made, plain
from telex.protocol.verbs import work_state_kinds
from telex.work import reducer
from telex.work.reducer import RuleContext
from telex.work.shutdown import open_call, was_asked
from telex.work.snapshots import decode_state, encode_state
from telex.work.view import WorkMessage, fields_of
from tests.proofs import proves
from tests.work.test_tasks import steps as any_step

KINDS = {(dialect.name, type_.name): (dialect, type_) for dialect in BUILT_IN for type_ in dialect.types.values()}
ASK, ANSWER = ("build-flow", "VALIDATION_REQUEST"), ("build-flow", "VALIDATION_RESPONSE")
NAMED_ASK, NAMED_ANSWER = ("vbw-typed", "approval_request"), ("vbw-typed", "approval_response")
COMMIT, MOVE = ("build-flow", "COMMIT_REQUEST"), ("build-flow", "STATE_TRANSITION")
ASSIGN, STATUS = ("build-flow", "TASK_ASSIGNMENT"), ("build-flow", "STATUS_UPDATE")
STOP, STOPPED = ("vbw-typed", "shutdown_request"), ("vbw-typed", "shutdown_response")
CONTRACT, REPORT = ("vbw-typed", "plan_contract"), ("vbw-typed", "execution_update")
GROUND = RuleContext(
    0.0, Roster({name: Member(name, "dev", joined_at=2.0) for name in ("ada", "kim")}, ("lead", "dev"))
)


def said(kind: tuple[str, str], id_: str, **facts: Any) -> WorkMessage:
    """A message of that type which says this under the deed's names. `sender`, `at` and `reply_to` stand around it."""
    dialect, type_ = KINDS[kind]
    tree, sender = copy.deepcopy(type_.example), facts.pop("sender", "ada")
    at, reply_to, inboxes = facts.pop("at", 3.0), facts.pop("reply_to", None), facts.pop("inboxes", ("kim",))
    for name, value in facts.items():
        set_path(tree, dialect.locate(type_, type_.field_map[name]), value)
    fields = fields_of(tree, dialect, type_)
    return WorkMessage(1, id_, at, sender, "dev", "lead", inboxes, dialect, type_, fields, None, reply_to)


# --- the same, by whatever way ---------------------------------------------------------------------------------------

IDS, TASK = st.sampled_from(["m-1", "m-2", "m-3", "m-4"]), st.sampled_from(["T-1", "T-1", "T-2"])
PLAN, TASKS = st.sampled_from(["P", "Q"]), st.lists(TASK, max_size=2)
STATES = st.sampled_from(["pending", "assigned", "planning", "in_progress", "quality_review", "cto_intervention"])


def about(kind: tuple[str, str], **facts: st.SearchStrategy[Any]) -> st.SearchStrategy[WorkMessage]:
    around = {"sender": st.sampled_from(["ada", "kim", "lead"]), "at": st.sampled_from([1.0, 2.0, 3.0])}
    return st.builds(said, st.just(kind), IDS, **(around | facts))


MESSAGES = st.one_of(
    about(ASK, task=TASK),
    about(NAMED_ASK, task=TASK),
    about(ANSWER, task=TASK, decision=st.sampled_from(["APPROVED", "REJECTED", "CONDITIONAL"])),
    about(ANSWER, task=TASK, decision=st.just("APPROVED"), reply_to=IDS),
    about(NAMED_ANSWER, task=TASK, request=IDS, approved=st.booleans()),
    about(COMMIT, task=TASK, approval=IDS),
    about(ASSIGN, task=TASK),
    about(STATUS, task=TASK, status=st.just("FAILED")),
    about(MOVE, task=TASK, came_from=STATES, goes_to=STATES),
    about(STOP, inboxes=st.sampled_from([("ada",), ("ada", "kim"), ()])),
    about(STOPPED, request=IDS, approved=st.booleans()),
    about(CONTRACT, plan=PLAN, tasks=TASKS),
    about(REPORT, plan=PLAN, task=TASK, status=st.sampled_from(["complete", "complete", "partial", "failed"])),
)


Fold = Callable[[str, Any, WorkMessage], Any]


def written(book: dict[str, Any], one: WorkMessage, fold: Fold) -> list[Finding]:
    """The message is checked and folded, whatever was found in it: folds have to bear anything."""
    found = list(reducer.check_rules(one, book, GROUND))
    for topic in reducer.topics_changed(one, book):
        book[topic] = fold(topic, book.get(topic), one)
    return found


def through_snapshots(topic: str, state: Any, one: WorkMessage) -> Any:
    return decode_state(encode_state(reducer.fold_in_place(topic, state, one)))


def over_the_wire(topic: str, state: Any, one: WorkMessage) -> Any:
    folded = reducer.fold(topic, state, one)
    return made(work_state_kinds()[reducer.kind_of(topic)], plain(folded))


WAYS: dict[str, Fold] = {
    "copied": reducer.fold,
    "in place": reducer.fold_in_place,
    "snapshot": through_snapshots,
    "wire": over_the_wire,
}


def words_of(book: dict[str, Any]) -> dict[str, str]:
    return {topic: encode_state(state) for topic, state in book.items()}


@proves("work/long")
@given(st.lists(MESSAGES, max_size=14))
def test_a_state_that_is_written_in_place_is_the_one_that_is_copied(messages: list[WorkMessage]) -> None:
    books: dict[str, dict[str, Any]] = {way: {} for way in WAYS}
    before: list[tuple[Any, str]] = []
    for message in messages:
        found = {way: written(books[way], message, fold) for way, fold in WAYS.items()}
        for way in WAYS:
            assert (found[way], books[way]) == (found["copied"], books["copied"]), way
            assert way == "wire" or words_of(books[way]) == words_of(books["copied"])
        before += [(state, encode_state(state)) for state in books["copied"].values()]
    assert all(encode_state(state) == words for state, words in before), "who copies still holds what was before"


@proves("work/long")
@given(st.lists(MESSAGES, max_size=14))
def test_the_requests_of_a_task_are_those_that_were_sent(messages: list[WorkMessage]) -> None:
    book: dict[str, Any] = {}
    for message in messages:
        written(book, message, reducer.fold_in_place)
        for task in [state for topic, state in book.items() if topic.startswith("task:")]:
            assert task.waiting.keys().isdisjoint(task.answered)
            assert all(request.waits for request in task.waiting.values())
            approved = {request.answer: request.id for request in task.answered.values() if request.is_approved}
            assert approved.items() <= task.approvals.items()
            names = {*approved, *approved.values()}
            assert names <= {name for name in ("", "m-1", "m-2", "m-3", "m-4") if task.is_approval(name, "")}


@proves("work/long")
@given(st.lists(MESSAGES, max_size=14))
def test_the_index_of_contracts_is_what_the_plans_say(messages: list[WorkMessage]) -> None:
    book: dict[str, Any] = {}
    for message in messages:
        written(book, message, reducer.fold_in_place)
        index: ContractIndex = book.get("contracts", ContractIndex.empty())
        plans = {state.id: state for topic, state in book.items() if topic.startswith("plan:") and state.revisions}
        assert index.open.keys() == {name for name, plan in plans.items() if plan.is_open}
        assert index.closed.keys() == plans.keys() - index.open.keys()
        tasks = {name: plan.revisions[-1].words.tasks for name, plan in plans.items()}
        having = {task: {name for name in tasks if task in tasks[name]} for each in tasks.values() for task in each}
        assert {task: set(plans) for task, plans in index.by_task.items()} == having
        assert index.names.keys() == {name.strip().casefold() for name in plans}
        assert set(index.names.values()) <= plans.keys()


OTHER = TaskStateMachine(
    {"open": TaskState(("in_progress",)), "in_progress": TaskState(("open",), ("in_progress",))}, *["open"] * 3
)


@proves("work/long")
@given(st.lists(st.tuples(any_step, st.sampled_from([None, TASK_STATES, OTHER])), max_size=20))
def test_where_a_task_stands_does_not_depend_on_when_somebody_asked(
    played: list[tuple[TaskStep, TaskStateMachine | None]],
) -> None:
    known, shorter = TaskHistory(), []
    for step, machine in played:
        shorter.append(known)
        known = known.copy()
        known.append(step)
        if machine is not None:
            assert standing(machine, known) == standing(machine, tuple(known))
    for length, one in enumerate(shorter):
        assert list(one) == [step for step, _ in played[:length]]
        assert standing(TASK_STATES, one) == standing(TASK_STATES, tuple(one))


CALLS = st.lists(
    st.tuples(st.sampled_from("abc"), st.sets(st.sampled_from(["ada", "role:dev", "kim"]), min_size=1)), max_size=10
)


@proves("work/long")
@given(CALLS, st.sampled_from([None, 0.0, 2.0, 3.0, 9.0]))
def test_the_last_call_to_somebody_is_found_as_if_all_were_looked_through(
    sent: list[tuple[str, set[str]]], since: float | None
) -> None:
    known = NO_SHUTDOWNS
    for number, (id_, asked) in enumerate(sent):
        known = reducer.fold("shutdown", known, said(STOP, id_, at=float(number), inboxes=tuple(asked)))
    member = Member("ada", "dev", joined_at=since)
    reached = [call for call in known.calls if call.at >= (since or 0.0) and was_asked(call, member, GROUND.roster)]
    assert open_call(known, member, GROUND.roster) == (reached[-1] if reached else None)
    for id_, _ in sent:
        assert known.call(id_) is [call for call in known.calls if call.id == id_][-1]
    assert NO_SHUTDOWNS.calls == []


# --- and no dearer ---------------------------------------------------------------------------------------------------

FEW, MANY = 1_200, 4_000  # more than the latest names that a finding compares, and as many digits each


def asked_and_never_answered(number: int) -> Iterator[WorkMessage]:
    yield said(ASK, f"ask-{number}", task="T-1")
    yield said(NAMED_ASK, f"named-{number}", task="T-1")
    yield said(ANSWER, f"answer-{number}", task="T-1", sender="kim")
    yield said(COMMIT, f"commit-{number}", task="T-1", approval="none")


def asked_and_answered(number: int) -> Iterator[WorkMessage]:
    yield said(ASK, f"ask-{number}", task="T-1")
    yield said(ANSWER, f"answer-{number}", task="T-1", sender="kim", reply_to=f"ask-{number}", decision="APPROVED")
    yield said(ANSWER, f"again-{number}", task="T-1", sender="kim", reply_to=f"ask-{number}")
    yield said(COMMIT, f"commit-{number}", task="T-1", approval=f"answer-{number}")
    yield said(COMMIT, f"wrong-{number}", task="T-1", approval="none")


def moved_about(number: int) -> Iterator[WorkMessage]:
    yield said(STATUS, f"status-{number}", task="T-1", status="FAILED")
    yield said(MOVE, f"move-{number}", task="T-1", came_from="planning", goes_to="planning")
    yield said(MOVE, f"wrong-{number}", task="T-1", came_from="planning", goes_to="nowhere")


def asked_to_stop(number: int) -> Iterator[WorkMessage]:
    yield said(STOP, f"stop-{number}", at=3.0 + number, inboxes=("ada",))
    yield said(STOPPED, f"not-{number}", request=f"stop-{number}", approved=False)
    yield said(STOPPED, f"never-{number}", request="never", sender="kim", approved=False)


STORIES = [asked_and_never_answered, asked_and_answered, moved_about, asked_to_stop]


def steps_taken(act: Callable[[], Any]) -> int:
    """How many instructions Python has carried out for it."""
    count, tracer = 0, sys.gettrace()

    def look(frame: Any, event: str, arg: Any) -> Any:
        nonlocal count
        frame.f_trace_opcodes = True
        count += event == "opcode"
        return look

    gc.disable()  # others may have something to do whenever it runs
    sys.settrace(look)
    try:
        act()
    finally:
        sys.settrace(tracer)
        gc.enable()
    return count


@proves("work/long")
@pytest.mark.parametrize("way", ["copied", "in place"])
@pytest.mark.parametrize("story", STORIES)
def test_a_message_in_a_long_topic_takes_as_many_steps_as_in_a_short_one(
    story: Callable[[int], Iterator[WorkMessage]], way: str
) -> None:
    """Those of Python itself: who copies still copies, which is a hundred times as quick as looking through it."""
    book: dict[str, Any] = {}
    taken: dict[int, list[int]] = {}
    for number in range(1_000, MANY + 1):
        for one in story(number):
            if number in (FEW, MANY):
                taken.setdefault(number, []).append(steps_taken(partial(put_down, book, one, WAYS[way])))
            else:
                put_down(book, one, WAYS[way])
    assert taken[MANY] == taken[FEW]


def put_down(book: dict[str, Any], one: WorkMessage, fold: Fold) -> None:
    """As a bus does, and a replay: what may not pass is not folded."""
    if not reducer.check_rules(one, book, GROUND):
        for topic in reducer.topics_changed(one, book):
            book[topic] = fold(topic, book.get(topic), one)


@proves("work/long")
def test_nothing_is_copied_for_a_caller_that_drops_the_state_before() -> None:
    book: dict[str, Any] = {}
    written(book, said(ASK, "m-0", task="T-1"), reducer.fold_in_place)
    written(book, said(STOP, "m-0", inboxes=("ada",)), reducer.fold_in_place)
    waiting, calls = book["task:T-1"].waiting, book["shutdown"].calls
    for number in range(1, 4):
        written(book, said(ASK, f"m-{number}", task="T-1"), reducer.fold_in_place)
        written(book, said(ANSWER, f"a-{number}", task="T-1", sender="kim", reply_to="m-0"), reducer.fold_in_place)
        written(book, said(STOP, f"m-{number}", inboxes=("ada",)), reducer.fold_in_place)
        written(book, said(STOPPED, f"b-{number}", request="m-0", approved=False), reducer.fold_in_place)
    assert (book["task:T-1"].waiting is waiting, book["shutdown"].calls is calls) == (True, True)
    assert (list(waiting), book["task:T-1"].answered["m-0"].answer) == (["m-1", "m-2", "m-3"], "a-1")
    assert (len(calls), calls[0].answers["ada"].id) == (4, "b-3")
