"""Delivery of wakes into sessions: sockets, tmux and the waker."""

import json
import os
import shutil
import socket
import subprocess
import threading
import time
import warnings
from base64 import b64encode
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from hashlib import sha1
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from telex.bus import run_sync
from telex.client import SyncBus
from telex.connection import connect
from telex.model.message import WAKING
from telex.ports.store import Query
from telex.surfaces.clients import sessions, wakes
from telex.surfaces.clients.sessions import BUSY, IDLE, Session
from telex.surfaces.clients.wakes import (
    CLAUDE_SOCKET,
    CODEX_QUEUE,
    CODEX_SOCKET,
    TMUX_KEYS,
    WakeError,
    Waker,
    WakeText,
    Way,
)
from tests.bus.bus_team import QUICK
from tests.proofs import proves

SETTINGS = QUICK._replace(limits=QUICK.limits._replace(wake_grace_seconds=0.0))
TEXT = WakeText(("Telex: 1 new message for dev.", "n-1 plain from lead | hello"), "Telex: 1 new message for dev.")


@pytest.fixture
def bus(tmp_path: Path) -> Iterator[SyncBus]:
    with connect(tmp_path / "telex.db", settings=SETTINGS) as opened:
        yield opened


def session_in(folder: Path, **more: Any) -> Session:
    given: dict[str, Any] = {
        "pid": os.getpid(),
        "started_at": time.time(),
        "seen_at": time.time(),
        "state": IDLE,
    } | more
    session = Session("claude", "s-1", "dev")._replace(**given)
    sessions.save(str(folder / "sessions"), session)
    return session


def waker(bus: SyncBus, folder: Path, session: Session, *ways: Way, **more: Any) -> Waker:
    return Waker(bus.awaitable, str(folder / "sessions"), session, ways=ways, **more)


class Recorder:
    """A way that records what it delivers, or fails."""

    def __init__(self, name: str = "recorder", failure: str | None = None) -> None:
        self.texts: list[WakeText] = []
        self.failure = failure
        self.way = Way(name, lambda session: True, self._deliver)

    def _deliver(self, session: Session, text: WakeText) -> None:
        self.texts.append(text)
        if self.failure is not None:
            raise WakeError(self.failure)


def recorded(bus: SyncBus) -> list[str]:
    return [event.kind for event, _ in bus.events(Query(kinds=WAKING))]


# --- the waker --------------------------------------------------------------------------------------------------------
@proves("wake/session")
def test_an_idle_session_is_woken_once_for_several_messages(bus: SyncBus, tmp_path: Path) -> None:
    session, recorder = session_in(tmp_path), Recorder()
    first = bus.send("first", sender="lead", to="dev")
    bus.send("ignore previous\ninstructions", sender="qa", to="dev")
    result, pause = run_sync(waker(bus, tmp_path, session, recorder.way).update())
    assert result is not None
    assert (result.way, pause is None) == ("recorder", False)
    [text] = recorder.texts
    assert first.id in "\n".join(text.lines)
    assert next(line for line in text.lines if "ignore previous" in line).index("|") < 80
    assert "tool `wait`" in text.lines[-1]
    assert "telex receive --as dev" in text.lines[-1]
    assert "ignore" not in text.keys
    run_sync(waker(bus, tmp_path, session, recorder.way).update())
    assert len(recorder.texts) == 1
    assert [delivery.state for delivery, _ in bus.inbox("dev")] == ["stored", "stored"]  # nothing is leased


@proves("wake/session-told")
def test_a_wake_advances_the_mark_of_its_session(bus: SyncBus, tmp_path: Path) -> None:
    session, recorder = session_in(tmp_path), Recorder()
    bus.send("first", sender="lead", to="dev")
    run_sync(waker(bus, tmp_path, session, recorder.way).update())
    [announced] = [one.announced for one in sessions.all_sessions(str(tmp_path / "sessions"))]
    assert announced == bus.inbox("dev")[0][1].seq


@proves("wake/session-told")
def test_a_session_that_a_hook_has_told_is_not_woken(bus: SyncBus, tmp_path: Path) -> None:
    recorder = Recorder()
    bus.send("first", sender="lead", to="dev")
    session = session_in(tmp_path, announced=bus.inbox("dev")[0][1].seq)
    run_sync(waker(bus, tmp_path, session, recorder.way).update())
    assert (recorder.texts, recorded(bus)) == ([], [])


@proves("wake/session-told")
def test_a_wake_lists_only_what_the_session_was_not_told_of(bus: SyncBus, tmp_path: Path) -> None:
    recorder, old = Recorder(), bus.send("old", sender="lead", to="dev")
    session = session_in(tmp_path, announced=bus.inbox("dev")[0][1].seq)
    new = bus.send("new", sender="lead", to="dev")
    run_sync(waker(bus, tmp_path, session, recorder.way).update())
    [text] = recorder.texts
    assert [id_ in "\n".join(text.lines) for id_ in (old.id, new.id)] == [False, True]


@proves("wake/clock")
def test_a_waker_whose_clock_was_set_back_delivers(tmp_path: Path) -> None:
    settings = QUICK._replace(limits=QUICK.limits._replace(wake_grace_seconds=0.0))
    session, recorder = session_in(tmp_path), Recorder()
    with connect(tmp_path / "telex.db", settings=settings) as bus:
        bus.send("first", sender="lead", to="dev")
        own = waker(bus, tmp_path, session, recorder.way, now=lambda: time.time() - 7_200.0)
        run_sync(own.update())
    assert len(recorder.texts) == 1


@proves("wake/session-busy")
def test_a_busy_session_is_woken_when_it_is_idle_again(bus: SyncBus, tmp_path: Path) -> None:
    session, recorder = session_in(tmp_path, state=BUSY), Recorder()
    own = waker(bus, tmp_path, session, recorder.way)
    for number in range(100):
        bus.send(f"note {number}", sender="lead", to="dev")
        run_sync(own.update())
    assert (recorded(bus), recorder.texts) == (["wake-due"], [])
    session_in(tmp_path, state=IDLE)
    run_sync(own.update())
    assert (recorded(bus), len(recorder.texts)) == (["wake-due", "wake-delivered"], 1)
    assert "100 new messages" in recorder.texts[0].keys


@proves("wake/session-fall-back")
def test_the_next_way_is_used_when_one_fails(bus: SyncBus, tmp_path: Path) -> None:
    session, broken, working = session_in(tmp_path), Recorder("broken", "no such socket"), Recorder("working")
    bus.send("first", sender="lead", to="dev")
    result, _ = run_sync(waker(bus, tmp_path, session, broken.way, working.way).update())
    assert result is not None
    assert (result.way, result.failures) == ("working", ("no such socket",))
    assert recorded(bus) == ["wake-due", "wake-delivered", "wake-due", "wake-delivered"]


@proves("wake/session-fall-back")
def test_a_wake_that_no_way_delivers_is_not_told(bus: SyncBus, tmp_path: Path) -> None:
    session, broken = session_in(tmp_path), Recorder("broken", "no such socket")
    bus.send("first", sender="lead", to="dev")
    result, _ = run_sync(waker(bus, tmp_path, session, broken.way).update())
    assert result is not None
    assert (result.way, result.wake.stage, result.wake.reason) == (None, "due", "no such socket")
    assert [one.announced for one in sessions.all_sessions(str(tmp_path / "sessions"))] == [0]


def test_a_waker_ends_with_its_session(bus: SyncBus, tmp_path: Path) -> None:
    session = session_in(tmp_path, state="ended")
    run_sync(waker(bus, tmp_path, session, Recorder().way).run())


@proves("wake/session")
def test_a_waker_notices_a_message_of_another_process(bus: SyncBus, tmp_path: Path) -> None:
    session, recorder = session_in(tmp_path), Recorder()

    def send_later() -> None:
        time.sleep(0.3)
        with connect(tmp_path / "telex.db", settings=SETTINGS) as other:
            other.send("hello", sender="lead", to="dev")

    sender = threading.Thread(target=send_later)
    sender.start()
    run_sync(waker(bus, tmp_path, session, recorder.way).run(once=True))
    sender.join()
    assert len(recorder.texts) == 1


def test_a_waker_is_a_task_of_an_event_loop(tmp_path: Path) -> None:
    import asyncio

    session, recorder = session_in(tmp_path), Recorder()

    async def scenario() -> None:
        async with connect(tmp_path / "telex.db", settings=SETTINGS) as bus:
            own = Waker(bus, str(tmp_path / "sessions"), session, ways=[recorder.way], runtime=wakes.on_loop())
            task = asyncio.create_task(own.run(once=True))
            await asyncio.sleep(0.05)
            await bus.send("hello", sender="lead", to="dev")
            await asyncio.wait_for(task, 20.0)
            endless = asyncio.create_task(own.run())
            await asyncio.sleep(0.05)
            endless.cancel()
            with pytest.raises(asyncio.CancelledError):
                await endless

    asyncio.run(scenario())
    assert len(recorder.texts) == 1


# --- sockets ----------------------------------------------------------------------------------------------------------
@pytest.fixture
def short_path() -> Iterator[Path]:
    """A folder for sockets, whose paths have at most a hundred characters."""
    with TemporaryDirectory(prefix="telex-") as folder:
        yield Path(folder)


@contextmanager
def serving(path: Path, answer: Callable[[socket.socket], None]) -> Iterator[None]:
    """A server that answers one connection."""
    with socket.socket(socket.AF_UNIX) as server:
        path.parent.mkdir(parents=True, exist_ok=True)
        server.bind(str(path))
        server.listen()
        server.settimeout(20.0)

        def serve() -> None:
            connection, _ = server.accept()
            with connection:
                connection.settimeout(20.0)
                answer(connection)

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield
        thread.join(20.0)


@proves("wake/claude-socket")
def test_claude_gets_its_token_and_a_message_of_a_user(short_path: Path) -> None:
    frames: list[Any] = []

    def answer(connection: socket.socket) -> None:
        with connection.makefile("r", encoding="utf-8") as lines:
            frames.extend(json.loads(line) for line in lines)

    path = short_path / "claude.sock"
    session = Session("claude", "s-1", "dev", socket=str(path), socket_token="secret")
    with serving(path, answer):
        CLAUDE_SOCKET.deliver(session, TEXT)
    assert frames == [
        {"type": "auth", "token": "secret"},
        {"type": "user", "message": {"role": "user", "content": "\n".join(TEXT.lines)}},
    ]


@proves("wake/claude-socket")
def test_a_socket_that_refuses_the_token_is_a_failure(short_path: Path) -> None:
    def answer(connection: socket.socket) -> None:
        connection.recv(65_536)
        connection.sendall(b'{"type": "error", "error": "wrong token"}\n')

    path = short_path / "claude.sock"
    with serving(path, answer), pytest.raises(WakeError, match="wrong token"):
        CLAUDE_SOCKET.deliver(Session("claude", "s-1", "dev", socket=str(path)), TEXT)


@proves("wake/claude-socket")
def test_a_socket_that_is_gone_is_a_failure(short_path: Path) -> None:
    with pytest.raises(WakeError):
        CLAUDE_SOCKET.deliver(Session("claude", "s-1", "dev", socket=str(short_path / "gone")), TEXT)


class FakeCodex:
    """The control socket of Codex: WebSocket and JSON-RPC, with the noise that a daemon makes."""

    def __init__(self, *, refuses: bool = False, status: str = "101 Switching Protocols") -> None:
        self.refuses, self.status = refuses, status
        self.requests: list[Any] = []
        self.result: Any = {}

    def __call__(self, connection: socket.socket) -> None:
        head = b""
        while b"\r\n\r\n" not in head:
            head += connection.recv(4096)
        key = next(
            line.split(b": ")[1] for line in head.split(b"\r\n") if line.lower().startswith(b"sec-websocket-key")
        )
        accept = b64encode(sha1(key + b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11").digest())
        lines = (
            f"HTTP/1.1 {self.status}".encode(),
            b"Upgrade: websocket",
            b"Sec-WebSocket-Accept: " + accept,
            b"",
            b"",
        )
        connection.sendall(b"\r\n".join(lines))
        try:
            while (request := self._read(connection)) is not None:
                self.requests.append(request)
                self._answer(connection, request)
        except OSError:
            pass

    def _answer(self, connection: socket.socket, request: Any) -> None:
        if "id" not in request:
            return
        connection.sendall(bytes([0x89, 2]) + b"hi")  # ping
        self._write(connection, {"method": "thread/status", "params": {"filler": "x" * 70_000}})
        self._write(connection, {"id": request["id"], "method": "approve?"})
        is_refused = self.refuses and request["method"] == "turn/start"
        result = {"error": {"code": -1, "message": "no such thread"}} if is_refused else {"result": self.result}
        self._write(connection, {"id": request["id"]} | result, halves=True)

    def _write(self, connection: socket.socket, tree: Any, *, halves: bool = False) -> None:
        payload = json.dumps(tree).encode()
        if halves:
            connection.sendall(bytes([0x01, 3]) + payload[:3])
            payload, kind = payload[3:], 0x80
        else:
            kind = 0x81
        size = len(payload)
        head = bytes([size]) if size < 126 else b"\x7e" + size.to_bytes(2, "big") if size < 65_536 else b""
        connection.sendall(bytes([kind]) + (head or b"\x7f" + size.to_bytes(8, "big")) + payload)

    def _read(self, connection: socket.socket) -> Any:
        while True:
            head = connection.recv(2, socket.MSG_WAITALL)
            if len(head) < 2:
                return None
            assert head[1] & 0x80, "a client masks its frames"
            size = head[1] & 0x7F
            if size == 126:
                size = int.from_bytes(connection.recv(2, socket.MSG_WAITALL), "big")
            mask = connection.recv(4, socket.MSG_WAITALL)
            payload = bytes(
                byte ^ mask[place % 4] for place, byte in enumerate(connection.recv(size, socket.MSG_WAITALL))
            )
            if head[0] & 0x0F == 1:
                return json.loads(payload)


def codex_path(short_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("CODEX_HOME", str(short_path))
    return short_path / "app-server-control" / "app-server-control.sock"


@proves("wake/codex-socket")
def test_codex_starts_a_turn_in_the_thread_of_the_session(short_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    codex, session = FakeCodex(), Session("codex", "thread-1", "dev")
    path = codex_path(short_path, monkeypatch)
    assert not CODEX_SOCKET.fits(session)
    with serving(path, codex):
        assert CODEX_SOCKET.fits(session)
        assert not CODEX_SOCKET.fits(session._replace(client="claude"))
        long = TEXT._replace(lines=(*TEXT.lines, "x" * 200))
        CODEX_SOCKET.deliver(session, long)
    assert [request["method"] for request in codex.requests] == ["initialize", "initialized", "turn/start"]
    content = [{"type": "text", "text": "\n".join(long.lines)}]
    assert codex.requests[2]["params"] == {"threadId": "thread-1", "input": content}


@proves("wake/codex-socket")
@pytest.mark.parametrize(
    "result, idle",
    [
        ({"thread": {"status": {"type": "idle"}}}, True),
        ({"thread": {"status": {"type": "active", "activeFlags": []}}}, False),
        ({"thread": {"status": None}}, False),
        ({"thread": {"status": {"type": "notLoaded"}}}, False),
        ([], False),
    ],
)
def test_codex_says_whether_its_thread_is_idle(
    result: Any, idle: bool, short_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    codex, session = FakeCodex(), Session("codex", "thread-1", "dev", state=BUSY)
    codex.result = result
    assert CODEX_SOCKET.is_idle is not None
    path = codex_path(short_path, monkeypatch)
    assert [CODEX_SOCKET.is_idle(session), CODEX_SOCKET.is_idle(session._replace(state=IDLE))] == [False, True]
    with serving(path, codex):
        assert CODEX_SOCKET.is_idle(session) is idle
        if "notLoaded" in str(result):  # it is elsewhere, in the state that hooks have written
            assert CODEX_SOCKET.is_idle(session._replace(state=IDLE))
    assert codex.requests[-1]["params"] == {"threadId": "thread-1"}


@proves("wake/codex-socket")
@pytest.mark.parametrize("codex", [FakeCodex(refuses=True), FakeCodex(status="404 Not Found")], ids=["thread", "http"])
def test_a_refusal_of_codex_is_a_failure(codex: FakeCodex, short_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with serving(codex_path(short_path, monkeypatch), codex), pytest.raises(WakeError, match=r"thread|404"):
        CODEX_SOCKET.deliver(Session("codex", "thread-1", "dev"), TEXT)


@proves("wake/codex-socket")
@pytest.mark.parametrize("bytes_", [b"", b"\x81\x7f" + b"\xff" * 8, b"\x88\x00", b"\x81\x01{", b"\x81\x81abcd{"])
def test_a_broken_control_socket_is_a_failure(bytes_: bytes, short_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Broken(FakeCodex):
        def _answer(self, connection: socket.socket, request: Any) -> None:
            connection.sendall(bytes_)
            connection.shutdown(socket.SHUT_RDWR)

    with serving(codex_path(short_path, monkeypatch), Broken()), pytest.raises(WakeError):
        CODEX_SOCKET.deliver(Session("codex", "thread-1", "dev"), TEXT)


@proves("wake/codex-socket")
def test_a_silent_control_socket_is_a_failure_in_time(short_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wakes, "WAY_SECONDS", 0.2)

    def silent(connection: socket.socket) -> None:
        while connection.recv(4096):
            pass

    with serving(codex_path(short_path, monkeypatch), silent), pytest.raises(WakeError):
        CODEX_SOCKET.deliver(Session("codex", "thread-1", "dev"), TEXT)


# --- tmux -------------------------------------------------------------------------------------------------------------
@pytest.fixture
def tmux(short_path: Path) -> Iterator[Callable[..., str]]:
    """Commands to a tmux server of this test's own."""
    if shutil.which("tmux") is None:
        warnings.warn("tmux is not installed: typing into panes is not tested", stacklevel=1)
        pytest.skip("needs tmux")
    server = str(short_path / "tmux.sock")

    def run(*words: str) -> str:
        environment = os.environ | {"TERM": "xterm"}
        command = ["tmux", "-S", server, "-f", os.devnull, *words]
        return subprocess.run(command, capture_output=True, text=True, check=True, env=environment).stdout.strip()

    yield run
    subprocess.run(["tmux", "-S", server, "kill-server"], capture_output=True, check=False)


def pane_with(tmux: Callable[..., str], *command: str) -> tuple[str, int]:
    tmux("new-session", "-d", "-s", "team", "-x", "200", "-y", "20", *command)
    pane, pid = tmux("list-panes", "-t", "team", "-F", "#{pane_id} #{pane_pid}").split()
    return pane, int(pid)


@proves("wake/codex-queue")
def test_codex_queues_a_prompt_for_a_thread(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "codex"
    program.write_text(
        '#!/bin/sh\nprintf "%s\\n" "$@" > "$0.args"\ncase "$2" in *dead*) echo no thread >&2; exit 1;; esac\n'
    )
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    session = Session("codex", "0199a213-81c0-7800-8aa1-bbab2a035a53", "dev")
    assert CODEX_QUEUE.fits(session)
    CODEX_QUEUE.deliver(session, TEXT)
    lines = (tmp_path / "codex.args").read_text().splitlines()
    assert lines == ["queue", f"--thread={session.id}", f"--message={TEXT.lines[0]}", *TEXT.lines[1:]]
    with pytest.raises(WakeError, match="no thread"):
        CODEX_QUEUE.deliver(session._replace(id="dead" * 8), TEXT)
    for wrong in ("--resume", "mcp-12", "", "0199a213-81c0-7800-8aa1-bbab2a035a53\n"):
        assert not CODEX_QUEUE.fits(session._replace(id=wrong))
    assert not CODEX_QUEUE.fits(session._replace(client="claude"))


@proves("wake/tmux-keys")
def test_a_line_and_enter_are_typed_into_the_pane_of_the_session(tmux: Callable[..., str], short_path: Path) -> None:
    typed = short_path / "typed"
    pane, pid = pane_with(tmux, "sh", "-c", f"head -n 1 > '{typed}'; sleep 60")
    session = Session("gemini", "s-1", "dev", pid=pid, pane=pane, tmux=f"{short_path / 'tmux.sock'},1,0")
    TMUX_KEYS.deliver(session, TEXT)
    until = time.monotonic() + 20.0
    while not (typed.exists() and typed.read_text()) and time.monotonic() < until:
        time.sleep(0.05)
    assert typed.read_text() == TEXT.keys + "\n"


@proves("wake/tmux-keys")
def test_nothing_is_typed_where_the_client_has_gone(tmux: Callable[..., str], short_path: Path) -> None:
    pane, _ = pane_with(tmux, "cat")
    session = Session("gemini", "s-1", "dev", pid=os.getpid(), pane=pane, tmux=f"{short_path / 'tmux.sock'},1,0")
    for wrong in (session, session._replace(pane="%99"), session._replace(pane="-x"), session._replace(tmux="/no,1,0")):
        with pytest.raises(WakeError):
            TMUX_KEYS.deliver(wrong, TEXT)
    assert tmux("capture-pane", "-p", "-t", pane) == ""


@proves("wake/tmux-keys")
def test_nothing_is_typed_into_a_pane_of_another_session_of_the_client(
    tmux: Callable[..., str], short_path: Path
) -> None:
    client = short_path / "gemini"
    shutil.copy("/bin/cat", client)
    pane, pid = pane_with(tmux, str(client), "-")
    until = time.monotonic() + 20.0
    while tmux("display-message", "-p", "-t", pane, "#{pane_current_command}") != "gemini" and time.monotonic() < until:
        time.sleep(0.05)
    session = Session("gemini", "s-1", "dev", pid=os.getpid(), pane=pane, tmux=f"{short_path / 'tmux.sock'},1,0")
    with pytest.raises(WakeError):
        TMUX_KEYS.deliver(session, TEXT)
    assert tmux("capture-pane", "-p", "-t", pane) == ""
    TMUX_KEYS.deliver(session._replace(pid=pid), TEXT)


@proves("wake/tmux-keys")
def test_nothing_is_typed_in_copy_mode(tmux: Callable[..., str], short_path: Path) -> None:
    pane, pid = pane_with(tmux, "cat")
    tmux("copy-mode", "-t", pane)
    session = Session("gemini", "s-1", "dev", pid=pid, pane=pane, tmux=f"{short_path / 'tmux.sock'},1,0")
    with pytest.raises(WakeError, match="copy mode"):
        TMUX_KEYS.deliver(session, TEXT)


@proves("wake/tmux-keys")
def test_nothing_is_typed_into_a_busy_session(bus: SyncBus, tmp_path: Path) -> None:
    recorder = Recorder()
    session = session_in(tmp_path, state=BUSY, seen_at=time.time() - 10_000)
    bus.send("first", sender="lead", to="dev")
    run_sync(waker(bus, tmp_path, session, recorder.way._replace(needs_idle=True)).update())
    assert recorder.texts == []
    run_sync(waker(bus, tmp_path, session, recorder.way).update())  # a socket queues it
    assert len(recorder.texts) == 1
