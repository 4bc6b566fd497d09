"""`telex replay`: run a log against these settings, or show the state at an earlier time."""

import gc
import os
import sys
import time
from collections.abc import Iterable
from itertools import chain
from typing import TYPE_CHECKING, Any

import click

from telex.model.message import COMING_AND_GOING, Event
from telex.model.roster import Member
from telex.ports.store import Query
from telex.record.export import InvalidLine
from telex.replay.reader import Line, LogEntry, line_reader, of_store
from telex.replay.report import RefusalReason, ReplayCounts, ReplayReport
from telex.replay.simulate import Simulator
from telex.surfaces.cli.bus_connection import explained, opened_to_look, settings_here, stay_for_long, store_in
from telex.surfaces.cli.bus_options import lines_option, store_option, text_option
from telex.surfaces.cli.check_output import json_line
from telex.surfaces.cli.exit_codes import DONE, FAILED, NOT_FOUND, REFUSED, CommandError
from telex.surfaces.cli.inputs import STDIN, files_in, pieces
from telex.surfaces.cli.output import Screen, shown, wrapped
from telex.surfaces.cli.progress import Progress
from telex.surfaces.cli.table import Row, table_lines

if TYPE_CHECKING:
    from telex.config import Settings

REASONS_SHOWN_MAX = 50
RATE_FROM = 1_000  # messages; with fewer the rate says more about starting than about judging
NEXT_KEPT = "telex explain CODE explains a code, telex why ID and telex show ID show the message"
NEXT = "telex explain CODE explains a code, telex check FILE shows the findings of each message"


GARBAGE_AFTER = 1_000_000  # things made and not thrown away: the work grows, and hardly any of it is garbage
STEP = 256  # messages between two looks at the clock
FLAWS_SHOWN_MAX = 20
JUDGED = ("accepted", "refused", *COMING_AND_GOING)  # the kinds of events that a replay goes through
_DATABASE = b"SQLite format 3\0"
_ESCAPED_MAX = 8  # a byte of a message may take so many in a line of JSON
_AROUND_BYTES = 65_536  # what a line may have besides the message


@click.command("replay")
@click.argument("log", metavar="[LOG]", required=False)
@click.option(
    "--strict/--lenient",
    "strict",
    default=None,
    help="Whether a refusal stops a message; as in the settings if not given.",
)
@text_option("--team", "FILE", "Settings file; the nearest telex.toml if not given.")
@text_option("--until", "WHEN", "Show the state at that time: 10m, 2h, 1d, or 2026-01-31T09:30:00Z.")
@store_option
@lines_option
def command(
    log: str | None, strict: bool | None, team: str | None, until: str | None, store: str | None, as_json: bool
) -> int:
    """Replay a log under other settings and report what would be refused.

    LOG is a store, the folder that has one, the address of a hub, an export (telex log --export), log records, or a
    file with a message on every line; - is stdin. Without it, the project's store is replayed. The log itself stays
    as it is.

    With --until nothing is judged: inboxes, contracts, approvals, tasks and the team are shown as they were.
    """
    if not gc.isenabled():  # see main: nobody else is at home
        gc.set_threshold(GARBAGE_AFTER)
    stay_for_long()
    if until is not None:
        from telex.surfaces.cli.replay_time_travel import show

        if log is not None or team is not None or strict is not None:
            raise CommandError("--until shows a store as it was, and goes with --store only")
        return show(until, store, as_json)
    if log is not None and store is not None:
        raise CommandError("name a LOG or a --store, not both")
    settings = _settled(team, strict)
    place = _store_at(log) if log is not None else store
    if log is not None and place is None:
        with explained():
            replay = _Replay(settings, [log])
            replay.file(log)
            return replay.told(as_json)
    with opened_to_look(place) as bus:
        events = bus.events(Query(kinds=JUDGED))
        first = next(events, None)
        if first is None:
            raise CommandError("the log of this store is empty", NOT_FOUND)
        known = (presence.member for presence in bus.roster())
        # Whoever came so long ago that no event tells of it any more.
        begin = [member for member in known if member.joined_at is not None and member.joined_at < first[0].at]
        replay = _Replay(settings, [], begin)
        line = replay.line
        for event, message in chain((first,), events):
            line(of_store(event, message))
        return replay.told(as_json)


def _settled(team: str | None, strict: bool | None) -> "Settings":
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
    """Where the store is that LOG names; None: it is a file to be read."""
    if log == STDIN:
        return None
    if os.path.isdir(log):
        return store_in(log)
    if "://" in log and not os.path.exists(log):
        return log  # a hub, or something else of which the bus says that there is no such thing
    files_in([log])  # says what is there instead, where it is not
    try:
        with open(log, "rb") as file:
            return log if file.read(len(_DATABASE)) == _DATABASE else None
    except OSError as error:
        raise CommandError(f"cannot read {shown(log)}: {error.strerror}", FAILED) from error


class _Replay:
    """Replay of one log. Holds counters and the work state, not the messages."""

    def __init__(self, settings: "Settings", files: list[str], begin: Iterable[Member] = ()) -> None:
        self.settings, self.report = settings, ReplayReport()
        self.simulator = Simulator(settings.desk(), settings.members, settings.work(), settings.evidence, begin)
        self.progress, self.errors = Progress(files), Screen(sys.stderr)
        self.began = time.monotonic()
        self.messages = self.bytes_done = self.flaws = 0

    def file(self, log: str) -> None:
        line_max = self.settings.limits.message_bytes_max * _ESCAPED_MAX + _AROUND_BYTES
        read = line_reader(self.settings.dialects())
        for number, raw, size in pieces(log, line_max, lines=True):
            self.bytes_done += size
            is_too_long = size > line_max
            self.line(InvalidLine(number, "longer than any message may be") if is_too_long else read(number, raw))

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

    def told(self, as_json: bool) -> int:
        """Say what it came to. The exit code."""
        self.progress.clear()
        if self.flaws > FLAWS_SHOWN_MAX:
            self.errors.line(f"telex: and {self.flaws - FLAWS_SHOWN_MAX:,} lines more")
        report(self.report, self.flaws, time.monotonic() - self.began, self.settings.strict, as_json)
        return REFUSED if self.report.total.refused else FAILED if self.flaws else DONE


# --- report -----------------------------------------------------------------------------------------------------------


def report(account: ReplayReport, flaws: int, seconds: float, strict: bool, as_json: bool) -> None:
    total = account.total
    if as_json:
        for reason in account.reasons():
            sys.stdout.write(json_line(reason_facts(reason)) + "\n")
        sys.stdout.write(json_line(_summary_facts(account, total, flaws, strict)) + "\n")
        return
    screen = Screen(sys.stdout)
    lines = [*_by_agent(account, total, screen), ""] if total.messages else []
    reasons = account.reasons()
    if reasons:
        lines += [*_by_reason(reasons[:REASONS_SHOWN_MAX], screen), ""]
        if len(reasons) > REASONS_SHOWN_MAX:
            lines += [f"and {len(reasons) - REASONS_SHOWN_MAX:,} more; --json shows all", ""]
    rate = f"; {seconds:.1f} s, {total.messages / max(seconds, 1e-9):,.0f} messages a second"
    said = _summary(account, total, strict) + (rate if total.messages >= RATE_FROM else "")
    lines += [screen.paint(line, "bold") for line in wrapped(said, screen.width, 0)]
    screen.line("\n".join(lines))
    if reasons:
        errors = Screen(sys.stderr)
        then = NEXT_KEPT if account.kept else NEXT
        errors.line("\n".join(errors.paint(line, "dim") for line in wrapped(then, errors.width, 0)))


def _by_agent(account: ReplayReport, total: ReplayCounts, screen: Screen) -> list[str]:
    headings = ["agent", "messages", "pass", "warned", "refused"]
    if account.kept:
        headings.append("newly")
    rows = [_row(shown(agent), counts, account) for agent, counts in account.by_agent().items()]
    return table_lines(headings, rows, screen, total=_row("total", total, account))


def _row(name: str, counts: ReplayCounts, account: ReplayReport) -> Row:
    newly = (counts.newly,) if account.kept else ()
    return (name, counts.messages, counts.passed, counts.warned, counts.refused, *newly)


def _by_reason(reasons: list[RefusalReason], screen: Screen) -> list[str]:
    rows = [
        (
            shown(refusal_reason.agent),
            refusal_reason.type,
            refusal_reason.code,
            refusal_reason.times,
            shown(refusal_reason.first),
        )
        for refusal_reason in reasons
    ]
    return table_lines(("agent", "type", "code", "times", "first"), rows, screen)


def _summary(account: ReplayReport, total: ReplayCounts, strict: bool) -> str:
    """`120 messages: 118 would pass, 2 would be refused, 1 of them though accepted when sent`"""
    told = [f"{total.passed:,} would pass", f"{total.refused:,} would be refused"]
    if account.kept and total.refused:
        told.append(_newly(total))
    if total.pardoned:
        told.append(f"{total.pardoned:,} would pass that {_were(total.pardoned)} refused")
    if not strict and total.forgiven:
        told.append(f"{total.forgiven:,} only because the team is lenient")
    if account.repeated:
        told.append(f"{account.repeated:,} repeated and ignored")
    count = "1 message" if total.messages == 1 else f"{total.messages:,} messages"
    return f"{count}: {', '.join(told)}"


def _were(count: int) -> str:
    return "was" if count == 1 else "were"


def _newly(total: ReplayCounts) -> str:
    if not total.newly:
        return "as when sent"
    if total.newly == total.refused:
        return "though accepted when sent"
    return f"{total.newly:,} of them though accepted when sent"


def reason_facts(reason: RefusalReason) -> dict[str, Any]:
    return reason._asdict()


def _summary_facts(account: ReplayReport, total: ReplayCounts, flaws: int, strict: bool) -> dict[str, Any]:
    return {
        "messages": total.messages,
        "strict": strict,
        **{name: getattr(total, name) for name in ("passed", "warned", "refused", "newly", "pardoned", "forgiven")},
        "repeated": account.repeated,
        "own": account.own,
        "unread": flaws,
        "agents": {
            agent: {name: getattr(counts, name) for name in ("messages", "passed", "warned", "refused", "newly")}
            for agent, counts in account.by_agent().items()
        },
        "types": [
            {"agent": agent, "dialect": dialect, "type": type_, "passed": counts.passed, "refused": counts.refused}
            for (agent, dialect, type_), counts in account.by_type()
        ],
    }
