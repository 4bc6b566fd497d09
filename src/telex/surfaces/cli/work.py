"""`telex work`: start a pipeline, route its signals, and show its progress."""

import os
import sys
import time
from collections.abc import Callable, Iterable
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from telex.surfaces.cli import completion, receipts
from telex.surfaces.cli.bus_connection import opened, opened_to_look, settings_here, stay_for_long
from telex.surfaces.cli.bus_options import (
    Speaker,
    as_option,
    grouped,
    lines_option,
    refuse_misplaced,
    role_option,
    seconds_option,
    store_option,
    text_option,
)
from telex.surfaces.cli.check_output import json_line
from telex.surfaces.cli.exit_codes import DONE, REFUSED, TIMED_OUT, USAGE, CommandError
from telex.surfaces.cli.inputs import files_in, pieces
from telex.surfaces.cli.output import Screen, finding_lines, shown, wrapped
from telex.surfaces.cli.result_output import print_list, print_one
from telex.surfaces.cli.table import table_lines
from telex.surfaces.cli.time_text import ago, stamp
from telex.work.dispatches import pending_dispatches
from telex.work.pipeline import HEADINGS, HELD, MEANINGS, OPEN, PipelineStep, Work, diagram, dispatch_id, rows

if TYPE_CHECKING:
    from telex.bus.orchestrator import OrchestratorRound
    from telex.ports.bus import Receipt
    from telex.work.pipeline import Work

PLAN_ENDINGS = (".md", ".markdown")
PLAN_CHARACTERS_MAX = 1_000_000
COLOURS = {"done": "green", "blocked": "yellow", "escalated": "red"}


orchestrator_option = as_option("orchestrator")
work_argument = click.argument("work", metavar="WORK")


@click.group("work", invoke_without_command=True)
@click.option("--machine", is_flag=True, help="Print the transition table.")
@click.option("--mermaid", is_flag=True, help="With --machine: as a diagram in Mermaid's notation.")
@store_option
@lines_option
@click.pass_context
def command(ctx: click.Context, machine: bool, mermaid: bool, store: str | None, as_json: bool) -> int:
    """The signal pipeline: triage, research, plan, waves of steps, review and audit, revisions, approval.

    \b
      telex work start request.md --id reset    ask the architect for a triage
      telex work run                            route incoming signals
      telex work show reset                     show its progress
    """
    if ctx.invoked_subcommand:
        refuse_misplaced(ctx)
        return DONE
    if machine or mermaid:
        return _machine(mermaid)
    return _list(store, as_json)


def _machine(mermaid: bool) -> int:
    screen = Screen(sys.stdout)
    screen.line(diagram() if mermaid else "\n".join(machine_lines(screen)))
    return DONE


@command.command("list")
@store_option
@lines_option
def list_(store: str | None, as_json: bool) -> int:
    """List the pipelines and their states."""
    return _list(store, as_json)


def _list(store: str | None, as_json: bool) -> int:

    with opened_to_look(store) as bus:
        works = list(bus.work_state("work").values())
    lines, empty = partial(list_lines, works, time.time()), "no pipelines: start one with telex work start FILE"
    return print_list(works, as_json, facts=facts, lines=lines, empty=empty)


@command.command("start")
@click.argument("file", metavar="FILE|-")
@text_option("--id", "ID", "Id of the pipeline; generated if not given.")
@text_option("--to", "ADDRESS", "Who does the triage; role:architect if not given.", complete=completion.agents)
@orchestrator_option
@role_option
@store_option
@lines_option
@grouped(who=Speaker)
def start(file: str, id: str | None, to: str | None, who: Speaker, store: str | None, as_json: bool) -> int:
    """Start a pipeline with a plain-text request, which goes to the architect for triage."""
    from telex.bus.orchestrator import Orchestrator
    from telex.client import run_sync

    text = _text(file)
    with opened(store) as bus:
        receipt = run_sync(Orchestrator(bus.awaitable, who.agent, role=who.role).start(text, id, to=to))
    return _told(receipt, as_json)


@command.command("run")
@click.argument("works", metavar="[WORK]...", nargs=-1)
@orchestrator_option
@role_option
@click.option("--once", is_flag=True, help="Route what is pending now, then exit.")
@seconds_option("--wait", "Exit if nothing comes for this long; runs until all is done if not given.")
@store_option
@lines_option
@grouped(who=Speaker)
def run(works: tuple[str, ...], who: Speaker, once: bool, wait: float | None, store: str | None, as_json: bool) -> int:
    """Route signals: receive results and dispatch the next steps until all is done or held up.

    It can be stopped and started again at any time. It exits with 4 when nothing has come for --wait seconds.
    """
    from telex.bus.orchestrator import Orchestrator
    from telex.client import run_sync

    stay_for_long()
    with opened_to_look(store) as bus:
        orchestrator = Orchestrator(bus.awaitable, who.agent, role=who.role, read_plan=_plan_text)
        for work in works:
            run_sync(orchestrator.work(work))  # raises if there is no such work
        tell, refused = _teller(as_json)
        if once:
            tell(run_sync(orchestrator.step(also=works)))
        elif not run_sync(orchestrator.run(works, wait=wait, seen=tell)):
            raise CommandError(f"nothing has come for {wait:g} s: telex work list shows what is pending", TIMED_OUT)
        else:
            _tell_ends(run_sync(orchestrator.looked_after(works)), as_json)
    return REFUSED if refused else DONE


def _teller(as_json: bool) -> "tuple[Callable[[OrchestratorRound], None], list[str]]":
    """Printer of a round's results, and the ids of the dispatches refused so far."""
    from telex.work.pipeline import WORD

    refused: list[str] = []

    def tell(turn: "OrchestratorRound") -> None:
        screen, errors = Screen(sys.stdout), Screen(sys.stderr)
        for dispatch in turn.sent:
            said = {"sent": dispatch.id, "kind": dispatch.kind, "to": dispatch.to, "place": dispatch.place.name}
            whom = "" if dispatch.kind == WORD else f" to {shown(dispatch.to)}"
            screen.line(json_line(said) if as_json else f"sent {dispatch.id}  {dispatch.kind}{whom}")
        for message in turn.handed_on:
            errors.line(f"passed on {shown(message.id)} from {shown(message.sender)}: it is no result of a pipeline")
        for dispatch, receipt in turn.refused:
            refused.append(dispatch.id)
            head = f"{errors.paint('refused ', 'red')}  {dispatch.id} to {shown(dispatch.to)}"
            errors.line("\n".join([head, *finding_lines(receipt.findings, errors)]))
        sys.stdout.flush()

    return tell, refused


def _tell_ends(works: "list[Work]", as_json: bool) -> None:
    for work in works:
        print_one({"work": work.id, "state": work.state}, f"{work.id} is {work.state}", as_json)


@command.command("show")
@work_argument
@store_option
@lines_option
def show(work: str, store: str | None, as_json: bool) -> int:
    """Show one pipeline: its steps, verdicts and revisions, and what is pending or held up."""
    from telex.bus.orchestrator import Orchestrator
    from telex.client import run_sync

    with opened_to_look(store) as bus:
        found = run_sync(Orchestrator(bus.awaitable).work(work))
    return print_one(facts(found), partial(show_lines, found), as_json)


@command.command("resume")
@work_argument
@click.argument("place", metavar="[PLACE]", required=False)
@text_option("--say", "TEXT", "A note to the worker.")
@text_option("--to", "ADDRESS", "Worker; the previous one if not given.", complete=completion.agents)
@orchestrator_option
@role_option
@store_option
@lines_option
@grouped(who=Speaker)
def resume(
    work: str, place: str | None, say: str | None, to: str | None, who: Speaker, store: str | None, as_json: bool
) -> int:
    """Resume a step that is blocked or escalated. It restarts with all its revisions."""
    from telex.bus.orchestrator import Orchestrator
    from telex.client import run_sync

    with opened_to_look(store) as bus:
        orchestrator = Orchestrator(bus.awaitable, who.agent, role=who.role, read_plan=_plan_text)
        receipt = run_sync(orchestrator.resume(work, place, say or "", to=to))
    return _told(receipt, as_json)


def _told(receipt: "Receipt", as_json: bool) -> int:
    receipts.tell(receipt, fix="telex work --help", as_json=as_json)
    return DONE if receipt.accepted else REFUSED


def _plan_text(path: str) -> str:
    """Text of a plan's file. An agent named it, so only markdown within the project is read."""
    root = os.path.realpath(os.path.dirname(settings_here().source or "") or os.curdir)
    file = os.path.realpath(os.path.join(root, path))
    if not file.startswith(root + os.sep) or not file.endswith(PLAN_ENDINGS) or not os.path.isfile(file):
        return ""
    try:
        with open(file, encoding="utf-8", errors="replace") as plan:
            return plan.read(PLAN_CHARACTERS_MAX)
    except OSError:
        return ""


def _text(file: str) -> str:
    [path] = files_in([file])
    most = settings_here().limits.message_bytes_max
    [(_, raw, _)] = pieces(path, most, lines=False)
    try:
        text = raw.decode()
    except UnicodeDecodeError as error:
        raise CommandError(f"{shown(file)} is not UTF-8: convert it") from error
    if not text.strip():
        raise CommandError(f"{shown(file)} is empty: write the request into it", USAGE)
    return text


# --- text and JSON ----------------------------------------------------------------------------------------------------


def list_lines(works: Iterable[Work], now: float, screen: Screen) -> list[str]:
    table = [
        (work.id, work.state, _progress(work), len(_open(work)), work.odd_count, ago(work.last_at, now), shown(work.by))
        for work in works
    ]
    return table_lines(("work", "state", "approved", "open", "odd", "changed", "by"), table, screen)


def _progress(work: Work) -> str:
    """`2 of 3`: steps that are approved; nothing before there is a plan."""
    if not work.waves:
        return ""
    return f"{sum(step.state == 'approved' for step in work.places.values())} of {sum(work.waves)}"


def _open(work: Work) -> list[PipelineStep]:
    return [step for step in work.places.values() if step.state in OPEN]


def show_lines(work: Work, screen: Screen) -> list[str]:
    """Everything about one work: how it stands, each place, what holds it up, and what came out of turn."""
    head = f"{screen.paint(work.id, 'bold')}  {screen.paint(work.state, COLOURS.get(work.state, 'bold'))}"
    told = [f"wave {work.wave} of {len(work.waves)}" if work.waves else "", _plan(work), f"by {shown(work.by)}"]
    lines = [head, ", ".join(one for one in told if one), ""]
    table = [
        (
            place.name,
            place.state,
            place.round,
            place.iteration,
            shown(place.by),
            _verdicts(place),
            _waits_for(work, place),
        )
        for place in work.places.values()
    ]
    lines += table_lines(("place", "state", "round", "revision", "by", "verdicts", "waits for"), table, screen)
    for step in work.places.values():
        if step.state in HELD:
            lines += ["", *wrapped(f"{step.name} is {step.state}: {shown(step.why)}", screen.width, 0)]
            lines += [f"  telex show {shown(step.held)}", f"  telex work resume {work.id} {step.name}"]
    return [*lines, *_odd_lines(work, screen)]


def _plan(work: Work) -> str:
    return f"plan {shown(work.plan_file)}" if work.plan_file else ""


def _verdicts(step: PipelineStep) -> str:
    return ", ".join(f"{review_verdict.part} {shown(review_verdict.signal)}" for review_verdict in step.verdicts)


def _waits_for(work: Work, step: PipelineStep) -> str:
    """The dispatches whose answer is out."""
    if step.state == "checking":
        return ", ".join(dispatch.id for dispatch in pending_dispatches(work) if dispatch.place.name == step.name)
    if step.state in HELD:
        return "a person"
    return dispatch_id(work.id, step) if step.state in OPEN else ""


def _odd_lines(work: Work, screen: Screen) -> list[str]:
    if not work.odd:
        return []
    more = f", the last {len(work.odd)} of them" if work.odd_count > len(work.odd) else ""
    table = [
        (
            shown(ignored_signal.message),
            shown(ignored_signal.by),
            shown(ignored_signal.signal),
            shown(ignored_signal.why),
        )
        for ignored_signal in work.odd
    ]
    head = f"{work.odd_count} came out of order and changed nothing{more}:"
    return ["", head, *table_lines(("message", "by", "signal", "why"), table, screen)]


def facts(work: Work) -> dict[str, Any]:
    """For a program: everything, each place with the dispatches it waits for."""
    places = [
        step._asdict()
        | {
            "verdicts": [verdict._asdict() for verdict in step.verdicts],
            "notes": list(step.notes),
            "dispatch": dispatch_id(work.id, step),
        }
        for step in work.places.values()
    ]
    return {
        "work": work.id,
        "state": work.state,
        "by": work.by,
        "started_at": stamp(work.at),
        "changed_at": stamp(work.last_at),
        "wave": work.wave,
        "waves": list(work.waves),
        "plan_file": work.plan_file or None,
        "places": places,
        "odd": [ignored_signal._asdict() for ignored_signal in work.odd],
        "odd_count": work.odd_count,
    }


def machine_lines(screen: Screen) -> list[str]:
    states = table_lines(("state", "what it means"), list(MEANINGS.items()), screen)
    return [*states, "", *table_lines(HEADINGS, rows(), screen)]
