"""What the tests of the beaten track share: one team twice, one of which always goes the patient way.

Their clocks stand still, so that their records must be equal to the last number. One of them takes the beaten track
wherever it may; the other never does, and has no fast lane either.
"""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from telex.bus.directory import BusContext, Whom
from telex.bus.fast_path import send_fast
from telex.bus.local import LocalBus
from telex.client import run_sync
from telex.delivery.validator_cache import OPENED_AFTER
from telex.dialects.registry import BUILT_IN
from telex.dialects.schema import ANY, Dialect, MessageType
from telex.errors import TelexError
from telex.model.limits import LIMITS
from telex.model.message import NewMessage
from telex.ports.bus import Receipt
from telex.ports.store import Query, Store
from telex.stores.memory import MemoryStore
from telex.stores.sqlite.store import SqliteStore
from telex.testing import FakeClock
from telex.testing.sim_messages import written
from telex.validation.check import STRICT, CheckPolicy

JSON = [dialect for dialect in BUILT_IN if dialect.form == "json"]
EVERY_JSON_TYPE = [(dialect, type_) for dialect in JSON for type_ in dialect.types.values()]
every_json_type = pytest.mark.parametrize(
    "dialect, type_", EVERY_JSON_TYPE, ids=[f"{dialect.name} {type_.name}" for dialect, type_ in EVERY_JSON_TYPE]
)
VBW_TYPED, BUILD_FLOW = BUILT_IN[0], BUILT_IN[1]
UPDATE = VBW_TYPED.types["execution_update"]


class Twins:
    """One team twice. Whatever is done is done to both, and must be answered alike."""

    def __init__(self, patch: pytest.MonkeyPatch, stores: tuple[Store, Store], desk: CheckPolicy) -> None:
        self.clocks = FakeClock(), FakeClock()
        self.buses = [LocalBus(store, clock, desk=desk) for store, clock in zip(stores, self.clocks, strict=True)]
        self.beaten = 0
        patient = self.buses[1]._context
        patch.setattr(patient.validators, "_lane", lambda pair: None)

        def watched(office: BusContext, raw: bytes, whom: Whom, began: float) -> NewMessage | None:
            entry = send_fast(office, raw, whom, began) if office is not patient else None
            self.beaten += entry is not None
            return entry

        patch.setattr("telex.bus.local.send_fast", watched)

    def send(self, raw: Any, **how: Any) -> Receipt:
        return self.both("send", raw, **how)  # type: ignore[no-any-return]

    def both(self, verb: str, *args: Any, **how: Any) -> Any:
        one, other = (answer(bus, verb, *args, **how) for bus in self.buses)
        assert one == other
        return one

    def took_it(self, raw: Any, **how: Any) -> bool:
        """Send a message that must be accepted. Did it take the beaten track?"""
        before = self.beaten
        assert self.send(raw, **how).accepted
        return self.beaten > before

    def later(self, seconds: float) -> None:
        for clock in self.clocks:
            clock.leap(seconds)

    def are_alike(self) -> bool:
        """Every event, message, delivery and member."""
        one, other = (run_sync(record(bus.store)) for bus in self.buses)
        return one == other


def answer(bus: LocalBus, verb: str, *args: Any, **how: Any) -> Any:
    try:
        return run_sync(getattr(bus, verb)(*args, **how))
    except TelexError as error:
        return type(error), str(error)


async def record(store: Store) -> list[Any]:
    events = await store.events(Query(), 100_000)
    messages = [message for event, message in events if message is not None and event.seq == message.seq]
    kept: list[Any] = [*events, *await store.members(), *await store.overdue(float("inf"), 1000)]
    for message in messages:
        kept += await store.deliveries(message.seq)
    return kept


OpenTwins = Callable[..., Twins]


@pytest.fixture(params=["memory", pytest.param("sqlite", marks=pytest.mark.slow)])
def twins(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[OpenTwins]:
    """`twins(inbox_max=12)`: with these limits; `twins(Desk(preferred="vbw-typed"))`: at that desk."""
    opened: list[Store] = []

    def new_store() -> Store:
        path = str(tmp_path / f"{len(opened)}.db")
        store = MemoryStore() if request.param == "memory" else SqliteStore.open(path, durable=False)
        opened.append(store)
        return store

    def made(desk: CheckPolicy = STRICT, **limits: Any) -> Twins:
        desk = desk._replace(limits=LIMITS._replace(**limits))
        return Twins(monkeypatch, (new_store(), new_store()), desk)

    yield made
    for store in opened:
        run_sync(store.close())


def pair_of(dialect: Dialect, type_: MessageType) -> dict[str, str]:
    """Two agents, each called as its role, who may send this and receive it: those of the example, if it says."""
    if type_.senders == ANY:
        return {"sender": dialect.roles[0], "to": dialect.roles[1]}
    sender = type_.example.get(dialect.wire.sender or "", type_.senders[0])
    to = type_.example.get(dialect.wire.recipient or "")
    return {"sender": sender, "to": to or next(role for role in type_.receivers if role != sender)}


def said(dialect: Dialect, type_: MessageType, number: int, reply_to: str | None = None) -> bytes:
    """A message of this type, under an id of its own where the dialect has ids."""
    pair = pair_of(dialect, type_)
    sender, to = pair["sender"], pair["to"]
    return written(dialect, type_, sender, sender, to, to, f"m-{number}", "T1", reply_to)


def update(number: int) -> bytes:
    return said(VBW_TYPED, UPDATE, number)


DEV = {"sender": "dev", "to": "lead"}


def warmed(twins: Twins, **how: str) -> Twins:
    """So many updates that the next one takes the beaten track."""
    how = how or DEV
    for number in range(-OPENED_AFTER, 0):
        twins.send(update(number), **how)
    return twins
