"""Where is what, by which method, and how much of it? Whatever is asked, there is an answer."""

import asyncio
from typing import Any
from urllib.parse import quote

import httpx2
import pytest

from telex.config import Settings
from tests.http.http_kit import QUIET, Door, hub_test, is_problem, opened, play, raw_get, served
from tests.proofs import proves

SMALL = Settings(evidence="off", limits=QUIET.limits._replace(message_bytes_max=1_000))


@proves("http/names")
@pytest.mark.parametrize("id_", ["a/b", "ü 🚂", "100%", "a?b#c", "..", "a%2Fb", "settled", "{id}", "a&b=c;d", "+"])
@hub_test(serve=True)
async def test_an_id_may_have_anything_in_it(door: Door, port: int, id_: str) -> None:
    sent = await door.send(id=id_)
    assert sent.status_code == 201, sent.text
    path = quote(id_, safe="")
    for tail in ("", "/settled?sender=dev&until=acked&timeout=0"):
        status, body = await raw_get(port, f"/messages/{path}{tail}")
        assert status == 200, body
    assert (await raw_get(port, "/messages/" + path.lower()))[0] in (200, 404)


@proves("http/places")
@pytest.mark.parametrize(
    "target, status",
    [
        ("//send", 404), ("/send/", 404), ("/check/", 404), ("/SEND", 404), ("/", 404), ("/messages", 404),
        ("/messages/", 404), ("/messages/a/b/c", 404), ("/messages/a/", 404), ("/%2e%2e/etc/passwd", 404),
        ("/static/..%2f..%2fapp.py", 404), ("/messages/..%2f..%2fetc", 404), ("/messages/%ff%fe", 404),
        ("/messages/%00", 404), ("/%73earch?text=a", 200), ("/healthz", 200), ("http://other/healthz", 200),
        ("/readyz", 200), ("/openapi.json", 200), ("/messages/" + "a" * 5_000, 404), ("/healthz?x=1", 200),
    ],
)  # fmt: skip
@hub_test(serve=True)
async def test_a_path_is_right_or_nothing_is_there(door: Door, port: int, target: str, status: int) -> None:
    found, body = await raw_get(port, target)
    assert found == status
    assert status == 200 or b'"code":"not-found"' in body


@proves("http/places")
@hub_test(serve=True)
async def test_what_is_no_path_at_all_is_answered_too(door: Door, port: int) -> None:
    for method, target in (("OPTIONS", "*"), ("CONNECT", "a:1"), ("GET", "?x"), ("BREW", "/send")):
        status, _ = await raw_get(port, target, method)
        assert 400 <= status < 500, (method, status)


@proves("http/methods")
@pytest.mark.parametrize(
    "method, path, allowed",
    [
        ("GET", "/send", "POST"), ("PUT", "/send", "POST"), ("OPTIONS", "/send", "POST"), ("PATCH", "/ack", "POST"),
        ("POST", "/events", "GET, HEAD"), ("DELETE", "/messages/a", "GET, HEAD"), ("POST", "/inbox/a", "GET, HEAD"),
        ("OPTIONS", "/roster", "GET, HEAD"), ("GET", "/check", "POST"), ("DELETE", "/healthz", "GET, HEAD"),
    ],
)  # fmt: skip
@hub_test()
async def test_another_method_is_answered_with_those_that_there_are(
    door: Door, method: str, path: str, allowed: str
) -> None:
    answer = await door.client.request(method, path)
    assert answer.status_code == 405
    assert sorted(answer.headers["allow"].split(", ")) == sorted(allowed.split(", "))
    is_problem(answer, 405, "method-not-allowed")


@proves("http/methods")
@hub_test(serve=True)
async def test_head_is_get_without_its_body(door: Door, port: int) -> None:
    await door.send(id="a")
    for path in ("/messages/a", "/roster", "/events", "/healthz"):
        assert await raw_get(port, path, "HEAD", "Accept: text/event-stream\r\n") == (200, b"")


# --- how much --------------------------------------------------------------------------------------------------------


@proves("http/too-large")
@pytest.mark.parametrize("path", ["/send?sender=dev&to=lead", "/check", "/receive", "/send/batch"])
@pytest.mark.parametrize("stated", [True, False], ids=["stated", "chunked"])
@hub_test(settings=SMALL, serve=True)
async def test_a_body_that_is_too_large_is_refused_whether_or_not_it_says_so(
    door: Door, port: int, path: str, stated: bool
) -> None:
    async def parts() -> Any:
        for _ in range(40):
            yield b"x" * 1_000

    async with httpx2.AsyncClient(base_url=f"http://127.0.0.1:{port}") as client:
        answer = await client.post(path, content=b"x" * 40_000 if stated else parts())
        told = is_problem(answer, 413, "too-large")
        assert "bytes" in told["detail"]
    assert await door.bus.roster() == []


@proves("http/chunked")
@hub_test(serve=True)
async def test_a_message_that_comes_in_pieces_is_put_together(door: Door, port: int) -> None:
    async def parts() -> Any:
        for word in (b"The ", b"build ", b"", b"is red."):
            yield word

    async with httpx2.AsyncClient(base_url=f"http://127.0.0.1:{port}") as client:
        sent = await client.post("/send", params={"sender": "dev", "to": "lead"}, content=parts())
        assert sent.status_code == 201
    [(_, message)] = await door.bus.inbox("lead")
    assert message.raw == b"The build is red."


@proves("http/half-sent")
@pytest.mark.parametrize("path", ["/send?sender=dev&to=lead", "/check", "/send/batch"])
def test_a_client_that_goes_in_the_middle_of_its_message_leaves_nothing(path: str, caplog: Any) -> None:
    async def scene() -> None:
        async with opened() as door, served(door.app) as port:
            _, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(f"POST {path} HTTP/1.1\r\nHost: x\r\nContent-Length: 50\r\n\r\nhalf".encode())
            await writer.drain()
            await asyncio.sleep(0.05)
            writer.close()
            await writer.wait_closed()
            assert (await raw_get(port, "/healthz"))[0] == 200
            assert [one async for one in door.bus.events()] == []

    play(scene)
    assert [record for record in caplog.records if record.exc_info] == []
