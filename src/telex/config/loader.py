"""Parser of telex.toml. It reports all errors at once, each with its line and the probable spelling."""

import os
from collections.abc import Mapping
from typing import Any, TypeVar

from telex.config import HUBS, MEMORY, NATS, SQLITE, Settings, seen, text_of
from telex.config.settings import (
    DURABILITIES,
    EVIDENCES,
    GUARDS,
    HUB_BOUNDS,
    LIMIT_BOUNDS,
    SEVERITIES,
    STATE,
    TASK_STATES,
    UNTYPED,
    ValueBounds,
    number,
)
from telex.dialects.registry import PLAIN, VERSIONS
from telex.dialects.schema import Dialect
from telex.dialects.toml.document import (
    NESTING_MAX,
    RAW,
    Key,
    TomlDocument,
    TomlProblem,
    TomlValue,
    meant_or_choices,
    one_of,
    scan,
    show,
    shown,
    toml_tables,
)
from telex.errors import SettingsError
from telex.model.limits import HUB_LIMITS, LIMITS, HubLimits, Limits
from telex.model.roster import AGENT, AT, EVERYONE, HUMAN, TELEX, Member
from telex.model.work import ESCALATES_AFTER, TaskState, TaskStateMachine, ends_reached, state_name
from telex.project import notify_file, shared_folder
from telex.validation.authorization import normalised

MEMBERS_MAX = 10_000
DIALECTS_MAX = 64
STATES_MAX = 200
ESCALATES_AFTER_MAX = 1_000
NAME_CHARACTERS_MAX = 64
PATH_CHARACTERS_MAX = 4_096
L = TypeVar("L", Limits, HubLimits)


def read(path: str, text: str) -> Settings:
    """Parse and validate the text of a file; `path` is named in errors, and other files are relative to it.

    Raises:
        SettingsError: a line for each error.
    """
    folder = os.path.dirname(path)
    sections = read_sections(
        path,
        text,
        {
            "team": Key(lambda value: _team(value, folder), default={}),
            "store": Key(lambda value: _store(value, folder), default={}),
            "hooks": Key(_hooks, default={}),
            "limits": Key(_limits, default=LIMITS),
            "hub": Key(_hub),
            "task_states": Key(_task_states),
            "notify": Key(_no_notify),
        },
    )
    sections.pop("notify")
    settings = Settings(source=path)._replace(**sections.pop("team"), **sections.pop("store"), **sections.pop("hooks"))
    return settings._replace(**sections)


def read_sections(path: str, text: str, keys: Mapping[str, Key]) -> dict[str, Any]:
    """Values of the sections of a settings file.

    Raises:
        SettingsError: a line for each error.
    """
    text = text.removeprefix("\ufeff")
    lines, too_deep = scan(text)
    if too_deep is not None:
        raise SettingsError(show(TomlProblem(seen(path), too_deep, "", f"nested more than {NESTING_MAX} deep")))
    tables = toml_tables(text, seen(path))
    if isinstance(tables, TomlProblem):
        raise SettingsError(show(tables))
    document = TomlDocument(seen(path), lines)
    sections = TomlValue(tables, (), document).read(keys)
    if document.flaws:
        raise SettingsError("\n".join(show(flaw) for flaw in document.in_order()))
    return sections


# --- the team ---------------------------------------------------------------------------------------------------------


def _team(value: TomlValue, folder: str) -> dict[str, Any]:
    default = Settings()
    team = value.read(
        {
            "name": Key(lambda name: name.line(NAME_CHARACTERS_MAX)),
            "strict": Key(TomlValue.boolean, default=default.strict),
            "dialect": RAW,
            "dialects": Key(lambda paths: _own_dialects(paths, folder), default=()),
            "unknown_fields": Key(one_of(*SEVERITIES["unknown_fields"]), default=default.unknown_fields),
            "misdelivery": Key(one_of(*SEVERITIES["misdelivery"]), default=default.misdelivery),
            "untyped": Key(one_of(*UNTYPED), default=default.untyped),
            "work_rules": Key(TomlValue.boolean, default=default.work_rules),
            "evidence": Key(one_of(*EVIDENCES), default=default.evidence),
            "members": RAW,
        }
    )
    own, named, members = team.pop("dialects"), team.pop("dialect"), team.pop("members")
    dialect = None if named is None else named.choice([dialect.name for dialect in (*own, *VERSIONS)])
    dialects = default._replace(own_dialects=own, dialect=dialect).dialects()
    return team | {
        "team_name": team.pop("name"),
        "own_dialects": own,
        "dialect": dialect,
        "members": () if members is None else _members(members, dialects),
    }


def _own_dialects(value: TomlValue, folder: str) -> tuple[Dialect, ...]:
    own: dict[str, Dialect] = {}
    for item in value.items(DIALECTS_MAX):
        path = item.line(PATH_CHARACTERS_MAX)
        dialect = _own_dialect(item, _absolute(path, folder)) if path else None
        if dialect is not None and dialect.name in own:
            item.flaw(f"{dialect.name} is declared by two files of this list: rename one of them")
        elif dialect is not None:
            own[dialect.name] = dialect
    return tuple(own.values())


def _own_dialect(item: TomlValue, path: str) -> Dialect | None:
    try:
        text = text_of(path)
    except SettingsError as error:
        item.flaw(f"{seen(path)} {error.say}")
        return None
    from telex.dialects.toml.loader import declare  # slow to import

    declared = declare(text, seen(path))
    item.sheet.flaws.update(dict.fromkeys(declared.flaws))  # they name the other file
    return declared.dialect


def _members(value: TomlValue, dialects: tuple[Dialect, ...]) -> tuple[Member, ...]:
    members: dict[str, Member] = {}
    for key, entry in value.entries(MEMBERS_MAX):
        name = _member_name(key, entry)
        if name in members:
            entry.flaw(f"{name} is declared twice: names compare without case, and with spaces as hyphens")
        member = _member(name or "", entry, dialects)
        if name is not None and member is not None:
            members[name] = member
    return tuple(members.values())


def _member_name(key: str, value: TomlValue) -> str | None:
    name = normalised(key)
    if not name or not name.isprintable() or len(name) > NAME_CHARACTERS_MAX or name.startswith("-"):
        value.flaw(f"a name has 1 to {NAME_CHARACTERS_MAX} printable characters and does not start with -")
    elif name in (TELEX, EVERYONE) or ":" in name:
        value.flaw(f"{name} is reserved: it has a special meaning in addresses")
    else:
        return name
    return None


def _member(name: str, value: TomlValue, dialects: tuple[Dialect, ...]) -> Member | None:
    if not value.is_table():
        return None
    roles = {role: None for dialect in dialects for role in dialect.roles} | {HUMAN: None, AGENT: None}
    needed = None if name in roles else 'the role of the member, such as role = "dev"'
    keys = {
        "role": Key(one_of(*roles), needed),
        "dialects": Key(
            lambda reads: tuple(filter(None, (_reads(item, dialects) for item in reads.items(DIALECTS_MAX))))
        ),
    }
    member = value.read(keys)
    role = member["role"] if value.has("role") else name
    return Member(name, role, member["dialects"] or (), declared=True) if role else None


def _reads(item: TomlValue, dialects: tuple[Dialect, ...]) -> str | None:
    """A dialect by its name, with or without a version."""
    names = [*(dialect.name for dialect in dialects), PLAIN.name]
    if not isinstance(item.value, str) or AT not in item.value:
        return item.choice(names)
    from telex.delivery.membership import understood

    name = understood(item.value, dialects, LIMITS)
    if isinstance(name, str):
        return name
    meant = f"did you mean {name.nearest}?" if name.nearest else meant_or_choices(item.value, names)
    item.flaw(f"{shown(item.value)} is not among the choices; {meant}")
    return None


# --- the store and the limits -----------------------------------------------------------------------------------------


def _store(value: TomlValue, folder: str) -> dict[str, Any]:
    store = value.read({"path": Key(lambda path: _store_path(path, folder)), "durability": Key(one_of(*DURABILITIES))})
    return {"store_path": store["path"], "durable": store["durability"] != "normal"}


def _store_path(value: TomlValue, folder: str) -> str | None:
    """Location of the store. A cloned project has a telex.toml too, so its path must not leave the project."""
    named = value.line(PATH_CHARACTERS_MAX)
    if not named or named == MEMORY or named.lower().startswith(HUBS):
        return named
    if named.lower().startswith(NATS):
        value.flaw("only telex serve --store, or TELEX_STORE, names a replicated team: a hub sends its password there")
        return None
    project, path = os.path.realpath(folder), _absolute(named, folder)
    if os.path.commonpath([os.path.realpath(path), project]) == project:
        return os.path.join(shared_folder(os.path.dirname(path)), os.path.basename(path))
    value.flaw("the store lies outside the folder of this file: move it inside, or set TELEX_STORE to its path")
    return None


def _absolute(path: str, folder: str) -> str:
    return os.path.normpath(os.path.join(folder, os.path.expanduser(path.removeprefix(SQLITE))))


def _hooks(value: TomlValue) -> dict[str, Any]:
    hooks = value.read({"guard": Key(one_of(*GUARDS), default=Settings().hooks_guard)})
    return {"hooks_guard": hooks["guard"]}


def _no_notify(value: TomlValue) -> None:
    """A cloned project has a telex.toml too: it must not choose a program or a receiver of the team's texts."""
    value.flaw(
        f"a project cannot choose where alerts go: move [notify] to {seen(notify_file())}, or name its file with"
        " telex serve --notify FILE"
    )


def _limits(value: TomlValue) -> Limits:
    limits = _numbers(value, LIMIT_BOUNDS, LIMITS)
    if limits.retention_seconds < limits.dedup_window_seconds:
        key = "retention_seconds" if value.has("retention_seconds") else "dedup_window_seconds"
        value.at(key).flaw("dedup_window_seconds must not exceed retention_seconds")
    return limits


def _hub(value: TomlValue) -> HubLimits | None:
    limits = _numbers(value, HUB_BOUNDS, HUB_LIMITS)
    if limits.bodies_bytes_max < limits.body_bytes_max:
        key = "bodies_bytes_max" if value.has("bodies_bytes_max") else "body_bytes_max"
        value.at(key).flaw("bodies_bytes_max must not be less than body_bytes_max")
    return limits if limits != HUB_LIMITS else None


def _numbers(value: TomlValue, bounds: Mapping[str, ValueBounds], defaults: L) -> L:
    def key(name: str) -> Key:
        default: float = getattr(defaults, name)
        return Key(lambda place: _number(place, bounds[name], default), default=default)

    return defaults._replace(**value.read({name: key(name) for name in bounds}))


def _number(value: TomlValue, bounds: ValueBounds, default: float) -> float | None:
    """A number within its bounds; an integer if the default is one."""
    is_integer = isinstance(default, int)
    given = value.integer() if is_integer else value.number()
    if given is not None and not bounds.least <= given <= bounds.most:
        value.wrong(f"a number from {number(bounds.least)} to {number(bounds.most)}")
        return None
    return given if given is None or is_integer else float(given)


# --- task states ------------------------------------------------------------------------------------------------------


def _task_states(value: TomlValue) -> TaskStateMachine | None:
    """The state machine of tasks. Each state must be reachable and must lead to a final state."""
    if not value.is_table():
        return None
    value.only(*TASK_STATES, "states")
    table = value.need("states", "the states, each a table such as [task_states.states.doing]")
    if table is None or not table.is_table():
        return None
    names = _state_names(table)
    states = {names[key]: _state(entry, names) for key, entry in table.entries(STATES_MAX) if key in names}
    first, assigned, working = (_named_state(value.need(key, "one of the states"), names) for key in TASK_STATES)
    if first is None or assigned is None or working is None or value.sheet.flaws:
        return None
    machine = TaskStateMachine(states, first, assigned, working)
    if assigned != first and assigned not in states[first].leads_to:
        value.at("assigned").flaw(
            f"an assignment moves a task from {first} to {assigned}, but there is no such transition"
        )
    reachable = {first} | {other for state in states.values() for other in state.leads_to}
    for key, name in names.items():
        if name not in reachable:
            table.at(key).flaw("not reachable: add it to goes_to, fails_to or escalates_to of another state")
        elif not ends_reached(machine, name):
            table.at(key).flaw("no final state is reachable from here: at least one state needs no successor")
    return machine


def _state_names(states: TomlValue) -> dict[str, str]:
    """The normalised name of each state, by its key in the file."""
    names: dict[str, str] = {}
    for key, value in states.entries(STATES_MAX):
        name = state_name(key)
        if not name or not name.isprintable() or len(name) > NAME_CHARACTERS_MAX:
            value.flaw(f"the name of a state has 1 to {NAME_CHARACTERS_MAX} printable characters")
        elif name in names.values():
            value.flaw(f"{name} is declared twice: states compare without case, and with - and blanks as _")
        else:
            names[key] = name
    return names


def _state(value: TomlValue, names: dict[str, str]) -> TaskState:
    def several(place: TomlValue) -> tuple[str, ...]:
        named = (_named_state(item, names) for item in place.items(STATES_MAX))
        return tuple(dict.fromkeys(name for name in named if name is not None))

    bounds = ValueBounds(1, ESCALATES_AFTER_MAX, "")
    keys = {
        "goes_to": Key(several, default=()),
        "fails_to": Key(several, default=()),
        "escalates_to": Key(lambda place: _named_state(place, names)),
        "escalates_after": Key(lambda place: _number(place, bounds, ESCALATES_AFTER), default=ESCALATES_AFTER),
    }
    assert tuple(keys) == tuple(STATE)
    return TaskState(**value.read(keys))


def _named_state(value: TomlValue | None, names: dict[str, str]) -> str | None:
    if value is not None and isinstance(value.value, str) and state_name(value.value) in names.values():
        return state_name(value.value)
    return value.choice(list(names)) if value is not None else None
