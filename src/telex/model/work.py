"""Values of the work state: escalations, shutdowns, the report of `telex stall`, and the states of a task."""

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Literal, Self

from telex.model.finding import Finding
from telex.model.named_tuple import NamedTuple
from telex.model.roster import Member

# --- escalations -----------------------------------------------------------------------------------------------------

NO_DEADLINE = 253_370_764_800.0  # the year 9999, which every calendar library supports


def waits_for_ever(due_at: float) -> bool:
    return due_at >= NO_DEADLINE - 86_400.0  # it may have been computed relative to now


class EscalationLevel(NamedTuple):
    """One step: a message to the agents of one level."""

    id: str
    seq: int
    at: float
    level: str  # as its dialect writes it: `senior`, `CTO`
    to: str  # as addressed
    inboxes: tuple[str, ...]
    due_at: float | None = None  # then it goes to the next level; None: a person has it, or it was answered


class Escalation(NamedTuple):
    id: str  # of the first message
    by: str  # its author
    role: str
    at: float
    dialect: str
    type: str
    reason: str
    severity: str
    correlation: str | None
    cause: str | None  # the message it follows from, if the bus is its author
    rungs: tuple[EscalationLevel, ...]  # one per level so far
    answered_by: str | None = None
    answered_at: float | None = None

    @property
    def now(self) -> EscalationLevel:
        return self.rungs[-1]

    @property
    def is_open(self) -> bool:
        return self.answered_at is None


# --- shutdowns -------------------------------------------------------------------------------------------------------

TOPIC = "shutdown"

# States of an agent. Those of WAITED may still answer; a team with any of UNSETTLED is not dissolved.
STATES: dict[str, str] = {
    "approved": "has answered and shut down",
    "refused": "has answered that it cannot stop yet",
    "silent": "was asked and has not answered",
    "not asked": "may not be sent a shutdown_request in this team",
    "forced": "was stopped without its consent",
    "left": "has left the team since it was asked",
    "not seen": "was declared and never seen",
}
WAITED = frozenset({"silent"})
UNSETTLED = frozenset({"refused", "silent", "not asked"})


class ShutdownAnswer(NamedTuple):
    """The last answer of an agent."""

    id: str  # of the message
    at: float
    approved: bool
    status: str  # complete, idle or in_progress
    pending: str  # open work, as free text


class ShutdownRequest(NamedTuple):
    """One request to stop."""

    id: str
    by: str
    role: str  # of the sender
    reason: str
    team: str
    at: float
    asked: tuple[str, ...]  # the recipients' inboxes
    answers: Mapping[str, ShutdownAnswer]  # by agent


class ShutdownState(NamedTuple):
    """All requests to stop: the state of the topic `shutdown`."""

    calls: list[ShutdownRequest]  # oldest first
    places: dict[str, int]  # by id: index in `calls` of the last request of that id
    latest: dict[str, int]  # by inbox: index of the last request to it

    def call(self, id_: str) -> ShutdownRequest | None:
        """The last request of that id."""
        place = self.places.get(id_)
        return self.calls[place] if place is not None else None

    def last_into(self, inboxes: Iterable[str], since: float) -> ShutdownRequest | None:
        """The last request to any of these inboxes, if it is not older than that."""
        place = max([self.latest.get(inbox, -1) for inbox in inboxes], default=-1)
        return self.calls[place] if place >= 0 and self.calls[place].at >= since else None


NO_SHUTDOWNS = ShutdownState([], {}, {})


class MemberShutdown(NamedTuple):
    """Progress of one agent."""

    member: Member
    state: str  # one of STATES
    call: ShutdownRequest | None = None  # the last request to it
    answer: ShutdownAnswer | None = None


class ReturnedMessage(NamedTuple):
    """A message that waited for an agent that has stopped. Its sender was notified."""

    id: str
    type: str | None
    sender: str
    inbox: str


class ShutdownReport(NamedTuple):
    """Progress or result of a shutdown, with every agent that it is about."""

    by: str
    requests: tuple[str, ...]  # ids of the shutdown_requests it is about
    agents: tuple[MemberShutdown, ...]
    returned: tuple[ReturnedMessage, ...] = ()
    dissolved: bool = False
    findings: tuple[Finding, ...] = ()  # why the request was refused; then nothing has changed
    until: float | None = None  # deadline of the answers

    def of(self, *states: str) -> tuple[MemberShutdown, ...]:
        return tuple(agent for agent in self.agents if agent.state in states)


# --- stalls ----------------------------------------------------------------------------------------------------------


Why = Literal["blocker", "dependency", "approval", "escalation", "answer", "shutdown"]
KnotKind = Literal["cycle", "no-approver", "unread", "silent", "bottleneck"]


class Remedy(NamedTuple):
    """A command that would end a wait."""

    command: str  # for the shell
    message: str | None = None  # its standard input


class Wait(NamedTuple):
    who: str  # an agent, `role:qa` where any of several would do, or `plan:1-2`
    whom: str
    why: Why
    about: str  # the id of the message, or of the plan
    since: float
    words: str = ""  # description
    id: str | None = None  # of the message to answer
    remedy: Remedy | None = None  # if an answer is not enough


class Deadlock(NamedTuple):
    kind: KnotKind
    who: tuple[str, ...]
    waits: tuple[Wait, ...]
    say: str
    remedy: Remedy


class Stall(NamedTuple):
    at: float
    waits: tuple[Wait, ...] = ()
    knots: tuple[Deadlock, ...] = ()  # the most severe first


# --- task states ------------------------------------------------------------------------------------------------------

ESCALATES_AFTER = 3  # failures; a team may set another number
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
