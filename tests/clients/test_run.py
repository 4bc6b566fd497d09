"""`telex run`, `telex watch`, `telex wake` and `telex team up`."""

import json
import os
import shlex
import shutil
import subprocess
import sys
import threading
import time
import tomllib
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from telex.connection import connect
from telex.model.message import WAKING
from telex.ports.store import Query
from telex.surfaces.clients import sessions
from telex.surfaces.clients.sessions import BUSY, IDLE, REACH_TEXT, Session
from telex.surfaces.clients.wakes import TMUX_KEYS
from tests.cli.cli_kit import COMMAND, Run, process, run
from tests.proofs import proves

__all__ = ["run"]
SHOW = """#!{python}
import json, os, sys
keys = ("TELEX_AGENT", "TELEX_ROLE", "TELEX_STORE", "TMUX_PANE")
with open(os.environ["SHOWN"] + "-" + os.environ.get("TELEX_AGENT", ""), "w") as file:
    json.dump({{"args": sys.argv[1:], "cwd": os.getcwd()}} | {{key: os.environ.get(key) for key in keys}}, file)
{then}
"""


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project in the working directory, without the variables of the shell."""
    for name in ("TELEX_AGENT", "TELEX_ROLE", "TELEX_STORE", "TMUX", "TMUX_PANE"):
        monkeypatch.delenv(name, raising=False)
    folder = tmp_path / "project"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder


@pytest.fixture
def clients(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Programs in place of claude, codex and gemini that write down how they were started."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for name, then in (("claude", ""), ("codex", ""), ("gemini", "input()")):
        program = folder / name
        program.write_text(SHOW.format(python=sys.executable, then=then))
        program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")
    monkeypatch.setenv("SHOWN", str(tmp_path / "shown"))
    return tmp_path


def shown(clients: Path, agent: str = "") -> dict[str, Any]:
    """How the client of an agent was started."""
    file, until = clients / f"shown-{agent}", time.monotonic() + 20.0
    while not (file.exists() and file.read_text()) and time.monotonic() < until:
        time.sleep(0.05)
    facts: dict[str, Any] = json.loads(file.read_text())
    return facts


# --- run --------------------------------------------------------------------------------------------------------------
@proves("run/client")
def test_a_client_is_started_as_an_agent(project: Path, clients: Path) -> None:
    ran = process("run", "claude", "--as", "ada", "--role", "qa", "--", "-p", "hello; $HOME", "--as")
    assert ran.code == 0, ran.err
    facts = shown(clients, "ada")
    assert (facts["args"], facts["cwd"]) == (["-p", "hello; $HOME", "--as"], str(project))
    assert (facts["TELEX_AGENT"], facts["TELEX_ROLE"]) == ("ada", "qa")
    with connect() as bus:
        assert bus.send("hello", sender="lead", to="ada").accepted
        assert [presence.member.role for presence in bus.roster() if presence.member.name == "ada"] == ["qa"]


@proves("run/client")
def test_a_client_without_a_name_is_started_with_that_of_the_shell_or_none(project: Path, clients: Path) -> None:
    assert process("run", "claude", TELEX_ROLE="lead").code == 0
    facts = shown(clients)
    assert (facts["TELEX_AGENT"], facts["TELEX_ROLE"], facts["args"]) == (None, None, [])
    assert process("run", "claude", TELEX_AGENT="bob").code == 0
    assert shown(clients, "bob")["TELEX_AGENT"] == "bob"


@proves("run/codex")
def test_codex_gets_the_name_by_an_override_too(project: Path, clients: Path) -> None:
    assert process("run", "codex", "--as", 'q"a', "--", "hello").code == 0
    override, value = shown(clients, 'q"a')["args"][:2]
    assert override == "-c"
    assert tomllib.loads(value) == {"shell_environment_policy": {"set": {"TELEX_AGENT": 'q"a'}}}
    assert shown(clients, 'q"a')["args"][2:] == ["hello"]


@proves("run/client")
def test_a_store_that_is_given_is_that_of_the_client(project: Path, clients: Path, tmp_path: Path) -> None:
    assert process("run", "claude", "--as", "ada", "--store", str(tmp_path / "other.db")).code == 0
    assert shown(clients, "ada")["TELEX_STORE"] == str(tmp_path / "other.db")


@proves("run/unknown")
def test_what_cannot_be_started_is_said(project: Path, clients: Path, run: Run) -> None:
    assert run("run", "clod").code == 64
    assert run("run", "qwen").code == 3
    assert run("run", "claude", "--role", "qa").code == 64
    assert run("run", "claude", "--as", "a:b").code == 2
    (project / "telex.toml").write_text('[team.members.lead]\nrole = "lead"\n')
    assert run("run", "claude", "--as", "ada").code == 2
    assert not list(clients.glob("shown*"))


def test_a_name_that_a_live_session_has_is_noticed(project: Path, clients: Path) -> None:
    with connect() as bus:
        bus.join("ada", role="qa")
    bind(project, "ada")
    ran = process("run", "claude", "--as", "ada")
    assert (ran.code, "ada-2" in ran.err) == (0, True)


# --- team up ----------------------------------------------------------------------------------------------------------
PROMPT = "Check it; 'all' of $HOME\nand \"more\""
MODEL = ("--model", "a b")
TEAM = """
session = "crew"

[agents.ada]
client = "gemini"
role = "qa"
prompt = "Check it; 'all' of $HOME\\nand \\"more\\""
args = ["--model", "a b"]

[agents.lead]
client = "claude"
folder = "sub"
"""


@proves("run/team-dry-run")
def test_a_dry_run_prints_the_commands(project: Path, run: Run) -> None:
    (project / "team.toml").write_text(TEAM)
    ran = run("team", "up", "--dry-run")
    assert ran.code == 0
    words = shlex.split(ran.out)
    assert (words.count("new-session"), words.count("split-window")) == (1, 1)
    first = words.index("run")
    assert words[first - 1 : first + 9] == ["telex", "run", "gemini", "--as", "ada", "--role", "qa", "--", *MODEL]
    assert words[first + 9 : first + 11] == ["--prompt-interactive", PROMPT]
    assert not (project / ".telex").exists()


@proves("run/team-invalid")
@pytest.mark.parametrize(
    "text, errors",
    [
        ("", ["agents"]),
        ("[agents.ada]\nclient = 'clod'\nrloe = 'qa'\n", ["agents.ada.client", "agents.ada.rloe"]),
        ("[agents.ada]\nclient = 'claude'\nprompt = '-x'\nargs = [1]\n", ["agents.ada.prompt", "agents.ada.args"]),
        ("session = 'a b'\n[agents.-a]\nclient = 'claude'\n", ["session", "agents.-a"]),
        ("agents = 3", ["agents"]),
        ("[agents.ada]\nclient = ['claude']\n", ["agents.ada.client"]),
        ("[agents", ["at end of document"]),
    ],
)
def test_an_invalid_team_file_is_refused(project: Path, run: Run, text: str, errors: list[str]) -> None:
    (project / "team.toml").write_text(text)
    ran = run("team", "up")
    assert ran.code == 64
    assert [error for error in errors if error not in ran.err] == []
    assert run("team", "up", "no-such.toml").code == 3


@pytest.fixture
def tmux(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A tmux server of this test's own."""
    if shutil.which("tmux") is None:
        warnings.warn("tmux is not installed: telex team up is not tested", stacklevel=1)
        pytest.skip("needs tmux")
    folder = tmp_path / "t"
    folder.mkdir()
    monkeypatch.setenv("TMUX_TMPDIR", str(folder))
    monkeypatch.setenv("TERM", "xterm")
    yield
    subprocess.run(["tmux", "kill-server"], capture_output=True, check=False)


@proves("run/team-panes")
def test_each_agent_of_a_team_gets_its_pane(project: Path, clients: Path, tmux: None, run: Run) -> None:
    (project / "sub").mkdir()
    (project / "team.toml").write_text(TEAM)
    ran = run("team", "up")
    assert ran.code == 0, ran.err
    ada, lead = shown(clients, "ada"), shown(clients, "lead")
    assert ada["args"] == [*MODEL, "--prompt-interactive", PROMPT]
    assert (ada["TELEX_ROLE"], ada["cwd"]) == ("qa", str(project))
    assert (lead["args"], lead["cwd"]) == ([], str(project / "sub"))
    assert len({ada["TMUX_PANE"], lead["TMUX_PANE"], None}) == 3
    panes = ["tmux", "list-panes", "-t", "=crew:", "-F", "#{pane_id} #{pane_title}"]
    titles = subprocess.run(panes, capture_output=True, text=True, check=True).stdout.split("\n")
    assert set(titles) >= {f"{ada['TMUX_PANE']} ada", f"{lead['TMUX_PANE']} lead"}
    with connect() as bus:
        roles = {presence.member.name: presence.member.role for presence in bus.roster()}
    assert (roles["ada"], roles["lead"]) == ("qa", "lead")
    assert run("team", "up").code == 1  # the session is there already


@proves("run/team-panes")
def test_tmux_runs_nothing_that_a_team_file_hides_in_names_folders_and_words(
    project: Path, clients: Path, tmux: None, run: Run
) -> None:
    folder = "#(touch $SHOWN-folder)"
    (project / folder).mkdir(parents=True)
    trap = str(clients / "trap")
    args = json.dumps(["a;", "run-shell", f"touch {trap}-args", ";"])
    text = f"[agents.'#(touch$IFS{trap}-name)']\nclient = 'claude'\n[agents.b]\nclient = 'claude'\n"
    (project / "team.toml").write_text(f"{text}folder = '{folder}'\nargs = {args}\nprompt = 'stop;'\n")
    ran = run("team", "up")
    assert ran.code == 0, ran.err
    started = shown(clients, "b")
    assert (started["args"], started["cwd"]) == ([*json.loads(args), "stop;"], str(project / folder))
    time.sleep(0.5)  # tmux runs commands in the background
    assert [file.name for file in clients.glob("trap*")] == []
    assert not (clients / "shown-folder").exists()


# --- watch ------------------------------------------------------------------------------------------------------------
class Watcher:
    """A process `telex watch`, and the lines that it has printed."""

    def __init__(self, *args: str) -> None:
        self.process = subprocess.Popen([*COMMAND, "watch", *args], stdout=subprocess.PIPE, text=True)
        self.lines: list[str] = []
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        self.lines += iter(self.process.stdout.readline, "")

    def wait_for(self, words: str) -> None:
        until = time.monotonic() + 20.0
        while not any(words in line for line in self.lines) and time.monotonic() < until:
            time.sleep(0.02)
        assert any(words in line for line in self.lines), self.lines

    def end(self) -> int:
        self.process.terminate()
        self.process.wait(20.0)
        self._reader.join(20.0)
        assert self.process.stdout is not None
        self.process.stdout.close()
        return self.process.returncode


@proves("run/watch")
@pytest.mark.parametrize("as_json", [False, True], ids=["text", "json"])
def test_each_new_message_is_printed_and_stays(project: Path, as_json: bool) -> None:
    with connect() as bus:
        bus.join("ada", role="qa")
        bus.send("an old one", sender="lead", to="ada")
        watcher = Watcher("--as", "ada", *(["--json"] if as_json else []))
        try:
            for number in range(1000):  # it prints what comes after its start, whenever that is
                bus.send(f"start {number}", sender="lead", to="ada")
                time.sleep(0.05)
                if watcher.lines:
                    break
            bus.send("to another", sender="lead", to="dev")
            bus.send("first\nsecond \x1b[31m", sender="lead", to="ada", id="m-1")
            bus.send("to a role", sender="lead", to="role:qa", id="m-2")
            bus.send("to all", sender="lead", to="*", id="m-3")
            watcher.wait_for("m-3")
        finally:
            watcher.end()
        lines = watcher.lines[-3:]
        assert not any("an old one" in line or "to another" in line for line in watcher.lines)
        assert ["m-1" in lines[0], "m-2" in lines[1], "m-3" in lines[2]] == [True] * 3
        assert "\x1b" not in "".join(lines)
        if as_json:
            assert [json.loads(line)["inbox"] for line in lines] == ["ada", "role:qa", "ada"]
        else:
            assert lines[0].startswith("m-1 plain from lead | first second")
        assert {delivery.state for delivery, _ in bus.inbox("ada")} == {"stored"}


@proves("run/watch")
def test_a_watcher_joins_nobody(project: Path) -> None:
    with connect() as bus:
        bus.send("hello", sender="dev", to="lead")
        watcher = Watcher("--as", "zoe")
        time.sleep(1.0)
        watcher.end()
        assert "zoe" not in [presence.member.name for presence in bus.roster()]


# --- wake -------------------------------------------------------------------------------------------------------------
def bind(project: Path, agent: str, **more: Any) -> Session:
    given: dict[str, Any] = {"pid": os.getpid(), "started_at": time.time(), "seen_at": time.time(), "state": IDLE}
    session = Session("gemini", "s-1", agent)._replace(**given | more)
    sessions.save(str(project / ".telex" / "sessions"), session)
    return session


@proves("wake/by-hand")
def test_an_agent_is_woken_by_hand(project: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    keys: list[str] = []
    typed = TMUX_KEYS._replace(deliver=lambda session, text: keys.append(text.keys))
    monkeypatch.setattr("telex.surfaces.clients.wakes.WAYS", (typed,))
    assert run("wake", "dev").code == 3  # no store
    with connect() as bus:
        bus.join("dev", role="dev")
        assert run("wake", "dev", "--json").answer["stage"] == "none"
        bus.send("hello", sender="lead", to="dev")
        assert run("wake", "dev").code == 3  # no session
        bind(project, "dev")
        assert run("wake", "dev").code == 4  # no way
        bind(project, "dev", pane="%1", state=BUSY)
        assert (run("wake", "dev").code, run("wake", "dev", "--force").code, keys) == (4, 4, [])
        bind(project, "dev", pane="%1")
        ran = run("wake", "dev", "--json")
        assert (ran.code, ran.answer["way"], ran.answer["unread"], len(keys)) == (0, "tmux-keys", 1, 1)
        assert run("wake", "dev").code == 4  # it has not looked yet
        assert (run("wake", "dev", "--force").code, len(keys)) == (0, 2)
        bus.ack(bus.receive("dev")[0].token, agent="dev")
        assert (run("wake", "dev", "--force").code, len(keys)) == (0, 2)
        agents = {event.agent for event, _ in bus.events(Query(kinds=WAKING))}
        assert agents == {"human"}


@proves("wake/by-hand")
def test_a_way_that_fails_is_said(project: Path, run: Run) -> None:
    with connect() as bus:
        bus.join("dev", role="dev")
        bus.send("hello", sender="lead", to="dev")
        bind(project, "dev", pane="%1", tmux="/no/such/socket,1,0")
        ran = run("wake", "dev", "--json")
        assert (ran.code, ran.answer["stage"], len(ran.answer["failures"])) == (1, "due", 1)


@proves("wake/hook")
def test_a_background_hook_ends_with_the_text_of_a_wake(project: Path) -> None:
    with connect() as bus:
        bus.join("dev", role="dev")
        payload = {"session_id": "s-1", "cwd": str(project), "hook_event_name": "wake"}
        hook = subprocess.Popen(
            [*COMMAND, "hook", "claude", "wake"], stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        assert hook.stdin is not None
        hook.stdin.write(json.dumps(payload))
        hook.stdin.close()
        hook.stdin = None
        time.sleep(0.5)
        bind(project, "dev", client="claude")  # by another hook of the same event, which may be later
        bus.send("hello", sender="lead", to="dev", id="m-1")
        _, text = hook.communicate(timeout=30)
        assert (hook.returncode, "m-1" in text) == (2, True)
        assert [event.kind for event, _ in bus.events(Query(kinds=WAKING))] == ["wake-due", "wake-delivered"]


# --- reach ------------------------------------------------------------------------------------------------------------
@proves("wake/reach")
@pytest.mark.parametrize(
    "more, way",
    [
        ({"state": BUSY}, "mid-turn"),
        ({"state": IDLE, "pane": "%1"}, "idle wake"),
        ({"state": IDLE}, "only when asked"),
        ({"state": "ended"}, None),
    ],
)
def test_a_sender_learns_how_its_recipient_can_be_reached(
    project: Path, run: Run, more: dict[str, Any], way: str | None
) -> None:
    (project / "note.txt").write_text("hello")
    with connect() as bus:
        bus.join("dev", role="dev")
    assert "reach" not in run("send", "--as", "lead", "--to", "dev", "note.txt", "--json").answer
    bind(project, "dev", **more)
    receipt = run("send", "--as", "lead", "--to", "dev", "note.txt", "--json").answer
    assert receipt.get("reach") == ({"dev": way} if way else None)
    text = run("send", "--as", "lead", "--to", "dev", "note.txt").out
    assert text.rstrip().endswith("dev" if way is None else f"dev ({REACH_TEXT[way]})")


@proves("wake/reach")
def test_an_agent_learns_it_from_its_tool(project: Path) -> None:
    with connect() as bus:
        bus.join("dev", role="dev")
    bind(project, "dev", state=IDLE, pane="%1")
    params = {"name": "send", "arguments": {"message": "hello", "to": "dev"}}
    hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
    lines = [
        {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": params},
    ]
    server = subprocess.Popen(
        [*COMMAND, "mcp", "--as", "lead", "--structured"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    with server:
        assert server.stdin is not None
        assert server.stdout is not None
        server.stdin.write("".join(json.dumps(line) + "\n" for line in lines))
        server.stdin.flush()
        answers = [json.loads(server.stdout.readline()) for _ in range(2)]
    result = next(answer["result"] for answer in answers if answer["id"] == 2)
    assert result["structuredContent"]["reach"] == {"dev": "idle wake"}
    assert result["content"][0]["text"].endswith(f"dev ({REACH_TEXT['idle wake']})")
