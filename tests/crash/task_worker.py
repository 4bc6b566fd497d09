"""The worker that is killed: `python -m tests.crash.task_worker NAME STORE [PLANT]`."""

import asyncio
import random
import sys
from typing import Any

import telex
from telex.messages.build_flow import StatusUpdate, TaskAssignment

worker = telex.Worker(sys.argv[1], role="dev", lease_seconds=1.5)


@worker.handles(TaskAssignment, concurrency=4)
async def build(task: TaskAssignment, ctx: telex.Context) -> StatusUpdate:
    await asyncio.sleep(random.random() / 100)
    return StatusUpdate(task_id=task.payload.task_id, status="COMPLETED", details=ctx.agent.name)


def plant_two_transactions() -> None:
    """The planted bug: reply and ack are two transactions."""
    reply = telex.Lease.reply

    async def reply_then_ack(lease: telex.Lease, message: Any, **fields: Any) -> telex.Receipt:
        receipt = await reply(lease, message, **fields | {"ack": False})
        await asyncio.sleep(0.4)
        await lease.ack()
        return receipt

    telex.Lease.reply = reply_then_ack  # type: ignore[assignment]


if __name__ == "__main__":
    if "two-transactions" in sys.argv:
        plant_two_transactions()
    worker.run(sys.argv[2], drain_seconds=5.0)
