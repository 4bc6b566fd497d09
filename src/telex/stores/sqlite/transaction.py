"""Write transaction of the SQLite store: decisions, leases and settlements, written table by table.

Jobs that arrive together share one transaction and one commit, so a group of sends costs four statements and not four
for each. Rows wait in lists until the commit or until a job reads, whichever comes first: a read sees everything that
was written before it in the same transaction. The file lock is held throughout, so a read is also current.
"""

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

import apsw

from telex.errors import StoreError
from telex.model.message import AT_ONCE, MOVES, OPEN, Event, LeasedMessage, NewMessage, WorkChange
from telex.model.named_tuple import NamedTuple
from telex.model.roster import Member
from telex.model.text import number_of
from telex.ports.store import ROSTER, EarlierMessage, LeaseRequest, PendingRequest, Settlement, SettleResult
from telex.stores.sqlite.caches import INDEXED, InboxQuota, PrefetchResult, RecentIds, put_in
from telex.stores.sqlite.connection import SqliteConnection
from telex.stores.sqlite.reads import SqliteReads
from telex.stores.sqlite.schema import (
    CODES,
    DELIVERY,
    DELIVERY_BITS,
    INSERT_ASK,
    INSERT_DELIVERIES,
    INSERT_DELIVERY,
    INSERT_EVENT,
    INSERT_MESSAGE,
    INSERT_TOPIC,
    LEASED,
    MESSAGE,
    STANDING,
    STORED,
    Row,
    delivery_of,
    first_delivery,
    last_delivery,
    leased_of,
)

# One statement, because every transaction asks all of it while other processes wait for the lock.
_BEGIN = f"""SELECT (SELECT max(seq) FROM events), ({INDEXED}),
EXISTS (SELECT 1 FROM members WHERE stopped_at IS NOT NULL)"""
_COUNT_OPEN = """SELECT (SELECT count(*) FROM deliveries WHERE state = 0 AND inbox = ?1)
+ (SELECT count(*) FROM deliveries WHERE state = 1 AND inbox = ?1)"""
_SEEN = "UPDATE members SET seen_at = ? WHERE name = ? AND (seen_at IS NULL OR seen_at < ?)"
_EXPIRE_REQUEST = "DELETE FROM asks WHERE message = ? AND attempts = ?"
_REPEAT_REQUEST = "UPDATE asks SET due_at = ?, attempts = attempts + 1 WHERE message = ? AND attempts = ?"
_DUE = f"""SELECT {DELIVERY}, {MESSAGE} FROM deliveries d JOIN messages m ON m.seq = d.message
WHERE d.state = 0 AND d.inbox = ? AND d.due_at <= ? ORDER BY d.rank, d.seq LIMIT ?"""
_ONE_DUE = f"""SELECT {DELIVERY}, {MESSAGE} FROM deliveries d JOIN messages m ON m.seq = d.message
WHERE d.seq = ? AND d.state = 0 AND d.due_at <= ?"""
_TAKE = f"UPDATE deliveries SET state = {LEASED}, due_at = ?, attempts = ?, fence = ?, holder = ? WHERE seq = ?"
_ONE = f"SELECT {DELIVERY} FROM deliveries d WHERE d.seq = ?"
JOINED_FROM = 8  # messages to one inbox each: SQLite then copies their deliveries from the message rows


class WriteJob(NamedTuple):
    """One caller's part of a write transaction."""

    work: Callable[[Any], Any]  # called with the transaction; may run again in another one
    durable: bool = True  # synced to disk before the caller gets its answer
    may_use_reserve: bool = False  # may use the space that is reserved for a full disk
    prefetch_id: str | None = None  # message id whose earlier use is looked up for the whole group at once
    is_decision: bool = False  # writes only through the transaction, so that its rows can be dropped when it fails
    is_local: bool = False  # writes only tables that are not replicated
    prunes: bool = False  # deletes old rows, which other copies of a replicated store need not compare


class FailedJob(NamedTuple):
    """Answer of a job that raised: nothing of it was written, and the other jobs of its transaction went on."""

    error: Exception


class SqliteTransaction(SqliteReads):
    def __init__(
        self, file: SqliteConnection, recent_ids: RecentIds, quota: InboxQuota, forget: Callable[[], None]
    ) -> None:
        last, indexed, self.any_stopped = file.rows(_BEGIN)[0]
        super().__init__(file)
        self.position = int(last or 0)
        self._recent_ids, self.quota = recent_ids, quota
        self._forget = forget  # empties the caches when a job has failed
        self.indexed = int(indexed)
        self.next = self.position + 1
        self.stored: list[tuple[int, NewMessage]] = []  # every message written so far, with its number
        self.id_numbers: dict[str, int] = {}  # of the ids that were looked up
        self._earlier: dict[tuple[str, str], list[Row]] = {}  # accepted before this transaction, by sender and id
        self._accepted: dict[tuple[str, str], tuple[NewMessage, int]] = {}  # accepted in it
        self._pending: list[tuple[int, NewMessage]] = []  # numbered messages whose rows are not made yet
        self._events: list[Row] = []
        self._deliveries: list[Row] = []
        self._topics: list[Row] = []
        self._job_first = self.next  # the first number of the running job
        self._job_changed = 0  # the length of `changed` when it began
        self._in_file = False  # the running job has written to the file: only a rollback can undo it
        self._caught_up = False

    # --- jobs --------------------------------------------------------------------------------------------------------

    def run_all(self, jobs: Sequence[WriteJob], ids: set[str], ahead: PrefetchResult | None = None) -> list[Any]:
        """Run the jobs, which look up these ids, and flush what is left. The answers."""
        if ids:
            self.prefetch(ids, ahead)
        answers = [self.run(job) for job in jobs]
        self.commit()
        return answers

    def run(self, job: WriteJob) -> Any:
        """The job's answer, or a FailedJob after its rows were dropped.

        Raises:
            Exception: the file failed, or the job after some of its rows had reached it: everything must roll back.
        """
        self._in_file = not job.is_decision
        self._job_first, self._job_changed = self.next, len(self.changed)
        try:
            return job.work(self)
        except (apsw.Error, StoreError):
            raise  # the file has failed, not the job
        except Exception as error:
            if self._in_file:
                raise
            self._drop_job()
            return FailedJob(error)

    def _drop_job(self) -> None:
        """Drop the rows of the running job. None of them is in the file."""
        first = self.next = self._job_first
        self._pending = [row for row in self._pending if row[0] < first]
        self._events = [row for row in self._events if row[0] < first]
        self._topics = [row for row in self._topics if row[1] < first]
        left = (*self.stored, *self._pending)  # the job may have replaced an earlier message of the same id
        self._accepted = {(new.sender, new.id): (new, seq) for seq, new in left if new.kind == "accepted"}
        del self.changed[self._job_changed :]
        self.quota.recount()
        self._forget()

    def need_index(self, mark: str) -> None:
        """A decision cannot wait for an index: it looks through everything that is not indexed."""

    def flush(self) -> None:
        if not (self._pending or self._events or self._deliveries or self._topics):
            return
        self._in_file = self._in_file or self.next != self._job_first
        if self._pending:
            pending, self._pending = self._pending, []
            self._make_rows(pending)
        for sql, rows in (
            (INSERT_EVENT, self._events),
            (INSERT_DELIVERY, self._deliveries),
            (INSERT_TOPIC, self._topics),
        ):
            self.file.run_many(sql, rows)
            rows.clear()

    def commit(self) -> None:
        """Flush what is left, and index the ids of messages that are never deduplicated."""
        self.flush()
        others = [(number_of(message.id), seq) for seq, message in self.stored if message.kind != "accepted"]
        put_in(self.file, others)

    def _make_rows(self, numbered: list[tuple[int, NewMessage]]) -> None:
        """Make the rows of these messages, a table at a time: for many messages at once that is what costs."""
        self._events += [
            (seq, message.at, message.kind, message.sender, None, None, None, message.detail)
            for seq, message in numbered
        ]
        # A NewMessage begins with the columns of a message, in their order.
        rows = [(seq, *message[:12], STANDING.get(message.kind, 0)) for seq, message in numbered]
        self.file.run_many(INSERT_MESSAGE, rows)
        first, last = numbered[0][0], numbered[-1][0]
        is_one_run = last - first == len(numbered) - 1
        if len(numbered) >= JOINED_FROM and is_one_run and all(m.inboxes == (m.to,) for _, m in numbered):
            self.file.run_many(INSERT_DELIVERIES, [(first, last)])
        else:
            self._deliveries += [
                (number, seq, inbox, message.rank, STORED, AT_ONCE)
                for seq, message in numbered
                for number, inbox in enumerate(message.inboxes, seq << DELIVERY_BITS)
            ]
        requests = [
            (seq, message.answer_by, message.id, message.correlation, message.type)
            for seq, message in numbered
            if message.answer_by is not None
        ]
        self.file.run_many(INSERT_ASK, requests)
        self.stored += numbered

    # --- deduplication and quotas ------------------------------------------------------------------------------------

    def prefetch(self, ids: set[str], ahead: PrefetchResult | None) -> None:
        """Look up earlier messages of these ids. `ahead` was looked up before the lock was taken, and is used where
        nothing was indexed since."""
        if not self._caught_up:
            self._catch_up()
        if ahead is None or ahead.indexed != self._recent_ids.indexed:
            ahead = self._recent_ids.look_up(self.file, ids)
        self.id_numbers |= ahead.numbers
        self._earlier |= ahead.earlier
        if not self._recent_ids.knows_none_of(ids):
            for id_ in ids:
                for sender, *rest in self._recent_ids.messages(id_):
                    self._earlier.setdefault((sender, id_), []).append(tuple(rest))

    def _catch_up(self) -> None:
        self._recent_ids.catch_up(self.file, self.position, self.indexed)
        self._caught_up = True

    def leave_short_tail(self) -> None:
        """Put this process's latest ids into the index, which the next process that sends would have to read."""
        if self._recent_ids.is_long:
            self._recent_ids.catch_up(self.file, self.position, self.indexed, leaving=True)

    def earlier(self, sender: str, id: str, since: float) -> EarlierMessage | None:
        """The message that this sender sent under this id since then."""
        accepted = self._accepted.get((sender, id))
        if accepted is not None and accepted[0].at >= since:
            message, seq = accepted
            return EarlierMessage(seq, message.digest, message.to)
        if id not in self.id_numbers:
            self.prefetch({id}, None)
        for at, to, digest, seq in self._earlier.get((sender, id), ()):
            if at >= since:
                return EarlierMessage(seq, digest, to)
        return None

    def full_inbox(self, inboxes: tuple[str, ...], limit: int) -> str | None:
        """An inbox that has no room for one more message."""
        for inbox in inboxes:
            if not self.quota.has_room(self, inbox, limit):
                return inbox
        return None

    # --- writes ------------------------------------------------------------------------------------------------------

    def append(self, message: NewMessage) -> int:
        """Number a message; its rows, and those of everything that is stored with it, are written later."""
        if not self._caught_up:
            self._catch_up()
        seq, id_ = self.next, message.id
        self.next = seq + 1
        self._pending.append((seq, message))
        self.quota.add(message.inboxes)
        if message.kind == "accepted":
            self._accepted[message.sender, id_] = message, seq
            if id_ not in self.id_numbers:
                self.id_numbers[id_] = number_of(id_)
        if message.work_change is not None:
            self._change_work(message.work_change, seq)
        if message.answers_requests:
            self.flush()  # the request may have been sent in this transaction
            for request in message.answers_requests:
                self.write("DELETE FROM asks WHERE message = ?", (request,))
                if self.file.changed():
                    self.record(Event(0, message.at, "answered", message.sender, request, detail=f'{{"by": {seq}}}'))
        return seq

    def _change_work(self, change: WorkChange, seq: int) -> None:
        self._topics += [(name, seq) for name in change.topics]
        self.changed += change.topics
        for member, event in change.members:
            self.upsert_member(member, event)
        for report in change.reports:
            self.append(report)

    def record(self, event: Event) -> int:
        return self._add_event(event[1:])

    def _add_event(self, row: Row) -> int:
        """Number an event: the columns of its row but the first."""
        seq = self.next
        self.next = seq + 1
        self._events.append((seq, *row))
        return seq

    def upsert_member(self, member: Member, event: Event) -> None:
        times = (member.joined_at, member.seen_at, member.left_at, member.stopped_at)
        row = (member.name, member.role, " ".join(member.dialects), *times)
        self.write("INSERT OR REPLACE INTO members VALUES (?, ?, ?, ?, ?, ?, ?)", row)
        self.changed.append(ROSTER)
        self.any_stopped = self.any_stopped or member.stopped_at is not None
        self.record(event)

    def mark_seen(self, name: str, at: float) -> None:
        self.write(_SEEN, (at, name, at))

    def keep_snapshot(self, topic: str, seq: int, text: str) -> None:
        self.write("INSERT OR REPLACE INTO snapshots VALUES (?, ?, ?)", (topic, seq, text))

    def remind(
        self,
        request: PendingRequest,
        at: float,
        due_at: float | None,
        inboxes: Sequence[str],
        detail: str,
        *,
        reports: Sequence[NewMessage] = (),
    ) -> bool:
        self.flush()
        if due_at is None:
            self.write(_EXPIRE_REQUEST, (request.message, request.attempts))
        else:
            self.write(_REPEAT_REQUEST, (due_at, request.message, request.attempts))
        if not self.file.changed():
            return False
        self.record(Event(0, at, "reply-overdue", None, request.message, detail=detail))
        bounds = (first_delivery(request.message), last_delivery(request.message))
        last, rank = self.file.rows("SELECT max(seq), max(rank) FROM deliveries WHERE seq BETWEEN ? AND ?", bounds)[0]
        for number, inbox in enumerate(inboxes, last + 1):
            self._deliveries.append((number, request.message, inbox, rank, STORED, AT_ONCE))
            repeated = Event(0, at, "request-repeated", None, request.message, detail=detail)
            self.record(repeated._replace(delivery=number, inbox=inbox))
        if due_at is None:
            self.record(Event(0, at, "expired", None, request.message, detail=detail))
        for report in reports:
            self.append(report)
        self.quota.add(inboxes)
        return True

    # --- leases and settlements ---------------------------------------------------------------------------------------

    def lease(self, request: LeaseRequest) -> list[LeasedMessage]:
        """Lease what is due. Messages of the same transaction are not offered yet: nothing is flushed for that."""
        inboxes, now, until, limit = request.inboxes, request.now, request.until, request.limit
        sql = "SELECT 1 FROM members WHERE name = ? AND stopped_at IS NOT NULL"
        if self.any_stopped and self.file.row(sql, (request.holder,)) is not None:
            return []
        if request.only:
            due = [row for seq in request.only for row in self.file.rows(_ONE_DUE, (seq, now)) if row[2] in inboxes]
        else:
            due = [row for inbox in inboxes for row in self.file.rows(_DUE, (inbox, now, limit))]
        due.sort(key=lambda row: (row[3], row[0]))
        leases = [leased_of(row, until) for row in due[:limit]]
        rows = [(until, lease.attempt, lease.fence, request.holder, lease.delivery) for lease in leases]
        self._in_file = True
        self.file.run_many(_TAKE, rows)
        for lease in leases:
            detail = f'{{"until": {until!r}, "attempt": {lease.attempt}}}'
            row = (now, "leased", request.holder, lease.message.seq, lease.delivery, lease.inbox, detail)
            self._add_event(row)
            if request.extra_event is not None and (event := request.extra_event(lease)) is not None:
                self.record(event)
        return leases

    def settle(self, settlement: Settlement) -> SettleResult:
        row = self.file.row(_ONE, (settlement.delivery,))
        if row is None:
            self.flush()  # it may have been stored in this transaction
            row = self.file.row(_ONE, (settlement.delivery,))
        if row is None:
            return SettleResult(False, None)
        delivery = delivery_of(row)
        if not settlement.holds_for(delivery):
            return SettleResult(False, delivery)
        assert settlement.becomes in MOVES[delivery.state], f"{delivery.state} may not become {settlement.becomes}"
        now = settlement.applied_to(delivery)
        self.write(
            "UPDATE deliveries SET state = ?, due_at = ?, attempts = ?, holder = ? WHERE seq = ?",
            (CODES[now.state], now.due_at, now.attempts, now.holder, now.seq),
        )
        of_delivery = (delivery.message, delivery.seq, delivery.inbox, settlement.detail)
        self._add_event((settlement.at, settlement.kind, settlement.agent, *of_delivery))
        if settlement.becomes in OPEN and delivery.state not in OPEN:
            self.quota.add((delivery.inbox,))
        for report in settlement.reports:
            self.append(report)
        if settlement.release:
            self.write("DELETE FROM asks WHERE message = ?", (delivery.message,))
        return SettleResult(True, now)

    # --- helpers -----------------------------------------------------------------------------------------------------

    @cached_property
    def data_version(self) -> int:
        """Changes whenever another process has written."""
        return self.file.data_version()

    def count_open(self, inbox: str) -> int:
        """The deliveries in this inbox that are stored or leased."""
        self.flush()
        return int(self.file.value(_COUNT_OPEN, (inbox,)))

    def write(self, sql: str, bindings: Row) -> None:
        """Run a statement now. Only a rollback can undo it."""
        self._in_file = True
        self.file.run(sql, bindings)


def returned_lease(lease: LeasedMessage, holder: str, now: float) -> Settlement:
    """The reader disconnected before it got the lease: the attempt does not count."""
    return Settlement(
        delivery=lease.delivery,
        was="leased",
        becomes="stored",
        at=now,
        kind="returned",
        agent=holder,
        fence=lease.fence,
        due_at=AT_ONCE,
        attempts=lease.attempt - 1,
    )
