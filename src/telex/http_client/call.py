"""How is a verb put to a hub, and its answer read? Every verb in the same way, by its row in `protocol.verbs`."""

from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from telex.errors import StoreError
from telex.http_client.problems import error_in, finding_in, refusal_in
from telex.http_client.transport import HttpQuery, HttpReply, RetryTransport
from telex.model.finding import Finding
from telex.ports.bus import Receipt
from telex.protocol import CodecError, decoded, encoded, made, plain
from telex.protocol.verbs import VERBS, answer_kind, is_wrapped

# Doing these a second time is not the same as doing them once.
ONCE = frozenset({"nack", "approve", "retry", "drop"})
RECEIPTS = frozenset({"send", "request", "approve"})  # what refuses these comes with a receipt
WAITED_FOR = {"receive": "wait", "request": "timeout", "settled": "timeout", "shut_down": "deadline"}
MESSAGE = "application/octet-stream"


async def ask(
    line: RetryTransport, name: str, values: Mapping[str, Any], raw: bytes | None = None, kind: Any = None
) -> Any:
    """The answer to a verb.

    Raises:
        TelexError: as a bus at hand would.
    """
    reply = await line.ask(question(name, values, raw))
    if reply.status < 300:
        return _answer(name, reply, kind or answer_kind(name))
    found: Receipt | Finding | None = None
    if name in RECEIPTS:
        found = refusal_in(reply.status, reply.body, values.get("id"))
    elif name == "join":
        found = finding_in(reply.status, reply.body)
    if found is None:
        raise error_in(reply.status, reply.body)
    return found


def question(name: str, values: Mapping[str, Any], raw: bytes | None = None) -> HttpQuery:
    verb, path = VERBS[name], VERBS[name].path
    given = {key: plain(value) for key, value in values.items() if value is not None}
    wait = given.get(WAITED_FOR.get(name, ""), 0.0)
    for key in [key for key in given if f"{{{key}}}" in path]:
        path = path.replace(f"{{{key}}}", _in_path(str(given.pop(key))))
    http_query = HttpQuery(verb.method, path, wait=float(wait), twice=name not in ONCE, id=values.get("id"))
    if verb.body == "json":
        return http_query._replace(body=encoded(given))
    query = tuple((key, word) for key, value in given.items() for word in _words(value))
    return http_query._replace(query=query, body=raw, kind=MESSAGE)


def _in_path(word: str) -> str:
    """One part of a path, whatever is in it. Dots alone would be taken for the way up."""
    return word.replace(".", "%2E") if word in (".", "..") else quote(word, safe="")


def _words(value: Any) -> list[str]:
    """An argument as it stands in a query."""
    if isinstance(value, bool):
        return ["true" if value else "false"]
    if isinstance(value, list):
        return [word for one in value for word in _words(one)]
    return [str(value)]


def _answer(name: str, reply: HttpReply, kind: Any) -> Any:
    try:
        tree = decoded(reply.body)
        return made(kind, tree["answer"] if is_wrapped(name) else tree)
    except (CodecError, ValueError, KeyError, TypeError) as error:
        say = "invalid response from the hub: is it a Telex hub of this version?"
        raise StoreError(say) from error
