"""Page of the command line: every command with its usage, options and help."""

import inspect
import re
from collections.abc import Iterator

import click

from telex.generate.tables import fenced, markdown_table
from telex.model.named_tuple import NamedTuple
from telex.surfaces.cli.commands import COMMANDS, HELP_NAMES, SECTIONS, TELEX, FastCommand
from telex.surfaces.cli.examples import EXAMPLES

OPTIONS_MARK = "%s"  # in the help of a command with its own parser
_INTRODUCTION = """\
`telex COMMAND --help` prints the same. Results go to stdout, errors and findings to stderr, so the output of a command
can be piped. Without `--store` a command uses the store of the project; see [environment](environment.md)."""
_EXIT_CODES = (
    ("0", "done"),
    ("1", "any other failure"),
    ("2", "refused: a message, a path or a replay has findings that stop it"),
    ("3", "not found: no such message, agent, file or code"),
    ("4", "timed out"),
    ("64", "wrong usage"),
    ("130", "interrupted by ctrl-c"),
)


class CommandHelp(NamedTuple):
    """Help of one command, from click or from the command's own parser."""

    path: str  # as typed: team join
    usage: str
    paragraphs: tuple[str, ...]
    options: tuple[tuple[str, str], ...]  # with the value, and what it does


def command_line_page() -> str:
    parts = ["# Command line", _INTRODUCTION]
    for title, section in SECTIONS.items():
        rows = [(f"[`{name}`](#telex-{name})", info.help) for name, info in section.items()]
        parts += [f"## {title}", markdown_table(("command", "what it does"), rows)]
        parts += [part for name in section for each in command_helps(name) for part in _section(each)]
    return "\n\n".join([*parts, "## Exit codes", markdown_table(("code", "meaning"), _EXIT_CODES)]) + "\n"


def command_helps(name: str) -> Iterator[CommandHelp]:
    """Help of a command, then of its subcommands."""
    with click.Context(TELEX, info_name="telex", help_option_names=HELP_NAMES) as root:
        command = TELEX.get_command(root, name)
        assert command is not None, name
        if isinstance(command, FastCommand):
            yield _of_own_parser(name, command)
        else:
            yield from _of_click(name, command, root)


def all_helps() -> list[CommandHelp]:
    return [each for name in COMMANDS for each in command_helps(name)]


def _of_own_parser(name: str, command: FastCommand) -> CommandHelp:
    usage, *others = command.help_text.rstrip("\n").split("\n\n")
    options = tuple(
        (", ".join(filter(None, (option.short, f"{option.name} {option.value}".rstrip()))), option.help)
        for option in command.options
    )
    examples = "\n".join(f"  {example}" for example in EXAMPLES[name])
    heading = "Example:" if len(EXAMPLES[name]) == 1 else "Examples:"
    paragraphs = (*(part for part in others if part != OPTIONS_MARK), heading, examples)
    return CommandHelp(name, usage, paragraphs, options)


def _of_click(path: str, command: click.Command, above: click.Context) -> Iterator[CommandHelp]:
    with click.Context(command, info_name=path.rpartition(" ")[2], parent=above) as context:
        text = "\n\n".join(inspect.cleandoc(part) for part in (command.help, command.epilog) if part)
        usage = " ".join([context.command_path, *command.collect_usage_pieces(context)])
        options = [each for each in command.get_params(context) if isinstance(each, click.Option) and not each.hidden]
        records = tuple(option.get_help_record(context) or ("", "") for option in options)
        yield CommandHelp(path, usage, tuple(text.split("\n\n")), records)
        if isinstance(command, click.Group):
            for name in command.list_commands(context):
                subcommand = command.get_command(context, name)
                assert subcommand is not None
                yield from _of_click(f"{path} {name}", subcommand, context)


# --- Markdown ---------------------------------------------------------------------------------------------------------
def _section(described: CommandHelp) -> list[str]:
    rows = [(f"`{name}`", _sentence(text)) for name, text in described.options if "--help" not in name]
    table = [markdown_table(("option", "what it does"), rows)] if rows else []
    return [
        f"### telex {described.path}",
        fenced("text", described.usage),
        *map(_paragraph, described.paragraphs),
        *table,
    ]


def _paragraph(text: str) -> str:
    """Prose as it is; lines that keep their breaks as a code block."""
    lines = text.strip("\n").removeprefix("\b\n").split("\n")
    if "\b" in text or all(line.startswith("  ") for line in lines):
        return fenced("text", inspect.cleandoc("\n".join(lines)))
    return re.sub(r"([*_<])", r"\\\1", "\n".join(lines))


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:] + ("" if text.endswith((".", "]")) else ".")
