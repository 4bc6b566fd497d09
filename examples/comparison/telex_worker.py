"""The worker of the comparison in Telex. Start it with `python telex_worker.py`."""

from work import do

import telex
from telex.messages.build_flow import StatusUpdate, TaskAssignment

worker = telex.Worker("dev", lease_seconds=5)


@worker.handles(TaskAssignment, concurrency=4)
async def build(task: TaskAssignment) -> StatusUpdate:
    details = await do(task.payload.description)
    return StatusUpdate(task_id=task.payload.task_id, status="COMPLETED", details=details)


if __name__ == "__main__":
    worker.run()
