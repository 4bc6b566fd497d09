"""OpenTelemetry spans around a bus: send, receive and process, with links.

    bus = traced(bus)

Names and attributes follow OpenTelemetry's conventions for messaging and, if OTEL_SEMCONV_STABILITY_OPT_IN asks for
them, those for agents of generative AI, which are experimental. Only OpenTelemetry's API is needed: without an SDK
nothing is recorded. Without an import of this module there is no cost.
"""

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from time import time, time_ns
from typing import Any, cast

from telex.agent import Agent, Lease
from telex.errors import Refused, StoreError, TelexError
from telex.model.message import BRINGING, LeasedMessage, StoredMessage, detail_of
from telex.ports.bus import Bus, Receipt
from telex.ports.environment import TRACEPARENT, as_traceparent, carrying, traceparent
from telex.ports.store import Query

try:
    from opentelemetry import context as otel_context
    from opentelemetry import trace
    from opentelemetry.trace import Link, Span, SpanContext, SpanKind, Status, StatusCode, TraceFlags, TracerProvider
except ImportError as error:
    raise StoreError("tracing needs more than the core: pip install 'telex[otel]'") from error

SYSTEM = "telex"
OPT_IN, GEN_AI = "OTEL_SEMCONV_STABILITY_OPT_IN", "gen_ai_latest_experimental"
HELD_MAX = 10_000  # open spans of leased messages; further leases get none


def traced(bus: Bus, *, provider: TracerProvider | None = None) -> Bus:
    """The same bus with spans for sends and receives. The default `provider` is the global one."""
    carry = getattr(bus, "carry", None)
    if carry is not None:
        carry(traceparent)
    return cast(Bus, TracedBus(bus, trace.get_tracer(SYSTEM, tracer_provider=provider)))


@contextmanager
def processing(bus: Bus, lease: LeasedMessage | Lease) -> Iterator[None]:
    """Context in which new spans are children of the message's span."""
    with bus.processing(lease) if isinstance(bus, TracedBus) else nullcontext():
        yield


class TracedBus:
    """A bus with spans; other methods are passed through."""

    def __init__(self, bus: Bus, tracer: trace.Tracer) -> None:
        self._bus, self._tracer = bus, tracer
        self.held: dict[str, Span] = {}  # spans of leased messages, by token
        self._until: dict[str, float] = {}

    def __getattr__(self, name: str) -> Any:
        return getattr(self._bus, name)

    def agent(self, name: str, *, role: str | None = None) -> Agent:
        return Agent(cast(Bus, self), name, role)

    @contextmanager
    def processing(self, lease: LeasedMessage | Lease) -> Iterator[None]:
        """Context in which new spans are children of the message's span."""
        span = self.held.get(lease.token)
        with (
            nullcontext()
            if span is None
            else trace.use_span(span, record_exception=False, set_status_on_exception=False)
        ):
            yield

    async def send(
        self, raw: Any, *, sender: str, to: str | None = None, ack: str | None = None, **more: Any
    ) -> Receipt:
        """With `ack` the span of the leased message ends too."""
        with self._sending(raw, sender, to) as span:
            receipt = await self._bus.send(raw, sender=sender, to=to, ack=ack, **more)
            _tell_receipt(span, receipt)
        if ack is not None and receipt.accepted:
            self._end(ack, "acked")
        return receipt

    async def request(self, raw: Any, *, sender: str, to: str | None = None, **more: Any) -> LeasedMessage:
        with self._sending(raw, sender, to):
            answer = await self._bus.request(raw, sender=sender, to=to, **more)
        self._hold(sender, [answer], await self._sent([answer]))
        return answer

    async def receive(self, agent: str, **more: Any) -> list[LeasedMessage]:
        """A wait without a message makes no span: idle readers would produce thousands."""
        self._let_go(time())
        began = time_ns()
        leases = await self._bus.receive(agent, **more)
        if leases:
            sent = await self._sent(leases)
            attributes = _operation("receive", agent) | {"messaging.batch.message_count": len(leases)}
            links = [Link(context) for context in sent if context is not None]
            span = self._tracer.start_span(
                f"receive {agent}", kind=SpanKind.CLIENT, attributes=attributes, links=links, start_time=began
            )
            span.end()
            self._hold(agent, leases, sent, span.get_span_context())
        return leases

    async def ack(self, token: str, *, agent: str) -> bool:
        return bool(await self._settle(token, "acked", self._bus.ack(token, agent=agent)))

    async def nack(self, token: str, *, agent: str, reason: str, **how: Any) -> Any:
        outcome = "nacked" if how.get("counted", True) else "returned"
        return await self._settle(token, outcome, self._bus.nack(token, agent=agent, reason=reason, **how))

    async def extend(self, token: str, *, agent: str, seconds: float | None = None) -> float:
        until = await self._bus.extend(token, agent=agent, seconds=seconds)
        if token in self.held:
            self._until[token] = until
            self.held[token].add_event("extended")
        return until

    # --- spans -------------------------------------------------------------------------------------------------------

    @contextmanager
    def _sending(self, raw: Any, sender: str, to: str | None) -> Iterator[Span]:
        """Span of a send, whose id travels with the message. Its parent is the current span, else the incoming one."""
        above = None if trace.get_current_span().get_span_context().is_valid else _context_of(traceparent())
        name, attributes = f"send {to}" if to else "send", _operation("send", to) | {"messaging.client.id": sender}
        with self._tracer.start_as_current_span(
            name, _under(above), SpanKind.PRODUCER, attributes, record_exception=False, set_status_on_exception=False
        ) as span:
            if isinstance(raw, bytes):
                span.set_attribute("messaging.message.body.size", len(raw))
            try:
                with carrying(_traceparent_of(span.get_span_context())):
                    yield span
            except Refused as refused:
                _tell_receipt(span, refused.receipt)
                raise
            except TelexError as error:
                _fail(span, error.code, error.say)
                raise

    async def _sent(self, leases: Sequence[LeasedMessage]) -> list[SpanContext | None]:
        """Span under which each message was sent."""
        return [_context_of(await carried_by(self._bus, lease.message)) for lease in leases]

    def _hold(
        self,
        agent: str,
        leases: Sequence[LeasedMessage],
        sent: Sequence[SpanContext | None],
        received: SpanContext | None = None,
    ) -> None:
        """Open a span for each lease until it is settled."""
        for lease, above in zip(leases, sent, strict=True):
            if len(self.held) >= HELD_MAX:
                return
            links = [Link(context) for context in (above, received) if context is not None]
            message = lease.message
            attributes = _operation("process", lease.inbox) | {
                "messaging.message.id": message.id,
                "messaging.message.conversation_id": message.correlation,
                "messaging.message.body.size": len(message.raw),
                "telex.dialect": message.dialect,
                "telex.type": message.type,
                "telex.attempt": lease.attempt,
            }
            if is_gen_ai_asked_for():
                attributes |= {
                    "gen_ai.operation.name": "invoke_agent",
                    "gen_ai.agent.name": agent,
                    "gen_ai.conversation.id": message.correlation,
                }
            known = {name: value for name, value in attributes.items() if value is not None}
            span = self._tracer.start_span(f"process {lease.inbox}", _under(above), SpanKind.CONSUMER, known, links)
            self.held[lease.token], self._until[lease.token] = span, lease.until

    async def _settle(self, token: str, outcome: str, settling: Any) -> Any:
        try:
            done = await settling
        except TelexError as error:
            self._end(token, None, error)
            raise
        self._end(token, outcome)
        return done

    def _end(self, token: str, outcome: str | None, error: TelexError | None = None) -> None:
        """End the span of a leased message."""
        span = self.held.pop(token, None)
        self._until.pop(token, None)
        if span is None:
            return
        if error is not None:
            _fail(span, error.code, error.say)
        elif outcome is not None:
            span.set_attribute("telex.outcome", outcome)
            if outcome == "nacked":
                _fail(span, outcome, "nacked")
        span.end()

    def _let_go(self, now: float) -> None:
        """End the spans of expired leases."""
        for token in [token for token, until in self._until.items() if until < now]:
            span = self.held.pop(token)
            del self._until[token]
            _fail(span, "lease-expired", "the lease expired")
            span.end()


def is_gen_ai_asked_for() -> bool:
    """Whether the environment asks for the experimental conventions for generative AI."""
    return GEN_AI in (word.strip() for word in os.environ.get(OPT_IN, "").split(","))


async def carried_by(bus: Bus, message: StoredMessage) -> str | None:
    """The `traceparent` that was sent with a message."""
    only = Query(after=message.seq - 1, kinds=BRINGING, since=message.at, until=message.at)
    async for event, _ in bus.events(only):
        if event.seq == message.seq:
            found = detail_of(event).get(TRACEPARENT)
            return as_traceparent(found) if isinstance(found, str) else None
    return None


def _operation(name: str, where: str | None) -> dict[str, Any]:
    found = {"messaging.system": SYSTEM, "messaging.operation.name": name, "messaging.operation.type": name}
    return found if where is None else found | {"messaging.destination.name": where}


def _tell_receipt(span: Span, receipt: Receipt) -> None:
    span.set_attribute("messaging.message.id", receipt.id)
    span.set_attribute("telex.outcome", "duplicate" if receipt.duplicate else receipt.state)
    for name, value in (("telex.dialect", receipt.dialect), ("telex.type", receipt.type)):
        if value is not None:
            span.set_attribute(name, value)
    if not receipt.accepted:
        first = next((finding for finding in receipt.findings if finding.severity == "refusal"), None)
        _fail(span, first.code if first is not None else "refused", first.say if first is not None else "")


def _fail(span: Span, code: str, say: str) -> None:
    span.set_attribute("error.type", code)
    span.set_status(Status(StatusCode.ERROR, say))


def _under(above: SpanContext | None) -> Any:
    """Context of a new span: child of `above`, or of the current span."""
    if above is None:
        return otel_context.get_current()
    return trace.set_span_in_context(trace.NonRecordingSpan(above))


def _context_of(text: str | None) -> SpanContext | None:
    if text is None:
        return None
    _, trace_id, span_id, flags = text.split("-")
    return SpanContext(int(trace_id, 16), int(span_id, 16), True, TraceFlags(int(flags, 16)))


def _traceparent_of(context: SpanContext) -> str | None:
    if not context.is_valid:
        return traceparent()  # no SDK: pass the incoming context on
    return f"00-{context.trace_id:032x}-{context.span_id:016x}-{int(context.trace_flags):02x}"
