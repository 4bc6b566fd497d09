"""What the tests of the page's routes share: the hub over a team's store, asked as a browser asks it."""

import asyncio
from typing import Any

import httpx2

from telex.clock import LoopClock
from telex.connection import connect
from telex.surfaces.http.app import Hub
from telex.surfaces.http.page import routes
from telex.surfaces.http.tokens import AT_HOME, Caller
from tests.bus.bus_team import Team
from tests.http.http_kit import let_in_as

HUB = "http://127.0.0.1:4477"


class Page:
    """The page of a team: `page.get("/page/summary")`."""

    def __init__(self, team: Team, caller: Caller = AT_HOME) -> None:
        self.team, self.caller = team, caller

    def asked(self, *requests: tuple[str, str, dict[str, Any]]) -> list[httpx2.Response]:
        """Every request in turn, of one hub."""

        async def run() -> list[httpx2.Response]:
            clock = LoopClock(self.team.clock.now, self.team.clock.now)  # what is old by another clock is tidied away
            async with connect(self.team.path, settings=self.team.settings, clock=clock) as bus:
                app: Any = let_in_as(self.caller, Hub(bus, self.team.settings, routes(bus, self.team.settings)))
                transport = httpx2.ASGITransport(app=app)
                async with httpx2.AsyncClient(transport=transport, base_url=HUB) as client:
                    return [await client.request(method, path, **more) for method, path, more in requests]

        return asyncio.run(run())

    def response(self, path: str, method: str = "GET", **more: Any) -> httpx2.Response:
        [response] = self.asked((method, path, more))
        return response

    def get(self, path: str, **query: Any) -> Any:
        """What the hub answers, which must be an answer."""
        [found] = self.all([path], **query)
        return found

    def all(self, paths: list[str], **query: Any) -> list[Any]:
        responses = self.asked(*(("GET", path, {"params": query}) for path in paths))
        assert all(response.status_code == 200 for response in responses), [
            response.text[:300] for response in responses if response.status_code != 200
        ][:3]
        return [tree["answer"] if set(tree := response.json()) == {"answer"} else tree for response in responses]

    def message(self, id: str) -> Any:
        return self.get(f"/page/messages/{self.team.story(id).message.seq}")
