"""Exit codes, the error that ends a command, diagnostics, and the option parser of commands that must start fast.

One table lists the options; parsing and `--help` both use it. All other commands use click.
"""

import gc
import sys
from collections.abc import Iterator
from typing import ClassVar

from telex.model.named_tuple import NamedTuple
from telex.surfaces.cli.output import did_you_mean, shell_word, shown, wrapped

DONE, FAILED, REFUSED, NOT_FOUND, TIMED_OUT, USAGE, INTERRUPTED = 0, 1, 2, 3, 4, 64, 130
HELP_COLUMNS = 80


VERBOSE, DEBUG = 1, 2  # levels of diagnostics


class Diagnostics:
    """Diagnostics of this process, on stderr: the level, and the notes that were printed."""

    level = 0
    notes: ClassVar[set[str]] = set()


def enable_gc() -> None:
    """Enable the garbage collector, which `main` disables for the start. What is loaded by then is never collected."""
    if not gc.isenabled():
        gc.freeze()
        gc.enable()


class CommandError(Exception):
    """Ends a command with a text on stderr and an exit code. Errors of a message are findings instead."""

    def __init__(self, say: str, code: int = USAGE) -> None:
        super().__init__(say)
        self.say, self.code = say, code


class Option(NamedTuple):
    name: str
    value: str  # metavar of its value; empty for a flag
    help: str
    short: str = ""
    once: str = ""  # error text when it is given twice; empty: the last value counts


DIAGNOSTIC_OPTIONS = (Option("--verbose", "", "", "-v"), Option("--debug", "", ""))  # of every command


class ParsedOptions(NamedTuple):
    options: dict[str, str]  # by name; a flag has an empty value
    operands: list[str]

    def get(self, name: str) -> str | None:
        return self.options.get(name)

    def has(self, name: str) -> bool:
        return name in self.options

    def repeat(self, *names: str) -> str:
        """These options as they were given, with a blank before each, to print a further command."""
        return "".join(f" {name} {shell_word(self.options[name])}" for name in names if name in self.options)


def diagnose(level: int) -> None:
    """Print notes and log records from now on. 0: none."""
    Diagnostics.level = level
    Diagnostics.notes.clear()
    if level:
        import logging

        handler = logging.StreamHandler()
        handler.setFormatter(logging.Formatter("telex: %(levelname)s %(name)s: %(message)s"))
        logger = logging.getLogger("telex")
        logger.handlers, logger.propagate = [handler], False
        logger.setLevel(logging.DEBUG if level == DEBUG else logging.INFO)


def note(text: str, level: int = VERBOSE) -> None:
    """Print a line on stderr, once, if diagnostics of this level are on."""
    if Diagnostics.level >= level and text not in Diagnostics.notes:
        Diagnostics.notes.add(text)
        sys.stderr.write(f"telex: {shown(text)}\n")
        sys.stderr.flush()


def parse(args: list[str], table: tuple[Option, ...], help: str) -> ParsedOptions | None:
    """Parse the words into options and operands; after `--` all are operands. None: `--help` was printed."""
    known = {name: option for option in (*table, *DIAGNOSTIC_OPTIONS) for name in (option.name, option.short) if name}
    parsed = ParsedOptions({}, [])
    words = iter(args)
    for word in words:
        if word == "--":
            parsed.operands.extend(words)
        elif word == "-" or not word.startswith("-"):
            parsed.operands.append(word)
        else:
            name, sign, value = word.partition("=")
            if name not in known:
                raise CommandError(f"no option {shown(name)}; {did_you_mean(name, known, '--help lists them')}")
            option = known[name]
            if option.once and option.name in parsed.options:
                raise CommandError(option.once)
            parsed.options[option.name] = _value(option, value if sign else None, words)
    if parsed.has("--verbose") or parsed.has("--debug"):
        diagnose(DEBUG if parsed.has("--debug") else VERBOSE)
    if not parsed.has("--help"):
        return parsed
    from telex.surfaces.cli.examples import examples_text

    sys.stdout.write(f"{help % _help_text(table)}\n{examples_text(help.split()[1])}")
    return None


def _value(option: Option, given: str | None, words: Iterator[str]) -> str:
    if not option.value:
        if given is not None:
            raise CommandError(f"{option.name} takes no value")
        return ""
    value = next(words, "") if given is None else given
    if not value or (given is None and value.startswith("--")):
        raise CommandError(f"{option.name} needs a value: {option.name} {option.value}")
    return value


def _help_text(table: tuple[Option, ...]) -> str:
    heads = {option: f"{option.name} {option.value}".rstrip() for option in table}
    heads |= {option: f"{option.short}, {heads[option]}" for option in table if option.short}
    width = max(map(len, heads.values()))
    indent = "\n" + " " * (width + 4)
    return "\n".join(
        f"  {head:<{width}}  {indent.join(wrapped(option.help, HELP_COLUMNS, width + 4))}"
        for option, head in heads.items()
    )
