"""Notifiers: how readers wait for messages and events, and how they follow the log.

`Notifier` serves one blocking reader. SQLite does not notify a process of writes by another one, so it polls the store:
a poll costs a few microseconds, and the interval grows from 4 to 40 ms. For many readers on one event loop see
`shared_notify`.
"""

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from typing import TYPE_CHECKING

from telex.bus.context import BusContext
from telex.bus.maintenance import run_maintenance
from telex.model.message import Event, StoredMessage
from telex.ports.store import Query, Store, events_with_messages

if TYPE_CHECKING:
    from telex.bus.shared_notify import EventTail

PAUSE_SECONDS_MIN, PAUSE_SECONDS_MAX = 0.004, 0.04  # between two polls
POLLS_APART_SECONDS_MIN = 0.001  # even if something is due
NEVER = float("inf")


def pause(waited: float) -> float:
    """Seconds until the next poll: longer, the longer nothing has come."""
    return min(PAUSE_SECONDS_MAX, max(PAUSE_SECONDS_MIN, waited / 8))


class Subscription:
    """The wait of one reader: `arm` it, read the store, then `wait` for changes since."""

    alone = True  # no other task runs maintenance: the reader has to

    def __init__(self, context: BusContext) -> None:
        self._context = context
        self._seen = (0, 0)
        self._changed_at = context.clock.now()

    async def arm(self, inboxes: Sequence[str] | None = None, messages: Sequence[int] = ()) -> None:
        """From now on, changes to these inboxes and messages end a wait. None: all changes do."""
        self._seen = self._context.store.changes()

    async def wait(self, until: float) -> None:
        """Return at a change, at that time, or after a while without a change."""
        clock, store = self._context.clock, self._context.store
        now = clock.now()
        while now < until:
            if store.changes() != self._seen:
                self._changed_at = now
                return
            await clock.sleep(min(pause(now - self._changed_at), until - now))
            now = clock.now()

    def close(self) -> None:
        """Unsubscribe: the reader is done, or was cancelled."""


class Notifier:
    """For one reader at a time."""

    tail: "EventTail | None" = None  # reads the log for all followers, if there are many

    def __init__(self, context: BusContext) -> None:
        self._context = context

    async def begin(self) -> None:
        """Called before a reader polls the store and then waits."""

    def subscribe(self, *, takes: bool = False) -> Subscription:
        """`takes`: the reader leases messages, so that it is enough to wake one of them for each message."""
        return Subscription(self._context)

    async def yield_to_others(self) -> None:
        """Called between the parts of a long read: other calls have their turn. A blocking reader is alone."""

    def nudge(self) -> None:
        """This process has written: poll at once."""

    def close(self) -> None:
        """Stop: no reader is woken any more."""


# --- followers of the log --------------------------------------------------------------------------------------------

PAGE = 500  # events fetched at a time
PAGE_MIN, PAGE_BYTES = 16, 4 * 1_048_576  # fewer where messages are large: about so many bytes
EventPage = Sequence[tuple[Event, StoredMessage | None]]


async def follow_events(
    context: BusContext, notifier: Notifier, query: Query, *, follow: bool, wait: float | None
) -> AsyncGenerator[EventPage, None]:
    """Pages of events. `follow`: also of new ones, until none has come for `wait` seconds."""
    tail = None if query.newest_first or not follow else notifier.tail
    if tail is not None:
        pages = _follow_shared(context, notifier, tail, query, wait)
    elif query.newest_first and not follow:
        pages = _read_backwards(context, query)
    else:
        pages = _follow_alone(context, notifier, query, follow, wait)
    async with aclosing(pages):
        async for page in pages:
            yield page


class _PageReader:
    """Reads pages of a size that adapts to the messages: many readers of large messages must not fill the memory."""

    def __init__(self, store: Store, query: Query) -> None:
        self._store, self._query, self._limit = store, query, PAGE_MIN

    async def page(self, after: int) -> tuple[EventPage, bool]:
        """Events after that number, and whether there may be more."""
        limit = self._limit
        page = await self._store.read(events_with_messages, self._query._replace(after=after), limit)
        size = sum(len(message.raw) for _, message in page if message is not None)
        if size * 2 <= PAGE_BYTES:
            self._limit = min(limit * 2, PAGE)
        elif size > PAGE_BYTES:
            self._limit = max(limit // 2, PAGE_MIN)
        return page, len(page) == limit


async def _read_backwards(context: BusContext, query: Query) -> AsyncGenerator[EventPage, None]:
    """Newest first, at most a page, in growing steps: most callers want only a few."""
    await run_maintenance(context)
    limit, oldest = PAGE_MIN, NEVER
    while True:
        page = await context.store.read(events_with_messages, query, limit)
        unseen = [item for item in page if item[0].seq < oldest]
        if unseen:
            oldest = unseen[-1][0].seq
            yield unseen
        if len(page) < limit or limit == PAGE:
            return
        limit = min(limit * 2, PAGE)


async def _follow_alone(
    context: BusContext, notifier: Notifier, query: Query, follow: bool, wait: float | None
) -> AsyncGenerator[EventPage, None]:
    after, last = query.after, context.clock.now()
    subscription, reader = notifier.subscribe(), _PageReader(context.store, query)
    try:
        while True:
            if follow:
                await subscription.arm()
            if follow or after == query.after:
                await run_maintenance(context)
            page, is_more = await reader.page(after)
            if page:
                after = max(page[0][0].seq, page[-1][0].seq)  # newest first, there is no page after the first
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


async def _follow_shared(
    context: BusContext, notifier: Notifier, tail: "EventTail", query: Query, wait: float | None
) -> AsyncGenerator[EventPage, None]:
    after, last = query.after, context.clock.now()
    reader = _PageReader(context.store, query)
    await run_maintenance(context)
    while True:
        page, is_more = await reader.page(after)
        while is_more:  # catch up before joining
            after = page[-1][0].seq
            yield page
            page, is_more = await reader.page(after)
        follower = await tail.join(query)
        try:
            await notifier.begin()
            page = await context.store.read(events_with_messages, query._replace(after=after), PAGE)
            if earlier := [item for item in page if item[0].seq <= follower.base]:
                after, last = earlier[-1][0].seq, context.clock.now()
                yield earlier
            if len(earlier) == PAGE:
                continue  # still behind
            while not follower.is_behind:
                for given in follower.take():
                    new = [item for item in given if item[0].seq > after] if given[0][0].seq <= after else given
                    if new:
                        after = new[-1][0].seq
                        yield new
                        last = context.clock.now()
                left = NEVER if wait is None else last + wait - context.clock.now()
                if left <= 0:
                    return
                await follower.wait(left)
        finally:
            tail.leave(follower)
