"""Runner of alerts: one task reads what waits for a person, and one task per target sends it.

A target that fails or hangs delays nothing but itself. The list is read after a change of the store, and now and then
without one, since agents also fall silent without an event; that takes at most a twentieth of the hub's time.
"""

import asyncio
import logging
import secrets
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

from telex.config.notify import NotifySettings
from telex.errors import TelexError
from telex.model.message import ALERTED
from telex.model.named_tuple import NamedTuple
from telex.ports.store import EventQuery, Query, Reads, Store, Transaction, last_event
from telex.surfaces.alerts import DeliveryFailed, state
from telex.surfaces.alerts.links import NewLinks, new_links
from telex.surfaces.alerts.notification import Item, Notification, one_line
from telex.surfaces.alerts.state import AlertState, OpenItem, Step
from telex.surfaces.alerts.targets import Target, targets_of

LOG = logging.getLogger("telex.http")
POLL_SECONDS = 1.0
QUIET_SECONDS = 15.0  # without a change of the store
RETRY_SECONDS = 3.0  # after the store was unavailable
TIME_SHARE_MAX = 0.05
INTERVAL_SECONDS_MAX = 60.0
BATCH_ID_BYTES = 12
NO_LINKS = NewLinks({}, {})

NeedsSource = Callable[[], Awaitable[Sequence[Item] | None]]


class AlertOptions(NamedTuple):
    """Alerts of one hub."""

    settings: NotifySettings
    hub: str  # its address, for links


class AlertLog:
    """Alert state of the store. Claims are decided in a transaction, on the state that the log has then."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self._known = AlertState()

    async def current(self, now: float) -> AlertState:
        """The state as of now. Do not change it."""
        known = self._known
        fresh: AlertState = await self.store.read(lambda reads: _caught_up(known, reads))
        if fresh.position > self._known.position:
            fresh.forget_links(now)
            self._known = fresh
        return self._known

    async def claim(self, decide: "Callable[[AlertState], Claim | None]") -> "Claim | None":
        known = self._known

        def run(tx: Transaction) -> Claim | None:
            claim = decide(_caught_up(known, tx))
            if claim is not None:
                tx.record(state.claim(claim.step, claim.links.links, claim.at))
            return claim

        return await self.store.transaction(run)

    async def record(self, event: Any) -> None:
        await self.store.transaction(lambda tx: tx.record(event), may_use_reserve=True)


def _caught_up(known: AlertState, reads: Reads) -> AlertState:
    events = reads.events(EventQuery(Query(after=known.position, kinds=(ALERTED,))))
    return known.copy().fold(events) if events else known


class Claim(NamedTuple):
    step: Step
    links: NewLinks
    at: float


class TargetStatus(NamedTuple):
    """Of one target, for /metrics and /readyz."""

    name: str
    delivered: int  # since the start of the hub
    failed: int
    given_up: int
    pending: int
    error: str | None  # of the last attempt, if it failed


class AlertRunner:
    def __init__(
        self,
        log: AlertLog,
        settings: NotifySettings,
        needs: NeedsSource,
        *,
        hub: str,
        team: str | None = None,
        targets: Sequence[Target] | None = None,
        now: Callable[[], float] = time.time,
    ) -> None:
        self.log, self._settings, self._needs, self._now = log, settings, needs, now
        self._hub, self._team = settings.public_url or hub.rstrip("/"), team
        self.targets = targets_of(settings) if targets is None else targets
        self._items: dict[str, Item] = {}
        self._open: dict[str, OpenItem] = {}
        self._as_of = 0  # number of the last event when they were read
        self.is_read = False  # nothing is sent or settled before
        self._counts = {target.name: [0, 0, 0] for target in self.targets}
        self._errors: dict[str, str] = {}

    # --- background tasks ---------------------------------------------------------------------------------------------

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        works: list[Callable[[], Awaitable[None]]] = [self._watch]
        works += [partial(self._serve, target) for target in self.targets]
        tasks = [asyncio.ensure_future(self._forever(work)) for work in works]
        try:
            yield
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _forever(self, work: Callable[[], Awaitable[None]]) -> None:
        """Go on after an unavailable store, and after a bug, which must not end alerts until the hub is restarted."""
        said = ""
        while True:
            try:
                await work()
            except TelexError as error:
                if error.say != said:
                    said = error.say
                    LOG.warning("alerts wait: %s", said)
            except Exception:
                LOG.exception("alerts failed")
            await asyncio.sleep(RETRY_SECONDS)

    async def _watch(self) -> None:
        seen: object = None
        read_at = 0.0
        while True:
            changes = self.log.store.changes()
            begun = time.monotonic()
            if changes != seen or begun - read_at >= QUIET_SECONDS or not self.is_read:
                seen, read_at = changes, begun
                await self.refresh()
            took = time.monotonic() - begun
            await asyncio.sleep(min(max(POLL_SECONDS, took / TIME_SHARE_MAX), INTERVAL_SECONDS_MAX))

    async def _serve(self, target: Target) -> None:
        while True:
            while self.is_read and await self.deliver_next(target):
                pass
            await asyncio.sleep(POLL_SECONDS)

    # --- steps --------------------------------------------------------------------------------------------------------

    async def refresh(self) -> None:
        """Read what waits for a person, if all of it is known."""
        as_of = await self.log.store.read(last_event)
        found = await self._needs()
        if found is None:
            return
        items = {item.key: item for item in found if item.kind in self._settings.kinds}
        send_at = self._now() + self._settings.batch_seconds
        before = self._open
        self._open = {
            key: before.get(key) or OpenItem(one_line(item.title, state.TITLE_CHARACTERS), send_at)
            for key, item in items.items()
        }
        self._items, self._as_of, self.is_read = items, as_of, True

    async def deliver_next(self, target: Target) -> bool:
        """Send the next notification of a target. False: there is none."""
        items, open_, as_of, id_ = self._items, self._open, self._as_of, secrets.token_hex(BATCH_ID_BYTES)

        def decide(known: AlertState) -> Claim | None:
            now = self._now()
            step = known.next_step(target.id, open_, now, as_of=as_of, new_id=id_)
            return None if step is None else Claim(step, self._links(step, items, now), now)

        if decide(await self.log.current(self._now())) is None:  # most looks: without a write lock
            return False
        claim = await self.log.claim(decide)
        if claim is None:
            return False
        await self._deliver(target, claim, items)
        return True

    def _links(self, step: Step, items: dict[str, Item], now: float) -> NewLinks:
        if not self._settings.links:
            return NO_LINKS
        return new_links([items[key] for key in step.open], self._hub, now, self._settings.link_seconds)

    async def _deliver(self, target: Target, claim: Claim, items: dict[str, Item]) -> None:
        step, counts = claim.step, self._counts[target.name]
        note = Notification(
            batch=step.batch,
            at=claim.at,
            team=self._team,
            hub=self._hub,
            items=tuple(items[key] for key in step.open),
            settled=step.settled,
            answers=claim.links.addresses,
            is_first=step.is_first,
        )
        try:
            await target.deliver(note)
        except DeliveryFailed as error:
            counts[1] += 1
            counts[2] += state.retry_at(step, claim.at) is None
            if target.name not in self._errors:
                LOG.warning("alerts to %s fail: %s", target.name, error)
            self._errors[target.name] = str(error)
            await self.log.record(state.failed(step, str(error), self._now()))
            return
        counts[0] += 1
        if self._errors.pop(target.name, None) is not None:
            LOG.warning("alerts to %s work again", target.name)
        await self.log.record(state.delivered(step, self._now()))

    # --- status -------------------------------------------------------------------------------------------------------

    async def status(self) -> list[TargetStatus]:
        known = await self.log.current(self._now())
        return [self._status(target, known) for target in self.targets]

    def _status(self, target: Target, known: AlertState) -> TargetStatus:
        delivered, failed, given_up = self._counts[target.name]
        error = self._errors.get(target.name) or known.errors.get(target.id)
        pending = known.pending(target.id)
        return TargetStatus(target.name, delivered, failed, given_up=given_up, pending=pending, error=error)
