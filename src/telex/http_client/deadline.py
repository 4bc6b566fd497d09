"""Total timeout of a blocking HTTP response.

A socket timeout limits one read, so a server that sends a byte now and then never exceeds it. On an event loop, the
loop cancels the request; a blocking reader gets only the remaining time for each read.
"""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx2


class Deadline:
    """For the answer that is being read: a client that blocks reads one at a time."""

    def __init__(self) -> None:
        self._until: float | None = None  # None: as long as it takes

    @contextmanager
    def within(self, seconds: float) -> Iterator[None]:
        self._until = time.monotonic() + seconds
        try:
            yield
        finally:
            self._until = None

    def of(self, timeout: float | None) -> float | None:
        """
        Raises:
            ReadTimeout: nothing is left.
        """
        if self._until is None:
            return timeout
        left = self._until - time.monotonic()
        if left <= 0:
            import httpcore2

            raise httpcore2.ReadTimeout("the response took too long")
        return left if timeout is None else min(timeout, left)


def reading_in_time(client: httpx2.Client) -> Deadline:
    """Have every connection of the client read within the time that is left. The client has no door for this, so its
    connections are made by a go-between. Were they made elsewhere one day, only this bound would be gone."""
    deadline = Deadline()
    for transport in (client._transport, *client._mounts.values()):
        pool: Any = getattr(transport, "_pool", None)
        if hasattr(pool, "_network_backend"):
            pool._network_backend = _Backend(pool._network_backend, deadline)
    return deadline


class _Backend:
    def __init__(self, inner: Any, deadline: Deadline) -> None:
        self._inner, self._left = inner, deadline

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def connect_tcp(self, *args: Any, **given: Any) -> "_Stream":
        return _Stream(self._inner.connect_tcp(*args, **given), self._left)


class _Stream:
    def __init__(self, inner: Any, deadline: Deadline) -> None:
        self._inner, self._left = inner, deadline

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def read(self, max_bytes: int, timeout: float | None = None) -> Any:
        return self._inner.read(max_bytes, self._left.of(timeout))

    def start_tls(self, *args: Any, **given: Any) -> "_Stream":
        return _Stream(self._inner.start_tls(*args, **given), self._left)
