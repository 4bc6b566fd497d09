"""Views that are shared by all pages, so that open pages take a small share of the hub's time."""

import asyncio
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Coroutine, Hashable
from typing import Any, TypeVar

INTERVAL_SECONDS, INTERVAL_SECONDS_MAX = 0.25, 2.0  # between two computations of a shared view
TIME_SHARE_MAX = 0.05  # of the hub's time for one view, up to that interval
QUERIES_MAX = 32

Compute = Callable[[], Awaitable[Any]]
T = TypeVar("T")


class SharedView:
    """A view that is the same for every viewer, computed once for all who wait.

    Viewers share a result only if they had asked before it was begun, so a page that asks because of an event sees it.
    The interval grows with the cost, so that open pages take a small share of the hub's time.
    """

    def __init__(self, compute: Compute, interval: float = INTERVAL_SECONDS) -> None:
        self._compute, self._interval_min, self._interval = compute, interval, interval
        self._lock = asyncio.Lock()
        self._begun = self._ended = float("-inf")
        self._result: Any = None

    async def __call__(self, request: object = None) -> Any:
        asked_at = time.monotonic()
        async with self._lock:
            if self._begun < asked_at:
                await asyncio.sleep(self._ended + self._interval - asked_at)
                begun = time.monotonic()
                self._result = await self._compute()
                self._begun, self._ended = begun, time.monotonic()
                interval = max(self._interval_min, (self._ended - begun) / TIME_SHARE_MAX)
                self._interval = min(interval, INTERVAL_SECONDS_MAX)
            return self._result


class SharedQueries:
    """Shared views by their query, the latest of them."""

    def __init__(self) -> None:
        self._views: OrderedDict[Hashable, SharedView] = OrderedDict()

    async def get(self, query: Hashable, compute: Compute) -> Any:
        """The result of the query. All that compute it have to compute the same."""
        view = self._views.get(query)
        if view is None:
            view = self._views[query] = SharedView(compute)
            if len(self._views) > QUERIES_MAX:
                self._views.popitem(last=False)
        self._views.move_to_end(query)
        return await view()


async def after_others(result: Coroutine[Any, Any, T]) -> T:
    """The result, after other requests had their turn: a local store never waits."""
    try:
        await asyncio.sleep(0)
    except asyncio.CancelledError:
        result.close()  # it never began
        raise
    return await result
