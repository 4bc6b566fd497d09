"""Which dialect does `--dialect` mean? A built-in one, by name or name@version, or a user's own, declared in a TOML
file."""

import os

from telex.dialects.registry import BUILT_IN, PLAIN, by_name
from telex.dialects.schema import Dialect
from telex.model.dialect_version import AT, PLUS, choice_of
from telex.model.finding import Finding
from telex.model.limits import LIMITS
from telex.model.suggestion import nearest
from telex.surfaces.cli.exit_codes import FAILED, NOT_FOUND, USAGE, CommandError
from telex.surfaces.cli.output import shown

FILE_BYTES_MAX = 1_048_576  # far more than `declare` takes, so that it is the one to say so
NAMES = tuple(dialect.name for dialect in (*BUILT_IN, PLAIN))


def dialect_from(value: str, unknown: int = USAGE) -> Dialect:
    """The dialect that was asked for. `unknown` is the code to leave with when there is none of that name.

    Raises:
        CommandError: when there is none of that name, or its file is missing or flawed.
    """
    return looked_at(value, unknown)[0]


def looked_at(value: str, unknown: int = USAGE) -> tuple[Dialect, list[str]]:
    """The same, with what whoever wrote its file would want to know although nothing is wrong, a line each."""
    return _declared(value) if is_file(value) else (_built_in(value, unknown), [])


def is_file(value: str) -> bool:
    return value.endswith(".toml") or os.sep in value or (os.altsep or os.sep) in value


def _built_in(name: str, unknown: int) -> Dialect:
    dialect = by_name(name)
    if dialect is not None:
        return dialect
    if AT in name or PLUS in name:
        return _of_version(name, unknown)
    meant = nearest(name, NAMES)
    perhaps = f"; did you mean {meant}?" if meant else f"; there are {', '.join(NAMES)}, or name a .toml file"
    raise CommandError(f"no dialect {shown(name)}{perhaps}", unknown)


def _of_version(name: str, unknown: int) -> Dialect:
    from telex.delivery.dialect_versions import understood

    meant = understood(name, BUILT_IN, LIMITS)  # later names of fields are read whether or not they are asked for
    if isinstance(meant, Finding):
        raise CommandError(shown(f"{meant.say} (expected {meant.expected})"), unknown)
    dialect = by_name(choice_of(meant).dialect)
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
