"""Options that several commands of the bus share: agent, store, durations, counts, filters."""

import math
import os
from collections.abc import Callable
from functools import partial, wraps
from typing import Any, NamedTuple

import click
from click.decorators import FC

from telex.ports.store import Query
from telex.surfaces.cli import completion
from telex.surfaces.cli.bus_connection import AGENT, acting_agent
from telex.surfaces.cli.time_text import moment
from telex.validation.authorization import normalised

Completer = Callable[[click.Context, click.Parameter, str], list[str]]
Run = Callable[..., int]


class Speaker(NamedTuple):
    """The agent for which a command runs: --as and --role."""

    agent: str
    role: str | None


def grouped(**groups: Any) -> Callable[[Run], Run]:
    """Decorator that passes options to a command in groups: `who=Speaker` takes the options `agent` and `role`."""

    def decorate(command: Run) -> Run:
        @wraps(command)
        def run(**options: Any) -> int:
            for name, group in groups.items():
                options[name] = group(**{field: options.pop(field) for field in group._fields})
            return command(**options)

        return run

    return decorate


def _seconds(ctx: click.Context, param: click.Parameter, value: str | None) -> float | None:
    if value is None:
        return None
    try:
        seconds = float(value)
    except ValueError:
        seconds = math.nan
    if not 0 <= seconds < 1e9:
        raise click.UsageError(f"{param.opts[0]} takes seconds, such as 60 or 0.5, not {value}")
    return seconds


def _count(ctx: click.Context, param: click.Parameter, value: str) -> int:
    if not value.isascii() or not value.isdecimal() or len(value) > 9 or int(value) < 1:
        raise click.UsageError(f"{param.opts[0]} takes a whole number from 1, not {value}")
    return int(value)


def _acting(ctx: click.Context, param: click.Parameter, value: str | None, *, default: str | None) -> str:
    is_completion = ctx.resilient_parsing  # a shell that completes a word asks no hub
    name = value or (os.environ.get(AGENT) if is_completion else acting_agent(None, ctx.params.get("store"))) or default
    if not name or value == "":
        raise click.UsageError(f"say who you are: {ctx.command_path} --as NAME, or set {AGENT}")
    return name


def _not_empty(ctx: click.Context, param: click.Parameter, value: str | None) -> str | None:
    """Refuse an empty value: it is often an unset shell variable."""
    if value == "":
        raise click.UsageError(f"{param.opts[0]} needs a value: {param.opts[0]} {param.metavar}")
    return value


def text_option(
    name: str,
    metavar: str,
    help: str,
    *,
    into: str | None = None,
    complete: Completer | None = None,
    eager: bool = False,  # known to the callbacks of other options
    variable: str | None = None,  # of the environment, that has it if it is not given
) -> Callable[[FC], FC]:
    """An option that takes a non-empty text."""
    words = [name, into] if into else [name]
    return click.option(
        *words,
        metavar=metavar,
        callback=_not_empty,
        is_eager=eager,
        envvar=variable,
        shell_complete=complete,
        help=help,
    )


def seconds_option(name: str, help: str, *, into: str | None = None) -> Callable[[FC], FC]:
    words = [name, into] if into else [name]
    return click.option(*words, metavar="SECONDS", callback=_seconds, help=help)


def as_option(default: str | None = None) -> Callable[[FC], FC]:
    """The agent that a command acts for. The name in the environment, or of a hub's token, goes before the default."""
    text = f"Your agent name; {AGENT}{f', or {default}' if default else ''} if not given."
    callback, complete = partial(_acting, default=default), completion.agents
    return click.option("--as", "agent", metavar="NAME", callback=callback, shell_complete=complete, help=text)


agent_option = as_option()
role_option = text_option(
    "--role",
    "ROLE",
    "Your role, given once; agent if your name is no role and you give none.",
    complete=completion.roles,
)
store_option = text_option("--store", "PATH", "Store to use; that of the project if not given.", eager=True)
lines_option = click.option("--json", "as_json", is_flag=True, help="Print JSON, one line for each.")


def max_option(default: int) -> Callable[[FC], FC]:
    text = f"Maximum number; {default} if not given."
    return click.option("--max", "limit", metavar="N", callback=_count, default=str(default), help=text)


def refuse_misplaced(ctx: click.Context) -> None:
    """Refuse an option before the name of a subcommand, which would not get it."""
    given = [param for param in ctx.command.params if param.name and _was_given(ctx, param.name)]
    if given:
        raise click.UsageError(f"put {given[0].opts[0]} behind {ctx.invoked_subcommand}")


def _was_given(ctx: click.Context, name: str) -> bool:
    return ctx.get_parameter_source(name) is click.core.ParameterSource.COMMANDLINE


def filters(command: FC) -> FC:
    """Options that select events; the command passes them to `query_from`."""
    options = (
        text_option("--agent", "NAME", "Events of this agent or in its inbox.", complete=completion.agents),
        text_option("--type", "TYPE", "Messages of this type.", complete=completion.types),
        text_option("--dialect", "NAME", "Messages in this dialect.", complete=completion.dialects),
        text_option("--correlation", "ID", "This conversation."),
        text_option("--since", "WHEN", "Since then: 10m, 2h, 1d, or 2026-01-31T09:30:00Z."),
        text_option("--until", "WHEN", "Until then."),
        text_option("--text", "WORDS", "Messages that contain these words."),
    )
    for option in reversed(options):
        command = option(command)
    return command


def query_from(*, agent: str | None, since: str | None, until: str | None, **fields: Any) -> Query:
    """Query for the options of `filters`; `fields` are passed on.

    Raises:
        CommandError: invalid --since or --until.
    """
    return Query(
        agent=normalised(agent) if agent else None,
        since=moment(since, "--since") if since else None,
        until=moment(until, "--until") if until else None,
        **fields,
    )
