"""Cold start: CPU of one `telex check` and one `telex send` process, as a hook or a script runs them."""

import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

import telex
from bench.measure import Line, micro, process_seconds
from bench.peers import outside
from bench.samples import updates
from telex.dialects.builtin.vbw_typed import EXECUTION_UPDATE, VBW_TYPED
from telex.dialects.write import write

ROUNDS = 21
TELEX = str(Path(sys.executable).with_name("telex"))

# A validator as such pages suggest it: jq asked two dozen times whether a key is there.
_FIELDS = ["id", "type", "phase", "task", "author_role", "timestamp", "schema_version", "confidence", "payload"]
_PAYLOAD = ["plan_id", "task_id", "status", "commit", "files_modified", "concerns", "evidence"]


def lines() -> list[Line]:
    return [*_checks(), _send()]


def _send() -> Line:
    """Into a store that is there: validated, kept, synced. Each message is a new one."""
    with tempfile.TemporaryDirectory(dir=outside()) as folder:
        send = [TELEX, "send", "--store", f"{folder}/telex.db", "--as", "dev", "--to", "lead", "-"]
        python = [sys.executable, "-I", "-c", "pass"]
        raws = iter(updates("cold", ROUNDS + 1))
        subprocess.run(send, input=next(raws), capture_output=True, check=True)
        ratios, ours = [], []
        for raw in raws:
            ours.append(process_seconds(send, raw))
            ratios.append(ours[-1] / process_seconds(python))
        with telex.connect(f"{folder}/telex.db") as bus:
            assert len(bus.inbox("lead", limit=2 * ROUNDS)) == ROUNDS + 1, "not every cold send was kept"
    start = statistics.median(ratios)
    what = "telex send - of one message, cold: validated, stored, synced (CPU time)"
    return Line(what, micro(statistics.median(ours)), "python -I -c pass", start, "at most 6 ×", start <= 6)


def _checks() -> list[Line]:
    message = write(VBW_TYPED, EXECUTION_UPDATE.example).encode()
    commands = {"telex": [TELEX, "check", "-"], "python": [sys.executable, "-I", "-c", "pass"]}
    with tempfile.TemporaryDirectory() as folder:
        if _jq() is not None:
            script = Path(folder, "validate.sh")
            script.write_text(_validator(Path(folder, "message.json"), message))
            commands["jq"] = ["bash", str(script)]
        for command in commands.values():
            process_seconds(command, message)  # once for the disk cache and the compiled modules
        seconds: dict[str, list[float]] = {name: [] for name in commands}
        for _ in range(ROUNDS):
            for name, command in commands.items():
                seconds[name].append(process_seconds(command, message))
    middle = {name: statistics.median(each) for name, each in seconds.items()}
    start = middle["telex"] / middle["python"]
    what, ours = "telex check - on one message, cold (CPU time)", micro(middle["telex"])
    found = [Line(what, ours, "python -I -c pass", start, "at most 4.5 ×", start <= 4.5)]
    if "jq" in middle:
        faster = middle["jq"] / middle["telex"]
        found.append(Line(what, ours, "bash with 24 starts of jq", faster, "at least 6 × as fast", faster >= 6))
    else:
        print("NOT MEASURED: jq is not here and could not be installed, so the bash validator did not run.")
    return found


def _jq() -> str | None:
    """jq is on no Python index; as root on Debian it is one command away."""
    if shutil.which("jq") is None and shutil.which("apt-get") is not None:
        subprocess.run(["apt-get", "install", "-y", "-qq", "jq"], capture_output=True, check=False)
    return shutil.which("jq")


def _validator(message: Path, text: bytes) -> str:
    message.write_bytes(text)
    asked = [f".{name}" for name in _FIELDS] + [f".payload.{name}" for name in _PAYLOAD]
    asked += [".type", ".author_role", ".payload.status", ".schema_version", ".confidence", ".phase", ".id", ".task"]
    assert len(asked) == 24
    checks = [
        f"jq -e '{path} != null' '{message}' >/dev/null || {{ echo 'missing {path}'; exit 2; }}" for path in asked
    ]
    return "\n".join(["#!/usr/bin/env bash", "cat >/dev/null", *checks, "echo valid"]) + "\n"
