"""How does a reader wait for news without asking all the time?

Nobody is told by SQLite that another process has written; it has to be asked. A question costs a few microseconds and
is put fifty times a second, by one task for all readers of a process.
"""

from typing import TYPE_CHECKING

from telex.ports.clock import Clock
from telex.ports.store import Store

if TYPE_CHECKING:
    import asyncio

POLL_SECONDS = 0.02


class Waiting:
    """For one reader at a time, on a clock that blocks."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self.store, self.clock = store, clock

    async def news(self, seen: int, until: float) -> None:
        """Return when anybody has written since `seen` was asked for, or at that moment."""
        while self.store.changes() == seen and (left := until - self.clock.now()) > 0:
            await self.clock.sleep(min(POLL_SECONDS, left))

    def nudge(self) -> None:
        """We have written ourselves: whoever waits here may look at once."""

    def close(self) -> None:
        """Nobody is told anything any more."""


class SharedWaiting(Waiting):
    """For many readers on one event loop: one task asks for them all, while there are any."""

    def __init__(self, store: Store, clock: Clock) -> None:
        import asyncio  # only where there is a loop: importing it costs a cold start as much as everything else

        super().__init__(store, clock)
        self._asyncio = asyncio
        self._futures: set[asyncio.Future[None]] = set()
        self._asking: asyncio.Task[None] | None = None

    async def news(self, seen: int, until: float) -> None:
        left = until - self.clock.now()
        if left <= 0 or self.store.changes() != seen:
            return
        loop = self._asyncio.get_running_loop()
        future = loop.create_future()
        self._futures.add(future)
        timer = loop.call_later(left, _wake, future)
        if self._asking is None or self._asking.done():
            self._asking = loop.create_task(self._ask(seen))
        try:
            await future
        finally:
            timer.cancel()
            self._futures.discard(future)

    async def _ask(self, seen: int) -> None:
        while self._futures:
            await self._asyncio.sleep(POLL_SECONDS)
            version = self.store.changes()
            if version != seen:
                seen = version
                self.nudge()

    def nudge(self) -> None:
        for future in self._futures:
            _wake(future)

    def close(self) -> None:
        if self._asking is not None:
            self._asking.cancel()
        self.nudge()


def _wake(future: "asyncio.Future[None]") -> None:
    if not future.done():
        future.set_result(None)
