"""Handler of the verbs over HTTP: every verb is called by its row in `protocol.verbs`."""

from collections.abc import Awaitable, Callable
from contextlib import aclosing
from functools import lru_cache, partial
from typing import Any
from urllib.parse import parse_qs, unquote_to_bytes

from telex.errors import InvalidValue, NotFound, TelexError
from telex.model.finding import Finding
from telex.model.limits import Limits
from telex.model.message import Lease, Message, Rendering
from telex.ports.bus import Bus, Receipt
from telex.ports.store import Query
from telex.protocol import decoded, encoded, plain
from telex.protocol.arguments import from_texts, from_tree
from telex.protocol.verbs import LOOKED_AT, RENDERED, VERBS, Verb, arguments, is_wrapped, told
from telex.surfaces.http.asgi import (
    ClientDisconnected,
    HttpResponse,
    Receive,
    Scope,
    body_of,
    error_response,
    finding_response,
    findings_response,
    problem,
    receipt_response,
    while_there,
)
from telex.surfaces.http.auth import acting
from telex.surfaces.http.tokens import Caller, caller_of
from telex.surfaces.size_limits import LOOK_BYTES, give_back, take, within_bytes

JSON_BYTES_PER_MESSAGE = 2  # a message inside a JSON body is escaped there
PAGE_MAX = 1_000  # events in one answer
PAGE_BYTES = 8 * 1_048_576  # of messages in it: the one that goes beyond is the last, and whoever wants more asks on
LOOKS = ("inbox", "search", "dead_letters")  # lists of messages, of which the first may be enough
FIELDS_MAX = 64  # of a query; no verb has half as many arguments
REMEMBERED_BYTES_MAX = 256  # of a query; a longer one has a whole text in it
WAITING = frozenset(
    {"receive", "request", "settled", "shut_down", "events"}
)  # those that may take long, and end with the client


class VerbHandler:
    """Answers every verb of the table."""

    def __init__(self, bus: Bus, limits: Limits) -> None:
        self._bus, self._limits = bus, limits
        self._special: dict[str, Callable[[dict[str, Any]], Awaitable[Any]]] = {
            "events": self._events,
            "receive": self._receive,
            "rendering": self._rendering,
            **{name: partial(self._looked, name) for name in LOOKS},
            "inbox": self._inbox,
        }

    async def answer(self, verb: Verb, in_path: dict[str, str], scope: Scope, receive: Receive) -> HttpResponse | None:
        """Do it and tell the answer; None where nobody is there to hear it."""
        try:
            return await self._answer(verb, in_path, scope, receive)
        except TelexError as error:
            return error_response(error)
        except ClientDisconnected:
            return None

    async def _answer(self, verb: Verb, in_path: dict[str, str], scope: Scope, receive: Receive) -> HttpResponse:
        limits = self._limits
        raw = b""
        if verb.method == "POST":
            most = limits.message_bytes_max * (1 if verb.body == "message" else JSON_BYTES_PER_MESSAGE)
            body = await body_of(scope, receive, most)
            if isinstance(body, HttpResponse):
                return body
            raw = body
        values = _values(verb, in_path, scope, raw)
        if isinstance(values, HttpResponse):
            return values
        if verb.body == "message":
            values = {**values, "raw": raw}
        calling = self._call(verb, values)
        if verb.name in LOOKED_AT:
            message = await calling
            given = {RENDERED: plain(await self._given(message, values["agent"]))}
            return HttpResponse(200, encoded(plain(message) | given))
        if verb.name not in WAITING:
            return _told(verb, await calling)

        async def given_back(answer: Any) -> None:
            leases = answer if isinstance(answer, list) else [answer]
            agent = values.get("agent") or values.get("sender", "")
            await give_back(self._bus, agent, [lease for lease in leases if isinstance(lease, Lease)])

        return _told(verb, await while_there(receive, calling, given_back))

    async def _call(self, verb: Verb, values: dict[str, Any]) -> Any:
        special = self._special.get(verb.name)
        if special is not None:
            return await special(values)
        return await _called(getattr(self._bus, verb.name), verb.name, values)

    async def _events(self, values: dict[str, Any]) -> list[Any]:
        """A page of them; with `wait`, the next ones as soon as there are any."""
        limit, wait = values.pop("limit", 100), values.pop("wait", None)
        if limit < 1:
            raise InvalidValue(f"give limit a number from 1 to {PAGE_MAX}, not {limit}.")
        page, size = list[Any](), 0
        events = self._bus.events(Query(**values), follow=wait is not None, wait=wait)
        async with aclosing(events) as happenings:
            async for happening in happenings:
                page.append(happening)
                size += len(happening[1].raw) if happening[1] is not None else 0
                if len(page) >= min(limit, PAGE_MAX) or size >= PAGE_BYTES:
                    break
        return page

    async def _receive(self, values: dict[str, Any]) -> list[Lease]:
        return await take(self._bus, limits=self._limits, **values)

    async def _looked(self, name: str, values: dict[str, Any]) -> list[Any]:
        limit = values.pop("limit", arguments(name)["limit"].default)
        verb = getattr(self._bus, name)
        return (await within_bytes(lambda few: _called(verb, name, values | {"limit": few}), limit)).found

    async def _inbox(self, values: dict[str, Any]) -> list[Any]:
        """Each message with what its reader is given in its place, which takes room too."""
        agent, waiting = values["agent"], await self._looked("inbox", values)
        found, size = list[Any](), 0
        for delivery, message in waiting:
            rendering = await self._given(message, agent)
            found.append((delivery, message, rendering))
            size += len(message.raw) + (rendering.size if rendering is not None else 0)
            if size >= LOOK_BYTES:
                break
        return found

    async def _given(self, message: Message, agent: str) -> Rendering | None:
        """What the agent is given in its place. Whoever is in no team reads anything."""
        try:
            return await self._bus.rendering(message, agent=agent)
        except NotFound:
            return None

    async def _rendering(self, values: dict[str, Any]) -> Any:
        stories = await self._bus.why(values["id"])
        seq = values.get("seq")
        messages = [history.message for history in stories if seq is None or history.message.seq == seq]
        if not messages:
            raise NotFound(f"no message with that id has the number {seq}: leave seq out for the last one.")
        return await self._bus.rendering(messages[-1], agent=values["agent"])


async def _called(verb: Callable[..., Any], name: str, values: dict[str, Any]) -> Any:
    """Some arguments of the bus have places and no names."""
    first = _FIRST.get(name)
    return await (verb(**values) if first is None else verb(values.pop(first), **values))


_FIRST = {"send": "raw", "request": "raw"}


def _values(verb: Verb, in_path: dict[str, str], scope: Scope, raw: bytes) -> dict[str, Any] | HttpResponse:
    """What the bus is called with, under the name that the door vouches for."""
    query, caller = scope["query_string"], caller_of(scope)
    if verb.body == "message" and len(query) <= REMEMBERED_BYTES_MAX:
        return _remembered_values(verb.name, query, caller)
    given = _given(verb, in_path, scope, raw)
    return given if isinstance(given, HttpResponse) else _named(verb, caller, given)


def _named(verb: Verb, caller: Caller, given: dict[str, Any]) -> dict[str, Any] | HttpResponse:
    named = acting(caller, verb, given)
    if isinstance(named, Finding):
        return finding_response(named, 403)
    wanted = arguments(verb.name)
    values = from_tree(wanted, named) if verb.body == "json" else from_texts(wanted, named)
    return findings_response(values) if isinstance(values, list) else values


@lru_cache(maxsize=4096)
def _remembered_values(name: str, query: bytes, caller: Caller) -> dict[str, Any] | HttpResponse:
    """An agent asks the same all day. What is remembered is never changed."""
    given = queried(query)
    return given if isinstance(given, HttpResponse) else _named(VERBS[name], caller, dict(given))


def _given(verb: Verb, in_path: dict[str, str], scope: Scope, raw: bytes) -> dict[str, Any] | HttpResponse:
    """The arguments as they came."""
    if verb.body != "json":
        query = queried(scope["query_string"])
        if isinstance(query, HttpResponse):
            return query
        given: dict[str, Any] = dict(query)
        return {**given, **{name: (value,) for name, value in in_path.items()}} if in_path else given
    if scope["query_string"]:
        return problem(400, "arguments-wrong", "Put the arguments into the JSON body: none go into the query.")
    try:
        tree = decoded(raw, halves=False) if raw else {}
    except ValueError as error:
        return problem(400, "arguments-wrong", f"Send the arguments as one JSON object: {error}.")
    if not isinstance(tree, dict):
        return problem(400, "arguments-wrong", "Send the arguments as one JSON object.")
    return tree


def queried(query: bytes) -> dict[str, tuple[str, ...]] | HttpResponse:
    """Each field of a query, as often as it stands there."""
    return _remembered(query) if len(query) <= REMEMBERED_BYTES_MAX else _queried(query)


def _queried(query: bytes) -> dict[str, tuple[str, ...]] | HttpResponse:
    try:
        found = parse_qs(
            query.decode("utf-8", "replace"), keep_blank_values=True, errors="replace", max_num_fields=FIELDS_MAX
        )
    except ValueError:
        return problem(400, "arguments-wrong", f"Give at most {FIELDS_MAX} fields in a query.")
    return {name: tuple(values) for name, values in found.items()}


_remembered = lru_cache(maxsize=4096)(_queried)  # an agent asks the same all day


def _told(verb: Verb, answer: Any) -> HttpResponse:
    if isinstance(answer, Receipt):
        if not answer.accepted:
            return receipt_response(answer)
        return HttpResponse(200 if answer.duplicate else 201, encoded(_plainly(answer)))
    if isinstance(answer, Finding):  # joining was refused
        return finding_response(answer)
    tree = plain(told(verb.name, answer))
    return HttpResponse(200, encoded({"answer": tree} if is_wrapped(verb.name) else tree))


def _plainly(receipt: Receipt) -> dict[str, Any]:
    """As `plain` tells it; most have nothing in them that would have to be told in another way."""
    return plain(receipt) if receipt.findings else receipt._asdict()


class VerbRoutes:
    """Which verb is meant by a path? Names in it may hold anything, a slash too: they are taken apart first."""

    def __init__(self) -> None:
        self._exact: dict[str, dict[str, Verb]] = {}
        self._with_names: dict[tuple[str, int, str], dict[str, tuple[Verb, str]]] = {}
        for verb in VERBS.values():
            parts = verb.path.split("/")
            name = next((part[1:-1] for part in parts if part.startswith("{")), None)
            if name is None:
                self._exact.setdefault(verb.path, {})[verb.method] = verb
            else:
                key = (parts[1], len(parts), parts[3] if len(parts) > 3 else "")
                self._with_names.setdefault(key, {})[verb.method] = (verb, name)

    def find(self, scope: Scope) -> tuple[Verb, dict[str, str]] | HttpResponse | None:
        """The verb and what its path names; an answer where the method is another; None: it is no verb's path."""
        method = "GET" if scope["method"] == "HEAD" else scope["method"]  # whose body the server leaves out
        exact = self._exact.get(scope["path"])
        if exact is not None:
            verb = exact.get(method)
            return (verb, {}) if verb is not None else not_that_method(exact)
        raw = scope.get("raw_path") or scope["path"].encode()
        parts = raw.split(b"?")[0].decode("latin-1").split("/")
        if len(parts) < 3:
            return None
        those = self._with_names.get((parts[1], len(parts), parts[3] if len(parts) > 3 else ""))
        if those is None:
            return None
        found = those.get(method)
        if found is None:
            return not_that_method(those)
        return found[0], {found[1]: unquote_to_bytes(parts[2].encode("latin-1")).decode("utf-8", "replace")}


def not_that_method(allowed: Any) -> HttpResponse:
    names = ", ".join(sorted({*allowed, "HEAD"} if "GET" in allowed else allowed))
    told_ = problem(405, "method-not-allowed", f"Use {names} here.")
    return told_._replace(headers=((b"allow", names.encode()),))
