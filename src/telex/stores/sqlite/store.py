"""SQLite store, the default: one file, many processes, no daemon. Stored means synced to disk.

`SqliteStore.open(path)` never waits for an event loop and may be driven without one; with `grouped=True` it belongs to
a running loop, and jobs that are submitted in one turn of it share one transaction.
"""

import os
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, Concatenate, ParamSpec, TypeVar

from telex.errors import StoreError, StoreFull
from telex.model.message import LeasedMessage
from telex.ports.store import Cache, Completed, LeaseRequest, Reads, Transaction
from telex.stores.disk import make_folder
from telex.stores.sqlite.caches import InboxQuota, RecentIds
from telex.stores.sqlite.connection import SqliteConnection
from telex.stores.sqlite.reads import TEXTS, UNINDEXED, NotIndexed, SqliteReads
from telex.stores.sqlite.transaction import FailedJob, SqliteTransaction, WriteJob, returned_lease

TYPE_CHECKING = False
if TYPE_CHECKING:
    from telex.stores.group_commit import CommitQueue

P = ParamSpec("P")
T = TypeVar("T")
_NEW = tuple.__new__  # makes a NamedTuple in half the time: by place, for every message
INDEX_STEP = 2_000  # messages indexed in one transaction when a caller waits for it


class SqliteStore:
    def __init__(self, file: SqliteConnection, *, grouped: bool = False) -> None:
        self._file = file
        self._quota, self._recent_ids = InboxQuota(), RecentIds()
        self.caches: list[Cache] = []
        self._transactions = 0
        self._group: CommitQueue | None = self._group_commit() if grouped else None

    def _group_commit(self) -> "CommitQueue":
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

    def transaction(
        self,
        decide: Callable[[Transaction], T],
        *,
        prefetch_id: str | None = None,
        may_use_reserve: bool = False,
        durable: bool = True,
    ) -> Awaitable[T]:
        return self._submit(_NEW(WriteJob, (decide, durable, may_use_reserve, prefetch_id, True, False, False)))

    def _submit(self, job: WriteJob) -> Awaitable[Any]:
        return Completed(partial(self._run_one, job)) if self._group is None else self._group.submit(job)

    def _run_one(self, job: WriteJob) -> Any:
        [answer] = self._run([job])
        if type(answer) is FailedJob:
            raise answer.error
        return answer

    def _run(self, jobs: Sequence[WriteJob]) -> list[Any]:
        """Run these jobs in one transaction. Lookups that need no lock are prefetched."""
        ids = {job.prefetch_id for job in jobs if job.prefetch_id is not None}
        ahead = self._recent_ids.prefetch(self._file, ids) if ids else None
        transactions: list[SqliteTransaction] = []  # a full disk may take two attempts

        def work() -> list[Any]:
            if transactions:
                self._forget()
            tx = SqliteTransaction(self._file, self._recent_ids, self._quota, self._forget_caches)
            transactions.append(tx)
            return tx.run_all(jobs, ids, ahead)

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
        for cache in self.caches:
            cache.committed(tx.position, last, len(tx.changed))

    def _forget(self) -> None:
        """A transaction was rolled back: invalidate what the caches took from it."""
        self._quota, self._recent_ids = InboxQuota(), RecentIds()
        self._forget_caches()

    def _forget_caches(self) -> None:
        for cache in self.caches:
            cache.forget()

    async def read(self, query: Callable[Concatenate[Reads, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        indexed: frozenset[str] = frozenset()
        while True:
            view = SqliteReads(self._file, indexed)
            try:
                return self._file.read_transaction(partial(query, view, *args, **kwargs))
            except NotIndexed as behind:
                await self._catch_up(behind.mark)
                indexed |= {behind.mark}

    # --- writes ------------------------------------------------------------------------------------------------------

    async def lease(self, request: LeaseRequest) -> list[LeasedMessage]:
        if not request.only and not self._anything_due(request.inboxes, request.now):
            return []  # answered without a lock: most readers find nothing most of the time
        job = WriteJob(lambda tx: tx.lease(request), durable=False, may_use_reserve=True)
        if self._group is None:
            answer: list[LeasedMessage] = await self._submit(job)
            return answer

        def undo(leases: list[LeasedMessage]) -> WriteJob:
            returned = [returned_lease(lease, request.holder, request.now) for lease in leases]
            return job._replace(work=lambda tx: [tx.settle(settlement) for settlement in returned])

        leases: list[LeasedMessage] = await self._group.submit_or_undo(job, undo)
        return leases

    def _anything_due(self, inboxes: Sequence[str], now: float) -> bool:
        sql = "SELECT 1 FROM deliveries WHERE state = 0 AND inbox = ? AND due_at <= ? LIMIT 1"
        return any(self._file.rows(sql, (inbox, now)) for inbox in inboxes)

    async def maintain(
        self, now: float, *, same_since: float, keep_since: float, silent_since: float, limit: int
    ) -> int:
        from telex.stores.sqlite import maintenance

        file = self._file
        if not maintenance.is_due(file, now):
            return 0
        if not maintenance.is_anything_to_do(file, now, same_since, keep_since, silent_since):
            return 0

        def work(tx: SqliteTransaction) -> int:
            file = tx.file
            tx.leave_short_tail()  # before ids are removed from the index, or they would be put into it for good
            done = maintenance.index(file, limit) + maintenance.index_texts(file, limit)
            done += maintenance.forget_ids(file, same_since, now, limit)
            done += maintenance.index_events(file, limit * maintenance.EVENTS_EACH)
            done += maintenance.mark_idle(file, tx, now, silent_since, limit)
            done += maintenance.prune(file, keep_since, now, limit)
            maintenance.next_time(file, now, done, limit)
            return done

        done: int = await self._submit(WriteJob(work, durable=False, prunes=True))
        return done

    async def _catch_up(self, mark: str) -> None:
        """Index what is not indexed yet, in steps that let others write in between. On a full disk the reads look
        through the rest."""
        from telex.stores.sqlite import maintenance

        step = {"known": maintenance.index, "texts": maintenance.index_texts, "told": maintenance.index_events}[mark]
        table = "events" if mark == "told" else "messages"
        behind = f"SELECT 1 FROM {table} WHERE {UNINDEXED.format(mark)} LIMIT 1"
        with suppress(StoreFull):
            while self._file.rows(behind):
                job = WriteJob(lambda tx: step(tx.file, INDEX_STEP), durable=False, is_local=mark == TEXTS)
                await self._submit(job)

    def changes(self) -> tuple[int, int]:
        return self._transactions, self._file.data_version()

    async def close(self) -> None:
        try:
            if self._recent_ids.is_long:
                with suppress(StoreError):  # it only saves time, and is not worth the reserve of a full disk
                    self._run([WriteJob(lambda tx: tx.leave_short_tail(), durable=False)])
        finally:
            self._file.close()
