"""SQLite store, the default: one file, many processes, no daemon. Stored means synced to disk.

`SqliteStore.open(path)` never waits for an event loop and may be driven without one; with `grouped=True` it belongs to
a running loop, and jobs that are submitted in one turn of it share one transaction.
"""

import os
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, TypeVar

from telex.errors import StoreError, StoreFull
from telex.model.message import ELSEWHERE, Delivery, Event, Lease, Message
from telex.model.roster import Member
from telex.ports.store import (
    Cache,
    Changes,
    ConversationPage,
    LeaseRequest,
    PendingRequest,
    Query,
    Reads,
    Settlement,
    SettleResult,
    Transaction,
)
from telex.stores.completed import Completed
from telex.stores.disk import make_folder
from telex.stores.sqlite import reads, writes
from telex.stores.sqlite.connection import SqliteConnection
from telex.stores.sqlite.dedup import RecentIds
from telex.stores.sqlite.quota import InboxQuota
from telex.stores.sqlite.transaction import FailedJob, SqliteReads, SqliteTransaction, WriteJob

TYPE_CHECKING = False
if TYPE_CHECKING:
    from telex.stores.group_commit import GroupCommit

T = TypeVar("T")
INDEX_STEP = 2_000  # messages indexed in one transaction when a caller waits for it


class SqliteStore:
    def __init__(self, file: SqliteConnection, *, grouped: bool = False) -> None:
        self._file = file
        self._quota, self._recent_ids = InboxQuota(), RecentIds()
        self._caches: list[Cache] = []
        self._transactions = 0
        self._group: GroupCommit | None = self._group_commit() if grouped else None

    def _group_commit(self) -> "GroupCommit":
        from telex.stores.group_commit import GroupCommit

        return GroupCommit(self._run)

    @classmethod
    def open(cls, path: str, *, durable: bool = True, grouped: bool = False) -> "SqliteStore":
        """Open the store, or make it where there is none.

        Raises:
            StoreError: it cannot be opened, or is no store of ours; nothing was changed.
        """
        make_folder(os.path.dirname(path))
        return cls(SqliteConnection(path, durable=durable), grouped=grouped)

    @property
    def path(self) -> str:
        return self._file.path

    # --- transactions ------------------------------------------------------------------------------------------------

    def register_cache(self, cache: Cache) -> None:
        self._caches.append(cache)

    def transaction(
        self,
        decide: Callable[[Transaction], T],
        *,
        prefetch_id: str | None = None,
        may_use_reserve: bool = False,
    ) -> Awaitable[T]:
        return self._submit(WriteJob(decide, True, may_use_reserve, prefetch_id, True))

    def _submit(self, job: WriteJob) -> Awaitable[Any]:
        return Completed(partial(self._run_one, job)) if self._group is None else self._group.submit(job)

    def _run_one(self, job: WriteJob) -> Any:
        [answer] = self._run([job])
        if type(answer) is FailedJob:
            raise answer.error
        return answer

    def _run(self, jobs: Sequence[WriteJob]) -> list[Any]:
        """Run these jobs in one transaction. What can be looked up without the lock is looked up before."""
        ids = {job.prefetch_id for job in jobs if job.prefetch_id is not None}
        ahead = self._recent_ids.prefetch(self._file, ids) if ids else None
        transactions: list[SqliteTransaction] = []  # a full disk may take two attempts

        def work() -> list[Any]:
            if transactions:
                self._forget()
            tx = SqliteTransaction(self._file, self._recent_ids, self._quota, self._forget_caches)
            transactions.append(tx)
            if ids:
                tx.prefetch(ids, ahead)
            answers = [tx.run(job) for job in jobs]
            tx.commit()
            return answers

        durable, may_use_reserve = any(job.durable for job in jobs), all(job.may_use_reserve for job in jobs)
        self._transactions += 1
        try:
            answers = self._file.write_transaction(work, durable=durable, may_use_reserve=may_use_reserve)
        except BaseException:
            self._forget()
            raise
        self._committed(transactions[-1])
        return answers

    def _committed(self, tx: SqliteTransaction) -> None:
        last = tx.next - 1
        self._recent_ids.wrote(tx.stored, tx.id_numbers, tx.position + 1, last)
        for cache in self._caches:
            cache.committed(tx.position, last, len(tx.changed))

    def _forget(self) -> None:
        """A transaction was rolled back: what was taken from it is wrong."""
        self._quota, self._recent_ids = InboxQuota(), RecentIds()
        self._forget_caches()

    def _forget_caches(self) -> None:
        for cache in self._caches:
            cache.forget()

    async def read(self, query: Callable[[Reads], T]) -> T:
        snapshots: list[tuple[str, int, str]] = []

        def run() -> T:
            view = SqliteReads(self._file, reads.last_event(self._file))
            answer = query(view)
            snapshots.extend(view.snapshots)
            return answer

        answer = self._file.read_transaction(run)
        if snapshots:
            with suppress(StoreError):  # they only save time, and a full disk can be read
                await self._submit(WriteJob(lambda tx: [tx.keep_snapshot(*one) for one in snapshots], durable=False))
        return answer

    # --- writes ------------------------------------------------------------------------------------------------------

    async def lease(self, request: LeaseRequest) -> list[Lease]:
        if not request.only and not self._anything_due(request.inboxes, request.now):
            return []  # answered without a lock: most readers find nothing most of the time
        job = WriteJob(lambda tx: writes.lease(tx, request), durable=False, may_use_reserve=True)
        if self._group is None:
            answer: list[Lease] = await self._submit(job)
            return answer

        def undo(leases: list[Lease]) -> WriteJob:
            returned = [writes.returned(lease, request.holder, request.now) for lease in leases]
            return job._replace(work=lambda tx: [writes.settle(tx, settlement) for settlement in returned])

        leases: list[Lease] = await self._group.submit_or_undo(job, undo)
        return leases

    def _anything_due(self, inboxes: Sequence[str], now: float) -> bool:
        sql = "SELECT 1 FROM deliveries WHERE state = 0 AND inbox = ? AND due_at <= ? LIMIT 1"
        return any(self._file.rows(sql, (inbox, now)) for inbox in inboxes)

    async def settle(self, settlements: Sequence[Settlement]) -> list[SettleResult]:
        durable = not settlements or any(settlement.kind != "extended" for settlement in settlements)

        def work(tx: SqliteTransaction) -> list[SettleResult]:
            return [writes.settle(tx, settlement) for settlement in settlements]

        settled: list[SettleResult] = await self._submit(WriteJob(work, durable, may_use_reserve=True))
        return settled

    async def seen(self, name: str, at: float) -> None:
        await self._submit(WriteJob(lambda tx: tx.mark_seen(name, at), durable=False, may_use_reserve=True))

    async def maintain(
        self, now: float, *, same_since: float, keep_since: float, silent_since: float, limit: int
    ) -> int:
        from telex.stores.sqlite import maintenance

        file = self._file
        if not maintenance.is_anything_to_do(file, now, same_since, keep_since, silent_since):
            return 0

        def work(tx: SqliteTransaction) -> int:
            tx.leave_short_tail()  # before ids are removed from the index, or they would be put into it for good
            done = maintenance.index(file, limit) + maintenance.index_texts(file, limit)
            done += maintenance.forget_ids(file, same_since, now, limit)
            done += maintenance.index_events(file, limit * maintenance.EVENTS_EACH)
            done += maintenance.mark_idle(file, tx, now, silent_since, limit)
            done += maintenance.prune(file, keep_since, now, limit)
            maintenance.next_time(file, now, done, limit)
            return done

        done: int = await self._submit(WriteJob(work, durable=False))
        return done

    # --- reading -----------------------------------------------------------------------------------------------------

    async def lapsed(self, now: float, limit: int) -> list[tuple[Delivery, Message]]:
        return reads.lapsed(self._file, now, limit)

    async def overdue(self, now: float, limit: int) -> list[tuple[PendingRequest, Message, list[Delivery]]]:
        return self._file.read_transaction(lambda: reads.overdue(self._file, now, limit))

    async def message(self, seq: int) -> Message | None:
        return reads.message(self._file, seq)

    async def find(self, id: str) -> list[Message]:
        return self._file.read_transaction(lambda: reads.find(self._file, id))

    async def thread(self, correlation: str, limit: int) -> list[Message]:
        await self._catch_up("known")
        await self._catch_up("told")  # whoever asks for a conversation will ask for the story of each message
        return self._file.read_transaction(lambda: reads.thread(self._file, correlation, limit))

    async def conversations(self, before: int | None, limit: int) -> ConversationPage:
        await self._catch_up("known")
        return self._file.read_transaction(lambda: reads.conversations(self._file, before, limit))

    async def deliveries(self, message: int) -> list[Delivery]:
        return reads.deliveries(self._file, message)

    async def delivery(self, seq: int) -> Delivery | None:
        return reads.delivery(self._file, seq)

    async def waiting(self, inboxes: Sequence[str], limit: int) -> list[tuple[Delivery, Message]]:
        return self._file.read_transaction(lambda: reads.waiting(self._file, inboxes, limit))

    async def depths(self) -> dict[str, tuple[int, int, float]]:
        return self._file.read_transaction(lambda: reads.depths(self._file))

    async def answers_to(self, inboxes: Sequence[str], message: Message, types: Sequence[str]) -> list[int]:
        return self._file.read_transaction(lambda: reads.answers_to(self._file, inboxes, message, types))

    async def next_deadline(self, inboxes: Sequence[str]) -> float | None:
        return self._file.read_transaction(lambda: reads.next_deadline(self._file, inboxes))

    async def due_times(self, inboxes: Sequence[str]) -> dict[str, float]:
        return reads.due_times(self._file, inboxes)

    async def changes_since(self, after: int | None) -> Changes:
        return reads.changes_since(self._file, after)

    async def story(self, message: int) -> list[Event]:
        return reads.story(self._file, message)

    async def events(self, query: Query, limit: int) -> list[tuple[Event, Message | None]]:
        if query.correlation is not None:
            await self._catch_up("known")
        if query.text is not None:
            await self._catch_up("texts")
        return self._file.read_transaction(lambda: reads.events(self._file, query, limit))

    async def dead(self, limit: int) -> list[tuple[Delivery, Message]]:
        return reads.dead(self._file, limit)

    async def members(self) -> list[Member]:
        return reads.members(self._file)

    async def _catch_up(self, mark: str) -> None:
        """Index what is not indexed yet, in steps that let others write in between. On a full disk the reads look
        through the rest."""
        from telex.stores.sqlite import maintenance

        step = {"known": maintenance.index, "texts": maintenance.index_texts, "told": maintenance.index_events}[mark]
        table = "events" if mark == "told" else "messages"
        behind = f"SELECT 1 FROM {table} WHERE seq > coalesce((SELECT value FROM marks WHERE name = ?), 0) LIMIT 1"
        with suppress(StoreFull):
            while self._file.rows(behind, (mark,)):
                await self._submit(WriteJob(lambda _: step(self._file, INDEX_STEP), durable=False))

    async def is_maintenance_due(self, now: float) -> bool:
        from telex.stores.sqlite import maintenance

        return maintenance.is_due(self._file, now)

    def changes(self) -> int:
        return self._transactions << 32 ^ self._file.data_version()

    async def latest_at(self) -> float:
        return float(
            self._file.value(f"SELECT at FROM events WHERE kind NOT IN {ELSEWHERE} ORDER BY seq DESC LIMIT 1") or 0.0
        )

    async def close(self) -> None:
        try:
            if self._recent_ids.is_long:
                with suppress(StoreError):  # it only saves time, and is not worth the reserve of a full disk
                    self._run([WriteJob(lambda tx: tx.leave_short_tail(), durable=False)])
        finally:
            self._file.close()
