"""Worker: an agent whose messages are processed by functions of a Python program.

    worker = telex.Worker("w1", role="dev")

    @worker.handles(TaskAssignment, concurrency=4)
    async def build(task: TaskAssignment, ctx: telex.Context) -> StatusUpdate:
        return StatusUpdate(task_id=task.payload.task_id, status="COMPLETED", details=await do(task))

    worker.run()

Delivery is at least once: a handler whose process is killed is called again, by this worker or another one of its role.
A reply is sent exactly once, because reply and ack are one transaction. Of a list, the messages before the last may be
sent again, if the worker is killed between them and another one takes the message.
"""

import asyncio
import inspect
import logging
import os
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from typing import TYPE_CHECKING, Any, TypeVar

from telex.agent import Message
from telex.clock import LoopClock
from telex.connection import connect
from telex.errors import InvalidValue, NotAMember, SettingsError, StoreError
from telex.handlers import LOG, Handler, HandlerTable, Middleware
from telex.messages import TypedMessage
from telex.model.roster import AT
from telex.model.text import nearest, shown_block
from telex.ports.bus import Bus
from telex.ports.environment import Clock
from telex.worker_run import WorkerRun

if TYPE_CHECKING:
    from telex.config import Settings

DRAIN_SECONDS = 30.0
Function = TypeVar("Function", bound=Callable[..., Any])


class Worker:
    """An agent whose messages are processed by handlers.

        worker = telex.Worker("w1", role="dev")

        @worker.handles(TaskAssignment)
        async def build(task: TaskAssignment) -> StatusUpdate:
            return StatusUpdate(task_id=task.payload.task_id, status="COMPLETED", details="done")

        worker.run()

    Each process has its own name; several of one role share the messages to `role:dev`. `run` logs to stderr, unless
    the program has set up logging; the logger is `telex.worker`.

    A handler takes the message's body, or the body and a `Context`. Async handlers run on the event loop, others in
    threads. What a handler does decides what happens to the message:

    - it returns None: the message is acked;
    - it returns a message (typed, dict or text): the reply is sent and the message acked, in one transaction;
    - it returns a list of messages: they are sent in this order, and the last one acks;
    - it raises `Reject(reason)`, its reply is refused, or its result is no message: dead letter, and the sender is
      notified;
    - it raises `Retry(delay)`: it is called again after `delay` seconds;
    - it raises anything else: the message is nacked with the exception's text, retried with backoff, and becomes a
      dead letter after the last attempt.

    A lease is extended while its handler runs. If it is lost all the same, the handler is cancelled and its result
    dropped. A request to shut down is answered when all handlers have ended, and ends the worker. While the store or
    hub fails, the worker retries its calls.
    """

    def __init__(
        self,
        name: str,
        *,
        role: str | None = None,
        where: str | os.PathLike[str] | None = None,
        settings: "Settings | None" = None,
        token: str | None = None,
        lease_seconds: float | None = None,
        reads: Sequence[str] = (),
    ) -> None:
        """`where`, `settings` and `token` are those of `telex.connect`. `role`: under which it joins the team. `reads`:
        the dialects that the handlers take; messages in others are translated. `lease_seconds`: how long after a crash
        the message is delivered again; the default is the team's."""
        self.name, self.role, self.where, self.reads = name, role, where, tuple(reads)
        self._settings, self._token, self._lease_seconds = settings, token, lease_seconds
        self._table = HandlerTable()
        self.current_run: WorkerRun | None = None
        self._loop: asyncio.AbstractEventLoop | None = None  # from the start of `serve` to its end
        self._is_stopped = False
        self._joining: asyncio.Future[None] | None = None

    def __repr__(self) -> str:
        return f"<Worker {self.name}>"

    # --- handlers ----------------------------------------------------------------------------------------------------

    def handles(self, type: type[TypedMessage] | str, *, concurrency: int = 1) -> Callable[[Function], Function]:
        """Decorator of a handler for a message class of `telex.messages`, or for the name of a type in any dialect.
        `concurrency`: how many of its messages are processed at a time.

        Raises:
            InvalidValue: the type has a handler already.
            TypeError: the function has other parameters, or is annotated with the class of another type.
        """

        def register(function: Function) -> Function:
            if isinstance(type, str):
                handler = _handler(function, _body, concurrency)._replace(type=type)
            else:
                handler = _handler(function, type.from_message, concurrency)
                handler = handler._replace(type=type.TYPE, dialect=type.DIALECT.partition(AT)[0])
            _check_annotation(function, handler)
            self._table = self._table.with_handler(handler)
            return function

        return register

    def otherwise(self, function: Function) -> Function:
        """Decorator of the handler for messages of other types. It takes the `telex.Message`, not its body. Without
        one, such a message is nacked; a report of the bus itself is logged."""
        if self._table.otherwise is not None:
            raise InvalidValue("the worker has a handler for other types already: remove one of the two.")
        self._table = self._table._replace(otherwise=_handler(function, lambda message: message, 1))
        return function

    def middleware(self, function: Function) -> Function:
        """Decorator of a function around every handler: `async def timed(message, ctx, call_next)`. It returns what
        `await call_next()` returns, or something else. The first one is the outermost."""
        around: Middleware = function
        self._table = self._table._replace(middleware=(*self._table.middleware, around))
        return function

    # --- run ---------------------------------------------------------------------------------------------------------

    def run(self, where: str | os.PathLike[str] | None = None, *, drain_seconds: float = DRAIN_SECONDS) -> None:
        """Process messages until SIGTERM or SIGINT, `stop`, or a request to shut down. Then nothing more is received,
        and handlers have `drain_seconds` to end; messages of those that have not are delivered to another worker. A
        second signal ends the wait. Logs at level INFO to stderr, unless the program has set up logging. A worker that
        cannot start, or whose store is damaged, logs the reason and ends the program with exit code 1."""
        self.where = self.where if where is None else where
        is_set_up = any(logging.getLogger(name).handlers for name in ("", "telex", LOG.name))
        with nullcontext() if is_set_up else _logging_to_stderr():
            try:
                asyncio.run(self._run_until_signal(drain_seconds))
            except (StoreError, NotAMember, SettingsError) as error:
                LOG.error("%s ends: %s", self.name, error)
                raise SystemExit(1) from None

    async def serve(
        self, bus: Bus | None = None, *, drain_seconds: float = DRAIN_SECONDS, clock: Clock | None = None
    ) -> None:
        """The same as `run` for a program with its own event loop and signals, over a bus that is open already or over
        its own.

        Raises:
            InvalidValue: the worker is running already, or has no handlers.
            NotAMember: the team does not admit the worker.
            StoreUnavailable: there is no store at `where`. A hub that does not answer yet is polled.
        """
        if self._loop is not None:
            raise InvalidValue(f"{self.name} is running already: make a second Worker.")
        if not self._table.all():
            raise InvalidValue(f"{self.name} has no handlers: decorate a function with @worker.handles(TYPE).")
        self._loop, self._is_stopped = asyncio.get_running_loop(), False
        try:
            if bus is not None:
                await self._serve(bus, drain_seconds, clock or LoopClock())
                return
            connection = connect(self.where, settings=self._settings, token=self._token)
            async with connection as opened:
                bus = _traced(opened)
                await self._serve(bus, drain_seconds, clock or LoopClock(), wait=connection.is_remote)
        finally:
            self._loop = None

    def stop(self) -> None:
        """Stop as for SIGTERM. From any thread."""
        if self._loop is not None:
            self._loop.call_soon_threadsafe(self._stop)

    def _stop(self) -> None:
        self._is_stopped = True
        if self.current_run is not None:
            self.current_run.stop()
        elif self._joining is not None:
            self._joining.cancel()

    async def _run_until_signal(self, drain_seconds: float) -> None:
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            with suppress(RuntimeError, ValueError):  # not on Windows, nor in a thread
                loop.add_signal_handler(number, self._handle_signal)
        await self.serve(drain_seconds=drain_seconds)

    def _handle_signal(self) -> None:
        if self.current_run is None:
            raise SystemExit(0)
        if self.current_run.is_stopping:
            self.current_run.stop_now()
        self.current_run.stop()

    async def _serve(self, bus: Bus, drain_seconds: float, clock: Clock, *, wait: bool = False) -> None:
        agent = bus.agent(self.name, role=self.role)
        run = WorkerRun(agent, self._table, clock, self._lease_seconds)
        self._joining = asyncio.ensure_future(run.join(self.reads, wait=wait))
        try:
            await self._joining
        except asyncio.CancelledError:
            if not self._is_stopped:
                raise
            return
        finally:
            self._joining = None
        self.current_run = run
        if self._is_stopped:  # when it had joined
            run.stop()
        LOG.info("%s (%s) has started", self.name, agent.role)
        _warn_of_unknown_types(self._table, {name for dialect in agent.dialects.values() for name in dialect.types})
        try:
            await self.current_run.serve(drain_seconds)
        finally:
            self.current_run = None
            LOG.info("%s has stopped", self.name)


def _body(message: Message) -> Any:
    return message.body


def _handler(function: Callable[..., Any], argument: Callable[[Message], Any], concurrency: int) -> Handler:
    if concurrency < 1:
        raise InvalidValue(f"give concurrency a number from 1, not {concurrency!r}.")
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    parameters = inspect.signature(function).parameters.values()
    taken = [parameter for parameter in parameters if parameter.kind in kinds]
    required = [parameter for parameter in taken if parameter.default is inspect.Parameter.empty]
    if not taken or len(required) > 2:
        raise TypeError(f"{getattr(function, '__name__', function)} must take a message, or a message and a context")
    is_async = any(map(inspect.iscoroutinefunction, (function, type(function).__call__)))
    return Handler(function, argument, concurrency, with_context=len(required) > 1, is_async=is_async)


def _check_annotation(function: Callable[..., Any], handler: Handler) -> None:
    try:
        parameters = inspect.signature(function, eval_str=True).parameters.values()
    except Exception:  # a name that only a type checker knows
        return
    cls = next(iter(parameters)).annotation
    if not isinstance(cls, type) or not issubclass(cls, TypedMessage) or cls is TypedMessage:
        return
    if not handler.covers(handler._replace(type=cls.TYPE, dialect=cls.DIALECT.partition(AT)[0])):
        name = getattr(function, "__name__", function)
        raise TypeError(f"{name} handles {handler.type}, but its first parameter is annotated with {cls.__name__}")


def _warn_of_unknown_types(table: HandlerTable, known: set[str]) -> None:
    for type_ in {handler.type or "" for handler in table.handlers} - known:
        meant = nearest(type_, [name for name in known if name.isupper() == type_.isupper()])  # TASK_… or task_…
        hint = f"; did you mean {meant}?" if meant else ""
        LOG.warning("no dialect of the team has the type %s%s", type_, hint)


class _EscapingFormatter(logging.Formatter):
    """Text of messages is untrusted: a terminal must not interpret it."""

    def format(self, record: logging.LogRecord) -> str:
        return shown_block(super().format(record))


@contextmanager
def _logging_to_stderr() -> Iterator[None]:
    handler, propagate, level = logging.StreamHandler(sys.stderr), LOG.propagate, LOG.level
    handler.setFormatter(_EscapingFormatter("%(asctime)s %(levelname)s %(message)s"))
    LOG.addHandler(handler)
    LOG.propagate = False
    LOG.setLevel(logging.INFO)
    try:
        yield
    finally:
        LOG.removeHandler(handler)
        LOG.propagate = propagate
        LOG.setLevel(level)


def _traced(bus: Bus) -> Bus:
    """The bus with spans, if the program has set up OpenTelemetry."""
    trace = sys.modules.get("opentelemetry.trace")
    if trace is None or not hasattr(trace.get_tracer_provider(), "add_span_processor"):
        return bus
    from telex.telemetry import traced

    return traced(bus)
