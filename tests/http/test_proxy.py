"""The hub behind nginx with TLS, with the configuration of docs/hub.md; and the unit of systemd on that page."""

import asyncio
import contextlib
import re
import shutil
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import httpx2
import pytest

import telex
from telex.ports.store import Query
from telex.surfaces.cli.main import main
from tests.browser.hub_process import HubProcess
from tests.proofs import proves

PAGE = (Path(__file__).parents[2] / "docs/hub.md").read_text(encoding="utf-8")
NAME = "hub.example.org"
NGINX = """
daemon off;
user root;
pid {folder}/nginx.pid;
error_log {folder}/error.log;
events {{}}
http {{
    access_log off;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
{server}
}}
"""
START_SECONDS = 30.0


def block(language: str) -> str:
    found = re.findall(rf"^```{language}\n(.*?)^```$", PAGE, flags=re.DOTALL | re.MULTILINE)
    assert len(found) == 1
    return str(found[0])


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
        return port


def certificate(folder: Path) -> None:
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", f"/CN={NAME}"]
    files = ["-addext", f"subjectAltName=DNS:{NAME}", "-keyout", f"{folder}/privkey.pem", "-out", f"{folder}/chain.pem"]
    subprocess.run([*command, *files], check=True, capture_output=True)


def configuration(folder: Path, port: int, hub_port: int) -> str:
    """The server of the page, with the ports and certificates of this test."""
    server = block("nginx")
    for old, new in {
        "listen 443 ssl": f"listen 127.0.0.1:{port} ssl",
        f"/etc/letsencrypt/live/{NAME}/fullchain.pem": f"{folder}/chain.pem",
        f"/etc/letsencrypt/live/{NAME}/privkey.pem": f"{folder}/privkey.pem",
        "127.0.0.1:4477": f"127.0.0.1:{hub_port}",
    }.items():
        assert old in server
        server = server.replace(old, new)
    return NGINX.format(folder=folder, server=server)


def await_port(port: int, process: "subprocess.Popen[bytes]") -> None:
    deadline = time.monotonic() + START_SECONDS
    while process.poll() is None and time.monotonic() < deadline:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1.0):
            return
        time.sleep(0.02)
    raise AssertionError("nginx did not start")


def resolve(real: Callable[..., Any], host: Any, *rest: Any, **more: Any) -> Any:
    return real("127.0.0.1" if host in (NAME, NAME.encode()) else host, *rest, **more)


@pytest.fixture
def proxy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Iterator[tuple[str, str]]:
    """The address of a hub behind nginx, whose name resolves to this machine, and a token of dev."""
    nginx, openssl = shutil.which("nginx", path="/usr/sbin:/usr/local/sbin:/usr/bin"), shutil.which("openssl")
    if nginx is None or openssl is None:
        pytest.skip("nginx or openssl is missing")
    certificate(tmp_path)
    hub, port = HubProcess(tmp_path), free_port()
    assert main(["token", "create", "--agent", "dev", "--store", str(hub.store)]) == 0
    token = capsys.readouterr().out.strip()
    hub.start("--tokens-only", "--host-name", NAME)
    (tmp_path / "nginx.conf").write_text(configuration(tmp_path, port, hub.port), encoding="utf-8")
    process = subprocess.Popen([nginx, "-p", str(tmp_path), "-c", "nginx.conf", "-e", str(tmp_path / "error.log")])
    try:
        await_port(port, process)
        monkeypatch.setattr(socket, "getaddrinfo", partial(resolve, socket.getaddrinfo))
        monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "chain.pem"))
        for name in ("http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
            monkeypatch.delenv(name, raising=False)
        yield f"https://{NAME}:{port}", token
    finally:
        process.terminate()
        process.wait(START_SECONDS)
        hub.stop()


@proves("hub/proxy")
def test_a_hub_behind_nginx_serves_verbs_live_events_and_the_page(proxy: tuple[str, str]) -> None:
    address, token = proxy

    async def story() -> None:
        async with telex.connect(address, token=token) as bus:
            seen = asyncio.create_task(first_accepted(bus))
            receipt = await bus.send("The build is red.\n" * 20_000, sender="dev", to="dev", id="note-1")
            [leased] = await bus.receive("dev", wait=10)
            assert (receipt.accepted, await seen, leased.message.id) == (True, "note-1", "note-1")
            assert await bus.ack(leased.token, agent="dev")

    asyncio.run(story())
    for headers in ({}, {"origin": f"https://{NAME}"}):
        assert httpx2.get(address, headers=headers).status_code == 200
    assert httpx2.get(f"{address}/events").status_code == 401
    other = httpx2.post(f"{address}/receive", headers={"origin": "https://other.example"}, json={"agent": "dev"})
    assert (other.status_code, other.json()["code"]) == (403, "origin-not-allowed")


async def first_accepted(bus: Any) -> str:
    async for _, message in bus.events(Query(kinds=("accepted",)), follow=True):
        return str(message.id)
    raise AssertionError("the stream ended")


@proves("hub/service")
def test_systemd_accepts_the_unit_of_the_page(tmp_path: Path) -> None:
    if shutil.which("systemd-analyze") is None:
        pytest.skip("systemd-analyze is missing")
    unit = tmp_path / "telex.service"
    unit.write_text(block("ini").replace("/opt/telex/bin/telex", "/bin/true"), encoding="utf-8")
    done = subprocess.run(["systemd-analyze", "verify", str(unit)], capture_output=True, text=True, check=False)
    assert [line for line in done.stderr.splitlines() if "telex.service" in line] == []
    assert done.returncode == 0


@proves("hub/service")
def test_the_command_of_the_unit_is_one_that_telex_takes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    [command] = re.findall(r"^ExecStart=/opt/telex/bin/telex (.*)$", block("ini"), re.MULTILINE)
    monkeypatch.chdir(tmp_path)
    assert main([*command.split(), "--help"]) == 0
    assert main([*command.split(), "--no-such-option"]) == 64
