"""Heartbeat of a reader: extends its leases at a third of their time, while the messages are processed."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from telex.errors import StoreError, TelexError

if TYPE_CHECKING:
    from telex.agent import Lease

PARTS = 3  # of a lease: two extensions may fail before it expires


class Heartbeat:
    """One task for all leases of a reader. `lost` is called for a lease that cannot be extended any more."""

    def __init__(
        self,
        seconds: float,
        lost: "Callable[[Lease], object]" = lambda _: None,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._seconds, self._lost, self._sleep = seconds, lost, sleep
        self._leases: set[Lease] = set()
        self._task: asyncio.Task[None] | None = None

    def add(self, lease: "Lease") -> None:
        self._leases.add(lease)
        if self._task is None or self._task.done():
            self._task = asyncio.get_running_loop().create_task(self._run())

    def remove(self, lease: "Lease") -> None:
        self._leases.discard(lease)

    def close(self) -> None:
        self._leases.clear()
        if self._task is not None:
            self._task.cancel()

    async def _run(self) -> None:
        while True:
            await self._sleep(self._seconds / PARTS)
            if self._leases:
                await asyncio.gather(*map(self._extend, tuple(self._leases)))  # in one commit

    async def _extend(self, lease: "Lease") -> None:
        if not lease.is_open:
            self.remove(lease)
            return
        try:
            await lease.extend(self._seconds)
        except StoreError:
            return  # retried: the store may be available again before the lease expires
        except TelexError:
            self.remove(lease)
            if lease.is_open:  # not settled meanwhile
                lease.is_open = False
                self._lost(lease)
