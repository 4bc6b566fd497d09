"""Option parser for the commands that must start fast.

One table lists the options; parsing and `--help` both use it. All other commands use click.
"""

from collections.abc import Iterator
from typing import NamedTuple

from telex.model.text import nearest
from telex.surfaces.cli.exit_codes import CommandError
from telex.surfaces.cli.output import shown, wrapped


class Option(NamedTuple):
    name: str
    value: str  # what its value is called; empty for a switch
    help: str
    short: str = ""
    once: str = ""  # what is said to whoever gives it twice; empty: the last holds


class ParsedOptions(NamedTuple):
    options: dict[str, str]  # by name; a switch that was given has an empty value
    operands: list[str]


def parse(args: list[str], table: tuple[Option, ...]) -> ParsedOptions:
    """Sort the words into options and operands. After `--` all are operands; of an option given twice the last holds.

    Raises:
        CommandError: with exit code 64, when an option is not known, lacks its value, has one it does not take, or is
            given twice where that would hide what was meant.
    """
    known = {name: option for option in table for name in (option.name, option.short) if name}
    parsed_options = ParsedOptions({}, [])
    words = iter(args)
    for word in words:
        if word == "--":
            parsed_options.operands.extend(words)
        elif word == "-" or not word.startswith("-"):
            parsed_options.operands.append(word)
        else:
            name, sign, value = word.partition("=")
            if name not in known:
                raise CommandError(_unknown(name, known))
            option = known[name]
            if option.once and option.name in parsed_options.options:
                raise CommandError(option.once)
            parsed_options.options[option.name] = _value(option, value if sign else None, words)
    return parsed_options


def _value(option: Option, given: str | None, words: Iterator[str]) -> str:
    if not option.value:
        if given is not None:
            raise CommandError(f"{option.name} takes no value")
        return ""
    value = next(words, "") if given is None else given
    if not value or (given is None and value.startswith("--")):
        raise CommandError(f"{option.name} needs a value: {option.name} {option.value}")
    return value


def _unknown(name: str, known: dict[str, Option]) -> str:
    meant = nearest(name, known)
    return f"no option {shown(name)}" + (f"; did you mean {meant}?" if meant else "; --help lists them")


def help_text(table: tuple[Option, ...], columns: int = 80) -> str:
    """The options, aligned; what does not fit into so many columns goes on below."""
    heads = {option: f"{option.name} {option.value}".rstrip() for option in table}
    heads |= {option: f"{option.short}, {heads[option]}" for option in table if option.short}
    width = max(map(len, heads.values()))
    indent = "\n" + " " * (width + 4)
    return "\n".join(
        f"  {head:<{width}}  {indent.join(wrapped(option.help, columns, width + 4))}" for option, head in heads.items()
    )
