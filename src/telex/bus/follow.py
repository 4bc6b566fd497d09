"""Followers of the event log: each catches up by itself, then one reader polls for all of them.

Each page that was read is filtered once per query, however many followers share that query, and they get the same
pages. Full-text filters are left to the store, which has its own tokenizer.
"""

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from typing import TYPE_CHECKING

from telex.bus.context import BusContext
from telex.bus.maintenance import run_maintenance
from telex.bus.notify import Notifier
from telex.model.event import Event
from telex.model.message import Message
from telex.ports.store import Query, Store, events_with_messages, last_event
from telex.stores.query_match import matches_query

if TYPE_CHECKING:
    import asyncio

PAGE = 500  # events fetched at a time, where they are small
PAGE_MIN, PAGE_BYTES = 16, 4 * 1_048_576  # where they bring large messages, so few, and about so much
BEHIND_MAX = 2_000  # events that a follower may leave lying; then it reads them for itself, when it comes to it
READS_APART_SECONDS = 0.02  # what happens within so long is read together
NEVER = float("inf")
Happenings = Sequence[tuple[Event, Message | None]]


class Follower:
    """One who follows: what lies ready for it, from `base` on."""

    def __init__(self, query: Query, base: int) -> None:
        self.query, self.base = query, base
        self.is_behind = False
        self._pages: list[Happenings] = []
        self._lying = 0
        self._future: asyncio.Future[None] | None = None

    def give(self, page: Happenings) -> None:
        self._lying += len(page)
        if self._lying > BEHIND_MAX:
            self.is_behind = True
            self._pages.clear()
        if not self.is_behind:
            self._pages.append(page)
        self.wake()

    def take(self) -> list[Happenings]:
        pages, self._pages, self._lying = self._pages, [], 0
        return pages

    async def wait(self, seconds: float) -> None:
        """Until there is something, or for so long."""
        import asyncio

        if self._pages or self.is_behind or seconds <= 0:
            return
        loop = asyncio.get_running_loop()
        self._future = loop.create_future()
        timer = None if seconds == NEVER else loop.call_later(seconds, self.wake)
        try:
            await self._future
        finally:
            self._future = None
            if timer is not None:
                timer.cancel()

    def wake(self) -> None:
        if self._future is not None and not self._future.done():
            self._future.set_result(None)


class EventTail:
    """The end of the record, read once for all who follow it."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self.followers: dict[Query, dict[Follower, None]] = {}
        self.look_at = NEVER  # when to read next
        self._looked_at = 0.0
        self._upto = 0
        self._is_news = False

    async def join(self, query: Query) -> Follower:
        """Whatever happens after `base` is given to the follower; what was before, it reads for itself."""
        if not self.followers:
            self._upto = await self._store.read(last_event)
        wish = query._replace(after=0)
        follower = Follower(query, self._upto)
        self._is_news = True  # something may have happened since that number was asked for
        self.followers.setdefault(wish, {})[follower] = None
        return follower

    def leave(self, follower: Follower) -> None:
        wish = follower.query._replace(after=0)
        there = self.followers.get(wish, {})
        there.pop(follower, None)
        if not there:
            self.followers.pop(wish, None)

    def news(self) -> None:
        self._is_news = True

    async def look(self, now: float) -> None:
        """Read what is new, if there is any and the last time was not just now."""
        self.look_at = NEVER
        if not self._is_news or not self.followers:
            return
        if now < self._looked_at + READS_APART_SECONDS:
            self.look_at = self._looked_at + READS_APART_SECONDS
            return
        self._is_news, self._looked_at = False, now
        while page := await self._store.read(events_with_messages, Query(after=self._upto), PAGE):
            await self._hand_round(page)
            if len(page) < PAGE:
                return

    async def _hand_round(self, page: Happenings) -> None:
        first, last = self._upto, page[-1][0].seq
        present = [(wish, list(followers)) for wish, followers in self.followers.items()]
        self._upto = last  # whoever joins from here on is not present
        for wish, followers in present:
            wanted = await self._wanted(wish, page, first, last)
            for follower in followers if wanted else ():
                follower.give(wanted)

    async def _wanted(self, wish: Query, page: Happenings, first: int, last: int) -> Happenings:
        if wish.text is None:
            return [one for one in page if matches_query(wish, *one)]
        found = await self._store.read(events_with_messages, wish._replace(after=first), PAGE)
        return [one for one in found if one[0].seq <= last]

    def wake_all(self) -> None:
        for followers in self.followers.values():
            for follower in followers:
                follower.is_behind = True  # it then looks for itself, and meets what we have met
                follower.wake()


async def follow_events(
    context: BusContext, waiting: Notifier, query: Query, *, follow: bool, wait: float | None
) -> AsyncGenerator[Happenings, None]:
    """What happened, in pages; with `follow`, also what happens next, for ever or until nothing has for `wait`."""
    tail = None if query.newest_first or not follow else waiting.tail
    if tail is not None:
        pages = _together(context, waiting, tail, query, wait)
    elif query.newest_first and not follow:
        pages = _backwards(context, query)
    else:
        pages = _alone(context, waiting, query, follow, wait)
    async with aclosing(pages):
        async for page in pages:
            yield page


class _FetchSize:
    """How many events are fetched at a time? It begins with a few, and becomes as many as are together not large: a
    hundred readers of a record with large messages must not fill the memory."""

    def __init__(self, store: Store, query: Query) -> None:
        self._store, self._query, self._most = store, query, PAGE_MIN

    async def page(self, after: int) -> tuple[Happenings, bool]:
        """Those after that event, and whether there may be more of them."""
        most = self._most
        page = await self._store.read(events_with_messages, self._query._replace(after=after), most)
        size = sum(len(message.raw) for _, message in page if message is not None)
        if size * 2 <= PAGE_BYTES:
            self._most = min(most * 2, PAGE)
        elif size > PAGE_BYTES:
            self._most = max(most // 2, PAGE_MIN)
        return page, len(page) == most


async def _backwards(context: BusContext, query: Query) -> AsyncGenerator[Happenings, None]:
    """The newest first, and at most a page of them. Most want only a few, so it is read in steps that grow."""
    await run_maintenance(context)
    most, oldest = PAGE_MIN, NEVER
    while True:
        page = await context.store.read(events_with_messages, query, most)
        fresh = [one for one in page if one[0].seq < oldest]
        if fresh:
            oldest = fresh[-1][0].seq
            yield fresh
        if len(page) < most or most == PAGE:
            return
        most = min(most * 2, PAGE)


async def _alone(
    context: BusContext, waiting: Notifier, query: Query, follow: bool, wait: float | None
) -> AsyncGenerator[Happenings, None]:
    after, last = query.after, context.clock.now()
    subscription, reading = waiting.place(), _FetchSize(context.store, query)
    try:
        while True:
            if follow:
                await subscription.arm()
            if follow or after == query.after:
                await run_maintenance(context)  # whoever only looks back needs it once, and not for every page
            page, is_more = await reading.page(after)
            if page:
                after = max(page[0][0].seq, page[-1][0].seq)  # newest first, there is no way further back
                yield page
            now = context.clock.now()
            if is_more:
                continue
            if page:
                last = now
            if not follow or (wait is not None and now - last >= wait):
                return
            await subscription.wait(now + 1.0 if wait is None else min(now + 1.0, last + wait))
    finally:
        subscription.close()


async def _together(
    context: BusContext, waiting: Notifier, tail: EventTail, query: Query, wait: float | None
) -> AsyncGenerator[Happenings, None]:
    after, last = query.after, context.clock.now()
    reading = _FetchSize(context.store, query)
    await run_maintenance(context)
    while True:
        page, is_more = await reading.page(after)
        while is_more:
            after = page[-1][0].seq
            yield page  # so much that it is worth doing before joining
            page, is_more = await reading.page(after)
        follower = await tail.join(query)
        try:
            await waiting.begin()
            page = await context.store.read(events_with_messages, query._replace(after=after), PAGE)
            if mine := [one for one in page if one[0].seq <= follower.base]:
                after, last = mine[-1][0].seq, context.clock.now()
                yield mine
            if len(mine) == PAGE:
                continue  # too much has happened in this moment
            while not follower.is_behind:
                for given in follower.take():
                    if given[0][0].seq <= after:  # it began further on than the others have read
                        given = [one for one in given if one[0].seq > after]
                    if not given:
                        continue
                    after = given[-1][0].seq
                    yield given
                    last = context.clock.now()
                left = NEVER if wait is None else last + wait - context.clock.now()
                if left <= 0:
                    return
                await follower.wait(left)
        finally:
            tail.leave(follower)
