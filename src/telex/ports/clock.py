"""Clock port: time and ids come from outside, so that pure packages are deterministic in simulations."""

from typing import Protocol


class Clock(Protocol):
    def now(self) -> float:
        """Seconds since 1970, UTC. It never goes back while the process runs."""

    async def sleep(self, seconds: float) -> None:
        """Let that much time pass. A blocking clock returns without ever yielding to an event loop."""

    def new_id(self) -> str:
        """An id that nobody else will make, and that sorts by the time it was made."""


class StoreClock(Clock, Protocol):
    """A clock that a connection can begin at the time of its store."""

    def begin_after(self, moment: float) -> None:
        """Something has already happened at this moment, by another clock: it is no earlier now."""
