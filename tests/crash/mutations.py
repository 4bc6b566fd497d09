"""Would the tests notice? Bugs to be planted in the real store, for as long as a test's own process lives.

Each takes one promise away, and the test that guards the promise has to fail on it.
"""

from collections.abc import Callable
from contextlib import suppress
from typing import Any

from telex.bus import leases
from telex.errors import LeaseLost
from telex.model.message import LeasedMessage
from telex.ports.store import LeaseRequest, Settlement, SettleResult, settle
from telex.stores.sqlite.store import SqliteStore
from telex.stores.sqlite.transaction import SqliteTransaction


def no_fencing() -> None:
    """Whoever says that a message is done is believed, whether the lease is still theirs or not."""
    settle = SqliteTransaction.settle

    def unfenced(self: SqliteTransaction, settlement: Settlement) -> SettleResult:
        return settle(self, settlement._replace(fence=None, holder=None, running_at=None))

    setattr(SqliteTransaction, "settle", unfenced)  # noqa: B010


def dedup_off() -> None:
    """A message that is sent again is another message."""
    setattr(SqliteTransaction, "earlier", lambda self, sender, id_, since: None)  # noqa: B010


def read_is_ack() -> None:
    """What a reader was handed counts as done."""
    lease = SqliteStore.lease

    async def hasty(self: SqliteStore, request: LeaseRequest) -> list[LeasedMessage]:
        leases, now, holder = await lease(self, request), request.now, request.holder
        await settle(self, [Settlement(one.delivery, "leased", "acked", now, "acked", agent=holder) for one in leases])
        return leases

    setattr(SqliteStore, "lease", hasty)  # noqa: B010


def reply_apart() -> None:
    """A reply is stored though the lease that it was to ack was lost."""
    ack_with_send = leases.ack_with_send

    def careless(*given: Any) -> None:
        with suppress(LeaseLost):
            ack_with_send(*given)

    setattr(leases, "ack_with_send", careless)  # noqa: B010


PLANTS: dict[str, Callable[[], None]] = {
    "no-fencing": no_fencing,
    "dedup-off": dedup_off,
    "read-is-ack": read_is_ack,
    "reply-apart": reply_apart,
}
