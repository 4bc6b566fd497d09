"""Replica port: status of a hub's copy of a team, whose log several hubs share."""

from typing import Protocol

from telex.model.named_tuple import NamedTuple


class HubStatus(NamedTuple):
    """One hub of the team, by its last announcement."""

    node: str  # of the process; a hub that restarts has another
    name: str  # host and process
    url: str  # where it answers HTTP; empty: not known
    version: str  # of Telex
    position: int  # of the log, as far as its copy has it
    clock_offset: float  # seconds that its clock is behind the servers'
    seen_at: float


class ReplicaStatus(NamedTuple):
    """State of this hub's copy."""

    team: str
    node: str  # of this hub
    position: int  # the last entry of the log that this copy has
    log_end: int  # the last entry of the log that this hub knows of
    writer: str  # node whose batch was the last one
    halted: str | None  # why this copy takes no more entries; reads go on
    behind_since: float | None  # time since which the log could not be followed
    replicas: int  # of the log's stream
    synced: bool | None  # whether the servers sync every write; None: not known
    is_durable: bool  # three replicas, and every write is synced
    clock_offset: float  # seconds to add to this machine's clock for the servers' time
    snapshot: int  # position of the newest snapshot; 0: none
    log_bytes: int
    log_bytes_max: int  # -1: no limit
    hubs: tuple[HubStatus, ...]  # this one too


class Replica(Protocol):
    def status(self) -> ReplicaStatus: ...

    @property
    def position(self) -> int:
        """The last entry of the log that this copy has."""

    @property
    def incarnation(self) -> str:
        """Name of the log: another one counts its entries anew."""

    async def reach(self, position: int, seconds: float) -> bool:
        """Wait until this copy has that entry. False: it did not arrive in time."""
