"""A misspelt name is an error for both type checkers."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
MISSPELT = """\
import telex
from telex.messages.build_flow import StatusUpdate
telex.Wroker("dev")
telex.Worker("dev", rol="dev")
StatusUpdate(task_id="T-1", status="DONE")
StatusUpdate(task_id="T-1", status="STARTED").payload.taskid
telex.connect("team.db").agnet("dev")
"""
CHECKERS = {
    "mypy": [sys.executable, "-m", "mypy", "--config-file", "mypy.ini"],
    "pyright": [str(ROOT / ".cache/pyright/node_modules/.bin/pyright"), "--pythonpath", sys.executable],
}


@pytest.mark.parametrize("checker", CHECKERS)
def test_each_misspelt_name_is_an_error(checker: str, tmp_path: Path) -> None:
    command = CHECKERS[checker]
    if not Path(command[0]).exists():
        pytest.skip(f"{checker} is not installed")
    file = tmp_path / "misspelt.py"
    file.write_text(MISSPELT, encoding="utf-8")
    done = subprocess.run([*command, str(file)], cwd=ROOT / "examples", capture_output=True, text=True, check=False)
    lines = {int(line) for line in re.findall(r"misspelt\.py:(\d+)(?::\d+)?(?: -)?:? error", done.stdout)}
    assert lines == {3, 4, 5, 6, 7}, done.stdout
