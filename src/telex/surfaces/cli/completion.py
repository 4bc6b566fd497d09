"""Shell completion. Each candidate list is cheap, creates no store and reports no errors."""

import os
from collections.abc import Iterable

import click

from telex.config import Settings, load
from telex.dialects.registry import PLAIN
from telex.errors import TelexError
from telex.surfaces.cli.exit_codes import CommandError

IDS_MAX = 50


def _going_on(begun: str, words: Iterable[str]) -> list[str]:
    return [word for word in dict.fromkeys(words) if word.startswith(begun)]


def _settings() -> Settings:
    """Those of the nearest telex.toml, unless it is wrong."""
    try:
        return load(os.getcwd())
    except TelexError:
        return Settings()


def dialects(ctx: click.Context, param: click.Parameter, begun: str) -> list[str]:
    return _going_on(begun, (dialect.name for dialect in (*_settings().dialects(), PLAIN)))


def types(ctx: click.Context, param: click.Parameter, begun: str) -> list[str]:
    return _going_on(begun, (name for dialect in _settings().dialects() for name in dialect.types))


def roles(ctx: click.Context, param: click.Parameter, begun: str) -> list[str]:
    return _going_on(begun, (role for dialect in _settings().dialects() for role in dialect.roles))


def kinds(ctx: click.Context, param: click.Parameter, begun: str) -> list[str]:
    from telex.model.message import KINDS

    return _going_on(begun, KINDS)


def agents(ctx: click.Context, param: click.Parameter, begun: str) -> list[str]:
    """Whom telex.toml declares, or the roles, which are members by their own names, and whoever has joined."""
    settings = _settings()
    declared = [member.name for member in settings.members]
    by_default = [] if declared else [role for dialect in settings.dialects() for role in dialect.roles]
    return _going_on(begun, [*declared, *_joined(ctx), *by_default])


def _joined(ctx: click.Context) -> list[str]:
    from telex.surfaces.cli.bus_connection import opened_if_there

    try:
        with opened_if_there(ctx.params.get("store")) as bus:
            return [presence.member.name for presence in bus.roster()] if bus else []
    except CommandError:
        return []


def waiting_ids(ctx: click.Context, param: click.Parameter, begun: str) -> list[str]:
    """What lies in the inbox of whoever is asking, if it has said who it is."""
    from telex.surfaces.cli.bus_connection import opened_if_there

    agent = ctx.params.get("agent")
    try:
        with opened_if_there(ctx.params.get("store")) as bus:
            found = bus.inbox(agent, limit=IDS_MAX) if bus and agent else []
            return _going_on(begun, (message.id for _, message in found))
    except CommandError:
        return []


def dead_ids(ctx: click.Context, param: click.Parameter, begun: str) -> list[str]:
    from telex.surfaces.cli.bus_connection import opened_if_there

    try:
        with opened_if_there(ctx.params.get("store")) as bus:
            return _going_on(begun, (message.id for _, message in bus.dead_letters(limit=IDS_MAX))) if bus else []
    except CommandError:
        return []
