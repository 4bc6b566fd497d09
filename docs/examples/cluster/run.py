"""Three NATS servers, two hubs and two agents on this machine: `make cluster`. Ctrl-C ends all of them.

A process that is killed is started again after ten seconds. The agents use both hubs as one address. At the end the
program looks for every message with a receipt in the record of each hub.
"""

import argparse
import json
import os
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
BIN = Path(sys.executable).parent
SERVERS, HUBS = 3, 2
TEAM = "demo"
ROUTES, MONITORS = 2_000, 4_000  # added to the port for clients
RESTART_SECONDS = 10.0
STATUS_SECONDS = 5.0
SEND_SECONDS = 0.1
START_SECONDS = 40.0
STOP_SECONDS = 10.0


class Member:
    """A process of the cluster."""

    def __init__(self, name: str, command: Sequence[str], environment: Mapping[str, str], folder: Path) -> None:
        self.name, self._command, self._folder = name, command, folder
        self._environment = {**os.environ, **environment}
        self.process: subprocess.Popen[bytes] | None = None
        self.ended_at: float | None = None

    def start(self) -> None:
        with open(self._folder / f"{self.name.replace(' ', '-')}.log", "ab") as log:
            self.process = subprocess.Popen(  # a session of its own: Ctrl-C reaches this program alone
                self._command, cwd=self._folder, env=self._environment, stdout=log, stderr=log, start_new_session=True
            )
        self.ended_at = None

    @property
    def pid(self) -> int:
        assert self.process is not None
        return self.process.pid

    def end_now(self) -> int | None:
        """Exit status, once, when the process has ended."""
        assert self.process is not None
        status = self.process.poll()
        if status is None or self.ended_at is not None:
            return None
        self.ended_at = time.monotonic()
        return status

    def is_due(self) -> bool:
        return self.ended_at is not None and time.monotonic() - self.ended_at > RESTART_SECONDS

    def stop(self) -> None:
        if self.process is not None and self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(STOP_SECONDS)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()


class Servers:
    """Three NATS servers of `nats.conf`, with the passwords of this run."""

    def __init__(self, folder: Path, ports: Sequence[int], routes: Sequence[int], monitors: Sequence[int]) -> None:
        self.ports, self._monitors = ports, monitors
        self.passwords = {name: secrets.token_hex(16) for name in ("HUB1", "HUB2", "VIEWER")}
        addresses = ", ".join(f'"nats://127.0.0.1:{port}"' for port in routes)
        shared = {f"{name}_PASSWORD": f'"{password}"' for name, password in self.passwords.items()}
        self.members = []
        for number, (port, route, monitor) in enumerate(zip(ports, routes, monitors, strict=True), start=1):
            own = {
                "SERVER_NAME": f"nats{number}",
                "SERVER_LISTEN": f'"127.0.0.1:{port}"',
                "SERVER_ROUTE": f'"127.0.0.1:{route}"',
                "SERVER_MONITOR": f'"127.0.0.1:{monitor}"',
                "SERVER_ROUTES": f"[{addresses}]",
                "SERVER_DATA": json.dumps(str(folder / f"nats{number}")),
            }
            command = [str(BIN / "nats-server"), "-c", str(HERE / "nats.conf")]
            self.members.append(Member(f"server {number}", command, shared | own, folder))

    @property
    def store(self) -> str:
        return f"nats://{','.join(f'127.0.0.1:{port}' for port in self.ports)}/{TEAM}"

    @property
    def monitors(self) -> list[str]:
        return [f"http://127.0.0.1:{port}" for port in self._monitors]

    def start(self) -> None:
        for member in self.members:
            member.start()
        wait_for(self._have_leader, "the NATS servers")

    def _have_leader(self) -> bool:
        facts = [read_json(f"{address}/jsz") for address in self.monitors]
        return all(fact and fact.get("meta_cluster", {}).get("leader") for fact in facts)

    def stop(self) -> None:
        for member in self.members:
            member.stop()


def make_hubs(servers: Servers, folder: Path, ports: Sequence[int]) -> list[Member]:
    """Two hubs, each with its copy, its user of NATS and the key of the team."""
    key = folder / "hub.key"
    write_secret(key, secrets.token_hex(32))
    hubs = []
    for number, port in enumerate(ports, start=1):
        login = folder / f"hub{number}.creds"
        write_secret(login, f"hub{number}:{servers.passwords[f'HUB{number}']}")
        environment = {"TELEX_HUB_KEY": str(key), "TELEX_NATS_CREDS": str(login)}
        command = [str(BIN / "telex"), "serve", "--store", servers.store, "--data", f"hub{number}", "--port", str(port)]
        command += ["--nats-monitor", ",".join(servers.monitors)]
        hubs.append(Member(f"hub {number}", command, environment, folder))
    return hubs


def write_secret(path: Path, text: str) -> None:
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8") as file:
        file.write(text + "\n")


def read_json(url: str) -> dict[str, Any] | None:
    try:
        with urllib.request.urlopen(url, timeout=2) as answer:
            facts: dict[str, Any] = json.load(answer)
    except (OSError, ValueError):
        return None
    return facts


def wait_for(is_there: Any, what: str) -> None:
    until = time.monotonic() + START_SECONDS
    while not is_there():
        if time.monotonic() > until:
            sys.exit(f"{what} did not start: see the files *.log in the folder of the cluster")
        time.sleep(0.1)


class Agents:
    """Two agents in a thread: dev sends a note to lead, lead acks it. A send that fails is repeated with its id."""

    def __init__(self, hubs: str) -> None:
        self._hubs, self.receipts, self.errors = hubs, set[str](), 0
        self._ending = threading.Event()
        self._thread = threading.Thread(target=self._run)

    @property
    def state(self) -> str:
        return f"{len(self.receipts)} receipts, {self.errors} errors"

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._ending.set()
        if self._thread.is_alive():
            self._thread.join()

    def _run(self) -> None:
        import telex
        from telex.errors import TelexError

        number = 1
        with telex.connect(self._hubs) as bus:
            while not self._ending.wait(SEND_SECONDS):
                try:
                    receipt = bus.send(f"Build {number} is green.\n", sender="dev", to="lead", id=f"build-{number}")
                    self.receipts.add(receipt.id)
                    number += 1
                    for lease in bus.receive("lead", limit=10):
                        bus.ack(lease.token, agent="lead")
                except TelexError as error:
                    self.errors += 1
                    say(f"agents: {error}")


class Cluster:
    def __init__(self, folder: Path, port: int, nats_port: int) -> None:
        ports = [nats_port + number for number in range(SERVERS)]
        routes, monitors = [each + ROUTES for each in ports], [each + MONITORS for each in ports]
        hub_ports = [port + number for number in range(HUBS)]
        require_free([*ports, *routes, *monitors, *hub_ports])
        self.servers = Servers(folder, ports, routes, monitors)
        self.hubs = make_hubs(self.servers, folder, hub_ports)
        self.pages = [f"http://127.0.0.1:{each}" for each in hub_ports]
        self._agents = Agents(",".join(self.pages))

    def start(self) -> None:
        self.servers.start()
        for hub in self.hubs:
            hub.start()
        wait_for(lambda: all(read_json(f"{page}/readyz") for page in self.pages), "the hubs")
        self._agents.start()

    def watch(self) -> None:
        """Report what ends, start it again, and print the state of the hubs now and then."""
        next_status = time.monotonic() + STATUS_SECONDS
        while True:
            for member in (*self.servers.members, *self.hubs):
                status = member.end_now()
                if status is not None:
                    say(f"{member.name} (pid {member.pid}) ended with {status}; it starts again in 10 seconds")
                elif member.is_due():
                    member.start()
                    say(f"{member.name} started again, pid {member.pid}")
            if time.monotonic() > next_status:
                next_status = time.monotonic() + STATUS_SECONDS
                say("; ".join([*map(self._state, range(HUBS)), self._agents.state]))
            time.sleep(0.1)

    def _state(self, number: int) -> str:
        facts = read_json(f"{self.pages[number]}/readyz")
        if facts is None:
            return f"hub {number + 1}: no answer"
        replica = facts["replica"]
        wrote = ", wrote last" if replica["is_writer"] else ""
        return f"hub {number + 1}: entry {replica['position']}{wrote}"

    def _accepted(self, number: int) -> set[str]:
        """Ids of all accepted messages in the record of one hub."""
        import telex
        from telex.errors import TelexError

        try:
            with telex.connect(self.pages[number]) as bus:
                return {message.id for _, message in bus.events() if message is not None and not message.refused}
        except TelexError:
            return set()

    def stop(self) -> None:
        self._agents.stop()
        for number, hub in enumerate(self.hubs):
            if hub.process is not None and hub.process.poll() is None:
                missing = len(self._agents.receipts - self._accepted(number))
                say(f"hub {number + 1}: of {len(self._agents.receipts)} receipts, {missing} are not in its record")
        for hub in self.hubs:
            hub.stop()
        self.servers.stop()


def require_free(ports: Sequence[int]) -> None:
    for port in ports:
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                sys.exit(f"port {port} is in use: choose others with PORT=… and NATS_PORT=…")


def say(text: str) -> None:
    print(f"{time.strftime('%H:%M:%S')} {text}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description="Three NATS servers, two hubs and two agents on this machine.")
    parser.add_argument("--port", type=int, default=4477, help="port of the first hub; the second has the next one")
    parser.add_argument("--nats-port", type=int, default=4222, help="port of the first server")
    parser.add_argument("--folder", type=Path, default=Path(".telex-cluster"), help="files of this run; made anew")
    given = parser.parse_args()
    folder = given.folder.resolve()
    if folder.exists() and not (folder / "telex.toml").exists():
        sys.exit(f"{folder} has other files: choose another --folder")
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(mode=0o700)
    (folder / ".gitignore").write_text("*\n", encoding="utf-8")
    shutil.copy(HERE / "telex.toml", folder)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    cluster = Cluster(folder, given.port, given.nats_port)
    try:
        cluster.start()
        for page, hub in zip(cluster.pages, cluster.hubs, strict=True):
            say(f"{hub.name} is at {page}/, pid {hub.pid}")
        for port, server in zip(cluster.servers.ports, cluster.servers.members, strict=True):
            say(f"{server.name} is at 127.0.0.1:{port}, pid {server.pid}")
        hub, server = cluster.hubs[0], cluster.servers.members[0]
        say(f"try: kill -9 {hub.pid} (a hub), kill -9 {server.pid} (a server); Ctrl-C ends everything")
        cluster.watch()
    except KeyboardInterrupt:
        say("stopping")
    finally:
        cluster.stop()


if __name__ == "__main__":
    main()
