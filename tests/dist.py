"""Command `python -m tests.dist`, as `make dist` runs it: build the sdist and the wheel, install the wheel in an empty
environment, send a message with it, and measure the size of the core install."""

import json
import os
import re
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parent.parent
BLOCKER = ROOT / "samples/vbw-typed/3-blocker.json"
PIP = (sys.executable, "-m", "pip", "--disable-pip-version-check", "-q")
UNREACHABLE = re.compile(r"No matching distribution|Max retries|Connection|Could not fetch|name resolution", re.I)
DEPENDENCIES_MAX = 4
MEGABYTES_MAX = 30.0


class RegistryUnreachable(Exception):
    """The dependencies could not be fetched."""


class CoreInstall(NamedTuple):
    dependencies: int  # declared, without extras
    packages: int  # installed, Telex included
    megabytes: float  # before anything is compiled


def ran(*command: object, folder: Path) -> subprocess.CompletedProcess[str]:
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("TELEX", "PYTHON"))}
    return subprocess.run(
        [str(part) for part in command], cwd=folder, env=environment, capture_output=True, text=True, timeout=200
    )


def run(*command: object, folder: Path) -> str:
    done = ran(*command, folder=folder)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


# --- dependencies -----------------------------------------------------------------------------------------------------
def pinned(lock: str, wanted: list[str]) -> list[str]:
    """The parts of the lock that pin these, and what they need in turn, by their `via` comments."""
    parts = {part.partition("==")[0]: part for part in re.split(r"\n(?=[a-z0-9])", lock)}
    found: list[str] = []
    while wanted:
        found += [name for name in wanted if name not in found]
        wanted = [name for name, part in parts.items() if name not in found and set(vias(part)) & set(found)]
    return [parts[name] for name in found]


def vias(part: str) -> list[str]:
    """The packages that need it: `# via click`, or one on a line."""
    return re.findall(r"^ +#(?: via)? +([\w.-]+)", part, re.MULTILINE)


def own_dependencies() -> list[str]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return [re.split(r"[^\w.-]", one)[0].lower() for one in project["dependencies"]]


# --- build, install, use ----------------------------------------------------------------------------------------------
def build(folder: Path) -> Path:
    """The sdist, and the wheel that is built from it. Returns the wheel."""
    command = f"from hatchling.build import build_sdist; print(build_sdist({str(folder)!r}))"
    sdist = folder / run(sys.executable, "-c", command, folder=ROOT).splitlines()[-1]
    run(*PIP, "wheel", "--no-deps", "--no-build-isolation", "-w", folder, sdist, folder=folder)
    [wheel] = folder.glob(f"{sdist.name.removesuffix('.tar.gz')}-*.whl")
    return wheel


def install(wheel: Path, folder: Path) -> Path:
    """An empty environment with what the lock pins for Telex, and the wheel. Nothing of it comes from here."""
    environment = folder / "environment"
    run(sys.executable, "-m", "venv", "--without-pip", environment, folder=folder)
    into = (*PIP, "--python", environment / "bin/python")
    needed = folder / "needed.txt"
    lock = (ROOT / "requirements.lock").read_text(encoding="utf-8")
    needed.write_text("\n".join(pinned(lock, own_dependencies())), encoding="utf-8")
    options = ("--retries", "1", "--timeout", "15", "--only-binary", ":all:", "--no-compile")
    fetched = ran(*into, "install", "--require-hashes", *options, "-r", needed, folder=folder)
    if fetched.returncode and UNREACHABLE.search(fetched.stderr):
        raise RegistryUnreachable(fetched.stderr)
    assert fetched.returncode == 0, fetched.stderr
    run(*into, "install", "--no-deps", "--no-compile", wheel, folder=folder)
    run(*into, "check", folder=folder)
    return environment


def measure(environment: Path) -> CoreInstall:
    [packages] = environment.glob("lib/python*/site-packages")
    size = sum(file.stat().st_size for file in packages.rglob("*") if file.is_file())
    return CoreInstall(len(own_dependencies()), len(list(packages.glob("*.dist-info"))), size / 1e6)


def smoke(environment: Path, work: Path) -> None:
    """Send a message and look at it, with no server and no set-up."""
    work.mkdir()
    home = run(environment / "bin/python", "-c", "import telex; print(telex.__file__)", folder=work)
    assert Path(home.strip()).is_relative_to(environment)
    telex = environment / "bin/telex"
    stored = run(telex, "send", "--as", "dev", "--to", "lead", BLOCKER, folder=work)
    message = json.loads(BLOCKER.read_text(encoding="utf-8"))
    assert stored == f"stored {message['id']} for lead\n"
    [shown] = run(telex, "inbox", "--as", "lead", "--json", folder=work).splitlines()
    assert json.loads(shown)["id"] == message["id"]
    assert run(telex, "explain", "too-large", folder=work).startswith("# too-large")


def main() -> int:
    dist = ROOT / "dist"
    dist.mkdir(exist_ok=True)
    wheel = build(dist)
    with tempfile.TemporaryDirectory() as folder:
        environment = install(wheel, Path(folder))
        core = measure(environment)
        smoke(environment, Path(folder) / "work")
    files = ", ".join(f"{file.name} ({file.stat().st_size / 1e6:.1f} MB)" for file in sorted(dist.glob("telex-*")))
    print(f"built {files}")
    print(f"core install: {core.dependencies} dependencies, {core.packages} packages, {core.megabytes:.1f} MB")
    print("the installed wheel sends and shows a message")
    return int(core.dependencies > DEPENDENCIES_MAX or core.megabytes >= MEGABYTES_MAX)


if __name__ == "__main__":
    sys.exit(main())
