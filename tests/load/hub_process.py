"""A hub as a process of its own: started, killed, started again on the same port, and measured."""

import os
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple

_AT = "the hub is at http://127.0.0.1:"
START_SECONDS = 60.0


class Cost(NamedTuple):
    """What it has used so far."""

    cpu_seconds: float
    memory_bytes: int  # the most it ever had at once


class HubProcess:
    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.port = 0
        self._before = Cost(0.0, 0)  # what its earlier lives have used
        self._process: subprocess.Popen[str] | None = None
        self.start()

    def start(self) -> None:
        """From nothing, or after a kill: on the same store, at the same place."""
        command = [sys.executable, "-m", "telex", "serve", "--port", str(self.port), "--store", str(self.store)]
        kept = {name: value for name, value in os.environ.items() if not name.startswith("TELEX_")}
        log = (self._folder / "hub.log").open("w", encoding="utf-8")
        with log:
            self._process = subprocess.Popen(command, cwd=self._folder, env=kept, stderr=log, text=True)
        until = time.monotonic() + START_SECONDS
        while time.monotonic() < until:
            assert self._process is not None
            said = (self._folder / "hub.log").read_text(encoding="utf-8")
            if self._process.poll() is not None:
                raise AssertionError(f"the hub did not start: {said}")
            if _AT in said:
                self.port = int(said.partition(_AT)[2].partition("/")[0])
                return
            time.sleep(0.02)
        raise AssertionError("the hub did not start in time")

    @property
    def store(self) -> Path:
        return self._folder / "telex.db"

    def kill(self) -> None:
        """As -9 does it: not a word to anybody."""
        assert self._process is not None
        self._before = self.cost()
        self._process.kill()
        self._process.wait()

    def end(self) -> None:
        if self._process is not None and self._process.poll() is None:
            self._process.terminate()
            try:
                self._process.wait(10)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()

    def cost(self) -> Cost:
        """Of all its lives. Where there is no /proc, nothing is told."""
        assert self._process is not None
        try:
            stat = Path(f"/proc/{self._process.pid}/stat").read_text(encoding="utf-8")
            status = Path(f"/proc/{self._process.pid}/status").read_text(encoding="utf-8")
        except OSError:
            return self._before
        user, system = stat.rpartition(")")[2].split()[11:13]
        most = next((line for line in status.splitlines() if line.startswith("VmHWM:")), "VmHWM: 0 kB")
        cpu = (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")
        memory = int(most.split()[1]) * 1024
        return Cost(self._before.cpu_seconds + cpu, max(self._before.memory_bytes, memory))
