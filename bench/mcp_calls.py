"""MCP server: time to its first answer, tokens of the tool listing, and time of each call.

Both servers are processes on stdin and stdout, called by the SDK's own client: `telex mcp` on a local store, reading an
inbox with one message, and the SDK's server with a tool that does nothing. A client waits for the first answer at its
start; the row compares it with the start of Python.
"""

import asyncio
import json
import statistics
import subprocess
import sys
import tempfile
import time
from contextlib import AsyncExitStack
from pathlib import Path

from mcp import Client, StdioServerParameters

import telex
from bench.mcp_noop import NAME
from bench.measure import Line, Turn, micro, percentiles, process_seconds, times_as_many
from bench.peers import SETTINGS, outside
from bench.samples import updates
from telex.generate.prompt import tokens_estimated

ROUNDS = 5
STARTS = 15
CALLS = 200  # in a round
TOKENS_MAX, TIMES_MAX, START_MAX, CPU_MAX = 900, 2.0, 5.0, 5.0
TELEX = str(Path(sys.executable).with_name("telex"))
HANDSHAKE = {
    "protocolVersion": "2025-11-25",
    "capabilities": {},
    "clientInfo": {"name": "claude-code", "version": "1"},
}
OURS, NOTHING = "telex, inbox", "the SDK's server, a tool that does nothing"
ROOT = Path(__file__).parent.parent


def lines() -> list[Line]:
    with tempfile.TemporaryDirectory(dir=outside()) as folder, asyncio.Runner() as loop:
        with telex.connect(f"{folder}/telex.db", settings=SETTINGS) as bus:
            assert bus.send(updates("mcp", 1)[0], sender="dev", to="lead").accepted
        return [*_starts(folder), *loop.run(_lines(folder))]


def _starts(folder: str) -> list[Line]:
    """Of the handshake: until its answer, and the CPU time of a process that answers nothing else."""
    telex_mcp = [TELEX, "mcp", "--as", "lead", "--store", f"{folder}/telex.db"]
    python = [sys.executable, "-I", "-c", "pass"]
    asked = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": HANDSHAKE}).encode() + b"\n"
    waits, starts, works, floors = [], [], [], []
    for number in range(STARTS + 1):
        rows = (_answer_seconds(telex_mcp, asked), _end_seconds(python))
        cpu = (process_seconds(telex_mcp, asked), process_seconds(python))
        if number:
            for row, value in zip((waits, starts, works, floors), (*rows, *cpu), strict=True):
                row.append(value)
    wait, start, work, floor = (statistics.median(row) for row in (waits, starts, works, floors))
    floor_name, times, cpu_times = "python -I -c pass", wait / start, work / floor
    return [
        Line(
            "telex mcp: until its first answer",
            micro(wait),
            floor_name,
            times,
            f"at most {START_MAX:g} ×",
            times <= START_MAX,
        ),
        Line(
            "telex mcp: handshake (CPU time)",
            micro(work),
            floor_name,
            cpu_times,
            f"at most {CPU_MAX:g} ×",
            cpu_times <= CPU_MAX,
        ),
    ]


def _answer_seconds(command: list[str], asked: bytes) -> float:
    start = time.perf_counter()
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        server.stdin.write(asked)
        server.stdin.flush()
        assert b"result" in server.stdout.readline()
        return time.perf_counter() - start


def _end_seconds(command: list[str]) -> float:
    start = time.perf_counter()
    subprocess.run(command, check=True)
    return time.perf_counter() - start


async def _lines(folder: str) -> list[Line]:
    words = ["-m", "telex", "mcp", "--as", "lead", "--store", f"{folder}/telex.db"]
    async with AsyncExitStack() as stack:
        ours, nothing = [
            await stack.enter_async_context(
                Client(StdioServerParameters(command=sys.executable, args=args, cwd=where), mode="auto")
            )
            for args, where in ((words, folder), (["-m", "bench.mcp_noop"], ROOT))
        ]
        turns: dict[str, list[Turn]] = {OURS: [], NOTHING: []}
        for number in range(ROUNDS + 1):
            for name, client, tool in ((OURS, ours, "inbox"), (NOTHING, nothing, NAME)):
                turn = await _calls(client, tool)
                if number:  # the first finds every cache empty
                    turns[name].append(turn)
        tokens = await _tokens(ours)
    return _report(turns, tokens)


async def _calls(client: Client, tool: str) -> Turn:
    each: list[float] = []
    start = before = time.perf_counter()
    for _ in range(CALLS):
        answer = await client.call_tool(tool, {})
        assert not answer.is_error, answer
        after = time.perf_counter()
        each.append(after - before)
        before = after
    return Turn(CALLS, before - start, each)


async def _tokens(client: Client) -> int:
    listed = [
        tool.model_dump(by_alias=True, exclude_none=True, mode="json") for tool in (await client.list_tools()).tools
    ]
    return tokens_estimated(json.dumps(listed, separators=(",", ":"), ensure_ascii=False))


def _report(turns: dict[str, list[Turn]], tokens: int) -> list[Line]:
    share = tokens / TOKENS_MAX
    listing = Line(
        "MCP: all tools listed",
        f"{tokens} tokens",
        f"{TOKENS_MAX} tokens",
        share,
        "at most 1",
        share <= 1,
    )
    times = times_as_many(turns, NOTHING, OURS)
    each = percentiles([seconds for turn in turns[OURS] for seconds in turn.each])
    promise = f"under {TIMES_MAX:g} ×"
    return [listing, Line("an MCP call on the local store, stdio", each, NOTHING, times, promise, times < TIMES_MAX)]
