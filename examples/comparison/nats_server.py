"""A NATS server with JetStream on a free port of this machine, for as long as the context is open."""

import json
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_START_SECONDS = 10.0


@contextmanager
def nats_server(program: Path | str, folder: Path, *, sync: str = "always") -> Iterator[str]:
    """Yield the address of the server. `sync="always"` syncs each message to disk before it is acknowledged."""
    folder.mkdir(parents=True, exist_ok=True)
    config = folder / "nats.conf"
    store = json.dumps(str(folder / "jetstream"))
    config.write_text(
        f'listen: "127.0.0.1:-1"\nports_file_dir: {json.dumps(str(folder))}\n'
        f"jetstream {{ store_dir: {store}, sync_interval: {json.dumps(sync)} }}\n",
        encoding="utf-8",
    )
    log = folder / "nats.log"
    with subprocess.Popen([str(program), "-c", str(config), "-l", str(log)]) as process:
        try:
            yield _address(folder / f"{Path(program).name}_{process.pid}.ports")
        finally:
            process.terminate()


def _address(ports: Path) -> str:
    deadline = time.monotonic() + _START_SECONDS
    while time.monotonic() < deadline:
        try:
            return str(json.loads(ports.read_text(encoding="utf-8"))["nats"][0])
        except (FileNotFoundError, json.JSONDecodeError):
            time.sleep(0.02)
    raise TimeoutError(f"the NATS server did not start within {_START_SECONDS:g} s")
