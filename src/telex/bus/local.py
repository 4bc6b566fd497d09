"""The bus in this process: every verb of `ports.bus`, over a store and a clock.

A cold `telex send` imports this module, so the modules of most verbs are imported by their first call.
"""

from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import aclosing
from typing import TYPE_CHECKING, Any, Unpack

from telex.bus import LazyModule
from telex.bus.context import BusContext, count, searched
from telex.bus.decision import SendRequest
from telex.bus.send import Sender, accepted
from telex.model.finding import Finding
from telex.model.message import BRINGING, Delivery, Event, LeasedMessage, NewMessage, Rendering, StoredMessage
from telex.model.roster import HUMAN, Member
from telex.model.text import ROOT
from telex.ports.bus import Bus, MessageHistory, MessageState, Presence, Raw, Receipt, SendOptions, Wake
from telex.ports.environment import Clock, Evidence
from telex.ports.store import (
    EVERYTHING,
    AppendResult,
    ConversationPage,
    Query,
    Store,
    conversations,
    dead_letters,
    events_with_messages,
    waiting_deliveries,
)
from telex.validation.check import STRICT, CheckPolicy

if TYPE_CHECKING:
    from telex import agent as agents
    from telex.bus import approve, escalate, guard, maintenance, notify, queries, receive, render, shutdown, stall, wake
    from telex.model.contracts import PathVerdict
    from telex.model.work import Escalation, ShutdownReport, Stall
    from telex.ports.replica import Replica
    from telex.work import reducer
else:
    _VERBS = "approve escalate guard maintenance notify queries receive render shutdown stall wake"
    globals().update({name: LazyModule(f"telex.bus.{name}") for name in _VERBS.split()})
    agents, reducer = LazyModule("telex.agent"), LazyModule("telex.work.reducer")


_NEW = tuple.__new__  # makes a NamedTuple in half the time: by place, for every message


class LocalBus:
    """See `telex.ports.bus.Bus` for what each verb does."""

    def __init__(
        self,
        store: Store,
        clock: Clock,
        *,
        policy: CheckPolicy = STRICT,
        members: Sequence[Member] = (),
        waiting: "Callable[[BusContext], notify.Notifier] | None" = None,  # None: for one blocking reader at a time
        work: Mapping[str, Any] | None = None,
        evidence: Evidence | None = None,
    ) -> None:
        self._context = BusContext(store, clock, policy, members=members, work=work, evidence=evidence)
        self._sender = Sender(self._context)
        self._make_notifier = waiting
        self._started_notifier: notify.Notifier | None = None
        self.replica: Replica | None = None  # of a store that several hubs share
        self.weaker_durability: str | None = None  # of the store, for receipts: a stored message may be lost

    @property
    def store(self) -> Store:
        return self._context.store

    @property
    def policy(self) -> CheckPolicy:
        return self._context.policy

    def agent(self, name: str, *, role: str | None = None) -> "agents.Agent":
        return agents.Agent(self, name, role)

    @property
    def _notifier(self) -> "notify.Notifier":
        if self._started_notifier is None:
            self._started_notifier = (self._make_notifier or notify.Notifier)(self._context)
        return self._started_notifier

    def nudge(self) -> None:
        """Something was written: readers need not wait for the next poll."""
        if self._started_notifier is not None:
            self._started_notifier.nudge()

    def carry(self, trace: Callable[[], str | None]) -> None:
        """Store the trace context that `trace` returns with every message sent from here on."""
        self._context.current_trace = trace

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
        ack: str | None = None,
        check: bool = True,
    ) -> Receipt:
        if not isinstance(raw, bytes):
            raw = await self._sender.encode(
                raw, sender=sender, role=role, to=to, id=id, reply_to=reply_to, correlation=correlation
            )
        request = _NEW(SendRequest, (raw, sender, role, to, id, reply_to, correlation, None, ack, None))
        return self._sent(await self._sender.send(request), check=check)

    def _sent(self, receipt: Receipt, *, check: bool) -> Receipt:
        """The receipt of a send that was decided.

        Raises:
            Refused: the message was refused, and `check` is set.
        """
        self.nudge()
        if self.weaker_durability is not None and receipt.accepted:
            say = f"Stored on a log with {self.weaker_durability}: it may be lost with one machine."
            note = Finding("weaker-durability", ROOT, say, "note")
            receipt = receipt._replace(findings=(*receipt.findings, note))
        return accepted(receipt) if check else receipt

    async def receive(
        self, agent: str, *, role: str | None = None, limit: int = 1, wait: float = 0.0, lease: float | None = None
    ) -> list[LeasedMessage]:
        return await receive.receive(
            self._context, self._notifier, agent, role=role, limit=limit, wait=wait, lease=lease
        )

    async def ack(self, token: str, *, agent: str) -> bool:
        return await receive.ack(self._context, token, agent)

    async def nack(
        self,
        token: str,
        *,
        agent: str,
        reason: str,
        delay: float | None = None,
        final: bool = False,
        counted: bool = True,
    ) -> Delivery:
        failure = receive.Failure(reason, delay, final, counted)
        delivery = await receive.nack(self._context, token, agent, failure)
        self.nudge()
        return delivery

    async def extend(self, token: str, *, agent: str, seconds: float | None = None) -> float:
        return await receive.extend(self._context, token, agent, seconds)

    async def request(
        self, raw: Raw, *, sender: str, timeout: float | None = None, **options: Unpack[SendOptions]
    ) -> LeasedMessage:
        within = receive.request_seconds(self._context, timeout)
        raw = await self._sender.encode(raw, sender=sender, **options)
        request = SendRequest(raw, sender, answer_within=within, **options)
        receipt = self._sent(await self._sender.send(request), check=True)
        return await receive.wait_for_answer(self._context, self._notifier, receipt.id, sender, within)

    # --- queries -----------------------------------------------------------------------------------------------------

    async def read(self, id: str, *, agent: str) -> StoredMessage:
        return await queries.read(self._context, id, agent)

    async def inbox(
        self, agent: str, *, role: str | None = None, limit: int = 100
    ) -> list[tuple[Delivery, StoredMessage]]:
        await self.sweep()
        member = receive.as_member(await self._context.find_member(agent, role))
        return await self.store.read(waiting_deliveries, await self._context.inboxes(member), count("limit", limit))

    async def rendering(self, message: StoredMessage, *, agent: str) -> Rendering | None:
        return await render.rendering(self._context, message, agent)

    async def why(self, id: str) -> list[MessageHistory]:
        return await queries.why(self._context, self._notifier, id)

    async def settled(self, id: str, *, sender: str, until: str, timeout: float) -> MessageHistory:
        return await queries.settled(self._context, self._notifier, id, sender, until=until, timeout=timeout)

    async def events(
        self, query: Query = EVERYTHING, *, follow: bool = False, wait: float | None = None
    ) -> AsyncGenerator[tuple[Event, StoredMessage | None], None]:
        followed = notify.follow_events(self._context, self._notifier, searched(query), follow=follow, wait=wait)
        async with aclosing(followed) as pages:
            async for page in pages:
                for item in page:
                    yield item

    async def search(self, text: str, *, limit: int = 50) -> list[StoredMessage]:
        query = searched(Query(text=text, kinds=BRINGING, newest_first=True))
        events = await self.store.read(events_with_messages, query, count("limit", limit))
        return [message for _, message in events if message is not None]

    async def trace(self, correlation: str) -> list[MessageHistory]:
        return await queries.trace(self._context, self._notifier, correlation)

    async def conversations(self, *, before: int | None = None, limit: int = 30) -> ConversationPage:
        return await self.store.read(conversations, before, min(count("limit", limit), queries.CONVERSATIONS_MAX))

    async def states(self, messages: Sequence[int]) -> list[MessageState]:
        return await queries.states(self._context, messages)

    # --- work --------------------------------------------------------------------------------------------------------

    async def work_state(self, kind: str) -> dict[str, Any]:
        states = await self._context.topics_of_kind(kind)
        return {topic: reducer.copy_state(topic, state) for topic, state in states.items()}

    async def guard(
        self,
        paths: Sequence[str],
        *,
        agent: str,
        role: str | None = None,
        plan: str | None = None,
        resolve: Callable[[str], str | None] | None = None,
    ) -> "list[PathVerdict]":
        context = self._context
        gate = guard.WriteGuard(context.store, context.clock, context.team, context.dialects, context.limits)
        return await guard.guard(gate, paths, agent, role, plan, resolve=resolve)

    async def escalations(self, *, answered: bool = False) -> "list[Escalation]":
        await self.sweep()
        return await escalate.escalations(self._context, answered=answered)

    async def stall(self) -> "Stall":
        await self.sweep()
        return await stall.stall(self._context)

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
        revision: int | None = None,
        check: bool = True,
    ) -> Receipt:
        answer = approve.Answer(
            agent,
            role,
            approved,
            reason,
            conditions=tuple(conditions),
            modifications=tuple(modifications),
            revision=revision,
        )
        request = await approve.answer_to(self._context, id, answer)
        if isinstance(request, Finding):
            receipt = Receipt(False, id, "refused", findings=(request,))
            return accepted(receipt) if check else receipt
        return self._sent(await self._sender.send(request), check=check)

    # --- team --------------------------------------------------------------------------------------------------------

    async def roster(self) -> list[Presence]:
        await self.sweep()
        return await queries.presence(self._context)

    async def join(
        self, name: str, *, role: str | None = None, dialects: Sequence[str] = (), by: str | None = None
    ) -> Member:
        return receive.as_member(await self._context.join(name, role, by=by, dialects=dialects))

    async def leave(self, name: str) -> int:
        withdrawn = await maintenance.leave(self._context, name)
        self.nudge()
        return withdrawn

    async def wake(
        self,
        agent: str,
        *,
        by: str | None = None,
        announced: int = 0,
        session: str | None = None,
        way: str | None = None,
        failed: str | None = None,
        force: bool = False,
    ) -> Wake:
        request = wake.WakeRequest(agent, by, announced, session, way, failed=failed, force=force)
        return await wake.wake(self._context, request)

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
        request = shutdown.ShutdownArguments(agent, reason, deadline, team, force=force, wait=wait)
        report = await shutdown.shut_down(self._context, self._notifier, request)
        self.nudge()
        return report

    # --- dead letters, import, maintenance ---------------------------------------------------------------------------

    async def dead_letters(self, *, limit: int = 100) -> list[tuple[Delivery, StoredMessage]]:
        await self.sweep()
        return await self.store.read(dead_letters, count("limit", limit))

    async def retry(self, id: str, *, agent: str = HUMAN) -> int:
        retried = await maintenance.retry(self._context, id, agent)
        self.nudge()
        return retried

    async def drop(self, id: str, *, reason: str, agent: str = HUMAN) -> int:
        return await maintenance.drop(self._context, id, reason, agent)

    async def import_messages(self, entries: Sequence[NewMessage]) -> list[AppendResult]:
        """Store messages of another log as history, without deliveries. Messages that are stored already stay as they
        are, so importing twice is the same as importing once."""
        return await queries.import_messages(self._context, entries)

    async def sweep(self) -> int:
        return await maintenance.run_maintenance(self._context)

    async def close(self) -> None:
        if self._started_notifier is not None:
            self._started_notifier.close()
        await self.store.close()


def _has_every_verb(bus: LocalBus) -> Bus:
    """Never called: here the type checker compares every verb with its port."""
    return bus
