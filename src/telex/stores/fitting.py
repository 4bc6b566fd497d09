"""Does this event fit the query? Said once, for stores that look through their events one by one."""

import re

from telex.model.event import Event
from telex.model.message import Message
from telex.ports.store import Query

_WORDS = re.compile(r"[^\W_]+")  # an underscore parts words, so that `blocker` finds a dev_blocker


def fits(query: Query, event: Event, message: Message | None) -> bool:
    """Everything that the query says must fit; what it leaves open always does."""
    return (
        event.seq > query.after
        and (not query.kinds or event.kind in query.kinds)
        and (query.since is None or event.at >= query.since)
        and (query.until is None or event.at <= query.until)
        and (query.agent is None or query.agent in (event.agent, event.inbox, message and message.sender))
        and (query.type is None or (message is not None and message.type == query.type))
        and (query.dialect is None or (message is not None and message.dialect == query.dialect))
        and (query.correlation is None or (message is not None and message.correlation == query.correlation))
        and (query.text is None or (message is not None and _says(message, query.text)))
    )


def _says(message: Message, text: str) -> bool:
    wanted = _words(text)
    return bool(wanted) and wanted <= _words(message.raw.decode("utf-8", "replace"))


def _words(text: str) -> set[str]:
    return set(_WORDS.findall(text.casefold()))
