"""`telex where`: the store, settings and identity that a command uses in this folder, each with its source."""

import os
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from telex.connection import STORE, TOKEN, is_hub
from telex.model.named_tuple import NamedTuple
from telex.project import STORE_FOLDER, VARIABLE, find_settings, nearest, work_tree
from telex.surfaces.cli.connection import AGENT, acting_agent, is_there, opened_if_there, place_of, settings_here
from telex.surfaces.cli.options import command, json_option, store_option, text_option
from telex.surfaces.cli.output import Screen
from telex.surfaces.cli.render import fields, print_one, table_lines
from telex.surfaces.cli.usage import DEBUG, CommandError, note
from telex.validation.authorization import normalised

if TYPE_CHECKING:
    from telex.client import SyncBus
    from telex.config import Settings

OPTION = "option"
SOURCES = {
    "option": "given on the command line",
    STORE: f"environment variable {STORE}",
    VARIABLE: f"environment variable {VARIABLE}",
    AGENT: f"environment variable {AGENT}",
    TOKEN: f"the hub's name for the token in {TOKEN}",
    "telex.toml": "set in telex.toml",
    "beside-settings": "beside telex.toml",
    "work-tree": "top of this git work tree",
    "main-work-tree": "main work tree of this git repository",
    "nearest-store": f"nearest {STORE_FOLDER} in this folder or above it",
    "nearest-settings": "nearest one in this folder or above it",
    "this-folder": "this folder: neither a git repository nor a store was found",
    "member": "as it joined",
    "session": "session of a coding tool, for telex mcp and hooks",
    "default": "defaults: no telex.toml in this folder or above it",
    "none": "",
}


class UsedValue(NamedTuple):
    name: str  # store, settings, agent, role or session
    value: str | None
    source: str  # a key of `SOURCES`
    note: str = ""

    @property
    def why(self) -> str:
        return "; ".join(text for text in (SOURCES[self.source], self.note) if text)


@command(
    "where",
    [
        text_option("--as", "NAME", "Your agent name, as other commands take it.", "agent", "agents"),
        store_option,
        json_option,
    ],
)
def where_command(agent: str | None, store: str | None, as_json: bool) -> int:
    """Show which store, settings and identity a command uses in this folder, and why. It creates nothing."""
    values = list(used_values(agent, store))
    facts = {value.name: fields(value, "value source why") for value in values}
    return print_one(facts, lambda screen: _lines(values, screen), as_json)


def _lines(values: list[UsedValue], screen: Screen) -> list[str]:
    return table_lines(("what", "which", "why"), [(row.name, row.value or "none", row.why) for row in values], screen)


def used_values(agent: str | None, store: str | None) -> Iterator[UsedValue]:
    """Store, settings, agent, and role and session where they are known."""
    settings = settings_here()
    yield _settings(settings)
    yield used_store(store, settings)
    identity = _agent(agent, store)
    yield identity
    if identity.value is not None:
        yield from _role(identity.value, store, settings)
    yield from _session(store)


def _settings(settings: "Settings") -> UsedValue:
    if settings.source is None:
        return UsedValue("settings", None, "default")
    return UsedValue("settings", settings.source, VARIABLE if os.environ.get(VARIABLE) else "nearest-settings")


def used_store(store: str | None, settings: "Settings") -> UsedValue:
    place = place_of(store)
    note = "" if is_there(place) else "the first telex send creates it"
    return UsedValue("store", place, _store_source(store, settings), note)


def _store_source(store: str | None, settings: "Settings") -> str:
    """The same order as `connection.store_path` and `project.store_folder`."""
    if store or os.environ.get(STORE):
        return OPTION if store else STORE
    if settings.store_path:
        return "telex.toml"
    here = os.getcwd()
    tree = work_tree(here)
    if tree is not None and tree.main != tree.top:
        return "main-work-tree"
    if tree is None and nearest(here, STORE_FOLDER, os.path.isdir):
        return "nearest-store"
    if not os.environ.get(VARIABLE) and find_settings(here):
        return "beside-settings"
    return "work-tree" if tree is not None else "this-folder"


def _agent(given: str | None, store: str | None) -> UsedValue:
    missing = f"give --as NAME or set {AGENT}"
    try:
        name = acting_agent(given, store)
    except CommandError as error:  # the hub does not answer
        return UsedValue("agent", None, "none", error.say)
    if name is None:
        return UsedValue("agent", None, "none", missing)
    source = OPTION if given else AGENT if os.environ.get(AGENT) else TOKEN
    return UsedValue("agent", normalised(name), source)


def _role(name: str, store: str | None, settings: "Settings") -> Iterator[UsedValue]:
    try:
        with opened_if_there(store, settings) as bus:
            members = [presence.member for presence in bus.roster()] if bus else [*settings.members]
    except CommandError as error:
        yield UsedValue("role", None, "none", error.say)
        return
    member = next((member for member in members if member.name == name), None)
    if member is None:
        yield UsedValue("role", None, "none", "it has not joined: --role or its name decides")
    else:
        yield UsedValue("role", member.role, "telex.toml" if member.declared else "member")


def _session(store: str | None) -> Iterator[UsedValue]:
    from telex.surfaces.clients.sessions import folder_of, of_process

    place = place_of(store)
    session = None if is_hub(place) else of_process(folder_of(place))
    if session is not None:
        yield UsedValue("session", session.agent, "session", f"{session.client} {session.id}")


class LoggedBus:
    """A bus that notes each call and how long it took, for --debug."""

    def __init__(self, bus: "SyncBus") -> None:
        self._bus = bus

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._bus, name)
        if not callable(method):
            return method

        def call(*args: Any, **options: Any) -> Any:
            began = time.monotonic()
            try:
                return method(*args, **options)
            finally:
                note(f"call {name} {(time.monotonic() - began) * 1000:.1f} ms", DEBUG)

        return call
