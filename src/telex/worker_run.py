"""One run of a worker: receive, call the handler, settle; heartbeat, concurrency, drain, shutdown answer.

A handler that ends settles its message in one transaction: the reply is stored and the message acked, or neither. So a
worker that is killed at any point leaves either the reply or the message, and another worker takes it.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import nullcontext, suppress
from contextvars import copy_context
from functools import partial
from inspect import isawaitable
from random import random
from threading import Semaphore, Thread
from typing import Any, TypeVar

from telex.agent import WAIT_SECONDS, Agent, Lease, Message, own_names
from telex.bus.decision import SHUT_DOWN
from telex.errors import (
    LeaseLost,
    NotAMember,
    Refused,
    StoreDamaged,
    StoreError,
    StoreTooNew,
    TelexError,
)
from telex.handlers import LOG, CallNext, Context, Handler, HandlerTable, PendingReplies, Reject, Retry
from telex.heartbeat import Heartbeat
from telex.model.finding import refusals
from telex.model.message import StoredMessage
from telex.model.roster import TELEX
from telex.model.text import digest_of
from telex.ports.bus import Raw
from telex.ports.environment import Clock
from telex.validation.authorization import normalised
from telex.work.reducer import HeaderFields
from telex.work.shutdown import agreement

PAUSE_SECONDS_MIN, PAUSE_SECONDS_MAX = 0.1, 5.0  # between two retries while the store fails
ID_CHARACTERS_MAX = 100  # of the id of a message whose reply gets an id made from it
REASON_CHARACTERS_MAX = 500
TEMPORARY_CODES = {"inbox-full"}  # of refusals that the next attempt may not get
T = TypeVar("T")


class WorkerRun:
    """A worker between its start and its end, on one event loop."""

    def __init__(self, agent: Agent, table: HandlerTable, clock: Clock, lease_seconds: float | None = None) -> None:
        self._agent, self._table, self._clock = agent, table, clock
        self._seconds = agent.bus.policy.limits.lease_seconds if lease_seconds is None else lease_seconds
        self._slots = {handler: asyncio.Semaphore(handler.concurrency) for handler in table.all()}
        self._capacity = max(1, sum(handler.concurrency for handler in table.all()))
        self._heartbeat = Heartbeat(self._seconds, self._lose, clock.sleep)
        self._span = getattr(agent.bus, "processing", nullcontext)  # of OpenTelemetry, if the bus is traced
        self._threads = Semaphore(self._capacity)
        self._replies = PendingReplies(clock)
        self._jobs: dict[asyncio.Task[None], Lease] = {}
        self._job_ended = asyncio.Event()
        self._running = self._pauses = 0  # calls of handlers; waits for the next retry of a call
        self._receiving: asyncio.Future[list[Lease]] | None = None
        self.is_stopping = False
        self._is_paused = False  # while a request to shut down is answered
        self._failure: BaseException | None = None

    @property
    def busy_handlers(self) -> int:
        """Number of handler calls that do not wait for a reply."""
        return max(0, self._running - len(self._replies))

    @property
    def is_receiving(self) -> bool:
        return self._receiving is not None and not self.is_pausing

    @property
    def is_pausing(self) -> bool:
        """Whether a call waits for its next retry, since the store fails."""
        return self._pauses > 0

    async def join(self, reads: Sequence[str], *, wait: bool) -> None:
        """Join the team. `wait`: also for a hub that does not answer yet."""
        join = partial(self._agent.join, reads)
        self._agent.role = (await self._retry(join) if wait else await join()).role

    async def serve(self, drain_seconds: float) -> None:
        """Process messages until `stop`, then finish what runs within `drain_seconds`."""
        try:
            while not self.is_stopping:
                if self._is_paused or len(self._jobs) >= self._capacity:
                    self._job_ended.clear()
                    await self._job_ended.wait()
                else:
                    for lease in await self._receive():
                        if not self._replies.take(lease):
                            self._start(lease)
        except BaseException:
            drain_seconds = 0.0
            raise
        finally:
            await self._drain(drain_seconds)
        if self._failure is not None:
            raise self._failure

    def stop(self) -> None:
        self.is_stopping = True
        self._job_ended.set()
        self._end_receive()

    def stop_now(self) -> None:
        """Cancel the handlers; their messages are released."""
        self.stop()
        for task in self._jobs:
            task.cancel()

    def _end_receive(self) -> None:
        if self._receiving is not None:
            self._receiving.cancel()

    # --- receive -----------------------------------------------------------------------------------------------------

    async def _receive(self) -> list[Lease]:
        free = self._capacity - len(self._jobs)
        receive = partial(self._agent.receive, free, WAIT_SECONDS, self._seconds)
        self._receiving = asyncio.ensure_future(self._retry(receive))
        try:
            return await self._receiving
        except asyncio.CancelledError:
            if not self.is_stopping and not self._is_paused:
                raise
            return []
        except NotAMember as error:
            if error.code != SHUT_DOWN:
                raise
            LOG.info("%s has shut down", self._agent.name)  # by force, or its agreement is stored already
            self.stop()
            return []
        finally:
            self._receiving = None

    async def _retry(self, call: Callable[[], Awaitable[T]]) -> T:
        """The result of a call that is retried while the store fails."""
        pause = PAUSE_SECONDS_MIN
        while True:
            try:
                return await call()
            except (StoreDamaged, StoreTooNew):
                raise
            except StoreError as error:
                LOG.warning("%s: %s; next try in %.1f s", self._agent.name, error, pause)
                self._pauses += 1
                try:
                    await self._clock.sleep(pause * (0.5 + random() / 2))
                finally:
                    self._pauses -= 1
                pause = min(pause * 2, PAUSE_SECONDS_MAX)

    # --- one message -------------------------------------------------------------------------------------------------

    def _start(self, lease: Lease) -> None:
        task = asyncio.get_running_loop().create_task(self._process(lease))
        self._jobs[task] = lease
        self._heartbeat.add(lease)
        task.add_done_callback(self._end)

    def _end(self, task: asyncio.Task[None]) -> None:
        self._heartbeat.remove(self._jobs.pop(task))
        self._job_ended.set()
        if not task.cancelled() and (error := task.exception()) is not None:
            self._failure = error  # the store is damaged, or we have made a mistake
            self.stop()

    def _lose(self, lease: Lease) -> None:
        """Another reader has the message, or will have it: cancel the handler."""
        LOG.warning("%s lost the lease of %s", self._agent.name, lease.original.id)
        for task, held in self._jobs.items():
            if held is lease:
                task.cancel()

    async def _process(self, lease: Lease) -> None:
        try:
            with self._span(lease):
                await self._dispatch(lease)
        except LeaseLost as error:
            LOG.warning("%s: %s: %s", self._agent.name, lease.original.id, error)
        except asyncio.CancelledError:
            if lease.is_open:
                with suppress(TelexError):
                    await lease.release("the worker has stopped")

    async def _dispatch(self, lease: Lease) -> None:
        table, original = self._table, lease.original
        handler = table.handler_of(lease.message)
        if handler is None and (answer := self._shutdown_answer(original)) is not None:
            await self._guarded(lease, self._shut_down(lease, answer))
        elif (handler := handler or table.otherwise) is not None:
            await self._guarded(lease, self._handle(handler, lease))
        elif original.sender == TELEX:
            LOG.warning("%s got a report: %r", self._agent.name, lease.message.text)
            await self._retry(lease.ack)
        else:
            reason = f"no handler for {lease.message.type or 'untyped messages'}"
            LOG.warning("%s has %s: nacks %s", self._agent.name, reason, original.id)
            await self._retry(partial(lease.nack, reason))

    async def _guarded(self, lease: Lease, handling: Awaitable[None]) -> None:
        """An exception of the handler is a nack. A nack fails with LeaseLost if it is the lease of this message."""
        try:
            await handling
        except (StoreDamaged, StoreTooNew):
            raise
        except asyncio.CancelledError as error:
            task = asyncio.current_task()
            if self.is_stopping or task is None or task.cancelling():
                raise
            await self._fail(lease, error)  # of a task of the handler
        except (Exception, SystemExit, BaseExceptionGroup) as error:
            await self._fail(lease, error)

    async def _handle(self, handler: Handler, lease: Lease) -> None:
        async with self._slots[handler]:
            if self.is_stopping:
                raise asyncio.CancelledError  # not started: it is returned
            result = await self._call(handler, lease)
        await self._reply(lease, result)

    async def _call(self, handler: Handler, lease: Lease) -> Any:
        context = Context(lease, self._replies)
        call: CallNext = partial(self._call_function, handler, lease.message, context)
        for middleware in reversed(self._table.middleware):
            call = partial(middleware, lease.message, context, call)
        self._running += 1
        try:
            return await call()
        finally:
            self._running -= 1

    async def _call_function(self, handler: Handler, message: Message, context: Context) -> Any:
        arguments = (handler.argument(message), context)[: 1 + handler.with_context]
        if handler.is_async:
            return await handler.function(*arguments)
        call = partial(copy_context().run, handler.function, *arguments)
        result = await call_in_thread(call, self._threads)
        return await result if isawaitable(result) else result  # of an async function inside a sync one

    # --- results -----------------------------------------------------------------------------------------------------

    async def _reply(self, lease: Lease, result: Any) -> None:
        if not lease.is_open:
            return
        replies = _replies(result) if lease.original.sender != TELEX else []  # the bus reads no replies
        for number, reply in enumerate(replies, 1):
            id_ = reply_id(lease.original.id, number if len(replies) > 1 else 0)
            await self._send(lease, reply, id_, ack=number == len(replies))
        if not replies:
            await self._retry(lease.ack)

    async def _send(self, lease: Lease, reply: Raw, id_: str, *, ack: bool) -> None:
        """Send a reply, with this id unless it has its own. A retry after a failure of the store has the same id and
        bytes, and is deduplicated."""
        try:
            own = own_names(self._agent, reply).id
            is_own = own not in (None, id_)
            await self._retry(partial(lease.reply, reply, id=None if is_own else id_, ack=ack))
        except (TypeError, ValueError) as error:  # it cannot be written
            raise Reject(f"the result cannot be sent: {error}"[:REASON_CHARACTERS_MAX]) from error
        except Refused as refused:
            codes = [finding.code for finding in refusals(refused.findings)]
            if "recipient-has-left" in codes:
                raise Reject(f"no reply possible: {lease.original.sender} has left the team") from refused
            if codes != ["id-reused"]:
                raise _rejected(refused) from refused
            has_sent = await self._has_sent(lease.original, own or id_)
            if has_sent and ack:
                await self._retry(lease.ack)
            elif not has_sent and is_own:
                raise _rejected(refused) from refused
            elif not has_sent:  # another sender's message has the same id
                await self._send(lease, reply, f"{id_}.{lease.original.seq}", ack=ack)

    async def _has_sent(self, message: StoredMessage, id_: str) -> bool:
        """Whether an earlier attempt has sent this reply."""
        name, histories = normalised(self._agent.name), await self._agent.bus.why(id_)
        sent = [history.message for history in histories if not history.message.refused]
        wanted = (name, message.sender, message.id)
        return any((earlier.sender, earlier.to, earlier.reply_to) == wanted for earlier in sent)

    async def _fail(self, lease: Lease, error: BaseException) -> None:
        if not lease.is_open:
            LOG.error("%s: handler of %s failed", self._agent.name, lease.original.id, exc_info=error)
            return
        try:
            await self._settle_failure(lease, error)
        except (LeaseLost, StoreError):
            raise
        except Exception:
            LOG.exception("%s: cannot nack %s as its handler asked", self._agent.name, lease.original.id)
            await self._retry(partial(lease.nack, type(error).__name__))

    async def _settle_failure(self, lease: Lease, error: BaseException) -> None:
        if isinstance(error, Reject):
            LOG.warning("%s rejects %s: %s", self._agent.name, lease.original.id, error)
            await self._retry(partial(lease.reject, str(error) or "rejected"))
        elif isinstance(error, Retry):
            LOG.info("%s retries %s: %s", self._agent.name, lease.original.id, error)
            await self._retry(partial(lease.nack, str(error), error.delay))
        else:
            LOG.error("%s: handler of %s failed", self._agent.name, lease.original.id, exc_info=error)
            await self._retry(partial(lease.nack, f"{type(error).__name__}: {error}"[:REASON_CHARACTERS_MAX]))

    # --- the end -----------------------------------------------------------------------------------------------------

    def _shutdown_answer(self, message: StoredMessage) -> bytes | None:
        header = HeaderFields(reply_id(message.id), self._clock.now(), self._agent.name, message.sender)
        return agreement(message, self._agent.role or "", self._agent.dialects, header)

    async def _shut_down(self, lease: Lease, answer: bytes) -> None:
        """Finish what runs, agree to the request, and stop."""
        self._is_paused = True
        self._end_receive()
        try:
            others = [task for task, held in self._jobs.items() if held is not lease]
            if others:
                await asyncio.wait(others)
            await self._send(lease, answer, reply_id(lease.original.id), ack=True)
            LOG.info("%s has shut down, as %s asked", self._agent.name, lease.original.sender)
            self.stop()
        finally:
            self._is_paused = False
            self._job_ended.set()

    async def _drain(self, seconds: float) -> None:
        if self._jobs:
            LOG.info("%s stops: waits for %d messages", self._agent.name, len(self._jobs))
            timer = asyncio.ensure_future(self._clock.sleep(seconds))
            ended = asyncio.ensure_future(self._all_ended())
            await asyncio.wait((timer, ended), return_when=asyncio.FIRST_COMPLETED)
            timer.cancel()
            self.stop_now()
            await ended
        self._heartbeat.close()

    async def _all_ended(self) -> None:
        while self._jobs:
            await asyncio.wait(tuple(self._jobs))


def reply_id(id_: str, number: int = 0) -> str:
    """Id of a reply: the same in every attempt, so that a reply is stored once."""
    stem = id_ if len(id_) <= ID_CHARACTERS_MAX else digest_of(id_.encode()).hex()[:32]
    return f"{stem}.reply.{number}" if number else f"{stem}.reply"


async def call_in_thread(call: Callable[[], T], running: Semaphore) -> T:
    """The result of a call in a thread of its own, which does not keep the process alive: a call cannot be cancelled.
    `running` limits the calls that run, also those of which the result is not awaited any more."""
    loop = asyncio.get_running_loop()
    ended: asyncio.Future[T] = loop.create_future()

    def finish(set_outcome: Callable[[Any], None], outcome: Any) -> None:
        if not ended.done():
            set_outcome(outcome)

    def run() -> None:
        with running:
            if ended.cancelled():
                return
            outcome: tuple[Callable[[Any], None], Any]
            try:
                outcome = (ended.set_result, call())
            except StopIteration as error:  # a future cannot have it
                outcome = (ended.set_exception, RuntimeError(f"the handler raised {error!r}"))
            except BaseException as error:
                outcome = (ended.set_exception, error)
        with suppress(RuntimeError):  # the loop is closed
            loop.call_soon_threadsafe(finish, *outcome)

    Thread(target=run, name="telex-worker", daemon=True).start()
    return await ended


def _replies(result: Any) -> list[Raw]:
    """The return value of a handler as a list of replies."""
    is_list = isinstance(result, list | tuple) and not hasattr(result, "_fields")  # a record is no list
    replies = list(result) if is_list else [] if result is None else [result]
    for reply in replies:
        if not isinstance(reply, bytes | str | dict) and not callable(getattr(reply, "encode", None)):
            raise Reject(f"a handler returns messages or None, not {type(reply).__name__}")
    return replies


def _rejected(refused: Refused) -> Exception:
    """The exception for a refused reply: a rejection, or a retry if the refusal is temporary."""
    findings = refusals(refused.findings)
    if TEMPORARY_CODES.issuperset(finding.code for finding in findings):
        return refused
    causes = "; ".join(f"{finding.code} {finding.path}: {finding.say}" for finding in findings)
    return Reject(f"the reply {refused.receipt.type or ''} was refused: {causes}"[:REASON_CHARACTERS_MAX])
