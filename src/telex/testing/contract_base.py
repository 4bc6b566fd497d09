"""Base class of the store contract: how a subclass opens its store, and helpers for the tests.

Each test is an `async def` with an open store. `run` drives it, so a store that never waits needs no event loop, and
one behind a network brings its own.
"""

from collections.abc import Awaitable, Callable, Coroutine, Sequence
from functools import wraps
from inspect import iscoroutinefunction
from pathlib import Path
from typing import Any, TypeVar

import pytest

from telex.bus import run_sync
from telex.model.message import Delivery, Event, LeasedMessage, NewMessage
from telex.model.roster import Member
from telex.model.text import digest_of
from telex.ports.environment import Clock
from telex.ports.store import (
    AppendResult,
    LeaseRequest,
    Settlement,
    SettleResult,
    Store,
    Transaction,
    deliveries_of,
    events_of,
    settle,
)
from telex.testing import FakeClock

T = TypeVar("T")
ESCALATION, ERROR, VALIDATION, STATUS = range(4)  # ranks: the lowest is served first


async def append(
    store: Store, messages: Sequence[NewMessage], *, dedup_since: float | None = None, inbox_max: int | None = None
) -> list[AppendResult]:
    """Store these messages in one transaction, as a bus does: not twice, and not into a full inbox."""

    def decide(tx: Transaction) -> list[AppendResult]:
        return [_append(tx, message, dedup_since, inbox_max) for message in messages]

    return await store.transaction(decide, prefetch_id=messages[0].id if dedup_since is not None else None)


def _append(tx: Transaction, message: NewMessage, dedup_since: float | None, inbox_max: int | None) -> AppendResult:
    is_accepted = message.kind == "accepted"
    if is_accepted and dedup_since is not None:
        earlier = tx.earlier(message.sender, message.id, dedup_since)
        if earlier is not None and (earlier.digest, earlier.to) != (message.digest, message.to):
            return AppendResult("id-reused", earlier.seq)
        if earlier is not None:
            tx.record(Event(0, message.at, "duplicate", message.sender, earlier.seq))
            return AppendResult("duplicate", earlier.seq)
    full = tx.full_inbox(message.inboxes, inbox_max) if inbox_max is not None else None
    if full is not None:
        return AppendResult("inbox-full", 0, full)
    return AppendResult("stored", tx.append(message))


async def put_member(store: Store, member: Member, event: Event | None = None) -> None:
    """Store a member; by default with the event that it has joined."""
    joined = event or Event(0, member.joined_at or 0.0, "joined", member.name)
    await store.transaction(lambda tx: tx.upsert_member(member, joined))


def _with_open_store(test: Callable[[Any, Store], Awaitable[None]]) -> Callable[[Any], None]:
    """The test as pytest runs it: a store is opened for it and closed afterwards."""

    async def kept(self: "ContractBase") -> None:
        self.store = await self.make()
        try:
            await test(self, self.store)
        finally:
            await self.store.close()

    @wraps(test)
    def run(self: "ContractBase") -> None:
        self.run(kept(self))

    del run.__dict__["__wrapped__"]  # pytest would take `store` for a fixture
    return run


class ContractBase:
    """Settings and factory of a subclass's store."""

    clock: Clock  # to advance time
    lease_seconds = 60.0  # a store on a real clock makes this short
    reopens = False  # True: data survives closing
    place: Path  # an empty folder, another one for each test
    store: Store  # the one that is open

    def __init_subclass__(cls) -> None:
        for name, test in list(vars(cls).items()):
            if name.startswith("test_") and iscoroutinefunction(test):
                setattr(cls, name, _with_open_store(test))

    async def make(self) -> Store:
        """Open the store in `self.place`: an empty one the first time, and what was stored there after that."""
        raise NotImplementedError("say how your store is opened: `async def make(self) -> Store`")

    async def reopen(self, store: Store) -> Store:
        """Close it and open it again, as another process would."""
        await store.close()
        self.store = await self.make()
        return self.store

    async def see_others(self, store: Store) -> None:
        """Wait until the store sees what another one has written. For a store that follows others with a delay."""

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Run to its end. For a store that waits: `return asyncio.run(work)`."""
        return run_sync(work)

    @pytest.fixture(autouse=True)
    def _stage(self, tmp_path: Path) -> None:
        self.place = tmp_path
        if not hasattr(self, "clock"):
            self.clock = FakeClock()

    # --- helpers ----------------------------------------------------------------------------------------------------

    @property
    def now(self) -> float:
        return self.clock.now()

    def entry(self, id: str, *inboxes: str, raw: bytes = b'{"type": "note"}', **changes: Any) -> NewMessage:
        """A message from dev for these inboxes."""
        made = NewMessage(
            id=id,
            at=self.now,
            sender="dev",
            role="dev",
            to=inboxes[0] if inboxes else "lead",
            dialect="vbw-typed",
            type="note",
            rank=STATUS,
            correlation=None,
            reply_to=None,
            digest=digest_of(raw),
            raw=raw,
            inboxes=inboxes,
        )
        return made._replace(**changes)

    def report(self, id: str, inbox: str) -> NewMessage:
        """A message of the bus itself: never a duplicate, and not limited by the inbox quota."""
        return self.entry(id, inbox, sender="telex", role="telex", rank=ERROR)

    async def append(
        self, store: Store, *messages: NewMessage, dedup_since: float | None = None, inbox_max: int | None = None
    ) -> list[AppendResult]:
        """Store messages, with deduplication over the last hour."""
        since = self.now - 3600.0 if dedup_since is None else dedup_since
        return await append(store, messages, dedup_since=since, inbox_max=inbox_max)

    async def keep(self, store: Store, *messages: NewMessage, inbox_max: int | None = None) -> list[int]:
        """Store messages and assert that each was stored. Returns their sequence numbers."""
        results = await self.append(store, *messages, inbox_max=inbox_max)
        assert [result.outcome for result in results] == ["stored"] * len(messages)
        return [result.seq for result in results]

    async def take(self, store: Store, *inboxes: str, limit: int = 1, holder: str = "lead") -> list[LeasedMessage]:
        now = self.now
        return await store.lease(LeaseRequest(inboxes, holder, now, now + self.lease_seconds, limit))

    async def take_one(self, store: Store, *inboxes: str, holder: str = "lead") -> LeasedMessage:
        [lease] = await self.take(store, *inboxes, holder=holder)
        return lease

    def ack(self, lease: LeasedMessage) -> Settlement:
        """As a bus settles an ack: under this lease, also after it expired, until the message is offered again."""
        acked = Settlement(lease.delivery, "leased", "acked", self.now, "acked", agent="lead", fence=lease.fence)
        return acked._replace(after_expiry=True)

    def expire(self, lease: LeasedMessage, *, due_at: float = 0.0) -> Settlement:
        """As a bus settles a lease that has expired: the message is offered again."""
        return self.give_back(lease, due_at=due_at, kind="lease-expired", run_out_at=self.now)

    def give_back(self, lease: LeasedMessage, *, due_at: float, **changes: Any) -> Settlement:
        """As a bus settles an expired lease."""
        made = Settlement(
            lease.delivery, "leased", "stored", self.now, "lease-expired", fence=lease.fence, due_at=due_at
        )
        return made._replace(**changes)

    def bury(self, lease: LeasedMessage, *reports: NewMessage) -> Settlement:
        """As a bus settles the failure of the last attempt."""
        made = self.give_back(lease, due_at=0.0)
        return made._replace(becomes="dead", kind="dead", reports=reports)

    async def settle_one(self, store: Store, settlement: Settlement) -> SettleResult:
        [settled] = await settle(store, [settlement])
        return settled

    async def append_one(
        self, store: Store, message: NewMessage, *, dedup_since: float | None = None, inbox_max: int | None = None
    ) -> AppendResult:
        [result] = await self.append(store, message, dedup_since=dedup_since, inbox_max=inbox_max)
        return result

    async def kinds(self, store: Store, message: int) -> list[str]:
        """The kinds of the events of a message."""
        return [event.kind for event in await store.read(events_of, message)]

    async def only_delivery(self, store: Store, message: int) -> Delivery:
        [delivery] = await store.read(deliveries_of, message)
        return delivery

    async def let_the_lease_run_out(self) -> None:
        await self.clock.sleep(self.lease_seconds)


def ids(taken: list[LeasedMessage]) -> list[str]:
    return [lease.message.id for lease in taken]
