"""Does a program notice that its bus is a network away? Only where there is something to do about it."""

import asyncio
import gc
import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import telex
from telex.client import SyncBus
from telex.errors import OutcomeUnknown, StoreUnavailable
from telex.http_client.bus import RemoteBus
from telex.http_client.transport import RetryTransport
from telex.ports.environment import carrying
from telex.ports.store import Query
from telex.telemetry import carried_by
from telex.validation.check import STRICT
from tests.bus.bus_team import speech_of
from tests.http_client.http_client_kit import IMPATIENT, NOTE, Faulty, Process, over, simulated_time
from tests.proofs import proves
from tests.surfaces.surfaces_kit import SECONDS_MAX, Hub, hub

__all__ = ["hub"]  # a fixture

TRACE = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


# --- again -----------------------------------------------------------------------------------------------------------


@proves("http_client/send-once")
@pytest.mark.parametrize("faults", [["lost"], ["not there", "lost", "lost"], ["busy", "lost"]])
def test_a_send_whose_answer_was_lost_is_sent_again_and_kept_once(hub: Hub, faults: list[str | None]) -> None:
    wire = Faulty(hub.url, list(faults))
    bus = over(wire)
    receipt = bus.send(NOTE, sender="dev", to="lead")
    assert receipt.accepted
    assert receipt.duplicate
    assert len({dict(one.query)["id"] for one in wire.asked}) == 1
    assert [message.id for _, message in bus.inbox("lead")] == [receipt.id]
    bus.close()


@proves("http_client/own-id")
def test_a_message_that_has_an_id_is_given_no_other(hub: Hub) -> None:
    wire = Faulty(hub.url, ["lost"])
    bus = over(wire)
    spoken = speech_of("build-flow", "STATUS_UPDATE", "own-1")
    assert bus.send(spoken.raw, sender=spoken.sender).id == "own-1"
    assert all("id" not in dict(one.query) for one in wire.asked)
    assert [story.state for story in bus.why("own-1")] == ["stored"]
    bus.close()


@proves("http_client/ack-again")
def test_a_receive_and_an_ack_are_asked_again(hub: Hub) -> None:
    wire = Faulty(hub.url, [])
    bus = over(wire)
    for id_ in ("n-1", "n-2"):
        bus.send(NOTE + id_, sender="dev", to="lead", id=id_)
    wire.faults += ["not there", None]
    [leased] = bus.receive("lead")
    wire.faults += ["lost"]
    assert bus.ack(leased.token, agent="lead") is False  # it was acked before: by ourselves
    assert bus.why("n-1")[0].state == "acked"
    bus.close()


@proves("http_client/not-twice")
def test_what_may_not_be_done_twice_is_not_asked_twice(hub: Hub) -> None:
    wire = Faulty(hub.url, [])
    bus = over(wire)
    bus.send(NOTE, sender="dev", to="lead", id="n-1")
    [leased] = bus.receive("lead")
    wire.faults += ["not there", "lost"]
    with pytest.raises(OutcomeUnknown):
        bus.nack(leased.token, agent="lead", reason="no table")
    assert len([one for one in wire.asked if one.path == "/nack"]) == 2  # the first had certainly not arrived
    bus.close()


@proves("http_client/unreachable")
def test_a_hub_that_stays_away_is_said_to_be_away(hub: Hub) -> None:
    bus = over(Faulty(hub.url, ["not there"] * 99), limits=IMPATIENT)
    with pytest.raises(StoreUnavailable) as away:
        bus.send(NOTE, sender="dev", to="lead")
    assert "telex serve" in away.value.say
    lossy = over(Faulty(hub.url, ["lost"] * 99), limits=IMPATIENT)
    with pytest.raises(OutcomeUnknown) as unknown:
        lossy.send(NOTE, sender="dev", to="lead")
    bus.close()
    lossy.close()
    assert unknown.value.id
    with telex.connect(hub.url) as there:
        [(_, message)] = there.inbox("lead")
    assert message.id == unknown.value.id


@proves("http_client/warning")
def test_whoever_waits_for_a_hub_is_told_so_once_and_not_for_a_moment(
    hub: Hub, caplog: pytest.LogCaptureFixture
) -> None:
    _, clock = simulated_time()

    def asked(faults: list[str | None]) -> list[str]:
        caplog.clear()
        bus = SyncBus(RemoteBus.over(RetryTransport([Faulty(hub.url, faults)], clock, hub.url), clock, STRICT))
        bus.roster()
        bus.close()
        return [record.getMessage() for record in caplog.records if record.name == "telex.http_client"]

    assert asked(["not there"] * 4) == []
    assert asked(["not there"] * 7) == [f"{hub.url} does not answer; retrying for up to 5 s"]
    assert asked(["busy", *["not there"] * 12]) == [f"{hub.url} does not answer; retrying for up to 60 s"]


@proves("http_client/dead")
@pytest.mark.parametrize("before, seconds", [([], 5), ([None], 60)], ids=["never answered", "answered before"])
def test_a_dead_hub_fails_in_seconds_and_one_that_has_answered_is_given_a_minute(
    hub: Hub, before: list[str | None], seconds: float
) -> None:
    moment, clock = simulated_time()
    line = RetryTransport([Faulty(hub.url, [*before, *["not there"] * 99])], clock, hub.url)
    bus = SyncBus(RemoteBus.over(line, clock, STRICT))
    for _ in before:
        bus.roster()
    with pytest.raises(StoreUnavailable):
        bus.roster()
    bus.close()
    assert moment[0] == pytest.approx(seconds)


@proves("http_client/dead")
def test_how_long_a_hub_is_asked_is_a_setting(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("telex.toml").write_text("[limits]\nhub_connect_seconds = 0.1\n", encoding="utf-8")
    with telex.connect("http://127.0.0.1:1") as bus, pytest.raises(StoreUnavailable):
        bus.roster()


@proves("http_client/long-poll")
def test_a_long_wait_is_asked_for_in_steps(hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("telex.http_client.bus.STEP_SECONDS", 0.05)
    wire = Faulty(hub.url, [])
    bus = over(wire)
    assert bus.receive("lead", wait=2.0) == []
    waits = [json.loads(one.body or b"")["wait"] for one in wire.asked]
    assert len(waits) > 2
    assert max(waits) <= 0.05
    bus.close()


# --- a hub that restarts ---------------------------------------------------------------------------------------------


@pytest.fixture
def process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Process]:
    for name in ("TELEX_STORE", "TELEX_TOKEN", "TELEX_CONFIG"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)
    found = Process(tmp_path)
    yield found
    found.kill()


@proves("http_client/restart")
def test_a_hub_that_is_killed_and_started_again_is_not_noticed(process: Process) -> None:
    seen: list[str] = []
    came, got = threading.Event(), threading.Event()

    def follow() -> None:
        with telex.connect(process.url) as bus:
            for _, message in bus.events(Query(kinds=("accepted",)), follow=True):
                assert message is not None
                seen.append(message.id)
                came.set()
                if len(seen) == 3:
                    return

    def wait_for_it() -> None:
        with telex.connect(process.url) as bus:
            [leased] = bus.receive("lead", wait=SECONDS_MAX)
            assert bus.ack(leased.token, agent="lead")
            got.set()

    with telex.connect(process.url) as bus:
        bus.send(NOTE, sender="dev", to="qa", id="n-1")
        threads = [threading.Thread(target=one) for one in (follow, wait_for_it)]
        for thread in threads:
            thread.start()
        assert came.wait(SECONDS_MAX)
        process.kill()
        sending = threading.Thread(target=lambda: bus.send(NOTE, sender="dev", to="lead", id="n-2"))
        sending.start()
        process.begin()
        sending.join(SECONDS_MAX)
        assert got.wait(SECONDS_MAX)
        bus.send(NOTE, sender="dev", to="qa", id="n-3")
        for thread in threads:
            thread.join(SECONDS_MAX)
        assert seen == ["n-1", "n-2", "n-3"]
        assert bus.why("n-2")[0].state == "acked"


# --- on a loop -------------------------------------------------------------------------------------------------------


@proves("http_client/async")
def test_the_same_verbs_are_there_for_an_event_loop(hub: Hub) -> None:
    async def play() -> None:
        async with telex.connect(hub.url) as bus:
            waiting = asyncio.ensure_future(bus.receive("lead", wait=30.0))
            following = bus.events(Query(kinds=("accepted",)), follow=True)
            receipt = await bus.send({"just": "an object"}, sender="dev", to="lead", id="n-1", check=False)
            assert not receipt.accepted
            receipt = await bus.send(NOTE, sender="dev", to="lead", id="n-2")
            [leased] = await waiting
            assert (receipt.accepted, leased.message.id) == (True, "n-2")
            _, message = await anext(following)
            assert message is not None
            assert message.id == "n-2"
            await following.aclose()

    asyncio.run(play())


@proves("http_client/trace")
def test_the_trace_that_a_message_is_sent_in_reaches_the_hub(hub: Hub) -> None:
    async def play() -> str | None:
        async with telex.connect(hub.url) as bus:
            with carrying(TRACE):
                await bus.send(NOTE, sender="dev", to="lead")
            [(_, message)] = await bus.inbox("lead")
            return await carried_by(bus, message)

    assert asyncio.run(play()) == TRACE


@proves("http_client/stop-following")
def test_whoever_looks_away_in_the_middle_leaves_nothing_open(hub: Hub) -> None:
    async def first(bus: Any) -> str:
        async for _, message in bus.events(Query(kinds=("accepted",)), follow=True):
            return str(message.id)
        raise AssertionError("it goes on for ever")

    async def play() -> None:
        async with telex.connect(hub.url) as bus:
            await bus.send(NOTE, sender="dev", to="lead", id="n-1")
            assert [await first(bus) for _ in range(3)] == ["n-1"] * 3
            gc.collect()  # what was left behind would be complained about here
            waiting = asyncio.ensure_future(bus.receive("qa", wait=30.0))
            await asyncio.sleep(0)
            waiting.cancel()
            assert (await bus.why("n-1"))[0].state == "stored"

    asyncio.run(play())
    gc.collect()
