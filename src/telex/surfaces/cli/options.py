"""Options, arguments and shell completions of the commands that click parses, each declared once."""

import math
import os
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from functools import partial, wraps
from typing import Any

import click

from telex.config import Settings, load
from telex.dialects.registry import BUILT_IN, FAMILIES, PLAIN
from telex.dialects.schema import Dialect, MessageType, Tree
from telex.errors import TelexError
from telex.model.message import KINDS
from telex.model.named_tuple import NamedTuple
from telex.model.roster import AT
from telex.ports.store import Query
from telex.surfaces.cli.connection import (
    AGENT,
    acting_agent,
    dialect_from,
    dialect_version,
    is_file,
    opened_if_there,
    preferred,
    settings_here,
    team_dialects,
)
from telex.surfaces.cli.examples import examples_text
from telex.surfaces.cli.output import did_you_mean, shown
from telex.surfaces.cli.render import moment
from telex.surfaces.cli.usage import DEBUG, NOT_FOUND, VERBOSE, CommandError, diagnose
from telex.validation.authorization import normalised

Run = Callable[..., int]
Param = Callable[[Run], Run]
Words = Callable[[click.Context], Iterable[str]]

IDS_MAX = 50


def command(
    name: str, params: Sequence[Param] = (), *, group: click.Group | None = None
) -> Callable[[Run], click.Command]:
    """Decorator: a command, or a subcommand of a group, with these options and arguments in the order of its help."""

    path = f"{group.name} {name}" if group else name

    def decorate(run: Run) -> click.Command:
        made = (group.command if group else click.command)(name, epilog=_epilog(path))
        return made(_with_params(run, [*params, *DIAGNOSTICS]))

    return decorate


def _epilog(path: str) -> str:
    head, _, lines = examples_text(path).partition("\n")
    return f"{head}\n\n\b\n{lines}"


class CommandGroup(click.Group):
    """A group whose help has the whole first sentence of each command."""

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, _first_sentence(made.help or "")) for name, made in self.commands.items()])


def _first_sentence(text: str) -> str:
    return text.split("\n\n")[0].replace("\n", " ").split(". ")[0].rstrip(".") + "."


def command_group(name: str, **settings: Any) -> Callable[[Run], click.Group]:
    """Decorator: a group of commands, with its examples."""
    return click.group(name, cls=CommandGroup, epilog=_epilog(name), **settings)


def _with_params(run: Run, params: Sequence[Param]) -> Run:
    for param in reversed(params):
        run = param(run)
    return run


def listing_group(
    name: str, params: Sequence[Param] = (), *, help_of_list: str | None = None
) -> Callable[[Run], click.Group]:
    """Decorator: a group whose function runs where no subcommand is given, and as subcommand `list` if that has a help.

    An option before a subcommand is refused, since the subcommand would not get it.
    """

    def decorate(run: Run) -> click.Group:
        @wraps(run)
        def invoke(**options: Any) -> int:
            ctx = click.get_current_context()
            if ctx.invoked_subcommand is None:
                return run(**options)
            for param in ctx.command.params:
                if ctx.get_parameter_source(param.name or "") is click.core.ParameterSource.COMMANDLINE:
                    raise click.UsageError(f"put {param.opts[0]} behind {ctx.invoked_subcommand}")
            return 0

        made = command_group(name, invoke_without_command=True)
        group = made(_with_params(invoke, [*params, *DIAGNOSTICS]))
        if help_of_list:
            command("list", [*params], group=group)(run).help = help_of_list
        return group

    return decorate


def grouped(**groups: Any) -> Param:
    """Parameter that passes options to a command in groups: `who=Speaker` takes the options `agent` and `role`."""

    def decorate(run: Run) -> Run:
        @wraps(run)
        def invoke(**options: Any) -> int:
            for name, group in groups.items():
                options[name] = group(**{field: options.pop(field) for field in group._fields})
            return run(**options)

        return invoke

    return decorate


def _diagnose(ctx: click.Context, param: click.Parameter, is_given: bool) -> None:
    if is_given and not ctx.resilient_parsing:
        diagnose(DEBUG if param.name == "debug" else VERBOSE)


def _diagnostic(*names: str) -> Param:
    return click.option(*names, is_flag=True, is_eager=True, hidden=True, expose_value=False, callback=_diagnose)


DIAGNOSTICS = (_diagnostic("-v", "--verbose"), _diagnostic("--debug"))  # of every command; the main help shows them


# --- completion: each list is cheap, creates no store and reports no errors -------------------------------------------
class Completer:
    """Completes a word from the candidates that `words` returns."""

    def __init__(self, words: Words) -> None:
        self._words = words

    def __call__(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
        try:
            return [word for word in dict.fromkeys(self._words(ctx)) if word.startswith(incomplete)]
        except CommandError:
            return []


def _settings() -> Settings:
    try:
        return load(os.getcwd())
    except TelexError:
        return Settings()


def _roles(ctx: click.Context) -> list[str]:
    return [role for dialect in _settings().dialects() for role in dialect.roles]


def _agents(ctx: click.Context) -> list[str]:
    """Members that telex.toml declares or that have joined, and the roles where it declares none."""
    declared = [member.name for member in _settings().members]
    joined: list[str] = []
    with suppress(CommandError), opened_if_there(ctx.params.get("store")) as bus:
        joined = [presence.member.name for presence in bus.roster()] if bus else []
    return [*declared, *joined, *([] if declared else _roles(ctx))]


def _waiting_ids(ctx: click.Context) -> list[str]:
    agent = ctx.params.get("agent")
    with opened_if_there(ctx.params.get("store")) as bus:
        return [message.id for _, message in bus.inbox(agent, limit=IDS_MAX)] if bus and agent else []


def _dead_ids(ctx: click.Context) -> list[str]:
    with opened_if_there(ctx.params.get("store")) as bus:
        return [message.id for _, message in bus.dead_letters(limit=IDS_MAX)] if bus else []


def _dialects(ctx: click.Context) -> list[str]:
    return [dialect.name for dialect in (*_settings().dialects(), PLAIN)]


def _versions(ctx: click.Context) -> list[str]:
    versions = {dialect.name: dialect.version for dialect in BUILT_IN}
    return [f"{family}{AT}{versions[name]}" for family, members in FAMILIES.items() for name in members]


COMPLETERS = {
    "agents": Completer(_agents),
    "dead_ids": Completer(_dead_ids),
    "dialects": Completer(_dialects),
    "kinds": Completer(lambda ctx: KINDS),
    "roles": Completer(_roles),
    "types": Completer(lambda ctx: [name for dialect in _settings().dialects() for name in dialect.types]),
    "versions": Completer(lambda ctx: [*_dialects(ctx), *_versions(ctx)]),
    "waiting_ids": Completer(_waiting_ids),
}


# --- values -----------------------------------------------------------------------------------------------------------
def _not_empty(ctx: click.Context, param: click.Parameter, value: str | None) -> str | None:
    """Refuse an empty value: it is often an unset shell variable."""
    if value == "":
        raise click.UsageError(f"{param.opts[0]} needs a value: {param.opts[0]} {param.metavar}")
    return value


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


def _optional_count(ctx: click.Context, param: click.Parameter, value: str | None) -> int | None:
    return None if value is None else _count(ctx, param, value)


def _acting(ctx: click.Context, param: click.Parameter, value: str | None, *, default: str | None) -> str:
    is_completion = ctx.resilient_parsing  # completion sends no request to a hub
    name = value or (os.environ.get(AGENT) if is_completion else acting_agent(None, ctx.params.get("store"))) or default
    if not name or value == "":
        raise click.UsageError(f"no agent name: {ctx.command_path} --as NAME, or set {AGENT}")
    return name


def text_option(
    name: str, metavar: str, help: str, into: str | None = None, complete: str | None = None, **more: Any
) -> Param:
    """An option that takes a non-empty text."""
    names = [name, into] if into else [name]
    completer = COMPLETERS[complete] if complete else None
    return click.option(*names, metavar=metavar, callback=_not_empty, shell_complete=completer, help=help, **more)


def seconds_option(name: str, help: str, into: str | None = None) -> Param:
    return click.option(*([name, into] if into else [name]), metavar="SECONDS", callback=_seconds, help=help)


def flag(name: str, help: str, into: str | None = None) -> Param:
    return click.option(*([name, into] if into else [name]), is_flag=True, help=help)


def repeated_option(name: str, into: str, metavar: str, help: str, **more: Any) -> Param:
    return click.option(name, into, metavar=metavar, multiple=True, help=f"{help}; may be given again.", **more)


def count_option(name: str, metavar: str, help: str) -> Param:
    """An option that takes a whole number from 1."""
    return click.option(name, metavar=metavar, callback=_optional_count, help=help)


def max_option(default: int) -> Param:
    text = f"Maximum number; {default} if not given."
    return click.option("--max", "limit", metavar="N", callback=_count, default=str(default), help=text)


def as_option(default: str | None = None) -> Param:
    """The agent that a command acts for: as given, of the environment, of a hub's token, or the default."""
    text = f"Your agent name; {AGENT}{f', or {default}' if default else ''} if not given."
    callback = partial(_acting, default=default)
    return click.option(
        "--as", "agent", metavar="NAME", callback=callback, shell_complete=COMPLETERS["agents"], help=text
    )


class Speaker(NamedTuple):
    """The agent for which a command runs: --as and --role."""

    agent: str
    role: str | None


agent_option = as_option()
member_role_option = text_option(
    "--role", "ROLE", "Your role, needed once; your name if it is a role, else agent, if not given.", complete="roles"
)
store_option = text_option("--store", "PATH", "Store to use; that of the project if not given.", is_eager=True)
lines_option = flag("--json", "Print JSON, one line for each.", "as_json")
json_option = flag("--json", "Print JSON.", "as_json")
BUS = (store_option, lines_option)
file_argument = click.argument("file", metavar="FILE|-")
id_argument = click.argument("id", metavar="ID", shell_complete=COMPLETERS["waiting_ids"])
reason_option = text_option("--reason", "WORDS", "Reason, included in the message.")

dialect_option = text_option(
    "--dialect", "NAME", "A dialect, or a .toml file that declares your own.", complete="dialects"
)
team_dialect_option = text_option(
    "--team-dialect", "NAME", "Dialect to prefer when a message fits two.", complete="dialects"
)
role_option = text_option("--role", "ROLE", "Sender role.", complete="roles")
receiver_option = text_option("--to", "ROLE", "Recipient role.", "receiver", "roles")

FILTERS = (
    text_option("--agent", "NAME", "Events of this agent or in its inbox.", complete="agents"),
    text_option("--type", "TYPE", "Messages of this type.", complete="types"),
    text_option("--dialect", "NAME", "Messages in this dialect.", complete="dialects"),
    text_option("--correlation", "ID", "This conversation."),
    text_option("--since", "WHEN", "Since then: 10m, 2h, 1d, or 2026-01-31T09:30:00Z."),
    text_option("--until", "WHEN", "Until then."),
    text_option("--text", "WORDS", "Messages that contain these words."),
)


def query_from(*, agent: str | None, since: str | None, until: str | None, **fields: Any) -> Query:
    """Query for the options `FILTERS`; `fields` are passed on."""
    return Query(
        agent=normalised(agent) if agent else None,
        since=moment(since, "--since") if since else None,
        until=moment(until, "--until") if until else None,
        **fields,
    )


# --- dialects and types -----------------------------------------------------------------------------------------------
class ReaderDialect(NamedTuple):
    dialect: Dialect
    spellings: tuple[str, ...] = ()  # fields that the reader wants under their later names

    def spelt(self, tree: Tree, type_: MessageType) -> Tree:
        """The message with each field under the name that this reader knows."""
        from telex.delivery.membership import spelt_for

        return spelt_for(self.spellings, tree, self.dialect, type_) or tree


def reader_from(text: str) -> ReaderDialect:
    """Dialect of a reader: a name with or without a version and later names of fields, or a TOML file."""
    if is_file(text):
        return ReaderDialect(dialect_from(text))
    return ReaderDialect(*dialect_version(text, team_dialects()))


def find_type(name: str, dialect_name: str | None) -> tuple[Dialect, MessageType]:
    """The type of that name, in the named dialect, or in the only one that has it or that the team prefers."""
    settings = settings_here()
    among = (dialect_from(dialect_name, among=settings.dialects()),) if dialect_name else settings.dialects()
    dialects = preferred([dialect for dialect in among if name in dialect.types], settings)
    if len(dialects) > 1:
        raise CommandError(f"{name} is a type of {_names(dialects)}: choose with --dialect")
    if not dialects:
        raise CommandError(_no_type(name, among, settings.dialects()), NOT_FOUND)
    return dialects[0], dialects[0].types[name]


def _no_type(name: str, among: tuple[Dialect, ...], known: tuple[Dialect, ...]) -> str:
    where = f" in {among[0].name}" if len(among) == 1 else ""
    elsewhere = [dialect for dialect in known if name in dialect.types]
    if elsewhere:
        return f"no type {name}{where}; it is one of {_names(elsewhere)}"
    types = list(dict.fromkeys(type_ for dialect in among for type_ in dialect.types))
    listed = "" if where else "`telex dialects NAME` lists a dialect's types"
    return f"no type {shown(name)}{where}; {did_you_mean(name, types, listed)}"


def _names(dialects: list[Dialect]) -> str:
    return ", ".join(dialect.name for dialect in dialects)
