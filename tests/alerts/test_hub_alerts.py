"""Alerts of `telex serve`, with a real receiver: kill -9, two hubs, failing targets, projects that are not trusted."""

import json
import os
import re
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import telex
from telex.config import Settings
from telex.surfaces.alerts import state
from tests.alerts.receiver import ReceivedRequest, Receiver, receiving
from tests.cli.cli_kit import COMMAND
from tests.proofs import proves
from tests.work.contract_team import ask, contract

pytestmark = pytest.mark.slow
SAYS = re.compile(r"the hub is at (http://127\.0\.0\.1:\d+)/")
QUIET = Settings(evidence="off")
QUICKER = """
import sys
from telex.surfaces.alerts import runner, state
state.CLAIM_SECONDS, state.BACKOFF_SECONDS, runner.POLL_SECONDS = 2.0, 0.2, 0.2
from telex.surfaces.cli.main import main
sys.exit(main(sys.argv[1:]))
"""


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    for name in ("TELEX_STORE", "TELEX_CONFIG"):
        monkeypatch.delenv(name, raising=False)


class Hub:
    def __init__(self, process: "subprocess.Popen[str]", url: str) -> None:
        self.process, self.url = process, url

    def get(self, path: str) -> str:
        with urllib.request.urlopen(self.url + path, timeout=30) as answer:
            return str(answer.read().decode())

    def kill(self) -> None:
        os.kill(self.process.pid, signal.SIGKILL)
        self.process.wait(30)


@contextmanager
def served(*words: str) -> Iterator[Hub]:
    """A hub with shorter waits than usual."""
    command = [sys.executable, "-c", QUICKER, "serve", "--port", "0", *words]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stderr is not None
            line = process.stderr.readline()
            found = SAYS.search(line)
            assert found, line
            yield Hub(process, found[1])
        finally:
            if process.poll() is None:
                process.kill()
            if process.stderr is not None:
                process.stderr.close()


def notify_file(text: str) -> str:
    Path("hub.toml").write_text(f"[notify]\nbatch_seconds = 0\nlinks = true\n{text}\n")
    return "hub.toml"


def have_asked(*ids: str) -> None:
    with telex.connect(settings=QUIET) as bus:
        if not bus.work_state("plan"):
            bus.send(contract(), sender="lead", to="dev")
        for id_ in ids:
            bus.send(ask(id=id_, subject=f"Let me write docs/{id_}.md"), sender="dev", to="lead")


def waiting_keys(receiver: Receiver) -> list[list[str]]:
    events = [request.json for request in receiver.at("/hook")]
    return [[item["key"] for item in event["data"]["waiting"]] for event in events]


def is_sent(receiver: Receiver, key: str) -> bool:
    return [key] in waiting_keys(receiver)


@pytest.fixture
def secret(monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("HOOK_SECRET", "0123456789abcdef")
    return 'webhook_secret = "env:HOOK_SECRET"'


@proves("alerts/ntfy", "alerts/settled", "alerts/link/once", "alerts/link/person")
def test_a_request_reaches_the_phone_is_answered_from_there_and_leaves_it() -> None:
    with receiving() as (receiver, url), served("--notify", notify_file(f'ntfy = "{url}/team"')) as hub:
        have_asked("mail")
        receiver.until(lambda: bool(receiver.ntfy))
        [shown] = receiver.ntfy.values()
        link = shown["actions"][0]["url"]
        assert link.startswith(f"{hub.url}/answer/")
        assert "docs/mail.md" in hub.get(link.removeprefix(hub.url))
        with urllib.request.urlopen(link, data=b"action=approve", timeout=30) as answer:
            assert answer.status == 200
        receiver.until(lambda: not receiver.ntfy)
        with telex.connect(settings=QUIET) as bus:
            [verdict] = bus.guard(["docs/mail.md"], agent="dev")
            assert verdict.allowed


@proves("alerts/once", "alerts/killed")
def test_hubs_that_are_killed_and_started_send_everything_once(secret: str) -> None:
    with receiving() as (receiver, url):
        file = notify_file(f'webhook = "{url}/hook"\n{secret}')
        with served("--notify", file) as hub, served("--notify", file):
            have_asked("one")
            receiver.until(partial(is_sent, receiver, "approval:one@1"))
            hub.kill()
        with served("--notify", file):
            have_asked("two")
            receiver.until(partial(is_sent, receiver, "approval:two@1"))
        ids = {request.headers["webhook-id"] for request in receiver.at("/hook")}
        assert len(ids) == 2, "a repetition after a kill has the same id"


@proves("alerts/killed")
def test_a_hub_that_is_killed_while_it_sends_is_followed_by_another_with_the_same_id(secret: str) -> None:
    with receiving() as (receiver, url):
        file = notify_file(f'webhook = "{url}/hook"\n{secret}')
        with served("--notify", file) as hub:

            def kill(_: ReceivedRequest) -> int:
                hub.kill()  # before it has the answer
                return 200

            receiver.status = kill
            have_asked("mail")
            receiver.until(lambda: len(receiver.at("/hook")) == 1)
        receiver.status = lambda _: 200
        with served("--notify", file):
            receiver.until(lambda: len(receiver.at("/hook")) == 2)
        first, second = receiver.at("/hook")
        assert first.headers["webhook-id"] == second.headers["webhook-id"] == first.json["id"] == second.json["id"]


@proves("alerts/isolated", "alerts/visible", "alerts/retry")
def test_a_failing_target_holds_up_nothing_and_is_visible(secret: str) -> None:
    with receiving() as (receiver, url):
        receiver.status = lambda request: 500 if request.path == "/hook" else 200
        file = notify_file(f'webhook = "{url}/hook"\nslack = "{url}/chat"\n{secret}')
        with served("--notify", file) as hub:
            have_asked("mail")
            receiver.until(lambda: bool(receiver.at("/chat")) and bool(receiver.at("/hook")))
            receiver.until(lambda: json.loads(hub.get("/readyz"))["alerts"] == {"webhook": "failing", "slack": "ok"})
            metrics = hub.get("/metrics")
            assert 'telex_alerts_failing{target="webhook"} 1.0' in metrics
            assert 'telex_alerts_delivered{target="slack"} 1.0' in metrics
            assert url not in metrics
            receiver.status = lambda _: 200
            receiver.until(lambda: json.loads(hub.get("/readyz"))["alerts"]["webhook"] == "ok")
            assert len({request.headers["webhook-id"] for request in receiver.at("/hook")}) == 1
            assert len(receiver.at("/chat")) == 1


@proves("alerts/project")
def test_a_cloned_project_cannot_make_a_hub_run_or_send_anything(tmp_path: Path) -> None:
    (tmp_path / "telex.toml").write_text(f'[notify]\ncommand = ["touch", "{tmp_path}/pwned"]\n')
    ran = subprocess.run([*COMMAND, "serve", "--port", "0"], capture_output=True, text=True, timeout=60)
    assert ran.returncode == 64
    assert "a project cannot choose where alerts go" in ran.stderr
    (tmp_path / "telex.toml").unlink()
    (tmp_path / "notify.toml").write_text(f'[notify]\ncommand = ["touch", "{tmp_path}/pwned"]\nbatch_seconds = 0\n')
    with receiving() as (receiver, url):
        (tmp_path / "config/telex").mkdir(parents=True)
        (tmp_path / "config/telex/notify.toml").write_text(f'[notify]\nslack = "{url}/chat"\nbatch_seconds = 0\n')
        with served():
            have_asked("mail")
            receiver.until(lambda: bool(receiver.at("/chat")))
    assert not (tmp_path / "pwned").exists()


@proves("alerts/visible")
def test_the_doctor_names_the_last_failure_and_a_program_that_is_missing(tmp_path: Path) -> None:
    with receiving() as (receiver, url):
        receiver.status = lambda _: 503
        (tmp_path / "config/telex").mkdir(parents=True)
        settings = f'[notify]\nntfy = "{url}/team"\nbatch_seconds = 0\ncommand = ["no-such-program"]\n'
        (tmp_path / "config/telex/notify.toml").write_text(settings)
        with served():
            have_asked("mail")
            receiver.until(lambda: len(receiver.requests) > 1)
    ran = subprocess.run([*COMMAND, "doctor"], capture_output=True, text=True, timeout=60)
    assert ran.returncode == 1
    assert "ntfy: answered with status 503" in ran.stdout
    assert "command: no program no-such-program" in ran.stdout


def test_the_waits_of_this_test_are_those_of_the_hub() -> None:
    assert all(hasattr(state, name) for name in ("CLAIM_SECONDS", "BACKOFF_SECONDS"))


def test_a_wrong_notify_file_stops_the_hub_with_a_line() -> None:
    file: Any = notify_file('ntfy = "ntfy.sh/x"')
    ran = subprocess.run([*COMMAND, "serve", "--notify", file], capture_output=True, text=True, timeout=60)
    assert ran.returncode == 64
    assert "hub.toml:4: notify.ntfy: give an address that begins with https://" in ran.stderr
