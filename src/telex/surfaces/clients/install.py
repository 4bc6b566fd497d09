"""Installation of Telex in coding clients: by the client's own installer, or by entries in its configuration files.

An installer is used where a client has one. It is not for a project, and not where entries of ours are in the client's
files already; there, and where it fails, the files are edited directly.
"""

import os
import shutil
import subprocess
from collections.abc import Callable, Mapping
from typing import Any

from telex.model.named_tuple import NamedTuple
from telex.surfaces.clients import config_file, json_edit, plugin_files, toml_edit
from telex.surfaces.clients.config_file import (
    PLUGIN,
    SERVER,
    TABLE,
    ConfigEntry,
    ConfigFileError,
    FileEdit,
    apply,
    has_our_entries,
    plan_merge,
    plan_unmerge,
    read_text,
)
from telex.surfaces.clients.plugin_files import Setup

NAMES = ("claude", "codex", "gemini", "opencode", "qwen", "copilot", "cursor")
USER, PROJECT = "user", "project"
AGENT_PLUGIN = "agent-plugin"  # folder
COMMAND_SECONDS = 120.0
OUTPUT_CHARACTERS_MAX = 2_000


class Installer(NamedTuple):
    """A client's own installer: its commands, without the executable; FOLDER is replaced by the path of our folder."""

    install: tuple[tuple[str, ...], ...]
    uninstall: tuple[tuple[str, ...], ...]
    is_live: bool = False  # the client reads our folder in place
    is_interactive: bool = False  # asks the person, so it needs a terminal


FOLDER = "FOLDER"
_ADD_MARKET = ("plugin", "marketplace", "add", FOLDER)
_REMOVE_MARKET = ("plugin", "marketplace", "remove", SERVER)
_EXTENSION = ("extensions", "install", FOLDER, "--consent")
_REMOVE_EXTENSION = ("extensions", "uninstall", SERVER)
INSTALLERS = {
    "claude": Installer(
        (_ADD_MARKET, ("plugin", "install", PLUGIN)), (("plugin", "uninstall", PLUGIN), _REMOVE_MARKET), is_live=True
    ),
    "codex": Installer((_ADD_MARKET, ("plugin", "add", PLUGIN)), (("plugin", "remove", PLUGIN), _REMOVE_MARKET)),
    "copilot": Installer(
        (_ADD_MARKET, ("plugin", "install", PLUGIN)), (("plugin", "uninstall", PLUGIN), _REMOVE_MARKET), is_live=True
    ),
    "gemini": Installer((_EXTENSION,), (_REMOVE_EXTENSION,), is_interactive=True),
    "qwen": Installer((_EXTENSION,), (_REMOVE_EXTENSION,)),
}
_CODEX_TRUST = "Start codex once: at `Hooks need review` choose `Trust all`. Until then Codex skips the hooks silently."
_GEMINI_TRUST = (
    "Gemini starts servers and hooks only in folders that you trust: answer its question at the first start."
)
_COPILOT_PERMISSION = "Copilot asks before each tool unless started with --allow-tool telex."
_OPENCODE_START = "The first start of opencode fetches the packages of its plugins."
_CURSOR_SERVER = "Enable the server telex in Cursor's settings under MCP. Cursor runs no hooks of Telex."
# Steps that only a person can do, by client and scope.
STEPS: dict[tuple[str, str], tuple[str, ...]] = {
    ("claude", PROJECT): ("Approve the server of this project at the next start of claude.",),
    ("codex", USER): (_CODEX_TRUST,),
    ("codex", PROJECT): (_CODEX_TRUST,),
    ("gemini", USER): (_GEMINI_TRUST,),
    ("gemini", PROJECT): (_GEMINI_TRUST,),
    ("qwen", PROJECT): ("Approve the server of this project at the next start of qwen.",),
    ("copilot", USER): (_COPILOT_PERMISSION,),
    ("copilot", PROJECT): ("Copilot reads servers of a project only in folders that you trust.", _COPILOT_PERMISSION),
    ("opencode", USER): (_OPENCODE_START,),
    ("opencode", PROJECT): (_OPENCODE_START,),
    ("cursor", USER): (_CURSOR_SERVER,),
    ("cursor", PROJECT): (_CURSOR_SERVER,),
}


class Places(NamedTuple):
    """Folders of the user and of the project."""

    home: str
    project: str
    environ: Mapping[str, str]

    @property
    def data(self) -> str:
        base = self.environ.get("XDG_DATA_HOME") or os.path.join(self.home, ".local", "share")
        return os.path.join(base, "telex")

    def folder(self, client: str) -> str:
        """The folder that a client's installer gets."""
        return os.path.join(self.data, client)

    def config(self, client: str, scope: str) -> str:
        """The configuration folder of a client."""
        if scope == PROJECT:
            return os.path.join(self.project, _PROJECT_FOLDERS.get(client, f".{client}"))
        variable, default = _USER_FOLDERS.get(client, ("", f".{client}"))
        if client == "opencode":
            base = self.environ.get("XDG_CONFIG_HOME") or os.path.join(self.home, ".config")
            return self.environ.get(variable) or os.path.join(base, "opencode")
        return self.environ.get(variable) or os.path.join(self.home, default)


_PROJECT_FOLDERS = {"copilot": ".github", "opencode": ""}
_USER_FOLDERS = {
    "claude": ("CLAUDE_CONFIG_DIR", ".claude"),
    "codex": ("CODEX_HOME", ".codex"),
    "copilot": ("COPILOT_HOME", ".copilot"),
    "opencode": ("OPENCODE_CONFIG_DIR", ""),
}


class Outcome(NamedTuple):
    """Changes made, or to be made, for one client."""

    client: str
    way: str  # plugin, extension, files, nothing
    commands: tuple[tuple[str, ...], ...] = ()
    edits: tuple[FileEdit, ...] = ()
    steps: tuple[str, ...] = ()  # that only a person can do
    problems: tuple[str, ...] = ()
    snippets: tuple[tuple[str, str], ...] = ()  # path and text to insert by hand

    @property
    def is_done(self) -> bool:
        """Whether the client has Telex after it."""
        return self.way in ("plugin", "extension", "files")

    @property
    def changes(self) -> list[FileEdit]:
        return [edit for edit in self.edits if edit.is_change]


class ClientFiles(NamedTuple):
    """Files of a client at a scope: entries in files that it shares with others, and files of our own."""

    entries: dict[str, list[ConfigEntry]]
    own: dict[str, str]


Run = Callable[[tuple[str, ...], bool], tuple[int, str]]


# --- files ------------------------------------------------------------------------------------------------------------
def client_files(client: str, scope: str, places: Places, setup: Setup) -> ClientFiles:
    """Entries for the files of a client whose installer is not used."""
    folder = places.config(client, scope)
    entry = plugin_files.server(client, setup)
    own: dict[str, str] = {}
    if client == "opencode":
        plugins = os.path.join(places.project, ".opencode") if scope == PROJECT else folder
        if setup.has_hooks:
            own[os.path.join(plugins, "plugins", "telex.js")] = plugin_files.opencode_plugin(setup)
        return ClientFiles({_opencode_file(folder): [ConfigEntry(("mcp", SERVER), entry)]}, own)
    if client == "codex":
        files = {os.path.join(folder, "config.toml"): [ConfigEntry(TABLE, entry)]}
    else:
        files = {_server_file(client, scope, places): [ConfigEntry(("mcpServers", SERVER), entry)]}
    if client == "copilot" and setup.has_hooks and scope == USER:  # Copilot runs no hooks of a project
        own[os.path.join(folder, "hooks", "telex.json")] = json_edit.written(
            {"version": 1, "hooks": plugin_files.hooks(client, setup)}
        )
    elif client in _HOOK_FILES and setup.has_hooks:
        hooked = files.setdefault(os.path.join(folder, _HOOK_FILES[client]), [])
        for event, groups in plugin_files.hooks(client, setup).items():
            hooked += [ConfigEntry(("hooks", event), group, is_item=True) for group in groups]
    if client == "claude":
        settings = files.setdefault(os.path.join(folder, "settings.json"), [])
        settings.append(ConfigEntry(("permissions", "allow"), config_file.PERMISSIONS[0], is_item=True))
    return ClientFiles(files, own)


_HOOK_FILES = {"claude": "settings.json", "codex": "hooks.json", "gemini": "settings.json", "qwen": "settings.json"}
_SERVER_FILES = {"gemini": "settings.json", "qwen": "settings.json", "cursor": "mcp.json"}


def _server_file(client: str, scope: str, places: Places) -> str:
    folder = places.config(client, scope)
    if client == "claude" and scope == PROJECT:
        return os.path.join(places.project, ".mcp.json")
    if client == "claude":
        is_moved = bool(places.environ.get("CLAUDE_CONFIG_DIR"))
        return os.path.join(folder if is_moved else places.home, ".claude.json")
    if client == "copilot":
        return os.path.join(folder, "mcp.json" if scope == PROJECT else "mcp-config.json")
    return os.path.join(folder, _SERVER_FILES[client])


def _opencode_file(folder: str) -> str:
    paths = [os.path.join(folder, name) for name in ("opencode.json", "opencode.jsonc")]
    return next((path for path in reversed(paths) if os.path.exists(path)), paths[0])


def _plugin_entries(client: str, places: Places, setup: Setup) -> dict[str, list[ConfigEntry]]:
    """Entries beside a plugin: Claude's permission for its tools, and Copilot's server."""
    if client == "claude":
        rule = ConfigEntry(("permissions", "allow"), config_file.PERMISSIONS[1], is_item=True)
        return {os.path.join(places.config(client, USER), "settings.json"): [rule]}
    if client == "copilot":
        entry = ConfigEntry(("mcpServers", SERVER), plugin_files.server(client, setup))
        return {_server_file(client, USER, places): [entry]}
    return {}


def _registry_file(client: str, places: Places) -> str | None:
    """The file in which a client lists its plugins and rewrites what else is in it."""
    names = {"claude": "settings.json", "copilot": "settings.json", "codex": "config.toml", "qwen": "settings.json"}
    return os.path.join(places.config(client, USER), names[client]) if client in names else None


# --- state ------------------------------------------------------------------------------------------------------------
def is_present(client: str, places: Places) -> bool:
    """Whether a client is on this machine."""
    if client == "cursor":
        return os.path.isdir(os.path.join(places.home, ".cursor")) or os.path.isdir(
            os.path.join(places.project, ".cursor")
        )
    return shutil.which(client, path=places.environ.get("PATH")) is not None


def registered_folder(client: str, places: Places) -> str | None:
    """The folder from which a client has installed its plugin or extension `telex`; None: it has none."""
    if client in ("gemini", "qwen"):
        extension = os.path.join(places.config(client, USER), "extensions", SERVER)
        return places.folder(client) if os.path.isdir(extension) else None
    path = _registry_file(client, places)
    try:
        text = read_text(path) if path else None
        if not text:
            return None
        if client == "codex":
            tree = toml_edit.tree(text)
            source, is_on = tree.get("marketplaces", {}).get(SERVER), tree.get("plugins", {}).get(PLUGIN)
            return str(source.get("source")) if source and is_on else None
        tree = json_edit.parse(text).value
        market = tree.get("extraKnownMarketplaces", {}).get(SERVER, {}).get("source", {})
        return str(market.get("path")) if market and tree.get("enabledPlugins", {}).get(PLUGIN) else None
    except (ConfigFileError, ValueError, AttributeError, TypeError):
        return None


def client_version(client: str, places: Places) -> str | None:
    """The version that a client prints; None: it cannot be started."""
    code, output = run_command((client, "--version"), False, places.environ, seconds=30.0)
    lines = [line for line in output.splitlines() if any(letter.isdigit() for letter in line) and "WARN" not in line]
    return lines[0].strip()[:80] if code == 0 and lines else None


def run_command(
    command: tuple[str, ...], is_interactive: bool, environ: Mapping[str, str], seconds: float = COMMAND_SECONDS
) -> tuple[int, str]:
    """Exit code and output of a client's command. An interactive one has the terminal, and no output is returned."""
    stream = None if is_interactive else subprocess.PIPE
    try:
        ran = subprocess.run(
            command,
            stdin=None if is_interactive else subprocess.DEVNULL,
            stdout=stream,
            stderr=None if is_interactive else subprocess.STDOUT,
            timeout=None if is_interactive else seconds,
            env=dict(environ),
            check=False,
        )
    except subprocess.TimeoutExpired:
        return 124, f"no answer in {seconds:.0f} s"
    except OSError as error:
        return 127, error.strerror or str(error)
    return ran.returncode, (ran.stdout or b"").decode("utf-8", "replace")[-OUTPUT_CHARACTERS_MAX:]


# --- install ----------------------------------------------------------------------------------------------------------
class Installation(NamedTuple):
    """One run of `telex init`."""

    places: Places
    setup: Setup
    scope: str = USER
    is_dry: bool = False
    has_terminal: bool = False
    run: Run | None = None

    def install(self, client: str) -> Outcome:
        if not self._uses_installer(client):
            return self._by_files(client)
        folder = self.places.folder(client)
        registered = registered_folder(client, self.places)
        if registered not in (None, folder):
            problem = f"{client} has another plugin called telex, from {registered}: remove it first"
            return Outcome(client, "nothing", problems=(problem,))
        try:
            return self._by_installer(client, folder, registered is not None)
        except ConfigFileError as error:
            return self._failed(client, error)

    def _uses_installer(self, client: str) -> bool:
        if self.scope == PROJECT or client not in INSTALLERS:
            return False
        if registered_folder(client, self.places) is not None:
            return True
        if INSTALLERS[client].is_interactive and not self.has_terminal:
            return False
        plugin_paths = _plugin_entries(client, self.places, self.setup)
        files = client_files(client, USER, self.places, self.setup)
        return not any(has_our_entries(path) for path in files.entries if path not in plugin_paths)

    def _by_installer(self, client: str, folder: str, is_registered: bool) -> Outcome:
        installer = INSTALLERS[client]
        is_market = installer.install[0] == _ADD_MARKET
        files = (plugin_files.marketplace if is_market else plugin_files.extension)(client, self.setup)
        edits = _folder_edits(folder, files)
        entries = _plugin_entries(client, self.places, self.setup)
        for path, wanted in entries.items():
            plan_merge(path, wanted)  # a foreign server is found before anything is written
        is_changed = any(edit.is_change for edit in edits)
        commands: list[tuple[str, ...]] = []
        if not is_registered:
            commands = [*installer.install]
        elif is_changed and not installer.is_live:
            commands = [*installer.install] if client == "codex" else [*installer.uninstall, *installer.install]
        ran = tuple(_command(client, command, folder) for command in commands)
        if not self.is_dry:
            self._keep_registry(client, is_registered)
            _apply_all(edits)
            failure = self._run_all(ran, installer.is_interactive)
            if failure is not None and is_registered:
                return Outcome(client, "nothing", ran, tuple(edits), problems=(failure,))
            if failure is not None:
                self._undo(client, folder)
                return self._by_files(client, f"{failure}; its files are edited instead")
        merged = [plan_merge(path, wanted) for path, wanted in entries.items()]
        if not self.is_dry:
            _apply_all(merged)
        way = "plugin" if is_market else "extension"
        return Outcome(client, way, ran, (*edits, *merged), self._steps(client))

    def _undo(self, client: str, folder: str) -> None:
        """Roll back what an installer has done before it failed."""
        if shutil.which(client, path=self.places.environ.get("PATH")) is not None:
            for words in INSTALLERS[client].uninstall:
                self._run_all((_command(client, words, folder),), False)
        registry = _registry_file(client, self.places)
        if registry is not None:
            apply(plan_unmerge(registry, (folder,)))
        _clear_folder(folder)

    def _keep_registry(self, client: str, is_registered: bool) -> None:
        """Make a backup of the file that the client's installer is going to rewrite."""
        path = _registry_file(client, self.places)
        text = read_text(path) if path else None
        if path and text is not None and not is_registered and not has_our_entries(path):
            apply(FileEdit(path, text, text, text))

    def _run_all(self, commands: tuple[tuple[str, ...], ...], is_interactive: bool) -> str | None:
        """Run the commands; the text of the first failure. What is there already is no failure."""
        for command in commands:
            run = self.run or (lambda words, terminal: run_command(words, terminal, self.places.environ))
            code, output = run(command, is_interactive)
            if code and "already" not in output and "not installed" not in output:
                last = next((line.strip() for line in reversed(output.splitlines()) if line.strip()), "")
                return f"`{' '.join(command)}` failed ({code}){f': {last}' if last else ''}"
        return None

    def _by_files(self, client: str, problem: str | None = None) -> Outcome:
        files = client_files(client, self.scope, self.places, self.setup)
        problems = [problem] if problem else []
        edits: list[FileEdit] = []
        try:
            for path in (*files.entries, *files.own):
                self._check_place(path)
            edits += [plan_merge(path, wanted) for path, wanted in files.entries.items() if wanted]
        except ConfigFileError as error:
            return self._failed(client, error, files, problems)
        edits += [FileEdit(path, read_text(path), text) for path, text in files.own.items()]
        if not self.is_dry:
            _apply_all(edits)
        return Outcome(client, "files", edits=tuple(edits), steps=self._steps(client), problems=tuple(problems))

    def _check_place(self, path: str) -> None:
        """A cloned repository may contain links that lead out of it."""
        if self.scope != PROJECT:
            return
        top, target = os.path.realpath(self.places.project), os.path.realpath(path)
        if os.path.commonpath([top, target]) != top:
            raise ConfigFileError(path, f"leads out of the project, to {target}", is_foreign=True)

    def _failed(
        self, client: str, error: ConfigFileError, files: ClientFiles | None = None, problems: Any = ()
    ) -> Outcome:
        """The outcome where a file cannot be edited: its entries are shown, unless another server is in their place."""
        files = files or client_files(client, self.scope, self.places, self.setup)
        wanted = [] if error.is_foreign else files.entries.get(error.path, [])
        snippets = ((error.path, _snippet(wanted)),) if wanted else ()
        return Outcome(client, "nothing", problems=(*problems, str(error)), snippets=snippets)

    def _steps(self, client: str) -> tuple[str, ...]:
        has_hooks = self.setup.has_hooks or client not in ("codex", "opencode")  # their steps are about hooks
        return STEPS.get((client, self.scope), ()) if has_hooks else ()

    # --- uninstall ----------------------------------------------------------------------------------------------------
    def uninstall(self, client: str) -> Outcome:
        """Remove everything of ours from a client, however it was installed at this scope."""
        commands: tuple[tuple[str, ...], ...] = ()
        problems: list[str] = []
        folder = self.places.folder(client)
        if self.scope == USER and client in INSTALLERS and registered_folder(client, self.places) == folder:
            commands = tuple(_command(client, command, folder) for command in INSTALLERS[client].uninstall)
            failure = None if self.is_dry else self._run_all(commands, False)
            problems += [failure] if failure else []
        edits: list[FileEdit] = []
        for path in self._shared_paths(client):
            try:
                self._check_place(path)
                edits.append(plan_unmerge(path, (folder,) if commands else ()))
            except ConfigFileError as error:
                problems.append(str(error))
        edits += self._own_removals(client)
        if not self.is_dry:
            _apply_all(edits)
            remove_folder(folder)
        is_nothing = not commands and not any(edit.is_change for edit in edits)
        way = "nothing" if is_nothing else "removed"
        return Outcome(client, way, commands, tuple(edits), problems=tuple(problems))

    def _shared_paths(self, client: str) -> list[str]:
        """Files in which entries of ours may be; those of a project only if they are in it."""
        setup = self.setup._replace(has_hooks=True)
        paths = [*client_files(client, self.scope, self.places, setup).entries]
        registry = _registry_file(client, self.places) if self.scope == USER else None
        paths += [registry] if registry and registry not in paths else []
        return paths

    def _own_removals(self, client: str) -> list[FileEdit]:
        setup = self.setup._replace(has_hooks=True)
        own = client_files(client, self.scope, self.places, setup).own
        removals = [FileEdit(path, read_text(path), None) for path in own]
        if self.scope == USER and os.path.isdir(self.places.folder(client)):
            removals += [FileEdit(path, read_text(path), None) for path in _files_under(self.places.folder(client))]
        return removals


def write_agent_plugin(places: Places, setup: Setup) -> None:
    """Write the folder of an Agent Plugin, for clients that have no recipe here."""
    _apply_all(_folder_edits(places.folder(AGENT_PLUGIN), plugin_files.agent_plugin(setup)))


def remove_agent_plugin(places: Places) -> None:
    """Remove that folder, unless a client still has a folder beside it."""
    if not any(os.path.isdir(places.folder(client)) for client in INSTALLERS):
        _clear_folder(places.folder(AGENT_PLUGIN))
        remove_folder(places.data)


def _command(client: str, words: tuple[str, ...], folder: str) -> tuple[str, ...]:
    return (client, *(folder if word == FOLDER else word for word in words))


def _folder_edits(folder: str, files: dict[str, str]) -> list[FileEdit]:
    """The edits that make a folder of ours contain these files and no others."""
    paths = {os.path.join(folder, *path.split("/")): text for path, text in files.items()}
    edits = [FileEdit(path, read_text(path), text) for path, text in paths.items()]
    return edits + [FileEdit(path, read_text(path), None) for path in _files_under(folder) if path not in paths]


def _files_under(folder: str) -> list[str]:
    return sorted(os.path.join(root, name) for root, _, names in os.walk(folder) for name in names)


def _apply_all(edits: list[FileEdit]) -> None:
    for edit in edits:
        apply(edit)


def _clear_folder(folder: str) -> None:
    for path in _files_under(folder):
        os.unlink(path)
    remove_folder(folder)


def remove_folder(folder: str) -> None:
    """Remove the empty folders of an installation."""
    for root, _, _ in os.walk(folder, topdown=False):
        try:
            os.rmdir(root)
        except OSError:
            return


def _snippet(entries: list[ConfigEntry]) -> str:
    """The entries as text to insert by hand."""
    if entries[0].path == TABLE:
        return toml_edit.add_table("", TABLE, entries[0].value)
    return config_file.merge_json("", entries)
