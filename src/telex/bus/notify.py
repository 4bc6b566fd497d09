"""Notifier of one blocking reader: polls the store for changes.

SQLite does not notify a process of writes by another one, so the store is polled; a poll costs a few microseconds. The
interval is short at first, because messages come in bursts, and grows to 40 ms. `shared_notify` serves many readers on
one event loop.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from telex.bus.context import BusContext

if TYPE_CHECKING:
    from telex.bus.follow import EventTail

PAUSE_SECONDS_MIN, PAUSE_SECONDS_MAX = 0.004, 0.04  # between two questions
LOOKS_APART_SECONDS_MIN = 0.001  # between two looks, whatever falls due


def pause(waited: float) -> float:
    """Seconds until the next question, after having waited for so long: the longer, the more patient."""
    return min(PAUSE_SECONDS_MAX, max(PAUSE_SECONDS_MIN, waited / 8))


class Subscription:
    """Where one reader waits. It says what it is about to look at, looks, and waits for news of that."""

    alone = True  # nobody else looks at the clock meanwhile: whoever waits here has to sweep

    def __init__(self, context: BusContext) -> None:
        self._context = context
        self._seen = 0
        self._news_at = context.clock.now()

    async def arm(self, inboxes: Sequence[str] | None = None, messages: Sequence[int] = ()) -> None:
        """From this moment on, whatever comes into one of these inboxes or happens to one of these messages is news.
        None: whatever happens at all."""
        self._seen = self._context.store.changes()

    async def wait(self, until: float) -> None:
        """Return when there are any, or at that moment; now and then without any."""
        clock, store = self._context.clock, self._context.store
        now = clock.now()
        while now < until:
            if store.changes() != self._seen:
                self._news_at = now
                return
            await clock.sleep(min(pause(now - self._news_at), until - now))
            now = clock.now()

    def close(self) -> None:
        """Whoever waited here is done with it, or was interrupted."""


class Notifier:
    """For one reader at a time."""

    tail: "EventTail | None" = None  # where many follow the record: one who reads it for all of them

    def __init__(self, context: BusContext) -> None:
        self._context = context

    async def begin(self) -> None:
        """Somebody is about to look and then to wait."""

    def place(self, *, takes: bool = False) -> Subscription:
        """For somebody who `takes` what comes, or for one who only watches. Of those who take, it is enough that one
        hears of a message."""
        return Subscription(self._context)

    def nudge(self) -> None:
        """We have written ourselves: whoever waits here may look at once."""

    def close(self) -> None:
        """Nobody is told anything any more."""
