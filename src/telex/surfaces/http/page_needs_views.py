"""Routes of what waits for a person: the list, and its answers, which can be undone."""

import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

from starlette.requests import Request

from telex.config import Settings
from telex.errors import TelexError
from telex.ports.bus import Bus
from telex.surfaces.http.page_answers import Answers
from telex.surfaces.http.page_needs import ITEMS_MAX, Needs, NeedsQuery
from telex.surfaces.http.page_query import json_object, number_of
from telex.surfaces.http.page_stats import RecentEvents
from telex.surfaces.http.tokens import caller_of
from telex.surfaces.page.held_answers import answers_path
from telex.surfaces.page.past import PastHistories

ID_BYTES_MAX = 1_000
Facts = dict[str, Any]


class NeedsViews:
    def __init__(self, bus: Bus, settings: Settings, events: RecentEvents) -> None:
        self.events, self.past = events, PastHistories(bus)
        self.needs = Needs(bus, settings, events, self.past)
        path = getattr(getattr(bus, "store", None), "path", None)
        is_file = isinstance(path, str | Path) and not str(path).startswith(":")
        self.answers = Answers(bus, settings, self.needs, answers_path(str(path)) if is_file else None)
        self._bytes_max = settings.limits.message_bytes_max

    async def list(self, request: Request) -> Facts:
        """Items that wait for a person, and the answers that are held back."""
        given = request.query_params
        query = NeedsQuery(
            at=number_of(request, "at", 0.0) or None,
            limit=int(number_of(request, "limit", NeedsQuery().limit, least=1, most=ITEMS_MAX)),
            cursor=given.get("cursor", ""),
            item=given.get("item", ""),
            kind=given.get("kind", ""),
        )
        answers = await self.answers.facts()  # first, so that an item is in one of the two
        caller = caller_of(request.scope)
        page = await self.needs.page(query, caller)
        shows_answers = query.at is None and caller.conversation is None
        return {"now": time.time(), "at": query.at, **page, "answers": answers if shows_answers else []}

    async def answer(self, request: Request) -> Facts:
        given = await json_object(request, self._bytes_max)
        return {**await self.answers.answer(given, caller_of(request.scope)), "now": time.time()}

    async def undo(self, request: Request) -> Facts:
        given = await json_object(request, ID_BYTES_MAX)
        return {**await self.answers.undo(str(given.get("id")), caller_of(request.scope)), "now": time.time()}

    async def send(self, request: Request) -> Facts:
        """Send an answer now instead of holding it back."""
        given = await json_object(request, ID_BYTES_MAX)
        return {**await self.answers.send_now(str(given.get("id")), caller_of(request.scope)), "now": time.time()}

    @asynccontextmanager
    async def lifespan(self) -> AsyncIterator[None]:
        """From its start on the hub carries out what an earlier process held back; at its end, what it holds back."""
        with suppress(TelexError):  # requests report it
            await self.answers.held.load()
        try:
            yield
        finally:
            await self.answers.held.close()
