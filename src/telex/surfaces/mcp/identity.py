"""Name of the agent that `telex mcp` serves, and its session file.

The name is that of `--as` or TELEX_AGENT, else that of the client's session, else a free one such as `claude-1`. It is
looked up again with each call: a hook may bind the session after this process has started, and Codex names its session
in each call. Where there is no store yet, the name is bound by the first call that creates it.
"""

import os
from typing import TYPE_CHECKING

from telex.errors import NotAMember, TelexError
from telex.model.named_tuple import NamedTuple
from telex.surfaces.clients import registration, sessions
from telex.surfaces.clients.sessions import Session
from telex.surfaces.clients.table import CLIENTS
from telex.surfaces.mcp.tools import instructions

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

UNKNOWN = "agent"  # name of a client that is not in the table
NAMELESS = "This server has no agent name, so you can neither send nor receive."
IDENTITY_HINT = (
    "Your name and role are set where this server is configured: telex mcp --as NAME --role ROLE, TELEX_AGENT, or"
    " /mcp?as=NAME&role=ROLE on a hub."
)
CHOOSE = "start the client with TELEX_AGENT=NAME to choose another"


class Identity(NamedTuple):
    """The caller, as the server is configured; no argument of a tool changes it."""

    agent: str
    role: str | None = None


class AgentSession:
    """The agent of this process. `where`: the store; `is_hub`: there are no session files, and the name is given."""

    def __init__(self, wanted: str | None, role: str | None, where: str | None, *, is_hub: bool) -> None:
        self._wanted, self._role, self._where, self._is_hub = wanted or "", role, where, is_hub
        self._client, self._greeted = UNKNOWN, ""
        self._members: frozenset[str] | None = None
        self.folder = ""
        self.session: Session | None = None

    def greet(self, client: str) -> str:
        """The instructions for a client of that name."""
        self._client = next((name for name in CLIENTS if client.lower().startswith(name)), UNKNOWN)
        try:
            agent, role = self.identity({})
        except NotAMember:
            return instructions(NAMELESS, IDENTITY_HINT)
        self._greeted = agent
        return instructions(f"You are {agent}{f', role {role}' if role else ''}.", self._explained())

    def notice(self) -> str | None:
        """A line about a name that differs from the one in the instructions, once."""
        greeted, self._greeted = self._greeted, self._agent
        return f"You are {self._agent}. {self._explained()}" if greeted not in ("", self._agent) else None

    def _explained(self) -> str:
        if self.session is None or self.session.agent == self.session.wanted:
            return ""
        if not self.session.wanted:
            return f"{self.session.agent} was a free name: {CHOOSE}."
        return f"{self.session.wanted} is the name of another live session of this project: {CHOOSE}."

    @property
    def _agent(self) -> str:
        if self.session is not None:
            return self.session.agent
        return _normal(self._wanted) or f"{self._client}-1"

    def identity(self, meta: "Mapping[str, Any]") -> Identity:
        """The agent of a call with this `_meta`.

        Raises:
            NotAMember: it acts at a hub and has no name.
        """
        if self._is_hub:
            if not self._wanted:
                raise NotAMember(NAMELESS, "sender-unknown")
            return Identity(self._wanted, self._role)
        try:
            self._follow(meta)
        except OSError:  # the folder cannot be written: the name is used without a file
            self.session = None
        return Identity(self._agent, self._role or (self.session.role if self.session is not None else None))

    # --- session file -------------------------------------------------------------------------------------------------

    def _follow(self, meta: "Mapping[str, Any]") -> None:
        """Load the session file, or bind the session."""
        own_id = meta.get("sessionId") if self._client == "codex" else None
        session_id = own_id if isinstance(own_id, str) and own_id else None
        if self.session is not None and session_id in (None, self.session.id):
            session = sessions.load(self.folder, self.session.client, self.session.id)
            if session is not None and session.state != sessions.ENDED:
                self.session = session
                return
        store = self._store()
        if store is not None:
            self.folder = sessions.folder_of(store)
            self.session = self._bind(session_id)

    def _store(self) -> str | None:
        """Path of the store, if it exists. Wrong settings are reported by the call that needs them."""
        from telex.config import load
        from telex.connection import store_path

        try:
            path = store_path(self._where, load(os.getcwd()))
        except TelexError:
            return None
        return path if os.path.exists(path) else None

    def _bind(self, session_id: str | None) -> Session:
        from time import time

        now, origin = time(), registration.origin_of(self._client, os.environ, os.getcwd())
        origin = origin._replace(wanted=self._wanted, role=self._role or origin.role)
        session_id = session_id or self._session_id(origin)
        bound = registration.bind(
            self.folder, self._client, session_id, now=now, origin=origin, is_member=self._is_member
        )

        def served(session: Session) -> Session:
            # Without hooks its state is not known. Claude's socket takes a wake at any time.
            is_new = session.started_at == now and session.socket is not None
            return session._replace(mcp_pid=os.getpid(), state=sessions.IDLE if is_new else session.state)

        return sessions.update(self.folder, bound.client, bound.id, served) or bound

    def _session_id(self, origin: registration.Origin) -> str:
        """The id of the session that this process belongs to; a provisional one where it is not known."""
        wanted, pid = _normal(self._wanted), origin.pid or os.getpid()
        own = [session for session in sessions.live_of_process(self.folder, pid) if session.client == self._client]
        if not wanted and (session := sessions.of_process(self.folder)) is not None and session.client == self._client:
            return session.id
        for session in reversed(own):
            if session.wanted == wanted or (not session.wanted and not sessions.is_provisional(session)):
                return session.id
        variable = CLIENTS[self._client].session_variable if self._client in CLIENTS else ""
        named = os.environ.get(variable, "") if variable else ""
        if named and all(session.id != named for session in own):
            return named
        provisional = sessions.provisional_id(pid)
        return provisional if all(session.id != provisional for session in own) else f"{provisional}-{wanted}"

    def _is_member(self, name: str) -> bool:
        if self._members is None:
            from telex.connection import connect

            try:
                with connect(self._where) as bus:
                    self._members = frozenset(presence.member.name for presence in bus.roster())
            except TelexError:
                return False
        return name in self._members

    def close(self) -> None:
        """The process ends. A provisional session ends with it, and one of Codex: a daemon that outlives its sessions
        is the parent of all."""
        from time import time

        session = self.session
        if session is None:
            return
        try:
            if sessions.is_provisional(session) or session.client == "codex":
                registration.end(self.folder, session.client, session.id, time())
            else:
                sessions.update(self.folder, session.client, session.id, _without_server)
        except OSError:
            pass  # the file shows a process that has ended


def _normal(name: str) -> str:
    if not name:
        return ""
    from telex.validation.authorization import normalised

    return normalised(name)


def _without_server(session: Session) -> Session:
    return session._replace(mcp_pid=0) if session.mcp_pid == os.getpid() else session
