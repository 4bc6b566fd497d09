"""Faulty stores: each breaks one promise of the store contract, to test the tests."""

from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from typing import Any, TypeVar, cast

from telex.model.message import STATES, WAKING, Delivery, Event, LeasedMessage, NewMessage
from telex.model.text import digest_of
from telex.ports.store import (
    DeliveryQuery,
    EarlierMessage,
    EventQuery,
    LeaseRequest,
    Settlement,
    SettleResult,
    Store,
    Transaction,
    get_delivery,
    settle,
    waiting_deliveries,
)

T = TypeVar("T")
LOST_EVERY = 20  # appends


class FaultyStore:
    """Wrapper of a store; each subclass breaks one promise."""

    def __init__(self, store: Store) -> None:
        self.inner = store

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)

    def transaction(
        self,
        decide: Callable[[Transaction], T],
        **options: Any,
    ) -> Awaitable[T]:
        """Transaction whose decision gets the wrapper of `faulty`."""
        return self.inner.transaction(lambda tx: decide(cast(Transaction, self.faulty(tx))), **options)

    def faulty(self, tx: Transaction) -> Any:
        return tx


class FaultyTransaction:
    """Wrapper of a transaction; each subclass breaks one promise."""

    def __init__(self, tx: Transaction) -> None:
        self.tx: Any = tx

    def __getattr__(self, name: str) -> Any:
        return getattr(self.tx, name)


class _NothingEarlier(FaultyTransaction):
    def earlier(self, sender: str, id: str, since: float) -> None:
        return None


class _LosesSome(FaultyTransaction):
    def __init__(self, tx: Transaction, store: "Lossy") -> None:
        super().__init__(tx)
        self._store = store

    def append(self, message: NewMessage) -> int:
        self._store.appends += 1
        lost = self._store.appends % LOST_EVERY == 0 and message.kind == "accepted"
        seq: int = self.tx.record(Event(0, message.at, "read")) if lost else self.tx.append(message)
        return seq


class _FindsWrong(FaultyTransaction):
    def __init__(self, tx: Transaction, store: "FalseDuplicate") -> None:
        super().__init__(tx)
        self._store = store

    def earlier(self, sender: str, id: str, since: float) -> EarlierMessage | None:
        self._store.lookups += 1
        if self._store.lookups % LOST_EVERY == 0:
            return EarlierMessage(1, cast(bytes, _Anything()), cast(str, _Anything()))
        found: EarlierMessage | None = self.tx.earlier(sender, id, since)
        return found


class _Anything:
    def __eq__(self, other: object) -> bool:
        return True

    __hash__ = None  # type: ignore[assignment]


class _NoReports(FaultyTransaction):
    def settle(self, settlement: Settlement) -> Any:
        return self.tx.settle(settlement._replace(reports=()))

    def remind(self, *given: Any, reports: Sequence[NewMessage] = ()) -> Any:
        return self.tx.remind(*given)


class _OtherSettlements(FaultyTransaction):
    def __init__(self, tx: Transaction, store: "FaultySettlements") -> None:
        super().__init__(tx)
        self._store = store

    def settle(self, settlement: Settlement) -> SettleResult:
        result: SettleResult = self.tx.settle(self._store.changed(settlement))
        return result


class FaultySettlements(FaultyStore):
    """Makes another change than it was given."""

    def faulty(self, tx: Transaction) -> Any:
        return _OtherSettlements(tx, self)

    def changed(self, settlement: Settlement) -> Settlement:
        return settlement


class NoFencing(FaultySettlements):
    """Accepts an ack of an earlier lease."""

    def changed(self, settlement: Settlement) -> Settlement:
        return settlement._replace(fence=None, running_at=None)


class NoLateAcks(FaultySettlements):
    """Refuses an ack or nack after the lease expired, though no other reader has the message."""

    def changed(self, settlement: Settlement) -> Settlement:
        is_late = settlement.after_expiry
        return settlement._replace(after_expiry=False, running_at=settlement.at) if is_late else settlement


class AckAfterNack(FaultySettlements):
    """Accepts an ack from a reader that has nacked the message."""

    def changed(self, settlement: Settlement) -> Settlement:
        return settlement._replace(run_out_at=float("inf")) if settlement.kind == "nacked" else settlement


class NoDedup(FaultyStore):
    """Stores a message again when it is repeated."""

    def faulty(self, tx: Transaction) -> Any:
        return _NothingEarlier(tx)


class ReadIsAck(FaultyStore):
    """Acks a message when it is leased."""

    async def lease(self, request: LeaseRequest) -> list[LeasedMessage]:
        leases = await self.inner.lease(request)
        acked: dict[str, Any] = {"becomes": "acked", "at": request.now, "kind": "acked", "agent": request.holder}
        settlements = [Settlement(lease.delivery, "leased", fence=lease.fence, **acked) for lease in leases]
        await settle(self.inner, settlements)
        return leases


class Lossy(FaultyStore):
    """Loses a message now and then and reports it as stored."""

    def __init__(self, store: Store) -> None:
        super().__init__(store)
        self.appends = 0

    def faulty(self, tx: Transaction) -> Any:
        return _LosesSome(tx, self)


class FalseDuplicate(FaultyStore):
    """Reports a new message as a duplicate now and then."""

    def __init__(self, store: Store) -> None:
        super().__init__(store)
        self.lookups = 0

    def faulty(self, tx: Transaction) -> Any:
        return _FindsWrong(tx, self)


class LastInFirstOut(FaultyStore):
    """Leases the newest message first."""

    async def lease(self, request: LeaseRequest) -> list[LeasedMessage]:
        waiting = await self.inner.read(waiting_deliveries, request.inboxes, 10_000)
        due = [delivery for delivery, _ in waiting if delivery.state == "stored" and delivery.due_at <= request.now]
        chosen = list(request.only) or [delivery.seq for delivery in sorted(due, key=self.turn)[: request.limit]]
        return await self.inner.lease(request._replace(only=chosen)) if chosen else []

    def turn(self, delivery: Delivery) -> tuple[int, int]:
        return delivery.rank, -delivery.message


class NoPriorities(LastInFirstOut):
    """Ignores priorities."""

    def turn(self, delivery: Delivery) -> tuple[int, int]:
        return 0, delivery.message


class NoReports(FaultyStore):
    """Stores no reports of dead letters."""

    def faulty(self, tx: Transaction) -> Any:
        return _NoReports(tx)


class NoAttempts(FaultySettlements):
    """Never counts attempts, so that no message becomes a dead letter."""

    def changed(self, settlement: Settlement) -> Settlement:
        return settlement._replace(attempts=0)


class _NoAcks(FaultyTransaction):
    def settle(self, settlement: Settlement) -> SettleResult:
        is_ack = settlement.kind == "acked"
        return SettleResult(True, get_delivery(self.tx, settlement.delivery)) if is_ack else self.tx.settle(settlement)


class AckForgotten(FaultyStore):
    """Reports an ack as done without storing it."""

    def faulty(self, tx: Transaction) -> Any:
        return _NoAcks(tx)


class OtherBytes(FaultyStore):
    """Leases a message with other bytes than were stored."""

    async def lease(self, request: LeaseRequest) -> list[LeasedMessage]:
        return [
            lease._replace(message=lease.message._replace(raw=b"other", digest=digest_of(b"other")))
            for lease in await self.inner.lease(request)
        ]


class TwoHands(FaultyStore):
    """Leases a message that another reader holds."""

    async def lease(self, request: LeaseRequest) -> list[LeasedMessage]:
        held = [
            delivery
            for delivery, _ in await self.inner.read(waiting_deliveries, request.inboxes, 100)
            if delivery.state == "leased"
        ]
        await settle(
            self.inner,
            [
                Settlement(delivery.seq, "leased", "stored", request.now, "lease-expired", due_at=request.now)
                for delivery in held
                if delivery.holder != request.holder
            ],
        )
        return await self.inner.lease(request)


class _NoLeaseExpiry(FaultyTransaction):
    def deliveries(self, query: DeliveryQuery) -> list[Delivery]:
        is_expiry = query.due_by is not None and tuple(query.states) == ("leased",)
        deliveries: list[Delivery] = [] if is_expiry else self.tx.deliveries(query)
        return deliveries


class NoLeaseExpiry(FaultyStore):
    """Never reports an expired lease."""

    async def read(self, query: Callable[..., T], *args: Any, **kwargs: Any) -> T:
        return await self.inner.read(lambda reads: query(_NoLeaseExpiry(cast(Transaction, reads)), *args, **kwargs))


class _NoWakes(FaultyTransaction):
    def events(self, query: EventQuery) -> list[Event]:
        events: list[Event] = [] if query.filters.kinds == WAKING else self.tx.events(query)
        return events


class TwoWakes(FaultyStore):
    """Hides the wakes of other processes from a decision."""

    def faulty(self, tx: Transaction) -> Any:
        return _NoWakes(tx)

    async def read(self, query: Callable[..., T], *args: Any, **kwargs: Any) -> T:
        return await self.inner.read(lambda reads: query(_NoWakes(cast(Transaction, reads)), *args, **kwargs))


class _AllUnread(FaultyTransaction):
    def deliveries(self, query: DeliveryQuery) -> list[Delivery]:
        is_unread = query.order == "newest" and tuple(query.states) == ("stored",)
        deliveries: list[Delivery] = self.tx.deliveries(query._replace(states=STATES) if is_unread else query)
        return [delivery._replace(due_at=0.0) for delivery in deliveries] if is_unread else deliveries


class LateWakes(FaultyStore):
    """Takes messages that were read for unread when a wake is delivered."""

    def faulty(self, tx: Transaction) -> Any:
        return _AllUnread(tx)


BUGS: dict[str, type[FaultyStore]] = {
    "no-fencing": NoFencing,
    "no-late-acks": NoLateAcks,
    "ack-after-nack": AckAfterNack,
    "no-dedup": NoDedup,
    "read-is-ack": ReadIsAck,
    "lossy": Lossy,
    "false-duplicate": FalseDuplicate,
    "last-in-first-out": LastInFirstOut,
    "no-priorities": NoPriorities,
    "no-reports": NoReports,
    "no-attempts": NoAttempts,
    "ack-forgotten": AckForgotten,
    "other-bytes": OtherBytes,
    "two-hands": TwoHands,
    "no-lease-expiry": NoLeaseExpiry,
    "two-wakes": TwoWakes,
    "late-wakes": LateWakes,
}


Transact = Callable[..., Awaitable[T]]


class _Undo(Exception):
    """Raised at the end of the first run."""


def decide_twice(transaction: Transact[T], decide: Callable[[Transaction], T], **options: Any) -> Awaitable[T]:
    """Submit both runs of a decision. The answer is that of the second."""

    def rehearse(tx: Transaction) -> T:
        decide(tx)
        raise _Undo

    return _second(transaction(rehearse, **options), transaction(decide, **options))


async def _second(rehearsed: Awaitable[T], decided: Awaitable[T]) -> T:
    with suppress(Exception):  # an error of the decision itself comes from the second run too
        await rehearsed
    return await decided


class DecideTwice:
    """A store whose transaction() runs every decision twice."""

    def __init__(self, store: Store) -> None:
        self.inner = store

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)

    def transaction(self, decide: Callable[[Transaction], T], **options: Any) -> Awaitable[T]:
        return decide_twice(self.inner.transaction, decide, **options)
