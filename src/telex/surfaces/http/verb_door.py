"""How does a request become a call of the bus? Every verb in the same way, by its row in `wire.verbs`."""

from collections.abc import Awaitable, Callable
from functools import lru_cache
from typing import Any
from urllib.parse import parse_qs, unquote

from telex.errors import NotFound, TelexError
from telex.model.limits import Limits
from telex.model.refusal import Finding
from telex.ports.bus import Bus, Receipt
from telex.ports.store import Query
from telex.surfaces.http import problem
from telex.surfaces.http.asgi import Gone, Receive, Scope, body_of, while_there
from telex.surfaces.http.caller import caller_of
from telex.surfaces.http.identity import acting
from telex.surfaces.http.problem import Answer
from telex.wire import decoded, encoded, plain
from telex.wire.arguments import from_texts, from_tree
from telex.wire.verbs import VERBS, Verb, arguments, is_wrapped, told

JSON_BYTES_PER_MESSAGE = 2  # a message inside a JSON body is escaped there
PAGE_MAX = 1_000  # events in one answer
WAITING = frozenset({"receive", "request", "settled", "shut_down"})  # those that may take long, and end with the client


class VerbDoor:
    """Answers every verb of the table."""

    def __init__(self, bus: Bus, limits: Limits) -> None:
        self._bus, self._limits = bus, limits
        self._special: dict[str, Callable[[dict[str, Any]], Awaitable[Any]]] = {
            "events": self._events,
            "rendering": self._rendering,
        }

    async def answer(self, verb: Verb, in_path: dict[str, str], scope: Scope, receive: Receive) -> Answer | None:
        """Do it and tell the answer; None where nobody is there to hear it."""
        try:
            return await self._answer(verb, in_path, scope, receive)
        except TelexError as error:
            return problem.of_error(error)
        except Gone:
            return None

    async def _answer(self, verb: Verb, in_path: dict[str, str], scope: Scope, receive: Receive) -> Answer:
        limits = self._limits
        raw = b""
        if verb.method == "POST":
            most = limits.message_bytes_max * (1 if verb.body == "message" else JSON_BYTES_PER_MESSAGE)
            body = await body_of(scope, receive, most)
            if isinstance(body, Answer):
                return body
            raw = body
        given = _given(verb, in_path, scope, raw)
        if isinstance(given, Answer):
            return given
        named = acting(caller_of(scope), verb, given)
        if isinstance(named, Finding):
            return problem.of_finding(named, 403)
        wanted = arguments(verb.name)
        values = from_tree(wanted, named) if verb.body == "json" else from_texts(wanted, named)
        if isinstance(values, list):
            return problem.of_findings(values)
        if verb.body == "message":
            values["raw"] = raw
        calling = self._call(verb, values)
        return _told(verb, await (while_there(receive, calling) if verb.name in WAITING else calling))

    async def _call(self, verb: Verb, values: dict[str, Any]) -> Any:
        special = self._special.get(verb.name)
        if special is not None:
            return await special(values)
        return await _called(getattr(self._bus, verb.name), verb.name, values)

    async def _events(self, values: dict[str, Any]) -> list[Any]:
        """A page of them; with `wait`, the next ones as soon as there are any."""
        most, wait = min(values.pop("most", 100), PAGE_MAX), values.pop("wait", None)
        page: list[Any] = []
        if most < 1:
            return page
        async for one in self._bus.events(Query(**values), follow=wait is not None, wait=wait):
            page.append(one)
            if len(page) >= most:
                break
        return page

    async def _rendering(self, values: dict[str, Any]) -> Any:
        stories = await self._bus.why(values["id"])
        seq = values.get("seq")
        found = [one.message for one in stories if seq is None or one.message.seq == seq]
        if not found:
            raise NotFound(f"no message of that id has the number {seq}: leave seq out to take the last.")
        return await self._bus.rendering(found[-1], agent=values["agent"])


async def _called(verb: Callable[..., Any], name: str, values: dict[str, Any]) -> Any:
    """Some arguments of the bus have places and no names."""
    first = _FIRST.get(name)
    return await (verb(**values) if first is None else verb(values.pop(first), **values))


_FIRST = {"send": "raw", "request": "raw"}


def _given(verb: Verb, in_path: dict[str, str], scope: Scope, raw: bytes) -> dict[str, Any] | Answer:
    """The arguments as they came."""
    if verb.body != "json":
        given: dict[str, Any] = dict(queried(scope["query_string"]))
        return {**given, **{name: (value,) for name, value in in_path.items()}} if in_path else given
    if scope["query_string"]:
        return problem.problem(400, "arguments-wrong", "Put the arguments into the JSON body: none go into the query.")
    try:
        tree = decoded(raw)
    except ValueError as error:
        return problem.problem(400, "arguments-wrong", f"Send the arguments as one JSON object: {error}.")
    if tree is None:
        return {}
    if not isinstance(tree, dict):
        return problem.problem(400, "arguments-wrong", "Send the arguments as one JSON object.")
    return tree


@lru_cache(maxsize=4096)
def queried(query: bytes) -> dict[str, tuple[str, ...]]:
    found = parse_qs(query.decode("latin-1"), keep_blank_values=True, errors="replace", max_num_fields=64)
    return {name: tuple(values) for name, values in found.items()}


def _told(verb: Verb, answer: Any) -> Answer:
    if isinstance(answer, Receipt):
        if not answer.accepted:
            return problem.of_receipt(answer)
        return Answer(200 if answer.duplicate else 201, encoded(plain(answer)))
    if isinstance(answer, Finding):  # joining was refused
        return problem.of_finding(answer)
    tree = plain(told(verb.name, answer))
    return Answer(200, encoded({"answer": tree} if is_wrapped(verb.name) else tree))


class Routes:
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

    def find(self, scope: Scope) -> tuple[Verb, dict[str, str]] | Answer | None:
        """The verb and what its path names; an answer where the method is another; None: it is no verb's path."""
        exact = self._exact.get(scope["path"])
        if exact is not None:
            verb = exact.get(scope["method"])
            return (verb, {}) if verb is not None else not_that_method(exact)
        parts = scope.get("raw_path", scope["path"].encode()).split(b"?")[0].decode("latin-1").split("/")
        key = (parts[1], len(parts), parts[3] if len(parts) > 3 else "")
        those = self._with_names.get(key) if len(parts) > 2 else None
        if those is None:
            return None
        found = those.get(scope["method"])
        if found is None:
            return not_that_method(those)
        return found[0], {found[1]: unquote(parts[2], errors="replace")}


def not_that_method(allowed: Any) -> Answer:
    names = ", ".join(sorted(allowed))
    told_ = problem.problem(405, "method-not-allowed", f"Use {names} here.")
    return told_._replace(headers=((b"allow", names.encode()),))
