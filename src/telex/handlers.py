"""Handlers of a worker: the user's functions, what they may use, and what they may raise."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import suppress
from typing import Any, TypeVar

from telex.agent import Agent, Lease, Message, checked_draft
from telex.errors import InvalidValue
from telex.model.named_tuple import NamedTuple
from telex.model.roster import AT
from telex.ports.bus import Bus, Raw, Receipt
from telex.ports.environment import Clock

LOG = logging.getLogger("telex.worker")
T = TypeVar("T")


class Reject(Exception):
    """Raised by a handler: the message can never be processed. It becomes a dead letter now, without further attempts,
    and its sender is notified."""


class Retry(Exception):
    """Raised by a handler: retry after `delay` seconds (default: the team's backoff). The attempt counts."""

    def __init__(self, delay: float | None = None, reason: str = "the handler asked for a retry") -> None:
        super().__init__(reason)
        self.delay = delay


class Context:
    """Context of a handler call: the lease of the message, and the worker's agent."""

    def __init__(self, lease: Lease, replies: "PendingReplies") -> None:
        self.lease = lease
        self.agent: Agent = lease.agent
        self._loop, self._replies = asyncio.get_running_loop(), replies

    @property
    def bus(self) -> Bus:
        """All methods of the bus."""
        return self.agent.bus

    @property
    def message(self) -> Message:
        """The message with its envelope: id, sender, correlation, …"""
        return self.lease.message

    @property
    def attempt(self) -> int:
        """Of this message: 1 for the first."""
        return self.lease.attempt

    @property
    def log(self) -> logging.Logger:
        """The logger `telex.worker`."""
        return LOG

    async def send(self, message: Raw, *, to: str, id: str | None = None, correlation: str | None = None) -> Receipt:
        """Send a message in the conversation of this one. It is sent at once, and again by the next attempt if this one
        fails: give it an `id` made from the message, and the second is a duplicate.

        Raises:
            Refused: the message is invalid.
        """
        return await self.agent.send(message, to=to, id=id, correlation=correlation or self.message.correlation)

    async def request(
        self, message: Raw, *, to: str, timeout: float | None = None, correlation: str | None = None
    ) -> Message:
        """Send a message in the conversation of this one, and wait for the reply.

        Raises:
            Refused: the message is invalid.
            RequestTimedOut: no reply in time.
            RequestFailed: no recipient can reply any more.
        """
        correlation = correlation or self.message.correlation
        return await self._replies.request(self.agent, message, to=to, timeout=timeout, correlation=correlation)

    async def extend(self, seconds: float | None = None) -> float:
        """Extend the lease now. The worker does so by itself; see `Lease.extend`."""
        return await self.lease.extend(seconds)

    def run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """For a sync handler, which runs in a thread: run a coroutine on the worker's event loop and wait for it, as in
        `ctx.run(ctx.send(…))`.

        Raises:
            InvalidValue: the handler is async: it awaits the coroutine.
        """
        with suppress(RuntimeError):  # no loop runs in this thread
            if asyncio.get_running_loop() is self._loop:
                coroutine.close()
                raise InvalidValue("ctx.run is for sync handlers: await the coroutine instead.")
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop).result()


class Handler(NamedTuple):
    """A function of the user and what it handles."""

    function: Callable[..., Any]
    argument: Callable[[Message], Any]  # what it gets for a message
    concurrency: int
    with_context: bool
    is_async: bool
    type: str | None = None  # None: any
    dialect: str | None = None  # without version; None: any

    def fits(self, message: Message) -> bool:
        dialect = (message.dialect or "").partition(AT)[0]
        return self.type in (None, message.type) and self.dialect in (None, dialect)

    def covers(self, other: "Handler") -> bool:
        """Whether the other one would never be called after this one."""
        return self.type == other.type and self.dialect in (None, other.dialect)


CallNext = Callable[[], Awaitable[Any]]
Middleware = Callable[[Message, Context, CallNext], Awaitable[Any]]


class HandlerTable(NamedTuple):
    """The functions of a worker."""

    handlers: tuple[Handler, ...] = ()
    otherwise: Handler | None = None
    middleware: tuple[Middleware, ...] = ()

    def with_handler(self, handler: Handler) -> "HandlerTable":
        if any(earlier.covers(handler) for earlier in self.handlers):
            raise InvalidValue(f"{handler.type} has a handler already: remove one of the two.")
        return self._replace(handlers=(*self.handlers, handler))

    def all(self) -> tuple[Handler, ...]:
        return self.handlers if self.otherwise is None else (*self.handlers, self.otherwise)

    def handler_of(self, message: Message) -> Handler | None:
        return next((handler for handler in self.handlers if handler.fits(message)), None)


# --- requests of handlers --------------------------------------------------------------------------------------------


class _Question(NamedTuple):
    """A request that a handler waits for."""

    id: str
    correlation: str | None
    reply_type: str | None
    arrived: "asyncio.Future[Lease]"

    def is_answered_by(self, lease: Lease) -> bool:
        message = lease.original
        if message.reply_to is not None:
            return message.reply_to == self.id
        in_conversation = message.correlation is not None and message.correlation == self.correlation
        return in_conversation and message.type is not None and message.type == self.reply_type


class PendingReplies:
    """Pending requests of one worker's handlers. A reply comes to the worker's inbox, so either the request or the
    worker itself leases it; the worker passes it on to the handler."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._questions: set[_Question] = set()

    def __len__(self) -> int:
        return len(self._questions)

    async def request(
        self, agent: Agent, message: Raw, *, to: str, timeout: float | None, correlation: str | None
    ) -> Message:
        new_id, loop = self._clock.new_id(), asyncio.get_running_loop()
        checked = checked_draft(agent, message, to=to, id=new_id, correlation=correlation)
        own, traits = checked.envelope, checked.traits
        question = _Question(
            own.id or new_id,
            own.correlation or correlation,
            traits.type.reply if traits is not None else None,
            loop.create_future(),
        )
        id_ = new_id if own.id in (None, new_id) else None
        asked = loop.create_task(agent.request(message, to=to, timeout=timeout, id=id_, correlation=correlation))
        self._questions.add(question)
        try:
            await asyncio.wait((asked, question.arrived), return_when=asyncio.FIRST_COMPLETED)
            if asked.done():
                return asked.result()
            await question.arrived.result().ack()
            return question.arrived.result().message
        finally:
            self._questions.remove(question)
            asked.cancel()

    def take(self, lease: Lease) -> bool:
        """Pass a received message to the handler that waits for it. False: no handler does."""
        for question in self._questions:
            if not question.arrived.done() and question.is_answered_by(lease):
                question.arrived.set_result(lease)
                return True
        return False
