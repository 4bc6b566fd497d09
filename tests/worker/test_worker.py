"""Workers: what a handler returns or raises decides what happens to its message."""

import asyncio
import logging
import threading
from pathlib import Path
from typing import Any

import pytest

import telex
from telex.messages.build_flow import DocQuery, DocResponse, StatusUpdate, TaskAssignment
from telex.messages.vbw_handoff import DevProgress
from telex.model.limits import LIMITS
from telex.model.roster import Member
from telex.testing import Team
from tests.proofs import proves
from tests.worker.worker_kit import done, kinds, play, task, types


def worker_of(function: Any, **options: Any) -> telex.Worker:
    worker = telex.Worker("w1", role="dev")
    worker.handles(TaskAssignment, **options)(function)
    return worker


async def assign(team: Team, worker: telex.Worker, *ids: str, seconds_max: float = 3600.0) -> None:
    """Send tasks to the worker and let it work."""
    team.worker(worker)
    lead = team.agent("lead", role="lead")
    await team.settle()
    for id_ in ids or ("T1",):
        await lead.send(task(id_), to="w1", id=f"task-{id_}")
    await team.settle(seconds_max=seconds_max)


# --- results ---------------------------------------------------------------------------------------------------------


@proves("worker/reply")
def test_a_returned_message_is_the_reply_and_acks_in_the_same_commit() -> None:
    async def scene(team: Team) -> None:
        await assign(team, worker_of(lambda assignment: done(assignment)))
        _, reply = team.sent
        assert (reply.sender, reply.to, reply.type) == ("w1", "lead", "STATUS_UPDATE")
        assert (reply.reply_to, reply.correlation, reply.id) == ("task-T1", "T1", "task-T1.reply")
        assert reply.body == StatusUpdate.from_message(reply)
        assert reply.body.from_ == "w1"
        events = [event.kind async for event, _ in team.bus.events()]
        assert events[-2:] == ["accepted", "acked"]

    play(scene)


@proves("worker/none")
def test_a_handler_that_returns_nothing_acks() -> None:
    async def scene(team: Team) -> None:
        seen: list[TaskAssignment] = []
        await assign(team, worker_of(seen.append))
        assert [one.payload.task_id for one in seen] == ["T1"]
        assert types(team) == ["TASK_ASSIGNMENT"]
        assert (await kinds(team, "task-T1"))[-1] == "acked"

    play(scene)


class Unencodable:
    def encode(self, **_: Any) -> bytes:
        raise OSError("no disk space")


@proves("worker/list")
def test_a_list_is_several_replies_and_an_earlier_attempt_is_not_sent_again() -> None:
    async def scene(team: Team) -> None:
        attempts: list[int] = []

        def report(assignment: TaskAssignment, ctx: telex.Context) -> list[Any]:
            attempts.append(ctx.attempt)
            return [f"attempt {ctx.attempt}", Unencodable() if ctx.attempt == 1 else done(assignment)]

        await assign(team, worker_of(report))
        assert attempts == [1, 2]
        replies = [message for message in team.sent if message.sender == "w1"]
        assert [message.id for message in replies] == ["task-T1.reply.1", "task-T1.reply.2"]
        assert replies[0].text == "attempt 1"
        assert (await kinds(team, "task-T1"))[-1] == "acked"

    play(scene)


@proves("worker/reply")
@pytest.mark.parametrize("is_typed", [True, False], ids=["typed", "bytes"])
def test_a_reply_keeps_the_id_and_the_conversation_that_it_names_itself(is_typed: bool) -> None:
    async def scene(team: Team) -> None:
        reply = StatusUpdate(task_id="T1", status="COMPLETED", message_id="own-id", correlation_id="elsewhere")
        raw = reply.encode(sender="w1", role="dev", to="lead")
        await assign(team, worker_of(lambda _: reply if is_typed else raw))
        sent = team.sent[-1]
        assert (sent.id, sent.correlation, sent.reply_to) == ("own-id", "elsewhere", "task-T1")
        assert (await kinds(team, "task-T1"))[-1] == "acked"

    play(scene)


@proves("worker/reply")
def test_messages_of_two_senders_with_the_same_id_get_a_reply_each() -> None:
    async def scene(team: Team) -> None:
        team.worker(worker_of(lambda assignment: done(assignment)))
        await team.settle()
        for name in ("lead", "architect"):
            await team.agent(name, role=name).send(task("T1"), to="w1", id="same")
        await team.settle()
        replies = [(message.to, message.reply_to) for message in team.sent if message.type == "STATUS_UPDATE"]
        assert replies == [("lead", "same"), ("architect", "same")]

    play(scene)


@proves("worker/exception")
def test_an_exception_is_a_nack_with_its_text_and_ends_as_a_dead_letter() -> None:
    async def scene(team: Team) -> None:
        def fail(_: TaskAssignment) -> None:
            raise ValueError("no such table")

        await assign(team, worker_of(fail))
        [dead] = team.dead_letters()
        assert dead.id == "task-T1"
        assert (await kinds(team, "task-T1")).count("nacked") == 2
        [report] = [message for message in team.sent if message.sender == "telex"]
        assert report.to == "lead"
        assert "ValueError: no such table" in report.text

    play(scene)


@proves("worker/reject")
@pytest.mark.parametrize(
    "result, reason",
    [(7, "int"), ({"type": "STATUS_UPDATE", "at": {1}}, "set"), ({"type": "STATUS_UPDATE"}, "field-missing $.payload")],
    ids=["no message", "no JSON", "an invalid message"],
)
def test_a_result_that_can_never_be_sent_is_rejected_with_one_line_in_the_log(
    caplog: pytest.LogCaptureFixture, result: Any, reason: str
) -> None:
    async def scene(team: Team) -> None:
        await assign(team, worker_of(lambda _: result))
        assert [dead.id for dead in team.dead_letters()] == ["task-T1"]
        assert (await kinds(team, "task-T1")).count("leased") == 1
        assert reason in team.sent[-1].text

    play(scene)
    [record] = [record for record in caplog.records if record.levelname in ("WARNING", "ERROR")]
    assert record.exc_info is None
    assert "\n" not in record.getMessage()


@proves("worker/exception")
def test_a_reply_to_a_full_inbox_is_tried_again() -> None:
    async def scene(team: Team) -> None:
        async def build(assignment: TaskAssignment, ctx: telex.Context) -> StatusUpdate:
            if ctx.attempt == 2:
                for lease in await team.agent("lead").receive(9):
                    await lease.ack()
            return done(assignment)

        worker = worker_of(build)
        team.worker(worker)
        await team.settle()
        for number in range(2):
            await team.agent("kim", role="qa").send(f"Note {number}", to="lead")
        await team.agent("lead", role="lead").send(task("T1"), to="w1", id="task-T1")
        await team.settle()
        assert types(team)[-1] == "STATUS_UPDATE"

    play(scene, settings=telex.Settings(limits=LIMITS._replace(inbox_max=2)))


@proves("worker/exception")
def test_a_handler_that_loses_the_lease_of_another_message_nacks_its_own() -> None:
    async def scene(team: Team) -> None:
        async def build(assignment: TaskAssignment, ctx: telex.Context) -> None:
            raise telex.LeaseLost("the lease of another message was lost")

        began = team.clock.now()
        await assign(team, worker_of(build))
        assert (await kinds(team, "task-T1")).count("nacked") == 2
        assert team.clock.now() - began == 2.0 + 4.0

    play(scene)


class Unprintable(Exception):
    def __str__(self) -> str:
        raise ValueError("no text")


@proves("worker/survives")
@pytest.mark.parametrize(
    "error",
    [StopIteration(), SystemExit(2), BaseExceptionGroup("two", [KeyboardInterrupt()]), Unprintable(), telex.Retry(-1)],
    ids=lambda error: type(error).__name__,
)
@pytest.mark.parametrize("is_async", [True, False], ids=["async", "thread"])
def test_no_exception_of_a_handler_ends_the_worker(error: BaseException, is_async: bool) -> None:
    async def scene(team: Team) -> None:
        def fail(_: TaskAssignment) -> None:
            raise error

        async def fail_async(_: TaskAssignment) -> None:
            raise error

        worker = worker_of(fail_async if is_async else fail)
        await asyncio.wait_for(assign(team, worker), 30)
        assert [dead.id for dead in team.dead_letters()] == ["task-T1"]
        assert worker.current_run is not None

    play(scene)


@proves("worker/reject")
def test_reject_is_a_dead_letter_at_the_first_attempt() -> None:
    async def scene(team: Team) -> None:
        def reject(_: TaskAssignment) -> None:
            raise telex.Reject("there is no such project")

        began = team.clock.now()
        await assign(team, worker_of(reject))
        assert [dead.id for dead in team.dead_letters()] == ["task-T1"]
        assert (await kinds(team, "task-T1")).count("leased") == 1
        assert "there is no such project" in team.sent[-1].text
        assert team.clock.now() == began

    play(scene)


@proves("worker/reject")
def test_a_handler_is_not_called_again_for_a_sender_that_has_left() -> None:
    async def scene(team: Team) -> None:
        attempts: list[int] = []

        async def build(assignment: TaskAssignment, ctx: telex.Context) -> StatusUpdate:
            attempts.append(ctx.attempt)
            await team.agent("lead").leave()
            return done(assignment)

        await assign(team, worker_of(build))
        assert attempts == [1]
        assert [dead.id for dead in team.dead_letters()] == ["task-T1"]

    play(scene)


@proves("worker/retry")
def test_retry_calls_the_handler_again_after_its_delay() -> None:
    async def scene(team: Team) -> None:
        at: list[float] = []

        def build(assignment: TaskAssignment, ctx: telex.Context) -> StatusUpdate:
            at.append(team.clock.now())
            if ctx.attempt == 1:
                raise telex.Retry(90)
            return done(assignment)

        await assign(team, worker_of(build))
        assert at[1] - at[0] == 90
        assert types(team) == ["TASK_ASSIGNMENT", "STATUS_UPDATE"]

    play(scene)


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
def test_without_a_handler_a_message_is_nacked_and_a_report_of_the_bus_is_acked() -> None:
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


# --- leases and concurrency ------------------------------------------------------------------------------------------


@proves("worker/concurrency")
def test_no_more_messages_are_processed_at_a_time_than_the_handler_allows() -> None:
    async def scene(team: Team) -> None:
        running, peaks = [0], list[int]()

        async def build(assignment: TaskAssignment) -> StatusUpdate:
            running[0] += 1
            peaks.append(running[0])
            await asyncio.sleep(0.002)
            running[0] -= 1
            return done(assignment)

        await assign(team, worker_of(build, concurrency=3), *(f"T{number}" for number in range(10)))
        assert max(peaks) == 3
        assert types(team).count("STATUS_UPDATE") == 10

    play(scene)


@proves("worker/heartbeat")
def test_a_lease_is_extended_while_its_handler_runs() -> None:
    async def scene(team: Team) -> None:
        async def build(assignment: TaskAssignment) -> StatusUpdate:
            await team.sleep(600)
            return done(assignment)

        await assign(team, worker_of(build))
        story = await kinds(team, "task-T1")
        assert story.count("leased") == 1
        assert story.count("extended") >= 10
        assert types(team) == ["TASK_ASSIGNMENT", "STATUS_UPDATE"]

    play(scene)


@proves("worker/lost-lease")
def test_a_handler_whose_lease_is_lost_is_cancelled_and_its_result_dropped() -> None:
    async def scene(team: Team) -> None:
        ends: list[str] = []

        async def build(assignment: TaskAssignment) -> StatusUpdate:
            try:
                await team.sleep(600)
            except asyncio.CancelledError:
                ends.append("cancelled")
            return done(assignment)

        await assign(team, worker_of(build), seconds_max=0)
        team.clock.leap(300.0)  # as if the process had been suspended
        await team.advance(30)
        assert ends == ["cancelled"]
        assert "STATUS_UPDATE" not in types(team)

    play(scene)


@proves("worker/drain")
def test_a_stopped_worker_returns_messages_that_it_has_not_begun() -> None:
    async def scene(team: Team) -> None:
        async def build(assignment: TaskAssignment) -> StatusUpdate:
            await team.sleep(5)
            return done(assignment)

        worker = worker_of(build)
        worker.otherwise(lambda message: None)  # a second slot, for which a second task is leased
        await assign(team, worker, "T1", "T2", seconds_max=0)
        worker.stop()
        await team.advance(10)
        assert [(await kinds(team, f"task-{id_}"))[-1] for id_ in ("T1", "T2")] == ["acked", "returned"]

    play(scene)


@proves("worker/drain")
def test_a_thread_that_does_not_end_is_abandoned_at_the_end_of_the_drain() -> None:
    async def scene(team: Team) -> None:
        begun, end, threads = threading.Event(), threading.Event(), list[threading.Thread]()

        def build(assignment: TaskAssignment) -> StatusUpdate:
            threads.append(threading.current_thread())
            begun.set()
            end.wait(30)
            return done(assignment)

        worker = worker_of(build)
        team.worker(worker)
        await team.settle()
        await team.agent("lead", role="lead").send(task("T1"), to="w1", id="task-T1")
        await asyncio.to_thread(begun.wait, 30)
        worker.stop()
        while worker.current_run is not None:
            await asyncio.sleep(0)
            team.clock.move_to(team.clock.now() + 1)
        assert (await kinds(team, "task-T1"))[-1] == "returned"
        assert [thread.daemon and thread.is_alive() for thread in threads] == [True]
        end.set()

    play(scene)


# --- start and end ---------------------------------------------------------------------------------------------------


@proves("worker/drain")
@pytest.mark.parametrize("needs, story", [(5, "acked"), (50, "returned")], ids=["it ends in time", "it does not"])
def test_a_stopped_worker_lets_handlers_end_and_returns_the_rest_uncounted(needs: int, story: str) -> None:
    async def scene(team: Team) -> None:
        async def build(assignment: TaskAssignment) -> StatusUpdate:
            await team.sleep(needs)
            return done(assignment)

        worker = worker_of(build)
        await assign(team, worker, seconds_max=0)
        worker.stop()
        await team.advance(100)
        assert (await kinds(team, "task-T1"))[-1] == story
        if story == "returned":
            [again] = await team.agent("w1").receive()
            assert again.attempt == 1

    play(scene)


@proves("worker/shutdown")
def test_a_request_to_shut_down_is_answered_when_all_handlers_have_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    async def scene(team: Team) -> None:
        send: Any = team.bus.send

        async def send_slowly(*args: Any, **kwargs: Any) -> telex.Receipt:
            receipt: telex.Receipt = await send(*args, **kwargs)
            await asyncio.sleep(0.05)  # readers learn of the commit before its sender
            return receipt

        monkeypatch.setattr(team.bus, "send", send_slowly)

        async def build(assignment: TaskAssignment) -> StatusUpdate:
            await team.sleep(20)
            return done(assignment)

        worker = worker_of(build, concurrency=4)
        await assign(team, worker, seconds_max=0)
        asked = asyncio.ensure_future(team.bus.shut_down(agent="lead", reason="phase_complete", deadline=60.0))
        await team.advance(30)
        report = await asked
        await team.advance(30)
        assert report.dissolved
        assert types(team)[-3:-1] == ["STATUS_UPDATE", "shutdown_response"]
        assert worker.current_run is None

    play(scene)


@proves("worker/shutdown")
def test_a_worker_that_is_shut_down_by_force_ends() -> None:
    async def scene(team: Team) -> None:
        async def build(assignment: TaskAssignment) -> StatusUpdate:
            await team.sleep(2_000)
            return done(assignment)

        worker = worker_of(build, concurrency=2)
        await assign(team, worker, seconds_max=0)
        asked = asyncio.ensure_future(team.bus.shut_down(agent="lead", reason="user_abort", deadline=60.0, force=True))
        await team.advance(90)
        assert (await asked).dissolved
        await team.advance(60)
        assert worker.current_run is None
        assert types(team)[-1] != "STATUS_UPDATE"

    play(scene)


@proves("worker/reconnect")
def test_a_worker_tries_again_while_the_store_fails_and_replies_once(monkeypatch: pytest.MonkeyPatch) -> None:
    async def scene(team: Team) -> None:
        failures: list[str] = []

        def failing(name: str) -> None:
            verb = getattr(team.bus, name)

            async def call(*args: Any, **kwargs: Any) -> Any:
                if failures.count(name) < 2 and kwargs.get("sender") != "lead":
                    failures.append(name)
                    if name == "send":
                        await verb(*args, **kwargs)  # the answer got lost
                        raise telex.OutcomeUnknown("the disk does not answer", kwargs.get("id"))
                    raise telex.StoreUnavailable("the store is locked")
                return await verb(*args, **kwargs)

            monkeypatch.setattr(team.bus, name, call)

        failing("receive")
        failing("send")
        await assign(team, worker_of(lambda assignment: done(assignment)))
        assert failures == ["receive", "receive", "send", "send"]
        assert types(team) == ["TASK_ASSIGNMENT", "STATUS_UPDATE"]

    play(scene)


@proves("worker/refused-start", "testing/failure")
def test_a_worker_that_the_team_does_not_admit_ends_with_the_reason() -> None:
    async def scene(team: Team) -> None:
        with pytest.raises(telex.NotAMember):
            await worker_of(lambda _: None).serve(team.bus)

    play(scene, settings=telex.Settings(members=(Member("lead", "lead"),)))


@proves("testing/member")
def test_a_worker_of_a_team_in_memory_can_be_sent_to_at_once() -> None:
    async def scene(team: Team) -> None:
        team.worker(worker_of(lambda _: None))
        receipt = await team.agent("lead").send("Hello", to="w1")
        assert receipt.to == ("w1",)

    play(scene)


@proves("worker/start")
def test_a_worker_runs_once_at_a_time_and_a_stop_while_it_joins_ends_it(monkeypatch: pytest.MonkeyPatch) -> None:
    async def scene(team: Team) -> None:
        worker, may_join, join = worker_of(lambda _: None), asyncio.Event(), team.bus.join

        async def join_late(*args: Any, **kwargs: Any) -> Member:
            await may_join.wait()
            return await join(*args, **kwargs)

        monkeypatch.setattr(team.bus, "join", join_late)
        serving = asyncio.ensure_future(worker.serve(team.bus, clock=team.clock))
        await asyncio.sleep(0)
        with pytest.raises(telex.InvalidValue):
            await asyncio.wait_for(worker.serve(team.bus, clock=team.clock), 5)
        worker.stop()
        await asyncio.sleep(0)
        may_join.set()
        await asyncio.wait_for(serving, 30)

    play(scene)


@proves("worker/start")
def test_a_worker_runs_in_a_thread(tmp_path: Path) -> None:
    worker, store = telex.Worker("w1", role="dev"), tmp_path / "telex.db"
    worker.handles(TaskAssignment)(lambda _: worker.stop())
    with telex.connect(store) as bus:
        bus.join("w1", role="dev")
        bus.send(task("T1"), sender="lead", role="lead", to="w1", id="task-T1")
        thread = threading.Thread(target=worker.run, args=(store,))
        thread.start()
        thread.join(30)
        assert bus.why("task-T1")[0].state == "acked"


@proves("worker/refused-start")
def test_a_handler_takes_a_message_or_a_message_and_a_context() -> None:
    with pytest.raises(TypeError):
        worker_of(lambda: None)
    with pytest.raises(telex.InvalidValue):
        worker_of(lambda _: None, concurrency=0)


@proves("worker/mistakes")
@pytest.mark.parametrize("first", [TaskAssignment, "TASK_ASSIGNMENT"], ids=["class", "name"])
def test_a_second_handler_that_would_never_be_called_is_refused(first: Any) -> None:
    worker = telex.Worker("w1", role="dev")
    worker.handles(first)(lambda _: None)
    with pytest.raises(telex.InvalidValue):
        worker.handles(TaskAssignment)(lambda _: None)
    worker.otherwise(lambda _: None)
    with pytest.raises(telex.InvalidValue):
        worker.otherwise(lambda _: None)


@proves("worker/mistakes")
@pytest.mark.parametrize("type_", [TaskAssignment, "TASK_ASSIGNMENT"], ids=["class", "name"])
def test_a_handler_annotated_with_another_message_class_is_refused(type_: Any) -> None:
    def build(assignment: StatusUpdate) -> None: ...

    def build_late(assignment: "StatusUpdate") -> None: ...

    def build_unknown(assignment: "NoSuchClass") -> None: ...  # type: ignore[name-defined]  # noqa: F821

    for function in (build, build_late):
        with pytest.raises(TypeError):
            telex.Worker("w1").handles(type_)(function)
    telex.Worker("w1").handles(type_)(build_unknown)


@proves("worker/mistakes")
def test_a_worker_without_handlers_does_not_start() -> None:
    async def scene(team: Team) -> None:
        with pytest.raises(telex.InvalidValue):
            await asyncio.wait_for(telex.Worker("w1", role="dev").serve(team.bus), 5)

    play(scene)


@proves("worker/mistakes")
def test_a_type_that_no_dialect_has_is_logged_at_the_start_with_the_nearest(caplog: pytest.LogCaptureFixture) -> None:
    async def scene(team: Team) -> None:
        worker = worker_of(lambda _: None)
        worker.handles("TASK_ASIGNMENT")(lambda _: None)
        team.worker(worker)
        await team.settle()

    play(scene)
    [warning] = [record.getMessage() for record in caplog.records if record.levelname == "WARNING"]
    assert "TASK_ASIGNMENT" in warning
    assert "TASK_ASSIGNMENT" in warning


@proves("worker/log")
@pytest.mark.parametrize("is_set_up", [False, True], ids=["no logging", "logging of the program"])
def test_run_logs_to_stderr_unless_the_program_has_set_up_logging(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], is_set_up: bool
) -> None:
    for name in ("", "telex", "telex.worker"):
        monkeypatch.setattr(logging.getLogger(name), "handlers", [])
    if is_set_up:
        logging.getLogger().addHandler(logging.NullHandler())
    worker: telex.Worker = worker_of(lambda _: worker.stop())
    with telex.connect(tmp_path / "telex.db") as bus:
        bus.join("w1", role="dev")
        bus.send(task("T1"), sender="lead", role="lead", to="w1")
    worker.run(tmp_path / "telex.db")
    assert ("w1 (dev) has started" in capsys.readouterr().err) is not is_set_up
