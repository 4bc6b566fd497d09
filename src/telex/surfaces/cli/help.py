"""`telex help` and `telex completion`: environment variables, and scripts for shell completion."""

import sys

import click
from click.shell_completion import get_completion_class

from telex.config.environment import OTHERS, VARIABLES
from telex.surfaces.cli.commands import COMPLETION, TELEX
from telex.surfaces.cli.main import ENVIRONMENT
from telex.surfaces.cli.options import command, lines_option
from telex.surfaces.cli.render import print_list
from telex.surfaces.cli.usage import DONE

SHELLS = ("bash", "zsh", "fish")


@command("help", [click.argument("topic", metavar="[COMMAND]...", nargs=-1), lines_option])
def help_command(topic: tuple[str, ...], as_json: bool) -> int:
    """Show the help of a command, or the environment variables."""
    assert topic[0] == ENVIRONMENT, "main shows the help of commands"
    return print_list(
        (*VARIABLES, *OTHERS),
        as_json,
        facts=lambda variable: variable._asdict(),
        columns={
            "variable": lambda variable: variable.name,
            "takes": lambda variable: variable.takes.replace("`", ""),
            "effect": lambda variable: variable.help.replace("`", ""),
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
