"""States of a task and the moves between them.

One table defines them; the rules, the settings, the docs and the diagram read it. What happened to a task is a list of
steps. Its status follows from the steps and the table, so that stored states do not depend on a team's table.
"""

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Literal, Self

from telex.model.named_tuple import NamedTuple

ESCALATES_AFTER = 3  # failures; a team may say otherwise
ATTEMPTS_MAX = 2  # interventions before a person is asked


class TaskState(NamedTuple):
    """The allowed moves from one state. A state without moves is final."""

    goes_to: tuple[str, ...] = ()
    fails_to: tuple[str, ...] = ()  # a move there counts as a failure of this state
    escalates_to: str | None = None  # allowed after enough failures
    escalates_after: int = ESCALATES_AFTER  # failures of this state; of an intervention: attempts

    @property
    def leads_to(self) -> tuple[str, ...]:
        """All states one move away, with those that need failures before."""
        last = () if self.escalates_to is None else (self.escalates_to,)
        return tuple(dict.fromkeys((*self.goes_to, *self.fails_to, *last)))


class TaskStateMachine(NamedTuple):
    states: Mapping[str, TaskState]  # in the order in which they are shown
    first: str  # state before the first message about a task
    assigned: str  # state after its assignment
    working: str  # state that failures without a move count for

    def is_end(self, state: str) -> bool:
        return state in _index_of(self).ends

    def is_intervention(self, state: str) -> bool:
        """Whether other states escalate to it and it is not final."""
        return state in _index_of(self).interventions


class _MachineIndex(NamedTuple):
    """Lookup tables of a machine: every move needs them."""

    machine: TaskStateMachine  # a reference, since the index is cached by its identity
    ends: frozenset[str]
    interventions: frozenset[str]
    leads_to: Mapping[str, tuple[str, ...]]
    leads_to_at_first: Mapping[str, tuple[str, ...]]  # before enough failures


_INDEXES: dict[int, _MachineIndex] = {}
_INDEXES_MAX = 100


def _index_of(machine: TaskStateMachine) -> _MachineIndex:
    index = _INDEXES.get(id(machine))
    if index is not None:
        return index
    states = machine.states
    ends = frozenset([name for name, task_state in states.items() if not task_state.leads_to])
    last = frozenset([task_state.escalates_to for task_state in states.values() if task_state.escalates_to is not None])
    at_first = {
        name: tuple(dict.fromkeys((*task_state.goes_to, *task_state.fails_to))) for name, task_state in states.items()
    }
    index = _MachineIndex(
        machine, ends, last - ends, {name: task_state.leads_to for name, task_state in states.items()}, at_first
    )
    if len(_INDEXES) >= _INDEXES_MAX:
        _INDEXES.clear()
    _INDEXES[id(machine)] = index
    return index


_WORK = ("planning", "in_progress", "quality_review", "committing")
_CTO, _HUMAN = "cto_intervention", "human_escalation"
TASK_STATES = TaskStateMachine(
    {
        "pending": TaskState(("assigned",)),
        "assigned": TaskState(("planning",)),
        "planning": TaskState(("validated",), ("planning",), _CTO),
        "validated": TaskState(("in_progress",)),
        "in_progress": TaskState(("testing",), (), _CTO),
        "testing": TaskState(("quality_review",)),
        "quality_review": TaskState(("approved",), ("in_progress",), _CTO),
        "approved": TaskState(("committing",)),
        "committing": TaskState(("completed",), ("in_progress",), _CTO),
        "completed": TaskState(),
        _CTO: TaskState(_WORK, (), _HUMAN, ATTEMPTS_MAX),
        _HUMAN: TaskState(),
    },
    first="pending",
    assigned="assigned",
    working="in_progress",
)


def state_name(text: str) -> str:
    """A state as it is compared: without case, and with blanks and hyphens as underscores."""
    return _short_name(text) if len(text) <= _NAME_CHARACTERS else _name(text)


def _name(text: str) -> str:
    return "_".join(text.casefold().replace("-", " ").replace("_", " ").split())


_NAME_CHARACTERS = 64  # longer than any name of a state; longer texts are not cached
_short_name = lru_cache(1_000)(_name)


# --- status of a task -------------------------------------------------------------------------------------------------


class TaskStep(NamedTuple):
    """One event in the history of a task."""

    does: Literal["assign", "move", "fail"]
    id: str  # of the message
    at: float
    by: str
    came_from: str = ""  # of a move, normalised
    goes_to: str = ""
    reason: str = ""
    whom: str = ""  # assignee, or the agent that failed


class TaskStatus(NamedTuple):
    state: str
    placed: bool  # False: its state is unknown, so its first move may start anywhere
    failed: Mapping[str, tuple[TaskStep, ...]]  # by state: the failures that count now
    attempts: Mapping[str, int]  # by intervention

    def failures(self, state: str) -> int:
        return len(self.failed.get(state, ()))


class TaskHistory(list[TaskStep]):
    """The steps of a task, with its cached status."""

    __slots__ = ("_known",)

    def __init__(self, steps: Iterable[TaskStep] = ()) -> None:
        super().__init__(steps)
        self._known: tuple[TaskStateMachine, int, TaskStatus] | None = None  # machine, number of steps, status

    def copy(self) -> Self:
        copied = type(self)(self)
        copied._known = self._known
        return copied

    def standing(self, machine: TaskStateMachine) -> TaskStatus:
        seen, status = 0, TaskStatus(machine.first, False, {}, {})
        if self._known is not None and self._known[0] is machine:
            _, seen, status = self._known
        for place in range(seen, len(self)):
            status = _after(machine, status, self[place])
        self._known = machine, len(self), status
        return status


def standing(machine: TaskStateMachine, steps: Sequence[TaskStep]) -> TaskStatus:
    """Status of a task after these steps, which may be of another table."""
    history = steps if isinstance(steps, TaskHistory) else TaskHistory(steps)
    return history.standing(machine)


def _after(machine: TaskStateMachine, stands: TaskStatus, step: TaskStep) -> TaskStatus:
    state, placed, failed, attempts = stands
    if step.does == "assign":
        state = machine.assigned if state == machine.first else state
        return TaskStatus(state, state in machine.states, failed, attempts)
    if step.does == "fail":
        counts = not machine.is_end(state) and not machine.is_intervention(state)
        return TaskStatus(state, placed, _with(failed, machine.working, step), attempts) if counts else stands
    came_from, goes_to = step.came_from, step.goes_to
    if machine.is_intervention(came_from):
        failed = {}  # an intervention resets the failures
    elif came_from in machine.states and goes_to in machine.states[came_from].fails_to:
        failed = _with(failed, came_from, step)
    if machine.is_intervention(goes_to):
        attempts = {**attempts, goes_to: attempts.get(goes_to, 0) + 1}
    return TaskStatus(goes_to, goes_to in machine.states, failed, attempts)


def _with(failed: Mapping[str, tuple[TaskStep, ...]], state: str, step: TaskStep) -> dict[str, tuple[TaskStep, ...]]:
    return {**failed, state: (*failed.get(state, ()), step)}


def may_escalate(machine: TaskStateMachine, stands: TaskStatus, state: str) -> bool:
    """Whether the failures in that state allow an escalation."""
    task_state = machine.states[state]
    tried = stands.attempts.get(state, 0) if machine.is_intervention(state) else stands.failures(state)
    return task_state.escalates_to is not None and tried >= task_state.escalates_after


def moves(machine: TaskStateMachine, stands: TaskStatus, state: str | None = None) -> tuple[str, ...]:
    """The states that the task may move to now, from its own state or from the given one."""
    state = stands.state if state is None else state
    if state not in machine.states:
        return ()
    index = _index_of(machine)
    enough = machine.states[state].escalates_to is None or may_escalate(machine, stands, state)
    return index.leads_to[state] if enough else index.leads_to_at_first[state]


def ends_reached(machine: TaskStateMachine, state: str) -> frozenset[str]:
    """The final states that can be reached from there."""
    seen, left = {state}, [state]
    while left:
        for other in machine.states[left.pop()].leads_to:
            if other not in seen:
                seen.add(other)
                left.append(other)
    return frozenset(name for name in seen if machine.is_end(name))
