"""Is a client that is slow, or does not read, cut off before it costs anybody else anything? On real connections."""

import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.auth_kit import connected, head
from tests.limits_kit import FLOOD, SMALL, Hub, hub_with, post
from tests.proofs import proves


@pytest.fixture
def hub(tmp_path: Path) -> Iterator[Hub]:
    yield from hub_with(SMALL, tmp_path)


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
