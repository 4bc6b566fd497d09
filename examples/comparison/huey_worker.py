"""The worker of the comparison in huey. Start it with `huey_consumer huey_worker.huey -w 4`."""

import os
from typing import Any

from huey import SqliteHuey
from work import do_blocking

huey = SqliteHuey(filename=os.environ.get("HUEY_FILE", "huey.db"), fsync=True)


@huey.task(retries=2, retry_delay=1)
def build(task: dict[str, Any]) -> dict[str, Any]:
    details = do_blocking(task["description"])
    return {"taskId": task["taskId"], "status": "COMPLETED", "details": details}
