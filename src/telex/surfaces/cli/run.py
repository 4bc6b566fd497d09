"""`telex run`, `telex watch`, `telex wake` and `telex team up`: start clients as agents, follow an inbox, wake a
session."""

import os
import shlex
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Any

import click

from telex.bus import run_sync
from telex.errors import NotAMember
from telex.model.message import COMING_AND_GOING, Event, StoredMessage, stored_inboxes
from telex.model.roster import HUMAN, ONE_OF_ROLE
from telex.ports.store import Query
from telex.surfaces.cli.connection import AGENT, opened, opened_to_look, place_of
from telex.surfaces.cli.options import (
    BUS,
    COMPLETERS,
    agent_option,
    command,
    flag,
    json_option,
    store_option,
    text_option,
)
from telex.surfaces.cli.output import Screen, json_line, refused_lines, shown, shown_block
from telex.surfaces.cli.render import print_one, stamp, type_of
from telex.surfaces.cli.usage import DONE, FAILED, NOT_FOUND, REFUSED, TIMED_OUT, CommandError
from telex.surfaces.clients import sessions
from telex.surfaces.clients.mail import first_words, word
from telex.surfaces.clients.run import (
    SESSION_NAME,
    AgentSpec,
    TeamFileError,
    TeamSpec,
    client_words,
    environment_of,
    executable_of,
    read_team,
    telex_words,
    tmux_commands,
)
from telex.surfaces.clients.table import CLIENTS
from telex.validation.authorization import normalised

if TYPE_CHECKING:
    from telex.client import SyncBus
    from telex.surfaces.clients.wakes import WakeResult

GRACE_SECONDS_MAX = 60.0  # that `telex wake` waits


# --- watch ------------------------------------------------------------------------------------------------------------
@command("watch", [agent_option, *BUS])
def watch_command(agent: str, store: str | None, as_json: bool) -> int:
    """Print a line for each new message to an agent, until interrupted. It leases nothing and adds no member."""
    screen, name = Screen(sys.stdout), normalised(agent)
    with opened_to_look(store) as bus:
        after = next((event.seq for event, _ in bus.events(Query(newest_first=True))), 0)
        inboxes = _inboxes(bus, name)
        for event, message in bus.events(Query(after=after, kinds=("accepted", *COMING_AND_GOING)), follow=True):
            if message is None:
                inboxes = _inboxes(bus, name)
            elif own := [inbox for inbox in stored_inboxes(event, message) if inbox in inboxes]:
                screen.line(json_line(_news_facts(event, message, own[0])) if as_json else _news_line(message))
                sys.stdout.flush()
    return DONE


def _inboxes(bus: "SyncBus", name: str) -> set[str]:
    """The inboxes that an agent reads: its own, that of its role, and the one named like the role if it is free."""
    members = {presence.member.name: presence.member for presence in bus.roster() if presence.state != "shared"}
    role = members[name].role if name in members else name
    taken = role in members and members[role].joined_at is not None
    return {name, ONE_OF_ROLE + role} | (set() if taken else {role})


def _news_line(message: StoredMessage) -> str:
    id_, type_, sender = (word(name) for name in (message.id, type_of(message), message.sender))
    return f"{id_} {type_} from {sender} | {first_words(message.raw)}"


def _news_facts(event: Event, message: StoredMessage, inbox: str) -> dict[str, Any]:
    return {
        "seq": message.seq,
        "at": stamp(event.at),
        "id": message.id,
        "dialect": message.dialect,
        "type": message.type,
        "from": message.sender,
        "to": message.to,
        "inbox": inbox,
        "correlation": message.correlation,
        "words": first_words(message.raw),
    }


# --- wake -------------------------------------------------------------------------------------------------------------
@command(
    "wake",
    [
        click.argument("name", metavar="NAME", shell_complete=COMPLETERS["agents"]),
        flag("--force", "Also during quiet hours, beyond the budget, while busy, and for messages that were reported."),
        text_option("--as", "NAME", "Who wakes it; human if not given.", "by", "agents", envvar=AGENT),
        store_option,
        json_option,
    ],
)
def wake_command(name: str, force: bool, by: str | None, store: str | None, as_json: bool) -> int:
    """Wake the session of an idle agent that has unread messages.

    Exit code: 0 woken, or nothing is unread; 3 no session of it can be woken from here; 4 not now; 1 it failed.
    """
    agent = normalised(name)
    with opened_to_look(store) as bus:
        live = sessions.sessions_of(sessions.folder_of(place_of(store)), agent)
        results = [_wake(bus, store, session, by or HUMAN, force=force) for session in live]
        if not results:
            wake = bus.wake(agent, by=by or HUMAN, force=force)
            reason = "no session of it is known here" if wake.unread else ""
            words, code = _outcome(agent, wake.unread, reason), NOT_FOUND
            facts = {"agent": agent, "stage": wake.stage, "unread": wake.unread, "way": None, "failures": []}
            return _print_wake(facts, words, code if wake.unread else DONE, as_json)
    result = next((one for one in results if one.way), results[0])
    return _report_wake(agent, result, as_json)


def _wake(bus: "SyncBus", store: str | None, session: sessions.Session, by: str, *, force: bool) -> "WakeResult":
    from telex.surfaces.clients.wakes import Waker

    waker = Waker(bus.awaitable, sessions.folder_of(place_of(store)), session, by=by)
    result = run_sync(waker.wake_now(force=force))
    deliver_at = result.wake.deliver_at
    if result.wake.stage == "due" and not result.failures and deliver_at is not None:
        left = deliver_at - time.time()
        if 0 < left <= GRACE_SECONDS_MAX:
            time.sleep(left)
            return run_sync(waker.wake_now(force=force))
    return result


def _report_wake(agent: str, result: "WakeResult", as_json: bool) -> int:
    wake = result.wake
    facts = {"agent": agent, "stage": wake.stage, "unread": wake.unread, "way": result.way}
    facts |= {"failures": list(result.failures)}
    if result.way:
        return _print_wake(facts, f"{shown(agent)} woken by {result.way}: {_unread(wake.unread)}", DONE, as_json)
    if result.failures:
        return _print_wake(facts, _outcome(agent, wake.unread, "; ".join(result.failures)), FAILED, as_json)
    reason = result.waits or wake.reason or ("a wake was delivered before" if wake.stage == "delivered" else "")
    code = TIMED_OUT if wake.stage in ("due", "delivered") else DONE
    return _print_wake(facts, _outcome(agent, wake.unread, reason), code, as_json)


def _outcome(agent: str, unread: int, reason: str) -> str:
    because = f": {shown(reason)}" if reason else ""
    return f"{shown(agent)} was not woken{because}; {_unread(unread)}"


def _unread(count: int) -> str:
    return f"{count or 'nothing'} unread"


def _print_wake(facts: dict[str, Any], words: str, code: int, as_json: bool) -> int:
    print_one(facts, words, as_json)
    return code


# --- run --------------------------------------------------------------------------------------------------------------
@command(
    "run",
    [
        click.argument("client", metavar="CLIENT"),
        click.argument("args", metavar="[-- ARGS…]", nargs=-1, type=click.UNPROCESSED),
        text_option("--as", "NAME", "Its agent name; a free one such as claude-1 if not given.", "name", "agents"),
        text_option("--role", "ROLE", "Its role; its name, if that is a role.", complete="roles"),
        store_option,
    ],
)
def run_command(client: str, args: tuple[str, ...], name: str | None, role: str | None, store: str | None) -> int:
    """Start a coding tool (claude, codex, gemini, qwen, copilot, opencode) as an agent of the team.

    Arguments after -- are passed to it. In a tmux pane, tools without a socket are woken by typing into it.
    """
    program = _program(client)
    if role and not name:
        raise CommandError("--role needs --as NAME")
    environment = environment_of(os.environ, name, role)
    with opened(store) as bus:
        if name:
            _join(bus, [AgentSpec(name, client, role)])
    if store:
        environment["TELEX_STORE"] = place_of(store)
    if name and (others := sessions.sessions_of(sessions.folder_of(place_of(store)), normalised(name))):
        taken = f"{shown(name)} is taken by a live session of {others[0].client}"
        sys.stderr.write(f"{taken}: this one gets another name, such as {shown(name)}-2\n")
    sys.stdout.flush()
    sys.stderr.flush()
    try:
        os.execve(program, [CLIENTS[client].executable, *client_words(client, name), *args], environment)
    except OSError as error:
        raise CommandError(f"cannot start {shown(program)}: {error.strerror}", FAILED) from error


def _program(client: str) -> str:
    if client not in CLIENTS:
        raise CommandError(f"no client {shown(client)}: there are {', '.join(CLIENTS)}")
    program = executable_of(client)
    if program is None:
        raise CommandError(f"{client} is not installed: there is no {CLIENTS[client].executable} in PATH", NOT_FOUND)
    return program


def _join(bus: "SyncBus", agents: list[AgentSpec]) -> None:
    """Join the agents, so that others can send to them from now on."""
    for agent in agents:
        try:
            bus.join(agent.name, role=agent.role, by=HUMAN)
        except NotAMember as error:
            screen = Screen(sys.stderr)
            screen.line(*refused_lines((error.finding,) if error.finding is not None else (), screen))
            raise CommandError(f"{shown(agent.name)} cannot join the team", REFUSED) from error


# --- team up ----------------------------------------------------------------------------------------------------------
def team_up(file: str, *, session: str | None, dry_run: bool, store: str | None) -> int:
    """Start the agents of a team file in tmux."""
    team = _team(file)
    if session is not None:
        if not SESSION_NAME.match(session):
            raise CommandError("--session takes letters, digits, - and _")
        team = team._replace(session=session)
    folder, telex = os.path.dirname(os.path.abspath(file)), ["telex"] if dry_run else telex_words()
    commands = tmux_commands(team, folder, telex)
    if dry_run:
        sys.stdout.write("".join(f"{shown_block(shlex.join(words))}\n" for words in commands))
        return DONE
    for client in dict.fromkeys(agent.client for agent in team.agents):
        _program(client)
    with opened(store) as bus:
        _join(bus, list(team.agents))
    for words in commands:
        _tmux(words)
    names = ", ".join(shown(agent.name) for agent in team.agents)
    sys.stdout.write(f"started {names}\nattach with: tmux attach -t {team.session}\n")
    return DONE


def _team(file: str) -> TeamSpec:
    try:
        return read_team(file)
    except TeamFileError as error:
        raise CommandError("\n".join(f"{shown(file)}: {shown(line)}" for line in str(error).split("\n"))) from error
    except FileNotFoundError as error:
        raise CommandError(f"no such file: {shown(file)}", NOT_FOUND) from error
    except OSError as error:
        raise CommandError(f"cannot read {shown(file)}: {error.strerror}", FAILED) from error


def _tmux(words: list[str]) -> None:
    try:
        done = subprocess.run(words, capture_output=True, text=True, check=False)
    except FileNotFoundError as error:
        raise CommandError("tmux is not installed", NOT_FOUND) from error
    if done.returncode:
        raise CommandError(f"tmux: {shown(done.stderr.strip())}", FAILED)
