"""Handlers of workers: which one gets a message, what it may use, and what a worker refuses."""

import asyncio
import threading
from typing import Any

import pytest

import telex
from telex.messages.build_flow import DocQuery, DocResponse, StatusUpdate, TaskAssignment
from telex.messages.vbw_handoff import DevProgress
from telex.testing import Team
from tests.proofs import proves
from tests.worker.worker_kit import assign, done, kinds, play, types, worker_of

# --- dispatch --------------------------------------------------------------------------------------------------------


@proves("worker/dispatch")
def test_handlers_are_chosen_by_class_or_name_and_otherwise_gets_the_rest() -> None:
    async def scene(team: Team) -> None:
        worker, calls = telex.Worker("w1", role="dev"), list[Any]()

        @worker.handles(TaskAssignment)
        async def by_class(body: TaskAssignment) -> None:
            calls.append(type(body))

        @worker.handles("DOC_QUERY")
        async def by_name(body: DocQuery, ctx: telex.Context) -> DocResponse:
            calls.append(ctx.message.type)
            return DocResponse(found=False, documents=[], recommendation="CREATE_NEW")

        @worker.otherwise
        async def rest(message: telex.Message, ctx: telex.Context) -> str:
            calls.append(message.body)
            return "What do you mean?"

        await assign(team, worker)
        lead = team.agent("lead")
        await lead.send(DocQuery(query_type="SEARCH", topic="ports", keywords=["port"]), to="w1")
        await lead.send("Hello", to="w1")
        await team.settle()
        assert calls == [TaskAssignment, "DOC_QUERY", "Hello"]

    play(scene)


@proves("worker/dispatch")
def test_without_a_handler_a_message_is_nacked_and_a_report_of_the_bus_is_acked(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def scene(team: Team) -> None:
        worker = telex.Worker("w1", role="dev")
        worker.handles(DocQuery)(lambda _: None)
        await assign(team, worker)
        assert [dead.id for dead in team.dead_letters()] == ["task-T1"]
        assert "no handler for TASK_ASSIGNMENT" in team.sent[-1].text
        await team.agent("w1").send("To an agent that leaves", to="lead", id="note")
        await team.agent("lead").leave()
        await team.settle()
        report = team.sent[-1]
        assert (report.sender, report.to) == ("telex", "w1")
        assert (await kinds(team, report.id))[-1] == "acked"

    play(scene)
    first = next(record for record in caplog.records if record.levelname == "WARNING")
    assert first.getMessage() == "w1 has no handler for TASK_ASSIGNMENT: nacks task-T1"


@proves("worker/translated")
def test_a_worker_that_reads_one_dialect_gets_messages_of_others_translated() -> None:
    async def scene(team: Team) -> None:
        worker, seen = telex.Worker("w1", role="dev", reads=["build-flow"]), list[StatusUpdate]()
        worker.handles(StatusUpdate)(seen.append)
        team.worker(worker)
        await team.settle()
        progress = DevProgress(task="1-1", plan_id="1-1", commit="abc1234", status="complete", concerns=[])
        await team.agent("kim", role="dev").send(progress, to="w1")
        await team.settle()
        assert [type(body) for body in seen] == [StatusUpdate]

    play(scene)


@proves("worker/middleware")
def test_middleware_runs_around_every_handler_and_may_replace_its_result() -> None:
    async def scene(team: Team) -> None:
        worker, calls = worker_of(lambda assignment: done(assignment)), list[str]()

        @worker.middleware
        async def outer(message: telex.Message, ctx: telex.Context, call_next: Any) -> Any:
            calls.append(f"outer {message.type}")
            result = await call_next()
            calls.append("outer ends")
            return result

        @worker.middleware
        async def inner(message: telex.Message, ctx: telex.Context, call_next: Any) -> Any:
            calls.append("inner")
            await call_next()
            return "replaced"

        await assign(team, worker)
        assert calls == ["outer TASK_ASSIGNMENT", "inner", "outer ends"]
        assert team.sent[-1].text == "replaced"

    play(scene)


@proves("worker/threads")
def test_a_sync_handler_runs_in_a_thread_and_may_use_the_bus_from_there() -> None:
    async def scene(team: Team) -> None:
        threads: list[int] = []

        def build(assignment: TaskAssignment, ctx: telex.Context) -> StatusUpdate:
            threads.append(threading.get_ident())
            ctx.run(ctx.send("I have begun.", to="lead"))
            return done(assignment)

        await assign(team, worker_of(build))
        assert threads != [threading.get_ident()]
        assert [message.correlation for message in team.sent] == ["T1", "T1", "T1"]

    play(scene)


@proves("worker/threads")
def test_an_async_function_inside_a_sync_one_is_awaited() -> None:
    async def scene(team: Team) -> None:
        async def build(assignment: TaskAssignment) -> StatusUpdate:
            return done(assignment)

        await assign(team, worker_of(lambda assignment: build(assignment)))
        assert types(team) == ["TASK_ASSIGNMENT", "STATUS_UPDATE"]

    play(scene)


@proves("worker/threads")
def test_an_async_handler_that_would_block_its_own_loop_fails_instead() -> None:
    async def scene(team: Team) -> None:
        async def build(assignment: TaskAssignment, ctx: telex.Context) -> None:
            ctx.run(ctx.send("I have begun.", to="lead"))

        await assign(team, worker_of(build))
        assert [dead.id for dead in team.dead_letters()] == ["task-T1"]

    play(scene)


@proves("worker/request")
@pytest.mark.parametrize("is_first", [True, False], ids=["the request leases the reply", "the worker leases the reply"])
def test_a_handler_gets_the_reply_to_its_request(monkeypatch: pytest.MonkeyPatch, is_first: bool) -> None:
    async def scene(team: Team) -> None:
        async def send_only(raw: Any, *, timeout: float, **arguments: Any) -> Any:
            await team.bus.send(raw, **arguments)
            await asyncio.Event().wait()

        if not is_first:
            monkeypatch.setattr(team.bus, "request", send_only)

        async def build(assignment: TaskAssignment, ctx: telex.Context) -> StatusUpdate:
            answer = await ctx.request("Which port?", to="kim", timeout=60.0)
            return done(assignment, answer.text)

        helper = telex.Worker("kim", role="qa")
        helper.otherwise(lambda message: "5432")
        team.worker(helper)
        await assign(team, worker_of(build, concurrency=3), "T1", "T2")
        assert [one.body.payload.details for one in team.sent if one.type == "STATUS_UPDATE"] == ["5432", "5432"]

    play(scene)


@proves("worker/request")
def test_a_refused_request_of_the_same_id_does_not_disturb_the_first() -> None:
    async def scene(team: Team) -> None:
        async def build(assignment: TaskAssignment, ctx: telex.Context) -> StatusUpdate:
            query = DocQuery(query_type="SEARCH", topic=ctx.message.id, keywords=["port"], message_id="same")
            await ctx.request(query, to="kim", timeout=60.0)
            return done(assignment)

        helper = telex.Worker("kim", role="qa")
        helper.otherwise(lambda message: "5432")
        team.worker(helper)
        await assign(team, worker_of(build, concurrency=2), "T1", "T2")
        assert (await kinds(team, "task-T1"))[-2:] == ["leased", "acked"]
        assert [dead.id for dead in team.dead_letters()] == ["task-T2"]

    play(scene)


@proves("worker/request")
def test_a_request_without_a_reply_times_out_in_virtual_time() -> None:
    async def scene(team: Team) -> None:
        errors: list[Exception] = []

        async def build(assignment: TaskAssignment, ctx: telex.Context) -> None:
            try:
                await ctx.request("Which port?", to="kim", timeout=60.0)
            except telex.RequestTimedOut as error:
                errors.append(error)

        await team.agent("kim", role="qa").join()
        began = team.clock.now()
        await assign(team, worker_of(build))
        assert len(errors) == 1
        assert team.clock.now() - began >= 60

    play(scene)
