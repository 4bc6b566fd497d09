"""One run of the lab: its folder, model, terminal server and rooms, and their end."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from tests.clients.lab.isolation import MARK, end_processes
from tests.clients.lab.model import ScriptedModel
from tests.clients.lab.programs import CLIENTS
from tests.clients.lab.room import ClientRoom
from tests.clients.lab.tmux import TmuxServer


class LabRun(NamedTuple):
    folder: Path
    programs: Path
    model: ScriptedModel
    server: TmuxServer

    def room(self, client: str, folder: str, agent: str = "dev") -> ClientRoom:
        """A client in a folder of the run. Rooms of the same folder share home and project."""
        return ClientRoom(CLIENTS[client], self.folder / folder, self.model, self.programs, agent)


@contextmanager
def lab_run(programs: Path, *, keep: bool = False, rows: int = 40) -> Iterator[LabRun]:
    folder = Path(tempfile.mkdtemp(prefix="telex-lab-", dir="/var/tmp"))  # short: sockets of clients are in it
    run = LabRun(folder, programs, ScriptedModel(folder / "logs"), TmuxServer(folder / "tmux", rows))
    try:
        yield run
    finally:
        run.server.close()
        run.model.close()
        end_processes(os.environ[MARK])
        if keep:
            print(f"kept in {folder}")
        else:
            shutil.rmtree(folder, ignore_errors=True)
