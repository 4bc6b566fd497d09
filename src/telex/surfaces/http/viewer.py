"""Viewer tokens: an allow list of routes, and what a viewer of one conversation gets from each.

Whatever is not in the list is refused, so a new route is refused until it is added here. The check is made where a
request is dispatched, by the route that was found, so it cannot read a path in another way than the router. A route is
in the list only if it changes nothing: no POST, and not the inbox of an agent, which marks the agent as seen.
"""

from collections.abc import Callable, Mapping, MutableMapping, Sequence
from typing import Any
from urllib.parse import parse_qsl, urlencode

from starlette.requests import Request
from starlette.routing import BaseRoute, Route

from telex.model.named_tuple import NamedTuple
from telex.protocol import decoded, encoded
from telex.surfaces.http import asgi
from telex.surfaces.http.asgi import App, HttpResponse, Receive, Scope, Send
from telex.surfaces.http.tokens import Caller, caller_of

NO_VIEWERS = asgi.problem(
    403, "viewer-token", "Use a token of an agent or an operator: the token of a viewer may only read."
)
OTHER_CONVERSATION = asgi.problem(
    403,
    "viewer-conversation",
    "Read the conversation that the token is for, or ask the operator of the hub for another token.",
)
Facts = dict[str, Any]
Narrow = Callable[[Any, str], Any]  # the answer for the viewer of one conversation; None: there is nothing for it


class ViewerRule(NamedTuple):
    """Rule of a route for viewers of one conversation. A viewer of the team gets the answer as it is."""

    shared: bool = False  # the answer is about no conversation
    in_path: str | None = None  # the parameter of the path that must be the conversation
    in_query: str | None = None  # the parameter of the query that is set to the conversation
    narrow: Narrow | None = None  # filter of the answer
    updates: Narrow | None = None  # filter of each event of a stream
    by_view: bool = False  # the view looks at the caller itself

    @property
    def is_for_conversations(self) -> bool:
        return self != TEAM


class RequestedRoute(NamedTuple):
    path: str  # of the route, such as `/messages/{id}`
    parameters: Mapping[str, str]  # of the request, by name


TEAM = ViewerRule()  # for viewers of the whole team only
SHARED = ViewerRule(shared=True)
BY_VIEW = ViewerRule(by_view=True)


# --- answers of one conversation --------------------------------------------------------------------------------------


def _of(rows: Any, conversation: str) -> list[Any]:
    return [row for row in rows if isinstance(row, dict) and row.get("conversation") == conversation]


def _histories(answer: Any, conversation: str) -> Any:
    """Messages of one id: another conversation may have used it too."""
    found = [row for row in answer["answer"] if row["message"]["correlation"] == conversation]
    return {"answer": found} if found else None


def _page_message(answer: Any, conversation: str) -> Any:
    """One message of the page. The messages before and after it may be of other conversations."""
    if answer["message"]["correlation"] != conversation:
        return None
    return answer | {"reply_to": None, "answered_by": None}


def _update(update: Any, conversation: str) -> Any:
    """An update of the page. Null is a count that has not changed; the summary is made for the caller."""
    if "seq" not in update:  # the hub has another store now
        return update
    kept = {name: update[name] for name in ("seq", "now", "reset", "summary") if name in update}
    rows, conversations = _of(update.get("rows", ()), conversation), update.get("conversations", ())
    here = [conversation] if conversation in conversations else []
    return {**kept, "rows": rows, "agents": [], "conversations": here, "needs": None, "roster": False}


# --- the list ---------------------------------------------------------------------------------------------------------

VIEWER_ROUTES: Mapping[str, ViewerRule] = {
    "/": SHARED,
    "/static/{file:path}": SHARED,
    "/static/{version}/{file:path}": SHARED,
    "/healthz": SHARED,
    "/readyz": SHARED,
    "/openapi.json": SHARED,
    "/page/me": SHARED,
    "/page/demo": SHARED,
    "/page/moment": SHARED,
    "/page/dialects": SHARED,
    "/messages/{id}": ViewerRule(narrow=_histories),
    "/messages/{id}/settled": TEAM,
    "/messages/{id}/rendering": TEAM,
    "/events": ViewerRule(in_query="correlation"),
    "/search": BY_VIEW,
    "/trace/{correlation}": ViewerRule(in_path="correlation"),
    "/trace/{correlation:path}/picture": ViewerRule(in_path="correlation"),
    "/conversations": TEAM,
    "/work-state/{kind}": TEAM,
    "/escalations": TEAM,
    "/stall": TEAM,
    "/roster": TEAM,
    "/dead": TEAM,
    "/metrics": TEAM,
    "/page/agents": TEAM,
    "/page/agents/{name:path}": TEAM,
    "/page/conversations": TEAM,
    "/page/conversations/{id:path}": ViewerRule(in_path="id"),
    "/page/conversation-file/{id:path}": ViewerRule(in_path="id"),
    "/page/messages/{seq}": ViewerRule(narrow=_page_message),
    "/page/stream": ViewerRule(updates=_update),
    "/page/needs": BY_VIEW,
    "/page/home": BY_VIEW,
    "/page/refusals": TEAM,
    "/page/rates": TEAM,
    "/page/timeline": BY_VIEW,
    "/page/timeline/marks": BY_VIEW,
    "/page/overview": BY_VIEW,
    "/page/feed": BY_VIEW,
    "/page/feed/count": BY_VIEW,
    "/page/find": TEAM,
    "/page/summary": BY_VIEW,
    "/page/contracts": TEAM,
    "/page/shutdown": TEAM,
    "/page/replica": TEAM,
}
READS = frozenset(("GET", "HEAD"))
FRAME_END, DATA = b"\n\n", b"data: "


# --- enforcement ------------------------------------------------------------------------------------------------------


def refusal_for(caller: Caller, method: str, route: RequestedRoute) -> HttpResponse | None:
    """Refusal of the route for this viewer; None: it is allowed."""
    rule = VIEWER_ROUTES.get(route.path) if method in READS else None
    if rule is None:
        return NO_VIEWERS
    if caller.conversation is None:
        return None
    if not rule.is_for_conversations:
        return OTHER_CONVERSATION
    if rule.in_path is not None and route.parameters.get(rule.in_path) != caller.conversation:
        return OTHER_CONVERSATION
    return None


async def serve_viewer(route: RequestedRoute, app: App, scope: Scope, receive: Receive, send: Send) -> None:
    """Answer a viewer with this route, as far as its token allows."""
    caller = caller_of(scope)
    refusal = refusal_for(caller, scope["method"], route)
    if refusal is not None:
        await asgi.reply(send, refusal)
        return
    rule = VIEWER_ROUTES[route.path]
    if caller.conversation is None or rule.shared:
        await app(scope, receive, send)
        return
    if rule.in_query is not None:
        scope = _with_query(scope, rule.in_query, caller.conversation)
    if rule.updates is not None:
        await app(scope, receive, narrowed_stream(rule.updates, caller.conversation, send))
        return
    if rule.narrow is None:
        await app(scope, receive, send)
        return
    await asgi.reply(send, _narrowed(await asgi.collected(app, scope, receive), rule.narrow, caller.conversation))


def _with_query(scope: Scope, name: str, value: str) -> Scope:
    """The request with this parameter in place of what the viewer has given for it."""
    pairs = parse_qsl(scope["query_string"].decode("utf-8", "replace"), keep_blank_values=True)  # the verb counts them
    query = urlencode([*((key, text) for key, text in pairs if key != name), (name, value)])
    return dict(scope) | {"query_string": query.encode()}


def _narrowed(answer: HttpResponse, narrow: Narrow, conversation: str) -> HttpResponse:
    if answer.status == 404:
        return OTHER_CONVERSATION  # as for what exists
    if answer.status != 200 or answer.kind.split(b";")[0] != asgi.JSON:
        return answer
    left = narrow(decoded(answer.body), conversation)
    return OTHER_CONVERSATION if left is None else answer._replace(body=encoded(left))


def narrowed_stream(narrow: Narrow, conversation: str, send: Send) -> Send:
    """A `send` that narrows each event of a stream. A problem document is sent as it is."""
    rest, is_stream = b"", False

    async def send_narrowed(message: MutableMapping[str, Any]) -> None:
        nonlocal rest, is_stream
        if message["type"] == "http.response.start":
            kind = dict(message["headers"]).get(b"content-type", b"")
            is_stream = kind.startswith(asgi.EVENT_STREAM)
            assert is_stream or message["status"] >= 400, "only streams are narrowed here"
        elif is_stream:
            *frames, rest = (rest + message.get("body", b"")).split(FRAME_END)
            body = b"".join(_narrowed_frame(frame, narrow, conversation) + FRAME_END for frame in frames)
            message = {**message, "body": body}
        await send(message)

    return send_narrowed


def _narrowed_frame(frame: bytes, narrow: Narrow, conversation: str) -> bytes:
    lines = frame.split(b"\n")
    return b"\n".join(
        DATA + encoded(narrow(decoded(line.removeprefix(DATA)), conversation)) if line.startswith(DATA) else line
        for line in lines
    )


def guarded_routes(routes: Sequence[BaseRoute]) -> list[BaseRoute]:
    """The routes, with the check before each of them. A route of another kind is closed to viewers."""
    for route in routes:
        if isinstance(route, Route):
            route.app = _guarded(route.app, route.path)
    return [*routes]


def _guarded(app: App, path: str) -> App:
    async def handle(scope: Scope, receive: Receive, send: Send) -> None:
        if not caller_of(scope).viewer:
            await app(scope, receive, send)
            return
        parameters = {name: str(value) for name, value in Request(scope).path_params.items()}
        await serve_viewer(RequestedRoute(path, parameters), app, scope, receive, send)

    return handle
