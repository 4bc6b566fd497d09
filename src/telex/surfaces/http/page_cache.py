"""How do a hundred pages ask for the same screen, and the hub answer once? Whoever asks meanwhile waits for the next.

Nobody is told what was true before they asked: an answer is shared only by those who had asked when it was begun. So a
page that asks because something happened sees that it did.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Any

APART_SECONDS = 0.25  # a busy team does not make the hub put the same screen together more often than this


class SharedResponse:
    def __init__(self, made: Callable[[], Awaitable[Any]], apart: float = APART_SECONDS) -> None:
        self._made, self._apart, self._lock = made, apart, asyncio.Lock()
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
            return self._answer
