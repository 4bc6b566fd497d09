"""The default store: one file, many processes, no daemon. Kept means on disk.

`SqliteStore.open(path)` never waits for an event loop and may be driven without one; with `grouped=True` it belongs to
a running loop, and what its callers ask for in one turn shares one transaction.
"""

import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from itertools import islice
from typing import Any, TypeVar

from telex.errors import OutcomeUnknown, StoreError, StoreUnavailable
from telex.model.delivery import Delivery
from telex.model.event import ELSEWHERE, Event
from telex.model.message import Lease, Message, NewMessage
from telex.model.roster import Member
from telex.ports.store import AppendResult, Beside, Changes, PendingRequest, Query, Settlement, SettleResult
from telex.stores.sqlite import reads as reads
from telex.stores.sqlite import writes as writes
from telex.stores.sqlite.batch import Batch, Expects
from telex.stores.sqlite.connection import SqliteConnection
from telex.stores.sqlite.dedup import PrefetchResult, RecentIds

TYPE_CHECKING = False
if TYPE_CHECKING:
    from telex.stores.group_commit import Asked, GroupCommit

T = TypeVar("T")
Work = Callable[[Batch], T]
INDEX_STEP = 2_000  # messages indexed in one transaction when somebody is waiting for it


class SqliteStore:
    def __init__(self, file: SqliteConnection, *, grouped: bool = False) -> None:
        self._file = file
        self._room, self._tail = writes.InboxQuota(), RecentIds()
        self._weighed: dict[Expects, int] = {}  # by what was expected: up to which number nothing had changed
        self._written = 0
        self._group: GroupCommit | None = self._grouping() if grouped else None

    def _grouping(self) -> "GroupCommit":
        from telex.stores.group_commit import GroupCommit

        return GroupCommit(self._run)

    @classmethod
    def open(cls, path: str, *, durable: bool = True, grouped: bool = False) -> "SqliteStore":
        """Open the store, or make it where there is none.

        Raises:
            StoreError: it cannot be opened, or is no store of ours; nothing was changed.
        """
        folder = os.path.dirname(path)
        try:
            if folder:
                os.makedirs(folder, exist_ok=True)
        except OSError as error:
            raise StoreUnavailable(f"cannot make {folder}: {error.strerror}") from error
        return cls(SqliteConnection(path, durable=durable), grouped=grouped)

    @property
    def path(self) -> str:
        return self._file.path

    # --- writing -----------------------------------------------------------------------------------------------------

    async def append(self, entries: Sequence[NewMessage]) -> list[AppendResult]:
        try:
            if self._group is not None:
                return await self._group.submit(entries)  # type: ignore[no-any-return]
            return self._keep(entries)
        except OutcomeUnknown as error:
            raise OutcomeUnknown(error.say, entries[0].id if entries else None) from error

    def _keep(self, entries: Sequence[NewMessage]) -> list[AppendResult]:
        ahead = writes.prefetch(self._file, self._tail, entries)
        return self._once(lambda batch: self._append(batch, entries, ahead), True, False)

    def _append(self, batch: Batch, entries: Sequence[NewMessage], ahead: PrefetchResult | None) -> list[AppendResult]:
        return writes.append(self._file, batch, self._tail, self._room, entries, ahead)

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
        if not only and not self._anything_due(inboxes, now):
            return []  # told without a lock: most readers find nothing most of the time
        file = self._file

        def work(batch: Batch) -> list[Lease]:
            return writes.lease(file, batch, inboxes, holder, now, until, limit, only, beside)

        if self._group is None:
            return self._once(work, False, True)
        from telex.stores.group_commit import WriteJob

        def give_back(leases: list[Lease]) -> WriteJob:
            returned = [writes.returned(lease, holder, now) for lease in leases]
            return WriteJob(
                lambda batch: [writes.settle(file, batch, settlement) for settlement in returned], False, True
            )

        leases: list[Lease] = await self._group.submit_or_undo(WriteJob(work, False, True), give_back)
        return leases

    def _anything_due(self, inboxes: Sequence[str], now: float) -> bool:
        sql = "SELECT 1 FROM deliveries WHERE state = 0 AND inbox = ? AND due_at <= ? LIMIT 1"
        return any(self._file.rows(sql, (inbox, now)) for inbox in inboxes)

    async def settle(self, settlements: Sequence[Settlement]) -> list[SettleResult]:
        file = self._file
        promised = not settlements or any(settlement.kind != "extended" for settlement in settlements)
        return await self._write(
            lambda batch: [writes.settle(file, batch, settlement) for settlement in settlements],
            promised=promised,
            freeing=True,
        )

    async def remind(
        self,
        pending_request: PendingRequest,
        at: float,
        due_at: float | None,
        inboxes: Sequence[str],
        detail: str,
        reports: Sequence[NewMessage] = (),
    ) -> bool:
        file = self._file
        return await self._write(
            lambda batch: writes.remind(file, batch, pending_request, at, due_at, inboxes, detail, reports)
        )

    async def record(self, events: Sequence[Event]) -> None:
        await self._write(lambda batch: [batch.event(event) for event in events])

    async def upsert_member(self, member: Member, event: Event | None, *, back: bool = False) -> Member:
        return await self._write(
            lambda batch: writes.upsert_member(self._file, batch, member, event, back), freeing=True
        )

    async def seen(self, name: str, at: float) -> None:
        sql = "UPDATE members SET seen_at = ? WHERE name = ? AND (seen_at IS NULL OR seen_at < ?)"
        await self._write(lambda batch: self._file.run(sql, (at, name, at)), promised=False, freeing=True)

    async def maintain(
        self, now: float, *, same_since: float, keep_since: float, silent_since: float, limit: int
    ) -> int:
        from telex.stores.sqlite import maintenance as tidy

        file = self._file
        if not tidy.is_anything_to_do(file, now, same_since, keep_since, silent_since):
            return 0

        def work(batch: Batch) -> int:
            self._leave_no_long_tail(batch)  # before ids are forgotten, or they would be put in for good
            done = (
                tidy.index(file, limit) + tidy.index_texts(file, limit) + tidy.forget_ids(file, same_since, now, limit)
            )
            done += tidy.index_events(file, limit * tidy.EVENTS_EACH)
            done += tidy.mark_idle(file, batch, now, silent_since, limit) + tidy.prune(file, keep_since, now, limit)
            tidy.next_time(file, now, done, limit)
            return done

        done = await self._write(work, promised=False, freeing=True)
        self._file.hold_ballast()
        return done

    def _leave_no_long_tail(self, batch: Batch) -> None:
        """What we have not put into the index of ids, the next to send has to read up."""
        if self._tail.is_long:
            self._tail.catch_up(self._file, batch.first - 1, batch.indexed, leaving=True)

    async def _write(self, work: "Work[T]", *, promised: bool = True, freeing: bool = False) -> T:
        if self._group is None:
            done = self._once(work, promised, freeing)
            self._room.grew()
            return done
        from telex.stores.group_commit import WriteJob

        answer: T = await self._group.submit(WriteJob(work, promised, freeing))
        return answer

    def _run(self, asked: "Sequence[Asked]") -> list[Any]:
        """What was asked for in one turn: all messages to be kept are looked at together, then the rest is done."""
        from telex.stores.group_commit import WriteJob

        jobs = [one for one in asked if isinstance(one, WriteJob)]
        entries = [new_message for one in asked if not isinstance(one, WriteJob) for new_message in one]
        ahead = writes.prefetch(self._file, self._tail, entries) if entries else None

        def together(batch: Batch) -> list[Any]:
            append_results = self._append(batch, entries, ahead) if entries else []
            # messages, each sent by itself
            if not jobs and len(append_results) == len(asked) and max(map(len, asked)) == 1:
                return [[append_result] for append_result in append_results]
            rest = iter(append_results)
            return [one.work(batch) if isinstance(one, WriteJob) else list(islice(rest, len(one))) for one in asked]

        keeping = len(jobs) < len(asked)
        promised = keeping or any(job.promised for job in jobs)
        answers = self._once(together, promised, not keeping and all(job.freeing for job in jobs))
        if jobs:
            self._room.grew()
        return answers

    def _once(self, work: "Work[T]", promised: bool, freeing: bool) -> T:
        attempts: list[Batch] = []  # on a full disk there may be two

        def transaction() -> T:
            if attempts:
                self._tail = RecentIds()  # what it took for indexed has been undone
            attempts.append(batch := Batch(self._file, self._weighed))
            done = work(batch)
            batch.write()
            return done

        self._written += 1
        try:
            done = self._file.write_transaction(transaction, durable=promised, may_use_reserve=freeing)
        except BaseException:
            self._tail = RecentIds()  # what it took for indexed may have been undone
            self._room.grew()
            raise
        batch = attempts[-1]
        self._tail.wrote(batch.kept, batch.numbers, batch.first, batch.next - 1)
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

    async def topic(self, name: str, after: int = 0) -> list[tuple[Event, Message]]:
        return self._file.read_transaction(lambda: reads.topic(self._file, name, after))

    async def topics(self, kind: str) -> list[str]:
        return reads.topics(self._file, kind)

    async def snapshot(self, topic: str) -> tuple[int, str] | None:
        row = self._file.row("SELECT seq, words FROM snapshots WHERE topic = ?", (topic,))
        return (row[0], row[1]) if row else None

    async def keep_snapshot(self, topic: str, seq: int, words: str) -> None:
        sql = "INSERT OR REPLACE INTO snapshots VALUES (?, ?, ?)"
        await self._write(lambda batch: self._file.run(sql, (topic, seq, words)), promised=False)

    async def held(self, holder: str) -> list[Message]:
        return reads.held(self._file, holder)

    async def deliveries(self, message: int) -> list[Delivery]:
        return reads.deliveries(self._file, message)

    async def delivery(self, seq: int) -> Delivery | None:
        return reads.delivery(self._file, seq)

    async def waiting(self, inboxes: Sequence[str], limit: int) -> list[tuple[Delivery, Message]]:
        return self._file.read_transaction(lambda: reads.waiting(self._file, inboxes, limit))

    async def depths(self) -> dict[str, tuple[int, int, float]]:
        return self._file.read_transaction(lambda: reads.depths(self._file))

    async def pending_requests(
        self, id: str | None, correlation: str | None, types: Sequence[str] | None = None
    ) -> list[tuple[PendingRequest, Message]]:
        return reads.pending_requests(self._file, id, correlation, types)

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
        """Index what is not indexed yet, in steps that let others write in between."""
        from telex.stores.sqlite import maintenance as tidy

        step = {"known": tidy.index, "texts": tidy.index_texts, "told": tidy.index_events}[mark]
        table = "events" if mark == "told" else "messages"
        behind = f"SELECT 1 FROM {table} WHERE seq > coalesce((SELECT value FROM marks WHERE name = ?), 0) LIMIT 1"
        while self._file.rows(behind, (mark,)):
            await self._write(lambda batch: step(self._file, INDEX_STEP), promised=False)

    async def is_maintenance_due(self, now: float) -> bool:
        from telex.stores.sqlite import maintenance as tidy

        return tidy.is_due(self._file, now)

    def changes(self) -> int:
        return self._written << 32 ^ self._file.data_version()

    def others(self) -> int:
        return self._file.data_version()

    async def latest_at(self) -> float:
        return float(
            self._file.value(f"SELECT at FROM events WHERE kind NOT IN {ELSEWHERE} ORDER BY seq DESC LIMIT 1") or 0.0
        )

    async def close(self) -> None:
        try:
            if self._tail.is_long:
                with suppress(StoreError):  # it only saves time, and is not worth the room kept for a full disk
                    self._once(self._leave_no_long_tail, False, False)
        finally:
            self._file.close()
