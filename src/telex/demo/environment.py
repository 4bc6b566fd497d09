"""Folder and clock of the demo.

The demo has a folder of its own with a store and a small git repository, recreated on each run. A folder that the demo
did not create is left alone.
"""

import os
import shutil
import subprocess
import time
from collections.abc import Callable, Mapping

from telex.clock import SteadyClock
from telex.errors import StoreUnavailable

FOLDER, STORE = ".telex-demo", "telex.db"
MARK = "README.txt"
SAYS = "Created by `telex demo`, with its store {}, and created anew by the next run. You can delete it.\n"
LASTS_SECONDS = 1_740.0  # of the story; it ends a little before now


class StoryClock(SteadyClock):
    """Real time, advanced instead of waiting."""

    def __init__(self, real: Callable[[], float] = time.monotonic, wall: Callable[[], float] = time.time) -> None:
        self._passed, self._real, self._began = 0.0, real, real()
        self.begins_at = wall() - LASTS_SECONDS
        super().__init__(lambda: self.begins_at + self.story, lambda: self.story, self.later)

    @property
    def story(self) -> float:
        """Seconds since the story began."""
        return self._passed + self._real() - self._began

    def later(self, seconds: float) -> None:
        self._passed += seconds


def prepare(store: str | None) -> str:
    """Create the folder, or clear what an earlier demo left in it. Returns the path of the store.

    Raises:
        StoreUnavailable: the folder has other files.
    """
    path = os.path.join(FOLDER, STORE) if store is None else store.removeprefix("sqlite:")
    if ":" in os.path.basename(path):
        raise StoreUnavailable("the demo needs a file for its store: give one with --store.")
    if os.path.isdir(path):
        path = os.path.join(path, STORE)
    folder, name = os.path.dirname(path) or ".", os.path.basename(path)
    try:
        if os.path.exists(folder) and os.listdir(folder) and not _is_ours(folder, name):
            raise StoreUnavailable(f"{folder} is not empty: give the demo a folder of its own.")
        _clear(folder, name)
        os.makedirs(folder, exist_ok=True)
        for beside, text in {MARK: SAYS.format(name), ".gitignore": "*\n"}.items():
            with open(os.path.join(folder, beside), "w", encoding="utf-8") as file:
                file.write(text)
    except OSError as error:
        raise StoreUnavailable(f"{folder} cannot be prepared: {error.strerror}.") from error
    return path


def _is_ours(folder: str, store: str) -> bool:
    try:
        with open(os.path.join(folder, MARK), encoding="utf-8", errors="replace") as file:
            return file.read(1_000) == SAYS.format(store)
    except OSError:
        return False


def _clear(folder: str, store: str) -> None:
    """Remove only what a demo creates."""
    for name in os.listdir(folder) if os.path.isdir(folder) else ():
        path = os.path.join(folder, name)
        if name in (".git", "src", "tests", "docs") and not os.path.islink(path):
            shutil.rmtree(path)
        elif name == store or name.startswith(f"{store}-"):
            os.remove(path)


class DemoProject:
    """Git repository of the demo's agents. Without git the demo runs with made-up commit hashes."""

    def __init__(self, folder: str, clock: StoryClock) -> None:
        self._folder, self._clock, self._git = folder, clock, shutil.which("git")
        self._count = 0
        self._run("init", "--quiet", "--template=")

    def commit(self, message: str, files: Mapping[str, str]) -> str:
        """Returns the short hash."""
        self._count += 1
        for name, text in files.items():
            path = os.path.join(self._folder, *name.split("/"))
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
        self._run("add", "--force", "--", *files)
        self._run("commit", "--quiet", "--no-verify", "--no-gpg-sign", f"--message={message}")
        return self._run("rev-parse", "--short=7", "HEAD") or f"{0xC0FFEE0 + self._count:07x}"

    def _run(self, *words: str) -> str:
        if self._git is None:
            return ""
        date = f"{self._clock.now():.0f} +0000"
        who = {"NAME": "Telex demo", "EMAIL": "demo@example.org", "DATE": date}
        identity = {f"GIT_{side}_{key}": value for side in ("AUTHOR", "COMMITTER") for key, value in who.items()}
        kept = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
        command = [self._git, "-c", f"core.hooksPath={os.devnull}", *words]
        done = subprocess.run(
            command, cwd=self._folder, env=kept | identity, capture_output=True, text=True, check=False, timeout=30
        )
        return done.stdout.strip() if done.returncode == 0 else ""
