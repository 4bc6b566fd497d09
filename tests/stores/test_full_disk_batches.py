"""Tests of a file that has room for only a part of a batch of sends: what is answered is stored, and nothing else."""

import asyncio
import json
from collections.abc import Callable, Sequence
from functools import partial
from itertools import cycle
from random import Random
from typing import Any, NamedTuple
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st

from telex.bus import run_sync
from telex.bus.context import TeamState
from telex.bus.local import LocalBus
from telex.dialects.builtin.vbw_typed import SHUTDOWN_REQUEST, SHUTDOWN_RESPONSE
from telex.errors import StoreFull
from telex.ports.bus import Receipt
from telex.stores.group_commit import GroupCommit
from telex.stores.memory import MemoryStore
from telex.stores.sqlite.store import SqliteStore
from telex.stores.sqlite.transaction import SqliteTransaction
from telex.testing import FakeClock
from tests.bus.random_acts import SENDS, Act, Player, Send, history_of
from tests.demo.story_settings import FEWER
from tests.proofs import proves
from tests.stores.test_batches import SEND_ACTS, batch_size, recorded, store_file
from tests.work.contract_team import contract, typed

ROOM_PAGES_MAX, PADDING_BYTES_MAX = 12, 30_000
NO_LIMIT = 1_000_000  # pages
SEEDS_FOR_A_FAULT = 20


class Outcome(NamedTuple):
    answers: list[tuple[Send, object]]
    record: str  # of the receipts and of everything that is stored


async def planned(acts: Sequence[Act]) -> list[Send]:
    """The sends of these acts."""
    clock = FakeClock()
    bus, player = LocalBus(MemoryStore(), clock), Player(clock)
    for act in acts:
        await player.play(act, bus)
    return player.sends


def limit_pages(store: SqliteStore, pages: int) -> None:
    """Let the file grow by so many pages and no more, as on a disk that is nearly full."""
    used = store._file.value("PRAGMA page_count")
    store._file.run(f"PRAGMA max_page_count = {used + pages}")


async def sent_in_batches(sends: Sequence[Send], random: Random, path: str) -> Outcome:
    """Two of three batches meet a file that is nearly full; after each there is room again."""
    store = SqliteStore.open(path, durable=False, grouped=True)
    sends = [padded(send, random) for send in sends]
    bus, left, answers = LocalBus(store, FakeClock()), sends, list[Any]()
    for pages in cycle([NO_LIMIT, ROOM_PAGES_MAX, ROOM_PAGES_MAX]):
        if not left:
            break
        size = batch_size(left, random)
        batch, left = left[:size], left[size:]
        limit_pages(store, random.randint(0, pages))
        answers += await asyncio.gather(*(send.to(bus) for send in batch), return_exceptions=True)
        limit_pages(store, NO_LIMIT)
    receipts = [answer for answer in answers if not isinstance(answer, StoreFull)]
    outcome = Outcome(list(zip(sends, answers, strict=True)), await recorded(bus, receipts))
    await bus.close()
    return outcome


def padded(send: Send, random: Random) -> Send:
    return send._replace(raw=send.raw + b" " * random.choice([0, 0, random.randint(0, PADDING_BYTES_MAX)]))


async def alone(sends: Sequence[Send], path: str) -> str:
    """The record of these sends one by one, on a file with room for all."""
    store = SqliteStore.open(path, durable=False, grouped=True)
    bus = LocalBus(store, FakeClock())
    record = await recorded(bus, [await send.to(bus) for send in sends])
    await bus.close()
    return record


def outcomes(acts: Sequence[Act], seed: int) -> tuple[Outcome, str]:
    """What became of the sends, and the record of those that were answered, sent alone."""
    with store_file() as first, store_file() as second:
        outcome = asyncio.run(sent_in_batches(run_sync(planned(acts)), Random(seed), first))
        answered = [send for send, answer in outcome.answers if isinstance(answer, Receipt)]
        return outcome, asyncio.run(alone(answered, second))


@proves("store/full/part-of-a-batch")
@FEWER
@given(st.lists(SEND_ACTS, min_size=8, max_size=20), st.integers(0, 10**6))
def test_of_a_batch_that_the_file_takes_in_part_every_answered_send_is_stored_and_nothing_else(
    acts: list[Act], seed: int
) -> None:
    outcome, expected = outcomes(acts, seed)
    assert [answer for _, answer in outcome.answers if not isinstance(answer, Receipt | StoreFull)] == []
    assert outcome.record == expected


# --- planted faults --------------------------------------------------------------------------------------------------


def answering_before_the_commit() -> Any:
    """Each decision is answered when it has run, and not when it is stored."""
    flush = GroupCommit._flush

    def faulty(self: GroupCommit) -> None:
        for index, (job, future) in enumerate(self._waiting):
            self._waiting[index] = job._replace(work=partial(answered, job.work, future)), future
        flush(self)

    def answered(work: Callable[[Any], Any], future: "asyncio.Future[Any]", tx: Any) -> Any:
        answer = work(tx)
        if not future.done():
            future.set_result(answer)
        return answer

    return patch.object(GroupCommit, "_flush", faulty)


def keeping_the_cache() -> Any:
    """The cache keeps what a transaction did to it that was rolled back."""
    forget = TeamState.forget
    return patch.object(TeamState, "forget", lambda self: None if hasattr(self, "_topics") else forget(self))


@pytest.mark.parametrize("plant", [answering_before_the_commit, keeping_the_cache], ids=lambda plant: plant.__name__)
def test_a_store_that_answers_or_caches_what_a_full_disk_has_undone_is_found(plant: Callable[[], Any]) -> None:
    def is_found(seed: int) -> bool:
        try:
            with plant():
                outcome, expected = outcomes(history_of(seed, 18, SENDS), seed)
        except AssertionError:  # the bus has other topics than the log
            return True
        return outcome.record != expected

    assert any(is_found(seed) for seed in range(SEEDS_FOR_A_FAULT))


# --- what comes after a commit ---------------------------------------------------------------------------------------


@proves("store/full/after-a-commit")
def test_a_send_that_stops_an_agent_is_answered_as_stored_though_its_messages_cannot_be_returned_yet() -> None:
    async def run(path: str) -> None:
        store = SqliteStore.open(path, durable=False)
        bus = LocalBus(store, FakeClock())
        await bus.send(b"To do.", sender="lead", to="dev", id="left")
        await bus.send(json.dumps(typed(SHUTDOWN_REQUEST, "", id="stop")).encode(), sender="lead", to="dev")
        stopped = json.dumps(typed(SHUTDOWN_RESPONSE, "", "dev", request_id="stop", id="stopped")).encode()
        with patch.object(SqliteTransaction, "settle", side_effect=StoreFull("no room")):
            receipt = await bus.send(stopped, sender="dev", to="lead")
        assert (receipt.accepted, receipt.state) == (True, "stored")
        await bus.sweep()
        [story] = await bus.why("left")
        assert story.state == "withdrawn"
        await bus.close()

    with store_file() as path:
        run_sync(run(path))


@proves("store/full/read")
def test_a_long_topic_can_be_read_though_there_is_no_room_for_its_snapshot() -> None:
    async def run(path: str) -> None:
        bus = LocalBus(SqliteStore.open(path, durable=False), FakeClock())
        for number in range(6):
            raw = json.dumps(contract("P", id=f"c{number}")).encode()
            assert (await bus.send(raw, sender="lead", to="dev")).accepted
        await bus.close()
        store = SqliteStore.open(path, durable=False)
        limit_pages(store, 0)
        reader = LocalBus(store, FakeClock())
        with patch("telex.bus.context.LONG", 4), patch.object(store._file, "hold_ballast", lambda: False):
            states = await reader.work_state("plan")
        assert list(states) == ["plan:P"]
        assert await store.read(lambda reads: reads.snapshot("plan:P")) is None
        await reader.close()

    with store_file() as path:
        run_sync(run(path))
