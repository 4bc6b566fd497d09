"""Does `telex mcp` behave as a process that coding tools start: who it is, what it prints, how it ends?"""

import asyncio
import json
import logging
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from telex.surfaces.cli.main import main
from tests.mcp.mcp_kit import NEW, OLD, TELEX, anyio_backend, at_hand, bare_environment, on_stdio
from tests.proofs import proves

__all__ = ["anyio_backend"]  # a fixture
pytestmark = pytest.mark.anyio

SECONDS_MAX = 30
OLD_VERSIONS = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")


class Piped:
    """`telex mcp` as a coding tool has it: lines of JSON through two pipes, and nothing in between."""

    def __init__(self, running: subprocess.Popen[str]) -> None:
        self.running = running

    def tell(self, method: str, id: int | None = None, **params: Any) -> None:
        assert self.running.stdin is not None
        told = {"jsonrpc": "2.0", "method": method, "params": params} | ({} if id is None else {"id": id})
        self.running.stdin.write(json.dumps(told) + "\n")
        self.running.stdin.flush()

    def ask(self, method: str, **params: Any) -> dict[str, Any]:
        self.tell(method, 1, **params)
        return self.hear()

    def hear(self) -> dict[str, Any]:
        """The next line, which must be of the protocol."""
        assert self.running.stdout is not None
        answer: dict[str, Any] = json.loads(self.running.stdout.readline())
        assert answer["jsonrpc"] == "2.0"
        return answer

    def begin(self, version: str = "2025-06-18") -> dict[str, Any]:
        client = {"name": "test", "version": "1"}
        answer = self.ask("initialize", protocolVersion=version, capabilities={}, clientInfo=client)
        self.tell("notifications/initialized")
        return answer

    def said(self, tool: str, **arguments: Any) -> str:
        text: str = self.ask("tools/call", name=tool, arguments=arguments)["result"]["content"][0]["text"]
        return text

    def end(self) -> tuple[str, str, int]:
        out, err = self.running.communicate(timeout=SECONDS_MAX)
        return out, err, self.running.returncode


@contextmanager
def piped(folder: Path, *words: str, **environment: str) -> Iterator[Piped]:
    running = subprocess.Popen(
        [TELEX, "mcp", *words],
        cwd=folder,
        env=bare_environment() | environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        yield Piped(running)
    finally:
        running.kill()
        running.communicate()


# --- the protocol --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("version", OLD_VERSIONS)
@proves("mcp/process/old-versions")
def test_every_version_of_the_old_protocol_is_spoken(version: str, tmp_path: Path) -> None:
    with piped(tmp_path, "--as", "dev") as server:
        told = server.begin(version)["result"]
        assert told["protocolVersion"] == version
        assert told["instructions"].startswith("You are dev.")
        answer = server.ask("tools/call", name="send", arguments={"message": "It is red.", "to": "lead"})["result"]
        assert answer["content"][0]["text"].startswith("stored: ")


META = {
    "io.modelcontextprotocol/protocolVersion": NEW,
    "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {},
}


@proves("mcp/process/eras")
def test_a_client_that_gave_up_its_discovery_may_still_shake_hands(tmp_path: Path) -> None:
    with piped(tmp_path, "--as", "dev") as server:
        server.tell("server/discover", 7, _meta=META)
        server.tell("notifications/cancelled", requestId=7)
        answer = server.begin()
        while answer["id"] != 1:  # the discovery may be answered too
            answer = server.hear()
        assert answer["result"]["protocolVersion"] == "2025-06-18"
        assert len(server.ask("tools/list")["result"]["tools"]) == 8
        assert not server.ask("tools/call", name="team")["result"].get("isError")
        assert "error" in server.ask("tools/list", _meta=META)


@proves("mcp/process/eras")
def test_the_first_tool_call_decides_for_an_era(tmp_path: Path) -> None:
    with piped(tmp_path, "--as", "dev") as server:
        assert "result" in server.begin()
        assert "result" in server.ask("server/discover", _meta=META)
        assert "result" in server.ask("tools/call", name="team", _meta=META)
        assert server.begin()["error"]["code"] == -32022
        assert "result" in server.ask("tools/call", name="team", _meta=META)


@proves("mcp/process/stdout")
def test_stdout_carries_the_protocol_and_nothing_else(tmp_path: Path) -> None:
    with piped(tmp_path, "--as", "dev") as server:
        server.begin()
        assert server.running.stdin is not None
        for junk in ("no JSON", '{"jsonrpc": "2.0"}', "[]", '{"jsonrpc": "2.0", "id": 7, "method": "tools/none"}'):
            server.running.stdin.write(junk + "\n")
        answer = server.ask("tools/call", name="wait", arguments={"seconds": 0})
        while answer.get("id") != 1:  # what was no request may have had an answer too
            answer = server.hear()
        assert "Nothing came for dev" in answer["result"]["content"][0]["text"]
        out, err, code = server.end()
    assert (out, code) == ("", 0)
    assert "Traceback" not in err


@proves("mcp/process/stdin-ends")
def test_it_ends_when_stdin_does_though_somebody_waits(tmp_path: Path) -> None:
    with piped(tmp_path, "--as", "dev") as server:
        server.begin()
        server.tell("tools/call", 2, name="wait", arguments={})
        assert server.ask("ping")["id"] == 1
        _, err, code = server.end()
    assert (err, code) == ("", 0)


@proves("mcp/process/logging")
def test_making_a_server_leaves_logging_alone(tmp_path: Path) -> None:
    root = logging.getLogger()
    before = (list(root.handlers), root.level)

    async def play() -> None:
        for era in (OLD, NEW):
            async with at_hand(tmp_path, era) as meet:
                await (await meet("dev")).team()

    asyncio.run(play())
    assert (list(root.handlers), root.level) == before


# --- who it is -----------------------------------------------------------------------------------------------------


@proves("mcp/process/nameless")
def test_without_a_name_it_starts_and_says_what_to_set(tmp_path: Path) -> None:
    with piped(tmp_path) as server:
        texts = [server.begin()["result"]["instructions"]]
        for tool, arguments in (("send", {"message": "It is red.", "to": "lead"}), ("wait", {"seconds": 0})):
            answer = server.ask("tools/call", name=tool, arguments=arguments)["result"]
            assert answer["isError"]
            texts.append(answer["content"][0]["text"])
        assert not server.ask("tools/call", name="team")["result"].get("isError")
    for text in texts:
        assert "no agent name" in text
        assert "telex mcp --as NAME" in text
        assert "TELEX_AGENT" in text


@proves("mcp/process/looking")
def test_looking_makes_no_store(tmp_path: Path) -> None:
    with piped(tmp_path, "--as", "dev") as server:
        server.begin()
        looks: dict[str, dict[str, Any]] = {"inbox": {}, "team": {}, "why": {"id": "x"}, "guard": {"paths": ["a.py"]}}
        for tool, arguments in looks.items():
            assert server.ask("tools/call", name=tool, arguments=arguments)["result"]["content"][0]["text"]
        assert list(tmp_path.iterdir()) == []
        server.ask("tools/call", name="send", arguments={"message": "It is red.", "to": "dev", "id": "n-1"})
        assert "n-1" in server.ask("tools/call", name="inbox", arguments={})["result"]["content"][0]["text"]
    assert (tmp_path / ".telex/telex.db").exists()


@proves("mcp/process/name-from-environment")
def test_the_name_may_come_from_the_environment(tmp_path: Path) -> None:
    with piped(tmp_path, TELEX_AGENT="qa") as server, piped(tmp_path, "--as", "dev", TELEX_AGENT="qa") as other:
        assert server.begin()["result"]["instructions"].startswith("You are qa.")
        assert other.begin()["result"]["instructions"].startswith("You are dev.")


@pytest.mark.parametrize(
    "words", [["--hub", "http://127.0.0.1:1", "--store", "x.db"], ["--store", "memory:"]], ids=["both", "memory"]
)
@proves("mcp/process/one-place")
def test_it_serves_one_place_that_lasts(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["mcp", "--as", "dev", *words]) == 64
    assert "--store" in capsys.readouterr().err


@proves("mcp/process/extra-missing")
def test_without_the_sdk_it_says_in_a_sentence_what_to_install(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delitem(sys.modules, "telex.surfaces.mcp.stdio", raising=False)
    monkeypatch.setitem(sys.modules, "mcp.server.stdio", None)
    assert main(["mcp", "--as", "dev"]) == 1
    assert capsys.readouterr().err == "telex: telex mcp needs more than the core: pip install 'telex[mcp]'\n"


# --- leases --------------------------------------------------------------------------------------------------------


def telex_mcp(folder: Path, lease: str) -> Any:
    (folder / "telex.toml").write_text(f"[limits]\nlease_seconds = {lease}\nbackoff_seconds = 0\n")
    return piped(folder, "--as", "lead")


def taken(server: Piped) -> str:
    """The token of the message that comes."""
    return server.said("wait").partition("token ")[2].partition(",")[0]


@proves("mcp/lease/renewed")
def test_a_lease_is_renewed_while_the_server_lives_and_is_free_soon_after_it_was_killed(tmp_path: Path) -> None:
    with telex_mcp(tmp_path, "1") as server, piped(tmp_path, "--as", "lead") as other:
        server.begin()
        other.begin()
        server.said("send", message="Build it.", to="lead", id="n-1")
        first = taken(server)
        assert f"You hold n-1, token {first}" in server.said("wait", seconds=0)
        while "extended" not in server.said("why", id="n-1"):
            time.sleep(0.1)
        server.running.kill()
        second = taken(other)
        assert (first.split(".")[1], second.split(".")[1]) == ("1", "2")
        assert other.said("ack", token=second) == "acked"
        assert "You hold" not in other.said("wait", seconds=0)


@proves("mcp/process/same-name")
def test_a_second_server_of_a_name_is_noticed_while_the_first_runs(tmp_path: Path) -> None:
    with piped(tmp_path, "--as", "dev") as first, piped(tmp_path, "--as", "DEV") as second:
        first.begin()
        second.begin()
        assert first.said("send", message="It is red.", to="lead").startswith("stored: ")
        assert second.said("wait", seconds=0).startswith("Another running telex mcp is DEV too")
        assert "Another running" not in first.said("wait", seconds=0)
        first.running.kill()
        first.running.wait()
        assert "Another running" not in second.said("wait", seconds=0)


@proves("mcp/lease/held-no-longer")
def test_a_message_is_held_for_a_bounded_time(tmp_path: Path) -> None:
    with telex_mcp(tmp_path, "0.5\nhold_seconds_max = 1") as server, piped(tmp_path, "--as", "lead") as other:
        server.begin()
        other.begin()
        server.said("send", message="Build it.", to="lead", id="n-1")
        first = taken(server)
        second = taken(other)
        assert (first.split(".")[1], second.split(".")[1]) == ("1", "2")


# --- the world -----------------------------------------------------------------------------------------------------


@proves("mcp/world/store-away")
async def test_a_store_that_is_away_is_told_and_the_next_call_tries_again(tmp_path: Path) -> None:
    (tmp_path / ".telex").mkdir()
    damaged = tmp_path / ".telex" / "telex.db"
    damaged.write_text("This is no store. " * 100)

    async with on_stdio(tmp_path, NEW) as meet:
        dev = await meet("dev")
        said = await dev.send(message="It is red.", to="lead")
        assert (said.wrong, said.tree["code"]) == (True, "store-damaged")
        damaged.unlink()
        assert not (await dev.send(message="It is red.", to="lead")).wrong


@proves("mcp/world/settings-wrong")
async def test_settings_that_are_wrong_are_told_and_can_be_fixed(tmp_path: Path) -> None:
    settings = tmp_path / "telex.toml"
    settings.write_text("strict = 7\n")

    async with on_stdio(tmp_path, NEW) as meet:
        dev = await meet("dev")
        said = await dev.inbox()
        assert (said.wrong, said.tree["code"]) == (True, "settings-wrong")
        assert "telex.toml" in said.text
        settings.unlink()
        assert not (await dev.inbox()).wrong
