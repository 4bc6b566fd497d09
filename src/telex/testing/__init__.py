"""The public kit for those who test with Telex: `strategies` makes valid messages of any dialect for hypothesis.

`StoreContract` is what every store must pass, `FakeClock` a clock that goes on when it is told to. Names are fetched
when first used, so that neither pytest nor hypothesis has to be there for the rest.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from telex.testing.store_contract import StoreContract


__all__ = ["FakeClock", "StoreContract"]

_HOMES = {"FakeClock": "telex.testing", "StoreContract": "telex.testing.store_contract"}


if not TYPE_CHECKING:  # to a type checker every name would be one of ours

    def __getattr__(name: str) -> object:
        if name not in _HOMES:
            raise AttributeError(f"module 'telex.testing' has no attribute {name!r}")
        from importlib import import_module

        return getattr(import_module(_HOMES[name]), name)


EPOCH = 1_767_225_600.0  # 2026-01-01, so that times in a failing test look like times


class FakeClock:
    """A clock that stands still until it is told to go on. Its ids count up."""

    def __init__(self, now: float = EPOCH) -> None:
        self._now = now
        self._ids = 0
        self.meanwhile: Callable[[], None] | None = None  # what others do while somebody sleeps

    def now(self) -> float:
        return self._now

    def begin_after(self, moment: float) -> None:
        self._now = max(self._now, moment)

    def leap(self, seconds: float) -> float:
        """Let time pass, or go back, as a clock does that was set wrong. What time it is then."""
        self._now += seconds
        return self._now

    async def sleep(self, seconds: float) -> None:
        """Nobody waits: the time has passed."""
        self._now += max(seconds, 0.0)
        if self.meanwhile is not None:
            self.meanwhile()

    def new_id(self) -> str:
        self._ids += 1
        return f"id-{self._ids:06}"
