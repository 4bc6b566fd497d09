"""Connection of a command to the bus, and its error messages.

Every command that uses the bus opens it here, so that the same failure has the same text and exit code everywhere. It
is on the path of `telex send`, so nothing is imported that a single message does not need.
"""

import gc
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

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
from telex.surfaces.cli.exit_codes import FAILED, NOT_FOUND, REFUSED, TIMED_OUT, USAGE, CommandError
from telex.surfaces.cli.output import shown

if TYPE_CHECKING:
    from telex.client import SyncBus
    from telex.config import Settings

AGENT = "TELEX_AGENT"  # name of the agent that works in this environment, where no option gives it
MEMORY = "memory:"  # a store that is always there, and empty
EXITS: dict[type[TelexError], int] = {
    LeaseLost: REFUSED,
    NotAMember: REFUSED,
    NotFound: NOT_FOUND,
    RequestTimedOut: TIMED_OUT,
    SettingsError: USAGE,
    InvalidValue: USAGE,
}


@contextmanager
def opened(store: str | None, settings: "Settings | None" = None, *, to_show: bool = False) -> Iterator["SyncBus"]:
    """The bus on that store, or on the one that the environment, the settings or the folder name.

    A store in memory will do `to_show` what needs none, and for nothing else: it is gone with the command.

    Raises:
        CommandError: when the bus cannot do what was asked of it.
    """
    from telex.connection import STORE, connect

    if (store or os.environ.get(STORE)) == MEMORY and not to_show:
        raise CommandError("an in-memory store ends with this command: give a file with --store")
    with explained(), connect(store, settings=settings) as bus:
        yield bus


@contextmanager
def opened_to_look(store: str | None, settings: "Settings | None" = None) -> Iterator["SyncBus"]:
    """The same for a command that is about what is there already: where nothing is, it makes nothing.

    Raises:
        CommandError: with exit code 3 where there is no store, or when the bus cannot do what was asked of it.
    """
    store_there(store)
    with opened(store, settings) as bus:
        yield bus


@contextmanager
def opened_if_there(store: str | None, settings: "Settings | None" = None) -> Iterator["SyncBus | None"]:
    """The same for whoever wants to know without complaining: None where there is no store."""
    if is_there(place_of(store)):
        with opened(store, settings) as bus:
            yield bus
    else:
        yield None


def is_there(path: str) -> bool:
    """Is there a store? One in memory is, and whether a hub is there it says itself when it is asked."""
    from telex.connection import is_hub

    return path == MEMORY or is_hub(path) or os.path.exists(path)


def store_there(store: str | None) -> str:
    """Where the store is, which must be there.

    Raises:
        CommandError: with exit code 3, when it is not.
    """
    path = place_of(store)
    if not is_there(path):
        raise CommandError(store_missing(store), NOT_FOUND)
    return path


def store_in(folder: str) -> str:
    """The store in that folder, or in its .telex; none above it.

    Raises:
        CommandError: with exit code 3, when there is none.
    """
    from telex.connection import FILE
    from telex.project import STORE_FOLDER

    places = [os.path.join(folder, FILE), os.path.join(folder, STORE_FOLDER, FILE)]
    found = next((place for place in places if os.path.exists(place)), None)
    if found is None:
        looked = f"looked for {shown(places[0])} and {shown(places[1])}"
        raise CommandError(f"no store in {shown(folder)}: {looked}; give the name of the file in it", NOT_FOUND)
    return found


def store_missing(store: str | None) -> str:
    from telex.config import seen

    return f"no store at {shown(seen(place_of(store)))}: the first telex send creates it"


def acting_agent(given: str | None, store: str | None) -> str | None:
    """Name of the agent that a command acts for: as given, of the environment, or the one that the token is bound to.

    Raises:
        CommandError: the hub cannot be asked whose token it is.
    """
    from telex.connection import TOKEN, is_hub

    named = given or os.environ.get(AGENT)
    if named or not os.environ.get(TOKEN) or not is_hub(place_of(store)):
        return named
    from telex.client import run_sync
    from telex.http_client.bus import RemoteBus

    with opened(store) as bus:
        hub = bus.awaitable
        assert isinstance(hub, RemoteBus)
        return run_sync(hub.bound_agent())


def stay_for_long() -> None:
    """This command may run for hours: what was imported stays, but from here on garbage is collected (see main)."""
    if not gc.isenabled():
        gc.freeze()
        gc.enable()


def settings_here(dialect: str | None = None) -> "Settings":
    """What the team has settled, reading messages as that dialect only if one is named.

    Raises:
        CommandError: when telex.toml is wrong, or there is no such dialect.
    """
    from telex.config import load

    with explained():
        settings = load(os.getcwd())
    if dialect is None:
        return settings
    from telex.surfaces.cli.dialect_options import dialect_from

    return settings._replace(forced=dialect_from(dialect, among=settings.dialects()))


def store_path(store: str | None) -> str:
    """Where the store itself is, or would be made.

    Raises:
        CommandError: when that cannot be told, or a hub is meant.
    """
    from telex.connection import store_path as path_of

    with explained():
        return path_of(store, settings_here())


def place_of(store: str | None) -> str:
    """The same, or the address of the hub that is meant."""
    from telex.connection import hub_at
    from telex.connection import store_path as path_of

    settings = settings_here()
    with explained():
        return hub_at(store, settings) or path_of(store, settings)


@contextmanager
def explained() -> Iterator[None]:
    """What goes wrong inside is said in one sentence, and has its exit code."""
    try:
        yield
    except OutcomeUnknown as error:
        again = f"send again with the same id: --id {shown(error.id)}" if error.id else "do it again: that is safe"
        raise CommandError(f"outcome unknown: {again} ({shown(error.say)})", FAILED) from error
    except TelexError as error:
        raise CommandError(said(error), EXITS.get(type(error), FAILED)) from error
    except UnicodeEncodeError as error:  # only what was typed can have half a character: messages are looked at first
        raise CommandError(f"{shown(str(error.object)[:80])} is not UTF-8: enter it again") from error


def said(error: TelexError) -> str:
    """The sentence, line by line. What an agent is refused has a code as well, since agents tell it by that."""
    lines = [shown(line) for line in error.say.split("\n")]
    code = f"{error.code}: " if isinstance(error, LeaseLost | NotAMember) else ""
    return code + "\n".join(lines)
