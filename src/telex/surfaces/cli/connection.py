"""Settings, dialects and store of a command.

Every command that uses the bus opens it here, so that the same failure has the same text and exit code everywhere.
This module is on the path of `telex send`: it imports nothing that a single message does not need.
"""

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, cast

from telex.errors import (
    InvalidValue,
    LeaseLost,
    NotAMember,
    NotFound,
    OutcomeUnknown,
    RequestTimedOut,
    SettingsError,
    TelexError,
)
from telex.surfaces.cli.output import did_you_mean, shown
from telex.surfaces.cli.usage import (
    DEBUG,
    FAILED,
    NOT_FOUND,
    REFUSED,
    TIMED_OUT,
    USAGE,
    CommandError,
    Diagnostics,
    note,
)

if TYPE_CHECKING:
    from telex.client import SyncBus
    from telex.config import Settings
    from telex.dialects.schema import Dialect

AGENT = "TELEX_AGENT"  # environment variable: name of the agent, where no option gives it
MEMORY = "memory:"
DIALECT_FILE_BYTES_MAX = 1_048_576  # more than `declare` accepts, so that `declare` reports a file that is too large
EXITS: dict[type[TelexError], int] = {
    LeaseLost: REFUSED,
    NotAMember: REFUSED,
    NotFound: NOT_FOUND,
    RequestTimedOut: TIMED_OUT,
    SettingsError: USAGE,
    InvalidValue: USAGE,
}


# --- errors -----------------------------------------------------------------------------------------------------------
@contextmanager
def explained() -> Iterator[None]:
    """Turn errors of the bus into a `CommandError` with an exit code."""
    try:
        yield
    except OutcomeUnknown as error:
        again = f"send again with the same id: --id {shown(error.id)}" if error.id else "do it again: that is safe"
        raise CommandError(f"outcome unknown: {again} ({shown(error.say)})", FAILED) from error
    except TelexError as error:
        code = f"{error.code}: " if isinstance(error, LeaseLost | NotAMember) else ""  # agents act on the code
        lines = [shown(line) for line in error.say.split("\n")]
        raise CommandError(code + "\n".join(lines), EXITS.get(type(error), FAILED)) from error
    except UnicodeEncodeError as error:  # a lone surrogate in an argument; messages are checked before
        raise CommandError(f"{shown(str(error.object)[:80])} is not UTF-8: enter it again") from error


# --- store ------------------------------------------------------------------------------------------------------------
@contextmanager
def opened(store: str | None, settings: "Settings | None" = None, *, to_show: bool = False) -> Iterator["SyncBus"]:
    """The bus on that store, or on that of the environment, the settings or the folder.

    A store in memory ends with the command, so it is refused unless the command only shows something (`to_show`).
    """
    from telex.connection import STORE, connect

    if (store or os.environ.get(STORE)) == MEMORY and not to_show:
        raise CommandError("an in-memory store ends with this command: give a file with --store")
    if Diagnostics.level:
        _note_store(store, settings)
    with explained(), connect(store, settings=settings) as bus:
        yield _logged(bus) if Diagnostics.level == DEBUG else bus


def _note_store(store: str | None, settings: "Settings | None" = None) -> None:
    from telex.surfaces.cli.where import used_store

    used = used_store(store, settings or settings_here())
    note(f"store {used.value} ({used.why})")


def _logged(bus: "SyncBus") -> "SyncBus":
    from telex.surfaces.cli.where import LoggedBus

    return cast("SyncBus", LoggedBus(bus))


@contextmanager
def opened_to_look(store: str | None, settings: "Settings | None" = None) -> Iterator["SyncBus"]:
    """The bus on an existing store; none is created."""
    store_there(store)
    with opened(store, settings) as bus:
        yield bus


@contextmanager
def opened_if_there(store: str | None, settings: "Settings | None" = None) -> Iterator["SyncBus | None"]:
    """The bus on an existing store, or None."""
    if is_there(place_of(store)):
        with opened(store, settings) as bus:
            yield bus
    else:
        yield None


def is_there(path: str) -> bool:
    """Whether the store exists. A hub is assumed to."""
    from telex.connection import is_hub

    return path == MEMORY or is_hub(path) or os.path.exists(path)


def store_there(store: str | None) -> str:
    """Path of the existing store."""
    path = place_of(store)
    if not is_there(path):
        raise CommandError(store_missing(store), NOT_FOUND)
    return path


def store_in(folder: str) -> str:
    """Path of the store in that folder or in its .telex folder."""
    from telex.connection import FILE
    from telex.project import STORE_FOLDER

    places = [os.path.join(folder, FILE), os.path.join(folder, STORE_FOLDER, FILE)]
    path = next((place for place in places if os.path.exists(place)), None)
    if path is None:
        searched = f"neither {shown(places[0])} nor {shown(places[1])} exists"
        raise CommandError(f"no store in {shown(folder)}: {searched}; give the path of the file", NOT_FOUND)
    return path


def store_missing(store: str | None) -> str:
    from telex.config import seen

    return f"no store at {shown(seen(place_of(store)))}: the first telex send creates it"


def store_path(store: str | None) -> str:
    """Path of the store, which may not exist yet."""
    from telex.connection import store_path as path_of

    with explained():
        return path_of(store, settings_here())


def place_of(store: str | None) -> str:
    """Path of the store, or address of the hub."""
    from telex.connection import hub_at
    from telex.connection import store_path as path_of

    settings = settings_here()
    with explained():
        return hub_at(store, settings) or path_of(store, settings)


def acting_agent(given: str | None, store: str | None) -> str | None:
    """Name of the agent that a command acts for: as given, of the environment, or of the token."""
    from telex.connection import TOKEN, is_hub

    name = given or os.environ.get(AGENT)
    if name:
        note(f"agent {name} ({'--as' if given else AGENT})")
    if name or not os.environ.get(TOKEN) or not is_hub(place_of(store)):
        return name
    from telex.bus import run_sync
    from telex.http_client.bus import RemoteBus

    with opened(store) as bus:
        hub = bus.awaitable
        assert isinstance(hub, RemoteBus)
        return run_sync(hub.bound_agent())


# --- settings and dialects --------------------------------------------------------------------------------------------
def settings_here(dialect: str | None = None) -> "Settings":
    """Settings of the nearest telex.toml; messages are read as `dialect` only, if one is given."""
    from telex.config import load

    with explained():
        settings = load(os.getcwd())
    if Diagnostics.level:
        note(f"settings {settings.source or 'none'}")
    if dialect is None:
        return settings
    return settings._replace(forced=dialect_from(dialect, among=settings.dialects()))


def team_dialects() -> "tuple[Dialect, ...]":
    """The dialects that the nearest telex.toml declares, then the built-in ones."""
    return settings_here().dialects()


def preferred(dialects: "Sequence[Dialect]", settings: "Settings") -> "list[Dialect]":
    """Of several dialects: the one that the team prefers, otherwise those that it declares, otherwise all."""
    from telex.dialects.registry import one_of_each

    own = [dialect for dialect in dialects if dialect in settings.own_dialects]
    return [dialect for dialect in dialects if dialect.name == settings.dialect] or own or one_of_each(dialects)


def dialect_from(value: str, unknown: int = USAGE, among: "tuple[Dialect, ...] | None" = None) -> "Dialect":
    """The dialect of that name, `among` those of the team, or of that file. `unknown`: exit code if there is none."""
    return dialect_and_warnings(value, unknown, among)[0]


def dialect_and_warnings(
    value: str, unknown: int = USAGE, among: "tuple[Dialect, ...] | None" = None
) -> "tuple[Dialect, list[str]]":
    """The dialect, and the warnings about its file, one per line."""
    if is_file(value):
        return _declared(value)
    return _named(value, unknown, team_dialects() if among is None else among), []


def is_file(value: str) -> bool:
    return value.endswith(".toml") or os.sep in value or (os.altsep or os.sep) in value


def dialect_version(
    text: str, dialects: "tuple[Dialect, ...]", unknown: int = USAGE
) -> "tuple[Dialect, tuple[str, ...]]":
    """The dialect that a text such as `vbw@2.0+approved` names, and the fields with later names."""
    from telex.delivery.membership import understood
    from telex.dialects.registry import by_name
    from telex.model.finding import Finding
    from telex.model.limits import LIMITS
    from telex.model.roster import choice_of

    name = understood(text, dialects, LIMITS)
    if isinstance(name, Finding):
        raise CommandError(shown(f"{name.say} (expected {name.expected})"), unknown)
    choice = choice_of(name)
    dialect = by_name(choice.name, dialects)
    assert dialect is not None
    return dialect, choice.spellings


def _named(name: str, unknown: int, dialects: "tuple[Dialect, ...]") -> "Dialect":
    from telex.dialects.registry import OTHER_VERSIONS, PLAIN, by_name
    from telex.model.roster import AT, PLUS

    dialect = by_name(name, (*dialects, *OTHER_VERSIONS))
    if dialect is not None:
        return dialect
    if AT in name or PLUS in name:
        return dialect_version(name, dialects, unknown)[0]
    names = [dialect.name for dialect in (*dialects, PLAIN)]
    listed = f"there are {', '.join(names)}, or name a .toml file"
    raise CommandError(f"no dialect {shown(name)}; {did_you_mean(name, names, listed)}", unknown)


def _declared(path: str) -> "tuple[Dialect, list[str]]":
    from telex.dialects.toml.loader import declare, show

    declared = declare(_text(path), path)
    if declared.dialect is None:
        raise CommandError("\n".join(shown(show(flaw)) for flaw in declared.flaws))
    return declared.dialect, [shown(show(problem)) for problem in declared.remarks]


def _text(path: str) -> str:
    try:
        with open(path, "rb") as file:
            return file.read(DIALECT_FILE_BYTES_MAX).decode("utf-8")
    except FileNotFoundError as error:
        raise CommandError(f"no such file: {shown(path)}", NOT_FOUND) from error
    except OSError as error:
        raise CommandError(f"cannot read {shown(path)}: {error.strerror}", FAILED) from error
    except UnicodeDecodeError as error:
        raise CommandError(f"{shown(path)}: is not UTF-8 at byte {error.start}") from error
