"""The worker that is killed: `python -m tests.crash.task_worker NAME STORE [PLANT]`."""

import asyncio
import os
import random
import signal
import sys
from contextlib import suppress
from typing import Any

import telex
from telex.messages.build_flow import StatusUpdate, TaskAssignment

worker = telex.Worker(sys.argv[1], role="dev", lease_seconds=1.5)


@worker.handles(TaskAssignment, concurrency=4)
async def build(task: TaskAssignment, ctx: telex.Context) -> StatusUpdate:
    await asyncio.sleep(random.random() / 100)
    return StatusUpdate(task_id=task.payload.task_id, status="COMPLETED", details=ctx.agent.name)


def die_once() -> None:
    """The first three workers that come here are killed, so that the plant does not wait for a kill at this moment."""
    for number in range(3):
        with suppress(FileExistsError):
            os.close(os.open(f"died-{number}", os.O_CREAT | os.O_EXCL))
            os.kill(os.getpid(), signal.SIGKILL)


def plant_two_transactions() -> None:
    """The planted bug: reply and ack are two transactions."""
    reply = telex.Lease.reply

    async def reply_then_ack(lease: telex.Lease, message: Any, **fields: Any) -> telex.Receipt:
        receipt = await reply(lease, message, **fields | {"ack": False})
        die_once()
        await lease.ack()
        return receipt

    telex.Lease.reply = reply_then_ack  # type: ignore[assignment]


if __name__ == "__main__":
    if "two-transactions" in sys.argv:
        plant_two_transactions()
    worker.run(sys.argv[2], drain_seconds=5.0)
