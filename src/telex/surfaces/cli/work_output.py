"""Text and JSON of a pipeline: the list, one pipeline by step, and the transition table."""

from collections.abc import Iterable
from typing import Any

from telex.surfaces.cli.output import Screen, shown, wrapped
from telex.surfaces.cli.table import table_lines
from telex.surfaces.cli.time_text import ago, stamp
from telex.work.pipeline.diagram import HEADINGS, MEANINGS, rows
from telex.work.pipeline.pending_dispatches import pending_dispatches
from telex.work.pipeline.state import HELD, OPEN, PipelineStep, Work, dispatch_id

COLOURS = {"done": "green", "blocked": "yellow", "escalated": "red"}


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
