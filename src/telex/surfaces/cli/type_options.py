"""What do several commands ask for alike? A dialect, a type, a role, and what is said when there is none such."""

import click

from telex.dialects.registry import BUILT_IN
from telex.dialects.schema import Dialect, MessageType
from telex.model.suggestion import nearest
from telex.surfaces.cli.dialect_options import NAMES, dialect_from
from telex.surfaces.cli.exit_codes import NOT_FOUND, CommandError
from telex.surfaces.cli.output import shown


def _dialects(ctx: click.Context, param: click.Parameter, begun: str) -> list[str]:
    return [name for name in NAMES if name.startswith(begun)]


def _types(ctx: click.Context, param: click.Parameter, begun: str) -> list[str]:
    names = dict.fromkeys(name for dialect in BUILT_IN for name in dialect.types)
    return [name for name in names if name.startswith(begun)]


def _roles(ctx: click.Context, param: click.Parameter, begun: str) -> list[str]:
    names = dict.fromkeys(role for dialect in BUILT_IN for role in dialect.roles)
    return [name for name in names if name.startswith(begun)]


def _not_empty(ctx: click.Context, param: click.Parameter, value: str | None) -> str | None:
    """An empty value is often a variable that nobody set; to go on as if the option were not there would hide it."""
    if value == "":
        raise click.UsageError(f"{param.opts[0]} needs a value: {param.opts[0]} {param.metavar}")
    return value


dialect_option = click.option(
    "--dialect",
    metavar="NAME",
    callback=_not_empty,
    shell_complete=_dialects,
    help="A dialect, or a .toml file that declares your own.",
)
team_dialect_option = click.option(
    "--team-dialect",
    metavar="NAME",
    callback=_not_empty,
    shell_complete=_dialects,
    help="Dialect to prefer when a message fits two.",
)
role_option = click.option(
    "--as", "role", metavar="ROLE", callback=_not_empty, shell_complete=_roles, help="Sender role."
)
receiver_option = click.option(
    "--to", "receiver", metavar="ROLE", callback=_not_empty, shell_complete=_roles, help="Recipient role."
)
json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
type_argument = click.argument("type_name", metavar="TYPE", shell_complete=_types)
optional_type_argument = click.argument("type_name", metavar="[TYPE]", required=False, shell_complete=_types)
required_role_option = click.option(
    "--role",
    metavar="ROLE",
    required=True,
    callback=_not_empty,
    shell_complete=_roles,
    help="The role to teach.",
)


def find_type(name: str, dialect_name: str | None) -> tuple[Dialect, MessageType]:
    """The type of that name, in the dialect that was named or in the only one that has it.

    Raises:
        CommandError: when there is no such type, or several dialects have it.
    """
    among = (dialect_from(dialect_name),) if dialect_name else BUILT_IN
    dialects = [dialect for dialect in among if name in dialect.types]
    if len(dialects) > 1:
        raise CommandError(f"{name} is a type of {_names(dialects)}: choose with --dialect")
    if not dialects:
        raise CommandError(_no_type(name, among), NOT_FOUND)
    return dialects[0], dialects[0].types[name]


def _no_type(name: str, among: tuple[Dialect, ...]) -> str:
    where = f" in {among[0].name}" if len(among) == 1 else ""
    elsewhere = [dialect for dialect in BUILT_IN if name in dialect.types]
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
