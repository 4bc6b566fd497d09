"""A replica without a log: it reports what a test sets."""

import time
from typing import Any

from telex.ports.replica import HubStatus, ReplicaStatus

HUBS = (
    HubStatus("node-a", "alpha:101", "http://10.0.0.1:4477/", "0.3.0", 1_200, 0.0, time.time()),
    HubStatus("node-b", "beta:202", "https://beta.example.org/", "0.3.0", 1_234, 0.25, time.time() - 3),
    HubStatus("node-c", "gamma:303", "", "0.2.0", 734, -0.5, time.time() - 5_400),
)
FOLLOWS = ReplicaStatus(
    team="build", node="node-a", position=1_200, log_end=1_234, writer="node-b", halted=None, behind_since=None,
    replicas=3, synced=True, is_durable=True, clock_offset=0.125, snapshot=1_000, log_bytes=4_096, log_bytes_max=-1,
    hubs=HUBS,
)  # fmt: skip


class FakeReplica:
    def __init__(self, *, arriving: int = 0, log: str = "log1", **changes: Any) -> None:
        """`arriving`: its position after the first wait."""
        self.current, self._arriving, self.log = FOLLOWS._replace(**changes), arriving, log
        self.waited: list[tuple[int, float]] = []

    def change(self, **changes: Any) -> None:
        self.current = self.current._replace(**changes)

    def status(self) -> ReplicaStatus:
        return self.current

    @property
    def position(self) -> int:
        return self.current.position

    @property
    def incarnation(self) -> str:
        return self.log

    async def reach(self, position: int, seconds: float) -> bool:
        self.waited.append((position, seconds))
        self.change(position=max(self.position, self._arriving))
        return position <= self.position
