"""Upgrade of the schema of a replicated team: entries of the log at which every copy migrates its tables."""

from telex.model.named_tuple import NamedTuple
from telex.ports.replica import HubStatus
from telex.stores.nats.address import HubSecrets, TeamAddress
from telex.stores.nats.migration import open_copy, running_hubs
from telex.stores.nats.store import ReplicaOptions
from telex.stores.sqlite.schema import VERSION


class UpgradeReport(NamedTuple):
    before: int  # schema
    after: int
    hubs: tuple[HubStatus, ...]
    version: str  # of this Telex

    @property
    def others(self) -> tuple[HubStatus, ...]:
        """Hubs that run another version of Telex than this one."""
        return tuple(hub for hub in self.hubs if hub.version != self.version)

    @property
    def is_refused(self) -> bool:
        return self.after < VERSION


async def upgrade_team(
    address: TeamAddress,
    folder: str,
    secrets: HubSecrets,
    options: ReplicaOptions,
    *,
    version: str,
    accepts_others: bool,
) -> UpgradeReport:
    """Bring all copies to the schema of this version, unless a hub of another version runs and that is not accepted.
    `folder` is for a temporary copy, `version` that of this Telex."""
    hubs = await running_hubs(address, secrets, options)
    async with open_copy(address, folder, secrets, options) as store:
        report = UpgradeReport(store.schema, store.schema, hubs, version)
        if report.before < VERSION and (accepts_others or not report.others):
            await store.migrate(VERSION)
        return report._replace(after=store.schema)
