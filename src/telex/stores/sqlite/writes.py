"""What is written when something is kept, leased or settled? Each function here runs inside a transaction."""

from collections.abc import Sequence

from telex.model.delivery import AT_ONCE, MOVES
from telex.model.event import Event
from telex.model.message import Lease, NewMessage
from telex.model.roster import Member
from telex.ports.store import AppendResult, Beside, PendingRequest, Settlement, SettleResult
from telex.stores.sqlite.batch import Batch
from telex.stores.sqlite.connection import SqliteConnection
from telex.stores.sqlite.dedup import PrefetchResult, RecentIds
from telex.stores.sqlite.reads import member_called
from telex.stores.sqlite.rows import (
    CODES,
    DELIVERY,
    LEASED,
    MESSAGE,
    STORED,
    delivery_of,
    first_delivery,
    last_delivery,
    leased_of,
)

_OPEN = """SELECT (SELECT count(*) FROM deliveries WHERE state = 0 AND inbox = ?1)
+ (SELECT count(*) FROM deliveries WHERE state = 1 AND inbox = ?1)"""
_DUE = f"""SELECT {DELIVERY}, {MESSAGE} FROM deliveries d JOIN messages m ON m.seq = d.message
WHERE d.state = 0 AND d.inbox = ? AND d.due_at <= ? ORDER BY d.rank, d.seq LIMIT ?"""
_ONE_DUE = f"""SELECT {DELIVERY}, {MESSAGE} FROM deliveries d JOIN messages m ON m.seq = d.message
WHERE d.seq = ? AND d.state = 0 AND d.due_at <= ?"""
_TAKE = f"UPDATE deliveries SET state = {LEASED}, due_at = ?, attempts = ?, fence = ?, holder = ? WHERE seq = ?"
_ONE = f"SELECT {DELIVERY} FROM deliveries d WHERE d.seq = ?"


class InboxQuota:
    """How much may still be put into each inbox before it has to be counted again.

    Counting a deep inbox for every send would cost more than the send. What was counted in this very transaction is
    certain, and so is what is left of it as long as nothing but sends of our own has come between. Otherwise each
    process may use a sixteenth of what was free before it counts again; near the limit that is nothing, and every send
    counts.
    """

    def __init__(self) -> None:
        self._lying: dict[str, int] = {}  # in each inbox, when it was counted and by our own sends since
        self._counted_at: dict[str, int] = {}  # the file's version when it was counted
        self._blind: dict[str, int] = {}  # places that may be taken whatever others do

    def for_all(self, file: SqliteConnection, entries: Sequence[NewMessage]) -> bool:
        """Take a place for each, if there is one for all of them."""
        wanted: dict[str, int] = {}
        least: dict[str, int] = {}
        for new_message in entries:
            most = new_message.inbox_max
            for inbox in new_message.inboxes:
                wanted[inbox] = wanted.get(inbox, 0) + 1
                if most is not None:
                    least[inbox] = min(most, least.get(inbox, most))
        if any(self._left(file, inbox, wanted[inbox], most, 0) < wanted[inbox] for inbox, most in least.items()):
            return False
        for inbox, count in wanted.items():
            self._take(inbox, count)
        return True

    def full(self, file: SqliteConnection, batch: Batch, new_message: NewMessage, inbox_max: int) -> str | None:
        """The inbox that cannot take one more, if any; otherwise a place is taken in each."""
        for inbox in new_message.inboxes:
            unwritten = sum(row[2] == inbox for row in batch.deliveries)
            if self._left(file, inbox, 1, inbox_max, unwritten) < 1:
                return inbox
            self._take(inbox, 1)
        return None

    def grew(self) -> None:
        """Something else may have been put there by ourselves: a reminder, a report, a letter taken up again."""
        self._counted_at.clear()

    def _left(self, file: SqliteConnection, inbox: str, wanted: int, inbox_max: int, unwritten: int) -> int:
        blind = self._blind.get(inbox, 0)
        if blind >= wanted:
            return blind
        version = file.data_version()
        if version == self._counted_at.get(inbox) and inbox_max - self._lying[inbox] >= wanted:
            return inbox_max - self._lying[inbox]
        lying: int = file.value(_OPEN, (inbox,)) + unwritten
        free = max(0, inbox_max - lying)
        self._lying[inbox], self._counted_at[inbox], self._blind[inbox] = lying, version, free // 16
        return free

    def _take(self, inbox: str, count: int) -> None:
        self._lying[inbox] = self._lying.get(inbox, 0) + count
        self._blind[inbox] = max(0, self._blind.get(inbox, 0) - count)


def prefetch(file: SqliteConnection, tail: RecentIds, entries: Sequence[NewMessage]) -> PrefetchResult | None:
    """What can be found out before the lock is taken."""
    return tail.prefetch(file, {new_message.id for new_message in entries if new_message.dedup_since is not None})


def append(
    file: SqliteConnection,
    batch: Batch,
    tail: RecentIds,
    room: InboxQuota,
    entries: Sequence[NewMessage],
    ahead: PrefetchResult | None,
) -> list[AppendResult]:
    """Keep what is new. Entries of one batch are compared with each other as well."""
    tail.catch_up(file, batch.first - 1, batch.indexed)
    ids = [new_message.id for new_message in entries if new_message.dedup_since is not None]
    different = set(ids)
    if different:
        batch.look_for(different, tail, ahead)
        batch.look_for_stopped(entries)
    ordinary = not batch.earlier and len(different) == len(ids) and not batch.stopped
    all_new = ordinary and batch.changes_no_topic(entries)
    if all_new and room.for_all(file, entries):  # nearly always: then there is nothing to decide about any of them
        seqs = batch.keep(entries)
        for seq, entry in zip(seqs, entries, strict=True):
            if entry.answers_requests:
                _answered(file, batch, entry, seq)
        return [AppendResult("stored", seq) for seq in seqs]
    done = [_append(file, batch, room, new_message) for new_message in entries]
    room.grew()
    return done


def _append(file: SqliteConnection, batch: Batch, room: InboxQuota, new_message: NewMessage) -> AppendResult:
    if new_message.dedup_since is not None:
        earlier = _earlier(batch, new_message)
        if earlier is not None:
            if earlier.outcome == "duplicate":
                batch.event(Event(0, new_message.at, "duplicate", new_message.sender, earlier.seq))
            return earlier
        if new_message.sender in batch.stopped:
            return AppendResult("stopped", 0)
    if new_message.work_change is not None and batch.is_stale(new_message.work_change):
        return AppendResult("stale", 0)
    if new_message.inbox_max is not None:
        full = room.full(file, batch, new_message, new_message.inbox_max)
        if full is not None:
            return AppendResult("inbox-full", 0, full)
    seq = batch.message(new_message)
    if new_message.inbox_max is None or (new_message.work_change is not None and new_message.work_change.reports):
        room.grew()  # these asked for no place
    _answered(file, batch, new_message, seq)
    if new_message.dedup_since is not None:
        batch.fresh[new_message.sender, new_message.id] = new_message, seq
    return AppendResult("stored", seq)


def _earlier(batch: Batch, new_message: NewMessage) -> AppendResult | None:
    """The same id from the same sender within the window: the same message again, or another under a used id."""
    key = (new_message.sender, new_message.id)
    known = batch.fresh.get(key)
    if known is not None:
        same = (known[0].digest, known[0].to) == (new_message.digest, new_message.to)
        return AppendResult("duplicate" if same else "id-reused", known[1])
    assert new_message.dedup_since is not None
    for at, to, digest, seq in batch.earlier.get(key, ()):
        if at >= new_message.dedup_since:
            return AppendResult(
                "duplicate" if (digest, to) == (new_message.digest, new_message.to) else "id-reused", seq
            )
    return None


def _answered(file: SqliteConnection, batch: Batch, new_message: NewMessage, seq: int) -> None:
    for asked in new_message.answers_requests:
        file.run("DELETE FROM asks WHERE message = ?", (asked,))
        if file.changed():
            detail = f'{{"by": {seq}}}'
            batch.event(Event(0, new_message.at, "answered", new_message.sender, asked, None, None, detail))


def lease(
    file: SqliteConnection,
    batch: Batch,
    inboxes: Sequence[str],
    holder: str,
    now: float,
    until: float,
    limit: int,
    only: Sequence[int],
    beside: Beside | None = None,
) -> list[Lease]:
    if batch.has_stopped(holder):
        return []
    if only:
        due = [row for seq in only for row in file.rows(_ONE_DUE, (seq, now)) if row[2] in inboxes]
    else:
        due = [row for inbox in inboxes for row in file.rows(_DUE, (inbox, now, limit))]
    due.sort(key=lambda row: (row[3], row[0]))
    leases = [leased_of(row, until) for row in due[:limit]]
    file.run_many(_TAKE, [(until, one.attempt, one.fence, holder, one.delivery) for one in leases])
    for lease in leases:
        detail = f'{{"until": {until!r}, "attempt": {lease.attempt}}}'
        batch.event(Event(0, now, "leased", holder, lease.message.seq, lease.delivery, lease.inbox, detail))
        if beside is not None and (event := beside(lease)) is not None:
            batch.event(event)
    return leases


def returned(lease: Lease, holder: str, now: float) -> Settlement:
    """Nobody was there to take it any more: as if it had not been offered."""
    settlement = Settlement(lease.delivery, "leased", "stored", now, "returned", holder, lease.fence)
    return settlement._replace(due_at=AT_ONCE, attempts=lease.attempt - 1)


def settle(file: SqliteConnection, batch: Batch, settlement: Settlement) -> SettleResult:
    found = file.row(_ONE, (settlement.delivery,))
    if found is None:
        return SettleResult(False, None)
    delivery = delivery_of(found)
    if not settlement.holds_for(delivery):
        return SettleResult(False, delivery)
    assert settlement.becomes in MOVES[delivery.state], f"{delivery.state} may not become {settlement.becomes}"
    attempts = delivery.attempts if settlement.attempts is None else settlement.attempts
    file.run(
        "UPDATE deliveries SET state = ?, due_at = ?, attempts = ? WHERE seq = ?",
        (CODES[settlement.becomes], settlement.due_at, attempts, delivery.seq),
    )
    batch.event(
        Event(
            0,
            settlement.at,
            settlement.kind,
            settlement.agent,
            delivery.message,
            delivery.seq,
            delivery.inbox,
            settlement.detail,
        )
    )
    for report in settlement.reports:
        batch.message(report)
    if settlement.release:
        file.run("DELETE FROM asks WHERE message = ?", (delivery.message,))
    return SettleResult(True, delivery._replace(state=settlement.becomes, due_at=settlement.due_at, attempts=attempts))


def remind(
    file: SqliteConnection,
    batch: Batch,
    pending_request: PendingRequest,
    at: float,
    due_at: float | None,
    inboxes: Sequence[str],
    detail: str,
    reports: Sequence[NewMessage],
) -> bool:
    if due_at is None:
        file.run(
            "DELETE FROM asks WHERE message = ? AND attempts = ?", (pending_request.message, pending_request.attempts)
        )
    else:
        sql = "UPDATE asks SET due_at = ?, attempts = attempts + 1 WHERE message = ? AND attempts = ?"
        file.run(sql, (due_at, pending_request.message, pending_request.attempts))
    if not file.changed():
        return False
    batch.event(Event(0, at, "reply-overdue", None, pending_request.message, None, None, detail))
    bounds = (first_delivery(pending_request.message), last_delivery(pending_request.message))
    last, rank = file.rows("SELECT max(seq), max(rank) FROM deliveries WHERE seq BETWEEN ? AND ?", bounds)[0]
    for offset, inbox in enumerate(inboxes, 1):
        batch.deliveries.append((last + offset, pending_request.message, inbox, rank, STORED, AT_ONCE))
        batch.event(Event(0, at, "request-repeated", None, pending_request.message, last + offset, inbox, detail))
    if due_at is None:
        batch.event(Event(0, at, "expired", None, pending_request.message, None, None, detail))
    for report in reports:
        batch.message(report)
    return True


def upsert_member(file: SqliteConnection, batch: Batch, member: Member, event: Event | None, back: bool) -> Member:
    known = member_called(file, member.name)
    if known is not None and known.stands_against(member, back=back):
        return known
    batch.write_member(member)
    if event is not None:
        batch.event(event)
    return member
