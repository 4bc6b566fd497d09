"""How large does one answer become? No larger than its door and its reader can hold, however much was asked for."""

import asyncio
import itertools
import json
from collections.abc import Callable
from typing import Any

import pytest

import telex
from telex.errors import StoreUnavailable
from telex.model.limits import LIMITS
from telex.model.message import CHANGES
from telex.ports.bus import Bus
from telex.surfaces import size_limits
from telex.surfaces.mcp import tool_calls
from telex.surfaces.mcp.identity import Identity
from telex.surfaces.mcp.tool_calls import CallContext
from tests.bus.bus_team import speech_of
from tests.http.http_kit import QUIET, Asking, Door, hub_test, played, soon
from tests.proofs import proves

SMALL = QUIET._replace(limits=LIMITS._replace(message_bytes_max=2_000))
ROOM = 10_000  # for five of the largest and a little more
LARGE, FEW = b"The build is red. " * 110, b"Red."


@pytest.fixture(autouse=True)
def little_room(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(size_limits, "LEASED_BYTES", ROOM)
    monkeypatch.setattr(size_limits, "LISTED_BYTES", 0)  # the sizes below are those of the texts


async def sent(bus: Bus, raw: bytes, count: int) -> None:
    for number in range(count):
        await bus.send(raw, sender="dev", to="lead", id=f"n-{number:02}")


async def happened(bus: Bus, kind: str) -> int:
    return sum([event.kind == kind async for event, _ in bus.events()])


@proves("hostile_hub/receive-bytes")
@hub_test(settings=SMALL)
async def test_of_large_messages_fewer_are_leased_than_were_asked_for_and_the_others_wait(door: Door) -> None:
    await sent(door.bus, LARGE, 12)
    ids, sizes = [], []
    while leases := (await door.post("/receive", agent="lead", limit=1_000)).json()["answer"]:
        sizes.append(sum(len(lease["message"]["raw"]) for lease in leases))
        ids += [lease["message"]["id"] for lease in leases]
        assert {lease["attempt"] for lease in leases} == {1}
    assert ids == [f"n-{number:02}" for number in range(12)]
    assert max(sizes) < ROOM + len(LARGE)  # the one that goes beyond is the last
    assert len(sizes) == 2
    assert await happened(door.bus, "leased") == 12  # and so none twice
    assert await happened(door.bus, "nacked") == 0


@proves("hostile_hub/receive-bytes")
@hub_test(settings=SMALL)
async def test_of_small_messages_all_come_that_were_asked_for(door: Door) -> None:
    await sent(door.bus, FEW, 40)
    for limit, come in ((30, 30), (30, 10)):
        leases = (await door.post("/receive", agent="lead", limit=limit)).json()["answer"]
        assert len(leases) == come


@proves("hostile_hub/receive-bytes")
@hub_test(settings=QUIET)
async def test_a_message_larger_than_all_the_room_comes_by_itself(door: Door) -> None:
    await sent(door.bus, b"x" * 3 * ROOM, 2)
    for number in range(2):
        [leased] = (await door.post("/receive", agent="lead", limit=5)).json()["answer"]
        assert leased["message"]["id"] == f"n-{number:02}"


def second_call(bus: Bus, second: Callable[[], Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the second call of `receive` do that, and every other what it does."""
    calls_, receive = itertools.count(1), bus.receive

    async def received(*args: Any, **given: Any) -> Any:
        return await (second() if next(calls_) == 2 else receive(*args, **given))

    monkeypatch.setattr(bus, "receive", received)


@proves("http/receive/gone")
@hub_test(settings=SMALL)
async def test_who_goes_while_more_is_being_taken_holds_nothing(door: Door, monkeypatch: pytest.MonkeyPatch) -> None:
    begun = asyncio.Event()

    async def hang() -> None:
        begun.set()
        await asyncio.Event().wait()

    second_call(door.bus, hang, monkeypatch)
    await sent(door.bus, FEW, 8)
    body = json.dumps({"agent": "lead", "limit": 8}).encode()
    asked = Asking(door.app, "POST", "/receive", body=body)
    await soon(begun.wait())
    asked.go_away()
    await soon(asked.task)
    assert len(await door.bus.receive("lead", limit=8)) == 8


@proves("hostile_hub/receive-bytes")
@hub_test(settings=SMALL)
async def test_what_is_leased_is_handed_over_though_the_store_fails_before_there_is_more(
    door: Door, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fail() -> None:
        raise StoreUnavailable("the disk is gone.")

    second_call(door.bus, fail, monkeypatch)
    await sent(door.bus, FEW, 8)
    leases = (await door.post("/receive", agent="lead", limit=8)).json()["answer"]
    assert len(leases) == 5


# --- coding agents ----------------------------------------------------------------------------------------------------


def as_lead(bus: Bus) -> CallContext:
    return CallContext(bus, SMALL, lambda: Identity("lead"))


@proves("mcp/wait/bytes")
@played
async def test_a_coding_agent_is_leased_no_more_than_one_answer_can_hold() -> None:
    async with telex.connect("memory:", settings=SMALL) as bus:
        await sent(bus, LARGE, 12)
        told = await tool_calls.wait(as_lead(bus), {"limit": 1_000, "seconds": 0})
        assert len(told.tree["answer"]) == 6
        assert await happened(bus, "leased") == 6


@proves("mcp/inbox/bytes")
@played
async def test_an_inbox_of_large_messages_is_not_read_to_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("telex.surfaces.size_limits.LOOK_BYTES", ROOM)
    async with telex.connect("memory:", settings=SMALL) as bus:
        await sent(bus, LARGE, 60)
        told = (await tool_calls.inbox(as_lead(bus), {"budget": 100_000})).tree
        assert (len(told["messages"]), told["more"]) == (15, True)
    async with telex.connect("memory:", settings=SMALL) as bus:
        await sent(bus, FEW, 60)
        told = (await tool_calls.inbox(as_lead(bus), {"budget": 100_000})).tree
        assert (len(told["messages"]), told["more"]) == (60, False)


@proves("mcp/inbox/bytes")
@played
async def test_of_many_ids_only_the_first_are_read_and_the_others_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tool_calls, "LOOK_BYTES", ROOM)
    async with telex.connect("memory:", settings=SMALL) as bus:
        await sent(bus, LARGE, 20)
        ids = tuple(f"n-{number:02}" for number in range(20))
        told = await tool_calls.inbox(as_lead(bus), {"ids": ids, "budget": 100_000})
        assert (len(told.tree["messages"]), told.tree["left_out"]) == (6, 14)
        assert "and 14 more" in told.text
        assert await happened(bus, "read") == 6
        none = await tool_calls.inbox(as_lead(bus), {"ids": tuple(f"no-{number}" for number in range(1_000))})
        assert none.tree["left_out"] == 1_000 - tool_calls.LISTED_MAX


@proves("http/rendering/room")
@hub_test(settings=SMALL)
async def test_what_readers_are_given_takes_room_as_well(door: Door, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("telex.surfaces.size_limits.LOOK_BYTES", ROOM)
    await door.bus.join("lead", dialects=["build-flow"])
    # Messages that are larger in other words than in their own: each of their fields is a place that was lost
    for number in range(10):
        update = speech_of("vbw-typed", "execution_update", f"u-{number:02}")
        update.tree["payload"] |= {f"k{field}": 0 for field in range(60)}
        receipt = await door.bus.send(json.dumps(update.tree).encode(), sender="dev", to="lead")
        assert receipt.accepted, receipt.findings
    waiting = (await door.client.get("/inbox/lead", params={"limit": 100})).json()["answer"]
    leased = (await door.post("/receive", agent="lead", limit=100)).json()["answer"]
    for told in (waiting, leased):
        sizes = [_size(one["message"]["raw"], one["rendering"]) for one in told]
        assert sum(sizes[:-1]) < ROOM <= sum(sizes)  # the one that goes beyond is the last


def _size(raw: str, rendering: dict[str, Any]) -> int:
    places = [path for name in CHANGES for path in rendering[name]]
    return len(raw) + len(rendering["raw"]) + sum(map(len, places))
