"""Notifier of many readers on one event loop: one task polls for all and wakes only the readers concerned.

After every write, of this process or another, the task asks the store once which inboxes and messages have changed. The
readers that wait for one of those check again. Timers wake readers of messages that become due later, and maintenance
runs here, once per process.

Several readers may share an inbox, and a message is delivered to one of them, so one is woken. It wakes the next when
it leaves, whether it took a message or not.
"""

import asyncio
from collections.abc import Iterable, Sequence
from contextlib import suppress

from telex.bus.context import BusContext
from telex.bus.follow import EventTail
from telex.bus.maintenance import run_if_due
from telex.bus.notify import PAUSE_SECONDS_MIN, Notifier, Subscription, pause
from telex.errors import StoreError
from telex.ports.store import Changes, changes_since, due_times, last_event, next_deadline

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
        upto = await self._context.store.read(last_event)
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
        for inbox, due_at in (await self._context.store.read(due_times, list(inboxes))).items():
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
            self._tell(await store.read(changes_since, self._upto), now)
            swept = True  # what falls due next may have changed as well
        if swept:
            soonest = await store.read(next_deadline, ())
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
