"""Reads of the SQLite store, each one or two statements."""

from collections.abc import Sequence

from telex.model.message import COMING_AND_GOING, Delivery, Event, Message
from telex.model.roster import TELEX, Member
from telex.model.text import number_of
from telex.ports.store import (
    CONVERSATION_BYTES,
    LATEST_MESSAGES,
    Changes,
    ConversationPage,
    ConversationSummary,
    PendingRequest,
    Query,
)
from telex.stores.sqlite.connection import Row, SqliteConnection
from telex.stores.sqlite.dedup import INDEXED
from telex.stores.sqlite.rows import (
    DELIVERY,
    EVENT,
    EVENT_WIDTH,
    GIVEN_UP,
    MESSAGE,
    delivery_and_message,
    delivery_of,
    event_and_message,
    event_of,
    first_delivery,
    last_delivery,
    message_of,
)

_WITH_MESSAGE = "FROM deliveries d JOIN messages m ON m.seq = d.message"
_NUMBERED = f"""SELECT seq FROM recent WHERE number = ?1 UNION SELECT seq FROM known WHERE number = ?1
UNION SELECT seq FROM messages WHERE seq > ({INDEXED}) AND id = ?2 ORDER BY seq"""
_UNINDEXED = "seq > coalesce((SELECT value FROM marks WHERE name = '{}'), 0)"  # none, unless the disk is full
_THREAD = f"""SELECT seq FROM known WHERE number = ?1
UNION ALL SELECT seq FROM messages WHERE {_UNINDEXED.format("known")} AND correlation = ?2"""
_EVENTS = "FROM events e LEFT JOIN messages m ON m.seq = coalesce(e.message, e.seq)"
# The agent did it, sent the message, or has it in its inbox; the detail lists the inboxes of an address with several.
_CONCERNS = """(:agent IN (e.agent, e.inbox, m.sender) OR (e.kind = 'accepted' AND
(m.recipient = :agent OR EXISTS (SELECT 1 FROM json_each(e.detail, '$.inboxes') WHERE value = :agent))))"""
_TOLD_SINCE = """SELECT e.seq, e.kind, e.agent, coalesce(e.message, e.seq), d.inbox, d.due_at FROM events e
LEFT JOIN deliveries d ON d.seq = e.delivery AND d.state = 0 WHERE e.seq > ? ORDER BY e.seq"""
_MEMBER = "name, role, dialects, joined_at, seen_at, left_at, stopped_at"
CORRELATION = "correlation:"  # before a correlation's name, so that it is not taken for an id
MATCHES_MAX = 100_000
TOLD = "told"  # the mark up to which events are indexed by message
WALK_MESSAGES, WALK_STEPS = 500, 20  # messages looked through for a page of conversations: in one step, and the steps
_COUNT = f"SELECT count(*), max(seq) FROM ({_THREAD})"
_LATEST = f"""SELECT m.sender, m.refused FROM ({_THREAD} ORDER BY seq DESC LIMIT ?3) k
JOIN messages m ON m.seq = k.seq ORDER BY k.seq DESC"""


def message(file: SqliteConnection, seq: int) -> Message | None:
    row = file.row(f"SELECT {MESSAGE} FROM messages m WHERE m.seq = ?", (seq,))
    return message_of(row) if row else None


def find(file: SqliteConnection, id_: str) -> list[Message]:
    numbers = file.rows(_NUMBERED, (number_of(id_), id_))
    return [one for (seq,) in numbers if (one := message(file, seq)) is not None and one.id == id_]


def thread(file: SqliteConnection, correlation: str, limit: int) -> list[Message]:
    messages = []
    for (seq,) in file.rows(f"{_THREAD} ORDER BY seq", _of(correlation)):
        one = message(file, seq)
        if one is not None and one.correlation == correlation:
            messages.append(one)
            if len(messages) == limit:
                break
    return messages


def conversations(file: SqliteConnection, before: int | None, limit: int) -> ConversationPage:
    """From the newest message backwards, each conversation at its last message."""
    found: list[ConversationSummary] = []
    passed, size = set[str](), 0
    place = last_event(file) + 1 if before is None else before
    for _ in range(WALK_STEPS):
        sql = "SELECT seq, correlation FROM messages WHERE seq < ? ORDER BY seq DESC LIMIT ?"
        rows = file.rows(sql, (place, WALK_MESSAGES))
        for place, correlation in rows:
            if not correlation or correlation in passed:
                continue
            passed.add(correlation)
            count, last = file.rows(_COUNT, _of(correlation))[0]
            if last == place:  # or else it is on an earlier page
                found.append(_conversation(file, correlation, count, last))
                size += len(found[-1].last.raw)
            if len(found) == limit or size >= CONVERSATION_BYTES:
                return ConversationPage(tuple(found), place)
        if len(rows) < WALK_MESSAGES:
            return ConversationPage(tuple(found), None)
    return ConversationPage(tuple(found), place)


def _conversation(file: SqliteConnection, correlation: str, count: int, last: int) -> ConversationSummary:
    begun = sum(one.correlation is None for one in find(file, correlation))
    latest = file.rows(_LATEST, (*_of(correlation), LATEST_MESSAGES))
    newest = message(file, last)
    assert newest is not None, "what is indexed is stored"
    senders = tuple(dict.fromkeys(sender for sender, _ in latest))
    return ConversationSummary(correlation, count + begun, newest, senders, sum(refused == 1 for _, refused in latest))


def topic(file: SqliteConnection, name: str, after: int) -> list[tuple[Event, Message]]:
    sql = f"""SELECT {EVENT}, {MESSAGE} FROM topics t JOIN messages m ON m.seq = t.seq JOIN events e ON e.seq = t.seq
    WHERE t.name = ? AND t.seq > ? ORDER BY t.seq"""
    return [(event_of(row), message_of(row[EVENT_WIDTH:])) for row in file.rows(sql, (name, after))]


def topics(file: SqliteConnection, kind: str) -> list[str]:
    sql = "SELECT DISTINCT name FROM topics WHERE name = ?1 OR (name >= ?1 || ':' AND name < ?1 || ';') ORDER BY name"
    return [name for (name,) in file.rows(sql, (kind,))]


def topics_since(file: SqliteConnection, position: int) -> list[str]:
    return [name for (name,) in file.rows("SELECT DISTINCT name FROM topics WHERE seq > ?", (position,))]


def any_event_since(file: SqliteConnection, position: int, kinds: Sequence[str]) -> bool:
    sql = f"SELECT 1 FROM events WHERE seq > ? AND kind IN ({', '.join('?' * len(kinds))}) LIMIT 1"
    return bool(file.rows(sql, (position, *kinds)))


def last_event(file: SqliteConnection) -> int:
    return int(file.value("SELECT max(seq) FROM events") or 0)


def snapshot(file: SqliteConnection, topic_: str) -> tuple[int, str] | None:
    row = file.row("SELECT seq, words FROM snapshots WHERE topic = ?", (topic_,))
    return (row[0], row[1]) if row else None


def held(file: SqliteConnection, holder: str) -> list[Message]:
    sql = f"SELECT {MESSAGE} {_WITH_MESSAGE} WHERE d.state = 1 AND d.holder = ? ORDER BY d.seq"
    return [message_of(row) for row in file.rows(sql, (holder,))]


def deliveries(file: SqliteConnection, message_: int) -> list[Delivery]:
    sql = f"SELECT {DELIVERY} FROM deliveries d WHERE d.seq BETWEEN ? AND ? ORDER BY d.seq"
    return [delivery_of(row) for row in file.rows(sql, (first_delivery(message_), last_delivery(message_)))]


def delivery(file: SqliteConnection, seq: int) -> Delivery | None:
    row = file.row(f"SELECT {DELIVERY} FROM deliveries d WHERE d.seq = ?", (seq,))
    return delivery_of(row) if row else None


def lapsed(file: SqliteConnection, now: float, limit: int) -> list[tuple[Delivery, Message]]:
    sql = f"SELECT {DELIVERY}, {MESSAGE} {_WITH_MESSAGE} WHERE d.state = 1 AND d.due_at <= ? ORDER BY d.due_at LIMIT ?"
    return [delivery_and_message(row) for row in file.rows(sql, (now, limit))]


def overdue(file: SqliteConnection, now: float, limit: int) -> list[tuple[PendingRequest, Message, list[Delivery]]]:
    sql = f"""SELECT a.message, a.due_at, a.attempts, {MESSAGE} FROM asks a JOIN messages m ON m.seq = a.message
    WHERE a.due_at <= ? ORDER BY a.due_at, a.message LIMIT ?"""
    rows = file.rows(sql, (now, limit))
    return [(PendingRequest(*row[:3]), message_of(row[3:]), deliveries(file, row[0])) for row in rows]


def waiting(file: SqliteConnection, inboxes: Sequence[str], limit: int) -> list[tuple[Delivery, Message]]:
    rows: list[Row] = []
    for inbox in inboxes:
        for state in ("0 ORDER BY d.rank, d.seq", "1 ORDER BY d.due_at"):
            sql = f"SELECT {DELIVERY}, {MESSAGE} {_WITH_MESSAGE} WHERE d.inbox = ? AND d.state = {state} LIMIT ?"
            rows += file.rows(sql, (inbox, limit))
    rows.sort(key=lambda row: (row[3], row[0]))
    return [delivery_and_message(row) for row in rows[:limit]]


def depths(file: SqliteConnection) -> dict[str, tuple[int, int, float]]:
    found: dict[str, tuple[int, int, float]] = {}
    for state in (0, 1):
        sql = f"SELECT inbox, count(*), min(seq) FROM deliveries WHERE state = {state} GROUP BY inbox"
        for inbox, count, first in file.rows(sql):
            at = file.value(
                "SELECT m.at FROM messages m JOIN deliveries d ON d.message = m.seq WHERE d.seq = ?", (first,)
            )
            stored, leased, oldest = found.get(inbox, (0, 0, at))
            counts = (stored, leased + count) if state else (stored + count, leased)
            found[inbox] = (*counts, min(oldest, at))
    return found


def pending_requests(
    file: SqliteConnection, id_: str | None, correlation: str | None, types: Sequence[str] | None
) -> list[tuple[PendingRequest, Message]]:
    """A CROSS JOIN keeps SQLite from looking through the messages, of which there may be millions."""
    name, value = ("id", id_) if id_ is not None else ("correlation", correlation)
    among = "" if types is None else f"AND a.type IN ({', '.join('?' * len(types))})"
    sql = f"""SELECT a.message, a.due_at, a.attempts, {MESSAGE} FROM asks a CROSS JOIN messages m ON m.seq = a.message
    WHERE a.{name} = ? {among} ORDER BY a.message"""
    return [(PendingRequest(*row[:3]), message_of(row[3:])) for row in file.rows(sql, (value, *(types or ())))]


def answers_to(file: SqliteConnection, inboxes: Sequence[str], request: Message, types: Sequence[str]) -> list[int]:
    """Later messages in these inboxes that name this one, or are of its conversation and of such a type."""
    by_type = ", ".join("?" * len(types)) or "NULL"
    sql = f"""SELECT d.seq {_WITH_MESSAGE} WHERE d.state = 0 AND d.inbox = ? AND d.seq > ? AND m.sender != '{TELEX}'
    AND (m.reply_to = ? OR (m.reply_to IS NULL AND m.correlation = ? AND m.type IN ({by_type}))) ORDER BY d.seq"""
    later = last_delivery(request.seq)
    bindings = (later, request.id, request.correlation, *types)
    return [row[0] for inbox in inboxes for row in file.rows(sql, (inbox, *bindings))]


def due_times(file: SqliteConnection, inboxes: Sequence[str]) -> dict[str, float]:
    """Only what waits for its next attempt has to be looked at, and that is little: the rest would have been leased."""
    sql = "SELECT min(due_at) FROM (SELECT due_at FROM deliveries WHERE state = 0 AND inbox = ? LIMIT 1000)"
    found = [(inbox, file.value(sql, (inbox,))) for inbox in inboxes]
    return {inbox: moment for inbox, moment in found if moment is not None}


def changes_since(file: SqliteConnection, after: int | None) -> Changes:
    """The events first: what is written while we look is then told twice, and not left out."""
    if after is None:
        return Changes(last_event(file))
    told = file.rows(_TOLD_SINCE, (after,))
    if not told:
        return Changes(after)
    put = file.rows("SELECT inbox, due_at FROM deliveries WHERE seq >= ? AND state = 0", (first_delivery(after + 1),))
    put += [row[4:] for row in told if row[4] is not None]
    members = frozenset(row[2] for row in told if row[1] in COMING_AND_GOING and row[2] is not None)
    return Changes(told[-1][0], tuple(put), frozenset(row[3] for row in told), members)


def next_deadline(file: SqliteConnection, inboxes: Sequence[str]) -> float | None:
    moments: list[float | None] = list(due_times(file, inboxes).values())
    moments.append(file.value("SELECT min(due_at) FROM deliveries WHERE state = 1"))
    moments.append(file.value("SELECT min(due_at) FROM asks"))
    return min((moment for moment in moments if moment is not None), default=None)


def story(file: SqliteConnection, message_: int) -> list[Event]:
    """The event that brought it, those that are indexed, and those among the latest that are not yet."""
    after = f"(SELECT max(?1, coalesce((SELECT value FROM marks WHERE name = '{TOLD}'), 0)))"
    sql = f"""SELECT {EVENT} {_EVENTS} WHERE e.seq = ?1
    UNION ALL SELECT {EVENT} FROM told t JOIN events e ON e.seq = t.seq LEFT JOIN messages m ON m.seq = t.message
    WHERE t.message = ?1 UNION ALL SELECT {EVENT} {_EVENTS} WHERE e.seq > {after} AND e.message = ?1 ORDER BY 1"""
    return [event_of(row) for row in file.rows(sql, (message_,))]


def events(file: SqliteConnection, query: Query, limit: int) -> list[tuple[Event, Message | None]]:
    where, bindings = _conditions(query)
    among: list[str] = []
    for given, candidates in ((query.correlation, _of_correlation), (query.text, _of_text)):
        if given is not None:
            among.append(candidates(file, given))
    source = _EVENTS
    for index, numbers in enumerate(among):
        name = f":among{index}"
        where.append(f"coalesce(e.message, e.seq) IN (SELECT value FROM json_each({name}))")
        bindings[name[1:]] = numbers
    order = "e.seq DESC" if query.newest_first else "e.seq"
    sql = f"SELECT {EVENT}, {MESSAGE} {source} WHERE {' AND '.join(where)} ORDER BY {order} LIMIT :limit"
    return [event_and_message(row) for row in file.rows(sql, bindings | {"limit": limit})]


def _conditions(query: Query) -> tuple[list[str], dict[str, object]]:
    where, bindings = ["e.seq > :after"], {"after": query.after}
    tests: list[tuple[object, str, str]] = [
        (query.agent, "agent", _CONCERNS),
        (query.type, "type", "m.type = :type"),
        (query.dialect, "dialect", "m.dialect = :dialect"),
        (query.correlation, "correlation", "m.correlation = :correlation"),
        (query.since, "since", "e.at >= :since"),
        (query.until, "until", "e.at <= :until"),
    ]
    given: dict[str, object] = dict(bindings)
    for value, name, condition in tests:
        if value is not None:
            where.append(condition)
            given[name] = value
    if query.kinds:
        where.append(f"e.kind IN ({', '.join(f':kind{n}' for n in range(len(query.kinds)))})")
        given |= {f"kind{n}": kind for n, kind in enumerate(query.kinds)}
    return where, given


def _of_correlation(file: SqliteConnection, correlation: str) -> str:
    return _listed(file.rows(_THREAD, _of(correlation)))


def _of_text(file: SqliteConnection, text: str) -> str:
    wanted = dict.fromkeys(text.replace("\0", " ").split())  # to the index, the text would end at such a character
    if not wanted:
        return "[]"
    words = " ".join('"' + word.replace('"', '""') + '"' for word in wanted)
    sql = "SELECT rowid FROM texts WHERE texts MATCH ? ORDER BY rowid DESC LIMIT ?"
    indexed = file.rows(sql, (words, MATCHES_MAX))
    others = file.rows(f"SELECT seq, raw FROM messages WHERE {_UNINDEXED.format('texts')}")
    return _listed(indexed + [row for row in others if _contains(row[1], text)])


def _contains(raw: bytes, text: str) -> bool:
    from telex.stores.query_match import contains  # rarely needed

    return contains(raw, text)


def _of(correlation: str) -> tuple[int, str]:
    return number_of(CORRELATION + correlation), correlation


def _listed(rows: list[Row]) -> str:
    return f"[{','.join(str(row[0]) for row in rows)}]"


def dead(file: SqliteConnection, limit: int) -> list[tuple[Delivery, Message]]:
    sql = f"SELECT {DELIVERY}, {MESSAGE} {_WITH_MESSAGE} WHERE d.state IN {GIVEN_UP} ORDER BY d.seq DESC LIMIT ?"
    return [delivery_and_message(row) for row in file.rows(sql, (limit,))]


def members(file: SqliteConnection) -> list[Member]:
    return [_member_of(row) for row in file.rows(f"SELECT {_MEMBER} FROM members ORDER BY name")]


def _member_of(row: Row) -> Member:
    return Member(row[0], row[1], tuple(row[2].split()), False, *row[3:])
