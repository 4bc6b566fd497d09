"""Does `telex mcp` behave as a process that coding tools start: who it is, what it prints, how it ends?"""

import asyncio
import json
import logging
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from telex.connection import connect
from telex.surfaces.cli.main import main
from telex.surfaces.mcp.stdio import LINE_BYTES_MAX
from tests.mcp.mcp_kit import NEW, OLD, TELEX, anyio_backend, at_hand, bare_environment, on_stdio
from tests.proofs import proves
from tests.surfaces.surfaces_kit import Time, running_hub

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

    def begin(self, version: str = "2025-06-18", client: str = "test", **capabilities: Any) -> dict[str, Any]:
        about = {"name": client, "version": "1"}
        answer = self.ask("initialize", protocolVersion=version, capabilities=capabilities, clientInfo=about)
        self.tell("notifications/initialized")
        return answer

    def said(self, tool: str, **arguments: Any) -> str:
        text: str = self.ask("tools/call", name=tool, arguments=arguments)["result"]["content"][0]["text"]
        return text

    def end(self) -> tuple[str, str, int]:
        out, err = self.running.communicate(timeout=SECONDS_MAX)
        return out, err, self.running.returncode


@contextmanager
def piped(folder: Path, *words: str, client: tuple[str, ...] = (), **environment: str) -> Iterator[Piped]:
    """`client`: the command line of the process that starts it, if that is not this one."""
    running = subprocess.Popen(
        [*client, TELEX, "mcp", *words],
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
        assert told["instructions"].startswith("Message, ask or answer the other agents")
        assert "read your inbox. You are dev. Tools: send, wait" in told["instructions"]
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


@proves("mcp/process/stdin-ends")
def test_it_ends_at_once_without_a_stdin(tmp_path: Path) -> None:
    command = ["sh", "-c", 'exec "$@" <&-', "sh", TELEX, "mcp", "--as", "dev"]
    ran = subprocess.run(
        command, capture_output=True, cwd=tmp_path, env=bare_environment(), timeout=SECONDS_MAX, check=False
    )
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, b"", b"")


@proves("mcp/process/line")
def test_a_line_without_end_is_dropped_and_the_next_one_answered(tmp_path: Path) -> None:
    with piped(tmp_path, "--as", "dev") as server:
        server.begin()
        server.tell("ping", 5, padding="x" * LINE_BYTES_MAX)
        server.tell("ping", 6, padding="x" * 1_000_000)
        assert server.hear()["id"] == 6


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


@pytest.mark.parametrize(
    "client, name",
    [("claude-code", "claude"), ("codex-mcp-client", "codex"), ("qwen-cli-mcp-client-telex", "qwen"), ("ide", "agent")],
)
@proves("mcp/process/nameless")
def test_without_a_name_it_takes_a_free_one_after_its_client(client: str, name: str, tmp_path: Path) -> None:
    with connect(tmp_path / ".telex/telex.db") as bus:
        bus.join(f"{name}-1", role="agent")
    with piped(tmp_path) as server:
        told = server.begin(client=client)["result"]["instructions"]
        assert f"You are {name}-2." in told
        assert "TELEX_AGENT" in told
        assert server.said("send", message="It is red.", to="lead", id="n-1").startswith("stored: ")
    with connect(tmp_path / ".telex/telex.db") as bus:
        [story] = bus.why("n-1")
        assert (story.message.sender, story.message.role) == (f"{name}-2", "agent")


@proves("mcp/process/nameless")
def test_at_a_hub_without_a_name_it_says_what_to_set(tmp_path: Path) -> None:
    with running_hub(tmp_path / "hub.db", Time()) as hub, piped(tmp_path, "--hub", hub.url) as server:
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
        assert "You are qa." in server.begin()["result"]["instructions"]
        assert "You are dev." in other.begin()["result"]["instructions"]


@pytest.mark.parametrize(
    "words", [["--hub", "http://127.0.0.1:1", "--store", "x.db"], ["--store", "memory:"]], ids=["both", "memory"]
)
@proves("mcp/process/one-place")
def test_it_serves_one_place_that_lasts(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["mcp", "--as", "dev", *words]) == 64
    assert "--store" in capsys.readouterr().err


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
        assert (await dev.send(message="It is red.", to="lead")).tree["accepted"]


@proves("mcp/world/store-away")
async def test_a_store_that_is_deleted_or_replaced_is_opened_again(tmp_path: Path) -> None:
    async with on_stdio(tmp_path, NEW) as meet:
        dev = await meet("dev")
        assert (await dev.send(message="It is red.", to="dev")).tree["accepted"]
        (tmp_path / ".telex").rename(tmp_path / "moved")
        assert (await dev.inbox()).tree["messages"] == []
        assert (await dev.send(message="It is green.", to="dev")).tree["accepted"]
        assert ["green" in one["line"] for one in (await dev.inbox()).tree["messages"]] == [True]
        (tmp_path / ".telex").rename(tmp_path / "other")
        (tmp_path / "moved").rename(tmp_path / ".telex")
        assert ["red" in one["line"] for one in (await dev.inbox()).tree["messages"]] == [True]


@proves("mcp/world/store-away")
async def test_a_working_directory_that_is_deleted_is_told(tmp_path: Path) -> None:
    (tmp_path / "tree").mkdir()
    async with on_stdio(tmp_path / "tree", NEW) as meet:
        dev = await meet("dev")
        assert not (await dev.inbox()).wrong
        (tmp_path / "tree").rmdir()
        for said in (await dev.inbox(), await dev.send(message="It is red.", to="lead")):
            assert (said.wrong, said.tree["code"]) == (True, "store-unavailable")


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
