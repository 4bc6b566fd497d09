"""When was that? What a message says about it, and where it says nothing, as soon as what went before it."""

from typing import Any

from telex.replay.reader import moment_in


class LogClock:
    def __init__(self) -> None:
        self.now = 0.0  # of the latest that had to do with the work

    def read(self, written: Any) -> float:
        return self.at(moment_in(written) if isinstance(written, str) else None)

    def at(self, told: float | None) -> float:
        return self.now if told is None else told

    def saw(self, at: float) -> None:
        if at > self.now:
            self.now = at
