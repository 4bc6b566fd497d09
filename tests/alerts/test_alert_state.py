"""Alerts of hubs on one store: each item once per target, batches, withdrawal, retries. The clock stands still."""

import asyncio
import itertools
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

import telex
from telex.config import Settings
from telex.config.notify import NotifySettings
from telex.model.message import ALERTED
from telex.ports.store import Query, Store
from telex.surfaces.alerts import DeliveryFailed
from telex.surfaces.alerts.notification import Item, Notification
from telex.surfaces.alerts.runner import AlertLog, AlertRunner
from telex.surfaces.alerts.state import ATTEMPTS_MAX, BACKOFF_SECONDS_MAX, CLAIM_SECONDS
from tests.http.http_kit import play
from tests.proofs import proves

HUB = "https://hub.example.org"
QUIET = Settings(evidence="off", durable=False)
ASK = Item("approval:ask-1@1", "approval", "Touch src/a.py", by="dev", due=20_000.0)
OTHER = Item("approval:ask-2@1", "approval", "Touch src/b.py", by="qa")
STUCK = Item("stall:cycle:dev", "stall", "dev and qa wait for each other")


class Phone:
    """A target that takes what it is sent, or fails."""

    def __init__(self, name: str = "ntfy") -> None:
        self.name, self.id = name, f"{name}:1"
        self.notes: list[Notification] = []
        self.fails: Callable[[Notification], bool] = lambda _: False

    def problem(self) -> str | None:
        return None

    async def deliver(self, note: Notification) -> None:
        self.notes.append(note)
        if self.fails(note):
            raise DeliveryFailed("answered with status 500")

    @property
    def said(self) -> list[tuple[list[str], list[str]]]:
        """Keys that are open and keys that are settled, for each delivery."""
        return [([item.key for item in note.items], [*note.settled]) for note in self.notes]


class Scene:
    """A hub on a store. `open` is what waits for a person."""

    def __init__(self, store: Store, *phones: Phone, clock: "Clock | None" = None, **settings: Any) -> None:
        self.open: Sequence[Item] | None = ()
        self.clock = clock or Clock()
        self.runner = AlertRunner(
            AlertLog(store),
            NotifySettings(ntfy="x", **{"batch_seconds": 0.0} | settings),
            self._needs,
            hub=HUB,
            targets=phones,
            now=lambda: self.clock.now,
        )
        self.phones = phones

    async def _needs(self) -> Sequence[Item] | None:
        return self.open

    async def look(self, *items: Item, is_known: bool = True) -> None:
        """Read what waits, and send what is due."""
        self.open = items if is_known else None
        await self.runner.refresh()
        for phone in self.phones:
            while self.runner.is_read and await self.runner.deliver_next(phone):
                pass


class Clock:
    now = 10_000.0


def on_store(scene: Callable[[Any], Awaitable[None]], where: str = "memory:") -> None:
    async def run() -> None:
        async with telex.connect(where, settings=QUIET) as bus:
            await scene(bus)

    play(run)


@proves("alerts/once")
def test_an_item_is_sent_once_however_often_it_is_seen() -> None:
    async def scene(bus: Any) -> None:
        hub = Scene(bus.store, Phone())
        for _ in range(3):
            await hub.look(ASK)
        assert hub.phones[0].said == [([ASK.key], [])]

    on_store(scene)


@proves("alerts/once")
def test_a_hub_that_starts_again_and_a_second_hub_send_nothing_twice(tmp_path: Path) -> None:
    path = str(tmp_path / "telex.db")
    phone = Phone()

    async def first(bus: Any) -> None:
        await Scene(bus.store, phone).look(ASK)

    async def second(bus: Any) -> None:
        async with telex.connect(path, settings=QUIET) as other:
            hubs = [Scene(bus.store, phone), Scene(getattr(other, "store"), phone)]  # noqa: B009
            await asyncio.gather(*(hub.look(ASK, OTHER) for hub in hubs))

    on_store(first, path)
    on_store(second, path)
    assert phone.said == [([ASK.key], []), ([OTHER.key], [])]


@proves("alerts/once", "alerts/settled")
def test_a_hub_does_not_withdraw_what_another_one_has_found_since_it_looked() -> None:
    async def scene(bus: Any) -> None:
        phone = Phone()
        hub, other = Scene(bus.store, phone), Scene(bus.store, phone)
        await other.look(OTHER)
        await hub.look(ASK, OTHER)
        while await other.runner.deliver_next(phone):  # with the list that it has
            pass
        assert phone.said == [([OTHER.key], []), ([ASK.key], [])]
        await other.look(OTHER)
        assert phone.said[2:] == [([], [ASK.key])]

    on_store(scene)


@proves("alerts/once")
def test_another_target_gets_everything_that_is_open() -> None:
    async def scene(bus: Any) -> None:
        chat = Phone("slack")
        await Scene(bus.store, Phone()).look(ASK)
        await Scene(bus.store, chat).look(ASK)
        assert chat.said == [([ASK.key], [])]

    on_store(scene)


@proves("alerts/once")
def test_what_comes_back_after_it_was_settled_is_sent_again() -> None:
    async def scene(bus: Any) -> None:
        hub = Scene(bus.store, Phone())
        for items in ([STUCK], [], [STUCK]):
            await hub.look(*items)
        assert hub.phones[0].said == [([STUCK.key], []), ([], [STUCK.key]), ([STUCK.key], [])]
        first, _, last = hub.phones[0].notes
        assert first.batch != last.batch

    on_store(scene)


@proves("alerts/batch")
def test_items_that_come_within_seconds_are_one_notification() -> None:
    async def scene(bus: Any) -> None:
        hub = Scene(bus.store, Phone(), batch_seconds=10.0)
        await hub.look(ASK)
        hub.clock.now += 6
        await hub.look(ASK, OTHER, STUCK)
        assert hub.phones[0].said == []
        hub.clock.now += 4
        await hub.look(ASK, OTHER, STUCK)
        assert hub.phones[0].said == [([ASK.key, OTHER.key, STUCK.key], [])]

    on_store(scene)


@proves("alerts/batch")
def test_what_is_answered_while_it_waits_for_others_is_not_sent() -> None:
    async def scene(bus: Any) -> None:
        hub = Scene(bus.store, Phone(), batch_seconds=10.0)
        await hub.look(ASK)
        hub.clock.now += 20
        await hub.look()
        assert hub.phones[0].said == []

    on_store(scene)


@proves("alerts/kinds")
def test_only_the_kinds_that_are_set_are_sent() -> None:
    async def scene(bus: Any) -> None:
        hub = Scene(bus.store, Phone(), kinds=("stall",))
        await hub.look(ASK, STUCK)
        assert hub.phones[0].said == [([STUCK.key], [])]

    on_store(scene)


@proves("alerts/settled")
def test_what_is_answered_is_taken_back_also_by_another_hub() -> None:
    async def scene(bus: Any) -> None:
        await Scene(bus.store, Phone()).look(ASK, OTHER)
        phone = Phone()
        hub = Scene(bus.store, phone)
        await hub.look(OTHER)
        await hub.look()
        await hub.look()
        assert phone.said == [([OTHER.key], [ASK.key]), ([], [OTHER.key])]
        assert [*phone.notes[0].settled.values()] == [ASK.title]

    on_store(scene)


@proves("alerts/settled")
def test_what_a_hub_does_not_know_yet_is_not_settled() -> None:
    async def scene(bus: Any) -> None:
        await Scene(bus.store, Phone()).look(STUCK)
        hub = Scene(bus.store, Phone())
        await hub.look(is_known=False)
        await hub.look(STUCK)
        await hub.look(is_known=False)
        assert hub.phones[0].said == []

    on_store(scene)


@proves("alerts/retry")
def test_a_failed_delivery_is_repeated_later_each_time_and_then_given_up() -> None:
    async def scene(bus: Any) -> None:
        hub = Scene(bus.store, Phone())
        hub.phones[0].fails = lambda _: True
        times = []
        for _ in range(4_000):
            before = len(hub.phones[0].notes)
            await hub.look(ASK)
            times += [hub.clock.now] * (len(hub.phones[0].notes) - before)
            hub.clock.now += 1
        waits = [later - earlier for earlier, later in itertools.pairwise(times)]
        assert len(times) == ATTEMPTS_MAX
        assert waits == sorted(waits)
        assert max(waits) <= BACKOFF_SECONDS_MAX
        assert {note.id for note in hub.phones[0].notes} == {hub.phones[0].notes[0].batch}
        hub.phones[0].fails = lambda _: False
        await hub.look(ASK, OTHER)
        assert hub.phones[0].said[-1] == ([OTHER.key], []), "what comes later is sent again"

    on_store(scene)


@proves("alerts/retry", "alerts/visible")
def test_the_next_success_ends_the_failure() -> None:
    async def scene(bus: Any) -> None:
        hub = Scene(bus.store, Phone())
        hub.phones[0].fails = lambda note: len(hub.phones[0].notes) == 1
        await hub.look(ASK)
        [status] = await hub.runner.status()
        assert (status.failed, status.pending, status.error) == (1, 1, "answered with status 500")
        hub.clock.now += 5
        await hub.look(ASK)
        [status] = await hub.runner.status()
        assert (status.delivered, status.pending, status.error) == (1, 0, None)

    on_store(scene)


@proves("alerts/killed")
def test_a_hub_that_is_killed_while_it_sends_leaves_the_rest_to_the_next_one() -> None:
    async def scene(bus: Any) -> None:
        killed, clock = Phone(), Clock()

        def kill(_: Notification) -> bool:
            raise asyncio.CancelledError

        killed.fails = kill
        with pytest.raises(asyncio.CancelledError):
            await Scene(bus.store, killed, clock=clock).look(ASK)
        hub = Scene(bus.store, Phone(), clock=clock)
        await hub.look(ASK)
        assert hub.phones[0].said == [], "the other hub may still be sending"
        clock.now += CLAIM_SECONDS
        await hub.look(ASK)
        assert [note.id for note in hub.phones[0].notes] == [killed.notes[0].id]

    on_store(scene)


@proves("alerts/killed", "alerts/settled")
def test_what_may_have_been_sent_before_a_kill_is_taken_back_when_it_is_answered() -> None:
    async def scene(bus: Any) -> None:
        killed, clock = Phone(), Clock()

        def kill(_: Notification) -> bool:
            raise asyncio.CancelledError

        killed.fails = kill
        with pytest.raises(asyncio.CancelledError):
            await Scene(bus.store, killed, clock=clock).look(ASK)
        clock.now += CLAIM_SECONDS
        hub = Scene(bus.store, Phone(), clock=clock)
        await hub.look()
        assert hub.phones[0].said == [([], [ASK.key])]
        assert hub.phones[0].notes[0].batch == killed.notes[0].batch

    on_store(scene)


@proves("alerts/link/guessed")
def test_the_log_has_hashes_of_links_and_no_link() -> None:
    async def scene(bus: Any) -> None:
        hub = Scene(bus.store, Phone(), links=True)
        await hub.look(ASK, STUCK)
        [address] = hub.phones[0].notes[0].answers.values()
        token = address.removeprefix(f"{HUB}/answer/")
        assert len(bytes.fromhex(token)) == 32
        details = [event.detail async for event, _ in bus.events(Query(kinds=(ALERTED,)))]
        assert all(detail and token not in detail for detail in details)

    on_store(scene)
