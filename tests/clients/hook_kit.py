"""What the tests of hooks share: recorded payloads of real clients, a project, and a way to run a hook."""

import io
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import telex
from telex.client import SyncBus
from telex.config import Settings
from telex.surfaces.cli.main import main
from tests.cli.cli_kit import COMMAND, Ran
from tests.work.contract_team import contract

FIXTURES = Path(__file__).parent / "fixtures"
RECORDED = "/home/user/project"  # the project in the recorded payloads
QUICK = Settings(durable=False)
SESSION = "00000000-0000-4000-8000-000000000001"


class Recorded(NamedTuple):
    """A payload that a real client gave to a hook."""

    client: str
    name: str
    event: str
    env: dict[str, str]
    payload: dict[str, Any]


@cache
def recorded() -> tuple[Recorded, ...]:
    return tuple(
        Recorded(
            file.stem.removesuffix("-team"),
            f"{file.stem}/{name}",
            one["event"],
            one["env"],
            {"cwd": RECORDED} | one["stdin"],  # the plugin for opencode adds the folder
        )
        for file in sorted(FIXTURES.glob("*.json"))
        for name, one in json.loads(file.read_text(encoding="utf-8")).items()
    )


def payload_of(name: str) -> Recorded:
    return next(one for one in recorded() if one.name == name)


class Project(NamedTuple):
    """A folder in which hooks run, with or without a store."""

    root: Path

    @property
    def store(self) -> Path:
        return self.root / ".telex" / "telex.db"

    @property
    def sessions(self) -> str:
        return str(self.root / ".telex" / "sessions")

    @contextmanager
    def bus(self) -> Iterator[SyncBus]:
        with telex.connect(self.store, settings=QUICK) as bus:
            yield bus

    def mail(self, text: str = "Please look at the build.", to: str = "dev", sender: str = "lead") -> str:
        with self.bus() as bus:
            return bus.send(text, sender=sender, to=to).id

    def log(self) -> str:
        file = self.root / ".telex" / "hook.log"
        return file.read_text() if file.exists() else ""

    def stdin(self, payload: Any) -> bytes:
        return json.dumps(payload).replace(RECORDED, str(self.root)).encode()


@pytest.fixture(scope="session")
def filled_store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with a contract that lets dev write src/auth, which dev has acked."""
    project = Project(tmp_path_factory.mktemp("filled"))
    project.store.parent.mkdir(mode=0o700)
    with project.bus() as bus:
        tree = contract(allowed_paths=["src/auth/", "note.txt"])
        receipt = bus.send(tree, sender="lead", to="dev")
        assert receipt.accepted, receipt.findings
        [lease] = bus.receive("dev")
        bus.ack(lease.token, agent="dev")
    return project.store.parent


@pytest.fixture
def empty(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    """A project without a store."""
    for name in os.environ:
        if name.startswith(("TELEX_", "CLAUDE", "GEMINI", "QWEN", "TMUX")) and name != "TELEX_PROFILE":
            monkeypatch.delenv(name)
    (tmp_path / "project" / ".git").mkdir(parents=True)
    monkeypatch.chdir(tmp_path)
    return Project(tmp_path / "project")


@pytest.fixture
def project(empty: Project, filled_store: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    """A project in which dev works under a contract."""
    shutil.copytree(filled_store, empty.store.parent)
    monkeypatch.setenv("TELEX_AGENT", "dev")
    return empty


Hook = Callable[..., Ran]


@pytest.fixture
def hook(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Hook:
    """`hook(project, "claude", "Stop", payload)` in this process."""

    def run(project: Project, client: str, event: str, payload: Any, *options: str, **env: str) -> Ran:
        raw = payload if isinstance(payload, bytes) else project.stdin(payload)
        with monkeypatch.context() as patch:
            for name, value in env.items():
                patch.setenv(name, value)
            patch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(raw)))
            code = main(["hook", client, event, *options])
        return Ran(code, *capsys.readouterr())

    return run


_PATIENT = """import sys
from telex.surfaces.cli.main import main
from telex.surfaces.clients import hook_process
hook_process.DEADLINE_SECONDS = 30.0
sys.exit(main())"""


def hook_process(project: Project, client: str, event: str, payload: Any, **env: str) -> Ran:
    """The same as a process of its own, which has time enough on a busy machine."""
    return _process([sys.executable, "-c", _PATIENT], project, [client, event], payload, **env)


def hook_process_with_deadline(project: Project, client: str, event: str, payload: Any) -> Ran:
    return _process(COMMAND, project, [client, event], payload)


def _process(command: list[str], project: Project, hook: list[str], payload: Any, **env: str) -> Ran:
    raw = payload if isinstance(payload, bytes) else project.stdin(payload)
    ran = subprocess.run(
        [*command, "hook", *hook], input=raw, capture_output=True, env=os.environ | env, timeout=60, check=False
    )
    return Ran(ran.returncode, ran.stdout.decode(), ran.stderr.decode())


def text_of(ran: Ran) -> str:
    """The text of an answer, in whatever form."""
    if not ran.out:
        return ran.err
    tree = ran.answer
    tree = tree.get("hookSpecificOutput", tree)
    return str(next(tree[name] for name in ("additionalContext", "permissionDecisionReason", "reason") if name in tree))


def form_of(ran: Ran) -> Any:
    """The answer with every text replaced, to compare its form."""

    def plain(value: Any, name: str = "") -> Any:
        if isinstance(value, dict):
            return {key: plain(item, key) for key, item in value.items()}
        return "…" if name in ("additionalContext", "permissionDecisionReason", "reason") else value

    return plain(ran.answer) if ran.out else None


# --- payloads ---------------------------------------------------------------------------------------------------------
BASE = {"session_id": SESSION, "cwd": RECORDED}
PATCH = "*** Begin Patch\n*** Add File: {}\n+x = 1\n*** End Patch\n"
EVENTS = ["SessionStart", "UserPromptSubmit", "PreToolUse", "PostToolUse", "Stop", "SessionEnd"]


def tool(name: str, **given: Any) -> dict[str, Any]:
    return BASE | {"tool_name": name, "tool_input": given}


def write(path: str) -> dict[str, Any]:
    return tool("Write", file_path=path, content="x")


def decision_of(ran: Ran) -> str | None:
    assert ran.code == 0
    if not ran.out:
        return None
    tree = ran.answer
    tree = tree.get("hookSpecificOutput", tree)
    return str(tree.get("permissionDecision") or tree["decision"])
