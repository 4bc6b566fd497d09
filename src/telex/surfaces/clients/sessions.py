"""Session files of clients: agent, process and state of each session, and the newest message it was notified of.

A file is in the folder `sessions` beside the store, private to its owner, replaced by rename and never opened through a
symbolic link. One that came with a repository or an archive is not read. Hooks read it for every tool call, so this
module imports little.
"""

import os

from telex.model.named_tuple import NamedTuple
from telex.surfaces.clients.json_text import dump, parse
from telex.surfaces.clients.processes import ancestors, began_at, is_process, process_status
from telex.surfaces.clients.table import CLIENTS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

AGENT = "TELEX_AGENT"  # variable: name of the agent
ROLE = "TELEX_ROLE"  # variable: its role
SESSION = "TELEX_SESSION"  # variable: CLIENT:ID of the session that a process belongs to
FOLDER = "sessions"
BUSY, IDLE, ENDED = "busy", "idle", "ended"
STATES = (BUSY, IDLE, ENDED)
MID_TURN, TURN_END, IDLE_WAKE, WHEN_ASKED = "mid-turn", "at turn end", "idle wake", "only when asked"
REACH_TEXT = {  # of a receipt, behind the name of the recipient
    MID_TURN: "sees it mid-turn",
    TURN_END: "sees it at turn end",
    IDLE_WAKE: "idle, is woken",
    WHEN_ASKED: "sees it only when asked",
}
FILE_BYTES_MAX = 65_536
FILES_MAX = 2_000  # read of one folder
KEPT_SECONDS = 7 * 86_400  # an ended session's file, for its name
UNSEEN_SECONDS = 3_600  # a session whose process is unknown is live for so long after its last event
_ID_CHARACTERS_MAX = 100
PROVISIONAL = "mcp-"  # prefix of an id made from the process, before the client's own id is known
_PLACE = "place"  # in a file: the inode of its folder, which is unknown before the folder exists
_CLOCK_SECONDS = 2.0  # the start of a process is known in ticks since a boot time in whole seconds
_SAFE = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-")
_NO_LINK = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
_FOLDER_FLAGS = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | _NO_LINK


class Session(NamedTuple):
    client: str
    id: str  # the client's own
    agent: str  # name on the bus
    pid: int = 0  # process of the client; 0: unknown
    started_at: float = 0.0  # when this process was bound
    seen_at: float = 0.0
    state: str = BUSY
    announced: int = 0  # number of the newest message that was announced to this session
    cwd: str = ""
    role: str | None = None
    socket: str | None = None  # Claude's messaging socket
    socket_token: str | None = None
    pane: str | None = None  # TMUX_PANE
    tmux: str | None = None  # TMUX
    mcp_pid: int = 0  # its `telex mcp`
    wanted: str = ""  # name that was asked for; differs from `agent` where another live session had it
    parent: str = ""  # of a subagent or teammate: id of its session
    stamp: str = ""  # state of the store's files when there was nothing new in it for this session
    unguarded: str = ""  # state of store and settings in which no contract covered this agent
    renew_at: float = 0.0  # when a lease of this agent has to be renewed; 0: it holds none
    began: str = ""  # start of the process in ticks since the boot; empty: unknown


# --- files ------------------------------------------------------------------------------------------------------------
def folder_of(store: str) -> str:
    """The folder of the bindings of a store. It may not exist yet."""
    return os.path.join(os.path.dirname(os.path.abspath(store)), FOLDER)


def load(folder: str, client: str, session_id: str) -> Session | None:
    """The binding of a session; None: there is none, or its file is not to be trusted."""
    try:
        descriptor = os.open(folder, _FOLDER_FLAGS)
    except OSError:
        return None
    try:
        session = _read(descriptor, file_name(client, session_id))
    finally:
        os.close(descriptor)
    return session if session is not None and (session.client, session.id) == (client, session_id) else None


def save(folder: str, session: Session) -> None:
    """Write a binding as it is. To change one that others may change too, use `update`.

    Raises:
        OSError: the folder is a symbolic link, or cannot be written.
    """
    with LockedFolder(folder) as descriptor:
        write_session(descriptor, session)


def update(folder: str, client: str, session_id: str, change: "Callable[[Session], Session]") -> Session | None:
    """Change a binding under the lock of its folder; None: there is no such binding."""
    with LockedFolder(folder) as descriptor:
        session = _read(descriptor, file_name(client, session_id))
        if session is None or (session.client, session.id) != (client, session_id):
            return None
        changed = change(session)
        if changed != session:
            write_session(descriptor, changed)
        return changed


def claim_announcement(folder: str, session: Session, newest: int) -> bool:
    """Advance the number of the newest announced message. False: another process has announced these messages
    already."""
    claimed = False

    def advance(current: Session) -> Session:
        nonlocal claimed
        claimed = newest > current.announced
        return current._replace(announced=newest) if claimed else current

    update(folder, session.client, session.id, advance)
    return claimed


def all_sessions(folder: str) -> list[Session]:
    """Every readable binding, the oldest first."""
    try:
        descriptor = os.open(folder, _FOLDER_FLAGS)
    except OSError:
        return []
    try:
        return read_sessions(descriptor)
    finally:
        os.close(descriptor)


def read_sessions(descriptor: int) -> list[Session]:
    names = sorted(name for name in os.listdir(descriptor) if name.endswith(".json"))[:FILES_MAX]
    sessions = [session for name in names if (session := _read(descriptor, name)) is not None]
    return sorted(sessions, key=lambda session: session.started_at)


class LockedFolder:
    """The folder of the bindings, created if it is missing, and locked. Gives its descriptor."""

    def __init__(self, folder: str) -> None:
        self._folder = folder

    def __enter__(self) -> int:
        try:
            os.mkdir(self._folder, 0o700)
        except FileExistsError:
            pass
        else:
            os.chmod(self._folder, 0o700)  # regardless of the umask
        self._descriptor = os.open(self._folder, _FOLDER_FLAGS)
        try:
            import fcntl
        except ImportError:  # pragma: no cover - not a Unix
            return self._descriptor
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX)
        except BaseException:
            os.close(self._descriptor)
            raise
        return self._descriptor

    def __exit__(self, *_: object) -> None:
        os.close(self._descriptor)  # and the lock with it


def file_name(client: str, session_id: str) -> str:
    is_safe = 0 < len(session_id) <= _ID_CHARACTERS_MAX and _SAFE.issuperset(session_id) and session_id[0] != "."
    if not is_safe:
        from _blake2 import blake2b

        session_id = "x" + blake2b(session_id.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()
    return f"{client if client in CLIENTS else 'other'}-{session_id}.json"


def _read(folder: int, name: str) -> Session | None:
    try:
        descriptor = os.open(name, os.O_RDONLY | os.O_NONBLOCK | _NO_LINK, dir_fd=folder)
    except OSError:
        return None
    try:
        status = os.fstat(descriptor)
        # Not written here: a file that others may read, and one that names another folder, as in a clone or an archive.
        if status.st_mode & 0o170077 != 0o100000 or status.st_uid != os.geteuid():
            return None
        tree = parse(os.read(descriptor, FILE_BYTES_MAX).decode("utf-8"))
        return _session(tree) if isinstance(tree, dict) and tree.get(_PLACE) == os.fstat(folder).st_ino else None
    except (OSError, ValueError):
        return None
    finally:
        os.close(descriptor)


def _session(tree: "dict[str, Any]") -> Session | None:
    """The binding of a JSON object; None: a field is missing or has a wrong type."""
    if not {"client", "id", "agent"} <= tree.keys():
        return None
    known = {name: value for name, value in tree.items() if name in Session._fields}
    for name, value in known.items():
        default = Session._field_defaults.get(name, "")
        kinds = (str, type(None)) if default is None else (int, float) if type(default) is float else (type(default),)
        if not isinstance(value, kinds) or isinstance(value, bool):
            return None
    session = Session(**known)
    return session if session.state in STATES and session.pid >= 0 and session.announced >= 0 else None


def write_session(folder: int, session: Session) -> None:
    name = file_name(session.client, session.id)
    draft = f".{name}.{os.getpid()}"
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | _NO_LINK
    descriptor = os.open(draft, flags, 0o600, dir_fd=folder)
    try:
        os.fchmod(descriptor, 0o600)
        left = dump(session._asdict() | {_PLACE: os.fstat(folder).st_ino}).encode("ascii")
        while left:  # a write to a full disk may be short before it fails
            left = left[os.write(descriptor, left) :]
    finally:
        os.close(descriptor)
    os.replace(draft, name, src_dir_fd=folder, dst_dir_fd=folder)


def prune(folder: str, now: float) -> None:
    """Delete the bindings of sessions that ended long ago, and drafts of processes that died."""
    try:
        with LockedFolder(folder) as descriptor:
            for session in read_sessions(descriptor):
                if session.seen_at < now - KEPT_SECONDS and not is_live(session):
                    os.unlink(file_name(session.client, session.id), dir_fd=descriptor)
            for name in os.listdir(descriptor):
                if name.startswith(".") and not is_process(_trailing_number(name)):
                    os.unlink(name, dir_fd=descriptor)
    except OSError:
        pass  # another time


def _trailing_number(name: str) -> int:
    number = name.rpartition(".")[2]
    return int(number) if number.isdecimal() and len(number) < 10 else 0


# --- queries ----------------------------------------------------------------------------------------------------------
def is_live(session: Session) -> bool:
    """Whether it has not ended and its process runs. A later process with the same number is another one."""
    if session.state == ENDED:
        return False
    if not session.pid:
        from time import time

        return session.seen_at > time() - UNSEEN_SECONDS
    if not is_process(session.pid):
        return False
    if session.began:  # no clock that is set changes it
        status = process_status(session.pid)
        return status is None or status[2] == session.began
    began = began_at(session.pid)
    return began is None or began <= session.started_at + _CLOCK_SECONDS


def provisional_id(pid: int) -> str:
    """Id of a session of that client process, while the client's own id is not known."""
    return f"{PROVISIONAL}{pid}"


def is_provisional(session: Session) -> bool:
    return session.id.startswith(PROVISIONAL)


def of_process(folder: str) -> Session | None:
    """The session that this process belongs to: TELEX_SESSION, else the live session whose client is an ancestor, else
    the one that a variable of a client names."""
    client, _, session_id = os.environ.get(SESSION, "").partition(":")
    if client in CLIENTS and session_id:
        return load(folder, client, session_id)
    live = [session for session in all_sessions(folder) if not session.parent and is_live(session)]
    for pid, _name in ancestors():
        if own := [session for session in live if session.pid == pid]:
            return own[-1]
    for client, row in CLIENTS.items():
        named = os.environ.get(row.session_variable, "") if row.session_variable else ""
        if own := [session for session in live if named and (session.client, session.id) == (client, named)]:
            return own[0]
    return None


def live_of_process(folder: str, pid: int) -> list[Session]:
    """Live sessions of this client process, the oldest first."""
    return [one for one in all_sessions(folder) if one.pid == pid and not one.parent and is_live(one)]


def sessions_of(folder: str, agent: str) -> list[Session]:
    """Live sessions of this name, the oldest first."""
    return [session for session in all_sessions(folder) if session.agent == agent and is_live(session)]


def reach(folder: str, agent: str) -> str:
    """How the agent can be reached now; empty: no live session of this name is known."""
    return reach_of(folder, (agent,)).get(agent, "")


def reach_of(folder: str, agents: "Sequence[str]") -> dict[str, str]:
    """How each of these agents can be reached now, as far as a live session of it is known."""
    ways: dict[str, list[str]] = {}
    for session in all_sessions(folder):
        if session.agent in agents and is_live(session):
            ways.setdefault(session.agent, []).append(reach_of_session(session))
    best = (MID_TURN, IDLE_WAKE, TURN_END, WHEN_ASKED)
    return {agent: next(way for way in best if way in ways[agent]) for agent in agents if agent in ways}


def reach_of_session(session: Session) -> str:
    """How this live session can be reached now."""
    client = CLIENTS.get(session.client)
    if is_provisional(session):  # no hook has run
        return IDLE_WAKE if session.socket else WHEN_ASKED
    if session.state == BUSY:
        return MID_TURN if client is not None and client.sees_mid_turn else TURN_END
    can_wake = session.socket or session.pane or (client is not None and client.wakes_itself)
    return IDLE_WAKE if can_wake else WHEN_ASKED
