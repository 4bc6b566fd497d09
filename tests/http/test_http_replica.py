"""Does a hub that shares its store answer from a copy that has what the client has seen?"""

import asyncio
from typing import Any

import pytest

import telex
from telex.surfaces.http.app import Hub
from telex.surfaces.http.tokens import AT_HOME
from tests.http.http_kit import (
    QUIET,
    TEXT,
    alive,
    complete_hub,
    every_id,
    is_problem,
    latest,
    left,
    let_in_as,
    play,
    played,
    watch,
)
from tests.http.replica_kit import FakeReplica
from tests.proofs import proves

POSITION = "telex-position"
ROUTES = ("/roster", "/inbox/lead", "/messages/no-such", "/events?limit=x")  # found or not, right or wrong


def sharing(replica: FakeReplica) -> Any:
    def shared(bus: Any) -> Any:
        bus.replica = replica
        return bus

    return shared


@proves("http/position")
@played
async def test_every_answer_has_the_position_of_the_copy() -> None:
    replica = FakeReplica(position=7)
    async with complete_hub(AT_HOME, sharing(replica)) as client:
        for route in ROUTES:
            assert (await client.get(route)).headers[POSITION] == "7"
        replica.change(position=8)
        sent = await client.post("/send?sender=dev&to=lead", content=b"The build is red.")
        assert (sent.status_code, sent.headers[POSITION]) == (201, "8")


@proves("http/position")
@played
async def test_a_request_waits_for_its_position_or_is_answered_with_503() -> None:
    replica = FakeReplica(position=3, arriving=7)
    async with complete_hub(AT_HOME, sharing(replica)) as client:
        assert (await client.get("/roster", headers={POSITION: "3"})).status_code == 200
        assert replica.waited == []
        reached = await client.get("/roster", headers={POSITION: "7"})
        assert (reached.status_code, reached.headers[POSITION]) == (200, "7")
        behind = await client.post("/send?sender=dev&to=lead", content=b"Green.", headers={POSITION: "8"})
        is_problem(behind, 503, "not-ready")
        assert replica.waited == [(7, 5.0), (8, 5.0)]
        assert (await client.get("/inbox/lead")).json() == {"answer": []}


@proves("http/position")
@played
async def test_a_position_of_another_log_is_ignored() -> None:
    replica = FakeReplica(position=3, log="new1")
    async with complete_hub(AT_HOME, sharing(replica)) as client:
        answer = await client.get("/roster", headers={POSITION: "8", "telex-log": "old1"})
        assert (answer.status_code, answer.headers["telex-log"]) == (200, "new1")
        behind = await client.get("/roster", headers={POSITION: "8", "telex-log": "new1"})
        assert (behind.status_code, replica.waited) == (503, [(8, 5.0)])


@proves("http/position/absent")
@pytest.mark.parametrize("text", ["", "x", "-1", "1.5", "9" * 19, "9" * 5_000, "٣", "0x7", "7, 8"])
def test_a_position_that_is_none_is_ignored(text: str) -> None:
    replica = FakeReplica(position=3)

    async def scene() -> None:
        async with complete_hub(AT_HOME, sharing(replica)) as client:
            answer = await client.get("/roster", headers=[(POSITION.encode(), text.encode())])
            assert (answer.status_code, answer.headers[POSITION]) == (200, "3")

    play(scene)
    assert replica.waited == []


@proves("http/position/absent")
@played
async def test_a_hub_that_shares_no_store_has_no_position() -> None:
    async with complete_hub() as client:
        answer = await client.get("/roster", headers={POSITION: "99"})
        assert (answer.status_code, POSITION in answer.headers) == (200, False)


@proves("http/live/behind")
@played
async def test_a_viewer_waits_for_the_events_that_it_has_and_gets_those_after_them() -> None:
    async with telex.connect("memory:", settings=QUIET) as bus:
        hub = Hub(sharing(FakeReplica(position=3))(bus), QUIET)
        app = let_in_as(AT_HOME, hub)
        async with alive(app):
            await bus.send(TEXT, sender="dev", to="lead")
            has = await latest(bus) + 1
            viewer = watch(app, resumed_after=has)
            await asyncio.sleep(0.05)
            assert viewer.status is None
            for _ in range(3):
                await bus.send(TEXT, sender="dev", to="lead")
            expected = await every_id(bus, after=has)
            await viewer.until(lambda: len(viewer.ids) >= len(expected))
            assert viewer.ids == expected
            await left(viewer)


@proves("http/live/behind")
@played
async def test_a_viewer_that_has_more_than_this_copy_is_sent_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("telex.surfaces.http.app.BEHIND_SECONDS_MAX", 0.1)
    async with complete_hub(AT_HOME, sharing(FakeReplica(position=3))) as client:
        await client.post("/send?sender=dev&to=lead", content=b"The build is red.")
        for query in ("", "?kinds=accepted"):
            headers = {"accept": "text/event-stream", "last-event-id": "99"}
            is_problem(await client.get(f"/events{query}", headers=headers), 503, "not-ready")
