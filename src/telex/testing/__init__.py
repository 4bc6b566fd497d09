"""Public test kit: `Team` for agents and workers, `FakeClock`, `StoreContract` for stores, `strategies` for hypothesis,
`simulator` for whole teams.

`Team` and `StoreContract` are imported on first use: the contract needs pytest and hypothesis.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from telex.testing.store_contract import StoreContract as StoreContract
    from telex.testing.team import Team as Team

__all__ = ["FakeClock", "StoreContract", "Team"]
_HOMES = {"StoreContract": "telex.testing.store_contract", "Team": "telex.testing.team"}

EPOCH = 1_767_225_600.0  # 2026-01-01, so that times in a failing test look like times

if not TYPE_CHECKING:  # a type checker would accept every name

    def __getattr__(name: str) -> object:
        if name not in _HOMES:
            raise AttributeError(f"module 'telex.testing' has no attribute {name!r}")
        from importlib import import_module

        return getattr(import_module(_HOMES[name]), name)


class FakeClock:
    """A clock that the test sets, so that nothing ever waits. Its ids count up."""

    def __init__(self, now: float = EPOCH) -> None:
        self._now = now
        self._ids = 0
        self.meanwhile: Callable[[], None] | None = None  # runs during each sleep

    def now(self) -> float:
        """The time, in seconds since 1970."""
        return self._now

    def begin_after(self, moment: float) -> None:
        """Advance the time to that of the last event of a store, if it is later."""
        self._now = max(self._now, moment)

    def leap(self, seconds: float) -> float:
        """Advance the time, or set it back. Returns the new time."""
        self._now += seconds
        return self._now

    async def sleep(self, seconds: float) -> None:
        """Advance the time without waiting."""
        self._now += max(seconds, 0.0)
        if self.meanwhile is not None:
            self.meanwhile()

    def new_id(self) -> str:
        """The next id."""
        self._ids += 1
        return f"id-{self._ids:06}"
