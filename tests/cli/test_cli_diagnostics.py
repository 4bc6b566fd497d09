"""-v and --debug, and the examples in the help of every command."""

import re
import shlex
from collections.abc import Iterator
from importlib import import_module
from itertools import takewhile
from pathlib import Path

import click
import pytest

from telex.surfaces.cli.commands import COMMANDS, TELEX
from telex.surfaces.cli.examples import EXAMPLES
from telex.surfaces.cli.main import FAST
from telex.surfaces.cli.usage import parse
from tests.cli.cli_bus_kit import Telex, sent, telex
from tests.proofs import proves

__all__ = ["telex"]


# --- diagnostics ------------------------------------------------------------------------------------------------------
@proves("cli/verbose")
@pytest.mark.parametrize("words", [("-v", "inbox"), ("inbox", "-v"), ("--verbose", "inbox"), ("inbox", "--verbose")])
def test_verbose_prints_settings_store_and_agent_on_stderr(
    telex: Telex, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...]
) -> None:
    (tmp_path / "telex.toml").write_text("")
    id_ = sent(telex)
    monkeypatch.setenv("TELEX_AGENT", "lead")
    plain, verbose = telex("inbox", "--json"), telex(*words, "--json")
    assert verbose.answer["id"] == plain.answer["id"] == id_
    assert plain.err == ""
    for used in (tmp_path / "telex.toml", tmp_path / ".telex/telex.db", "agent lead (TELEX_AGENT)"):
        assert str(used) in verbose.err


@proves("cli/verbose")
def test_a_fast_command_takes_the_options_too(telex: Telex, tmp_path: Path) -> None:
    Path("note.txt").write_text("all is well")
    for words in (("send", "-v", "--as", "dev"), ("-v", "send", "--as", "dev")):
        ran = telex(*words, "--to", "lead", "note.txt")
        assert ran.code == 0
        assert str(tmp_path / ".telex/telex.db") in ran.err


@proves("cli/debug")
def test_debug_prints_calls_and_the_traceback_of_an_error(telex: Telex) -> None:
    sent(telex)
    ran = telex("--debug", "why", "no-such-id")
    assert ran.code == 3
    for part in ("Traceback", "NotFound", "call why", "no-such-id"):
        assert part in ran.err
    assert "Traceback" not in telex("why", "no-such-id").err
    assert "Traceback" not in telex("-v", "why", "no-such-id").err


def test_text_of_others_cannot_imitate_a_note(telex: Telex, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TELEX_AGENT", "lead\x1b[2J\ntelex: all is well")
    assert "\x1b" not in telex("inbox", "-v").err


# --- examples ---------------------------------------------------------------------------------------------------------
def walk(command: click.Command, path: str) -> Iterator[tuple[str, click.Command]]:
    yield path, command
    if isinstance(command, click.Group):
        for name, inner in command.commands.items():
            yield from walk(inner, f"{path} {name}")


def all_commands() -> dict[str, click.Command]:
    context = click.Context(TELEX)
    return dict(pair for name in COMMANDS if (made := TELEX.get_command(context, name)) for pair in walk(made, name))


@proves("cli/examples")
def test_every_command_and_subcommand_has_an_example_in_its_help(telex: Telex) -> None:
    assert sorted(EXAMPLES) == sorted(all_commands())
    for path, examples in EXAMPLES.items():
        help_text = telex(*path.split(), "--help").out
        for example in examples:
            assert example in help_text


@proves("cli/examples")
@pytest.mark.parametrize("path", EXAMPLES)
def test_the_examples_are_right(path: str, telex: Telex) -> None:
    for example in EXAMPLES[path]:
        [words] = [words for words in segments(example) if f"telex {path}" in " ".join(words)]
        *_, start = (number for number, word in enumerate(words, 1) if word == "telex")
        parsed(words[start:])


def segments(line: str) -> Iterator[list[str]]:
    """The commands of a pipeline, without what is redirected."""
    for part in line.replace("'eval \"$(", ";").replace(")\"'", ";").replace("|", ";").split(";"):
        yield list(takewhile(lambda word: word not in (">", ">>", "<"), shlex.split(part)))


def parsed(words: list[str]) -> None:
    """Parse the options without running the command."""
    name, *rest = words
    if name in FAST:
        module = import_module(f"telex.surfaces.cli.{name}")
        assert parse(rest, module.OPTIONS, module.HELP) is not None
        return
    command: click.Command | None = TELEX.get_command(click.Context(TELEX), name)
    while isinstance(command, click.Group):
        context = command.make_context(name, list(rest))
        if not context._protected_args:
            return
        name, *rest = [*context._protected_args, *context.args]
        command = command.commands[name]
    assert command is not None
    command.make_context(name, rest)


# --- --as -------------------------------------------------------------------------------------------------------------
@proves("cli/as-is-an-agent")
def test_as_is_an_agent_in_every_command_and_in_every_text() -> None:
    options = [param for command in all_commands().values() for param in command.params if "--as" in param.opts]
    assert {option.metavar for option in options} == {"NAME"}
    fast = [import_module(f"telex.surfaces.cli.{name}").OPTIONS for name in FAST]
    assert {option.value for table in fast for option in table if option.name == "--as"} == {"NAME"}
    root = Path(__file__).parents[2]
    wrong = re.compile(r"telex (?:check|fix|translate|trace|schema|prompt)\b[^`|;\n]*--as\b")
    for file in (*root.glob("src/telex/**/*.py"), *root.glob("docs/**/*.md"), root / "README.md"):
        assert not wrong.findall(file.read_text(encoding="utf-8")), file
