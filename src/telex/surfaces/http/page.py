"""Routes of the page beyond the verbs of the bus: its files, and views combined from several verbs.

They only read. Actions of a person on the page use the verbs.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from telex.config import Settings
from telex.dialects.registry import by_name
from telex.dialects.write import write
from telex.errors import InvalidValue, NotFound
from telex.model.roster import HUMAN, ONE_OF_ROLE
from telex.ports.bus import Bus, Presence
from telex.surfaces.http import page_work
from telex.surfaces.http.caller import caller_of
from telex.surfaces.http.page_cache import SharedResponse
from telex.surfaces.http.page_dialects import dialects_facts
from telex.surfaces.http.page_events import RecentEvents
from telex.surfaces.http.page_message import message_facts
from telex.surfaces.http.page_response import answer, body_of, number
from telex.surfaces.http.page_static import StaticFiles
from telex.surfaces.http.size_limits import within_bytes

HOUR, DAY = 3_600.0, 86_400.0
AGES_MAX = 1e11  # seconds since 1970, some thousand years
DIGITS_MAX = 19  # of a number that a store can count to
LEVELS_MAX = 16  # of a message to be written: each is moved further to the right, which makes much of little
DEAD_MAX = 1_000  # counted; more are shown as so many

T = TypeVar("T")
Handler = Callable[[Request], Awaitable[Response]]
Screen = Callable[[Request], Awaitable[Any]]


def routes(bus: Bus, settings: Settings) -> list[Route]:
    """Everything under /page, and the files of the page itself."""
    files, screens = StaticFiles(), PageScreens(bus, settings)
    asked: dict[str, Screen] = {
        "/page/me": screens.me,
        "/page/message/{seq}": screens.message,
        "/page/refusals": screens.refusals,
        "/page/rates": screens.rates,
    }
    shared = {
        "/page/summary": screens.summary,
        "/page/dialects": screens.dialects,
        "/page/approvals": screens.approvals,
        "/page/escalations": screens.escalations,
        "/page/contracts": screens.contracts,
        "/page/shutdown": screens.shutdown,
        "/page/dead": screens.dead,
    }
    return [
        Route("/", files.index),
        Route("/static/{file:path}", files.static),
        *(Route(path, _answering(screen)) for path, screen in asked.items()),
        *(Route(path, _answering(_shared(screen))) for path, screen in shared.items()),
        Route("/page/write", _answering(screens.written), methods=["POST"]),
    ]


def _shared(screen: Callable[[], Awaitable[Any]]) -> Screen:
    """For a screen that is the same for everybody who asks."""
    answers = SharedResponse(screen)
    return lambda request: answers()


def _answering(screen: Screen) -> Handler:
    async def handler(request: Request) -> Response:
        found = await screen(request)
        return answer(found if isinstance(found, dict) else {"answer": found})

    return handler


async def _in_turn(answer: Awaitable[T]) -> T:
    """The answer, after other requests had their turn: a local store answers without ever waiting."""
    await asyncio.sleep(0)
    return await answer


class PageScreens:
    """One method for each screen. They share what has been read of the record."""

    def __init__(self, bus: Bus, settings: Settings) -> None:
        self._bus, self._settings, self._desk = bus, settings, settings.desk()
        self._record = RecentEvents(bus)
        self._dialects: list[dict[str, Any]] | None = None

    async def summary(self) -> dict[str, Any]:
        """The counts for the first screen."""
        bus, roster = self._bus, await _in_turn(self._bus.roster())
        record, now = await self._record.caught_up(), time.time()
        approvals = await _in_turn(bus.work_state("approval"))
        stall = await _in_turn(bus.stall()) if self._settings.work_rules else None
        escalations = await _in_turn(bus.escalations())
        return {
            "team": self._settings.team_name,
            "now": now,
            **_of_the_team(roster),
            "messages": record.messages,
            "approvals": sum(approval.waits for approval in approvals.values()),
            "escalations": len(escalations),
            "dead": len((await within_bytes(lambda limit: bus.dead_letters(limit=limit), DEAD_MAX)).found),
            "stalls": len(stall.knots) if stall is not None else 0,
            "refusals": len(record.refusals.within(now - HOUR)),
        }

    async def me(self, request: Request) -> dict[str, Any]:
        """Who is looking, so that nobody is offered what would be refused."""
        agent, role, operator, _ = caller_of(request.scope)
        return {"agent": agent, "role": role, "operator": operator}

    async def message(self, request: Request) -> dict[str, Any]:
        word = request.path_params["seq"]
        if not (word.isascii() and word.isdigit() and len(word) <= DIGITS_MAX):
            raise NotFound(f"no message has the number {word[:60]}: it was never sent here or is no longer stored.")
        return await message_facts(self._bus, self._desk, int(word))

    async def refusals(self, request: Request) -> dict[str, Any]:
        since = number(request, "since", time.time() - DAY, least=0, most=AGES_MAX)
        return (await self._record.caught_up()).refusals.since(since)

    async def rates(self, request: Request) -> dict[str, Any]:
        until = number(request, "until", time.time(), least=0, most=AGES_MAX)
        since = number(request, "since", until - HOUR, least=0, most=AGES_MAX)
        step = number(request, "step", 60.0, least=1, most=DAY)
        if since > until:
            raise InvalidValue("since must not be later than until.")
        return (await self._record.caught_up()).rates.since(since, until, step)

    async def dialects(self) -> list[dict[str, Any]]:
        if self._dialects is None:
            self._dialects = dialects_facts(self._desk.dialects)
        return self._dialects

    async def approvals(self) -> list[dict[str, Any]]:
        return await page_work.approvals_facts(self._bus, self._desk, time.time())

    async def escalations(self) -> list[dict[str, Any]]:
        return await page_work.escalations_facts(self._bus, self._desk)

    async def contracts(self) -> dict[str, Any]:
        return await page_work.contracts_facts(self._bus, (await self._record.caught_up()).refusals)

    async def shutdown(self) -> dict[str, Any]:
        return await page_work.shutdown_facts(self._bus)

    async def dead(self) -> list[dict[str, Any]]:
        return await page_work.dead_facts(self._bus)

    async def written(self, request: Request) -> dict[str, Any]:
        """A message as it stands on the wire, from its fields: front matter is not for a browser to write."""
        given = await body_of(request, self._desk.limits.message_bytes_max)
        dialect = by_name(str(given.get("dialect")), self._desk.dialects)
        if dialect is None:
            raise NotFound(f"no dialect {str(given.get('dialect'))[:60]}.")
        tree, body = given.get("tree"), given.get("body")
        if not isinstance(tree, dict) or not isinstance(body, str | None):
            raise InvalidValue("tree takes an object with the fields of a message, and body text.")
        if _is_deeper(tree, LEVELS_MAX):
            raise InvalidValue(f"flatten tree: at most {LEVELS_MAX} levels.")
        return {"raw": write(dialect, tree, body)}


def _is_deeper(tree: Any, levels: int) -> bool:
    """Step by step and not by calling itself: it may be as deep as JSON can be."""
    layer = [tree]
    for _ in range(levels):
        layer = [
            inner
            for one in layer
            for inner in (one.values() if isinstance(one, dict) else one)
            if isinstance(inner, dict | list)
        ]
        if not layer:
            return False
    return True


def _of_the_team(roster: list[Presence]) -> dict[str, int]:
    agents = [presence for presence in roster if not presence.member.name.startswith(ONE_OF_ROLE)]
    return {
        "members": len(agents),
        "here": sum(presence.state == "here" for presence in agents),
        "waiting": sum(presence.waiting + presence.leased for presence in roster),
        "unread": sum(presence.waiting for presence in roster if presence.member.name == HUMAN),
    }
