"""Replica of a hub as it is shown: for /readyz, which is public, and for the page.

A hub that is halted or behind keeps serving reads, so /healthz stays 200; /readyz answers 503, and a load balancer
sends requests to another hub.
"""

import re
import time
from typing import Any

from telex.model.named_tuple import NamedTuple
from telex.ports.bus import Bus
from telex.ports.replica import HubStatus, Replica, ReplicaStatus
from telex.protocol import plain
from telex.surfaces.http import asgi
from telex.surfaces.http.asgi import HttpResponse

BEHIND_SECONDS_MAX = 5.0  # then the hub is not ready
HALTED, BEHIND = "hub-halted", "hub-behind"
_SERVERS = re.compile(r"\b\w+://\S+|\b[\w.-]*[A-Za-z][\w.-]*:\d{2,5}\b|\b\d+(?:\.\d+){3}(?::\d+)?\b|\[[0-9a-f:]+\]\S*")


class ReplicaHealth(NamedTuple):
    """State of this hub's copy of the log that the hubs of a team share."""

    team: str
    node: str
    position: int
    log_end: int
    lag: int
    writer: str
    is_writer: bool
    halted: str | None
    behind_since: float | None
    replicas: int
    synced: bool | None
    durable: bool
    clock_offset: float


def replica_of(bus: Bus) -> Replica | None:
    """The replica of a bus whose store is shared by several hubs."""
    replica: Replica | None = getattr(bus, "replica", None)
    return replica


def lag(status: ReplicaStatus, position: int) -> int:
    """Entries of the log that a copy does not have. Another hub may be ahead of what this one knows."""
    return max(0, status.log_end - position)


def health(status: ReplicaStatus) -> ReplicaHealth:
    return ReplicaHealth(
        team=status.team,
        node=status.node,
        position=status.position,
        log_end=status.log_end,
        lag=lag(status, status.position),
        writer=status.writer,
        is_writer=status.writer == status.node,
        halted=status.halted,
        behind_since=status.behind_since,
        replicas=status.replicas,
        synced=status.synced,
        durable=status.is_durable,
        clock_offset=status.clock_offset,
    )


def public_health(status: ReplicaStatus) -> ReplicaHealth:
    """Without addresses of servers: a reason may quote the error of a connection."""
    return health(status._replace(halted=status.halted and _SERVERS.sub("…", status.halted)))


def problem_code(status: ReplicaStatus, now: float) -> str | None:
    """Code of the reason for which the hub is not ready; None: it is ready."""
    if status.halted is not None:
        return HALTED
    if status.behind_since is not None and now - status.behind_since > BEHIND_SECONDS_MAX:
        return BEHIND
    return None


def not_ready(status: ReplicaStatus, now: float) -> HttpResponse | None:
    code, facts = problem_code(status, now), plain(public_health(status))
    if code == HALTED:
        say = "Use another hub of the team: the copy of this one is halted."
        return asgi.problem(503, HALTED, say, replica=facts)
    if code == BEHIND:
        say = "Use another hub of the team: this one has not followed the log for more than 5 seconds."
        return asgi.problem(503, BEHIND, say, replica=facts)
    return None


async def replica_facts(bus: Bus) -> dict[str, Any]:
    """State of the replica and all hubs of the team, for the page."""
    replica = replica_of(bus)
    if replica is None:
        return {"replica": None}
    status = replica.status()
    hubs = [_hub_facts(hub, status) for hub in sorted(status.hubs, key=lambda hub: (hub.name, hub.node))]
    return {"replica": plain(health(status)) | {"problem": problem_code(status, time.time()), "hubs": hubs}}


def _hub_facts(hub: HubStatus, status: ReplicaStatus) -> dict[str, Any]:
    flags = {"is_writer": hub.node == status.writer, "is_this": hub.node == status.node}
    return {**plain(hub), "lag": lag(status, hub.position), **flags}
