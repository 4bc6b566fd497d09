"""Settings of a team: telex.toml, searched in the parent directories as git searches its folder.

Without the file the cost is a few stat calls: the TOML parser is imported only when there is one. `settings.py` has the
table of settings, `loader.py` parses them, and `docs/settings.md` is generated from the same table.
"""

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from telex.dialects.registry import BUILT_IN, OTHER_VERSIONS
from telex.dialects.schema import Dialect
from telex.errors import SettingsError
from telex.model.finding import Severity
from telex.model.limits import LIMITS, Limits
from telex.model.named_tuple import NamedTuple
from telex.model.roster import Member
from telex.project import VARIABLE, find_settings

if TYPE_CHECKING:
    from telex.model.limits import HubLimits
    from telex.model.work import TaskStateMachine
    from telex.validation.check import CheckPolicy

FILE_BYTES_MAX = 4 * 1_048_576
MEMORY, SQLITE = "memory:", "sqlite:"  # of addresses of stores
HUBS = ("http://", "https://")
NATS = "nats://"  # of a replicated team, which only hubs open


class Settings(NamedTuple):
    """Settings of a team, as `telex.toml` has them."""

    team_name: str | None = None
    strict: bool = True
    dialect: str | None = None  # preferred when a message fits two
    own_dialects: tuple[Dialect, ...] = ()
    forced: Dialect | None = None  # every message is parsed as this one; an option of a command, not in the file
    unknown_fields: Severity = "note"
    misdelivery: Severity = "warning"
    untyped: str = "accept"  # or refuse: for plain text of agents
    evidence: str = "mark"  # or refuse, or off: for a report that contradicts the repository
    work_rules: bool = True  # False: messages are only delivered
    members: tuple[Member, ...] = ()  # any at all close the team
    store_path: str | None = None  # absolute, or `memory:`, or the address of a hub
    durable: bool = True  # False: a power cut may lose stored messages
    hooks_guard: str = "deny"  # or ask, or off: for a write outside the contracts, in hooks of coding tools
    limits: Limits = LIMITS
    task_states: "TaskStateMachine | None" = None  # None: the built-in ones
    hub: "HubLimits | None" = None  # None: the defaults
    source: str | None = None  # the file, if there is one

    def work(self) -> Mapping[str, Any]:
        """Options of the work rules."""
        return {"task_states": self.task_states} if self.task_states is not None else {}

    def hub_limits(self) -> "HubLimits":
        """Limits of the hub, with their defaults."""
        from telex.model.limits import HUB_LIMITS

        return self.hub or HUB_LIMITS

    def dialects(self) -> tuple[Dialect, ...]:
        """The team's own dialects first. An old version of a built-in one is included only if it is named."""
        chosen = tuple(dialect for dialect in OTHER_VERSIONS if dialect.name == self.dialect)
        return (*self.own_dialects, *chosen, *BUILT_IN)

    def policy(self) -> "CheckPolicy":
        """How this team validates messages."""
        from telex.validation.check import CheckPolicy  # a guard does without

        return CheckPolicy(
            dialects=self.dialects(),
            preferred=self.dialect,
            forced=self.forced,
            strict=self.strict,
            unknown_fields=self.unknown_fields,
            misdelivery=self.misdelivery,
            untyped=self.untyped,
            work=self.work_rules,
            limits=self.limits,
        )


def load(folder: str) -> Settings:
    """Parse the settings for a folder: of the nearest telex.toml, in it or above it.

    Raises:
        SettingsError: the file is invalid; a line for each error.
    """
    path = find_settings(folder)
    return Settings() if path is None else load_file(path)


def load_file(path: str) -> Settings:
    """Parse this file.

    Raises:
        SettingsError: as for `load`.
    """
    from telex.config.loader import read

    try:
        text = text_of(path)
    except SettingsError as error:
        why = f"; {VARIABLE} names it" if os.environ.get(VARIABLE) else ""
        raise SettingsError(f"{seen(path)}: {error.say}{why}") from error
    return read(path, text)


def text_of(path: str) -> str:
    """The text of telex.toml, or of a file that it names: a cloned repository may have a link to a device there.

    Raises:
        SettingsError: what is wrong, to be put behind the name of the file.
    """
    try:
        with open(path, "rb", opener=_open_non_blocking) as file:
            text = file.read(FILE_BYTES_MAX + 1)
        if len(text) > FILE_BYTES_MAX:
            raise SettingsError(f"has more than {FILE_BYTES_MAX:,} bytes")
        return text.decode("utf-8")
    except OSError as error:
        raise SettingsError(f"cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise SettingsError(f"is not UTF-8 at byte {error.start}") from error


def _open_non_blocking(path: str, flags: int) -> int:
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))  # a pipe without a writer reads as empty


def seen(path: str) -> str:
    """A path relative to the working directory, if that is shorter."""
    from_here = os.path.relpath(path)
    return from_here if len(from_here) < len(path) else path
