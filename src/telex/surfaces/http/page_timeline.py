"""Routes of the page's home: timeline, overview and feed, of now or of any moment of the log.

Pages that show the same are answered once: an answer about now is used again for a second, as long as nothing has
happened.
"""

import asyncio
import re
import time
from bisect import bisect_right
from typing import Any

from starlette.requests import Request

from telex.errors import InvalidValue
from telex.model.work import Escalation
from telex.ports.bus import Bus
from telex.surfaces.http.asgi import Scope
from telex.surfaces.http.page_agents import LIVE_SECONDS
from telex.surfaces.http.page_message import SEQ_MAX
from telex.surfaces.http.page_needs import NeedsQuery
from telex.surfaces.http.page_needs_views import NeedsViews
from telex.surfaces.http.page_query import TIME_MAX, number_of, utc_offset_of
from telex.surfaces.http.page_shared import SharedQueries
from telex.surfaces.http.page_stats import RecentEvents
from telex.surfaces.http.tokens import caller_of
from telex.surfaces.page.agents import Moment, agents_at
from telex.surfaces.page.feed import FeedQuery, feed_page, feed_rows
from telex.surfaces.page.history import History
from telex.surfaces.page.overview import MINUTE_SECONDS, CellCounts, Span, overview_facts
from telex.surfaces.page.search import (
    FILTER_CHARACTERS_MAX,
    TIME_EXAMPLES,
    MessageFilter,
    SearchTime,
    parse_filter,
    parse_time,
)
from telex.surfaces.page.timeline import (
    LaneMember,
    TimelineQuery,
    Window,
    focus_of,
    mark_facts,
    timeline_facts,
)

TIMELINE_SECONDS = 900.0
AHEAD_SECONDS_MAX = 7_200.0
ROLES_MAX = 30  # that are open
SEQS_MAX = 100  # marks of one request
INDEXED_MAX = 200  # messages that the store's index finds for one search
CELLS_MAX = 500
CELLS_EXACT_SECONDS = 60.0  # shorter cells are counted from the messages, longer ones from whole minutes
TIME_CHARACTERS_MAX = 60
NEEDS_SHOWN = 3
NEEDS_SECONDS = 0.1  # that the home waits for what needs the person
_MINUTE = re.compile(r"(?:^|[T ])\d{1,2}:\d\d$")  # a time of day without seconds

Facts = dict[str, Any]


class HomeViews:
    def __init__(self, bus: Bus, needs: NeedsViews, silent_seconds: float) -> None:
        self._silent_seconds = silent_seconds
        self._bus, self._events, self._past, self._needs = bus, needs.events, needs.past, needs
        self._shared = SharedQueries()

    async def home(self, request: Request) -> Facts:
        """All parts of the home at once, for the first picture. What needs the person is None if it takes long."""
        query = NeedsQuery(at=number_of(request, "at", 0.0) or None, limit=NEEDS_SHOWN)
        needs = asyncio.ensure_future(self._needs.needs.page(query, caller_of(request.scope)))
        parts = {
            "timeline": await self._timeline(request),
            "feed": await self.feed(request),
            "overview": await self.overview(request),
        }
        done, _ = await asyncio.wait((needs,), timeout=NEEDS_SECONDS)
        now = time.time()
        return {"now": now, **parts, "needs": {"now": now, **needs.result()} if done else None}

    # --- timeline ----------------------------------------------------------------------------------------------------

    async def timeline(self, request: Request) -> Facts:
        """Lanes of a window. Without `at` it is the window of `seconds` that ends now, which all pages share."""
        if "at" in request.query_params:
            return await self._timeline(request)
        query = request.url.query, caller_of(request.scope).conversation
        facts: Facts = await self._shared.get(query, lambda: self._timeline(request))
        return facts | {"now": time.time()}

    async def _timeline(self, request: Request) -> Facts:
        now, live = time.time(), (await self._events.caught_up()).history
        window = self._window(request, now)
        only = caller_of(request.scope).conversation
        history = visible_to(request.scope, await self._past.covering(live, window.since, window.until))
        message = int(number_of(request, "message", 0, most=SEQ_MAX)) or None
        query = TimelineQuery(
            window,
            frozenset(request.query_params.get("roles", "").split(",")[:ROLES_MAX]),
            only or request.query_params.get("conversation"),
            focus_of(history, message, request.query_params.get("focus"), window.until),
        )
        escalations = await self._escalations(only)
        facts = timeline_facts(history, await self._members(history, window.at, now), escalations, query)
        return {"now": now, "begins_at": history.begins_at, **facts}

    async def _escalations(self, only: str | None) -> list[Escalation]:
        """All of them; for a viewer of one conversation those of it."""
        escalations = await self._bus.escalations(answered=True)
        return [one for one in escalations if only is None or one.correlation == only]

    def _window(self, request: Request, now: float) -> Window:
        """The `seconds` before `at`; 0: since the beginning of the log."""
        at = number_of(request, "at", now)
        seconds = number_of(request, "seconds", TIMELINE_SECONDS)
        first = self._events.minutes.first_at
        since = number_of(request, "from", at - seconds if seconds or first is None else first)
        if since > at:
            raise InvalidValue("from must not be later than at.")
        return Window(min(since, at - 1.0), at, at + number_of(request, "ahead", 0.0, most=AHEAD_SECONDS_MAX))

    async def _members(self, history: History, at: float, now: float) -> list[LaneMember]:
        is_past = at < now - LIVE_SECONDS
        moment = Moment(at if is_past else now, is_past=is_past, silent_seconds=self._silent_seconds)
        agents = agents_at(await self._bus.roster(), history, moment)
        return [LaneMember(agent.name, agent.role, agent.state) for agent in agents]

    async def marks(self, request: Request) -> Facts:
        """Facts of marks that are not among the messages of the timeline's answer."""
        now, live = time.time(), (await self._events.caught_up()).history
        window = self._window(request, now)
        history = visible_to(request.scope, await self._past.covering(live, window.since, window.until))
        texts = request.query_params.get("seqs", "").split(",")[:SEQS_MAX]
        seqs = [int(text) for text in texts if text.isascii() and text.isdigit() and len(text) <= 18]
        found = {seq: mark_facts(history.messages[seq], window) for seq in seqs if seq in history.messages}
        return {"now": now, "messages": found}

    async def moment(self, request: Request) -> Facts:
        """The moment that a person means by `14:05`, `2026-11-18 14:05` or `2h`. A minute is shown up to its end."""
        now, text = time.time(), request.query_params.get("text", "").strip()[:TIME_CHARACTERS_MAX]
        offset = utc_offset_of(request)
        moment = parse_time(text, SearchTime(now, offset))
        if moment is None or not 0 <= moment <= TIME_MAX:
            return {"now": now, "at": None, "problem": f"Give a time such as {TIME_EXAMPLES}."}
        is_minute = _MINUTE.search(text) is not None
        return {"now": now, "at": min(now, moment + MINUTE_SECONDS if is_minute else moment), "problem": None}

    async def overview(self, request: Request) -> Facts:
        """Messages of the whole log by cell; `sent` is None while older messages are not counted yet."""
        events = await self._events.caught_up()
        now, history = time.time(), events.history
        first = events.minutes.first_at
        span = Span(now - TIMELINE_SECONDS if first is None else min(first, now - 1.0), now)
        cells = CellCounts(span, int(number_of(request, "cells", 240, least=1, most=CELLS_MAX)))
        only = caller_of(request.scope).conversation
        if only is not None or (cells.step < CELLS_EXACT_SECONDS and history.begins_at <= span.since):
            for message in visible_to(request.scope, history).messages.values():
                cells.add(message.at, not message.refused, message.refused)
        else:
            events.minutes.count_into(cells)
        facts = overview_facts(cells, span, await self._escalations(only))
        return {"now": now, "is_complete": events.messages is not None, **facts}

    # --- feed --------------------------------------------------------------------------------------------------------

    async def feed(self, request: Request) -> Facts:
        events = await self._events.caught_up()
        now, live = time.time(), events.history
        at = number_of(request, "at", now)
        before = int(number_of(request, "before", SEQ_MAX, most=SEQ_MAX))
        filter_ = _filter(request, at)
        query = FeedQuery(
            at=at,
            before=before,
            after=int(number_of(request, "after", 0, most=SEQ_MAX)),
            limit=int(number_of(request, "limit", 40, least=1, most=200)),
            filter=filter_,
            indexed=await self._indexed(filter_),
        )
        history = await self._past.covering(live, at, at)
        first = next(iter(history.messages), 0)
        if before <= first and history.begins_at > 0:
            history = await self._past.before(before - 1)
        history = visible_to(request.scope, history)
        page = await feed_page(history, query)
        older = None
        if not page.ended:
            older = page.messages[-1].seq
        elif history.begins_at > 0:
            older = next(iter(history.messages), None)
        return {
            "now": now,
            "at": at,
            "rows": feed_rows(page.messages, query),
            "total": self._total(events, at, now)
            if filter_.is_empty and caller_of(request.scope).conversation is None
            else page.matched
            if page.ended
            else None,
            "older": older,
            "problems": filter_.problems,
        }

    def _total(self, events: RecentEvents, at: float, now: float) -> int | None:
        """All messages up to a moment; None: not counted yet."""
        if events.messages is None:
            return None
        if at >= now:
            return events.messages
        messages = [*events.history.messages.values()]
        later = len(messages) - bisect_right(messages, at, key=lambda message: message.at)
        return events.messages - later if events.history.begins_at <= at else None

    async def count(self, request: Request) -> Facts:
        """Number of messages that a filter matches. It reads all of them, so the rows are requested without it."""
        now, live = time.time(), (await self._events.caught_up()).history
        at = number_of(request, "at", now)
        filter_ = _filter(request, at)
        indexed = await self._indexed(filter_)
        query = FeedQuery(at=at, before=SEQ_MAX, after=0, limit=SEQ_MAX, filter=filter_, indexed=indexed)
        page = await feed_page(visible_to(request.scope, await self._past.covering(live, at, at)), query)
        return {"now": now, "count": page.matched, "is_complete": live.begins_at == 0}

    async def _indexed(self, filter_: MessageFilter) -> frozenset[int]:
        """Messages with these whole words, by the index of the store: it has texts of any length."""
        if not filter_.words:
            return frozenset()
        return frozenset(message.seq for message in await self._bus.search(filter_.words, limit=INDEXED_MAX))


def visible_to(scope: Scope, history: History) -> History:
    """The part of the history that the caller may see."""
    only = caller_of(scope).conversation
    return history if only is None else history.only(only)


def _filter(request: Request, at: float) -> MessageFilter:
    offset = utc_offset_of(request)
    return parse_filter(request.query_params.get("filter", "")[:FILTER_CHARACTERS_MAX], SearchTime(at, offset))
