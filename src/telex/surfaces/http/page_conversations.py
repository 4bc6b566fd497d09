"""Conversations for the page: the list, and one with its messages, also of what the hub's own history has forgotten."""

import time
from collections.abc import Iterable
from typing import Any

from starlette.requests import Request

from telex.errors import InvalidValue, NotFound
from telex.model.named_tuple import NamedTuple
from telex.ports.bus import Bus
from telex.surfaces.http.asgi import HttpResponse
from telex.surfaces.http.page_message import SEQ_MAX
from telex.surfaces.http.page_query import number_of
from telex.surfaces.http.page_stats import RecentEvents
from telex.surfaces.page.conversation_file import POLICY, render_html
from telex.surfaces.page.conversations import (
    PEOPLE_LISTED_MAX,
    PEOPLE_MAX,
    RANKS,
    ConversationFacts,
    ConversationList,
    ConversationQuery,
    ConversationWindow,
    conversation_facts,
    conversation_page,
    conversation_row,
    facts_of,
    window_facts,
)
from telex.surfaces.page.history import History
from telex.surfaces.page.past import PastConversations, PastHistories
from telex.surfaces.page.search import FILTER_CHARACTERS_MAX
from telex.validation.authorization import normalised

OLDER_MAX = 50  # older conversations on one page
FILE_HEADERS = (
    (b"content-security-policy", f"{POLICY}; sandbox".encode()),
    (b"content-disposition", b'attachment; filename="conversation.html"'),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
)

Facts = dict[str, Any]


class Cursor(NamedTuple):
    """Start of a page of the list."""

    after: tuple[int, int] | None = None  # in the history
    before: int | None = None  # in the store, before the history

    def __str__(self) -> str:
        return f"older.{self.before}" if self.before is not None else ".".join(map(str, self.after or ()))


def parsed_cursor(text: str) -> Cursor:
    first, _, second = text.partition(".")
    try:
        number = int(second or 0)
        if not text:
            return Cursor()
        if first == "older" and 0 <= number <= SEQ_MAX:
            return Cursor(before=number)
        return Cursor(after=(int(first), number))
    except ValueError:
        raise InvalidValue(f"cursor takes the cursor of the page before, not {text[:60]}.") from None


class ConversationViews:
    def __init__(self, bus: Bus, events: RecentEvents, histories: PastHistories) -> None:
        self._bus, self._events, self._histories = bus, events, histories
        self._list, self._past = ConversationList(events.history), PastConversations(bus)

    @property
    def _live(self) -> History:
        return self._events.history

    async def listed(self, request: Request) -> Facts:
        now, text = time.time(), request.query_params
        await self._events.caught_up()
        state, at = text.get("state", ""), number_of(request, "at", now)
        if state and state not in RANKS:
            raise InvalidValue(f"state takes {', '.join(RANKS)}, not {state[:60]}.")
        cursor = parsed_cursor(text.get("cursor", ""))
        query = ConversationQuery(
            state=state,
            agent=normalised(text.get("agent", "")),
            words=text.get("filter", "")[:FILTER_CHARACTERS_MAX],
            after=cursor.after,
            limit=int(number_of(request, "limit", 50, least=1, most=200)),
        )
        history, facts = await self._facts(at, now)
        page = conversation_page(facts, query)
        following = Cursor(after=page.conversations[-1].key) if page.conversations and not page.ended else None
        if cursor.before is not None:
            rows, following = await self._older(query, cursor.before, at)
        else:
            rows = await self._rows([one.id for one in page.conversations], history, at)
            if following is None and history.begins_at > 0:
                following = Cursor(before=next(iter(history.messages), history.position + 1))
        return {
            "now": now,
            "at": at,
            "conversations": rows,
            "counts": page.counts,
            "counted_since": history.begins_at or None,
            "cursor": str(following) if following is not None else None,
        }

    async def _facts(self, at: float, now: float) -> tuple[History, Iterable[ConversationFacts]]:
        """The history that has a moment, and its conversations then."""
        if self._list.history is not self._live:  # it was replaced by one that reaches back farther
            self._list = ConversationList(self._live)
        if at >= now:
            return self._list.history, await self._list.caught_up(now)
        history = await self._histories.covering(self._live, at, at)
        return history, (await facts_of(history, history.conversations, at)).values()

    async def one(self, request: Request) -> Facts:
        now, id_ = time.time(), request.path_params["id"]
        await self._events.caught_up()
        window = ConversationWindow(
            at=number_of(request, "at", now),
            before=int(number_of(request, "before", SEQ_MAX, most=SEQ_MAX)),
            limit=int(number_of(request, "limit", 60, least=1, most=200)),
        )
        name = await self._name(id_)
        messages = await self._past.messages(self._live, name)
        facts = conversation_facts(name, messages, window.at)
        if facts is None:
            begun = "had not begun at that moment" if messages else "is not stored"
            raise NotFound(f"the conversation {id_[:128]} {begun}.")
        about = conversation_row(facts, messages, await self._roles(), window.at, people_max=PEOPLE_MAX)
        return {"now": now, "at": window.at, **about, **window_facts(messages, window)}

    async def file(self, request: Request) -> HttpResponse:
        """The conversation as one HTML file to keep."""
        histories = await self._bus.trace(request.path_params["id"])
        text = render_html(histories, self._bus.policy.dialects, time.time())
        return HttpResponse(200, text.encode("utf-8", "replace"), b"text/html; charset=utf-8", FILE_HEADERS)

    async def _name(self, id: str) -> str:
        """The conversation, also by the id of one of its messages."""
        if await self._past.messages(self._live, id):
            return id
        try:
            return (await self._bus.why(id))[-1].message.correlation or id
        except NotFound:
            return id

    async def _rows(
        self, names: Iterable[str], history: History, at: float, query: ConversationQuery | None = None
    ) -> list[Facts]:
        """Rows of these conversations, with all their messages; `query`: only those that match it."""
        roles, rows = await self._roles(), list[Facts]()
        for name in names:
            messages = await self._past.messages(history, name)
            facts = conversation_facts(name, messages, at)
            if facts is not None and (query is None or (query.matches(facts) and query.state in ("", facts.state))):
                rows.append(conversation_row(facts, messages, roles, at, people_max=PEOPLE_LISTED_MAX))
        return rows

    async def _older(self, query: ConversationQuery, before: int, at: float) -> tuple[list[Facts], Cursor | None]:
        """Conversations whose last message is before the history, the latest first."""
        page = await self._bus.conversations(before=before, limit=min(query.limit, OLDER_MAX))
        names = [one.correlation for one in page.conversations]
        rows = await self._rows(names, self._live, at, query)
        return rows, Cursor(before=page.next) if page.next is not None else None

    async def _roles(self) -> dict[str, str]:
        return {one.member.name: one.member.role for one in await self._bus.roster()}
