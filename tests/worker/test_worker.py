"""Workers: what a handler returns or raises decides what happens to its message."""

import asyncio
from typing import Any

import pytest

import telex
from telex.messages.build_flow import StatusUpdate, TaskAssignment
from telex.model.limits import LIMITS
from telex.testing import Team
from tests.proofs import proves
from tests.worker.worker_kit import assign, done, kinds, play, task, types, worker_of

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
