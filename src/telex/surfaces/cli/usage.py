"""Exit codes, the error that ends a command, and the option parser of the commands that must start fast.

One table lists the options; parsing and `--help` both use it. All other commands use click.
"""

import sys
from collections.abc import Iterator

from telex.model.named_tuple import NamedTuple
from telex.surfaces.cli.output import did_you_mean, shell_word, shown, wrapped

DONE, FAILED, REFUSED, NOT_FOUND, TIMED_OUT, USAGE, INTERRUPTED = 0, 1, 2, 3, 4, 64, 130
HELP_COLUMNS = 80


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


def parse(args: list[str], table: tuple[Option, ...], help: str) -> ParsedOptions | None:
    """Sort the words into options and operands; after `--` all are operands. None: `--help` was printed."""
    known = {name: option for option in table for name in (option.name, option.short) if name}
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
    if not parsed.has("--help"):
        return parsed
    sys.stdout.write(help % _help_text(table))
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
