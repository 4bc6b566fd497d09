"""Is a client that asks for too much told so before it costs anybody else anything? On real connections."""

import asyncio
import re
import socket
import struct
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from telex.surfaces.http.asgi import Receive, Scope, Send, header
from telex.surfaces.http.limits import RequestLimits
from tests.auth_kit import bearer, head, made_token, read_all
from tests.limits_kit import PATIENT, SMALL, Hub, hub_with, post
from tests.proofs import proves


@pytest.fixture
def hub(tmp_path: Path) -> Iterator[Hub]:
    yield from hub_with(SMALL, tmp_path)


@pytest.fixture
def patient(tmp_path: Path) -> Iterator[Hub]:
    """With little room and much time."""
    yield from hub_with(PATIENT, tmp_path)


# --- too large --------------------------------------------------------------------------------------------------------


@proves("hub/size")
@pytest.mark.parametrize(
    "headers",
    [
        ("Content-Length: 50001",),
        ("Content-Length: 999999999999999999",),
        ("Content-Length: 50001", "Expect: 100-continue"),
    ],
    ids=["a byte too much", "absurd", "asking first"],
)
def test_a_body_that_is_said_to_be_too_large_is_refused_unread(hub: Hub, headers: tuple[str, ...]) -> None:
    answer = hub.asked(post(hub, *headers))
    assert answer.startswith(b"HTTP/1.1 413 ")
    assert hub.house.came == []


@proves("hub/size")
def test_a_body_in_pieces_is_refused_where_it_becomes_too_large(hub: Hub) -> None:
    piece = b"2000\r\n" + b"x" * 0x2000 + b"\r\n"
    answer = hub.asked(post(hub, "Transfer-Encoding: chunked"), piece * 7)
    assert answer.startswith(b"HTTP/1.1 413 ")
    assert hub.house.came == []


@proves("hub/size")
@pytest.mark.parametrize(
    "headers, body",
    [
        (("Content-Length: 5", "Transfer-Encoding: chunked"), b"0\r\n\r\nGET /secret HTTP/1.1\r\n\r\n"),
        (("Content-Length: 5", "Content-Length: 6"), b"hello"),
        (("Content-Length: -1",), b"hello"),
        (("Content-Length: five",), b"hello"),
        (("Content-Length: 2",), b"helloPOST"),
        (("Transfer-Encoding: chunked",), b"five\r\nhello\r\n"),
    ],
    ids=[
        "two ways to tell it",
        "two lengths",
        "less than nothing",
        "a word",
        "shorter than it is",
        "a piece of no size",
    ],
)
def test_a_length_that_lies_gets_nobody_a_second_request(hub: Hub, headers: tuple[str, ...], body: bytes) -> None:
    answer = hub.asked(post(hub, *headers), body)
    assert len(re.findall(rb"HTTP/1.1 \d", answer)) == 1
    assert answer.startswith(b"HTTP/1.1 200 " if hub.house.came else b"HTTP/1.1 400 ")
    assert len(hub.house.came) <= 1


@proves("hub/size")
@pytest.mark.parametrize("long", [b"GET /" + b"a" * 20_000, b"GET / HTTP/1.1\r\nX-Long: " + b"a" * 20_000])
def test_a_head_that_is_too_large_is_refused_before_it_ends(hub: Hub, long: bytes) -> None:
    answer = hub.asked(long)
    assert answer.startswith(b"HTTP/1.1 431 ")


@proves("hub/size")
@pytest.mark.parametrize(
    "line, headers",
    [
        (f"GET /{'a' * 9_000} HTTP/1.1", ()),
        (f"GET /{'a' * 70_000} HTTP/1.1", ()),  # beyond what the parser accepts
        ("GET / HTTP/1.1", (f"X-Long: {'a' * 9_000}",)),
        ("GET / HTTP/1.1", (f"X-Long: {'a' * 100_000}",)),
        ("GET / HTTP/1.1", ("X-Short: a",) * 1_000),
    ],
    ids=["url", "very long url", "header", "very long header", "many headers"],
)
def test_a_head_that_is_too_large_is_refused_although_it_comes_in_one_piece(
    hub: Hub, line: str, headers: tuple[str, ...]
) -> None:
    answer = hub.asked(head(hub.port, line, *headers, "Connection: close"))
    assert answer.startswith(b"HTTP/1.1 431 ")
    assert b'"head-too-large"' in answer
    assert hub.house.came == []


@proves("hub/size")
@pytest.mark.parametrize("ending", [b"0\r\nX-Long: ", b"4;x="], ids=["trailer", "chunk extension"])
def test_what_goes_around_a_body_is_bounded_like_a_head(hub: Hub, ending: bytes) -> None:
    parts = post(hub, "Transfer-Encoding: chunked"), ending + b"a" * 20_000
    for pieces in (parts, [b"".join(parts)]):
        assert hub.asked(*pieces).startswith(b"HTTP/1.1 431 ")
    assert hub.house.came == []


@proves("hub/size")
@pytest.mark.parametrize("garbage", [b"\x16\x03\x01\x02\x00", b"HELO hub\r\n\r\n", b"GET\r\n\r\n", b"\x00" * 100])
def test_what_is_no_request_is_told_so(hub: Hub, garbage: bytes) -> None:
    answer = hub.asked(garbage)
    assert answer.startswith(b"HTTP/1.1 400 ")
    assert b'"not-http"' in answer


@proves("hub/size")
def test_a_body_of_the_largest_size_comes_whole(hub: Hub) -> None:
    answer = hub.asked(post(hub, "Content-Length: 50000", "Connection: close"), b"x" * 50_000)
    assert answer.startswith(b"HTTP/1.1 200 ")
    assert hub.house.came == [50_000]


# --- too many ---------------------------------------------------------------------------------------------------------


def opened(hub: Hub, count: int, path: str = "/wait", *headers: str) -> list[socket.socket]:
    """Requests that wait, each seen to have come as far as that."""
    found = []
    for _ in range(count):
        connection = socket.create_connection(("127.0.0.1", hub.port), timeout=20)
        connection.sendall(head(hub.port, f"GET {path} HTTP/1.1", *headers))
        assert hub.house.waiting.acquire(timeout=20)
        found.append(connection)
    return found


def closed(connections: list[socket.socket]) -> None:
    for connection in connections:
        connection.close()


def until_let_in(hub: Hub, *headers: str) -> bytes:
    """Ask until there is room again. The pause is what the hub asks for, cut short."""
    for _ in range(500):
        answer = hub.asked(head(hub.port, "GET / HTTP/1.1", "Connection: close", *headers))
        if b" 429 " not in answer:
            return answer
        threading.Event().wait(0.02)
    raise AssertionError("there was never room again")


@proves("hub/overload")
def test_too_many_connections_are_told_to_come_later(patient: Hub) -> None:
    idle = [socket.create_connection(("127.0.0.1", patient.port), timeout=20) for _ in range(6)]
    answer = patient.asked()
    assert answer.startswith(b"HTTP/1.1 429 ")
    assert b"retry-after: " in answer
    assert b'"too-many-connections"' in answer
    closed(idle)
    assert until_let_in(patient).startswith(b"HTTP/1.1 200 ")


@proves("hub/overload")
def test_too_many_requests_that_wait_are_told_to_come_later(patient: Hub) -> None:
    waiting = opened(patient, 4)
    answer = patient.asked(head(patient.port, "GET / HTTP/1.1"))
    assert answer.startswith(b"HTTP/1.1 429 ")
    assert b'"too-many-requests"' in answer
    assert b"retry-after: " in answer
    closed(waiting)
    assert until_let_in(patient).startswith(b"HTTP/1.1 200 ")


@proves("hub/overload")
def test_one_token_takes_no_room_from_the_others(patient: Hub) -> None:
    greedy, modest = made_token(patient.tokens), made_token(patient.tokens, "qa", "qa")
    theirs, ours = (f"Authorization: {bearer(key.text)['Authorization']}" for key in (greedy, modest))
    waiting = opened(patient, 2, "/wait", theirs)
    assert b" 429 " in patient.asked(head(patient.port, "GET / HTTP/1.1", theirs))
    assert until_let_in(patient, ours).startswith(b"HTTP/1.1 200 ")
    closed(waiting)
    assert until_let_in(patient, theirs).startswith(b"HTTP/1.1 200 ")


@proves("hub/overload")
def test_viewers_leave_room_for_those_who_work(patient: Hub) -> None:
    viewers = opened(patient, 3, "/wait", "Accept: text/event-stream")
    for spelt in ("text/event-stream", "Text/Event-Stream"):
        assert b" 429 " in patient.asked(head(patient.port, "GET /wait HTTP/1.1", f"Accept: {spelt}"))
    assert until_let_in(patient).startswith(b"HTTP/1.1 200 ")
    closed(viewers)
    assert until_let_in(patient, "Accept: text/event-stream").startswith(b"HTTP/1.1 200 ")


@proves("hub/overload")
def test_one_address_beyond_this_machine_has_fewer_connections_than_there_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    few = PATIENT._replace(connections_per_peer_max=2)
    for hub in hub_with(few, tmp_path):
        ours = [socket.create_connection(("127.0.0.1", hub.port), timeout=20) for _ in range(3)]
        assert until_let_in(hub).startswith(b"HTTP/1.1 200 ")  # this machine has as many as there are
        closed(ours)
    monkeypatch.setattr("telex.surfaces.http.limits.is_loopback", lambda peer: False)
    for hub in hub_with(few, tmp_path):
        theirs = [socket.create_connection(("127.0.0.1", hub.port), timeout=20) for _ in range(3)]
        assert read_all(theirs[2]).startswith(b"HTTP/1.1 429 ")
        closed(theirs)
        assert until_let_in(hub).startswith(b"HTTP/1.1 200 ")


# --- at the end -------------------------------------------------------------------------------------------------------


@proves("hub/stop")
def test_at_the_end_whoever_waits_is_answered_and_a_stream_is_ended_whole() -> None:
    async def waits(scope: Scope, receive: Receive, send: Send) -> None:
        if header(scope, b"accept"):
            await send({"type": "http.response.start", "status": 200, "headers": []})
        await asyncio.Event().wait()

    async def asked(app: Any, path: str, *headers: tuple[bytes, bytes]) -> list[Any]:
        from telex.surfaces.http.tokens import AT_HOME

        sent: list[Any] = []

        async def send(event: Any) -> None:
            sent.append(event)

        async def receive() -> Any:
            return {"type": "http.request", "body": b"", "more_body": False}

        scope = {"type": "http", "method": "POST", "path": path, "headers": headers, "state": {"caller": AT_HOME}}
        await app(scope, receive, send)
        return sent

    async def run() -> list[list[Any]]:
        limited = RequestLimits()
        app = limited(waits)
        asking = [
            asyncio.ensure_future(asked(app, "/receive")),
            asyncio.ensure_future(asked(app, "/request")),
            asyncio.ensure_future(asked(app, "/events", (b"accept", b"text/event-stream"))),
        ]
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        limited.end()
        return [*await asyncio.gather(*asking), await asked(app, "/receive")]

    polled, requested, streamed, late = asyncio.run(run())
    assert (polled[0]["status"], polled[1]["body"]) == (200, b'{"answer":[]}')
    assert requested[0]["status"] == late[0]["status"] == 503
    assert b'"hub-closing"' in late[1]["body"]
    assert streamed[-1] == {"type": "http.response.body", "body": b"", "more_body": False}


def test_a_connection_torn_down_in_the_middle_leaves_nothing_behind(patient: Hub) -> None:
    for connection in opened(patient, 4):
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        connection.close()  # with a reset
    assert until_let_in(patient).startswith(b"HTTP/1.1 200 ")
