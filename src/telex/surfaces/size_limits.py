"""Size limit of a receive: lease as many messages as were requested while they fit into one response.

The bus leases messages without regard to their size; a thousand of the largest would be more than a response can hold.
Messages are leased in portions that fit. The others stay in the inbox and use up no attempt.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

from telex.errors import TelexError
from telex.model.limits import Limits
from telex.model.message import Lease
from telex.ports.bus import Bus

ANSWER_BYTES = 16 * 1_048_576  # of messages in one answer; the one that goes beyond is the last
_GONE = "its reader was gone before it came"
_returning: set[asyncio.Task[None]] = set()  # so that they live until they are done


async def take(
    bus: Bus,
    agent: str,
    limits: Limits,
    *,
    role: str | None = None,
    limit: int = 1,
    wait: float = 0.0,
    lease: float | None = None,
) -> list[Lease]:
    """What `receive` would lease, or the first of it. Whoever is cancelled in the middle of it holds nothing."""
    limit = min(limit, limits.receive_max)
    few = min(limit, _room(0, limits))
    taken = await bus.receive(agent, role=role, limit=few, wait=wait, lease=lease)
    wanted, size = few, _size(taken)
    try:
        while len(taken) == wanted and (few := min(limit - wanted, _room(size, limits))) > 0:
            more = await bus.receive(agent, role=role, limit=few, lease=lease)
            taken, wanted, size = [*taken, *more], wanted + few, size + _size(more)
    except TelexError:
        return taken  # what is leased already has to be handed over, whatever has become of the rest
    except asyncio.CancelledError:
        returning = asyncio.ensure_future(give_back(bus, agent, taken))
        _returning.add(returning)
        returning.add_done_callback(_returning.discard)
        await asyncio.shield(returning)
        raise
    return taken


async def give_back(bus: Bus, agent: str, leases: Sequence[Lease]) -> None:
    """What was leased for a reader that has gone in that very moment."""
    for lease in leases:
        with suppress(TelexError):
            await bus.nack(lease.token, agent=agent, reason=_GONE, delay=0.0)


def _room(size: int, limits: Limits) -> int:
    """How many more surely fit, were they all of the largest; one always does where there is any room."""
    left = ANSWER_BYTES - size
    return max(left // limits.message_bytes_max, 1) if left > 0 else 0


def _size(leases: Sequence[Lease]) -> int:
    return sum(len(lease.message.raw) + (lease.rendering.size if lease.rendering else 0) for lease in leases)


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
