"""Faulty stores whose transactions break one promise of the store contract each, to test the tests."""

from collections.abc import Awaitable, Callable, Generator, Sequence
from typing import Any, TypeVar, cast

from telex.model.message import Delivery, Event, NewMessage, StoredMessage
from telex.model.roster import Member
from telex.ports.store import (
    Cache,
    DeliveryQuery,
    EarlierMessage,
    EventQuery,
    MessageQuery,
    PendingRequest,
    Query,
    Reads,
    RequestQuery,
    Settlement,
    SettleResult,
    Store,
    Transaction,
)
from telex.stores.memory import MemoryStore
from telex.stores.sqlite.reads import SqliteReads
from telex.stores.sqlite.store import SqliteStore
from telex.testing.faulty_stores import FaultyStore, FaultyTransaction

T = TypeVar("T")


class _Undo(Exception):
    """Raised at the end of a decision of which nothing is to be stored."""


# --- rollback --------------------------------------------------------------------------------------------------------

TABLES = (
    "_messages", "_deliveries", "_events", "_asks", "_members", "_topics", "_snapshots",
    "_by_id", "_accepted", "_open", "_leased", "_deliveries_of", "_events_of", "_asked",
)  # fmt: skip
COUNTERS = ("_last_event",)


class IncompleteUndo(MemoryStore):
    """Leaves what a rejected decision wrote in one table, or one counter as it is."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self._left = name

    def _undo(self, marks: tuple[int, int]) -> None:
        left = getattr(self, self._left)
        if self._left in TABLES:
            tables = {id(left), *(id(entry) for entry in left.values())} if isinstance(left, dict) else {id(left)}
            self._journal = [
                undo for undo in self._journal or [] if id(getattr(undo[0], "__self__", None)) not in tables
            ]
        super()._undo(marks)
        if self._left in COUNTERS:
            setattr(self, self._left, left)


class RequestStaysAnswered(MemoryStore):
    """Leaves a request answered by a rejected decision."""

    def _undo(self, marks: tuple[int, int]) -> None:
        self._journal = [undo for undo in self._journal or [] if undo[0] != self._add_request]
        super()._undo(marks)


class ForgetsReplacedIds(MemoryStore):
    """Forgets the id of a stored message after a rejected decision has appended another one under it."""

    def _undo(self, marks: tuple[int, int]) -> None:
        accepted = self._accepted
        self._journal = [
            (accepted.pop, undo[1][:1]) if undo[0] == accepted.__setitem__ else undo for undo in self._journal or []
        ]
        super()._undo(marks)


class SettlesRejected(MemoryStore):
    """Stores the settlements of a decision that raised."""

    def _settle(self, wanted: Settlement) -> SettleResult:
        journal, self._journal = self._journal, None
        try:
            return super()._settle(wanted)
        finally:
            self._journal = journal


class StoresRejected(FaultyStore):
    """Stores what a decision wrote before it raised."""

    def transaction(self, decide: Callable[[Transaction], T], **options: Any) -> Awaitable[T]:
        def run(tx: Transaction) -> T | Exception:
            try:
                return decide(tx)
            except Exception as error:
                return error

        return self._answer(self.inner.transaction(run, **options))

    async def _answer(self, submitted: Awaitable[T | Exception]) -> T:
        answer = await submitted
        if isinstance(answer, Exception):
            raise answer
        return answer


class FailsTogether(FaultyStore):
    """After one decision has raised, the next one raises its error too."""

    def __init__(self, store: Store) -> None:
        super().__init__(store)
        self._error: Exception | None = None

    def transaction(self, decide: Callable[[Transaction], T], **options: Any) -> Awaitable[T]:
        def run(tx: Transaction) -> T:
            error, self._error = self._error, None
            if error is not None:
                raise error
            try:
                return decide(tx)
            except Exception as raised:
                self._error = raised
                raise

        return self.inner.transaction(run, **options)


class UndoesTogether(FailsTogether):
    """After one decision has raised, the next one is answered and not stored."""

    def transaction(self, decide: Callable[[Transaction], T], **options: Any) -> Awaitable[T]:
        answers: list[T] = []

        def run(tx: Transaction) -> T:
            error, self._error = self._error, None
            try:
                answer = decide(tx)
            except Exception as raised:
                self._error = raised
                raise
            if error is not None:
                answers.append(answer)
                raise _Undo
            return answer

        return self._answer(self.inner.transaction(run, **options), answers)

    async def _answer(self, submitted: Awaitable[T], answers: list[T]) -> T:
        try:
            return await submitted
        except _Undo:
            return answers[-1]


class AnotherError(FaultyStore):
    """Reports another error than the one that a decision raised."""

    async def transaction(self, decide: Callable[[Transaction], T], **options: Any) -> T:
        try:
            return await self.inner.transaction(decide, **options)
        except Exception as error:
            raise type(error)("something went wrong") from error


class WrongNumbers(FaultyStore):
    """Numbers a message as if the messages of rejected decisions had been stored."""

    def __init__(self, store: Store) -> None:
        super().__init__(store)
        self.rejected = 0

    def transaction(self, decide: Callable[[Transaction], T], **options: Any) -> Awaitable[T]:
        def run(tx: Transaction) -> T:
            try:
                return decide(cast(Transaction, _WrongNumber(tx, self.rejected)))
            except Exception:
                self.rejected += 1
                raise

        return self.inner.transaction(run, **options)


class _WrongNumber(FaultyTransaction):
    def __init__(self, tx: Transaction, lost: int) -> None:
        super().__init__(tx)
        self._lost = lost

    def append(self, message: NewMessage) -> int:
        seq: int = self.tx.append(message)
        return seq + self._lost


# --- reads -----------------------------------------------------------------------------------------------------------


class BlindReads(FaultyTransaction):
    """Reads as they are without what was written after some event. `verb` names the one that is blind."""

    def __init__(self, tx: Transaction, verb: str, position: int) -> None:
        super().__init__(tx)
        self._verb, self._after, self._members = verb, position, tx.members()
        self._snapshots: dict[str, Any] = {}
        self._appended: list[NewMessage] = []

    def _is_blind(self, verb: str) -> bool:
        return self._verb in (verb, "all")

    def _seen(self, verb: str, rows: list[T], seq: Callable[[T], int]) -> list[T]:
        return [row for row in rows if seq(row) <= self._after] if self._is_blind(verb) else rows

    def append(self, message: NewMessage) -> int:
        self._appended.append(message)
        seq: int = self.tx.append(message)
        return seq

    def keep_snapshot(self, topic: str, seq: int, text: str) -> None:
        self._snapshots[topic] = self.tx.snapshot(topic)
        self.tx.keep_snapshot(topic, seq, text)

    def snapshot(self, topic: str) -> Any:
        blind = self._is_blind("snapshot") and topic in self._snapshots
        return self._snapshots[topic] if blind else self.tx.snapshot(topic)

    def messages(self, query: MessageQuery) -> list[StoredMessage]:
        return self._seen("messages", self.tx.messages(query), lambda message: message.seq)

    def deliveries(self, query: DeliveryQuery) -> list[Delivery]:
        is_blind = query.holder is not None and self._is_blind("deliveries")
        found: list[Delivery] = [] if is_blind else self.tx.deliveries(query)
        return self._seen("deliveries", found, lambda delivery: delivery.message)

    def events(self, query: EventQuery) -> list[Event]:
        return self._seen("events", self.tx.events(query), lambda event: event.seq)

    def pending_requests(self, query: RequestQuery) -> list[tuple[PendingRequest, StoredMessage]]:
        return self._seen("pending_requests", self.tx.pending_requests(query), lambda pair: pair[1].seq)

    def topics(self, kind: str | None = None, after: int = 0) -> list[str]:
        names: list[str] = self.tx.topics(kind, after)
        if not self._is_blind("topics"):
            return names
        first = {name: self.tx.events(EventQuery(Query(after=after), topic=name, limit=1))[0] for name in names}
        return [name for name in names if first[name].seq <= self._after]

    @property
    def changed(self) -> Sequence[str]:
        return () if self._is_blind("changed") else self.tx.changed

    def members(self) -> list[Member]:
        return self._members if self._is_blind("members") else list(self.tx.members())

    def earlier(self, sender: str, id: str, since: float) -> EarlierMessage | None:
        found: EarlierMessage | None = self.tx.earlier(sender, id, since)
        return None if found is not None and found.seq > self._after and self._is_blind("earlier") else found

    def full_inbox(self, inboxes: tuple[str, ...], limit: int) -> str | None:
        for inbox in inboxes:
            unseen = sum(inbox in message.inboxes for message in self._appended)
            full: str | None = self.tx.full_inbox((inbox,), limit + unseen * self._is_blind("full_inbox"))
            if full is not None:
                return full
        return None


BLIND = (
    "messages", "deliveries", "events", "pending_requests", "topics", "members", "snapshot", "earlier", "full_inbox",
    "changed",
)  # fmt: skip


class BlindDecision(FaultyStore):
    """A decision does not read what it has written, with one of its reads."""

    def __init__(self, store: Store, verb: str) -> None:
        super().__init__(store)
        self._verb = verb

    def faulty(self, tx: Transaction) -> Any:
        return BlindReads(tx, self._verb, tx.position)


class BlindNext(FaultyStore):
    """A decision does not read what the one before it has written."""

    def __init__(self, store: Store) -> None:
        super().__init__(store)
        self._last = 0

    def faulty(self, tx: Transaction) -> Any:
        before, self._last = self._last, tx.position
        return BlindReads(tx, "all", before)


class NoSnapshot(FaultyStore):
    """Each read sees the newest state, and not that of one moment."""

    async def read(self, query: Callable[..., T], *args: Any) -> T:
        store = self.inner
        assert isinstance(store, SqliteStore)
        view = SqliteReads(store._file)
        assert view.position >= 0
        return query(view, *args)


class OldPosition(FaultyStore):
    """A snapshot claims to be older than it is."""

    async def read(self, query: Callable[..., T], *args: Any) -> T:
        def run(view: Reads) -> T:
            view.position -= 1  # type: ignore[misc]
            return query(view, *args)

        return await self.inner.read(run)


# --- caches and order ------------------------------------------------------------------------------------------------

Commit = tuple[int, int, int]  # the arguments of `Cache.committed`
CACHE_BUGS: dict[str, Callable[[int, int, int], list[Commit]]] = {  # by the fault: the calls that a cache gets
    "never-forgets": lambda before, after, changes: [(before, after, changes)],
    "never-committed": lambda before, after, changes: [],
    "committed-twice": lambda before, after, changes: [(before, after, changes)] * 2,
    "wrong-before": lambda before, after, changes: [(before + 1, after, changes)],
    "wrong-after": lambda before, after, changes: [(before, after + 1, changes)],
    "wrong-changes": lambda before, after, changes: [(before, after, max(changes - 1, 0))],
    "only-decisions": lambda before, after, changes: [(before, after, changes)] if changes else [],
}


class _FaultyCache:
    def __init__(self, cache: Cache, fault: str) -> None:
        self._cache, self._fault = cache, fault

    def committed(self, before: int, after: int, changes: int) -> None:
        for commit in CACHE_BUGS[self._fault](before, after, changes):
            self._cache.committed(*commit)

    def forget(self) -> None:
        if self._fault != "never-forgets":
            self._cache.forget()


class _FaultyCaches(list[Cache]):
    def __init__(self, caches: list[Cache], fault: str) -> None:
        super().__init__()
        self._caches, self._fault = caches, fault

    def append(self, cache: Cache) -> None:
        self._caches.append(_FaultyCache(cache, self._fault))


class FaultyCaches(FaultyStore):
    """Reports wrong commits to caches."""

    def __init__(self, store: Store, fault: str) -> None:
        super().__init__(store)
        self.caches = _FaultyCaches(store.caches, fault)


class LastFirst(FaultyStore):
    """Runs decisions that were submitted together in the opposite order."""

    def __init__(self, store: Store) -> None:
        super().__init__(store)
        self._waiting: list[_Waiting] = []

    def transaction(self, decide: Callable[[Transaction], T], **options: Any) -> Awaitable[T]:
        waiting = _Waiting(self, lambda: self.inner.transaction(decide, **options))
        self._waiting.append(waiting)
        return waiting

    def flush(self) -> None:
        for waiting in reversed(self._waiting):
            waiting.submitted = waiting.submit()
        self._waiting.clear()


class _Waiting:
    def __init__(self, store: LastFirst, submit: Callable[[], Awaitable[Any]]) -> None:
        self._store, self.submit = store, submit
        self.submitted: Awaitable[Any] | None = None

    def __await__(self) -> Generator[Any, Any, Any]:
        if self.submitted is None:
            self._store.flush()
        assert self.submitted is not None
        return self.submitted.__await__()


class RunsWhenAwaited(FaultyStore):
    """Runs a decision when its answer is awaited, and not when it is submitted."""

    async def transaction(self, decide: Callable[[Transaction], T], **options: Any) -> T:
        return await self.inner.transaction(decide, **options)


FaultyOpen = Callable[[str], Any]  # opens a faulty store in a folder


def _on_memory(fault: Callable[[Store], Any]) -> FaultyOpen:
    return lambda _: fault(MemoryStore())


def _on_sqlite(fault: Callable[[Store], Any]) -> FaultyOpen:
    return lambda folder: fault(SqliteStore.open(f"{folder}/store.db", durable=False))


# By the fault: how a store with it is opened.
TRANSACTION_BUGS: dict[str, FaultyOpen] = {
    **{f"undo-leaves{name.replace('_', '-')}": lambda _, name=name: IncompleteUndo(name) for name in TABLES + COUNTERS},  # type: ignore[misc]
    "undo-leaves-request-answered": lambda _: RequestStaysAnswered(),
    "undo-forgets-replaced-ids": lambda _: ForgetsReplacedIds(),
    "settles-rejected": lambda _: SettlesRejected(),
    "stores-rejected": _on_memory(StoresRejected),
    "fails-together": _on_memory(FailsTogether),
    "undoes-together": _on_memory(UndoesTogether),
    "another-error": _on_memory(AnotherError),
    "wrong-numbers": _on_memory(WrongNumbers),
    **{
        f"blind-{verb.replace('_', '-')}": _on_memory(lambda store, verb=verb: BlindDecision(store, verb))  # type: ignore[misc]
        for verb in BLIND
    },
    "blind-next": _on_memory(BlindNext),
    "no-snapshot": _on_sqlite(NoSnapshot),
    "old-position": _on_memory(OldPosition),
    **{fault: _on_memory(lambda store, fault=fault: FaultyCaches(store, fault)) for fault in CACHE_BUGS},  # type: ignore[misc]
    "last-first": _on_memory(LastFirst),
    "runs-when-awaited": _on_memory(RunsWhenAwaited),
}
