"""MCP endpoint of the hub, for all agents over HTTP.

Requests are stateless, in the older protocol too, so a restarted hub has no sessions to lose. The authentication
middleware identifies the caller. A caller that may name itself does so in the address, `/mcp?as=dev`, where its coding
tool is configured, and never in an argument.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, MutableMapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

from mcp.server.streamable_http_manager import StreamableHTTPASGIApp, StreamableHTTPSessionManager

from telex.config import Settings
from telex.errors import NotAMember
from telex.model.named_tuple import NamedTuple
from telex.model.roster import HUMAN
from telex.ports.bus import Bus
from telex.surfaces.http.asgi import public_text
from telex.surfaces.http.auth import DIFFERS
from telex.surfaces.http.tokens import Caller
from telex.surfaces.http.tokens import caller_of as caller_in_scope
from telex.surfaces.mcp.server import Context, make_server
from telex.surfaces.mcp.tool_calls import CallContext, Identity, LeaseRenewal
from telex.validation.authorization import normalised

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

    async def context_of(context: Context, _: bool) -> CallContext:
        request = context.request
        assert request is not None, "over HTTP every call comes with its request"
        query = request.query_params

        def who() -> Identity:
            return identified(caller_of(request.scope), query.get(AS), query.get(ROLE))

        return CallContext(bus, hub_settings, who, renewal=renewal)

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
