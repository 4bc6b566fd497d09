"""Terminal panes of the lab: a tmux server of its own, without the user's configuration."""

import re
import shlex
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path

KEY_SECONDS = 1.0  # between text and Enter: TUIs take faster input for a paste
COLUMNS = 120


class TmuxServer:
    """`rows` is the height of its panes. What a TUI has scrolled off the screen is lost."""

    def __init__(self, socket: Path, rows: int = 40) -> None:
        self.socket, self.rows = socket, rows

    def run(self, *words: str) -> str:
        command = ["tmux", "-f", "/dev/null", "-S", str(self.socket), *words]
        done = subprocess.run(command, capture_output=True, text=True, timeout=10, check=False)
        if done.returncode != 0 and words[0] not in ("kill-server", "kill-session"):
            raise RuntimeError(f"tmux {words[0]}: {done.stderr.strip()}")
        return done.stdout

    def open(self, name: str, command: list[str], folder: Path, variables: Mapping[str, str]) -> "TmuxPane":
        """A session with one pane that runs the command. Its output stays on the screen when it ends."""
        environment = [f"{key}={value}" for key, value in variables.items()]
        line = shlex.join(
            [
                "env",
                "-i",
                *environment,
                "sh",
                "-c",
                'TMUX="$1" TMUX_PANE="$2"; export TMUX TMUX_PANE; shift 2; exec "$@"',
            ]
        )
        self.run(
            "new-session", "-d", "-s", name, "-x", str(COLUMNS), "-y", str(self.rows), "-c", str(folder),
            f'{line} sh "$TMUX" "$TMUX_PANE" {shlex.join(command)}; sleep 3600',
        )  # fmt: skip
        return TmuxPane(self, name)

    def close(self) -> None:
        self.run("kill-server")


class TmuxPane:
    def __init__(self, server: TmuxServer, name: str) -> None:
        self.server, self.name = server, name

    def screen(self) -> str:
        return self.server.run("capture-pane", "-p", "-t", self.name).rstrip()

    def type(self, text: str) -> None:
        self.keys("-l", text)
        time.sleep(KEY_SECONDS)
        self.keys("Enter")

    def keys(self, *keys: str) -> None:
        self.server.run("send-keys", "-t", self.name, *keys)

    def wait(self, pattern: str, seconds: float) -> bool:
        until = time.monotonic() + seconds
        while not re.search(pattern, self.screen()):
            if time.monotonic() > until:
                return False
            time.sleep(0.2)
        return True

    def close(self) -> None:
        self.server.run("kill-session", "-t", self.name)
