"""Can a message be followed through a trace that somebody else's tools draw?"""

import asyncio
import json
import subprocess
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind, StatusCode

import telex
from telex.client import SyncBus
from telex.config import Settings
from telex.errors import LeaseLost
from telex.ports.bus import Bus
from telex.ports.environment import as_traceparent, carrying
from telex.telemetry import carried_by, processing, traced
from tests.proofs import proves
from tests.surfaces.surfaces_kit import Time, running_hub
from tests.worker.worker_kit import done, task

NOTE = "The build is red."
CAME_WITH = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


class Tracing:
    """A recorder of spans, and a bus in memory that is seen by it."""

    def __init__(self) -> None:
        self.exporter = InMemorySpanExporter()
        self.provider = TracerProvider()
        self.provider.add_span_processor(SimpleSpanProcessor(self.exporter))

    def play(self, scene: Callable[[Bus], Awaitable[Any]]) -> Any:
        async def on_stage() -> Any:
            async with telex.connect("memory:", settings=Settings()) as bus:
                return await scene(traced(bus, provider=self.provider))

        return asyncio.run(on_stage())

    def spans(self, operation: str) -> list[ReadableSpan]:
        found = self.exporter.get_finished_spans()
        return [one for one in found if (one.attributes or {}).get("messaging.operation.name") == operation]

    def span(self, operation: str) -> ReadableSpan:
        [found] = self.spans(operation)
        return found


@pytest.fixture
def tracing() -> Tracing:
    return Tracing()


def number(span: ReadableSpan) -> tuple[int, int]:
    assert span.context is not None
    return span.context.trace_id, span.context.span_id


def linked(span: ReadableSpan) -> list[tuple[int, int]]:
    return [(link.context.trace_id, link.context.span_id) for link in span.links]


async def sent_and_acked(bus: Bus) -> str:
    receipt = await bus.send(NOTE, sender="dev", to="lead")
    [leased] = await bus.receive("lead")
    assert leased.raw == NOTE.encode()
    await bus.ack(leased.token, agent="lead")
    return receipt.id


@proves("telemetry/spans")
def test_a_message_has_a_span_for_its_sending_its_receipt_and_its_processing(tracing: Tracing) -> None:
    id_ = tracing.play(sent_and_acked)
    send, receive, process = (tracing.span(one) for one in ("send", "receive", "process"))
    assert (send.name, send.kind) == ("send lead", SpanKind.PRODUCER)
    assert (receive.name, receive.kind) == ("receive lead", SpanKind.CLIENT)
    assert (process.name, process.kind) == ("process lead", SpanKind.CONSUMER)
    for one in (send, receive, process):
        assert (one.attributes or {})["messaging.system"] == "telex"
        assert (one.attributes or {})["messaging.destination.name"] == "lead"
    assert (send.attributes or {})["messaging.message.id"] == id_
    assert (process.attributes or {})["messaging.message.id"] == id_


@proves("telemetry/linked")
def test_the_spans_of_a_message_are_linked_and_its_processing_stands_below_its_sending(tracing: Tracing) -> None:
    tracing.play(sent_and_acked)
    send, receive, process = (tracing.span(one) for one in ("send", "receive", "process"))
    assert linked(receive) == [number(send)]
    assert linked(process) == [number(send), number(receive)]
    assert process.parent is not None
    assert (process.parent.trace_id, process.parent.span_id) == number(send)


@proves("telemetry/carried")
def test_the_trace_is_kept_beside_the_message_and_never_in_its_bytes(tracing: Tracing) -> None:
    async def scene(bus: Bus) -> None:
        with carrying(CAME_WITH):
            await bus.send(NOTE, sender="dev", to="lead")
        [(_, message)] = await bus.inbox("lead")
        assert message.raw == NOTE.encode()
        [story] = await bus.why(message.id)
        kept = json.loads(story.events[0].detail or "")["traceparent"]
        assert kept == await carried_by(bus, message)
        assert kept.split("-")[1] == CAME_WITH.split("-")[1]

    tracing.play(scene)
    send = tracing.span("send")
    assert send.parent is not None
    assert f"{send.parent.span_id:016x}" == CAME_WITH.split("-")[2]


@proves("telemetry/carried")
def test_messages_that_share_a_commit_keep_the_trace_of_their_own_caller(tmp_path: Path) -> None:
    traces = [f"00-{number:032x}-{number:016x}-01" for number in range(1, 6)]

    async def send(bus: Any, trace: str) -> str | None:
        with carrying(trace):
            receipt = await bus.send(NOTE, sender="dev", to="lead")
        [story] = await bus.why(receipt.id)
        return await carried_by(bus, story.message)

    async def scene() -> list[str | None]:
        async with telex.connect(tmp_path / "telex.db", settings=Settings()) as bus:
            return await asyncio.gather(*(send(bus, trace) for trace in traces))

    assert asyncio.run(scene()) == traces


def test_without_anybody_who_traces_what_came_along_is_kept_as_it_came() -> None:
    async def scene() -> str | None:
        async with telex.connect("memory:", settings=Settings()) as bus:
            with carrying(CAME_WITH):
                await bus.send(NOTE, sender="dev", to="lead")
            await bus.send("another\n", sender="dev", to="lead")
            found = [await carried_by(bus, message) for _, message in await bus.inbox("lead")]
            assert found[1] is None
            return found[0]

    assert asyncio.run(scene()) == CAME_WITH


@proves("telemetry/hostile")
@pytest.mark.parametrize(
    "text", ["", "x", CAME_WITH + '", "findings": [', CAME_WITH.upper(), "00-" + "0" * 32 + "-b7ad6b7169203331-01",
             "ff" + CAME_WITH[2:], CAME_WITH + "\n", None],
)  # fmt: skip
def test_what_is_no_trace_is_not_carried(text: str | None) -> None:
    assert as_traceparent(text) is None


@proves("telemetry/failures")
def test_a_refusal_a_failure_and_a_lost_lease_are_seen_as_such(tracing: Tracing) -> None:
    async def scene(bus: Bus) -> None:
        assert not (await bus.send(NOTE, sender="dev", to="laed", check=False)).accepted
        await bus.send(NOTE, sender="dev", to="lead")
        [leased] = await bus.receive("lead")
        await bus.nack(leased.token, agent="lead", reason="no table", delay=0.0)
        [leased] = await bus.receive("lead")
        await bus.ack(leased.token, agent="lead")
        with pytest.raises(LeaseLost):
            await bus.nack(leased.token, agent="lead", reason="too late")

    tracing.play(scene)
    refused, accepted = tracing.spans("send")
    failed, done = tracing.spans("process")
    errors = [(one.status.status_code, (one.attributes or {}).get("error.type")) for one in (refused, failed)]
    assert errors == [(StatusCode.ERROR, "recipient-unknown"), (StatusCode.ERROR, "nacked")]
    assert accepted.status.status_code == done.status.status_code == StatusCode.UNSET


@proves("telemetry/failures")
def test_what_nobody_settled_in_time_ends_as_lapsed(tracing: Tracing, monkeypatch: pytest.MonkeyPatch) -> None:
    async def scene(bus: Bus) -> None:
        await bus.send(NOTE, sender="dev", to="lead")
        [leased] = await bus.receive("lead")
        monkeypatch.setattr("telex.telemetry.time", lambda: leased.until + 1.0)
        assert await bus.receive("lead") == []

    tracing.play(scene)
    assert (tracing.span("process").attributes or {})["error.type"] == "lease-expired"


@proves("telemetry/processing")
def test_what_is_done_about_a_message_stands_below_its_processing(tracing: Tracing) -> None:
    async def scene(bus: Bus) -> None:
        await bus.send(NOTE, sender="dev", to="lead")
        [leased] = await bus.receive("lead")
        with processing(bus, leased):
            await bus.send("On it.\n", sender="lead", to="dev")
        await bus.ack(leased.token, agent="lead")

    tracing.play(scene)
    _, answer = tracing.spans("send")
    process = tracing.span("process")
    assert answer.parent is not None
    assert (answer.parent.trace_id, answer.parent.span_id) == number(process)


def test_a_request_and_its_answer_are_one_trace(tracing: Tracing) -> None:
    async def scene(bus: Bus) -> None:
        async def answer() -> None:
            [leased] = await bus.receive("lead", wait=10.0)
            with processing(bus, leased):
                await bus.send("No.\n", sender="lead", to="dev", reply_to=leased.message.id)
            await bus.ack(leased.token, agent="lead")

        answering = asyncio.ensure_future(answer())
        reply: Any = await bus.request("Is it green?\n", sender="dev", to="lead", timeout=10.0)
        await answering
        await bus.ack(reply.token, agent="dev")

    tracing.play(scene)
    traces = {number(one)[0] for one in (*tracing.spans("send"), *tracing.spans("process"))}
    assert len(traces) == 1


def test_a_bus_that_blocks_can_be_traced_too(tracing: Tracing) -> None:
    with telex.connect("memory:", settings=Settings()) as bus:
        seen: Any = traced(bus.awaitable, provider=tracing.provider)
        blocking = SyncBus(seen)
        blocking.send(NOTE, sender="dev", to="lead")
        [leased] = blocking.receive("lead")
        blocking.ack(leased.token, agent="lead")
    assert linked(tracing.span("receive")) == [number(tracing.span("send"))]


@proves("telemetry/idle")
def test_a_wait_in_which_nothing_came_is_no_span(tracing: Tracing) -> None:
    tracing.play(lambda bus: bus.receive("lead", wait=0.01))
    assert tracing.exporter.get_finished_spans() == ()


@proves("telemetry/hub")
def test_a_hub_that_is_told_to_makes_spans_below_those_of_its_clients(
    tracing: Tracing, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TELEX_TELEMETRY", "on")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("opentelemetry.trace.get_tracer_provider", lambda: tracing.provider)

    async def scene(url: str) -> None:
        async with telex.connect(url) as bus:
            with carrying(CAME_WITH):
                await bus.send(NOTE, sender="dev", to="lead")
            [leased] = await bus.receive("lead")
            await bus.ack(leased.token, agent="lead")

    with running_hub(tmp_path / "hub.db", Time()) as hub:
        asyncio.run(scene(hub.url))
    send, process = tracing.span("send"), tracing.span("process")
    assert send.parent is not None
    assert f"{send.parent.span_id:016x}" == CAME_WITH.split("-")[2]
    assert linked(process)[0] == number(send)


@proves("telemetry/not-imported")
def test_nobody_who_does_not_trace_imports_anything_for_it() -> None:
    program = (
        "import asyncio, sys, telex\n"
        "async def main():\n"
        "    async with telex.connect('memory:') as bus:\n"
        "        await bus.send('x', sender='dev', to='lead')\n"
        "asyncio.run(main())\n"
        "print(any('opentelemetry' in name for name in sys.modules))\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


@proves("worker/traced", "telemetry/gen-ai")
@pytest.mark.parametrize("opt_in", ["", "http, gen_ai_latest_experimental"], ids=["by default", "opted in"])
def test_a_hand_off_between_two_workers_is_one_trace(
    tracing: Tracing, monkeypatch: pytest.MonkeyPatch, opt_in: str
) -> None:
    monkeypatch.setenv("OTEL_SEMCONV_STABILITY_OPT_IN", opt_in)

    async def scene() -> None:
        lead, dev = telex.Worker("lead", role="lead"), telex.Worker("w1", role="dev")
        dev.handles("TASK_ASSIGNMENT")(done)
        lead.handles("STATUS_UPDATE")(lambda _: lead.stop())
        async with telex.connect("memory:", settings=Settings()) as bus:
            seen = traced(bus, provider=tracing.provider)
            serving = [asyncio.ensure_future(worker.serve(seen)) for worker in (lead, dev)]
            await asyncio.sleep(0)
            await seen.join("w1", role="dev")
            await seen.agent("lead", role="lead").send(task("T1"), to="w1")
            await serving[0]
            dev.stop()
            await serving[1]

    asyncio.run(scene())
    assignment, report = tracing.spans("send")
    built, read = tracing.spans("process")
    assert [one.parent and one.parent.span_id for one in (built, report, read)] == [
        number(above)[1] for above in (assignment, built, report)
    ]
    assert len({number(one)[0] for one in (assignment, report, built, read)}) == 1
    names = ("gen_ai.operation.name", "gen_ai.agent.name", "gen_ai.conversation.id", "telex.outcome")
    expected = ("invoke_agent", "w1", "T1") if opt_in else (None, None, None)
    assert tuple((built.attributes or {}).get(name) for name in names) == (*expected, "acked")


@proves("worker/traced")
def test_a_worker_of_a_program_with_opentelemetry_is_traced(
    tracing: Tracing, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("opentelemetry.trace.get_tracer_provider", lambda: tracing.provider)
    worker = telex.Worker("w1", role="dev", where=tmp_path / "telex.db", settings=Settings())

    @worker.otherwise
    async def read(message: telex.Message) -> None:
        worker.stop()

    with telex.connect(tmp_path / "telex.db", settings=Settings()) as bus:
        bus.join("w1", role="dev")
        bus.send(NOTE, sender="lead", to="w1")
    asyncio.run(worker.serve())
    assert (tracing.span("process").attributes or {})["telex.outcome"] == "acked"
