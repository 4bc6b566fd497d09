"""Responses of the page that are the same for every viewer: computed once for all who wait.

An answer is shared only by those who had asked when it was begun, so a page that asks because of an event sees it. The
time between two answers grows with their cost, so that open pages take a small share of the hub's time.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Any

APART_SECONDS = 0.25  # at least, between two answers
APART_SECONDS_MAX = 2.0
TIME_SHARE_MAX = 0.05  # of the hub's time for one screen, up to that


class SharedResponse:
    def __init__(self, made: Callable[[], Awaitable[Any]], apart: float = APART_SECONDS) -> None:
        self._made, self._least, self._apart, self._lock = made, apart, apart, asyncio.Lock()
        self._begun = self._ended = float("-inf")
        self._answer: Any = None

    async def __call__(self) -> Any:
        asked = time.monotonic()
        async with self._lock:
            if self._begun < asked:
                await asyncio.sleep(self._ended + self._apart - asked)
                begun = time.monotonic()
                self._answer = await self._made()
                self._begun, self._ended = begun, time.monotonic()
                cost = self._ended - begun
                self._apart = min(max(self._least, cost / TIME_SHARE_MAX), APART_SECONDS_MAX)
            return self._answer
