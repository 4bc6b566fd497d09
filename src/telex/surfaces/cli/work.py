"""`telex work`: start a pipeline, route its signals, and show its progress."""

import os
import sys
import time
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from telex.bus import run_sync
from telex.bus.orchestrator import Orchestrator
from telex.surfaces.cli.connection import opened, opened_to_look, settings_here
from telex.surfaces.cli.files import files_in, pieces
from telex.surfaces.cli.options import (
    BUS,
    Speaker,
    as_option,
    command,
    file_argument,
    flag,
    grouped,
    listing_group,
    member_role_option,
    seconds_option,
    text_option,
)
from telex.surfaces.cli.output import Screen, finding_lines, json_line, shown, wrapped
from telex.surfaces.cli.render import Columns, ago, columns_lines, print_list, print_one, stamp, table_lines
from telex.surfaces.cli.send import print_receipt
from telex.surfaces.cli.usage import DONE, REFUSED, TIMED_OUT, CommandError
from telex.work.pipeline import HEADINGS, HELD, MEANINGS, OPEN, WORD, PipelineStep, Work, diagram, dispatch_id, rows
from telex.work.signals import pending_dispatches

if TYPE_CHECKING:
    from telex.bus.orchestrator import OrchestratorRound
    from telex.ports.bus import Receipt

PLAN_SUFFIXES = (".md", ".markdown")
PLAN_CHARACTERS_MAX = 1_000_000
COLOURS = {"done": "green", "blocked": "yellow", "escalated": "red"}

WHO = (as_option("orchestrator"), member_role_option)
work_argument = click.argument("work", metavar="WORK")


@listing_group(
    "work",
    [
        flag("--machine", "Print the transition table."),
        flag("--mermaid", "With --machine: as a diagram in Mermaid's notation."),
        *BUS,
    ],
)
def work_command(machine: bool, mermaid: bool, store: str | None, as_json: bool) -> int:
    """The signal pipeline: triage, research, plan, waves of steps, review and audit, revisions, approval."""
    screen = Screen(sys.stdout)
    if mermaid:
        screen.line(diagram())
    elif machine:
        states = table_lines(("state", "what it means"), list(MEANINGS.items()), screen)
        screen.line(*states, "", *table_lines(HEADINGS, rows(), screen))
    else:
        _list(store, as_json)
    return DONE


@command("list", [*BUS], group=work_command)
def list_(store: str | None, as_json: bool) -> int:
    """List the pipelines and their states."""
    return _list(store, as_json)


def _list(store: str | None, as_json: bool) -> int:
    with opened_to_look(store) as bus:
        works: list[Work] = list(bus.work_state("work").values())
    now = time.time()
    return print_list(
        works,
        as_json,
        facts=_facts,
        columns={
            "work": lambda work: work.id,
            "state": lambda work: work.state,
            "approved": _progress,
            "open": lambda work: sum(step.state in OPEN for step in work.places.values()),
            "odd": lambda work: work.odd_count,
            "changed": lambda work: ago(work.last_at, now),
            "by": lambda work: work.by,
        },
        empty="no pipelines: start one with telex work start FILE",
    )


@command(
    "start",
    [
        file_argument,
        text_option("--id", "ID", "Id of the pipeline; generated if not given."),
        text_option("--to", "ADDRESS", "Who does the triage; role:architect if not given.", complete="agents"),
        *WHO,
        *BUS,
        grouped(who=Speaker),
    ],
    group=work_command,
)
def start(file: str, id: str | None, to: str | None, who: Speaker, store: str | None, as_json: bool) -> int:
    """Start a pipeline with a plain-text request, which goes to the architect for triage."""
    text = _request_text(file)
    with opened(store) as bus:
        receipt = run_sync(Orchestrator(bus.awaitable, who.agent, role=who.role).start(text, id, to=to))
    return _print_receipt(receipt, as_json)


@command(
    "run",
    [
        click.argument("works", metavar="[WORK]...", nargs=-1),
        *WHO,
        flag("--once", "Route what is pending now, then exit."),
        seconds_option("--wait", "Exit if nothing comes for this long; runs until all is done if not given."),
        *BUS,
        grouped(who=Speaker),
    ],
    group=work_command,
)
def run(works: tuple[str, ...], who: Speaker, once: bool, wait: float | None, store: str | None, as_json: bool) -> int:
    """Route signals: receive results and dispatch the next steps until all is done or blocked.

    It can be stopped and started again at any time. It exits with 4 when nothing has come for --wait seconds.
    """
    refused: list[str] = []
    with opened_to_look(store) as bus:
        orchestrator = Orchestrator(bus.awaitable, who.agent, role=who.role, read_plan=_plan_text)
        for work in works:
            run_sync(orchestrator.work(work))  # raises if there is no such work
        print_round = partial(_print_round, refused, as_json)
        if once:
            print_round(run_sync(orchestrator.step(also=works)))
        elif not run_sync(orchestrator.run(works, wait=wait, seen=print_round)):
            raise CommandError(f"nothing has come for {wait:g} s: telex work list shows what is pending", TIMED_OUT)
        else:
            for ended in run_sync(orchestrator.looked_after(works)):
                print_one({"work": ended.id, "state": ended.state}, f"{ended.id} is {ended.state}", as_json)
    return REFUSED if refused else DONE


def _print_round(refused: list[str], as_json: bool, turn: "OrchestratorRound") -> None:
    """Print the results of a round, and add the ids of refused dispatches to `refused`."""
    screen, errors = Screen(sys.stdout), Screen(sys.stderr)
    for dispatch in turn.sent:
        facts = {"sent": dispatch.id, "kind": dispatch.kind, "to": dispatch.to, "place": dispatch.place.name}
        to = "" if dispatch.kind == WORD else f" to {shown(dispatch.to)}"
        screen.line(json_line(facts) if as_json else f"sent {dispatch.id}  {dispatch.kind}{to}")
    for message in turn.handed_on:
        errors.line(f"passed on {shown(message.id)} from {shown(message.sender)}: it is no result of a pipeline")
    for dispatch, receipt in turn.refused:
        refused.append(dispatch.id)
        head = f"{errors.paint('refused ', 'red')}  {dispatch.id} to {shown(dispatch.to)}"
        errors.line(head, *finding_lines(receipt.findings, errors))
    for dispatch, error in turn.failed:
        refused.append(dispatch.id)
        errors.line(f"{errors.paint('failed ', 'red')}  {dispatch.id}: {type(error).__name__}: {shown(str(error))}")
    sys.stdout.flush()


@command("show", [work_argument, *BUS], group=work_command)
def show(work: str, store: str | None, as_json: bool) -> int:
    """Show one pipeline: its steps, verdicts and revisions, and the steps that are pending or blocked."""
    with opened_to_look(store) as bus:
        pipeline = run_sync(Orchestrator(bus.awaitable).work(work))
    return print_one(_facts(pipeline), partial(_lines, pipeline), as_json)


@command(
    "resume",
    [
        work_argument,
        click.argument("place", metavar="[PLACE]", required=False),
        text_option("--say", "TEXT", "A note to the worker."),
        text_option("--to", "ADDRESS", "Worker; the previous one if not given.", complete="agents"),
        *WHO,
        *BUS,
        grouped(who=Speaker),
    ],
    group=work_command,
)
def resume(
    work: str, place: str | None, say: str | None, to: str | None, who: Speaker, store: str | None, as_json: bool
) -> int:
    """Resume a step that is blocked or escalated. It restarts with all its revisions."""
    with opened_to_look(store) as bus:
        orchestrator = Orchestrator(bus.awaitable, who.agent, role=who.role, read_plan=_plan_text)
        receipt = run_sync(orchestrator.resume(work, place, say or "", to=to))
    return _print_receipt(receipt, as_json)


def _print_receipt(receipt: "Receipt", as_json: bool) -> int:
    print_receipt(receipt, fix="telex work --help", as_json=as_json)
    return DONE if receipt.accepted else REFUSED


def _plan_text(path: str) -> str:
    """Text of a plan's file. An agent names it, so only markdown within the project is read."""
    root = os.path.realpath(os.path.dirname(settings_here().source or "") or os.curdir)
    file = os.path.realpath(os.path.join(root, path))
    if not file.startswith(root + os.sep) or not file.endswith(PLAN_SUFFIXES) or not os.path.isfile(file):
        return ""
    try:
        with open(file, encoding="utf-8", errors="replace") as plan:
            return plan.read(PLAN_CHARACTERS_MAX)
    except OSError:
        return ""


def _request_text(file: str) -> str:
    [path] = files_in([file])
    [(_, raw, _)] = pieces(path, settings_here().limits.message_bytes_max, lines=False)
    try:
        text = raw.decode()
    except UnicodeDecodeError as error:
        raise CommandError(f"{shown(file)} is not UTF-8: convert it") from error
    if not text.strip():
        raise CommandError(f"{shown(file)} is empty: write the request into it")
    return text


# --- text and JSON ----------------------------------------------------------------------------------------------------
def _progress(work: Work) -> str:
    """`2 of 3`: steps that are approved; empty before there is a plan."""
    approved = sum(step.state == "approved" for step in work.places.values())
    return f"{approved} of {sum(work.waves)}" if work.waves else ""


def _lines(work: Work, screen: Screen) -> list[str]:
    """State of a pipeline, its steps, what holds it up, and the signals that it ignored."""
    head = f"{screen.paint(work.id, 'bold')}  {screen.paint(work.state, COLOURS.get(work.state, 'bold'))}"
    wave = f"wave {work.wave} of {len(work.waves)}, " if work.waves else ""
    plan = f"plan {shown(work.plan_file)}, " if work.plan_file else ""
    columns: Columns[PipelineStep] = {
        "place": lambda step: step.name,
        "state": lambda step: step.state,
        "round": lambda step: step.round,
        "revision": lambda step: step.iteration,
        "by": lambda step: step.by,
        "verdicts": lambda step: ", ".join(f"{verdict.part} {verdict.signal}" for verdict in step.verdicts),
        "waits for": lambda step: _waits_for(work, step),
    }
    table = columns_lines(columns, work.places.values(), screen)
    lines = [head, f"{wave}{plan}by {shown(work.by)}", "", *table]
    for step in work.places.values():
        if step.state in HELD:
            lines += ["", *wrapped(f"{step.name} is {step.state}: {shown(step.why)}", screen.width)]
            lines += [f"  telex show {shown(step.held)}", f"  telex work resume {work.id} {step.name}"]
    if work.odd:
        more = f", the last {len(work.odd)} of them" if work.odd_count > len(work.odd) else ""
        ignored = [(signal.message, signal.by, signal.signal, signal.why) for signal in work.odd]
        lines += ["", f"{work.odd_count} came out of order and changed nothing{more}:"]
        lines += table_lines(("message", "by", "signal", "why"), ignored, screen)
    return lines


def _waits_for(work: Work, step: PipelineStep) -> str:
    """The dispatches that are not answered."""
    if step.state == "checking":
        return ", ".join(dispatch.id for dispatch in pending_dispatches(work) if dispatch.place.name == step.name)
    if step.state in HELD:
        return "a person"
    return dispatch_id(work.id, step) if step.state in OPEN else ""


def _facts(work: Work) -> dict[str, Any]:
    return {
        "work": work.id,
        "state": work.state,
        "by": work.by,
        "started_at": stamp(work.at),
        "changed_at": stamp(work.last_at),
        "wave": work.wave,
        "waves": list(work.waves),
        "plan_file": work.plan_file or None,
        "places": [_step_facts(work, step) for step in work.places.values()],
        "odd": [signal._asdict() for signal in work.odd],
        "odd_count": work.odd_count,
    }


def _step_facts(work: Work, step: PipelineStep) -> dict[str, Any]:
    verdicts = [verdict._asdict() for verdict in step.verdicts]
    more = {"verdicts": verdicts, "notes": list(step.notes), "dispatch": dispatch_id(work.id, step)}
    return step._asdict() | more
