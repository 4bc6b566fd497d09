"""How does a reader wait for news without asking all the time?

Nobody is told by SQLite that another process has written; it has to be asked. A question costs a few microseconds. It
is put often at first, since news comes in bursts, and twenty-five times a second after a while; and by one timer for
all readers of a process.
"""

from typing import TYPE_CHECKING

from telex.ports.clock import Clock
from telex.ports.store import Store

if TYPE_CHECKING:
    import asyncio

PAUSE_SECONDS_MIN, PAUSE_SECONDS_MAX = 0.004, 0.04  # between two questions


def pause(waited: float) -> float:
    """Seconds until the next question, after having waited for so long: the longer, the more patient."""
    return min(PAUSE_SECONDS_MAX, max(PAUSE_SECONDS_MIN, waited / 8))


class Waiting:
    """For one reader at a time, on a clock that blocks."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self.store, self.clock = store, clock
        self._news_at = clock.now()

    async def news(self, seen: int, until: float) -> None:
        """Return when anybody has written since `seen` was asked for, or at that moment."""
        now = self.clock.now()
        while now < until:
            if self.store.changes() != seen:
                self._news_at = now
                return
            await self.clock.sleep(min(pause(now - self._news_at), until - now))
            now = self.clock.now()

    def nudge(self) -> None:
        """We have written ourselves: whoever waits here may look at once."""

    def close(self) -> None:
        """Nobody is told anything any more."""


class SharedWaiting(Waiting):
    """For many readers on one event loop: one timer asks for them all, while there are any."""

    def __init__(self, store: Store, clock: Clock) -> None:
        import asyncio  # only where there is a loop: importing it costs a cold start as much as everything else

        super().__init__(store, clock)
        self._loop = asyncio.get_running_loop()
        self._futures: set[asyncio.Future[None]] = set()
        self._timer: asyncio.TimerHandle | None = None
        self._seen = 0

    async def news(self, seen: int, until: float) -> None:
        left = until - self.clock.now()
        if left <= 0 or self.store.changes() != seen:
            return
        future = self._loop.create_future()
        self._futures.add(future)
        at_last = self._loop.call_later(left, _wake, future)
        if self._timer is None:
            self._seen = seen
            self._ask_later()
        try:
            await future
        finally:
            at_last.cancel()
            self._futures.discard(future)

    def _ask_later(self) -> None:
        self._timer = self._loop.call_later(pause(self.clock.now() - self._news_at), self._ask)

    def _ask(self) -> None:
        self._timer = None
        version = self.store.changes()
        if version != self._seen:
            self._seen, self._news_at = version, self.clock.now()
            self.nudge()
        if self._futures:
            self._ask_later()

    def nudge(self) -> None:
        for future in self._futures:
            _wake(future)

    def close(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self.nudge()


def _wake(future: "asyncio.Future[None]") -> None:
    if not future.done():
        future.set_result(None)
