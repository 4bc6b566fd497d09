"""Would a lie be noticed? Stores that break one promise each, for tests of the tests."""

from collections.abc import Sequence
from typing import Any

from telex.model.delivery import Delivery
from telex.model.message import Lease, Message, NewMessage
from telex.ports.store import AppendResult, Beside, PendingRequest, Settlement, SettleResult, Store

LOST_EVERY = 20  # appends


class FaultyStore:
    """A store as it is. Each of those below has one flaw."""

    def __init__(self, store: Store) -> None:
        self.inner = store

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)

    async def append(self, entries: Sequence[NewMessage]) -> list[AppendResult]:
        return await self.inner.append(entries)

    async def lease(
        self,
        inboxes: Sequence[str],
        holder: str,
        now: float,
        until: float,
        limit: int,
        only: Sequence[int] = (),
        beside: Beside | None = None,
    ) -> list[Lease]:
        return await self.inner.lease(inboxes, holder, now, until, limit, only, beside)

    async def settle(self, settlements: Sequence[Settlement]) -> list[SettleResult]:
        return await self.inner.settle(settlements)


class NoFencing(FaultyStore):
    """Takes an ack from whoever had the message once."""

    async def settle(self, settlements: Sequence[Settlement]) -> list[SettleResult]:
        return await self.inner.settle([settlement._replace(fence=None, running_at=None) for settlement in settlements])


class NoDedup(FaultyStore):
    """Keeps a message as often as it is sent."""

    async def append(self, entries: Sequence[NewMessage]) -> list[AppendResult]:
        return await self.inner.append([new_message._replace(dedup_since=None) for new_message in entries])


class ReadIsAck(FaultyStore):
    """Takes a message for done when it was only read."""

    async def lease(
        self,
        inboxes: Sequence[str],
        holder: str,
        now: float,
        until: float,
        limit: int,
        only: Sequence[int] = (),
        beside: Beside | None = None,
    ) -> list[Lease]:
        leases = await self.inner.lease(inboxes, holder, now, until, limit, only, beside)
        await self.inner.settle(
            [Settlement(lease.delivery, "leased", "acked", now, "acked", holder, lease.fence) for lease in leases]
        )
        return leases


class Lossy(FaultyStore):
    """Says that it has stored a message, and now and then has not."""

    def __init__(self, store: Store) -> None:
        super().__init__(store)
        self._appends = 0

    async def append(self, entries: Sequence[NewMessage]) -> list[AppendResult]:
        answers = []
        for new_message in entries:
            self._appends += 1
            lost = self._appends % LOST_EVERY == 0 and new_message.kind == "accepted"
            answers += [AppendResult("stored", 0)] if lost else await self.inner.append([new_message])
        return answers


class FalseDuplicate(FaultyStore):
    """Now and then takes a new message for an old one."""

    def __init__(self, store: Store) -> None:
        super().__init__(store)
        self._appends = 0

    async def append(self, entries: Sequence[NewMessage]) -> list[AppendResult]:
        self._appends += 1
        if self._appends % LOST_EVERY == 0 and entries[0].kind == "accepted":
            return [AppendResult("duplicate", 1) for _ in entries]
        return await self.inner.append(entries)


class LastInFirstOut(FaultyStore):
    """Hands out what came last."""

    async def lease(
        self,
        inboxes: Sequence[str],
        holder: str,
        now: float,
        until: float,
        limit: int,
        only: Sequence[int] = (),
        beside: Beside | None = None,
    ) -> list[Lease]:
        waiting = await self.inner.waiting(inboxes, 10_000)
        due = [delivery for delivery, _ in waiting if delivery.state == "stored" and delivery.due_at <= now]
        chosen = list(only) or [delivery.seq for delivery in sorted(due, key=self.turn)[:limit]]
        return await self.inner.lease(inboxes, holder, now, until, limit, chosen, beside) if chosen else []

    def turn(self, delivery: Delivery) -> tuple[int, int]:
        return delivery.rank, -delivery.message


class NoPriorities(LastInFirstOut):
    """Lets what is urgent stand in the queue with everything else."""

    def turn(self, delivery: Delivery) -> tuple[int, int]:
        return 0, delivery.message


class NoReports(FaultyStore):
    """Lets messages die and tells nobody."""

    async def settle(self, settlements: Sequence[Settlement]) -> list[SettleResult]:
        return await self.inner.settle([settlement._replace(reports=()) for settlement in settlements])

    async def remind(
        self,
        pending_request: PendingRequest,
        at: float,
        due_at: float | None,
        inboxes: Sequence[str],
        detail: str,
        reports: Sequence[NewMessage] = (),
    ) -> bool:
        return await self.inner.remind(pending_request, at, due_at, inboxes, detail)


class NoAttempts(FaultyStore):
    """Never counts an attempt, so that nothing ever dies."""

    async def settle(self, settlements: Sequence[Settlement]) -> list[SettleResult]:
        return await self.inner.settle([settlement._replace(attempts=0) for settlement in settlements])


class AckForgotten(FaultyStore):
    """Says that an ack was taken and does not write it down."""

    async def settle(self, settlements: Sequence[Settlement]) -> list[SettleResult]:
        return [
            SettleResult(True, await self.inner.delivery(settlement.delivery))
            if settlement.kind == "acked"
            else (await self.inner.settle([settlement]))[0]
            for settlement in settlements
        ]


class TwoHands(FaultyStore):
    """Hands out what another reader still holds."""

    async def lease(
        self,
        inboxes: Sequence[str],
        holder: str,
        now: float,
        until: float,
        limit: int,
        only: Sequence[int] = (),
        beside: Beside | None = None,
    ) -> list[Lease]:
        held = [delivery for delivery, _ in await self.inner.waiting(inboxes, 100) if delivery.state == "leased"]
        await self.inner.settle(
            [
                Settlement(delivery.seq, "leased", "stored", now, "lease-expired", due_at=now)
                for delivery in held
                if delivery.holder != holder
            ]
        )
        return await self.inner.lease(inboxes, holder, now, until, limit, only, beside)


class NoLeaseExpiry(FaultyStore):
    """Never notices that a lease has run out."""

    async def lapsed(self, now: float, limit: int) -> list[tuple[Delivery, Message]]:
        return []


BUGS: dict[str, type[FaultyStore]] = {
    "no-fencing": NoFencing,
    "no-dedup": NoDedup,
    "read-is-ack": ReadIsAck,
    "lossy": Lossy,
    "false-duplicate": FalseDuplicate,
    "last-in-first-out": LastInFirstOut,
    "no-priorities": NoPriorities,
    "no-reports": NoReports,
    "no-attempts": NoAttempts,
    "ack-forgotten": AckForgotten,
    "two-hands": TwoHands,
    "no-lease-expiry": NoLeaseExpiry,
}
