"""Work rules of tasks: one topic for each task, checked against the team's table of states.

The topic holds facts: assignments, moves, failures, requests and their answers. The table of states is in
`model/work.py` or in the team's settings, and is an argument of the checks.
"""

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any

from telex.delivery.routing import listed
from telex.dialects.schema import MessageType
from telex.model.finding import Finding
from telex.model.limits import LIMITS
from telex.model.named_tuple import NamedTuple
from telex.model.roster import HUMAN, ONE_OF_ROLE, Roster
from telex.model.text import LATEST_MAX, nearest
from telex.model.work import (
    TASK_STATES,
    TaskHistory,
    TaskStateMachine,
    TaskStatus,
    TaskStep,
    may_escalate,
    moves,
    standing,
    state_name,
)
from telex.work.approvals import meant, named, only_one, task_topic, topic_of
from telex.work.reducer import (
    REJECTED,
    DraftMessage,
    Fold,
    RuleContext,
    Topics,
    WorkRules,
    WorkState,
    decision_of,
    for_dispatches,
)
from telex.work.view import DECIDING, WorkMessage, id_nearly_known

SETTING = "task_states"  # under which a team's own table is found
CTO = "cto"
REPORTED = frozenset({"started", "blocked", "completed", "failed"})  # progress between them changes nothing
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


class StatusReport(NamedTuple):
    """Last report on a task. It is a claim and moves no state."""

    status: str  # one of REPORTED
    by: str
    at: float


class Task(NamedTuple):
    id: str
    title: str
    assigned_to: str
    steps: list[TaskStep]
    waiting: dict[str, TaskRequest]  # by id, in the order of asking
    answered: dict[str, TaskRequest]  # by id, in the order of the answers
    approvals: dict[str, str]  # by the id of an answer that approved something: the id of the request
    moves: bool  # tasks have states in its dialect
    passed: dict[str, str]  # by the id of a quality report that passed: its sender
    reported: StatusReport | None = None

    @property
    def requests(self) -> list[TaskRequest]:
        """In the order of asking."""
        return sorted([*self.answered.values(), *self.waiting.values()], key=lambda request: request.at)

    @property
    def at(self) -> float:
        """Time of its first message."""
        reported = (self.reported.at,) if self.reported is not None else ()
        times = (*(step.at for step in self.steps), *(request.at for request in self.requests), *reported)
        return min(times, default=0.0)

    def is_approval(self, name: str, committer: str) -> bool:
        """Whether it is the id of an approved request, its answer, or a passed quality report of another agent."""
        if name in self.approvals or (name in self.answered and self.answered[name].is_approved):
            return True
        return self.passed.get(name, committer) != committer


def new_task(id_: str) -> Task:
    return Task(
        id_, "", assigned_to="", steps=TaskHistory(), waiting={}, answered={}, approvals={}, moves=False, passed={}
    )


def machine_of(context: RuleContext) -> TaskStateMachine:
    task_state_machine: TaskStateMachine = context.settings.get(SETTING) or TASK_STATES
    return task_state_machine


def _known(message: WorkMessage, topics: WorkState) -> Task:
    name = message.text("task")
    task: Task | None = topics.get(f"task:{name}") if name else None
    return task or new_task(name)


def _check_id(message: WorkMessage, topics: WorkState, context: RuleContext) -> tuple[Finding, ...]:
    """A new task whose id differs from a known one by case or blanks only."""
    name = message.text("task")
    if not name or f"task:{name}" in topics:
        return ()
    bare = name.strip()
    known = next((one for one in (bare, bare.upper(), bare.lower()) if one != name and f"task:{one}" in topics), None)
    return (id_nearly_known(message, "task", known),) if known else ()


# --- moves ------------------------------------------------------------------------------------------------------------


def _check_move(message: WorkMessage, topics: WorkState, context: RuleContext) -> list[Finding]:
    task, machine = _known(message, topics), machine_of(context)
    stands = standing(machine, task.steps)
    claimed, wanted = state_name(message.text("came_from")), state_name(message.text("goes_to"))
    at_its_word = not stands.placed and claimed in machine.states
    state = claimed if at_its_word else stands.state
    there = moves(machine, stands, state)
    findings = [*_check_id(message, topics, context)]
    if claimed != state:
        say = f"Start from where the task is: {task.id[: LIMITS.found_characters_max]} is in {state}."
        findings.append(_not_allowed(message, "came_from", say, state, state))
    if wanted not in there:
        findings.append(_no_such_move(message, machine, stands, state=state, wanted=wanted, there=there))
    return findings


def _no_such_move(
    message: WorkMessage, machine: TaskStateMachine, stands: TaskStatus, state: str, wanted: str, there: tuple[str, ...]
) -> Finding:
    task_state = machine.states.get(state)
    if task_state is not None and task_state.escalates_to == wanted:
        tried = stands.attempts.get(state, 0) if machine.is_intervention(state) else stands.failures(state)
        what = "attempts" if machine.is_intervention(state) else "failures"
        why = f"{wanted} comes after {task_state.escalates_after} {what} in {state}, and there were {tried}"
    elif not there:
        return _not_allowed(message, "goes_to", f"Leave the task as it is: {state} is an end.", "no further move", None)
    else:
        why = f"a task in {state} cannot become {wanted[: LIMITS.found_characters_max]}"
    say = f"Move it to {' or '.join(there)}: {why}."
    return _not_allowed(message, "goes_to", say, listed(list(there)), nearest(wanted, there))


def _not_allowed(message: WorkMessage, name: str, say: str, expected: str, close: str | None) -> Finding:
    path, found = message.path(name), message.text(name)[: LIMITS.found_characters_max]
    return Finding("transition-not-allowed", path, say, expected=expected, found=found, nearest=close)


# --- failures ---------------------------------------------------------------------------------------------------------


def _status_of(message: WorkMessage) -> str:
    return message.text("status").casefold()


def _status_topic(message: WorkMessage, topics: WorkState) -> Topics:
    """Reports that change what is known of the task: a repeated one does not, unless it counts as a failure."""
    status, reported = _status_of(message), _known(message, topics).reported
    same = reported is not None and (reported.status, reported.by) == (status, message.sender)
    return task_topic(message) if status in REPORTED and (not same or status == "failed") else ()


def _escalation(message: WorkMessage, topics: WorkState, context: RuleContext) -> Iterator[DraftMessage]:
    """The failure that reaches the limit of a state is escalated, once."""
    task, machine = _known(message, topics), machine_of(context)
    if not task.steps or task.steps[-1].id != message.id:
        return
    stands = standing(machine, task.steps)
    for state, failed in stands.failed.items():
        at = machine.states[state]
        if failed[-1] is task.steps[-1] and at.escalates_to is not None and len(failed) == at.escalates_after:
            types = [type_ for type_ in message.dialect.types.values() if type_.action == "escalate"]
            type_ = next((type_ for type_ in types if "history" in type_.field_map), None)
            if type_ is not None:
                to = _goes_to(machine, stands, state, context.roster)
                yield _draft(message, type_, task, state=state, failed=failed, to=to)


def _goes_to(machine: TaskStateMachine, stands: TaskStatus, state: str, roster: Roster) -> str:
    """The CTO, if there is one with attempts left; else a person."""
    above = machine.states[state].escalates_to
    assert above is not None
    if not machine.is_intervention(above) or may_escalate(machine, stands, above):
        return HUMAN
    if roster.find(CTO) is not None:
        return CTO
    return ONE_OF_ROLE + CTO if roster.of_role(CTO) else HUMAN


def _draft(
    message: WorkMessage, type_: MessageType, task: Task, state: str, failed: Sequence[TaskStep], to: str
) -> DraftMessage:
    level = HUMAN if to == HUMAN else CTO
    of = {
        "task": task.id,
        "level": level.upper(),
        "reason": f"{task.id} has failed {len(failed)} times in {state}.",
        "history": _history(type_, failed),
        "context": {"state": state, "title": task.title} if task.title else {"state": state},
    }
    return DraftMessage(message.dialect, type_, to, of, message.correlation or task.id)


def _history(type_: MessageType, failed: Sequence[TaskStep]) -> list[dict[str, Any]]:
    """Failures by agent, with the last error."""
    names = {name: where.rpartition(".")[2] for name, where in type_.field_map.items() if "[]" in where}
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


def _answered_topics(message: WorkMessage, topics: WorkState) -> Topics:
    """The task of the request, even if the answer names another one."""
    name = meant(message, topics)
    found = topics.get(topic_of(name)) if name is not None else None
    return (f"task:{found.request.task}",) if found is not None and found.request.task else ()


def _check_commit(message: WorkMessage, topics: WorkState, context: RuleContext) -> tuple[Finding, ...]:
    task, ref = _known(message, topics), message.text("approval")
    if task.is_approval(ref, message.sender):
        return ()
    code, path, found = "approval-not-found", message.path("approval"), ref[: LIMITS.found_characters_max]
    passed = [id_ for id_ in task.passed if task.is_approval(id_, message.sender)]
    if task.approvals or passed:
        latest = list(islice(reversed(task.approvals.items()), LATEST_MAX))
        known = dict.fromkeys((*(id_ for approval in latest for id_ in approval), *passed[-LATEST_MAX:]))
        close = nearest(ref, known)
        say = f"Name an approval of this task, such as {close or next(iter(known))}: {found} is none."
        return (Finding(code, path, say, expected=listed([*task.approvals, *passed]), found=found, nearest=close),)
    waiting = next(iter(task.waiting), None)
    first = f"Ask again once {waiting} has its answer" if waiting is not None else "Ask for approval first"
    say = f"{first}: nothing is approved in {task.id[: LIMITS.found_characters_max]} yet."
    return (Finding(code, path, say, expected="the id of an approval of this task", found=found),)


# --- the fold ---------------------------------------------------------------------------------------------------------


def _fold(state: Task | None, message: WorkMessage) -> Task:
    """Steps and requests are written in place, as there may be thousands."""
    task = state or new_task(message.text("task"))
    action = message.action
    if action == "ask":
        if message.id not in task.waiting and message.id not in task.answered:
            task.waiting[message.id] = TaskRequest(message.id, message.sender, message.at, message.text("kind"))
    elif action in DECIDING:
        request = task.waiting.pop(named(message) or only_one(task.waiting) or "", None)
        if request is not None:
            decided = request._replace(decision=decision_of(message), answer=message.id)
            task.answered[request.id] = decided
            if decided.is_approved:
                task.approvals[message.id] = request.id
    elif action == "quality":
        task.passed[message.id] = message.sender
    elif action == "status":
        status = _status_of(message)
        if status == "failed":
            task.steps.append(_step(task.assigned_to, message))
        task = task._replace(reported=StatusReport(status, message.sender, message.at))
    elif action in ("assign", "move"):
        step = _step(task.assigned_to, message)
        task.steps.append(step)
        if action == "assign":
            task = task._replace(title=message.text("title"), assigned_to=step.whom)
    return task if task.moves or not message.has_states else task._replace(moves=True)


def _step(assigned_to: str, message: WorkMessage) -> TaskStep:
    step = TaskStep("move", message.id, message.at, message.sender, whom=assigned_to or message.sender)
    if message.action == "assign":
        return step._replace(does="assign", whom=message.inboxes[0] if message.inboxes else message.to)
    if message.action == "status":
        return step._replace(does="fail", whom=message.sender, reason=message.text("details"))
    came_from, goes_to = state_name(message.text("came_from")), state_name(message.text("goes_to"))
    return step._replace(came_from=came_from, goes_to=goes_to, reason=message.text("reason"))


_ANSWER = WorkRules(_answered_topics)
RULES: dict[str, WorkRules] = {
    "ask": WorkRules(lambda message, _: task_topic(message), _check_id),
    "answer": _ANSWER,
    "dispatch": for_dispatches(_ANSWER),
    "commit": WorkRules(check=_check_commit),
    "assign": WorkRules(lambda message, _: task_topic(message), _check_id),
    "status": WorkRules(_status_topic, _check_id, _escalation),
    "quality": WorkRules(lambda message, _: task_topic(message) if _status_of(message) == "passed" else ()),
    "move": WorkRules(lambda message, _: task_topic(message), _check_move, _escalation),
    "escalate": WorkRules(),
}
FOLDS: dict[str, Fold] = {"task": _fold}
