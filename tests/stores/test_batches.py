"""Tests of group commit: sends in random batches, rejected decisions among them, against the same sends one by one."""

import asyncio
import re
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st

from telex.bus.context import TeamState
from telex.bus.decision import Decision, SendRequest
from telex.bus.local import LocalBus
from telex.dialects.registry import BUILT_IN
from telex.model.limits import LIMITS
from telex.model.message import Event, NewMessage, WorkChange
from telex.model.text import digest_of
from telex.ports.store import Transaction
from telex.stores.sqlite import store as sqlite_store
from telex.stores.sqlite.store import SqliteStore
from telex.stores.sqlite.transaction import SqliteTransaction
from telex.testing import EPOCH, FakeClock
from telex.validation.check import CheckPolicy
from tests.bus.bus_team import empty_store
from tests.bus.random_acts import (
    MEMBERS,
    SENDS,
    WEIGHTS,
    Act,
    Player,
    Send,
    end_state,
    folded_states,
    history_of,
    masked,
    work_states,
)
from tests.proofs import proves

BATCH_MAX = 8
SEEDS_FOR_A_FAULT = 40
POLICIES = [CheckPolicy(), CheckPolicy(strict=False), CheckPolicy(limits=LIMITS._replace(inbox_max=3))]
SEND_ACTS = st.builds(
    Act, st.sampled_from([kind for kind in SENDS for _ in range(WEIGHTS[kind])]), st.integers(0, 10**6)
)


STOPPED = [type_.name.encode() for dialect in BUILT_IN for type_ in dialect.types.values() if type_.action == "stopped"]
Decide = Callable[[Transaction], object]


class Rejected(Exception):
    """The error of a decision that raises."""


@contextmanager
def store_file() -> Iterator[str]:
    with TemporaryDirectory(prefix="telex-batches-") as folder:
        path = Path(folder, "telex.db")
        path.write_bytes(empty_store())
        yield str(path)


async def recorded(bus: LocalBus, receipts: Sequence[object]) -> str:
    """The receipts and everything that is stored. What the bus has in its cache must be the same."""
    assert await work_states(bus) == await folded_states(bus.store)
    return masked([list(receipts), await end_state(bus.store)])


# --- one by one, and in batches --------------------------------------------------------------------------------------


async def one_by_one(acts: Sequence[Act], path: str, policy: CheckPolicy) -> tuple[list[Send], str]:
    """What was sent, and the record of it."""
    clock, store = FakeClock(), SqliteStore.open(path, durable=False, grouped=True)
    bus, player = LocalBus(store, clock, policy=policy), Player(clock)
    for act in acts:
        await player.play(act, bus)
    record = await recorded(bus, [answer for _, answer in player.answers if answer is not None])
    await bus.close()
    return player.sends, record


async def in_batches(sends: Sequence[Send], random: Random, path: str, policy: CheckPolicy) -> str:
    store = SqliteStore.open(path, durable=False, grouped=True)
    bus, left, receipts = LocalBus(store, FakeClock(), policy=policy), list(sends), list[object]()
    rejections = Rejections(bus, sends, random)
    while left:
        size = batch_size(left, random)
        batch, left = left[:size], left[size:]
        submitted: list[Awaitable[object]] = []
        for send in batch:
            submitted += [rejections.submit() for _ in range(random.choice([0, 0, 1, 2]))]
            submitted.append(send.to(bus))
        answers = await asyncio.gather(*submitted)
        receipts += [answer for answer in answers if not isinstance(answer, Rejected)]
    record = await recorded(bus, receipts)
    await bus.close()
    return record


def batch_size(sends: Sequence[Send], random: Random) -> int:
    """A batch ends with an agent that stops: its messages are returned after the commit, and not within it."""
    size = random.randint(1, BATCH_MAX)
    stops = [index for index, send in enumerate(sends[:size], 1) if any(name in send.raw for name in STOPPED)]
    return stops[0] if stops else size


class Rejections:
    """Decisions that raise: before they write, after it, after reading what they wrote, or after a whole send."""

    def __init__(self, bus: LocalBus, sends: Sequence[Send], random: Random) -> None:
        self._bus, self._sends, self._random = bus, sends, random

    async def submit(self) -> Rejected:
        kinds = [self._nothing, self._rows, self._rows, self._rows_read, self._whole_send, self._whole_send]
        if not self._bus._context.team.is_loaded:
            await self._bus._context.roster()
        decide = self._random.choice(kinds)()
        with pytest.raises(Rejected) as raised:
            await self._bus.store.transaction(partial(reject_after, decide))
        return raised.value

    def _nothing(self) -> Decide:
        return lambda _: None

    def _rows(self) -> Decide:
        """Rows that have not reached the file: a message in topics of the work, and an event."""
        topics = tuple(self._random.sample(["contracts", "plan:P", "plan:Q", "task:MOVE-1", "shutdown"], 2))
        message = rejected_message(self._random.choice(self._sends), self._random.choice(list(MEMBERS)), topics)
        return lambda tx: (tx.append(message), tx.record(Event(0, message.at, "read", message.to)))

    def _rows_read(self) -> Decide:
        rows = self._rows()
        return lambda tx: (rows(tx), tx.topics("plan"))

    def _whole_send(self) -> Decide:
        """A send as the bus decides it, with everything that it does to the cache."""
        send = self._random.choice(self._sends)
        request = SendRequest(send.raw, send.sender, **send.given)
        return partial(Decision.make, self._bus._context, self._bus._sender._prepare(request))


def reject_after(decide: Decide, tx: Transaction) -> None:
    decide(tx)
    raise Rejected


def rejected_message(send: Send, inbox: str, topics: tuple[str, ...]) -> NewMessage:
    """Under the id of a message that may be sent later."""
    own = re.search(rb'"id": "(m\d+)"', send.raw)
    return NewMessage(
        id=own[1].decode() if own is not None else "rejected",
        at=EPOCH,
        sender=send.sender,
        role="dev",
        to=inbox,
        dialect=None,
        type=None,
        rank=3,
        correlation=None,
        reply_to=None,
        digest=digest_of(b"no"),
        raw=b"no",
        inboxes=(inbox,),
        work_change=WorkChange(topics),
    )


def differ(acts: Sequence[Act], seed: int, policy: CheckPolicy) -> bool:
    with store_file() as first, store_file() as second:
        sends, expected = asyncio.run(one_by_one(acts, first, policy))
        return asyncio.run(in_batches(sends, Random(seed), second, policy)) != expected


@proves("store/batch/alone")
@given(st.lists(SEND_ACTS, min_size=8, max_size=20), st.integers(0, 10**6), st.sampled_from(POLICIES))
def test_sends_in_batches_with_rejected_decisions_among_them_end_as_one_by_one(
    acts: list[Act], seed: int, policy: CheckPolicy
) -> None:
    with store_file() as first, store_file() as second:
        sends, expected = asyncio.run(one_by_one(acts, first, policy))
        assert asyncio.run(in_batches(sends, Random(seed), second, policy)) == expected


# --- planted faults --------------------------------------------------------------------------------------------------


def dropping_all_but(name: str) -> Any:
    """Leaves one part of a rejected decision in the transaction."""

    class Planted(SqliteTransaction):
        def _drop_job(self) -> None:
            part = getattr(self, name).copy()
            super()._drop_job()
            setattr(self, name, part)

    return patch.object(sqlite_store, "SqliteTransaction", Planted)


def keeping_the_cache() -> Any:
    """The cache keeps what a rejected decision did to it."""
    forget = TeamState.forget
    return patch.object(TeamState, "forget", lambda self: None if hasattr(self, "_topics") else forget(self))


FAULTS: dict[str, Callable[[], Any]] = {
    "topics": partial(dropping_all_but, "_topics"),
    "events": partial(dropping_all_but, "_events"),
    "ids": partial(dropping_all_but, "_accepted"),
    "cache": keeping_the_cache,
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_batch_that_keeps_something_of_a_rejected_decision_is_found(fault: str) -> None:
    def is_found(seed: int) -> bool:
        try:
            return differ(history_of(seed, 20, SENDS), seed, POLICIES[0])
        except Exception:
            return True

    with FAULTS[fault]():
        assert any(is_found(seed) for seed in range(SEEDS_FOR_A_FAULT))
