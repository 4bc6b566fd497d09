"""Table and diagram of a task state machine, for the docs and for `telex task --machine`."""

from telex.model.task_states import TASK_STATES, TaskStateMachine

PAGE = "docs/task-states.md"
HEADINGS = ("state", "goes to", "fails to", "escalates to")


def rows(machine: TaskStateMachine) -> list[tuple[str, ...]]:
    """A row for each state with its transitions and their conditions."""
    return [
        (name, ", ".join(state.goes_to), ", ".join(state.fails_to), _escalates(machine, name))
        for name, state in machine.states.items()
    ]


def notes(machine: TaskStateMachine) -> list[str]:
    """Remarks that are not in the table."""
    ends = [name for name in machine.states if machine.is_end(name)]
    return [
        f"A task begins in {machine.first}, and its assignment brings it to {machine.assigned}.",
        f"A failure that is reported without a move counts for {machine.working}.",
        f"{' and '.join(ends)} {'is an end' if len(ends) == 1 else 'are ends'}.",
    ]


def _escalates(machine: TaskStateMachine, name: str) -> str:
    state = machine.states[name]
    return f"{state.escalates_to} {_after(machine, name)}" if state.escalates_to is not None else ""


def _after(machine: TaskStateMachine, name: str) -> str:
    count = machine.states[name].escalates_after
    word = "attempt" if machine.is_intervention(name) else "failure"
    return f"after {count} {word}{'' if count == 1 else 's'}"


def moves(machine: TaskStateMachine) -> list[tuple[str, str, str]]:
    """Every transition: from, to, and its condition if it has one."""
    found: list[tuple[str, str, str]] = []
    for name, state in machine.states.items():
        when = dict.fromkeys(state.goes_to, "")
        when |= dict.fromkeys(state.fails_to, "failed")
        if state.escalates_to is not None:
            when[state.escalates_to] = _after(machine, name)
        found += [(name, other, said) for other, said in when.items()]
    return found


def diagram(machine: TaskStateMachine) -> str:
    """Every transition as a Mermaid diagram."""
    lines = ["stateDiagram-v2", f"    [*] --> {machine.first}"]
    lines += [f"    {name} --> {other}{f': {when}' if when else ''}" for name, other, when in moves(machine)]
    lines += [f"    {name} --> [*]" for name in machine.states if machine.is_end(name)]
    return "\n".join(lines)


def parts() -> dict[str, str]:
    """The generated parts of the page."""
    lines = [HEADINGS, tuple("---" for _ in HEADINGS), *((f"**{row[0]}**", *row[1:]) for row in rows(TASK_STATES))]
    table = "\n".join(f"| {' | '.join(line)} |" for line in lines)
    return {"task-states": table, "task-moves": f"```mermaid\n{diagram(TASK_STATES)}\n```"}
