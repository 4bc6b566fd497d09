"""`telex.testing.Team`: agents and workers in virtual time."""

import asyncio

import pytest

import telex
from telex.messages.build_flow import StatusUpdate, TaskAssignment
from telex.testing import Team
from tests.proofs import proves
from tests.worker.worker_kit import done, play, task


def failing_worker(failures: int) -> telex.Worker:
    worker = telex.Worker("w1", role="dev")

    @worker.handles(TaskAssignment)
    async def build(assignment: TaskAssignment, ctx: telex.Context) -> StatusUpdate:
        if ctx.attempt <= failures:
            raise OSError("the compiler is busy")
        return done(assignment)

    return worker


@proves("testing/settle")
def test_backoffs_pass_without_waiting() -> None:
    async def scene(team: Team) -> None:
        team.worker(failing_worker(2))
        lead, began = team.agent("lead", role="lead"), team.clock.now()
        await team.settle()
        await lead.send(task("T1"), to="w1")
        await team.settle()
        assert team.clock.now() - began == 2.0 + 4.0
        assert [message.type for message in team.sent] == ["TASK_ASSIGNMENT", "STATUS_UPDATE"]

    play(scene)


@proves("testing/settle")
def test_settle_stops_at_its_bound() -> None:
    async def scene(team: Team) -> None:
        team.worker(failing_worker(1))
        await team.settle()
        began = team.clock.now()
        await team.agent("lead", role="lead").send(task("T1"), to="w1")
        await team.settle(seconds_max=1.0)
        assert team.clock.now() == began
        await team.advance(2.0)
        assert team.sent[-1].type == "STATUS_UPDATE"

    play(scene)


@proves("testing/results")
def test_messages_receipts_and_dead_letters_are_listed() -> None:
    async def scene(team: Team) -> None:
        team.worker(failing_worker(9))
        lead = team.agent("lead", role="lead")
        await team.settle()
        await lead.send(task("T1"), to="w1", id="task")
        await lead.send({"type": "TASK_ASSIGNMENT"}, to="w1", check=False)
        await team.settle()
        assert [receipt.accepted for receipt in team.receipts] == [True, False]
        assert [message.body.payload.task_id for message in team.dead_letters()] == ["T1"]
        assert [message.sender for message in team.sent] == ["lead", "telex"]

    play(scene)


@proves("testing/advance")
def test_time_passes_in_steps_so_that_a_handler_keeps_its_lease() -> None:
    async def scene(team: Team) -> None:
        worker = telex.Worker("w1", role="dev")

        @worker.handles(TaskAssignment)
        async def build(assignment: TaskAssignment) -> StatusUpdate:
            await team.sleep(1_000)
            return done(assignment)

        team.worker(worker)
        await team.settle()
        await team.agent("lead", role="lead").send(task("T1"), to="w1")
        await team.advance(999)
        assert len(team.sent) == 1
        await team.advance(1)
        assert len(team.sent) == 2

    play(scene)


@proves("testing/settle")
def test_a_handler_that_takes_real_time_is_waited_for() -> None:
    async def scene(team: Team) -> None:
        worker = telex.Worker("w1", role="dev")

        @worker.handles(TaskAssignment)
        async def build(assignment: TaskAssignment) -> StatusUpdate:
            await asyncio.sleep(0.02)
            return done(assignment)

        team.worker(worker)
        began = team.clock.now()
        await team.settle()
        await team.agent("lead", role="lead").send(task("T1"), to="w1")
        await team.settle()
        assert team.sent[-1].type == "STATUS_UPDATE"
        assert team.clock.now() == began

    play(scene)


@proves("testing/timeout")
def test_workers_that_answer_each_other_without_end_do_not_settle() -> None:
    async def scene(team: Team) -> None:
        for name in ("ping", "pong"):
            worker = telex.Worker(name, role="dev")
            worker.otherwise(lambda _: "again")
            team.worker(worker)
        await team.settle()
        await team.agent("ping").send("begin", to="pong")
        with pytest.raises(TimeoutError, match="pong"):
            await team.settle()

    play(scene, timeout=0.5)


@proves("testing/timeout")
def test_a_handler_that_does_not_end_is_named() -> None:
    async def scene(team: Team) -> None:
        worker = telex.Worker("w1", role="dev")

        @worker.otherwise
        async def wait(message: telex.Message) -> None:
            await asyncio.Event().wait()

        team.worker(worker)
        await team.settle()
        await team.agent("lead", role="lead").send("begin", to="w1")
        with pytest.raises(TimeoutError, match="w1"):
            await asyncio.wait_for(team.settle(), 30)

    play(scene, timeout=0.5)
