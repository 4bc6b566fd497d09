"""Table of the commands that click parses. Each is a module of its own, imported when it is called.

click parses the arguments and prints the help. Its errors are reported in our form and never with exit code 2, which
means that a message was refused.
"""

import os
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import NamedTuple

import click
from click.shell_completion import CompletionItem

from telex.model.text import nearest
from telex.surfaces.cli.exit_codes import DONE, FAILED, INTERRUPTED, USAGE, CommandError
from telex.surfaces.cli.option_parser import Option
from telex.surfaces.cli.output import shown


class CommandInfo(NamedTuple):
    says: str
    home: str = ""  # the module, where it is not called like the command
    name: str = "command"  # of what the module has for it


SECTIONS: dict[str, dict[str, CommandInfo]] = {
    "Messages": {
        "check": CommandInfo("Check messages and print every finding."),
        "fix": CommandInfo("Print a message with its findings fixed."),
        "translate": CommandInfo("Print a message translated to another dialect."),
        "new": CommandInfo("Draft a message with marked blanks to fill in."),
        "prompt": CommandInfo("Print the prompt that teaches an agent its messages."),
        "schema": CommandInfo("Print JSON Schema, AsyncAPI or TypeScript of a dialect."),
        "dialects": CommandInfo("List the dialects, or one dialect's types."),
        "explain": CommandInfo("Explain a finding code and how to fix it."),
    },
    "The bus": {
        "send": CommandInfo("Check a message and store it for its recipients."),
        "inbox": CommandInfo("List the messages in your inbox, without leasing them."),
        "receive": CommandInfo("Lease the next messages in your inbox."),
        "ack": CommandInfo("Ack a message: you are done with it.", "ack", "ack"),
        "nack": CommandInfo("Nack a message, with a reason: it is retried.", "ack", "nack"),
        "extend": CommandInfo("Extend the lease of a message.", "ack", "extend"),
        "request": CommandInfo("Send a message and wait for the reply."),
        "dead": CommandInfo("List, retry or drop dead letters."),
    },
    "The log": {
        "why": CommandInfo("Show the history of a message."),
        "trace": CommandInfo("Show a conversation as a tree or diagram."),
        "show": CommandInfo("Print a message as it was sent."),
        "log": CommandInfo("Print, export or import the log."),
        "events": CommandInfo("Print events, and follow new ones."),
        "search": CommandInfo("Search messages by their words."),
        "replay": CommandInfo("Replay a log under other settings, or up to a time."),
        "migrate-log": CommandInfo("Convert a log to another version of its dialect.", "migrate_log"),
        "doctor": CommandInfo("Check the store for damage."),
    },
    "The work": {
        "contract": CommandInfo("Show contracts and their revisions."),
        "guard": CommandInfo("Check whether an agent may write a path."),
        "approvals": CommandInfo("List pending approval requests."),
        "approve": CommandInfo("Approve a request.", "approve", "approve"),
        "reject": CommandInfo("Reject a request.", "approve", "reject"),
        "task": CommandInfo("Show tasks, their states and transitions."),
        "escalations": CommandInfo("List open escalations."),
        "answer": CommandInfo("Answer an escalation or a message with plain text.", "escalations", "answer"),
        "work": CommandInfo("Start and run a pipeline of signals."),
        "stall": CommandInfo("Show who waits for whom, and how to resolve it."),
        "demo": CommandInfo("Run a demo with a team of eight agents."),
    },
    "The team": {
        "team": CommandInfo("Show the team; join, leave or shut it down."),
    },
    "Servers": {
        "serve": CommandInfo("Run a hub: HTTP API, MCP and the web page."),
        "token": CommandInfo("Create, list and revoke tokens for the hub."),
        "mcp": CommandInfo("Run an MCP server on stdio for one coding agent."),
    },
}
COMMANDS = {name: purpose for section in SECTIONS.values() for name, purpose in section.items()}
HELP = """Telex: a typed, durable message bus for teams of AI agents.

\b
  telex check update.json                      check a message
  telex send --as dev --to lead update.json    check and store it
  telex inbox --as lead                        list what waits for lead
  telex why ID                                 show its history
"""
FAST = ("check", "send", "guard")  # read by hand; see main
HELP_NAMES = ["-h", "--help"]
COMPLETION = "_TELEX_COMPLETE"  # set by a shell that wants to know how a word may go on


class _FastCommand(click.Command):
    """A command that reads its own words; click only passes them on, and tells a shell which options there are."""

    def __init__(self, name: str) -> None:
        module = import_module(f"telex.surfaces.cli.{name}")
        self.options: tuple[Option, ...] = module.OPTIONS
        words = click.Argument(["words"], nargs=-1, type=click.UNPROCESSED)
        settings = {"ignore_unknown_options": True, "allow_interspersed_args": False}
        super().__init__(name, settings, lambda words: module.run(list(words)), [words], add_help_option=False)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        return [
            CompletionItem(option.name, help=option.help)
            for option in self.options
            if option.name.startswith(incomplete)
        ]


class _LazyGroup(click.Group):
    """A group that knows its commands' names and purposes without importing any of them."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        if cmd_name in FAST:
            return _FastCommand(cmd_name)
        _, home, name = COMMANDS[cmd_name]
        command = getattr(import_module(f"telex.surfaces.cli.{home or cmd_name}"), name)
        assert isinstance(command, click.Command)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        for title, section in SECTIONS.items():
            if not section:
                continue
            with formatter.section(title):
                formatter.write_dl([(name, purpose.says) for name, purpose in section.items()])

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


TELEX = _LazyGroup(
    name="telex",
    help=HELP,
    epilog="Exit codes: 0 done, 2 refused, 3 not found, 4 timed out, 64 wrong usage, 1 anything else.",
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
    except click.MissingParameter as error:
        raise CommandError(_missing(error)) from error
    except click.UsageError as error:
        raise CommandError(shown(error.format_message())) from error
    except click.ClickException as error:
        raise CommandError(shown(error.format_message()), FAILED) from error
    return code if isinstance(code, int) else DONE


def _missing(error: click.MissingParameter) -> str:
    """`say which: telex why ID`"""
    assert error.param is not None
    assert error.ctx is not None
    option = f"{error.param.opts[0]} " if isinstance(error.param, click.Option) else ""
    return f"say which: {error.ctx.command_path} {option}{error.param.metavar or error.param.human_readable_name}"
