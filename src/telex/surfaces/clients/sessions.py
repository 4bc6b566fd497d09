"""Sessions of clients: which agent each one is, its process, its state and what it has been told.

A binding is a file in the folder `sessions` beside the store, private to its owner, replaced by rename and never opened
through a symbolic link. One that came with a repository or an archive is not read. Hooks read it for every tool call,
so this module imports nothing else at the start.
"""

import os

from telex.model.named_tuple import NamedTuple
from telex.surfaces.clients.json_text import dump, parse
from telex.surfaces.clients.table import CLIENTS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
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
ANCESTORS_MAX = 32
KEPT_SECONDS = 7 * 86_400  # an ended session's file, for its name
UNSEEN_SECONDS = 3_600  # a session whose process is unknown is live for so long after its last event
_ID_CHARACTERS_MAX = 100
_PROVISIONAL = "mcp-"
_BY_PROCESS = (_PROVISIONAL, "pid-")  # ids that are numbers of processes
_PLACE = "place"  # in a file: the inode of its folder, which nobody can know before the folder exists
_CLOCK_SECONDS = 2.0  # the start of a process is known in ticks since a boot time in whole seconds
_SAFE = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-")
_SHELLS = frozenset({"sh", "bash", "dash", "zsh", "fish", "ksh", "ash", "busybox", "env", "timeout", "nice", "telex"})
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
    told: int = 0  # number of the newest message that this session was told of
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


class Origin(NamedTuple):
    """What a process knows about the session that started it."""

    pid: int = 0
    cwd: str = ""
    wanted: str = ""
    role: str | None = None
    socket: str | None = None
    socket_token: str | None = None
    pane: str | None = None
    tmux: str | None = None
    is_named_by_token: bool = False  # it is `wanted`, whoever else is


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
        session = _read(descriptor, _file_name(client, session_id))
    finally:
        os.close(descriptor)
    return session if session is not None and (session.client, session.id) == (client, session_id) else None


def save(folder: str, session: Session) -> None:
    """Write a binding as it is. To change one that others may change too, use `update`.

    Raises:
        OSError: the folder is a symbolic link, or cannot be written.
    """
    with _LockedFolder(folder) as descriptor:
        _write(descriptor, session)


def update(folder: str, client: str, session_id: str, change: "Callable[[Session], Session]") -> Session | None:
    """Change a binding under the lock of its folder; None: there is no such binding."""
    with _LockedFolder(folder) as descriptor:
        session = _read(descriptor, _file_name(client, session_id))
        if session is None or (session.client, session.id) != (client, session_id):
            return None
        changed = change(session)
        if changed != session:
            _write(descriptor, changed)
        return changed


def claim_told(folder: str, session: Session, newest: int) -> bool:
    """Advance the mark of what a session was told. False: another process has told it as much already."""
    claimed = False

    def advance(current: Session) -> Session:
        nonlocal claimed
        claimed = newest > current.told
        return current._replace(told=newest) if claimed else current

    update(folder, session.client, session.id, advance)
    return claimed


def all_sessions(folder: str) -> list[Session]:
    """Every readable binding, the oldest first."""
    try:
        descriptor = os.open(folder, _FOLDER_FLAGS)
    except OSError:
        return []
    try:
        return _all(descriptor)
    finally:
        os.close(descriptor)


def _all(descriptor: int) -> list[Session]:
    names = sorted(name for name in os.listdir(descriptor) if name.endswith(".json"))[:FILES_MAX]
    sessions = [session for name in names if (session := _read(descriptor, name)) is not None]
    return sorted(sessions, key=lambda session: session.started_at)


class _LockedFolder:
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


def _file_name(client: str, session_id: str) -> str:
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
    return session if session.state in STATES and session.pid >= 0 and session.told >= 0 else None


def _write(folder: int, session: Session) -> None:
    name = _file_name(session.client, session.id)
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
        with _LockedFolder(folder) as descriptor:
            for session in _all(descriptor):
                if session.seen_at < now - KEPT_SECONDS and not is_live(session):
                    os.unlink(_file_name(session.client, session.id), dir_fd=descriptor)
            for name in os.listdir(descriptor):
                if name.startswith(".") and not is_process(_trailing_number(name)):
                    os.unlink(name, dir_fd=descriptor)
    except OSError:
        pass  # another time


def _trailing_number(name: str) -> int:
    number = name.rpartition(".")[2]
    return int(number) if number.isdecimal() and len(number) < 10 else 0


# --- processes --------------------------------------------------------------------------------------------------------
def is_live(session: Session) -> bool:
    """Has it not ended, and does its process run? A number that a later process has is not its process."""
    if session.state == ENDED:
        return False
    if not session.pid:
        from time import time

        return session.seen_at > time() - UNSEEN_SECONDS
    if not is_process(session.pid):
        return False
    if session.began:  # no clock that is set changes it
        status = _process_status(session.pid)
        return status is None or status[2] == session.began
    began = _began_at(session.pid)
    return began is None or began <= session.started_at + _CLOCK_SECONDS


def is_process(pid: int) -> bool:
    if pid <= 0:
        return False
    try:
        os.kill(pid, 0)
    except PermissionError:
        return True
    except (OSError, OverflowError):
        return False
    return True


def client_process(client: str, environ: "Mapping[str, str]") -> int:
    """Process of the client: as it names itself, or the nearest ancestor that is no shell; 0: unknown."""
    variable = CLIENTS[client].pid_variable if client in CLIENTS else ""
    named = environ.get(variable, "") if variable else ""
    if named.isdecimal() and len(named) < 10 and is_process(int(named)):
        return int(named)
    return next((pid for pid, name in _ancestors() if name not in _SHELLS), 0)


def _ancestors() -> "Iterator[tuple[int, str]]":
    """Process ids and names from the parent of this process upwards; only the parent where there is no /proc."""
    pid = os.getppid()
    for _ in range(ANCESTORS_MAX):
        if pid <= 1:
            return
        status = _process_status(pid)
        if status is None:
            yield pid, ""
            return
        yield pid, status[0]
        pid = int(status[1])


def _process_status(pid: int) -> tuple[str, str, str] | None:
    """Name, parent and start of a process, in ticks since the boot; None: not Linux, or it has ended."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            text = file.read().decode("utf-8", "replace")
    except OSError:
        return None
    name, fields = text[text.index("(") + 1 : text.rindex(")")], text[text.rindex(")") + 2 :].split()
    return name, fields[1], fields[19]


def _began_at(pid: int) -> float | None:
    """When a process began, in seconds since 1970; None: unknown."""
    status = _process_status(pid)
    if status is None:
        return None
    try:
        with open("/proc/stat", "rb") as file:
            boot = next(line for line in file if line.startswith(b"btime "))
    except (OSError, StopIteration):
        return None
    return int(boot.split()[1]) + int(status[2]) / os.sysconf("SC_CLK_TCK")


def origin_of(client: str, environ: "Mapping[str, str]", cwd: str = "") -> Origin:
    """The origin of this process, which a client has started."""
    is_claude = client == "claude"
    return Origin(
        pid=client_process(client, environ),
        cwd=cwd,
        wanted=environ.get(AGENT, ""),
        role=environ.get(ROLE) or None,
        socket=(environ.get("CLAUDE_CODE_MESSAGING_SOCKET") or None) if is_claude else None,
        socket_token=(environ.get("CLAUDE_CODE_MESSAGING_TOKEN") or None) if is_claude else None,
        pane=environ.get("TMUX_PANE") or None,
        tmux=environ.get("TMUX") or None,
    )


# --- names ------------------------------------------------------------------------------------------------------------
def bind(
    folder: str,
    client: str,
    session_id: str,
    *,
    now: float,
    origin: Origin,
    is_member: "Callable[[str], bool]" = lambda name: False,
) -> Session:
    """The binding of a session: the existing one with its origin brought up to date, or a new one with a name.

    The name is the wanted one; `dev-2` where another live session is dev; a free one (`claude-1`) where none is wanted.
    """
    with _LockedFolder(folder) as descriptor:
        others = _all(descriptor)
        known = next((one for one in others if (one.client, one.id) == (client, session_id)), None)
        if known is not None and known.id.startswith(_BY_PROCESS) and not is_live(known):
            known = None  # an earlier session: process numbers are used again, in a container at each start
        others = [one for one in others if one is not known]
        if known is None and (provisional := _provisional(others, client, origin)) is not None:
            others.remove(provisional)
            os.unlink(_file_name(client, provisional.id), dir_fd=descriptor)
            known = provisional._replace(id=session_id)
        session = known if known is not None else Session(client, session_id, "", started_at=now)
        wanted = _normalised(origin.wanted) or session.wanted
        if origin.is_named_by_token:
            session = session._replace(agent=wanted, wanted=wanted)
        elif known is None or known.wanted != wanted or _is_taken(known.agent, others):
            session = session._replace(agent=_name_for(session, wanted, origin.pid, others, is_member), wanted=wanted)
        bound = _refreshed(session, origin, now)
        _write(descriptor, bound)
        return bound


def _provisional(others: list[Session], client: str, origin: Origin) -> Session | None:
    """The session that `telex mcp` has bound for the same process before the client's own id was known."""
    wanted, id_ = _normalised(origin.wanted), provisional_id(origin.pid)
    same = [one for one in others if origin.pid and (one.client, one.id) == (client, id_) and is_live(one)]
    return same[0] if same and (not wanted or wanted == same[0].wanted) else None


def provisional_id(pid: int) -> str:
    """Id of a session of that client process, while the client's own id is not known."""
    return f"{_PROVISIONAL}{pid}"


def is_provisional(session: Session) -> bool:
    return session.id.startswith(_PROVISIONAL)


def _refreshed(session: Session, origin: Origin, now: float) -> Session:
    """The session with the fields that its origin knows. A session that was resumed has another process."""
    pid = origin.pid or session.pid
    status = _process_status(pid) if pid else None
    began = status[2] if status is not None else ""
    is_other = pid != session.pid or began != session.began or session.state == ENDED
    known = {
        name: value
        for name, value in origin._asdict().items()
        if value and name in Session._fields and name != "wanted"
    }
    return session._replace(
        **known,
        seen_at=now,
        started_at=now if is_other else session.started_at,
        state=IDLE if session.state == ENDED else session.state,
        stamp="" if is_other else session.stamp,
        began=began,
    )


def _name_for(
    session: Session, wanted: str, pid: int, others: list[Session], is_member: "Callable[[str], bool]"
) -> str:
    if wanted and not _is_taken(wanted, others):
        return wanted
    ended = [one for one in others if not one.parent and not is_live(one)]
    if not wanted:  # a client that begins a new session in its process, after /clear for example
        same = [one for one in ended if pid and one.pid == pid and one.client == session.client and not one.wanted]
        if same and not _is_taken(same[-1].agent, others):
            return same[-1].agent
    used = {one.agent for one in ended if wanted and one.wanted == wanted}
    number = 2 if wanted else 1
    while True:
        name = f"{wanted or session.client}-{number}"
        if not _is_taken(name, others) and (name in used or not is_member(name)):
            return name
        number += 1


def _is_taken(name: str, others: list[Session]) -> bool:
    return any(one.agent == name and not one.parent and is_live(one) for one in others)


def _normalised(name: str) -> str:
    if not name:
        return ""
    from telex.validation.authorization import normalised

    return normalised(name)


def bind_subagent(folder: str, session: Session, agent_id: str, agent_type: str, *, now: float) -> Session:
    """The binding of a subagent or teammate, under the name of its session: `lead/reviewer`."""
    own_id = f"{session.id}.{agent_id}"
    agent = f"{session.agent}/{_normalised(agent_type) or 'agent'}"
    known = load(folder, session.client, own_id)
    if known is not None and known.agent == agent and known.state != ENDED:
        return known
    bound = Session(session.client, own_id, agent, parent=session.id, wanted=agent)._replace(
        pid=session.pid, began=session.began, started_at=now, seen_at=now, cwd=session.cwd
    )
    save(folder, bound)
    return bound


def end(folder: str, client: str, session_id: str, now: float) -> list[Session]:
    """End a session and its subagents: their bindings as they were before."""
    ended = []
    with _LockedFolder(folder) as descriptor:
        for session in _all(descriptor):
            if session.client == client and session_id in (session.id, session.parent) and session.state != ENDED:
                ended.append(session)
                _write(descriptor, session._replace(state=ENDED, seen_at=now, socket=None, socket_token=None))
    return ended


# --- queries ----------------------------------------------------------------------------------------------------------
def of_process(folder: str) -> Session | None:
    """The session that this process belongs to: TELEX_SESSION, else the live session whose client is an ancestor, else
    the one that a variable of a client names."""
    client, _, session_id = os.environ.get(SESSION, "").partition(":")
    if client in CLIENTS and session_id:
        return load(folder, client, session_id)
    live = [session for session in all_sessions(folder) if not session.parent and is_live(session)]
    for pid, _name in _ancestors():
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
        return MID_TURN if client is not None and client.is_told_mid_turn else TURN_END
    can_wake = session.socket or session.pane or (client is not None and client.wakes_itself)
    return IDLE_WAKE if can_wake else WHEN_ASKED
