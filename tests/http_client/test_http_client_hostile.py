"""What may whoever answers in the place of a hub do to a program that asks it? Nothing but disappoint it."""

import asyncio
import gzip
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

import telex
from telex.clock import LoopClock
from telex.errors import OutcomeUnknown, StoreError, StoreUnavailable
from telex.http_client import bus as live
from telex.http_client import transport
from telex.http_client.bus import RemoteBus
from telex.http_client.transport import AsyncTransport, BlockingTransport, RetryTransport
from telex.model.limits import LIMITS
from telex.surfaces.cli.main import main
from tests.proofs import proves
from tests.surfaces.surfaces_kit import SECONDS_MAX, Hub, hub

__all__ = ["hub"]  # a fixture

READ_MAX = 50_000_000  # what lies ready between two programs is far less
DROPS = 500  # ten seconds of them
EVENT = b'id: 1\nevent: happening\ndata: {"event": 7}\n\n'


class Evil:
    """Answers every connection with the same bytes, then with more of the same for as long as anybody reads: at once,
    or with a pause before each."""

    def __init__(self, answer: bytes, more: bytes, pause: float = 0.0) -> None:
        self._answer, self._more, self._pause = answer, more, pause
        self._ended = threading.Event()
        self.heard: list[bytes] = []
        self.sent = 0
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listening.getsockname()[1]}"
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self) -> None:
        while True:
            connection, _ = self._listening.accept()
            with connection:
                heard = connection.recv(65_536)
                if not heard:
                    return
                self.heard.append(heard)
                try:
                    connection.sendall(self._answer)
                    while self._more and not self._ended.wait(self._pause) and (not self._pause or self.sent < DROPS):
                        connection.sendall(self._more)
                        self.sent += len(self._more)
                except OSError:
                    pass  # whoever asked has had enough

    def end(self) -> None:
        self._ended.set()
        with socket.create_connection(self._listening.getsockname()) as last:
            last.shutdown(socket.SHUT_WR)
            self._thread.join(SECONDS_MAX)
        self._listening.close()
        assert not self._thread.is_alive()


@contextmanager
def evil(head: str, body: bytes = b"", more: bytes = b"") -> Iterator[Evil]:
    lines = f"HTTP/1.1 {head}\r\nConnection: close\r\n\r\n".replace("\n ", "\n").encode()
    found = Evil(lines + body, more)
    try:
        yield found
    finally:
        found.end()


@proves("hostile_hub/redirect")
@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_token_is_shown_to_no_other_host(status: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TELEX_TOKEN", "telex_abc_def")
    with evil("200 OK") as thief, evil(f"{status} Moved\r\nLocation: {thief.url}/roster\r\nContent-Length: 0") as hub:
        with telex.connect(hub.url) as bus, pytest.raises(StoreError):
            bus.roster()
        assert b"telex_abc_def" in hub.heard[0]
        assert thief.heard == []


@proves("hostile_hub/packed")
def test_an_answer_that_is_packed_is_not_unpacked() -> None:
    packed = gzip.compress(b'{"answer":[' + b" " * 10_000_000 + b"]}")
    head = f"200 OK\r\nContent-Type: application/json\r\nContent-Encoding: gzip\r\nContent-Length: {len(packed)}"
    with evil(head, packed) as hub, telex.connect(hub.url) as bus:
        with pytest.raises(StoreError, match="compressed"):
            bus.roster()
        assert b"accept-encoding: identity" in hub.heard[0].lower()


@proves("hostile_hub/huge-answer")
@pytest.mark.parametrize("status", ["200 OK", "500 Internal Server Error"])
def test_an_answer_without_an_end_is_not_read_to_its_end(status: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transport, "ANSWER_BYTES_MAX", 1_000_000)
    endless = evil(status, b"", b" " * 65_536)
    with endless as hub, telex.connect(hub.url) as bus, pytest.raises(StoreError, match="1,000,000 bytes"):
        bus.roster()
    assert hub.sent < READ_MAX


@proves("http_client/odd-answers")
@pytest.mark.parametrize(
    "answer",
    [
        b'{"answer": []}',
        b'{"answer": [["src/a.py", true, null, "fine", false, [], null, null]]}',
        b'{"answer": [{"path": "elsewhere", "allowed": true, "code": null, "reason": "fine"}]}',
    ],
    ids=["nothing", "of another shape", "another path"],
)
def test_a_guard_is_not_satisfied_by_a_hub_that_answers_something_else(
    answer: bytes, capsys: pytest.CaptureFixture[str]
) -> None:
    with evil(f"200 OK\r\nContent-Type: application/json\r\nContent-Length: {len(answer)}", answer) as hub:
        assert main(["guard", "src/a.py", "--as", "dev", "--store", hub.url]) == 1
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert "invalid response from the hub" in err


@proves("hostile_hub/drips")
@pytest.mark.parametrize("wire", [BlockingTransport, AsyncTransport])
@pytest.mark.parametrize(
    "begins, drop",
    [(b"HTTP/1.1 200 OK\r\nContent-Length: 999999\r\n\r\n", b" "), (b"HTTP/1.1 200 OK\r\nX-Long: ", b"x")],
    ids=["the body", "the head"],
)
def test_an_answer_that_comes_drop_by_drop_is_not_waited_for(
    begins: bytes, drop: bytes, wire: type[BlockingTransport | AsyncTransport], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transport, "WHOLE_SECONDS", 0.5)
    hub = Evil(begins, drop, pause=0.02)

    async def asked() -> None:
        limits = LIMITS._replace(hub_connect_seconds=0.0, hub_retry_seconds=0.0)
        bus = RemoteBus.over(RetryTransport([wire(hub.url, {})], LoopClock(), hub.url, limits), LoopClock())
        try:
            with pytest.raises(StoreUnavailable):
                await bus.roster()
            with pytest.raises(OutcomeUnknown):
                await bus.nack("1.1", agent="lead", reason="No.")
        finally:
            await bus.close()

    try:
        asyncio.run(asyncio.wait_for(asked(), SECONDS_MAX))
    finally:
        hub.end()
    assert 2 < hub.sent < DROPS  # it was dripping, and it was the client who had enough


@proves("hostile_hub/odd-events")
@pytest.mark.parametrize(
    "body, more, said",
    [
        (EVENT, b"", "invalid event"),
        (b"data: [[[[\n\n", b"", "invalid event"),
        (b"data: {}\n\n", b"", "invalid event"),
        (b"data: " + b"[" * 100_000 + b"\n\n", b"", "invalid event"),
        (b"data: ", b"x" * 65_536, "1,000,000 bytes"),
        (b"", b"x" * 65_536, "1,000,000 bytes"),
    ],
    ids=["of another shape", "half", "empty", "deep", "a line without an end", "no line"],
)
def test_events_that_are_none_become_an_error_of_ours(
    body: bytes, more: bytes, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(live, "FRAME_BYTES_MAX", 1_000_000)
    stream = evil("200 OK\r\nContent-Type: text/event-stream", body, more)
    with stream as hub, telex.connect(hub.url) as bus, pytest.raises(StoreError, match=said):
        next(iter(bus.events(follow=True, wait=1.0)))
    assert hub.sent < READ_MAX


@proves("hostile_hub/odd-events")
def test_a_refusal_to_stream_without_an_end_is_not_read_to_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transport, "ANSWER_BYTES_MAX", 1_000_000)
    endless = evil("403 Forbidden", b"", b" " * 65_536)
    with endless as hub, telex.connect(hub.url) as bus, pytest.raises(StoreError, match="1,000,000 bytes"):
        next(iter(bus.events(follow=True, wait=1.0)))
    assert hub.sent < READ_MAX


@proves("hostile_hub/proxy")
@pytest.mark.parametrize("host", ["127.0.0.1", "127.8.8.8", "localhost", "LOCALHOST", "hub.localhost", "[::1]"])
def test_what_lies_on_this_machine_is_never_asked_through_a_proxy(host: str) -> None:
    assert transport._options(f"http://{host}:4477", {}, None)["trust_env"] is False
    assert transport._options("http://hub.example.org:4477", {}, None)["trust_env"] is True


@proves("hostile_hub/proxy")
def test_a_proxy_in_the_environment_hears_nothing_of_this_machine(hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    with evil("200 OK") as proxy:
        for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
            monkeypatch.setenv(name, proxy.url)
        with telex.connect(hub.url.replace("127.0.0.1", "localhost")) as bus:
            assert bus.search("nothing") == []
        assert proxy.heard == []


@proves("hostile_hub/page-bytes")
def test_a_short_page_is_not_taken_for_the_last(hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("telex.surfaces.http.verbs.PAGE_BYTES", 2_500)
    with telex.connect(hub.url) as bus:
        sent = [bus.send(f"{number} " * 500, sender="dev", to="lead").id for number in range(8)]
        assert [message.id for event, message in bus.events() if event.kind == "accepted" and message] == sent
