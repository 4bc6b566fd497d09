"""Hubs of one team, each a process of `telex serve`, on three real servers."""

import json
import os
import subprocess
import threading
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import telex
from telex.ports.store import EVERYTHING
from tests.http_client.http_client_kit import TELEX
from tests.nats.kit import new_team
from tests.nats.servers import Servers
from tests.proofs import proves

KEY = "0123456789abcdef0123456789abcdef"
NOTE = "a note: "
SECONDS_MAX = 30.0

pytestmark = pytest.mark.slow


class HubProcess:
    """A hub with a folder of its own, which can be killed and started again."""

    def __init__(self, servers: Servers, team: str, folder: Path, *options: str) -> None:
        self._words = [TELEX, "serve", "--store", servers.address(team), "--data", str(folder), *options]
        self.port, self.folder = 0, folder
        self.begin()

    def begin(self) -> None:
        environment = {**os.environ, "TELEX_HUB_KEY": KEY}
        words = [*self._words, "--port", str(self.port)]
        self._process = subprocess.Popen(words, stderr=subprocess.PIPE, text=True, env=environment)
        assert self._process.stderr is not None
        self.said = [self._process.stderr.readline(), self._process.stderr.readline()]
        if "http://" not in self.said[1]:
            self.said += self._process.stderr.readlines()
            self.kill()
            pytest.fail("".join(self.said))
        self.port = int(self.said[1].split("http://127.0.0.1:")[1].split("/")[0])

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def ready(self) -> dict[str, Any]:
        with urllib.request.urlopen(f"{self.url}/readyz", timeout=5) as answer:
            facts: dict[str, Any] = json.load(answer)
        return facts

    def kill(self) -> None:
        self._process.kill()
        self._process.wait(SECONDS_MAX)
        assert self._process.stderr is not None
        self._process.stderr.close()


@pytest.fixture(autouse=True)
def _nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("TELEX_STORE", "TELEX_TOKEN", "TELEX_CONFIG", "TELEX_HUB_KEY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def start(three_servers: Servers, tmp_path: Path) -> Iterator[Callable[[], HubProcess]]:
    team, hubs = new_team(), list[HubProcess]()
    monitors = ",".join(f"http://127.0.0.1:{port}" for port in three_servers.monitors)

    def begin() -> HubProcess:
        hubs.append(HubProcess(three_servers, team, tmp_path / f"hub{len(hubs)}", "--nats-monitor", monitors))
        return hubs[-1]

    yield begin
    for hub in hubs:
        hub.kill()


@proves("cluster/one-team", "cluster/wake")
def test_two_hubs_are_one_team(start: Callable[[], HubProcess]) -> None:
    first, second = start(), start()
    woken: list[str] = []

    def wait() -> None:
        with telex.connect(second.url) as bus:
            for leased in bus.receive("lead", wait=SECONDS_MAX):
                woken.append(leased.message.id)
                bus.ack(leased.token, agent="lead")

    reader = threading.Thread(target=wait)
    reader.start()
    with telex.connect(first.url) as bus:
        bus.send(NOTE, sender="dev", to="lead", id="m-1")
        reader.join(SECONDS_MAX)
        assert woken == ["m-1"]
        bus.send(NOTE, sender="dev", to="lead", id="m-2")
        logs = [list(bus.events())]
    with telex.connect(f"{second.url},{first.url}") as other:
        again = other.send(NOTE, sender="dev", to="lead", id="m-1")  # a duplicate, by what the other hub has
        assert again.accepted
        logs.append(list(other.events())[: len(logs[0])])
        assert [message.id for _, message in other.inbox("lead")] == ["m-2"]
    assert logs[0] == logs[1]


@proves("cluster/hub-lost", "cluster/server-lost")
def test_a_killed_hub_and_a_killed_server_cost_nothing(start: Callable[[], HubProcess], three_servers: Servers) -> None:
    hubs = [start(), start()]
    where = ",".join(hub.url for hub in hubs)
    ids = [f"m-{number}" for number in range(60)]
    read: list[str] = []

    def work() -> None:
        with telex.connect(where) as bus:
            while len(set(read)) < len(ids):
                for leased in bus.receive("lead", wait=5.0):
                    bus.ack(leased.token, agent="lead")
                    read.append(leased.message.id)

    reader = threading.Thread(target=work)
    reader.start()
    with telex.connect(where) as bus:
        for number, id_ in enumerate(ids):
            if number == 20:
                hubs[0].kill()
            if number == 40:
                three_servers.kill(three_servers.leader_of(three_servers_stream(hubs[1])))
            assert bus.send(NOTE + id_, sender="dev", to="lead", id=id_).accepted
        reader.join(2 * SECONDS_MAX)
        assert sorted(read) == sorted(ids)
        log = [(event.kind, message.id) for event, message in bus.events(EVERYTHING) if message is not None]
    hubs[0].begin()
    assert "every write is synced" in hubs[0].said[0]  # the server that is away counts as it was last seen
    with pytest.raises(pytest.fail.Exception, match="is not the monitoring address of a NATS server"):
        start()  # a new hub has never seen it
    three_servers.revive()
    with telex.connect(hubs[0].url) as bus:  # the hub that was killed has everything again
        assert [(event.kind, message.id) for event, message in bus.events(EVERYTHING) if message is not None] == log
    accepted = [id_ for kind, id_ in log if kind == "accepted"]
    assert sorted(accepted) == sorted(ids)


def three_servers_stream(hub: HubProcess) -> str:
    return f"TELEX_{hub.ready()['replica']['team']}"


@proves("cluster/durability")
def test_a_hub_says_how_durable_its_log_is(
    start: Callable[[], HubProcess], one_server: Servers, tmp_path: Path
) -> None:
    hub = start()
    assert "3 replicas, every write is synced" in hub.said[0]
    assert hub.ready()["replica"]["durable"] is True
    team, environment = new_team(), {**os.environ, "TELEX_HUB_KEY": KEY}
    words = [TELEX, "serve", "--store", one_server.address(team), "--data", str(tmp_path / "weak"), "--port", "0"]
    words += ["--replicas", "1"]
    refused = subprocess.run(words, env=environment, capture_output=True, text=True, timeout=SECONDS_MAX)
    assert refused.returncode == 1
    assert "--accept-weaker-durability" in refused.stderr
    weak = HubProcess(one_server, team, tmp_path / "weak", "--replicas", "1", "--accept-weaker-durability")
    try:
        assert "may be lost" in weak.said[0]
        assert weak.ready()["replica"]["durable"] is False
        sent = run(
            "send", "--as", "dev", "--role", "dev", "--to", "lead", "--json", "-", TELEX_STORE=weak.url, input="Red."
        )
        [note] = [row for row in json.loads(sent.stdout)["findings"] if row["code"] == "weaker-durability"]
        assert "1 replica" in note["say"]
    finally:
        weak.kill()


def run(*words: str, input: str = "", **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [TELEX, *words],
        input=input,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=SECONDS_MAX,
    )


@proves("cluster/key/file")
@pytest.mark.parametrize("path", ["/etc/telex/no-such-hub.key", "./no-such/hub.key", "no-such-folder/hub.key"])
def test_the_path_of_a_key_file_that_is_not_there_is_no_key(path: str) -> None:
    opened = run("serve", "--store", "nats://127.0.0.1:1/demo", "--port", "0", TELEX_HUB_KEY=path)
    assert (opened.returncode, f"cannot read {path}" in opened.stderr) == (1, True)


@proves("cluster/only-hubs", "cluster/copy-is-no-store", "cluster/key")
def test_only_a_hub_with_the_key_opens_a_team(start: Callable[[], HubProcess], one_server: Servers) -> None:
    address = one_server.address(new_team())
    sent = run("inbox", "--as", "dev", "--store", address)
    assert (sent.returncode, "only a hub opens a replicated team" in sent.stderr) == (1, True)
    keyless = run("serve", "--store", address, "--port", "0", "--accept-weaker-durability")
    assert (keyless.returncode, "TELEX_HUB_KEY" in keyless.stderr) == (1, True)
    Path("telex.toml").write_text(f'[store]\npath = "{address}"\n')
    named = run("serve", "--port", "0", "--accept-weaker-durability", TELEX_HUB_KEY=KEY)
    assert named.returncode != 0
    Path("telex.toml").unlink()
    hub = start()
    opened = run("team", "--store", str(hub.folder))
    assert (opened.returncode, "copy of a replicated team" in opened.stderr) == (1, True)
