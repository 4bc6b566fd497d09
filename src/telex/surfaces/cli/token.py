"""`telex token`: create, list and revoke tokens for the hub."""

import re
import sys
import time
from typing import TYPE_CHECKING, Any

import click

from telex.delivery.membership import name_not_allowed
from telex.model.named_tuple import NamedTuple
from telex.model.roster import AGENT as ROLELESS
from telex.model.roster import HUMAN
from telex.surfaces.cli.connection import MEMORY, explained, settings_here, store_path
from telex.surfaces.cli.options import BUS, command, command_group, flag, grouped, text_option
from telex.surfaces.cli.output import did_you_mean, print_json, shown
from telex.surfaces.cli.render import ago, fields, moment, optional_stamp, print_list, print_one, stamp
from telex.surfaces.cli.usage import DONE, NOT_FOUND, REFUSED, CommandError
from telex.validation.authorization import normalised

if TYPE_CHECKING:
    from telex.config import Settings
    from telex.surfaces.http.tokens import Token, TokenFile

_SPAN = re.compile(r"(\d{1,6})\s*(m|h|d)\Z")
VIEWER_SECONDS = 86_400.0
_SECONDS = {"m": 60.0, "h": 3_600.0, "d": 86_400.0}


class TokenOwner(NamedTuple):
    """Holder of a new token."""

    agent: str | None
    role: str | None
    operator: bool
    viewer: bool
    conversation: str | None


@command_group("token")
def token_command() -> int:
    """Create, list and revoke tokens for the hub.

    Clients on other machines need one. It is bound to a name and a role.
    """
    return DONE


@command(
    "create",
    [
        text_option("--agent", "NAME", "Agent that uses it; it acts under this name only.", complete="agents"),
        text_option("--role", "ROLE", "Its role; its name, if that is a role.", complete="roles"),
        flag("--operator", "For a person: may act under any name and manage the hub."),
        flag("--viewer", "May read, and nothing else; for 24 hours if --expires is not given."),
        text_option("--conversation", "ID", "With --viewer: the only conversation that it may read."),
        text_option("--expires", "WHEN", "Expiry: 12h, 30d, or 2026-01-31T09:30:00Z."),
        *BUS,
        grouped(owner=TokenOwner),
    ],
    group=token_command,
)
def create(owner: TokenOwner, expires: str | None, store: str | None, as_json: bool) -> int:
    """Create a token. It is printed once; only its hash is stored."""
    from telex.surfaces.http.tokens import new_token, new_viewer_token

    settings, now = settings_here(), time.time()
    expires_at = None if expires is None else _moment(expires, now)
    if owner.viewer:
        _require_no_owner(owner)
        until = now + VIEWER_SECONDS if expires_at is None else expires_at
        token, text = new_viewer_token(conversation=owner.conversation, now=now, expires_at=until)
    else:
        if owner.conversation is not None:
            raise CommandError("--conversation goes with --viewer: other tokens are for the whole team")
        name, role = _bound_to(owner.agent, owner.role, owner.operator, settings)
        token, text = new_token(agent=name, role=role, operator=owner.operator, now=now, expires_at=expires_at)
    with explained():
        _file(store).add(token)
    if as_json:
        print_json({"token": text} | _facts(token, now))
    else:
        sys.stdout.write(text + "\n")
        sys.stderr.write(f"created {token.id} for {_whose(token)}{_until(token)}; it is shown only once\n")
    return DONE


@command("list", [*BUS], group=token_command)
def list_(store: str | None, as_json: bool) -> int:
    """List the tokens and whether they are valid."""
    with explained():
        tokens, now = list(_file(store).tokens().values()), time.time()
    return print_list(
        tokens,
        as_json,
        facts=lambda token: _facts(token, now),
        columns={
            "id": lambda token: token.id,
            "name": lambda token: token.agent or (HUMAN if token.operator else ""),
            "role": lambda token: token.role or "",
            "may act as": _may_act_as,
            "age": lambda token: ago(token.made_at, now),
            "state": lambda token: "over" if token.is_over(now) else "valid",
            "": lambda token: _until(token).strip(", "),
        },
        empty="no tokens: telex token create creates one",
    )


@command("revoke", [click.argument("id", metavar="ID"), *BUS], group=token_command)
def revoke(id: str, store: str | None, as_json: bool) -> int:
    """Revoke a token. A running hub refuses it at once."""
    if "_" in id:  # the secret itself; it is not repeated here
        raise CommandError("give the id of the token, not its secret: telex token list shows it")
    with explained():
        gone = _file(store).revoke(id)
    if gone is None:
        raise CommandError(f"no token {shown(id)}: telex token list shows them", NOT_FOUND)
    return print_one({"id": gone.id, "revoked": True}, f"revoked {gone.id}, which was for {_whose(gone)}", as_json)


# --- options ----------------------------------------------------------------------------------------------------------
def _file(store: str | None) -> "TokenFile":
    from telex.surfaces.http.tokens import TokenFile, tokens_path

    path = store_path(store)
    if path == MEMORY:
        raise CommandError("an in-memory store has no tokens: give a file with --store")
    return TokenFile(tokens_path(path))


def _require_no_owner(owner: TokenOwner) -> None:
    given = [f"--{name}" for name in ("agent", "role", "operator") if getattr(owner, name)]
    if given:
        raise CommandError(f"{given[0]} does not go with --viewer: a viewer has no name and changes nothing")


def _bound_to(
    agent: str | None, role: str | None, operator: bool, settings: "Settings"
) -> tuple[str | None, str | None]:
    """The normalised name and role. An operator's token needs neither."""
    if agent is None:
        if not operator:
            owner = "telex token create --agent NAME --role ROLE, --operator for a person, or --viewer to read only"
            raise CommandError(f"give the owner: {owner}")
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
        raise CommandError(f"no member {shown(name)} in telex.toml; {did_you_mean(name, declared)}", REFUSED)
    known = dict.fromkeys(
        [*(normalised(role) for dialect in settings.dialects() for role in dialect.roles), HUMAN, ROLELESS]
    )
    taken = normalised(role) if role is not None else declared.get(name, name)
    if name in declared and taken != declared[name]:
        raise CommandError(f"role-differs: {shown(name)} is {declared[name]} in telex.toml; leave out --role", REFUSED)
    if taken in known or name in declared:
        return taken
    if role is None:
        raise CommandError(f"give the role of {shown(name)}: telex token create --agent {shown(name)} --role ROLE")
    raise CommandError(f"role-unknown: no dialect has a role {shown(taken)}; {did_you_mean(taken, known)}", REFUSED)


def _moment(text: str, now: float) -> float:
    span = _SPAN.match(text.strip())
    at = now + float(span[1]) * _SECONDS[span[2]] if span else moment(text, "--expires")
    if at <= now:
        raise CommandError(f"--expires {shown(text)} is in the past: give a future time, such as 30d")
    return at


# --- text and JSON ----------------------------------------------------------------------------------------------------
def _may_act_as(token: "Token") -> str:
    if token.viewer:
        return f"viewer of {shown(token.conversation)}" if token.conversation else "viewer"
    return "operator" if token.operator else "agent"


def _whose(token: "Token") -> str:
    if token.viewer:
        return f"a {_may_act_as(token)}"
    if token.agent is None:
        return "an operator"
    return shown(token.agent) + (" (operator)" if token.operator else f" ({token.role})")


def _until(token: "Token") -> str:
    return "" if token.expires_at is None else f", until {stamp(token.expires_at)}"


def _facts(token: "Token", now: float) -> dict[str, Any]:
    return {
        **fields(token, "id agent role operator viewer conversation"),
        "made_at": stamp(token.made_at),
        "expires_at": optional_stamp(token.expires_at),
        "valid": not token.is_over(now),
    }
