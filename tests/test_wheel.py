"""Does what is built work where nothing else is? The wheel, in an empty environment, with no server and no set-up."""

import json
import os
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
BLOCKER = ROOT / "samples/vbw-typed/3-blocker.json"

pytestmark = pytest.mark.slow


def run(*command: object, folder: Path, **more: str) -> str:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("TELEX")} | more
    done = subprocess.run(
        [str(part) for part in command], cwd=folder, env=environment, capture_output=True, text=True, timeout=100
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_wheel_sends_and_shows_a_message_with_no_server_and_no_init(tmp_path: Path) -> None:
    pip = (sys.executable, "-m", "pip", "--disable-pip-version-check", "-q")
    run(*pip, "wheel", "--no-deps", "--no-build-isolation", "-w", tmp_path, ROOT, folder=tmp_path)
    [wheel] = tmp_path.glob("telex-*.whl")
    installed, work = tmp_path / "installed", tmp_path / "work"
    run(*pip, "install", "--no-deps", "--target", installed, wheel, folder=tmp_path)
    work.mkdir()
    # What it depends on comes from where the tests run; Telex itself only from the wheel.
    path = os.pathsep.join((str(installed), sysconfig.get_paths()["platlib"]))
    telex = (sys.executable, "-S", "-m", "telex")
    home = run(sys.executable, "-S", "-c", "import telex; print(telex.__file__)", folder=work, PYTHONPATH=path)
    assert Path(home.strip()).is_relative_to(installed)
    kept = run(*telex, "send", "--as", "dev", "--to", "lead", BLOCKER, folder=work, PYTHONPATH=path)
    message = json.loads(BLOCKER.read_text(encoding="utf-8"))
    assert kept == f"kept {message['id']} for lead\n"
    [shown] = run(*telex, "inbox", "--as", "lead", "--json", folder=work, PYTHONPATH=path).splitlines()
    assert json.loads(shown)["id"] == message["id"]
