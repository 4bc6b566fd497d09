"""MCP server of one agent on stdin and stdout, as coding tools start it.

The handshake and the listings are answered without asyncio, the bus or the SDK: a client does not wait long for a
server. The first call, or a second of silence, starts the event loop and imports the rest. A call opens the bus: an
unavailable store or hub is reported to the agent, and the next call retries.
"""

import os
from typing import TYPE_CHECKING

from telex.surfaces.mcp.stdio_protocol import Call, Cancellation, RequestError, Roots, StdioProtocol

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine
    from contextlib import AsyncExitStack
    from typing import Any

    from telex.config import Settings
    from telex.ports.bus import Bus
    from telex.surfaces.mcp.identity import AgentSession
    from telex.surfaces.mcp.tool_calls import CallContext

SILENCE_SECONDS = 1.0
ATTEND_SECONDS = 5.0  # between two looks for a store or a session
CHUNK_BYTES = 65_536
UNKNOWN_PROJECT = (
    "telex mcp was started in the folder of a plugin and does not know the project: start it in the project, or give"
    " --store PATH."
)


class Wire:
    """Lines of the protocol. Afterwards stdin is empty and stdout is stderr, for child processes and stray prints."""

    def __init__(self) -> None:
        self._in, self._out = os.dup(0), os.dup(1)
        self._rest = b""
        empty = os.open(os.devnull, os.O_RDONLY)
        os.dup2(empty, 0)
        os.close(empty)
        os.dup2(2, 1)

    def read(self) -> list[bytes] | None:
        """The next lines, at least one; None: the end."""
        lines: list[bytes] = []
        while not lines:
            chunk = os.read(self._in, CHUNK_BYTES)
            if not chunk:
                return None
            *lines, self._rest = (self._rest + chunk).split(b"\n") if b"\n" in chunk else [self._rest + chunk]
        return lines

    def is_silent(self, seconds: float) -> bool:
        from select import select

        try:
            return not select([self._in], [], [], seconds)[0]
        except OSError:  # pragma: no cover - Windows: not a socket
            return True

    def write(self, line: str) -> None:
        left = line.encode()
        while left:
            left = left[os.write(self._out, left) :]


class StdioServer:
    """The server of one connection."""

    def __init__(self, agent: "AgentSession", where: str | None, *, structured: bool) -> None:
        self._agent, self._where, self._structured = agent, where, structured
        self._is_project_known = where is not None or enter_project()
        self._protocol = StdioProtocol(agent.greet, wants_roots=not self._is_project_known)
        self._wire = Wire()

    def serve(self) -> None:
        """Serve until stdin ends."""
        pending = self._handshake()
        if pending is not None:
            import asyncio
            import signal

            from telex.surfaces.cli.connection import enable_gc

            enable_gc()
            signal.signal(signal.SIGINT, signal.SIG_DFL)  # a thread blocks on stdin
            asyncio.run(self._serve(pending))
        self._agent.close()

    def _handshake(self) -> "list[bytes] | None":
        """Answer what needs no bus. The lines from the first other one on, or none after a silence; None: the end."""
        has_answered = False
        while not (has_answered and self._wire.is_silent(SILENCE_SECONDS)):
            lines = self._wire.read()
            if lines is None:
                return None
            for number, line in enumerate(lines):
                action = self._protocol.receive(line)
                if isinstance(action, Call):
                    return lines[number:]
                self._answer(action)
                has_answered = has_answered or isinstance(action, str)
        return []

    def _answer(self, action: "str | Cancellation | Roots | None") -> None:
        if isinstance(action, str):
            self._wire.write(action)
        elif isinstance(action, Roots) and not self._is_project_known:
            self._is_project_known = any(map(_enter_uri, action.uris))

    # --- event loop ---------------------------------------------------------------------------------------------------

    async def _serve(self, pending: list[bytes]) -> None:
        import asyncio
        from contextlib import AsyncExitStack

        from telex.surfaces.mcp.tool_calls import LeaseRenewal, ProjectFiles

        self._renewal, self._files = LeaseRenewal(), ProjectFiles(os.getcwd())
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._end = asyncio.Event()
        async with AsyncExitStack() as stack:
            self._lazy = LazyBus(self._where, stack)
            self._start_reader(pending)
            self._start("attend", self._attend())
            await self._end.wait()
            self._renewal.stop()
            for task in self._tasks.values():
                task.cancel()
            await asyncio.gather(*self._tasks.values(), return_exceptions=True)

    def _start_reader(self, pending: list[bytes]) -> None:
        import asyncio
        import threading

        call = asyncio.get_running_loop().call_soon_threadsafe

        def read() -> None:
            lines: list[bytes] | None = pending
            while lines is not None:
                for line in lines:
                    call(self._receive, line)
                lines = self._wire.read()
            call(self._end.set)

        threading.Thread(target=read, daemon=True).start()

    def _receive(self, line: bytes) -> None:
        action = self._protocol.receive(line)
        try:
            if isinstance(action, Call):
                self._start(f"call {action.id}", self._run(action))
            elif isinstance(action, Cancellation):
                if task := self._tasks.get(f"call {action.id}"):
                    task.cancel()
            else:
                self._answer(action)
        except OSError:  # the client reads no more
            self._end.set()

    def _start(self, name: str, work: "Coroutine[Any, Any, None]") -> None:
        import asyncio

        task = self._tasks[name] = asyncio.get_running_loop().create_task(work)
        task.add_done_callback(lambda done: self._tasks.pop(name) if self._tasks.get(name) is done else None)

    async def _attend(self) -> None:
        """Join the team, so that others can send to this agent before its first call, and wake its session for new
        messages; as soon as there is a store, and again when the session has another name."""
        import asyncio

        from telex.errors import TelexError
        from telex.surfaces.clients.wakes import Waker, on_loop

        while True:
            try:
                identity = await asyncio.to_thread(self._agent.identity, {})
                session = self._agent.session
                if session is not None and self._is_project_known:
                    bus, _ = await self._lazy.bus(makes_store=False)
                    if not any(presence.member.name == session.agent for presence in await bus.roster()):
                        await bus.join(session.agent, role=identity.role, by=session.agent)
                    await Waker(bus, self._agent.folder, session, runtime=on_loop()).run()
            except TelexError:
                pass  # calls report it
            await asyncio.sleep(ATTEND_SECONDS)

    async def _run(self, call: Call) -> None:
        from telex.surfaces.mcp.tool_calls import call_tool, read_resource

        meta = call.params.get("_meta") or {}

        async def context_of(makes_store: bool) -> "CallContext":
            return await self._context(meta, makes_store=makes_store)

        try:
            if call.method == "tools/call":
                name, given = call.params["name"], call.params.get("arguments") or {}
                result = await call_tool(name, given, context_of, structured=self._structured)
            else:
                result = await read_resource(call.params["uri"], context_of)
            answer = call.answer(result)
        except RequestError as error:
            answer = call.error(error)
        try:
            self._wire.write(answer)
        except OSError:
            self._end.set()

    async def _context(self, meta: "dict[str, Any]", *, makes_store: bool) -> "CallContext":
        import asyncio

        from telex.errors import StoreUnavailable
        from telex.surfaces.mcp.tool_calls import CallContext

        if not self._is_project_known:
            raise StoreUnavailable(UNKNOWN_PROJECT)
        bus, settings = await self._lazy.bus(makes_store=makes_store)
        who: Callable[[], Any] = await asyncio.to_thread(self._who, meta)
        return CallContext(bus, settings, who, self._files, self._renewal, notice=self._agent.notice())

    def _who(self, meta: "dict[str, Any]") -> "Callable[[], Any]":
        from telex.errors import NotAMember

        try:
            identity = self._agent.identity(meta)
        except NotAMember as error:
            failure = error

            def fail() -> "Any":
                raise failure

            return fail
        return lambda: identity


class LazyBus:
    """Bus that is opened by the first call. A read-only call without a store uses an empty one in memory."""

    def __init__(self, where: str | None, stack: "AsyncExitStack") -> None:
        import asyncio

        self._where, self._stack = where, stack
        self._lock = asyncio.Lock()
        self._open: dict[bool, tuple[Bus, Settings]] = {}  # False: the empty one

    async def bus(self, *, makes_store: bool) -> "tuple[Bus, Settings]":
        from telex.config import MEMORY, load
        from telex.connection import connect, hub_at, store_path
        from telex.surfaces.cli.connection import is_there as store_exists

        async with self._lock:
            if True in self._open:
                return self._open[True]
            settings = load(os.getcwd())
            is_there = makes_store or store_exists(hub_at(self._where, settings) or store_path(self._where, settings))
            if is_there not in self._open:
                where = self._where if is_there else MEMORY
                bus = await self._stack.enter_async_context(connect(where, settings=settings))
                self._open[is_there] = bus, settings
            return self._open[is_there]


# --- project ----------------------------------------------------------------------------------------------------------

PLUGIN_FILES = (".claude-plugin", ".codex-plugin", "plugin.json", "gemini-extension.json", "qwen-extension.json")
PLUGIN_FOLDERS = tuple(
    os.path.join(os.sep, client, kind, "")
    for client in (".claude", ".codex", ".copilot", ".gemini", ".qwen", ".config/opencode")
    for kind in ("plugins", "extensions", "skills", "installed-plugins")
)


def enter_project() -> bool:
    """Go to the folder of the project. False: this is the folder of a plugin, and the project is not known."""
    if not is_plugin_folder(os.getcwd()):
        return True
    parent = f"/proc/{os.getppid()}/cwd"  # of the client
    named = [os.environ.get("CLAUDE_PROJECT_DIR"), os.environ.get("PWD"), parent if os.path.isdir(parent) else None]
    return any(_enter(os.path.realpath(folder)) for folder in named if folder)


def is_plugin_folder(folder: str) -> bool:
    is_marked = any(os.path.exists(os.path.join(folder, name)) for name in PLUGIN_FILES)
    root = os.environ.get("CLAUDE_PLUGIN_ROOT")
    is_root = root is not None and os.path.realpath(root) == os.path.realpath(folder)
    return is_marked or is_root or any(part in os.path.join(folder, "") for part in PLUGIN_FOLDERS)


def _enter(folder: str) -> bool:
    if is_plugin_folder(folder):
        return False
    try:
        os.chdir(folder)
    except OSError:
        return False
    return True


def _enter_uri(uri: str) -> bool:
    from urllib.parse import unquote, urlsplit

    parts = urlsplit(uri)
    return parts.scheme == "file" and _enter(unquote(parts.path))
