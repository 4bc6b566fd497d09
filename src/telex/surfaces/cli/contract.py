"""`telex contract`: the contract of each plan, its revisions and its progress."""

import json
import sys
import time
from functools import partial
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import click

from telex.model.contracts import ContractTerms, Grant, Plan, Revision
from telex.surfaces.cli.connection import opened_to_look, settings_here
from telex.surfaces.cli.options import BUS, agent_option, command, listing_group, reason_option, text_option
from telex.surfaces.cli.output import Screen, did_you_mean, finding_lines, print_json, refused_lines, shown, wrapped
from telex.surfaces.cli.render import ago, day_time, print_list, print_one, stamp, stamped
from telex.surfaces.cli.usage import DONE, NOT_FOUND, REFUSED, CommandError
from telex.validation.authorization import normalised
from telex.work.reducer import HeaderFields, compose

if TYPE_CHECKING:
    from telex.client import SyncBus

plan_argument = click.argument("plan", metavar="PLAN")
_LISTS = ("tasks", "allowed", "forbidden", "depends_on", "must_haves", "checks")
_TITLES = {"depends_on": "depends on", "must_haves": "must have"}
_INDENT = 11  # column of a line's text, behind its title


@listing_group("contract", [*BUS], help_of_list="List the contracts.")
def contract_command(store: str | None, as_json: bool) -> int:
    """Show the contracts: the paths and tasks of each plan, and its progress."""
    with opened_to_look(store) as bus:
        plans, now = _plans(bus), time.time()
    return print_list(
        plans,
        as_json,
        facts=lambda plan: _facts(plan, plan.revisions[-1]),
        columns={
            "plan": lambda plan: plan.id,
            "rev": lambda plan: plan.revisions[-1].number,
            "for": lambda plan: ", ".join(plan.to),
            "by": lambda plan: plan.revisions[-1].by,
            "state": lambda plan: "open" if plan.is_open else "closed",
            "done": done_of,
            "tokens": _spent,
            "age": lambda plan: ago(plan.revisions[-1].at, now),
            "objective": lambda plan: plan.revisions[-1].words.objective,
        },
        empty="no contracts",
    )


@command(
    "show",
    [plan_argument, text_option("--revision", "N", "Revision number; the latest if not given."), *BUS],
    group=contract_command,
)
def show(plan: str, revision: str | None, store: str | None, as_json: bool) -> int:
    """Show the contract of a plan, later grants, and its progress."""
    contract = _plan(plan, store)
    chosen = _revision(contract, revision) if revision is not None else contract.revisions[-1]
    return print_one(_facts(contract, chosen), partial(_lines, contract, chosen), as_json)


@command("diff", [plan_argument, click.argument("revisions", metavar="[A B]", nargs=-1), *BUS], group=contract_command)
def diff(plan: str, revisions: tuple[str, ...], store: str | None, as_json: bool) -> int:
    """Show the changes between two revisions; the last two if none are given."""
    contract = _plan(plan, store)
    if len(revisions) not in (0, 2):
        raise click.UsageError("name two revisions, or none for the last two")
    if not revisions and len(contract.revisions) < 2:
        sys.stderr.write(f"plan {shown(contract.id)} has one revision only\n")
        return DONE
    old, new = (_revision(contract, number) for number in revisions) if revisions else contract.revisions[-2:]
    changes = _changes(old.words, new.words)
    if as_json:
        print_json(*({"field": name, "removed": removed, "added": added} for name, removed, added in changes))
        return DONE
    screen = Screen(sys.stdout)
    screen.line(
        f"plan {shown(contract.id)}  revision {old.number} by {shown(old.by)} → {new.number} by {shown(new.by)}"
    )
    for name, removed, added in changes:
        screen.line(_TITLES.get(name, name))
        for sign, colour, values in (("-", "red", removed), ("+", "green", added)):
            for value in values:
                screen.line(f"  {screen.paint(f'{sign} {shown(value)}', colour)}")
    if not changes:
        screen.line("no changes")
    return DONE


@command("close", [plan_argument, agent_option, reason_option, *BUS], group=contract_command)
def close(plan: str, agent: str, reason: str | None, store: str | None, as_json: bool) -> int:
    """Close the contract of a plan, as a lead or an architect. Its agents are notified."""
    with opened_to_look(store) as bus:
        contract = _named(plan, bus)
        gone = {presence.member.name for presence in bus.roster() if presence.state in ("left", "shut down")}
        recipients = [] if contract.closed else [to for to in contract.to if to not in gone] or [agent]
        receipts = [
            bus.send(_closing(bus, contract, agent, reason), sender=agent, to=to, check=False) for to in recipients
        ]
    findings = receipts[0].findings if receipts else ()
    inboxes = [inbox for receipt in receipts for inbox in receipt.to]
    if as_json:
        facts = {"plan": contract.id, "closed": bool(inboxes or contract.closed), "to": inboxes}
        ids = [receipt.id for receipt in receipts]
        print_json(facts | {"ids": ids, "findings": [finding._asdict() for finding in findings]})
    screen = Screen(sys.stdout if inboxes else sys.stderr)
    if contract.closed:
        screen.line(f"{shown(contract.id)} is closed already, by {shown(contract.closed.by)}: nothing was sent")
        return DONE
    if not inboxes:
        screen.line(*refused_lines(findings, screen))
        return REFUSED
    if not as_json:
        notified = ", ".join(map(shown, inboxes))
        screen.line(f"closed {shown(contract.id)}; notified {notified}", *finding_lines(findings, screen))
    return DONE


def _closing(bus: "SyncBus", plan: Plan, agent: str, reason: str | None) -> dict[str, Any]:
    """The message that closes a contract, in the dialect of the contract."""
    revision, name = plan.revisions[-1], normalised(agent)
    dialect = next((dialect for dialect in settings_here().dialects() if dialect.name == revision.dialect), None)
    types = dialect.types.values() if dialect is not None else ()
    type_ = next((type_ for type_ in types if type_.action == "close"), None)
    if dialect is None or type_ is None:
        raise CommandError(f"no message of {shown(revision.dialect)} closes a contract")
    role = next((presence.member.role for presence in bus.roster() if presence.member.name == name), name)
    messages = [history.message for history in bus.why(revision.id) if history.message.seq == revision.seq]
    like = json.loads(messages[0].raw) if messages and messages[0].raw[:1] == b"{" else {}
    header = HeaderFields(str(uuid4()), time.time(), role)
    return compose(dialect, type_, {"plan": plan.id, "reason": reason}, header, like)


# --- plans ------------------------------------------------------------------------------------------------------------
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
    hint = did_you_mean(name, plans, "telex contract list shows them")
    raise CommandError(f"no contract of plan {shown(name)}; {hint}", NOT_FOUND)


def _revision(plan: Plan, number: str) -> Revision:
    revisions = [revision for revision in plan.revisions if str(revision.number) == number]
    if not revisions:
        there = f"there are 1 to {len(plan.revisions)}" if len(plan.revisions) > 1 else "there is only 1"
        raise CommandError(f"no revision {shown(number)} of plan {shown(plan.id)}; {there}", NOT_FOUND)
    return revisions[0]


def _changes(old: ContractTerms, new: ContractTerms) -> list[tuple[str, list[str], list[str]]]:
    """Field, removed and added values of each field that differs."""
    changes = []
    for name in ContractTerms._fields:
        before, after = _values(old, name), _values(new, name)
        removed, added = [text for text in before if text not in after], [text for text in after if text not in before]
        if removed or added:
            changes.append((name, removed, added))
    return changes


def _values(words: ContractTerms, name: str) -> list[str]:
    value = getattr(words, name)
    return (
        [str(item) for item in value] if isinstance(value, tuple) else [str(value)] if value not in (None, "") else []
    )


# --- text and JSON ----------------------------------------------------------------------------------------------------
def done_of(plan: Plan) -> str:
    """`2/5`: tasks that are done, of all."""
    tasks = plan.revisions[-1].words.tasks
    return f"{sum(task in plan.done for task in tasks)}/{len(tasks)}"


def _spent(plan: Plan) -> str:
    budget = plan.revisions[-1].words.budget
    return f"{plan.spent:,} of {budget:,}" if budget is not None else f"{plan.spent:,}" if plan.spent else "·"


def _lines(plan: Plan, revision: Revision, screen: Screen) -> list[str]:
    words = revision.words
    state = f"{'open' if plan.is_open else 'closed'}{', complete' if plan.is_complete else ''}"
    of = "" if revision is plan.revisions[-1] else f", superseded by {plan.revisions[-1].number}"
    by = f"by {shown(revision.by)} on {day_time(revision.at)[:19]}"
    lines = [
        f"{screen.paint(shown(plan.id), 'bold')}  {screen.paint(state, 'yellow' if plan.is_open else 'green')}",
        f"revision {revision.number}{of}, {revision.digest[:12]}, {by}",
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
    first, *others = wrapped(shown(text), screen.width, _INDENT)
    return [f"{title:<{_INDENT}}{first}".rstrip(), *(" " * _INDENT + other for other in others)]


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


def _facts(plan: Plan, revision: Revision) -> dict[str, Any]:
    """The contract as JSON, complete."""
    return {
        "plan": plan.id,
        "open": plan.is_open,
        "complete": plan.is_complete,
        "closed": stamped(plan.closed) if plan.closed is not None else None,
        "to": plan.to,
        "revision": revision.number,
        "revisions": len(plan.revisions),
        "digest": revision.digest,
        "id": revision.id,
        "by": revision.by,
        "at": stamp(revision.at),
        "dialect": revision.dialect,
        **revision.words._asdict(),
        "done": {task: stamped(done) for task, done in plan.done.items()},
        "spent": plan.spent,
        "grants": [stamped(grant) for grant in plan.grants],
        "asks": {id_: stamped(request) for id_, request in plan.asks.items()},
        "conditions": plan.conditions,
    }
