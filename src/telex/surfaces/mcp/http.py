"""MCP endpoint of the hub, for all agents over HTTP.

Each request is stateless, in the older protocol too, so a restart of the hub loses no sessions. The authentication
middleware identifies the caller. A caller that may name itself does so in the address, `/mcp?as=dev`, where its coding
tool is configured, and never in an argument.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, MutableMapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

import mcp_types as types
from mcp import MCPError
from mcp.server.caching import CacheHint
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.server.streamable_http_manager import StreamableHTTPASGIApp, StreamableHTTPSessionManager

from telex import __version__
from telex.config import Settings
from telex.errors import NotAMember
from telex.model.named_tuple import NamedTuple
from telex.model.roster import HUMAN
from telex.ports.bus import Bus
from telex.surfaces.http.asgi import public_text
from telex.surfaces.http.auth import DIFFERS
from telex.surfaces.http.tokens import Caller
from telex.surfaces.http.tokens import caller_of as caller_in_scope
from telex.surfaces.mcp.identity import Identity
from telex.surfaces.mcp.stdio_protocol import CACHE, RequestError
from telex.surfaces.mcp.tool_calls import (
    CallContext,
    ContextOf,
    LeaseRenewal,
    Say,
    call_tool,
    read_resource,
    say_all,
)
from telex.surfaces.mcp.tools import TOOLS, instructions, listed_resources, listed_tools
from telex.validation.authorization import normalised

Context = ServerRequestContext[Any, Any]
Scope = MutableMapping[str, Any]
Asgi = Callable[[Scope, Callable[[], Awaitable[Any]], Callable[[Any], Awaitable[None]]], Awaitable[None]]
AS, ROLE, STRUCTURED = "as", "role", "structured"  # in the query of the address


class McpEndpoint(NamedTuple):
    app: Asgi  # mounted at /mcp, for GET, POST and DELETE
    lifespan: Callable[[], AbstractAsyncContextManager[None]]  # entered once, while the app is served


def mcp_app(
    bus: Bus, caller_of: Callable[[Any], Caller] = caller_in_scope, *, settings: Settings | None = None
) -> McpEndpoint:
    """`caller_of`: the authenticated caller of an ASGI scope."""
    hub_settings, renewal = settings or Settings(), LeaseRenewal()

    def context_of(context: Context) -> ContextOf:
        request = context.request
        assert request is not None, "over HTTP every call comes with its request"
        query = request.query_params

        def who() -> Identity:
            return identified(caller_of(request.scope), query.get(AS), query.get(ROLE))

        async def opened(_: bool) -> CallContext:
            return CallContext(bus, hub_settings, who, renewal=renewal)

        return opened

    def is_structured(context: Context) -> bool:
        return context.request is not None and context.request.query_params.get(STRUCTURED) == "1"

    # Responses are streamed: a long one, as that of `wait`, keeps the connection open, and a client that disconnects is
    # noticed at once. The authentication middleware has checked Host and Origin.
    server = make_server(context_of, say=public_text, is_structured=is_structured)
    manager = StreamableHTTPSessionManager(server, stateless=True, json_response=False)

    @asynccontextmanager
    async def lifespan() -> AsyncIterator[None]:
        async with manager.run():
            try:
                yield
            finally:
                renewal.stop()

    return McpEndpoint(StreamableHTTPASGIApp(manager), lifespan)


def identified(caller: Caller, name: str | None, role: str | None) -> Identity:
    """The caller by its token, or by the address if the token leaves that open.

    Raises:
        NotAMember: the address and the token have different names, or there is none.
    """
    if caller.agent is None and not caller.operator:
        raise NotAMember("Send a token: telex token create creates one.", "token-needed")
    if not caller.operator:
        return _bound(caller, name, role)
    if name:
        return Identity(name, role)
    if caller.token is not None:
        return Identity(caller.agent or HUMAN)
    raise NotAMember(f"Give your name in the URL of this server: /mcp?{AS}=NAME&{ROLE}=ROLE.", "sender-unknown")


def _bound(caller: Caller, name: str | None, role: str | None) -> Identity:
    assert caller.agent is not None, "a token that is no operator's is bound to an agent"
    if name and normalised(name) != normalised(caller.agent):
        say = f"Leave out ?{AS}={name[:128]}: the token is {caller.agent}'s, and acts under no other name."
        raise NotAMember(say, DIFFERS)
    if role and caller.role and normalised(role) != normalised(caller.role):
        say = f"Leave out {ROLE}={role[:128]}: the token is bound to the role {caller.role}."
        raise NotAMember(say, "role-claim-differs")
    return Identity(caller.agent, caller.role)


# --- server of the SDK ------------------------------------------------------------------------------------------------


def make_server(
    context_of: Callable[[Context], ContextOf],
    say: Say = say_all,
    is_structured: Callable[[Context], bool] = lambda _: False,
) -> Server[Any]:
    """The tools and resources behind the SDK's low-level server: the high-level one configures logging for the whole
    process and generates its own schemas. `is_structured`: whether a call asks for structured content beside the text.
    """

    async def list_tools(_: Context, __: Any) -> types.ListToolsResult:
        return types.ListToolsResult.model_validate({"tools": listed_tools()})

    async def list_resources(_: Context, __: Any) -> types.ListResourcesResult:
        return types.ListResourcesResult.model_validate({"resources": listed_resources(templates=False)})

    async def list_templates(_: Context, __: Any) -> types.ListResourceTemplatesResult:
        return types.ListResourceTemplatesResult.model_validate({"resourceTemplates": listed_resources(templates=True)})

    async def call(context: Context, params: types.CallToolRequestParams) -> types.CallToolResult:
        given, structured = params.arguments or {}, is_structured(context)
        result = _sdk_errors(call_tool(params.name, given, context_of(context), say, structured=structured))
        return types.CallToolResult.model_validate(await result)

    async def read(context: Context, params: types.ReadResourceRequestParams) -> types.ReadResourceResult:
        result = _sdk_errors(read_resource(str(params.uri), context_of(context), say))
        return types.ReadResourceResult.model_validate(await result)

    hints: Any = {method: CacheHint(ttl_ms=ms, scope="public") for method, (ms, _) in CACHE.items() if ms}
    return Server(
        "telex",
        version=__version__,
        instructions=instructions(),
        cache_hints=hints,
        get_tool_input_schema=lambda name: TOOLS[name].schema if name in TOOLS else None,
        on_list_tools=list_tools,
        on_call_tool=call,
        on_list_resources=list_resources,
        on_list_resource_templates=list_templates,
        on_read_resource=read,
    )


async def _sdk_errors(result: Awaitable[dict[str, Any]]) -> dict[str, Any]:
    try:
        return await result
    except RequestError as error:
        raise MCPError(code=error.code, message=error.message, data=error.data) from error
