"""Limits of the hub on real connections: too large, too many, too slow, and the end of the hub."""

import asyncio
import re
import socket
import struct
import threading
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from telex.model.limits import HUB_LIMITS, HubLimits
from telex.surfaces.http.asgi import HttpResponse, Receive, Scope, Send, header, reply
from telex.surfaces.http.limits import RequestLimits
from telex.surfaces.http.tokens import TokenFile
from tests.http.auth_kit import bearer, connected, head, made_token, read_all, running
from tests.proofs import proves

SMALL = HubLimits(
    head_seconds=1.0,  # long enough for a machine that is busy with other things
    body_seconds=1.0,
    write_seconds=1.5,
    idle_seconds=1,
    head_bytes_max=8_192,
    body_bytes_max=50_000,
    connections_max=6,
    requests_max=4,
    requests_per_token_max=2,
    viewers_max=3,
    viewers_per_token_max=1,
)
PATIENT = HUB_LIMITS._replace(connections_max=6, requests_max=4, requests_per_token_max=2, viewers_max=3)
FLOOD = b"x" * 4_194_304


class House:
    """An app with a door for each way to behave, and a note of what got as far as that."""

    def __init__(self) -> None:
        self.came: list[int] = []  # how many bytes each body had
        self.waiting = threading.Semaphore(0)
        self.given_up = threading.Event()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["path"] == "/wait":
            self.waiting.release()
            while (await receive())["type"] != "http.disconnect":
                pass
        elif scope["path"] == "/flood":
            # Send for as long as the client is there
            gone = asyncio.ensure_future(self._gone(receive))
            await send({"type": "http.response.start", "status": 200, "headers": []})
            while not gone.done():
                await send({"type": "http.response.body", "body": FLOOD, "more_body": True})
                await asyncio.sleep(0)
            self.given_up.set()
        else:
            event = await receive() if scope["method"] == "POST" else {}
            self.came.append(len(event.get("body", b"")))
            await reply(send, HttpResponse(200, b"{}"))

    async def _gone(self, receive: Receive) -> None:
        while (await receive())["type"] != "http.disconnect":
            pass


class Hub(SimpleNamespace):
    port: int
    house: House
    tokens: TokenFile

    def asked(self, *parts: bytes) -> bytes:
        """Everything that is said to it, from the first byte to the close."""
        with connected(self.port) as connection:
            for part in parts:
                connection.sendall(part)
            return read_all(connection)


def hub_with(limits: HubLimits, tmp_path: Path) -> Iterator[Hub]:
    house = House()
    with running(house, tmp_path, limits) as port:
        yield Hub(port=port, house=house, tokens=TokenFile(str(tmp_path / "tokens.json")))


def post(hub: Hub, *headers: str) -> bytes:
    return head(hub.port, "POST /send HTTP/1.1", *headers)


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


@proves("hub/slow")
@pytest.mark.parametrize(
    "begun", [b"", b"G", b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX-A: b\r\n", b"\r\n\r\n"], ids=repr
)
def test_who_does_not_finish_its_head_is_cut_off(hub: Hub, begun: bytes) -> None:
    answer = hub.asked(begun)
    assert answer.startswith(b"HTTP/1.1 408 ")
    assert b'"too-slow"' in answer


@proves("hub/slow")
def test_who_sends_its_head_byte_by_byte_is_cut_off_although_something_comes_all_the_time(hub: Hub) -> None:
    with connected(hub.port) as connection:
        connection.sendall(b"GET / HTTP/1.1\r\nX-Slow: ")
        answer, is_open = dripped(connection)
    assert answer.startswith(b"HTTP/1.1 408 ")
    assert not is_open


@proves("hub/slow")
def test_the_second_request_of_a_connection_has_no_more_time_than_the_first(hub: Hub) -> None:
    answer = hub.asked(head(hub.port, "GET / HTTP/1.1") + b"GET /again HTTP/1.1\r\nX-Slow:")
    assert answer.count(b"HTTP/1.1 200 ") == 1
    assert answer.count(b"HTTP/1.1 408 ") == 1


@proves("hub/slow")
@pytest.mark.parametrize(
    "headers, begun",
    [
        (("Content-Length: 100",), b"half"),
        (("Content-Length: 100",), b""),
        (("Transfer-Encoding: chunked",), b"4\r\nhalf\r\n"),
    ],
    ids=["half of it", "none of it", "in pieces"],
)
def test_who_does_not_finish_its_body_is_cut_off(hub: Hub, headers: tuple[str, ...], begun: bytes) -> None:
    answer = hub.asked(post(hub, *headers), begun)
    assert answer.startswith(b"HTTP/1.1 408 ")
    assert hub.house.came == []  # nobody was handed half a message


@proves("hub/slow")
def test_a_body_that_goes_on_dripping_after_its_answer_is_not_listened_to_for_ever(hub: Hub) -> None:
    stranger = head(hub.port, "POST /send HTTP/1.1", "Content-Length: 100000", "Authorization: Bearer telex_a_b")
    with connected(hub.port) as connection:
        connection.sendall(stranger)
        answer, is_open = dripped(connection)
    assert answer.startswith(b"HTTP/1.1 401 ")
    assert answer.count(b"HTTP/1.1") == 1
    assert not is_open


def dripped(connection: socket.socket) -> tuple[bytes, bool]:
    """Send a byte now and then for as long as the other side has patience. What it said; whether it still listens."""
    connection.settimeout(0.02)
    heard = b""
    for _ in range(500):
        try:
            part = connection.recv(4_096)
            heard += part
            if not part:
                return heard, False
        except TimeoutError:
            try:
                connection.sendall(b"a")
            except (BrokenPipeError, ConnectionResetError):
                return heard, False
        except ConnectionResetError:
            return heard, False
    return heard, True


@proves("hub/slow")
def test_a_connection_that_nobody_uses_any_more_is_closed(hub: Hub) -> None:
    answer = hub.asked(head(hub.port, "GET / HTTP/1.1"))
    assert answer.startswith(b"HTTP/1.1 200 ")
    assert answer.count(b"HTTP/1.1") == 1


@proves("hub/slow")
def test_who_does_not_read_what_it_is_sent_is_cut_off(hub: Hub) -> None:
    with socket.socket() as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
        connection.connect(("127.0.0.1", hub.port))
        connection.sendall(head(hub.port, "GET /flood HTTP/1.1"))
        assert hub.house.given_up.wait(20)


@proves("hub/slow")
@pytest.mark.parametrize("bytes_at_once, pause", [(1_048_576, 0.0), (65_536, 0.04)], ids=["fast", "slowly"])
def test_who_reads_what_it_is_sent_is_not_cut_off(hub: Hub, bytes_at_once: int, pause: float) -> None:
    with socket.socket() as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65_536)
        connection.settimeout(20)
        connection.connect(("127.0.0.1", hub.port))
        connection.sendall(head(hub.port, "GET /flood HTTP/1.1"))
        left = len(FLOOD)  # slowly, that takes longer than a client has that does not read
        while left > 0:
            part = connection.recv(bytes_at_once)
            assert part
            left -= len(part)
            threading.Event().wait(pause)
        assert not hub.house.given_up.is_set()
    assert hub.house.given_up.wait(20)
