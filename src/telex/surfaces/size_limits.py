"""Size limits of responses: as many messages as were requested, while they fit into one response.

The bus returns and leases messages without regard to their size; a thousand of the largest would be more than a
response, or the hub's memory, can hold. Messages that do not fit stay in the inbox and use up no attempt.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from typing import Any

from telex.errors import TelexError
from telex.model.limits import Limits
from telex.model.message import LeasedMessage
from telex.model.named_tuple import NamedTuple
from telex.ports.bus import Bus

LEASED_BYTES = 16 * 1_048_576  # of leased messages in one response; the message that exceeds it is the last
LOOK_BYTES = 8 * 1_048_576  # of listed messages in one response, approximately
LISTED_BYTES = 512  # of a listed message beside its text, approximately
FIRST, FACTOR = 16, 8  # messages that are read first, and how much the number grows
_GONE = "its reader was gone before it came"
_returning: set[asyncio.Task[None]] = set()  # strong references until the tasks have ended


async def take(
    bus: Bus,
    agent: str,
    limits: Limits,
    *,
    role: str | None = None,
    limit: int = 1,
    wait: float = 0.0,
    lease: float | None = None,
) -> list[LeasedMessage]:
    """Lease messages in portions that fit. A cancelled call holds no leases."""
    limit = min(limit, limits.receive_max)
    portion = min(limit, _portion(0, limits))
    leases = await bus.receive(agent, role=role, limit=portion, wait=wait, lease=lease)
    wanted = portion
    try:
        while len(leases) == wanted and (portion := min(limit - wanted, _portion(_size(leases), limits))) > 0:
            leases = [*leases, *await bus.receive(agent, role=role, limit=portion, lease=lease)]
            wanted += portion
    except TelexError:
        return leases  # the leases that there are must be delivered
    except asyncio.CancelledError:
        returning = asyncio.ensure_future(give_back(bus, agent, leases))
        _returning.add(returning)
        returning.add_done_callback(_returning.discard)
        await asyncio.shield(returning)
        raise
    return leases


async def give_back(bus: Bus, agent: str, leases: Sequence[LeasedMessage]) -> None:
    """Nack the leases of a reader that has disconnected."""
    for lease in leases:
        with suppress(TelexError):
            await bus.nack(lease.token, agent=agent, reason=_GONE, delay=0.0)


def _portion(size: int, limits: Limits) -> int:
    """How many messages of the largest size fit; at least one, unless the response is full."""
    left = LEASED_BYTES - size
    return max(left // limits.message_bytes_max, 1) if left > 0 else 0


def _size(leases: Sequence[LeasedMessage]) -> int:
    return sum(len(lease.message.raw) + (lease.rendering.size if lease.rendering else 0) for lease in leases)


class LimitedMessages(NamedTuple):
    found: list[Any]
    all: bool  # False: there may be more


async def within_bytes(look: Callable[[int], Awaitable[list[Any]]], limit: int) -> LimitedMessages:
    """Result of `look(limit)`, or its beginning: messages, or pairs of a delivery and a message."""
    wanted = min(limit, FIRST)
    while True:
        rows = await look(wanted)
        size = sum(LISTED_BYTES + len((row if hasattr(row, "raw") else row[1]).raw) for row in rows)
        more = min(limit, wanted * FACTOR, wanted * LOOK_BYTES // max(size, 1))
        if len(rows) < wanted or more <= wanted:
            return LimitedMessages(rows, len(rows) < wanted)
        wanted = more
