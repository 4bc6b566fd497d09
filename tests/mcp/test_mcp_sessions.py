"""Which agent is `telex mcp`? Sessions of clients, their names and their folders."""

import json
import os
import socket
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from telex.connection import connect
from telex.surfaces.clients import processes, registration, sessions
from telex.surfaces.clients.registration import Origin
from telex.surfaces.clients.sessions import Session
from tests.mcp.test_mcp_process import Piped, piped
from tests.proofs import proves

# A process that starts another one and waits for it, as a client does.
CLIENT = (sys.executable, "-c", "import subprocess, sys; sys.exit(subprocess.call(sys.argv[1:]))")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    with connect(tmp_path / ".telex/telex.db") as bus:
        bus.join("lead", role="lead")
    return tmp_path


def bound(project: Path) -> list[Session]:
    return sessions.all_sessions(str(project / ".telex/sessions"))


def greeting(server: Piped, client: str = "claude-code") -> str:
    told: str = server.begin(client=client)["result"]["instructions"]
    return told


def until(condition: Callable[[], bool]) -> None:
    while not condition():
        time.sleep(0.05)


@contextmanager
def session(project: Path, *words: str, client: str = "claude-code", **environment: str) -> Iterator[tuple[Piped, str]]:
    """A server of a client of its own, and its instructions."""
    with piped(project, *words, client=CLIENT, **environment) as server:
        yield server, greeting(server, client)


@proves("mcp/process/same-name", "mcp/session/joins")
def test_a_second_live_session_of_a_name_gets_another_and_is_told(project: Path) -> None:
    with session(project, "--as", "dev") as (first, said), session(project, TELEX_AGENT="DEV") as (second, other):
        assert "You are dev. Tools" in said
        assert "You are dev-2. Tools" in other
        assert "dev is the name of another live session" in other
        assert "TELEX_AGENT=NAME" in other
        until(lambda: "dev-2 (agent) " in first.said("team"))
        first.said("send", message="Build it.", to="dev-2", id="n-1")
        assert "n-1: plain from dev " in second.said("wait")
    with session(project, TELEX_AGENT="dev") as (_, again):
        assert "You are dev. Tools" in again


@proves("mcp/session/file")
def test_a_session_file_has_the_process_and_the_socket_and_ends_with_it(project: Path) -> None:
    reached = {"CLAUDE_CODE_MESSAGING_SOCKET": "/tmp/s.sock", "CLAUDE_CODE_MESSAGING_TOKEN": "t-1", "TMUX_PANE": "%3"}
    with session(project, "--as", "dev", "--role", "dev", CLAUDE_CODE_SESSION_ID="s-1", **reached) as (server, _):
        [made] = bound(project)
        assert (made.client, made.id, made.agent, made.role, made.pid) == (
            "claude",
            "s-1",
            "dev",
            "dev",
            server.running.pid,
        )
        assert (made.socket, made.socket_token, made.pane) == ("/tmp/s.sock", "t-1", "%3")
        assert processes.is_process(made.mcp_pid)
        server.end()
    [left] = bound(project)
    assert left.mcp_pid == 0


@proves("mcp/session/hooks")
def test_a_session_that_a_hook_has_bound_gives_its_name_and_the_other_way_round(project: Path) -> None:
    folder = str(project / ".telex/sessions")
    own = Origin(pid=os.getpid())
    hooked = registration.bind(folder, "gemini", "g-1", now=1e10, origin=own._replace(wanted="anna"))
    with piped(project) as server:
        assert "You are anna. Tools" in greeting(server, "gemini-cli-mcp-client")
    assert [one.id for one in bound(project)] == [hooked.id]
    with piped(project) as server:
        assert "You are claude-1." in greeting(server)
        later = registration.bind(folder, "claude", "c-1", now=1e10, origin=own)
        assert later.agent == "claude-1"
        server.said("send", message="It is red.", to="lead", id="n-1")
        assert {one.id for one in bound(project)} == {"g-1", "c-1"}
    with connect(project / ".telex/telex.db") as bus:
        assert bus.why("n-1")[0].message.sender == "claude-1"


@proves("mcp/session/codex")
def test_a_codex_session_is_known_by_the_id_in_its_calls(project: Path) -> None:
    folder = str(project / ".telex/sessions")
    registration.bind(folder, "codex", "thread-7", now=1e10, origin=Origin(pid=1, wanted="backend"))
    with piped(project) as server:
        assert "You are codex-1." in greeting(server, "codex-mcp-client")
        for number, (meta, name) in enumerate([({}, "codex-1"), ({"sessionId": "thread-7"}, "backend")]):
            call = {"name": "send", "arguments": {"message": "It is red.", "to": "lead", "id": f"n-{number}"}}
            answer = server.ask("tools/call", _meta=meta, **call)["result"]["content"][0]["text"]
            assert ("You are backend." in answer) == (name == "backend")
            with connect(project / ".telex/telex.db") as bus:
                assert bus.why(f"n-{number}")[0].message.sender == name


@proves("mcp/session/codex")
def test_sessions_of_one_codex_daemon_have_names_of_their_own(project: Path) -> None:
    """All servers are its children, with the environment of its first session."""
    with piped(project, TELEX_AGENT="dev") as first, piped(project, TELEX_AGENT="dev") as second:
        for server in (first, second):
            assert "You are dev. Tools" in greeting(server, "codex-mcp-client")
        for number, server in ((1, first), (2, second), (3, first)):
            call = {"name": "send", "arguments": {"message": "It is red.", "to": "lead", "id": f"n-{number}"}}
            told = server.ask("tools/call", _meta={"sessionId": f"thread-{number % 2}"}, **call)["result"]
            assert ("You are dev-2. dev is the name of" in told["content"][0]["text"]) == (number == 2)
        with connect(project / ".telex/telex.db") as bus:
            assert [bus.why(f"n-{number}")[0].message.sender for number in (1, 2, 3)] == ["dev", "dev-2", "dev"]
        second.end()
        states = {one.id: one.state for one in bound(project)}
        assert (states["thread-0"], states["thread-1"] != "ended") == ("ended", True)


@proves("mcp/process/looking")
def test_a_name_makes_no_store_and_is_bound_with_the_first_message(tmp_path: Path) -> None:
    with piped(tmp_path) as server:
        assert "You are claude-1." in greeting(server)
        server.said("inbox")
        assert list(tmp_path.iterdir()) == []
        server.said("send", message="It is red.", to="lead")
        assert [one.agent for one in bound(tmp_path)] == ["claude-1"]


@proves("mcp/session/wakes")
def test_the_server_wakes_its_idle_session_without_a_hook(project: Path) -> None:
    path = project / "s.sock"
    (project / "telex.toml").write_text("[limits]\nwake_grace_seconds = 0\n")
    with socket.socket(socket.AF_UNIX) as messages:
        messages.bind(str(path))
        messages.listen()
        messages.settimeout(30)
        environment = {"CLAUDE_CODE_MESSAGING_SOCKET": str(path), "CLAUDE_CODE_MESSAGING_TOKEN": "t-1"}
        with session(project, "--as", "dev", **environment) as (server, _):
            with connect(project / ".telex/telex.db") as bus:
                bus.send("Build it.", sender="lead", to="dev", id="n-1")
            connection, _ = messages.accept()
            with connection, connection.makefile() as lines:
                auth, frame = (json.loads(next(lines)) for _ in range(2))
            assert auth["token"] == "t-1"
            assert "n-1 plain from lead | Build it." in frame["message"]["content"]
            assert "telex receive --as dev" in frame["message"]["content"]
            assert "n-1: " in server.said("wait")


# --- the folder of the project -------------------------------------------------------------------------------------


@pytest.fixture
def plugin(tmp_path: Path) -> Path:
    folder = tmp_path / "plugins" / "telex"
    (folder / ".claude-plugin").mkdir(parents=True)
    (folder / ".claude-plugin" / "plugin.json").write_text("{}")
    return folder


def stored(server: Piped) -> str:
    return server.said("send", message="It is red.", to="lead")


@pytest.mark.parametrize("variable", ["CLAUDE_PROJECT_DIR", "PWD"])
@proves("mcp/session/plugin-folder")
def test_a_server_in_a_plugin_s_folder_uses_the_project_of_its_client(
    variable: str, plugin: Path, tmp_path: Path
) -> None:
    project = tmp_path / "project"
    project.mkdir()
    environment = {"PWD": str(plugin)} | {variable: str(project)}
    with piped(plugin, client=(), **environment) as server:
        server.begin()
        assert stored(server).startswith("stored: ")
    assert (project / ".telex/telex.db").exists()
    assert not (plugin / ".telex").exists()


@proves("mcp/session/plugin-folder")
def test_a_server_in_a_plugin_s_folder_asks_for_the_roots_or_says_that_it_knows_no_project(
    plugin: Path, tmp_path: Path
) -> None:
    project = tmp_path / "a project"
    project.mkdir()
    away = ("sh", "-c", f"cd '{plugin}' && \"$@\"; :", "sh")  # the client's own folder tells nothing
    with piped(plugin, client=away, PWD=str(plugin)) as server:
        server.begin(roots={})
        asked = server.hear()
        assert asked["method"] == "roots/list"
        assert "does not know the project" in stored(server)
        roots: dict[str, Any] = {"roots": [{"uri": project.as_uri()}]}
        assert server.running.stdin is not None
        server.running.stdin.write(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": roots}) + "\n")
        assert stored(server).startswith("stored: ")
    assert (project / ".telex/telex.db").exists()
    assert not (plugin / ".telex").exists()
