"""`telex team`: list the members, their presence and their inboxes; join and leave."""

import sys
import time
from typing import TYPE_CHECKING, Any

import click

from telex.model.finding import Finding
from telex.ports.bus import Presence
from telex.surfaces.cli import completion
from telex.surfaces.cli.bus_connection import AGENT, MEMORY, opened, settings_here, store_there
from telex.surfaces.cli.bus_options import lines_option, refuse_misplaced, store_option, text_option
from telex.surfaces.cli.check_output import json_line
from telex.surfaces.cli.exit_codes import DONE, REFUSED, CommandError
from telex.surfaces.cli.output import Screen, finding_lines, shown
from telex.surfaces.cli.result_output import print_list, print_one
from telex.surfaces.cli.table import table_lines
from telex.surfaces.cli.team_shutdown import command as shutdown
from telex.surfaces.cli.team_shutdown import told
from telex.surfaces.cli.time_text import ago, stamp

if TYPE_CHECKING:
    from telex.config import Settings

name_argument = click.argument("name", metavar="NAME", shell_complete=completion.agents)


@click.group("team", invoke_without_command=True)
@click.option("--example", is_flag=True, help="Print a starter telex.toml.")
@store_option
@lines_option
@click.pass_context
def command(ctx: click.Context, example: bool, store: str | None, as_json: bool) -> int:
    """Show the team: names, roles, dialects, presence and waiting messages."""
    if ctx.invoked_subcommand:
        refuse_misplaced(ctx)
        return DONE
    if example:
        from telex.config.example import example as text

        sys.stdout.write(text())
        return DONE
    settings = settings_here()
    with opened(_place(store, settings), settings, to_show=True) as bus:
        roster, shutdowns = bus.roster(), bus.work_state("shutdown")
    name = shown(settings.team_name) if settings.team_name else ""

    def lines(screen: Screen) -> list[str]:
        heading = [screen.paint(name, "bold"), ""] if name else []
        return [*heading, *_table(roster, screen), *_stopping(roster, shutdowns)]

    empty = "no members yet; every role is an address: telex dialects NAME lists them"
    return print_list(roster, as_json, facts=_facts, lines=lines, empty=empty)


@command.command("join")
@name_argument
@text_option("--role", "ROLE", "Its role; its name, if that is a role.", complete=completion.roles)
@click.option(
    "--reads", metavar="DIALECT", multiple=True, shell_complete=completion.dialects,
    help="Dialects it reads, preferred first, such as vbw-typed@2.0; any if not given.",
)  # fmt: skip
@text_option(
    "--as", "NAME", "Who adds it; a lead or human, if it was shut down.", into="by", complete=completion.agents,
    variable=AGENT,
)  # fmt: skip
@store_option
@lines_option
def join(store: str | None, as_json: bool, *, name: str, reads: tuple[str, ...], **more: str | None) -> int:
    """Add an agent to the team. One that has shut down is added by a lead or a person."""
    with opened(store) as bus:
        member = bus.join(name, dialects=reads, **more)
    if isinstance(member, Finding):
        if as_json:
            sys.stdout.write(json_line({"joined": False, "findings": [member._asdict()]}) + "\n")
        screen = Screen(sys.stderr)
        screen.line("\n".join([screen.paint("refused", "red"), *finding_lines((member,), screen)]))
        return REFUSED
    words = f"{shown(member.name)} is in the team as {shown(member.role)}"
    facts = {"joined": True, "name": member.name, "role": member.role, "reads": list(member.dialects)}
    return print_one(facts, words, as_json)


@command.command("leave")
@name_argument
@store_option
@lines_option
def leave(name: str, store: str | None, as_json: bool) -> int:
    """Remove an agent from the team. Its waiting messages are withdrawn and their senders notified."""
    store_there(store)
    with opened(store) as bus:
        withdrawn = bus.leave(name)
    left = f"; {withdrawn} {'message' if withdrawn == 1 else 'messages'} withdrawn" if withdrawn else ""
    return print_one({"name": name, "withdrawn": withdrawn}, f"{shown(name)} has left{left}", as_json)


command.add_command(shutdown)


def _place(store: str | None, settings: "Settings") -> str | None:
    """Members who are declared can be looked at before there is a store; none is made for that."""
    try:
        store_there(store)
    except CommandError as error:
        if not settings.members:
            raise
        sys.stderr.write(f"{error.say}\n")
        return MEMORY
    return store


def _table(roster: list[Presence], screen: Screen) -> list[str]:
    now = time.time()
    rows = [
        (
            shown(member.name),
            shown(member.role),
            _state(presence, now),
            presence.waiting,
            presence.leased,
            ago(presence.oldest_at, now) if presence.oldest_at is not None else "",
            ", ".join(map(shown, member.dialects)) or "anything",
        )
        for presence in roster
        for member in (presence.member,)
    ]
    return table_lines(("name", "role", "state", "waiting", "leased", "oldest", "reads"), rows, screen)


def _stopping(roster: list[Presence], shutdowns: dict[str, Any]) -> list[str]:
    """A line about the shutdown that is under way, if one is."""
    if not shutdowns:
        return []
    from telex.model.roster import roster_of
    from telex.model.shutdown import TOPIC, UNSETTLED
    from telex.work.shutdown import in_progress

    member_shutdowns = list(in_progress(shutdowns[TOPIC], roster_of(presence.member for presence in roster)))
    calls = [
        member_shutdown.call
        for member_shutdown in member_shutdowns
        if member_shutdown.state in UNSETTLED and member_shutdown.call is not None
    ]
    if not calls:
        return []
    last = max(calls, key=lambda call: call.at)
    since = ago(last.at, time.time())
    return [
        "",
        f"{shown(last.by)} asked for a shutdown {since} ago ({shown(last.reason)}): {told(member_shutdowns)}",
    ]


def _state(presence: Presence, now: float) -> str:
    seen = presence.member.seen_at
    return f"silent for {ago(seen, now)}" if presence.state == "silent" and seen is not None else presence.state


def _facts(presence: Presence) -> dict[str, Any]:
    member = presence.member
    return {
        "name": member.name,
        "role": member.role,
        "reads": list(member.dialects),
        "declared": member.declared,
        "state": presence.state,
        "seen_at": stamp(member.seen_at) if member.seen_at is not None else None,
        "waiting": presence.waiting,
        "leased": presence.leased,
        "oldest_at": stamp(presence.oldest_at) if presence.oldest_at is not None else None,
    }
