"""`telex task` and `telex stall`: tasks with their states, and agents that wait for each other."""

import sys
import time
from functools import partial
from typing import Any

import click

from telex.model.work import TASK_STATES, Deadlock, Stall, TaskStateMachine, TaskStatus, TaskStep, Wait, moves, standing
from telex.surfaces.cli.connection import opened_to_look, settings_here
from telex.surfaces.cli.options import BUS, command, flag, json_option, listing_group, store_option
from telex.surfaces.cli.output import Screen, did_you_mean, print_json, shown, shown_block, wrapped
from telex.surfaces.cli.render import ago, day_time, print_list, print_one, stamp, stamped, table_lines
from telex.surfaces.cli.usage import DONE, FAILED, NOT_FOUND, CommandError
from telex.work.tasks import Task


# --- task -------------------------------------------------------------------------------------------------------------
@listing_group(
    "task",
    [
        flag("--machine", "Show the states and transitions.", "of_machine"),
        flag("--mermaid", "With --machine: as a Mermaid diagram."),
        *BUS,
    ],
)
def task_command(of_machine: bool, mermaid: bool, store: str | None, as_json: bool) -> int:
    """List the tasks: state, failures, pending approvals."""
    if of_machine:
        return _print_machine(mermaid, as_json)
    if mermaid:
        raise CommandError("--mermaid draws the states: telex task --machine --mermaid")
    return _list(store, as_json)


@command("list", [*BUS], group=task_command)
def list_(store: str | None, as_json: bool) -> int:
    """List all tasks, oldest first."""
    return _list(store, as_json)


@command("show", [click.argument("task", metavar="TASK"), *BUS], group=task_command)
def show(task: str, store: str | None, as_json: bool) -> int:
    """Show one task: its transitions and failures, its approvals, and the transitions that are possible now."""
    machine, tasks = _tasks(store)
    if task not in tasks:
        hint = did_you_mean(task, tasks, "telex task list shows them.")
        raise CommandError(f"no task {shown(task[:128])}: {hint}", NOT_FOUND)
    chosen = tasks[task]
    status = standing(machine, chosen.steps)
    return print_one(_facts(chosen, status, machine), partial(_lines, chosen, status, machine), as_json)


def _tasks(store: str | None) -> tuple[TaskStateMachine, dict[str, Task]]:
    settings = settings_here()
    with opened_to_look(store, settings) as bus:
        tasks: list[Task] = sorted(bus.work_state("task").values(), key=lambda task: (task.at, task.id))
    return settings.task_states or TASK_STATES, {task.id: task for task in tasks if task.moves}


def _list(store: str | None, as_json: bool) -> int:
    (machine, tasks), now = _tasks(store), time.time()
    return print_list(
        [(task, standing(machine, task.steps)) for task in tasks.values()],
        as_json,
        facts=lambda pair: _facts(*pair, machine),
        columns={
            "task": lambda pair: pair[0].id,
            "state": lambda pair: pair[1].state,
            "reported": lambda pair: pair[0].reported.status if pair[0].reported is not None else "",
            "since": lambda pair: ago(pair[0].steps[-1].at, now) if pair[0].steps else "",
            "failed": lambda pair: sum(_failures(pair[1]).values()),
            "asked": lambda pair: len(pair[0].waiting),
            "with": lambda pair: pair[0].assigned_to,
            "title": lambda pair: pair[0].title,
        },
        empty="no tasks",
    )


def _lines(task: Task, status: TaskStatus, machine: TaskStateMachine, screen: Screen) -> list[str]:
    head = f"{screen.paint(shown(task.id), 'bold')}  {shown(status.state)}"
    lines = [head, *(wrapped(shown(task.title), screen.width) if task.title else []), ""]
    for step in task.steps:
        first, *others = wrapped(_step(step), screen.width, 25)
        lines += [f"{day_time(step.at)}  {first}", *(" " * 25 + other for other in others)]
    lines += [""] if task.steps else []
    facts = [f"{count} failed in {shown(state)}" for state, count in _failures(status).items()]
    if task.reported is not None:
        reported, by, at = task.reported
        facts.insert(0, f"reported {shown(reported)} by {shown(by)} on {day_time(at)[:19]}")
    for request in sorted(task.requests, key=lambda request: request.decision is not None):
        name = f"{shown(request.id)} ({shown(request.kind)})"
        answered = f"{request.decision}: {name}, by {shown(request.answer)}"
        facts.append(answered if request.decision else f"waits for an answer to {name}")
    next_states = moves(machine, status)
    facts.append(f"may go to {', '.join(next_states)}" if next_states else "no further transition")
    return [*lines, *facts]


def _step(step: TaskStep) -> str:
    why = f": {shown(step.reason)}" if step.reason else ""
    if step.does == "assign":
        return f"assigned to {shown(step.whom)} by {shown(step.by)}"
    if step.does == "fail":
        return f"failed, reported by {shown(step.by)}{why}"
    return f"{shown(step.came_from)} → {shown(step.goes_to)} by {shown(step.by)}{why}"


def _failures(status: TaskStatus) -> dict[str, int]:
    return {state: len(steps) for state, steps in status.failed.items() if steps}


def _facts(task: Task, status: TaskStatus, machine: TaskStateMachine) -> dict[str, Any]:
    return {
        "task": task.id,
        "title": task.title or None,
        "state": status.state,
        "reported": stamped(task.reported) if task.reported is not None else None,
        "assigned_to": task.assigned_to or None,
        "moves": list(moves(machine, status)),
        "failures": _failures(status),
        "attempts": dict(status.attempts),
        "asks": [stamped(request) | {"answer": request.answer or None} for request in task.requests],
        "steps": [
            {name: value for name, value in step._asdict().items() if value != ""} | {"at": stamp(step.at)}
            for step in task.steps
        ],
    }


def _print_machine(mermaid: bool, as_json: bool) -> int:
    from telex.generate.tables import task_diagram as diagram
    from telex.generate.tables import task_moves as all_moves
    from telex.generate.tables import task_notes as notes

    machine = settings_here().task_states or TASK_STATES
    if as_json:
        states = machine.states.items()
        print_json(*({"state": name} | state._asdict() | {"end": machine.is_end(name)} for name, state in states))
    elif mermaid:
        sys.stdout.write(shown_block(diagram(machine)) + "\n")
    else:
        screen, rows, above = Screen(sys.stdout), [], ""
        for name, other, when in all_moves(machine):
            rows.append(("" if name == above else name, other, when))
            above = name
        table = table_lines(("state", "leads to", "when"), rows, screen)
        screen.line(*table, "", *(line for text in notes(machine) for line in wrapped(shown(text), screen.width)))
    return DONE


# --- stall ------------------------------------------------------------------------------------------------------------

_COLOURS = {"cycle": "red", "no-approver": "red", "unread": "red", "silent": "yellow", "bottleneck": "yellow"}


@command(
    "stall",
    [
        json_option,
        flag("--mermaid", "Print a Mermaid diagram of the agents that wait."),
        flag("--check", "Exit with 1 if something is stalled."),
        store_option,
    ],
)
def stall_command(as_json: bool, mermaid: bool, check: bool, store: str | None) -> int:
    """Show which agents wait for each other, and why: cycles, approvals that no member may give, messages
    that no agent reads, silent agents and bottlenecks.

    Each comes with a command to run next.
    """
    if as_json and mermaid:
        raise CommandError("choose one of --json and --mermaid")
    with opened_to_look(store) as bus:
        stall = bus.stall()
    if as_json:
        knots = [
            deadlock._asdict()
            | {"who": list(deadlock.who), "remedy": deadlock.remedy._asdict()}
            | {"waits": [_wait_facts(wait) for wait in deadlock.waits]}
            for deadlock in stall.knots
        ]
        waits = [_wait_facts(wait) for wait in stall.waits]
        print_json({"at": stamp(stall.at), "stalled": bool(stall.knots), "knots": knots, "waits": waits})
    elif mermaid:
        from telex.trace.diagrams import render_stall

        sys.stdout.write(render_stall(stall))
    else:
        _print_stall(stall)
    return FAILED if check and stall.knots else DONE


def _print_stall(stall: Stall) -> None:
    screen = Screen(sys.stdout)
    if not stall.waits and not stall.knots:
        sys.stderr.write("no stall: no agent waits for another\n")
        return
    blocks = [_deadlock_lines(deadlock, screen) for deadlock in stall.knots]
    if stall.waits:
        now = time.time()
        rows = [(wait.who, wait.whom, wait.why, ago(wait.since, now), wait.words or wait.about) for wait in stall.waits]
        blocks.append(table_lines(("who", "waits for", "why", "since", "about"), rows, screen))
    screen.line("\n\n".join("\n".join(block) for block in blocks))
    if not stall.knots:
        sys.stderr.write("no stall: each of these can still be answered\n")


def _deadlock_lines(deadlock: Deadlock, screen: Screen) -> list[str]:
    title = screen.paint(deadlock.kind.replace("-", " "), _COLOURS[deadlock.kind])
    text = [f"  {line}" for line in wrapped(shown(deadlock.say), screen.width, 2)]
    remedy, message = deadlock.remedy
    # The remedy is copied into a shell, so it is neither indented nor wrapped.
    typed = [f"{remedy} <<'END'", *message.splitlines(), "END"] if message is not None else [remedy]
    return [title, *text, "  next:", "", *map(shown, typed)]


def _wait_facts(wait: Wait) -> dict[str, Any]:
    facts = wait._asdict() | {"since": stamp(wait.since)}
    facts.pop("remedy")  # the deadlock has it
    return facts
