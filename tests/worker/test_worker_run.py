"""Runs of workers: leases, concurrency, start and end."""

import asyncio
import logging
import threading
from pathlib import Path
from typing import Any

import pytest

import telex
from telex.messages.build_flow import StatusUpdate, TaskAssignment
from telex.model.roster import Member
from telex.testing import Team
from tests.proofs import proves
from tests.worker.worker_kit import assign, done, kinds, play, task, types, worker_of

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
