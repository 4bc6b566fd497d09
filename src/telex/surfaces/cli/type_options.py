"""Options and arguments that name a dialect, a type or a role."""

import click

from telex.dialects.schema import Dialect, MessageType
from telex.model.text import nearest
from telex.surfaces.cli import completion
from telex.surfaces.cli.bus_connection import settings_here
from telex.surfaces.cli.dialect_options import dialect_from, preferred
from telex.surfaces.cli.exit_codes import NOT_FOUND, CommandError
from telex.surfaces.cli.output import shown


def _not_empty(ctx: click.Context, param: click.Parameter, value: str | None) -> str | None:
    """An empty value is often a variable that nobody set; to go on as if the option were not there would hide it."""
    if value == "":
        raise click.UsageError(f"{param.opts[0]} needs a value: {param.opts[0]} {param.metavar}")
    return value


dialect_option = click.option(
    "--dialect",
    metavar="NAME",
    callback=_not_empty,
    shell_complete=completion.dialects,
    help="A dialect, or a .toml file that declares your own.",
)
team_dialect_option = click.option(
    "--team-dialect",
    metavar="NAME",
    callback=_not_empty,
    shell_complete=completion.dialects,
    help="Dialect to prefer when a message fits two.",
)
role_option = click.option(
    "--as", "role", metavar="ROLE", callback=_not_empty, shell_complete=completion.roles, help="Sender role."
)
receiver_option = click.option(
    "--to", "receiver", metavar="ROLE", callback=_not_empty, shell_complete=completion.roles, help="Recipient role."
)
json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
type_argument = click.argument("type_name", metavar="TYPE", shell_complete=completion.types)
optional_type_argument = click.argument("type_name", metavar="[TYPE]", required=False, shell_complete=completion.types)
required_role_option = click.option(
    "--role",
    metavar="ROLE",
    required=True,
    callback=_not_empty,
    shell_complete=completion.roles,
    help="The role to teach.",
)


def find_type(name: str, dialect_name: str | None) -> tuple[Dialect, MessageType]:
    """The type of that name, in the dialect that was named, or in the only one that has it or that the team prefers.

    Raises:
        CommandError: when there is no such type, or several dialects have it.
    """
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
    meant = nearest(name, types)
    if meant:
        return f"no type {shown(name)}{where}; did you mean {meant}?"
    listed = f"there are {', '.join(types)}" if where else "`telex dialects NAME` lists a dialect's types"
    return f"no type {shown(name)}{where}; {listed}"


def _names(dialects: list[Dialect]) -> str:
    return ", ".join(dialect.name for dialect in dialects)
