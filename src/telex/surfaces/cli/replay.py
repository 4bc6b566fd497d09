"""`telex replay`: run a log against these settings, or show the state at an earlier time."""

import gc
import os
import sys
import time
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from itertools import chain
from typing import TYPE_CHECKING, Any

import click

from telex.dialects.schema import PRIORITIES
from telex.model.contracts import Plan
from telex.model.message import COMING_AND_GOING, Event, StoredMessage
from telex.model.roster import Member
from telex.model.work import TASK_STATES, TaskStateMachine, standing
from telex.ports.store import Query
from telex.record import InvalidLine
from telex.replay.reader import Line, LogEntry, line_reader, of_store
from telex.replay.report import ReplayCounts, ReplayReport
from telex.replay.simulate import Simulator
from telex.replay.time_travel import TimeTravelState, as_it_was
from telex.surfaces.cli.approvals import decision
from telex.surfaces.cli.connection import explained, opened_to_look, settings_here, store_in
from telex.surfaces.cli.contract import done_of
from telex.surfaces.cli.files import STDIN, files_in, is_store, pieces
from telex.surfaces.cli.options import BUS, command, text_option
from telex.surfaces.cli.output import Screen, print_json, shown, wrapped
from telex.surfaces.cli.render import (
    Progress,
    Row,
    ago,
    day_time,
    fields,
    moment,
    stamp,
    state_of,
    table_lines,
    type_of,
)
from telex.surfaces.cli.usage import DONE, FAILED, NOT_FOUND, REFUSED, CommandError
from telex.work.approvals import Approval
from telex.work.tasks import Task

if TYPE_CHECKING:
    from telex.config import Settings

GARBAGE_AFTER = 1_000_000  # gc threshold: the state grows, and hardly any of it is garbage
STEP = 256  # messages between two updates of the progress
FLAWS_SHOWN_MAX, REASONS_SHOWN_MAX, DELIVERIES_SHOWN_MAX = 20, 50, 100
RATE_FROM = 1_000  # messages; with fewer the rate depends on the start
NEXT_STORED = "telex explain CODE explains a code, telex why ID and telex show ID show the message"
NEXT = "telex explain CODE explains a code, telex check FILE shows the findings of each message"
JUDGED = ("accepted", "refused", *COMING_AND_GOING)  # the kinds of events that a replay reads
_ESCAPED_MAX = 8  # bytes that one byte of a message may take in a line of JSON
_AROUND_BYTES = 65_536  # what a line may have besides the message


@command(
    "replay",
    [
        click.argument("log", metavar="[LOG]", required=False),
        click.option(
            "--strict/--lenient",
            "strict",
            default=None,
            help="Whether a refusal stops a message; as in the settings if not given.",
        ),
        text_option("--team", "FILE", "Settings file; the nearest telex.toml if not given."),
        text_option("--until", "WHEN", "Show the state at that time: 10m, 2h, 1d, or 2026-01-31T09:30:00Z."),
        *BUS,
    ],
)
def replay_command(
    log: str | None, strict: bool | None, team: str | None, until: str | None, store: str | None, as_json: bool
) -> int:
    """Replay a log under other settings and report the messages that would be refused.

    LOG is a store, the folder that has one, the address of a hub, an export (telex log --export), log records, or a
    file with a message on every line; - is stdin. Without it, the project's store is replayed. The log itself stays
    as it is.

    With --until no message is checked: inboxes, contracts, approvals, tasks and the team are shown as they were.
    """
    if gc.get_freeze_count():  # this process runs nothing else
        gc.set_threshold(GARBAGE_AFTER)
    if until is not None:
        if log is not None or team is not None or strict is not None:
            raise CommandError("--until shows a store as it was, and goes with --store only")
        return _show_until(until, store, as_json)
    if log is not None and store is not None:
        raise CommandError("name a LOG or a --store, not both")
    settings = _settings(team, strict)
    place = _store_at(log) if log is not None else store
    if log is not None and place is None:
        with explained():
            replay = _Replay(settings, [log])
            replay.file(log)
            return replay.finish(as_json)
    with opened_to_look(place) as bus:
        events = bus.events(Query(kinds=JUDGED))
        first = next(events, None)
        if first is None:
            raise CommandError("the log of this store is empty", NOT_FOUND)
        members = (presence.member for presence in bus.roster())
        # members that joined before the oldest event
        begin = [member for member in members if member.joined_at is not None and member.joined_at < first[0].at]
        replay = _Replay(settings, [], begin)
        for event, message in chain((first,), events):
            replay.line(of_store(event, message))
        return replay.finish(as_json)


def _settings(team: str | None, strict: bool | None) -> "Settings":
    from telex.config import load_file

    if team is None:
        settings = settings_here()
    elif not os.path.isfile(team):
        raise CommandError(f"no such file: {shown(team)}", NOT_FOUND)
    else:
        with explained():
            settings = load_file(os.path.abspath(team))
    return settings if strict is None else settings._replace(strict=strict)


def _store_at(log: str) -> str | None:
    """Path or address of the store that LOG names; None: it is a file of messages."""
    if log == STDIN:
        return None
    if os.path.isdir(log):
        return store_in(log)
    if "://" in log and not os.path.exists(log):
        return log  # a hub; the bus reports other schemes
    files_in([log])  # raises if it does not exist
    return log if is_store(log) else None


class _Replay:
    """Replay of one log. Holds counters and the work state, not the messages."""

    def __init__(self, settings: "Settings", files: list[str], begin: Iterable[Member] = ()) -> None:
        self.settings, self.report = settings, ReplayReport()
        self.simulator = Simulator(settings.policy(), settings.members, settings.work(), settings.evidence, begin)
        self.progress, self.errors = Progress(files), Screen(sys.stderr)
        self.began = time.monotonic()
        self.messages = self.bytes_done = self.flaws = 0

    def file(self, log: str) -> None:
        line_max = self.settings.limits.message_bytes_max * _ESCAPED_MAX + _AROUND_BYTES
        read = line_reader(self.settings.dialects())
        for number, raw, size in pieces(log, line_max, lines=True):
            self.bytes_done += size
            is_too_long = size > line_max
            self.line(InvalidLine(number, "longer than the largest message") if is_too_long else read(number, raw))

    def line(self, line: Line) -> None:
        if type(line) is LogEntry:
            self.report.add(line, self.simulator.send(line))
            self.messages += 1
            if not self.messages % STEP:
                self.progress.step(self.messages, self.bytes_done)
        elif isinstance(line, Event):
            self.simulator.apply(line)
        elif isinstance(line, InvalidLine):
            self.flaws += 1
            if self.flaws <= FLAWS_SHOWN_MAX:
                self.progress.clear()
                self.errors.line(f"telex: line {line.line:,} skipped: {shown(line.say)}")

    def finish(self, as_json: bool) -> int:
        """Print the report and return the exit code."""
        self.progress.clear()
        if self.flaws > FLAWS_SHOWN_MAX:
            self.errors.line(f"telex: and {self.flaws - FLAWS_SHOWN_MAX:,} lines more")
        if as_json:
            reasons = (reason._asdict() for reason in self.report.reasons())
            print_json(*reasons, _summary_facts(self.report, self.report.total, self.flaws, self.settings.strict))
        else:
            _print_report(self.report, time.monotonic() - self.began, self.settings.strict)
        return REFUSED if self.report.total.refused else FAILED if self.flaws else DONE


# --- report -----------------------------------------------------------------------------------------------------------
def _print_report(account: ReplayReport, seconds: float, strict: bool) -> None:
    screen, total, reasons = Screen(sys.stdout), account.total, account.reasons()
    lines = [*_agent_table(account, screen), ""] if total.messages else []
    if reasons:
        rows = [fields(reason, "agent type code times first").values() for reason in reasons]
        table = table_lines(
            ("agent", "type", "code", "times", "first"), list(map(tuple, rows[:REASONS_SHOWN_MAX])), screen
        )
        lines += [*table, ""]
        if len(reasons) > REASONS_SHOWN_MAX:
            lines += [f"and {len(reasons) - REASONS_SHOWN_MAX:,} more; --json shows all", ""]
    if warnings := account.warnings():
        lines += [*table_lines(("warning", "times", "first"), [tuple(warning) for warning in warnings], screen), ""]
    rate = f"; {seconds:.1f} s, {total.messages / max(seconds, 1e-9):,.0f} messages a second"
    summary = _summary(account, total, strict) + (rate if total.messages >= RATE_FROM else "")
    screen.line(*lines, *(screen.paint(line, "bold") for line in wrapped(summary, screen.width)))
    if reasons or warnings:
        errors = Screen(sys.stderr)
        hint = NEXT_STORED if account.kept else NEXT
        errors.line(*(errors.paint(line, "dim") for line in wrapped(hint, errors.width)))


def _agent_table(account: ReplayReport, screen: Screen) -> list[str]:
    names = "messages passed warned refused" + (" newly" if account.kept else "")
    headings = ("agent", *(name.replace("passed", "pass") for name in names.split()))
    rows = [(agent, *fields(counts, names).values()) for agent, counts in account.by_agent().items()]
    return table_lines(headings, rows, screen, total=("total", *fields(account.total, names).values()))


def _summary(account: ReplayReport, total: ReplayCounts, strict: bool) -> str:
    """`120 messages: 118 would pass, 2 would be refused, 1 of them though accepted when sent`"""
    parts = [f"{total.passed:,} would pass", f"{total.refused:,} would be refused"]
    if account.kept and total.refused:
        parts.append(_newly(total))
    if total.pardoned:
        parts.append(f"{total.pardoned:,} would pass that {'was' if total.pardoned == 1 else 'were'} refused")
    if not strict and total.forgiven:
        parts.append(f"{total.forgiven:,} only because the team is lenient")
    if account.repeated:
        parts.append(f"{account.repeated:,} repeated and ignored")
    count = "1 message" if total.messages == 1 else f"{total.messages:,} messages"
    return f"{count}: {', '.join(parts)}"


def _newly(total: ReplayCounts) -> str:
    if not total.newly:
        return "as when sent"
    if total.newly == total.refused:
        return "though accepted when sent"
    return f"{total.newly:,} of them though accepted when sent"


def _summary_facts(account: ReplayReport, total: ReplayCounts, flaws: int, strict: bool) -> dict[str, Any]:
    return {
        "messages": total.messages,
        "strict": strict,
        **fields(total, "passed warned refused newly pardoned forgiven"),
        "warnings": [warning._asdict() for warning in account.warnings()],
        "repeated": account.repeated,
        "own": account.own,
        "unread": flaws,
        "agents": {
            agent: fields(counts, "messages passed warned refused newly")
            for agent, counts in account.by_agent().items()
        },
        "types": [
            {"agent": agent, "dialect": dialect, "type": type_} | fields(counts, "passed refused")
            for (agent, dialect, type_), counts in account.by_type()
        ],
    }


# --- replay --until ---------------------------------------------------------------------------------------------------

Table = tuple[str, tuple[str, ...], list[Row]]  # title, headings, rows
Logged = tuple[Event, StoredMessage | None]


def _show_until(until: str, store: str | None, as_json: bool) -> int:
    settings, at = settings_here(), moment(until, "--until")
    dialects = {dialect.name: dialect for dialect in settings.dialects()}
    with opened_to_look(store, settings) as bus:
        members = [presence.member for presence in bus.roster()]
        latest = [time.time()]
        state = as_it_was(_noting(bus.events(Query(until=at)), latest), dialects, members)
    machine = settings.task_states or TASK_STATES
    if as_json:
        print_json(*_state_facts(state, machine))
        return DONE
    screen = Screen(sys.stdout)
    if not state.events:
        sys.stderr.write(f"the log has no event before {day_time(at)[:19]} UTC\n")
        return DONE
    if at > max(latest):
        sys.stderr.write(f"{day_time(at)[:19]} UTC is in the future; this is the current state\n")
        at = max(latest)
    screen.line(screen.paint(f"{day_time(at)[:19]} UTC, after {state.events:,} events", "bold"))
    for title, headings, rows in _tables(state, at, machine):
        if rows:
            screen.line("", screen.paint(title, "bold"), *table_lines(headings, rows, screen))
    return DONE


def _noting(events: Iterable[Logged], latest: list[float]) -> Iterator[Logged]:
    """The events; the time of the last goes to `latest`, as another machine's clock may be ahead of ours."""
    for event, message in events:
        latest[1:] = [event.at]
        yield event, message


def _tables(state: TimeTravelState, at: float, machine: TaskStateMachine) -> Iterator[Table]:
    deliveries = sorted(state.deliveries(), key=lambda pair: pair[0].inbox)
    depths = Counter((delivery.inbox, delivery.state) for delivery, _ in deliveries)
    rows: list[Row] = [
        (
            *(member.name, member.role, _member_state(member)),
            *(depths[member.name, "stored"], depths[member.name, "leased"]),
            ", ".join(member.dialects) or "anything",
        )
        for member in state.members.values()
    ]
    yield "Team", ("name", "role", "state", "waiting", "leased", "reads"), rows
    rows = [
        (
            *(delivery.inbox, message.id, PRIORITIES[delivery.rank], type_of(message), message.sender),
            *(ago(message.at, at), delivery.attempts, state_of(delivery, at)),
        )
        for delivery, message in deliveries[:DELIVERIES_SHOWN_MAX]
    ]
    title = "Inboxes" if len(deliveries) <= DELIVERIES_SHOWN_MAX else f"Inboxes, the first {DELIVERIES_SHOWN_MAX}"
    yield title, ("inbox", "id", "priority", "type", "from", "age", "tries", "state"), rows
    plans: list[Plan] = [plan for plan in state.of_kind("plan") if plan.revisions]
    rows = [
        (plan.id, last.number, ", ".join(plan.to), last.by, done_of(plan), last.words.objective)
        for plan in plans
        for last in plan.revisions[-1:]
    ]
    yield "Contracts", ("plan", "rev", "for", "by", "done", "objective"), rows
    approvals: list[Approval] = state.of_kind("approval")
    rows = [(ask.request.id, decision(ask), ask.request.by, ask.request.kind, ask.request.subject) for ask in approvals]
    yield "Approvals", ("id", "decision", "from", "kind", "subject"), rows
    tasks: list[Task] = [task for task in state.of_kind("task") if task.moves]
    rows = [(task.id, standing(machine, task.steps).state, task.assigned_to, task.title) for task in tasks]
    yield "Tasks", ("task", "state", "with", "title"), rows


def _member_state(member: Member) -> str:
    return "shut down" if member.stopped_at is not None else "left" if member.left_at is not None else "here"


def _state_facts(state: TimeTravelState, machine: TaskStateMachine) -> Iterator[dict[str, Any]]:
    """A line for each member, delivery and topic; `what` names the kind."""
    for member in state.members.values():
        facts = {"what": "member"} | fields(member, "name role")
        yield facts | {"state": _member_state(member), "reads": member.dialects}
    for delivery, message in state.deliveries():
        facts = {"what": "delivery", "inbox": delivery.inbox} | fields(message, "id dialect type")
        facts |= {"from": message.sender, "at": stamp(message.at), "state": delivery.state}
        yield facts | {"due_at": stamp(delivery.due_at)} | fields(delivery, "attempts holder")
    for topic, value in state.topics.items():
        facts = {"what": "topic", "topic": topic, "state": _plain(value)}
        yield facts | {"stands": standing(machine, value.steps).state} if isinstance(value, Task) else facts


def _plain(value: Any) -> Any:
    """A value of the work state as JSON."""
    if hasattr(value, "_asdict"):
        return {name: _plain(item) for name, item in value._asdict().items()}
    if isinstance(value, Mapping):
        return {str(name): _plain(item) for name, item in value.items()}
    if isinstance(value, Collection) and not isinstance(value, str):
        return [_plain(item) for item in value]
    return value
