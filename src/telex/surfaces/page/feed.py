"""Feed: filtered rows of messages at a point in time, newest first."""

import asyncio
from bisect import bisect_left
from collections.abc import Sequence
from typing import Any

from telex.model.named_tuple import NamedTuple
from telex.surfaces.page.history import History, PageMessage
from telex.surfaces.page.rows import row
from telex.surfaces.page.search import MessageFilter

TURN_MESSAGES = 500  # a few milliseconds of a search; then other requests run

Facts = dict[str, Any]


class FeedQuery(NamedTuple):
    at: float  # the moment that is shown
    before: int  # only messages with a lower number
    after: int  # only messages with a higher number
    limit: int
    filter: MessageFilter
    indexed: frozenset[int] = frozenset()  # messages that the store's index found for the words of the filter


class FeedPage(NamedTuple):
    messages: tuple[PageMessage, ...]
    ended: bool  # there is no older one in this history
    matched: int  # so far


async def feed_page(history: History, query: FeedQuery) -> FeedPage:
    """The next messages, newest first. A search runs in turns, so that other requests are answered."""
    seqs = [*history.messages]  # the history may grow meanwhile
    found: list[PageMessage] = []
    place = bisect_left(seqs, query.before)
    count = 0
    while place > 0 and seqs[place - 1] > query.after:
        place -= 1
        message = history.messages.get(seqs[place])
        if message is not None and message.at <= query.at and _matches(query, message):
            if len(found) == query.limit:
                return FeedPage(tuple(found), ended=False, matched=len(found))
            found.append(message)
        count += 1
        if count % TURN_MESSAGES == 0:
            await asyncio.sleep(0)
    return FeedPage(tuple(found), ended=True, matched=len(found))


def _matches(query: FeedQuery, message: PageMessage) -> bool:
    return query.filter.is_empty or query.filter.matches(message, query.at, query.indexed)


def feed_rows(messages: Sequence[PageMessage], query: FeedQuery) -> list[Facts]:
    return [row(message, query.at) | {"excerpt": query.filter.excerpt(message)} for message in messages]
