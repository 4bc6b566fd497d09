"""MCP server: tokens of the tool listing, and time of each call.

Both servers are processes on stdin and stdout, called by the SDK's own client: `telex mcp` on a local store, reading an
inbox with one message, and the SDK's server with a tool that does nothing.
"""

import asyncio
import json
import sys
import tempfile
import time
from contextlib import AsyncExitStack
from pathlib import Path

from mcp import Client, StdioServerParameters

import telex
from bench.mcp_noop import NAME
from bench.measure import Line, Turn, percentiles, times_as_many
from bench.peers import SETTINGS, outside
from bench.samples import updates
from telex.generate.prompt import tokens_estimated
from telex.surfaces.mcp.tools import INSTRUCTIONS

ROUNDS = 5
CALLS = 200  # in a round
TOKENS_MAX, TIMES_MAX = 1_500, 2.0
OURS, NOTHING = "telex, inbox", "the SDK's server, a tool that does nothing"
ROOT = Path(__file__).parent.parent


def lines() -> list[Line]:
    with tempfile.TemporaryDirectory(dir=outside()) as folder, asyncio.Runner() as loop:
        with telex.connect(f"{folder}/telex.db", settings=SETTINGS) as bus:
            assert bus.send(updates("mcp", 1)[0], sender="dev", to="lead").accepted
        return loop.run(_lines(folder))


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
    return tokens_estimated(json.dumps(listed, separators=(",", ":"), ensure_ascii=False)) + tokens_estimated(
        INSTRUCTIONS
    )


def _report(turns: dict[str, list[Turn]], tokens: int) -> list[Line]:
    share = tokens / TOKENS_MAX
    listing = Line(
        "MCP: all tools listed, and what the server says of itself",
        f"{tokens} tokens",
        "1,500 tokens",
        share,
        "under 1",
        share < 1,
    )
    times = times_as_many(turns, NOTHING, OURS)
    each = percentiles([seconds for turn in turns[OURS] for seconds in turn.each])
    promise = f"under {TIMES_MAX:g} ×"
    return [listing, Line("an MCP call on the local store, stdio", each, NOTHING, times, promise, times < TIMES_MAX)]
