"""Tests of messages whose stored bytes have changed: they are not delivered, are reported, and hold up no other."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import apsw
import pytest

import telex
from telex.client import SyncBus
from telex.config import Settings
from telex.errors import RequestTimedOut
from telex.model.message import LeasedMessage
from telex.stores.doctor import examine
from tests.proofs import proves

pytestmark = proves("bus/damaged")


@pytest.fixture
def store(tmp_path: Path) -> Path:
    return tmp_path / "telex.db"


@pytest.fixture
def bus(store: Path) -> Iterator[SyncBus]:
    with telex.connect(store, settings=Settings()) as bus:
        for id_ in ("m1", "m2", "m3"):
            bus.send(f"pay 100 for {id_}", sender="dev", to="lead", id=id_)
        yield bus


def damage(store: Path, *ids: str) -> None:
    """Change a byte, as a disk or a program that is not Telex may do it."""
    with closing(apsw.Connection(str(store))) as connection:
        for id_ in ids:
            sql = "UPDATE messages SET raw = CAST(replace(CAST(raw AS TEXT), '100', '900') AS BLOB) WHERE id = ?"
            connection.execute(sql, (id_,))


def test_a_damaged_message_is_not_delivered_and_its_sender_is_told(store: Path, bus: SyncBus) -> None:
    damage(store, "m1")
    assert [lease.message.id for lease in bus.receive("lead")] == ["m2"]
    [story] = bus.why("m1")
    assert (story.state, story.events[-1].kind) == ("dead", "dead")
    [report] = bus.receive("dev")
    assert (report.message.sender, report.message.reply_to) == ("telex", "m1")
    assert b"damaged" in report.raw


def test_damaged_messages_hold_up_no_others(store: Path, bus: SyncBus) -> None:
    damage(store, "m1", "m3")
    assert [lease.message.id for lease in bus.receive("lead", limit=10)] == ["m2"]
    assert {message.id for _, message in bus.dead_letters()} == {"m1", "m3"}


def test_where_every_message_is_damaged_nothing_is_delivered(store: Path, bus: SyncBus) -> None:
    damage(store, "m1", "m2", "m3")
    assert bus.receive("lead") == []
    assert bus.retry("m1") == 1
    assert bus.receive("lead") == []
    assert bus.why("m1")[0].state == "dead"


def test_a_damaged_message_is_not_translated_for_its_reader_either(store: Path, bus: SyncBus) -> None:
    bus.join("lead", dialects=("build-flow",))
    damage(store, "m1", "m2")
    assert [lease.message.id for lease in bus.receive("lead", limit=3)] == ["m3"]


def test_a_damaged_answer_is_no_answer(store: Path, bus: SyncBus) -> None:
    def ask(id_: str) -> str:
        answer = bus.request("May I pay?", sender="dev", to="lead", id=id_, timeout=0.02)
        assert isinstance(answer, LeasedMessage)
        return answer.message.id

    for id_ in ("q1", "q2"):
        with pytest.raises(RequestTimedOut):
            ask(id_)
        bus.send("yes, 100", sender="lead", to="dev", id=f"re-{id_}", reply_to=id_)
    damage(store, "re-q1")
    with pytest.raises(RequestTimedOut):
        ask("q1")
    assert ask("q2") == "re-q2"


def test_doctor_names_a_damaged_message(store: Path, bus: SyncBus) -> None:
    damage(store, "m1")
    bus.receive("lead")
    [check] = [check for check in examine(str(store), 0.0) if check.name == "digests"]
    assert (check.ok, "m1" in check.say, "m2" in check.say) == (False, True, False)
