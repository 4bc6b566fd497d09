"""Match of an event against a query, for stores that scan their events."""

from functools import lru_cache
from unicodedata import category, normalize

from telex.model.message import Event, Message, detail_of
from telex.ports.store import Query


def matches_query(query: Query, event: Event, message: Message | None) -> bool:
    """Everything that the query says must fit; what it leaves open always does."""
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


def _concerns(agent: str, event: Event, message: Message | None) -> bool:
    """Whether the agent did it, sent the message, or has it in its inbox."""
    if agent in (event.agent, event.inbox, message and message.sender):
        return True
    if event.kind != "accepted" or message is None:
        return False
    return agent == message.to or agent in detail_of(event).get("inboxes", ())


def contains(raw: bytes, text: str) -> bool:
    """Every word of the text stands there; of one with several parts, such as a hyphen's, all parts in a row."""
    wanted = [parts for word in text.split() if (parts := words(word))]
    body = words(raw.decode("utf-8", "replace")) if wanted else ()
    return bool(wanted) and all(_stands(parts, body) for parts in wanted)


def _stands(parts: tuple[str, ...], body: tuple[str, ...]) -> bool:
    if len(parts) == 1:
        return parts[0] in body
    return any(body[place : place + len(parts)] == parts for place, word in enumerate(body) if word == parts[0])


def words(text: str) -> tuple[str, ...]:
    """As SQLite's full-text index has them: letters and digits, in small letters and without their accents. Everything
    else parts words, an underscore too, so that `blocker` finds a dev_blocker."""
    return tuple("".join(map(_folded, text)).split())


@lru_cache(maxsize=10_000)
def _folded(letter: str) -> str:
    kind = category(letter)
    if kind[0] not in "LN" and kind != "Co":
        return "" if "\u0300" <= letter <= "\u036f" else " "  # an accent by itself belongs to the letter before it
    small = letter.lower()
    apart = normalize("NFD", small)
    return apart[0] if len(apart) == 2 and apart[0].isascii() else small  # as far as the index takes accents off
