"""Send with compiled validators: receipts and record are the same as without them."""

from typing import Any

import pytest

from telex.bus.local import LocalBus
from telex.client import run_sync
from telex.delivery.validator_cache import OPENED_AFTER
from telex.dialects.registry import BUILT_IN
from telex.dialects.schema import ANY, Dialect, MessageType
from telex.model.limits import LIMITS
from telex.ports.bus import Receipt
from telex.ports.store import EVERYTHING, Store, deliveries_of, events_with_messages, overdue_requests
from telex.stores.memory import MemoryStore
from telex.testing import FakeClock
from telex.testing.sim_team import SimHeader, written
from telex.validation.check import CheckPolicy
from tests.bus_team import codes, each

JSON_TYPES = [(one, type_) for one in BUILT_IN if one.form == "json" for type_ in one.types.values()]


def sender_and_recipient(dialect: Dialect, type_: MessageType) -> tuple[str, str]:
    """Two agents, each named as its role, that may send and receive the type."""
    if type_.senders == ANY:
        return dialect.roles[0], dialect.roles[1]
    sender = type_.example.get(dialect.wire.sender or "", type_.senders[0])
    to = type_.example.get(dialect.wire.recipient or "")
    return sender, to or next(role for role in type_.receivers if role != sender)


async def record(store: Store) -> list[Any]:
    events = await store.read(events_with_messages, EVERYTHING, 10_000)
    sent = [message.seq for event, message in events if message is not None and event.seq == message.seq]
    deliveries = [await store.read(deliveries_of, seq) for seq in sent]
    return [
        *events,
        *deliveries,
        *await store.read(lambda reads: reads.members()),
        *await store.read(overdue_requests, float("inf"), 1000),
    ]


@each(JSON_TYPES)
def test_every_type_is_answered_and_stored_alike(dialect: Dialect, type_: MessageType) -> None:
    """New, sent again, sent with other bytes under the same id, and to a full inbox."""
    count = OPENED_AFTER + 2
    policy = CheckPolicy(forced=dialect, work=False, limits=LIMITS._replace(inbox_max=count))
    buses = [LocalBus(MemoryStore(), FakeClock(), desk=policy) for _ in range(2)]
    validators = [bus._context.validators for bus in buses]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(validators[1], "_lane", lambda participants: None)
        sender, to = sender_and_recipient(dialect, type_)

        def send(number: int, more: bytes = b"") -> Receipt:
            header = SimHeader(sender, sender, to, to, f"m-{number}", topic="T1")
            raw = written(dialect, type_, header) + more
            one, other = (run_sync(bus.send(raw, sender=sender, to=to)) for bus in buses)
            assert one == other
            return one

        assert all(send(number).accepted for number in range(count))
        if dialect.wire.id is not None:
            assert send(count - 1).duplicate
            assert codes(send(count - 1, b" ").findings) == ["id-reused"]
        assert codes(send(count).findings) == ["inbox-full"]
    assert [bool(one._open) for one in validators] == [True, False]
    one, other = (run_sync(record(bus.store)) for bus in buses)
    assert one == other
