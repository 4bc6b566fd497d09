"""Delivery of wakes: the ways into a client's session, and `Waker`, the polling loop of one session.

A way sends a request that starts a turn in an idle session. It raises `WakeError` after a timeout of a few seconds. The
bus decides whether a wake is delivered (`Bus.wake`); nothing here leases a message.
"""

import math
import os
import re
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import aclosing
from typing import TYPE_CHECKING, Any

from telex.errors import TelexError
from telex.model.message import StoredMessage
from telex.model.named_tuple import NamedTuple
from telex.ports.store import Query
from telex.surfaces.clients import sessions
from telex.surfaces.clients.processes import ANCESTORS_MAX
from telex.surfaces.clients.sessions import Session
from telex.surfaces.clients.table import CLIENTS

if TYPE_CHECKING:
    from telex.ports.bus import Bus, Wake

WAY_SECONDS = 5.0  # deadline of one delivery
ANSWER_SECONDS = 0.3  # a socket that refuses a frame answers within this time
KEYS_APART_SECONDS = 0.4  # clients take text and Enter that come together for a paste
POLL_SECONDS = 0.5  # between two reads of the log; a follower of it would poll every 40 ms, in each session
UPDATE_SECONDS = 5.0  # between two updates of the wake: messages to a role are found only then
BUSY_SECONDS = 1.0  # the same for a busy session with a due wake
SETTLE_SECONDS = 0.2  # a reader that waits takes a new message first: no wake becomes due
RETRY_SECONDS = 10.0  # backoff after an error of the store or hub
STALE_SECONDS = 300.0  # a busy session without an event for so long may have no hooks
PANE_FACTS = "#{pane_pid} #{pane_dead} #{pane_in_mode} #{pane_current_command}"
CODEX_THREAD = re.compile(r"[0-9a-fA-F][0-9a-fA-F-]{15,63}\Z")
NEWS = ("accepted", "request-repeated", "retried", "returned", "lease-expired", "nacked")  # kinds that fill an inbox


class WakeError(Exception):
    """A way failed; the text is the reason."""


# --- text -------------------------------------------------------------------------------------------------------------
class WakeText(NamedTuple):
    lines: tuple[str, ...]  # for a session that takes text of several lines
    keys: str  # one line without any text of other agents, to be typed into a terminal


def wake_text(agent: str, unread: int, messages: Sequence[StoredMessage]) -> WakeText:
    """The prompt of a wake. It explains itself: the turn may have neither the instructions of `telex mcp` nor its
    tools."""
    from telex.model.text import shown
    from telex.surfaces.clients.mail import LISTED_MAX, Unread, unread_lines

    newest = max((message.seq for message in messages), default=0)
    lines = unread_lines(Unread(unread, newest, tuple(messages[:LISTED_MAX])), agent)
    many = "1 new message" if unread == 1 else f"{unread} new messages"
    return WakeText(tuple(lines), f"Telex: {many} for {shown(agent)}. {lines[-1]}")


# --- ways -------------------------------------------------------------------------------------------------------------
class Way(NamedTuple):
    name: str
    fits: Callable[[Session], bool]
    deliver: Callable[[Session, WakeText], None]
    needs_idle: bool = False  # it would interrupt a busy client, or answer its question
    is_idle: Callable[[Session], bool] | None = None  # asks the client; None: the state that hooks have written


def claude_socket(session: Session, text: WakeText) -> None:
    """Claude Code's messaging socket: a line of JSON starts a turn, or is shown between two tool calls."""
    import socket

    from telex.surfaces.clients.json_text import dump

    assert session.socket is not None
    frames = [
        {"type": "auth", "token": session.socket_token or ""},
        {"type": "user", "message": {"role": "user", "content": "\n".join(text.lines)}},
    ]
    with socket.socket(socket.AF_UNIX) as line:
        line.settimeout(WAY_SECONDS)
        try:
            line.connect(session.socket)
            line.sendall("".join(dump(frame) + "\n" for frame in frames).encode())
        except OSError as error:
            raise WakeError(f"Claude's messaging socket: {error.strerror or error}") from error
        _refuse_error(line)


def _refuse_error(line: Any) -> None:
    """Claude sends no response to an accepted frame."""
    from telex.surfaces.clients.json_text import parse

    line.settimeout(ANSWER_SECONDS)
    try:
        answer = parse(line.recv(4096).decode("utf-8", "replace").partition("\n")[0] or "null")
    except (OSError, ValueError):
        return
    if isinstance(answer, dict) and (answer.get("type") == "error" or "error" in answer):
        raise WakeError(f"Claude's messaging socket: {str(answer.get('error') or answer.get('message'))[:200]}")


def codex_control_path() -> str:
    home = os.environ.get("CODEX_HOME") or os.path.join(os.path.expanduser("~"), ".codex")
    return os.path.join(home, "app-server-control", "app-server-control.sock")


def codex_control_socket(session: Session, text: WakeText) -> None:
    """The daemon behind Codex's terminal: the request `turn/start` begins a turn in the visible session. The API is
    experimental."""
    content = [{"type": "text", "text": "\n".join(text.lines)}]
    _ask_codex("turn/start", {"threadId": session.id, "input": content})


def is_codex_idle(session: Session) -> bool:
    """A turn that is started in a busy thread interrupts it."""
    try:
        answer = _ask_codex("thread/read", {"threadId": session.id})
    except WakeError:
        return session.state == sessions.IDLE
    thread = answer.get("thread") if isinstance(answer, dict) else None
    status = thread.get("status") if isinstance(thread, dict) else None
    kind = status.get("type") if isinstance(status, dict) else None
    # A session that was started with an option -c has no daemon: its thread is not loaded there.
    return session.state == sessions.IDLE if kind == "notLoaded" else kind == "idle"


def _ask_codex(method: str, params: dict[str, Any]) -> Any:
    from telex.surfaces.clients.control_socket import ControlSocket

    try:
        with ControlSocket(codex_control_path(), WAY_SECONDS) as control:
            control.request("initialize", {"clientInfo": {"name": "telex", "title": "Telex", "version": "1"}})
            control.notify("initialized")
            return control.request(method, params)
    except OSError as error:
        raise WakeError(f"Codex's control socket: {error.strerror or error}") from error


def is_codex_thread(session: Session) -> bool:
    return session.client == "codex" and CODEX_THREAD.match(session.id) is not None


def codex_queue(session: Session, text: WakeText) -> None:
    """The command `codex queue`: the text is the next prompt of a session, also of one that has no daemon. A busy
    session takes it at the end of its turn."""
    _run_program("codex", "queue", f"--thread={session.id}", "--message=" + "\n".join(text.lines))


def tmux_keys(session: Session, text: WakeText) -> None:
    """Type a line into the pane of the session, if its client still runs there."""
    pane = session.pane or ""
    if pane[:1] != "%" or not pane[1:].isdecimal():
        raise WakeError(f"no tmux pane is called {pane[:20]!r}")
    facts = _tmux(session, "display-message", "-p", "-t", pane, PANE_FACTS).split()
    if len(facts) < 4 or facts[1] != "0":
        raise WakeError(f"nothing runs in tmux pane {pane}")
    if facts[2] != "0":
        raise WakeError(f"tmux pane {pane} is in copy mode")
    # Another session of the same client may run in a pane with this number, after a restart of tmux for example.
    is_there = _is_inside(session.pid, int(facts[0])) if session.pid else facts[3] == CLIENTS[session.client].executable
    if not is_there:
        raise WakeError(f"the session does not run in tmux pane {pane} any more")
    _tmux(session, "send-keys", "-t", pane, "-l", "--", text.keys)
    time.sleep(KEYS_APART_SECONDS)
    _tmux(session, "send-keys", "-t", pane, "Enter")


def _is_inside(pid: int, ancestor: int) -> bool:
    """Whether the process is `ancestor` or was started by it."""
    for _ in range(ANCESTORS_MAX):
        if pid in (0, 1, ancestor):
            break
        pid = _parent(pid)
    return pid == ancestor


def _parent(pid: int) -> int:
    """0: unknown."""
    import subprocess

    try:
        done = subprocess.run(
            ["ps", "-o", "ppid=", "-p", str(pid)], capture_output=True, text=True, timeout=WAY_SECONDS, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return 0
    return int(done.stdout) if done.stdout.strip().isdecimal() else 0


def _tmux(session: Session, *words: str) -> str:
    server = (session.tmux or "").split(",")[0]
    return _run_program("tmux", *(["-S", server] if server else []), *words)


def _run_program(*command: str) -> str:
    import subprocess

    program = command[0]
    try:
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=WAY_SECONDS, check=False
        )
    except FileNotFoundError as error:
        raise WakeError(f"{program} is not installed") from error
    except subprocess.TimeoutExpired as error:
        raise WakeError(f"{program} does not answer") from error
    if done.returncode:
        raise WakeError(f"{program}: {done.stderr.strip()[:200]}")
    return done.stdout


CLAUDE_SOCKET = Way("claude-socket", lambda session: bool(session.socket), claude_socket)
CODEX_SOCKET = Way(
    "codex-socket",
    lambda session: session.client == "codex" and os.path.exists(codex_control_path()),
    codex_control_socket,
    needs_idle=True,
    is_idle=is_codex_idle,
)
CODEX_QUEUE = Way("codex-queue", is_codex_thread, codex_queue)
# The plugin of opencode wakes its session, and knows the ids of the messages.
TMUX_KEYS = Way("tmux-keys", lambda session: bool(session.pane) and session.client != "opencode", tmux_keys, True)
WAYS = (CLAUDE_SOCKET, CODEX_SOCKET, CODEX_QUEUE, TMUX_KEYS)  # the best first


# --- waker ------------------------------------------------------------------------------------------------------------
class Runtime(NamedTuple):
    """Sleep and blocking calls of a waker: direct, or in threads beside an event loop."""

    call: Callable[..., Awaitable[Any]]
    sleep: Callable[[float], Awaitable[None]]


async def _call(function: Callable[..., Any], *given: Any) -> Any:
    return function(*given)


async def _sleep(seconds: float) -> None:
    time.sleep(seconds)


BLOCKING = Runtime(_call, _sleep)


def on_loop() -> Runtime:
    """For a waker that is a task of an event loop."""
    import asyncio

    return Runtime(asyncio.to_thread, asyncio.sleep)


class WakeResult(NamedTuple):
    wake: "Wake"
    way: str | None = None  # in which it was delivered
    failures: tuple[str, ...] = ()
    waits: str = ""  # why it was not tried: the session is busy, or has no way


class Waker:
    """Polling loop of one session: waits for unread messages, and delivers a due wake when the session is idle."""

    def __init__(
        self,
        bus: "Bus",
        folder: str,
        session: Session,
        *,
        ways: Sequence[Way] | None = None,
        runtime: Runtime = BLOCKING,
        by: str | None = None,
        now: Callable[[], float] = time.time,
    ) -> None:
        """`folder`: of the sessions, see `sessions.folder_of`. `by`: who wakes; the agent itself if not given."""
        self._by = by or session.agent
        self._bus, self._folder, self._session = bus, folder, session
        self._ways, self._runtime, self._now = WAYS if ways is None else ways, runtime, now
        self.is_stopped = False

    async def run(self, *, once: bool = False, seconds: float = math.inf) -> None:
        """Run until the session ends, the timeout has passed, `is_stopped` is set or the task is cancelled; `once`:
        until a wake is delivered."""
        after, ends_at = None, self._now() + seconds
        while not self.is_stopped and self._now() < ends_at:
            try:
                after = await self._last_event() if after is None else after
                result, pause = await self.update()
                if pause is None or (once and result is not None and result.way is not None):
                    return
                after = await self._wait(after, min(pause, max(ends_at - self._now(), 0.0)))
            except (TelexError, OSError):
                await self._runtime.sleep(RETRY_SECONDS)

    async def update(self) -> tuple[WakeResult | None, float | None]:
        """Update the state of the wake, and deliver it if that is allowed now. Seconds until the next update; None: the
        session has ended."""
        session = self._load()
        if session is None:
            return None, None
        wake = await self._wake(session.agent, announced=session.announced)
        if wake.stage != "due":
            return WakeResult(wake), UPDATE_SECONDS
        ways = await self._usable(session)
        if not ways:
            return WakeResult(wake), BUSY_SECONDS
        # The bus decides by its own clock, which differs from this one after the system's clock was set back.
        result = await self.deliver(session, ways)
        left = UPDATE_SECONDS if wake.deliver_at is None else wake.deliver_at - self._now()
        is_early = result.way is None and not result.failures and left > 0
        return result, min(left, UPDATE_SECONDS) if is_early else BUSY_SECONDS

    async def _wake(self, agent: str, **step: Any) -> "Wake":
        session = f"{self._session.client}:{self._session.id}"
        return await self._bus.wake(agent, by=self._by, session=session, **step)

    async def wake_now(self, *, force: bool = False) -> WakeResult:
        """Deliver a wake at the request of a person. `force`: also while the session is busy, during quiet hours, and
        for messages that were announced to it."""
        session = self._load() or self._session
        announced = 0 if force else session.announced
        ways = await self._usable(session, may_be_busy=force)
        if ways:
            return await self.deliver(session, ways, force=force)
        wake = await self._wake(session.agent, announced=announced, force=force)
        is_busy = any(way.fits(session) for way in self._ways)
        return WakeResult(wake, waits="its session is busy" if is_busy else "its session has no way to be woken")

    async def deliver(self, session: Session, ways: Sequence[Way], *, force: bool = False) -> WakeResult:
        """Deliver a due wake in the first way that works."""
        failures: list[str] = []
        agent, wake = session.agent, None
        for way in ways:
            is_forced = force or bool(failures)  # the next way need not wait for the retry of the one before
            wake = await self._wake(agent, announced=session.announced, way=way.name, force=is_forced)
            if not wake.claimed:
                return WakeResult(wake, None, tuple(failures))
            failure = await self._attempt(way, session, wake, force=force)
            if failure is None:
                return WakeResult(wake, way.name, tuple(failures))
            failures.append(failure)
            announced = 0 if force else self._announced(session)
            wake = await self._wake(agent, announced=announced, way=way.name, failed=failure)
            if wake.stage != "due":  # its messages were announced meanwhile
                break
        if wake is None:
            wake = await self._wake(agent, announced=0 if force else session.announced)
        return WakeResult(wake, None, tuple(failures))

    async def _attempt(self, way: Way, session: Session, wake: "Wake", *, force: bool) -> str | None:
        """Deliver in this way; the reason why it failed, or None. The messages are marked as announced before, so that
        no hook announces them at the same time."""
        if not sessions.claim_announcement(self._folder, session, wake.newest) and not force:
            return "its messages were announced meanwhile"
        try:
            text = await self._text(session.agent, wake, announced=0 if force else session.announced)
            await self._runtime.call(way.deliver, session, text)
        except (WakeError, TelexError, OSError) as error:
            self._restore_announced(session, wake.newest)
            return str(error) or type(error).__name__
        return None

    async def _text(self, agent: str, wake: "Wake", *, announced: int) -> WakeText:
        waiting = await self._bus.inbox(agent, limit=100)
        messages = [message for delivery, message in waiting if delivery.state == "stored"]
        return wake_text(
            agent, wake.unread, [message for message in messages if announced < message.seq <= wake.newest]
        )

    async def _usable(self, session: Session, *, may_be_busy: bool = False) -> list[Way]:
        """The ways into the session as it is now."""
        may_be_busy = may_be_busy or self._now() - session.seen_at > STALE_SECONDS
        usable = []
        for way in self._ways:
            if not way.fits(session):
                continue
            is_idle = session.state == sessions.IDLE
            if way.is_idle is not None:
                is_idle = await self._runtime.call(way.is_idle, session)
            if is_idle or (may_be_busy and not way.needs_idle):
                usable.append(way)
        return usable

    def _load(self) -> Session | None:
        session = sessions.load(self._folder, self._session.client, self._session.id)
        if session is None or session.state == sessions.ENDED or not sessions.is_live(session):
            return None
        self._session = session  # it may have got another name
        return session

    def _announced(self, session: Session) -> int:
        current = sessions.load(self._folder, session.client, session.id)
        return session.announced if current is None else current.announced

    def _restore_announced(self, session: Session, newest: int) -> None:
        def restore(current: Session) -> Session:
            return current._replace(announced=session.announced) if current.announced == newest else current

        sessions.update(self._folder, session.client, session.id, restore)

    async def _last_event(self) -> int:
        async with aclosing(self._bus.events(Query(newest_first=True))) as events:
            async for event, _ in events:
                return event.seq
        return 0

    async def _wait(self, after: int, seconds: float) -> int:
        """Poll the log for an event that may bring a message, until the timeout. The number of the last event read."""
        query, ends_at = Query(after=after, kinds=NEWS, agent=self._session.agent), self._now() + seconds
        while True:
            async with aclosing(self._bus.events(query)) as events:
                async for event, _ in events:
                    await self._runtime.sleep(SETTLE_SECONDS)
                    return event.seq
            left = ends_at - self._now()
            if left <= 0:
                return after
            await self._runtime.sleep(min(left, POLL_SECONDS))


def wait_for_wake(store: str, folder: str, session: Session, seconds: float) -> str:
    """Wait for the wake of a session, for a hook whose text starts a turn. The text; empty: timeout."""
    from telex.bus import run_sync
    from telex.connection import connect

    texts: list[str] = []
    way = Way("claude-hook", lambda _: True, lambda _, text: texts.append("\n".join(text.lines)), needs_idle=True)
    with connect(store) as bus:
        run_sync(Waker(bus.awaitable, folder, session, ways=(way,)).run(once=True, seconds=seconds))
    return texts[0] if texts else ""
