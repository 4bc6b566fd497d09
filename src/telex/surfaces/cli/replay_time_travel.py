"""`telex replay --until`: the team, its inboxes and its work, as they were."""

import sys
import time
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any

from telex.dialects.schema import PRIORITIES
from telex.model.contracts import Plan
from telex.model.message import Delivery, Event, Message
from telex.model.roster import Member
from telex.model.task_states import TASK_STATES, TaskStateMachine, standing
from telex.ports.store import Query
from telex.replay.time_travel import TimeTravelState, as_it_was
from telex.surfaces.cli.approvals import decision
from telex.surfaces.cli.bus_connection import opened_to_look, settings_here
from telex.surfaces.cli.check_output import json_line
from telex.surfaces.cli.exit_codes import DONE
from telex.surfaces.cli.inbox import state_of
from telex.surfaces.cli.output import Screen, shown
from telex.surfaces.cli.table import Row, table_lines
from telex.surfaces.cli.time_text import ago, day_time, moment, stamp
from telex.work.approvals import Approval
from telex.work.tasks import Task

DELIVERIES_SHOWN_MAX = 100
Told = tuple[Event, Message | None]


def show(until: str, store: str | None, as_json: bool) -> int:
    settings, at = settings_here(), moment(until, "--until")
    dialects = {dialect.name: dialect for dialect in settings.dialects()}
    with opened_to_look(store, settings) as bus:
        members = [presence.member for presence in bus.roster()]
        last = [time.time()]
        was = as_it_was(_noting(bus.events(Query(until=at)), last), dialects, members)
    machine = settings.task_states or TASK_STATES
    if as_json:
        for facts in _facts(was, machine):
            sys.stdout.write(json_line(facts) + "\n")
        return DONE
    screen = Screen(sys.stdout)
    if not was.events:
        sys.stderr.write(f"the log has no event before {day_time(at)[:19]} UTC\n")
        return DONE
    if at > max(last):
        sys.stderr.write(f"{day_time(at)[:19]} UTC is in the future; this is the current state\n")
        at = max(last)
    screen.line(screen.paint(f"{day_time(at)[:19]} UTC, after {was.events:,} events", "bold"))
    for title, headings, rows in _tables(was, at, machine):
        if rows:
            screen.line("\n".join(["", screen.paint(title, "bold"), *table_lines(headings, rows, screen)]))
    return DONE


def _noting(events: Iterable[Told], last: list[float]) -> Iterator[Told]:
    """The events, and when the last of them was. A store may come from a machine whose clock is ahead of ours."""
    for event, message in events:
        last[1:] = [event.at]
        yield event, message


Table = tuple[str, tuple[str, ...], list[Row]]


def _tables(was: TimeTravelState, at: float, machine: TaskStateMachine) -> Iterator[Table]:
    lying = list(was.deliveries())
    depths = Counter((delivery.inbox, delivery.state) for delivery, _ in lying)
    yield (
        "Team",
        ("name", "role", "state", "waiting", "leased", "reads"),
        [_member_row(member, depths) for member in was.members.values()],
    )
    yield (
        "Inboxes" if len(lying) <= DELIVERIES_SHOWN_MAX else f"Inboxes, the first {DELIVERIES_SHOWN_MAX}",
        ("inbox", "id", "priority", "type", "from", "age", "tries", "state"),
        [_delivery_row(*one, at) for one in sorted(lying, key=lambda one: one[0].inbox)[:DELIVERIES_SHOWN_MAX]],
    )
    yield (
        "Contracts",
        ("plan", "rev", "for", "by", "done", "objective"),
        [_plan_row(plan) for plan in plans_in(was)],
    )
    approvals: list[Approval] = was.of_kind("approval")
    yield (
        "Approvals",
        ("id", "decision", "from", "kind", "subject"),
        [
            (
                shown(approval.request.id),
                decision(approval),
                shown(approval.request.by),
                shown(approval.request.kind),
                shown(approval.request.subject),
            )
            for approval in approvals
        ],
    )
    yield (
        "Tasks",
        ("task", "state", "with", "title"),
        [
            (shown(task.id), shown(standing(machine, task.steps).state), shown(task.assigned_to), shown(task.title))
            for task in tasks_in(was)
        ],
    )


def plans_in(was: TimeTravelState) -> list[Plan]:
    plans: list[Plan] = was.of_kind("plan")
    return [plan for plan in plans if plan.revisions]


def tasks_in(was: TimeTravelState) -> list[Task]:
    tasks: list[Task] = was.of_kind("task")
    return [task for task in tasks if task.moves]


def _member_state(member: Member) -> str:
    return "shut down" if member.stopped_at is not None else "left" if member.left_at is not None else "here"


def _member_row(member: Member, depths: Counter[tuple[str, Any]]) -> Row:
    waiting, leased = (depths[member.name, state] for state in ("stored", "leased"))
    reads = ", ".join(map(shown, member.dialects)) or "anything"
    return (shown(member.name), shown(member.role), _member_state(member), waiting, leased, reads)


def _delivery_row(delivery: Delivery, message: Message, at: float) -> Row:
    return (
        shown(delivery.inbox),
        shown(message.id),
        PRIORITIES[delivery.rank],
        shown(message.type or message.dialect or "text"),
        shown(message.sender),
        ago(message.at, at),
        delivery.attempts,
        state_of(delivery, at),
    )


def _plan_row(plan: Plan) -> Row:
    last = plan.revisions[-1]
    done = f"{sum(task in plan.done for task in last.words.tasks)}/{len(last.words.tasks)}"
    return (shown(plan.id), last.number, shown(", ".join(plan.to)), shown(last.by), done, shown(last.words.objective))


# --- for programs -----------------------------------------------------------------------------------------------------


def _facts(was: TimeTravelState, machine: TaskStateMachine) -> Iterator[dict[str, Any]]:
    """A line for each thing, `what` saying what it is; topics of the work with nothing left out."""
    for member in was.members.values():
        state = _member_state(member)
        yield {"what": "member", "name": member.name, "role": member.role, "state": state, "reads": member.dialects}
    for delivery, message in was.deliveries():
        yield {
            "what": "delivery",
            "inbox": delivery.inbox,
            "id": message.id,
            "dialect": message.dialect,
            "type": message.type,
            "from": message.sender,
            "at": stamp(message.at),
            "state": delivery.state,
            "due_at": stamp(delivery.due_at),
            "attempts": delivery.attempts,
            "holder": delivery.holder,
        }
    for topic, state in was.book.items():
        facts = {"what": "topic", "topic": topic, "state": _plain(state)}
        yield facts | {"stands": standing(machine, state.steps).state} if isinstance(state, Task) else facts


def _plain(value: Any) -> Any:
    """A value of the work state as JSON."""
    if hasattr(value, "_asdict"):
        return {name: _plain(one) for name, one in value._asdict().items()}
    if isinstance(value, Mapping):
        return {str(name): _plain(one) for name, one in value.items()}
    if isinstance(value, Collection) and not isinstance(value, str):
        return [_plain(one) for one in value]
    return value
