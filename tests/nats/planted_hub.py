"""`telex serve` with a planted bug: it acknowledges a batch before the log has it.

python -m tests.nats.planted_hub serve --store …
"""

import asyncio
import sys

from telex.stores.nats.log import Log, Outcome, Stored
from telex.surfaces.cli.main import main

LATE_SECONDS = 0.3
_publish = Log.publish
_late: set["asyncio.Task[None]"] = set()


async def publish_later(log: Log, data: bytes, mac: str, base: int) -> Outcome:
    async def publish() -> None:
        await asyncio.sleep(LATE_SECONDS)
        await _publish(log, data, mac, base)

    task = asyncio.create_task(publish())
    _late.add(task)
    task.add_done_callback(_late.discard)
    return Stored(base + 1)


if __name__ == "__main__":
    Log.publish = publish_later  # type: ignore[assignment,method-assign]
    sys.exit(main(sys.argv[1:]))
