"""Requests and responses of the page's own routes."""

import asyncio
import json
import time
from collections.abc import Awaitable, Callable, Mapping
from hashlib import blake2b
from pathlib import Path, PurePosixPath
from typing import Any, TypeVar

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from telex.config import Settings
from telex.dialects.registry import by_name
from telex.dialects.write import write
from telex.errors import InvalidValue, NotFound
from telex.model.event import KINDS as EVENT_KINDS
from telex.model.roster import HUMAN, ONE_OF_ROLE
from telex.ports.bus import Bus, Presence
from telex.protocol import decoded, encoded, plain
from telex.surfaces.http.page_dialects import dialects_facts
from telex.surfaces.http.page_message import message_facts
from telex.surfaces.http.page_stats import RecentEvents
from telex.surfaces.http.page_work import (
    approvals_facts,
    contracts_facts,
    dead_facts,
    escalations_facts,
    shutdown_facts,
)
from telex.surfaces.http.tokens import caller_of
from telex.surfaces.size_limits import within_bytes

_JSON_HEADERS = {"X-Content-Type-Options": "nosniff", "Cache-Control": "no-store", "Referrer-Policy": "no-referrer"}


def json_response(value: Any) -> Response:
    return Response(encoded(plain(value)), media_type="application/json", headers=_JSON_HEADERS)


def number(request: Request, name: str, default: float, *, least: float, most: float) -> float:
    """A number of the query.

    Raises:
        InvalidValue: it is none, or none that makes sense here.
    """
    given = request.query_params.get(name)
    if given is None or not given.strip():
        return default
    try:
        found = float(given)
    except ValueError:
        found = float("nan")
    if not least <= found <= most:
        raise InvalidValue(f"{name} takes a number from {least:g} to {most:g}, not {given[:60]}.")
    return found


async def json_body(request: Request, bytes_max: int) -> dict[str, Any]:
    """The object that was sent.

    Raises:
        InvalidValue: it is none, or larger than a message may be.
    """
    text = b""
    async for part in request.stream():
        text += part
        if len(text) > bytes_max:
            raise InvalidValue(f"send less: a message may have {bytes_max:,} bytes.")
    try:
        found = decoded(text)
    except ValueError as error:
        raise InvalidValue(f"send a JSON object: {error}.") from error
    if not isinstance(found, dict):
        raise InvalidValue("send a JSON object.")
    return found


APART_SECONDS = 0.25  # at least, between two answers
APART_SECONDS_MAX = 2.0
TIME_SHARE_MAX = 0.05  # of the hub's time for one screen, up to that


class SharedResponse:
    def __init__(self, made: Callable[[], Awaitable[Any]], apart: float = APART_SECONDS) -> None:
        self._made, self._least, self._apart, self._lock = made, apart, apart, asyncio.Lock()
        self._begun = self._ended = float("-inf")
        self._answer: Any = None

    async def __call__(self) -> Any:
        asked = time.monotonic()
        async with self._lock:
            if self._begun < asked:
                await asyncio.sleep(self._ended + self._apart - asked)
                begun = time.monotonic()
                self._answer = await self._made()
                self._begun, self._ended = begun, time.monotonic()
                cost = self._ended - begun
                self._apart = min(max(self._least, cost / TIME_SHARE_MAX), APART_SECONDS_MAX)
            return self._answer


WEB = Path(__file__).parent.parent / "web"
INDEX = "index.html"
KINDS = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".svg": "image/svg+xml",
    ".png": "image/png",
    ".ico": "image/x-icon",
    ".woff2": "font/woff2",
}
POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self' data:",
        "connect-src 'self'",
        "font-src 'self'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
    )
)
HEADERS: Mapping[str, str] = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-cache",  # kept, and asked about each time: a hub that was updated has its new page at once
}


_EVENT_KINDS = f"""\
// Which kinds of events are there, and what does each mean? Made by the hub from its own table.
export const KINDS = {json.dumps(EVENT_KINDS, indent=2)};
"""
MADE: Mapping[str, bytes] = {"kinds.js": _EVENT_KINDS.encode()}


def listed(folder: Path = WEB) -> dict[str, Path]:
    """Every file that may be asked for, by the name it is asked for with. Nothing else is ever opened."""
    found = (path for path in sorted(folder.rglob("*")) if path.suffix in KINDS and path.is_file())
    return {path.relative_to(folder).as_posix(): path for path in found}


class StaticFiles:
    """The page's files, as they are when they are asked for."""

    def __init__(self, folder: Path = WEB) -> None:
        self._files = listed(folder)

    async def index(self, request: Request) -> Response:
        return self._answer(request, INDEX)

    async def static(self, request: Request) -> Response:
        return self._answer(request, request.path_params["file"])

    def _answer(self, request: Request, name: str) -> Response:
        content = MADE.get(name) or self._read(name)
        tag = f'"{blake2b(content, digest_size=16).hexdigest()}"'
        headers = {**HEADERS, "ETag": tag}
        if tag in _tags(request.headers.get("if-none-match", "")):
            return Response(status_code=304, headers=headers)
        return Response(content, headers=headers, media_type=KINDS[PurePosixPath(name).suffix])

    def _read(self, name: str) -> bytes:
        path = self._files.get(name)
        if path is None:
            raise NotFound(f"the page has no file {name[:128]}.")
        return path.read_bytes()


def _tags(header: str) -> list[str]:
    return [one.strip().removeprefix("W/") for one in header.split(",")]


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
        return json_response(found if isinstance(found, dict) else {"answer": found})

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
        return await approvals_facts(self._bus, self._desk, time.time())

    async def escalations(self) -> list[dict[str, Any]]:
        return await escalations_facts(self._bus, self._desk)

    async def contracts(self) -> dict[str, Any]:
        return await contracts_facts(self._bus, (await self._record.caught_up()).refusals)

    async def shutdown(self) -> dict[str, Any]:
        return await shutdown_facts(self._bus)

    async def dead(self) -> list[dict[str, Any]]:
        return await dead_facts(self._bus)

    async def written(self, request: Request) -> dict[str, Any]:
        """A message as it stands on the wire, from its fields: front matter is not for a browser to write."""
        given = await json_body(request, self._desk.limits.message_bytes_max)
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
