"""`telex stall`: list agents that wait for each other, where work does not go on, and what to do."""

import sys
import time
from typing import Any

import click

from telex.model.work import Deadlock, Stall, Wait
from telex.surfaces.cli.bus_connection import opened_to_look
from telex.surfaces.cli.bus_options import store_option
from telex.surfaces.cli.check_output import json_line
from telex.surfaces.cli.exit_codes import DONE, FAILED, CommandError
from telex.surfaces.cli.output import Screen, shown, wrapped
from telex.surfaces.cli.table import table_lines
from telex.surfaces.cli.time_text import ago, stamp

_COLOURS = {"cycle": "red", "no-approver": "red", "unread": "red", "silent": "yellow", "bottleneck": "yellow"}


@click.command("stall")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.option("--mermaid", is_flag=True, help="Print a Mermaid diagram of who waits for whom.")
@click.option("--check", is_flag=True, help="Exit with 1 if something is stalled.")
@store_option
def command(as_json: bool, mermaid: bool, check: bool, store: str | None) -> int:
    """Show who waits for whom, and what is stuck: cycles, approvals that no member may give, messages that no agent
    reads, silent agents and bottlenecks.

    Each comes with a command to run next.
    """
    if as_json and mermaid:
        raise CommandError("choose one of --json and --mermaid")
    with opened_to_look(store) as bus:
        stall = bus.stall()
    if as_json:
        sys.stdout.write(json_line(facts(stall)) + "\n")
    elif mermaid:
        from telex.trace.stall_mermaid import render

        sys.stdout.write(render(stall))
    else:
        _show(stall)
    return FAILED if check and stall.knots else DONE


def _show(stall: Stall) -> None:
    screen, now = Screen(sys.stdout), time.time()
    if not stall.waits and not stall.knots:
        sys.stderr.write("no stall: no agent waits for another\n")
        return
    blocks = [_knot_lines(knot, screen) for knot in stall.knots]
    if stall.waits:
        blocks.append(_table(stall.waits, now, screen))
    screen.line("\n\n".join("\n".join(block) for block in blocks))
    if not stall.knots:
        sys.stderr.write("no stall: each of these can still be answered\n")


def _knot_lines(knot: Deadlock, screen: Screen) -> list[str]:
    title = screen.paint(knot.kind.replace("-", " "), _COLOURS[knot.kind])
    said = [f"  {line}" for line in wrapped(shown(knot.say), screen.width, 2)]
    command, message = knot.remedy
    # Nothing is indented or folded here: it is to be copied into a shell.
    typed = [f"{command} <<'END'", *message.splitlines(), "END"] if message is not None else [command]
    return [title, *said, "  next:", "", *map(shown, typed)]


def _table(waits: tuple[Wait, ...], now: float, screen: Screen) -> list[str]:
    rows = [
        (shown(wait.who), shown(wait.whom), wait.why, ago(wait.since, now), shown(wait.words or wait.about))
        for wait in waits
    ]
    return table_lines(("who", "waits for", "why", "since", "about"), rows, screen)


def facts(stall: Stall) -> dict[str, Any]:
    return {
        "at": stamp(stall.at),
        "stalled": bool(stall.knots),
        "knots": [
            {
                "kind": knot.kind,
                "who": list(knot.who),
                "say": knot.say,
                "remedy": knot.remedy._asdict(),
                "waits": [_wait(wait) for wait in knot.waits],
            }
            for knot in stall.knots
        ],
        "waits": [_wait(wait) for wait in stall.waits],
    }


def _wait(wait: Wait) -> dict[str, Any]:
    facts = wait._asdict() | {"since": stamp(wait.since)}
    facts.pop("remedy")  # where it counts, it stands with the knot
    return facts
