"""Table of the commands. The module of a command is imported when it is called.

click parses the arguments and prints the help. Its errors are reported in our form and never with exit code 2, which
means that a message was refused.
"""

import os
import sys
from collections.abc import Sequence
from importlib import import_module

import click
from click.shell_completion import CompletionItem

from telex.model.named_tuple import NamedTuple
from telex.surfaces.cli.main import FAST
from telex.surfaces.cli.output import did_you_mean, shown
from telex.surfaces.cli.usage import DONE, FAILED, INTERRUPTED, USAGE, CommandError, Option, enable_gc


class CommandInfo(NamedTuple):
    module: str
    help: str


SECTIONS: dict[str, dict[str, CommandInfo]] = {
    "Messages": {
        "check": CommandInfo("check", "Check messages and print every finding."),
        "fix": CommandInfo("drafts", "Print a message with its findings fixed."),
        "translate": CommandInfo("translate", "Print a message translated to another dialect."),
        "new": CommandInfo("drafts", "Draft a message with marked blanks to fill in."),
        "prompt": CommandInfo("dialects", "Print the prompt that teaches an agent its messages."),
        "schema": CommandInfo("dialects", "Print JSON Schema, AsyncAPI, TypeScript or Python of a dialect."),
        "dialects": CommandInfo("dialects", "List the dialects, or one dialect's types."),
        "explain": CommandInfo("dialects", "Explain a finding code and how to fix it."),
    },
    "The bus": {
        "send": CommandInfo("send", "Check a message and store it for its recipients."),
        "inbox": CommandInfo("inbox", "List the messages in your inbox, without leasing them."),
        "receive": CommandInfo("receive", "Lease the next messages in your inbox."),
        "ack": CommandInfo("receive", "Ack a message: you are done with it."),
        "nack": CommandInfo("receive", "Nack a message, with a reason: it is retried."),
        "extend": CommandInfo("receive", "Extend the lease of a message."),
        "request": CommandInfo("receive", "Send a message and wait for the reply."),
        "worker": CommandInfo("worker", "Run the worker of a Python module."),
        "watch": CommandInfo("run", "Print a line for each new message, without leasing it."),
        "dead": CommandInfo("inbox", "List, retry or drop dead letters."),
    },
    "The log": {
        "why": CommandInfo("why", "Show the history of a message."),
        "trace": CommandInfo("why", "Show a conversation as a tree or diagram."),
        "show": CommandInfo("why", "Print a message as it was sent."),
        "log": CommandInfo("events", "Print, export or import the log."),
        "events": CommandInfo("events", "Print events, and follow new ones."),
        "search": CommandInfo("why", "Search messages by their words."),
        "replay": CommandInfo("replay", "Replay a log under other settings, or up to a time."),
        "migrate-log": CommandInfo("translate", "Convert a log to another version of its dialect."),
    },
    "The work": {
        "contract": CommandInfo("contract", "Show contracts and their revisions."),
        "guard": CommandInfo("guard", "Check whether an agent may write a path."),
        "approvals": CommandInfo("approvals", "List pending approval requests."),
        "approve": CommandInfo("approvals", "Approve a request."),
        "reject": CommandInfo("approvals", "Reject a request."),
        "task": CommandInfo("task", "Show tasks, their states and transitions."),
        "escalations": CommandInfo("approvals", "List open escalations."),
        "answer": CommandInfo("approvals", "Answer an escalation or a message with plain text."),
        "work": CommandInfo("work", "Start and run a pipeline of signals."),
        "stall": CommandInfo("task", "Show which agents wait for each other, and how to resolve it."),
        "demo": CommandInfo("demo", "Run a demo with a team of eight agents."),
    },
    "The team": {
        "init": CommandInfo("init", "Install Telex in Claude Code, Codex, Gemini CLI and others."),
        "run": CommandInfo("run", "Start a coding tool as an agent."),
        "team": CommandInfo("team", "Show the team; join, leave, start or shut it down."),
        "wake": CommandInfo("run", "Wake the session of an idle agent."),
    },
    "Store and shell": {
        "where": CommandInfo("where", "Show which store, settings and identity are used, and why."),
        "doctor": CommandInfo("doctor", "Check the store for damage."),
        "backup": CommandInfo("backup", "Back up the store to a file, while it is in use."),
        "restore": CommandInfo("backup", "Restore a store from a backup."),
        "migrate-store": CommandInfo("replica", "Move a team between a store file and a replicated log."),
        "upgrade-store": CommandInfo("replica", "Bring the tables of a replicated team to this version."),
        "completion": CommandInfo("help", "Print the completion script for bash, zsh or fish."),
        "help": CommandInfo("help", "Show the help of a command, or the environment variables."),
    },
    "Servers": {
        "serve": CommandInfo("serve", "Run a hub: HTTP API, MCP and the web page."),
        "token": CommandInfo("token", "Create, list and revoke tokens for the hub."),
        "hook": CommandInfo("hook", "Answer one event of a coding tool."),
        "mcp": CommandInfo("mcp", "Run an MCP server on stdio for one coding agent."),
    },
}
COMMANDS = {name: info for section in SECTIONS.values() for name, info in section.items()}
HELP = """Telex: a typed, durable message bus for teams of AI agents.

\b
  telex check update.json                      check a message
  telex send --as dev --to lead update.json    check and store it
  telex inbox --as lead                        list the messages for lead
  telex why ID                                 show its history
"""
HELP_NAMES = ["-h", "--help"]
COMPLETION = "_TELEX_COMPLETE"  # set by a shell that completes a word

# options of fast commands whose values are completed
_COMPLETED = {
    "--as": "agents",
    "--to": "agents",
    "--role": "roles",
    "--dialect": "dialects",
    "--team-dialect": "dialects",
}


class FastCommand(click.Command):
    """A command with its own option parser; click passes the words on and completes its options."""

    def __init__(self, name: str) -> None:
        module = import_module(f"telex.surfaces.cli.{name}")
        self.options: tuple[Option, ...] = module.OPTIONS
        self.help_text: str = module.HELP
        words = click.Argument(["words"], nargs=-1, type=click.UNPROCESSED, shell_complete=self._complete_value)
        settings = {"ignore_unknown_options": True, "allow_interspersed_args": False}
        super().__init__(name, settings, lambda words: module.run(list(words)), [words], add_help_option=False)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        return [
            CompletionItem(option.name, help=option.help)
            for option in self.options
            if option.name.startswith(incomplete)
        ]

    def _complete_value(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        """Values of some options; otherwise files."""
        from telex.surfaces.cli.options import COMPLETERS

        words: tuple[str, ...] = ctx.params.get("words") or ()
        last = words[-1] if words else ""
        if last not in _COMPLETED:
            return [CompletionItem(incomplete, type="file")]
        return [CompletionItem(word) for word in COMPLETERS[_COMPLETED[last]](ctx, param, incomplete)]


class _LazyGroup(click.Group):
    """A group that imports a command when it is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        if cmd_name in FAST:
            return FastCommand(cmd_name)
        module = import_module(f"telex.surfaces.cli.{COMMANDS[cmd_name].module}")
        command = getattr(module, f"{cmd_name.replace('-', '_')}_command")
        assert isinstance(command, click.Command)
        enable_gc()  # it may run for hours
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        for title, section in SECTIONS.items():
            with formatter.section(title):
                formatter.write_dl([(name, info.help) for name, info in section.items()])

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0]
        if name not in COMMANDS and not name.startswith("-"):
            raise click.UsageError(f"no command {name!r}; {did_you_mean(name, COMMANDS)}")
        return super().resolve_command(ctx, args)


def _print_version(ctx: click.Context, _: click.Parameter, is_given: bool) -> None:
    if not is_given or ctx.resilient_parsing:
        return
    from importlib.metadata import PackageNotFoundError, version

    try:
        number = version("telex")
    except PackageNotFoundError:
        number = "(not installed)"
    sys.stdout.write(f"telex {number}\n")
    ctx.exit()


_VERSION = click.Option(
    ["--version"], is_flag=True, is_eager=True, expose_value=False, callback=_print_version, help="Show the version."
)
# `main` handles them before the command; each command takes them too.
_VERBOSE = click.Option(
    ["-v", "--verbose"], is_flag=True, expose_value=False, help="Print the store, settings and identity that are used."
)
_DEBUG = click.Option(["--debug"], is_flag=True, expose_value=False, help="Print every call, and tracebacks of errors.")
TELEX = _LazyGroup(
    name="telex",
    help=HELP,
    epilog="Exit codes: 0 done, 2 refused, 3 not found, 4 timed out, 64 wrong usage, 1 anything else."
    " Environment variables: telex help environment.",
    context_settings={"help_option_names": HELP_NAMES, "max_content_width": 100},
    params=[_VERBOSE, _DEBUG, _VERSION],
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
    """`missing argument: telex why ID`"""
    assert error.param is not None
    assert error.ctx is not None
    option = f"{error.param.opts[0]} " if isinstance(error.param, click.Option) else ""
    return (
        f"missing argument: {error.ctx.command_path} {option}{error.param.metavar or error.param.human_readable_name}"
    )
