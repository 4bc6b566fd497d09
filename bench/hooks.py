"""Cold start of `telex hook`, as a coding tool runs it for every prompt, tool call and stop."""

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from copy import deepcopy
from pathlib import Path
from typing import Any

from bench.cold import TELEX
from bench.measure import UNPROMISED, Line, micro, process_seconds, ratio
from bench.peers import CACHE
from telex.dialects.builtin.vbw_typed import PLAN_CONTRACT, VBW_TYPED
from telex.dialects.write import write

ROUNDS = 41
TURNS = 5
WRITES = 10  # files in one turn
IDLE_MAX, BUSY_MAX = 1.6, 4.5  # times the start of Python
TURN_SECONDS_MAX = 1.0
PYTHON = [sys.executable, "-I", "-c", "pass"]


class HookInput:
    """One call of a hook: its command line and its payload."""

    def __init__(self, event: str, folder: Path, **fields: Any) -> None:
        self.command = [TELEX, "hook", "claude", event]
        self.raw = json.dumps({"session_id": "bench", "cwd": str(folder), **fields}).encode()

    def run(self) -> bytes:
        return subprocess.run(self.command, input=self.raw, capture_output=True, check=True, env=_environment()).stdout


def _environment() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}


def lines() -> list[Line]:
    CACHE.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=CACHE) as folder, _as_dev():
        project, outside, plain = (Path(folder, name) for name in ("project", "outside", "plain"))
        for path in (project, outside, plain):
            (path / ".git").mkdir(parents=True)
        _send(project, write(VBW_TYPED, _contract()).encode(), b"The build is red.", b"It is green again.")
        _send(plain, b"The build is red.")
        return [*_cpu(project, outside, plain), *_turn(project)]


def _cpu(project: Path, outside: Path, plain: Path) -> list[Line]:
    write_inside = _write(project / "src/module3/file.py")
    idle = {
        "in a folder without a store": HookInput("UserPromptSubmit", outside, prompt="go"),
        "before a shell command": HookInput("PreToolUse", project, tool_name="Bash", tool_input={"command": "ls"}),
        "after a tool, the store unchanged": HookInput("PostToolUse", project, **write_inside),
        "before a write, no contract in the store": HookInput("PreToolUse", plain, **_write(plain / "src/file.py")),
    }
    busy = {
        "guard of a write that is allowed": HookInput("PreToolUse", project, **write_inside),
        "guard of a write that is denied": HookInput("PreToolUse", project, **_write(project / "mail/file.py")),
        "unread mail at a prompt": HookInput("UserPromptSubmit", project, prompt="go"),
    }
    for call in (*busy.values(), *idle.values()):  # once for the disk cache, the compiled modules and the session
        call.run()
    assert b"deny" in busy["guard of a write that is denied"].run()
    used: dict[str, list[float]] = {name: [] for name in ("python", *idle, *busy)}
    for _ in range(ROUNDS):
        used["python"].append(process_seconds(PYTHON))
        for name, call in (*idle.items(), *busy.items()):
            if call is busy["unread mail at a prompt"]:
                _forget_announcements(project)
            used[name].append(process_seconds(call.command, call.raw))
    return [_line(name, used, IDLE_MAX if name in idle else BUSY_MAX) for name in (*idle, *busy)]


def _line(name: str, used: dict[str, list[float]], most: float) -> Line:
    start, ours = ratio(used, name, "python"), micro(statistics.median(used[name]))
    what = f"telex hook, cold: {name} (CPU time)"
    return Line(what, ours, "python -I -c pass", start, f"at most {most} ×", start <= most)


def _turn(project: Path) -> list[Line]:
    """What the hooks of one turn add to it, one after the other. Those after a tool run in the background."""
    written = _write(project / "src/module3/file.py")
    before = [HookInput("PreToolUse", project, **written) for _ in range(WRITES)]
    calls = [HookInput("UserPromptSubmit", project, prompt="go"), *before, HookInput("Stop", project)]
    used: dict[str, list[float]] = {"hooks": [], "python": []}
    waited: dict[str, list[float]] = {"hooks": [], "python": []}
    for _ in range(TURNS):
        for name in used:
            began = time.perf_counter()
            runs = [process_seconds(*((call.command, call.raw) if name == "hooks" else (PYTHON,))) for call in calls]
            waited[name].append(time.perf_counter() - began)
            used[name].append(sum(runs))
    what, against = f"hooks of one turn with {WRITES} file writes under a contract", f"{len(calls)} × python -I -c pass"
    middle = statistics.median(used["hooks"])
    cpu = ratio(used, "hooks", "python")
    elapsed = micro(statistics.median(waited["hooks"]))
    return [
        Line(f"{what} (CPU time)", micro(middle), against, cpu, "less than 1 s", middle < TURN_SECONDS_MAX),
        # By the clock it depends on what else the machine does, so it is shown and not promised.
        Line(f"{what} (elapsed)", elapsed, against, ratio(waited, "hooks", "python"), UNPROMISED, True),
    ]


def _write(path: Path) -> dict[str, Any]:
    return {"tool_name": "Write", "tool_input": {"file_path": str(path), "content": "x = 1\n" * 200}}


@contextmanager
def _as_dev() -> Iterator[None]:
    before = dict(os.environ)
    os.environ["TELEX_AGENT"] = "dev"
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


def _forget_announcements(project: Path) -> None:
    from telex.surfaces.clients import sessions

    folder = str(project / ".telex/sessions")
    sessions.update(folder, "claude", "bench", lambda session: session._replace(announced=0))


def _contract() -> Any:
    """A contract of a usual size."""
    tree = deepcopy(PLAN_CONTRACT.example)
    tree["payload"] |= {"allowed_paths": [f"src/module{number}/" for number in range(8)], "forbidden_paths": [".env"]}
    return tree


def _send(project: Path, *raws: bytes) -> None:
    (project / ".telex").mkdir(mode=0o700)
    send = [TELEX, "send", "--store", str(project / ".telex/telex.db"), "--as", "lead", "--to", "dev", "-"]
    for raw in raws:
        subprocess.run(send, input=raw, capture_output=True, check=True)
