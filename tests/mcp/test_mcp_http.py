"""Who is it that calls over HTTP, and what happens when it hangs up?"""

import asyncio
import json
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx2
import pytest
from mcp import Client, MCPError

from telex.connection import connect
from telex.errors import StoreUnavailable
from tests.http.auth_kit import connected, head, read_all
from tests.mcp.mcp_kit import ERAS, NEW, OLD, QUICK, Agent, anyio_backend, at_hand, over_http, served
from tests.proofs import proves
from tests.surfaces.surfaces_kit import Time, running_hub

__all__ = ["anyio_backend"]  # a fixture
pytestmark = pytest.mark.anyio


@pytest.mark.parametrize("era", ERAS)
@proves("mcp/http/token")
async def test_a_token_says_who_calls_and_no_address_says_otherwise(era: str, tmp_path: Path) -> None:
    async with over_http(tmp_path, era) as meet:
        dev = await meet(None, token="dev's")
        assert (await dev.send(message="It is red.", to="lead", id="n-1")).tree["accepted"]
        assert (await dev.why(id="n-1")).tree["answer"][0]["message"]["sender"] == "dev"
        for name, role, code in (("lead", None, "identity-differs"), ("dev", "lead", "role-claim-differs")):
            posing = await meet(name, role=role, token="dev's")
            for said in (
                await posing.inbox(),
                await posing.send(message="Go.", to="qa"),
                await posing.wait(seconds=0),
            ):
                assert (said.wrong, said.tree["code"]) == (True, code)
        same = await meet("dev", role="dev", token="dev's")
        assert not (await same.inbox()).wrong


@proves("mcp/http/nameless")
async def test_at_home_the_address_says_who_calls_and_without_it_nobody_acts(tmp_path: Path) -> None:
    async with over_http(tmp_path, NEW) as meet:
        nobody, dev = await meet(None), await meet("dev")
        said = await nobody.send(message="It is red.", to="lead")
        assert (said.wrong, said.tree["code"]) == (True, "sender-unknown")
        assert "/mcp?as=NAME" in said.text
        assert (await dev.send(message="It is red.", to="lead", id="n-1")).tree["accepted"]
        assert not (await nobody.why(id="n-1")).wrong
        assert not (await nobody.team()).wrong


@proves("mcp/http/operator")
async def test_a_person_s_token_acts_as_a_person_or_under_the_name_it_gives(tmp_path: Path) -> None:
    async with over_http(tmp_path, NEW) as meet:
        for name, sender in ((None, "human"), ("lead", "lead")):
            person = await meet(name, token="a person's")
            kept = await person.send(message="Stop, please.", to="dev")
            assert (await person.why(id=kept.tree["id"])).tree["answer"][0]["message"]["sender"] == sender


@pytest.mark.parametrize("era", [OLD, NEW])
@proves("mcp/wait/hung-up")
async def test_whoever_hangs_up_while_waiting_takes_nothing_with_it(era: str, tmp_path: Path) -> None:
    async with connect(tmp_path / "hub.db", settings=QUICK) as bus:
        begun, over = asyncio.Event(), asyncio.Event()
        receive = bus.receive

        async def watched(*args: Any, **more: Any) -> Any:
            begun.set()
            try:
                return await receive(*args, **more)
            finally:
                over.set()

        bus.receive = watched  # type: ignore[method-assign]
        async with served(bus) as address:
            await _hang_up(address, era, begun)
            async with asyncio.timeout(20):
                await over.wait()
            await bus.send("Build it.", sender="lead", to="dev", id="n-1")
            [leased] = await receive("dev")
            assert (leased.message.id, leased.attempt) == ("n-1", 1)


async def _hang_up(address: str, era: str, begun: asyncio.Event) -> None:
    async with Client(f"{address}?as=dev", mode=era) as client:
        waiting = asyncio.ensure_future(Agent(client).wait())
        await begun.wait()
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)


@proves("mcp/http/folders")
def test_nobody_out_there_is_told_where_the_store_lies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def away(*_: Any, **__: Any) -> None:
        raise StoreUnavailable("sqlite: /var/lib/secret-team/telex.db cannot be opened: try again.")

    async def play() -> None:
        for door, told in ((over_http, False), (at_hand, True)):
            async with door(tmp_path, NEW) as meet:
                dev = await meet("dev")
                said = await dev.why(id="n-1")
                assert ("secret-team" in said.text, "secret-team" in str(said.tree)) == (told, told)
                assert "telex.db cannot be opened: try again." in said.text
                with pytest.raises(MCPError) as failed:
                    await dev.read("telex://thread/c-1")
                assert ("secret-team" in str(failed.value.error)) == told

    monkeypatch.setattr("telex.bus.local.LocalBus.why", away)
    monkeypatch.setattr("telex.bus.local.LocalBus.trace", away)
    asyncio.run(play())


@pytest.mark.parametrize("era", [OLD, NEW])
@proves("mcp/http/restart")
async def test_a_hub_that_was_restarted_knows_its_clients_as_before(era: str, tmp_path: Path) -> None:
    """In the old protocol too, where others answer that the session is not known and many clients give up."""

    import httpx2

    async with connect(tmp_path / "hub.db", settings=QUICK) as bus:
        async with served(bus) as address:
            old_headers = await _headers(address, era)
        async with served(bus) as address, httpx2.AsyncClient() as client:
            call = {"name": "team", "arguments": {}}
            if era == NEW:
                call["_meta"] = {
                    "io.modelcontextprotocol/protocolVersion": NEW,
                    "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
                    "io.modelcontextprotocol/clientCapabilities": {},
                }
                old_headers |= {"mcp-method": "tools/call", "mcp-name": "team"}
            body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call}
            answer = await client.post(f"{address}?as=dev", json=body, headers=old_headers)
            assert answer.status_code == 200, answer.text
            assert "no members yet" in answer.text


async def _headers(address: str, era: str) -> dict[str, str]:
    """What a client shows with every request, once it has been let in."""
    import httpx2
    from mcp.client.streamable_http import streamable_http_client

    async with httpx2.AsyncClient() as asking:
        transport = streamable_http_client(f"{address}?as=dev", http_client=asking)
        shown: dict[str, str] = {}

        async def look(request: httpx2.Request) -> None:
            wanted = ("mcp-session-id", "mcp-protocol-version", "accept", "content-type")
            shown.update({name: value for name, value in request.headers.items() if name in wanted})

        asking.event_hooks["request"].append(look)
        async with Client(transport, mode=era) as client:
            await client.list_tools()
        return shown


@proves("mcp/lease/renewed")
async def test_a_hub_renews_the_leases_taken_through_it(tmp_path: Path) -> None:
    settings = QUICK._replace(limits=QUICK.limits._replace(lease_seconds=1.0))

    async with connect(tmp_path / "hub.db", settings=settings) as bus, served(bus, settings) as address:
        await bus.send("Build it.", sender="dev", to="lead", id="n-1")
        async with Client(f"{address}?as=lead") as client:
            lead = Agent(client)
            token = (await lead.wait()).text.partition("token ")[2].partition(",")[0]
            while "extended" not in (await lead.why(id="n-1")).text:
                await asyncio.sleep(0.1)
            assert (await lead.ack(token=token)).text == "acked"
            assert "You hold" not in (await lead.wait(seconds=0)).text


@proves("mcp/http/blanks")
def test_blanks_around_the_value_of_a_header_are_no_part_of_it(tmp_path: Path) -> None:
    meta = {"protocolVersion": NEW, "clientInfo": {"name": "test", "version": "1"}, "clientCapabilities": {}}
    params = {"name": "team", "_meta": {f"io.modelcontextprotocol/{key}": value for key, value in meta.items()}}
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params})
    headers = [
        *("Content-Type: application/json \t", "Accept: application/json, text/event-stream  ", "Connection: close "),
        *(f"MCP-Protocol-Version: \t{NEW} \t", "Mcp-Method:  tools/call ", "Mcp-Name:team\t"),
        f"Content-Length: {len(body)}",
    ]
    with running_hub(tmp_path / "hub.db", Time()) as hub, connected(urlsplit(hub.url).port or 0) as connection:
        connection.sendall(head(urlsplit(hub.url).port or 0, "POST /mcp?as=dev HTTP/1.1", *headers) + body.encode())
        answer = read_all(connection)
    assert answer.startswith(b"HTTP/1.1 200 "), answer
    assert b"no members yet" in answer


@proves("hub/no-mcp")
def test_a_hub_without_the_sdk_says_at_its_mcp_door_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("telex.surfaces.http.app.find_spec", lambda name: None)
    with running_hub(tmp_path / "hub.db", Time()) as hub, httpx2.Client(base_url=hub.url) as client:
        for method in ("GET", "POST"):
            told = client.request(method, "/mcp?as=dev")
            assert (told.status_code, told.json()["code"]) == (404, "not-found")
            assert "pip install 'telex[mcp]'" in told.json()["detail"]
