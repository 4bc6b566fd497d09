"""Does `telex serve` say where it is, let in whom it should, and stop when it is told to? As a process of its own."""

import json
import os
import re
import signal
import socket
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from telex.surfaces.cli.main import main
from telex.surfaces.cli.usage import DONE, FAILED, REFUSED, USAGE
from tests.cli.cli_kit import COMMAND, Ran, process
from tests.http.auth_kit import connected, head, read_all
from tests.proofs import proves

Capture = pytest.CaptureFixture[str]
SAYS = re.compile(r"the hub is at http://(127\.0\.0\.1|0\.0\.0\.0|localhost|\[::1\]):(\d+)/")
UP_SECONDS, DOWN_SECONDS = 60, 30


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("TELEX_STORE", "TELEX_CONFIG"):
        monkeypatch.delenv(name, raising=False)


class Process:
    def __init__(self, running: "subprocess.Popen[str]", port: int, says: str) -> None:
        self.running, self.port, self.says = running, port, says

    def ask(
        self, path: str, headers: Mapping[str, str] = {}, *, body: bytes | None = None, host: str = "127.0.0.1"
    ) -> tuple[int, Any]:
        request = urllib.request.Request(f"http://{host}:{self.port}{path}", body, dict(headers))
        try:
            with urllib.request.urlopen(request, timeout=30) as answer:
                return answer.status, json.loads(answer.read())
        except urllib.error.HTTPError as error:
            with error:
                return error.code, json.loads(error.read())

    def stop(self, by: int = signal.SIGTERM) -> Ran:
        self.running.send_signal(by)
        out, err = self.running.communicate(timeout=DOWN_SECONDS)
        return Ran(self.running.returncode, out, self.says + err)


@contextmanager
def served(*words: str) -> Iterator[Process]:
    """A hub on a free port, once it has said where it is."""
    command = [*COMMAND, "serve", "--port", "0", *words]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as running:
        try:
            assert running.stderr is not None
            line = running.stderr.readline()
            found = SAYS.search(line)
            assert found, line + (running.stderr.read() if running.poll() is not None else "")
            yield Process(running, int(found[2]), line)
        finally:
            if running.poll() is None:
                running.kill()


def run(capsys: Capture, *words: str) -> Ran:
    return Ran(main(list(words)), *capsys.readouterr())


@proves("hub/limits-settings")
def test_a_hub_bears_what_its_settings_say(tmp_path: Path, capsys: Capture) -> None:
    settings = tmp_path / "telex.toml"
    settings.write_text("[hub]\nhead_bytes_max = 8_192\nviewers_max = 1\n", encoding="utf-8")
    with served() as hub, connected(hub.port) as viewer, connected(hub.port) as wordy:
        wordy.sendall(head(hub.port, "GET /healthz HTTP/1.1", f"X-Long: {'x' * 8_192}")[:-4])  # and more would come
        assert read_all(wordy).startswith(b"HTTP/1.1 431 ")
        viewer.sendall(head(hub.port, "GET /events HTTP/1.1", "Accept: text/event-stream"))
        assert viewer.recv(65_536).startswith(b"HTTP/1.1 200 ")
        assert hub.ask("/events", {"Accept": "text/event-stream"})[0] == 429
        assert hub.ask("/events")[0] == 200
    settings.write_text("[hub]\nviewers_max = 0\nrequest_max = 5\n", encoding="utf-8")
    ran = run(capsys, "serve", "--port", "0")
    assert ran.code == USAGE
    assert "telex.toml:2: hub.viewers_max: expected a number from 1 to 1,000,000" in ran.err
    assert "telex.toml:3: hub.request_max: there is no such key here; did you mean requests_max?" in ran.err


# --- where ------------------------------------------------------------------------------------------------------------


@proves("hub/serve")
def test_it_says_in_one_line_on_stderr_where_the_page_is_and_there_it_is() -> None:
    with served() as hub:
        assert hub.ask("/readyz") == (200, {"ready": True})
        with urllib.request.urlopen(f"http://127.0.0.1:{hub.port}/", timeout=30) as page:
            assert page.headers["content-type"].startswith("text/html")
        ran = hub.stop()
    assert (ran.code, ran.out) == (DONE, "")
    assert len(ran.err.splitlines()) == 1


@proves("hub/serve")
def test_a_program_is_told_where_it_is_in_a_line_of_json() -> None:
    command = [*COMMAND, "serve", "--port", "0", "--json", "--store", "memory:"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as running:
        assert running.stdout is not None
        told = json.loads(running.stdout.readline())
        assert Process(running, told["port"], "").ask("/healthz") == (200, {"alive": True})
        running.terminate()
        assert (running.wait(DOWN_SECONDS), told["url"]) == (DONE, f"http://127.0.0.1:{told['port']}/")


@proves("hub/serve")
def test_a_port_that_is_taken_is_told_in_a_sentence(capsys: Capture) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        ran = run(capsys, "serve", "--port", str(port))
    assert (ran.code, ran.out) == (FAILED, "")
    assert f"port {port} is in use" in ran.err
    assert not Path(".telex").exists()


@proves("hub/serve")
@pytest.mark.parametrize(
    "words, code, says",
    [
        (["--port", "99999"], USAGE, "--port"),
        (["--host", "198.51.100.7"], FAILED, "cannot listen on 198.51.100.7"),
        (["--host", "no such host"], FAILED, "cannot listen on"),
        (["--host", "a" * 300], None, "host"),
        (["--host-name", "http://hub.example.org/"], USAGE, "--host-name takes a name"),
        (["--host-name", "*"], USAGE, "--host-name takes a name"),
        (["--store", "redis://x"], FAILED, "unknown store scheme redis"),
        (["--store", "nats://x"], FAILED, "nats://HOST:PORT/TEAM"),
    ],
)
def test_what_cannot_be_done_is_told_in_a_sentence(
    capsys: Capture, words: list[str], code: int | None, says: str
) -> None:
    ran = run(capsys, "serve", "--port", "0", *words)
    assert ran.code in ((FAILED, USAGE) if code is None else (code,))
    assert says in " ".join(ran.err.split())
    assert "Traceback" not in ran.err


@proves("hub/serve")
def test_without_the_extra_it_says_what_to_install(tmp_path: Path) -> None:
    (tmp_path / "uvicorn.py").write_text("raise ModuleNotFoundError(name='uvicorn')\n", encoding="utf-8")
    ran = process("serve", "--port", "0", PYTHONPATH=str(tmp_path))
    assert (ran.code, ran.err) == (
        FAILED, "telex: telex serve needs more than the core: pip install 'telex[serve]'\n",
    )  # fmt: skip


def test_nothing_heavy_is_imported_for_the_other_commands() -> None:
    code = (
        "import sys; from telex.surfaces.cli.main import main; main(['--help']); print(*sys.modules, file=sys.stderr)"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    heavy = {"uvicorn", "starlette", "uvloop", "asyncio", "telex.surfaces.http"}
    assert heavy.isdisjoint(ran.stderr.split())


# --- whom it lets in --------------------------------------------------------------------------------------------------


@proves("hub/loopback-only")
@pytest.mark.parametrize("words", [["--host", "0.0.0.0"], ["--host", "::"], ["--tokens-only"]])
def test_it_does_not_open_to_others_before_there_is_a_token(capsys: Capture, words: list[str]) -> None:
    ran = run(capsys, "serve", "--port", "0", *words)
    assert (ran.code, ran.out) == (REFUSED, "")
    assert "telex token create" in ran.err


@proves("hub/loopback-only")
def test_a_token_that_is_over_is_none_and_a_store_in_memory_has_none(capsys: Capture, tmp_path: Path) -> None:
    from telex.surfaces.http.tokens import TokenFile
    from tests.http.auth_kit import made_token

    made_token(TokenFile(str(tmp_path / ".telex/tokens.json")), expires_at=1.0)
    assert run(capsys, "serve", "--port", "0", "--host", "0.0.0.0").code == REFUSED
    assert run(capsys, "serve", "--port", "0", "--host", "0.0.0.0", "--store", "memory:").code == REFUSED


@proves("hub/loopback-only", "hub/damaged")
def test_a_damaged_list_of_tokens_is_told_before_anything_listens(capsys: Capture, tmp_path: Path) -> None:
    (tmp_path / ".telex").mkdir()
    (tmp_path / ".telex/tokens.json").write_text("{", encoding="utf-8")
    ran = run(capsys, "serve", "--port", "0", "--host", "0.0.0.0")
    assert ran.code == FAILED
    assert "is not a token file" in ran.err


def own_address() -> str | None:
    """An address of this machine that is not loopback, if it has one: whoever comes by it is a stranger."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("203.0.113.1", 9))  # nothing is sent
        except OSError:
            return None
        found: str = probe.getsockname()[0]
    return None if found.startswith("127.") else found


@proves("hub/loopback", "hub/revoked-at-once")
def test_a_stranger_comes_in_with_a_token_until_it_is_revoked(capsys: Capture) -> None:
    text = run(capsys, "token", "create", "--agent", "dev").out.strip()
    address = own_address()
    words = [] if address is None else ["--host", "0.0.0.0"]
    with served(*words, *(["--tokens-only"] if address is None else [])) as hub:
        host = address or "127.0.0.1"
        shown = {"Authorization": f"Bearer {text}"}
        assert hub.ask("/roster", host=host)[0] == 401
        assert hub.ask("/roster", shown, host=host)[0] == 200
        sent = hub.ask("/send?to=lead", shown, body=b"Good morning.", host=host)
        assert (sent[0], sent[1]["accepted"]) == (201, True)
        assert hub.ask("/send?to=lead&sender=qa", shown, body=b"Hi.", host=host)[1]["code"] == "identity-differs"
        if address is not None:
            assert hub.ask("/roster")[0] == 200  # from this very machine
        assert run(capsys, "token", "revoke", text.split("_")[1]).code == DONE
        assert hub.ask("/roster", shown, host=host)[1]["code"] == "token-not-valid"


@proves("hub/host")
def test_a_real_hub_answers_to_its_own_names_only() -> None:
    with served("--host-name", "hub.example.org") as hub:
        assert hub.ask("/roster", {"Host": "evil.example"})[1]["code"] == "host-not-allowed"
        assert hub.ask("/roster", {"Host": "hub.example.org"})[0] == 200
        assert hub.ask("/roster", {"Origin": "http://evil.example"})[1]["code"] == "origin-not-allowed"


# --- how it stops -----------------------------------------------------------------------------------------------------


@proves("hub/stop")
@pytest.mark.parametrize("by", [signal.SIGTERM, signal.SIGINT])
def test_told_to_stop_it_answers_whoever_waits_and_keeps_what_it_accepted(capsys: Capture, by: int) -> None:
    with served() as hub, connected(hub.port) as poll, connected(hub.port) as view, connected(hub.port) as idle:
        assert hub.ask("/send?sender=dev&to=lead&id=m-1", body=b"Good morning.")[0] == 201
        view.sendall(head(hub.port, "GET /events HTTP/1.1", "Accept: text/event-stream"))
        assert view.recv(4_096).startswith(b"HTTP/1.1 200 ")
        body = b'{"agent": "qa", "wait": 300}'
        poll.sendall(head(hub.port, "POST /receive HTTP/1.1", f"Content-Length: {len(body)}") + body)
        while not any(one["member"]["name"] == "qa" for one in hub.ask("/roster")[1]["answer"]):
            pass  # until the reader is seen to be there
        idle.sendall(b"GET / HTTP/1.1\r\n")
        ran = hub.stop(by)
        polled, viewed = read_all(poll), read_all(view)
    assert ran.code == DONE
    assert polled.startswith(b"HTTP/1.1 200 ")
    assert polled.endswith(b'{"answer":[]}')
    assert viewed.endswith(b"0\r\n\r\n")  # a stream that has ended, and was not torn off
    assert "Traceback" not in ran.err
    assert run(capsys, "inbox", "--as", "lead", "--json").answer["id"] == "m-1"


# --- what it logs -----------------------------------------------------------------------------------------------------


@proves("hub/log", "hub/secret")
def test_the_log_has_a_line_for_each_request_and_no_token_and_no_query(capsys: Capture) -> None:
    text = run(capsys, "token", "create", "--agent", "dev").out.strip()
    secret = text.rpartition("_")[2]
    with served("--log") as hub:
        shown = {"Authorization": f"Bearer {text}"}
        hub.ask("/roster", shown)
        hub.ask(f"/roster?token={text}")
        hub.ask(f"/messages/{text}")
        hub.ask("/roster", {"Authorization": f"Bearer {text}x"})
        hub.ask("/nowhere/%1b%5b31mred%0aline")
        hub.ask("/roster", {"X-Forwarded-For": "203.0.113.77"})
        with connected(hub.port) as rude:
            rude.sendall(f"{text}\r\n\r\n".encode())
            read_all(rude)
        ran = hub.stop()
    lines = ran.err.splitlines()[1:]
    assert [line.split()[-3] for line in lines] == ["200", "400", "404", "401", "404", "401"]
    assert f"dev:{text.split('_')[1]} GET /roster 200" in lines[0]
    assert {line.split()[1] for line in lines} == {"127.0.0.1"}  # as the connection has it, and no header
    assert secret not in ran.err
    assert "token=" not in ran.err
    assert "\x1b" not in ran.err


@proves("hub/log")
def test_without_being_asked_it_logs_nothing() -> None:
    with served() as hub:
        hub.ask("/roster")
        hub.ask("/roster", {"Host": "evil.example"})
        with connected(hub.port) as rude:
            rude.sendall(b"what?\r\n\r\n")
            read_all(rude)
        assert len(hub.stop().err.splitlines()) == 1


@proves("hub/limits-settings")
def test_a_batch_of_the_largest_messages_has_room_whatever_the_settings_say(tmp_path: Path) -> None:
    (tmp_path / "telex.toml").write_text("[hub]\nbody_bytes_max = 65_536\nbodies_bytes_max = 1_048_576\n", "utf-8")
    with served() as hub:
        sent = {"sender": "dev", "messages": [{"raw": str(one) * 1_000_000, "to": "lead"} for one in range(2)]}
        status, told = hub.ask("/send/batch", body=json.dumps(sent).encode())
        assert (status, [one["accepted"] for one in told["answer"]]) == (200, [True, True])


# --- the demo ---------------------------------------------------------------------------------------------------------


@proves("hub/demo")
def test_a_demo_team_talks_in_a_store_of_its_own(tmp_path: Path) -> None:
    with served("--demo") as hub:
        assert "with a demo team in" in hub.says
        asked = hub.ask("/events?kinds=accepted&wait=30&limit=1")
        assert asked[1]["answer"][0]["message"]["id"] == "contract-1"
        roster = hub.ask("/roster")[1]["answer"]
        assert len(roster) == 8
        assert hub.stop().code == DONE
    assert sorted(os.listdir(tmp_path)) == [".telex-demo"]
