"""Checks of one coding client for `telex doctor CLIENT`: installation, server, hooks, trust, name, store, sessions.

The server and the hooks run in a temporary project with one message, so that the checks change nothing here.
"""

import json
import os
import select
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping
from typing import Any

from telex.model.named_tuple import NamedTuple
from telex.stores.doctor import DoctorCheck
from telex.surfaces.clients import config_file, install, json_edit, plugin_files, sessions, toml_edit
from telex.surfaces.clients.install import PROJECT, USER, Places
from telex.surfaces.clients.plugin_files import Setup
from telex.surfaces.clients.table import CLIENTS, STOP

SLOW_SECONDS = 1.0  # start of `telex mcp`; Codex and Claude Code go on without it
ANSWER_SECONDS = 20.0
AGENT = "dev"
MESSAGE = b"A message for the checks.\n"
_PROTOCOLS = {"initialize": "2025-06-18", "server/discover": "2026-07-28"}  # both eras of MCP


class EntryPlace(NamedTuple):
    """A place that has a server or hooks of ours."""

    scope: str
    where: str
    has_server: bool
    has_hooks: bool
    telex: str | None  # path of the command in it


def check_client(client: str, places: Places, setup: Setup) -> Iterator[DoctorCheck]:
    """All checks of a client, in the order of their printing."""
    yield _version(client, places)
    entries = entry_places(client, places, setup)
    yield from _entries(client, entries)
    yield from _foreign_commands(entries, setup)
    # A command that a file of the project names is not run: the repository may be a stranger's.
    telex = next((entry.telex for entry in entries if entry.telex and entry.scope == USER), setup.telex)
    if not os.access(telex, os.X_OK):
        yield DoctorCheck("command", False, f"{telex} does not exist: run telex init {client} again")
        return
    yield DoctorCheck("command", True if telex == setup.telex else None, telex)
    with tempfile.TemporaryDirectory(prefix="telex-doctor-") as folder:
        environ = _prepare(folder, telex, places.environ)
        for method in _PROTOCOLS:
            yield _server(telex, method, folder, environ)
        if client in CLIENTS:
            yield from _replay(client, telex, folder, environ)
    yield from _trust(client, places, entries)


# --- installation -----------------------------------------------------------------------------------------------------
def _version(client: str, places: Places) -> DoctorCheck:
    if not install.is_present(client, places):
        return DoctorCheck("client", False, f"{client} is not on the PATH")
    if client == "cursor":
        return DoctorCheck("client", True, "cursor has a configuration folder")
    version = install.client_version(client, places)
    return DoctorCheck("client", version is not None, version or f"{client} --version fails")


def entry_places(client: str, places: Places, setup: Setup) -> list[EntryPlace]:
    """Where a client has entries of ours: plugins, then files, at the scope of the person and of the project."""
    found: list[EntryPlace] = []
    folder = install.registered_folder(client, places) if client in install.INSTALLERS else None
    if folder is not None:
        files = _json_files(folder)
        servers = [server for tree in files for server in _servers(tree)]
        has_hooks = any(_has_hooks(tree) for tree in files)
        found.append(EntryPlace(USER, folder, bool(servers), has_hooks, _path_of(servers)))
    for scope in (USER, PROJECT):
        known = install.client_files(client, scope, places, setup)
        for path in known.entries:
            tree = _tree(path)
            servers = _servers(tree)
            if servers or _has_hooks(tree):
                found.append(EntryPlace(scope, path, bool(servers), _has_hooks(tree), _path_of(servers)))
        found += [EntryPlace(scope, path, False, True, None) for path in known.own if os.path.exists(path)]
    return found


def _entries(client: str, entries: list[EntryPlace]) -> Iterator[DoctorCheck]:
    for entry in entries:
        parts = [name for name, has in (("server", entry.has_server), ("hooks", entry.has_hooks)) if has]
        yield DoctorCheck("entries", True, f"{entry.where} ({entry.scope}): {' and '.join(parts) or 'a folder'}")
    if not any(entry.has_server for entry in entries):
        yield DoctorCheck("entries", False, f"no server of Telex: telex init {client}")
    if client in CLIENTS and entries and not any(entry.has_hooks for entry in entries):
        yield DoctorCheck("entries", None, "no hooks: messages are read only when the agent asks for them")
    for name in ("server", "hooks"):
        places = [entry for entry in entries if (entry.has_server if name == "server" else entry.has_hooks)]
        if len(places) > 1:
            scopes = " and ".join(f"{entry.where} ({entry.scope})" for entry in places)
            yield DoctorCheck("entries", None, f"{name} installed more than once: {scopes}; uninstall one of them")


def _foreign_commands(entries: list[EntryPlace], setup: Setup) -> Iterator[DoctorCheck]:
    """Commands in files of the project that are not this installation."""
    for entry in entries:
        if entry.scope == PROJECT and entry.telex and entry.telex != setup.telex:
            say = f"{entry.where} starts {entry.telex}, which is not this installation; it was not run here"
            yield DoctorCheck("entries", None, say)


def _json_files(folder: str) -> list[Any]:
    paths = [os.path.join(root, name) for root, _, names in os.walk(folder) for name in names]
    return [_tree(path) for path in sorted(paths) if path.endswith(".json")]


def _tree(path: str) -> Any:
    try:
        text = config_file.read_text(path) or ""
        return toml_edit.tree(text) if path.endswith(".toml") else json_edit.parse(text).value
    except (config_file.ConfigFileError, ValueError):
        return None


def _servers(tree: Any) -> list[dict[str, Any]]:
    entries = [config_file.value_at(tree, (*path, config_file.SERVER)) for path in config_file.SERVER_PATHS]
    return [entry for entry in entries if config_file.is_our_server(entry)]


def _has_hooks(tree: Any) -> bool:
    return any(path[0] == "hooks" for path in config_file.our_paths(tree))


def _path_of(servers: list[dict[str, Any]]) -> str | None:
    command = servers[0]["command"] if servers else None
    return command[0] if isinstance(command, list) else command


# --- server and hooks -------------------------------------------------------------------------------------------------
def _prepare(folder: str, telex: str, environ: Mapping[str, str]) -> dict[str, str]:
    """Make a project with one message; the environment of the checks names no agent, store or session of this one."""
    clean = {name: value for name, value in environ.items() if not name.startswith(("TELEX_", "CLAUDE", "TMUX"))}
    variables = {known.session_variable for known in CLIENTS.values()} | {"COPILOT_PROJECT_DIR", "QWEN_PROJECT_DIR"}
    clean = {name: value for name, value in clean.items() if name not in variables}
    clean["TELEX_AGENT"] = AGENT
    os.mkdir(os.path.join(folder, ".git"))  # ends the search for a store
    command = [telex, "send", "--as", "lead", "--to", AGENT, "-"]
    subprocess.run(command, input=MESSAGE, cwd=folder, env=clean, capture_output=True, timeout=60, check=False)
    return clean


def _server(telex: str, method: str, folder: str, environ: dict[str, str]) -> DoctorCheck:
    """Start `telex mcp`, and measure the time to its first answer."""
    name = f"mcp {method}"
    began = time.perf_counter()
    server = subprocess.Popen(
        [telex, "mcp"], cwd=folder, env=environ, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    try:
        line = _first_line(server, _request(method))
        seconds = time.perf_counter() - began
    finally:
        errors = _end(server)
    try:
        result = json.loads(line).get("result")
    except (ValueError, AttributeError):
        result = None
    if not isinstance(result, dict):
        last = (errors or line).decode("utf-8", "replace").strip().splitlines()
        return DoctorCheck(name, False, f"no answer{f': {last[-1]}' if last else ''}")
    slow = "; slow: clients may start without it" if seconds > SLOW_SECONDS else ""
    return DoctorCheck(name, None if slow else True, f"{seconds:.2f} s to the first answer{slow}")


def _request(method: str) -> bytes:
    version, info = _PROTOCOLS[method], {"name": "telex-doctor", "version": "1"}
    params: dict[str, Any] = {"protocolVersion": version, "capabilities": {}, "clientInfo": info}
    if method == "server/discover":
        meta = "io.modelcontextprotocol/"
        params = {
            "_meta": {f"{meta}protocolVersion": version, f"{meta}clientInfo": info, f"{meta}clientCapabilities": {}}
        }
    return json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).encode() + b"\n"


def _first_line(server: "subprocess.Popen[bytes]", request: bytes) -> bytes:
    assert server.stdin is not None
    assert server.stdout is not None
    try:
        server.stdin.write(request)
        server.stdin.flush()
    except OSError:
        return b""
    ready, _, _ = select.select([server.stdout], [], [], ANSWER_SECONDS)
    return server.stdout.readline() if ready else b""


def _end(server: "subprocess.Popen[bytes]") -> bytes:
    """Close stdin, which ends the server; the text of its stderr."""
    try:
        _, errors = server.communicate(timeout=5)
    except subprocess.TimeoutExpired:
        server.kill()
        _, errors = server.communicate()
    return errors


def _replay(client: str, telex: str, folder: str, environ: dict[str, str]) -> Iterator[DoctorCheck]:
    """Run `telex hook` with a recorded payload of each event."""
    payloads = json.loads(plugin_files.data("payloads.json"))[client]
    for event, payload in payloads.items():
        text = json.dumps(payload).replace("{project}", folder).replace("{home}", os.path.dirname(folder))
        began = time.perf_counter()
        try:
            ran = subprocess.run(
                [telex, "hook", client, event],
                input=text.encode(),
                cwd=folder,
                env=environ,
                capture_output=True,
                timeout=ANSWER_SECONDS,
                check=False,
            )
        except subprocess.TimeoutExpired:
            yield DoctorCheck(f"hook {event}", False, f"no answer in {ANSWER_SECONDS:.0f} s")
            continue
        milliseconds = (time.perf_counter() - began) * 1000
        is_idle = CLIENTS[client].events.get(event) not in (None, STOP) and ran.returncode == 2
        ok = ran.returncode == 0 or is_idle
        yield DoctorCheck(f"hook {event}", ok, f"{milliseconds:.0f} ms, {_answer(ran.stdout, ran.stderr)}")
    failures = config_file.read_text(os.path.join(folder, ".telex", "hook.log"))
    if failures:
        yield DoctorCheck("hook log", False, failures.strip().splitlines()[-1])


def _answer(out: bytes, errors: bytes) -> str:
    text = (out or errors).decode("utf-8", "replace").strip()
    try:
        tree = json.loads(text) if text else {}
    except ValueError:
        return text.splitlines()[0]
    specific = tree.get("hookSpecificOutput", tree)
    names = ("additionalContext", "permissionDecisionReason", "reason")
    told = next((tree.get(name) or specific.get(name) for name in names if tree.get(name) or specific.get(name)), "")
    return f"prints: {told.splitlines()[0]}" if told else "prints nothing"


# --- trust ------------------------------------------------------------------------------------------------------------
def _trust(client: str, places: Places, entries: list[EntryPlace]) -> Iterator[DoctorCheck]:
    if client == "codex" and any(entry.has_hooks for entry in entries):
        yield _codex_trust(places)
    if client == "claude":
        yield _claude_permission(places)
        has_socket = bool(places.environ.get("CLAUDE_CODE_MESSAGING_SOCKET"))
        is_inside = bool(places.environ.get("CLAUDECODE"))
        state = "in this session" if has_socket else "not in this session" if is_inside else "unknown outside a session"
        yield DoctorCheck("socket", True if has_socket else None, f"{state}: it wakes an idle session")
    if client == "gemini" and any(entry.scope == USER for entry in entries):
        say = "Gemini starts no servers and hooks in a folder that you have not trusted"
        yield DoctorCheck("trust", None, say)


def _codex_trust(places: Places) -> DoctorCheck:
    tree = _tree(os.path.join(places.config("codex", USER), "config.toml"))
    hooks = tree.get("hooks") if isinstance(tree, dict) else None
    state = hooks.get("state") if isinstance(hooks, dict) else None
    keys = [key for key, value in state.items() if isinstance(value, dict)] if isinstance(state, dict) else []
    own = os.path.join(places.config("codex", USER), "hooks.json")
    trusted = [key for key in keys if key.startswith((own, config_file.PLUGIN)) or "/telex/" in key]
    if trusted:
        return DoctorCheck(
            "trust", True, f"{len(trusted)} hooks trusted in config.toml; a changed hook is asked for again"
        )
    return DoctorCheck(
        "trust", False, "hooks are not trusted: start codex, and choose Trust all at `Hooks need review`"
    )


def _claude_permission(places: Places) -> DoctorCheck:
    paths = [os.path.join(places.config("claude", scope), "settings.json") for scope in (USER, PROJECT)]
    for path in paths:
        tree = _tree(path)
        permissions = tree.get("permissions") if isinstance(tree, dict) else None
        rules = permissions.get("allow") if isinstance(permissions, dict) else None
        if isinstance(rules, list) and any(rule in config_file.PERMISSIONS for rule in rules):
            return DoctorCheck("permission", True, f"its tools are allowed in {path}")
    return DoctorCheck("permission", None, "Claude Code asks before each tool of Telex: telex init claude allows them")


# --- identity ---------------------------------------------------------------------------------------------------------
def check_identity(client: str, store: str, environ: Mapping[str, str]) -> Iterator[DoctorCheck]:
    """The name of an agent here, where it comes from, and other live sessions of this name."""
    folder = sessions.folder_of(store)
    session = sessions.of_process(folder)
    name = environ.get(sessions.AGENT)
    if session is not None:
        yield DoctorCheck("name", True, f"{session.agent}, of the {session.client} session {session.id}")
    elif name:
        yield DoctorCheck("name", True, f"{name}, from {sessions.AGENT}")
    else:
        say = f"none here; a session gets a free name such as {client}-1, or one by telex run {client} --as NAME"
        yield DoctorCheck("name", None, say)
    agent = session.agent if session is not None else name
    for other in sessions.all_sessions(folder):
        is_same = session is not None and (other.client, other.id) == (session.client, session.id)
        if sessions.is_live(other) and not is_same and not other.parent:
            twin = ", the same name as here" if other.agent == agent else ""
            yield DoctorCheck("session", None if twin else True, f"{other.agent}: {other.client}, {other.state}{twin}")
