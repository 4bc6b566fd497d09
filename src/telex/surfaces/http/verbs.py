"""Handlers of the verbs over HTTP, each called by its row in `protocol.verbs`, and of the routes beside them.

Those are a check without sending, a batch of messages and the picture of a conversation.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from contextlib import aclosing
from functools import lru_cache, partial
from typing import Any
from urllib.parse import parse_qs, unquote_to_bytes

from starlette.requests import Request

from telex.config import Settings
from telex.errors import InvalidValue, NotAMember, NotFound, TelexError
from telex.model.finding import Finding
from telex.model.limits import Limits
from telex.model.message import BRINGING, LeasedMessage, Rendering, StoredMessage
from telex.model.named_tuple import NamedTuple
from telex.ports.bus import Bus, Receipt
from telex.ports.store import Query
from telex.protocol import decoded, encoded, plain
from telex.protocol.arguments import CODE as ARGUMENTS_WRONG
from telex.protocol.arguments import from_texts, from_tree, of_value, unknown
from telex.protocol.verbs import RENDERED, VERBS, WITH_RENDERING, Argument, Verb, arguments, as_response, is_wrapped
from telex.surfaces import size_limits
from telex.surfaces.http import asgi
from telex.surfaces.http.asgi import ClientDisconnected, HttpResponse, Receive, Scope
from telex.surfaces.http.auth import acting
from telex.surfaces.http.tokens import Caller, caller_of
from telex.surfaces.team_check import checked_in_team

JSON_BYTES_PER_MESSAGE = 2  # a message inside a JSON body is escaped
PAGE_MAX = 1_000  # events in one response
PAGE_BYTES = 8 * 1_048_576  # of messages in it; the message that exceeds it is the last
LISTS = ("inbox", "search", "dead_letters")  # verbs whose result is limited by size
FIELDS_MAX = 64  # of a query; no verb has half as many arguments
CACHED_BYTES_MAX = 256  # of a query; a longer one contains text
WAITING = frozenset({"receive", "request", "settled", "shut_down", "events"})  # cancelled if the client disconnects
_POSITIONAL = {"send": "raw", "request": "raw"}  # arguments of the bus that have no name


class VerbHandler:
    def __init__(self, bus: Bus, limits: Limits) -> None:
        self._bus, self._limits = bus, limits
        self._special: dict[str, Callable[[dict[str, Any]], Awaitable[Any]]] = {
            "events": self._events,
            "join": self._join,
            "receive": self._receive,
            "rendering": self._rendering,
            **{name: partial(self._list, name) for name in LISTS},
            "inbox": self._inbox,
        }

    async def answer(self, verb: Verb, in_path: dict[str, str], scope: Scope, receive: Receive) -> HttpResponse | None:
        """The response; None if the client has disconnected."""
        try:
            return await self._answer(verb, in_path, scope, receive)
        except TelexError as error:
            return asgi.error_response(error)
        except ClientDisconnected:
            return None

    async def _answer(self, verb: Verb, in_path: dict[str, str], scope: Scope, receive: Receive) -> HttpResponse:
        raw: bytes | HttpResponse = b""
        if verb.method == "POST":
            factor = 1 if verb.body == "message" else JSON_BYTES_PER_MESSAGE
            raw = await asgi.read_body(scope, receive, self._limits.message_bytes_max * factor)
        if isinstance(raw, HttpResponse):
            return raw
        values = verb_arguments(verb, in_path, scope, raw)
        if isinstance(values, HttpResponse):
            return values
        if verb.body == "message":
            values = {**values, "raw": raw}
        conversation = caller_of(scope).conversation
        if verb.name == "search" and conversation is not None:
            return _result_response(verb.name, await self._search_in(conversation, values))
        if verb.name not in WAITING:
            result = await self._call(verb.name, values)
            if verb.name in WITH_RENDERING:
                rendering = {RENDERED: plain(await self._rendering_for(result, values["agent"]))}
                return HttpResponse(200, encoded(plain(result) | rendering))
            return _result_response(verb.name, result)

        async def return_leases(result: Any) -> None:
            leases = [
                lease
                for lease in (result if isinstance(result, list) else [result])
                if isinstance(lease, LeasedMessage)
            ]
            await size_limits.give_back(self._bus, values.get("agent") or values.get("sender", ""), leases)

        return _result_response(
            verb.name, await asgi.while_connected(receive, self._call(verb.name, values), return_leases)
        )

    async def _call(self, name: str, values: dict[str, Any]) -> Any:
        special = self._special.get(name)
        return await (special(values) if special is not None else self._call_bus(name, values))

    async def _call_bus(self, name: str, values: dict[str, Any]) -> Any:
        method, positional = getattr(self._bus, name), _POSITIONAL.get(name)
        return await (method(**values) if positional is None else method(values.pop(positional), **values))

    async def _join(self, values: dict[str, Any]) -> Any:
        try:
            return await self._call_bus("join", values)
        except NotAMember as error:
            if error.finding is None:
                raise
            return error.finding

    async def _events(self, values: dict[str, Any]) -> list[Any]:
        """A page of events; with `wait`, the next ones as soon as there are any."""
        limit, wait = values.pop("limit", 100), values.pop("wait", None)
        if limit < 1:
            raise InvalidValue(f"give limit a number from 1 to {PAGE_MAX}, not {limit}.")
        page, size = list[Any](), 0
        async with aclosing(self._bus.events(Query(**values), follow=wait is not None, wait=wait)) as events:
            async for event, message in events:
                page.append((event, message))
                size += len(message.raw) if message is not None else 0
                if len(page) >= min(limit, PAGE_MAX) or size >= PAGE_BYTES:
                    break
        return page

    async def _search_in(self, conversation: str, values: dict[str, Any]) -> list[StoredMessage]:
        """For a viewer of one conversation: messages of others do not use up the limit, which would count them."""
        found = await self._events({**values, "correlation": conversation, "kinds": BRINGING, "newest_first": True})
        return [message for _, message in found if message is not None]

    async def _receive(self, values: dict[str, Any]) -> list[LeasedMessage]:
        return await size_limits.take(self._bus, limits=self._limits, **values)

    async def _list(self, name: str, values: dict[str, Any]) -> list[Any]:
        limit = values.pop("limit", arguments(name)["limit"].default)
        limited = await size_limits.within_bytes(lambda few: self._call_bus(name, values | {"limit": few}), limit)
        return limited.found

    async def _inbox(self, values: dict[str, Any]) -> list[Any]:
        """Messages with their renderings for the agent, which count towards the size."""
        rows, size = list[Any](), 0
        for delivery, message in await self._list("inbox", values):
            rendering = await self._rendering_for(message, values["agent"])
            rows.append((delivery, message, rendering))
            size += size_limits.LISTED_BYTES + len(message.raw) + (rendering.size if rendering is not None else 0)
            if size >= size_limits.LOOK_BYTES:
                break
        return rows

    async def _rendering_for(self, message: StoredMessage, agent: str) -> Rendering | None:
        try:
            return await self._bus.rendering(message, agent=agent)
        except NotFound:  # an agent that is not in the team reads every dialect
            return None

    async def _rendering(self, values: dict[str, Any]) -> Any:
        seq = values.get("seq")
        messages = [history.message for history in await self._bus.why(values["id"])]
        messages = [message for message in messages if seq is None or message.seq == seq]
        if not messages:
            raise NotFound(f"no message with that id has the number {seq}: leave seq out for the last one.")
        return await self._bus.rendering(messages[-1], agent=values["agent"])


# --- arguments --------------------------------------------------------------------------------------------------------


def verb_arguments(verb: Verb, in_path: dict[str, str], scope: Scope, raw: bytes) -> dict[str, Any] | HttpResponse:
    """Arguments for the bus, with the caller's name and role, or the response to invalid ones."""
    query, caller = scope["query_string"], caller_of(scope)
    if verb.body == "message" and len(query) <= CACHED_BYTES_MAX:
        return _cached_arguments(verb.name, query, caller)
    if verb.body != "json":
        texts = parse_query(query)
        if isinstance(texts, HttpResponse):
            return texts
        return _checked(verb, caller, texts | {name: (value,) for name, value in in_path.items()})
    if query:
        return asgi.problem(400, ARGUMENTS_WRONG, "Put the arguments into the JSON body: none go into the query.")
    try:
        tree = decoded(raw, halves=False) if raw else {}
    except ValueError as error:
        return asgi.problem(400, ARGUMENTS_WRONG, f"Send the arguments as one JSON object: {error}.")
    if not isinstance(tree, dict):
        return asgi.problem(400, ARGUMENTS_WRONG, "Send the arguments as one JSON object.")
    return _checked(verb, caller, tree)


@lru_cache(maxsize=4096)
def _cached_arguments(name: str, query: bytes, caller: Caller) -> dict[str, Any] | HttpResponse:
    """An agent sends with the same query again and again. The result is shared: do not change it."""
    texts = parse_query(query)
    return texts if isinstance(texts, HttpResponse) else _checked(VERBS[name], caller, texts)


def _checked(verb: Verb, caller: Caller, given: dict[str, Any]) -> dict[str, Any] | HttpResponse:
    named = acting(caller, verb, given)
    if isinstance(named, Finding):
        return asgi.finding_response(named, 403)
    wanted = arguments(verb.name)
    values = from_tree(wanted, named) if verb.body == "json" else from_texts(wanted, named)
    return asgi.findings_response(values) if isinstance(values, list) else values


def parse_query(query: bytes) -> dict[str, Any] | HttpResponse:
    """Each field of a query with a tuple of its values."""
    text = query.decode("utf-8", "replace")
    try:
        fields = parse_qs(text, keep_blank_values=True, errors="replace", max_num_fields=FIELDS_MAX)
    except ValueError:
        return asgi.problem(400, ARGUMENTS_WRONG, f"Give at most {FIELDS_MAX} fields in a query.")
    return {name: tuple(values) for name, values in fields.items()}


def query_arguments(wanted: dict[str, Argument], query: bytes) -> dict[str, Any] | HttpResponse:
    texts = parse_query(query)
    values = texts if isinstance(texts, HttpResponse) else from_texts(wanted, texts)
    return asgi.findings_response(values) if isinstance(values, list) else values


# --- results and routes -----------------------------------------------------------------------------------------------


def _result_response(name: str, result: Any) -> HttpResponse:
    if isinstance(result, Receipt):
        tree = plain(result) if result.findings else result._asdict()  # the same, but faster
        return HttpResponse(200 if result.duplicate else 201, encoded(tree))
    if isinstance(result, Finding):  # of a refused join
        return asgi.finding_response(result)
    tree = plain(as_response(name, result))
    return HttpResponse(200, encoded({"answer": tree} if is_wrapped(name) else tree))


class VerbRoutes:
    """Routes of the verbs. Names in a path may contain anything, also an escaped slash: paths are split first."""

    def __init__(self) -> None:
        self._exact: dict[str, dict[str, Verb]] = {}
        self._with_name: dict[tuple[str, int, str], dict[str, tuple[Verb, str]]] = {}
        for verb in VERBS.values():
            parts = verb.path.split("/")
            name = next((part[1:-1] for part in parts if part.startswith("{")), None)
            if name is None:
                self._exact.setdefault(verb.path, {})[verb.method] = verb
            else:
                self._with_name.setdefault(_shape(parts), {})[verb.method] = (verb, name)

    def find(self, scope: Scope) -> tuple[Verb, dict[str, str]] | HttpResponse | None:
        """The verb and the argument in its path; a response to another method; None: not the path of a verb."""
        method = "GET" if scope["method"] == "HEAD" else scope["method"]  # the server leaves the body out
        exact = self._exact.get(scope["path"])
        if exact is not None:
            return (exact[method], {}) if method in exact else _allow(exact)
        raw = scope.get("raw_path") or scope["path"].encode()
        parts = raw.split(b"?")[0].decode("latin-1").split("/")
        routes = self._with_name.get(_shape(parts)) if len(parts) > 2 else None
        if routes is None:
            return None
        if method not in routes:
            return _allow(routes)
        verb, name = routes[method]
        return verb, {name: unquote_to_bytes(parts[2].encode("latin-1")).decode("utf-8", "replace")}


def _shape(parts: list[str]) -> tuple[str, int, str]:
    return parts[1], len(parts), parts[3] if len(parts) > 3 else ""


def _allow(methods: Iterable[str]) -> HttpResponse:
    return asgi.method_not_allowed(", ".join(sorted({*methods, "HEAD"} if "GET" in methods else methods)))


# --- routes beside the verbs ----------------------------------------------------------------------------------------

BATCH_MAX = 1_000
BATCH_BYTES = 16  # times the size of the largest message
FINDINGS_MAX = 200
SVG = b"image/svg+xml"
SVG_POLICY = (b"content-security-policy", b"default-src 'none'; style-src 'unsafe-inline'; sandbox")
CHECK_ARGUMENTS = {name: Argument(name, str | None) for name in ("sender", "role", "to", "dialect")}


class CheckResponse(NamedTuple):
    """Result of a check, which does not include earlier messages."""

    valid: bool
    dialect: str | None
    type: str | None
    findings: tuple[Finding, ...]
    fixed: dict[str, Any] | None  # passes as it is
    skeleton: dict[str, Any] | None  # passes once its blanks are filled
    body: str | None  # the markdown under the front matter


class BatchMessage(NamedTuple):
    """A message of a batch: as text in `raw`, or as an object in `message`."""

    raw: bytes | None = None
    message: dict[str, Any] | None = None
    to: str | None = None
    id: str | None = None
    reply_to: str | None = None
    correlation: str | None = None


class MessageBatch(NamedTuple):
    """Messages of one sender."""

    messages: tuple[BatchMessage, ...]
    sender: str = ""
    role: str | None = None


MESSAGE_ARGUMENTS, BATCH_ARGUMENTS = of_value(BatchMessage), of_value(MessageBatch)


class ExtraRoutes:
    def __init__(self, bus: Bus, settings: Settings) -> None:
        self._bus, self._settings, self._policy = bus, settings, settings.policy()

    async def check(self, request: Request) -> HttpResponse:
        """Check a message; nothing is stored."""
        raw = await asgi.read_body(request.scope, request.receive, self._settings.limits.message_bytes_max)
        values = query_arguments(CHECK_ARGUMENTS, request.scope["query_string"])
        if isinstance(raw, HttpResponse):
            return raw
        if isinstance(values, HttpResponse):
            return values
        policy, dialect, caller = self._policy, values.get("dialect"), caller_of(request.scope)
        if dialect is not None:
            forced = next((known for known in self._settings.dialects() if known.name == dialect), None)
            if forced is None:
                say = "Name a dialect of the team."
                return asgi.findings_response([Finding(ARGUMENTS_WRONG, "$.dialect", say, found=dialect[:60])])
            policy = policy._replace(forced=forced)
        checked = await checked_in_team(
            raw,
            self._bus,
            self._settings,
            sender=values.get("sender") or caller.agent,
            role=values.get("role") or caller.role,
            to=values.get("to"),
            policy=policy,
        )
        facts = {name: getattr(checked, name) for name in CheckResponse._fields if name != "dialect"}
        result = CheckResponse(dialect=checked.dialect.name if checked.dialect else None, **facts)
        return HttpResponse(200, encoded(plain(result)))

    async def send_many(self, request: Request) -> HttpResponse:
        """Send several messages; each has its own result, in order."""
        bytes_max = self._settings.limits.message_bytes_max * BATCH_BYTES
        raw = await asgi.read_body(request.scope, request.receive, bytes_max)
        batch = raw if isinstance(raw, HttpResponse) else _read_batch(raw)
        if isinstance(batch, HttpResponse):
            return batch
        claims = {"sender": batch.sender or None, "role": batch.role}
        given = {name: value for name, value in claims.items() if value is not None}
        named = acting(caller_of(request.scope), VERBS["send"]._replace(body="json"), given)
        if isinstance(named, Finding):
            return asgi.finding_response(named, 403)
        if not named.get("sender"):
            return asgi.findings_response([Finding(ARGUMENTS_WRONG, "$.sender", "Give sender.")])
        sent = await asyncio.gather(*(self._send(message, named) for message in batch.messages))
        return HttpResponse(200, encoded({"answer": sent}))

    async def _send(self, message: BatchMessage, named: dict[str, Any]) -> Any:
        arguments = message._asdict() | {"sender": named["sender"], "role": named.get("role")}
        raw, tree = arguments.pop("raw"), arguments.pop("message")
        try:
            return plain(await self._bus.send(raw if raw is not None else tree, check=False, **arguments))
        except TelexError as error:
            return decoded(asgi.error_response(error).body)

    async def picture(self, request: Request) -> HttpResponse:
        """A conversation as a sequence diagram."""
        from telex.trace.svg import render_svg

        histories = await self._bus.trace(request.path_params["correlation"])
        return HttpResponse(200, render_svg(histories).encode("utf-8", "replace"), SVG, (SVG_POLICY,))


def _read_batch(raw: bytes) -> MessageBatch | HttpResponse:
    try:
        tree = decoded(raw, halves=False)
    except ValueError as error:
        return asgi.problem(400, ARGUMENTS_WRONG, f"Send one JSON object with messages: {error}.")
    values = from_tree(BATCH_ARGUMENTS, tree)
    if isinstance(values, list):
        return asgi.findings_response(values)
    batch = MessageBatch(**values)
    if len(batch.messages) > BATCH_MAX:
        return asgi.problem(413, "too-large", f"Send at most {BATCH_MAX:,} messages at once.")
    findings = [finding for number, entry in enumerate(tree["messages"]) for finding in _check_entry(entry, number)]
    return asgi.findings_response(findings[:FINDINGS_MAX]) if findings else batch


def _check_entry(tree: dict[str, Any], number: int) -> list[Finding]:
    path = f"$.messages[{number}]"
    findings = [finding._replace(path=path + finding.path[1:]) for finding in unknown(MESSAGE_ARGUMENTS, tree)]
    if (tree.get("raw") is None) == (tree.get("message") is None):
        findings.append(Finding(ARGUMENTS_WRONG, path, "Give the message as text in raw, or as an object in message."))
    return findings
