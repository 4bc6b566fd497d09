"""Monotonic wall clock and source of ids.

Leases and deadlines use the wall clock, since processes share them. When the wall clock is set back, this clock
continues from where it was at the pace of the monotonic clock; it never starts before the last event of the store.
"""

import os
import time
from collections.abc import Callable

AHEAD_SECONDS_MAX = 86_400.0  # a store that is further ahead was written by a wrong clock: ignored
_LETTERS = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"  # Crockford's base 32


class SteadyClock:
    """Blocking: `sleep` never yields, so a coroutine that uses it needs no event loop."""

    def __init__(
        self,
        wall: Callable[[], float] = time.time,
        monotonic: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._wall, self._monotonic, self._sleep = wall, monotonic, sleep
        self._base, self._since = wall(), monotonic()

    def begin_after(self, moment: float) -> None:
        """Do not go before this time, which is that of the last event by another clock."""
        if self.now() < moment <= self._wall() + AHEAD_SECONDS_MAX:
            self._base, self._since = moment, self._monotonic()

    def now(self) -> float:
        wall, ticks = self._wall(), self._monotonic()
        steady = self._base + (ticks - self._since)
        if wall > steady:
            self._base, self._since = wall, ticks
            return wall
        return steady

    async def sleep(self, seconds: float) -> None:
        self._sleep(max(seconds, 0.0))

    def new_id(self) -> str:
        return new_id(self.now(), os.urandom(10))


class LoopClock(SteadyClock):
    """The same for an event loop: `sleep` yields to it."""

    async def sleep(self, seconds: float) -> None:
        import asyncio

        await asyncio.sleep(max(seconds, 0.0))


def new_id(now: float, random: bytes) -> str:
    """A ULID: 26 letters and digits that sort by time."""
    assert len(random) == 10
    number = (int(now * 1000) & (1 << 48) - 1) << 80 | int.from_bytes(random, "big")
    return "".join(_LETTERS[number >> shift & 31] for shift in range(125, -1, -5))
