"""A misspelt name is an error for pyright; the tests of the project see to mypy."""

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
PYRIGHT = ROOT / ".cache/pyright/node_modules/.bin/pyright"


@pytest.mark.skipif(not PYRIGHT.exists(), reason="pyright is not installed")
def test_each_misspelt_name_is_an_error(tmp_path: Path) -> None:
    file = tmp_path / "misspelt.py"
    file.write_text(MISSPELT, encoding="utf-8")
    command = [str(PYRIGHT), "--pythonpath", sys.executable, str(file)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    lines = {int(line) for line in re.findall(r"misspelt\.py:(\d+):\d+ - error", done.stdout)}
    assert lines == {3, 4, 5, 6, 7}, done.stdout
