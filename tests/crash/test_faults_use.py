"""What does a fault of time or measure look like? Clocks set wrong, too many of everything."""

import asyncio
import json
import subprocess
import sys
from pathlib import Path

import pytest

import telex
from telex.clock import SteadyClock
from telex.errors import LeaseLost
from telex.model.limits import LIMITS
from telex.model.message import NewMessage
from telex.model.text import digest_of
from telex.ports.store import LeaseRequest, Settlement, settle
from telex.stores.sqlite.store import SqliteStore
from telex.testing.contract_base import append
from tests.crash.fault_folders import ROOT

NOTE = "all is well\n"
HOUR = 3600.0


# --- the clock --------------------------------------------------------------------------------------------------------


class Machine:
    """A wall clock and a monotonic one, as a machine has them. The first can be set."""

    def __init__(self) -> None:
        self.wall, self.ticks = 1_767_225_600.0, 0.0

    def wait(self, seconds: float) -> None:
        self.wall += seconds
        self.ticks += seconds

    def clock(self) -> SteadyClock:
        return SteadyClock(lambda: self.wall, lambda: self.ticks, self.wait)


def test_a_clock_set_back_an_hour_delays_nothing_in_a_process_that_goes_on(tmp_path: Path) -> None:
    machine = Machine()
    with telex.connect(tmp_path / "telex.db", clock=machine.clock()) as bus:
        bus.send(NOTE, sender="dev", to="lead", id="m1")
        machine.wall -= HOUR
        bus.send(NOTE, sender="dev", to="lead", id="m2")
        leased = bus.receive("lead", limit=2, lease=60.0)
        assert [one.message.id for one in leased] == ["m1", "m2"]
        machine.wait(61.0)  # the leases run out after their minute, not after an hour and a minute
        with pytest.raises(LeaseLost):
            bus.extend(leased[0].token, agent="lead")
        assert [bus.why(id_)[0].state for id_ in ("m1", "m2")] == ["stored", "stored"]


def test_a_clock_set_back_an_hour_delays_nothing_in_a_process_that_starts_then(tmp_path: Path) -> None:
    machine, store = Machine(), tmp_path / "telex.db"
    with telex.connect(store, clock=machine.clock()) as bus:
        bus.send(NOTE, sender="dev", to="lead", id="m1")
        bus.send(NOTE, sender="dev", to="qa", id="m2")
        [held] = bus.receive("qa", lease=60.0)
    machine.wall -= HOUR
    with telex.connect(store, clock=machine.clock()) as bus:
        assert [one.message.id for one in bus.receive("lead")] == ["m1"]
        assert bus.send(NOTE, sender="dev", to="qa", id="m2").duplicate
        machine.wait(61.0)
        with pytest.raises(LeaseLost):
            bus.extend(held.token, agent="qa")
        times = [event.at for event in bus.why("m1")[0].events]
        assert times == sorted(times)


def test_a_clock_set_forward_an_hour_takes_leases_away_but_no_message(tmp_path: Path) -> None:
    machine = Machine()
    with telex.connect(tmp_path / "telex.db", clock=machine.clock()) as bus:
        bus.send(NOTE, sender="dev", to="lead", id="m1")
        [leased] = bus.receive("lead", lease=60.0)
        machine.wall += HOUR
        assert [one.message.id for one in bus.receive("lead")] == ["m1"]
        with pytest.raises(LeaseLost):
            bus.ack(leased.token, agent="lead")


# --- far too much -----------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_two_hundred_waiting_readers_each_get_one_of_two_hundred_messages(tmp_path: Path) -> None:
    async def everybody() -> list[str]:
        async with telex.connect(tmp_path / "telex.db") as bus:
            readers = [asyncio.ensure_future(bus.receive("lead", wait=60.0)) for _ in range(200)]
            await asyncio.sleep(0.1)  # they are all asleep by now, or will find something at once: both are well
            for number in range(200):
                await bus.send(NOTE, sender="dev", to="lead", id=f"m{number}")
            return [one.message.id for leased in await asyncio.gather(*readers) for one in leased]

    assert sorted(asyncio.run(everybody())) == sorted(f"m{number}" for number in range(200))


@pytest.mark.slow
def test_twenty_waiting_processes_each_get_one_of_twenty_messages(tmp_path: Path) -> None:
    store = str(tmp_path / "telex.db")
    command = [sys.executable, "-m", "telex", "receive", "--as", "lead", "--wait", "60", "--json", "--store", store]
    readers = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT) for _ in range(20)]
    with telex.connect(store) as bus:
        for number in range(20):
            assert bus.send(NOTE, sender="dev", to="lead", id=f"m{number}").accepted
    told = [json.loads(reader.communicate(timeout=90)[0]) for reader in readers]
    assert sorted(one["id"] for one in told) == sorted(f"m{number}" for number in range(20))


def test_a_message_of_one_mebibyte_passes_whole_and_one_byte_more_is_refused(tmp_path: Path) -> None:
    body = "x" * LIMITS.message_bytes_max
    with telex.connect(tmp_path / "telex.db") as bus:
        assert bus.send(body, sender="dev", to="lead", id="m1").accepted
        [leased] = bus.receive("lead")
        assert leased.message.raw == body.encode()
        refused = bus.send(body + "x", sender="dev", to="lead", id="m2", check=False)
        assert (refused.accepted, [finding.code for finding in refused.findings]) == (False, ["too-large"])


@pytest.mark.slow
def test_an_inbox_of_a_hundred_thousand_costs_no_more_to_read_or_fill_than_one_of_a_hundred(tmp_path: Path) -> None:
    few, many = tmp_path / "few.db", tmp_path / "many.db"
    asyncio.run(put(few, 100))
    asyncio.run(put(many, 100_000))
    steps_few, steps_many = asyncio.run(steps_to_use(few)), asyncio.run(steps_to_use(many))
    assert steps_many <= steps_few * 2  # trees are deeper, and that is all


def entry(number: int) -> NewMessage:
    raw = f"note {number}".encode()
    return NewMessage(
        f"m{number}", 1000.0, "dev", "dev", "lead", None, None, 3, None, None, digest_of(raw), raw, ("lead",)
    )


async def send(store: SqliteStore, *numbers: int) -> None:
    await append(store, [entry(number) for number in numbers], dedup_since=0.0, inbox_max=1_000_000)


async def put(path: Path, count: int) -> None:
    store = SqliteStore.open(str(path), durable=False)
    for start in range(0, count, 1000):
        await send(store, *range(start, min(start + 1000, count)))
    await store.close()


async def steps_to_use(path: Path) -> int:
    """How many steps of SQLite's machine ten sends, leases and acks take, in tens."""
    store, steps = SqliteStore.open(str(path)), 0

    def count() -> bool:
        nonlocal steps
        steps += 1
        return False

    await send(store, 1_000_000)  # the first in a process counts the inbox, and once in a while another
    store._file._connection.set_progress_handler(count, 10)
    for number in range(10):
        await send(store, 1_000_001 + number)
        [leased] = await store.lease(LeaseRequest(("lead",), "lead", 2000.0, 2060.0, 1))
        assert leased.message.id == f"m{number}"
        done = Settlement(leased.delivery, "leased", "acked", 2000.0, "acked", "lead", leased.fence, running_at=2000.0)
        assert [one.done for one in await settle(store, [done])] == [True]
    await store.close()
    return steps
