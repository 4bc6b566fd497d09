"""Agents, leases and messages: the bus as one agent uses it."""

import asyncio
import inspect
from pathlib import Path

import pytest

import telex
from telex.agent import Agent, Lease
from telex.client import SyncAgent, SyncLease
from telex.http_client.transport import HttpQuery, HttpReply, RetryTransport
from telex.messages import load
from telex.messages.build_flow import StatusUpdate, TaskAssignment
from telex.messages.vbw_handoff import DevBlocker
from telex.testing import Team
from tests.dialects.toml_dialects import KANBAN
from tests.proofs import proves
from tests.surfaces.surfaces_kit import Time, running_hub
from tests.worker.worker_kit import done, kinds, play, task


async def pair(team: Team) -> tuple[Agent, Agent]:
    dev, lead = team.agent("dev", role="dev"), team.agent("lead", role="lead")
    await dev.join()
    return dev, lead


@proves("agent/bound")
def test_an_agent_acts_under_its_name() -> None:
    async def scene(team: Team) -> None:
        dev, lead = await pair(team)
        receipt = await lead.send("Hello", to="dev")
        assert [message.text for message in await dev.inbox()] == ["Hello"]
        assert (await dev.read(receipt.id)).body == "Hello"
        [lease] = await dev.receive()
        assert (lease.message.sender, lease.attempt, lease.agent) == ("lead", 1, dev)
        await dev.leave()
        with pytest.raises(telex.Refused):
            await lead.send("Hello", to="dev")

    play(scene)


@proves("agent/lease")
def test_a_lease_is_settled_in_five_ways() -> None:
    async def scene(team: Team) -> None:
        dev, lead = await pair(team)
        for id_ in ("ack", "nack", "reject", "release"):
            await lead.send("Do it", to="dev", id=id_)
        acked, nacked, rejected, released = await dev.receive(limit=4)
        opened = acked.is_open
        assert await acked.extend(500) == acked.until == team.clock.now() + 500
        assert await acked.ack()
        assert not await acked.ack()
        assert (opened, acked.is_open) == (True, False)
        assert (await nacked.nack("later", delay=40)).due_at == team.clock.now() + 40
        assert (await rejected.reject("never")).state == "dead"
        assert (await released.release("not now")).attempts == 0
        assert [(one.original.id, one.attempt) for one in await dev.receive(limit=4)] == [("release", 1)]
        assert (await kinds(team, "release"))[-2:] == ["returned", "leased"]
        with pytest.raises(telex.LeaseLost):
            await released.ack()

    play(scene)


@proves("agent/lease")
def test_a_nack_is_final_or_uncounted_but_not_both() -> None:
    async def scene(team: Team) -> None:
        dev, lead = await pair(team)
        await lead.send("Do it", to="dev")
        [lease] = await dev.receive()
        with pytest.raises(telex.InvalidValue):
            await team.bus.nack(lease.token, agent="dev", reason="no", final=True, counted=False)

    play(scene)


@proves("agent/reply")
def test_a_reply_is_addressed_and_acks() -> None:
    async def scene(team: Team) -> None:
        dev, lead = await pair(team)
        await lead.send(task("T1"), to="dev", id="task")
        [lease] = await dev.receive()
        with pytest.raises(telex.Refused) as refused:
            await lease.reply({"type": "STATUS_UPDATE"})
        assert refused.value.findings
        opened = [lease.is_open]
        await lease.reply("I begin.", ack=False)
        opened.append(lease.is_open)
        await lease.reply(done(lease.message.body))
        assert (opened, lease.is_open) == ([True, True], False)
        [_, note, report] = team.sent
        assert {(one.to, one.reply_to, one.correlation) for one in (note, report)} == {("lead", "task", "T1")}
        assert (await kinds(team, "task"))[-1] == "acked"

    play(scene)


@proves("agent/reply")
def test_a_reply_may_name_a_conversation_of_its_own() -> None:
    async def scene(team: Team) -> None:
        dev, lead = await pair(team)
        await lead.send("Do T1 and T2", to="dev", id="task", correlation="T1")
        [lease] = await dev.receive()
        await lease.reply(DevBlocker(task="T2", plan_id="P1", blocker="no table", needs="P2"))
        report = team.sent[-1]
        assert (report.reply_to, report.correlation) == ("task", "T2")

    play(scene)


@proves("agent/listen")
def test_listening_keeps_the_lease_while_the_loop_works() -> None:
    async def scene() -> list[str]:
        settings = telex.Settings(limits=telex.Settings().limits._replace(lease_seconds=0.06))
        async with telex.connect("memory:", settings=settings) as bus:
            await bus.agent("lead", role="lead").send("Do it", to="dev", id="task")
            async for lease in bus.agent("dev", role="dev").listen():
                await asyncio.sleep(0.2)
                await lease.ack()
                break
            [history] = await bus.why("task")
            return [event.kind for event in history.events]

    story = asyncio.run(scene())
    assert story.count("leased") == 1
    assert "extended" in story
    assert story[-1] == "acked"


@proves("agent/body")
def test_a_body_is_typed_in_the_readers_dialect_or_a_dict_or_text() -> None:
    async def scene(team: Team) -> None:
        dev, lead = await pair(team)
        await lead.send(task("T1"), to="dev")
        await lead.send("Hello", to="dev")
        typed, text = await dev.receive(limit=2)
        assert isinstance(typed.message.body, TaskAssignment)
        assert typed.message.body.payload.task_id == "T1"
        assert typed.message.body is typed.message.body
        assert text.message.body == "Hello"
        unknown = typed.message._replace(dialect="none", type="X", raw=b'{"a": 1}')
        assert unknown.body == {"a": 1}

    play(scene)


@proves("agent/body")
def test_a_body_of_a_teams_own_dialect_is_typed() -> None:
    async def scene(team: Team) -> None:
        type_ = KANBAN.types["put_up"]
        board, reader = (team.agent(name, role=name) for name in (type_.senders[0], type_.receivers[0]))
        await reader.join()
        await board.send(type_.example, to=reader.name)
        [lease] = await reader.receive()
        assert isinstance(lease.message.body, load(KANBAN).PutUp)

    play(scene, settings=telex.Settings(own_dialects=(KANBAN,)))


@proves("agent/request")
def test_a_request_returns_the_reply_acked_or_raises() -> None:
    async def scene(team: Team) -> None:
        _, lead = await pair(team)
        worker = telex.Worker("kim", role="qa")
        worker.otherwise(lambda message: f"{message.text} 5432")
        team.worker(worker)
        await team.settle()
        answer = asyncio.ensure_future(lead.request("Which port?", to="kim"))
        await team.settle()
        reply = await answer
        assert reply.text == "Which port? 5432"
        assert (await kinds(team, reply.id))[-1] == "acked"
        late = asyncio.ensure_future(lead.request("Which port?", to="dev", timeout=5))
        await team.advance(6)
        with pytest.raises(telex.RequestTimedOut):
            await late
        with pytest.raises(telex.Refused):
            await lead.request({"type": "TASK_ASSIGNMENT"}, to="dev")

    play(scene)


@proves("agent/sync")
def test_a_blocking_bus_has_blocking_agents() -> None:
    with telex.connect("memory:", settings=telex.Settings()) as bus:
        lead, dev = bus.agent("lead", role="lead"), bus.agent("dev", role="dev")
        dev.join()
        lead.send(task("T1"), to="dev")
        lease = next(dev.listen())
        assert lease.message.body.payload.task_id == "T1"
        lease.extend(100)
        lease.reply(done(lease.message.body))
        [reply] = lead.receive()
        assert StatusUpdate.from_message(reply.message).payload.status == "COMPLETED"
        assert reply.ack()
    for kind, blocking in ((Agent, SyncAgent), (Lease, SyncLease)):
        for name, method in inspect.getmembers(kind, inspect.isfunction):
            if not name.startswith("_"):
                assert inspect.signature(method).parameters == inspect.signature(getattr(blocking, name)).parameters
                assert getattr(blocking, name).__doc__ or (kind, name) == (Agent, "receive")


@proves("agent/hub")
def test_agents_and_leases_are_the_same_through_a_hub(tmp_path: Path) -> None:
    with running_hub(tmp_path, Time()) as hub, telex.connect(hub.url, settings=telex.Settings()) as bus:
        lead, dev = bus.agent("lead", role="lead"), bus.agent("dev", role="dev")
        dev.join()
        lead.send(task("T1"), to="dev", id="task")
        [lease] = dev.receive()
        assert lease.release("not now").attempts == 0
        [lease] = dev.receive()
        lease.reply(done(lease.message.body))
        assert bus.why("task")[0].state == "acked"
        lead.send("Never", to="dev", id="never")
        [lease] = dev.receive()
        assert lease.reject("no").state == "dead"


@proves("worker/hub")
def test_a_worker_of_a_hub_replies_and_stops(tmp_path: Path) -> None:
    with running_hub(tmp_path, Time()) as hub, telex.connect(hub.url, settings=telex.Settings()) as bus:
        worker = telex.Worker("w1", role="dev", where=hub.url, settings=telex.Settings(), lease_seconds=0.3)

        @worker.handles(TaskAssignment)
        async def build(assignment: TaskAssignment, ctx: telex.Context) -> StatusUpdate:
            await asyncio.sleep(0.25)
            worker.stop()
            return done(assignment)

        bus.join("w1", role="dev")
        bus.agent("lead", role="lead").send(task("T1"), to="w1", id="task")
        asyncio.run(worker.serve())
        [history] = bus.why("task")
        assert [event.kind for event in history.events if event.kind != "extended"] == ["accepted", "leased", "acked"]
        assert "extended" in [event.kind for event in history.events]
        assert [lease.original.id for lease in bus.agent("lead").receive()] == ["task.reply"]


@proves("worker/reconnect")
@pytest.mark.parametrize("is_stopped", [False, True], ids=["the hub starts", "the worker is stopped"])
def test_a_worker_waits_for_a_hub_that_is_not_there_yet(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_stopped: bool
) -> None:
    with running_hub(tmp_path, Time()) as hub:
        worker, failures, ask = telex.Worker("w1", where=hub.url, settings=telex.Settings()), [0], RetryTransport.ask
        worker.otherwise(lambda _: worker.stop())
        with telex.connect(hub.url, settings=telex.Settings()) as bus:
            bus.join("w1", role="dev")
            bus.agent("lead", role="lead").send("Hello", to="w1", id="note")

        async def ask_late(self: RetryTransport, question: HttpQuery) -> HttpReply:
            if is_stopped or failures[0] < 2:
                failures[0] += 1
                if is_stopped:
                    worker.stop()
                raise telex.StoreUnavailable("no hub answers")
            return await ask(self, question)

        with monkeypatch.context() as patch:
            patch.setattr(RetryTransport, "ask", ask_late)
            asyncio.run(asyncio.wait_for(worker.serve(), 30))
        with telex.connect(hub.url, settings=telex.Settings()) as bus:
            assert (bus.why("note")[0].state == "acked") is not is_stopped
        assert failures[0] == (1 if is_stopped else 2)


@proves("worker/refused-start")
def test_a_worker_with_a_wrong_path_ends_with_one_line_and_code_1(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "file").touch()
    worker = telex.Worker("w1", role="dev")
    worker.otherwise(lambda _: None)
    with pytest.raises(SystemExit) as ended:
        worker.run(tmp_path / "file" / "telex.db")
    assert ended.value.code == 1
    [record] = caplog.records
    assert record.exc_info is None
