"""`telex doctor CLIENT`, and the block for AGENTS.md."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from telex.surfaces.clients import sessions
from telex.surfaces.clients.sessions import Session
from telex.surfaces.clients.table import CLIENTS
from tests.cli.cli_kit import Run
from tests.cli.cli_kit import run as run
from tests.clients.test_init import Machine, write
from tests.clients.test_init import machine as machine
from tests.proofs import proves

PAYLOADS = json.loads((Path(sessions.__file__).with_name("plugin") / "payloads.json").read_text())


def checks(machine: Machine, client: str) -> tuple[int, dict[str, list[dict[str, Any]]]]:
    ran = machine.run("doctor", client, "--json")
    found: dict[str, list[dict[str, Any]]] = {}
    for check in ran.answers:
        found.setdefault(check["name"], []).append(check)
    return ran.code, found


@proves("init/doctor")
@pytest.mark.parametrize("client", ["claude", "opencode"])
def test_doctor_starts_the_server_and_replays_every_hook(machine: Machine, client: str) -> None:
    machine.add(client)
    machine.init(client)
    before = machine.files()
    code, found = checks(machine, client)
    assert code == 0, found
    assert "9.8.7" in found["client"][0]["say"]
    assert all(entry["ok"] for entry in found["entries"])
    for method in ("initialize", "server/discover"):
        assert found[f"mcp {method}"][0]["ok"] is not False
    for event in PAYLOADS[client]:
        assert found[f"hook {event}"][0]["ok"] is True
        assert " ms, " in found[f"hook {event}"][0]["say"]
    start = CLIENTS[client].event_of("start")
    assert "dev" in found[f"hook {start}"][0]["say"]  # tells of the message in the temporary project
    assert machine.files() == before


@proves("init/doctor")
def test_recorded_payloads_cover_the_events_that_are_installed() -> None:
    for name, client in CLIENTS.items():
        assert set(PAYLOADS[name]) <= set(client.events)
        assert {client.events[event] for event in PAYLOADS[name]} >= {"start", "prompt", "before_tool", "stop"}


@proves("init/doctor")
def test_doctor_reports_what_is_missing_or_there_twice(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("telex.surfaces.clients.diagnosis._replay", lambda *_: [])
    code, found = checks(machine, "codex")
    assert code == 1
    assert found["client"][0]["ok"] is False
    assert found["entries"][0]["ok"] is False
    machine.add("codex")
    machine.init("codex")
    machine.init("codex", "--scope", "project")
    code, found = checks(machine, "codex")
    assert (code, found["trust"][0]["ok"]) == (1, False)
    twice = [entry for entry in found["entries"] if entry["ok"] is None]
    assert len(twice) == 2
    config = machine.home / ".codex/config.toml"
    state = '\n[hooks.state."telex@telex:hooks/hooks.json:stop:0:0"]\ntrusted_hash = "sha256:0"\n'
    write(config, config.read_text() + state)
    machine.init("codex", "--scope", "project", "--uninstall")
    code, found = checks(machine, "codex")
    assert (code, found["trust"][0]["ok"]) == (0, True)
    assert all(entry["ok"] for entry in found["entries"])


@proves("init/doctor-foreign")
@pytest.mark.parametrize("path", [".mcp.json", ".codex/config.toml", ".gemini/settings.json", "opencode.json"])
def test_doctor_runs_no_program_that_a_repository_names(machine: Machine, path: str) -> None:
    program, trace = machine.project / "telex", machine.project / "trace"
    write(program, f"#!/bin/sh\ntouch '{trace}'\n")
    program.chmod(0o755)
    server: dict[str, Any] = {"command": str(program), "args": ["mcp"]}
    tree = {"mcpServers": {"telex": server}}
    if path == "opencode.json":
        tree = {"mcp": {"telex": {"type": "local", "command": [str(program), "mcp"]}}}
    toml = f"[mcp_servers.telex]\ncommand = '{program}'\nargs = ['mcp']\n"
    write(machine.project / path, toml if path.endswith(".toml") else json.dumps(tree))
    client = {".mcp.json": "claude", "opencode.json": "opencode"}.get(path, path[1:].partition("/")[0])
    _, found = checks(machine, client)
    assert any(str(program) in entry["say"] and entry["ok"] is None for entry in found["entries"])
    assert not trace.exists()


@proves("init/doctor")
def test_doctor_says_who_and_where_one_is(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("telex.surfaces.clients.diagnosis.check_client", lambda *_: [])
    monkeypatch.setenv("TELEX_AGENT", "ada")
    folder = sessions.folder_of(str(machine.project / ".telex/telex.db"))
    os.makedirs(os.path.dirname(folder))
    (machine.project / "sub").mkdir()
    monkeypatch.chdir(machine.project / "sub")
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as other:
        for name in ("ada", "bob"):
            sessions.save(folder, Session("gemini", name, name, pid=other.pid, started_at=4e9, seen_at=4e9))
        sessions.save(folder, Session("gemini", "c", "cleo", pid=other.pid, started_at=4e9, state="ended"))
        _, found = checks(machine, "claude")
        assert other.stdin is not None
        other.stdin.close()
    assert found["name"][0]["say"].startswith("ada")
    assert [str(machine.project / ".telex") in check["say"] for check in found["store"]] == [True]
    live = {check["say"].partition(":")[0]: check["ok"] for check in found["session"]}
    assert live == {"ada": None, "bob": True}  # a twin, and another agent
    assert machine.run("doctor", "clod").code == 3


@proves("init/agents-md")
def test_a_block_for_agents_md(run: Run) -> None:
    block = run("prompt", "--format", "agents-md")
    assert (block.code, block.out.startswith("<!-- telex: begin -->\n")) == (0, True)
    typed = run("prompt", "--format", "agents-md", "--role", "dev", "--dialect", "vbw-handoff")
    assert "dev_blocker" in typed.out
    assert typed.out.endswith("<!-- telex: end -->\n")
    assert run("prompt").code == 64
