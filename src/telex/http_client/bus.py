"""HTTP client of a hub: every method of `ports.bus`, documented there."""

from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import quote

from telex.delivery.routing import Participants
from telex.delivery.validator_cache import ValidatorCache
from telex.errors import StoreError
from telex.http_client.problems import error_in, finding_in, refusal_in, tree_of
from telex.http_client.transport import HttpQuery, HttpReply, RetryTransport
from telex.model.finding import Finding
from telex.model.message import Delivery, Event, Lease, Message, NewMessage, Rendering
from telex.model.roster import HUMAN, Member
from telex.ports.bus import Bus, MessageHistory, MessageState, Presence, Receipt
from telex.ports.clock import Clock
from telex.ports.store import EVERYTHING, AppendResult, ConversationPage, Query
from telex.protocol import CodecError, decoded, encoded, made, plain
from telex.protocol.verbs import VERBS, answer_kind, is_wrapped, work_state_kinds
from telex.validation.check import STRICT, CheckPolicy

if TYPE_CHECKING:
    from telex.model.contracts import PathVerdict
    from telex.model.work import Escalation, ShutdownReport, Stall

T = TypeVar("T")
Raw = bytes | str | dict[str, Any]
STEP_SECONDS = 25.0  # of one poll of a long wait; below the idle timeout of proxies
PAGE = 500  # events fetched at a time


class RemoteBus:
    def __init__(self, line: RetryTransport, clock: Clock, desk: CheckPolicy = STRICT) -> None:
        """`desk` finds the id in a message; the hub corrects it if the team has another policy."""
        self._line, self._clock, self._lanes = line, clock, ValidatorCache(desk)

    def _ask(self, verb: str, /, **values: Any) -> Awaitable[T]:
        return ask(self._line, verb, values)

    # --- messages ----------------------------------------------------------------------------------------------------

    async def send(
        self,
        raw: Raw,
        *,
        sender: str,
        role: str | None = None,
        to: str | None = None,
        id: str | None = None,
        reply_to: str | None = None,
        correlation: str | None = None,
    ) -> Receipt:
        values = {"sender": sender, "role": role, "to": to, "reply_to": reply_to, "correlation": correlation}
        receipt: Receipt = await self._sent("send", _bytes(raw), id, values)
        return receipt

    async def _sent(self, name: str, raw: bytes, id_: str | None, values: dict[str, Any]) -> Any:
        """Send with an id that is generated once, so that a retry after a lost response is deduplicated."""
        chosen = id_
        if id_ is None and self._lanes.check(raw, Participants()).envelope.id is None:
            chosen = self._clock.new_id()
        answer = await ask(self._line, name, values | {"id": chosen}, raw)
        if id_ is None and chosen is not None and isinstance(answer, Receipt) and _has_its_own_id(answer):
            return await ask(self._line, name, values, raw)
        return answer

    async def receive(
        self, agent: str, *, role: str | None = None, limit: int = 1, wait: float = 0.0, lease: float | None = None
    ) -> list[Lease]:
        until = self._clock.now() + wait
        while True:
            step = min(wait, STEP_SECONDS, max(until - self._clock.now(), 0.0)) if wait > 0 else wait
            leases: list[Lease]
            leases = await self._ask("receive", agent=agent, role=role, limit=limit, wait=step, lease=lease)
            if leases or self._clock.now() >= until:
                return leases

    async def ack(self, token: str, *, agent: str) -> bool:
        return bool(await self._ask("ack", token=token, agent=agent))

    async def nack(self, token: str, *, agent: str, reason: str, delay: float | None = None) -> Delivery:
        return await self._ask("nack", token=token, agent=agent, reason=reason, delay=delay)

    async def extend(self, token: str, *, agent: str, seconds: float | None = None) -> float:
        return await self._ask("extend", token=token, agent=agent, seconds=seconds)

    async def request(
        self,
        raw: Raw,
        *,
        sender: str,
        role: str | None = None,
        to: str | None = None,
        id: str | None = None,
        reply_to: str | None = None,
        correlation: str | None = None,
        timeout: float | None = None,
    ) -> Receipt | Lease:
        values = {"sender": sender, "role": role, "to": to, "reply_to": reply_to, "correlation": correlation}
        answer: Receipt | Lease = await self._sent("request", _bytes(raw), id, values | {"timeout": timeout})
        return answer

    async def read(self, id: str, *, agent: str) -> Message:
        return await self._ask("read", id=id, agent=agent)

    async def inbox(self, agent: str, *, role: str | None = None, limit: int = 100) -> list[tuple[Delivery, Message]]:
        return _pairs(await self._ask("inbox", agent=agent, role=role, limit=limit))

    # --- the record --------------------------------------------------------------------------------------------------

    async def rendering(self, message: Message, *, agent: str) -> Rendering | None:
        return await self._ask("rendering", id=message.id, seq=message.seq, agent=agent)

    async def why(self, id: str) -> list[MessageHistory]:
        return await self._ask("why", id=id)

    async def settled(self, id: str, *, sender: str, until: str, timeout: float) -> MessageHistory:
        return await self._ask("settled", id=id, sender=sender, until=until, timeout=timeout)

    async def events(
        self, query: Query = EVERYTHING, *, follow: bool = False, wait: float | None = None
    ) -> AsyncGenerator[tuple[Event, Message | None], None]:
        if follow:
            from telex.http_client.stream import followed

            http_query = question("events", query._asdict())
            async for one in followed(self._line, http_query.path, list(http_query.query), query.after, wait):
                yield one
            return
        after = query.after
        while True:
            page = _pairs(await self._ask("events", **query._replace(after=after)._asdict(), limit=PAGE))
            for event, message in page:
                after = event.seq
                yield event, message
            if not page or query.newest_first:  # a page with large messages has few of them, and is not the last
                return

    async def search(self, text: str, *, limit: int = 50) -> list[Message]:
        return await self._ask("search", text=text, limit=limit)

    async def trace(self, correlation: str) -> list[MessageHistory]:
        return await self._ask("trace", correlation=correlation)

    async def import_messages(self, entries: Sequence[NewMessage]) -> list[AppendResult]:
        return await self._ask("import_messages", entries=list(entries))

    async def sweep(self) -> int:
        return int(await self._ask("sweep"))

    # --- the work ----------------------------------------------------------------------------------------------------

    async def conversations(self, *, before: int | None = None, limit: int = 30) -> ConversationPage:
        return await self._ask("conversations", before=before, limit=limit)

    async def states(self, messages: Sequence[int]) -> list[MessageState]:
        return await self._ask("states", messages=tuple(messages))

    async def work_state(self, kind: str) -> dict[str, Any]:
        held = dict[str, work_state_kinds().get(kind, Any)]  # type: ignore[misc,valid-type]
        found: dict[str, Any] = await ask(self._line, "work_state", {"kind": kind}, kind=held)
        return found

    async def guard(
        self,
        paths: Sequence[str],
        *,
        agent: str,
        role: str | None = None,
        plan: str | None = None,
        resolve: Callable[[str], str | None] | None = None,
    ) -> "list[PathVerdict]":
        from telex.http_client.guard import guard

        async def ask_of(those: Sequence[str]) -> "list[PathVerdict]":
            return await self._ask("guard", paths=list(those), agent=agent, role=role, plan=plan)

        return await guard(list(paths), ask_of, resolve)

    async def escalations(self, *, answered: bool = False) -> "list[Escalation]":
        return await self._ask("escalations", answered=answered)

    async def stall(self) -> "Stall":
        return await self._ask("stall")

    async def approve(
        self,
        id: str,
        *,
        approved: bool,
        reason: str,
        agent: str = HUMAN,
        role: str | None = None,
        conditions: Sequence[str] = (),
        modifications: Sequence[str] = (),
    ) -> Receipt:
        values = {"id": id, "approved": approved, "reason": reason, "agent": agent, "role": role}
        more = {"conditions": tuple(conditions), "modifications": tuple(modifications)}
        return await self._ask("approve", **values, **more)

    # --- the team ----------------------------------------------------------------------------------------------------

    async def roster(self) -> list[Presence]:
        return await self._ask("roster")

    async def join(
        self, name: str, *, role: str | None = None, dialects: Sequence[str] = (), by: str | None = None
    ) -> Member | Finding:
        return await self._ask("join", name=name, role=role, dialects=tuple(dialects), by=by)

    async def leave(self, name: str) -> int:
        return int(await self._ask("leave", name=name))

    async def shut_down(
        self,
        *,
        agent: str,
        reason: str,
        deadline: float = 60.0,
        team: str | None = None,
        force: bool = False,
        wait: bool = True,
    ) -> "ShutdownReport":
        values = {"agent": agent, "reason": reason, "deadline": deadline, "team": team, "force": force, "wait": wait}
        return await self._ask("shut_down", **values)

    async def dead_letters(self, *, limit: int = 100) -> list[tuple[Delivery, Message]]:
        return _pairs(await self._ask("dead_letters", limit=limit))

    async def retry(self, id: str, *, agent: str = HUMAN) -> int:
        return int(await self._ask("retry", id=id, agent=agent))

    async def drop(self, id: str, *, reason: str, agent: str = HUMAN) -> int:
        return int(await self._ask("drop", id=id, reason=reason, agent=agent))

    async def bound_agent(self) -> str | None:
        """Name that the token acts under unless another is given; None: the hub lets the caller name itself."""
        reply = await self._line.ask(HttpQuery("GET", "/page/me"))
        if reply.status >= 300:
            raise error_in(reply.status, reply.body)
        caller = tree_of(reply.body)
        agent = caller.get("agent") or (HUMAN if caller.get("operator") else None)
        return agent if isinstance(agent, str) else None

    async def close(self) -> None:
        await self._line.wire.close()


def _bytes(raw: Raw) -> bytes:
    """The message as bytes, as a local bus serialises it."""
    if isinstance(raw, bytes):
        return raw
    if isinstance(raw, str):
        return raw.encode("utf-8", "surrogatepass")  # a lone surrogate becomes a finding, not an exception
    import json

    return json.dumps(raw, ensure_ascii=False).encode("utf-8", "surrogatepass")


def _has_its_own_id(receipt: Receipt) -> bool:
    return not receipt.accepted and any(finding.code == "id-differs" for finding in receipt.findings)


def _pairs(those: list[Any]) -> list[Any]:
    """Deliveries with messages, without the further facts of the response."""
    return [tuple(row)[:2] for row in those]


def _speaks_every_verb(bus: RemoteBus) -> Bus:
    """Never called: lets the type checker compare the methods with the port."""
    return bus


# --- call -------------------------------------------------------------------------------------------------------------


# Not idempotent: never retried.
ONCE = frozenset({"nack", "approve", "retry", "drop"})
RECEIPTS = frozenset({"send", "request", "approve"})  # a refusal of these is a receipt
WAITED_FOR = {"receive": "wait", "request": "timeout", "settled": "timeout", "shut_down": "deadline"}
MESSAGE = "application/octet-stream"


async def ask(
    line: RetryTransport, name: str, values: Mapping[str, Any], raw: bytes | None = None, kind: Any = None
) -> Any:
    """The response to a verb.

    Raises:
        TelexError: as a local bus would.
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
    """One segment of a path, escaped; `.` and `..` would be resolved as directories."""
    return word.replace(".", "%2E") if word in (".", "..") else quote(word, safe="")


def _words(value: Any) -> list[str]:
    """An argument as values of the query string."""
    if isinstance(value, bool):
        return ["true" if value else "false"]
    if isinstance(value, list):
        return [word for item in value for word in _words(item)]
    return [str(value)]


def _answer(name: str, reply: HttpReply, kind: Any) -> Any:
    try:
        tree = decoded(reply.body)
        return made(kind, tree["answer"] if is_wrapped(name) else tree)
    except (CodecError, ValueError, KeyError, TypeError) as error:
        say = "invalid response from the hub: is it a Telex hub of this version?"
        raise StoreError(say) from error
