"""Messages, workers and a team for the tests of workers."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import telex
from telex.messages.build_flow import StatusUpdate, TaskAssignment
from telex.testing import Team


def task(id_: str = "T1") -> TaskAssignment:
    return TaskAssignment(
        task_id=id_, title="Mail", description=f"Do {id_}", phase=1, dependencies=[], context={"constraints": []}
    )


def done(assignment: TaskAssignment, details: str = "done") -> StatusUpdate:
    return StatusUpdate(task_id=assignment.payload.task_id, status="COMPLETED", details=details)


def play(scene: Callable[[Team], Awaitable[Any]], **options: Any) -> Any:
    """Run a scene with a team in memory."""

    async def run() -> Any:
        async with Team(**options) as team:
            return await scene(team)

    return asyncio.run(run())


async def kinds(team: Team, id_: str) -> list[str]:
    """The events of a message."""
    [history] = await team.bus.why(id_)
    return [event.kind for event in history.events]


def types(team: Team) -> list[str | None]:
    return [message.type for message in team.sent]


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
