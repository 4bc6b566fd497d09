"""Viewer tokens against every route of the hub."""

import asyncio
import json
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest
from starlette.routing import Route

import telex
from telex.ports.bus import Bus
from telex.protocol.verbs import VERBS
from telex.surfaces.alerts.runner import AlertLog
from telex.surfaces.cli.main import main
from telex.surfaces.cli.usage import DONE, USAGE
from telex.surfaces.http import page
from telex.surfaces.http.answer import answer_routes
from telex.surfaces.http.app import Hub
from telex.surfaces.http.hooks import hook_routes
from telex.surfaces.http.tokens import Caller, Token, TokenFile, matching, new_viewer_token
from telex.surfaces.http.viewer import VIEWER_ROUTES
from tests.http.http_kit import QUIET, SECONDS_MAX, Asking, alive, client_of, is_problem, left, let_in_as, play
from tests.proofs import proves

Capture = pytest.CaptureFixture[str]
OWN, OTHER = "own-thread", "other-thread"
SECRET = "a sentence of the other conversation"
VIEWER = Caller(None, None, False, "t-1", viewer=True)
GUEST = VIEWER._replace(conversation=OWN)

# Routes that no viewer gets. A new route belongs here or into VIEWER_ROUTES.
REFUSED = {
    *(("POST", verb.path) for verb in VERBS.values() if verb.method == "POST"),
    ("GET", "/inbox/{agent}"),  # marks the agent as seen
    ("POST", "/send/batch"),
    ("POST", "/check"),
    ("POST", "/hook/{client}/{event}"),
    ("GET", "/answer/{token}"),  # needs no token: its own is the permission
    ("POST", "/answer/{token}"),
    ("POST", "/page/write"),
    ("POST", "/page/tokens"),
    ("POST", "/page/agents/{name:path}/wake"),
    ("POST", "/page/agents/{name:path}/stop"),
    ("POST", "/page/needs/answer"),
    ("POST", "/page/needs/undo"),
    ("POST", "/page/needs/send"),
    ("GET", "/page/recipients"),
    ("GET", "/page/connect"),
}
PARAMETERS = {
    "id": "own-1", "agent": "dev", "kind": "approval", "correlation": OWN, "correlation:path": OWN, "id:path": OWN,
    "seq": "1", "file:path": "app.js", "token": "0" * 64, "version": "v", "client": "claude", "event": "stop",
    "name": "dev", "name:path": "dev",
}  # fmt: skip


def all_routes(bus: Bus) -> set[tuple[str, str]]:
    hub = hub_of(bus)
    plain = [route for route in hub.starlette.routes if isinstance(route, Route)]
    assert len(plain) == len(hub.starlette.routes), "a mount is closed to viewers as a whole"
    own = {(method, route.path) for route in plain for method in (route.methods or ()) if method != "HEAD"}
    return own | {(verb.method, verb.path) for verb in VERBS.values()}


def hub_of(bus: Bus) -> Hub:
    store: Any = getattr(bus, "store", None)
    return Hub(
        bus,
        QUIET,
        [*page.routes(bus, QUIET), *hook_routes("telex.db"), *answer_routes(bus, AlertLog(store), NO_NEEDS)],
    )


class _NoNeeds:
    async def current(self) -> Any:
        raise AssertionError("no link is valid here")

    facts_of = current


NO_NEEDS: Any = _NoNeeds()


@asynccontextmanager
async def hub(caller: Caller) -> AsyncIterator[tuple[Bus, httpx2.AsyncClient]]:
    """A team with two conversations, and a client that is this caller."""
    async with telex.connect("memory:", settings=QUIET) as bus:
        await bus.send(b"Our own sentence.", sender="dev", to="lead", id="own-1", correlation=OWN)
        await bus.send(b"Our own answer.", sender="lead", to="dev", id="own-2", correlation=OWN, reply_to="own-1")
        await bus.send(SECRET.encode(), sender="qa", to="lead", id="other-1", correlation=OTHER, reply_to="own-1")
        await bus.send(SECRET.encode(), sender="zebra", to="qa", id="own-1", correlation=OTHER)
        app = let_in_as(caller, hub_of(bus))
        async with alive(app), client_of(app) as client:
            yield bus, client


def filled(path: str) -> str:
    for name, value in PARAMETERS.items():
        path = path.replace("{" + name + "}", value)
    assert "{" not in path, f"give a value for the parameter of {path}"
    return path


def everything(client: httpx2.AsyncClient, routes: set[tuple[str, str]]) -> Iterator[Any]:
    for method, path in sorted(routes - {("GET", "/page/stream")}):  # it does not end
        yield method, path, client.request(method, filled(path), content=b"{}" if method == "POST" else None)


@proves("viewer/read-only")
def test_every_route_is_classified_for_viewers() -> None:
    async def scene() -> None:
        async with telex.connect("memory:", settings=QUIET) as bus:
            routes = all_routes(bus)
        allowed = {("GET", path) for path in VIEWER_ROUTES} - {("GET", "/metrics")}  # made by build_app
        assert routes - allowed - REFUSED == set(), "classify the new route: VIEWER_ROUTES, or REFUSED of this test"
        assert (allowed | REFUSED) - routes == set(), "the list names a route that is gone"
        assert allowed & REFUSED == set()

    play(scene)


@proves("viewer/read-only")
def test_a_viewer_is_refused_whatever_may_write() -> None:
    async def scene() -> None:
        async with hub(VIEWER) as (bus, client):
            for method, path, response in everything(client, all_routes(bus)):
                answer = await response
                if (method, path) in REFUSED:
                    assert answer.json()["code"] == "viewer-token", path
                else:
                    assert answer.status_code in (200, 400, 404), (path, answer.text[:200])

    play(scene)


@proves("viewer/unseen")
def test_reading_everything_leaves_no_trace_in_the_store() -> None:
    async def scene() -> None:
        async with hub(VIEWER) as (bus, client):
            before = [event async for event in bus.events()], await bus.roster()
            for _, _, response in everything(client, {("GET", path) for path in VIEWER_ROUTES}):
                await response
            assert ([event async for event in bus.events()], await bus.roster()) == before

    play(scene)


@proves("viewer/conversation")
def test_a_viewer_of_one_conversation_gets_nothing_of_another_from_any_route() -> None:
    async def scene() -> None:
        async with hub(GUEST) as (bus, client):
            for _, path, response in everything(client, all_routes(bus)):
                answer = await response
                assert SECRET not in answer.text, path
                assert OTHER not in answer.text, path
                assert "zebra" not in answer.text, path

    play(scene)


@proves("viewer/conversation")
def test_a_viewer_of_one_conversation_reads_that_one() -> None:
    async def scene() -> None:
        async with hub(GUEST) as (bus, client):
            for path in (
                f"/trace/{OWN}",
                "/events",
                f"/events?correlation={OTHER}",
                "/search?text=own",
                "/messages/own-1",
            ):
                assert "own-1" in (answer := await client.get(path)).text, path
                assert OTHER not in answer.text, path
            seqs = {message.id: message.seq async for _, message in bus.events() if message is not None}
            assert (await client.get(f"/page/messages/{seqs['own-2']}")).json()["reply_to"] is None
            for path in (
                f"/trace/{OTHER}",
                f"/trace/{OTHER}/picture",
                f"/page/conversations/{OTHER}",
                "/page/conversations/other-1",
                "/page/messages/3",
                "/messages/other-1",
                "/roster",
            ):
                is_problem(await client.get(path), 403, "viewer-conversation")

    play(scene)


@proves("viewer/conversation")
def test_a_search_of_such_a_viewer_neither_finds_nor_counts_other_conversations() -> None:
    async def scene() -> None:
        async with hub(GUEST) as (bus, client):
            for _ in range(60):
                await bus.send(b"Our other sentence.", sender="qa", to="lead", correlation=OTHER)
            for limit, ids in ((1, ["own-2"]), (2, ["own-2", "own-1"]), (50, ["own-2", "own-1"])):
                found = (await client.get(f"/search?text=our&limit={limit}")).json()["answer"]
                assert [message["id"] for message in found] == ids
            is_problem(await client.get("/search?text=our&limit=0"), 400, "value-wrong")

    play(scene)


@proves("viewer/conversation")
def test_feed_and_timeline_of_such_a_viewer_have_its_conversation_and_its_people_only() -> None:
    async def scene() -> None:
        async with hub(GUEST) as (_, client):
            feed = (await client.get("/page/feed")).json()
            assert ([row["id"] for row in feed["rows"]], feed["total"]) == (["own-2", "own-1"], 2)
            assert (await client.get("/page/feed/count?filter=conversation")).json()["count"] == 0
            for query in ("", f"?conversation={OTHER}", "?message=3"):
                timeline = (await client.get(f"/page/timeline{query}")).json()
                assert {lane["agent"] for lane in timeline["lanes"]} == {"dev", "lead"}, query
                assert len(timeline["messages"]) == 2, query
            assert sum((await client.get("/page/overview")).json()["sent"]) == 2

    play(scene)


@proves("viewer/conversation")
def test_live_events_of_a_viewer_are_those_of_its_conversation() -> None:
    async def scene() -> None:
        async with hub(GUEST) as (bus, client):
            seen = asyncio.ensure_future(client.get("/events?after=0&wait=10&limit=3", timeout=20))
            await bus.send(SECRET.encode(), sender="dev", to="lead", correlation=OTHER)
            await bus.send(b"One more of our own.", sender="dev", to="lead", correlation=OWN)
            rows = (await seen).json()["answer"]
            assert {row["message"]["correlation"] for row in rows} == {OWN}

    play(scene)


@proves("viewer/conversation")
def test_updates_of_the_page_of_such_a_viewer_are_those_of_its_conversation() -> None:
    async def scene() -> None:
        async with telex.connect("memory:", settings=QUIET) as bus:
            app = let_in_as(GUEST, hub_of(bus))
            async with alive(app):
                page = Asking(app, "GET", "/page/stream", headers={"accept": "text/event-stream"})
                await page.until(lambda: "data: " in page.text)
                await bus.send(SECRET.encode(), sender="qa", to="security", correlation=OTHER)
                await bus.send(b"One more of our own.", sender="dev", to="lead", correlation=OWN)
                await page.until(lambda: "One more of our own." in page.text)
                assert OTHER not in page.text
                assert SECRET not in page.text
                assert '"agents":[]' in page.text.replace(" ", "")
                await left(page)

    play(scene)


@proves("hub/overload")
@pytest.mark.parametrize("method, headers", [("GET", {}), ("GET", {"accept": "*/*"}), ("HEAD", {})])
def test_a_stream_of_the_page_that_would_not_be_counted_as_one_is_refused(method: str, headers: dict[str, str]) -> None:
    async def scene() -> None:
        async with hub(VIEWER) as (_, client):
            response = await asyncio.wait_for(client.request(method, "/page/stream", headers=headers), SECONDS_MAX)
            assert response.status_code == 400

    play(scene)


def test_the_page_knows_that_it_is_a_viewers() -> None:
    async def scene() -> None:
        async with hub(GUEST) as (_, client):
            me = (await client.get("/page/me")).json()
            assert me == {"agent": None, "role": None, "operator": False, "viewer": True, "conversation": OWN}

    play(scene)


# --- the token --------------------------------------------------------------------------------------------------------


@proves("viewer/expires")
def test_a_viewer_token_is_for_nobody_and_expires_within_a_day(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("TELEX_STORE", raising=False)
    assert main(["token", "create", "--viewer", "--conversation", OWN, "--json"]) == DONE
    made = json.loads(capsys.readouterr().out)
    tokens = TokenFile(".telex/tokens.json").tokens()
    token = matching(made["token"], tokens, time.time())
    assert token is not None
    assert token.caller == Caller(None, None, False, token.id, viewer=True, conversation=OWN)
    assert matching(made["token"], tokens, time.time() + 86_401) is None
    assert main(["token", "list"]) == DONE
    assert f"viewer of {OWN}" in capsys.readouterr().out


@pytest.mark.parametrize(
    "words", [["--viewer", "--operator"], ["--viewer", "--agent", "dev"], ["--operator", "--conversation", "1"]]
)
def test_a_viewer_token_has_no_other_rights(
    words: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["token", "create", *words]) == USAGE
    assert not Path(".telex/tokens.json").exists()


def test_a_viewer_token_with_rights_of_others_makes_the_file_invalid() -> None:
    token, _ = new_viewer_token(conversation=None, now=0.0, expires_at=1.0)
    for more in ({"operator": True}, {"agent": "dev"}, {"role": "dev"}):
        with pytest.raises(ValueError, match="viewer"):
            Token(**{name: getattr(token, name) for name in token.__struct_fields__} | more)
