"""Routes of the page: views that combine several verbs. They only read."""

import time
from collections import Counter
from collections.abc import Awaitable, Callable
from itertools import islice
from pathlib import Path
from typing import Any

from starlette.requests import Request
from starlette.routing import Route

from telex.config import Settings
from telex.delivery.membership import name_not_allowed
from telex.demo.stage import STAGE
from telex.dialects.registry import by_name
from telex.dialects.write import write
from telex.errors import InvalidValue, NotAMember, NotFound
from telex.model.roster import HUMAN
from telex.ports.bus import Bus
from telex.protocol import encoded, plain
from telex.surfaces.http.asgi import HttpResponse, Scope, route
from telex.surfaces.http.auth import OPERATOR_ONLY
from telex.surfaces.http.page_agents import AgentViews
from telex.surfaces.http.page_conversations import ConversationViews
from telex.surfaces.http.page_files import StaticFiles
from telex.surfaces.http.page_message import (
    BODY_BYTES,
    BODY_BYTES_MAX,
    SEQ_MAX,
    MessageFactsQuery,
    dialects_facts,
    message_facts,
    no_such_message,
)
from telex.surfaces.http.page_needs_views import NeedsViews
from telex.surfaces.http.page_query import DAY, HOUR, json_object, number_of, utc_offset_of
from telex.surfaces.http.page_shared import SharedView
from telex.surfaces.http.page_stats import RecentEvents, RefusalQuery
from telex.surfaces.http.page_stream import OpenNeeds, PageStream
from telex.surfaces.http.page_timeline import INDEXED_MAX, HomeViews, visible_to
from telex.surfaces.http.page_work import shutdown_facts
from telex.surfaces.http.replica import replica_facts, replica_of
from telex.surfaces.http.tokens import TokenFile, caller_of, new_token, tokens_path
from telex.surfaces.page.agents import roles_by_name
from telex.surfaces.page.connect import connect_facts
from telex.surfaces.page.contracts import plan_facts, sorted_plans
from telex.surfaces.page.feed import FeedQuery, feed_page, feed_rows
from telex.surfaces.page.find import FOUND_MAX, GONE, found_agents, found_conversations, recipient_facts
from telex.surfaces.page.search import FILTER_CHARACTERS_MAX, SearchTime, parse_filter
from telex.validation.authorization import normalised

DIGITS_MAX = 19  # of a sequence number
LEVELS_MAX = 16  # of a message to write: indentation makes deep ones large
TOKEN_DAYS = 30
RECENT_MAX = 1_000  # messages whose dialects are counted

View = Callable[[Request], Awaitable[Any]]


def routes(bus: Bus, settings: Settings, needs: NeedsViews | None = None) -> list[Route]:
    needs = needs or NeedsViews(bus, settings, RecentEvents(bus))
    events = needs.events
    views = PageViews(bus, settings, needs)
    agents = AgentViews(bus, settings, events, needs.past)
    home, talk = HomeViews(bus, needs, settings.limits.silent_seconds), ConversationViews(bus, events, needs.past)
    shared: dict[str, Callable[[], Awaitable[Any]]] = {
        "/page/dialects": views.dialects,
        "/page/shutdown": lambda: shutdown_facts(bus, time.time()),
        "/page/replica": lambda: replica_facts(bus),
    }
    return [
        *StaticFiles().routes(),
        Route("/page/stream", PageStream(bus, needs.events, views.open_needs, views.summary_facts), methods=["GET"]),
        _view_route("/page/summary", views.summary),
        _view_route("/page/me", _me),
        _view_route("/page/messages/{seq}", views.message),
        _view_route("/page/demo", _demo),
        _view_route("/page/recipients", views.recipients),
        _view_route("/page/find", views.find),
        _view_route("/page/connect", views.connect),
        _view_route("/page/tokens", views.create_token, "POST"),
        _view_route("/page/contracts", views.contracts),
        _view_route("/page/refusals", views.refusals),
        _view_route("/page/rates", views.rates),
        _view_route("/page/home", home.home),
        _view_route("/page/timeline", home.timeline),
        _view_route("/page/timeline/marks", home.marks),
        _view_route("/page/moment", home.moment),
        _view_route("/page/overview", home.overview),
        _view_route("/page/feed", home.feed),
        _view_route("/page/feed/count", home.count),
        _view_route("/page/agents", agents.listing),
        _view_route("/page/agents/{name:path}/wake", agents.wake, "POST"),
        _view_route("/page/agents/{name:path}/stop", agents.stop, "POST"),
        _view_route("/page/agents/{name:path}", agents.one),
        _view_route("/page/needs", needs.list),
        _view_route("/page/needs/answer", needs.answer, "POST"),
        _view_route("/page/needs/undo", needs.undo, "POST"),
        _view_route("/page/needs/send", needs.send, "POST"),
        _view_route("/page/conversations", talk.listed),
        _view_route("/page/conversations/{id:path}", talk.one),
        route("/page/conversation-file/{id:path}", talk.file, "GET"),
        *(_view_route(path, SharedView(view)) for path, view in shared.items()),
        _view_route("/page/write", views.write, "POST"),
    ]


def _view_route(path: str, view: View, method: str = "GET") -> Route:
    async def handle(request: Request) -> HttpResponse:
        facts = await view(request)
        if isinstance(facts, HttpResponse):
            return facts
        tree = facts if isinstance(facts, dict) else {"answer": facts}
        return HttpResponse(200, encoded(plain(tree)), headers=((b"referrer-policy", b"no-referrer"),))

    return route(path, handle, method)


# --- views ------------------------------------------------------------------------------------------------------------


class PageViews:
    def __init__(self, bus: Bus, settings: Settings, needs: NeedsViews) -> None:
        self._bus, self._settings, self._policy = bus, settings, settings.policy()
        self._events, self._needs = needs.events, needs.needs
        path = getattr(getattr(bus, "store", None), "path", None)
        self._tokens = TokenFile(tokens_path(str(path))) if isinstance(path, str | Path) else None
        self._dialects: list[dict[str, Any]] | None = None

    async def summary(self, request: Request) -> dict[str, Any]:
        return await self.summary_facts(request.scope)

    async def summary_facts(self, scope: Scope) -> dict[str, Any]:
        """Data of the shell of the page. It is cheap: items that need a person are counted once for all pages."""
        events, now = await self._events.caught_up(), time.time()
        caller = caller_of(scope)
        needs = self._needs.known if self._needs.known.total is not None else await self._needs.current()
        needs = needs.visible_to(caller)
        by_kind = needs.by_kind()
        is_whole = caller.conversation is None
        return {
            "demo": STAGE.act is not None,
            "now": now,
            "team": self._settings.team_name,
            "messages": events.messages if is_whole else len(visible_to(scope, events.history).messages),
            "needs": needs.total,
            "needs_by_kind": by_kind,
            "refusals": len(events.refusals.within(now - HOUR)) if is_whole else None,
            "me": _me_facts(scope),
            "hubs": is_whole and replica_of(self._bus) is not None,
            "roles": roles_by_name(await self._bus.roster()) if is_whole else {},
        }

    async def open_needs(self) -> OpenNeeds:
        needs = await self._needs.latest()
        return OpenNeeds(needs.total, tuple(need.key for need in needs.needs))

    async def message(self, request: Request) -> dict[str, Any]:
        number = request.path_params["seq"]
        if not (number.isascii() and number.isdigit() and len(number) <= DIGITS_MAX):
            raise no_such_message(number[:60])
        now = time.time()
        body_max = int(number_of(request, "body_max", BODY_BYTES, most=BODY_BYTES_MAX))
        query = MessageFactsQuery(int(number), number_of(request, "at", now), body_max)
        return {"now": now, **await message_facts(self._bus, self._policy, query)}

    async def refusals(self, request: Request) -> dict[str, Any]:
        now = time.time()
        query = RefusalQuery(
            since=number_of(request, "since", now - HOUR),
            until=number_of(request, "until", now),
            agent=request.query_params.get("agent", ""),
            code=request.query_params.get("code", ""),
        )
        return {"now": now, **(await self._events.caught_up()).refusals.facts(query)}

    async def rates(self, request: Request) -> dict[str, Any]:
        until = number_of(request, "until", time.time())
        since = number_of(request, "since", until - HOUR)
        step = number_of(request, "step", 60.0, least=1, most=DAY)
        if since > until:
            raise InvalidValue("since must not be later than until.")
        return {"now": time.time(), **(await self._events.caught_up()).rates.since(since, until, step)}

    async def recipients(self, request: Request) -> dict[str, Any]:
        """Possible recipients of a message, with the number of agents that it would wake."""
        sender = caller_of(request.scope).agent or HUMAN
        return {"now": time.time(), "sender": sender, "recipients": recipient_facts(await self._bus.roster(), sender)}

    async def find(self, request: Request) -> dict[str, Any]:
        """Entries of the palette for some words: agents, conversations and messages."""
        now, words = time.time(), request.query_params.get("words", "")[:FILTER_CHARACTERS_MAX]
        history = (await self._events.caught_up()).history
        offset = utc_offset_of(request)
        filter_ = parse_filter(words, SearchTime(now, offset))
        indexed = await self._bus.search(filter_.words, limit=INDEXED_MAX) if filter_.words else ()
        seqs = frozenset(message.seq for message in indexed)
        query = FeedQuery(now, SEQ_MAX, after=0, limit=FOUND_MAX, filter=filter_, indexed=seqs)
        page = await feed_page(history, query) if words.strip() else None
        return {
            "now": now,
            "agents": found_agents(await self._bus.roster(), words),
            "conversations": found_conversations(history, words),
            "messages": feed_rows(page.messages, query) if page is not None else [],
            "problems": filter_.problems,
        }

    async def connect(self, request: Request) -> dict[str, Any]:
        roster = await self._bus.roster()
        agents = sum(one.member.name != HUMAN and one.state not in GONE for one in roster)
        return {
            "now": time.time(),
            "may_create_tokens": caller_of(request.scope).operator and self._tokens is not None,
            **connect_facts(hub=str(request.base_url).rstrip("/"), team=self._settings.team_name, agents=agents),
        }

    async def create_token(self, request: Request) -> dict[str, Any]:
        """A token of an agent. It is in this response only."""
        if not caller_of(request.scope).operator:
            raise NotAMember.because(OPERATOR_ONLY)
        if self._tokens is None:
            raise InvalidValue("this hub has no token file of its own: use telex token create.")
        given = await json_object(request, self._policy.limits.message_bytes_max)
        name, role = self._name(given.get("agent")), self._name(given.get("role") or given.get("agent"))
        now = time.time()
        token, text = new_token(agent=name, role=role, operator=False, now=now, expires_at=now + TOKEN_DAYS * DAY)
        self._tokens.add(token)
        return {"now": now, "token": text, "id": token.id, "agent": name, "expires_at": token.expires_at}

    def _name(self, given: Any) -> str:
        name = normalised(str(given or ""))
        finding = name_not_allowed(name, self._settings.limits)
        if finding is not None or name == HUMAN:
            raise InvalidValue(finding.say if finding else f"{HUMAN} is a person: telex token create --operator.")
        return name

    async def dialects(self) -> list[dict[str, Any]]:
        """Dialects of a typed message, those of the most recent messages first."""
        if self._dialects is None:
            self._dialects = dialects_facts(self._policy.dialects)
        messages = (await self._events.caught_up()).history.messages.values()
        used = Counter(message.dialect for message in islice(reversed(messages), RECENT_MAX))
        return sorted(self._dialects, key=lambda dialect: -used[dialect["name"]])

    async def contracts(self, request: Request) -> dict[str, Any]:
        """Plans with a contract, and refusals for leaving one. `plan` selects one plan."""
        offset = int(number_of(request, "cursor", 0, most=SEQ_MAX))
        limit = int(number_of(request, "limit", 20, least=1, most=100))
        id_ = request.query_params.get("plan")
        plans = sorted_plans((await self._bus.work_state("plan")).values())
        shown = [plan for plan in plans if id_ in (None, "", plan.id)]
        end = offset + limit
        return {
            "now": time.time(),
            "total": len(shown),
            "open": sum(plan.is_open for plan in shown),
            "plans": [plan_facts(plan) for plan in shown[offset:end]],
            "cursor": end if end < len(shown) else None,
            "outside": (await self._events.caught_up()).refusals.outside(),
        }

    async def write(self, request: Request) -> dict[str, Any]:
        """The text of a message from its fields, so that the browser need not write front matter."""
        given = await json_object(request, self._policy.limits.message_bytes_max)
        name, tree, body = str(given.get("dialect")), given.get("tree"), given.get("body")
        dialect = by_name(name, self._policy.dialects)
        if dialect is None:
            raise NotFound(f"no dialect {name[:60]}.")
        if not isinstance(tree, dict) or not isinstance(body, str | None):
            raise InvalidValue("tree takes an object with the fields of a message, and body text.")
        # No recursion: a JSON text can be deeper than the stack.
        layer: list[Any] = [tree]
        for _ in range(LEVELS_MAX):
            values = [value for node in layer for value in (node.values() if isinstance(node, dict) else node)]
            layer = [value for value in values if isinstance(value, dict | list)]
        if layer:
            raise InvalidValue(f"flatten tree: at most {LEVELS_MAX} levels.")
        return {"raw": write(dialect, tree, body)}


async def _me(request: Request) -> dict[str, Any]:
    return _me_facts(request.scope)


def _me_facts(scope: Scope) -> dict[str, Any]:
    """Identity of the viewer: the page does not offer actions that would be refused."""
    caller = caller_of(scope)
    return {name: getattr(caller, name) for name in ("agent", "role", "operator", "viewer", "conversation")}


async def _demo(_: Request) -> dict[str, Any]:
    """The act that a demo of this process plays."""
    return {"now": time.time(), "act": STAGE.act}
