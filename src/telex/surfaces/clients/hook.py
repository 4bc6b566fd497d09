"""Handler of hook events: one event in, one response out, in the client's own format.

Most events need nothing, so the cheap checks come first: whether the tool call is guarded, whether there is a store,
and whether it has changed since the last event. The store is imported only after them.
"""

import os

from telex.surfaces.clients import processes, registration, sessions, table
from telex.surfaces.clients.answers import (
    BLOCKED,
    FINDINGS_MAX,
    NOTHING,
    HookAnswer,
    block,
    denial_text,
    deny,
    tell,
)
from telex.surfaces.clients.calls import HookCall, written_paths
from telex.surfaces.clients.json_text import dump
from telex.surfaces.clients.sessions import BUSY, IDLE, Session

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from telex.config import Settings
    from telex.model.contracts import PathVerdict
    from telex.surfaces.clients.mail import Mail, Unread

SETTINGS_BYTES_MAX = 4 * 1_048_576
WAKE_SECONDS, WAKE_POLL_SECONDS = 570.0, 0.5  # Claude ends a background hook after 600 s
SEEN_SECONDS = 60.0  # maximum age of `seen_at` of a working session
STORE, STORE_FOLDER, STORE_FILE = "TELEX_STORE", ".telex", "telex.db"
SEND_MESSAGE = "SendMessage"
MESSAGE_FIELDS = ("message", "content")
_PLAIN = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./")
_RESERVED = frozenset({".git", ".telex", "telex.toml", "con", "prn", "aux", "nul"}) | {
    f"{device}{number}" for device in ("com", "lpt") for number in range(10)
}


class HookRun:
    """One event of one session. `is_dry`: explain it only, change nothing. `origin`: that of a session which has not
    started this process."""

    def __init__(
        self,
        call: HookCall,
        environ: "Mapping[str, str]",
        now: float,
        *,
        is_dry: bool = False,
        origin: registration.Origin | None = None,
    ) -> None:
        self.call, self.now, self.is_dry = call, now, is_dry
        self.notes: list[str] = []
        self.keeps_store_open = False
        self._environ, self._origin = environ, origin
        self._mail: Mail | None = None
        self.store = find_store(call.cwd, environ)
        self.folder = sessions.folder_of(self.store) if self.store else ""
        self.session: Session | None = None
        self.covered = ""  # name whose contracts decide
        self.lead = ""  # name of the session, whose contracts cover its subagents too

    def answer(self) -> HookAnswer:
        if self.store is None:
            self.note("no store for this folder: nothing to do")
            return NOTHING
        try:
            return self._answer()
        finally:
            if self._mail is not None and not self.keeps_store_open:
                self._mail.close()

    def _answer(self) -> HookAnswer:
        call = self.call
        if call.moment == table.BEFORE_TOOL:
            return self._before_tool()
        if call.moment == table.END:
            return self._end()
        if call.moment == table.WAKE:
            return self._wake()
        self.session = self._bound()
        if self.session.state == sessions.ENDED:
            return NOTHING  # a hook that ran in the background and comes late
        if call.moment == table.AFTER_TOOL:
            return self._after_tool()
        if call.moment in (table.STOP, table.SUBAGENT_STOP, table.IDLE):
            return self._stop()
        return self._tell(BUSY if call.moment == table.PROMPT else IDLE)

    def note(self, text: str) -> None:
        self.notes.append(text)

    # --- the session -------------------------------------------------------------------------------------------------
    def _bound(self) -> Session:
        """The session of this call; its first event registers it."""
        call, session_id = self.call, self._session_id()
        session = sessions.load(self.folder, call.client.name, session_id)
        may_begin = session is None or session.state == sessions.ENDED
        if session is None or call.moment == table.START or (may_begin and call.moment == table.PROMPT):
            session = self._bind(session, session_id)
        self.lead = session.agent
        if call.agent_id and call.agent_type:
            session = self._bind_subagent(session)
        self.note(f"agent: {session.agent}")
        return session

    def _session_id(self) -> str:
        return self.call.session_id or f"pid-{self._process()}"

    def _process(self) -> int:
        known = self._origin
        return known.pid if known is not None else processes.client_process(self.call.client.name, self._environ)

    def _bind(self, known: Session | None, session_id: str) -> Session:
        call = self.call
        origin = self._origin or registration.origin_of(call.client.name, self._environ, call.cwd)
        if self.is_dry:
            name = origin.wanted or f"{call.client.name}-1"
            return known or Session(call.client.name, session_id, name)
        sessions.prune(self.folder, self.now)
        return registration.bind(
            self.folder, call.client.name, session_id, now=self.now, origin=origin, is_member=self._is_member
        )

    def _bind_subagent(self, session: Session) -> Session:
        call = self.call
        if self.is_dry:
            return session._replace(agent=f"{session.agent}/{call.agent_type}", announced=0, parent=session.id)
        return registration.bind_subagent(self.folder, session, call.agent_id, call.agent_type, now=self.now)

    def _is_member(self, name: str) -> bool:
        return self.mail.is_member(name)

    @property
    def mail(self) -> "Mail":
        if self._mail is None:
            from telex.surfaces.clients.mail import Mail

            assert self.store is not None
            self._mail = Mail(self.store)
        return self._mail

    def _save(self, session: Session, **changes: "Any") -> None:
        if not self.is_dry:
            sessions.update(self.folder, session.client, session.id, lambda current: current._replace(**changes))

    def _claim(self, session: Session, unread: "Unread") -> bool:
        """Whether this process is the one that announces these messages to the session."""
        return self.is_dry or sessions.claim_announcement(self.folder, session, unread.newest)

    # --- mail --------------------------------------------------------------------------------------------------------
    def _tell(self, state: str) -> HookAnswer:
        """Context at the start and at a prompt: the name of the session, and its unread messages."""
        session = self.session
        assert session is not None
        lines = self._identity(session) if self.call.moment == table.START else []
        unread = self._unread(session, state)
        if unread is not None and self._claim(session, unread):
            lines += self._unread_lines(unread, session)
        return tell(self.call, "\n".join(lines)) if lines else NOTHING

    def _identity(self, session: Session) -> list[str]:
        if session.wanted == session.agent:
            return []
        if not session.wanted:
            return [f"Telex: this session is the agent {session.agent}; TELEX_AGENT gives another name."]
        others = [one for one in sessions.sessions_of(self.folder, session.wanted) if one.id != session.id]
        other = f" ({others[0].client}, process {others[0].pid})" if others else ""
        taken = f"another live session{other} is {session.wanted}"
        return [f"Telex: this session is the agent {session.agent}: {taken}. TELEX_AGENT gives another name."]

    def _unread(self, session: Session, state: str) -> "Unread | None":
        """Unread messages that were not announced to the session yet. Saves its state and the stamp of the store."""
        assert self.store is not None
        stamp = stamp_of(self.store)
        unread = self.mail.unread(session.agent, session.announced)
        renew_at = self._renewed_until(session)
        self._save(session, state=state, seen_at=self.now, stamp=stamp, renew_at=renew_at)
        self.note(f"unread, not announced yet: {unread.total}")
        return unread if unread.total else None

    def _unread_lines(self, unread: "Unread", session: Session) -> list[str]:
        from telex.surfaces.clients.mail import unread_lines

        return unread_lines(unread, session.agent)

    def _renewed_until(self, session: Session) -> float:
        """When a lease has to be renewed next; those that expire soon are renewed now."""
        from telex.surfaces.clients.mail import RENEW_BEFORE_SECONDS

        held = self.mail.leases_of(session.agent) if self.is_dry else self.mail.renew(session.agent, self.now)
        self.note(f"leases: {len(held.deliveries)}")
        return max(held.expires_at - RENEW_BEFORE_SECONDS, self.now) if held.deliveries else 0.0

    def _after_tool(self) -> HookAnswer:
        session, call = self.session, self.call
        assert session is not None
        assert self.store is not None
        if call.tool == SEND_MESSAGE:
            self._record_native(session)
        is_due = bool(session.renew_at) and self.now >= session.renew_at
        if session.stamp and session.stamp == stamp_of(self.store) and not is_due:
            self.note("the store is unchanged since the last look")
            if session.state != BUSY or session.seen_at < self.now - SEEN_SECONDS:
                self._save(session, state=BUSY, seen_at=self.now)
            return NOTHING
        return self._tell(BUSY)

    def _stop(self) -> HookAnswer:
        session, call = self.session, self.call
        assert session is not None
        if call.stop_hook_active:
            self.note("this stop follows from a blocked one: not blocked again")
            self._save(session, state=IDLE, seen_at=self.now)
            return NOTHING
        unread = self._unread(session, IDLE)
        if unread is None or not self._claim(session, unread):
            return NOTHING
        text = "\n".join(self._unread_lines(unread, session))
        self._save(session, state=BUSY)
        return HookAnswer(BLOCKED, err=text) if call.moment == table.IDLE else block(call, text)

    def _wake(self) -> HookAnswer:
        """Wait for mail, then exit with code 2, which starts a turn of an idle session. The session may be registered
        later: a client starts all hooks of an event at once."""
        import time

        from telex.surfaces.clients.wakes import wait_for_wake

        assert self.store is not None
        if self.is_dry:
            self.note("waits for mail, and wakes the session when it is idle")
            return NOTHING
        ends_at = time.monotonic() + WAKE_SECONDS
        while (session := sessions.load(self.folder, self.call.client.name, self._session_id())) is None:
            if time.monotonic() > ends_at:
                return NOTHING
            time.sleep(WAKE_POLL_SECONDS)
        text = wait_for_wake(self.store, self.folder, session, ends_at - time.monotonic())
        return HookAnswer(BLOCKED, err=text) if text else NOTHING

    def _end(self) -> HookAnswer:
        """Return the leases of the session, unless another live session has its name."""
        call = self.call
        if self.is_dry:
            self.note("the leases of this session are returned, and its binding ends")
            return NOTHING
        if not os.path.isdir(self.folder):
            return NOTHING
        for session in registration.end(self.folder, call.client.name, self._session_id(), self.now):
            if not sessions.sessions_of(self.folder, session.agent):
                self.mail.give_back(session.agent, self.now)
        return NOTHING

    # --- the guard ---------------------------------------------------------------------------------------------------
    def _before_tool(self) -> HookAnswer:
        if self.call.tool == SEND_MESSAGE:
            return self._check_native()
        from telex.project import find_settings, from_root, root_of

        assert self.store is not None
        cwd, root = self.call.cwd, root_of(self.call.cwd)
        paths = [from_root(path, cwd, root) for path in written_paths(self.call)]
        inside = [path for path in paths if path and not os.path.isabs(path)]
        self.note(f"paths in the project: {len(inside)} of {len(paths)}")
        if not inside:
            return NOTHING  # the client's own permissions are for other paths
        self.session = self._bound()
        state = f"{stamp_of(self.store)} {stamp_of(find_settings(cwd) or '')}"
        if self.session.unguarded == state and all(is_plain(path, root) for path in inside):
            self.note("no contract covers this agent, as of the last look")
            return NOTHING
        return self._guard(inside, root, state)

    def _guard(self, paths: list[str], root: str, state: str) -> HookAnswer:
        from telex.config import load

        settings, session = load(self.call.cwd), self.session
        assert session is not None
        mode = settings.hooks_guard
        verdicts = self._verdicts(paths, root, settings) if mode != "off" else []
        refused = [verdict for verdict in verdicts if not verdict.allowed]
        if not any(verdict.plan or verdict.code for verdict in verdicts):
            self._save(session, unguarded=state)
        self.note(f"paths that {session.agent} may not write: {len(refused)}" if mode != "off" else "the guard is off")
        return deny(self.call, denial_text(refused, self.covered or session.agent), mode=mode) if refused else NOTHING

    def _verdicts(self, paths: list[str], root: str, settings: "Settings") -> "list[PathVerdict]":
        """Verdicts under the contracts of this agent; a subagent without any is covered by those of its session."""
        from telex.connection import gate
        from telex.errors import NotAMember
        from telex.model.roster import AGENT
        from telex.project import LinkResolver

        session, resolve = self.session, LinkResolver(root).leads_to
        assert session is not None
        verdicts: list[PathVerdict] = []
        with gate(self.store, settings, close=not self.keeps_store_open) as bus:
            for name in dict.fromkeys((session.agent, self.lead)):
                try:
                    verdicts = bus.guard(paths, agent=name, resolve=resolve)
                except NotAMember:  # it has not sent anything yet, and joins as an agent without a role
                    verdicts = bus.guard(paths, agent=name, role=session.role or AGENT, resolve=resolve)
                if any(verdict.plan for verdict in verdicts):
                    self.covered = name
                    break
        return verdicts

    # --- messages between teammates ----------------------------------------------------------------------------------
    def _check_native(self) -> HookAnswer:
        """Deny a message of a Telex dialect that is invalid. Other text and the client's control frames pass."""
        text = native_message(self.call.tool_input)
        if not text.lstrip().startswith("{"):
            return NOTHING
        from telex.config import load
        from telex.validation.check import check

        checked = check(text, load(self.call.cwd).policy())
        self.note(f"message of {checked.dialect.name if checked.dialect else 'no dialect'}: {checked.outcome}")
        if checked.dialect is None or checked.valid:
            return NOTHING
        refusals = [finding for finding in checked.findings if finding.severity == "refusal"]
        lines = [f"Telex: this {checked.type or 'message'} is not valid in {checked.dialect.name}."]
        lines += [f"{finding.code} at {finding.path}: {finding.say}" for finding in refusals[:FINDINGS_MAX]]
        if len(refusals) > FINDINGS_MAX:
            lines.append(f"and {len(refusals) - FINDINGS_MAX} more")
        return deny(self.call, "\n".join(lines))

    def _record_native(self, session: Session) -> None:
        """Store a message that the client has carried itself as history: it is not delivered again."""
        call, response = self.call, self.call.tool_response
        text = native_message(call.tool_input)
        if self.is_dry or not text or not isinstance(response, dict) or response.get("success") is not True:
            return
        from telex.surfaces.clients.native import record

        assert self.store is not None
        record(call, session, text, self.store, self.now)


# --- tool calls -------------------------------------------------------------------------------------------------------
def is_guarded(call: HookCall) -> bool:
    """Whether this tool call writes files whose paths are known, or sends a message."""
    return call.tool == SEND_MESSAGE or bool(written_paths(call))


def is_plain(path: str, root: str) -> bool:
    """Whether any agent without a contract may certainly write this path. Others are for the guard: files of git and
    Telex, links, and names that some systems read as another file."""
    names = path.lower().split("/")
    if not _PLAIN.issuperset(path) or any(
        not name or name[-1] == "." or name in _RESERVED or name.partition(".")[0] in _RESERVED for name in names
    ):
        return False
    return os.path.realpath(os.path.join(root, path)) == os.path.join(os.path.realpath(root), *path.split("/"))


def native_message(tool_input: "dict[str, Any]") -> str:
    """The text of a message between teammates; of an object its JSON."""
    message = next((tool_input[name] for name in MESSAGE_FIELDS if name in tool_input), "")
    return dump(message) if isinstance(message, dict) else message if isinstance(message, str) else ""


# --- the store --------------------------------------------------------------------------------------------------------
def find_store(cwd: str, environ: "Mapping[str, str]") -> str | None:
    """The file of the store for a folder; None: there is none, or it is at a hub."""
    path = environ.get(STORE) or _project_store(cwd)
    if path is None or "://" in path or path.startswith(("memory:", ":memory:")):
        return None
    path = os.path.join(cwd, path.removeprefix("sqlite:"))
    path = os.path.join(path, STORE_FILE) if os.path.isdir(path) else path
    return path if os.path.isfile(path) and not os.path.islink(path) else None


def _project_store(cwd: str) -> str | None:
    from telex.project import find_settings, store_folder

    settings = find_settings(cwd)
    if settings is not None:
        with open(settings, "rb") as file:
            may_have_path = b"[store]" in file.read(SETTINGS_BYTES_MAX)
        if may_have_path:
            from telex.config import load_file

            if (path := load_file(settings).store_path) is not None:
                return path
    folder = os.path.join(store_folder(cwd, None if os.environ.get("TELEX_CONFIG") else settings), STORE_FOLDER)
    return None if os.path.islink(folder) else os.path.join(folder, STORE_FILE)


def stamp_of(store: str) -> str:
    """Size and time of the store's files. Every write changes it; a read does not."""
    parts = []
    for path in (store, store + "-wal"):
        try:
            status = os.stat(path)
            parts.append(f"{status.st_size}.{status.st_mtime_ns}" if status.st_size else "0")
        except OSError:
            parts.append("0")
    return "/".join(parts)
