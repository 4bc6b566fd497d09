"""`telex token`: create, list and revoke tokens for the hub."""

import re
import sys
import time
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from telex.delivery.membership import name_not_allowed
from telex.model.roster import AGENT as ROLELESS
from telex.model.roster import HUMAN
from telex.model.text import nearest
from telex.surfaces.cli import completion
from telex.surfaces.cli.bus_connection import MEMORY, explained, settings_here, store_path
from telex.surfaces.cli.bus_options import lines_option, store_option, text_option
from telex.surfaces.cli.check_output import json_line
from telex.surfaces.cli.exit_codes import DONE, NOT_FOUND, REFUSED, CommandError
from telex.surfaces.cli.output import shown
from telex.surfaces.cli.result_output import print_list, print_one
from telex.surfaces.cli.table import table_lines
from telex.surfaces.cli.time_text import ago, moment, stamp
from telex.validation.authorization import normalised

if TYPE_CHECKING:
    from telex.config import Settings
    from telex.surfaces.http.token_file import TokenFile
    from telex.surfaces.http.tokens import Token

_SPAN = re.compile(r"(\d{1,6})\s*(m|h|d)\Z")
_SECONDS = {"m": 60.0, "h": 3_600.0, "d": 86_400.0}


@click.group("token")
def command() -> None:
    """Create, list and revoke tokens for the hub.

    Clients on other machines need one. It is bound to a name and a role.
    """


@command.command("create")
@text_option("--agent", "NAME", "Agent that uses it; it acts under this name only.", complete=completion.agents)
@text_option("--role", "ROLE", "Its role; its name, if that is a role.", complete=completion.roles)
@click.option("--operator", is_flag=True, help="For a person: may act under any name and manage the hub.")
@text_option("--expires", "WHEN", "Expiry: 12h, 30d, or 2026-01-31T09:30:00Z.")
@store_option
@lines_option
def create(
    agent: str | None, role: str | None, operator: bool, expires: str | None, store: str | None, as_json: bool
) -> int:
    """Create a token. It is printed once; only its hash is stored."""
    from telex.surfaces.http.tokens import new_token

    settings, now = settings_here(), time.time()
    name, role = _bound_to(agent, role, operator, settings)
    expires_at = None if expires is None else _moment(expires, now)
    with explained():
        file = _file(store)
        token, text = new_token(agent=name, role=role, operator=operator, now=now, expires_at=expires_at)
        file.add(token)
    if as_json:
        sys.stdout.write(json_line({"token": text} | _facts(token, now)) + "\n")
    else:
        sys.stdout.write(text + "\n")
        sys.stderr.write(f"created {token.id} for {_whose(token)}{_until(token)}; it is shown only once\n")
    return DONE


@command.command("list")
@store_option
@lines_option
def list_(store: str | None, as_json: bool) -> int:
    """List the tokens and whether they are valid."""
    with explained():
        tokens, now = list(_file(store).tokens().values()), time.time()
    rows = [
        (token.id, shown(token.agent or HUMAN), shown(token.role or ""), "operator" if token.operator else "agent",
         ago(token.made_at, now), "over" if token.is_over(now) else "valid", _until(token).strip(", "))
        for token in tokens
    ]  # fmt: skip
    lines = partial(table_lines, ("id", "name", "role", "may act as", "age", "state", ""), rows)
    empty = "no tokens: telex token create creates one"
    return print_list(tokens, as_json, facts=lambda token: _facts(token, now), lines=lines, empty=empty)


@command.command("revoke")
@click.argument("id", metavar="ID")
@store_option
@lines_option
def revoke(id: str, store: str | None, as_json: bool) -> int:
    """Revoke a token. A running hub refuses it at once."""
    if "_" in id:  # the token itself: it has been on a command line now, and is not repeated here
        raise CommandError("give the id of the token, not its secret: telex token list shows it")
    with explained():
        gone = _file(store).revoke(id)
    if gone is None:
        raise CommandError(f"no token {shown(id)}: telex token list shows them", NOT_FOUND)
    return print_one({"id": gone.id, "revoked": True}, f"revoked {gone.id}, which was for {_whose(gone)}", as_json)


# --- what is asked for ------------------------------------------------------------------------------------------------


def _file(store: str | None) -> "TokenFile":
    from telex.surfaces.http.token_file import TokenFile, tokens_path

    path = store_path(store)
    if path == MEMORY:
        raise CommandError("an in-memory store has no tokens: give a file with --store")
    return TokenFile(tokens_path(path))


def _bound_to(
    agent: str | None, role: str | None, operator: bool, settings: "Settings"
) -> tuple[str | None, str | None]:
    """The name and the role, as they are compared. A person's token may do without.

    Raises:
        CommandError: they are missing, or nobody may have them.
    """
    if agent is None:
        if not operator:
            raise CommandError(
                "give the owner: telex token create --agent NAME --role ROLE, or --operator for a person"
            )
        if role is not None:
            raise CommandError("--role goes with --agent: an operator acts under any name")
        return None, None
    name = normalised(agent)
    finding = name_not_allowed(name, settings.limits)
    if finding is not None:
        raise CommandError(f"{finding.code}: {shown(finding.say)}", REFUSED)
    taken = _role(name, role, settings)
    if HUMAN in (name, taken) and not operator:
        raise CommandError(f"{HUMAN} is a person: add --operator", REFUSED)
    return name, taken


def _role(name: str, role: str | None, settings: "Settings") -> str:
    declared = {member.name: member.role for member in settings.members}
    if declared and name not in declared and name != HUMAN:
        meant = nearest(name, list(declared))
        raise CommandError(
            f"no member {shown(name)} in telex.toml" + (f"; did you mean {meant}?" if meant else ""),
            REFUSED,
        )
    known = dict.fromkeys([*(normalised(one) for each in settings.dialects() for one in each.roles), HUMAN, ROLELESS])
    taken = normalised(role) if role is not None else declared.get(name, name)
    if name in declared and taken != declared[name]:
        raise CommandError(f"role-differs: {shown(name)} is {declared[name]} in telex.toml; leave out --role", REFUSED)
    if taken in known or name in declared:
        return taken
    if role is None:
        raise CommandError(f"give the role of {shown(name)}: telex token create --agent {shown(name)} --role ROLE")
    meant = nearest(taken, list(known))
    perhaps = f"did you mean {meant}?" if meant else f"there are {', '.join(known)}"
    raise CommandError(f"role-unknown: no dialect has a role {shown(taken)}; {perhaps}", REFUSED)


def _moment(text: str, now: float) -> float:
    span = _SPAN.match(text.strip())
    at = now + float(span[1]) * _SECONDS[span[2]] if span else moment(text, "--expires")
    if at <= now:
        raise CommandError(f"--expires {shown(text)} is in the past: give a future time, such as 30d")
    return at


# --- what is told -----------------------------------------------------------------------------------------------------


def _whose(token: "Token") -> str:
    if token.agent is None:
        return "an operator"
    return shown(token.agent) + (" (operator)" if token.operator else f" ({token.role})")


def _until(token: "Token") -> str:
    return "" if token.expires_at is None else f", until {stamp(token.expires_at)}"


def _facts(token: "Token", now: float) -> dict[str, Any]:
    return {
        "id": token.id,
        "agent": token.agent,
        "role": token.role,
        "operator": token.operator,
        "made_at": stamp(token.made_at),
        "expires_at": None if token.expires_at is None else stamp(token.expires_at),
        "valid": not token.is_over(now),
    }
