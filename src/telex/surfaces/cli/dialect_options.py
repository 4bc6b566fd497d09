"""Dialects of a command: those of the nearest telex.toml, the built-in ones, and a TOML file named by `--dialect`."""

import os
from collections.abc import Sequence

from telex.config import Settings
from telex.dialects.registry import OTHER_VERSIONS, PLAIN, by_name, one_of_each
from telex.dialects.schema import Dialect
from telex.model.finding import Finding
from telex.model.limits import LIMITS
from telex.model.roster import AT, PLUS, choice_of
from telex.model.text import nearest
from telex.surfaces.cli.exit_codes import FAILED, NOT_FOUND, USAGE, CommandError
from telex.surfaces.cli.output import shown

FILE_BYTES_MAX = 1_048_576  # far more than `declare` takes, so that it is the one to say so


def team_dialects() -> tuple[Dialect, ...]:
    """The dialects that the nearest telex.toml declares, then the built-in ones.

    Raises:
        CommandError: telex.toml, or a file that it names, is wrong.
    """
    from telex.surfaces.cli.bus_connection import settings_here

    return settings_here().dialects()


def preferred(dialects: Sequence[Dialect], settings: Settings) -> list[Dialect]:
    """Where several would do: the one that the team prefers, or else those that it declares."""
    own = [dialect for dialect in dialects if dialect in settings.own_dialects]
    return [dialect for dialect in dialects if dialect.name == settings.dialect] or own or one_of_each(dialects)


def dialect_from(value: str, unknown: int = USAGE, among: tuple[Dialect, ...] | None = None) -> Dialect:
    """The dialect that was asked for, `among` those of the team. `unknown` is the exit code if there is none.

    Raises:
        CommandError: when there is none of that name, or its file is missing or flawed.
    """
    return looked_at(value, unknown, among)[0]


def looked_at(value: str, unknown: int = USAGE, among: tuple[Dialect, ...] | None = None) -> tuple[Dialect, list[str]]:
    """The same, with remarks for the author of its file, a line each."""
    if is_file(value):
        return _declared(value)
    return _named(value, unknown, team_dialects() if among is None else among), []


def is_file(value: str) -> bool:
    return value.endswith(".toml") or os.sep in value or (os.altsep or os.sep) in value


def _named(name: str, unknown: int, dialects: tuple[Dialect, ...]) -> Dialect:
    dialect = by_name(name, (*dialects, *OTHER_VERSIONS))
    if dialect is not None:
        return dialect
    if AT in name or PLUS in name:
        return _of_version(name, unknown, dialects)
    names = [dialect.name for dialect in (*dialects, PLAIN)]
    meant = nearest(name, names)
    perhaps = f"; did you mean {meant}?" if meant else f"; there are {', '.join(names)}, or name a .toml file"
    raise CommandError(f"no dialect {shown(name)}{perhaps}", unknown)


def _of_version(name: str, unknown: int, dialects: tuple[Dialect, ...]) -> Dialect:
    from telex.delivery.membership import understood

    meant = understood(name, dialects, LIMITS)  # later names of fields are read whether or not they are asked for
    if isinstance(meant, Finding):
        raise CommandError(shown(f"{meant.say} (expected {meant.expected})"), unknown)
    dialect = by_name(choice_of(meant).name, dialects)
    assert dialect is not None
    return dialect


def _declared(path: str) -> tuple[Dialect, list[str]]:
    from telex.dialects.toml.loader import declare, show

    declared = declare(_text(path), path)
    if declared.dialect is None:
        raise CommandError("\n".join(shown(show(flaw)) for flaw in declared.flaws))
    return declared.dialect, [shown(show(problem)) for problem in declared.remarks]


def _text(path: str) -> str:
    try:
        with open(path, "rb") as file:
            return file.read(FILE_BYTES_MAX).decode("utf-8")
    except FileNotFoundError as error:
        raise CommandError(f"no such file: {shown(path)}", NOT_FOUND) from error
    except OSError as error:
        raise CommandError(f"cannot read {shown(path)}: {error.strerror}", FAILED) from error
    except UnicodeDecodeError as error:
        raise CommandError(f"{shown(path)}: is not UTF-8 at byte {error.start}") from error
