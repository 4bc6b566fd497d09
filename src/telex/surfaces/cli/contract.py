"""`telex contract`: the contract of each plan, its revisions and its progress."""

import json
import sys
import time
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from telex.model.contracts import ContractTerms, Grant, Plan, Revision
from telex.model.suggestion import nearest
from telex.surfaces.cli.bus_connection import opened_to_look, settings_here
from telex.surfaces.cli.bus_options import agent_option, lines_option, refuse_misplaced, store_option, text_option
from telex.surfaces.cli.check_output import json_line
from telex.surfaces.cli.exit_codes import DONE, NOT_FOUND, REFUSED, CommandError
from telex.surfaces.cli.output import Screen, finding_lines, shown, wrapped
from telex.surfaces.cli.result_output import print_list, print_one
from telex.surfaces.cli.table import Row, table_lines
from telex.surfaces.cli.time_text import ago, day_time, stamp

if TYPE_CHECKING:
    from telex.client import SyncBus

plan_argument = click.argument("plan", metavar="PLAN")
_LISTS = ("tasks", "allowed", "forbidden", "depends_on", "must_haves", "checks")
_TITLES = {"depends_on": "depends on", "must_haves": "must have"}
_HEAD = 11  # where the words of a line begin, behind what they are


@click.group("contract", invoke_without_command=True)
@store_option
@lines_option
@click.pass_context
def command(ctx: click.Context, store: str | None, as_json: bool) -> int:
    """Show the contracts: the paths and tasks of each plan, and its progress."""
    if ctx.invoked_subcommand:
        refuse_misplaced(ctx)
        return DONE
    return _list(store, as_json)


@command.command("list")
@store_option
@lines_option
def list_(store: str | None, as_json: bool) -> int:
    """List the contracts."""
    return _list(store, as_json)


@command.command("show")
@plan_argument
@text_option("--revision", "N", "Revision number; the latest if not given.")
@store_option
@lines_option
def show(plan: str, revision: str | None, store: str | None, as_json: bool) -> int:
    """Show the contract of a plan, later grants, and its progress."""
    found = _plan(plan, store)
    one = _revision(found, revision) if revision is not None else found.revisions[-1]
    return print_one(facts(found, one), partial(_lines, found, one), as_json)


@command.command("diff")
@plan_argument
@click.argument("revisions", metavar="[A B]", nargs=-1)
@store_option
@lines_option
def diff(plan: str, revisions: tuple[str, ...], store: str | None, as_json: bool) -> int:
    """Show the changes between two revisions; the last two if none are given."""
    found = _plan(plan, store)
    if len(revisions) not in (0, 2):
        raise click.UsageError("name two revisions, or none for the last two")
    if not revisions and len(found.revisions) < 2:
        sys.stderr.write(f"plan {shown(found.id)} has one revision only\n")
        return DONE
    old, new = (_revision(found, one) for one in revisions) if revisions else found.revisions[-2:]
    changes = list(_changes(old.words, new.words))
    if as_json:
        for name, gone, come in changes:
            sys.stdout.write(json_line({"field": name, "removed": gone, "added": come}) + "\n")
        return DONE
    screen = Screen(sys.stdout)
    screen.line(f"plan {shown(found.id)}  revision {old.number} by {shown(old.by)} → {new.number} by {shown(new.by)}")
    for name, gone, come in changes:
        screen.line(_TITLES.get(name, name))
        for sign, colour, values in (("-", "red", gone), ("+", "green", come)):
            for value in values:
                screen.line(f"  {screen.paint(f'{sign} {shown(value)}', colour)}")
    if not changes:
        screen.line("no changes")
    return DONE


@command.command("close")
@plan_argument
@agent_option
@text_option("--reason", "WORDS", "Reason, included in the message.")
@store_option
@lines_option
def close(plan: str, agent: str, reason: str | None, store: str | None, as_json: bool) -> int:
    """Close the contract of a plan, as a lead or an architect. Its agents are notified."""
    with opened_to_look(store) as bus:
        found = _named(plan, bus)
        gone = {presence.member.name for presence in bus.roster() if presence.state in ("left", "shut down")}
        recipients = [] if found.closed else [to for to in found.to if to not in gone] or [agent]
        receipts = [bus.send(_closing(bus, found, agent, reason), sender=agent, to=to) for to in recipients]
    findings = receipts[0].findings if receipts else ()
    told = [inbox for receipt in receipts for inbox in receipt.to]
    if as_json:
        facts = {
            "plan": found.id,
            "closed": bool(told or found.closed),
            "to": told,
            "ids": [receipt.id for receipt in receipts],
        }
        sys.stdout.write(json_line(facts | {"findings": [one._asdict() for one in findings]}) + "\n")
    screen = Screen(sys.stdout if told else sys.stderr)
    lines = finding_lines(findings, screen)
    if found.closed:
        screen.line(f"{shown(found.id)} is closed already, by {shown(found.closed.by)}: nothing was sent")
        return DONE
    if not told:
        screen.line("\n".join([screen.paint("refused", "red"), *lines]))
        return REFUSED
    if not as_json:
        screen.line("\n".join([f"closed {shown(found.id)}; notified {', '.join(map(shown, told))}", *lines]))
    return DONE


def _closing(bus: "SyncBus", plan: Plan, agent: str, reason: str | None) -> dict[str, Any]:
    """The message that closes a contract, in the dialect of the contract."""
    from uuid import uuid4

    from telex.validation.authorization import normalised
    from telex.work.reducer import HeaderFields, compose

    revision = plan.revisions[-1]
    dialect = next((one for one in settings_here().dialects() if one.name == revision.dialect), None)
    types = dialect.types.values() if dialect is not None else ()
    type_ = next((one for one in types if one.action == "close"), None)
    if dialect is None or type_ is None:
        raise CommandError(f"no message of {shown(revision.dialect)} closes a contract")
    role = next((one.member.role for one in bus.roster() if one.member.name == normalised(agent)), normalised(agent))
    messages = [story.message for story in bus.why(revision.id) if story.message.seq == revision.seq]
    like = json.loads(messages[0].raw) if messages and messages[0].raw[:1] == b"{" else {}
    header = HeaderFields(str(uuid4()), time.time(), role)
    return compose(dialect, type_, {"plan": plan.id, "reason": reason}, header, like)


# --- finding ----------------------------------------------------------------------------------------------------------


def _plans(bus: "SyncBus") -> list[Plan]:
    plans: list[Plan] = list(bus.work_state("plan").values())
    return sorted((plan for plan in plans if plan.revisions), key=lambda plan: plan.revisions[0].at)


def _plan(name: str, store: str | None) -> Plan:
    with opened_to_look(store) as bus:
        return _named(name, bus)


def _named(name: str, bus: "SyncBus") -> Plan:
    plans = {plan.id: plan for plan in _plans(bus)}
    if name in plans:
        return plans[name]
    meant = nearest(name, plans)
    perhaps = f"did you mean {shown(meant)}?" if meant else "telex contract list shows them"
    raise CommandError(f"no contract of plan {shown(name)}; {perhaps}", NOT_FOUND)


def _revision(plan: Plan, number: str) -> Revision:
    revisions = [revision for revision in plan.revisions if str(revision.number) == number]
    if not revisions:
        there = f"there are 1 to {len(plan.revisions)}" if len(plan.revisions) > 1 else "there is only 1"
        raise CommandError(f"no revision {shown(number)} of plan {shown(plan.id)}; {there}", NOT_FOUND)
    return revisions[0]


def _changes(old: ContractTerms, new: ContractTerms) -> "list[tuple[str, list[str], list[str]]]":
    found = []
    for name in ContractTerms._fields:
        before, after = _values(old, name), _values(new, name)
        gone, come = [one for one in before if one not in after], [one for one in after if one not in before]
        if gone or come:
            found.append((name, gone, come))
    return found


def _values(words: ContractTerms, name: str) -> list[str]:
    value = getattr(words, name)
    return [str(one) for one in value] if isinstance(value, tuple) else [str(value)] if value not in (None, "") else []


# --- showing ----------------------------------------------------------------------------------------------------------


def _list(store: str | None, as_json: bool) -> int:
    with opened_to_look(store) as bus:
        plans, now = _plans(bus), time.time()
    rows = [_row(plan, plan.revisions[-1], now) for plan in plans]
    headings = ("plan", "rev", "for", "by", "state", "done", "tokens", "age", "objective")
    return print_list(
        plans,
        as_json,
        facts=lambda plan: facts(plan, plan.revisions[-1]),
        lines=partial(table_lines, headings, rows),
        empty="no contracts",
    )


def _row(plan: Plan, revision: Revision, now: float) -> Row:
    done = f"{_done(plan)}/{len(revision.words.tasks)}"
    to, by, objective = shown(", ".join(plan.to)), shown(revision.by), shown(revision.words.objective)
    state = "open" if plan.is_open else "closed"
    return (shown(plan.id), revision.number, to, by, state, done, _spent(plan), ago(revision.at, now), objective)


def _done(plan: Plan) -> int:
    return sum(task in plan.done for task in plan.revisions[-1].words.tasks)


def _spent(plan: Plan) -> str:
    budget = plan.revisions[-1].words.budget
    return f"{plan.spent:,} of {budget:,}" if budget is not None else f"{plan.spent:,}" if plan.spent else "·"


def _lines(plan: Plan, revision: Revision, screen: Screen) -> list[str]:
    words, latest = revision.words, revision is plan.revisions[-1]
    state = f"{'open' if plan.is_open else 'closed'}{', complete' if plan.is_complete else ''}"
    of = "" if latest else f", superseded by {plan.revisions[-1].number}"
    lines = [
        f"{screen.paint(shown(plan.id), 'bold')}  {screen.paint(state, 'yellow' if plan.is_open else 'green')}",
        (
            f"revision {revision.number}{of}, {revision.digest[:12]}, "
            f"by {shown(revision.by)} on {day_time(revision.at)[:19]}"
        ),
        "",
        *_line("for", ", ".join(plan.to), screen),
        *_line("phase", words.phase, screen),
        *_line("objective", words.objective, screen),
    ]
    for name in _LISTS:
        for index, value in enumerate(getattr(words, name)):
            title = _TITLES.get(name, name) if index == 0 else ""
            lines += _line(title, value + (_commit(plan, value) if name == "tasks" else ""), screen)
    if words.budget is not None or plan.spent:
        lines += _line("tokens", _spent(plan), screen)
    for grant in plan.grants:
        lines += _grant_lines(grant, screen)
    for id_, widening_request in plan.asks.items():
        lines += _line("asked", f"{widening_request.kind} by {widening_request.by} ({id_})", screen)
    if plan.closed is not None:
        why = f": {plan.closed.reason}" if plan.closed.reason else ""
        lines += _line("closed", f"by {plan.closed.by}{why}", screen)
    return lines


def _line(title: str, text: str, screen: Screen) -> list[str]:
    first, *others = wrapped(shown(text), screen.width, _HEAD) or [""]
    return [f"{title:<{_HEAD}}{first}".rstrip(), *(" " * _HEAD + other for other in others)]


def _commit(plan: Plan, task: str) -> str:
    done = plan.done.get(task)
    return f"  done by {done.by} in {done.commit}" if done is not None else ""


def _grant_lines(grant: Grant, screen: Screen) -> list[str]:
    title = "override" if grant.override else "granted"
    what = ", ".join(grant.patterns) or "nothing"
    lines = _line(title, f"{what}  by {grant.by}, asked by {grant.asked_by} ({grant.request})", screen)
    for condition in grant.conditions:
        lines += _line("", f"if {condition}", screen)
    return lines


def facts(plan: Plan, revision: Revision) -> dict[str, Any]:
    """For programs: the same, and nothing left out."""
    return {
        "plan": plan.id,
        "open": plan.is_open,
        "complete": plan.is_complete,
        "closed": plan.closed._asdict() | {"at": stamp(plan.closed.at)} if plan.closed is not None else None,
        "to": plan.to,
        "revision": revision.number,
        "revisions": len(plan.revisions),
        "digest": revision.digest,
        "id": revision.id,
        "by": revision.by,
        "at": stamp(revision.at),
        "dialect": revision.dialect,
        **revision.words._asdict(),
        "done": {task: done._asdict() | {"at": stamp(done.at)} for task, done in plan.done.items()},
        "spent": plan.spent,
        "grants": [grant._asdict() | {"at": stamp(grant.at)} for grant in plan.grants],
        "asks": {
            id_: widening_request._asdict() | {"at": stamp(widening_request.at)}
            for id_, widening_request in plan.asks.items()
        },
        "conditions": plan.conditions,
    }
