"""Hooks of clients: one event in, one answer out, in the client's own form.

A failing hook must not stop a client: every failure ends in silence, exit code 0 and a line in `hook.log`. Most events
need nothing, so the cheap tests come first: whether there is something to guard, a store, and a change in it since the
last look. The store is imported only after them.
"""

import os
import sys

from telex.model.named_tuple import NamedTuple
from telex.surfaces.clients import sessions, table
from telex.surfaces.clients.calls import HookCall, read_call, written_paths
from telex.surfaces.clients.json_text import dump, parse
from telex.surfaces.clients.sessions import BUSY, IDLE, Origin, Session

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from telex.config import Settings
    from telex.model.contracts import PathVerdict
    from telex.surfaces.clients.mail import Mail, Unread

PAYLOAD_BYTES_MAX = 4 * 1_048_576
DEADLINE_SECONDS = 1.5
WAKE_SECONDS, WAKE_POLL_SECONDS = 570.0, 0.5  # Claude ends a background hook after 600 s
SEEN_SECONDS = 60.0  # how old `seen_at` of a working session may become
LOG, LOG_BYTES_MAX, LOG_LINE_CHARACTERS_MAX = "hook.log", 65_536, 400
STORE, STORE_FOLDER, STORE_FILE = "TELEX_STORE", ".telex", "telex.db"
DONE, BLOCKED = 0, 2
SEND_MESSAGE = "SendMessage"
MESSAGE_FIELDS = ("message", "content")
_FINDINGS_MAX = 5
_PLAIN = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./")
_RESERVED = frozenset({".git", ".telex", "telex.toml", "con", "prn", "aux", "nul"}) | {
    f"{device}{number}" for device in ("com", "lpt") for number in range(10)
}


class HookAnswer(NamedTuple):
    code: int = DONE
    out: str = ""  # JSON in the client's form
    err: str = ""  # text for the model, with exit code 2


NOTHING = HookAnswer()


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
        origin: Origin | None = None,
    ) -> None:
        self.call, self.now, self.is_dry = call, now, is_dry
        self.notes: list[str] = []
        self.keeps_store_open = False
        self._environ, self._origin = environ, origin
        self._mail: Mail | None = None
        self.store = find_store(call.cwd, environ)
        self.folder = sessions.folder_of(self.store) if self.store else ""
        self.session: Session | None = None
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
        """The session of this call, which is bound by its first event."""
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
        return known.pid if known is not None else sessions.client_process(self.call.client.name, self._environ)

    def _bind(self, known: Session | None, session_id: str) -> Session:
        call = self.call
        origin = self._origin or sessions.origin_of(call.client.name, self._environ, call.cwd)
        if self.is_dry:
            name = origin.wanted or f"{call.client.name}-1"
            return known or Session(call.client.name, session_id, name)
        sessions.prune(self.folder, self.now)
        return sessions.bind(
            self.folder, call.client.name, session_id, now=self.now, origin=origin, is_member=self._is_member
        )

    def _bind_subagent(self, session: Session) -> Session:
        call = self.call
        if self.is_dry:
            return session._replace(agent=f"{session.agent}/{call.agent_type}", told=0, parent=session.id)
        return sessions.bind_subagent(self.folder, session, call.agent_id, call.agent_type, now=self.now)

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
        """Whether this process tells the session of these messages."""
        return self.is_dry or sessions.claim_told(self.folder, session, unread.newest)

    # --- mail --------------------------------------------------------------------------------------------------------
    def _tell(self, state: str) -> HookAnswer:
        """At the start and at a prompt: who the session is, and unread messages."""
        session = self.session
        assert session is not None
        lines = self._identity(session) if self.call.moment == table.START else []
        unread = self._unread(session, state)
        if unread is not None and self._claim(session, unread):
            lines += self._unread_lines(unread, session)
        return told(self.call, "\n".join(lines)) if lines else NOTHING

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
        """Messages that the session was not told of. Its state and the stamp of the store are saved."""
        assert self.store is not None
        stamp = stamp_of(self.store)
        unread = self.mail.unread(session.agent, session.told)
        renew_at = self._renewed_until(session)
        self._save(session, state=state, seen_at=self.now, stamp=stamp, renew_at=renew_at)
        self.note(f"unread, not told yet: {unread.total}")
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
        return HookAnswer(BLOCKED, err=text) if call.moment == table.IDLE else blocked(call, text)

    def _wake(self) -> HookAnswer:
        """Wait for mail, then end with exit code 2, which starts a turn of an idle session. The session may be bound
        later: a client starts all hooks of an event at once."""
        import time

        from telex.surfaces.clients.wakes import wait_for_wake

        assert self.store is not None
        ends_at = time.monotonic() + WAKE_SECONDS
        while (session := sessions.load(self.folder, self.call.client.name, self._session_id())) is None:
            if self.is_dry or time.monotonic() >= ends_at:
                return NOTHING
            time.sleep(WAKE_POLL_SECONDS)
        if self.is_dry:
            self.note("waits for mail, and wakes the session when it is idle")
            return NOTHING
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
        for session in sessions.end(self.folder, call.client.name, self._session_id(), self.now):
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
        return denied(self.call, denial_text(refused, session.agent), mode=mode) if refused else NOTHING

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

        checked = check(text, load(self.call.cwd).desk())
        self.note(f"message of {checked.dialect.name if checked.dialect else 'no dialect'}: {checked.outcome}")
        if checked.dialect is None or checked.valid:
            return NOTHING
        refusals = [finding for finding in checked.findings if finding.severity == "refusal"]
        lines = [f"Telex: this {checked.type or 'message'} is not valid in {checked.dialect.name}."]
        lines += [f"{finding.code} at {finding.path}: {finding.say}" for finding in refusals[:_FINDINGS_MAX]]
        if len(refusals) > _FINDINGS_MAX:
            lines.append(f"and {len(refusals) - _FINDINGS_MAX} more")
        return denied(self.call, "\n".join(lines))

    def _record_native(self, session: Session) -> None:
        """Store a message that the client has carried itself as history: it is not delivered again."""
        call, response = self.call, self.call.tool_response
        text = native_message(call.tool_input)
        if self.is_dry or not text or not isinstance(response, dict) or response.get("success") is not True:
            return
        from telex.surfaces.clients.native import record

        assert self.store is not None
        record(call, session, text, self.store, self.now)


# --- answers ----------------------------------------------------------------------------------------------------------
def told(call: HookCall, text: str) -> HookAnswer:
    """Context for the model."""
    if call.client.form == "copilot":
        return HookAnswer(out=dump({"additionalContext": text}))
    return HookAnswer(out=dump({"hookSpecificOutput": {"hookEventName": call.event, "additionalContext": text}}))


def denied(call: HookCall, text: str, mode: str = "deny") -> HookAnswer:
    """A tool call is not made, or in the mode `ask` only if a person agrees, where the client can ask."""
    decision = "ask" if mode == "ask" and call.client.can_ask else "deny"
    if call.client.form == "gemini":
        return HookAnswer(out=dump({"decision": decision, "reason": text}))
    reason = {"permissionDecision": decision, "permissionDecisionReason": text}
    if call.client.form == "copilot":
        return HookAnswer(out=dump(reason))
    return HookAnswer(out=dump({"hookSpecificOutput": {"hookEventName": call.event, **reason}}))


def blocked(call: HookCall, text: str) -> HookAnswer:
    """The turn does not end; the text is its next prompt."""
    decision = "deny" if call.client.form == "gemini" else "block"
    return HookAnswer(out=dump({"decision": decision, "reason": text}))


def denial_text(refused: "list[PathVerdict]", agent: str) -> str:
    """Path, code and reason of each refused path, and the call that requests them."""
    from telex.model.text import shown
    from telex.surfaces.clients.mail import shell_word

    shorter = refused[:_FINDINGS_MAX]
    lines = [f"Telex: {shown(verdict.path)}: {verdict.code}: {shown(verdict.reason)}" for verdict in shorter]
    if len(refused) > _FINDINGS_MAX:
        lines.append(f"and {len(refused) - _FINDINGS_MAX} more paths")
    request = next((verdict for verdict in refused if verdict.ask is not None), None)
    if request is not None:
        arguments = dump({"to": request.ask_to, "message": request.ask})
        command = f"telex send --as {shell_word(agent)} --to {shell_word(request.ask_to or '')} -"
        lines.append(f"The telex tool `send` (mcp__telex__send) requests it: {arguments}")
        lines.append(f"So does, with the message on stdin: {command}")
    return "\n".join(lines)


def is_plain(path: str, root: str) -> bool:
    """May any agent without a contract write this path, for certain? Others are for the guard: files of git and Telex,
    links, and names that some systems read as another file."""
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
            may_have_path = b"[store]" in file.read(PAYLOAD_BYTES_MAX)
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


# --- the process ------------------------------------------------------------------------------------------------------
def run(client: str, event: str, *, is_process: bool) -> int:
    """Run one hook: the payload on stdin, the answer on stdout. `is_process`: it ends with the exit code returned."""
    watch = _Watchdog(client, event) if is_process and event != table.WAKE else None
    state = _HookState()
    try:
        answer = _answer(client, event, state, is_process=is_process)
    except Exception as error:
        log(state.log_folder, f"{client} {event}: {type(error).__name__}: {error}")
        return DONE
    if watch is not None:
        watch.stop()
    _write(sys.stdout, answer.out)
    _write(sys.stderr, answer.err)
    return answer.code


class _HookState:
    """What is known about a run when it fails."""

    log_folder: str | None = None


def _answer(client: str, event: str, state: _HookState, *, is_process: bool) -> HookAnswer:
    payload = read_payload()
    call = read_call(client, event, payload, os.environ)
    if call is None or (call.moment == table.BEFORE_TOOL and not is_guarded(call)):
        return NOTHING
    from time import time

    store = find_store(call.cwd, os.environ)
    if store is None:
        return NOTHING
    state.log_folder = _Watchdog.log_folder = os.path.dirname(store)
    hook = HookRun(call, os.environ, time())
    hook.keeps_store_open = is_process
    return hook.answer()


def is_guarded(call: HookCall) -> bool:
    """Does this tool call write files of which the paths are known, or send a message?"""
    return call.tool == SEND_MESSAGE or bool(written_paths(call))


def read_payload() -> "Any":
    """The JSON on stdin; None: it is none, or too long."""
    stream = getattr(sys.stdin, "buffer", None)
    return parse_payload(stream.read(PAYLOAD_BYTES_MAX + 1) if stream is not None else b"")


def parse_payload(raw: bytes) -> "Any":
    if len(raw) > PAYLOAD_BYTES_MAX:
        return None
    try:
        return parse(raw.decode("utf-8"))
    except ValueError:
        return None


def _write(stream: "Any", text: str) -> None:
    if text:
        try:
            stream.write(text + "\n")
            stream.flush()
        except OSError:
            pass  # the client does not wait for the answer any more


class _Watchdog:
    """Ends the process in silence when the deadline has passed, also while the store waits for a lock."""

    log_folder: str | None = None

    def __init__(self, client: str, event: str) -> None:
        import _thread

        self._what = f"{client} {event}: no answer within {DEADLINE_SECONDS} s"
        self._lock = _thread.allocate_lock()
        self._lock.acquire()
        _thread.start_new_thread(self._wait, ())

    def _wait(self) -> None:
        if not self._lock.acquire(timeout=DEADLINE_SECONDS):
            log(self.log_folder, self._what)
            os._exit(DONE)

    def stop(self) -> None:
        self._lock.release()


def log(folder: str | None, text: str) -> None:
    """Append a line to hook.log beside the store. The file stays small and private, and is never a link."""
    if folder is None:
        return
    from time import gmtime, strftime

    words = " ".join(text.split())[:LOG_LINE_CHARACTERS_MAX]
    line = f"{strftime('%Y-%m-%dT%H:%M:%SZ', gmtime())} {words}\n".encode("ascii", "backslashreplace")
    flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    try:
        descriptor = os.open(os.path.join(folder, LOG), flags, 0o600)
        try:
            if os.fstat(descriptor).st_size > LOG_BYTES_MAX:
                os.ftruncate(descriptor, 0)
            os.write(descriptor, line)
        finally:
            os.close(descriptor)
    except OSError:
        pass  # a hook has no other place to report a failure
