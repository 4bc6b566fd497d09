"""Registration of sessions: the name that a new session gets, and its file from the first event to the end."""

import os

from telex.model.named_tuple import NamedTuple
from telex.surfaces.clients.processes import client_process, process_status
from telex.surfaces.clients.sessions import (
    AGENT,
    ENDED,
    IDLE,
    PROVISIONAL,
    ROLE,
    LockedFolder,
    Session,
    file_name,
    is_live,
    load,
    provisional_id,
    read_sessions,
    save,
    write_session,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_BY_PROCESS = (PROVISIONAL, "pid-")  # ids that are numbers of processes


class Origin(NamedTuple):
    """Facts about the session that started a process."""

    pid: int = 0
    cwd: str = ""
    wanted: str = ""
    role: str | None = None
    socket: str | None = None
    socket_token: str | None = None
    pane: str | None = None
    tmux: str | None = None
    is_named_by_token: bool = False  # it gets the `wanted` name, even if another session has it


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
    with LockedFolder(folder) as descriptor:
        others = read_sessions(descriptor)
        known = next((one for one in others if (one.client, one.id) == (client, session_id)), None)
        if known is not None and known.id.startswith(_BY_PROCESS) and not is_live(known):
            known = None  # an earlier session: process numbers are used again, in a container at each start
        others = [one for one in others if one is not known]
        if known is None and (provisional := _provisional(others, client, origin)) is not None:
            others.remove(provisional)
            os.unlink(file_name(client, provisional.id), dir_fd=descriptor)
            known = provisional._replace(id=session_id)
        session = known if known is not None else Session(client, session_id, "", started_at=now)
        wanted = _normalised(origin.wanted) or session.wanted
        if origin.is_named_by_token:
            session = session._replace(agent=wanted, wanted=wanted)
        elif known is None or known.wanted != wanted or _is_taken(known.agent, others):
            session = session._replace(agent=_name_for(session, wanted, origin.pid, others, is_member), wanted=wanted)
        bound = _refreshed(session, origin, now)
        write_session(descriptor, bound)
        return bound


def _provisional(others: list[Session], client: str, origin: Origin) -> Session | None:
    """The session that `telex mcp` has bound for the same process before the client's own id was known."""
    wanted, id_ = _normalised(origin.wanted), provisional_id(origin.pid)
    same = [one for one in others if origin.pid and (one.client, one.id) == (client, id_) and is_live(one)]
    return same[0] if same and (not wanted or wanted == same[0].wanted) else None


def _refreshed(session: Session, origin: Origin, now: float) -> Session:
    """The session with the fields that its origin knows. A session that was resumed has another process."""
    pid = origin.pid or session.pid
    status = process_status(pid) if pid else None
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
    with LockedFolder(folder) as descriptor:
        for session in read_sessions(descriptor):
            if session.client == client and session_id in (session.id, session.parent) and session.state != ENDED:
                ended.append(session)
                write_session(descriptor, session._replace(state=ENDED, seen_at=now, socket=None, socket_token=None))
    return ended
