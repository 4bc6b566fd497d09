"""`telex help` and `telex completion`: environment variables, and scripts for shell completion."""

import sys

import click
from click.shell_completion import get_completion_class

from telex.model.named_tuple import NamedTuple
from telex.surfaces.cli.commands import COMPLETION, TELEX
from telex.surfaces.cli.main import ENVIRONMENT
from telex.surfaces.cli.options import command, lines_option
from telex.surfaces.cli.render import print_list
from telex.surfaces.cli.usage import DONE

SHELLS = ("bash", "zsh", "fish")


class Variable(NamedTuple):
    name: str
    takes: str
    effect: str
    option: str = ""  # option of commands that goes before it


VARIABLES = (
    Variable("TELEX_AGENT", "a name", "Your agent name.", "--as"),
    Variable("TELEX_STORE", "a path or http://…", "Store or hub to use. It goes before telex.toml.", "--store"),
    Variable(
        "TELEX_TOKEN",
        "a token",
        "Token for the hub; it also gives your name. There is no option, since other users can see the options of a"
        " process.",
    ),
    Variable("TELEX_CONFIG", "a path", "Settings to use in place of the nearest telex.toml."),
    Variable("TELEX_ROLE", "a role", "Role of a session of a coding tool; telex run sets it."),
    Variable("TELEX_SESSION", "CLIENT:ID", "Session of a coding tool that this process belongs to."),
    Variable("TELEX_TELEMETRY", "1", "telex serve creates OpenTelemetry spans."),
    Variable("XDG_CONFIG_HOME", "a folder", "Its file telex/hubs lists the hubs that telex.toml may name; ~/.config."),
    Variable("NO_COLOR", "1", "Print no colours, also on a terminal."),
    Variable("COLUMNS", "a number", "Width of the output on a terminal."),
)


@command("help", [click.argument("topic", metavar="[COMMAND]...", nargs=-1), lines_option])
def help_command(topic: tuple[str, ...], as_json: bool) -> int:
    """Show the help of a command, or the environment variables."""
    assert topic[0] == ENVIRONMENT, "main shows the help of commands"
    return print_list(
        VARIABLES,
        as_json,
        facts=lambda variable: variable._asdict(),
        columns={
            "variable": lambda variable: variable.name,
            "takes": lambda variable: variable.takes,
            "option": lambda variable: variable.option,
            "effect": lambda variable: variable.effect,
        },
    )


@command("completion", [click.argument("shell", type=click.Choice(SHELLS))])
def completion_command(shell: str) -> int:
    """Print the script that completes commands, options, agents, ids and types in your shell."""
    completion = get_completion_class(shell)
    assert completion is not None
    script = completion(TELEX, {}, "telex", COMPLETION)
    sys.stdout.write(script.source_template % script.source_vars())  # `source` would start bash to see its version
    return DONE
