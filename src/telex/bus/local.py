"""The verbs of the work: what was agreed, who may write what, what waits for an answer, who waits for whom.

Each is imported when it is first used: a send needs none of them.
"""

from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import aclosing, suppress
from functools import partial
from typing import TYPE_CHECKING, Any

from telex.bus import maintenance, queries, receive
from telex.bus.context import BusContext, count, searched, seconds
from telex.bus.decision import SendRequest
from telex.bus.maintenance import MAY_ANSWER, keep_request_open, return_messages, run_maintenance
from telex.bus.notify import Notifier, follow_events
from telex.bus.send import Raw, Sender, as_bytes
from telex.delivery import lifecycle
from telex.errors import NotFound, RequestFailed, RequestTimedOut, StoreError
from telex.model.finding import Finding
from telex.model.message import BRINGING, OPEN, Delivery, Event, Lease, Message, NewMessage, Rendering, detail_of
from telex.model.roster import HUMAN, Member
from telex.ports.bus import Bus, MessageHistory, MessageState, Presence, Receipt
from telex.ports.clock import Clock
from telex.ports.evidence import Evidence
from telex.ports.store import EVERYTHING, AppendResult, ConversationPage, LeaseRequest, Query, Store, Transaction
from telex.validation.authorization import normalised
from telex.validation.check import STRICT, CheckPolicy

if TYPE_CHECKING:
    from telex.model.contracts import PathVerdict
    from telex.model.work import Escalation, ShutdownReport, Stall


class WorkApi:
    """A part of the bus; see `telex.ports.bus.Bus` for what each verb does."""

    _context: BusContext
    _waiting: Notifier
    _sender: Sender

    async def work_state(self, kind: str) -> dict[str, Any]:
        from telex.work.reducer import copy_state

        states = await self._context.topics_of_kind(kind)
        return {topic: copy_state(topic, state) for topic, state in states.items()}

    async def guard(
        self,
        paths: Sequence[str],
        *,
        agent: str,
        role: str | None = None,
        plan: str | None = None,
        resolve: Callable[[str], str | None] | None = None,
    ) -> "list[PathVerdict]":
        from telex.bus.guard import WriteGuard, guard

        context = self._context
        gate = WriteGuard(context.store, context.clock, context.team, context.dialects, context.limits)
        return await guard(gate, paths, agent, role, plan, resolve)

    async def escalations(self, *, answered: bool = False) -> "list[Escalation]":
        from telex.bus.escalate import escalations

        await run_maintenance(self._context)
        return await escalations(self._context, answered=answered)

    async def stall(self) -> "Stall":
        from telex.bus.stall import stall

        await run_maintenance(self._context)
        return await stall(self._context)

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
        from telex.bus.approve import answer_to

        context = self._context
        request = await answer_to(
            context,
            id,
            agent,
            approved=approved,
            reason=reason,
            conditions=conditions,
            modifications=modifications,
            role=role,
        )
        if isinstance(request, Finding):
            return Receipt(False, id, "refused", findings=(request,))
        receipt = await self._sender.send(request)
        self._waiting.nudge()
        return receipt

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
        from telex.bus.shutdown import shut_down

        report = await shut_down(self._context, self._waiting, agent, reason, deadline, team, force, wait)
        self._waiting.nudge()
        return report


FAR_AWAY = 1e12  # a moment that never comes


class LocalBus(WorkApi):
    def __init__(
        self,
        store: Store,
        clock: Clock,
        *,
        desk: CheckPolicy = STRICT,
        members: Sequence[Member] = (),
        waiting: Callable[[BusContext], Notifier] = Notifier,
        work: Mapping[str, Any] | None = None,
        evidence: Evidence | None = None,
    ) -> None:
        self._context = BusContext(store, clock, desk, members=members, work=work, evidence=evidence)
        self._sender = Sender(self._context)
        self._waiting = waiting(self._context)

    @property
    def store(self) -> Store:
        return self._context.store

    def carry(self, trace: Callable[[], str | None]) -> None:
        """From here on the trace that a message is sent in, as `ports.trace_context` has it, is written down with
        it.
        """
        self._context.current_trace = trace

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
        given = (as_bytes(raw), sender, role, to, id, reply_to, correlation, None)
        receipt = await self._sender.send(SendRequest._make(given))
        self._waiting.nudge()
        return receipt

    async def receive(
        self, agent: str, *, role: str | None = None, limit: int = 1, wait: float = 0.0, lease: float | None = None
    ) -> list[Lease]:
        return await receive.receive(self._context, self._waiting, agent, role, limit, wait, lease)

    async def ack(self, token: str, *, agent: str) -> bool:
        return await receive.ack(self._context, token, agent)

    async def nack(self, token: str, *, agent: str, reason: str, delay: float | None = None) -> Delivery:
        delivery = await receive.nack(self._context, token, agent, reason, delay)
        self._waiting.nudge()
        return delivery

    async def extend(self, token: str, *, agent: str, seconds: float | None = None) -> float:
        return await receive.extend(self._context, token, agent, seconds)

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
        context = self._context
        within = context.limits.request_seconds if timeout is None else seconds("timeout", timeout)
        request = SendRequest(
            as_bytes(raw), sender, role, to, id, reply_to=reply_to, correlation=correlation, answer_within=within
        )
        receipt = await self._sender.send(request)
        if not receipt.accepted:
            return receipt
        self._waiting.nudge()
        deadline = context.clock.now() + within
        name = normalised(sender)  # another agent may have used the same id
        messages = [
            message
            for message in await context.store.find(receipt.id)
            if not message.refused and message.sender == name
        ]
        question = messages[-1]
        answer = await self._answer(question, deadline)
        if answer is None:
            raise RequestTimedOut(_no_answer(receipt.id, within), receipt.id)
        return answer

    async def _answer(self, question: Message, deadline: float) -> Lease | None:
        context = self._context
        member = await receive.member_or_raise(context, question.sender)
        dialect = context.dialects.get(question.dialect or "")
        type_ = dialect.types.get(question.type or "") if dialect else None
        wanted = (type_.reply,) if type_ is not None and type_.reply is not None else ()
        subscription = self._waiting.place()
        try:
            while True:
                inboxes = await context.inboxes(member)
                await subscription.arm(inboxes, (question.seq,))
                await maintenance.expire_leases(context)
                now = context.clock.now()
                found = await self._answers(question, inboxes, wanted)
                until = now + context.limits.lease_seconds
                request = LeaseRequest(inboxes, member.name, now, until, only=found)
                if found and (leases := await receive.lease_messages(context, member, request)):
                    return leases[0]
                if now >= deadline:
                    return None
                deliveries = await context.store.deliveries(question.seq)
                if not any(delivery.state in MAY_ANSWER for delivery in deliveries):
                    raise RequestFailed(_given_up_on(question.id), question.id)
                await subscription.wait(min(deadline, now + 1.0))
        finally:
            subscription.close()

    async def _answers(self, question: Message, inboxes: Sequence[str], wanted: Sequence[str]) -> list[int]:
        """The delivery of the message that has answered it; other replies stay in the inbox."""
        store = self._context.store
        found = await store.answers_to(inboxes, question, wanted)
        events = await store.story(question.seq) if found else []
        answers = {detail_of(event).get("by") for event in events if event.kind == "answered"}
        deliveries = [await store.delivery(seq) for seq in found]
        return [delivery.seq for delivery in deliveries if delivery is not None and delivery.message in answers][:1]

    # --- what became of it -------------------------------------------------------------------------------------------

    async def read(self, id: str, *, agent: str) -> Message:
        return await queries.read(self._context, id, agent)

    async def inbox(self, agent: str, *, role: str | None = None, limit: int = 100) -> list[tuple[Delivery, Message]]:
        await self.sweep()
        member = receive.as_member(await self._context.find_member(agent, role))
        return await self.store.waiting(await self._context.inboxes(member), count("limit", limit))

    async def rendering(self, message: Message, *, agent: str) -> Rendering | None:
        roster, name = await self._context.roster(), normalised(agent)
        member = roster.find(name) or roster.members.get(name)
        if member is None:
            raise NotFound(f"{name[:128]} is not in the team: telex team shows who is.")
        from telex.bus.render import reader_form

        context = self._context
        return await context.read(lambda reads: reader_form(context, reads, message, member))

    async def why(self, id: str) -> list[MessageHistory]:
        await self.sweep()
        return await queries.why(self._context, id)

    async def settled(self, id: str, *, sender: str, until: str, timeout: float) -> MessageHistory:
        """A message further on than asked for is settled too: one that was acked need not be seen read first."""
        context, name = self._context, normalised(sender)
        deadline = context.clock.now() + seconds("timeout", timeout)
        subscription = self._waiting.place()
        known: tuple[int, ...] = ()
        try:
            while True:
                await subscription.arm((), known)
                stories = await self.why(id)
                own = [
                    history
                    for history in stories
                    if history.message.sender == name and history.state not in NEVER_DELIVERED
                ]
                story = (own or stories)[-1]
                if _has_come_to(story, until) or context.clock.now() >= deadline:
                    await context.store.settle(())  # what another process has just written may not be on disk yet
                    return story
                if known != (known := tuple(history.message.seq for history in stories)):
                    continue  # only now is it known what to wait for
                soonest = await context.store.next_deadline(()) if subscription.alone else None
                await subscription.wait(min(deadline, FAR_AWAY if soonest is None else soonest))
        finally:
            subscription.close()

    async def events(
        self, query: Query = EVERYTHING, *, follow: bool = False, wait: float | None = None
    ) -> AsyncGenerator[tuple[Event, Message | None], None]:
        looked = follow_events(self._context, self._waiting, searched(query), follow=follow, wait=wait)
        async with aclosing(looked) as pages:
            async for page in pages:
                for one in page:
                    yield one

    async def search(self, text: str, *, limit: int = 50) -> list[Message]:
        query = searched(Query(text=text, kinds=BRINGING, newest_first=True))
        wanted = count("limit", limit)
        return [message for _, message in await self.store.events(query, wanted) if message is not None]

    async def trace(self, correlation: str) -> list[MessageHistory]:
        await self.sweep()
        return await queries.trace(self._context, correlation)

    async def conversations(self, *, before: int | None = None, limit: int = 30) -> ConversationPage:
        return await self.store.conversations(before, min(count("limit", limit), queries.CONVERSATIONS_MAX))

    async def states(self, messages: Sequence[int]) -> list[MessageState]:
        return await queries.states(self._context, messages)

    # --- the team ----------------------------------------------------------------------------------------------------

    async def roster(self) -> list[Presence]:
        await self.sweep()
        return await queries.presence(self._context)

    async def join(
        self, name: str, *, role: str | None = None, dialects: Sequence[str] = (), by: str | None = None
    ) -> Member | Finding:
        context, reads = self._context, tuple(dialects)
        if reads:
            from telex.delivery.membership import understood

            found = [understood(one, context.dialects.values(), context.limits) for one in reads]
            finding = next((one for one in found if isinstance(one, Finding)), None)
            if finding is not None:
                return finding
            reads = tuple(dict.fromkeys(one for one in found if isinstance(one, str)))
            declared = next((member for member in context.declared if member.name == normalised(name)), None)
            if declared is not None and declared.dialects:
                from telex.delivery.membership import reads_differ

                if (differs := reads_differ(declared, reads, context.limits)) is not None:
                    return differs
                reads = ()
        return await context.member(name, role, by=by, dialects=reads)

    async def leave(self, name: str) -> int:
        context, name = self._context, normalised(name)
        member = await context.store.transaction(partial(_leave, context, name), may_use_reserve=True)
        if member is None:
            raise NotFound(f"{name} is not in the team: telex team shows who is.")
        withdrawn = 0
        with suppress(StoreError):  # it has left, and maintenance withdraws what is left
            withdrawn = await return_messages(context, member)
        self._waiting.nudge()
        return withdrawn

    # --- dead letters ------------------------------------------------------------------------------------------------

    async def dead_letters(self, *, limit: int = 100) -> list[tuple[Delivery, Message]]:
        await self.sweep()
        return await self.store.dead(count("limit", limit))

    async def retry(self, id: str, *, agent: str = HUMAN) -> int:
        now, roster = self._context.clock.now(), await self._context.roster()
        dead = await self._given_up(id)
        here = [
            delivery for delivery in dead if (member := roster.members.get(delivery.inbox)) is None or member.is_here
        ]
        if not here:
            raise NotFound(f"{dead[0].inbox} has left the team: send it to a member of the team.")
        settled = await self.store.settle([lifecycle.retried(delivery, normalised(agent), now) for delivery in here])
        self._waiting.nudge()
        return sum(settle_result.done for settle_result in settled)

    async def drop(self, id: str, *, reason: str, agent: str = HUMAN) -> int:
        agent, now = normalised(agent), self._context.clock.now()
        dropped = [
            await keep_request_open(
                self._context, lifecycle.withdrawn(delivery, agent, now, reason, kind="dropped"), delivery
            )
            for delivery in await self._given_up(id)
        ]
        return sum(settle_result.done for settle_result in await self.store.settle(dropped))

    async def _given_up(self, id_: str) -> list[Delivery]:
        await self.sweep()
        deliveries = [
            delivery for message in await self.store.find(id_) for delivery in await self.store.deliveries(message.seq)
        ]
        dead = [delivery for delivery in deliveries if delivery.state in ("dead", "expired")]
        if not dead:
            raise NotFound(f"{id_[:128]} is no dead letter: telex dead lists them.")
        return dead

    # --- the record --------------------------------------------------------------------------------------------------

    async def import_messages(self, entries: Sequence[NewMessage]) -> list[AppendResult]:
        """Keep messages of another record as history: they are found and shown, and delivered to nobody.

        What is here already is left as it is, so that importing twice is the same as importing once.
        """
        if not entries:
            return []
        return await self.store.transaction(partial(_import, entries))

    async def sweep(self) -> int:
        return await maintenance.run_maintenance(self._context)

    async def close(self) -> None:
        self._waiting.close()
        await self.store.close()


def _leave(context: BusContext, name: str, tx: Transaction) -> Member | None:
    """The member that leaves, or has left before; None: there is no such member."""
    context.team.begin(tx)
    member = context.team.roster.members.get(name)
    if member is None or member.joined_at is None:
        return None
    if member.left_at is None:
        member = member._replace(left_at=context.team.now)
        context.team.write_member(tx, member, Event(0, context.team.now, "left", name))
    return member


def _import(entries: Sequence[NewMessage], tx: Transaction) -> list[AppendResult]:
    """Store the messages that are not stored yet. All are looked up before the first is written."""
    results: list[AppendResult | NewMessage] = []
    taken: set[tuple[str, str, bytes, float]] = set()
    for entry in entries:
        same = (entry.sender, entry.digest, entry.at)
        here = [m.seq for m in tx.find(entry.id) if (m.sender, m.digest, m.at) == same]
        is_new = not here and (entry.id, *same) not in taken
        taken.add((entry.id, *same))
        kind = "refused" if entry.kind == "refused" else "imported"
        results.append(_as_history(entry, kind) if is_new else AppendResult("duplicate", here[0] if here else 0))
    return [
        AppendResult("stored", tx.append(result)) if isinstance(result, NewMessage) else result for result in results
    ]


def _as_history(new_message: NewMessage, kind: str) -> NewMessage:
    """Without everything that would make something happen now: it asks nobody, answers nothing and changes no matter of
    the work, whatever the record that it comes from says."""
    return new_message._replace(kind=kind, inboxes=(), answer_by=None, answers_requests=(), work_change=None)


NEVER_DELIVERED = frozenset({"refused", "recorded"})  # in no inbox: no delivery to wait for
_OVER = frozenset({"acked", "dead", "expired", "withdrawn"}) | NEVER_DELIVERED


def _has_come_to(story: MessageHistory, until: str) -> bool:
    """Has every delivery come that far, or can it not any more? One that was acked need not be seen read first."""
    if story.state in _OVER or until == "acked":
        return story.state in _OVER
    kinds = ("leased",) if until == "leased" else ("leased", "read")
    come = {event.delivery for event in story.events if event.kind in kinds}
    return all(delivery.seq in come or delivery.state not in OPEN for delivery in story.deliveries)


def _given_up_on(id_: str) -> str:
    return f"no reply to {id_} will come: it was given up. See why with telex why {id_}, and ask another agent."


def _no_answer(id_: str, within: float) -> str:
    look = f"look where it is with telex why {id_}"
    return f"no answer to {id_} within {within:g} s: {look}; a late answer comes to your inbox."


def _speaks_every_verb(bus: LocalBus) -> Bus:
    """Never called: it is here for the type checker, which sees when a verb and its port part ways."""
    return bus
