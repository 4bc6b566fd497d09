"""Does what is built work where nothing else is? The wheel, in an empty environment, with no server and no set-up."""

import json
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
BLOCKER = ROOT / "samples/vbw-typed/3-blocker.json"
PIP = (sys.executable, "-m", "pip", "--disable-pip-version-check", "-q")
UNREACHABLE = re.compile(r"No matching distribution|Max retries|Connection|Could not fetch|name resolution", re.I)

pytestmark = pytest.mark.slow


def ran(*command: object, folder: Path) -> subprocess.CompletedProcess[str]:
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("TELEX", "PYTHON"))}
    return subprocess.run(
        [str(part) for part in command], cwd=folder, env=environment, capture_output=True, text=True, timeout=100
    )


def run(*command: object, folder: Path) -> str:
    done = ran(*command, folder=folder)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def pinned(lock: str, wanted: list[str]) -> list[str]:
    """The parts of the lock that pin these, and what they need in turn, as their `via` comments say."""
    parts = {part.partition("==")[0]: part for part in re.split(r"\n(?=[a-z0-9])", lock)}
    found: list[str] = []
    while wanted:
        found += [name for name in wanted if name not in found]
        wanted = [name for name, part in parts.items() if name not in found and set(vias(part)) & set(found)]
    return [parts[name] for name in found]


def vias(part: str) -> list[str]:
    """Who needs it: `# via click`, or one to a line."""
    return re.findall(r"^ +#(?: via)? +([\w.-]+)", part, re.MULTILINE)


def own_dependencies() -> list[str]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return [re.split(r"[^\w.-]", one)[0].lower() for one in project["dependencies"]]


def test_only_what_telex_needs_is_taken_from_the_lock() -> None:
    lock = (
        "a==1 \\\n    --hash=sha256:0\n    # via telex\nb==2\n    # via\n    #   a\n    #   d\nc==3\n    # via d\nd==4"
    )
    assert [part.partition("==")[0] for part in pinned(lock, ["a"])] == ["a", "b"]
    taken = pinned((ROOT / "requirements.lock").read_text(encoding="utf-8"), own_dependencies())
    assert all("--hash=sha256:" in part for part in taken)
    assert not {"pytest", "mypy", "hypothesis"} & {part.partition("==")[0] for part in taken}


def installed(environment: Path, tmp_path: Path) -> None:
    """An empty environment, what the lock pins for Telex, and the wheel. Nothing of it comes from here."""
    run(sys.executable, "-m", "venv", "--without-pip", environment, folder=tmp_path)
    into = (*PIP, "--python", environment / "bin/python")
    needed = tmp_path / "needed.txt"
    lock = (ROOT / "requirements.lock").read_text(encoding="utf-8")
    needed.write_text("\n".join(pinned(lock, own_dependencies())), encoding="utf-8")
    quickly = ("--retries", "1", "--timeout", "15", "--only-binary", ":all:")
    fetched = ran(*into, "install", "--require-hashes", *quickly, "-r", needed, folder=tmp_path)
    if fetched.returncode and UNREACHABLE.search(fetched.stderr):
        pytest.skip("NOT CHECKED: the wheel was not installed anywhere; the package registry could not be reached")
    assert fetched.returncode == 0, fetched.stderr
    run(*PIP, "wheel", "--no-deps", "--no-build-isolation", "-w", tmp_path, ROOT, folder=tmp_path)
    [wheel] = tmp_path.glob("telex-*.whl")
    run(*into, "install", "--no-deps", wheel, folder=tmp_path)
    run(*into, "check", folder=tmp_path)


def test_the_wheel_sends_and_shows_a_message_with_no_server_and_no_init(tmp_path: Path) -> None:
    environment, work = tmp_path / "environment", tmp_path / "work"
    installed(environment, tmp_path)
    work.mkdir()
    home = run(environment / "bin/python", "-c", "import telex; print(telex.__file__)", folder=work)
    assert Path(home.strip()).is_relative_to(environment)
    telex = environment / "bin/telex"
    kept = run(telex, "send", "--as", "dev", "--to", "lead", BLOCKER, folder=work)
    message = json.loads(BLOCKER.read_text(encoding="utf-8"))
    assert kept == f"stored {message['id']} for lead\n"
    [shown] = run(telex, "inbox", "--as", "lead", "--json", folder=work).splitlines()
    assert json.loads(shown)["id"] == message["id"]
    assert run(telex, "explain", "too-large", folder=work).startswith("# too-large")
