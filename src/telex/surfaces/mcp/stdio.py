"""Start of the MCP server on stdin and stdout, as coding tools run it for one agent.

The handshake and the listings are answered without asyncio, the bus or the SDK: a client does not wait long for a
server. The first call, or a second of silence, starts the event loop of `stdio_loop`.
"""

import os
from typing import TYPE_CHECKING

from telex.project import GIT, nearest
from telex.surfaces.mcp.stdio_protocol import Call, Cancellation, Roots, StdioProtocol

if TYPE_CHECKING:
    from telex.surfaces.mcp.identity import AgentSession

SILENCE_SECONDS = 1.0
CHUNK_BYTES = 65_536
LINE_BYTES_MAX = 16 * 1_048_576  # a longer line is dropped; a message of the bus has at most a fraction of it


def serve(agent: "AgentSession", where: str | None, *, structured: bool) -> None:
    """Serve until stdin ends."""
    connection = StdioConnection(agent, where)
    try:
        lines = connection.handshake()
        if lines is not None:
            from telex.surfaces.mcp.stdio_loop import run

            run(connection, lines, structured=structured)
    finally:
        agent.close()


class Wire:
    """Lines of the protocol. Afterwards stdin is empty and stdout is stderr, for child processes and stray prints."""

    def __init__(self) -> None:
        self._in, self._out = os.dup(0), os.dup(1)
        self._parts: list[bytes] = []  # of a line that has no end yet
        self._size = 0
        nothing = os.open(os.devnull, os.O_RDWR)
        os.dup2(nothing, 0)
        try:
            os.dup2(2, 1)
        except OSError:  # stderr is closed
            os.dup2(nothing, 1)
        os.close(nothing)

    def read(self) -> list[bytes] | None:
        """The next lines, at least one; None: the end."""
        lines: list[bytes] = []
        while not lines:
            try:
                chunk = os.read(self._in, CHUNK_BYTES)
            except OSError:
                return None
            if not chunk:
                return None
            *ends, rest = chunk.split(b"\n")
            for end in ends:
                self._keep(end)
                lines.append(b"".join(self._parts))
                self._parts, self._size = [], 0
            self._keep(rest)
        return lines

    def _keep(self, part: bytes) -> None:
        self._size += len(part)
        if self._size <= LINE_BYTES_MAX:
            self._parts.append(part)
        else:
            self._parts = []

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


class StdioConnection:
    """The client, the agent and the project. `where`: the store or hub, if it is named."""

    def __init__(self, agent: "AgentSession", where: str | None) -> None:
        self.agent, self.where = agent, where
        self.is_project_known = where is not None or enter_project()
        self.protocol = StdioProtocol(agent.greet, wants_roots=not self.is_project_known)
        self.wire = Wire()

    def handshake(self) -> list[bytes] | None:
        """Answer requests that need no bus. The lines from the first other request on, or none after a timeout; None:
        the end."""
        has_answered = False
        while not (has_answered and self.wire.is_silent(SILENCE_SECONDS)):
            lines = self.wire.read()
            if lines is None:
                return None
            for number, line in enumerate(lines):
                action = self.protocol.receive(line)
                if isinstance(action, Call):
                    return lines[number:]
                self.answer(action)
                has_answered = has_answered or isinstance(action, str)
        return []

    def answer(self, action: str | Cancellation | Roots | None) -> None:
        if isinstance(action, str):
            self.wire.write(action)
        elif isinstance(action, Roots) and not self.is_project_known:
            self.is_project_known = any(map(_enter_uri, action.uris))


# --- project ----------------------------------------------------------------------------------------------------------

PLUGIN_FILES = (".claude-plugin", ".codex-plugin", "gemini-extension.json", "qwen-extension.json")
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
    """Whether a plugin is installed here. A repository with the files of one is a project in which it is developed."""
    if any(part in os.path.join(folder, "") for part in PLUGIN_FOLDERS):
        return True
    is_marked = any(os.path.exists(os.path.join(folder, name)) for name in PLUGIN_FILES)
    return is_marked and nearest(folder, GIT) is None


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
