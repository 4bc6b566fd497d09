"""Size limit of a listing: return as many messages as were requested while they fit into one response.

The bus returns messages without regard to their size; ten thousand of the largest would be more than the hub's memory.
A few are read first, and more when those are small.
"""

from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple

LOOK_BYTES = 8 * 1_048_576  # of messages in one answer, about
FIRST, TIMES = 16, 8  # so many are looked at first, and then so many times as many


class LimitedMessages(NamedTuple):
    found: list[Any]
    all: bool  # False: there may be others, which were not looked at


async def within_bytes(look: Callable[[int], Awaitable[list[Any]]], limit: int) -> LimitedMessages:
    """What `look(limit)` would find, or the first of it. Messages come alone, or behind their way into an inbox."""
    wanted = min(limit, FIRST)
    while True:
        found = await look(wanted)
        size = sum(len((one if hasattr(one, "raw") else one[1]).raw) for one in found)
        more = min(limit, wanted * TIMES, wanted * LOOK_BYTES // max(size, 1))
        if len(found) < wanted or more <= wanted:
            return LimitedMessages(found, len(found) < wanted)
        wanted = more
