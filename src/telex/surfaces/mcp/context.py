"""Context of a tool call: the bus, the caller, the team's settings, the project's files if there are any."""

from collections.abc import Callable
from typing import NamedTuple

from telex.config import Settings
from telex.dialects.schema import Dialect
from telex.ports.bus import Bus
from telex.project import root_of
from telex.surfaces.cli.guard import LinkResolver, from_root
from telex.surfaces.mcp.lease_renewal import LeaseRenewal


class Identity(NamedTuple):
    """Who calls: settled at the door, and by no argument."""

    agent: str
    role: str | None = None  # given once, where the name is no role


class ProjectFiles:
    """The files that the agent works on, as this process sees them."""

    def __init__(self, folder: str) -> None:
        self.folder, self.root = folder, root_of(folder)

    def from_root(self, path: str) -> str:
        """What an agent wrote, from the root of the project. What leads elsewhere stays as it is, and is told."""
        return from_root(path, self.folder, self.root)

    def resolver(self) -> Callable[[str], str | None]:
        """Where a path really leads, as of now."""
        return LinkResolver(self.root).leads_to


class CallContext(NamedTuple):
    bus: Bus
    settings: Settings
    who: Callable[[], Identity]  # raises NotAMember where nobody has said
    project: ProjectFiles | None = None
    renewal: LeaseRenewal | None = None  # None: leases are not renewed
    notice: str | None = None  # a line before the text of each result

    @property
    def dialects(self) -> dict[str, Dialect]:
        return {dialect.name: dialect for dialect in self.settings.dialects()}
