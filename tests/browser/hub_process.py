"""A real hub in a process of its own, which can be killed and started again at the same place.

It is born of a process that has read everything a hub needs and has done nothing else: reading it anew for each of a
hundred hubs would take longer than all that is then looked at. `tests/http/test_serve.py` starts hubs from nothing.
"""

import multiprocessing
import os
import re
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection
from multiprocessing.context import ForkServerProcess
from pathlib import Path
from typing import Any

import telex
from telex.client import SyncBus
from telex.clock import SteadyClock
from telex.config import Settings
from telex.connection import connect
from telex.ports.bus import Receipt
from telex.surfaces.cli.main import main

ENDS_SECONDS = 60.0
ADDRESS = re.compile(r"http://127\.0\.0\.1:(\d+)")
NEEDED = (
    "telex.surfaces.http.server",
    "telex.surfaces.mcp.http",
    "telex.stores.sqlite.store",
    "telex.surfaces.cli.serve",
)
BIRTH = multiprocessing.get_context("forkserver")
BIRTH.set_forkserver_preload([__name__, *NEEDED])


def live(folder: str, arguments: list[str], says: Connection) -> None:
    """What `telex serve` does in that folder, with nothing of the tests' settings about it."""
    for name in [name for name in os.environ if name.startswith("TELEX_")]:
        del os.environ[name]
    os.chdir(folder)
    os.dup2(says.fileno(), sys.stderr.fileno())
    sys.exit(main(["serve", *arguments]))


class HubProcess:
    """`telex serve` on a store. `bus` is another process's way to the same store: what it does, the page must show."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.store = folder, folder / ".telex" / "telex.db"
        self.port = 0
        self._process: ForkServerProcess | None = None
        self._heard: Connection
        self._connection = telex.connect(self.store, settings=Settings(durable=False))
        self.bus: SyncBus = self._connection.__enter__()

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def start(self, *more: str) -> "HubProcess":
        """At any free port the first time, and at the same one from then on."""
        arguments = ["--port", str(self.port), "--store", str(self.store), *more]
        self._heard, says = BIRTH.Pipe(duplex=False)
        with says:
            self._process = BIRTH.Process(target=live, args=(str(self.folder), arguments, says))
            self._process.start()
        self.port = self._said_where()
        return self

    def _said_where(self) -> int:
        lines = []
        with open(self._heard.fileno(), encoding="utf-8", closefd=False) as said:
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
        self._process.join(ENDS_SECONDS)
        self._process.close()
        self._process = None
        self._heard.close()  # not before: it may say more

    @contextmanager
    def ago(self, seconds: float) -> Iterator[None]:
        """What `bus` and `say` do in this block was done so long ago. For the first events of a store."""
        bus = self.bus
        clock = SteadyClock(lambda: time.time() - seconds)
        with connect(self.store, settings=Settings(durable=False), clock=clock) as self.bus:
            yield
        self.bus = bus

    def say(self, text: str | dict[str, Any], *, sender: str = "dev", to: str = "lead", **more: Any) -> Receipt:
        """A message from an agent that has nothing to do with the hub."""
        return self.bus.send(text, sender=sender, to=to, **more, check=False)
