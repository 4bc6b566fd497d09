"""What does a hub do for somebody who means it ill? Nothing that costs it much, and nothing that tells much."""

import asyncio
import json
import logging
import threading
import time
from pathlib import Path
from typing import Any

import pytest

import telex
from telex.errors import OutcomeUnknown, StoreUnavailable
from telex.model.limits import HUB_LIMITS
from telex.surfaces.http import page, verbs
from telex.surfaces.http.app import Hub, build_app, error_middleware
from telex.surfaces.http.asgi import HttpResponse, Receive, Scope, Send, TaskWatch, disconnected, reply
from telex.surfaces.http.auth import AuthMiddleware
from telex.surfaces.http.tokens import AT_HOME, Caller, TokenFile
from tests.http.auth_kit import KNOWN, connected, head, made_token, running
from tests.http.http_kit import (
    QUIET,
    SECONDS_MAX,
    Asking,
    Door,
    alive,
    client_of,
    complete_hub,
    events_in,
    hub_test,
    is_problem,
    let_in_as,
    opened,
    play,
    played,
    soon,
    watch,
)
from tests.proofs import proves

HOME = {"host": "127.0.0.1:4477"}


class Rooms:
    """A hub that asks for tokens, and the file in which they are."""

    def __init__(self, folder: Path) -> None:
        self.tokens, self.now = TokenFile(str(folder / "tokens.json")), time.time()
        self.doorkeeper = AuthMiddleware(KNOWN, self.tokens, now=lambda: self.now)

    def headers(self, text: str) -> dict[str, str]:
        return HOME | {"authorization": f"Bearer {text}"}


# --- tokens that end --------------------------------------------------------------------------------------------------


@proves("hostile_hub/revoked-watching")
@pytest.mark.parametrize("how", ["revoked", "run out", "unreadable"])
@played
async def test_who_watches_under_a_token_that_is_over_is_told_no_more(tmp_path: Path, how: str) -> None:
    rooms = Rooms(tmp_path)
    async with telex.connect("memory:", settings=QUIET) as bus:
        app = rooms.doorkeeper(Hub(bus, QUIET))
        key = made_token(rooms.tokens, expires_at=rooms.now + 60)
        other = made_token(rooms.tokens, "qa", "qa")
        async with alive(app):
            stream = {"accept": "text/event-stream"}
            watching = Asking(app, "GET", "/events", headers=rooms.headers(key.text) | stream)
            welcome = Asking(app, "GET", "/events", headers=rooms.headers(other.text) | stream)
            body = json.dumps({"wait": 60}).encode()
            waiting = Asking(app, "POST", "/receive", headers=rooms.headers(key.text), body=body)
            await watching.until(lambda: watching.status == 200)
            await welcome.until(lambda: welcome.status == 200)
            if how == "revoked":
                rooms.tokens.revoke(key.id)
            elif how == "run out":
                rooms.now += 61
            else:
                Path(rooms.tokens.path).write_text("{")
            rooms.doorkeeper.watch.check()
            await soon(asyncio.gather(watching.task, waiting.task))
            await bus.send(b"A secret.", sender="lead", role="lead", to="qa")
            assert "secret" not in watching.text
            assert (waiting.status, json.loads(waiting.text)["code"]) == (401, "token-not-valid")
            if how == "unreadable":
                await soon(welcome.task)
                return
            await welcome.until(lambda: bool(events_in(welcome.text)))
            welcome.go_away()
            await soon(welcome.task)


@proves("hostile_hub/revoked-watching")
def test_tokens_are_looked_at_again_by_themselves_while_somebody_is_inside() -> None:
    async def scene() -> None:
        asked: list[str] = []

        def is_expired(token: str) -> bool:
            asked.append(token)
            return len(asked) >= 3

        watch = TaskWatch(is_expired, seconds=0.001)
        assert await soon(watch.run("the token", asyncio.Event().wait(), if_expired=False)) is False
        assert asked == ["the token"] * 3

    play(scene)


# --- mistakes of our own ----------------------------------------------------------------------------------------------


class Broken:
    """A bus that fails in ways that nobody thought of."""

    def __init__(self, bus: Any) -> None:
        self._bus = bus

    def __getattr__(self, name: str) -> Any:
        return getattr(self._bus, name)

    async def roster(self) -> Any:
        raise ZeroDivisionError("in /home/somebody/telex, of telex_abcdefgh_secret")

    async def trace(self, correlation: str) -> Any:
        raise KeyError(correlation)


@proves("hostile_hub/own-mistake")
@pytest.mark.parametrize("path", ["/roster", "/page/summary", "/trace/c-1/picture"])
def test_a_mistake_of_the_hub_is_answered_with_a_problem_and_logged(path: str, caplog: Any) -> None:
    async def scene() -> Any:
        async with complete_hub(wrapped=Broken) as client:
            return await client.get(path)

    with caplog.at_level(logging.ERROR, "telex.http"):
        answer = play(scene)
    is_problem(answer, 500, "internal-error")
    assert not any(word in answer.text for word in ("somebody", "ZeroDivision", "KeyError", "Traceback", "secret"))
    [told] = [record for record in caplog.records if record.name == "telex.http"]
    assert told.exc_info
    assert path in told.getMessage()


@proves("hostile_hub/own-mistake/secret")
@pytest.mark.parametrize("secret", ["0a" * 32, "telex_abcdefgh_" + "0a" * 32])
def test_the_log_of_a_mistake_has_no_secret_of_the_path(secret: str, caplog: Any) -> None:
    async def scene() -> Any:
        async with complete_hub(wrapped=Broken) as client:
            return await client.get(f"/trace/{secret}/picture")

    with caplog.at_level(logging.ERROR, "telex.http"):
        is_problem(play(scene), 500, "internal-error")
    [told] = [record for record in caplog.records if record.name == "telex.http"]
    assert "/picture" in told.getMessage()
    assert secret not in told.getMessage()


class Away(Broken):
    async def roster(self) -> Any:
        raise StoreUnavailable("cannot open /home/somebody/team/telex.db: check that its folder is there.")

    async def dead_letters(self, *, limit: int = 100) -> Any:
        raise OutcomeUnknown("outcome unknown (/home/somebody/team/telex.db: disk I/O error): do it again.", None)


@proves("hostile_hub/folders")
@pytest.mark.parametrize("path, said", [("/roster", "open telex.db: check"), ("/readyz", "(telex.db: disk I/O error)")])
def test_what_fails_under_the_store_is_told_without_its_folders(path: str, said: str) -> None:
    async def scene() -> Any:
        async with complete_hub(wrapped=Away) as client:
            return await client.get(path)

    answer = play(scene)
    assert answer.status_code == 503
    assert said in answer.json()["detail"]
    assert "somebody" not in answer.text


@proves("hostile_hub/half-an-answer")
@played
async def test_a_mistake_in_the_middle_of_an_answer_breaks_it_off() -> None:
    async def half(scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b'{"answer":[', "more_body": True})
        raise ZeroDivisionError

    asking = Asking(error_middleware(half), "GET", "/roster")
    with pytest.raises(ZeroDivisionError):
        await soon(asking.task)
    assert asking.text == '{"answer":['


# --- much for little --------------------------------------------------------------------------------------------------


@proves("hostile_hub/long-number")
@pytest.mark.parametrize("number", ["9" * 5_000, "9" * 19, "٣", "-1", "1e3", "x"])
def test_a_number_of_any_length_is_looked_for_and_not_found(number: str) -> None:
    async def scene() -> Any:
        async with complete_hub() as client:
            return await client.get(f"/page/messages/{number}")

    is_problem(play(scene), 404, "not-found")


@proves("hostile_hub/nul-search")
@pytest.mark.parametrize("text", ["\0", "red\0", "\0red", '"\0"', "a\0b"])
def test_any_character_can_be_searched_for(tmp_path: Path, text: str) -> None:
    async def scene() -> list[int]:
        async with opened(str(tmp_path / "telex.db")) as door:
            await door.send()
            found = [await door.client.get(path, params={"text": text}) for path in ("/search", "/events")]
            return [one.status_code for one in found]

    assert play(scene) == [200, 200]


@proves("hostile_hub/long-search")
@hub_test()
async def test_a_search_for_very_much_is_refused(door: Door) -> None:
    much = "a " * 501
    for path in ("/search", "/events"):
        is_problem(await door.client.get(path, params={"text": much}), 400, "value-wrong")
    watching = watch(door.app, "text=" + "a+" * 501)
    await soon(watching.task)
    assert (watching.status, json.loads(watching.text)["code"]) == (400, "arguments-wrong")
    assert (await door.client.get("/search", params={"text": "a " * 500})).status_code == 200


@proves("hostile_hub/many-fields")
def test_a_check_with_very_many_fields_is_refused() -> None:
    async def scene() -> Any:
        async with opened() as door:
            query = "&".join(f"a{number}=1" for number in range(5_000))
            return await door.client.post(f"/check?{query}", content=b"{}")

    assert "64 fields" in is_problem(play(scene), 400, "arguments-wrong")["detail"]


@proves("hostile_hub/many-fields")
def test_events_for_a_viewer_of_one_conversation_with_very_many_fields_are_refused() -> None:
    async def scene() -> Any:
        async with opened(caller=Caller(None, None, False, "t-1", viewer=True, conversation="c-1")) as door:
            return await door.client.get("/events?" + "&".join(f"a{number}=1" for number in range(5_000)))

    assert "64 fields" in is_problem(play(scene), 400, "arguments-wrong")["detail"]


@proves("hostile_hub/deep-form")
@pytest.mark.parametrize("levels", [page.LEVELS_MAX + 1, 900])
def test_a_form_that_is_nested_deeply_is_not_written_out(levels: int) -> None:
    async def scene() -> Any:
        async with complete_hub() as client:
            answers = []
            for depth in (levels, page.LEVELS_MAX):
                tree = '{"a":' + "[" * (depth - 1) + "]" * (depth - 1) + "}"
                body = f'{{"dialect":"vbw-typed","tree":{tree}}}'
                answers.append(await client.post("/page/write", content=body))
            return answers

    refused, written = play(scene)
    is_problem(refused, 400, "value-wrong")
    assert written.status_code == 200


# --- pages of the record ----------------------------------------------------------------------------------------------


@proves("hostile_hub/newest-once")
@hub_test()
async def test_asked_for_the_newest_first_no_event_is_told_twice(door: Door) -> None:
    for number in range(600):
        await door.bus.send(TEXT_OF.format(number), sender="dev", to="lead")
    answer = await door.client.get("/events", params={"newest_first": True, "limit": 1_000})
    told = [one["event"]["seq"] for one in answer.json()["answer"]]
    assert len(told) == len(set(told))
    assert told == sorted(told, reverse=True)


TEXT_OF = "The build is red for the {}th time."


@proves("hostile_hub/page-bytes")
@hub_test()
async def test_a_page_of_large_messages_ends_early(door: Door, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(verbs, "PAGE_BYTES", 2_500)
    for number in range(8):
        await door.send(f"{number} ".encode() * 500)
    after, pages = 0, []
    while page := (await door.client.get("/events", params={"after": after})).json()["answer"]:
        pages.append(page)
        after = page[-1]["event"]["seq"]
    assert all(sum(len(one["message"]["raw"]) for one in page if one["message"]) <= 3_500 for page in pages)
    told = [one["event"]["seq"] for page in pages for one in page]
    assert told == [event.seq async for event, _ in door.bus.events()]


# --- lines that are none ----------------------------------------------------------------------------------------------


@proves("hostile_hub/mcp-lines")
def test_what_a_message_says_breaks_no_line_of_a_stream_for_coding_agents() -> None:
    """Many readers of such streams take these characters for the end of a line."""
    said = "one\u2028two\u2029three\x85four"
    headers = {"accept": "application/json, text/event-stream", "content-type": "application/json"}
    call = {"name": "wait", "arguments": {"seconds": 0}}
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call}

    async def scene() -> Any:
        async with telex.connect("memory:", settings=QUIET) as bus:
            await bus.send(said, sender="dev", to="lead")
            app = build_app(bus, QUIET, lambda app: let_in_as(AT_HOME, app))
            async with alive(app), client_of(app) as client:
                return await client.post("/mcp?as=lead&structured=1", json=body, headers=headers)

    answer = play(scene)
    assert answer.headers["content-type"].startswith("text/event-stream")
    [line] = [line for line in answer.text.splitlines() if line.startswith("data: {")]
    told = json.loads(line.removeprefix("data: "))["result"]["structuredContent"]
    assert said in json.dumps(told, ensure_ascii=False)


# --- sent ahead -------------------------------------------------------------------------------------------------------


@proves("hostile_hub/sent-ahead")
def test_who_sends_ahead_and_hangs_up_is_gone_for_every_request(tmp_path: Path, caplog: Any) -> None:
    began, noticed = threading.Event(), threading.Event()

    async def waiting(scope: Scope, receive: Receive, send: Send) -> None:
        began.set()
        await disconnected(receive)
        noticed.set()
        await reply(send, HttpResponse(200, b"{}"))

    with running(waiting, tmp_path, HUB_LIMITS) as port:
        with connected(port) as connection:
            connection.sendall(head(port, "GET /stall HTTP/1.1") * 3)
            assert began.wait(SECONDS_MAX)
        assert noticed.wait(SECONDS_MAX)
    assert [record for record in caplog.records if record.levelno >= logging.ERROR] == []
