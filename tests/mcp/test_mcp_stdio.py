"""`telex mcp` on stdio and the SDK's server: the same answers to what clients have sent, and to malformed requests."""

import asyncio
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import anyio
import mcp_types as types
import pytest
from mcp.shared.message import SessionMessage

from telex.connection import connect
from telex.surfaces.mcp.http import make_server
from telex.surfaces.mcp.identity import Identity
from telex.surfaces.mcp.stdio_protocol import HANDSHAKE_VERSIONS
from telex.surfaces.mcp.tool_calls import CallContext
from tests.mcp.mcp_kit import QUICK, bare_environment
from tests.mcp.test_mcp_process import META, piped
from tests.proofs import proves

REQUESTS = Path(__file__).parent / "requests"
RECORDED = {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in sorted(REQUESTS.glob("*.json"))}
INITIALIZED = {"jsonrpc": "2.0", "method": "notifications/initialized"}


def request(method: str, **params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}


def handshake(version: Any = "2025-11-25", **others: Any) -> dict[str, Any]:
    given = {"protocolVersion": version, "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}} | others
    return request("initialize", **given)


CALLED: dict[str, list[dict[str, Any]]] = {
    "tools/list": [{}, {"cursor": "x"}, {"cursor": 7}],
    "resources/list": [{}],
    "resources/templates/list": [{}],
    "resources/read": [{"uri": "telex://prompt/vbw-typed"}, {"uri": "telex://none"}, {}, {"uri": 7}],
    "prompts/list": [{}],
    "nothing/at-all": [{}],
    "ping": [{}, {"_meta": 7}],
    "tools/call": [
        {"name": "team"},
        {"name": "sned"},
        {"name": "team", "arguments": None},
        {"name": "team", "arguments": []},
        {"name": "why", "arguments": {}},
        {"name": "check", "arguments": {"message": {"type": "dev_blocker"}, "to": "lead"}},
        {},
        {"name": 7},
    ],
}
REQUESTED = [request(method, **params) for method, given in CALLED.items() for params in given]
MODERN = [
    request("server/discover", _meta=META),
    *(request(one["method"], **(one["params"] | {"_meta": META})) for one in REQUESTED),
    request("tools/list"),
    request("tools/list", _meta={key: value for key, value in META.items() if "Capabilities" not in key}),
    *(request("tools/list", _meta=META | {"io.modelcontextprotocol/protocolVersion": wrong}) for wrong in ("1999", 7)),
    request("tools/list", _meta=META | {"io.modelcontextprotocol/clientInfo": 7}),
    handshake(),
]
PLAYED = (
    RECORDED
    | {version: [handshake(version), INITIALIZED, *REQUESTED] for version in HANDSHAKE_VERSIONS}
    | {
        "modern": MODERN,
        "no handshake": REQUESTED[:4],
        "handshakes": [handshake("1999"), handshake(7), handshake(clientInfo={}), handshake(capabilities=None)],
    }
)


async def answers_of_sdk(lines: list[dict[str, Any]], folder: Path) -> list[dict[str, Any]]:
    async with connect(folder / "sdk.db", settings=QUICK) as bus:

        async def context_of(_: bool) -> CallContext:
            return CallContext(bus, QUICK, lambda: Identity("dev"))

        server = make_server(lambda _: context_of)
        to_server, read = anyio.create_memory_object_stream[SessionMessage | Exception](0)
        write, from_server = anyio.create_memory_object_stream[SessionMessage](16)
        async with anyio.create_task_group() as tasks, from_server, to_server:
            tasks.start_soon(server.run, read, write, server.create_initialization_options())
            answers = []
            for line in lines:
                await to_server.send(SessionMessage(types.jsonrpc_message_adapter.validate_python(line)))
                if "id" in line:
                    answer = (await from_server.receive()).message
                    answers.append(answer.model_dump(by_alias=True, exclude_unset=True, mode="json"))
            tasks.cancel_scope.cancel()
    return answers


def without_greeting(answer: dict[str, Any]) -> dict[str, Any]:
    """Instructions name the agent."""
    answer.get("result", {}).pop("instructions", None)
    return answer


@pytest.mark.parametrize("name", PLAYED)
@proves("mcp/stdio/as-the-sdk")
def test_the_answers_are_those_of_the_sdk(name: str, tmp_path: Path) -> None:
    lines = PLAYED[name]
    expected = asyncio.run(answers_of_sdk(lines, tmp_path))
    with piped(tmp_path, "--as", "dev", "--store", str(tmp_path / "own.db")) as server:
        assert server.running.stdin is not None
        answers = []
        for line in lines:
            server.running.stdin.write(json.dumps(line) + "\n")
            server.running.stdin.flush()
            if "id" in line:
                answers.append(server.hear())
    requests = [line for line in lines if "id" in line]
    for line, answer, reference in zip(requests, answers, expected, strict=True):
        assert without_greeting(answer) == without_greeting(reference), line


def imported_by(folder: Path, *lines: dict[str, Any]) -> set[str]:
    """Modules that `telex mcp` imports to answer these lines."""
    running = subprocess.Popen(
        [sys.executable, "-X", "importtime", "-m", "telex", "mcp"],
        cwd=folder,
        env=bare_environment(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert running.stdin is not None
    assert running.stdout is not None
    for line in lines:
        running.stdin.write(json.dumps(line) + "\n")
        running.stdin.flush()
        if "id" in line:
            assert "error" not in json.loads(running.stdout.readline())
    _, err = running.communicate(timeout=30)
    return {line.rpartition("|")[2].strip() for line in err.splitlines() if line.startswith("import time:")}


@proves("mcp/stdio/light")
def test_stdio_needs_no_sdk_and_its_handshake_no_event_loop(tmp_path: Path) -> None:
    listing = [handshake(), INITIALIZED, request("tools/list"), request("ping")]
    modules = imported_by(tmp_path, *listing)
    assert "telex.surfaces.mcp.stdio" in modules
    assert not modules & {"asyncio", "click", "msgspec", "logging", "apsw"}
    sent = {"name": "send", "arguments": {"message": "It is red.", "to": "lead"}}
    later = modules | imported_by(tmp_path, *listing, request("tools/call", **sent))
    assert "telex.stores.sqlite.store" in later
    assert not later & {"mcp", "mcp_types", "pydantic", "anyio", "starlette", "importlib.metadata", "click"}


@proves("mcp/stdio/wait-blocks-nothing")
def test_a_wait_blocks_no_other_request_and_can_be_cancelled(tmp_path: Path) -> None:
    with piped(tmp_path, "--as", "dev") as server, piped(tmp_path, "--as", "lead") as lead:
        server.begin()
        lead.begin()
        server.tell("tools/call", 7, name="wait", arguments={})
        assert server.ask("ping") == {"jsonrpc": "2.0", "id": 1, "result": {}}
        assert not server.ask("tools/call", name="team")["result"]["isError"]
        server.tell("notifications/cancelled", requestId=7)
        assert server.ask("ping")["id"] == 1
        lead.said("send", message="Build it.", to="dev", id="n-1")
        taken = server.ask("tools/call", name="wait", arguments={})  # the cancelled wait has no answer and no lease
        assert taken["id"] == 1
        assert "n-1: " in taken["result"]["content"][0]["text"]
