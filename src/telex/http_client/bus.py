"""HTTP client of a hub with the methods of `ports.bus.Bus`, made from the table of verbs.

An error response becomes the receipt or exception of a local bus. A token goes only to a hub that the user has
named: a cloned project has a telex.toml too, and its address must not get the token of another hub.
"""

import inspect
import os
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping, Sequence
from contextlib import aclosing
from functools import cache
from typing import Any
from urllib.parse import quote, urlsplit

from telex import errors
from telex.agent import Agent
from telex.client import add_verbs
from telex.delivery.routing import Participants
from telex.delivery.validator_cache import ValidatorCache
from telex.errors import InvalidValue, NotAMember, Refused, StoreError, StoreUnavailable, TelexError
from telex.http_client.transport import (
    NO_HUB,
    AsyncTransport,
    Attempts,
    BlockingTransport,
    HttpQuery,
    HttpReply,
    RetryTransport,
    Transport,
    is_loopback,
    whole,
)
from telex.model.contracts import PathVerdict
from telex.model.finding import Finding
from telex.model.message import Event, LeasedMessage, Rendering, StoredMessage
from telex.model.roster import HUMAN
from telex.model.text import ROOT
from telex.ports.bus import Bus, Receipt, as_bytes
from telex.ports.environment import Clock
from telex.ports.store import EVERYTHING, Query
from telex.project import user_folder
from telex.protocol import CodecError, decoded, encoded, made, plain
from telex.protocol.verbs import VERBS, EventRecord, answer_kind, is_wrapped, work_state_kinds
from telex.validation.check import STRICT, CheckPolicy
from telex.validation.contracts import NOT_IN_PROJECT, InvalidPath, Resolver, normal, real

STEP_SECONDS = 25.0  # of one poll of a long wait; below the idle timeout of proxies
PAGE = 500  # events fetched at a time
NOT_IDEMPOTENT = frozenset({"nack", "approve", "retry", "drop"})  # never retried
RECEIPTS = frozenset({"send", "request", "approve"})  # a refusal of these is a receipt
PAIRS = frozenset({"inbox", "dead_letters", "events"})  # the response has further facts beside delivery and message
WAIT_ARGUMENT = {"receive": "wait", "request": "timeout", "settled": "timeout", "shut_down": "deadline"}
_CONTEXT = ("sender", "role", "to", "id", "reply_to", "correlation")  # of a send, for the envelope of a message
MESSAGE = "application/octet-stream"
REFUSED, TOO_LARGE = 422, 413
ARGUMENTS_WRONG = "arguments-wrong"
WRONG_VERSION = "is it a Telex hub of this version?"
SILENCE_SECONDS = 45.0  # read timeout; a hub sends a keep-alive every 15 seconds
LATE_SECONDS = 1.0  # by which the end of a wait may be late
FRAME_BYTES_MAX = 64 * 1_048_576  # no event is that large
STREAM = {"accept": "text/event-stream"}
OK = 200


class RemoteBus(Bus):
    """Bus of a hub. Methods that are not here are sent as they are: see `_remote`."""

    def __init__(self, line: RetryTransport, clock: Clock, policy: CheckPolicy = STRICT) -> None:
        """`policy` finds the id in a message; the hub corrects it if the team has another policy."""
        self._line, self._clock, self._validators = line, clock, ValidatorCache(policy)
        self._policy = policy

    @classmethod
    def over(cls, line: RetryTransport, clock: Clock, policy: CheckPolicy = STRICT) -> "RemoteBus":
        """A type checker takes the class for abstract, since most methods are added below."""
        return cls(line, clock, policy)

    @property
    def policy(self) -> CheckPolicy:
        return self._policy

    def agent(self, name: str, *, role: str | None = None) -> Agent:
        return Agent(self, name, role)

    async def receive(
        self, agent: str, *, role: str | None = None, limit: int = 1, wait: float = 0.0, lease: float | None = None
    ) -> list[LeasedMessage]:
        until, values = self._clock.now() + wait, {"agent": agent, "role": role, "limit": limit, "lease": lease}
        while True:
            step = min(wait, STEP_SECONDS, max(until - self._clock.now(), 0.0)) if wait > 0 else wait
            leases: list[LeasedMessage] = await call(self._line, "receive", values | {"wait": step})
            if leases or self._clock.now() >= until:
                return leases

    async def rendering(self, message: StoredMessage, *, agent: str) -> Rendering | None:
        values = {"id": message.id, "seq": message.seq, "agent": agent}
        return await call(self._line, "rendering", values)  # type: ignore[no-any-return]

    async def events(
        self, query: Query = EVERYTHING, *, follow: bool = False, wait: float | None = None
    ) -> AsyncGenerator[tuple[Event, StoredMessage | None], None]:
        if follow:
            request = request_of("events", query._asdict())
            async for event in followed(self._line, request, query.after, wait):
                yield event
            return
        while True:
            page = await call(self._line, "events", query._asdict() | {"limit": PAGE})
            for event, message in page:
                query = query._replace(after=event.seq)
                yield event, message
            if not page or query.newest_first:  # a page of large messages is short and not the last
                return

    async def work_state(self, kind: str) -> dict[str, Any]:
        held = dict[str, work_state_kinds().get(kind, Any)]  # type: ignore[misc,valid-type]
        return await call(self._line, "work_state", {"kind": kind}, kind=held)  # type: ignore[no-any-return]

    async def guard(
        self,
        paths: Sequence[str],
        *,
        agent: str,
        role: str | None = None,
        plan: str | None = None,
        resolve: Resolver | None = None,
    ) -> list[PathVerdict]:
        """Contracts are at the hub and files on this disk: a path and the file that it resolves to must be allowed."""
        resolved = {path: target for path in paths if (target := _resolved(path, resolve)) is not None}
        targets = [target for target in resolved.values() if not isinstance(target, InvalidPath)]
        both = [*paths, *targets]
        values = {"paths": both, "agent": agent, "role": role, "plan": plan}
        verdicts: list[PathVerdict] = await call(self._line, "guard", values)
        if [verdict.path for verdict in verdicts] != both:
            raise StoreError("invalid response from the hub: it does not judge the paths that were asked for.")
        behind = dict(zip(targets, verdicts[len(paths) :], strict=True))
        return [_verdict(verdict, resolved.get(verdict.path), behind) for verdict in verdicts[: len(paths)]]

    async def bound_agent(self) -> str | None:
        """Name that the token acts under unless another is given; None: the hub lets the caller name itself."""
        reply = await self._line.ask(HttpQuery("GET", "/page/me"))
        if reply.status >= 300:
            raise error_in(reply.status, reply.body)
        caller = tree_of(reply.body)
        agent = caller.get("agent") or (HUMAN if caller.get("operator") else None)
        return agent if isinstance(agent, str) else None

    async def close(self) -> None:
        for wire in self._line.wires:
            await wire.close()

    async def _send(self, name: str, raw: bytes, values: dict[str, Any]) -> Any:
        """Send with an id that is generated once, so that a retry after a lost response is deduplicated."""
        if values["id"] is not None or self._validators.check(raw, Participants()).envelope.id is not None:
            return await call(self._line, name, values, raw)
        answer = await call(self._line, name, values | {"id": self._clock.new_id()}, raw)
        if isinstance(answer, Receipt) and any(finding.code == "id-differs" for finding in answer.findings):
            return await call(self._line, name, values, raw)  # by the hub's policy the message has an id
        return answer


@cache
def _signature(name: str) -> inspect.Signature:
    return inspect.signature(getattr(Bus, name))


def _remote(name: str) -> Callable[..., Any]:
    async def method(self: RemoteBus, *args: Any, **kwargs: Any) -> Any:
        bound = _signature(name).bind(self, *args, **kwargs)
        bound.apply_defaults()
        values = dict(bound.arguments)
        del values["self"]
        check = values.pop("check", True)
        if "raw" in values:
            context = {name: values[name] for name in _CONTEXT}
            answer = await self._send(name, as_bytes(values.pop("raw"), **context), values)
        else:
            answer = await call(self._line, name, values)
        if check and isinstance(answer, Receipt) and not answer.accepted:
            raise Refused(answer)
        return answer

    return method


add_verbs(RemoteBus, _remote)


def _resolved(path: str, resolve: Resolver | None) -> str | InvalidPath | None:
    """The file behind a path, if it is another."""
    name = normal(path)
    if resolve is None or isinstance(name, InvalidPath):
        return None
    target = real(name, resolve)
    return None if target == name else target


def _verdict(named: PathVerdict, target: str | InvalidPath | None, behind: dict[str, PathVerdict]) -> PathVerdict:
    if target is None:
        return named
    if isinstance(target, InvalidPath):
        say = f"Give the path of the file from the project's root: this one is invalid, since {target.why}."
        return PathVerdict(named.path, False, NOT_IN_PROJECT, say)
    if not named.allowed or behind[target].allowed:
        return named
    return behind[target]._replace(path=named.path, reason=f"{behind[target].reason} It resolves to {target}.")


# --- one call ---------------------------------------------------------------------------------------------------------


async def call(
    line: RetryTransport, name: str, values: Mapping[str, Any], raw: bytes | None = None, kind: Any = None
) -> Any:
    """The result of a verb, or the receipt of a refused message.

    Raises:
        TelexError: as a local bus would.
    """
    reply = await line.ask(request_of(name, values, raw))
    if reply.status < 300:
        return _result(name, reply, kind or answer_kind(name))
    receipt = refusal_in(reply.status, reply.body, values.get("id")) if name in RECEIPTS else None
    if receipt is None:
        raise error_in(reply.status, reply.body)
    return receipt


def request_of(name: str, values: Mapping[str, Any], raw: bytes | None = None) -> HttpQuery:
    verb, path = VERBS[name], VERBS[name].path
    given = {key: plain(value) for key, value in values.items() if value is not None}
    wait = float(given.get(WAIT_ARGUMENT.get(name, ""), 0.0))
    for key in [key for key in given if f"{{{key}}}" in path]:
        path = path.replace(f"{{{key}}}", _path_segment(str(given.pop(key))))
    request = HttpQuery(verb.method, path, wait=wait, twice=name not in NOT_IDEMPOTENT, id=values.get("id"))
    if verb.body == "json":
        return request._replace(body=encoded(given))
    query = tuple((key, word) for key, value in given.items() for word in _query_values(value))
    return request._replace(query=query, body=raw, kind=MESSAGE)


def _path_segment(word: str) -> str:
    """Escaped; `.` and `..` would be resolved as directories."""
    return word.replace(".", "%2E") if word in (".", "..") else quote(word, safe="")


def _query_values(value: Any) -> list[str]:
    if isinstance(value, list):
        return [word for item in value for word in _query_values(item)]
    return [str(value).lower() if isinstance(value, bool) else str(value)]


def _result(name: str, reply: HttpReply, kind: Any) -> Any:
    try:
        tree = decoded(reply.body)
        value = made(kind, tree["answer"] if is_wrapped(name) else tree)
    except (CodecError, ValueError, KeyError, TypeError) as error:
        raise StoreError(f"invalid response from the hub: {WRONG_VERSION}") from error
    return [tuple(row)[:2] for row in value] if name in PAIRS else value


# --- error responses --------------------------------------------------------------------------------------------------

_BY_CODE: dict[str, type[TelexError]] = {
    kind.code: kind
    for kind in vars(errors).values()
    if isinstance(kind, type) and issubclass(kind, TelexError) and "code" in vars(kind) and kind is not Refused
}
_WITH_ID = (errors.RequestTimedOut, errors.RequestFailed)


def tree_of(body: bytes) -> dict[str, Any]:
    """The problem document; an empty one if a proxy has answered in its own format."""
    try:
        tree = decoded(body)
    except ValueError:
        return {}
    return tree if isinstance(tree, dict) else {}


def refusal_in(status: int, body: bytes, id_: str | None) -> Receipt | None:
    """The receipt of a refused message; None: this is no refusal."""
    tree = tree_of(body)
    if status == TOO_LARGE:  # the hub stops reading, so it has no receipt
        say = str(tree.get("detail", "Send less: put large content into a file and send its path."))
        return Receipt(False, id_ or "", "refused", findings=(Finding("too-large", ROOT, say),))
    try:
        tree["type"] = tree.get("message_type")  # `type` of a problem document is a URI
        return made(Receipt, tree) if status == REFUSED else None
    except CodecError:
        return None


def finding_in(tree: dict[str, Any]) -> Finding | None:
    """The first finding of a refused join."""
    try:
        findings = made(tuple[Finding, ...], tree.get("findings"))
    except CodecError:
        return None
    return findings[0] if findings else None


def error_in(status: int, body: bytes) -> TelexError:
    """The exception that a local bus would have raised."""
    tree = tree_of(body)
    code, say = str(tree.get("code", "")), str(tree.get("detail", ""))
    kind = _BY_CODE.get(code)
    if kind is errors.OutcomeUnknown:
        return kind(say, tree.get("id"))
    if kind in _WITH_ID:
        return kind(say, str(tree.get("id") or ""))
    if kind is not None:
        return kind(say)
    if status == REFUSED and (finding := finding_in(tree)) is not None:
        return NotAMember.because(finding)
    if status in (401, 403):
        return NotAMember(say or "the hub requires a token: set TELEX_TOKEN.", code or "not-let-in")
    if code == ARGUMENTS_WRONG:
        return InvalidValue(say)
    if status in (429, 502, 503, 504):
        return StoreUnavailable(say or f"the hub is busy or unavailable (status {status}): try again.")
    return StoreError(say or f"unexpected response from the hub (status {status}): is it a Telex hub?")


# --- address and token ------------------------------------------------------------------------------------------------


def hub_addresses(where: str) -> tuple[str, ...]:
    """The hubs of an address, which are separated by commas: `http://a:4477,http://b:4477`."""
    return tuple(dict.fromkeys(url.strip().rstrip("/") for url in where.split(",")))


def token_for(where: str, token: str | None, *, is_named: bool) -> str | None:
    """The token to send to these hubs. `is_named`: by an option, an argument or the environment, not only telex.toml.

    Raises:
        StoreUnavailable: the token, or a message, would go to a hub that the user has not named, or in plain text.
    """
    token = (token or "").strip()  # a token read from a file ends in a line break
    for url in hub_addresses(where):
        parts = urlsplit(url)
        is_local = is_loopback(parts.hostname or "")
        if not is_named and (token or not is_local) and url not in _remembered_hubs():
            raise StoreUnavailable(
                f"telex.toml names the hub {url}, and nothing is sent to a hub that only telex.toml names:"
                f" set TELEX_STORE={where}, or add the address as a line to {_hubs_file()}."
            )
        if token and parts.scheme.lower() == "http" and parts.hostname and not is_local:
            raise StoreUnavailable(
                f"no token is sent over plain http to {parts.hostname}: use https://, or a tunnel to 127.0.0.1."
            )
    return token or None


def _hubs_file() -> str:
    return os.path.join(user_folder(), "hubs")


def _remembered_hubs() -> set[str]:
    """Addresses that the user trusts in every project, one on a line."""
    try:
        with open(_hubs_file(), encoding="utf-8", errors="replace") as file:
            return {url for line in file for url in hub_addresses(line)}
    except OSError:
        return set()


def open_remote(where: str, token: str | None, clock: Clock, policy: CheckPolicy, *, on_loop: bool) -> RemoteBus:
    """Nothing is sent yet: the first call connects.

    Raises:
        StoreUnavailable: the address or the token is invalid.
    """
    headers = {"accept": "application/json"}
    if token:
        if not (token.isascii() and token.isprintable() and " " not in token):
            raise StoreUnavailable("invalid token: it contains whitespace or non-ASCII characters; copy it again.")
        headers["authorization"] = f"Bearer {token}"
    kind, limits = AsyncTransport if on_loop else BlockingTransport, policy.limits
    urls = hub_addresses(where)
    wires: list[Transport] = [kind(url, headers, limits.hub_connect_seconds / len(urls)) for url in urls]
    return RemoteBus.over(RetryTransport(wires, clock, where, limits), clock, policy)


async def followed(
    line: RetryTransport, request: HttpQuery, after: int, wait: float | None
) -> AsyncGenerator[tuple[Event, StoredMessage | None], None]:
    """Events after that one, for ever, or until none has come for `wait` seconds. A broken connection is resumed, at
    the next hub if there are several."""
    import httpx2

    last, attempts = line.clock.now(), Attempts(line)
    while True:
        left = SILENCE_SECONDS if wait is None else min(SILENCE_SECONDS, last + wait - line.clock.now())
        if left <= 0:
            return
        headers = STREAM | {"last-event-id": str(after)} | line.position.headers()
        try:
            async with (
                attempts.wire.stream(request, headers, left) as (status, chunks),
                aclosing(_records(line, attempts, status, chunks)) as records,
            ):
                async for record in records:
                    if record is not None:
                        last, after = line.clock.now(), record.event.seq
                        yield record.event, record.message
                    elif wait is not None and left - (last + wait - line.clock.now()) > LATE_SECONDS:
                        break  # requested again with the time that is left
        except httpx2.ReadTimeout:
            attempts.fail()
            continue
        except httpx2.TransportError as error:
            if not attempts.fail():
                raise line.away() from error
        await attempts.pause()


async def _records(
    line: RetryTransport, attempts: Attempts, status: int, chunks: AsyncIterator[bytes]
) -> AsyncGenerator[EventRecord | None, None]:
    """Events and keep-alives of one response; none if it is to be requested again."""
    line.answered = True
    if status != OK:
        reply = HttpReply(status, await whole(chunks))
        if not (line.is_retried(reply) and attempts.fail()):
            raise error_in(status, reply.body)
        return
    attempts.succeed()
    async with aclosing(_frames(chunks)) as frames:
        async for record in frames:
            attempts.begin()
            yield record


async def _frames(chunks: AsyncIterator[bytes]) -> AsyncGenerator[EventRecord | None, None]:
    """Each event, and None for each keep-alive. Only line feeds end a line: a message may contain other characters that
    a parser of text would take for one."""
    buffer = bytearray()
    async for chunk in chunks:
        searched = max(len(buffer) - 1, 0)  # the end of a frame may be split between two chunks
        buffer += chunk
        end = buffer.rfind(b"\n\n", searched)
        if end >= 0:
            frames = bytes(buffer[:end]).split(b"\n\n")
            del buffer[: end + 2]
            for frame in frames:
                yield _record(frame)
        if len(buffer) > FRAME_BYTES_MAX:
            raise StoreError(f"the hub sent an event of more than {FRAME_BYTES_MAX:,} bytes, {NO_HUB}")


def _record(frame: bytes) -> EventRecord | None:
    fields = (line.partition(b":") for line in frame.split(b"\n"))
    data = b"\n".join(value.removeprefix(b" ") for name, _, value in fields if name == b"data")
    if not data:
        return None
    try:
        record: EventRecord = made(EventRecord, decoded(data))
    except (CodecError, ValueError) as error:
        raise StoreError(f"invalid event from the hub: {WRONG_VERSION}") from error
    return record
