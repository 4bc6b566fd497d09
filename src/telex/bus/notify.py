"""Notifier of one blocking reader: polls the store for changes.

SQLite does not notify a process of writes by another one, so the store is polled; a poll costs a few microseconds. The
interval is short at first, because messages come in bursts, and grows to 40 ms. `shared_notify` serves many readers on
one event loop.
"""

from collections.abc import AsyncGenerator, Iterable, Sequence
from contextlib import aclosing, suppress
from typing import TYPE_CHECKING

from telex.bus import LazyModule
from telex.bus.context import BusContext
from telex.bus.maintenance import run_if_due, run_maintenance
from telex.errors import StoreError
from telex.model.message import Event, Message
from telex.ports.store import Changes, Query, Store
from telex.stores.query_match import matches_query

if TYPE_CHECKING:
    import asyncio
else:
    asyncio = LazyModule("asyncio")  # a process with a blocking bus never imports it


PAUSE_SECONDS_MIN, PAUSE_SECONDS_MAX = 0.004, 0.04  # between two questions
LOOKS_APART_SECONDS_MIN = 0.001  # between two looks, whatever falls due


def pause(waited: float) -> float:
    """Seconds until the next question, after having waited for so long: the longer, the more patient."""
    return min(PAUSE_SECONDS_MAX, max(PAUSE_SECONDS_MIN, waited / 8))


class Subscription:
    """Where one reader waits. It says what it is about to look at, looks, and waits for news of that."""

    alone = True  # nobody else looks at the clock meanwhile: whoever waits here has to sweep

    def __init__(self, context: BusContext) -> None:
        self._context = context
        self._seen = 0
        self._news_at = context.clock.now()

    async def arm(self, inboxes: Sequence[str] | None = None, messages: Sequence[int] = ()) -> None:
        """From this moment on, whatever comes into one of these inboxes or happens to one of these messages is news.
        None: whatever happens at all."""
        self._seen = self._context.store.changes()

    async def wait(self, until: float) -> None:
        """Return when there are any, or at that moment; now and then without any."""
        clock, store = self._context.clock, self._context.store
        now = clock.now()
        while now < until:
            if store.changes() != self._seen:
                self._news_at = now
                return
            await clock.sleep(min(pause(now - self._news_at), until - now))
            now = clock.now()

    def close(self) -> None:
        """Whoever waited here is done with it, or was interrupted."""


class Notifier:
    """For one reader at a time."""

    tail: "EventTail | None" = None  # where many follow the record: one who reads it for all of them

    def __init__(self, context: BusContext) -> None:
        self._context = context

    async def begin(self) -> None:
        """Somebody is about to look and then to wait."""

    def place(self, *, takes: bool = False) -> Subscription:
        """For somebody who `takes` what comes, or for one who only watches. Of those who take, it is enough that one
        hears of a message."""
        return Subscription(self._context)

    def nudge(self) -> None:
        """We have written ourselves: whoever waits here may look at once."""

    def close(self) -> None:
        """Nobody is told anything any more."""


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
            self._upto = (await self._store.changes_since(None)).upto
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
        while page := await self._store.events(Query(after=self._upto), PAGE):
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
        found = await self._store.events(wish._replace(after=first), PAGE)
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
        page = await self._store.events(self._query._replace(after=after), most)
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
        page = await context.store.events(query, most)
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
            page = await context.store.events(query._replace(after=after), PAGE)
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


SWEEPS_APART_SECONDS_MIN = 0.01
Key = str | int  # an inbox, or the number of a message


class SharedSubscription(Subscription):
    alone = False

    def __init__(self, waiting: "SharedNotifier", *, takes: bool) -> None:
        self._waiting, self.takes = waiting, takes
        self.keys: tuple[Key, ...] | None = ()  # None: everything
        self._woken = False
        self._future: asyncio.Future[None] | None = None

    @property
    def is_woken(self) -> bool:
        return self._woken

    async def arm(self, inboxes: Sequence[str] | None = None, messages: Sequence[int] = ()) -> None:
        await self._waiting.begin()
        self._woken = False
        keys: tuple[Key, ...] = (*(inboxes or ()), *messages)
        self._waiting.seat(self, None if inboxes is None else keys)

    async def wait(self, until: float) -> None:
        waiting = self._waiting
        if self.takes and self.keys:
            await waiting.expect(str(key) for key in self.keys)
        left = until - waiting.clock.now()
        if self._woken or left <= 0:
            return
        self._future = waiting.loop.create_future()
        at_last = waiting.loop.call_later(left, _finish, self._future)
        try:
            await self._future
        finally:
            at_last.cancel()
            self._future = None

    def close(self) -> None:
        keys = self.keys or ()
        self._waiting.unseat(self)
        if self.takes:
            self._waiting.wake_next(keys)

    def wake(self) -> None:
        self._woken = True
        if self._future is not None:
            _finish(self._future)


class SharedNotifier(Notifier):
    """For many readers on the event loop that is running."""

    def __init__(self, context: BusContext) -> None:
        super().__init__(context)
        self.loop, self.clock = asyncio.get_running_loop(), context.clock
        self.tail: EventTail = EventTail(context.store)
        self._places: dict[Key | None, dict[SharedSubscription, None]] = {}  # by what they wait for, first come first
        self._due: dict[str, float] = {}  # by inbox: when the next of what lies in it may be taken
        self._watch: asyncio.Task[None] | None = None
        self._rest: asyncio.Future[None] | None = None  # the watch's own
        self._nudged = False
        self._version = self._upto = 0  # what the watch has seen: of the store's changes, and of the events
        self._news_at = context.clock.now()
        self._sweep_at = 0.0

    def place(self, *, takes: bool = False) -> Subscription:
        return SharedSubscription(self, takes=takes)

    async def begin(self) -> None:
        """See to it that somebody keeps watch, from before the caller looks."""
        if self._watch is not None and not self._watch.done():
            return
        version = self._context.store.changes()
        upto = (await self._context.store.changes_since(None)).upto
        if self._watch is None or self._watch.done():  # nobody else has begun meanwhile
            self._version, self._upto, self._sweep_at = version, upto, 0.0
            self._watch = self.loop.create_task(self._keep_watch())

    # --- who waits for what ------------------------------------------------------------------------------------------

    def seat(self, shared_subscription: SharedSubscription, keys: tuple[Key, ...] | None) -> None:
        if keys == shared_subscription.keys:
            return
        before = shared_subscription.keys or ()
        self.unseat(shared_subscription)
        shared_subscription.keys = keys
        for key in (None,) if keys is None else keys:
            self._places.setdefault(key, {})[shared_subscription] = None
        if shared_subscription.takes:  # it may have been woken for something that it does not take any more
            self.wake_next([key for key in before if key not in (keys or ())])

    def unseat(self, shared_subscription: SharedSubscription) -> None:
        for key in (None,) if shared_subscription.keys is None else shared_subscription.keys:
            there = self._places.get(key, {})
            there.pop(shared_subscription, None)
            if not there:
                self._places.pop(key, None)
        shared_subscription.keys = ()

    async def expect(self, inboxes: Iterable[str]) -> None:
        """Something may lie in these inboxes that is not due yet."""
        for inbox, due_at in (await self._context.store.due_times(list(inboxes))).items():
            self._expect(inbox, due_at)

    def _expect(self, inbox: str, due_at: float) -> None:
        due_at = max(due_at, self.clock.now() + PAUSE_SECONDS_MIN)
        self._due[inbox] = min(due_at, self._due.get(inbox, due_at))
        self.nudge()

    def wake_next(self, keys: Iterable[Key]) -> None:
        """One of those who take what comes there: it has not been told yet, or it would not be waiting."""
        woken: list[SharedSubscription] = []
        for key in keys:
            if any(key in (shared_subscription.keys or ()) for shared_subscription in woken):
                continue
            chosen = next(
                (
                    shared_subscription
                    for shared_subscription in self._places.get(key, ())
                    if shared_subscription.takes and not shared_subscription.is_woken
                ),
                None,
            )
            if chosen is not None:
                chosen.wake()
                woken.append(chosen)

    def _wake_watchers(self, key: Key | None) -> None:
        for shared_subscription in self._places.get(key, ()):
            if not shared_subscription.takes:
                shared_subscription.wake()

    def _wake_all(self) -> None:
        for places in self._places.values():
            for shared_subscription in places:
                shared_subscription.wake()
        self.tail.wake_all()

    # --- the watch ---------------------------------------------------------------------------------------------------

    async def _keep_watch(self) -> None:
        try:
            while self._places or self.tail.followers:
                try:
                    await self._look_around()
                except StoreError:
                    self._wake_all()  # each will meet it, and tell its caller
                await self._until_something_is_up()
        except Exception:
            self._wake_all()  # whoever looks next begins another watch
            raise

    async def _look_around(self) -> None:
        context, store, now = self._context, self._context.store, self.clock.now()
        swept = now >= self._sweep_at
        if swept:
            context.next_maintenance = min(context.next_maintenance, now)
            await run_if_due(context)
        version = store.changes()
        if version != self._version:
            self._version, self._news_at = version, now
            self._tell(await store.changes_since(self._upto), now)
            swept = True  # what falls due next may have changed as well
        if swept:
            soonest = await store.next_deadline(())
            due = context.next_maintenance if soonest is None else min(context.next_maintenance, soonest)
            self._sweep_at = max(due, self.clock.now() + SWEEPS_APART_SECONDS_MIN)
        for inbox in [inbox for inbox, due_at in self._due.items() if due_at <= now]:
            del self._due[inbox]
            self._came(inbox)
        await self.tail.look(now)

    def _tell(self, touched: Changes, now: float) -> None:
        self._upto = touched.upto
        for inbox, due_at in touched.due:
            if due_at <= now:
                self._came(inbox)
            elif inbox in self._places:
                self._expect(inbox, due_at)
        for message in touched.messages:
            self._wake_watchers(message)
        for name in touched.members:  # perhaps it may not read here any more, or may read elsewhere too
            for shared_subscription in self._places.get(name, ()):
                shared_subscription.wake()
        if touched.messages or touched.members:
            self._wake_watchers(None)
            self.tail.news()

    def _came(self, inbox: str) -> None:
        self._wake_watchers(inbox)
        self.wake_next((inbox,))

    async def _until_something_is_up(self) -> None:
        now = self.clock.now()
        moments = [now + pause(now - self._news_at), self._sweep_at, self.tail.look_at]
        left = min([*moments, *self._due.values()]) - now
        if left <= 0 or self._nudged:
            self._nudged = False
            await asyncio.sleep(0)
            return
        self._rest = self.loop.create_future()
        timer = self.loop.call_later(left, _finish, self._rest)
        try:
            await self._rest
        finally:
            timer.cancel()
            self._rest = None
            self._nudged = False

    def nudge(self) -> None:
        self._nudged = True
        if self._rest is not None:
            _finish(self._rest)

    def close(self) -> None:
        if self._watch is not None:
            with suppress(RuntimeError):  # its loop may have ended before
                self._watch.cancel()
        self._wake_all()


def _finish(future: "asyncio.Future[None]") -> None:
    if not future.done():
        future.set_result(None)
