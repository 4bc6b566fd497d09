"""Start of clients as agents of a team: the process of `telex run`, and the tmux panes of `telex team up`."""

import os
import re
import shutil
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from telex.model.named_tuple import NamedTuple
from telex.surfaces.clients.sessions import AGENT, ROLE
from telex.surfaces.clients.table import CLIENTS

AGENTS_MAX = 50
FILE_BYTES_MAX = 1_048_576
TMUX_SESSION = "telex"
# Words before the first prompt of an interactive session.
PROMPT_WORDS: dict[str, tuple[str, ...]] = {
    "claude": (),
    "codex": (),
    "gemini": ("--prompt-interactive",),
    "qwen": ("--prompt-interactive",),
    "copilot": ("--interactive",),
    "opencode": ("--prompt",),
}
SESSION_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}\Z")


class AgentSpec(NamedTuple):
    """One agent of a team file."""

    name: str
    client: str
    role: str | None = None
    prompt: str | None = None
    args: tuple[str, ...] = ()
    folder: str = ""  # from the folder of the file; empty: that folder


class TeamSpec(NamedTuple):
    session: str  # name of the tmux session
    agents: tuple[AgentSpec, ...]


class TeamFileError(Exception):
    """The file is invalid; a line for each error."""


# --- one client -------------------------------------------------------------------------------------------------------
def executable_of(client: str) -> str | None:
    """Path of the client's program; None: it is not installed."""
    return shutil.which(CLIENTS[client].executable)


def environment_of(environ: Mapping[str, str], name: str | None, role: str | None) -> dict[str, str]:
    """The environment of a client. A name or role of the shell is not that of this agent."""
    own = {AGENT: name, ROLE: role}
    kept = {key: value for key, value in environ.items() if key not in own or (key == AGENT and name is None)}
    return kept | {key: value for key, value in own.items() if value}


def client_words(client: str, name: str | None) -> list[str]:
    """Options of the client before those that were given.

    All sessions of Codex share a daemon with the environment of the first one, unless a session has an override. This
    one also gives the name to the commands that Codex runs.
    """
    if client != "codex" or not name:
        return []
    from telex.surfaces.clients.json_text import dump  # a JSON string is a TOML string

    return ["-c", f"shell_environment_policy.set.{AGENT}={dump(name)}"]


def run_words(agent: AgentSpec) -> list[str]:
    """Arguments of `telex` that start the agent."""
    role = ["--role", agent.role] if agent.role else []
    prompt = [*PROMPT_WORDS[agent.client], agent.prompt] if agent.prompt else []
    rest = [*agent.args, *prompt]
    return ["run", agent.client, "--as", agent.name, *role, *(["--", *rest] if rest else [])]


def telex_words() -> list[str]:
    """The command of this installation, for a pane with another PATH."""
    beside = os.path.join(os.path.dirname(sys.executable), "telex")
    return [beside] if os.access(beside, os.X_OK) else [sys.executable, "-m", "telex"]


# --- a team -----------------------------------------------------------------------------------------------------------
def tmux_commands(team: TeamSpec, folder: str, telex: Sequence[str]) -> list[list[str]]:
    """Commands that open a pane for each agent, with its name as title. The newest pane is the active one."""
    commands: list[list[str]] = []
    window = f"={team.session}:"  # exactly this session, and not one whose name begins like it
    for agent in team.agents:
        where = os.path.normpath(os.path.join(folder, agent.folder))
        words = ["-c", _literal(where), "--", *map(_argument, [*telex, *run_words(agent)])]
        if not commands:
            commands.append(["tmux", "new-session", "-d", "-s", team.session, "-n", "team", *words])
            commands.append(["tmux", "set-option", "-w", "-t", window, "remain-on-exit", "on"])
            commands.append(["tmux", "set-option", "-w", "-t", window, "pane-border-status", "top"])
        else:
            commands.append(["tmux", "split-window", "-t", window, *words])
        commands.append(["tmux", "select-pane", "-t", window, "-T", _literal(agent.name)])
        commands.append(["tmux", "select-layout", "-t", window, "tiled"])
    return commands


def _argument(word: str) -> str:
    """A word for tmux, which takes `;` at the end of an argument for the end of a command."""
    return f"{word[:-1]}\\;" if word.endswith(";") else word


def _literal(text: str) -> str:
    """A folder or title for tmux, which expands formats in them: `#(command)` runs a command."""
    return _argument(text.replace("#", "##"))


def read_team(path: str) -> TeamSpec:
    """Parse a team file.

    Raises:
        TeamFileError: it is invalid.
        OSError: it cannot be read.
    """
    import tomllib

    with open(path, "rb") as file:
        raw = file.read(FILE_BYTES_MAX + 1)
    if len(raw) > FILE_BYTES_MAX:
        raise TeamFileError(f"more than {FILE_BYTES_MAX:,} bytes")
    try:
        tree = tomllib.loads(raw.decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise TeamFileError(str(error)) from error
    errors: list[str] = []
    team = _team(tree, errors)
    if errors:
        raise TeamFileError("\n".join(errors))
    return team


def _team(tree: dict[str, Any], errors: list[str]) -> TeamSpec:
    _refuse_unknown(tree, ("session", "agents"), "", errors)
    session = tree.get("session", TMUX_SESSION)
    if not isinstance(session, str) or not SESSION_NAME.match(session):
        errors.append("session: letters, digits, - and _ only")
        session = TMUX_SESSION
    tables = tree.get("agents")
    if not isinstance(tables, dict) or not tables:
        errors.append('agents: give at least one, such as [agents.lead] with client = "claude"')
        tables = {}
    if len(tables) > AGENTS_MAX:
        errors.append(f"agents: at most {AGENTS_MAX}")
    return TeamSpec(session, tuple(_agent(name, table, errors) for name, table in tables.items()))


def _agent(name: str, table: Any, errors: list[str]) -> AgentSpec:
    where = f"agents.{name}"
    if not isinstance(table, dict):
        errors.append(f"{where}: a table")
        return AgentSpec(name, "claude")
    _refuse_unknown(table, AgentSpec._fields[1:], f"{where}.", errors)
    if not name or name.startswith("-") or not name.isprintable():
        errors.append(f"{where}: no name of an agent")
    client = table.get("client")
    if not isinstance(client, str) or client not in CLIENTS:
        errors.append(f"{where}.client: one of {', '.join(CLIENTS)}")
    texts = {key: table[key] for key in ("role", "prompt", "folder") if key in table}
    errors.extend(f"{where}.{key}: a text" for key, text in texts.items() if not isinstance(text, str) or "\0" in text)
    if str(texts.get("prompt", "")).startswith("-"):
        errors.append(f"{where}.prompt: must not start with -, which the client takes for an option")
    args = table.get("args", [])
    if not isinstance(args, list) or not all(isinstance(word, str) and "\0" not in word for word in args):
        errors.append(f"{where}.args: a list of texts")
        args = []
    return AgentSpec(name, str(client), args=tuple(args), **texts)


def _refuse_unknown(table: Mapping[str, Any], known: Iterable[str], where: str, errors: list[str]) -> None:
    names = tuple(known)
    errors.extend(f"{where}{key}: unknown; there are {', '.join(names)}" for key in table if key not in names)
