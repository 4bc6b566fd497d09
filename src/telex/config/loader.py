"""Parser of telex.toml. It reports all errors at once, each with its line and the probable spelling."""

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, cast

from telex.config import Settings, seen, text_of
from telex.config.settings import (
    DURABILITIES,
    EVIDENCES,
    HUB_BOUNDS,
    LIMIT_BOUNDS,
    MEMBER,
    SEVERITIES,
    STORE,
    TEAM,
    ValueBounds,
    number,
)
from telex.dialects.registry import PLAIN, VERSIONS
from telex.dialects.schema import Dialect
from telex.dialects.toml.document import (
    NESTING_MAX,
    TomlDocument,
    TomlProblem,
    TomlValue,
    meant_or_choices,
    scan,
    show,
    shown,
    toml_tables,
)
from telex.errors import SettingsError
from telex.model.dialect_version import AT
from telex.model.finding import Severity
from telex.model.limits import LIMITS, Limits
from telex.model.roster import AGENT, EVERYONE, HUMAN, TELEX, Member
from telex.project import shared_folder
from telex.validation.authorization import normalised

if TYPE_CHECKING:
    from telex.model.hub_limits import HubLimits

SECTIONS = ("team", "store", "limits", "hub", "task_states")
MEMBERS_MAX = 10_000
DIALECTS_MAX = 64
NAME_CHARACTERS_MAX = 64
MEMORY, SQLITE = "memory:", "sqlite:"
HUBS = ("http://", "https://")  # an address is seen from everywhere alike


def read(path: str, text: str) -> Settings:
    """The settings of that text; `path` is named in what is wrong with it, and other files are found from there.

    Raises:
        SettingsError: with a line for each mistake.
    """
    text = text.removeprefix("\ufeff")
    lines, too_deep = scan(text)
    if too_deep is not None:
        raise SettingsError(show(TomlProblem(seen(path), too_deep, "", f"nested more than {NESTING_MAX} deep")))
    tables = toml_tables(text, seen(path))
    if isinstance(tables, TomlProblem):
        raise SettingsError(show(tables))
    sheet = TomlDocument(seen(path), lines)
    whole = TomlValue(tables, (), sheet)
    whole.only(*SECTIONS)
    settings = Settings(source=path)
    if whole.has("team"):
        settings = _team(whole.at("team"), settings)
    if whole.has("store"):
        settings = _store(whole.at("store"), settings)
    if whole.has("limits"):
        settings = settings._replace(limits=_limits(whole.at("limits")))
    if whole.has("hub"):
        settings = settings._replace(hub=_hub(whole.at("hub")))
    if whole.has("task_states"):
        from telex.config.task_states import machine_in  # few teams have states of their own

        settings = settings._replace(task_states=machine_in(whole.at("task_states")))
    if sheet.flaws:
        raise SettingsError("\n".join(show(flaw) for flaw in sheet.in_order()))
    return settings


# --- the team ---------------------------------------------------------------------------------------------------------


def _team(value: TomlValue, settings: Settings) -> Settings:
    if not value.is_table():
        return settings
    value.only(*TEAM, "members")
    own = _own_dialects(value.at("dialects"), settings) if value.has("dialects") else ()
    names = [dialect.name for dialect in (*own, *VERSIONS)]
    named = value.at("dialect").choice(names) if value.has("dialect") else None
    settings = settings._replace(own_dialects=own, dialect=named)
    return settings._replace(
        team_name=value.at("name").line(NAME_CHARACTERS_MAX) if value.has("name") else None,
        strict=value.at("strict").boolean() is not False if value.has("strict") else True,
        unknown_fields=_severity(value, "unknown_fields", settings.unknown_fields),
        misdelivery=_severity(value, "misdelivery", settings.misdelivery),
        evidence=(value.at("evidence").choice(EVIDENCES) if value.has("evidence") else None) or settings.evidence,
        work_rules=value.at("work_rules").boolean() is not False if value.has("work_rules") else True,
        members=_members(value.at("members"), settings.dialects()) if value.has("members") else (),
    )


def _severity(value: TomlValue, key: str, default: Severity) -> Severity:
    chosen = value.at(key).choice(SEVERITIES[key]) if value.has(key) else None
    return cast(Severity, chosen) if chosen else default


def _own_dialects(value: TomlValue, settings: Settings) -> tuple[Dialect, ...]:
    own: list[Dialect] = []
    for item in value.items(DIALECTS_MAX):
        named = item.line(4_096)
        dialect = _own_dialect(item, _from_here(named, settings)) if named else None
        if dialect is not None and dialect.name in (other.name for other in own):
            item.flaw(f"{dialect.name} is declared by two files of this list: rename one of them")
        elif dialect is not None:
            own.append(dialect)
    return tuple(own)


def _own_dialect(item: TomlValue, path: str) -> Dialect | None:
    try:
        text = text_of(path)
    except SettingsError as error:
        item.flaw(f"{seen(path)} {error.say}")
        return None
    from telex.dialects.toml.loader import declare  # only a team with dialects of its own pays for it in a cold start

    declared = declare(text, seen(path))
    for flaw in declared.flaws:
        item.sheet.flaws[flaw] = None  # it stands in another file, and says so
    return declared.dialect


def _members(place: TomlValue, dialects: tuple[Dialect, ...]) -> tuple[Member, ...]:
    members: dict[str, Member] = {}
    for key, value in place.entries(MEMBERS_MAX):
        name = _name(key, value)
        if name is not None and name in members:
            value.flaw(f"{name} is declared twice: names compare without case, and with spaces as hyphens")
        member = _member(name or "", value, dialects)
        if name is not None and member is not None:
            members[name] = member
    return tuple(members.values())


def _name(key: str, value: TomlValue) -> str | None:
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
    value.only(*MEMBER)
    roles = tuple(dict.fromkeys([*(role for dialect in dialects for role in dialect.roles), HUMAN, AGENT]))
    if value.has("role"):
        role = value.at("role").choice(roles)
    else:
        role = name if name in roles else None
        if role is None:
            value.need("role", 'the role of the member, such as role = "dev"')
    names = [*(dialect.name for dialect in dialects), PLAIN.name]
    items = value.at("dialects").items(DIALECTS_MAX) if value.has("dialects") else []
    reads = tuple(chosen for item in items if (chosen := _reads(item, names, dialects)))
    return Member(name, role, reads, declared=True) if role else None


def _reads(item: TomlValue, names: list[str], dialects: tuple[Dialect, ...]) -> str | None:
    """A dialect by its name, or one version of it."""
    if not isinstance(item.value, str) or AT not in item.value:
        return item.choice(names)
    from telex.delivery.dialect_versions import understood  # few say which version

    found = understood(item.value, dialects, LIMITS)
    if isinstance(found, str):
        return found
    meant = f"did you mean {found.nearest}?" if found.nearest else meant_or_choices(item.value, names)
    item.flaw(f"{shown(item.value)} is not among the choices; {meant}")
    return None


# --- the store and the limits -----------------------------------------------------------------------------------------


def _store(value: TomlValue, settings: Settings) -> Settings:
    if not value.is_table():
        return settings
    value.only(*STORE)
    path = _store_path(value.at("path"), settings) if value.has("path") else None
    durability = value.at("durability").choice(DURABILITIES) if value.has("durability") else None
    return settings._replace(store_path=path, durable=durability != "normal")


def _store_path(place: TomlValue, settings: Settings) -> str | None:
    """Where the store is. A cloned project has a telex.toml too: it may not make files elsewhere on the disk."""
    named = place.line(4_096)
    if not named or named == MEMORY or named.lower().startswith(HUBS):
        return named
    project = os.path.realpath(os.path.dirname(settings.source or ""))
    path = _from_here(named, settings)
    if os.path.commonpath([os.path.realpath(path), project]) == project:
        return os.path.join(shared_folder(os.path.dirname(path)), os.path.basename(path))
    place.flaw("the store lies outside the folder of this file: move it inside, or set TELEX_STORE to its path")
    return None


def _from_here(path: str, settings: Settings) -> str:
    """A path as it is meant in the file: seen from the folder the file is in."""
    folder = os.path.dirname(settings.source or "")
    return os.path.normpath(os.path.join(folder, os.path.expanduser(path.removeprefix(SQLITE))))


def _limits(value: TomlValue) -> Limits:
    if not value.is_table():
        return LIMITS
    value.only(*LIMIT_BOUNDS)
    limits = LIMITS._replace(**_numbers(value, LIMIT_BOUNDS, LIMITS))
    if limits.retention_seconds < limits.dedup_window_seconds:
        key = "retention_seconds" if value.has("retention_seconds") else "dedup_window_seconds"
        value.at(key).flaw("dedup_window_seconds must not exceed retention_seconds")
    return limits


def _hub(value: TomlValue) -> "HubLimits | None":
    from telex.model.hub_limits import HUB_LIMITS  # few teams change what a hub bears

    if not value.is_table():
        return None
    value.only(*HUB_BOUNDS)
    limits = HUB_LIMITS._replace(**_numbers(value, HUB_BOUNDS, HUB_LIMITS))
    if limits.bodies_bytes_max < limits.body_bytes_max:
        key = "bodies_bytes_max" if value.has("bodies_bytes_max") else "body_bytes_max"
        value.at(key).flaw("bodies_bytes_max must not be less than body_bytes_max")
    return limits if limits != HUB_LIMITS else None


def _numbers(place: TomlValue, bounds: Mapping[str, ValueBounds], defaults: object) -> dict[str, Any]:
    """Those that are set, each within its bounds."""
    given = {name: _number(place.at(name), bounds[name], getattr(defaults, name)) for name in bounds if place.has(name)}
    return {name: value for name, value in given.items() if value is not None}


def _number(place: TomlValue, bounds: ValueBounds, default: float) -> float | None:
    """The number, as a whole one where only that makes sense."""
    whole = isinstance(default, int)
    value = place.integer() if whole else place.number()
    least, most, _ = bounds
    if value is None:
        return None
    if not least <= value <= most:
        place.wrong(f"a number from {number(least)} to {number(most)}")
        return None
    return value if whole else float(value)
