"""`telex task`: tasks, their states and their transitions."""

import sys
import time
from functools import partial
from typing import Any

import click

from telex.model.task_states import TASK_STATES, TaskStateMachine, TaskStatus, TaskStep, moves, standing
from telex.model.text import nearest
from telex.surfaces.cli.bus_connection import opened_to_look, settings_here
from telex.surfaces.cli.bus_options import lines_option, refuse_misplaced, store_option
from telex.surfaces.cli.check_output import json_line
from telex.surfaces.cli.exit_codes import DONE, NOT_FOUND, CommandError
from telex.surfaces.cli.output import Screen, shown, wrapped
from telex.surfaces.cli.result_output import print_list, print_one
from telex.surfaces.cli.table import table_lines
from telex.surfaces.cli.time_text import ago, day_time, stamp
from telex.work.tasks import Task


@click.group("task", invoke_without_command=True)
@click.option("--machine", "of_machine", is_flag=True, help="Show the states and transitions.")
@click.option("--mermaid", is_flag=True, help="With --machine: as a Mermaid diagram.")
@store_option
@lines_option
@click.pass_context
def command(ctx: click.Context, of_machine: bool, mermaid: bool, store: str | None, as_json: bool) -> int:
    """List the tasks: state, failures, pending approvals."""
    if ctx.invoked_subcommand:
        refuse_misplaced(ctx)
        return DONE
    if of_machine:
        return _machine(mermaid, as_json)
    if mermaid:
        raise CommandError("--mermaid draws the states: telex task --machine --mermaid")
    return _list(store, as_json)


@command.command("list")
@store_option
@lines_option
def list_(store: str | None, as_json: bool) -> int:
    """List all tasks, oldest first."""
    return _list(store, as_json)


@command.command("show")
@click.argument("task", metavar="TASK")
@store_option
@lines_option
def show(task: str, store: str | None, as_json: bool) -> int:
    """Show one task: its transitions and failures, its approvals, and the transitions that are possible now."""
    machine, found = _tasks(store)
    one = found.get(task)
    if one is None:
        close = nearest(task, found)
        meant = f"did you mean {shown(close)}?" if close else "telex task list shows them."
        raise CommandError(f"no task {shown(task[:128])}: {meant}", NOT_FOUND)
    stands = standing(machine, one.steps)
    return print_one(_facts(one, stands, machine), partial(_story, one, stands, machine), as_json)


# --- which tasks there are --------------------------------------------------------------------------------------------


def _tasks(store: str | None) -> tuple[TaskStateMachine, dict[str, Task]]:
    settings = settings_here()
    with opened_to_look(store, settings) as bus:
        tasks: list[Task] = sorted(bus.work_state("task").values(), key=lambda task: (task.at, task.id))
    return settings.task_states or TASK_STATES, {task.id: task for task in tasks if task.moves}


def _list(store: str | None, as_json: bool) -> int:
    (machine, tasks), now = _tasks(store), time.time()
    headings = ("task", "state", "reported", "since", "failed", "asked", "with", "title")
    rows = [_row(task, standing(machine, task.steps), now) for task in tasks.values()]
    return print_list(
        tasks.values(),
        as_json,
        facts=lambda task: _facts(task, standing(machine, task.steps), machine),
        lines=partial(table_lines, headings, rows),
        empty="no tasks",
    )


def _row(task: Task, stands: TaskStatus, now: float) -> tuple[str | int, ...]:
    return (
        shown(task.id),
        shown(stands.state),
        shown(task.reported.status) if task.reported is not None else "",
        ago(task.steps[-1].at, now) if task.steps else "",
        sum(map(len, stands.failed.values())),
        len(task.waiting),
        shown(task.assigned_to),
        shown(task.title),
    )


# --- one of them ------------------------------------------------------------------------------------------------------


def _story(task: Task, stands: TaskStatus, machine: TaskStateMachine, screen: Screen) -> list[str]:
    head = f"{screen.paint(shown(task.id), 'bold')}  {shown(stands.state)}"
    about = [shown(task.title)] if task.title else []
    lines = [head, *(line for text in about for line in wrapped(text, screen.width, 0)), ""]
    for step in task.steps:
        first, *others = wrapped(_step(step), screen.width, 25)
        lines += [f"{day_time(step.at)}  {first}", *(" " * 25 + other for other in others)]
    lines += [""] if task.steps else []
    facts = [f"{count} failed in {shown(state)}" for state, count in _failures(stands).items()]
    if task.reported is not None:
        status, by, at = task.reported
        facts.insert(0, f"reported {shown(status)} by {shown(by)} on {day_time(at)[:19]}")
    facts += [
        f"waits for an answer to {shown(request.id)} ({shown(request.kind)})"
        for request in task.requests
        if request.decision is None
    ]
    facts += [
        f"{request.decision}: {shown(request.id)} ({shown(request.kind)}), by {shown(request.answer)}"
        for request in task.requests
        if request.decision
    ]
    there = moves(machine, stands)
    facts.append(f"may go to {', '.join(there)}" if there else "no further transition")
    return [*lines, *facts]


def _step(step: TaskStep) -> str:
    why = f": {shown(step.reason)}" if step.reason else ""
    if step.does == "assign":
        return f"assigned to {shown(step.whom)} by {shown(step.by)}"
    if step.does == "fail":
        return f"failed, says {shown(step.by)}{why}"
    return f"{shown(step.came_from)} → {shown(step.goes_to)} by {shown(step.by)}{why}"


def _failures(stands: TaskStatus) -> dict[str, int]:
    return {state: len(steps) for state, steps in stands.failed.items() if steps}


def _facts(task: Task, stands: TaskStatus, machine: TaskStateMachine) -> dict[str, Any]:
    return {
        "task": task.id,
        "title": task.title or None,
        "state": stands.state,
        "reported": task.reported._asdict() | {"at": stamp(task.reported.at)} if task.reported is not None else None,
        "assigned_to": task.assigned_to or None,
        "moves": list(moves(machine, stands)),
        "failures": _failures(stands),
        "attempts": dict(stands.attempts),
        "asks": [
            request._asdict() | {"at": stamp(request.at), "answer": request.answer or None} for request in task.requests
        ],
        "steps": [
            {name: value for name, value in step._asdict().items() if value != ""} | {"at": stamp(step.at)}
            for step in task.steps
        ],
    }


# --- the machine ------------------------------------------------------------------------------------------------------


def _machine(mermaid: bool, as_json: bool) -> int:
    from telex.generate.task_states import diagram, notes
    from telex.generate.task_states import moves as every_move

    machine = settings_here().task_states or TASK_STATES
    if as_json:
        for name, state in machine.states.items():
            sys.stdout.write(json_line({"state": name} | state._asdict() | {"end": machine.is_end(name)}) + "\n")
    elif mermaid:
        sys.stdout.write(shown_diagram(diagram(machine)))
    else:
        screen = Screen(sys.stdout)
        rows = [(shown(name), shown(other), when) for name, other, when in every_move(machine)]
        before = ["", *(row[0] for row in rows)]
        told = [("" if row[0] == last else row[0], *row[1:]) for last, row in zip(before, rows, strict=False)]
        table = table_lines(("state", "leads to", "when"), told, screen)
        below = [line for text in notes(machine) for line in wrapped(shown(text), screen.width, 0)]
        screen.line("\n".join([*table, "", *below]))
    return DONE


def shown_diagram(text: str) -> str:
    return "".join(f"{shown(line)}\n" for line in text.split("\n"))
