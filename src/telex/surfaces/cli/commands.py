"""Which commands are there beside `check`? Each is a module of its own, imported when it is called.

click reads the words and prints the help; what it finds wrong is said our way and never with exit code 2, which
means that a message was refused.
"""

import os
import sys
from collections.abc import Sequence
from importlib import import_module

import click
from click.shell_completion import CompletionItem

from telex.model.nearest import nearest
from telex.surfaces.cli import check
from telex.surfaces.cli.exits import DONE, FAILED, INTERRUPTED, USAGE, CommandError
from telex.surfaces.cli.render import shown

COMMANDS = {
    "check": "Say what is wrong with messages, and how they would pass.",
    "mend": "Print a message as it should be.",
    "new": "Begin a message; what only you know is a marked blank.",
    "prompt": "Print what an agent must be told to send its messages.",
    "schema": "Print JSON Schema, AsyncAPI or TypeScript of a dialect.",
    "dialects": "List the dialects, or one dialect's types.",
    "explain": "Say why a finding happens and how to mend it.",
}
HELP = """Telex: a typed message bus for teams of AI agents.

\b
  telex check update.json          may it pass?
  telex check -                    the same, from stdin
  telex mend update.json           as it should be
  telex new execution_update status=complete
"""
HELP_NAMES = ["-h", "--help"]
COMPLETION = "_TELEX_COMPLETE"  # set by a shell that wants to know how a word may go on


class _Check(click.Command):
    """`check` reads its own words; click only passes them on, and tells a shell which options there are."""

    def __init__(self) -> None:
        words = click.Argument(["words"], nargs=-1, type=click.UNPROCESSED)
        settings = {"ignore_unknown_options": True, "allow_interspersed_args": False}
        super().__init__("check", settings, lambda words: check.run(list(words)), [words], add_help_option=False)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        return [
            CompletionItem(option.name, help=option.help)
            for option in check.OPTIONS
            if option.name.startswith(incomplete)
        ]


class _Lazy(click.Group):
    """A group that knows its commands' names and purposes without importing any of them."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        if cmd_name == "check":
            return _Check()
        command = import_module(f"telex.surfaces.cli.{cmd_name}").command
        assert isinstance(command, click.Command)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0]
        if name not in COMMANDS and not name.startswith("-"):
            meant = nearest(name, COMMANDS)
            perhaps = f"did you mean {meant}?" if meant else f"there are {', '.join(COMMANDS)}"
            raise click.UsageError(f"no command {name!r}; {perhaps}")
        return super().resolve_command(ctx, args)


def _print_version(ctx: click.Context, _: click.Parameter, asked: bool) -> None:
    if not asked or ctx.resilient_parsing:
        return
    from importlib.metadata import PackageNotFoundError, version

    try:
        number = version("telex")
    except PackageNotFoundError:
        number = "(not installed)"
    sys.stdout.write(f"telex {number}\n")
    ctx.exit()


TELEX = _Lazy(
    name="telex",
    help=HELP,
    epilog="Exit codes: 0 done, 2 refused, 3 not found, 64 wrong usage, 1 anything else.",
    context_settings={"help_option_names": HELP_NAMES, "max_content_width": 100},
    params=[
        click.Option(
            ["--version"],
            is_flag=True,
            is_eager=True,
            expose_value=False,
            callback=_print_version,
            help="Show the version.",
        )
    ],
)


def run(args: Sequence[str]) -> int:
    """Run the command that the words name and return its exit code."""
    if not args and COMPLETION not in os.environ:
        with click.Context(TELEX, info_name="telex", help_option_names=HELP_NAMES) as context:
            sys.stderr.write(TELEX.get_help(context) + "\n")
        return USAGE
    try:
        code = TELEX.main(list(args), prog_name="telex", standalone_mode=False)
    except click.Abort:
        return INTERRUPTED
    except click.UsageError as error:
        raise CommandError(shown(error.format_message())) from error
    except click.ClickException as error:
        raise CommandError(shown(error.format_message()), FAILED) from error
    return code if isinstance(code, int) else DONE
