"""Blocking agents and leases: the methods of `telex.agent.Agent` and `Lease` for a program without an event loop.

`telex.client` has them as its own and imports them when they are used: a cold `telex send` needs neither. Their types
are in `client.pyi`.
"""

from collections.abc import Iterator
from typing import Any

from telex.agent import WAIT_SECONDS, Agent, Lease
from telex.bus import run_sync
from telex.client import add_verbs, blocking, methods_of


class SyncLease:
    """See `telex.agent.Lease` for what each method does. Nothing extends it meanwhile."""

    def __init__(self, lease: Lease) -> None:
        self.awaitable = lease

    def __getattr__(self, name: str) -> Any:
        return getattr(self.awaitable, name)


class SyncAgent:
    """See `telex.agent.Agent` for what each method does."""

    def __init__(self, agent: Agent) -> None:
        self.awaitable = agent
        self.name, self.role = agent.name, agent.role

    def receive(self, limit: int = 1, wait: float = 0.0, lease: float | None = None) -> list[SyncLease]:
        return [SyncLease(received) for received in run_sync(self.awaitable.receive(limit, wait, lease))]

    def listen(self, *, limit: int = 1, lease: float | None = None) -> Iterator[SyncLease]:
        """Received messages, without end. Their leases are not extended: ack in time, or call `extend`."""
        while True:
            yield from self.receive(limit, WAIT_SECONDS, lease)


add_verbs(SyncAgent, blocking, methods_of(Agent))
add_verbs(SyncLease, blocking, methods_of(Lease))
