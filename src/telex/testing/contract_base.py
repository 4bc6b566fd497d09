"""How does the store contract get at a store? What a subclass says, and what every promise needs.

A promise is an `async def` that is given an open store. It is driven by `run`, so a store that never waits needs no
event loop, and one that is a network away brings its own.
"""

from collections.abc import Awaitable, Callable, Coroutine
from pathlib import Path
from typing import Any, TypeVar

import pytest

from telex.client import run_sync
from telex.model.delivery import Delivery
from telex.model.digest import digest_of
from telex.model.message import Lease, NewMessage
from telex.ports.clock import Clock
from telex.ports.store import AppendResult, Settlement, SettleResult, Store
from telex.testing.clock import FakeClock

T = TypeVar("T")
Contract = TypeVar("Contract", bound="ContractBase")
ESCALATION, ERROR, VALIDATION, STATUS = range(4)  # ranks: the lowest is served first


def promise(test: Callable[[Contract, Store], Awaitable[None]]) -> Callable[[Contract], None]:
    """A test that is given an open store, which is closed after it."""

    async def kept(self: Contract) -> None:
        self.store = await self.make()
        try:
            await test(self, self.store)
        finally:
            await self.store.close()

    def run(self: Contract) -> None:
        self.run(kept(self))

    run.__name__, run.__qualname__, run.__doc__ = test.__name__, test.__qualname__, test.__doc__
    return run


class ContractBase:
    """What a subclass has to say of its store, and may say."""

    clock: Clock  # what lets time pass
    lease_seconds = 60.0  # a store on a real clock makes this short
    reopens = False  # is what was stored there when it is opened again?
    place: Path  # an empty folder, another one for each test
    store: Store  # the one that is open

    async def make(self) -> Store:
        """Open the store in `self.place`: an empty one the first time, and what was stored there after that."""
        raise NotImplementedError("say how your store is opened: `async def make(self) -> Store`")

    async def reopen(self, store: Store) -> Store:
        """Close it and open it again, as another process would."""
        await store.close()
        self.store = await self.make()
        return self.store

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Run to its end. For a store that waits: `return asyncio.run(work)`."""
        return run_sync(work)

    @pytest.fixture(autouse=True)
    def _stage(self, tmp_path: Path) -> None:
        self.place = tmp_path
        if not hasattr(self, "clock"):
            self.clock = FakeClock()

    # --- what promises are made with --------------------------------------------------------------------------------

    @property
    def now(self) -> float:
        return self.clock.now()

    def entry(self, id: str, *inboxes: str, raw: bytes = b'{"type": "note"}', **changes: Any) -> NewMessage:
        """A message from dev for these inboxes, which repeats one of the last hour if that has the same id."""
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
            dedup_since=self.now - 3600.0,
        )
        return made._replace(**changes)

    def report(self, id: str, inbox: str) -> NewMessage:
        """What the bus itself tells somebody: never taken for a repetition, and never too much for an inbox."""
        return self.entry(id, inbox, sender="telex", role="telex", rank=ERROR, dedup_since=None)

    async def keep(self, store: Store, *entries: NewMessage) -> list[int]:
        """Append, and see that every one was stored. Their numbers."""
        appended = await store.append(entries)
        assert [append_result.outcome for append_result in appended] == ["stored"] * len(entries)
        return [append_result.seq for append_result in appended]

    async def take(self, store: Store, *inboxes: str, limit: int = 1, holder: str = "lead") -> list[Lease]:
        now = self.now
        return await store.lease(inboxes, holder, now, now + self.lease_seconds, limit)

    async def take_one(self, store: Store, *inboxes: str, holder: str = "lead") -> Lease:
        [lease] = await self.take(store, *inboxes, holder=holder)
        return lease

    def ack(self, lease: Lease) -> Settlement:
        """As a bus settles an ack: under this lease, and only while it runs."""
        return Settlement(
            lease.delivery, "leased", "acked", self.now, "acked", "lead", fence=lease.fence, running_at=self.now
        )

    def give_back(self, lease: Lease, *, due_at: float, **changes: Any) -> Settlement:
        """As a bus settles a lease that ran out."""
        made = Settlement(
            lease.delivery, "leased", "stored", self.now, "lease-expired", fence=lease.fence, due_at=due_at
        )
        return made._replace(**changes)

    def bury(self, lease: Lease, *reports: NewMessage) -> Settlement:
        """As a bus settles the last attempt."""
        made = self.give_back(lease, due_at=0.0)
        return made._replace(becomes="dead", kind="dead", reports=reports)

    async def settle_one(self, store: Store, settlement: Settlement) -> SettleResult:
        [settled] = await store.settle([settlement])
        return settled

    async def append_one(self, store: Store, new_message: NewMessage) -> AppendResult:
        [appended] = await store.append([new_message])
        return appended

    async def only_delivery(self, store: Store, message: int) -> Delivery:
        [delivery] = await store.deliveries(message)
        return delivery

    async def let_the_lease_run_out(self) -> None:
        await self.clock.sleep(self.lease_seconds)


def ids(taken: list[Lease]) -> list[str]:
    return [lease.message.id for lease in taken]
