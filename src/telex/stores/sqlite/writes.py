"""Leases and settlements of the SQLite store. Each function runs inside a write transaction."""

from telex.model.message import AT_ONCE, MOVES, OPEN, Event, Lease
from telex.ports.store import LeaseRequest, Settlement, SettleResult
from telex.stores.sqlite.rows import CODES, DELIVERY, LEASED, MESSAGE, delivery_of, leased_of
from telex.stores.sqlite.transaction import SqliteTransaction

_DUE = f"""SELECT {DELIVERY}, {MESSAGE} FROM deliveries d JOIN messages m ON m.seq = d.message
WHERE d.state = 0 AND d.inbox = ? AND d.due_at <= ? ORDER BY d.rank, d.seq LIMIT ?"""
_ONE_DUE = f"""SELECT {DELIVERY}, {MESSAGE} FROM deliveries d JOIN messages m ON m.seq = d.message
WHERE d.seq = ? AND d.state = 0 AND d.due_at <= ?"""
_TAKE = f"UPDATE deliveries SET state = {LEASED}, due_at = ?, attempts = ?, fence = ?, holder = ? WHERE seq = ?"
_ONE = f"SELECT {DELIVERY} FROM deliveries d WHERE d.seq = ?"


def lease(tx: SqliteTransaction, request: LeaseRequest) -> list[Lease]:
    """Lease what is due. Messages of the same transaction are not offered yet: nothing is flushed for that."""
    inboxes, now, until, limit = request.inboxes, request.now, request.until, request.limit
    if tx.has_stopped(request.holder):
        return []
    if request.only:
        due = [row for seq in request.only for row in tx.file.rows(_ONE_DUE, (seq, now)) if row[2] in inboxes]
    else:
        due = [row for inbox in inboxes for row in tx.file.rows(_DUE, (inbox, now, limit))]
    due.sort(key=lambda row: (row[3], row[0]))
    leases = [leased_of(row, until) for row in due[:limit]]
    tx.write_many(_TAKE, [(until, one.attempt, one.fence, request.holder, one.delivery) for one in leases])
    for lease in leases:
        tx.record(
            Event(
                0,
                now,
                kind="leased",
                agent=request.holder,
                message=lease.message.seq,
                delivery=lease.delivery,
                inbox=lease.inbox,
                detail=f'{{"until": {until!r}, "attempt": {lease.attempt}}}',
            )
        )
        if request.extra_event is not None and (event := request.extra_event(lease)) is not None:
            tx.record(event)
    return leases


def returned(lease: Lease, holder: str, now: float) -> Settlement:
    """The reader was gone before it got the lease: as if the message had not been offered."""
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


def settle(tx: SqliteTransaction, settlement: Settlement) -> SettleResult:
    found = tx.file.row(_ONE, (settlement.delivery,))
    if found is None:
        return SettleResult(False, None)
    delivery = delivery_of(found)
    if not settlement.holds_for(delivery):
        return SettleResult(False, delivery)
    assert settlement.becomes in MOVES[delivery.state], f"{delivery.state} may not become {settlement.becomes}"
    now = settlement.applied_to(delivery)
    tx.write(
        "UPDATE deliveries SET state = ?, due_at = ?, attempts = ?, holder = ? WHERE seq = ?",
        (CODES[now.state], now.due_at, now.attempts, now.holder, now.seq),
    )
    tx.record(
        Event(
            seq=0,
            at=settlement.at,
            kind=settlement.kind,
            agent=settlement.agent,
            message=delivery.message,
            delivery=delivery.seq,
            inbox=delivery.inbox,
            detail=settlement.detail,
        )
    )
    if settlement.becomes in OPEN and delivery.state not in OPEN:
        tx.quota.add((delivery.inbox,))
    for report in settlement.reports:
        tx.append(report)
    if settlement.release:
        tx.write("DELETE FROM asks WHERE message = ?", (delivery.message,))
    return SettleResult(True, now)
