"""What does the HTTP door say when the world fails, when a name is not one's own, and when nobody waits any more?"""

import asyncio
from typing import Any

import pytest

from telex.errors import OutcomeUnknown, StoreUnavailable
from telex.surfaces.http.asgi import ClientDisconnected, while_connected
from telex.surfaces.http.tokens import AT_HOME, Caller
from tests.http.http_kit import Asking, Door, complete_hub, hub_test, is_problem, play, played, soon
from tests.proofs import proves

DEV = Caller("dev", "dev", False, "t-1")
OPERATOR = Caller(None, None, True, "t-2")


def broken(door: Door, verb: str, error: Exception, monkeypatch: pytest.MonkeyPatch) -> None:
    async def fails(*_: Any, **__: Any) -> None:
        raise error

    monkeypatch.setattr(door.bus, verb, fails)


@proves("http/ready")
@hub_test()
async def test_a_hub_whose_store_is_away_is_alive_and_not_ready(door: Door, monkeypatch: pytest.MonkeyPatch) -> None:
    assert (await door.client.get("/readyz")).json() == {"ready": True}
    broken(door, "dead_letters", StoreUnavailable("the disk is gone."), monkeypatch)
    answer = await door.client.get("/readyz")
    is_problem(answer, 503, "store-unavailable")
    assert answer.headers["retry-after"] == "1"
    assert (await door.client.get("/healthz")).json() == {"alive": True}
    await door.hub.broadcast.end()
    is_problem(await door.client.get("/readyz"), 503, "not-ready")


@proves("http/world-fails")
@hub_test()
async def test_an_outcome_that_is_unknown_comes_with_the_id_to_send_again_with(
    door: Door, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken(door, "send", OutcomeUnknown("send it again with the id.", "m-7"), monkeypatch)
    answer = await door.send()
    assert is_problem(answer, 503, "outcome-unknown")["id"] == "m-7"
    assert answer.headers["retry-after"] == "1"
    many = await door.post("/send/batch", sender="dev", messages=[{"raw": "a"}, {"raw": "b"}])
    assert [one["code"] for one in many.json()["answer"]] == ["outcome-unknown"] * 2


@proves("http/world-fails")
@hub_test()
async def test_a_stream_over_a_store_that_is_away_is_refused(door: Door, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: Any, **__: Any) -> Any:
        raise StoreUnavailable("the disk is gone.")

    monkeypatch.setattr(door.bus, "events", fails)
    headers = {"accept": "text/event-stream", "last-event-id": "99"}
    asked = Asking(door.app, "GET", "/events", "", headers)
    await soon(asked.task)
    assert (asked.status, b"store-unavailable" in asked.told[0]) == (503, True)


# --- under whose name -------------------------------------------------------------------------------------------------


@proves("page/token/agent")
@pytest.mark.parametrize("caller", [DEV, OPERATOR, AT_HOME])
@played
async def test_the_page_is_told_who_is_looking(caller: Caller) -> None:
    async with complete_hub(caller) as client:
        told = (await client.get("/page/me")).json()
        who = {"agent": caller.agent, "role": caller.role, "operator": caller.operator}
        assert told == who | {"viewer": False, "conversation": None}


# --- what waits and is given up ---------------------------------------------------------------------------------------


@proves("http/receive/gone")
def test_what_was_done_in_the_moment_in_which_the_client_went_is_given_back() -> None:
    async def scene() -> None:
        given_back: list[str] = []

        async def keep(done: str) -> None:
            given_back.append(done)

        async def doing() -> str:
            return "a lease"

        async def has_gone() -> dict[str, Any]:
            return {"type": "http.disconnect"}

        async def stays() -> dict[str, Any]:
            await asyncio.Event().wait()
            return {}

        with pytest.raises(ClientDisconnected):
            await while_connected(has_gone, doing(), keep)
        assert given_back == ["a lease"]
        assert await while_connected(stays, doing(), keep) == "a lease"
        assert given_back == ["a lease"]

    play(scene)


@proves("http/receive/gone")
@hub_test()
async def test_a_request_that_is_cancelled_is_given_up_before_the_hub_goes_on(door: Door) -> None:
    await door.bus.join("lead")
    asked = Asking(door.app, "POST", "/receive", body=b'{"agent": "lead", "wait": 60}')
    await asyncio.sleep(0.02)
    asked.task.cancel()
    await asyncio.gather(asked.task, return_exceptions=True)
    names = {task.get_coro().__qualname__ for task in asyncio.all_tasks()}  # type: ignore[union-attr]
    assert not [name for name in names if "_call" in name or "gone" in name]
    await door.send()
    [leased] = await door.bus.receive("lead")
    assert leased.attempt == 1
