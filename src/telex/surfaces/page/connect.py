"""How to connect coding tools to this hub: commands for each tool and what they do, from the table of clients."""

from typing import Any

from telex.surfaces.clients.table import CLIENTS, Client

TITLES = {
    "claude": "Claude Code",
    "codex": "Codex",
    "gemini": "Gemini CLI",
    "opencode": "opencode",
    "qwen": "Qwen Code",
    "copilot": "Copilot CLI",
}
INSTALLED = {  # entries that `telex init` adds
    "claude": "adds a plugin: MCP server, hooks and a skill",
    "codex": "adds a plugin: MCP server, hooks and a skill",
    "gemini": "adds an extension: MCP server, hooks and a skill",
    "opencode": "adds a plugin file and an MCP server",
    "qwen": "adds an extension: MCP server, hooks and a skill",
    "copilot": "adds a plugin and an MCP server",
}
STEPS = {  # steps that a person does once
    "codex": "trust the hooks once, when Codex asks at its next start",
    "gemini": "trust the folder of the extension, and each project",
    "copilot": "start it with --allow-tool telex",
}
WAKES = {
    "claude": "wakes an idle session through its messaging socket",
    "codex": "wakes an idle session through its control socket",
    "opencode": "wakes an idle session through the plugin",
}
WAKES_OTHERS = "wakes an idle session in a tmux pane by typing into it"
Facts = dict[str, Any]


def connect_facts(*, hub: str, team: str | None, agents: int) -> Facts:
    return {
        "hub": hub,
        "team": team,
        "agents": agents,
        "clients": [*(_client_facts(name, CLIENTS[name]) for name in TITLES), _program_facts()],
        "team_file": TEAM_FILE,
    }


TEAM_FILE = """\
[agents.lead]
client = "claude"
prompt = "Plan the release with dev."

[agents.dev]
client = "codex"

[agents.qa]
client = "gemini"
"""


def _client_facts(name: str, client: Client) -> Facts:
    guarded = [*client.writes, *client.patches]
    does = [
        INSTALLED[name],
        "shows unread messages at the start of a turn",
        f"denies writes outside of the contract: {', '.join(dict.fromkeys(guarded))}",
        WAKES.get(name, WAKES_OTHERS),
    ]
    return {
        "name": name,
        "title": TITLES[name],
        "init": f"telex init {name}",
        "run": f"telex run {name} --as dev",
        "does": does,
        "step": STEPS.get(name),
        "undo": f"telex init {name} --uninstall",
    }


def _program_facts() -> Facts:
    return {
        "name": "program",
        "title": "Python, HTTP",
        "init": "uv tool install telex",
        "run": 'telex send --as dev --to lead "Hello"\ntelex receive --as lead --wait 60',
        "does": [
            "connects any program that can start a process or send HTTP",
            "offers a Python API: telex.connect()",
            "describes every HTTP route in /openapi.json",
        ],
        "step": None,
        "undo": "uv tool uninstall telex",
    }
