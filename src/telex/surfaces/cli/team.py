"""`telex team`: members, presence and inboxes; join, leave and shutdown."""

import sys
import time
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import click

from telex.errors import NotAMember
from telex.model.finding import Finding
from telex.model.named_tuple import NamedTuple
from telex.model.roster import roster_of
from telex.model.work import TOPIC, UNSETTLED, MemberShutdown, ShutdownReport
from telex.ports.bus import Presence
from telex.surfaces.cli.connection import (
    AGENT,
    MEMORY,
    opened,
    opened_to_look,
    settings_here,
    store_there,
)
from telex.surfaces.cli.options import (
    BUS,
    COMPLETERS,
    agent_option,
    command,
    flag,
    grouped,
    listing_group,
    seconds_option,
    store_option,
    text_option,
)
from telex.surfaces.cli.output import Screen, print_json, refused_lines, shown
from telex.surfaces.cli.render import (
    Columns,
    ago,
    columns_lines,
    fields,
    optional_stamp,
    print_list,
    print_one,
    table_lines,
)
from telex.surfaces.cli.usage import DONE, REFUSED, TIMED_OUT, CommandError

if TYPE_CHECKING:
    from telex.client import SyncBus
    from telex.config import Settings

name_argument = click.argument("name", metavar="NAME", shell_complete=COMPLETERS["agents"])


READS = "Dialects it reads, preferred first, such as vbw-typed@2.0; any if not given."


@listing_group("team", [flag("--example", "Print a starter telex.toml."), *BUS])
def team_command(example: bool, store: str | None, as_json: bool) -> int:
    """Show the team: names, roles, dialects, presence and waiting messages."""
    if example:
        from telex.config.settings import example as text

        sys.stdout.write(text())
        return DONE
    settings = settings_here()
    with opened(_place(store, settings), settings, to_show=True) as bus:
        roster, shutdowns = bus.roster(), bus.work_state("shutdown")
    now = time.time()
    name = Screen(sys.stdout).paint(shown(settings.team_name), "bold") if settings.team_name else ""
    return print_list(
        roster,
        as_json,
        facts=_presence_facts,
        columns={
            "name": lambda presence: presence.member.name,
            "role": lambda presence: presence.member.role,
            "state": lambda presence: _state(presence, now),
            "waiting": lambda presence: presence.waiting,
            "leased": lambda presence: presence.leased,
            "oldest": lambda presence: ago(presence.oldest_at, now) if presence.oldest_at is not None else "",
            "reads": lambda presence: ", ".join(presence.member.dialects) or "anything",
        },
        empty="no members yet; every role is an address: telex dialects NAME lists them",
        around=([name, ""] if name else [], _shutdown_in_progress(roster, shutdowns, now)),
    )


@command(
    "join",
    [
        name_argument,
        text_option("--role", "ROLE", "Its role; its name, if that is a role.", complete="roles"),
        click.option("--reads", metavar="DIALECT", multiple=True, shell_complete=COMPLETERS["dialects"], help=READS),
        text_option("--as", "NAME", "Who adds it; a lead or human, if it was shut down.", "by", "agents", envvar=AGENT),
        *BUS,
    ],
    group=team_command,
)
def join(store: str | None, as_json: bool, *, name: str, reads: tuple[str, ...], **more: str | None) -> int:
    """Add an agent to the team. One that has shut down is added by a lead or a person."""
    with opened(store) as bus:
        try:
            member = bus.join(name, dialects=reads, **more)
        except NotAMember as error:
            if error.finding is None:
                raise
            return _print_refused(error.finding, as_json)
    words = f"{shown(member.name)} is in the team as {shown(member.role)}"
    facts = {"joined": True, "name": member.name, "role": member.role, "reads": list(member.dialects)}
    return print_one(facts, words, as_json)


def _print_refused(finding: Finding, as_json: bool) -> int:
    if as_json:
        print_json({"joined": False, "findings": [finding._asdict()]})
    screen = Screen(sys.stderr)
    screen.line(*refused_lines((finding,), screen))
    return REFUSED


@command("leave", [name_argument, *BUS], group=team_command)
def leave(name: str, store: str | None, as_json: bool) -> int:
    """Remove an agent from the team. Its waiting messages are withdrawn and their senders notified."""
    with opened_to_look(store) as bus:
        withdrawn = bus.leave(name)
    left = f"; {withdrawn} {'message' if withdrawn == 1 else 'messages'} withdrawn" if withdrawn else ""
    return print_one({"name": name, "withdrawn": withdrawn}, f"{shown(name)} has left{left}", as_json)


@command(
    "up",
    [
        click.argument("file", metavar="[team.toml]", default="team.toml"),
        text_option("--session", "NAME", "Name of the tmux session; as in the file, or telex, if not given."),
        flag("--dry-run", "Print the tmux commands and start nothing."),
        store_option,
    ],
    group=team_command,
)
def up(file: str, session: str | None, dry_run: bool, store: str | None) -> int:
    """Start the agents of a team file in tmux panes, with their names, roles and prompts."""
    from telex.surfaces.cli.run import team_up

    return team_up(file, session=session, dry_run=dry_run, store=store)


def _place(store: str | None, settings: "Settings") -> str | None:
    """Declared members are listed before there is a store; none is created for that."""
    try:
        store_there(store)
    except CommandError as error:
        if not settings.members:
            raise
        sys.stderr.write(f"{error.say}\n")
        return MEMORY
    return store


def _state(presence: Presence, now: float) -> str:
    seen = presence.member.seen_at
    return f"silent for {ago(seen, now)}" if presence.state == "silent" and seen is not None else presence.state


def _presence_facts(presence: Presence) -> dict[str, Any]:
    member = presence.member
    return {
        "name": member.name,
        "role": member.role,
        "reads": list(member.dialects),
        "declared": member.declared,
        "state": presence.state,
        "seen_at": optional_stamp(member.seen_at),
        **fields(presence, "waiting leased"),
        "oldest_at": optional_stamp(presence.oldest_at),
    }


def _shutdown_in_progress(roster: list[Presence], shutdowns: dict[str, Any], now: float) -> list[str]:
    if not shutdowns:
        return []
    from telex.work.shutdown import in_progress

    members = list(in_progress(shutdowns[TOPIC], roster_of(presence.member for presence in roster)))
    calls = [member.call for member in members if member.state in UNSETTLED and member.call is not None]
    if not calls:
        return []
    last = max(calls, key=lambda call: call.at)
    since = f"{shown(last.by)} asked for a shutdown {ago(last.at, now)} ago"
    return ["", f"{since} ({shown(last.reason)}): {_answer_counts(members)}"]


# --- shutdown ---------------------------------------------------------------------------------------------------------

DEADLINE_SECONDS = 60.0
_STATES = {  # text for the agents in each state
    "approved": "agreed",
    "refused": "refused",
    "silent": "not answered",
    "not asked": "not asked",
    "forced": "forced",
    "left": "left",
}


class ShutdownOptions(NamedTuple):
    agent: str
    reason: str | None
    deadline: float | None
    team: str | None


@command(
    "shutdown",
    [
        agent_option,
        text_option("--reason", "REASON", "Why: phase_complete, plan_complete or user_abort."),
        seconds_option("--deadline", f"Seconds to wait for the answers; {DEADLINE_SECONDS:g} if not given."),
        flag("--force", "Stop agents that refuse or do not answer, too; those asked before at once."),
        flag("--no-wait", "Ask and print the current state without waiting."),
        text_option("--team", "NAME", "Team name; as in telex.toml if not given."),
        store_option,
        flag("--json", "Print the report as JSON.", "as_json"),
        grouped(request=ShutdownOptions),
    ],
    group=team_command,
)
def shutdown(request: ShutdownOptions, force: bool, no_wait: bool, store: str | None, as_json: bool) -> int:
    """Ask all agents to shut down, wait for their answers, and dissolve the team when all have agreed.

    Running it again continues a shutdown. A stopped agent sends and receives nothing more.
    """
    if request.reason is None:
        raise CommandError("give the reason: telex team shutdown --reason phase_complete, plan_complete or user_abort")
    settings = settings_here()
    request = request._replace(
        team=request.team or settings.team_name,
        deadline=DEADLINE_SECONDS if request.deadline is None else request.deadline,
    )
    with opened_to_look(store, settings) as bus:
        report = _shut_down(bus, request._asdict(), force=force, wait=not no_wait)
    if as_json:
        print_json(_report_facts(report))
    else:
        _print_report(report)
    if report.findings:
        return REFUSED
    if report.dissolved or no_wait:
        return DONE
    return REFUSED if not report.of("silent", "not asked") else TIMED_OUT


def _shut_down(bus: "SyncBus", request: dict[str, Any], *, force: bool, wait: bool) -> ShutdownReport:
    """Ask, print for how many agents it waits, then wait. With force one call decides for which agents it waits."""
    if not wait or not request["deadline"] or force:
        return bus.shut_down(**request, force=force, wait=wait)
    report = bus.shut_down(**request, wait=False)
    if report.findings or report.dissolved:
        return report
    if count := len(report.of("silent")):
        sys.stderr.write(f"waiting up to {request['deadline']:g} s for {count} {'agent' if count == 1 else 'agents'}\n")
    return bus.shut_down(**request)


def _print_report(report: ShutdownReport) -> None:
    if report.findings:
        screen = Screen(sys.stderr)
        screen.line(*refused_lines(report.findings, screen))
        return
    screen = Screen(sys.stdout)
    verdict = screen.paint("dissolved", "green") if report.dissolved else screen.paint("not dissolved", "yellow")
    screen.line(f"{verdict}: {_answer_counts(report.agents)}" if report.agents else "the team has no other member")
    if report.agents:
        screen.line("", *_agent_table(report, screen))
    if report.returned:
        rows = [(message.id, message.type or "text", message.sender, message.inbox) for message in report.returned]
        screen.line("", *table_lines(("returned", "type", "from", "was for"), rows, screen))
    if not report.dissolved:
        sys.stderr.write("run telex team shutdown again to ask them once more, or with --force to stop them\n")


def _answer_counts(agents: Iterable[MemberShutdown]) -> str:
    """`42 agreed, 3 refused, 5 not answered`"""
    states = [agent.state for agent in agents]
    parts = [f"{states.count(state)} {words}" for state, words in _STATES.items() if state in states]
    return ", ".join(parts) or "no agent was asked"


def _agent_table(report: ShutdownReport, screen: Screen) -> list[str]:
    returned = [message.inbox for message in report.returned]
    columns: Columns[MemberShutdown] = {
        "name": lambda agent: agent.member.name,
        "role": lambda agent: agent.member.role,
        "answer": lambda agent: agent.state,
        "status": lambda agent: agent.answer.status if agent.answer is not None else "",
        "returned": lambda agent: returned.count(agent.member.name),
        "pending work": lambda agent: agent.answer.pending if agent.answer is not None else "",
    }
    return columns_lines(columns, report.agents, screen)


def _report_facts(report: ShutdownReport) -> dict[str, Any]:
    return {
        "dissolved": report.dissolved,
        "by": report.by,
        "requests": list(report.requests),
        "agents": [_agent_facts(agent) for agent in report.agents],
        "returned": [message._asdict() for message in report.returned],
        "findings": [finding._asdict() for finding in report.findings],
    }


def _agent_facts(agent: MemberShutdown) -> dict[str, Any]:
    return {
        "name": agent.member.name,
        "role": agent.member.role,
        "state": agent.state,
        "request": agent.call.id if agent.call is not None else None,
        "status": agent.answer.status if agent.answer is not None else None,
        "pending_work": agent.answer.pending if agent.answer is not None else None,
    }
