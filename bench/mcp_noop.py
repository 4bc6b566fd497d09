"""The SDK's own server with one tool that does nothing: the lower bound of a call."""

import asyncio
from typing import Any

import mcp_types as types
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server

NAME = "nothing"
_SCHEMA: dict[str, Any] = {"type": "object", "properties": {}}


async def _listed(context: Any, params: Any) -> types.ListToolsResult:
    return types.ListToolsResult(tools=[types.Tool(name=NAME, description="Do nothing.", input_schema=_SCHEMA)])


async def _called(context: Any, params: Any) -> types.CallToolResult:
    return types.CallToolResult(content=[types.TextContent(type="text", text="done")])


async def main() -> None:
    server: Any = Server("nothing", on_list_tools=_listed, on_call_tool=_called)
    async with stdio_server() as streams:
        await server.run(*streams, server.create_initialization_options())


if __name__ == "__main__":
    asyncio.run(main())
