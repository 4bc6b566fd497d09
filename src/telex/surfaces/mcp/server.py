"""MCP server with the tools and resources; both transports run it.

It uses the SDK's low-level server, because the high-level one configures logging for the whole process and generates
its own schemas.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import mcp_types as types
from mcp import MCPError
from mcp.server.caching import CacheHint
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server

from telex.errors import NotFound, TelexError
from telex.model.finding import Finding
from telex.model.text import nearest
from telex.protocol.arguments import CODE as ARGUMENTS_WRONG
from telex.protocol.arguments import from_tree
from telex.surfaces.cli.output import shown
from telex.surfaces.mcp import resources
from telex.surfaces.mcp import result as answers
from telex.surfaces.mcp.context import CallContext
from telex.surfaces.mcp.result import ToolResult, of_arguments, of_error, of_mistake, of_silence, tellable
from telex.surfaces.mcp.tool_calls import CALLS
from telex.surfaces.mcp.tools import INSTRUCTIONS, TOOLS

Context = ServerRequestContext[Any, Any]
# Where a call is made and by whom, and whether it makes the store where there is none; may raise a TelexError.
PlaceOf = Callable[[Context, bool], Awaitable[CallContext]]
Say = Callable[[TelexError], str]
LOG = logging.getLogger("telex.mcp")
TEXT = "text/plain"
IsStructured = Callable[[Context], bool]  # whether a call asks for structured content beside the text
LISTING_FRESH_MS = 3_600_000  # the listing is the same for everybody, until Telex is upgraded


def make_server(
    place_of: PlaceOf,
    instructions: str = INSTRUCTIONS,
    say: Say = lambda error: error.say,
    is_structured: IsStructured = lambda _: False,
) -> Server[Any]:
    """`say` puts into words what went wrong: not everybody may know where the store lies."""
    handlers = _Handlers(place_of, say, is_structured)
    everybody = CacheHint(ttl_ms=LISTING_FRESH_MS, scope="public")
    return Server(
        "telex",
        version=_version(),
        instructions=instructions,
        cache_hints={"tools/list": everybody, "resources/list": everybody, "resources/templates/list": everybody},
        get_tool_input_schema=lambda name: TOOLS[name].schema if name in TOOLS else None,
        on_list_tools=handlers.list_tools,
        on_call_tool=handlers.call_tool,
        on_list_resources=handlers.list_resources,
        on_list_resource_templates=handlers.list_templates,
        on_read_resource=handlers.read_resource,
    )


class _Handlers:
    """What the SDK calls, in the words that the SDK has for it."""

    def __init__(self, place_of: PlaceOf, say: Say, is_structured: IsStructured) -> None:
        self._place_of, self._say, self._is_structured = place_of, say, is_structured

    async def list_tools(self, _: Context, __: Any) -> types.ListToolsResult:
        return types.ListToolsResult(tools=listed_tools())

    async def call_tool(self, context: Context, params: types.CallToolRequestParams) -> types.CallToolResult:
        answer = await _called(self._place_of, context, params, self._say)
        # Many clients show their model the structured content in place of the text, which has the marks and the advice.
        return types.CallToolResult(
            content=[types.TextContent(type="text", text=tellable(answer.text))],
            structured_content=tellable(answer.tree) if self._is_structured(context) else None,
            is_error=answer.wrong,
        )

    async def list_resources(self, _: Context, __: Any) -> types.ListResourcesResult:
        found = [
            types.Resource(
                uri=resource_info.uri, name=resource_info.name, description=resource_info.says, mime_type=TEXT
            )
            for resource_info in resources.OFFERED
            if not resource_info.is_template
        ]
        return types.ListResourcesResult(resources=found)

    async def list_templates(self, _: Context, __: Any) -> types.ListResourceTemplatesResult:
        found = [
            types.ResourceTemplate(
                uri_template=resource_info.uri, name=resource_info.name, description=resource_info.says, mime_type=TEXT
            )
            for resource_info in resources.OFFERED
            if resource_info.is_template
        ]
        return types.ListResourceTemplatesResult(resource_templates=found)

    async def read_resource(
        self, context: Context, params: types.ReadResourceRequestParams
    ) -> types.ReadResourceResult:
        uri = str(params.uri)
        try:
            text = await resources.read(await self._place_of(context, False), uri)
        except TelexError as error:
            code = types.INVALID_PARAMS if isinstance(error, NotFound) else types.INTERNAL_ERROR
            answer = of_error(error, self._say(error))
            data = answer.tree | {"uri": uri}
            raise MCPError(code=code, message=tellable(answer.text), data=tellable(data)) from error
        content = types.TextResourceContents(uri=uri, mime_type=TEXT, text=tellable(text))
        return types.ReadResourceResult(contents=[content])


def listed_tools() -> list[types.Tool]:
    return [
        types.Tool(
            name=name,
            description=tool.says,
            input_schema=tool.schema,
            annotations=types.ToolAnnotations(
                read_only_hint=tool.looks_only or None,
                # The rest says nothing of a tool that only looks. Nothing here ever destroys what was stored.
                destructive_hint=None if tool.looks_only else False,
                idempotent_hint=True if tool.again_is_once else None,
                open_world_hint=False,
            ),
        )
        for name, tool in TOOLS.items()
    ]


async def _called(place_of: PlaceOf, context: Context, params: types.CallToolRequestParams, say: Say) -> ToolResult:
    tool = TOOLS.get(params.name)
    if tool is None:
        meant = nearest(params.name, TOOLS)
        perhaps = f"did you mean {meant}?" if meant else f"there are {', '.join(TOOLS)}."
        raise MCPError(code=types.INVALID_PARAMS, message=f"no tool {shown(params.name[:60])}: {perhaps}")
    given = from_tree(tool.arguments, params.arguments or {})
    if isinstance(given, list):
        return of_arguments(given)
    findings = [_half(name) for name, value in given.items() if name != "message" and not _is_whole(value)]
    if findings:
        return of_arguments(findings)
    try:
        async with asyncio.timeout(answers.PATIENCE_SECONDS):
            place = await place_of(context, _makes_store(params.name, given))
            result = await CALLS[params.name](place, given)
            return result if place.notice is None else result._replace(text=f"{place.notice}\n{result.text}")
    except TimeoutError:
        return of_silence(params.name, given.get("id"))
    except TelexError as error:
        return of_error(error, say(error))
    except Exception as error:
        LOG.exception("tool %s failed", params.name)
        return of_mistake(error)


def _makes_store(name: str, given: Mapping[str, Any]) -> bool:
    """Looking makes none."""
    return name in ("send", "wait") or (name == "team" and bool(given.get("join") or given.get("reads")))


def _is_whole(value: Any) -> bool:
    """Has every text in it whole characters? No store can hold others, and only a message may have them."""
    texts = value if isinstance(value, tuple) else (value,)
    return all(text.isascii() or text == tellable(text) for text in texts if isinstance(text, str))


def _half(name: str) -> Finding:
    return Finding(ARGUMENTS_WRONG, f"$.{name}", "Rewrite it: it contains a lone surrogate, which is no text.")


def _version() -> str:
    try:
        return version("telex")
    except PackageNotFoundError:  # run from a source folder
        return "0"
