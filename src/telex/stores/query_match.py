"""Filters of queries in plain Python, for stores that scan and for followers of the log."""

from functools import lru_cache
from unicodedata import category, normalize

from telex.model.message import Delivery, Event, StoredMessage, detail_of
from telex.model.roster import TELEX
from telex.ports.store import DeliveryQuery, PendingRequest, Query, RequestQuery


def matches_query(query: Query, event: Event, message: StoredMessage | None) -> bool:
    return (
        event.seq > query.after
        and (not query.kinds or event.kind in query.kinds)
        and (query.since is None or event.at >= query.since)
        and (query.until is None or event.at <= query.until)
        and (query.agent is None or _concerns(query.agent, event, message))
        and (query.type is None or (message is not None and message.type == query.type))
        and (query.dialect is None or (message is not None and message.dialect == query.dialect))
        and (query.correlation is None or (message is not None and message.correlation == query.correlation))
        and (query.text is None or (message is not None and contains(message.raw, query.text)))
    )


def matches_delivery(query: DeliveryQuery, delivery: Delivery, message: StoredMessage) -> bool:
    return (
        delivery.state in query.states
        and query.message in (None, delivery.message)
        and query.holder in (None, delivery.holder)
        and (query.seqs is None or delivery.seq in query.seqs)
        and (query.after is None or delivery.message > query.after)
        and (query.inboxes is None or delivery.inbox in query.inboxes)
        and (query.due_by is None or delivery.due_at <= query.due_by)
        and (query.answers is None or _answers(query.answers, message, query))
    )


def _answers(request: StoredMessage, message: StoredMessage, query: DeliveryQuery) -> bool:
    if message.seq <= request.seq or message.sender == TELEX:
        return False
    if message.reply_to is not None:
        return message.reply_to == request.id
    same = message.correlation is not None and message.correlation == request.correlation
    return same and message.type in query.answer_types


def matches_request(query: RequestQuery, request: PendingRequest, message: StoredMessage) -> bool:
    return (
        query.id in (None, message.id)
        and query.correlation in (None, message.correlation)
        and (query.types is None or message.type in query.types)
        and (query.due_by is None or request.due_at <= query.due_by)
    )


def _concerns(agent: str, event: Event, message: StoredMessage | None) -> bool:
    """Whether the agent did it, sent the message, or has it in its inbox."""
    if agent in (event.agent, event.inbox, message and message.sender):
        return True
    if event.kind != "accepted" or message is None:
        return False
    return agent == message.to or agent in detail_of(event).get("inboxes", ())


def contains(raw: bytes, text: str) -> bool:
    """Whether the message contains every word of the text. Parts of a hyphenated word must be adjacent."""
    wanted = [parts for word in text.split() if (parts := words(word))]
    body = words(raw.decode("utf-8", "replace")) if wanted else ()
    return bool(wanted) and all(_has_parts(parts, body) for parts in wanted)


def _has_parts(parts: tuple[str, ...], body: tuple[str, ...]) -> bool:
    if len(parts) == 1:
        return parts[0] in body
    return any(body[place : place + len(parts)] == parts for place, word in enumerate(body) if word == parts[0])


def words(text: str) -> tuple[str, ...]:
    """Words as in SQLite's full-text index: letters and digits, in lower case and without accents. Everything else
    separates words, an underscore too, so that `blocker` finds a dev_blocker."""
    return tuple("".join(map(_folded, text)).split())


@lru_cache(maxsize=10_000)
def _folded(letter: str) -> str:
    kind = category(letter)
    if kind[0] not in "LN" and kind != "Co":
        return "" if "\u0300" <= letter <= "\u036f" else " "  # a combining accent belongs to the letter before it
    small = letter.lower()
    apart = normalize("NFD", small)
    return apart[0] if len(apart) == 2 and apart[0].isascii() else small  # the accents that the index removes
