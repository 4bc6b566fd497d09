"""What does the guard cost from a standing start, as a hook runs it before every write and every commit?"""

import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from copy import deepcopy
from pathlib import Path

from bench.cold import TELEX
from bench.measure import Line, micro, process_seconds
from bench.peers import CACHE
from telex.dialects.vbw_typed import PLAN_CONTRACT, VBW_TYPED
from telex.dialects.writing import write

ROUNDS = 21
STAGED = 1_000
FOLDERS = 40
START_MAX = 6  # times the start of Python


def lines() -> list[Line]:
    CACHE.mkdir(parents=True, exist_ok=True)
    if shutil.which("git") is None:
        print("NOT MEASURED: git is not here, so the guard of a commit did not run.")
        return []
    with tempfile.TemporaryDirectory(dir=CACHE) as folder:
        root = Path(folder)
        _agree(root)
        _stage(root)
        before = Path.cwd()
        os.chdir(root)
        try:
            return _measured()
        finally:
            os.chdir(before)


def _measured() -> list[Line]:
    one = [TELEX, "guard", "src/module30/part/file1.py", "--as", "dev"]
    commands = {
        "python": [sys.executable, "-I", "-c", "pass"],
        "one": one,
        "staged": [TELEX, "guard", "--staged", "--as", "dev"],
        "git": ["git", "diff", "--cached", "--name-only"],
    }
    for name, command in commands.items():  # once for the disk cache and the compiled modules
        done = subprocess.run(command, capture_output=True, check=False)
        assert done.returncode == 0, f"{name}: {done.stderr!r}"
    seconds: dict[str, list[float]] = {name: [] for name in commands}
    for _ in range(ROUNDS):
        for name, command in commands.items():
            seconds[name].append(process_seconds(command))
    middle = {name: statistics.median(each) for name, each in seconds.items()}
    start = statistics.median(ours / python for ours, python in zip(seconds["one"], seconds["python"], strict=True))
    allowed = 2 * middle["git"] + START_MAX * middle["python"]
    share = middle["staged"] / allowed
    return [
        Line(
            "telex guard of one path, cold, under a contract of 200 patterns (CPU time)",
            micro(middle["one"]),
            "python -I -c pass",
            start,
            f"at most {START_MAX} ×",
            start <= START_MAX,
        ),
        Line(
            f"telex guard --staged of {STAGED:,} files under the same contract, cold (CPU time)",
            micro(middle["staged"]),
            f"twice git diff --cached --name-only, and {START_MAX} × python -I -c pass",
            share,
            "at most 1 ×",
            share <= 1,
        ),
    ]


def _agree(root: Path) -> None:
    """Two hundred patterns of every sort, of which those for the staged files stand among the others."""
    folders = [f"src/module{number}/" for number in range(25)]
    wild = [f"src/module{number}/**/*.py" for number in range(25, FOLDERS)]
    others = [f"docs/{number}/*.md" for number in range(60)] + [f"*.x{number}" for number in range(50)]
    plain = [f"package{number}" for number in range(50)]
    tree = deepcopy(PLAN_CONTRACT.example)
    tree["payload"] |= {"allowed_paths": [*folders, *wild, *others, *plain]}
    tree["payload"] |= {"forbidden_paths": [".env", "secrets/", "*.pem"]}
    assert len(tree["payload"]["allowed_paths"]) == 200
    send = [TELEX, "send", "--store", str(root / ".telex/telex.db"), "--as", "lead", "--to", "dev", "-"]
    (root / ".telex").mkdir()
    subprocess.run(send, input=write(VBW_TYPED, tree).encode(), capture_output=True, check=True)


def _stage(root: Path) -> None:
    for number in range(STAGED):
        path = root / f"src/module{number % FOLDERS}/part/file{number // FOLDERS}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{number}\n")
    for words in (("init", "-q"), ("add", "src")):
        subprocess.run(["git", *words], cwd=root, check=True, capture_output=True)
