"""Faults under load: three servers and three hubs are killed, stopped and cut off while clients send, read and ack.

    python -m tests.nats.faults --incidents 200 --seed 7

After each incident and at the end, the ledgers of the clients are compared with what the hubs and the log have. It
prints the verdict as JSON and exits with 1 if a promise was broken. `stalls` has the longest time in seconds without
an acknowledged send, for each kind of incident.
"""

import argparse
import asyncio
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import nats

from telex.errors import StoreError
from telex.http_client.transport import POSITION
from telex.stores.nats.batch import MAC_HEADER
from tests.http_client.http_client_kit import TELEX
from tests.nats.fault_load import ACKED, UNREAD, Load, read_ledgers
from tests.nats.fault_verdict import Comparison, acked_twice, compare, record_of
from tests.nats.kit import REFRESH_SECONDS, SECRETS, Team, hubs_of
from tests.nats.proxy import ProxyProcess
from tests.nats.servers import Servers, free_ports

RECOVER_SECONDS = 40.0  # then a hub that is not ready, or clients without an answer, are a failure
LEADER_SECONDS = 15.0
STOP_SECONDS = 10.0  # for clients, after a failure
SAMPLE = 2  # of each client's last sends, which every hub must have after an incident
PROGRESS = 20  # acknowledged sends, after which an incident is over
PAUSE_SECONDS_MIN = 1.2  # longer than a hub waits for a turn
PLANTED = (sys.executable, "-m", "tests.nats.planted_hub")


class Size(NamedTuple):
    servers: int = 3
    hubs: int = 3
    senders: int = 6
    workers: int = 4
    readers: int = 2
    hub_seconds: float = 2.0  # for which a hub is stopped or cut off, at most
    server_seconds: float = 2.0  # for which a server is stopped; an election begins after four


LONG = Size(hub_seconds=4.0, server_seconds=10.0)


class Stall(NamedTuple):
    kind: str
    seconds: float


class Verdict(NamedTuple):
    incidents: dict[str, int]
    sends: int  # acknowledged
    acks: int
    stalls: dict[str, float]
    comparison: Comparison
    digests: int  # different ones, of all hubs and of a copy that was made from the log
    failures: list[str]  # hubs that halt or do not start, clients without an answer, messages not found

    @property
    def is_right(self) -> bool:
        return not any(self.comparison[:-1]) and self.digests == 1 and not self.failures


class HubProcess:
    """A hub of `telex serve` behind a proxy, with a port and a folder of its own."""

    def __init__(self, proxy: ProxyProcess, address: str, folder: Path, port: int, *options: str) -> None:
        self.proxy, self.folder, self.url = proxy, folder, f"http://127.0.0.1:{port}"
        self._words = ["serve", "--store", address, "--data", str(folder), "--port", str(port), *options]
        self._process: subprocess.Popen[bytes] | None = None
        self.program: Sequence[str] = (TELEX,)
        self.problem = ""  # why it was not ready when it was last asked

    def begin(self) -> None:
        environment = {**os.environ, "TELEX_HUB_KEY": SECRETS.keys[0].decode()}
        self.folder.mkdir(parents=True, exist_ok=True)
        with (self.folder / "stderr").open("ab") as stderr:
            self._process = subprocess.Popen([*self.program, *self._words], stderr=stderr, env=environment)

    def health(self) -> dict[str, Any] | None:
        """The state of its copy; None: it does not answer, or is not ready."""
        try:
            with urllib.request.urlopen(f"{self.url}/readyz", timeout=2) as answer:
                facts: dict[str, Any] = json.load(answer)["replica"]
                return facts
        except urllib.error.HTTPError as error:
            with error:
                self.problem = error.read().decode()
        except OSError as error:
            self.problem = repr(error)
        return None

    def has(self, id: str, position: int) -> bool:
        """Does its copy have a message, at this position or later?"""
        request = urllib.request.Request(f"{self.url}/messages/{id}", headers={POSITION: str(position)})
        until = time.monotonic() + RECOVER_SECONDS
        while True:
            try:
                with urllib.request.urlopen(request, timeout=10):
                    return True
            except urllib.error.HTTPError as error:
                error.close()
                if error.code == 404:
                    return False
            except OSError:
                pass
            assert time.monotonic() < until, f"{self.folder.name} does not reach {position}: {self.last_words()}"
            time.sleep(0.1)

    def signal(self, what: signal.Signals) -> None:
        assert self._process is not None
        os.kill(self._process.pid, what)

    def kill(self) -> None:
        if self._process is not None and self.is_running:
            self._process.kill()
            self._process.wait()

    @property
    def is_running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def last_words(self) -> str:
        return (self.folder / "stderr").read_text(encoding="utf-8")[-1_000:]


class Cluster:
    """Servers, hubs and clients."""

    def __init__(self, folder: Path, random: Random, size: Size, program: Sequence[str] | None = None) -> None:
        self.random, self.folder, self.size = random, folder, size
        self.servers = Servers(folder / "servers", size.servers)
        self.team = Team(self.servers, folder, replicas=size.servers)
        self.hubs: list[HubProcess] = []
        self._program = program or (TELEX,)
        self.load: Load | None = None

    def start(self) -> None:
        self.servers.start()
        self._start_hubs()
        self.await_ready()
        ledgers = self.folder / "ledgers"
        ledgers.mkdir()
        urls = [hub.url for hub in self.hubs]
        counts = {"senders": self.size.senders, "workers": self.size.workers, "readers": self.size.readers}
        self.load = Load(urls, ledgers, self.random.randrange(2**32), **counts)
        self.load.start()

    def _start_hubs(self) -> None:
        monitors = ",".join(f"http://127.0.0.1:{port}" for port in self.servers.monitors)
        options = ["--nats-monitor", monitors] if self.size.servers == 3 else ["--accept-weaker-durability"]
        for number in range(self.size.hubs):
            port, *ports = free_ports(1 + self.size.servers)
            proxy = ProxyProcess(ports, self.servers.ports)
            address = self.servers.address(self.team.name, ports)
            replicas = ["--replicas", str(self.size.servers)]
            hub = HubProcess(proxy, address, self.folder / f"hub{number}", port, *options, *replicas)
            hub.program = self._program
            self.hubs.append(hub)
        for hub in self.hubs:
            hub.proxy.await_ready()
            hub.begin()

    def stop(self) -> None:
        for hub in self.hubs:
            hub.kill()
            hub.proxy.stop()
        self.servers.stop()

    @property
    def clients(self) -> Load:
        assert self.load is not None
        return self.load

    def await_ready(self) -> list[int]:
        """Wait until all hubs follow the log. Their positions."""
        until = time.monotonic() + RECOVER_SECONDS
        for hub in self.hubs:
            while hub.health() is None:
                assert hub.is_running, f"{hub.folder.name} has ended: {hub.last_words()}"
                assert time.monotonic() < until, f"{hub.folder.name} is not ready: {hub.problem} {hub.last_words()}"
                time.sleep(0.05)
        return [(hub.health() or {}).get("position", 0) for hub in self.hubs]

    def await_sends(self, count: int = PROGRESS) -> None:
        """Wait for acknowledged sends."""
        until, target = time.monotonic() + RECOVER_SECONDS, self.clients.count + count
        while self.clients.count < target:
            self.clients.check()
            assert time.monotonic() < until, "no send is acknowledged"
            time.sleep(0.02)

    def writer(self) -> HubProcess:
        """The hub that has written last."""
        healths = [(hub, hub.health() or {}) for hub in self.hubs]
        return max(healths, key=lambda one: (one[1].get("is_writer", False), one[1].get("position", 0)))[0]

    def another(self) -> HubProcess:
        writer = self.writer()
        return self.random.choice([hub for hub in self.hubs if hub is not writer])

    def leader(self) -> int:
        """The number of the server that leads the log."""
        until = time.monotonic() + LEADER_SECONDS
        while True:
            try:
                return self.servers.leader_of(self.stream)
            except (AssertionError, OSError):
                assert time.monotonic() < until, "the log has no leader"
                time.sleep(0.1)

    @property
    def stream(self) -> str:
        return f"TELEX_{self.team.name}"

    @property
    def subject(self) -> str:
        return f"telex.{self.team.name}.log"


# --- incidents -------------------------------------------------------------------------------------------------------


def kill_hub(cluster: Cluster, hub: HubProcess) -> None:
    hub.kill()
    cluster.await_sends()
    hub.begin()


def kill_alone(cluster: Cluster) -> None:
    """The only hub."""
    [hub] = cluster.hubs
    hub.kill()
    hub.begin()


def stop_hub(cluster: Cluster) -> None:
    hub = cluster.writer()
    hub.signal(signal.SIGSTOP)
    time.sleep(cluster.random.uniform(PAUSE_SECONDS_MIN, cluster.size.hub_seconds))
    hub.signal(signal.SIGCONT)


def cut_hub(cluster: Cluster) -> None:
    """What was on its way arrives late, or never."""
    proxy = cluster.writer().proxy
    proxy.command("hold")
    time.sleep(cluster.random.uniform(PAUSE_SECONDS_MIN, cluster.size.hub_seconds))
    proxy.command(cluster.random.choice(["pass", "close"]))


def lose_acks(cluster: Cluster) -> None:
    proxy = cluster.writer().proxy
    proxy.command("swallow")
    time.sleep(cluster.random.uniform(0.1, 1.5))
    proxy.command("close")


def kill_leader(cluster: Cluster) -> None:
    cluster.servers.kill(cluster.leader())
    cluster.await_sends()
    cluster.servers.revive()


def kill_servers(cluster: Cluster) -> None:
    for number in range(cluster.size.servers):
        cluster.servers.kill(number)
    cluster.servers.revive(RECOVER_SECONDS)


def stop_server(cluster: Cluster) -> None:
    leader = cluster.leader()
    cluster.servers.signal(leader, signal.SIGSTOP)
    time.sleep(cluster.random.uniform(PAUSE_SECONDS_MIN, cluster.size.server_seconds))
    cluster.servers.signal(leader, signal.SIGCONT)


def publish_copies(cluster: Cluster) -> None:
    asyncio.run(_publish_copies(cluster))


def publish_garbage(cluster: Cluster) -> None:
    asyncio.run(_publish_garbage(cluster))


async def _publish_copies(cluster: Cluster) -> None:
    """Signed entries, old ones and the last one, once more and without a condition."""
    client = await nats.connect(servers=[f"nats://{host}" for host in cluster.servers.hosts])
    try:
        stream = client.jetstream()
        last = (await stream.stream_info(cluster.stream)).state.last_seq
        for position in [*(cluster.random.randint(1, last) for _ in range(3)), last]:
            entry = await stream.get_msg(cluster.stream, seq=position)
            mac = (entry.headers or {}).get(MAC_HEADER, "")
            await stream.publish(cluster.subject, entry.data or b"", headers={MAC_HEADER: mac})
    finally:
        await client.close()


async def _publish_garbage(cluster: Cluster) -> None:
    client = await nats.connect(servers=[f"nats://{host}" for host in cluster.servers.hosts])
    try:
        for headers in (None, {MAC_HEADER: "0" * 32}, {MAC_HEADER: ""}):
            data = cluster.random.randbytes(cluster.random.randint(0, 500))
            await client.jetstream().publish(cluster.subject, data, headers=headers)
    finally:
        await client.close()


INCIDENTS: dict[str, Callable[[Cluster], None]] = {
    "kill the hub that writes": lambda cluster: kill_hub(cluster, cluster.writer()),
    "kill another hub": lambda cluster: kill_hub(cluster, cluster.another()),
    "stop the hub that writes": stop_hub,
    "cut off the hub that writes": cut_hub,
    "lose acknowledgements of the log": lose_acks,
    "kill the leading server": kill_leader,
    "kill all servers": kill_servers,
    "stop the leading server": stop_server,
    "publish copies of entries": publish_copies,
    "publish garbage": publish_garbage,
}
ALONE = {"kill the only hub": kill_alone}


# --- a run -----------------------------------------------------------------------------------------------------------


def plan(kinds: Sequence[str], count: int, random: Random) -> list[str]:
    """Kinds of incidents in random order, each as often as the others."""
    planned: list[str] = []
    while len(planned) < count:
        planned += random.sample(kinds, len(kinds))
    return planned[:count]


def cause(cluster: Cluster, kind: str) -> Stall:
    """One incident, and the checks after it.

    Raises:
        AssertionError: a promise is broken.
    """
    began = time.monotonic()
    (INCIDENTS | ALONE)[kind](cluster)
    cluster.await_ready()
    cluster.await_sends()
    times = cluster.clients.times(began)
    check(cluster)
    return Stall(kind, max((after - before for before, after in pairwise(times)), default=0.0))


def check(cluster: Cluster) -> None:
    """Cheap checks between two incidents: every hub has the clients' last messages, and no message is acked twice."""
    ids = cluster.clients.acknowledged(SAMPLE)
    position = max(cluster.await_ready())  # the hub that has acknowledged a message has it, and this one is ahead
    for hub in cluster.hubs:
        missing = [name for name in ids if not hub.has(name, position)]
        assert not missing, f"{hub.folder.name} at {position} does not have {missing}"
    lines = read_ledgers(cluster.clients.folder)
    assert not acked_twice(lines)
    assert not [line for line in lines if line[0] == UNREAD]


def torture(
    folder: Path,
    incidents: int,
    seed: int,
    *,
    size: Size = Size(),  # noqa: B008
    kinds: Sequence[str] = tuple(INCIDENTS),
    is_planted: bool = False,
    say: Callable[[str], object] = lambda _: None,
) -> Verdict:
    random = Random(seed)
    planned = plan(kinds, incidents, random)
    cluster = Cluster(folder, random, size, PLANTED if is_planted else None)
    stalls: list[Stall] = []
    failures: list[str] = []
    began = time.monotonic()
    try:
        cluster.start()
        cluster.await_sends()
        try:
            for kind in planned:
                stalls.append(cause(cluster, kind))
                say(f"{time.monotonic() - began:.0f} s: {kind}: longest stall {stalls[-1].seconds:.2f} s")
        except AssertionError as error:
            failures.append(str(error))
        try:
            cluster.clients.stop(STOP_SECONDS if failures else RECOVER_SECONDS)
        except AssertionError as error:
            failures.append(str(error))
        for hub in cluster.hubs:
            hub.kill()
        return asyncio.run(judge(cluster, stalls, failures))
    finally:
        cluster.stop()


async def judge(cluster: Cluster, stalls: Sequence[Stall], failures: list[str]) -> Verdict:
    """Open each hub's copy and one that is made from the log alone; compare them, and the ledgers with the log."""
    digests: set[str] = set()
    async with hubs_of(cluster.servers, cluster.folder, replicas=cluster.size.servers) as team:
        team.name = cluster.team.name
        rebuilt = await team.open("rebuilt")
        for hub in cluster.hubs:
            try:
                await team.open(hub.folder.name)
            except StoreError as error:
                failures.append(f"{hub.folder.name}: {error}")
        for copy in team.hubs:
            if not await copy.refresh(REFRESH_SECONDS):
                failures.append(f"{copy.path}: {copy.status()}")
            digests.add(copy.digest())
        record = await record_of(rebuilt)
    lines = read_ledgers(cluster.clients.folder)
    kinds = [stall.kind for stall in stalls]
    return Verdict(
        incidents={kind: kinds.count(kind) for kind in dict.fromkeys(kinds)},
        sends=cluster.clients.count,
        acks=sum(line[0] == ACKED for line in lines),
        stalls={
            kind: round(max(stall.seconds for stall in stalls if stall.kind == kind), 2)
            for kind in dict.fromkeys(kinds)
        },
        comparison=compare(lines, record),
        digests=len(digests),
        failures=failures,
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--incidents", type=int, default=30)
    parser.add_argument("--seed", type=int, default=Random().randrange(10**6))
    parser.add_argument("--planted", action="store_true", help="hubs acknowledge before the log has a batch")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="telex-faults-") as folder:
        verdict = torture(
            Path(folder),
            options.incidents,
            options.seed,
            size=LONG,
            is_planted=options.planted,
            say=lambda line: print(line, file=sys.stderr, flush=True),
        )
    facts = verdict._asdict() | {"comparison": verdict.comparison._asdict()}
    print(json.dumps({"seed": options.seed, "right": verdict.is_right, **facts}, indent=1))
    return 0 if verdict.is_right else 1


if __name__ == "__main__":
    sys.exit(main())
