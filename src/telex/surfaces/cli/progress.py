"""Progress bar on stderr, on a terminal only."""

import os
import sys
import time

from telex.surfaces.cli.output import Screen

MESSAGES_MIN = 500
WAIT_SECONDS = 1.0
PAUSE_SECONDS = 0.1
_WIDTH = 24


class Progress:
    def __init__(self, files: list[str], *, wanted: bool = True) -> None:
        self._screen = Screen(sys.stderr)
        self._files = files
        self._began = self._drawn = time.monotonic()
        self._bytes_total: int | None = None
        self.is_wanted = wanted and self._screen.is_terminal
        self.is_drawn = False

    def step(self, messages: int, bytes_done: int) -> None:
        """Called now and then; draws when there is someone to see it and something to see."""
        now = time.monotonic()
        if not self.is_wanted or now - self._drawn < PAUSE_SECONDS:
            return
        if messages < MESSAGES_MIN and now - self._began < WAIT_SECONDS:
            return
        self._drawn, self.is_drawn = now, True
        rate = messages / max(now - self._began, 1e-9)
        self._screen.stream.write(f"\r{self._bar(bytes_done)}{messages:,} messages  {rate:,.0f}/s\x1b[K")
        self._screen.stream.flush()

    def clear(self) -> None:
        """Give the line back to whoever writes next."""
        if self.is_drawn:
            self._screen.stream.write("\r\x1b[K")
            self._screen.stream.flush()
            self.is_drawn = False

    def _bar(self, bytes_done: int) -> str:
        if self._bytes_total is None:
            self._bytes_total = sum(map(_size, self._files))
        if not self._bytes_total:  # stdin does not say how much is coming
            return ""
        share = min(bytes_done / self._bytes_total, 1.0)
        full = int(share * _WIDTH)
        return f"[{'#' * full}{'.' * (_WIDTH - full)}] {share:4.0%}  "


def _size(path: str) -> int:
    try:
        return os.path.getsize(path)
    except OSError:
        return 0
