"""The tools of the MCP door as the verbs of a bus, so that they can be held against it.

Each agent has a client of the SDK of its own, since who it is was settled where the server was configured. A client has
to be left by whoever entered it, so each lives in a task of its own and is given its calls by a queue.
"""

import asyncio
from collections.abc import Callable
from typing import Any, NamedTuple

from mcp import Client

from telex.config import Settings
from telex.http_client.problems import error_in
from telex.model.contracts import PathVerdict
from telex.model.finding import Finding
from telex.model.message import Delivery, Lease
from telex.model.roster import Member
from telex.ports.bus import Bus, MessageHistory, Presence, Receipt
from telex.protocol import encoded, made
from telex.surfaces.mcp.context import CallContext, Identity
from telex.surfaces.mcp.server import make_server

Run = Callable[[Any], Any]


class Call(NamedTuple):
    tool: str
    arguments: dict[str, Any]
    answer: "asyncio.Future[Any]"


class Agent:
    def __init__(self, bus: Bus, settings: Settings, who: Identity) -> None:
        self._bus, self._settings, self._who = bus, settings, who
        self._calls: asyncio.Queue[Call | None] = asyncio.Queue()

    async def live(self) -> None:
        async def place_of(_: Any, __: bool) -> CallContext:
            return CallContext(self._bus, self._settings, lambda: self._who)

        async with Client(make_server(place_of, is_structured=lambda _: True)) as client:
            while (call := await self._calls.get()) is not None:
                try:
                    call.answer.set_result(await client.call_tool(call.tool, call.arguments))
                except Exception as error:
                    call.answer.set_exception(error)

    async def call(self, tool: str, arguments: dict[str, Any]) -> Any:
        call = Call(tool, arguments, asyncio.get_running_loop().create_future())
        self._calls.put_nowait(call)
        return await call.answer

    async def go(self) -> None:
        self._calls.put_nowait(None)


class McpVerbs:
    """Those verbs that have a tool."""

    def __init__(self, bus: Bus, settings: Settings, run: Run, begin: Run) -> None:
        self._bus, self._settings, self._run, self._begin = bus, settings, run, begin
        self._agents: dict[Identity, tuple[Agent, Any]] = {}

    def _said(self, agent: str, role: str | None, tool: str, **arguments: Any) -> dict[str, Any]:
        given = {name: value for name, value in arguments.items() if value is not None}
        result = self._run(self._agent(Identity(agent, role)).call(tool, given))
        tree: dict[str, Any] = result.structured_content
        if result.is_error and "detail" in tree:
            raise error_in(403, encoded(tree))
        return tree

    def _agent(self, who: Identity) -> Agent:
        if who not in self._agents:
            agent = Agent(self._bus, self._settings, who)
            self._agents[who] = agent, self._begin(agent.live())
        return self._agents[who][0]

    def send(self, raw: Any, *, sender: str, role: str | None = None, to: str | None = None, **more: Any) -> Receipt:
        message = raw.decode() if isinstance(raw, bytes) else raw
        receipt: Receipt = made(Receipt, self._said(sender, role, "send", message=message, to=to, **more))
        return receipt

    def receive(
        self, agent: str, *, role: str | None = None, limit: int = 1, wait: float = 0.0, lease: float | None = None
    ) -> list[Lease]:
        tree = self._said(agent, role, "wait", seconds=wait, limit=limit, lease=lease)
        found: list[Lease] = made(list[Lease], tree["answer"])
        return found

    def ack(self, token: str, *, agent: str) -> bool:
        return bool(self._said(agent, None, "ack", token=token)["answer"])

    def nack(self, token: str, *, agent: str, reason: str) -> Delivery:
        delivery: Delivery = made(Delivery, self._said(agent, None, "ack", token=token, nack=reason))
        return delivery

    def extend(self, token: str, *, agent: str, seconds: float | None = None) -> float:
        until: float = self._said(agent, None, "ack", token=token, extend=seconds)["answer"]
        return until

    def why(self, id: str) -> list[MessageHistory]:
        stories: list[MessageHistory] = made(list[MessageHistory], self._said("human", None, "why", id=id)["answer"])
        return stories

    def guard(
        self, paths: list[str], *, agent: str, role: str | None = None, plan: str | None = None
    ) -> list[PathVerdict]:
        tree = self._said(agent, role, "guard", paths=paths, plan=plan)
        verdicts: list[PathVerdict] = made(list[PathVerdict], tree["answer"])
        return verdicts

    def roster(self) -> list[Presence]:
        found: list[Presence] = made(list[Presence], self._said("human", None, "team")["answer"])
        return found

    def join(self, name: str, *, role: str | None = None, dialects: Any = ()) -> Member | Finding:
        tree = self._said(name, role, "team", join=True, reads=list(dialects) or None)
        member: Member | Finding = made(Member | Finding, tree)
        return member

    def close(self) -> None:
        for agent, living in self._agents.values():
            self._run(agent.go())
            living.result(10.0)
