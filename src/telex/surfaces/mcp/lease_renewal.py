"""Renewal of the leases that were taken through this server.

A coding agent works on a message for minutes and cannot extend its lease meanwhile. So the server extends it while its
process lives: a crash frees the message within one lease, and nothing is held longer than `hold_seconds_max`.
"""

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from time import monotonic

from telex.errors import StoreError, TelexError
from telex.model.limits import Limits
from telex.model.message import Lease
from telex.ports.bus import Bus
from telex.validation.authorization import normalised


def renewed_seconds(limits: Limits) -> float:
    """Length of a lease that is renewed, when half of it is over: each renewal is an event in the log."""
    return 2 * limits.lease_seconds


class HeldLease:
    """A lease that a task renews."""

    def __init__(self, bus: Bus, agent: str, lease: Lease) -> None:
        self.bus, self.agent, self.token, self.message_id = bus, agent, lease.token, lease.message.id
        self.extended_until = 0.0  # by the agent itself
        self.task: asyncio.Task[None] | None = None

    async def renew(self, seconds: float, seconds_max: float) -> None:
        ends_at = monotonic() + seconds_max
        while True:
            await asyncio.sleep(seconds / 2)
            seconds = min(seconds, ends_at - monotonic())
            if seconds <= 0:
                return
            if monotonic() + seconds > self.extended_until:
                with suppress(StoreError):  # a store or hub that is away: tried again
                    await self.bus.extend(self.token, agent=self.agent, seconds=seconds)


class LeaseRenewal:
    """The leases that one server renews."""

    def __init__(self) -> None:
        self._held: dict[str, HeldLease] = {}

    def hold(self, bus: Bus, agent: str, leases: Sequence[Lease], limits: Limits) -> float:
        """Renew these. For how many seconds beyond their end."""
        for lease in leases:
            held = self._held[lease.token] = HeldLease(bus, agent, lease)
            held.task = asyncio.create_task(self._hold(held, limits))
        return max(limits.hold_seconds_max - renewed_seconds(limits), 0.0)

    async def _hold(self, held: HeldLease, limits: Limits) -> None:
        with suppress(TelexError):  # it was settled elsewhere, or is lost
            await held.renew(renewed_seconds(limits), limits.hold_seconds_max)
        self._held.pop(held.token, None)

    def release(self, token: str) -> None:
        held = self._held.pop(token, None)
        if held is not None and held.task is not None:
            held.task.cancel()

    def extended(self, token: str, seconds: float) -> None:
        """The agent itself has extended it: a renewal must not shorten that."""
        if token in self._held:
            self._held[token].extended_until = monotonic() + seconds

    def held_by(self, agent: str) -> list[HeldLease]:
        return [held for held in self._held.values() if normalised(held.agent) == normalised(agent)]

    def stop(self) -> None:
        for token in list(self._held):
            self.release(token)
