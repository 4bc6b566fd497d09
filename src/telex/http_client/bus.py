"""The bus of a hub: every verb of `ports.bus`, asked over HTTP. See there for what each does."""

from collections.abc import AsyncGenerator, Callable, Sequence
from typing import TYPE_CHECKING, Any

from telex.delivery.routing import Participants
from telex.delivery.validator_cache import ValidatorCache
from telex.http_client.call import ask, question
from telex.http_client.transport import RetryTransport
from telex.model.delivery import Delivery
from telex.model.event import Event
from telex.model.finding import Finding
from telex.model.message import Lease, Message, NewMessage, Rendering
from telex.model.roster import HUMAN, Member
from telex.ports.bus import Bus, MessageHistory, Presence, Receipt
from telex.ports.clock import Clock
from telex.ports.store import EVERYTHING, AppendResult, Query
from telex.protocol.verbs import work_state_kinds
from telex.validation.check import STRICT, CheckPolicy

if TYPE_CHECKING:
    from telex.model.contracts import PathVerdict
    from telex.model.escalation import Escalation
    from telex.model.shutdown import ShutdownReport
    from telex.model.stall import Stall

Raw = bytes | str | dict[str, Any]
STEP_SECONDS = 25.0  # of a long wait: shorter than what lies in between thinks is the end
PAGE = 500  # events fetched at a time


class RemoteBus:
    def __init__(self, line: RetryTransport, clock: Clock, desk: CheckPolicy = STRICT) -> None:
        """`desk` tells which messages have an id of their own; where the team's is another, the hub knows better."""
        self._line, self._clock, self._lanes = line, clock, ValidatorCache(desk)

    async def _ask(self, verb: str, /, **values: Any) -> Any:
        return await ask(self._line, verb, values)

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
        """Under an id that is chosen once, so that sending it again, should the answer be lost, keeps it once."""
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
        delivery: Delivery = await self._ask("nack", token=token, agent=agent, reason=reason, delay=delay)
        return delivery

    async def extend(self, token: str, *, agent: str, seconds: float | None = None) -> float:
        until: float = await self._ask("extend", token=token, agent=agent, seconds=seconds)
        return until

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
        message: Message = await self._ask("read", id=id, agent=agent)
        return message

    async def inbox(self, agent: str, *, role: str | None = None, limit: int = 100) -> list[tuple[Delivery, Message]]:
        return _pairs(await self._ask("inbox", agent=agent, role=role, limit=limit))

    # --- the record --------------------------------------------------------------------------------------------------

    async def rendering(self, message: Message, *, agent: str) -> Rendering | None:
        rendering: Rendering | None = await self._ask("rendering", id=message.id, seq=message.seq, agent=agent)
        return rendering

    async def why(self, id: str) -> list[MessageHistory]:
        stories: list[MessageHistory] = await self._ask("why", id=id)
        return stories

    async def settled(self, id: str, *, sender: str, until: str, timeout: float) -> MessageHistory:
        story: MessageHistory = await self._ask("settled", id=id, sender=sender, until=until, timeout=timeout)
        return story

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
        messages: list[Message] = await self._ask("search", text=text, limit=limit)
        return messages

    async def trace(self, correlation: str) -> list[MessageHistory]:
        stories: list[MessageHistory] = await self._ask("trace", correlation=correlation)
        return stories

    async def import_messages(self, entries: Sequence[NewMessage]) -> list[AppendResult]:
        append_results: list[AppendResult] = await self._ask("import_messages", entries=list(entries))
        return append_results

    async def sweep(self) -> int:
        return int(await self._ask("sweep"))

    # --- the work ----------------------------------------------------------------------------------------------------

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
            verdicts: list[PathVerdict] = await self._ask("guard", paths=list(those), agent=agent, role=role, plan=plan)
            return verdicts

        return await guard(list(paths), ask_of, resolve)

    async def escalations(self, *, answered: bool = False) -> "list[Escalation]":
        escalations: list[Escalation] = await self._ask("escalations", answered=answered)
        return escalations

    async def stall(self) -> "Stall":
        stall: Stall = await self._ask("stall")
        return stall

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
        receipt: Receipt = await self._ask("approve", **values, **more)
        return receipt

    # --- the team ----------------------------------------------------------------------------------------------------

    async def roster(self) -> list[Presence]:
        presences: list[Presence] = await self._ask("roster")
        return presences

    async def join(self, name: str, *, role: str | None = None, dialects: Sequence[str] = ()) -> Member | Finding:
        found: Member | Finding = await self._ask("join", name=name, role=role, dialects=tuple(dialects))
        return found

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
        report: ShutdownReport = await self._ask("shut_down", **values)
        return report

    async def dead_letters(self, *, limit: int = 100) -> list[tuple[Delivery, Message]]:
        return _pairs(await self._ask("dead_letters", limit=limit))

    async def retry(self, id: str) -> int:
        return int(await self._ask("retry", id=id))

    async def drop(self, id: str, *, reason: str, agent: str = HUMAN) -> int:
        return int(await self._ask("drop", id=id, reason=reason, agent=agent))

    async def close(self) -> None:
        await self._line.wire.close()


def _bytes(raw: Raw) -> bytes:
    """A message in whichever form it was handed over, as a bus at hand writes it."""
    if isinstance(raw, bytes):
        return raw
    if isinstance(raw, str):
        return raw.encode("utf-8", "surrogatepass")  # half a character is then found, not raised
    import json

    return json.dumps(raw, ensure_ascii=False).encode("utf-8", "surrogatepass")


def _has_its_own_id(receipt: Receipt) -> bool:
    return not receipt.accepted and any(finding.code == "id-differs" for finding in receipt.findings)


def _pairs(those: list[Any]) -> list[Any]:
    """What is told beside them is for whoever asks without us."""
    return [tuple(one)[:2] for one in those]


def _speaks_every_verb(bus: RemoteBus) -> Bus:
    """Never called: it is here for the type checker, which sees when a verb and its port part ways."""
    return bus
