"""Reads of the SQLite store on one snapshot: a few statements, built from the filters of a query.

Indexes of ids, conversations, texts and events are filled by maintenance. A read looks through what they do not have
yet; where that is much, it raises NotIndexed, and the store indexes it and runs the read again.
"""

import json
from collections.abc import Iterable, Sequence
from functools import cached_property, lru_cache

from telex.model.message import BRINGING, OPEN, STATES, Delivery, Event, State, StoredMessage
from telex.model.roster import TELEX, Member
from telex.model.text import number_of
from telex.ports.store import (
    CONVERSATION_BYTES,
    LATEST_MESSAGES,
    ConversationPage,
    ConversationSummary,
    DeliveryQuery,
    EventQuery,
    MessageQuery,
    PendingRequest,
    Query,
    RequestQuery,
)
from telex.stores.sqlite.caches import INDEXED
from telex.stores.sqlite.connection import Row, SqliteConnection
from telex.stores.sqlite.schema import (
    CODES,
    DELIVERY,
    EVENT,
    GIVEN_UP,
    MESSAGE,
    delivery_of,
    event_of,
    first_delivery,
    last_delivery,
    message_of,
)

CORRELATION = "correlation:"  # before a correlation's name, so that it is not taken for an id
KNOWN, TEXTS, TOLD = "known", "texts", "told"  # marks: the last message or event in each index
UNINDEXED_MAX = 500  # messages or events that a read looks through
MATCHES_MAX = 100_000
WALK_MESSAGES, WALK_STEPS = 500, 20  # messages read in one step for a page of conversations, and the steps
NO_LIMIT = -1

_MARK = "SELECT value FROM marks WHERE name = '{0}' UNION ALL SELECT value FROM local_marks WHERE name = '{0}'"
UNINDEXED = f"seq > coalesce(({_MARK}), 0)"
_NUMBERED = f"""SELECT seq FROM recent WHERE number = ?1 UNION SELECT seq FROM known WHERE number = ?1
UNION SELECT seq FROM messages WHERE seq > ({INDEXED}) AND id = ?2"""
_THREAD = f"""SELECT seq FROM known WHERE number = ?1
UNION ALL SELECT seq FROM messages WHERE {UNINDEXED.format(KNOWN)} AND correlation = ?2"""
_MESSAGE = f"SELECT {MESSAGE} FROM messages m WHERE m.seq = ?"
_MESSAGES = f"SELECT {MESSAGE} FROM json_each(?) n CROSS JOIN messages m ON m.seq = n.value ORDER BY m.seq LIMIT ?"
_OF_ID = f"SELECT {MESSAGE} FROM ({_NUMBERED}) n CROSS JOIN messages m ON m.seq = n.seq WHERE m.id = ?2"
_OF_CORRELATION = f"SELECT {MESSAGE} FROM ({_THREAD}) n CROSS JOIN messages m ON m.seq = n.seq WHERE m.correlation = ?2"
_SORTED = " ORDER BY m.seq LIMIT ?3"
_EVENTS = "FROM events e LEFT JOIN messages m ON m.seq = coalesce(e.message, e.seq)"
_OF_MESSAGE = f"""e.seq IN (SELECT :message UNION ALL SELECT seq FROM told WHERE message = :message
UNION ALL SELECT seq FROM events WHERE seq > :message AND {UNINDEXED.format(TOLD)} AND message = :message)
AND coalesce(e.message, m.seq) = :message"""
_OF_TOPIC = "e.seq IN (SELECT seq FROM topics WHERE name = :topic AND seq > :after)"
# The agent did it, sent the message, or has it in its inbox; the detail lists the inboxes of an address with several.
_CONCERNS = """(:agent IN (e.agent, e.inbox, m.sender) OR (e.kind = 'accepted' AND
(m.recipient = :agent OR EXISTS (SELECT 1 FROM json_each(e.detail, '$.inboxes') WHERE value = :agent))))"""
_AMONG = "coalesce(e.message, e.seq) IN (SELECT value FROM json_each({}))"
_OF_LOG = ("message", "topic")
_EVENT_FILTERS = {
    "message": _OF_MESSAGE,
    "topic": _OF_TOPIC,
    "agent": _CONCERNS,
    "type": "m.type = :type",
    "dialect": "m.dialect = :dialect",
    "correlation": f"m.correlation = :correlation AND {_AMONG.format(':thread')}",
    "text": _AMONG.format(":text"),
    "since": "e.at >= :since",
    "until": "e.at <= :until",
}
_DELIVERY_FILTERS = {
    "seqs": "d.seq IN (SELECT value FROM json_each(:seqs))",
    "message": "d.seq BETWEEN :first AND :last",
    "after": "d.seq >= :after",
    "inboxes": "d.inbox = :inbox",
    "holder": "d.holder = :holder",
    "due_by": "d.due_at <= :due_by",
    "answers": f"""d.seq > :asked AND m.sender != '{TELEX}' AND (m.reply_to = :id OR (m.reply_to IS NULL
AND m.correlation = :correlation AND m.type IN (SELECT value FROM json_each(:types))))""",
}
_REQUESTS = f"""SELECT a.message, a.due_at, a.attempts, {MESSAGE}
FROM asks a CROSS JOIN messages m ON m.seq = a.message"""  # CROSS: SQLite must not look through the messages
_MEMBER = "name, role, dialects, joined_at, seen_at, left_at, stopped_at"
_OLDEST = "SELECT m.at FROM messages m JOIN deliveries d ON d.message = m.seq WHERE d.seq = ?"
_COUNT = f"SELECT count(*), max(seq) FROM ({_THREAD})"
_LATEST = f"""SELECT m.sender, m.refused FROM ({_THREAD} ORDER BY seq DESC LIMIT ?3) k
JOIN messages m ON m.seq = k.seq ORDER BY k.seq DESC"""

# The conditions under which SQLite uses the partial indexes; each is a statement of its own.
_STATES: dict[frozenset[State], tuple[str, ...]] = {
    frozenset(STATES): ("true",),
    OPEN: ("d.state = 0", "d.state = 1"),
    frozenset(("stored",)): ("d.state = 0",),
    frozenset(("leased",)): ("d.state = 1",),
    frozenset(("dead", "expired")): (f"d.state IN {GIVEN_UP}",),
}
_ORDERS = {  # by the order of a query: its columns, and the same of a row
    "number": ("+d.seq", lambda row: row[0]),
    "offer": ("d.rank, d.seq", lambda row: (row[3], row[0])),
    "due": ("d.due_at, d.seq", lambda row: (row[5], row[0])),
    "newest": ("d.seq DESC", lambda row: -row[0]),
}


class NotIndexed(Exception):
    """An index lacks so much that it must be filled before a read."""

    def __init__(self, mark: str) -> None:
        super().__init__(mark)
        self.mark = mark


class SqliteReads:
    def __init__(self, file: SqliteConnection, indexed: frozenset[str] = frozenset()) -> None:
        self.file = file
        self.changed: list[str] = []  # written in this transaction: names of topics, and ROSTER for each member
        self._indexed = indexed  # marks that were brought up to date as far as possible

    @cached_property
    def position(self) -> int:
        return last_event(self.file)

    def flush(self) -> None:
        """Write the gathered rows, so that the next read sees them. Outside a transaction there are none."""

    def need_index(self, mark: str) -> None:
        if mark not in self._indexed and self.position - _mark(self.file, mark) > UNINDEXED_MAX:
            raise NotIndexed(mark)

    # --- messages ----------------------------------------------------------------------------------------------------

    def messages(self, query: MessageQuery) -> list[StoredMessage]:
        self.flush()
        limit = NO_LIMIT if query.limit is None else query.limit
        if query.id is not None:
            rows = self.file.rows(_OF_ID + _SORTED, (number_of(query.id), query.id, limit))
        elif query.correlation is not None:
            self.need_index(KNOWN)
            rows = self.file.rows(_OF_CORRELATION + _SORTED, (*_numbered(query.correlation), limit))
        else:
            seqs = query.seqs or ()
            one = len(seqs) == 1
            rows = self.file.rows(_MESSAGE, seqs) if one else self.file.rows(_MESSAGES, (_listed(seqs), limit))
        return [message_of(row) for row in rows]

    def conversations(self, before: int | None, limit: int) -> ConversationPage:
        """From the newest message backwards, each conversation at its last message."""
        self.need_index(KNOWN)
        page: list[ConversationSummary] = []
        passed, size = set[str](), 0
        place = self.position + 1 if before is None else before
        for _ in range(WALK_STEPS):
            sql = "SELECT seq, correlation FROM messages WHERE seq < ? ORDER BY seq DESC LIMIT ?"
            rows = self.file.rows(sql, (place, WALK_MESSAGES))
            for place, correlation in rows:
                if not correlation or correlation in passed:
                    continue
                passed.add(correlation)
                count, last = self.file.rows(_COUNT, _numbered(correlation))[0]
                if last == place:  # or else it is on an earlier page
                    page.append(self._conversation(correlation, count, last))
                    size += len(page[-1].last.raw)
                if len(page) == limit or size >= CONVERSATION_BYTES:
                    return ConversationPage(tuple(page), place)
            if len(rows) < WALK_MESSAGES:
                return ConversationPage(tuple(page), None)
        return ConversationPage(tuple(page), place)

    def _conversation(self, correlation: str, count: int, last: int) -> ConversationSummary:
        begun = sum(message.correlation is None for message in self.messages(MessageQuery(id=correlation)))
        latest = self.file.rows(_LATEST, (*_numbered(correlation), LATEST_MESSAGES))
        [newest] = self.messages(MessageQuery(seqs=(last,)))
        senders, refused = tuple(dict.fromkeys(sender for sender, _ in latest)), sum(row[1] == 1 for row in latest)
        return ConversationSummary(correlation, count + begun, newest, senders, refused)

    # --- deliveries --------------------------------------------------------------------------------------------------

    def deliveries(self, query: DeliveryQuery) -> list[Delivery]:
        self.flush()
        given = tuple([name for name in _DELIVERY_FILTERS if getattr(query, name) is not None])
        statements = _delivery_statements(frozenset(query.states), given, query.order)
        bindings, rows = _delivery_bindings(query), list[Row]()
        inboxes = (None,) if query.inboxes is None else query.inboxes
        for inbox in inboxes:
            bindings["inbox"] = inbox
            for sql in statements:
                rows += self.file.rows(sql, bindings)
        if len(statements) * len(inboxes) > 1:
            rows.sort(key=_ORDERS[query.order][1])
        return [delivery_of(row) for row in rows[: query.limit]]

    def depths(self) -> dict[str, tuple[int, int, float]]:
        self.flush()
        depths: dict[str, tuple[int, int, float]] = {}
        for state in (0, 1):
            sql = f"SELECT inbox, count(*), min(seq) FROM deliveries WHERE state = {state} GROUP BY inbox"
            for inbox, count, first in self.file.rows(sql):
                at = self.file.value(_OLDEST, (first,))
                stored, leased, oldest = depths.get(inbox, (0, 0, at))
                counts = (stored, leased + count) if state else (stored + count, leased)
                depths[inbox] = (*counts, min(oldest, at))
        return depths

    # --- events and requests -----------------------------------------------------------------------------------------

    def events(self, query: EventQuery) -> list[Event]:
        self.flush()
        filters = query.filters
        bindings: dict[str, object] = {
            name: value
            for name in _EVENT_FILTERS
            if (value := getattr(query if name in _OF_LOG else filters, name)) is not None
        }
        sql = _event_statement(tuple(bindings), len(filters.kinds), filters.newest_first)
        if query.message is not None:
            self.need_index(TOLD)
        if filters.correlation is not None:
            self.need_index(KNOWN)
            bindings["thread"] = _listed([seq for (seq,) in self.file.rows(_THREAD, _numbered(filters.correlation))])
        if filters.text is not None:
            bindings["text"] = _listed(self._of_text(filters.text, _matches_max(query)))
        for number, kind in enumerate(filters.kinds):
            bindings[f"kind{number}"] = kind
        bindings |= {"after": filters.after, "limit": NO_LIMIT if query.limit is None else query.limit}
        return [event_of(row) for row in self.file.rows(sql, bindings)]

    def _of_text(self, text: str, matches_max: int) -> list[int]:
        self.need_index(TEXTS)
        words = dict.fromkeys(text.replace("\0", " ").split())  # to the index, the text would end at such a character
        if not words:
            return []
        match = " ".join('"' + word.replace('"', '""') + '"' for word in words)
        sql = "SELECT rowid FROM texts WHERE texts MATCH ? ORDER BY rowid DESC LIMIT ?"
        indexed = [seq for (seq,) in self.file.rows(sql, (match, matches_max))]
        others = self.file.rows(f"SELECT seq, raw FROM messages WHERE {UNINDEXED.format(TEXTS)}")
        if others:
            from telex.stores.query_match import contains

            indexed += [seq for seq, raw in others if contains(raw, text)]
        return indexed

    def pending_requests(self, query: RequestQuery) -> list[tuple[PendingRequest, StoredMessage]]:
        self.flush()
        where: list[tuple[str, object]] = [
            (f"a.{name} {test} ?", value)
            for name, test, value in (
                ("id", "=", query.id),
                ("correlation", "=", query.correlation),
                ("due_at", "<=", query.due_by),
            )
            if value is not None
        ]
        if query.types is not None:
            where.append(("a.type IN (SELECT value FROM json_each(?))", _names(query.types)))
        order = "a.due_at, a.message" if query.id is None and query.correlation is None else "a.message"
        conditions = " AND ".join(["true", *(condition for condition, _ in where)])
        limit = NO_LIMIT if query.limit is None else query.limit
        sql = f"{_REQUESTS} WHERE {conditions} ORDER BY {order} LIMIT ?"
        rows = self.file.rows(sql, (*(value for _, value in where), limit))
        return [(PendingRequest(*row[:3]), message_of(row[3:])) for row in rows]

    # --- members and topics ------------------------------------------------------------------------------------------

    def members(self) -> list[Member]:
        rows = self.file.rows(f"SELECT {_MEMBER} FROM members ORDER BY name")
        return [Member(row[0], row[1], tuple(row[2].split()), False, *row[3:]) for row in rows]

    def topics(self, kind: str | None = None, after: int = 0) -> list[str]:
        self.flush()
        if kind is None:  # few rows: DISTINCT would make SQLite scan all topics
            rows = self.file.rows("SELECT name FROM topics WHERE seq > ?", (after,))
        else:
            of_kind = "(name = ?2 OR (name >= ?2 || ':' AND name < ?2 || ';'))"
            rows = self.file.rows(f"SELECT DISTINCT name FROM topics WHERE seq > ?1 AND {of_kind}", (after, kind))
        return sorted({name for (name,) in rows})

    def snapshot(self, topic: str) -> tuple[int, str] | None:
        row = self.file.row("SELECT seq, words FROM snapshots WHERE topic = ?", (topic,))
        return (row[0], row[1]) if row else None


def _matches_max(query: EventQuery) -> int:
    """A search needs as many matches as it shows: each message has one event that stored it."""
    search = EventQuery(Query(text=query.filters.text, kinds=BRINGING, newest_first=True), limit=query.limit)
    return min(query.limit, MATCHES_MAX) if query.limit is not None and query == search else MATCHES_MAX


def last_event(file: SqliteConnection) -> int:
    return int(file.value("SELECT max(seq) FROM events") or 0)


def _mark(file: SqliteConnection, name: str) -> int:
    return int(file.value(_MARK.format(name)) or 0)


@lru_cache(maxsize=256)
def _delivery_statements(states: frozenset[State], given: tuple[str, ...], order: str) -> list[str]:
    """A statement for each index that has deliveries in these states. `given` names the filters."""
    codes = ", ".join(str(CODES[state]) for state in sorted(states))
    conditions = _STATES.get(states) or (f"d.state IN ({codes})",)
    by_number = not {"seqs", "message", "after"}.isdisjoint(given)
    columns = "d.seq" if by_number and order == "number" else _ORDERS[order][0]
    sign = "+" if by_number else ""  # a plus sign keeps SQLite from using an index for the term
    source = "deliveries d JOIN messages m ON m.seq = d.message" if "answers" in given else "deliveries d"
    filters = "".join(f" AND {_DELIVERY_FILTERS[name]}" for name in given)
    return [
        f"SELECT {DELIVERY} FROM {source} WHERE {sign}{condition}{filters} ORDER BY {columns} LIMIT :limit"
        for condition in conditions
    ]


def _delivery_bindings(query: DeliveryQuery) -> dict[str, object]:
    limit = NO_LIMIT if query.limit is None else query.limit
    bindings: dict[str, object] = {"holder": query.holder, "due_by": query.due_by, "limit": limit}
    if query.seqs is not None:
        bindings["seqs"] = _listed(query.seqs)
    if query.message is not None:
        bindings |= {"first": first_delivery(query.message), "last": last_delivery(query.message)}
    if query.after is not None:
        bindings["after"] = first_delivery(query.after + 1)
    if query.answers is not None:
        asked, types = query.answers, _names(query.answer_types)
        bindings |= {
            "asked": last_delivery(asked.seq),
            "id": asked.id,
            "correlation": asked.correlation,
            "types": types,
        }
    return bindings


@lru_cache(maxsize=256)
def _event_statement(given: tuple[str, ...], kinds: int, newest_first: bool) -> str:
    """The statement with these filters and so many kinds."""
    where = ["e.seq > :after", *(_EVENT_FILTERS[name] for name in given)]
    if kinds:
        where.append(f"e.kind IN ({', '.join(f':kind{number}' for number in range(kinds))})")
    order = "e.seq DESC" if newest_first else "e.seq"
    return f"SELECT {EVENT} {_EVENTS} WHERE {' AND '.join(where)} ORDER BY {order} LIMIT :limit"


def _numbered(correlation: str) -> tuple[int, str]:
    return number_of(CORRELATION + correlation), correlation


def _listed(numbers: Iterable[int]) -> str:
    return f"[{','.join(map(str, numbers))}]"


def _names(names: Sequence[str]) -> str:
    return json.dumps(list(names))
