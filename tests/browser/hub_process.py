"""A real hub in a process of its own, which can be killed and started again at the same place."""

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import IO, Any

import telex
from telex.client import SyncBus
from telex.config import Settings
from telex.ports.bus import Receipt

STARTS_SECONDS = 60.0
ADDRESS = re.compile(r"http://127\.0\.0\.1:(\d+)")


class HubProcess:
    """`telex serve` on a store. `bus` is another process's way to the same store: what it does, the page must show."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.store = folder, folder / ".telex" / "telex.db"
        self.port = 0
        self._process: subprocess.Popen[str] | None = None
        self._connection = telex.connect(self.store, settings=Settings(durable=False))
        self.bus: SyncBus = self._connection.__enter__()

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def start(self, *more: str) -> "HubProcess":
        """At any free port the first time, and at the same one from then on."""
        where = ("--port", str(self.port), "--store", str(self.store))
        command = [sys.executable, "-m", "telex", "serve", *where, *more]
        quiet = {name: value for name, value in os.environ.items() if not name.startswith("TELEX_")}
        self._process = subprocess.Popen(command, cwd=self.folder, env=quiet, stderr=subprocess.PIPE, text=True)
        self.port = self._said_where(self._process.stderr)
        return self

    def _said_where(self, said: "IO[str] | None") -> int:
        assert said is not None
        lines = []
        for line in said:
            lines.append(line)
            if found := ADDRESS.search(line):
                return int(found[1])
        raise AssertionError(f"the hub did not start: {''.join(lines)}")

    def move(self, store: Path) -> None:
        """From the next start on it has another store, with a record of its own."""
        self._connection.__exit__()
        self.store = store
        self._connection = telex.connect(store, settings=Settings(durable=False))
        self.bus = self._connection.__enter__()

    def kill(self) -> None:
        """As a power cut would end it."""
        assert self._process is not None
        self._process.kill()
        self._end()

    def stop(self) -> None:
        if self._process is not None:
            self._process.terminate()
            self._end()
        self._connection.__exit__()

    def _end(self) -> None:
        assert self._process is not None
        self._process.wait(STARTS_SECONDS)
        assert self._process.stderr is not None
        self._process.stderr.close()
        self._process = None

    def say(self, text: str | dict[str, Any], *, sender: str = "dev", to: str = "lead", **more: Any) -> Receipt:
        """A message from an agent that has nothing to do with the hub."""
        return self.bus.send(text, sender=sender, to=to, **more)
