"""MCP server with the tools and resources; both transports run it.

It uses the SDK's low-level server, because the high-level one configures logging for the whole process and generates
its own schemas.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from importlib.metadata import PackageNotFoundError, version
from typing import Any
from urllib.parse import unquote

import mcp_types as types
from mcp import MCPError
from mcp.server.caching import CacheHint
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server

from telex.dialects.registry import by_name, one_of_each
from telex.dialects.schema import Dialect
from telex.errors import NotFound, TelexError
from telex.generate.prompt import CHARACTERS_PER_TOKEN, prompt
from telex.generate.type_view import participants
from telex.model.text import nearest
from telex.protocol.arguments import from_tree
from telex.surfaces.cli.output import shown
from telex.surfaces.cli.render import marked, text_of
from telex.surfaces.mcp import text as results
from telex.surfaces.mcp.text import DATA, ToolResult, fitting, head_of, without_surrogates
from telex.surfaces.mcp.tool_calls import CALLS, CallContext
from telex.surfaces.mcp.tools import INSTRUCTIONS, TOOLS
from telex.trace.diagrams import render_tree
from telex.validation.authorization import normalised

Context = ServerRequestContext[Any, Any]
# The context of a call, and whether it may create the store; may raise a TelexError.
ContextOf = Callable[[Context, bool], Awaitable[CallContext]]
LOG = logging.getLogger("telex.mcp")
LISTING_FRESH_MS = 3_600_000  # the listing changes with an upgrade of Telex only

PROMPT, THREAD = "telex://prompt", "telex://thread/"
THREAD_TOKENS = 8_000  # of one conversation
CUT = "cut: {:,} characters left out; inbox with this id shows them"
RESOURCES = {  # with braces: a template
    PROMPT: ("prompt", "Every message that your role may send, in short form"),
    f"{PROMPT}/{{dialect}}": ("prompt of a dialect", "The same for one dialect"),
    f"{THREAD}{{correlation}}": ("thread", "A conversation: its messages and their states"),
}


def make_server(
    context_of: ContextOf,
    instructions: str = INSTRUCTIONS,
    say: Callable[[TelexError], str] = lambda error: error.say,
    is_structured: Callable[[Context], bool] = lambda _: False,
) -> Server[Any]:
    """`say`: the text of an error, without paths for remote callers. `is_structured`: whether a call asks for
    structured content beside the text."""
    handlers = _Handlers(context_of, say, is_structured)
    public = CacheHint(ttl_ms=LISTING_FRESH_MS, scope="public")
    return Server(
        "telex",
        version=_version(),
        instructions=instructions,
        cache_hints={"tools/list": public, "resources/list": public, "resources/templates/list": public},
        get_tool_input_schema=lambda name: TOOLS[name].schema if name in TOOLS else None,
        on_list_tools=handlers.list_tools,
        on_call_tool=handlers.call_tool,
        on_list_resources=handlers.list_resources,
        on_list_resource_templates=handlers.list_templates,
        on_read_resource=handlers.read_resource,
    )


def _version() -> str:
    try:
        return version("telex")
    except PackageNotFoundError:  # run from a source folder
        return "0"


class _Handlers:
    """Handlers of the SDK's requests."""

    def __init__(
        self,
        context_of: ContextOf,
        say: Callable[[TelexError], str],
        is_structured: Callable[[Context], bool],
    ) -> None:
        self._context_of, self._say, self._is_structured = context_of, say, is_structured

    async def list_tools(self, _: Context, __: Any) -> types.ListToolsResult:
        return types.ListToolsResult(tools=[_listed(name) for name in TOOLS])

    async def call_tool(self, context: Context, params: types.CallToolRequestParams) -> types.CallToolResult:
        result = await self._call(context, params.name, params.arguments or {})
        # Many clients show their model the structured content in place of the text, which has the marks and the advice.
        return types.CallToolResult(
            content=[types.TextContent(type="text", text=without_surrogates(result.text))],
            structured_content=without_surrogates(result.tree) if self._is_structured(context) else None,
            is_error=result.wrong,
        )

    async def _call(self, context: Context, name: str, arguments: dict[str, Any]) -> ToolResult:
        if name not in TOOLS:
            meant = nearest(name, TOOLS)
            choices = f"did you mean {meant}?" if meant else f"there are {', '.join(TOOLS)}."
            raise MCPError(code=types.INVALID_PARAMS, message=f"no tool {shown(name[:60])}: {choices}")
        given = from_tree(TOOLS[name].arguments, arguments)
        if isinstance(given, list):
            return results.of_arguments(given)
        for key, value in given.items():
            if key != "message" and _has_surrogates(value):
                return results.of_argument(key, "Rewrite it: it contains a lone surrogate, which is no text.")
        try:
            async with asyncio.timeout(results.PATIENCE_SECONDS):
                call_context = await self._context_of(context, _creates_store(name, given))
                result = await CALLS[name](call_context, given)
                notice = call_context.notice
                return result if notice is None else result._replace(text=f"{notice}\n{result.text}")
        except TimeoutError:
            return results.of_timeout(name, given.get("id"))
        except TelexError as error:
            return results.of_error(error, self._say(error))
        except Exception as error:
            LOG.exception("tool %s failed", name)
            return results.of_bug(error)

    async def list_resources(self, _: Context, __: Any) -> types.ListResourcesResult:
        listed = [
            types.Resource(uri=uri, name=name, description=says, mime_type="text/plain")
            for uri, (name, says) in RESOURCES.items()
            if "{" not in uri
        ]
        return types.ListResourcesResult(resources=listed)

    async def list_templates(self, _: Context, __: Any) -> types.ListResourceTemplatesResult:
        listed = [
            types.ResourceTemplate(uri_template=uri, name=name, description=says, mime_type="text/plain")
            for uri, (name, says) in RESOURCES.items()
            if "{" in uri
        ]
        return types.ListResourceTemplatesResult(resource_templates=listed)

    async def read_resource(
        self, context: Context, params: types.ReadResourceRequestParams
    ) -> types.ReadResourceResult:
        uri = str(params.uri)
        try:
            text = await _read(await self._context_of(context, False), uri)
        except TelexError as error:
            code = types.INVALID_PARAMS if isinstance(error, NotFound) else types.INTERNAL_ERROR
            result = results.of_error(error, self._say(error))
            data = without_surrogates(result.tree | {"uri": uri})
            raise MCPError(code=code, message=without_surrogates(result.text), data=data) from error
        content = types.TextResourceContents(uri=uri, mime_type="text/plain", text=without_surrogates(text))
        return types.ReadResourceResult(contents=[content])


def _listed(name: str) -> types.Tool:
    tool = TOOLS[name]
    annotations = types.ToolAnnotations(
        read_only_hint=tool.looks_only or None,
        destructive_hint=None if tool.looks_only else False,  # no tool deletes stored messages
        idempotent_hint=True if tool.again_is_once else None,
        open_world_hint=False,
    )
    return types.Tool(name=name, description=tool.says, input_schema=tool.schema, annotations=annotations)


def _creates_store(name: str, given: Mapping[str, Any]) -> bool:
    return name in ("send", "wait") or (name == "team" and bool(given.get("join") or given.get("reads")))


def _has_surrogates(value: Any) -> bool:
    """No store can hold lone surrogates; only a message may contain them."""
    texts = value if isinstance(value, tuple) else (value,)
    return any(not text.isascii() and text != without_surrogates(text) for text in texts if isinstance(text, str))


# --- resources --------------------------------------------------------------------------------------------------------


async def _read(context: CallContext, uri: str) -> str:
    """The text of a resource.

    Raises:
        NotFound: there is none of that address.
    """
    if uri == PROMPT or uri.startswith(f"{PROMPT}/"):
        return await _prompt(context, unquote(uri.removeprefix(PROMPT).removeprefix("/")))
    if uri.startswith(THREAD) and uri != THREAD:
        return await _thread(context, unquote(uri.removeprefix(THREAD)))
    raise NotFound(f"no resource {uri[:128]}: there are {', '.join(RESOURCES)}.")


async def _prompt(context: CallContext, name: str) -> str:
    who = context.who()
    members = [presence.member for presence in await context.bus.roster()]
    role = next((member.role for member in members if member.name == normalised(who.agent)), None)
    role = role or normalised(who.role or who.agent)
    dialects = _dialects_for(context, role, name)
    if not dialects:
        return f"No dialect has a role {role}: send any text.\n"
    return "\n".join(prompt(dialect, role) for dialect in dialects)


def _dialects_for(context: CallContext, role: str, name: str) -> list[Dialect]:
    """The named dialect; else the team's default if it has the role; else all that have it."""
    dialects = context.dialects
    if name:
        named = by_name(name, tuple(dialects.values()))
        if named is None:
            raise NotFound(f"no dialect {name[:128]}: there are {', '.join(dialects)}.")
        return [named]
    having = [dialect for dialect in dialects.values() if role in participants(dialect)]
    preferred = [dialect for dialect in having if dialect.name == context.settings.dialect]
    return preferred or one_of_each(having)


async def _thread(context: CallContext, correlation: str) -> str:
    stories = await context.bus.trace(correlation)
    drawing = marked(render_tree(stories))  # it contains reasons that other agents have written
    heads = [head_of(story.message, None) for story in stories]
    room = THREAD_TOKENS * CHARACTERS_PER_TOKEN - len(drawing) - sum(map(len, heads))
    share = max(room // max(len(stories), 1) - len(CUT), 0)
    lines = [DATA, drawing]
    for story, head in zip(stories, heads, strict=True):
        part, left_out = fitting(text_of(story.message), share)
        lines += [head, marked(part), *([CUT.format(left_out)] if left_out else [])]
    return "\n".join(lines) + "\n"
