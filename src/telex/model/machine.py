"""Which states may a task be in, and how does it get from one to the next?

One table says it all: the rules, the settings, the docs and the diagram read it. What happened to a task is a list of
steps, which are facts; where it stands follows from the steps and the table together, so that the record holds nothing
that depends on how a team has set its states.
"""

from collections.abc import Iterable, Mapping
from typing import Literal, NamedTuple

ESCALATES_AFTER = 3  # failures; a team may say otherwise
ATTEMPTS_MAX = 2  # interventions before a person is asked


class TaskState(NamedTuple):
    """Where a task may go from here. A state that leads nowhere is an end."""

    goes_to: tuple[str, ...] = ()
    fails_to: tuple[str, ...] = ()  # going there is a failure of this state
    escalates_to: str | None = None  # and only once enough has failed
    escalates_after: int = ESCALATES_AFTER  # failures of this state; of an intervention: how often it was tried

    @property
    def leads_to(self) -> tuple[str, ...]:
        """Everywhere that can be reached from here in one move, however much must have failed before."""
        last = () if self.escalates_to is None else (self.escalates_to,)
        return tuple(dict.fromkeys((*self.goes_to, *self.fails_to, *last)))


class Machine(NamedTuple):
    states: Mapping[str, TaskState]  # in the order in which they are shown
    first: str  # where a task is before anything was said of it
    assigned: str  # where its assignment brings it
    working: str  # what a failure counts for that is reported without a move

    def is_end(self, state: str) -> bool:
        found = self.states.get(state)
        return found is not None and not found.leads_to

    def is_intervention(self, state: str) -> bool:
        """Is it where others give up to, and not the end?"""
        return not self.is_end(state) and any(one.escalates_to == state for one in self.states.values())


_WORK = ("planning", "in_progress", "quality_review", "committing")
_CTO, _HUMAN = "cto_intervention", "human_escalation"
TASK_STATES = Machine(
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
    return "_".join(text.casefold().replace("-", " ").replace("_", " ").split())


# --- where a task stands ----------------------------------------------------------------------------------------------


class Step(NamedTuple):
    """One thing that happened to a task."""

    does: Literal["assign", "move", "fail"]
    id: str  # of the message that says so
    at: float
    by: str
    came_from: str = ""  # of a move, as names of states are compared
    goes_to: str = ""
    reason: str = ""
    whom: str = ""  # to whom it was assigned; who failed


class Standing(NamedTuple):
    state: str
    placed: bool  # False: nobody has said where it is, so that its first move will be taken at its word
    failed: Mapping[str, tuple[Step, ...]]  # by state: the failures that count at present
    attempts: Mapping[str, int]  # by intervention: how often it was tried

    def failures(self, state: str) -> int:
        return len(self.failed.get(state, ()))


def standing(machine: Machine, steps: Iterable[Step]) -> Standing:
    """Where these steps have brought a task. Any steps do: those of another table are taken as they come."""
    state, placed = machine.first, False
    failed: dict[str, list[Step]] = {}
    attempts: dict[str, int] = {}
    for step in steps:
        if step.does == "assign":
            state = machine.assigned if state == machine.first else state
            placed = True
        elif step.does == "move":
            if machine.is_intervention(step.came_from):
                failed.clear()  # whoever stepped in has made a new beginning
            elif step.goes_to in machine.states.get(step.came_from, TaskState()).fails_to:
                failed.setdefault(step.came_from, []).append(step)
            if machine.is_intervention(step.goes_to):
                attempts[step.goes_to] = attempts.get(step.goes_to, 0) + 1
            state, placed = step.goes_to, True
        elif not machine.is_end(state) and not machine.is_intervention(state):
            failed.setdefault(machine.working, []).append(step)
    counted = {name: tuple(steps) for name, steps in failed.items()}
    return Standing(state, placed and state in machine.states, counted, attempts)


def may_escalate(machine: Machine, stands: Standing, state: str) -> bool:
    """Has enough failed there?"""
    found = machine.states[state]
    tried = stands.attempts.get(state, 0) if machine.is_intervention(state) else stands.failures(state)
    return found.escalates_to is not None and tried >= found.escalates_after


def moves(machine: Machine, stands: Standing, state: str | None = None) -> tuple[str, ...]:
    """Where the task may go now, from the state it is in, or from another that it may as well be in."""
    state = stands.state if state is None else state
    found = machine.states.get(state, TaskState())
    if found.escalates_to is None or may_escalate(machine, stands, state):
        return found.leads_to
    return tuple(dict.fromkeys((*found.goes_to, *found.fails_to)))


def ends_reached(machine: Machine, state: str) -> frozenset[str]:
    """The ends that a task can come to from there."""
    seen, left = {state}, [state]
    while left:
        for other in machine.states[left.pop()].leads_to:
            if other not in seen:
                seen.add(other)
                left.append(other)
    return frozenset(one for one in seen if machine.is_end(one))
