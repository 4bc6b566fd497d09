"""Shared notifier: one polling task for all readers on an event loop, which wakes only the readers concerned.

Followers of the log catch up by themselves; then an `EventTail` reads new events once for all of them.
"""

import asyncio
from collections.abc import Iterable, Sequence
from contextlib import suppress

from telex.bus.context import BusContext
from telex.bus.maintenance import run_if_due
from telex.bus.notify import NEVER, PAGE, PAUSE_SECONDS_MIN, EventPage, Notifier, Subscription, pause
from telex.errors import StoreError
from telex.ports.store import (
    Changes,
    Query,
    Store,
    changes_since,
    due_times,
    events_with_messages,
    last_event,
    next_deadline,
)
from telex.stores.query_match import matches_query

BEHIND_MAX = 2_000  # events buffered for a follower; beyond that it reads the log by itself
READS_APART_SECONDS = 0.02  # events of this span are read together
MAINTENANCE_APART_SECONDS_MIN = 0.01
Key = str | int  # an inbox, or the number of a message


class _Alarm:
    """A wait on the event loop that `ring` or a timeout ends."""

    def __init__(self) -> None:
        self._future: asyncio.Future[None] | None = None

    async def wait(self, seconds: float) -> None:
        loop = asyncio.get_running_loop()
        self._future = loop.create_future()
        timer = None if seconds == NEVER else loop.call_later(seconds, self.ring)
        try:
            await self._future
        finally:
            self._future = None
            if timer is not None:
                timer.cancel()

    def ring(self) -> None:
        if self._future is not None and not self._future.done():
            self._future.set_result(None)


# --- followers of the log --------------------------------------------------------------------------------------------


class Follower:
    """Buffer of events after number `base` for one follower."""

    def __init__(self, query: Query, base: int) -> None:
        self.query, self.base = query, base
        self.is_behind = False
        self._pages: list[EventPage] = []
        self._buffered = 0
        self._alarm = _Alarm()

    def give(self, page: EventPage) -> None:
        self._buffered += len(page)
        if self._buffered > BEHIND_MAX:
            self.is_behind = True
            self._pages.clear()
        if not self.is_behind:
            self._pages.append(page)
        self._alarm.ring()

    def take(self) -> list[EventPage]:
        pages, self._pages, self._buffered = self._pages, [], 0
        return pages

    async def wait(self, seconds: float) -> None:
        """Wait for a page, but no longer than that."""
        if not self._pages and not self.is_behind and seconds > 0:
            await self._alarm.wait(seconds)

    def read_alone(self) -> None:
        """Stop the follower's wait: it reads the store by itself, and gets the same error."""
        self.is_behind = True
        self._alarm.ring()


class EventTail:
    """Reader of new events for all followers."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self.followers: dict[Query, dict[Follower, None]] = {}
        self.next_read_at = NEVER
        self._read_at = 0.0
        self._upto = 0
        self._is_changed = False

    async def join(self, query: Query) -> Follower:
        """Events after the follower's `base` are given to it; it reads earlier ones by itself."""
        if not self.followers:
            self._upto = await self._store.read(last_event)
        follower = Follower(query, self._upto)
        self._is_changed = True  # events may have come since that number was read
        self.followers.setdefault(query._replace(after=0), {})[follower] = None
        return follower

    def leave(self, follower: Follower) -> None:
        wanted = follower.query._replace(after=0)
        followers = self.followers.get(wanted, {})
        followers.pop(follower, None)
        if not followers:
            self.followers.pop(wanted, None)

    def note_change(self) -> None:
        self._is_changed = True

    async def read(self, now: float) -> None:
        """Read new events, if there are any and the last read was not just now."""
        self.next_read_at = NEVER
        if not self._is_changed or not self.followers:
            return
        if now < self._read_at + READS_APART_SECONDS:
            self.next_read_at = self._read_at + READS_APART_SECONDS
            return
        self._is_changed, self._read_at = False, now
        while page := await self._store.read(events_with_messages, Query(after=self._upto), PAGE):
            first, last = self._upto, page[-1][0].seq
            present = [(query, list(followers)) for query, followers in self.followers.items()]
            self._upto = last  # followers that join from here on are not present
            for query, followers in present:
                wanted = await self._matching(query, page, first, last)
                for follower in followers if wanted else ():
                    follower.give(wanted)
            if len(page) < PAGE:
                return

    async def _matching(self, query: Query, page: EventPage, first: int, last: int) -> EventPage:
        if query.text is None:
            return [item for item in page if matches_query(query, *item)]
        events = await self._store.read(events_with_messages, query._replace(after=first), PAGE)
        return [item for item in events if item[0].seq <= last]

    def wake_all(self) -> None:
        for followers in self.followers.values():
            for follower in followers:
                follower.read_alone()


# --- readers of inboxes ----------------------------------------------------------------------------------------------


class SharedSubscription(Subscription):
    alone = False

    def __init__(self, notifier: "SharedNotifier", *, takes: bool) -> None:
        self._notifier, self.takes = notifier, takes
        self.keys: tuple[Key, ...] | None = ()  # None: everything
        self.is_woken = False
        self._alarm = _Alarm()

    async def arm(self, inboxes: Sequence[str] | None = None, messages: Sequence[int] = ()) -> None:
        await self._notifier.begin()
        self.is_woken = False
        self._notifier.register(self, None if inboxes is None else (*inboxes, *messages))

    async def wait(self, until: float) -> None:
        notifier = self._notifier
        if self.takes and self.keys:
            await notifier.expect(str(key) for key in self.keys)
        left = until - notifier.clock.now()
        if not self.is_woken and left > 0:
            await self._alarm.wait(left)

    def close(self) -> None:
        keys = self.keys or ()
        self._notifier.unregister(self)
        if self.takes:
            self._notifier.wake_next(keys)

    def wake(self) -> None:
        self.is_woken = True
        self._alarm.ring()


class SharedNotifier(Notifier):
    """For many readers on the event loop that is running."""

    def __init__(self, context: BusContext) -> None:
        super().__init__(context)
        self.loop, self.clock = asyncio.get_running_loop(), context.clock
        self.tail: EventTail = EventTail(context.store)
        self._subscriptions: dict[Key | None, dict[SharedSubscription, None]] = {}  # by key, first come first
        self._due: dict[str, float] = {}  # by inbox: when its next message is due
        self._task: asyncio.Task[None] | None = None
        self._alarm = _Alarm()  # of the task
        self._nudged = False
        self._version, self._upto = (0, 0), 0  # of the store's changes and of the events, as last read
        self._changed_at = context.clock.now()
        self._maintenance_at = 0.0

    def subscribe(self, *, takes: bool = False) -> Subscription:
        return SharedSubscription(self, takes=takes)

    async def yield_to_others(self) -> None:
        await asyncio.sleep(0)

    async def begin(self) -> None:
        """Start the polling task, before the caller reads."""
        if self._task is not None and not self._task.done():
            return
        version = self._context.store.changes()
        upto = await self._context.store.read(last_event)
        if self._task is None or self._task.done():  # another caller may have started it meanwhile
            self._version, self._upto, self._maintenance_at = version, upto, 0.0
            self._task = self.loop.create_task(self._run())

    # --- subscriptions -----------------------------------------------------------------------------------------------

    def register(self, subscription: SharedSubscription, keys: tuple[Key, ...] | None) -> None:
        if keys == subscription.keys:
            return
        before = subscription.keys or ()
        self.unregister(subscription)
        subscription.keys = keys
        for key in (None,) if keys is None else keys:
            self._subscriptions.setdefault(key, {})[subscription] = None
        if subscription.takes:  # it may have been woken for a message that it does not take any more
            self.wake_next([key for key in before if key not in (keys or ())])

    def unregister(self, subscription: SharedSubscription) -> None:
        for key in (None,) if subscription.keys is None else subscription.keys:
            others = self._subscriptions.get(key, {})
            others.pop(subscription, None)
            if not others:
                self._subscriptions.pop(key, None)
        subscription.keys = ()

    async def expect(self, inboxes: Iterable[str]) -> None:
        """Wake the readers of these inboxes when their messages become due, after a backoff for example."""
        for inbox, due_at in (await self._context.store.read(due_times, list(inboxes))).items():
            self._expect(inbox, due_at)

    def _expect(self, inbox: str, due_at: float) -> None:
        due_at = max(due_at, self.clock.now() + PAUSE_SECONDS_MIN)
        self._due[inbox] = min(due_at, self._due.get(inbox, due_at))
        self.nudge()

    def wake_next(self, keys: Iterable[Key]) -> None:
        """Wake one reader per key that takes messages and was not woken yet."""
        woken: list[SharedSubscription] = []
        for key in keys:
            if any(key in (subscription.keys or ()) for subscription in woken):
                continue
            asleep = (one for one in self._subscriptions.get(key, ()) if one.takes and not one.is_woken)
            chosen = next(asleep, None)
            if chosen is not None:
                chosen.wake()
                woken.append(chosen)

    def _wake_watchers(self, key: Key | None) -> None:
        for subscription in self._subscriptions.get(key, ()):
            if not subscription.takes:
                subscription.wake()

    def wake_all(self) -> None:
        """Wake every reader, which then polls the store itself."""
        for subscriptions in self._subscriptions.values():
            for subscription in subscriptions:
                subscription.wake()
        self.tail.wake_all()

    # --- polling task ------------------------------------------------------------------------------------------------

    async def _run(self) -> None:
        try:
            while self._subscriptions or self.tail.followers:
                try:
                    await self._poll()
                except StoreError:
                    self.wake_all()  # each reader gets the error itself, and raises it to its caller
                await self._sleep_until_next_poll()
        except Exception:
            self.wake_all()  # the next reader starts another task
            raise

    async def _poll(self) -> None:
        context, store, now = self._context, self._context.store, self.clock.now()
        is_stale = now >= self._maintenance_at
        if is_stale:
            context.next_maintenance = min(context.next_maintenance, now)
            await run_if_due(context)
        version = store.changes()
        if version != self._version:
            self._version, self._changed_at = version, now
            self._wake_for(await store.read(changes_since, self._upto), now)
            is_stale = True  # deadlines may have changed as well
        if is_stale:
            deadline = await store.read(next_deadline, ())
            due_at = context.next_maintenance if deadline is None else min(context.next_maintenance, deadline)
            self._maintenance_at = max(due_at, self.clock.now() + MAINTENANCE_APART_SECONDS_MIN)
        for inbox in [inbox for inbox, due_at in self._due.items() if due_at <= now]:
            del self._due[inbox]
            self._wake_inbox(inbox)
        await self.tail.read(now)

    def _wake_for(self, changes: Changes, now: float) -> None:
        self._upto = changes.upto
        for inbox, due_at in changes.due:
            if due_at <= now:
                self._wake_inbox(inbox)
            elif inbox in self._subscriptions:
                self._expect(inbox, due_at)
        for message in changes.messages:
            self._wake_watchers(message)
        for name in changes.members:  # the inboxes that it may read have changed
            for subscription in self._subscriptions.get(name, ()):
                subscription.wake()
        if changes.messages or changes.members:
            self._wake_watchers(None)
            self.tail.note_change()

    def _wake_inbox(self, inbox: str) -> None:
        self._wake_watchers(inbox)
        self.wake_next((inbox,))

    async def _sleep_until_next_poll(self) -> None:
        now = self.clock.now()
        times = (now + pause(now - self._changed_at), self._maintenance_at, self.tail.next_read_at)
        left = min([*times, *self._due.values()]) - now
        if left <= 0 or self._nudged:
            self._nudged = False
            await asyncio.sleep(0)
            return
        try:
            await self._alarm.wait(left)
        finally:
            self._nudged = False

    def nudge(self) -> None:
        self._nudged = True
        self._alarm.ring()

    def close(self) -> None:
        if self._task is not None:
            with suppress(RuntimeError):  # its loop may have ended before
                self._task.cancel()
        self.wake_all()
