"""A developer in pydantic-ai: it does a task, and a tool of its model asks the reviewer before it goes on.

Start it with `MODEL=anthropic:claude-sonnet-4-5 telex worker pydantic_ai_worker:worker`. Without MODEL it runs on
pydantic-ai's test model, which calls each tool once and makes up its output.
"""

import os
from typing import Literal, NamedTuple

from pydantic import BaseModel
from pydantic_ai import Agent, RunContext

import telex
from telex.messages.build_flow import StatusUpdate, TaskAssignment, ValidationRequest, ValidationResponse

worker = telex.Worker("developer")


class Job(NamedTuple):
    """What the tools of one run know."""

    task: TaskAssignment
    ctx: telex.Context


class Result(BaseModel):
    """What the model answers."""

    status: Literal["COMPLETED", "FAILED"]
    details: str


developer = Agent(
    os.environ.get("MODEL", "test"),
    deps_type=Job,
    output_type=Result,
    instructions="You are a developer. Ask for a review of your approach before you do the task.",
)


@developer.tool
async def ask_reviewer(run: RunContext[Job], approach: str) -> str:
    """Ask the reviewer whether an approach is good enough to go on."""
    task_id = run.deps.task.payload.task_id
    request = ValidationRequest(
        task_id=task_id, validation_type="DESIGN", subject=task_id, details={"approach": approach}
    )
    reply = await run.deps.ctx.request(request, to="reviewer")
    verdict = ValidationResponse.from_message(reply).payload
    return f"{verdict.decision}: {' '.join(verdict.reasons)}"


@worker.handles(TaskAssignment, concurrency=4)
async def build(task: TaskAssignment, ctx: telex.Context) -> StatusUpdate:
    run = await developer.run(task.payload.description, deps=Job(task, ctx))
    return StatusUpdate(task_id=task.payload.task_id, status=run.output.status, details=run.output.details)


if __name__ == "__main__":
    worker.run()
