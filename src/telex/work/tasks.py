"""Where does a task stand? What was said of it, one topic for each task, held against the team's table of states.

The topic keeps facts: assignments, moves, failures, what was asked and how that was answered. Which moves there are and
which of them are failures stands in `model/task_states.py`, or in a team's own table, and comes in when somebody asks.
"""

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple

from telex.delivery.routing import listed
from telex.dialects.schema import MessageType
from telex.model.limits import LIMITS
from telex.model.roster import HUMAN, ONE_OF_ROLE, Roster
from telex.model.suggestion import LATEST_MAX, nearest
from telex.model.task_states import (
    NO_STEPS,
    TASK_STATES,
    TaskStateMachine,
    TaskStatus,
    TaskStep,
    may_escalate,
    moves,
    standing,
    state_name,
    steps_of,
)
from telex.work.actions import DECIDING
from telex.work.approval_requests import NO_ASKS, asks_of
from telex.work.approvals import meant, named, task_topic, topic_of
from telex.work.decisions import REJECTED, decision_of, for_dispatches
from telex.work.rule_set import (
    Book,
    DraftMessage,
    FindingText,
    Fold,
    LazyFinding,
    RuleContext,
    Topics,
    WorkRules,
    nothing,
)
from telex.work.view import WorkMessage

SETTING = "task_states"  # under which a team's own table is found
CTO = "cto"
ERROR_CHARACTERS_MAX = 2_000  # of what an escalation repeats


class TaskRequest(NamedTuple):
    """Something that was asked about the task, and how it was answered."""

    id: str
    by: str
    at: float
    kind: str
    decision: str | None = None  # None: it waits
    answer: str = ""  # the answer's id

    @property
    def waits(self) -> bool:
        return self.decision is None

    @property
    def is_approved(self) -> bool:
        return self.decision is not None and self.decision != REJECTED


class Task(NamedTuple):
    id: str
    title: str = ""
    assigned_to: str = ""
    steps: Sequence[TaskStep] = NO_STEPS
    asks: Sequence[TaskRequest] = NO_ASKS
    moves: bool = False  # is its dialect one in which tasks have states?

    @property
    def at(self) -> float:
        """When it was first heard of."""
        return min((*(step.at for step in self.steps), *(asked.at for asked in self.asks)), default=0.0)


def machine_of(ground: RuleContext) -> TaskStateMachine:
    found: TaskStateMachine = ground.settings.get(SETTING) or TASK_STATES
    return found


def _own_topic(said: WorkMessage, book: Book) -> Topics:
    return task_topic(said)


def _known(said: WorkMessage, book: Book) -> Task:
    name = said.text("task")
    found: Task | None = book.get(f"task:{name}") if name else None
    return found or Task(name)


# --- moves ------------------------------------------------------------------------------------------------------------


def _weigh_move(said: WorkMessage, book: Book, ground: RuleContext) -> list[LazyFinding]:
    task, machine = _known(said, book), machine_of(ground)
    stands = standing(machine, task.steps)
    claimed, wanted = state_name(said.text("came_from")), state_name(said.text("goes_to"))
    at_its_word = not stands.placed and claimed in machine.states
    state = claimed if at_its_word else stands.state
    there = moves(machine, stands, state)
    found = []
    if claimed != state:
        found.append(LazyFinding("transition-not-allowed", partial(_elsewhere, said, task.id, state)))
    if wanted not in there:
        words = partial(_no_such_move, said, machine, stands, state, wanted, there)
        found.append(LazyFinding("transition-not-allowed", words))
    return found


def _elsewhere(said: WorkMessage, task: str, state: str) -> FindingText:
    say = f"Start from where the task is: {task[: LIMITS.found_characters_max]} is in {state}."
    return _not_allowed(said, "came_from", say, state, state)


def _no_such_move(
    said: WorkMessage, machine: TaskStateMachine, stands: TaskStatus, state: str, wanted: str, there: tuple[str, ...]
) -> FindingText:
    found = machine.states.get(state)
    if found is not None and found.escalates_to == wanted:
        tried = stands.attempts.get(state, 0) if machine.is_intervention(state) else stands.failures(state)
        what = "attempts" if machine.is_intervention(state) else "failures"
        why = f"{wanted} comes after {found.escalates_after} {what} in {state}, and there were {tried}"
    elif not there:
        return _not_allowed(said, "goes_to", f"Leave the task as it is: {state} is an end.", "no further move", None)
    else:
        why = f"a task in {state} cannot become {wanted[: LIMITS.found_characters_max]}"
    say = f"Move it to {' or '.join(there)}: {why}."
    return _not_allowed(said, "goes_to", say, listed(list(there)), nearest(wanted, there))


def _not_allowed(said: WorkMessage, name: str, say: str, expected: str, close: str | None) -> FindingText:
    return FindingText(said.path(name), say, expected, said.text(name)[: LIMITS.found_characters_max], close)


# --- failures ---------------------------------------------------------------------------------------------------------


def _failed(said: WorkMessage) -> bool:
    return said.text("status").casefold() == "failed"


def _status_topic(said: WorkMessage, book: Book) -> Topics:
    return task_topic(said) if _failed(said) else ()


def _escalation(said: WorkMessage, book: Book, ground: RuleContext) -> Iterator[DraftMessage]:
    """The failure that fills the measure is told to whoever can help, once; the next counts only after they did."""
    task, machine = _known(said, book), machine_of(ground)
    if not task.steps or task.steps[-1].id != said.id:
        return
    stands = standing(machine, task.steps)
    for state, failed in stands.failed.items():
        at = machine.states[state]
        if failed[-1] is task.steps[-1] and at.escalates_to is not None and len(failed) == at.escalates_after:
            type_ = next((one for one in said.dialect.types.values() if one.deed and one.deed.does == "escalate"), None)
            if type_ is not None:
                yield _draft(said, type_, task, state, failed, _goes_to(machine, stands, state, ground.roster))


def _goes_to(machine: TaskStateMachine, stands: TaskStatus, state: str, roster: Roster) -> str:
    """To the CTO, where there is one who has not tried often enough already; else to a person."""
    above = machine.states[state].escalates_to
    assert above is not None
    if not machine.is_intervention(above) or may_escalate(machine, stands, above):
        return HUMAN
    if roster.find(CTO) is not None:
        return CTO
    return ONE_OF_ROLE + CTO if roster.of_role(CTO) else HUMAN


def _draft(
    said: WorkMessage, type_: MessageType, task: Task, state: str, failed: Sequence[TaskStep], to: str
) -> DraftMessage:
    assert type_.deed is not None
    level = HUMAN if to == HUMAN else CTO
    of = {
        "task": task.id,
        "level": level.upper(),
        "reason": f"{task.id} has failed {len(failed)} times in {state}.",
        "history": _history(type_, failed),
        "context": {"state": state, "title": task.title} if task.title else {"state": state},
    }
    return DraftMessage(said.dialect, type_, to, of, said.correlation or task.id)


def _history(type_: MessageType, failed: Sequence[TaskStep]) -> list[dict[str, Any]]:
    """Who failed how often, and how the last time: in the words of the dialect."""
    assert type_.deed is not None
    names = {name: where.rpartition(".")[2] for name, where in type_.deed.names.items() if "[]" in where}
    by_agent: dict[str, list[TaskStep]] = {}
    for step in failed:
        by_agent.setdefault(step.whom, []).append(step)
    return [
        {
            names["history_agent"]: agent,
            names["history_attempts"]: len(steps),
            names["history_error"]: steps[-1].reason[:ERROR_CHARACTERS_MAX],
        }
        for agent, steps in by_agent.items()
    ]


# --- what was asked about it ------------------------------------------------------------------------------------------


def _answered_topics(said: WorkMessage, book: Book) -> Topics:
    """The task that the request is about, whichever one the answer names."""
    name = meant(said, book)
    found = book.get(topic_of(name)) if name is not None else None
    return (f"task:{found.request.task}",) if found is not None and found.request.task else ()


def _weigh_commit(said: WorkMessage, book: Book, ground: RuleContext) -> tuple[LazyFinding, ...]:
    task, ref = _known(said, book), said.text("approval")
    if asks_of(task.asks).has_approved(ref):
        return ()
    return (LazyFinding("approval-not-found", partial(_none_of_this_task, said, task, ref)),)


def _none_of_this_task(said: WorkMessage, task: Task, ref: str) -> FindingText:
    path, found, asks = said.path("approval"), ref[: LIMITS.found_characters_max], asks_of(task.asks)
    given = asks.approvals()
    if given:
        close, answers = nearest(ref, list(given)[-LATEST_MAX:]), list(dict.fromkeys(given.values()))
        say = f"Name an approval of this task, such as {close or answers[-1]}: {found} is none."
        return FindingText(path, say, listed(answers), found, close)
    waiting = asks.first_waiting
    first = f"Ask again once {waiting} has its answer" if waiting is not None else "Ask for approval first"
    say = f"{first}: nobody has approved anything in {task.id[: LIMITS.found_characters_max]} yet."
    return FindingText(path, say, "the id of an approval of this task", found)


# --- the fold ---------------------------------------------------------------------------------------------------------


def _fold(state: Task | None, said: WorkMessage) -> Task:
    id_, title, assigned_to, steps, asks, has_moves = state or Task(said.text("task"))
    does = said.does
    if does == "ask":
        known = asks_of(asks)
        asks = known if known.get(said.id) is not None else known.added(_asked(said))
    elif does in DECIDING:
        asks = _with_answer(asks, said)
    elif does in ("assign", "move", "status"):
        step = _step(assigned_to, said)
        steps = steps_of(steps).and_then(step)
        if does == "assign":
            title, assigned_to = said.text("title"), step.whom
    return Task(id_, title, assigned_to, steps, asks, has_moves or said.has_states)


def _asked(said: WorkMessage) -> TaskRequest:
    return TaskRequest(said.id, said.sender, said.at, said.text("kind"))


def _step(assigned_to: str, said: WorkMessage) -> TaskStep:
    if said.does == "assign":
        return TaskStep("assign", said.id, said.at, said.sender, whom=said.inboxes[0] if said.inboxes else said.to)
    if said.does == "status":
        return TaskStep("fail", said.id, said.at, said.sender, reason=said.text("details"), whom=said.sender)
    came_from, goes_to = state_name(said.text("came_from")), state_name(said.text("goes_to"))
    whom = assigned_to or said.sender
    return TaskStep("move", said.id, said.at, said.sender, came_from, goes_to, said.text("reason"), whom)


def _with_answer(asks: Sequence[TaskRequest], said: WorkMessage) -> Sequence[TaskRequest]:
    known = asks_of(asks)
    name = named(said) or known.only_one_waiting
    asked = known.get(name) if name is not None else None
    return known.replaced(_decided(asked, said)) if asked is not None and asked.waits else known


def _decided(asked: TaskRequest, said: WorkMessage) -> TaskRequest:
    return TaskRequest(asked.id, asked.by, asked.at, asked.kind, decision_of(said), said.id)


_ANSWER = WorkRules(_answered_topics, _answered_topics)
CHAPTERS: dict[str, WorkRules] = {
    "ask": WorkRules(_own_topic, _own_topic),
    "answer": _ANSWER,
    "dispatch": for_dispatches(_ANSWER),
    "commit": WorkRules(_own_topic, nothing, _weigh_commit),
    "assign": WorkRules(_own_topic, _own_topic),
    "status": WorkRules(_status_topic, _status_topic, follows=_escalation),
    "move": WorkRules(_own_topic, _own_topic, _weigh_move, _escalation),
    "escalate": WorkRules(nothing, nothing),
}
FOLDS: dict[str, Fold] = {"task": _fold}
