"""Cold start of `telex guard`, as a hook runs it before every write and every commit."""

import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from copy import deepcopy
from pathlib import Path

from bench.cold import TELEX
from bench.measure import UNPROMISED, Line, micro, process_seconds, ratio
from bench.peers import CACHE
from telex.dialects.builtin.vbw_typed import PLAN_CONTRACT, VBW_TYPED
from telex.dialects.write import write

ROUNDS = 41
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
    commands = {
        "python": [sys.executable, "-I", "-c", "pass"],
        "one": [TELEX, "guard", "src/module30/part/file1.py", "--as", "dev"],
        "staged": [TELEX, "guard", "--staged", "--as", "dev"],
        "git": ["git", "diff", "--cached", "--name-only"],
    }
    for name, command in commands.items():  # once for the disk cache and the compiled modules
        done = subprocess.run(command, capture_output=True, check=False)
        assert done.returncode == 0, f"{name}: {done.stderr!r}"
    used: dict[str, list[float]] = {name: [] for name in commands}
    waited: dict[str, list[float]] = {name: [] for name in commands}
    for _ in range(ROUNDS):
        for name, command in commands.items():
            began = time.perf_counter()
            used[name].append(process_seconds(command))
            waited[name].append(time.perf_counter() - began)
    start = ratio(used, "one", "python")
    what = f"telex guard --staged of {STAGED:,} files under the same contract, cold"
    allowed = "twice git diff --cached --name-only, and telex guard of one path"
    staged = _of_what_is_allowed(waited)
    return [
        Line(
            "telex guard of one path, cold, under a contract of 200 patterns (CPU time)",
            micro(statistics.median(used["one"])),
            "python -I -c pass",
            start,
            f"at most {START_MAX} ×",
            start <= START_MAX,
        ),
        # By the clock, since a commit waits by the clock: git answers while the guard is still starting.
        Line(
            f"{what} (elapsed)",
            micro(statistics.median(waited["staged"])),
            f"{allowed} (elapsed)",
            staged,
            UNPROMISED,
            True,
        ),
        Line(
            f"{what} (CPU time)",
            micro(statistics.median(used["staged"])),
            f"{allowed} (CPU time)",
            _of_what_is_allowed(used),
            UNPROMISED,
            True,
        ),
    ]


def _of_what_is_allowed(seconds: Mapping[str, Sequence[float]]) -> float:
    """What is staged, as a share of what it may take: the median of the rounds' own."""
    rounds = zip(seconds["staged"], seconds["git"], seconds["one"], strict=True)
    return statistics.median(staged / (2 * git + one) for staged, git, one in rounds)


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
