"""The tools of the MCP server as the verbs of a bus, so that they can be compared with it.

Each agent has its own client of the SDK, since its name is configured in the server.
"""

from contextlib import ExitStack
from typing import Any

from anyio.from_thread import BlockingPortal
from mcp import Client

from telex.bus.receive import as_member
from telex.bus.send import accepted
from telex.config import Settings
from telex.http_client.bus import error_in
from telex.model.contracts import PathVerdict
from telex.model.finding import Finding
from telex.model.message import Delivery, LeasedMessage
from telex.model.roster import Member
from telex.ports.bus import Bus, MessageHistory, Presence, Receipt
from telex.protocol import encoded, made
from telex.surfaces.mcp.http import make_server
from telex.surfaces.mcp.identity import Identity
from telex.surfaces.mcp.tool_calls import CallContext


class McpVerbs:
    """Those verbs that have a tool."""

    def __init__(self, bus: Bus, settings: Settings, portal: BlockingPortal, stack: ExitStack) -> None:
        self._bus, self._settings, self._portal, self._stack = bus, settings, portal, stack
        self._clients: dict[Identity, Client] = {}

    def _call(self, agent: str, role: str | None, tool: str, kind: Any, **arguments: Any) -> Any:
        """The result as a value of that type."""
        given = {name: value for name, value in arguments.items() if value is not None}
        result = self._portal.call(self._client(Identity(agent, role)).call_tool, tool, given)
        tree = result.structured_content or {}
        if result.is_error and "detail" in tree:
            raise error_in(403, encoded(tree))
        return made(kind, tree["answer"] if set(tree) <= {"note", "answer"} else tree)

    def _client(self, who: Identity) -> Client:
        async def context_of(_: bool) -> CallContext:
            return CallContext(self._bus, self._settings, lambda: who)

        if who not in self._clients:
            client = Client(make_server(lambda _: context_of, is_structured=lambda _: True))
            self._clients[who] = self._stack.enter_context(self._portal.wrap_async_context_manager(client))
        return self._clients[who]

    def send(self, raw: Any, *, sender: str, role: str | None = None, check: bool = True, **more: Any) -> Any:
        message = raw.decode() if isinstance(raw, bytes) else raw
        receipt = self._call(sender, role, "send", Receipt, message=message, **more)
        return accepted(receipt) if check else receipt

    def receive(self, agent: str, *, role: str | None = None, limit: int = 1, wait: float = 0.0, **more: Any) -> Any:
        return self._call(agent, role, "wait", list[LeasedMessage], seconds=wait, limit=limit, **more)

    def ack(self, token: str, *, agent: str) -> Any:
        return self._call(agent, None, "ack", bool, token=token)

    def nack(self, token: str, *, agent: str, reason: str) -> Any:
        return self._call(agent, None, "ack", Delivery, token=token, nack=reason)

    def extend(self, token: str, *, agent: str, seconds: float | None = None) -> Any:
        return self._call(agent, None, "ack", float, token=token, extend=seconds)

    def why(self, id: str) -> Any:
        return self._call("human", None, "why", list[MessageHistory], id=id)

    def guard(self, paths: list[str], *, agent: str, role: str | None = None, plan: str | None = None) -> Any:
        return self._call(agent, role, "guard", list[PathVerdict], paths=paths, plan=plan)

    def roster(self) -> Any:
        return self._call("human", None, "team", list[Presence])

    def join(self, name: str, *, role: str | None = None, dialects: Any = ()) -> Any:
        return as_member(self._call(name, role, "team", Member | Finding, join=True, reads=list(dialects) or None))
