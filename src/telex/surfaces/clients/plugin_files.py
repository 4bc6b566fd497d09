"""Files that `telex init` writes: plugin, extension and skill folders, hooks and servers of each client.

Event names and tools come from the table of clients. Each client has its own folder, so that a hook command names the
client that runs it. No hook command contains the name of an agent: Codex trusts a hook by a hash of its command.
"""

import json
import os
import shlex
from collections.abc import Iterator
from typing import Any

from telex.model.named_tuple import NamedTuple
from telex.surfaces.clients.config_file import SERVER
from telex.surfaces.clients.json_edit import written
from telex.surfaces.clients.table import AFTER_TOOL, BEFORE_TOOL, CLIENTS, END, IDLE, SUBAGENT_START, SUBAGENT_STOP

DESCRIPTION = "Message, ask or answer the other agents of this project, and read your inbox."
AUTHOR = {"name": "Telex"}
SCHEMAS = "https://agent-plugins.org/schemas/1.0.0"
SECONDS, MILLISECONDS = 10, 10_000  # timeout of a hook, in the unit of its client
END_SECONDS = 3  # maximum of Codex for a hook at the end of a session; it warns of more
WAKE_SECONDS = 86_400
VARIABLES = ("TELEX_AGENT", "TELEX_ROLE", "TELEX_SESSION", "TELEX_STORE", "TELEX_CONFIG", "TELEX_TOKEN")
MESSAGES = "SendMessage"  # Claude's own tool for messages to teammates
_CLAUDE_ONLY = (IDLE, SUBAGENT_START, SUBAGENT_STOP)  # moments of Claude's agent teams
_UNGUARDED = {"claude": ("apply_patch",)}  # tools of other clients that run Claude's hooks
_DATA = os.path.join(os.path.dirname(__file__), "plugin")


class Setup(NamedTuple):
    """Values that the files of an installation depend on."""

    telex: str  # absolute path of the command
    version: str
    agent: str | None = None  # --as
    has_hooks: bool = True


def data(name: str) -> str:
    """A text file of this package."""
    with open(os.path.join(_DATA, name), encoding="utf-8") as file:
        return file.read()


# --- servers and hooks ------------------------------------------------------------------------------------------------
def server(client: str, setup: Setup) -> dict[str, Any]:
    """The entry of `telex mcp` in the form of a client."""
    args = ["mcp", *_name_args(client, setup)]
    if client == "opencode":
        return {"type": "local", "command": [setup.telex, *args], "enabled": True}
    entry: dict[str, Any] = {"command": setup.telex, "args": args}
    return _SERVER_HEAD.get(client, {}) | entry | _SERVER_TAIL.get(client, {})


_SERVER_HEAD: dict[str, dict[str, Any]] = {"copilot": {"type": "local"}}
_SERVER_TAIL: dict[str, dict[str, Any]] = {
    "claude": {"alwaysLoad": True},  # lists the tools in the first request
    "codex": {"required": True, "env_vars": list(VARIABLES)},  # waits for it; passes these variables on
    "gemini": {"trust": True},  # asks for no tool
    "qwen": {"trust": True},
    "copilot": {"tools": ["*"]},
}


def _name_args(client: str, setup: Setup) -> list[str]:
    if setup.agent is None:
        return []
    return ["--as", f"${{TELEX_AGENT:-{setup.agent}}}" if client == "claude" else setup.agent]


def hooks(client: str, setup: Setup) -> dict[str, list[dict[str, Any]]]:
    """The hooks of a client by event, as its settings have them."""
    found: dict[str, list[dict[str, Any]]] = {}
    for event, moment in _installed_events(client):
        command = f"{shlex.quote(setup.telex)} hook {client} {event}"
        group = _group(client, command, _matcher(client) if moment == BEFORE_TOOL else "")
        if client == "codex" and moment == END:
            group["hooks"][0]["timeout"] = END_SECONDS
        if client == "claude" and moment == AFTER_TOOL:
            group["hooks"][0]["async"] = True  # runs in the background; the model gets its output with the next request
        found[event] = [group]
    if client == "claude":
        for event in ("SessionStart", "Stop"):
            found[event].append(_wake_group(setup))
    return found


def _installed_events(client: str) -> Iterator[tuple[str, str]]:
    for event, moment in CLIENTS[client].events.items():
        if client == "claude" or moment not in _CLAUDE_ONLY:
            yield event, moment


def _matcher(client: str) -> str:
    """The tools that write files. Codex also writes by patches in its shell."""
    known = CLIENTS[client]
    patches = [tool for tool in known.patches if tool not in _UNGUARDED.get(client, ())]
    if client == "codex":
        return "|".join([*patches, *known.shells])
    return "|".join([*known.writes, *patches, *([MESSAGES] if client == "claude" else [])])


def _group(client: str, command: str, matcher: str) -> dict[str, Any]:
    if client == "copilot":
        return {"type": "command", "bash": command, "timeoutSec": SECONDS}
    hook: dict[str, Any] = {"type": "command", "command": command}
    if client in ("gemini", "qwen"):
        hook = {"type": "command", "name": SERVER, "command": command, "timeout": MILLISECONDS}
    else:
        hook["timeout"] = SECONDS
    return ({"matcher": matcher} if matcher else {}) | {"hooks": [hook]}


def _wake_group(setup: Setup) -> dict[str, Any]:
    """Wakes an idle session of a Claude Code that has no messaging socket; with one, `telex mcp` does that."""
    command = f'[ -n "$CLAUDE_CODE_MESSAGING_SOCKET" ] || exec {shlex.quote(setup.telex)} hook claude wake'
    hook = {"type": "command", "command": command, "asyncRewake": True, "timeout": WAKE_SECONDS}
    return {"hooks": [hook]}


# --- folders ----------------------------------------------------------------------------------------------------------
def marketplace(client: str, setup: Setup) -> dict[str, str]:
    """A marketplace with one plugin, for Claude Code, Codex and Copilot: text by path."""
    listed = {"name": SERVER, "source": "./plugins/telex", "description": DESCRIPTION}
    market = {"name": SERVER, "owner": AUTHOR, "metadata": {"description": DESCRIPTION}, "plugins": [listed]}
    manifest = _manifest(setup) | {"author": AUTHOR, "license": "Apache-2.0"}
    files = {".claude-plugin/marketplace.json": written(market)}
    plugin = {".claude-plugin/plugin.json": written(manifest), **_texts()}
    if client != "copilot":  # Copilot starts servers of a plugin in the plugin's folder: there would be no project
        plugin[".mcp.json"] = written({"mcpServers": {SERVER: server(client, setup)}})
    if setup.has_hooks:
        version = {"version": 1} if client == "copilot" else {}
        plugin["hooks/hooks.json"] = written(version | {"hooks": hooks(client, setup)})
    return files | {f"plugins/telex/{path}": text for path, text in plugin.items()}


def extension(client: str, setup: Setup) -> dict[str, str]:
    """An extension for Gemini CLI or Qwen Code: text by path.

    It has no `plugin.json`: Qwen Code would read the folder as an Agent Plugin and leave out its server and hooks.
    """
    manifest = _manifest(setup) | {"mcpServers": {SERVER: server(client, setup)}, "contextFileName": "TELEX.md"}
    files = {f"{client}-extension.json": written(manifest), "TELEX.md": data("AGENTS.md")}
    files["skills/telex/SKILL.md"] = data("SKILL.md")
    if setup.has_hooks:
        files["hooks/hooks.json"] = written({"hooks": hooks(client, setup)})
    return files


def agent_plugin(setup: Setup) -> dict[str, str]:
    """The folder of an Agent Plugin 1.0, for every other client that reads those: text by path."""
    entry = {"type": "stdio", "command": setup.telex, "args": ["mcp", *_name_args("", setup)]}
    manifest = {"$schema": f"{SCHEMAS}/plugin.schema.json"} | _manifest(setup) | {"author": AUTHOR}
    return {
        "plugin.json": written(manifest | {"license": "Apache-2.0"}),
        "mcp.json": written({"$schema": f"{SCHEMAS}/mcp.schema.json", "mcpServers": {SERVER: entry}}),
        **_texts(),
    }


def opencode_plugin(setup: Setup) -> str:
    return data("opencode.js").replace('"{telex}"', json.dumps(setup.telex))


def _manifest(setup: Setup) -> dict[str, Any]:
    return {"name": SERVER, "version": setup.version, "description": DESCRIPTION}


def _texts() -> dict[str, str]:
    return {"skills/telex/SKILL.md": data("SKILL.md"), "AGENTS.md": data("AGENTS.md")}
