"""The bus as one agent uses it: `Agent` sends and receives under one name, `Lease` settles a received message, and
`Message` has a typed body.

    agent = bus.agent("dev")
    async for lease in agent.listen():
        await lease.reply(StatusUpdate(task_id=lease.message.body.payload.task_id, status="COMPLETED", details="done"))

Everything here is made of the methods of `ports.bus.Bus`, so it is the same for a store and for a hub.
"""

from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from typing import TYPE_CHECKING, Any

from telex.model.message import Delivery, LeasedMessage, Rendering, StoredMessage
from telex.model.named_tuple import NamedTuple
from telex.model.roster import Member
from telex.model.text import digest_of
from telex.ports.bus import Bus, Raw, Receipt, as_bytes

if TYPE_CHECKING:
    from telex.delivery.validator_cache import CheckedMessage, ValidatorCache
    from telex.dialects.schema import Dialect

WAIT_SECONDS = 20.0  # of one receive of an endless loop


class Message(StoredMessage):
    """A message: the stored record, in the dialect that its reader reads, and `body`."""

    _dialects: "Mapping[str, Dialect] | None" = None  # None: the built-in ones

    @classmethod
    def of(
        cls, message: StoredMessage, dialects: "Mapping[str, Dialect]", rendering: Rendering | None = None
    ) -> "Message":
        """The message of a record, in the form in which its reader received it."""
        made = cls._make(message)
        if rendering is not None:
            raw = rendering.raw
            made = made._replace(dialect=rendering.dialect, type=rendering.type, raw=raw, digest=digest_of(raw))
        made._dialects = dialects
        return made

    @cached_property
    def body(self) -> Any:
        """The message as its typed class, if its dialect is known; else a dict, if it is a JSON object; else text."""
        import json

        from telex.messages import typed  # makes the classes of a dialect

        body = typed(self) if self._dialects is None else typed(self, self._dialects.values())
        if body is not None:
            return body
        text = self.text
        with suppress(ValueError, RecursionError):
            if isinstance(tree := json.loads(text), dict):
                return tree
        return text

    @property
    def text(self) -> str:
        """The message as text, with a replacement character for each byte that is not UTF-8."""
        return self.raw.decode("utf-8", "replace")


class Lease:
    """A received message that its reader holds until `until`: ack, nack, extend or reply to it."""

    def __init__(self, agent: "Agent", leased: LeasedMessage) -> None:
        self.agent = agent
        self.original: StoredMessage = leased.message  # as it was sent
        self.rendering: Rendering | None = leased.rendering  # the translation, if the agent reads another dialect
        self.token = leased.token
        self.attempt = leased.attempt  # 1 for the first
        self.until = leased.until  # seconds since 1970, UTC, by the clock of the bus
        self.is_open = True  # neither settled by this object nor known to be lost

    def __repr__(self) -> str:
        return f"<Lease of {self.original.type or 'message'} {self.original.id} for {self.agent.name}>"

    @cached_property
    def message(self) -> Message:
        """The message in a dialect that the agent reads."""
        return Message.of(self.original, self.agent.dialects, self.rendering)

    async def ack(self) -> bool:
        """Ack the message: it is processed and not delivered again. False: it was acked before.

        Raises:
            LeaseLost: the lease has expired, and the message was offered again.
        """
        acked = await self.agent.bus.ack(self.token, agent=self.agent.name)
        self.is_open = False
        return acked

    async def nack(self, reason: str, delay: float | None = None) -> Delivery:
        """The message could not be processed: it is retried after `delay` seconds (default: backoff), or becomes a dead
        letter after the last attempt.

        Raises:
            LeaseLost: as for `ack`.
        """
        return await self._nack(reason, delay=delay)

    async def reject(self, reason: str) -> Delivery:
        """The message can never be processed: it becomes a dead letter now, and its sender is notified.

        Raises:
            LeaseLost: as for `ack`.
        """
        return await self._nack(reason, final=True)

    async def release(self, reason: str) -> Delivery:
        """Release the lease unprocessed: the message is delivered again at once, and this attempt does not count.

        Raises:
            LeaseLost: as for `ack`.
        """
        return await self._nack(reason, counted=False)

    async def _nack(self, reason: str, **how: Any) -> Delivery:
        delivery = await self.agent.bus.nack(self.token, agent=self.agent.name, reason=reason, **how)
        self.is_open = False
        return delivery

    async def extend(self, seconds: float | None = None) -> float:
        """Extend the lease to `seconds` from now. The time at which it expires.

        Raises:
            LeaseLost: it has expired.
        """
        self.until = await self.agent.bus.extend(self.token, agent=self.agent.name, seconds=seconds)
        return self.until

    async def reply(
        self,
        message: Raw,
        *,
        ack: bool = True,
        to: str | None = None,
        id: str | None = None,
        correlation: str | None = None,
        check: bool = True,
    ) -> Receipt:
        """Send a reply to the sender, in the same conversation unless the reply names another one, and ack the message
        in the same transaction: both happen or neither. With `ack=False` the lease stays open.

        Raises:
            Refused: the reply is invalid; the lease stays open.
            LeaseLost: as for `ack`; nothing was sent.
        """
        original, to = self.original, to or self.original.sender
        if correlation is None:
            named = own_names(self.agent, message).correlation
            correlation = original.correlation if named in (None, original.correlation) else None
        receipt = await self.agent.send(
            message,
            to=to,
            id=id,
            reply_to=original.id,
            correlation=correlation,
            ack=self.token if ack else None,
            check=check,
        )
        self.is_open = self.is_open and not (ack and receipt.accepted)
        return receipt


class Agent:
    """A bus bound to one agent. Made by `bus.agent(name)`.

    The first send or receive joins the team, under `role`; without one, under the role of that name or as `agent`.
    """

    def __init__(self, bus: Bus, name: str, role: str | None = None) -> None:
        self.bus, self.name, self.role = bus, name, role

    def __repr__(self) -> str:
        return f"<Agent {self.name}>"

    @cached_property
    def dialects(self) -> "dict[str, Dialect]":
        """The dialects of the team, by name."""
        return {dialect.name: dialect for dialect in self.bus.policy.dialects}

    @cached_property
    def _validators(self) -> "ValidatorCache":
        from telex.delivery.validator_cache import ValidatorCache

        return ValidatorCache(self.bus.policy)

    async def send(
        self,
        message: Raw,
        *,
        to: str | None = None,
        id: str | None = None,
        reply_to: str | None = None,
        correlation: str | None = None,
        ack: str | None = None,
        check: bool = True,
    ) -> Receipt:
        """Check a message and store it for its recipients. A typed message gets its envelope filled in. `ack`: the
        token of a lease that is acked in the same transaction.

        Raises:
            Refused: the message is invalid; nothing is delivered. With `check=False` the receipt has the findings.
            LeaseLost: the lease of `ack` is lost; nothing was stored.
            OutcomeUnknown: the commit may have succeeded; retry with the id it names, which is deduplicated.
        """
        return await self.bus.send(
            message,
            sender=self.name,
            role=self.role,
            to=to,
            id=id,
            reply_to=reply_to,
            correlation=correlation,
            ack=ack,
            check=check,
        )

    async def request(
        self,
        message: Raw,
        *,
        to: str | None = None,
        timeout: float | None = None,
        id: str | None = None,
        reply_to: str | None = None,
        correlation: str | None = None,
    ) -> Message:
        """Send a message and wait for the reply, which is acked. `bus.request` returns it leased instead.

        Raises:
            Refused: the message is invalid; nothing was sent.
            RequestTimedOut: no reply in time; a late one comes to the inbox.
            RequestFailed: no recipient can reply any more.
        """
        leased = await self.bus.request(
            message,
            sender=self.name,
            role=self.role,
            to=to,
            timeout=timeout,
            id=id,
            reply_to=reply_to,
            correlation=correlation,
        )
        lease = Lease(self, leased)
        await lease.ack()
        return lease.message

    async def receive(self, limit: int = 1, wait: float = 0.0, lease: float | None = None) -> list[Lease]:
        """Lease up to `limit` messages for `lease` seconds, waiting up to `wait` seconds for the first.

        Raises:
            NotAMember: the name is not in the team, and no role is given with which it could join.
        """
        leases = await self.bus.receive(self.name, role=self.role, limit=limit, wait=wait, lease=lease)
        return [Lease(self, leased) for leased in leases]

    async def listen(self, *, limit: int = 1, lease: float | None = None) -> AsyncGenerator[Lease, None]:
        """Receive messages, without end. A heartbeat extends each lease until it is settled or the next message is
        requested; a message that is not settled by then is retried when its lease expires.

        `limit`: how many to lease at a time.
        """
        from telex.heartbeat import Heartbeat

        seconds = self.bus.policy.limits.lease_seconds if lease is None else lease
        heartbeat = Heartbeat(seconds)
        try:
            while True:
                leases = await self.receive(limit, WAIT_SECONDS, seconds)
                for received in leases:
                    heartbeat.add(received)
                for received in leases:
                    yield received
                    heartbeat.remove(received)
        finally:
            heartbeat.close()

    async def inbox(self, limit: int = 100) -> list[Message]:
        """The messages in the inbox as they were sent, in the order of delivery. Nothing is leased."""
        waiting = await self.bus.inbox(self.name, role=self.role, limit=limit)
        return [Message.of(message, self.dialects) for _, message in waiting]

    async def read(self, id: str) -> Message:
        """A message by its id, without leasing it, in a dialect that the agent reads.

        Raises:
            NotFound: no such message.
        """
        message = await self.bus.read(id, agent=self.name)
        return Message.of(message, self.dialects, await self.bus.rendering(message, agent=self.name))

    async def join(self, dialects: Sequence[str] = ()) -> Member:
        """Join the team. `dialects`: those that the agent reads; messages in others are translated for it.

        Raises:
            NotAMember: the team does not admit the name or role.
        """
        return await self.bus.join(self.name, role=self.role, dialects=dialects)

    async def leave(self) -> int:
        """Leave the team. Waiting messages are withdrawn and their senders notified; how many."""
        return await self.bus.leave(self.name)


def checked_draft(
    agent: Agent, message: Raw, *, to: str | None = None, id: str | None = None, correlation: str | None = None
) -> "CheckedMessage":
    """The type and envelope of a message as the agent would send it. Sender and recipient are not checked."""
    from telex.delivery.routing import Participants

    raw = as_bytes(message, sender=agent.name, role=agent.role, to=to, id=id, correlation=correlation)
    return agent._validators.check(raw, Participants())


class OwnNames(NamedTuple):
    """Id and conversation that a message names itself; None: it has those of its send."""

    id: str | None
    correlation: str | None


def own_names(agent: Agent, message: Raw) -> OwnNames:
    if not isinstance(message, bytes | str | dict):
        from telex.messages import TypedMessage, envelope_value

        if isinstance(message, TypedMessage):
            return OwnNames(envelope_value(message, "id"), envelope_value(message, "correlation"))
    envelope = checked_draft(agent, message).envelope
    return OwnNames(envelope.id, envelope.correlation)
